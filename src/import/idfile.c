/* idfile.c - read and write id,idx files. */
#include "import/idfile.h"

#include <string.h>

#include "core/mem.h"
#include "core/text.h"

static const char header[] = "id,idx";

static bool is_odd_quoted(const char *line, size_t length)
{
    bool odd = false;
    for (size_t at = 0; at < length; at++) odd ^= line[at] == '"';
    return odd;
}

/* One record; a quoted id may go on over several lines. */
static cw_status next_record(cw_context *ctx, cwi_source *source, const char **line, size_t *length)
{
    cw_status status = cwi_source_line(ctx, source, line, length);
    while (status == CW_OK && *line && *length > 0 && (*line)[0] == '"' &&
           is_odd_quoted(*line, *length)) {
        const char *longer;
        status = cwi_source_extend(ctx, source, &longer, length);
        if (status == CW_OK && !longer)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "a quote is never closed");
        *line = longer;
    }
    return status;
}

/* Take the quotes off an id: "a ""b""" is a "b".  text has room for length bytes. */
static size_t unquote(const char *id, size_t length, char *text)
{
    size_t used = 0;
    for (size_t at = 1; at + 1 < length; at++) {
        text[used++] = id[at];
        if (id[at] == '"') at++;
    }
    return used;
}

static cw_status add_record(cw_context *ctx, cwi_source *source, cwi_idmap *map, const char *line,
                            size_t length, int64_t *index)
{
    const char *comma = memrchr(line, ',', length);
    size_t id_length = comma ? (size_t)(comma - line) : 0;
    int32_t number = -1, before = map->count;
    char *plain = NULL;
    cw_status status;

    if (id_length == 0 || !cwi_parse_int(comma + 1, length - id_length - 1, index) || *index < 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "expected id,idx with idx from 0 on");
    if (line[0] == '"' && id_length >= 2 && line[id_length - 1] == '"') {
        plain = cwi_alloc(ctx, id_length, 1);
        if (!plain) return CW_NO_MEMORY;
        id_length = unquote(line, id_length, plain);
        line = plain;
    }
    if (id_length == 0 || id_length > CWI_MAX_ID_BYTES)
        status = cwi_source_fail(ctx, source, CW_BAD_DATA, "the id has %zu bytes; 1 to %d may be",
                                 id_length, CWI_MAX_ID_BYTES);
    else
        status = cwi_idmap_add(ctx, map, line, id_length, &number);
    if (status == CW_OK && number != before)
        status = cwi_source_fail(ctx, source, CW_BAD_DATA, "this id occurs twice");
    cwi_free(plain);
    return status;
}

static cw_status check_header(cw_context *ctx, cwi_source *source)
{
    const char *line;
    size_t length;
    cw_status status = cwi_source_line(ctx, source, &line, &length);
    if (status != CW_OK) return status;
    if (!line) return cwi_fail(ctx, CW_BAD_DATA, "%s is empty", cwi_source_name(source));
    if (length == sizeof header - 1 && memcmp(line, header, length) == 0) return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA, "expected the header id,idx");
}

/* Bring ids into the order of their numbers, which must be 0..n-1. */
static cw_status put_in_order(cw_context *ctx, const cwi_source *source, const cwi_idmap *read,
                              const int64_t *index, cwi_idmap *out)
{
    cw_status status = CW_OK;
    int32_t *which = cwi_alloc(ctx, (size_t)read->count, sizeof *which);
    if (!which) return CW_NO_MEMORY;
    for (int32_t k = 0; k < read->count; k++) which[k] = -1;
    for (int32_t k = 0; k < read->count && status == CW_OK; k++) {
        if (index[k] >= read->count || which[index[k]] >= 0)
            status = cwi_fail(ctx, CW_BAD_DATA,
                              "%s: index %lld %s; the %d ids must have the indices 0 to %d",
                              cwi_source_name(source), (long long)index[k],
                              index[k] >= read->count ? "is too large" : "occurs twice",
                              read->count, read->count - 1);
        else
            which[index[k]] = k;
    }
    if (status == CW_OK) status = cwi_idmap_select(ctx, read, which, read->count, out);
    cwi_free(which);
    return status;
}

cw_status cwi_idfile_read(cw_context *ctx, cwi_source *source, cwi_idmap *out)
{
    cw_status status;
    cwi_idmap read;
    int64_t *index = NULL;
    size_t room = 0, length;
    const char *line;

    cwi_idmap_init(out);
    cwi_idmap_init(&read);
    CW_TRY(check_header(ctx, source));
    for (;;) {
        CW_TRY(next_record(ctx, source, &line, &length));
        if (!line) break;
        if (length == 0) continue;
        CW_TRY(cwi_grow(ctx, &index, &room, (size_t)read.count + 1, sizeof *index));
        int64_t *place = &index[read.count];
        CW_TRY(add_record(ctx, source, &read, line, length, place));
    }
    CW_TRY(put_in_order(ctx, source, &read, index, out));
done:
    cwi_idmap_clear(&read);
    cwi_free(index);
    return status;
}

static void write_id(cwi_writer *writer, const char *id)
{
    if (!strpbrk(id, ",\"\r\n")) {
        cwi_writer_text(writer, id);
        return;
    }
    cwi_writer_put(writer, "\"", 1);
    for (; *id; id++) cwi_writer_put(writer, *id == '"' ? "\"\"" : id, *id == '"' ? 2 : 1);
    cwi_writer_put(writer, "\"", 1);
}

cw_status cwi_idfile_write(cw_context *ctx, const char *path, const cwi_idmap *map,
                           char hash[CWI_HASH_BYTES])
{
    cwi_writer *writer;
    cw_status status = cwi_writer_open(ctx, path, &writer);
    if (status != CW_OK) return status;
    cwi_writer_text(writer, header);
    cwi_writer_put(writer, "\n", 1);
    for (int32_t k = 0; k < map->count; k++) {
        write_id(writer, cwi_idmap_text(map, k));
        cwi_writer_put(writer, ",", 1);
        cwi_writer_int(writer, k);
        cwi_writer_put(writer, "\n", 1);
    }
    return cwi_writer_close(ctx, writer, hash);
}

/* idfile.c - read and write id,idx files. */
#include "import/idfile.h"

#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/fields.h"

static const char header[] = "id,idx";

static cw_status add_record(cw_context *ctx, const cwi_source *source, cwi_text id, cwi_text idx,
                            cwi_idmap *map, int64_t *index)
{
    int32_t number, before = map->count;
    if (id.length == 0 || !cwi_parse_int(idx.at, idx.length, index) || *index < 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "expected id,idx with idx from 0 on");
    if (id.length > CWI_MAX_ID_BYTES)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "the id has %zu bytes; 1 to %d may be",
                               id.length, CWI_MAX_ID_BYTES);
    cw_status status = cwi_idmap_add(ctx, map, id.at, id.length, &number);
    if (status == CW_OK && number != before)
        status = cwi_source_fail(ctx, source, CW_BAD_DATA, "this id occurs twice");
    return status;
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

/* All records, ids in the order of the file. */
static cw_status read_records(cw_context *ctx, cwi_source *source, cwi_records *records,
                              cwi_idmap *read, int64_t **index)
{
    cw_status status;
    size_t capacity = 0, count;
    const char *wrong;

    CW_TRY(cwi_records_header(ctx, records, source, header));
    for (;;) {
        CW_TRY(cwi_records_next(ctx, records, source, &count, &wrong));
        if (count == 0) break;
        if (wrong || count != 2)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "%s",
                                   wrong ? wrong : "expected id,idx with idx from 0 on");
        CW_TRY(cwi_grow(ctx, index, &capacity, (size_t)read->count + 1, sizeof **index));
        CW_TRY(add_record(ctx, source, records->field[0], records->field[1], read,
                          &(*index)[read->count]));
    }
done:
    return status;
}

cw_status cwi_idfile_read(cw_context *ctx, cwi_source *source, cwi_idmap *out)
{
    static const cwi_layout layout = {
        .delimiter = CWI_DELIMITER_COMMA, .has_quotes = true, .n_columns = 2};
    cw_status status;
    cwi_idmap read;
    cwi_records records = {0};
    int64_t *index = NULL;

    cwi_idmap_init(out);
    cwi_idmap_init(&read);
    CW_TRY(cwi_records_init(ctx, &layout, &records));
    CW_TRY(read_records(ctx, source, &records, &read, &index));
    CW_TRY(put_in_order(ctx, source, &read, index, out));
done:
    cwi_records_clear(&records);
    cwi_idmap_clear(&read);
    cwi_free(index);
    return status;
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
        cwi_writer_field(writer, "", cwi_idmap_text(map, k));
        cwi_writer_put(writer, ",", 1);
        cwi_writer_int(writer, k);
        cwi_writer_put(writer, "\n", 1);
    }
    return cwi_writer_close(ctx, writer, hash);
}

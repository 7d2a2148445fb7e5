/* idfile.c - read and write id,idx files. */
#include "import/idfile.h"

#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/fields.h"

static const char header[] = "id,idx";
static const char expected[] = "id,idx with idx from 0 on";

/* All records, ids in the order of the file. */
typedef struct reading {
    cwi_idmap ids;
    int64_t *index; /* [ids.count] */
    size_t capacity;
} reading;

static cw_status add_record(void *arg, cw_context *ctx, const cwi_source *source, cwi_text id,
                            cwi_text idx)
{
    reading *r = arg;
    int32_t number, before = r->ids.count;
    CW_PASS(cwi_grow(ctx, &r->index, &r->capacity, (size_t)before + 1, sizeof *r->index));
    if (id.length == 0 || !cwi_parse_int(idx.at, idx.length, &r->index[before]) ||
        r->index[before] < 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "expected %s", expected);
    if (id.length > CWI_MAX_ID_BYTES)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "the id has %zu bytes; 1 to %d may be",
                               id.length, CWI_MAX_ID_BYTES);
    CW_PASS(cwi_idmap_add(ctx, &r->ids, id.at, id.length, &number));
    if (number == before) return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA, "this id occurs twice");
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
    reading r = {0};

    cwi_idmap_init(out);
    cw_status status = cwi_records_pairs(ctx, source, header, expected, add_record, &r);
    if (status == CW_OK) status = put_in_order(ctx, source, &r.ids, r.index, out);
    cwi_idmap_clear(&r.ids);
    cwi_free(r.index);
    return status;
}

cw_status cwi_idfile_write(cw_context *ctx, const char *path, const cwi_idmap *map,
                           char hash[CWI_HASH_BYTES])
{
    cwi_writer *writer;
    CW_PASS(cwi_writer_open(ctx, path, &writer));
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

/* rawpairs.c - read user,item files whose ids are those of the raw data. */
#include "core/mem.h"
#include "core/text.h"
#include "import/fields.h"
#include "prepare/pairs.h"

static cw_status find_id(cw_context *ctx, const cwi_source *source, const char *noun,
                         const cwi_idmap *map, cwi_text id, int32_t *out)
{
    char shown[48];
    *out = cwi_idmap_find(map, id.at, id.length);
    if (*out >= 0) return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA, "there is no %s '%s' in the dataset", noun,
                           cwi_excerpt(id.at, id.length, shown));
}

static cw_status read_records(cw_context *ctx, cwi_source *source, cwi_records *records,
                              const cwi_idmap *users, const cwi_idmap *items, cwi_pairs *out)
{
    cw_status status;
    size_t user_capacity = 0, item_capacity = 0, count;
    const char *wrong;

    CW_TRY(cwi_records_header(ctx, records, source, "user,item"));
    for (;;) {
        CW_TRY(cwi_records_next(ctx, records, source, &count, &wrong));
        if (count == 0) break;
        if (wrong || count != 2)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "%s",
                                   wrong ? wrong : "expected user,item");
        size_t need = (size_t)out->count + 1;
        CW_TRY(cwi_grow(ctx, &out->user, &user_capacity, need, sizeof *out->user));
        CW_TRY(cwi_grow(ctx, &out->item, &item_capacity, need, sizeof *out->item));
        CW_TRY(find_id(ctx, source, "user", users, records->field[0], &out->user[out->count]));
        CW_TRY(find_id(ctx, source, "item", items, records->field[1], &out->item[out->count]));
        out->count++;
    }
    if (out->count == 0)
        status = cwi_fail(ctx, CW_BAD_DATA, "%s has no interactions", cwi_source_name(source));
done:
    return status;
}

cw_status cwi_pairs_read_raw(cw_context *ctx, const char *path, const cwi_idmap *users,
                             const cwi_idmap *items, cwi_pairs *out)
{
    static const cwi_layout layout = {
        .delimiter = CWI_DELIMITER_COMMA, .has_quotes = true, .n_columns = 2};
    cw_status status;
    cwi_source *source = NULL;
    cwi_records records = {0};

    *out = (cwi_pairs){0};
    CW_TRY(cwi_source_open(ctx, path, &source));
    CW_TRY(cwi_records_init(ctx, &layout, &records));
    CW_TRY(read_records(ctx, source, &records, users, items, out));
done:
    cwi_records_clear(&records);
    cwi_source_close(source);
    if (status != CW_OK) cwi_pairs_clear(out);
    return status;
}

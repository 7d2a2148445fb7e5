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

typedef struct reading {
    const cwi_idmap *users, *items;
    size_t user_capacity, item_capacity;
    cwi_pairs *out;
} reading;

static cw_status add_pair(void *arg, cw_context *ctx, const cwi_source *source, cwi_text user,
                          cwi_text item)
{
    reading *r = arg;
    cwi_pairs *out = r->out;
    size_t need = (size_t)out->count + 1;
    CW_PASS(cwi_grow(ctx, &out->user, &r->user_capacity, need, sizeof *out->user));
    CW_PASS(cwi_grow(ctx, &out->item, &r->item_capacity, need, sizeof *out->item));
    CW_PASS(find_id(ctx, source, "user", r->users, user, &out->user[out->count]));
    CW_PASS(find_id(ctx, source, "item", r->items, item, &out->item[out->count]));
    out->count++;
    return CW_OK;
}

cw_status cwi_pairs_read_raw(cw_context *ctx, const char *path, const cwi_idmap *users,
                             const cwi_idmap *items, cwi_pairs *out)
{
    static const char header[] = "user,item";
    cw_status status;
    cwi_source *source = NULL;
    reading r = {.users = users, .items = items, .out = out};

    *out = (cwi_pairs){0};
    CW_TRY(cwi_source_open(ctx, path, &source));
    CW_TRY(cwi_records_pairs(ctx, source, header, header, add_pair, &r));
    if (out->count == 0)
        status = cwi_fail(ctx, CW_BAD_DATA, "%s has no interactions", cwi_source_name(source));
done:
    cwi_source_close(source);
    if (status != CW_OK) cwi_pairs_clear(out);
    return status;
}

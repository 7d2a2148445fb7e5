/* propensity.c - how likely items are to be seen. */
#include "prepare/propensity.h"

#include <string.h>

#include "core/numbers.h"
#include "core/text.h"
#include "import/fields.h"

void cwi_propensity_fill(const int64_t *degree, int32_t n, double power, double *out)
{
    int64_t most = 1;
    for (int32_t i = 0; i < n; i++)
        if (degree[i] > most) most = degree[i];
    for (int32_t i = 0; i < n; i++) out[i] = cwi_propensity(degree[i], most, power);
}

typedef struct reading {
    const cwi_idmap *items;
    double *out; /* [item] 0 until its line was read */
} reading;

static cw_status add_item(void *arg, cw_context *ctx, const cwi_source *source, cwi_text id,
                          cwi_text value)
{
    const reading *r = arg;
    char shown[48];
    double propensity;
    int32_t item = id.length > 0 ? cwi_idmap_find(r->items, id.at, id.length) : -1;

    if (item < 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "the dataset has no item '%s'",
                               cwi_excerpt(id.at, id.length, shown));
    if (r->out[item] > 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "item '%s' occurs twice",
                               cwi_excerpt(id.at, id.length, shown));
    if (!cwi_parse_real(value.at, value.length, &propensity) ||
        !(propensity > 0 && propensity <= 1))
        return cwi_source_fail(ctx, source, CW_BAD_DATA,
                               "propensity '%s' is not a number above 0 and at most 1",
                               cwi_excerpt(value.at, value.length, shown));
    r->out[item] = propensity;
    return CW_OK;
}

static cw_status check_complete(cw_context *ctx, const cwi_source *source, const cwi_idmap *items,
                                const double *propensity)
{
    int32_t missing = 0, example = 0;
    char shown[48];
    for (int32_t i = items->count - 1; i >= 0; i--)
        if (!(propensity[i] > 0)) {
            missing++;
            example = i;
        }
    if (missing == 0) return CW_OK;
    const char *id = cwi_idmap_text(items, example);
    return cwi_fail(ctx, CW_BAD_DATA, "%s: %d of the dataset's %d items have no line, such as '%s'",
                    cwi_source_name(source), missing, items->count,
                    cwi_excerpt(id, strlen(id), shown));
}

cw_status cwi_propensity_read(cw_context *ctx, cwi_source *source, const cwi_idmap *items,
                              double *out)
{
    static const char header[] = "item,propensity";
    reading r = {items, out};

    for (int32_t i = 0; i < items->count; i++) out[i] = 0;
    cw_status status = cwi_records_pairs(ctx, source, header, header, add_item, &r);
    return status == CW_OK ? check_complete(ctx, source, items, out) : status;
}

cw_status cwi_propensity_load(cw_context *ctx, const char *path, const cwi_idmap *items,
                              double *out, char hash[CWI_HASH_BYTES])
{
    cw_status status;
    cwi_source *source = NULL;
    cwi_digest digest = {0};

    CW_TRY(cwi_source_open(ctx, path, &source));
    CW_TRY(cwi_propensity_read(ctx, source, items, out));
    cwi_digest_numbers(&digest, out, (size_t)items->count, sizeof *out);
    cwi_digest_print(&digest, hash);
done:
    cwi_source_close(source);
    return status;
}

/* propensity.c - how likely items are to be seen. */
#include "prepare/propensity.h"

#include <string.h>

#include "core/text.h"
#include "import/fields.h"

void cwi_propensity_fill(const int64_t *degree, int32_t n, double power, double *out)
{
    int64_t most = 1;
    for (int32_t i = 0; i < n; i++)
        if (degree[i] > most) most = degree[i];
    for (int32_t i = 0; i < n; i++) out[i] = cwi_propensity(degree[i], most, power);
}

/* out[item] is 0 until its line was read. */
static cw_status read_record(cw_context *ctx, const cwi_source *source, const cwi_idmap *items,
                             cwi_text id, cwi_text value, double *out)
{
    char shown[48];
    double propensity;
    int32_t item = id.length > 0 ? cwi_idmap_find(items, id.at, id.length) : -1;

    if (item < 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "the dataset has no item '%s'",
                               cwi_excerpt(id.at, id.length, shown));
    if (out[item] > 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "item '%s' occurs twice",
                               cwi_excerpt(id.at, id.length, shown));
    if (!cwi_parse_real(value.at, value.length, &propensity) ||
        !(propensity > 0 && propensity <= 1))
        return cwi_source_fail(ctx, source, CW_BAD_DATA,
                               "propensity '%s' is not a number above 0 and at most 1",
                               cwi_excerpt(value.at, value.length, shown));
    out[item] = propensity;
    return CW_OK;
}

static cw_status read_records(cw_context *ctx, cwi_source *source, cwi_records *records,
                              const cwi_idmap *items, double *out)
{
    cw_status status;
    size_t count;
    const char *wrong;

    CW_TRY(cwi_records_header(ctx, records, source, "item,propensity"));
    for (;;) {
        CW_TRY(cwi_records_next(ctx, records, source, &count, &wrong));
        if (count == 0) break;
        if (wrong || count != 2)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "%s",
                                   wrong ? wrong : "expected item,propensity");
        CW_TRY(read_record(ctx, source, items, records->field[0], records->field[1], out));
    }
done:
    return status;
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
    static const cwi_layout layout = {
        .delimiter = CWI_DELIMITER_COMMA, .has_quotes = true, .n_columns = 2};
    cw_status status;
    cwi_records records = {0};

    for (int32_t i = 0; i < items->count; i++) out[i] = 0;
    CW_TRY(cwi_records_init(ctx, &layout, &records));
    CW_TRY(read_records(ctx, source, &records, items, out));
    CW_TRY(check_complete(ctx, source, items, out));
done:
    cwi_records_clear(&records);
    return status;
}

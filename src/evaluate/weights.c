/* weights.c - weights of held-out rows from options. */
#include "evaluate/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "prepare/propensity.h"

enum { NAME_BYTES = 40 };

/* "metric-" and "propensity" in one. */
static const char *name(const char *prefix, const char *rest, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s%s", prefix, rest);
    return out;
}

bool cwi_weights_are_given(const cw_options *options, const char *prefix)
{
    char file[NAME_BYTES], power[NAME_BYTES];
    return cwi_options_is_set(options, name(prefix, "propensity", file)) ||
           cwi_options_is_set(options, name(prefix, "propensity-power", power));
}

/* Two sources of the same numbers, or a bound of numbers that are not there. */
static cw_status check_options(cw_context *ctx, const cw_options *options, const char *prefix)
{
    char file[NAME_BYTES], power[NAME_BYTES], least[NAME_BYTES];
    bool has_file = cwi_options_is_set(options, name(prefix, "propensity", file));
    bool has_power = cwi_options_is_set(options, name(prefix, "propensity-power", power));

    if (has_file && has_power)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--%s and --%s are both given; one of them says how likely items are seen",
                        file, power);
    if (!has_file && !has_power &&
        cwi_options_real(options, name(prefix, "propensity-min", least)) > 0)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--%s is '%s', but there are no propensities: --%s or --%s", least,
                        cwi_options_text(options, least), file, power);
    return CW_OK;
}

cw_status cwi_weights_create(cw_context *ctx, const cw_options *options, const char *prefix,
                             const cwi_idmap *items, const int64_t *degree, cwi_exposure *out)
{
    char file[NAME_BYTES], power[NAME_BYTES], least[NAME_BYTES];
    cw_status status = check_options(ctx, options, prefix);
    if (status != CW_OK || !cwi_weights_are_given(options, prefix)) return status;

    out->weight = cwi_alloc(ctx, (size_t)items->count, sizeof *out->weight);
    if (!out->weight) return CW_NO_MEMORY;
    if (cwi_options_is_set(options, name(prefix, "propensity", file)))
        CW_TRY(cwi_propensity_load(ctx, cwi_options_text(options, file), items, out->weight,
                                   out->hash));
    else
        cwi_propensity_fill(degree, items->count,
                            cwi_options_real(options, name(prefix, "propensity-power", power)),
                            out->weight);
    double bound = cwi_options_real(options, name(prefix, "propensity-min", least));
    for (int32_t i = 0; i < items->count; i++) out->weight[i] = 1 / fmax(out->weight[i], bound);
done:
    if (status != CW_OK) cwi_exposure_clear(out);
    return status;
}

void cwi_exposure_clear(cwi_exposure *exposure)
{
    cwi_free(exposure->weight);
    *exposure = (cwi_exposure){0};
}

cw_status cwi_weights_check(cw_context *ctx, const cwi_exposure *exposure, const char *prefix,
                            const cwi_pairs *held, const cwi_idmap *items)
{
    char least[NAME_BYTES], shown[48];
    for (int64_t k = 0; exposure->weight && k < held->count; k++) {
        if (isfinite(exposure->weight[held->item[k]])) continue;
        const char *id = cwi_idmap_text(items, held->item[k]);
        return cwi_fail(ctx, CW_BAD_DATA,
                        "item '%s' is to be found, and its propensity is 0; --%s bounds it",
                        cwi_excerpt(id, strlen(id), shown), name(prefix, "propensity-min", least));
    }
    return CW_OK;
}

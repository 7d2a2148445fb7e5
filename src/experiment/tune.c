/* tune.c - which settings are tried, and how many of them go on. */
#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/json.h"
#include "core/rng.h"
#include "core/text.h"
#include "experiment/plan.h"

size_t cwi_survivors(size_t n, int64_t keep)
{
    size_t every = keep > 0 ? (size_t)keep : 1;
    return n == 0 ? 0 : (n - 1) / every + 1;
}

/* Number of combinations, anything above CWI_MAX_CANDIDATES for more; ranges have no end. */
static size_t count_combinations(const json_t *grid)
{
    const char *key;
    json_t *values;
    size_t count = 1;
    json_object_foreach((json_t *)grid, key, values)
    {
        if (!json_is_array(values)) return CWI_MAX_CANDIDATES + 1;
        count *= json_array_size(values);
        if (count > CWI_MAX_CANDIDATES) return count;
    }
    return count;
}

/* Combination number `index`: the last option turns fastest. */
static json_t *combination(const json_t *grid, size_t index, size_t count)
{
    const char *key;
    json_t *values, *out = json_object();
    json_object_foreach((json_t *)grid, key, values)
    {
        count /= json_array_size(values);
        cwi_json_set(&out, key, json_incref(json_array_get(values, index / count)));
        index %= count;
    }
    return out;
}

static json_t *list_all(const json_t *grid, size_t count)
{
    json_t *out = json_array();
    for (size_t index = 0; index < count; index++)
        cwi_json_add(&out, combination(grid, index, count));
    return out;
}

/* A number from {"from", "to", "scale"}, of three digits so that people can read it. */
static json_t *draw_number(const json_t *range, cwi_rng *rng)
{
    double from = cwi_json_get_number(range, "from");
    double to = cwi_json_get_number(range, "to");
    const char *scale = json_string_value(json_object_get(range, "scale"));
    double u = cwi_rng_real(rng);
    bool is_log = scale && strcmp(scale, "log") == 0;
    double value = is_log ? from * cwi_pow(to / from, u) : from + (to - from) * u;
    double unit = value == 0 ? 1 : cwi_pow(10, floor(cwi_log10(fabs(value))) - 2);
    double rounded = unit < 1 ? rint(value / unit) / rint(1 / unit) : rint(value / unit) * unit;
    return json_real(fmin(fmax(rounded, from), to));
}

static json_t *draw_setting(const json_t *grid, cwi_rng *rng)
{
    const char *key;
    json_t *values, *out = json_object();
    json_object_foreach((json_t *)grid, key, values)
    {
        json_t *value;
        if (json_is_array(values))
            value = json_incref(
                json_array_get(values, (size_t)cwi_rng_below(rng, json_array_size(values))));
        else
            value = draw_number(values, rng);
        cwi_json_set(&out, key, value);
    }
    return out;
}

/* Different settings, draw number i from the stream (seed, i). */
static json_t *draw_some(const json_t *grid, const cwi_tuning *tuning)
{
    enum { PATIENCE = 50 }; /* draws per setting until the grid is taken to be used up */
    json_t *out = json_array();
    for (int64_t i = 0; i < tuning->draws * PATIENCE && out; i++) {
        cwi_rng rng;
        if ((int64_t)json_array_size(out) == tuning->draws) break;
        cwi_rng_init(&rng, (uint64_t)tuning->seed, CWI_RNG_TUNE, (uint64_t)i);
        json_t *setting = draw_setting(grid, &rng);
        if (cwi_json_has(out, setting))
            json_decref(setting);
        else
            cwi_json_add(&out, setting);
    }
    return out;
}

cw_status cwi_candidates(cw_context *ctx, const json_t *grid, const cwi_tuning *tuning,
                         json_t **out)
{
    size_t count = count_combinations(grid);
    *out = NULL;
    if (tuning->draws == 0 && count > CWI_MAX_CANDIDATES)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "the grid has ranges or more than %d settings; tune with \"kind\": "
                        "\"random\" and \"draws\"",
                        CWI_MAX_CANDIDATES);
    bool takes_all = tuning->draws == 0 || count <= (size_t)tuning->draws;
    *out = takes_all ? list_all(grid, count) : draw_some(grid, tuning);
    return cwi_json_check(ctx, *out);
}

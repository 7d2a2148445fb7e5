/* tune.c - which settings are tried, and how many of them go on. */
#include <math.h>
#include <string.h>

#include "core/elementary.h"
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
        if (json_object_set(out, key, json_array_get(values, index / count)) != 0) {
            json_decref(out);
            return NULL;
        }
        index %= count;
    }
    return out;
}

static cw_status list_all(cw_context *ctx, const json_t *grid, size_t count, json_t *out)
{
    for (size_t index = 0; index < count; index++)
        if (json_array_append_new(out, combination(grid, index, count)) != 0)
            return cwi_no_memory(ctx);
    return CW_OK;
}

/* A number from {"from", "to", "scale"}, of three digits so that people can read it. */
static json_t *draw_number(const json_t *range, cwi_rng *rng)
{
    double from = json_number_value(json_object_get(range, "from"));
    double to = json_number_value(json_object_get(range, "to"));
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
        if (json_object_set_new(out, key, value) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static bool contains(const json_t *list, const json_t *setting)
{
    size_t index;
    json_t *other;
    json_array_foreach(list, index, other) if (json_equal(other, setting)) return true;
    return false;
}

/* Different settings, draw number i from the stream (seed, i). */
static cw_status draw_some(cw_context *ctx, const json_t *grid, const cwi_tuning *tuning,
                           json_t *out)
{
    enum { PATIENCE = 50 }; /* draws per setting until the grid is taken to be used up */
    for (int64_t i = 0; i < tuning->draws * PATIENCE; i++) {
        cwi_rng rng;
        if ((int64_t)json_array_size(out) == tuning->draws) break;
        cwi_rng_init(&rng, (uint64_t)tuning->seed, CWI_RNG_TUNE, (uint64_t)i);
        json_t *setting = draw_setting(grid, &rng);
        if (!setting) return cwi_no_memory(ctx);
        int bad = contains(out, setting) ? 0 : json_array_append(out, setting);
        json_decref(setting);
        if (bad) return cwi_no_memory(ctx);
    }
    return CW_OK;
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
    *out = json_array();
    if (!*out) return cwi_no_memory(ctx);
    bool takes_all = tuning->draws == 0 || count <= (size_t)tuning->draws;
    cw_status status =
        takes_all ? list_all(ctx, grid, count, *out) : draw_some(ctx, grid, tuning, *out);
    if (status != CW_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* race.c - proposals and early stops of a race of settings. */
#include "experiment/race.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/elementary.h"
#include "core/json.h"
#include "core/rng.h"
#include "core/text.h"
#include "registry/registry.h"

/* ---- families --------------------------------------------------------------------- */

static cw_status add_family(cw_context *ctx, cwi_race *race, const char *method,
                            const char *backbone)
{
    for (size_t f = 0; f < race->n_families; f++)
        if (strcmp(race->family[f].method, method) == 0 &&
            strcmp(race->family[f].backbone, backbone) == 0)
            return CW_OK;
    if (race->n_families == CWI_MAX_FAMILIES)
        return cwi_fail(ctx, CW_BAD_ARG, "a race has at most %d methods on backbones",
                        CWI_MAX_FAMILIES);
    race->family[race->n_families++] = (cwi_family){method, backbone};
    return CW_OK;
}

enum { MAX_NAMES = 64 };

/* The names of a list with commas, as the registry has them: static texts. */
typedef struct names {
    const char *name[MAX_NAMES];
    size_t n;
} names;

static const char *find_name(const char *(*name_at)(size_t), const char *word)
{
    for (size_t k = 0; name_at(k); k++)
        if (strcmp(name_at(k), word) == 0) return name_at(k);
    return NULL;
}

static cw_status bad_name(cw_context *ctx, const char *option, const char *word,
                          const char *(*name_at)(size_t))
{
    char known[256] = "", shown[48];
    for (size_t k = 0; name_at(k); k++) cwi_list_text(known, sizeof known, name_at(k));
    return cwi_fail(ctx, CW_BAD_ARG, "--%s lists '%s'; there are %s", option,
                    cwi_excerpt(word, strlen(word), shown), known);
}

static cw_status read_names(cw_context *ctx, const char *option, const char *list,
                            const char *(*name_at)(size_t), names *out)
{
    out->n = 0;
    while (list) {
        char word[CWI_WORD_BYTES];
        const char *comma = strchr(list, ',');
        size_t length = comma ? (size_t)(comma - list) : strlen(list);
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        const char *name = find_name(name_at, word);
        if (!name || length >= sizeof word) return bad_name(ctx, option, word, name_at);
        for (size_t k = 0; k < out->n; k++)
            if (out->name[k] == name)
                return cwi_fail(ctx, CW_BAD_ARG, "--%s lists '%s' twice", option, name);
        if (out->n < MAX_NAMES) out->name[out->n++] = name;
        list = comma ? comma + 1 : NULL;
    }
    return CW_OK;
}

/* What everybody wants to be compared with comes first, the others as they were given. */
static void put_first(names *list, const char *name)
{
    size_t k = 0;
    while (k < list->n && strcmp(list->name[k], name) != 0) k++;
    if (k == list->n) return;
    const char *found = list->name[k];
    memmove(list->name + 1, list->name, k * sizeof *list->name);
    list->name[0] = found;
}

static bool works_on(const char *method, const char *backbone)
{
    for (size_t k = 0; cw_method_backbone(method, k); k++)
        if (strcmp(cw_method_backbone(method, k), backbone) == 0) return true;
    return false;
}

static bool works_on_any(const char *method, const names *backbones)
{
    for (size_t b = 0; b < backbones->n; b++)
        if (works_on(method, backbones->name[b])) return true;
    return false;
}

cw_status cwi_race_init(cw_context *ctx, const char *methods, const char *backbones, cwi_race *race)
{
    names wanted, on;
    CW_PASS(read_names(ctx, "methods", methods, cw_method_name, &wanted));
    CW_PASS(read_names(ctx, "backbones", backbones, cw_backbone_name, &on));
    put_first(&wanted, "bpr");
    put_first(&wanted, "cpr");
    put_first(&wanted, "itemknn"); /* takes a second */
    race->n_families = 0;
    CW_PASS(add_family(ctx, race, "pop", "pop")); /* it costs nothing */
    for (size_t b = 0; b < on.n; b++)
        for (size_t m = 0; m < wanted.n; m++) {
            if (works_on(wanted.name[m], on.name[b]))
                CW_PASS(add_family(ctx, race, wanted.name[m], on.name[b]));
            else if (b == 0 && !works_on_any(wanted.name[m], &on))
                CW_PASS(
                    add_family(ctx, race, wanted.name[m], cw_method_backbone(wanted.name[m], 0)));
        }
    return CW_OK;
}

/* ---- the space ------------------------------------------------------------------------ */

typedef enum scale { LOG, LINEAR, WHOLE } scale;

/* An option that is tuned wherever a family takes it.  Ranges are relative to the default where
 * that depends on method or data. */
typedef struct range {
    const char *option;
    scale scale;
    double low, high;
    bool is_relative;
} range;

static const range space[] = {
    {"lr", LOG, 0.2, 5, true},
    {"reg", LOG, 1.0 / 30, 30, true},
    {"beta", LOG, 1, 16, false},
    {"layers", WHOLE, 1, 4, false},
    {"dis-penalty", LOG, 0.1, 10, true},
    {"margin", LOG, 0.25, 4, true},
    {"temperature", LOG, 0.5, 2, true},
    {"hardest", LOG, 0.03, 1, false},
    {"gamma", LINEAR, 0, 1, false},
    {"propensity-power", LINEAR, 0.1, 1, false},
    {"propensity-min", LOG, 0.003, 0.3, false},
    {"wmf-weight", LOG, 0.05, 1, false},
    {"kl-cap", LINEAR, 0.05, 1, false},
    {"keep", LINEAR, 0.3, 0.9, false},
    {"unseen-weight", LOG, 0.1, 10, true},
    {"neighbours", WHOLE, 10, 500, false},
    {"shrink", LINEAR, 0, 50, false},
};

enum { N_SPACE = sizeof space / sizeof space[0], MAX_AXES = N_SPACE };

/* One option of a family with the ends of its range. */
typedef struct axis {
    const char *option;
    scale scale;
    double low, high;
} axis;

/* Without one there is nothing to multiply: the usual range of L2 coefficients. */
static const double least_reg = 1e-6, most_reg = 1e-2;

/* beta 1 chooses among nothing: only a method that selects has a use for more.  Only gradients have
 * a rate, and what is filled from the data has an L2 term where the method says so. */
static bool is_tuned(const cwi_race *race, const cwi_family *family, const range *r)
{
    const cwi_method *method = cwi_find_method(family->method);
    const cwi_backbone *backbone = cwi_find_backbone(family->backbone);
    if (strcmp(r->option, "beta") == 0 && !method->selects) return false;
    if (strcmp(r->option, "lr") == 0 && !method->sampler && !backbone->learn) return false;
    if (strcmp(r->option, "reg") == 0 && backbone->fill &&
        !cwi_find_default(method, backbone->name, "reg"))
        return false;
    if (json_object_get(race->fixed, r->option)) return false;
    return cw_method_takes(family->method, family->backbone, r->option);
}

/* What only some forms of a loss, or some scores, have a use for. */
static bool has_use(const char *option, const json_t *options)
{
    static const char *const needs[][3] = {{"temperature", "scorer", "cosine"},
                                           {"hardest", "form", "logistic"},
                                           {"gamma", "form", "both|rows"}};
    for (size_t k = 0; k < sizeof needs / sizeof needs[0]; k++)
        if (strcmp(option, needs[k][0]) == 0)
            return cwi_word_index(needs[k][2], cwi_json_get_text(options, needs[k][1])) >= 0;
    return true;
}

/* The axes of a family; options: of its default trial. */
static size_t list_axes(const cwi_race *race, const cwi_family *family, const json_t *options,
                        axis out[MAX_AXES])
{
    size_t n = 0;
    for (size_t s = 0; s < N_SPACE; s++) {
        const range *r = &space[s];
        const json_t *preset = json_object_get(options, r->option);
        double middle = json_number_value(preset);
        if (!is_tuned(race, family, r) || !json_is_number(preset) || !has_use(r->option, options))
            continue;
        axis a = {r->option, r->scale, r->low, r->high};
        if (r->is_relative && middle > 0) {
            a.low *= middle;
            a.high *= middle;
        } else if (r->is_relative) {
            a.low = least_reg;
            a.high = most_reg;
        } else { /* a default outside is in the range, too */
            a.low = fmin(a.low, middle > 0 ? middle : a.low);
            a.high = fmax(a.high, middle);
        }
        out[n++] = a;
    }
    return n;
}

/* Where in its range a value lies, 0 to 1. */
static double to_unit(const axis *a, double value)
{
    double v = fmin(fmax(value, a->low), a->high);
    if (a->scale == LOG) return cwi_ln(v / a->low) / cwi_ln(a->high / a->low);
    return (v - a->low) / (a->high - a->low);
}

double cwi_round_digits(double value)
{
    double unit = value == 0 ? 1 : cwi_pow(10, floor(cwi_log10(fabs(value))) - 2);
    return unit < 1 ? rint(value / unit) / rint(1 / unit) : rint(value / unit) * unit;
}

static json_t *from_unit(const axis *a, double u)
{
    switch (a->scale) {
    case WHOLE: {
        double cells = a->high - a->low + 1;
        return json_integer((json_int_t)fmin(a->low + floor(u * cells), a->high));
    }
    case LOG: return json_real(cwi_round_digits(a->low * cwi_pow(a->high / a->low, u)));
    default: return json_real(cwi_round_digits(a->low + (a->high - a->low) * u));
    }
}

/* ---- records ---------------------------------------------------------------------------- */

static bool is_of(const json_t *record, const char *method, const char *backbone)
{
    return (!method || strcmp(cwi_json_get_text(record, "method"), method) == 0) &&
           (!backbone || strcmp(cwi_json_get_text(record, "backbone"), backbone) == 0);
}

const json_t *cwi_race_best(const json_t *records, size_t n, const char *method,
                            const char *backbone)
{
    const json_t *best = NULL;
    if (n == 0 || n > json_array_size(records)) n = json_array_size(records);
    for (size_t k = 0; k < n; k++) {
        const json_t *record = json_array_get(records, k);
        double value = cwi_json_to_number(json_object_get(record, "value"));
        if (!is_of(record, method, backbone) || isnan(value)) continue;
        if (!best || value > cwi_json_get_number(best, "value")) best = record;
    }
    return best;
}

/* Is a trial behind the best by no more than the standard error over the folds? */
static bool is_level(const json_t *best, const json_t *record)
{
    const json_t *a = json_object_get(best, "folds"), *b = json_object_get(record, "folds");
    size_t n = json_array_size(a);
    double mean = 0, squares = 0;
    if (n != json_array_size(b)) return false;
    for (size_t f = 0; f < n; f++) {
        double by =
            json_number_value(json_array_get(a, f)) - json_number_value(json_array_get(b, f));
        mean += by / (double)n;
        squares += by * by;
    }
    double variance = (squares - (double)n * mean * mean) / (double)(n - 1);
    return mean <= 0 || mean * mean <= variance / (double)n;
}

const json_t *cwi_race_choose(const json_t *records, size_t n_defaults)
{
    enum { LEAST_FOLDS = 3 };
    const json_t *best = cwi_race_best(records, 0, NULL, NULL);
    double least = 0;
    if (!best || json_array_size(json_object_get(best, "folds")) < LEAST_FOLDS) return best;
    for (size_t k = 0; k < n_defaults; k++) {
        double valid = cwi_json_get_number(json_array_get(records, k), "valid");
        if (valid > least) least = valid;
    }
    for (size_t k = 0; k < json_array_size(records); k++) {
        const json_t *record = json_array_get(records, k);
        if (cwi_json_get_number(record, "value") >= least && is_level(best, record)) return record;
    }
    return best;
}

static bool is_origin(const json_t *record, const char *origin)
{
    return strncmp(cwi_json_get_text(record, "origin"), origin, strlen(origin)) == 0;
}

static size_t count_origin(const json_t *records, const cwi_family *family, const char *origin)
{
    size_t n = 0;
    for (size_t k = 0; k < json_array_size(records); k++) {
        const json_t *record = json_array_get(records, k);
        n += is_of(record, family->method, family->backbone) && is_origin(record, origin);
    }
    return n;
}

static bool was_tried(const json_t *records, const cwi_family *family, const json_t *settings)
{
    for (size_t k = 0; k < json_array_size(records); k++) {
        const json_t *record = json_array_get(records, k);
        if (is_of(record, family->method, family->backbone) &&
            json_equal(json_object_get(record, "settings"), settings))
            return true;
    }
    return false;
}

/* ---- proposals ---------------------------------------------------------------------------- */

/* A family that can go on: its default gave a value, and there is something to tune. */
typedef struct runner {
    size_t family;
    double value;
    axis axes[MAX_AXES];
    size_t n_axes;
} runner;

/* Those that can, best first; of equals the earlier family. */
static size_t list_runners(const cwi_race *race, const json_t *records,
                           runner out[CWI_MAX_FAMILIES])
{
    size_t n = 0;
    for (size_t f = 0; f < race->n_families; f++) {
        const cwi_family *family = &race->family[f];
        const json_t *first = json_array_get(records, f);
        const json_t *best = cwi_race_best(records, 0, family->method, family->backbone);
        runner r = {.family = f};
        r.n_axes = list_axes(race, family, json_object_get(first, "options"), r.axes);
        if (!best || r.n_axes == 0) continue;
        r.value = cwi_json_get_number(best, "value");
        size_t at = n++;
        for (; at > 0 && out[at - 1].value < r.value; at--) out[at] = out[at - 1];
        out[at] = r;
    }
    return n;
}

/* A place in the order, each two and a half times as likely as the next. */
static size_t draw_place(size_t n, cwi_rng *rng)
{
    const double ratio = 0.4;
    double whole = 0, weight = 1;
    for (size_t k = 0; k < n; k++, weight *= ratio) whole += weight;
    double left = cwi_rng_real(rng) * whole;
    weight = 1;
    for (size_t k = 0; k + 1 < n; k++, weight *= ratio) {
        if (left < weight) return k;
        left -= weight;
    }
    return n - 1;
}

/* The root of x^(n + 1) = x + 1: powers of its inverse fill n dimensions evenly. */
static double spread_root(size_t n)
{
    double x = 1.5;
    for (int turn = 0; turn < 60; turn++) x = cwi_pow(1 + x, 1.0 / (double)(n + 1));
    return x;
}

/* Point number `index` of a sequence that leaves no large gaps, begun at a place by the seed. */
static json_t *draw_setting(const cwi_race *race, const runner *r, size_t index)
{
    cwi_rng rng;
    json_t *out = json_object();
    double root = spread_root(r->n_axes), step = 1;
    cwi_rng_init(&rng, race->seed, CWI_RNG_TUNE, ((uint64_t)1 << 32) + r->family);
    for (size_t a = 0; a < r->n_axes; a++) {
        step /= root;
        double u = cwi_rng_real(&rng) + (double)(index + 1) * step;
        cwi_json_set(&out, r->axes[a].option, from_unit(&r->axes[a], u - floor(u)));
    }
    return out;
}

/* 0 to 1, reflected at the ends. */
static double reflect(double u)
{
    if (u < 0) u = -u;
    if (u > 1) u = 2 - u;
    return fmin(fmax(u, 0), 1);
}

/* The settings of a record with some of them moved. */
static json_t *draw_near(const runner *r, const json_t *center, cwi_rng *rng)
{
    const double width = 0.12;
    const json_t *options = json_object_get(center, "options");
    json_t *out = cwi_json_copy(json_object_get(center, "settings"));
    size_t must = (size_t)cwi_rng_below(rng, r->n_axes);
    for (size_t a = 0; a < r->n_axes; a++) {
        const axis *x = &r->axes[a];
        bool moves = cwi_rng_real(rng) < 0.6;
        double by = width * cwi_rng_normal(rng);
        if (!moves && a != must) continue;
        double now = json_number_value(json_object_get(options, x->option));
        if (x->scale == WHOLE) { /* a step to a neighbour */
            double next = fmin(fmax(now + (by < 0 ? -1 : 1), x->low), x->high);
            cwi_json_set(&out, x->option, json_integer((json_int_t)next));
        } else {
            double u = now > 0 || x->scale == LINEAR ? to_unit(x, now) : 0;
            cwi_json_set(&out, x->option, from_unit(x, reflect(u + by)));
        }
    }
    return out;
}

static json_t *describe(const cwi_race *race, size_t trial, size_t family, const char *origin,
                        json_t *settings)
{
    const cwi_family *f = &race->family[family];
    return json_pack("{s:I, s:s, s:s, s:s, s:o}", "trial", (json_int_t)trial, "method", f->method,
                     "backbone", f->backbone, "origin", origin, "settings", settings);
}

/* Every family first sees some of its ranges; after that every other trial stays near its best. */
static json_t *propose_setting(const cwi_race *race, const json_t *records, const runner *r,
                               cwi_rng *rng, char origin[CWI_WORD_BYTES])
{
    enum { FIRST_DRAWS = 3 };
    const cwi_family *family = &race->family[r->family];
    size_t drawn = count_origin(records, family, "drawn"),
           near = count_origin(records, family, "near");
    const json_t *best = cwi_race_best(records, 0, family->method, family->backbone);
    if (drawn < FIRST_DRAWS || drawn < near) {
        snprintf(origin, CWI_WORD_BYTES, "drawn");
        return draw_setting(race, r, drawn);
    }
    snprintf(origin, CWI_WORD_BYTES, "near trial %.0f", cwi_json_get_number(best, "trial"));
    return draw_near(r, best, rng);
}

/* Twice the same would tell nothing new. */
static json_t *propose_new(const cwi_race *race, const json_t *records, const runner *r,
                           cwi_rng *rng, char origin[CWI_WORD_BYTES])
{
    enum { PATIENCE = 50 };
    const cwi_family *family = &race->family[r->family];
    json_t *settings = propose_setting(race, records, r, rng, origin);
    for (int again = 0; again < PATIENCE && settings; again++) {
        if (!was_tried(records, family, settings)) return settings;
        json_decref(settings);
        const json_t *best = cwi_race_best(records, 0, family->method, family->backbone);
        settings = draw_near(r, best, rng);
    }
    json_decref(settings);
    return NULL;
}

cw_status cwi_race_propose(cw_context *ctx, const cwi_race *race, const json_t *records,
                           json_t **out)
{
    runner runners[CWI_MAX_FAMILIES];
    size_t k = json_array_size(records);
    char origin[CWI_WORD_BYTES] = "default";
    cwi_rng rng;

    *out = NULL;
    if (k < race->n_families) {
        *out = describe(race, k, k, origin, json_object());
        return cwi_json_check(ctx, *out);
    }
    size_t n = list_runners(race, records, runners);
    if (n == 0) return CW_OK;
    cwi_rng_init(&rng, race->seed, CWI_RNG_TUNE, k);
    const runner *r = &runners[draw_place(n, &rng)];
    json_t *settings = propose_new(race, records, r, &rng, origin);
    if (!settings) return CW_OK; /* all of a small space was tried */
    *out = describe(race, k, r->family, origin, settings);
    return cwi_json_check(ctx, *out);
}

/* ---- early stops ---------------------------------------------------------------------------- */

static double point(const json_t *curve, size_t k, size_t side)
{
    return json_number_value(json_array_get(json_array_get(curve, k), side));
}

/* The best of a curve up to so many steps, and where it was reached. */
static double best_until(const json_t *curve, double steps, double *at)
{
    double best = 0;
    if (at) *at = 0;
    for (size_t k = 0; k < json_array_size(curve) && point(curve, k, 0) <= steps; k++) {
        if (point(curve, k, 1) <= best) continue;
        best = point(curve, k, 1);
        if (at) *at = point(curve, k, 0);
    }
    return best;
}

/* The trial of the family that got furthest without the dial, which says nothing of learning. */
static const json_t *find_leader(const json_t *records, const json_t *trial)
{
    const json_t *leader = NULL;
    double most = 0;
    for (size_t k = 0; k < json_array_size(records); k++) {
        const json_t *record = json_array_get(records, k);
        double value = best_until(json_object_get(record, "curve"), (double)INFINITY, NULL);
        if (!is_of(record, cwi_json_get_text(trial, "method"),
                   cwi_json_get_text(trial, "backbone")))
            continue;
        if (value > most) leader = record;
        most = fmax(most, value);
    }
    return leader;
}

/* The smallest share of its value that a trial of the family had without its dial: that of another
 * may make up for as much. */
static double dial_share(const json_t *records, const json_t *trial)
{
    double share = 1;
    for (size_t k = 0; k < json_array_size(records); k++) {
        const json_t *record = json_array_get(records, k);
        double value = cwi_json_get_number(record, "value");
        double valid = cwi_json_get_number(record, "valid");
        if (is_of(record, cwi_json_get_text(trial, "method"),
                  cwi_json_get_text(trial, "backbone")) &&
            value > valid && valid > 0)
            share = fmin(share, valid / value);
    }
    return share;
}

bool cwi_race_is_lost(const json_t *records, const json_t *trial, double lr)
{
    enum { LEAST_POINTS = 5 };
    const double slowest = 2, slack = 0.98;
    const json_t *curve = json_object_get(trial, "curve"), *leader = find_leader(records, trial);
    size_t n = json_array_size(curve);
    double needed;

    if (!leader || n < LEAST_POINTS) return false;
    double goal = best_until(json_object_get(leader, "curve"), (double)INFINITY, &needed);
    double leader_lr = cwi_json_get_number(json_object_get(leader, "options"), "lr");
    double patience = lr > 0 ? fmin(fmax(leader_lr / lr, 1), slowest) : 1;
    double steps = point(curve, n - 1, 0);
    if (steps < needed / 2 * patience) return false;
    double now = best_until(curve, steps, NULL), before = best_until(curve, steps / 2, NULL);
    return now + 2 * (now - before) < slack * dial_share(records, trial) * goal;
}

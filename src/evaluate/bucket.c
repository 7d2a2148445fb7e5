/* bucket.c - from the rows of a bucket and the scores of models to a dial, terms and a verdict. */
#include "evaluate/bucket.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/rng.h"

enum { P = CWI_FIT_COLUMNS, FOLDS = 10, RESAMPLES = 200 };

/* Scores in units of their standard deviation: together they are expected to count as one logit
 * each way, popularity not at all; both give way to some hundred rows.  Chosen on simulated data
 * (docs/unbiasedness.md). */
static const double precision_of_slopes = 16, precision_of_constant = 0.01, least_slope = 0.02;

const char cwi_bucket_missing[] =
    "What a log cannot tell is how good an item is for everybody, apart from how often it was "
    "shown: methods that cancel item terms leave it out, the others take popularity for it. A "
    "small bucket of items shown at random tells (--bucket).";

/* ---- columns ------------------------------------------------------------------------ */

/* The rows of a bucket as a regression, and what its units are. */
typedef struct table {
    cwi_logit_rows fit;
    int n_models;
    double unit[CWI_BUCKET_MODELS], popularity_unit;
    double *x, *times;
    int32_t *term, *unit_of; /* [rows] number of the item, and of who is left out together */
    int32_t n_units;
    int32_t *item; /* [n_terms] */
    double *room, *terms, *plain, *full, *dials;
    cwi_pile pile;
} table;

static int ascending_items(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void number_items(const cwi_bucket *b, table *t)
{
    int32_t n = 0;
    memcpy(t->item, b->item, (size_t)b->count * sizeof *t->item);
    qsort(t->item, (size_t)b->count, sizeof *t->item, ascending_items);
    for (int64_t k = 0; k < b->count; k++)
        if (n == 0 || t->item[n - 1] != t->item[k]) t->item[n++] = t->item[k];
    for (int64_t k = 0; k < b->count; k++)
        t->term[k] = (int32_t)cwi_lower_bound(t->item, n, b->item[k]);
    t->fit.n_terms = n;
}

/* Rows of a user stay together, unless there are not enough users to leave some out. */
static void number_units(const cwi_bucket *b, table *t)
{
    int32_t n = 0;
    for (int64_t k = 0; k < b->count; k++) {
        if (k > 0 && b->user[k] != b->user[k - 1]) n++;
        t->unit_of[k] = n;
    }
    t->n_units = n + 1;
    if (t->n_units >= FOLDS) return;
    for (int64_t k = 0; k < b->count; k++) t->unit_of[k] = (int32_t)k;
    t->n_units = (int32_t)b->count;
}

/* One column of scores, less their mean over the items of the user; the unit is the spread over
 * all items of the users of the bucket. */
static cw_status add_scores(cw_context *ctx, const cwi_bucket *b, const cwi_ranker *ranker,
                            double *x, double *unit)
{
    int32_t n = ranker->n_items;
    double squares = 0, users = 0, mean = 0;
    float *score = cwi_alloc(ctx, (size_t)n, sizeof *score);
    if (!score) return CW_NO_MEMORY;
    for (int64_t k = 0; k < b->count; k++) {
        if (k == 0 || b->user[k] != b->user[k - 1]) {
            double sum = 0, own = 0;
            ranker->score(ranker, &b->user[k], 1, score);
            for (int32_t i = 0; i < n; i++) sum += (double)score[i];
            mean = sum / n;
            for (int32_t i = 0; i < n; i++)
                own += ((double)score[i] - mean) * ((double)score[i] - mean);
            squares += own / n;
            users++;
        }
        x[k * P] = (double)score[b->item[k]] - mean;
    }
    cwi_free(score);
    *unit = sqrt(squares / users);
    if (!isfinite(*unit))
        return cwi_fail(ctx, CW_BAD_DATA, "the model gives a score that is not a number");
    if (!(*unit > 0)) *unit = 1;
    for (int64_t k = 0; k < b->count; k++) x[k * P] /= *unit;
    return CW_OK;
}

static void add_popularity(const cwi_bucket *b, const int64_t *degree, int32_t n, double *x,
                           double *unit)
{
    double mean = 0, squares = 0;
    for (int32_t i = 0; i < n; i++) mean += cwi_log1p((double)degree[i]) / n;
    for (int32_t i = 0; i < n; i++) {
        double by = cwi_log1p((double)degree[i]) - mean;
        squares += by * by / n;
    }
    *unit = squares > 0 ? sqrt(squares) : 1;
    for (int64_t k = 0; k < b->count; k++)
        x[k * P] = (cwi_log1p((double)degree[b->item[k]]) - mean) / *unit;
}

static void set_priors(table *t)
{
    t->fit.precision[0] = precision_of_constant;
    for (int m = 1; m <= t->n_models; m++) {
        t->fit.mean[m] = 1.0 / t->n_models;
        t->fit.precision[m] = precision_of_slopes;
    }
    t->fit.precision[t->n_models + 1] = precision_of_slopes;
}

static cw_status make_table(cw_context *ctx, const cwi_bucket *b, const cwi_ranker *const *rankers,
                            int n_models, const int64_t *degree, table *t)
{
    size_t n = (size_t)b->count;
    *t = (table){.n_models = n_models};
    t->x = cwi_pile_add_zero(ctx, &t->pile, n, P * sizeof *t->x);
    t->times = cwi_pile_add(ctx, &t->pile, n, sizeof *t->times);
    t->term = cwi_pile_add(ctx, &t->pile, n, sizeof *t->term);
    t->unit_of = cwi_pile_add(ctx, &t->pile, n, sizeof *t->unit_of);
    t->item = cwi_pile_add(ctx, &t->pile, n, sizeof *t->item);
    t->plain = cwi_pile_add(ctx, &t->pile, n, sizeof *t->plain);
    t->full = cwi_pile_add(ctx, &t->pile, n, sizeof *t->full);
    t->room = cwi_pile_add(ctx, &t->pile, n, (P + 3) * sizeof *t->room);
    t->terms = cwi_pile_add(ctx, &t->pile, n, sizeof *t->terms);
    t->dials = cwi_pile_add(ctx, &t->pile, RESAMPLES, sizeof *t->dials);
    CW_PASS(t->pile.status);
    t->fit.n = b->count;
    t->fit.x = t->x;
    t->fit.yes = b->liked;
    t->fit.term = t->term;
    number_items(b, t);
    number_units(b, t);
    for (int64_t k = 0; k < b->count; k++) t->x[k * P] = 1;
    for (int m = 0; m < n_models; m++)
        CW_PASS(add_scores(ctx, b, rankers[m], t->x + m + 1, &t->unit[m]));
    add_popularity(b, degree, rankers[0]->n_items, t->x + n_models + 1, &t->popularity_unit);
    set_priors(t);
    return CW_OK;
}

/* ---- what pays ---------------------------------------------------------------------- */

static void fit_rows(table *t, bool is_full, cwi_logit_fit *fit)
{
    *fit = (cwi_logit_fit){.term = t->terms, .room = t->room};
    t->fit.n_columns = 1 + t->n_models + is_full;
    cwi_logit_best(&t->fit, is_full, fit);
}

/* The log of the chance of every row by fits to the other tenths of the users. */
static cw_status cross_validate(cw_context *ctx, table *t, bool is_full, double *out)
{
    t->fit.times = t->times;
    for (int32_t f = 0; f < FOLDS; f++) {
        cwi_logit_fit fit;
        CW_PASS(cwi_progress(ctx, "learning from the bucket", f, FOLDS));
        for (int64_t k = 0; k < t->fit.n; k++) t->times[k] = t->unit_of[k] % FOLDS != f;
        fit_rows(t, is_full, &fit);
        for (int64_t k = 0; k < t->fit.n; k++) {
            if (t->unit_of[k] % FOLDS != f) continue;
            double z = cwi_logit_at(&t->fit, &fit, k);
            out[k] = cwi_log_chance(t->fit.yes[k] ? z : -z);
        }
    }
    t->fit.times = NULL;
    return CW_OK;
}

static void weigh_gain(const table *t, cwi_lesson *out)
{
    double n = (double)t->fit.n, units = t->n_units, squares = 0, own = 0;
    out->plain = out->full = 0;
    for (int64_t k = 0; k < t->fit.n; k++) {
        out->plain += t->plain[k] / n;
        out->full += t->full[k] / n;
    }
    out->gain = out->full - out->plain;
    for (int64_t k = 0; k < t->fit.n; k++) {
        own += t->full[k] - t->plain[k] - out->gain;
        if (k + 1 < t->fit.n && t->unit_of[k + 1] == t->unit_of[k]) continue;
        squares += own * own;
        own = 0;
    }
    out->gain_se = units > 1 ? sqrt(squares * units / (units - 1)) / n : 0;
    out->is_used = out->gain > 0 && out->gain > out->gain_se;
}

/* ---- what is learnt ----------------------------------------------------------------- */

/* Slopes in units of the scores; that of a single model is made 1, and all else goes by it.  A
 * model that the bucket contradicts keeps a little of its order. */
static double scale_slopes(const table *t, const cwi_logit_fit *fit, double *weight, double *dial)
{
    double most = 0, by = 1;
    for (int m = 0; m < t->n_models; m++) {
        weight[m] = fit->slope[m + 1] > least_slope ? fit->slope[m + 1] : least_slope;
        weight[m] /= t->unit[m];
        most = weight[m] > most ? weight[m] : most;
    }
    if (t->n_models == 1) by = most;
    for (int m = 0; m < t->n_models; m++) weight[m] /= by;
    *dial = t->fit.n_columns > t->n_models + 1
                ? fit->slope[t->n_models + 1] / t->popularity_unit / by
                : 0;
    return by;
}

static cw_status take_terms(cw_context *ctx, const table *t, const cwi_logit_fit *fit, double by,
                            cwi_lesson *out)
{
    if (!(fit->precision > 0)) return CW_OK;
    out->variance = 1 / fit->precision;
    out->n_terms = t->fit.n_terms;
    out->item = cwi_pile_add(ctx, &out->pile, (size_t)out->n_terms, sizeof *out->item);
    out->term = cwi_pile_add(ctx, &out->pile, (size_t)out->n_terms, sizeof *out->term);
    CW_PASS(out->pile.status);
    for (int32_t i = 0; i < out->n_terms; i++) {
        out->item[i] = t->item[i];
        out->term[i] = fit->term[i] / by;
    }
    return CW_OK;
}

static int ascending_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Resamples of users, each with as many of them; v is that of the bucket. */
static cw_status find_bounds(cw_context *ctx, table *t, double precision, uint64_t seed,
                             cwi_lesson *out)
{
    cw_status status = CW_OK;
    double *drawn = cwi_alloc(ctx, (size_t)t->n_units, sizeof *drawn);
    if (!drawn) return CW_NO_MEMORY;
    t->fit.n_columns = 2 + t->n_models;
    t->fit.times = t->times;
    for (int r = 0; r < RESAMPLES; r++) {
        double weight[CWI_BUCKET_MODELS];
        cwi_logit_fit fit = {.term = t->terms, .room = t->room, .precision = precision};
        cwi_rng rng;
        CW_TRY(cwi_progress(ctx, "learning from the bucket", r, RESAMPLES));
        cwi_rng_init(&rng, seed, CWI_RNG_BUCKET_BOUNDS, (uint64_t)r);
        memset(drawn, 0, (size_t)t->n_units * sizeof *drawn);
        for (int32_t u = 0; u < t->n_units; u++) drawn[cwi_rng_below(&rng, (uint64_t)t->n_units)]++;
        for (int64_t k = 0; k < t->fit.n; k++) t->times[k] = drawn[t->unit_of[k]];
        cwi_logit_solve(&t->fit, &fit);
        (void)scale_slopes(t, &fit, weight, &t->dials[r]);
    }
    qsort(t->dials, RESAMPLES, sizeof *t->dials, ascending_numbers);
    out->dial_low = t->dials[RESAMPLES / 40];
    out->dial_high = t->dials[RESAMPLES - 1 - RESAMPLES / 40];
done:
    t->fit.times = NULL;
    cwi_free(drawn);
    return status;
}

static cw_status teach(cw_context *ctx, table *t, uint64_t seed, bool bounds, cwi_lesson *out)
{
    cwi_logit_fit fit;
    double dial;
    CW_PASS(cross_validate(ctx, t, false, t->plain));
    CW_PASS(cross_validate(ctx, t, true, t->full));
    weigh_gain(t, out);
    fit_rows(t, true, &fit);
    double by = scale_slopes(t, &fit, out->weight, &dial), precision = fit.precision;
    if (out->is_used) {
        out->dial = dial;
        CW_PASS(take_terms(ctx, t, &fit, by, out));
    } else {
        fit_rows(t, false, &fit);
        (void)scale_slopes(t, &fit, out->weight, &dial);
    }
    return bounds ? find_bounds(ctx, t, precision, seed, out) : CW_OK;
}

cw_status cwi_bucket_learn(cw_context *ctx, const cwi_bucket *bucket,
                           const cwi_ranker *const *rankers, int n_models, const int64_t *degree,
                           uint64_t seed, bool bounds, cwi_lesson *out)
{
    cw_status status;
    table t;

    *out = (cwi_lesson){.n_models = n_models};
    CW_TRY(make_table(ctx, bucket, rankers, n_models, degree, &t));
    for (int m = 0; m < n_models; m++)
        out->weight[m] = n_models == 1 ? 1 : 1 / (t.unit[m] * n_models);
    out->is_enough = cwi_bucket_is_enough(bucket);
    if (out->is_enough) CW_TRY(teach(ctx, &t, seed, bounds, out));
done:
    cwi_pile_clear(&t.pile);
    return status;
}

void cwi_lesson_clear(cwi_lesson *lesson)
{
    cwi_pile_clear(&lesson->pile);
    *lesson = (cwi_lesson){0};
}

double cwi_lesson_value(const cwi_lesson *lesson)
{
    if (!lesson->is_enough) return 0;
    return cwi_exp(lesson->is_used ? lesson->full : lesson->plain);
}

/* ---- words -------------------------------------------------------------------------- */

static void say(const cwi_bucket *b, const cwi_lesson *l, char *out, size_t bytes)
{
    double ratio = l->gain > 0 ? l->gain_se / l->gain : 0;
    long long n = (long long)b->count, liked = (long long)b->n_liked;
    if (!l->is_enough)
        snprintf(
            out, bytes,
            "The bucket is too small to tell anything: of its rows %lld are liked and %lld not, "
            "where %d of each are the least. The model is as the log has it.",
            liked, n - liked, CWI_BUCKET_LEAST);
    else if (l->is_used)
        snprintf(out, bytes,
                 "By the bucket of %lld rows (%lld liked) popularity counts with a dial of %.3g "
                 "(95 %% of resamples: %.3g to %.3g), and items differ by %.2f more, a standard "
                 "deviation in logits. On rows that it was not learnt from that makes what "
                 "happened %.1f %% likelier (standard error %.1f).",
                 n, liked, l->dial, l->dial_low, l->dial_high, sqrt(l->variance),
                 100 * (cwi_exp(l->gain) - 1), 100 * l->gain_se);
    else if (ratio > 0)
        snprintf(out, bytes,
                 "The bucket of %lld rows (%lld liked) is too small to tell whether a popularity "
                 "dial or item terms would help; if the gain that it shows is real, about %.0f "
                 "rows would. The model is as the log has it.",
                 n, liked, (double)n * 4 * ratio * ratio);
    else
        snprintf(out, bytes,
                 "In the bucket of %lld rows (%lld liked) a popularity dial or item terms gain "
                 "nothing. The model is as the log has it.",
                 n, liked);
}

json_t *cwi_lesson_report(const cwi_bucket *b, const cwi_lesson *l)
{
    char verdict[512];
    say(b, l, verdict, sizeof verdict);
    json_t *out =
        json_pack("{s:s, s:I, s:I, s:b, s:I, s:I, s:I, s:b, s:b, s:s}", "xxh3_128", b->hash, "rows",
                  (json_int_t)b->count, "liked", (json_int_t)b->n_liked, "has_labels",
                  (int)b->has_labels, "unknown", (json_int_t)b->n_unknown, "trained_on",
                  (json_int_t)b->n_known, "repeats", (json_int_t)b->n_repeats, "is_enough",
                  (int)l->is_enough, "is_used", (int)l->is_used, "verdict", verdict);
    if (!l->is_enough) return out;
    json_t *more =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "log_chance_plain", l->plain,
                  "log_chance", l->full, "gain", l->gain, "gain_se", l->gain_se, "dial", l->dial,
                  "dial_low", l->dial_low, "dial_high", l->dial_high, "term_variance", l->variance);
    if (more) {
        cwi_json_copy_keys(more,
                           "log_chance_plain|log_chance|gain|gain_se|dial|dial_low|dial_high|"
                           "term_variance",
                           &out);
    } else {
        json_decref(out);
        out = NULL;
    }
    json_decref(more);
    return out;
}

json_t *cwi_lesson_terms(const cwi_lesson *l)
{
    json_t *items = json_array(), *terms = json_array();
    for (int32_t i = 0; i < l->n_terms; i++) {
        cwi_json_add(&items, json_integer(l->item[i]));
        cwi_json_add(&terms, json_real(l->term[i]));
    }
    return json_pack("{s:o, s:o}", "items", items, "terms", terms);
}

cw_status cwi_lesson_read_terms(cw_context *ctx, const json_t *kept, int32_t n_items, float **out)
{
    const json_t *items = json_object_get(kept, "items"), *terms = json_object_get(kept, "terms");
    size_t n = json_array_size(items);
    *out = NULL;
    if (n == 0) return CW_OK;
    float *term = cwi_alloc_zero(ctx, (size_t)n_items, sizeof *term);
    if (!term) return CW_NO_MEMORY;
    for (size_t k = 0; k < n; k++) {
        json_int_t item = json_integer_value(json_array_get(items, k));
        float value = (float)json_number_value(json_array_get(terms, k));
        if (item >= 0 && item < n_items && isfinite(value)) term[item] = value;
    }
    *out = term;
    return CW_OK;
}

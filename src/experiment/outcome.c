/* outcome.c - what came of a race: the winner against the defaults on the test part, in numbers
 * and in words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
#include "evaluate/significance.h"
#include "evaluate/walk.h"
#include "experiment/tuner.h"
#include "model/model.h"

/* Points of a Lorenz curve: shares of the items from none to all. */
enum { LORENZ_STEPS = 20 };

/* One model on the test part. */
typedef struct side {
    double *value;  /* [audience.n] of each user, so that the mean is the metric */
    int64_t *times; /* [n_items] in the lists */
    double mean;
} side;

typedef struct court {
    cw_context *ctx;
    const cwi_tuner *tuner;
    cwi_audience audience;
    cwi_exposure exposure;
    int metric; /* its place in rows of numbers */
    side winner;
    json_t *sides;
} court;

/* ---- lists ------------------------------------------------------------------------------ */

typedef struct hearing {
    const court *c;
    const cw_model *model;
    cwi_audience audience;
    cwi_share sum[CWI_N_METRICS];
    side *out;
} hearing;

static void hear_list(void *arg, const cwi_list *list)
{
    hearing *h = arg;
    cwi_share share[CWI_N_METRICS];
    cwi_trial trial = cwi_audience_trial(&h->audience, h->model->degree, list->user, list->item,
                                         list->count, h->c->tuner->k);
    cwi_trial_measure(&trial, share);
    cwi_shares_add(h->sum, share);
    h->out->value[list->row] = share[h->c->metric].over;
    for (int32_t k = 0; k < list->count; k++) h->out->times[list->item[k]]++;
}

/* What users bring to a sum, as parts of a mean; those of a mean stay as they are. */
static void scale_values(hearing *h)
{
    double n = h->audience.n;
    int64_t n_absent = h->audience.held.n_rows - h->audience.n;
    cwi_shares_add_absent(h->sum, h->audience.exposure, n_absent);
    for (int32_t r = 0; r < h->audience.n; r++) h->out->value[r] *= n / h->sum[h->c->metric].under;
}

static void side_clear(side *s)
{
    cwi_free(s->value);
    cwi_free(s->times);
    *s = (side){0};
}

static void count_logs(const cw_model *model, double *log_degree)
{
    for (int32_t i = 0; i < model->n_items; i++)
        log_degree[i] = cwi_log1p((double)model->degree[i]);
}

/* Rank for every user of the test part, with the dial. */
static cw_status hear(court *c, const cw_model *model, double dial, side *out)
{
    cw_status status;
    cw_context *ctx = c->ctx;
    cwi_ranker ranker = {0};
    hearing h = {.c = c, .model = model, .audience = c->audience, .out = out};
    double *log_degree = cwi_alloc(ctx, (size_t)model->n_items, sizeof *log_degree);

    out->value = cwi_alloc_zero(ctx, (size_t)c->audience.n, sizeof *out->value);
    out->times = cwi_alloc_zero(ctx, (size_t)model->n_items, sizeof *out->times);
    status = log_degree && out->value && out->times ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    h.audience.mask = &model->seen;
    count_logs(model, log_degree);
    CW_TRY(cwi_model_rank(ctx, model, &ranker));
    const cwi_walk walk = {.ranker = &ranker,
                           .mask = &model->seen,
                           .users = c->audience.users,
                           .n_users = c->audience.n,
                           .k = c->tuner->k,
                           .dials = &dial,
                           .n_dials = 1,
                           .log_degree = log_degree,
                           .collect = hear_list,
                           .arg = &h,
                           .stage = "measuring the test part"};
    CW_TRY(cwi_walk_run(ctx, &walk));
    scale_values(&h);
    double sd;
    cwi_mean_sd(out->value, c->audience.n, &out->mean, &sd);
done:
    cwi_ranker_close(&ranker);
    cwi_free(log_degree);
    return status;
}

/* ---- exposure ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The share of all that the rarest items have together: rarest twentieth, two twentieths, ... */
static cw_status lorenz(cw_context *ctx, const int64_t *times, int32_t n, json_t **out)
{
    double sum = 0, whole = 0;
    int32_t at = 0;
    int64_t *sorted = cwi_alloc(ctx, (size_t)n, sizeof *sorted);
    *out = json_array();
    if (!sorted) return CW_NO_MEMORY;
    memcpy(sorted, times, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    for (int32_t i = 0; i < n; i++) whole += (double)sorted[i];
    for (int step = 0; step <= LORENZ_STEPS; step++) {
        int32_t until = (int32_t)((int64_t)n * step / LORENZ_STEPS);
        while (at < until) sum += (double)sorted[at++];
        cwi_json_add(out, json_real(whole > 0 ? sum / whole : 0));
    }
    cwi_free(sorted);
    return cwi_json_check(ctx, *out);
}

static cw_status lorenz_of_log(cw_context *ctx, const cwi_tuner *t, json_t **out)
{
    const cwi_pairs *train = &t->data->part[CW_PART_TRAIN];
    int64_t *degree = cwi_alloc(ctx, (size_t)t->data->n_items, sizeof *degree);
    *out = NULL;
    if (!degree) return CW_NO_MEMORY;
    cwi_degrees(train->item, train->count, t->data->n_items, degree);
    cw_status status = lorenz(ctx, degree, t->data->n_items, out);
    cwi_free(degree);
    return status;
}

/* What the metric needs to know of the test rows. */
static cw_status weigh(court *c)
{
    cw_status status;
    const cw_dataset *data = c->tuner->data;
    const cwi_pairs *train = &data->part[CW_PART_TRAIN];
    cw_options *options = NULL;
    int64_t *degree = cwi_alloc(c->ctx, (size_t)data->n_items, sizeof *degree);
    if (!degree) return CW_NO_MEMORY;
    cwi_degrees(train->item, train->count, data->n_items, degree);
    CW_TRY(cwi_options_create(c->ctx, "evaluate", cwi_evaluate_options, &options));
    CW_TRY(cwi_tuner_weigh(c->ctx, c->tuner, options));
    c->exposure.is_uniform = cwi_options_flag(options, "uniform-exposure");
    CW_TRY(cwi_weights_create(c->ctx, options, "", &data->items, degree, &c->exposure));
    c->audience.exposure = &c->exposure;
done:
    cw_options_free(options);
    cwi_free(degree);
    return status;
}

/* ---- one side ------------------------------------------------------------------------------- */

/* Groups and what the lists do to the catalogue, as cw_evaluate has them. */
static cw_status assess(court *c, const cw_model *model, double dial, json_t **out)
{
    cw_status status;
    char k[CWI_NUMBER_BYTES], popularity[CWI_NUMBER_BYTES], *json = NULL;
    cw_options *options = NULL;
    cwi_print_int(c->tuner->k, k);
    cwi_print_real(dial, popularity);
    CW_TRY(cwi_options_create(c->ctx, "evaluate", cwi_evaluate_options, &options));
    CW_TRY(cwi_options_assign(c->ctx, options, "k", k));
    CW_TRY(cwi_options_assign(c->ctx, options, "popularity", popularity));
    CW_TRY(cwi_tuner_weigh(c->ctx, c->tuner, options));
    CW_TRY(cw_evaluate(c->ctx, c->tuner->data, model, options, &json));
    CW_TRY(cwi_json_reparse(c->ctx, json, out));
done:
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

/* Could the winner's lead be chance? */
static cw_status test_lead(court *c, const side *other, json_t **out)
{
    cwi_pairing p;
    CW_PASS(cwi_pairing_test(c->ctx, c->winner.value, other->value, c->audience.n, &p));
    *out = json_pack("{s:I, s:o, s:o, s:o}", "users", (json_int_t)p.n, "difference",
                     cwi_json_number(p.mean), "t_p", cwi_json_number(p.t_p), "wilcoxon_p",
                     cwi_json_number(p.wilcoxon_p));
    return cwi_json_check(c->ctx, *out);
}

/* A side with its entry in the results; `own` takes its lists. */
static cw_status add_side(court *c, const json_t *record, const cw_model *model, double dial,
                          side *own)
{
    cw_status status;
    json_t *evaluation = NULL, *curve = NULL, *test = NULL, *made = NULL;
    bool is_winner = own == &c->winner;

    CW_TRY(hear(c, model, dial, own));
    CW_TRY(assess(c, model, dial, &evaluation));
    CW_TRY(lorenz(c->ctx, own->times, model->n_items, &curve));
    if (!is_winner) CW_TRY(test_lead(c, own, &test));
    made =
        json_pack("{s:f, s:O, s:O}", "mean", own->mean, "evaluation", evaluation, "lorenz", curve);
    cwi_json_copy_keys(record, "trial|method|backbone|origin|settings|valid|value", &made);
    cwi_json_set(&made, "dial", json_real(dial));
    if (!is_winner) cwi_json_set(&made, "lead", json_incref(test));
    cwi_json_add(&c->sides, made);
    CW_TRY(cwi_json_check(c->ctx, c->sides));
done:
    json_decref(evaluation);
    json_decref(curve);
    json_decref(test);
    return status;
}

/* The defaults of a family as they are, without a dial. */
static cw_status add_default(court *c, const json_t *record)
{
    cw_model *model = NULL;
    side lists = {0};
    CW_PASS(cwi_tuner_model(c->ctx, c->tuner, record, &model, NULL));
    cw_status status = add_side(c, record, model, 0, &lists);
    side_clear(&lists);
    cw_model_free(model);
    return status;
}

static bool is_trial(const json_t *a, const json_t *b)
{
    return cwi_json_get_number(a, "trial") == cwi_json_get_number(b, "trial");
}

static cw_status hear_all(court *c, const json_t *winner, const cw_model *model)
{
    double dial = cwi_json_get_number(winner, "dial");
    CW_PASS(add_side(c, winner, model, dial, &c->winner));
    for (size_t f = 0; f < c->tuner->race.n_families; f++) {
        const json_t *record = json_array_get(c->tuner->records, f);
        bool is_same = is_trial(record, winner) && dial == 0 && !model->term &&
                       !json_object_get(winner, "with");
        if (!is_same && json_is_number(json_object_get(record, "value")))
            CW_PASS(add_default(c, record));
    }
    return CW_OK;
}

/* ---- words ------------------------------------------------------------------------------------
 */

typedef struct words {
    char text[3072];
    size_t used;
} words;

static void say(words *w, const char *format, ...) CWI_PRINTF(2, 3);
static void say(words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->text + w->used, sizeof w->text - w->used, format, args);
    va_end(args);
    if (n > 0) w->used += (size_t)n;
    if (w->used >= sizeof w->text) w->used = sizeof w->text - 1;
}

static bool is_method(const json_t *record, const char *method)
{
    return strcmp(cwi_json_get_text(record, "method"), method) == 0;
}

/* " with lr 0.002 and reg 0.1", nothing for defaults. */
static void say_settings(words *w, const json_t *settings)
{
    const char *name;
    json_t *value;
    size_t n = json_object_size(settings), k = 0;
    json_object_foreach((json_t *)settings, name, value)
    {
        char text[64];
        if (!cwi_json_to_text(value, text, sizeof text)) continue;
        say(w, "%s%s %s", k == 0 ? " with " : k + 1 == n ? " and " : ", ", name, text);
        k++;
    }
    if (n == 0) say(w, " with its defaults");
}

static void say_gain(words *w, double ours, double theirs)
{
    double gain = theirs > 0 ? 100 * (ours / theirs - 1) : 0;
    if (!(theirs > 0))
        say(w, "above");
    else if (fabs(gain) < 0.05)
        say(w, "level with");
    else
        say(w, "%.1f %% %s", fabs(gain), gain > 0 ? "above" : "below");
}

/* What of the defaults the winner is set against in words: the first of a method. */
static const json_t *find_side(const json_t *sides, const char *method)
{
    for (size_t k = 1; k < json_array_size(sides); k++)
        if (is_method(json_array_get(sides, k), method) &&
            strcmp(cwi_json_get_text(json_array_get(sides, k), "origin"), "default") == 0)
            return json_array_get(sides, k);
    return NULL;
}

static void say_p(words *w, const json_t *entry)
{
    const json_t *lead = json_object_get(entry, "lead");
    double p = cwi_json_to_number(json_object_get(lead, "wilcoxon_p"));
    if (isnan(p)) return;
    if (p < 0.001)
        say(w, " (p < 0.001)");
    else
        say(w, " (p = %.3f%s)", p, p > 0.05 ? ", which may be chance" : "");
}

/* A default is that of the first backbone, unless that one is the winner itself. */
static void say_rival(words *w, const json_t *record)
{
    const char *method = cwi_json_get_text(record, "method");
    const char *backbone = cwi_json_get_text(record, "backbone");
    say(w, " %s", method);
    if (strcmp(backbone, cw_method_backbone(method, 0)) != 0) say(w, " on %s", backbone);
}

/* What a winner is compared with in words, where the race has it. */
static const char *const known[] = {"pop", "itemknn", "bpr", "cpr", "cross"};
enum { N_KNOWN = sizeof known / sizeof known[0] };

/* What a log cannot tell, or what a bucket has told. */
static void say_bucket(words *w, const cwi_tuner *t, const json_t *winner)
{
    const char *verdict = cwi_json_get_text(json_object_get(winner, "bucket"), "verdict");
    if (!t->is_told) say(w, " %s", cwi_bucket_missing);
    if (verdict[0]) say(w, " %s", verdict);
}

static void say_winner(words *w, const cwi_tuner *t, const json_t *winner)
{
    double value = cwi_json_get_number(winner, "value"), dial = cwi_json_get_number(winner, "dial");
    const json_t *best = cwi_race_best(t->records, 0, NULL, NULL);
    const json_t *with = json_object_get(winner, "with");
    const char *key = t->has_bucket ? "value" : "valid";
    say(w, "The %s of %zu trials %s is %s on %s", is_trial(winner, best) ? "best" : "choice",
        json_array_size(t->records), t->has_bucket ? "by the bucket" : "on validation",
        cwi_json_get_text(winner, "method"), cwi_json_get_text(winner, "backbone"));
    say_settings(w, json_object_get(winner, "settings"));
    if (with) {
        say(w, ", together with %s on %s", cwi_json_get_text(with, "method"),
            cwi_json_get_text(with, "backbone"));
        say_settings(w, json_object_get(with, "settings"));
    }
    if (dial != 0) say(w, ", ranked with a popularity dial of %g", dial);
    say(w, ": %s %.4f", t->has_bucket ? "chance of what happened in it" : t->metric, value);
    if (t->folds.n > 1) say(w, ", the mean of %d folds", t->folds.n);
    for (size_t o = 0, n = 0; o < N_KNOWN; o++) {
        for (size_t f = 0; f < t->race.n_families; f++) {
            const json_t *record = json_array_get(t->records, f);
            const json_t *valid = json_object_get(record, key);
            if (!is_method(record, known[o]) || is_trial(record, winner) || !json_is_number(valid))
                continue;
            say(w, "%s", n++ == 0 ? ", " : "; ");
            say_gain(w, value, json_number_value(valid));
            say_rival(w, record);
            if (o > 0) say(w, " with its defaults");
            break;
        }
    }
    say(w, ".");
    if (is_trial(winner, best)) return;
    say(w,
        " Trial %.0f has %.4f, but the folds cannot tell them apart, and of such trials the first "
        "is taken.",
        cwi_json_get_number(best, "trial"), cwi_json_get_number(best, "value"));
}

static void say_test(words *w, const court *c)
{
    size_t n = 0;
    say(w, " On the test part, which no choice has seen, it has %.4f", c->winner.mean);
    for (size_t o = 0; o < N_KNOWN; o++) {
        const json_t *other = find_side(c->sides, known[o]);
        if (!other) continue;
        say(w, "%s", n++ == 0 ? ": " : "; ");
        say_gain(w, c->winner.mean, cwi_json_get_number(other, "mean"));
        say_rival(w, other);
        say_p(w, other);
    }
    say(w, ".");
}

/* No shame in it, but it should be known. */
static void say_pop(words *w, const cwi_tuner *t, const json_t *winner)
{
    if (!is_method(winner, "pop")) return;
    if (t->has_bucket)
        say(w, " Nothing that was trained beats the most popular items, corrected by the bucket: "
               "there may be too few rows to learn taste from.");
    else
        say(w,
            " Nothing that was trained beats the most popular items here: there may be too few "
            "rows "
            "to learn taste from, or the validation rows ask for what all like. More rows, another "
            "split or a validation file of random exposure are worth a try before shipping it.");
}

/* ---- the whole
 * ----------------------------------------------------------------------------------- */

static json_t *list_trials(const cwi_tuner *t)
{
    json_t *list = json_array();
    for (size_t k = 0; k < json_array_size(t->records); k++) {
        json_t *entry = json_object();
        cwi_json_copy_keys(
            json_array_get(t->records, k),
            "trial|method|backbone|origin|settings|steps|best_epoch|valid|dial|value|"
            "folds|ended|error|curve|seconds",
            &entry);
        cwi_json_add(&list, entry);
    }
    return list;
}

static json_t *describe_data(const cwi_tuner *t)
{
    const cw_dataset *d = t->data;
    return json_pack("{s:s, s:i, s:i, s:I, s:I, s:I}", "xxh3_128", t->hash, "users", d->n_users,
                     "items", d->n_items, "train", (json_int_t)d->part[0].count, "valid",
                     (json_int_t)d->part[1].count, "test", (json_int_t)d->part[2].count);
}

static cw_status judge(court *c, const json_t *winner, const cw_model *model, json_t *log,
                       json_t **out)
{
    const cwi_tuner *t = c->tuner;
    words w = {.used = 0};
    bool has_test = t->data->part[CW_PART_TEST].count > 0;
    if (has_test) CW_PASS(hear_all(c, winner, model));
    say_winner(&w, t, winner);
    if (has_test) say_test(&w, c);
    say_pop(&w, t, winner);
    say_bucket(&w, t, winner);
    *out = json_pack("{s:s, s:s, s:s, s:i, s:I, s:i, s:o, s:O, s:O, s:o, s:O, s:s}", "verdict",
                     w.text, "metric", t->metric, "judge", t->has_bucket ? "bucket" : t->metric,
                     "k", (int)t->k, "seed", (json_int_t)t->seed, "folds", t->folds.n, "data",
                     describe_data(t), "winner", (json_t *)winner, "sides", c->sides, "trials",
                     list_trials(t), "log_lorenz", log, "crosswise", cw_version());
    return cwi_json_check(c->ctx, *out);
}

cw_status cwi_tuner_report(cw_context *ctx, const cwi_tuner *tuner, const json_t *winner,
                           const cw_model *model, json_t **out)
{
    cw_status status;
    json_t *log = NULL;
    court c = {.ctx = ctx, .tuner = tuner, .sides = json_array()};
    const cwi_metrics none = {0};

    *out = NULL;
    c.metric = (int)(cwi_metric_find(&none, tuner->metric_name) - none.value);
    CW_TRY(cwi_json_check(ctx, c.sides));
    CW_TRY(cwi_audience_create(ctx, &tuner->data->part[CW_PART_TEST], tuner->data->n_users,
                               &c.audience));
    CW_TRY(weigh(&c));
    CW_TRY(lorenz_of_log(ctx, tuner, &log));
    CW_TRY(judge(&c, winner, model, log, out));
done:
    side_clear(&c.winner);
    cwi_audience_clear(&c.audience);
    cwi_exposure_clear(&c.exposure);
    json_decref(c.sides);
    json_decref(log);
    return status;
}

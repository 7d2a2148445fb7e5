/* dial.c - the popularity dial that is best for a trial, on the validation parts of its folds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
#include "experiment/tuner.h"

enum { MAX_POINTS = 16 };

/* Positions of the dial and the metric with each. */
typedef struct sweep {
    double dial[MAX_POINTS], value[MAX_POINTS];
    double each[MAX_POINTS][CWI_MAX_FOLDS]; /* on each fold */
    size_t n;
} sweep;

/* Those on one fold: "auto", or a list. */
static cw_status sweep_fold(cw_context *ctx, const cwi_tuner *tuner, int fold,
                            const cw_model *model, const char *dials, json_t **out)
{
    cw_status status;
    char k[CWI_NUMBER_BYTES], *json = NULL;
    cw_options *options = NULL;
    json_t *found = NULL;

    *out = NULL;
    cwi_print_int(tuner->k, k);
    CW_TRY(cwi_options_create(ctx, "evaluate", cwi_evaluate_options, &options));
    CW_TRY(cwi_options_assign(ctx, options, "split", "valid"));
    CW_TRY(cwi_options_assign(ctx, options, "k", k));
    CW_TRY(cwi_options_assign(ctx, options, "truth", "off"));
    CW_TRY(cwi_options_assign(ctx, options, "popularity-sweep", dials));
    CW_TRY(cwi_tuner_weigh(ctx, tuner, options));
    CW_TRY(cw_evaluate(ctx, &tuner->folds.set[fold], model, options, &json));
    CW_TRY(cwi_json_reparse(ctx, json, &found));
    *out = json_incref(json_object_get(found, "sweep"));
    CW_TRY(cwi_json_check(ctx, *out));
done:
    json_decref(found);
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

/* The mean over the folds.  "auto" is in units of the spread of a model's scores: each fold has its
 * own, and the positions are those of the first, whose model is kept. */
static cw_status sweep_all(cw_context *ctx, const cwi_tuner *tuner, cw_model *const *model,
                           const char *dials, sweep *out)
{
    *out = (sweep){.n = 0};
    for (int fold = 0; fold < tuner->folds.n; fold++) {
        json_t *points;
        CW_PASS(sweep_fold(ctx, tuner, fold, model[fold], dials, &points));
        if (fold == 0) out->n = json_array_size(points);
        if (out->n > MAX_POINTS) out->n = MAX_POINTS;
        for (size_t k = 0; k < out->n; k++) {
            const json_t *point = json_array_get(points, k);
            if (fold == 0) out->dial[k] = cwi_json_get_number(point, "popularity");
            out->each[k][fold] = cwi_json_get_number(point, tuner->metric_name);
            out->value[k] += out->each[k][fold];
        }
        json_decref(points);
    }
    for (size_t k = 0; k < out->n; k++) out->value[k] /= tuner->folds.n;
    return CW_OK;
}

static size_t best_point(const sweep *s)
{
    size_t best = 0;
    for (size_t k = 1; k < s->n; k++)
        if (s->value[k] > s->value[best]) best = k;
    return best;
}

/* Append a number of three digits to a list with commas, unless it is there. */
static void list_dial(char *list, size_t bytes, double dial)
{
    char text[CWI_NUMBER_BYTES];
    size_t used = strlen(list);
    if (dial == 0 || fabs(dial) > 1e5 || fabs(dial) < 1e-9) return;
    cwi_print_real(cwi_round_digits(dial), text);
    snprintf(list + used, bytes - used, ",%s", text);
}

/*
 * Nine positions from one end to the other, then the best one with readable digits and the middles
 * to its neighbours.  It must earn one part in a hundred to be used at all.
 */
cw_status cwi_trial_dial(cw_context *ctx, const cwi_tuner *tuner, cw_model *const *model,
                         double *each, double *dial, double *value)
{
    const double earns = 1.01;
    sweep wide, fine;
    char list[128] = "0";
    double valid = *value;

    *dial = 0;
    CW_PASS(sweep_all(ctx, tuner, model, "auto", &wide));
    size_t best = best_point(&wide);
    if (best > 0) list_dial(list, sizeof list, (wide.dial[best] + wide.dial[best - 1]) / 2);
    list_dial(list, sizeof list, wide.dial[best]);
    if (best + 1 < wide.n)
        list_dial(list, sizeof list, (wide.dial[best] + wide.dial[best + 1]) / 2);
    CW_PASS(sweep_all(ctx, tuner, model, list, &fine));
    best = best_point(&fine);
    if (!(fine.value[best] > earns * valid)) return CW_OK;
    *dial = fine.dial[best];
    *value = fine.value[best];
    memcpy(each, fine.each[best], (size_t)tuner->folds.n * sizeof *each);
    return CW_OK;
}

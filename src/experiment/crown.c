/* crown.c - what a random bucket says of the trials of a race, and makes of the winner. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "experiment/tuner.h"
#include "model/model.h"

static cw_status learn(cw_context *ctx, const cwi_tuner *t, const cw_model *const *model, int n,
                       bool bounds, cwi_lesson *out)
{
    cw_status status;
    cwi_ranker ranker[CWI_BUCKET_MODELS] = {{0}};
    const cwi_ranker *all[CWI_BUCKET_MODELS];
    *out = (cwi_lesson){0};
    for (int m = 0; m < n; m++) {
        CW_TRY(cwi_model_rank(ctx, model[m], &ranker[m]));
        all[m] = &ranker[m];
    }
    CW_TRY(cwi_bucket_learn(ctx, &t->bucket, all, n, model[0]->degree, (uint64_t)t->seed, bounds,
                            out));
done:
    for (int m = 0; m < n; m++) cwi_ranker_close(&ranker[m]);
    return status;
}

cw_status cwi_trial_judge(cw_context *ctx, const cwi_tuner *tuner, const cw_model *model,
                          double *dial, double *value)
{
    cwi_lesson lesson;
    cw_status status = learn(ctx, tuner, &model, 1, false, &lesson);
    *dial = lesson.dial;
    *value = cwi_lesson_value(&lesson);
    cwi_lesson_clear(&lesson);
    return status;
}

/* ---- a model beside the winner ------------------------------------------------------ */

static bool is_method(const json_t *record, const char *method)
{
    return strcmp(cwi_json_get_text(record, "method"), method) == 0;
}

/* The best trial of the method that is best among the others; popularity is there already. */
static const json_t *find_other(const cwi_tuner *t, const json_t *winner)
{
    const json_t *best = NULL;
    for (size_t k = 0; k < json_array_size(t->records); k++) {
        const json_t *record = json_array_get(t->records, k);
        double value = cwi_json_to_number(json_object_get(record, "value"));
        if (isnan(value) || is_method(record, "pop") ||
            is_method(record, cwi_json_get_text(winner, "method")))
            continue;
        if (!best || value > cwi_json_get_number(best, "value")) best = record;
    }
    return best;
}

static cw_status has_vectors(cw_context *ctx, const cw_model *model, bool *out)
{
    cwi_ranker ranker;
    CW_PASS(cwi_model_rank(ctx, model, &ranker));
    *out = cwi_ranker_is_dot(&ranker);
    cwi_ranker_close(&ranker);
    return CW_OK;
}

/* The sum is taken where the bucket finds it likelier than the winner alone. */
static cw_status try_sum(cw_context *ctx, const cwi_tuner *t, const json_t *other,
                         const cw_model *model, cwi_crown *crown)
{
    cw_status status;
    bool can_be[2];
    cw_model *second = NULL;
    cwi_lesson both = {0};
    CW_TRY(has_vectors(ctx, model, &can_be[0]));
    if (!can_be[0]) goto done;
    CW_TRY(cwi_tuner_model(ctx, t, other, &second, NULL));
    CW_TRY(has_vectors(ctx, second, &can_be[1]));
    if (!can_be[1]) goto done;
    const cw_model *pair[] = {model, second};
    CW_TRY(learn(ctx, t, pair, 2, true, &both));
    if (!(cwi_lesson_value(&both) > cwi_lesson_value(&crown->lesson))) goto done;
    cwi_lesson_clear(&crown->lesson);
    crown->lesson = both;
    both = (cwi_lesson){0};
    crown->with = other;
done:
    cwi_lesson_clear(&both);
    cw_model_free(second);
    return status;
}

/* ---- the crown ---------------------------------------------------------------------- */

static cw_status note(cw_context *ctx, const cwi_tuner *t, cwi_crown *crown)
{
    json_t **record = &crown->record;
    if (t->has_bucket) {
        cwi_json_set(record, "dial", json_real(crown->lesson.dial));
        cwi_json_set(record, "value", json_real(cwi_lesson_value(&crown->lesson)));
    }
    cwi_json_set(record, "bucket", cwi_lesson_report(&t->bucket, &crown->lesson));
    if (crown->with) {
        json_t *with = json_object();
        cwi_json_copy_keys(crown->with, "trial|method|backbone|settings", &with);
        cwi_json_set(record, "with", with);
    }
    return cwi_json_check(ctx, *record);
}

cw_status cwi_crown_make(cw_context *ctx, const cwi_tuner *tuner, const json_t *winner,
                         const cw_model *model, cwi_crown *out)
{
    cw_status status;
    const json_t *other = find_other(tuner, winner);
    *out = (cwi_crown){.record = cwi_json_copy(winner)};
    CW_TRY(cwi_json_check(ctx, out->record));
    if (tuner->bucket.count == 0) return CW_OK;
    CW_TRY(learn(ctx, tuner, &model, 1, true, &out->lesson));
    if (other && out->lesson.is_enough && !is_method(winner, "pop"))
        CW_TRY(try_sum(ctx, tuner, other, model, out));
    CW_TRY(note(ctx, tuner, out));
    cwi_log(ctx, out->lesson.is_enough ? CW_LOG_INFO : CW_LOG_WARNING, "%s",
            cwi_json_get_text(json_object_get(out->record, "bucket"), "verdict"));
done:
    return status;
}

static cw_status put_words(cw_context *ctx, const cwi_crown *crown, cw_model *model)
{
    json_t *about = NULL;
    char *text = NULL;
    double dial = cwi_json_get_number(crown->record, "dial");
    const json_t *bucket = json_object_get(crown->record, "bucket");
    if (dial == 0 && !bucket) return CW_OK;
    CW_PASS(cwi_json_reparse(ctx, model->about, &about));
    if (dial != 0) cwi_json_set(&about, "dial", json_real(dial));
    if (bucket) cwi_json_set(&about, "bucket", json_incref((json_t *)bucket));
    CW_PASS(cwi_json_check(ctx, about));
    CW_PASS(cwi_json_text(ctx, about, &text));
    cwi_free(model->about);
    model->about = text;
    return CW_OK;
}

static cw_status add_other(cw_context *ctx, const cwi_tuner *t, const cwi_crown *crown, bool refits,
                           cw_model **model)
{
    cw_status status;
    cw_model *second = NULL, *sum = NULL;
    CW_TRY(refits ? cwi_trial_repeat(ctx, t, crown->with, true, &second, NULL)
                  : cwi_tuner_model(ctx, t, crown->with, &second, NULL));
    const cw_model *pair[] = {*model, second};
    CW_TRY(cwi_model_sum(ctx, pair, crown->lesson.weight, &sum));
    cw_model_free(*model);
    *model = sum;
done:
    cw_model_free(second);
    return status;
}

cw_status cwi_crown_put(cw_context *ctx, const cwi_tuner *tuner, const cwi_crown *crown,
                        bool refits, cw_model **model)
{
    cw_status status;
    json_t *terms = NULL;
    if (crown->with) CW_TRY(add_other(ctx, tuner, crown, refits, model));
    terms = cwi_lesson_terms(&crown->lesson);
    CW_TRY(cwi_json_check(ctx, terms));
    CW_TRY(cwi_lesson_read_terms(ctx, terms, (*model)->n_items, &(*model)->term));
    CW_TRY(put_words(ctx, crown, *model));
done:
    json_decref(terms);
    return status;
}

void cwi_crown_clear(cwi_crown *crown)
{
    json_decref(crown->record);
    cwi_lesson_clear(&crown->lesson);
    *crown = (cwi_crown){0};
}

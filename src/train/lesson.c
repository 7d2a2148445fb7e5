/* lesson.c - what a random bucket tells of a model that is being trained. */
#include <string.h>

#include "core/json.h"
#include "train/train.h"

static cw_status keep(cwi_trainer *t, const cwi_bucket *bucket, const cwi_lesson *lesson,
                      json_t *found)
{
    json_t *about = json_object_get(found, "about");
    json_t *report = cwi_lesson_report(bucket, lesson), *terms = cwi_lesson_terms(lesson);
    cw_status status = report && terms ? CW_OK : cwi_no_memory(t->ctx);
    if (status == CW_OK)
        cwi_log(t->ctx, lesson->is_enough ? CW_LOG_INFO : CW_LOG_WARNING, "%s",
                cwi_json_get_text(report, "verdict"));
    if (status == CW_OK && lesson->dial != 0 &&
        json_object_set_new(about, "dial", json_real(lesson->dial)) != 0)
        status = cwi_no_memory(t->ctx);
    if (status == CW_OK && (json_object_set(about, "bucket", report) != 0 ||
                            json_object_set(found, "terms", terms) != 0))
        status = cwi_no_memory(t->ctx);
    json_decref(report);
    json_decref(terms);
    return status;
}

/* The parameters that taught it are gone: it must be the same bucket. */
static cw_status compare(cwi_trainer *t, const cwi_bucket *bucket, const json_t *found)
{
    const json_t *old = json_object_get(json_object_get(found, "about"), "bucket");
    if (strcmp(cwi_json_get_text(old, "xxh3_128"), bucket->hash) == 0) return CW_OK;
    return cwi_fail(t->ctx, CW_BAD_DATA,
                    "%s was made with another bucket; train without --resume, or remove it",
                    cwi_options_text(t->options, "checkpoint"));
}

cw_status cwi_train_learn(cwi_trainer *t, const cwi_bucket *bucket, json_t *found)
{
    cw_status status;
    const cwi_task *task = &t->task;
    cwi_ranker ranker = {0};
    const cwi_ranker *const one[] = {&ranker};
    cwi_lesson lesson = {0};

    if (t->before) return compare(t, bucket, found);
    if (bucket->count == 0) return CW_OK;
    CW_TRY(cwi_method_rank(t->ctx, task->method, task->backbone, &task->shape, t->options, &t->best,
                           &ranker));
    CW_TRY(cwi_bucket_learn(t->ctx, bucket, one, 1, t->training.degree,
                            (uint64_t)cwi_options_integer(t->options, "seed"), true, &lesson));
    CW_TRY(keep(t, bucket, &lesson, found));
done:
    cwi_ranker_close(&ranker);
    cwi_lesson_clear(&lesson);
    return status;
}

/*
 * tuner.h - a race of settings under way: its data, its store, its trials so far.
 *
 *   tune.json                     what the race is of: data, seed, methods, ...
 *   runs/trial-0007.json          a finished trial (race.h), signed, with its name
 *   runs/trial-0007.safetensors   its model, and .run.json its record: of defaults and of the best
 *   results.json                  everything tried and the verdict
 */
#ifndef CWI_EXPERIMENT_TUNER_H
#define CWI_EXPERIMENT_TUNER_H

#include "core/options.h"
#include "evaluate/bucket.h"
#include "evaluate/metrics.h"
#include "experiment/folds.h"
#include "experiment/race.h"
#include "experiment/runstore.h"
#include "prepare/dataset.h"

typedef struct cwi_tuner {
    const cw_dataset *data; /* with the validation rows that decide */
    cwi_folds folds;        /* that and what trials are judged by besides */
    char hash[CWI_HASH_BYTES];
    cwi_race race;
    json_t *fixed;   /* what the option "set" says, as texts */
    json_t *records; /* of the finished trials */
    cwi_runstore store;
    const char *metric; /* "recall@20" */
    char metric_name[CWI_METRIC_BYTES];
    int32_t k;
    int64_t seed;
    int64_t trials;  /* so many and no more; 0: as many as fit the budget */
    double budget_s; /* 0: no bound */
    bool refits;
    cwi_bucket bucket; /* empty: none */
    bool has_bucket;   /* that can tell something, and decides */
    bool is_told;      /* by rows of a file, or a bucket, what a log cannot tell */
} cwi_tuner;

/* What the bucket makes of the winner: a dial, item terms, and maybe another model beside it. */
typedef struct cwi_crown {
    json_t *record;     /* of the winner, with what came of the bucket; without one the winner's */
    const json_t *with; /* record of the model beside it; NULL: none */
    cwi_lesson lesson;
} cwi_crown;

extern const cw_option_info cwi_tune_options[];

/* "90s", "10m", "2h" in seconds. */
cw_status cwi_budget_parse(cw_context *ctx, const char *text, double *seconds);

/* trial.c: train and measure a proposal of the race on all folds; model and run are of the first.
 *   left_s  give up after so many seconds; 0: never
 *   record  NULL when it was given up for want of time; the model is NULL, too, when it was stopped
 *           early or failed by its own fault */
cw_status cwi_trial_run(cw_context *ctx, const cwi_tuner *tuner, json_t *proposal, double left_s,
                        json_t **record, cw_model **model, char **run);
/* Train what a record says once more on the first fold, which gives the same bits; with refit also
 * on all rows. */
cw_status cwi_trial_repeat(cw_context *ctx, const cwi_tuner *tuner, const json_t *record,
                           bool refits, cw_model **model, char **run);

/* dial.c: the popularity dial that is best on the mean over the folds.
 *   model  [folds]
 *   each   [folds] the metric on each; without a dial, and then with it
 *   value  its mean, likewise */
cw_status cwi_trial_dial(cw_context *ctx, const cwi_tuner *tuner, cw_model *const *model,
                         double *each, double *dial, double *value);

/* crown.c: judge a trained model by the bucket: its dial, and what it is ranked by. */
cw_status cwi_trial_judge(cw_context *ctx, const cwi_tuner *tuner, const cw_model *model,
                          double *dial, double *value);
/* Learn from all of the bucket; model is the winner's. */
cw_status cwi_crown_make(cw_context *ctx, const cwi_tuner *tuner, const json_t *winner,
                         const cw_model *model, cwi_crown *out);
/* Put it on *model, which may be replaced; refits: the model beside it is trained on all rows. */
cw_status cwi_crown_put(cw_context *ctx, const cwi_tuner *tuner, const cwi_crown *crown,
                        bool refits, cw_model **model);
void cwi_crown_clear(cwi_crown *crown);

/* tuner.c: the model of a record, from the store or made again; run may be NULL. */
cw_status cwi_tuner_model(cw_context *ctx, const cwi_tuner *tuner, const json_t *record,
                          cw_model **model, char **run);

/* tuner.c: tell the options of an evaluation what the metric needs to know of the exposure. */
cw_status cwi_tuner_weigh(cw_context *ctx, const cwi_tuner *tuner, cw_options *evaluate);

/* outcome.c: what came of it, as a new object: winner, tests against the defaults, exposure. */
cw_status cwi_tuner_report(cw_context *ctx, const cwi_tuner *tuner, const json_t *winner,
                           const cw_model *model, json_t **out);

#endif

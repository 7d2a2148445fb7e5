/* train.h - the training loop and its state. */
#ifndef CWI_TRAIN_TRAIN_H
#define CWI_TRAIN_TRAIN_H

#include <jansson.h>
#include <time.h>

#include "core/file.h"
#include "core/options.h"
#include "engine/engine.h"
#include "evaluate/bucket.h"
#include "evaluate/evaluate.h"
#include "prepare/dataset.h"

/* When to write a checkpoint: after so many epochs or seconds, 0 for neither. */
typedef struct cwi_pace {
    int64_t epochs;
    double seconds;
} cwi_pace;

/* From "10" epochs or "60s". */
cw_status cwi_pace_parse(cw_context *ctx, const char *text, cwi_pace *out);

/* Early stopping. */
typedef struct cwi_stopper {
    double best;        /* of the metric; starts at 0 */
    int64_t best_epoch; /* 0: none yet */
    int64_t worse;      /* evaluations since */
} cwi_stopper;

/* A training that goes on where another one ended; all zeros: the first one. */
typedef struct cwi_sequel {
    const char *phase; /* "refit" or "update"; NULL: there was none before */
    char data_hash[CWI_HASH_BYTES];
    int64_t steps_per_epoch, epochs; /* all that it makes; there are no evaluations */
    const struct cw_model *model;    /* whose parameters it begins with; NULL: those of the seed */
    json_t *before;                  /* what is known of the one before */
    bool resumes;                    /* its checkpoint may be there already */
} cwi_sequel;

typedef struct cwi_trainer {
    cw_context *ctx;
    const cw_dataset *dataset;
    cw_dataset *spent;   /* the same, once it may be taken apart for the model; NULL: it is kept */
    cw_options *options; /* all filled in */
    char data_hash[CWI_HASH_BYTES];
    char treatment_hash[CWI_HASH_BYTES];  /* of training.treatment; "" when there is none */
    char propensity_hash[CWI_HASH_BYTES]; /* of those of a file; "" when there is none */

    cwi_extent extent; /* of the data, by which options not given were chosen */
    cwi_training training;
    cwi_task task;      /* of the engine */
    cwi_engine *engine; /* NULL where there is nothing to learn */
    bool has_begun;     /* the epoch under way */
    cwi_tally tally;    /* as the engine last told it */
    cwi_params best;    /* empty until the first evaluation that counts; final in the end */
    bool best_is_there; /* the engine keeps them; cwi_trainer_fetch_best has them here */
    int64_t epoch;      /* finished epochs */
    cwi_stopper stopper;
    json_t *epochs;    /* one object per finished epoch */
    json_t *baselines; /* what it has to beat; NULL until the end */
    bool has_warned;

    char metric[CWI_METRIC_BYTES]; /* what stopping looks at, such as "recall" */
    int32_t metric_k;
    cwi_audience audience[CWI_PARTS]; /* of parts that were measured; no users: not yet */
    cwi_exposure exposure; /* behind the rows of valid and test, as far as the options say */
    cwi_pace pace;
    int64_t saved_epoch;
    struct timespec saved_at, epoch_began;
    double train_s; /* of the epoch under way, before a resume */
    cwi_sequel sequel;
    json_t *before; /* the checkpoint is of the refit: what training had found; NULL: it is not */
} cwi_trainer;

/* trainer.c */
cw_status cwi_trainer_create(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                             cwi_trainer **out);
/* The same for a sequel, of which all pointers are borrowed. */
cw_status cwi_trainer_follow(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                             const cwi_sequel *sequel, cwi_trainer **out);
void cwi_trainer_free(cwi_trainer *t); /* NULL is fine */
cw_status cwi_trainer_run(cwi_trainer *t);
/* Metrics of lists on a part of the data. */
cw_status cwi_trainer_measure(cwi_trainer *t, const cwi_ranker *ranker, cw_part part,
                              cwi_metrics *out);
/* The best parameters, from where the engine may have kept them. */
cw_status cwi_trainer_fetch_best(cwi_trainer *t);
/* Is there anything to learn, or is the model filled from the data? */
bool cwi_trainer_learns(const cwi_trainer *t);
/* Is it the one of several processes that writes files and has the model in the end? */
bool cwi_trainer_leads(const cwi_trainer *t);
/* One step, in an epoch that begins with it when none is under way. */
cw_status cwi_trainer_step(cwi_trainer *t);
/* Hear from the engine how it goes; CW_BAD_DATA when the loss is not a number any more. */
cw_status cwi_trainer_listen(cwi_trainer *t);

/* baselines.c: measure what the model has to beat, and whether it does. */
cw_status cwi_baselines_compare(cwi_trainer *t);

/* refit.c: all rows of a dataset in its train part; ids are borrowed.  To be cleared. */
cw_status cwi_all_rows(cw_context *ctx, const cw_dataset *dataset, cw_dataset *out);
void cwi_all_rows_clear(cw_dataset *all); /* a zeroed one is fine; also after a failure */
/* Train *t, which is replaced, on all rows of `all` for as many steps as it found best.  found is
 * what it found: "about" the model and "epochs"; the refit is added to the former. */
cw_status cwi_refit(cwi_trainer **t, const cw_dataset *all, json_t *found);

/* train.c: what a model says of itself; the metrics are borrowed. */
json_t *cwi_describe_model(const cwi_trainer *t, json_t *valid, json_t *test);
/* The model of what the trainer holds, which is taken over, and its record, where run is given. */
cw_status cwi_make_model(cwi_trainer *t, const json_t *found, struct cw_model **out, char **run);

/* update.c: options of stage "update". */
extern const cw_option_info cwi_update_options[];
/* Rows that an earlier model has, over their first values. */
cw_status cwi_params_take_over(const cwi_trainer *t, const struct cw_model *from, cwi_params *to);

/* lesson.c: learn from a bucket what the best parameters lack, or take it from a checkpoint of the
 * refit; "dial" and "bucket" of the model's own words and "terms" are added to what was found. */
cw_status cwi_train_learn(cwi_trainer *t, const cwi_bucket *bucket, json_t *found);

/* treatment.c: read the interactions free of bias where the options name a file of them. */
cw_status cwi_treatment_load(cwi_trainer *t);

/* init.c: first values of all parameters. */
void cwi_params_init(const cw_options *options, int32_t n_users, cwi_params *params);
/* Those of the rows of this process out of a table of this shape. */
void cwi_params_init_share(const cw_options *options, int32_t n_users, const cwi_tensor *table,
                           const struct cwi_world *world, float *own);

/* share.c: what a process of many does in another way; it has its rows alone. */
cw_status cwi_share_open(cwi_trainer *t); /* the engine */
/* Whose items users had, of all users at the process that leads; interactions are dealt out. */
cw_status cwi_share_gather_seen(cwi_trainer *t);
/* A ranker by the best parameters; the engine has them from then on. */
cw_status cwi_share_rank_best(cwi_trainer *t, cwi_ranker *out);
/* The best parameters, all rows of them, at the process that leads; the engine is closed. */
cw_status cwi_share_gather_best(cwi_trainer *t);

/* checkpoint.c */
extern const cwi_file_kind cwi_checkpoint_kind;
cw_status cwi_checkpoint_check(const cwi_trainer *t); /* can it be written in the end? */
cw_status cwi_checkpoint_save(cwi_trainer *t);
cw_status cwi_checkpoint_load(cwi_trainer *t); /* nothing happens when there is none */

/* record.c: events and the record of the run. */
cw_status cwi_record_epoch(cwi_trainer *t, const cwi_metrics *valid, double train_s, double eval_s);
json_t *cwi_record_metrics(const cwi_metrics *metrics);
double cwi_seconds_since(const struct timespec *then);

#endif

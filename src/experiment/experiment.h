/*
 * experiment.h - an experiment under way: runs, and the searches that ask for them.
 *
 * A run is one training with fixed options.  A search is a row of the plan: it asks for runs, waits
 * until they are done, looks at their validation metric and asks for the next.  Several threads
 * take runs from the list; what a search asks for depends on results alone, never on their order
 * in time.
 */
#ifndef CWI_EXPERIMENT_EXPERIMENT_H
#define CWI_EXPERIMENT_EXPERIMENT_H

#include <pthread.h>

#include "experiment/plan.h"
#include "experiment/runstore.h"

typedef enum cwi_run_state {
    CWI_RUN_WAITING,
    CWI_RUN_ACTIVE,
    CWI_RUN_DONE,
    CWI_RUN_FAILED
} cwi_run_state;

enum { CWI_RUN_BYTES = 112 };

typedef struct cwi_run {
    char name[CWI_RUN_BYTES];       /* of its files */
    char checkpoint[CWI_RUN_BYTES]; /* of its checkpoint, shared along the rungs of a setting */
    size_t set;
    cw_options *options;
    int64_t seed;
    bool is_early; /* ends at a rung: more epochs may follow */
    cwi_run_state state;
    json_t *record; /* docs/experiments.md; NULL until it is done or has failed */
} cwi_run;

typedef struct cwi_search {
    const cwi_plan_row *row;
    int phase;     /* rung 0, 1, ..., then whole runs, then the seeds */
    size_t *alive; /* [n_alive] candidates still in the race, ascending */
    size_t n_alive;
    cwi_run **current; /* [n_current] what it waits for; in the end the runs of the seeds */
    size_t n_current;
    cwi_run **tried; /* [n_tried] tuning runs, in order */
    size_t n_tried, tried_capacity;
    json_t *candidates; /* those of the row; a race adds its own */
    json_t *records;    /* of a race: what race.h knows of its trials */
    size_t chosen;      /* candidate; SIZE_MAX when none could be chosen */
    bool is_over;
} cwi_search;

typedef struct cwi_experiment {
    const cwi_plan *plan;
    cwi_runstore store;
    bool keeps_models, retries;
    char checkpoint_every[32];
    cwi_run **runs; /* [n_runs] each once, in the order they were asked for */
    size_t n_runs, run_capacity;
    cwi_search *searches; /* [plan->n_rows] */

    /* While several threads work: guards everything below and all of the above that changes. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_active;
    bool must_stop;
    cw_status status; /* what ended the work early */
    char error[1024];
    pthread_mutex_t mail; /* guards the messages; taken also while the lock is held */
    json_t *messages;     /* what the calling thread has to tell */
    json_t *said;         /* what it has told (borrowed; the calling thread's own) */
} cwi_experiment;

extern const cw_option_info cwi_experiment_options[], cwi_compare_options[];

/* runs.c: the run of a row with a candidate, found or made; epochs 0 for a whole run. */
cw_status cwi_experiment_ask(cw_context *ctx, cwi_experiment *e, const cwi_plan_row *row,
                             const json_t *candidate, int64_t seed, int64_t epochs, cwi_run **out);
/* Train, measure and store it.  CW_OK with a record also when the training itself failed. */
cw_status cwi_run_execute(cw_context *ctx, const cwi_experiment *e, const cwi_run *run,
                          json_t **record);
void cwi_run_free(cwi_run *run);
/* Value of the metric that training watches, of the validation part; NaN when there is none. */
double cwi_record_valid(const json_t *record);
/* The list length K of the metric. */
int32_t cwi_record_k(const json_t *record);

/* search.c */
cw_status cwi_search_begin(cw_context *ctx, cwi_experiment *e, cwi_search *search,
                           const cwi_plan_row *row);
/* Go as far as the finished runs allow. */
cw_status cwi_search_advance(cw_context *ctx, cwi_experiment *e, cwi_search *search);
void cwi_search_clear(cwi_search *search);
/* Runs that are finished, out of cwi_row_runs. */
int64_t cwi_search_done(const cwi_search *search);

/* results.c: results.json as a new object; tables.c and csv.c write it for people and programs. */
cw_status cwi_experiment_report(cw_context *ctx, const cwi_experiment *e, json_t **out);
cw_status cwi_tables_write(cw_context *ctx, const cwi_experiment *e, const json_t *results);
cw_status cwi_csv_write(cw_context *ctx, const cwi_experiment *e, const json_t *results);

/* estimate.c: what a plan would run and about how long, measured by training a moment each. */
cw_status cwi_experiment_estimate(cw_context *ctx, const cwi_plan *plan, int64_t jobs,
                                  json_t **out);

#endif

/* plan.h - what an experiment is to do, read from JSON and checked as a whole before anything runs.
 *
 * docs/experiments.md describes the format.  A plan has tables; a table has rows, one for every
 * dataset, training set, method, backbone and setting it varies.  A row chooses among candidates
 * on validation and is then trained with every seed.
 */
#ifndef CWI_EXPERIMENT_PLAN_H
#define CWI_EXPERIMENT_PLAN_H

#include <jansson.h>

#include "core/file.h"
#include "core/options.h"

/* A dataset with one of its training sets. */
typedef struct cwi_set {
    char *name;          /* of the dataset */
    char *folder;        /* where it lies */
    char *train_set;     /* "train.csv", another file of the folder, or "theta 0.5" */
    const json_t *given; /* the same as the plan has it, NULL when it says nothing */
    cw_dataset *data;
    char hash[CWI_HASH_BYTES];
} cwi_set;

typedef enum cwi_tuning_kind {
    CWI_TUNE_GRID,
    CWI_TUNE_RANDOM,
    CWI_TUNE_HALVING,
    CWI_TUNE_RACE /* one setting after the other, the defaults first: race.h */
} cwi_tuning_kind;

enum { CWI_MAX_RUNGS = 16, CWI_MAX_SEEDS = 1000, CWI_MAX_CANDIDATES = 10000 };

typedef struct cwi_tuning {
    cwi_tuning_kind kind;
    int64_t draws;                /* 0: the whole grid; of a race all its settings */
    int64_t rungs[CWI_MAX_RUNGS]; /* [n_rungs] epochs after which the poorer settings stop */
    int n_rungs;
    int64_t keep; /* one setting in so many goes on to the next rung */
    int64_t seed; /* of the draws and of the tuning runs */
} cwi_tuning;

typedef struct cwi_plan_row {
    size_t set;                    /* in cwi_plan.sets */
    const char *method, *backbone; /* as the registry has them */
    json_t *options;               /* what all its runs have */
    json_t *varied;                /* the part of it by which rows of a table differ */
    json_t *candidates; /* array of objects; one that may be empty when nothing is tuned */
    cwi_tuning tuning;
    json_t *seeds; /* array of integers */
} cwi_plan_row;

typedef struct cwi_plan_table {
    char *title;
    json_t *ours;     /* names of methods that are tested against the best of the others */
    bool by_backbone; /* compared within a backbone */
    size_t first_row, n_rows;
} cwi_plan_table;

typedef struct cwi_plan {
    json_t *source; /* as given */
    cwi_set *sets;
    size_t n_sets, set_capacity;
    cwi_plan_table *tables;
    size_t n_tables, table_capacity;
    cwi_plan_row *rows;
    size_t n_rows, row_capacity;
} cwi_plan;

/* Read a plan and the datasets it names; the message of a failure names the place in the JSON. */
cw_status cwi_plan_parse(cw_context *ctx, const char *text, cwi_plan *out);
void cwi_plan_clear(cwi_plan *plan);

/* sets.c: the index of a set, which is noted when it is new.  dataset is an entry of the field
 * "datasets", train_set one of "train_sets" or NULL for train.csv; both were checked. */
cw_status cwi_plan_find_set(cw_context *ctx, cwi_plan *plan, const json_t *dataset,
                            const json_t *train_set, size_t *out);
cw_status cwi_plan_load_sets(cw_context *ctx, cwi_plan *plan);
void cwi_set_clear(cwi_set *set);

/* tune.c: what there is to choose from, a new array of objects; CW_BAD_ARG for too much of it. */
cw_status cwi_candidates(cw_context *ctx, const json_t *grid, const cwi_tuning *tuning,
                         json_t **out);
/* How many of n settings go on when one in `keep` does: at least one. */
size_t cwi_survivors(size_t n, int64_t keep);

/* row.c: the options of one run of a row; epochs 0 for as many as the row says. */
cw_status cwi_row_options(cw_context *ctx, const cwi_plan_row *row, const json_t *candidate,
                          int64_t seed, int64_t epochs, cw_options **out);
/* Runs that a row makes at most. */
int64_t cwi_row_runs(const cwi_plan_row *row);

#endif

/* plan_fields.h - single fields of a plan, checked; only for the files that read one. */
#ifndef CWI_EXPERIMENT_PLAN_FIELDS_H
#define CWI_EXPERIMENT_PLAN_FIELDS_H

#include "core/json.h"
#include "experiment/plan.h"

/* CW_BAD_DATA: "plan: PLACE: ...". */
cw_status cwi_plan_bad(cw_context *ctx, const cwi_place *at, const char *format, ...)
    CWI_PRINTF(3, 4);
/* What a call said of a bad argument, with the place in front; any other status as it is. */
cw_status cwi_plan_blame(cw_context *ctx, const cwi_place *at, cw_status status);

/* Fail unless it is an object whose fields are all in "a|b|c". */
cw_status cwi_plan_check_fields(cw_context *ctx, const cwi_place *at, const char *fields);
/* A list that is not empty, of texts, or of anything; missing is fine. */
cw_status cwi_plan_check_list(cw_context *ctx, const cwi_place *at, bool of_texts);

/* The field "tune" over what holds around it; missing changes nothing. */
cw_status cwi_plan_read_tuning(cw_context *ctx, const cwi_place at, cwi_tuning *out);
/* The field "seeds": a list of different seeds, or how many of 0, 1, 2, ...; a new list.  When it
 * is missing *out stays. */
cw_status cwi_plan_read_seeds(cw_context *ctx, const cwi_place at, json_t **out);

/* How options are checked. */
typedef struct cwi_option_check {
    cw_options *probe;  /* of stage "train" */
    bool skips_unknown; /* what this version does not know is left out with a remark */
} cwi_option_check;

/* The fields "options" and "grid": every value is checked against the table and put into `into`.
 * Values of a grid are lists or ranges. */
cw_status cwi_plan_read_options(cw_context *ctx, const cwi_place at, const cwi_option_check *check,
                                bool is_grid, json_t *into);

/* sets.c: the fields "datasets", which must be there, and "train_sets". */
cw_status cwi_plan_check_datasets(cw_context *ctx, const cwi_place *at);
cw_status cwi_plan_check_train_sets(cw_context *ctx, const cwi_place *at);

#endif

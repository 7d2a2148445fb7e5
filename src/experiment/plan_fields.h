/* plan_fields.h - single fields of a plan, checked; only for the files that read one. */
#ifndef CWI_EXPERIMENT_PLAN_FIELDS_H
#define CWI_EXPERIMENT_PLAN_FIELDS_H

#include "experiment/plan.h"

enum { CWI_PLACE_BYTES = 160 };

/* Where in the JSON something stands, such as tables[0].grid.lr[1]. */
typedef struct cwi_place {
    char text[CWI_PLACE_BYTES];
} cwi_place;

cwi_place cwi_place_field(const cwi_place *place, const char *field);
cwi_place cwi_place_index(const cwi_place *place, size_t index);

/* CW_BAD_DATA: "plan: PLACE: ...".  A message that the context already has is put behind the
 * place instead. */
cw_status cwi_plan_bad(cw_context *ctx, const cwi_place *place, const char *format, ...)
    CWI_PRINTF(3, 4);

/* Fail unless value is an object whose fields are all in "a|b|c". */
cw_status cwi_plan_check_fields(cw_context *ctx, const cwi_place *place, const json_t *value,
                                const char *fields);
/* A list that is not empty, of texts, or of anything; missing (NULL) is fine. */
cw_status cwi_plan_check_list(cw_context *ctx, const cwi_place *place, const json_t *value,
                              bool of_texts);
/* A whole number from low to high; *out stays when it is missing. */
cw_status cwi_plan_read_whole(cw_context *ctx, const cwi_place *place, const json_t *value,
                              int64_t low, int64_t high, int64_t *out);

/* The field "tune" over what holds around it; missing changes nothing. */
cw_status cwi_plan_read_tuning(cw_context *ctx, const cwi_place *place, const json_t *value,
                               cwi_tuning *out);
/* The field "seeds": a list of different seeds, or how many of 0, 1, 2, ...; a new list.  When it
 * is missing *out stays. */
cw_status cwi_plan_read_seeds(cw_context *ctx, const cwi_place *place, const json_t *value,
                              json_t **out);

/* How options are checked. */
typedef struct cwi_option_check {
    cw_options *probe;  /* of stage "train" */
    bool skips_unknown; /* what this version does not know is left out with a remark */
} cwi_option_check;

/* The fields "options" and "grid": every value is checked against the table and put into `into`.
 * Values of a grid are lists or ranges. */
cw_status cwi_plan_read_options(cw_context *ctx, const cwi_place *place, const json_t *value,
                                const cwi_option_check *check, bool is_grid, json_t *into);

/* sets.c: the fields "datasets", which must be there, and "train_sets". */
cw_status cwi_plan_check_datasets(cw_context *ctx, const json_t *datasets);
cw_status cwi_plan_check_train_sets(cw_context *ctx, const cwi_place *place, const json_t *value);

#endif

/* registry.h - methods and backbones by name. */
#ifndef CWI_REGISTRY_H
#define CWI_REGISTRY_H

#include <jansson.h>

#include "loss/loss.h"
#include "optim/optimizer.h"
#include "sample/sampler.h"
#include "score/score.h"

/* How much data there is to train on, which defaults follow. */
typedef struct cwi_extent {
    int32_t users, items;
    int64_t rows; /* of train */
    /* Rows over the users and items that there would be if all were alike: N / sum of p^2, twice.
     * It tells how often a user and an item that are drawn by their rows have met. */
    double meeting;
    /* How often somebody who shares an item with a user has another of the user's items, over
     * the former: 1 where to share one tells nothing, 8 where taste comes in clusters. */
    double likeness;
    bool evenly; /* validation rows are of less popular items than those of train are */
} cwi_extent;

/* Somebody else who has the item of a row that is drawn, and another item of its user: have the two
 * met?  The share of those that have is what likeness goes by. */
typedef struct cwi_meeting {
    int64_t row; /* of train, in the order of the file */
    int32_t user, item;
    int64_t nth_user, nth_item; /* places among the users of the item, in the order of the file, and
                                   among the items of the user, ascending */
    int32_t other_user, other_item;
    bool has_met;
} cwi_meeting;

int64_t cwi_meetings_count(int64_t rows); /* how many are drawn */
void cwi_meetings_draw(int64_t rows, int64_t n, cwi_meeting *out);
/* The places, once it is known how many rows the two ends have. */
void cwi_meeting_choose(int64_t rows, int64_t k, int64_t user_rows, int64_t item_rows,
                        cwi_meeting *out);
double cwi_meetings_share(const cwi_meeting *meetings, int64_t n);

/* Options of stage "train" that a method sets differently from the table. */
typedef struct cwi_default {
    const char *backbone; /* NULL: any */
    const char *option, *value;
} cwi_default;

/* One that follows the data with --preset auto. */
typedef struct cwi_fit {
    const char *backbone; /* NULL: any */
    const char *option;
    double (*value)(const cwi_extent *extent); /* of a word its number among the choices */
} cwi_fit;

/* A method is a sampler, a loss and tuned defaults; without a sampler there is nothing to train. */
typedef struct cwi_method {
    const char *name;
    const char *help;
    const cwi_sampler
        *sampler; /* NULL: the backbone learns by itself, or is filled from the data */
    const cwi_loss *loss;
    const cwi_penalty *penalty;    /* NULL: none */
    bool selects;                  /* keeps the hardest of its candidates */
    int32_t heads;                 /* scores of a slot; 0 is 1 */
    int32_t item_tables;           /* vectors of an item; 0 is 1 */
    const char *backbones;         /* "a|b": the backbones it works on; the first is the default */
    const cwi_default *defaults;   /* ends with a row of NULLs */
    const cwi_fit *fits;           /* the same where the data are known; NULL: none */
    const cw_option_info *options; /* of none of its parts; NULL: nothing */
} cwi_method;

/* NULL when there is none of that name. */
const cwi_method *cwi_find_method(const char *name);
const cwi_backbone *cwi_find_backbone(const char *name);
const cwi_optimizer *cwi_find_optimizer(const char *name);

/* A method and one of its backbones, "" for its first; CW_BAD_ARG when they do not go together. */
cw_status cwi_find_pair(cw_context *ctx, const char *method, const char *backbone,
                        const cwi_method **out, const cwi_backbone **on);

/* What the backbone of a method sees of the data. */
cwi_shape cwi_method_shape(const cwi_method *method, const cw_options *options, int32_t n_users,
                           int32_t n_items, const cwi_csr *train);

/* A ranker of the items of the data, by the heads and the table that the options name. */
cw_status cwi_method_rank(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                          const cwi_shape *shape, const cw_options *options,
                          const cwi_params *params, cwi_ranker *out);

enum { CWI_TRAIN_TABLES = 64 };

/* The tables of stage "train", ending with NULL: that of every training, and those of an optimizer,
 * of a backbone and of the parts of a method by name; of all of a kind where it is NULL. */
void cwi_train_tables(const char *method, const char *backbone, const char *optimizer,
                      const cw_option_info *out[CWI_TRAIN_TABLES]);

/* The options of all of them at their defaults. */
cw_status cwi_train_options(cw_context *ctx, cw_options **out);

/* The given options of stage "train" with the defaults of their method filled in.  There are none
 * but those that its parts take: others that were given are refused.
 *   extent  what --preset auto goes by; NULL: not known, the defaults are those of the paper */
cw_status cwi_train_settle(cw_context *ctx, const cw_options *given, const cwi_extent *extent,
                           cw_options **out, const cwi_method **method,
                           const cwi_backbone **backbone);

/* `meeting`, from how many rows there are and the sums of squares of the rows of users and of
 * items. */
double cwi_meeting_of(double rows, double user_squares, double item_squares);

/* Are validation rows of less popular items than train rows?  By sums over the rows of the number
 * of train rows that their items have. */
bool cwi_is_even(double of_valid, int64_t valid, double of_train, int64_t train);

/* fitting.c */
cw_status cwi_dataset_extent(cw_context *ctx, const cw_dataset *dataset, cwi_extent *out);
/* Set what --preset auto chooses for data of this extent, where it was not given. */
cw_status cwi_train_fit(cw_context *ctx, const cwi_extent *extent, const cwi_method *method,
                        const cwi_backbone *backbone, cw_options *options);
enum { CWI_FIT_BYTES = 512 };
/* What settled options have of it, and why, as one line. */
void cwi_train_fit_text(const cwi_extent *extent, const cw_options *settled,
                        char out[CWI_FIT_BYTES]);

/* What a model and a record say of the settled options: all but where and how often the state is
 * kept. */
json_t *cwi_train_record(const cw_options *settled);
/* The same without those that have the value of their table, so that an option that is new changes
 * no name of a run and no checkpoint. */
json_t *cwi_train_identity(const cw_options *settled);
/* The options of a method on a backbone from such an object, maybe of an earlier version with its
 * names: what it lacks has its default, what the two do not take is left out.  CW_BAD_DATA for a
 * bad value. */
cw_status cwi_train_reread(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                           const json_t *recorded, cw_options **out);

/* The default of a train option for a method on a backbone, or NULL when the table's holds. */
const char *cwi_find_default(const cwi_method *method, const char *backbone, const char *option);

#endif

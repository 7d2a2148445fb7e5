/* sampler.h - samplers fill the slots of a batch. */
#ifndef CWI_SAMPLE_SAMPLER_H
#define CWI_SAMPLE_SAMPLER_H

#include "core/options.h"
#include "core/rng.h"
#include "prepare/csr.h"
#include "prepare/dataset.h"
#include "sample/batch.h"

/* An interaction; both ends lie together, because samplers read them in any order. */
typedef struct cwi_pair {
    int32_t user, item;
} cwi_pair;

/* The training interactions as samplers see them: ordered by user, file order within a user. */
typedef struct cwi_training {
    int32_t n_users, n_items;
    int64_t count;
    cwi_pair *pair;      /* [count] */
    cwi_csr by_user;     /* items ascending */
    int64_t *degree;     /* [n_items] */
    cwi_pairs treatment; /* interactions free of bias that came with the data; may be empty */
    double *propensity;  /* [n_items] how likely an item is to be seen; NULL until it is set */
    uint64_t *bits;      /* [1 << log_words] two bits of a word for every interaction: where one is
                            clear there was none; at least 12 bits an interaction */
    int log_words;
    /* Interactions that are dealt out (sample/dealt.h): pair, by_user and treatment are those of
     * this process, in this order, there are no bits, count and degree are of all of them. */
    struct cwi_dealt *dealt;   /* NULL: all of them are here */
    struct cwi_asking *asking; /* while candidates are drawn: where the others are asked for */
} cwi_training;

cw_status cwi_training_create(cw_context *ctx, int32_t n_users, int32_t n_items,
                              const cwi_pairs *train, cwi_training *out);
/* The same but for the bits. */
cw_status cwi_training_list(cw_context *ctx, int32_t n_users, int32_t n_items,
                            const cwi_pairs *train, cwi_training *out);
void cwi_training_clear(cwi_training *training); /* a zeroed one is fine */

/* Where the bits of an interaction are. */
typedef struct cwi_trace {
    uint64_t *word, bits;
} cwi_trace;

CWI_FORMULA cwi_trace cwi_training_trace(const cwi_training *training, int32_t user, int32_t item)
{
    uint64_t mixed = ((uint64_t)(uint32_t)user << 32 | (uint32_t)item) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 32;
    mixed *= 0x9e3779b97f4a7c15u;
    cwi_trace trace = {training->bits + (mixed >> (64 - training->log_words)),
                       1ull << (mixed >> 20 & 63) | 1ull << (mixed >> 26 & 63)};
    return trace;
}

#if !defined(__cplusplus) /* a device has all of them */
/* asking.c */
cwi_pair cwi_asking_pair(struct cwi_asking *asking, int64_t row);
bool cwi_asking_has(struct cwi_asking *asking, int32_t user, int32_t item);
bool cwi_asking_is_full(const struct cwi_asking *asking);
#endif

/* Interaction number `row` of all. */
CWI_FORMULA cwi_pair cwi_training_pair(const cwi_training *training, int64_t row)
{
#if !defined(__cplusplus)
    if (training->asking) return cwi_asking_pair(training->asking, row);
#endif
    return training->pair[row];
}

/* Is the item on the user's list? */
CWI_FORMULA bool cwi_training_lists(const cwi_training *training, int32_t user, int32_t item)
{
#if !defined(__cplusplus)
    if (training->asking) return cwi_asking_has(training->asking, user, item);
#endif
    return cwi_csr_has(&training->by_user, user, item);
}

/* Are all items on the list of a user of whom it was last found that an item is? */
CWI_FORMULA bool cwi_training_lists_all(const cwi_training *training, int32_t user)
{
    const cwi_csr *by_user = &training->by_user;
#if !defined(__cplusplus)
    if (training->asking) return cwi_asking_is_full(training->asking);
#endif
    return by_user->start[user + 1] - by_user->start[user] >= training->n_items;
}

/* May the user have had the item?  The list tells. */
CWI_FORMULA bool cwi_training_may_have(const cwi_training *training, int32_t user, int32_t item)
{
    if (!training->bits) return true;
    cwi_trace trace = cwi_training_trace(training, user, item);
    return (*trace.word & trace.bits) == trace.bits;
}

/* Did the user have the item? */
CWI_FORMULA bool cwi_training_has(const cwi_training *training, int32_t user, int32_t item)
{
    return cwi_training_may_have(training, user, item) && cwi_training_lists(training, user, item);
}

/* An item that the user did not have, uniformly; false when they had them all. */
CWI_FORMULA bool cwi_training_unseen(const cwi_training *training, int32_t user, cwi_rng *rng,
                                     int32_t *item)
{
    *item = (int32_t)cwi_rng_below(rng, (uint64_t)training->n_items);
    while (cwi_training_has(training, user, *item)) {
        if (cwi_training_lists_all(training, user)) return false;
        *item = (int32_t)cwi_rng_below(rng, (uint64_t)training->n_items);
    }
    return true;
}

enum { CWI_MAX_K = CWI_MAX_SLOTS / 2 };

/* How many samples were tried, and how many of them accepted, per group of the batch. */
typedef struct cwi_draws {
    int64_t slots[CWI_MAX_GROUPS]; /* of what is counted; 0 beyond the last group */
    int64_t attempts[CWI_MAX_GROUPS];
    int64_t accepted[CWI_MAX_GROUPS];
} cwi_draws;

void cwi_draws_add(cwi_draws *draws, const cwi_draws *more);

/* Where training stands. */
typedef struct cwi_moment {
    int64_t epoch; /* finished epochs */
    uint64_t step; /* number of the step, counted over all epochs */
} cwi_moment;

/* The candidates of one group of a batch. */
typedef struct cwi_draw_group {
    int64_t candidates;
    int32_t slots;     /* of a row */
    int32_t most_rows; /* of a candidate */
    int32_t unit;      /* slots of what is counted: a row, or the rows of a candidate */
} cwi_draw_group;

typedef struct cwi_draw_plan {
    int n_groups;
    cwi_draw_group group[CWI_MAX_GROUPS];
    int64_t grid; /* as in a batch */
} cwi_draw_plan;

/* What the state of every sampler begins with. */
typedef struct cwi_drawing {
    const cwi_training *training;
    uint64_t seed;
    cwi_draw_plan plan;
    int64_t *kept, *tried; /* [chunks of the largest group] */
} cwi_drawing;

enum { CWI_DRAW_CHUNK = 256 }; /* candidates */

/*
 * A sampler.  A candidate is drawn from a random stream of its own, so that it depends on nothing
 * but the seed, the moment and its number.
 *   bytes  of the state, which is zeroed but for training and seed when it is opened
 *   open   required: tables and settings, and the plan
 *   close  optional: frees what open made, whether that went well or not
 *   begin  optional: gets ready for an epoch
 *   draw   required, a formula: writes the slots and marks of the rows of a candidate and returns
 *          how many there are.  *tried grows by the units that were tried.
 *   draw_many  optional: the same for n candidates, up to a chunk, of which it leaves no holes
 *   check  optional: completes what was drawn; fails where a step may not go on with it
 *   keep   optional: how many of the rows drawn a step that selects shall train on; all when NULL
 *   asks   optional: with these options draw looks at interactions by cwi_training_... alone, so
 *          that they may be dealt out
 *   options  what it reads beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_sampler {
    const char *name;
    size_t bytes;
    cw_status (*open)(cw_context *ctx, const cw_options *options, void *state);
    void (*close)(void *state);
    void (*begin)(void *state, int64_t epoch);
    int64_t (*draw)(const void *state, int group, cwi_rng *rng, int32_t *user, int32_t *item,
                    float *mark, int64_t *tried);
    int64_t (*draw_many)(const void *state, int group, int64_t n, cwi_rng *rng, int32_t *user,
                         int32_t *item, float *mark, int64_t *tried);
    cw_status (*check)(cw_context *ctx, const void *state, cwi_batch *batch);
    int64_t (*keep)(const void *state, const cwi_batch *batch);
    bool (*asks)(const cw_options *options);
    const cw_option_info *options;
} cwi_sampler;

/* drawing.c: *max_slots is the most a batch will hold. */
cw_status cwi_sampler_open(cw_context *ctx, const cwi_sampler *sampler,
                           const cwi_training *training, const cw_options *options,
                           int64_t *max_slots, void **state);
/* Fill the batch of this moment; draws is added to. */
cw_status cwi_sampler_draw(cw_context *ctx, const cwi_sampler *sampler, void *state,
                           const cwi_moment *now, cwi_batch *batch, cwi_draws *draws);
void cwi_sampler_close(const cwi_sampler *sampler, void *state); /* NULL is fine */

/* For samplers that do whatever the options. */
bool cwi_sampler_asks(const cw_options *options);

/* All of them. */
#define CWI_SAMPLERS(X)                                                                            \
    X(cpr) X(bpr) X(cause) X(ubpr) X(pointwise) X(weighted) X(dice) X(cross) X(uniform)

#define CWI_EXTERN(id) extern const cwi_sampler cwi_sampler_##id;
CWI_SAMPLERS(CWI_EXTERN)
#undef CWI_EXTERN

/* Marks of cause: the label, 0 or 1, and this much more where the treatment table is trained. */
enum { CWI_CAUSE_TREATED = 2 };

/* Cause without a treatment set of the user's: a seventh of the interactions, drawn with weights
 * min(1/degree of the item, treatment-cap), is set to 1 in treated, [count]. */
cw_status cwi_cause_split(cw_context *ctx, const cwi_training *training, const cw_options *options,
                          uint8_t *treated);

/* Sizes of a CPR batch for k = 2..max_k. */
typedef struct cwi_cpr_sizes {
    int32_t max_k;
    int64_t keep[CWI_MAX_K + 1]; /* b_k by k */
    int64_t draw[CWI_MAX_K + 1]; /* n_k by k */
} cwi_cpr_sizes;

/* only_k 0: all k with weights ratio^(max_k - k). */
void cwi_cpr_plan(int64_t batch, int32_t max_k, int32_t only_k, double ratio, double beta,
                  cwi_cpr_sizes *out);

#endif

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
} cwi_training;

cw_status cwi_training_create(cw_context *ctx, int32_t n_users, int32_t n_items,
                              const cwi_pairs *train, cwi_training *out);
void cwi_training_clear(cwi_training *training); /* a zeroed one is fine */

/* Where the bits of an interaction are. */
typedef struct cwi_trace {
    uint64_t *word, bits;
} cwi_trace;

static inline cwi_trace cwi_training_trace(const cwi_training *training, int32_t user, int32_t item)
{
    uint64_t mixed = ((uint64_t)(uint32_t)user << 32 | (uint32_t)item) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 32;
    mixed *= 0x9e3779b97f4a7c15u;
    return (cwi_trace){training->bits + (mixed >> (64 - training->log_words)),
                       1ull << (mixed >> 20 & 63) | 1ull << (mixed >> 26 & 63)};
}

/* Did the user have the item? */
static inline bool cwi_training_has(const cwi_training *training, int32_t user, int32_t item)
{
    cwi_trace trace = cwi_training_trace(training, user, item);
    return (*trace.word & trace.bits) == trace.bits && cwi_csr_has(&training->by_user, user, item);
}

/* An item that the user did not have, uniformly; false when he had them all. */
bool cwi_training_unseen(const cwi_training *training, int32_t user, cwi_rng *rng, int32_t *item);

/* The random streams of n examples of a step, of numbers `first` and up. */
void cwi_training_streams(uint64_t seed, uint64_t step, int64_t first, int64_t n, cwi_rng *out);

enum { CWI_MAX_K = CWI_MAX_SLOTS / 2 };

/* What a sampler tells about its luck, per group of the batch. */
typedef struct cwi_luck {
    int64_t slots[CWI_MAX_GROUPS]; /* per row; 0 beyond the last group */
    int64_t attempts[CWI_MAX_GROUPS];
    int64_t accepted[CWI_MAX_GROUPS];
} cwi_luck;

void cwi_luck_add(cwi_luck *luck, const cwi_luck *more);

/* Where training stands. */
typedef struct cwi_moment {
    int64_t epoch; /* finished epochs */
    uint64_t step; /* number of the step, counted over all epochs */
} cwi_moment;

/*
 * A sampler.
 *   open   required: *max_slots is the most a batch will hold
 *   draw   required: fill the batch of this moment: a function of the seed and the moment alone.
 *          luck is added to.
 *   keep   optional: how many of the rows drawn a step that selects shall train on; all when NULL
 *   close  required: accepts NULL
 *   options  what it reads beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_sampler {
    const char *name;
    cw_status (*open)(cw_context *ctx, const cwi_training *training, const cw_options *options,
                      int64_t *max_slots, void **state);
    cw_status (*draw)(cw_context *ctx, void *state, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck);
    int64_t (*keep)(const void *state, const cwi_batch *batch);
    void (*close)(void *state);
    const cw_option_info *options;
} cwi_sampler;

extern const cwi_sampler cwi_sampler_cpr, cwi_sampler_bpr;
extern const cwi_sampler cwi_sampler_cause;

/* Marks of cause: the label, 0 or 1, and this much more where the treatment table is trained. */
enum { CWI_CAUSE_TREATED = 2 };

/* Cause without a treatment set of the user's: a seventh of the interactions, drawn with weights
 * min(1/degree of the item, treatment-cap), is set to 1 in treated, [count] (spec 3.6). */
cw_status cwi_cause_split(cw_context *ctx, const cwi_training *training, const cw_options *options,
                          uint8_t *treated);
extern const cwi_sampler cwi_sampler_ubpr, cwi_sampler_pointwise, cwi_sampler_weighted;
extern const cwi_sampler cwi_sampler_dice;

/* Sizes of a CPR batch for k = 2..max_k (spec 2.2). */
typedef struct cwi_cpr_sizes {
    int32_t max_k;
    int64_t keep[CWI_MAX_K + 1]; /* b_k by k */
    int64_t draw[CWI_MAX_K + 1]; /* n_k by k */
} cwi_cpr_sizes;

/* only_k 0: all k with weights ratio^(max_k - k). */
void cwi_cpr_plan(int64_t batch, int32_t max_k, int32_t only_k, double ratio, double beta,
                  cwi_cpr_sizes *out);

#endif

/*
 * cause_sampler.c - liked and other items of two sets: control, as observed, and treatment, a small
 * set whose items were chosen with less regard to popularity.
 *
 * A row has two slots, (user, item) in the control table and in the treatment table.  The loss
 * trains one of them; the other is there so that both vectors of every item are at hand and move.
 */
#include <math.h>

#include "core/mem.h"
#include "prepare/draw.h"
#include "sample/sampler.h"
#include "sample/shared_rows.h"

enum { CAUSE_SIDES = 2 };

typedef struct cause_state {
    cwi_drawing drawing;                  /* a group is a side */
    cwi_training own[CAUSE_SIDES];        /* sets made here; clear where there is one already */
    const cwi_training *set[CAUSE_SIDES]; /* control, treatment */
    int32_t negatives;                    /* of a liked item, at most */
} cause_state;

/* Is the item in one of the n rows? */
CWI_FORMULA bool cause_is_in_rows(const int32_t *rows, int32_t n, int32_t item)
{
    for (int32_t k = 0; k < n; k++)
        if (rows[2 * k] == item) return true;
    return false;
}

/* A liked item, then distinct others that the user did not have in this set, as many as there are;
 * no rows for a user who had all items. */
CWI_FORMULA int64_t cause_draw(const void *opened, int side, cwi_rng *rng, int32_t *user,
                               int32_t *item, float *mark, int64_t *tried)
{
    const cause_state *s = (const cause_state *)opened;
    const cwi_training *set = s->set[side];
    cwi_pair liked = set->pair[cwi_rng_below(rng, (uint64_t)set->count)];
    int64_t others =
        set->n_items - (set->by_user.start[liked.user + 1] - set->by_user.start[liked.user]);
    int32_t wanted = others < s->negatives ? (int32_t)others : s->negatives;

    *tried += 1 + s->negatives;
    if (wanted <= 0) return 0;
    for (int32_t k = 0; k <= wanted; k++) {
        int32_t drawn = liked.item; /* which they had: it stands for none yet from k = 1 on */
        while (k > 0 && (cwi_training_has(set, liked.user, drawn) ||
                         cause_is_in_rows(item + 2, k - 1, drawn)))
            drawn = (int32_t)cwi_rng_below(rng, (uint64_t)set->n_items);
        user[2 * k] = user[2 * k + 1] = liked.user;
        item[2 * k] = drawn;
        item[2 * k + 1] = set->n_items + drawn;
        mark[k] = (float)(side * CWI_CAUSE_TREATED + (k == 0));
    }
    return 1 + wanted;
}

#if !defined(__cplusplus)
static const cw_option_info cause_options[] = {
    NEGATIVES_OF_POSITIVE,
    TEXT("treatment", "",
         "file of debiased interactions, user,item with raw ids, in place of a part of train"),
    REAL_ABOVE("treatment-cap", "1/60", 0, 1,
               "an interaction of train weighs min(1/degree of its item, this) in the draw of the "
               "debiased part"),
    {0}};

/* ---- the two sets ----------------------------------------------------------- */

cw_status cwi_cause_split(cw_context *ctx, const cwi_training *training, const cw_options *options,
                          uint8_t *treated)
{
    double cap = cwi_options_real(options, "treatment-cap");
    int64_t wanted = llround((double)training->count / 7);
    if (training->count < 2)
        return cwi_fail(ctx, CW_BAD_DATA,
                        "method cause splits train into two sets and there is only one "
                        "interaction; --treatment takes a second set");
    double *weight = cwi_alloc(ctx, (size_t)training->count, sizeof *weight);
    if (!weight) return CW_NO_MEMORY;
    for (int64_t k = 0; k < training->count; k++)
        weight[k] = fmin(1 / (double)training->degree[training->pair[k].item], cap);
    cw_status status =
        cwi_draw(ctx, weight, training->count, wanted > 0 ? wanted : 1,
                 (uint64_t)cwi_options_integer(options, "seed"), CWI_RNG_TREATMENT, treated);
    cwi_free(weight);
    return status;
}

/* The interactions of one side as a set of their own. */
static cw_status take_side(cw_context *ctx, const cwi_training *training, const uint8_t *treated,
                           int side, cwi_training *out)
{
    cwi_pairs pairs;
    cw_status status = cwi_pairs_create(ctx, training->count, &pairs);
    if (status != CW_OK) return status;
    pairs.count = 0;
    for (int64_t k = 0; k < training->count; k++) {
        if (treated[k] != side) continue;
        pairs.user[pairs.count] = training->pair[k].user;
        pairs.item[pairs.count++] = training->pair[k].item;
    }
    status = cwi_training_create(ctx, training->n_users, training->n_items, &pairs, out);
    cwi_pairs_clear(&pairs);
    return status;
}

static cw_status split_training(cw_context *ctx, const cwi_training *training,
                                const cw_options *options, cause_state *s)
{
    cw_status status;
    uint8_t *treated = cwi_alloc(ctx, (size_t)training->count, 1);
    if (!treated) return CW_NO_MEMORY;
    CW_TRY(cwi_cause_split(ctx, training, options, treated));
    for (int side = 0; side < CAUSE_SIDES; side++) {
        CW_TRY(take_side(ctx, training, treated, side, &s->own[side]));
        s->set[side] = &s->own[side];
    }
done:
    cwi_free(treated);
    return status;
}

/* A treatment set that came with the data leaves all of train to control. */
static cw_status make_sets(cw_context *ctx, const cwi_training *training, const cw_options *options,
                           cause_state *s)
{
    if (training->treatment.count == 0) return split_training(ctx, training, options, s);
    s->set[0] = training;
    s->set[1] = &s->own[1];
    return cwi_training_create(ctx, training->n_users, training->n_items, &training->treatment,
                               &s->own[1]);
}

static cw_status cause_open(cw_context *ctx, const cw_options *options, void *opened)
{
    cause_state *s = opened;
    int64_t batch = cwi_options_integer(options, "batch");
    int64_t samples[] = {batch - batch / 2, batch > 1 ? batch / 2 : 1}; /* neither stands still */
    s->negatives = (int32_t)cwi_options_integer(options, "neg");
    s->drawing.plan = (cwi_draw_plan){
        .n_groups = CAUSE_SIDES,
        .group = {{samples[0], 2, 1 + s->negatives, 2}, {samples[1], 2, 1 + s->negatives, 2}}};
    return make_sets(ctx, s->drawing.training, options, s);
}

static void cause_close(void *opened)
{
    cause_state *s = opened;
    for (int side = 0; side < CAUSE_SIDES; side++) cwi_training_clear(&s->own[side]);
}

const cwi_sampler cwi_sampler_cause = {.name = "cause",
                                       .bytes = sizeof(cause_state),
                                       .open = cause_open,
                                       .close = cause_close,
                                       .draw = cause_draw,
                                       .options = cause_options};
#endif

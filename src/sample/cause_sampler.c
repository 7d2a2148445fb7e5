/*
 * cause_sampler.c - liked and other items of two sets: control, as observed, and treatment, a small
 * set whose items were chosen with less regard to popularity.
 *
 * A row has two slots, (user, item) in the control table and in the treatment table.  The loss
 * trains one of them; the other is there so that both vectors of every item are at hand and move.
 */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "prepare/draw.h"
#include "sample/sampler.h"
#include "sample/shared_rows.h"

static const cw_option_info options_of_cause[] = {
    NEGATIVES_OF_POSITIVE,
    TEXT("treatment", "",
         "file of debiased interactions, user,item with raw ids, in place of a part of train"),
    REAL_ABOVE("treatment-cap", "1/60", 0, 1,
               "an interaction of train weighs min(1/degree of its item, this) in the draw of the "
               "debiased part"),
    {0}};

enum { SAMPLES_A_CHUNK = 256, SIDES = 2 };

typedef struct state {
    cwi_training own[SIDES];        /* sets made here; clear where there is one already */
    const cwi_training *set[SIDES]; /* control, treatment */
    uint64_t seed;
    int64_t samples[SIDES]; /* liked items of a step */
    int32_t negatives;      /* of each, at most */
    int64_t *kept;          /* [chunks] rows made by each */
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    for (int side = 0; side < SIDES; side++) cwi_training_clear(&s->own[side]);
    cwi_free(s->kept);
    cwi_free(s);
}

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
                                const cw_options *options, state *s)
{
    cw_status status;
    uint8_t *treated = cwi_alloc(ctx, (size_t)training->count, 1);
    if (!treated) return CW_NO_MEMORY;
    CW_TRY(cwi_cause_split(ctx, training, options, treated));
    for (int side = 0; side < SIDES; side++) {
        CW_TRY(take_side(ctx, training, treated, side, &s->own[side]));
        s->set[side] = &s->own[side];
    }
done:
    cwi_free(treated);
    return status;
}

/* A treatment set that came with the data leaves all of train to control. */
static cw_status make_sets(cw_context *ctx, const cwi_training *training, const cw_options *options,
                           state *s)
{
    if (training->treatment.count == 0) return split_training(ctx, training, options, s);
    s->set[0] = training;
    s->set[1] = &s->own[1];
    return cwi_training_create(ctx, training->n_users, training->n_items, &training->treatment,
                               &s->own[1]);
}

static cw_status open_state(cw_context *ctx, const cwi_training *training,
                            const cw_options *options, int64_t *max_slots, void **out)
{
    cw_status status;
    int64_t batch = cwi_options_integer(options, "batch");
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->seed = (uint64_t)cwi_options_integer(options, "seed");
    s->samples[0] = batch - batch / 2;
    s->samples[1] = batch > 1 ? batch / 2 : 1; /* neither table may stand still */
    s->negatives = (int32_t)cwi_options_integer(options, "neg");
    s->kept =
        cwi_alloc(ctx, (size_t)cwi_pool_chunks(s->samples[0], SAMPLES_A_CHUNK), sizeof *s->kept);
    status = s->kept ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    CW_TRY(make_sets(ctx, training, options, s));
    *max_slots = 2 * (s->samples[0] + s->samples[1]) * (1 + s->negatives);
    *out = s;
done:
    if (status != CW_OK) close_state(s);
    return status;
}

/* ---- a batch ---------------------------------------------------------------- */

/* The samples of one side on their way into the batch. */
typedef struct job {
    const state *state;
    const cwi_training *set;
    int side;
    int64_t first_sample; /* number of its first in the step, for the random numbers */
    int64_t first_row;    /* where its rows go */
    uint64_t step;
    cwi_batch *out;
} job;

static void put_row(const job *j, int64_t row, int32_t user, int32_t item, int label)
{
    j->out->user[2 * row] = j->out->user[2 * row + 1] = user;
    j->out->item[2 * row] = item;
    j->out->item[2 * row + 1] = j->set->n_items + item;
    j->out->mark[row] = (float)(j->side * CWI_CAUSE_TREATED + label);
}

/* Is the item in one of the rows from `row` on, `n` of them? */
static bool is_in_rows(const job *j, int64_t row, int32_t n, int32_t item)
{
    for (int32_t k = 0; k < n; k++)
        if (j->out->item[2 * (row + k)] == item) return true;
    return false;
}

/* A liked item, then distinct others that the user did not have in this set, as many as there are;
 * the number of rows, none for a user who had all items. */
static int64_t draw_sample(const job *j, cwi_rng *rng, int64_t row)
{
    const cwi_training *set = j->set;
    int64_t liked = (int64_t)cwi_rng_below(rng, (uint64_t)set->count);
    int32_t user = set->pair[liked].user, item;
    int64_t others = set->n_items - (set->by_user.start[user + 1] - set->by_user.start[user]);
    int32_t wanted = others < j->state->negatives ? (int32_t)others : j->state->negatives;

    if (wanted <= 0) return 0;
    put_row(j, row, user, set->pair[liked].item, 1);
    for (int32_t k = 0; k < wanted; k++) {
        do item = (int32_t)cwi_rng_below(rng, (uint64_t)set->n_items);
        while (cwi_training_has(set, user, item) || is_in_rows(j, row + 1, k, item));
        put_row(j, row + 1 + k, user, item, 0);
    }
    return 1 + wanted;
}

/* Rows of a chunk are written from its begin on without holes. */
static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    int64_t first = j->first_row + begin * (1 + j->state->negatives), row = first;
    for (int64_t k = begin; k < end; k++) {
        cwi_rng rng;
        cwi_rng_init(&rng, j->state->seed, CWI_RNG_SAMPLE,
                     j->step << 24 | (uint64_t)(j->first_sample + k));
        row += draw_sample(j, &rng, row);
    }
    j->state->kept[chunk] = row - first;
    return CW_OK;
}

/* Move the rows of all chunks together, from row number `rows` of the batch on; the number after
 * the last. */
static int64_t close_gaps(const job *j, int64_t rows)
{
    cwi_batch *b = j->out;
    int64_t chunks = cwi_pool_chunks(j->state->samples[j->side], SAMPLES_A_CHUNK);
    for (int64_t c = 0; c < chunks; c++) {
        int64_t from = j->first_row + c * SAMPLES_A_CHUNK * (1 + j->state->negatives);
        size_t n = (size_t)j->state->kept[c];
        memmove(b->user + 2 * rows, b->user + 2 * from, 2 * n * sizeof *b->user);
        memmove(b->item + 2 * rows, b->item + 2 * from, 2 * n * sizeof *b->item);
        memmove(b->mark + rows, b->mark + from, n * sizeof *b->mark);
        rows += (int64_t)n;
    }
    return rows;
}

static cw_status draw(cw_context *ctx, void *opened, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck)
{
    const state *s = opened;
    int64_t first_sample = 0, rows = 0;
    batch->n_groups = SIDES;
    for (int side = 0; side < SIDES; side++) {
        int64_t most = s->samples[side] * (1 + s->negatives), before = rows;
        job j = {s,         s->set[side], side, first_sample, first_sample * (1 + s->negatives),
                 now->step, batch};
        cw_status status = cwi_pool_for(ctx, s->samples[side], SAMPLES_A_CHUNK, draw_chunk, &j);
        if (status != CW_OK) return status;
        rows = close_gaps(&j, rows);
        batch->group[side] =
            (cwi_group){.slots = 2, .rows = rows - before, .first_slot = 2 * before};
        luck->slots[side] = 2;
        luck->attempts[side] += most;
        luck->accepted[side] += rows - before;
        first_sample += s->samples[side];
    }
    batch->n_slots = 2 * rows;
    return CW_OK;
}

const cwi_sampler cwi_sampler_cause = {.name = "cause",
                                       .open = open_state,
                                       .draw = draw,
                                       .close = close_state,
                                       .options = options_of_cause};

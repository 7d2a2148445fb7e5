/* bpr_sampler.c - an observed pair and an item that the user did not have. */
#include <string.h>

#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "sample/sampler.h"

static const cw_option_info options_of_bpr[] = {
    WORD("pos", "interaction", "interaction|user",
         "draw an interaction, or a user and then one of his interactions"),
    {0}};

enum { ROWS_A_CHUNK = 512 };

typedef struct state {
    const cwi_training *training;
    uint64_t seed;
    int64_t batch;
    bool by_user;   /* draw a user, then one of his pairs */
    int32_t *users; /* [n_users] those with a pair, for by_user */
    int32_t n_users;
    int64_t *kept; /* [chunks] rows that found a negative */
    uint64_t step; /* of the batch being drawn */
    cwi_batch *out;
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->users);
    cwi_free(s->kept);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_training *training,
                            const cw_options *options, int64_t *max_slots, void **out)
{
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->training = training;
    s->seed = (uint64_t)cwi_options_integer(options, "seed");
    s->batch = cwi_options_integer(options, "batch");
    s->by_user = strcmp(cwi_options_text(options, "pos"), "user") == 0;
    s->users = cwi_alloc(ctx, (size_t)training->n_users, sizeof *s->users);
    s->kept = cwi_alloc(ctx, (size_t)cwi_pool_chunks(s->batch, ROWS_A_CHUNK), sizeof *s->kept);
    if (!s->users || !s->kept) {
        close_state(s);
        return CW_NO_MEMORY;
    }
    for (int32_t u = 0; u < training->n_users; u++)
        if (training->by_user.start[u] < training->by_user.start[u + 1]) s->users[s->n_users++] = u;
    *max_slots = 2 * s->batch;
    *out = s;
    return CW_OK;
}

/* Row of a uniformly drawn pair, or of a uniformly drawn user. */
static int64_t draw_positive(const state *s, cwi_rng *rng)
{
    if (!s->by_user) return (int64_t)cwi_rng_below(rng, (uint64_t)s->training->count);
    int32_t u = s->users[cwi_rng_below(rng, (uint64_t)s->n_users)];
    int64_t first = s->training->by_user.start[u];
    return first +
           (int64_t)cwi_rng_below(rng, (uint64_t)(s->training->by_user.start[u + 1] - first));
}

/* A row being drawn.  Memory is far away, so that each part of the work is done for several rows at
 * a time and asks for what the next part reads. */
typedef struct draft {
    int64_t row;
    cwi_pair pair;
    int32_t negative;
} draft;

static void draw_first(const state *s, cwi_rng *rng, draft *d)
{
    d->row = draw_positive(s, rng);
    __builtin_prefetch(s->training->pair + d->row);
}

static void guess_negative(const state *s, cwi_rng *rng, draft *d)
{
    d->pair = s->training->pair[d->row];
    d->negative = (int32_t)cwi_rng_below(rng, (uint64_t)s->training->n_items);
    __builtin_prefetch(cwi_training_trace(s->training, d->pair.user, d->negative).word);
}

/* Is there an item that the user did not have? */
static bool settle_negative(const state *s, cwi_rng *rng, draft *d)
{
    return !cwi_training_has(s->training, d->pair.user, d->negative) ||
           cwi_training_unseen(s->training, d->pair.user, rng, &d->negative);
}

/* Rows of a chunk are written from its begin on without holes. */
static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AT_ONCE = 64 };
    state *s = arg;
    int64_t kept = begin;
    cwi_rng rng[AT_ONCE];
    draft drafts[AT_ONCE];
    for (int64_t first = begin; first < end; first += AT_ONCE) {
        int64_t n = end - first < AT_ONCE ? end - first : AT_ONCE;
        cwi_training_streams(s->seed, s->step, first, n, rng);
        for (int64_t c = 0; c < n; c++) draw_first(s, &rng[c], &drafts[c]);
        for (int64_t c = 0; c < n; c++) guess_negative(s, &rng[c], &drafts[c]);
        for (int64_t c = 0; c < n; c++) {
            if (!settle_negative(s, &rng[c], &drafts[c])) continue;
            s->out->user[2 * kept] = s->out->user[2 * kept + 1] = drafts[c].pair.user;
            s->out->item[2 * kept] = drafts[c].pair.item;
            s->out->item[2 * kept + 1] = drafts[c].negative;
            kept++;
        }
    }
    s->kept[chunk] = kept - begin;
    return CW_OK;
}

static cw_status draw(cw_context *ctx, void *opened, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck)
{
    state *s = opened;
    s->step = now->step;
    s->out = batch;
    cw_status status = cwi_pool_for(ctx, s->batch, ROWS_A_CHUNK, draw_chunk, s);
    if (status != CW_OK) return status;
    int64_t rows = cwi_batch_gather(batch, 0, 2, ROWS_A_CHUNK, s->kept,
                                    cwi_pool_chunks(s->batch, ROWS_A_CHUNK));
    cwi_batch_fill(batch, 2, rows);
    batch->is_paired = true;
    luck->slots[0] = 2;
    luck->attempts[0] += s->batch;
    luck->accepted[0] += rows;
    return CW_OK;
}

const cwi_sampler cwi_sampler_bpr = {.name = "bpr",
                                     .open = open_state,
                                     .draw = draw,
                                     .close = close_state,
                                     .options = options_of_bpr};

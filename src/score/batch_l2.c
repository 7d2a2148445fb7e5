/*
 * batch_l2.c - the L2 term of the vectors of a batch: lambda / (2 b) times the sum over its b
 * examples of the squared vectors of the users and items that occur in each.
 */
#include "core/mem.h"
#include "score/score.h"

typedef struct state {
    double lambda;
    int32_t n_users;
    int32_t *count; /* [nodes] 0 between calls: in how many examples a row occurs */
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->count);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            int64_t max_slots, void **out)
{
    (void)max_slots;
    state *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->lambda = cwi_options_real(options, "reg");
    s->n_users = shape->n_users;
    s->count =
        cwi_alloc_zero(ctx, (size_t)shape->n_users + (size_t)shape->n_items, sizeof *s->count);
    return s->count ? CW_OK : CW_NO_MEMORY;
}

static void count_examples(state *s, const cwi_batch *b)
{
    for (int g = 0; g < b->n_groups; g++)
        for (int64_t r = 0; r < b->group[g].rows; r++) {
            int32_t n = b->group[g].slots;
            const int32_t *user = b->user + b->group[g].first_slot + r * n;
            const int32_t *item = b->item + b->group[g].first_slot + r * n;
            for (int32_t j = 0; j < n; j++) {
                bool new_user = true, new_item = true;
                for (int32_t before = 0; before < j; before++) {
                    new_user &= user[before] != user[j];
                    new_item &= item[before] != item[j];
                }
                s->count[user[j]] += new_user;
                s->count[s->n_users + item[j]] += new_item;
            }
        }
}

static cw_status add(cw_context *ctx, void *opened, const cwi_batch *batch, const int32_t *touched,
                     int64_t n_touched, const float *table, int32_t width, float *rows,
                     double *value)
{
    state *s = opened;
    double squares = 0, lambda = s->lambda / (double)cwi_batch_rows(batch);
    (void)ctx;

    count_examples(s, batch);
    for (int64_t t = 0; t < n_touched; t++) {
        int32_t row = touched[t];
        const float *theta = table + (int64_t)row * width;
        float *g = rows + t * width;
        float pull = (float)(lambda * s->count[row]);
        for (int32_t c = 0; c < width; c++) {
            squares += (double)s->count[row] * (double)theta[c] * (double)theta[c];
            g[c] += pull * theta[c];
        }
        s->count[row] = 0;
    }
    *value = lambda / 2 * squares;
    return CW_OK;
}

const cwi_penalty cwi_penalty_batch_l2 = {
    .name = "batch-l2",
    .open = open_state,
    .add = add,
    .close = close_state,
};

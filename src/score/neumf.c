/*
 * neumf.c - NeuMF (He et al., WWW 2017) as in the CPR paper's code: one table of vectors for both
 * branches, the product of two vectors beside a network on top of them (tower.h).
 *
 * The rows that a batch touches pass the first layer once, in one matrix product for the users and
 * one for the items; a slot then adds up two rows.  With a = A_u + B_i, s = ... + sum_m h_m
 * ReLU(a_m), the slopes w of the slots and the sums g_tm of w over the slots of row t with a_m > 0,
 * one hidden layer needs nothing else:
 *   dL/dA_um = h_m g_um,  dL/dB_im = h_m g_im,  dL/dh_m = sum_u A_um g_um + sum_i B_im g_im
 * Layers above the first go by slots, a round of them at a time.
 */
#include "score/neumf.h"

#include <string.h>

#include "backend/gemm.h"
#include "core/pool.h"
#include "score/roster.h"
#include "score/shared_rows.h"
#include "score/table.h"

static const cw_option_info options_of_neumf[] = {
    TEXT("hidden", "256", "sizes of the hidden layers with commas between, such as 256,64"),
    WEIGHT_REG,
    {0}};

enum { SLOTS_A_CHUNK = 256, SLOTS_A_ROUND = 16 * SLOTS_A_CHUNK, ROWS_A_CHUNK = 128 };

typedef struct state {
    cwi_table table;
    const cwi_params *params;
    cwi_tower tower[CWI_MAX_TOWERS];
    int32_t first_width; /* the first layers of all heads side by side */
    cwi_roster scored;   /* rows of the batch when it was scored */
    cwi_table_plan plan;
    const cwi_roster *roster;      /* rows at hand: those that were scored, or those of the plan */
    int32_t *other;                /* [2 * max_slots] plan.other as places of the roster */
    float *vectors;                /* [most][d] rows of the table */
    float *first, *kept;           /* [most][first_width] A and B; scratch of the same size */
    float *first_slope;            /* [most][first_width] dL/dA and dL/dB */
    float *gradient;               /* [most][d] */
    float *whole[CWI_MAX_TENSORS]; /* gradients of the other tensors */
    float *work;                   /* of cwi_gemm_sum */
    float *floor, *floor_slope;    /* [SLOTS_A_ROUND][width]; NULL with one layer */
    cwi_pile pile;
} state;

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    cw_status status = cwi_table_declare(ctx, shape, options, params);
    if (status == CW_OK) status = cwi_tower_declare(ctx, shape, options, params);
    return status;
}

/* ---- make and free --------------------------------------------------------------- */

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_roster_clear(&s->scored);
    cwi_table_plan_clear(&s->plan);
    cwi_pile_clear(&s->pile);
    cwi_free(s);
}

static void create_rows(cw_context *ctx, size_t max_slots, state *s)
{
    size_t most = s->plan.most, bytes = (size_t)s->table.d * sizeof(float);
    size_t first_bytes = (size_t)s->first_width * sizeof(float);
    s->other = cwi_pile_add(ctx, &s->pile, 2 * max_slots, sizeof *s->other);
    s->vectors = cwi_pile_add(ctx, &s->pile, most, bytes);
    s->gradient = cwi_pile_add(ctx, &s->pile, most, bytes);
    s->first = cwi_pile_add(ctx, &s->pile, most, first_bytes);
    s->kept = cwi_pile_add(ctx, &s->pile, most, first_bytes);
    s->first_slope = cwi_pile_add(ctx, &s->pile, most, first_bytes);
}

/* Heads have layers of equal sizes, so that what does for the first does for all. */
static void create_floors(cw_context *ctx, state *s)
{
    const cwi_tower *tower = &s->tower[0];
    int64_t most = (int64_t)tower->d * tower->size[0];
    if (most < cwi_tower_largest(tower)) most = cwi_tower_largest(tower);
    if (most < tower->size[tower->n_layers - 1]) most = tower->size[tower->n_layers - 1];
    s->work = cwi_pile_add(ctx, &s->pile, CWI_GEMM_PARTS + 1, (size_t)most * sizeof *s->work);
    if (tower->n_layers == 1) return;
    size_t bytes = (size_t)cwi_tower_width(tower) * sizeof(float);
    s->floor = cwi_pile_add(ctx, &s->pile, SLOTS_A_ROUND, bytes);
    s->floor_slope = cwi_pile_add(ctx, &s->pile, SLOTS_A_ROUND, bytes);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            const cwi_params *params, int64_t max_slots, void **out)
{
    (void)options;
    state *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    const cwi_tensor *tensor = &params->tensor[0];
    s->params = params;
    s->table = (cwi_table){.data = tensor->data,
                           .n_users = shape->n_users,
                           .d = (int32_t)tensor->columns,
                           .heads = shape->heads};
    CW_PASS(cwi_tower_find(ctx, params, shape->heads, s->table.d, s->tower));
    s->first_width = shape->heads * s->tower[0].size[0];
    CW_PASS(cwi_table_plan_create(ctx, (int32_t)tensor->rows, shape->heads, max_slots, &s->plan));
    CW_PASS(cwi_roster_create(ctx, tensor->rows, (int64_t)s->plan.most, max_slots, &s->scored));
    create_rows(ctx, (size_t)max_slots, s);
    cwi_params_gradients(ctx, params, &s->pile, s->whole);
    create_floors(ctx, s);
    return s->pile.status;
}

/* ---- rows of a batch ------------------------------------------------------------- */

static cw_status gather_vectors(cw_context *ctx, state *s)
{
    return cwi_gather(ctx, s->table.data, s->table.d, s->roster->row, s->roster->n, NULL,
                      s->vectors);
}

/* Users, or items, of what is kept per row of the roster. */
static cwi_matrix side_of(const state *s, float *data, int32_t width, bool is_user)
{
    int64_t first = is_user ? 0 : s->roster->n_users;
    int64_t rows = is_user ? s->roster->n_users : s->roster->n - s->roster->n_users;
    return (cwi_matrix){data + first * width, rows, width, width};
}

/* ---- scores ---------------------------------------------------------------------- */

static cw_status pass_first_layer(cw_context *ctx, const cwi_tower *tower, int32_t heads,
                                  bool is_user, const cwi_matrix *vectors, const cwi_matrix *out)
{
    for (int h = 0; h < heads; h++) {
        int32_t d = tower[h].d, size = tower[h].size[0];
        cwi_matrix x = cwi_columns_of(vectors, h * d, d), y = cwi_columns_of(out, h * size, size);
        for (int64_t r = 0; r < y.rows && is_user; r++)
            memcpy(cwi_row(&y, r), tower[h].bias[0], (size_t)size * sizeof(float));
        CW_PASS(cwi_gemm(ctx, x.rows, size, d, x.data, x.stride, false,
                         tower[h].weight[0] + (is_user ? 0 : (int64_t)d * size), size, is_user,
                         y.data, y.stride));
    }
    return CW_OK;
}

cw_status cwi_neumf_enter(cw_context *ctx, const cwi_tower *tower, int32_t heads,
                          const cwi_matrix vectors[2], const cwi_matrix out[2])
{
    for (int side = 0; side < 2; side++)
        CW_PASS(pass_first_layer(ctx, tower, heads, side == 1, &vectors[side], &out[side]));
    for (int h = 0; h < heads; h++) {
        cwi_matrix own = cwi_columns_of(&vectors[1], h * tower[h].d, tower[h].d);
        CW_PASS(cwi_columns_scale(ctx, &own, tower[h].product));
    }
    return CW_OK;
}

static cw_status enter(cw_context *ctx, state *s)
{
    CW_PASS(gather_vectors(ctx, s));
    const cwi_matrix vectors[] = {side_of(s, s->vectors, s->table.d, false),
                                  side_of(s, s->vectors, s->table.d, true)};
    const cwi_matrix first[] = {side_of(s, s->first, s->first_width, false),
                                side_of(s, s->first, s->first_width, true)};
    return cwi_neumf_enter(ctx, s->tower, s->table.heads, vectors, first);
}

typedef struct slots {
    const state *s;
    const cwi_ops *ops;
    int head;
    int64_t first;      /* slot of this round */
    const float *slope; /* of all slots */
    float *score;
} slots;

static cw_status score_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const slots *j = arg;
    const state *s = j->s;
    int32_t heads = s->table.heads;
    const int32_t *user = s->roster->user_at + begin, *item = s->roster->item_at + begin;
    (void)chunk;
    for (int h = 0; h < heads; h++) {
        const cwi_tower *tower = &s->tower[h];
        const float *x = s->vectors + h * tower->d, *y = s->first + h * tower->size[0];
        float *out = j->score + begin * heads + h;
        j->ops->dot_pairs(x, user, x, item, end - begin, tower->d, s->table.d, out, heads);
        if (tower->n_layers == 1)
            j->ops->relu_pairs(tower->last, y, user, item, end - begin, tower->size[0],
                               s->first_width, out, heads);
    }
    return CW_OK;
}

/* All floors of some slots of the round. */
static cwi_floors climb(const slots *j, int64_t begin, int64_t end, float *out)
{
    const state *s = j->s;
    const cwi_tower *tower = &s->tower[j->head];
    cwi_floors mine = cwi_tower_floors(tower, s->floor, SLOTS_A_ROUND, begin, end - begin);
    for (int64_t r = 0; r < end - begin; r++) {
        int64_t slot = j->first + begin + r;
        const float *first = s->first + (int64_t)j->head * tower->size[0];
        const float *a = first + (int64_t)s->roster->user_at[slot] * s->first_width;
        const float *b = first + (int64_t)s->roster->item_at[slot] * s->first_width;
        float *z = cwi_row(&mine.z[0], r);
        for (int32_t m = 0; m < tower->size[0]; m++) {
            float sum = a[m] + b[m];
            z[m] = 0 > sum ? 0 : sum;
        }
    }
    cwi_tower_climb(tower, j->ops, &mine, out, s->table.heads);
    return mine;
}

static cw_status climb_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const slots *j = arg;
    (void)chunk;
    (void)climb(j, begin, end, j->score + (j->first + begin) * j->s->table.heads + j->head);
    return CW_OK;
}

static int64_t round_length(int64_t first, int64_t n_slots)
{
    return n_slots - first < SLOTS_A_ROUND ? n_slots - first : SLOTS_A_ROUND;
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    state *s = opened;
    slots j = {.s = s, .ops = cwi_ops_best(), .score = out};

    cwi_roster_fill(&s->scored, batch, s->table.n_users);
    s->roster = &s->scored;
    CW_PASS(enter(ctx, s));
    CW_PASS(cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK, score_chunk, &j));
    for (j.head = 0; j.head < s->table.heads && s->floor; j.head++)
        for (j.first = 0; j.first < batch->n_slots; j.first += SLOTS_A_ROUND)
            CW_PASS(cwi_pool_for(ctx, round_length(j.first, batch->n_slots), SLOTS_A_CHUNK,
                                 climb_chunk, &j));
    return CW_OK;
}

/* ---- gradients ------------------------------------------------------------------- */

/* Rows may have been dropped from the batch since its slots were scored: list it anew, the first
 * layers that are still needed in the new order, and its vectors as they are in the table. */
static cw_status refit(cw_context *ctx, state *s, const cwi_batch *batch, const float *slope)
{
    cwi_table_plan_fill(&s->plan, batch, s->table.n_users, slope, NULL);
    float *kept = s->kept;
    CW_PASS(cwi_gather(ctx, s->first, s->first_width, s->plan.rows.row, s->plan.rows.n,
                       s->scored.place, kept));
    s->kept = s->first;
    s->first = kept;
    s->roster = &s->plan.rows;
    int64_t of_users = s->plan.start[s->plan.rows.n_users]; /* their other side is an item */
    for (int64_t k = 0; k < 2 * batch->n_slots; k++)
        s->other[k] = s->roster->place[(k < of_users ? s->table.n_users : 0) + s->plan.other[k]];
    return gather_vectors(ctx, s);
}

/* The product of the vectors: `gradient` comes as the sums of w times the other vector. */
static cw_status pass_product(cw_context *ctx, state *s, int head)
{
    const cwi_tower *tower = &s->tower[head];
    int32_t d = tower->d;
    float *h = s->whole[tower->first_tensor + 2 * tower->n_layers];
    cwi_matrix rows = {s->gradient + head * d, s->roster->n, d, s->table.d};
    cwi_matrix sums = cwi_rows_of(&rows, 0, s->roster->n_users);
    cwi_matrix users = {s->vectors + head * d, s->roster->n_users, d, s->table.d};
    CW_PASS(cwi_columns_sum(ctx, &users, &sums, h));
    return cwi_columns_scale(ctx, &rows, tower->product);
}

static cw_status gate_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const slots *j = arg;
    const state *s = j->s;
    int32_t size = s->tower[j->head].size[0];
    const float *first = s->first + j->head * size;
    const float *weight = s->plan.weight + 2 * s->plan.max_slots * j->head;
    (void)chunk;
    for (int64_t t = begin; t < end; t++) {
        int64_t from = s->plan.start[t], count = s->plan.start[t + 1] - from;
        j->ops->gated_sum(first + t * s->first_width, first, size, s->first_width, s->other + from,
                          weight + from, count,
                          s->first_slope + t * s->first_width + j->head * size);
    }
    return CW_OK;
}

/* dL/dA, dL/dB and the rest of dL/dh when there is one layer: see the top of this file. */
static cw_status pass_single(cw_context *ctx, slots *j)
{
    const state *s = j->s;
    const cwi_tower *tower = &s->tower[j->head];
    int32_t size = tower->size[0];
    cwi_matrix first = {s->first + j->head * size, s->roster->n, size, s->first_width};
    cwi_matrix slopes = {s->first_slope + j->head * size, s->roster->n, size, s->first_width};
    CW_PASS(cwi_pool_for(ctx, s->roster->n, ROWS_A_CHUNK, gate_chunk, j));
    CW_PASS(cwi_columns_sum(ctx, &first, &slopes, s->whole[tower->first_tensor + 2] + tower->d));
    return cwi_columns_scale(ctx, &slopes, tower->last);
}

static cw_status descend_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const slots *j = arg;
    const state *s = j->s;
    const cwi_tower *tower = &s->tower[j->head];
    cwi_floors floors = climb(j, begin, end, NULL);
    cwi_floors mine = cwi_tower_floors(tower, s->floor_slope, SLOTS_A_ROUND, begin, end - begin);
    (void)chunk;
    cwi_tower_descend(tower, j->ops, &floors,
                      j->slope + (j->first + begin) * s->table.heads + j->head, s->table.heads,
                      &mine);
    return CW_OK;
}

/* The same for several layers, and the gradients of those above the first. */
static cw_status pass_layers(cw_context *ctx, slots *j, int64_t n_slots)
{
    const state *s = j->s;
    const cwi_tower *tower = &s->tower[j->head];
    int32_t size = tower->size[0];
    cwi_matrix to = {s->first_slope + j->head * size, s->roster->n, size, s->first_width};
    for (int64_t t = 0; t < to.rows; t++) memset(cwi_row(&to, t), 0, (size_t)size * sizeof(float));
    for (j->first = 0; j->first < n_slots; j->first += SLOTS_A_ROUND) {
        int64_t count = round_length(j->first, n_slots);
        CW_PASS(cwi_pool_for(ctx, count, SLOTS_A_CHUNK, descend_chunk, j));
        cwi_floors floors = cwi_tower_floors(tower, s->floor, SLOTS_A_ROUND, 0, count);
        cwi_floors slopes = cwi_tower_floors(tower, s->floor_slope, SLOTS_A_ROUND, 0, count);
        CW_PASS(cwi_tower_gradient(ctx, tower, &floors, &slopes,
                                   j->slope + j->first * s->table.heads + j->head, s->table.heads,
                                   s->whole, s->work));
        CW_PASS(cwi_columns_scatter(ctx, &slopes.z[0], s->roster->user_at + j->first,
                                    s->roster->item_at + j->first, &to));
    }
    return CW_OK;
}

/* From dL/dA or dL/dB to its half of W_0 and to the vectors; the bias belongs to the users. */
static cw_status pass_first(cw_context *ctx, state *s, int head, bool is_user)
{
    const cwi_tower *tower = &s->tower[head];
    int32_t d = tower->d, size = tower->size[0];
    int64_t half = is_user ? 0 : (int64_t)d * size;
    cwi_matrix slopes = side_of(s, s->first_slope, s->first_width, is_user);
    cwi_matrix vectors = side_of(s, s->vectors, s->table.d, is_user);
    cwi_matrix rows = side_of(s, s->gradient, s->table.d, is_user);
    slopes = cwi_columns_of(&slopes, head * size, size);
    CW_PASS(cwi_gemm_sum(ctx, slopes.rows, d, size, vectors.data + head * d, vectors.stride,
                         slopes.data, slopes.stride, s->whole[tower->first_tensor] + half,
                         s->work));
    CW_PASS(cwi_gemm(ctx, slopes.rows, d, size, slopes.data, slopes.stride, true,
                     tower->weight[0] + half, size, 1, rows.data + head * d, rows.stride));
    if (is_user) CW_PASS(cwi_columns_sum(ctx, &slopes, NULL, s->whole[tower->first_tensor + 1]));
    return CW_OK;
}

static void forget_gradients(state *s)
{
    for (int t = 1; t < s->params->count; t++)
        memset(s->whole[t], 0, cwi_tensor_bytes(&s->params->tensor[t]));
}

static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          const cwi_extra *extra, cwi_gradient *out)
{
    state *s = opened;
    double penalty;
    slots j = {.s = s, .ops = cwi_ops_best(), .slope = slope};

    CW_PASS(refit(ctx, s, batch, slope));
    forget_gradients(s);
    CW_PASS(cwi_table_gradient(ctx, &s->plan, &s->table, s->gradient));
    for (j.head = 0; j.head < s->table.heads; j.head++) {
        CW_PASS(pass_product(ctx, s, j.head));
        CW_PASS(s->floor ? pass_layers(ctx, &j, batch->n_slots) : pass_single(ctx, &j));
        CW_PASS(pass_first(ctx, s, j.head, true));
        CW_PASS(pass_first(ctx, s, j.head, false));
    }
    CW_PASS(cwi_table_penalise(ctx, &s->plan, &s->table, batch, extra, s->gradient, &penalty));
    *out = (cwi_gradient){.n_touched = s->plan.rows.n,
                          .touched = s->plan.rows.row,
                          .rows = s->gradient,
                          .penalty = penalty};
    memcpy(out->whole, s->whole, sizeof out->whole);
    return CW_OK;
}

const cwi_backbone cwi_backbone_neumf = {
    .name = "neumf",
    .help = "NeuMF: a weighted product of two vectors plus a neural network on top of them",
    .declare = declare,
    .open = open_state,
    .score = score,
    .gradient = gradient,
    .rank = cwi_neumf_rank,
    .close = close_state,
    .options = options_of_neumf,
};

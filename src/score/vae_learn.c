/*
 * vae_learn.c - a training step of Mult-VAE.
 *
 * With b users, x a user's 0/1 row of train and d its sum,
 *   loss = (1/b) sum over users [ - sum over their items of log softmax(logits)
 *                                 + beta sum over z of (e^v + mu^2 - v - 1) / 2 ],
 * v being the log variance.  Users pass forward and back in blocks, whose gradients are added up in
 * order; the slope of a logit is (d softmax - x) / b.  The first layer has gradients only in the
 * rows of items that the batch's users have.
 */
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/elementary.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "score/vae.h"

enum { ROWS_A_CHUNK = 4, ITEMS_A_CHUNK = 64 };

/* ---- make and free ---------------------------------------------------------------- */

void cwi_vae_close(void *opened)
{
    cwi_vae *v = opened;
    if (!v) return;
    cwi_pile_clear(&v->block.pile);
    cwi_pile_clear(&v->pile);
    cwi_free(v->batch.item);
    cwi_free(v->batch.weight);
    cwi_free(v->by_row);
    cwi_free(v->by_weight);
    cwi_free(v);
}

static float *add_matrix(cw_context *ctx, cwi_vae *v, int64_t rows, int64_t columns)
{
    return cwi_pile_add(ctx, &v->pile, (size_t)rows, (size_t)columns * sizeof(float));
}

static void create_slopes(cw_context *ctx, cwi_vae *v, const cwi_params *params)
{
    for (int l = 0; l < v->net.n_layers - 1; l++)
        v->slope[l] = add_matrix(ctx, v, l ? v->block_rows : v->batch.rows, v->net.layer[l].out);
    v->latent_slope = add_matrix(ctx, v, v->block_rows, v->net.latent);
    v->touched_rows = add_matrix(ctx, v, v->n_items, v->net.layer[0].out);
    cwi_params_gradients(ctx, params, &v->pile, v->whole);
}

static void create_lists(cw_context *ctx, cwi_vae *v)
{
    size_t rows = (size_t)v->batch.rows, n_items = (size_t)v->n_items;
    v->batch.user = cwi_pile_add(ctx, &v->pile, rows, sizeof *v->batch.user);
    v->batch.start = cwi_pile_add(ctx, &v->pile, rows + 1, sizeof *v->batch.start);
    v->batch.noise = add_matrix(ctx, v, v->batch.rows, v->net.latent);
    v->nll = cwi_pile_add(ctx, &v->pile, rows, sizeof *v->nll);
    v->kl = cwi_pile_add(ctx, &v->pile, rows, sizeof *v->kl);
    v->end = cwi_pile_add(ctx, &v->pile, n_items, sizeof *v->end);
    v->touched = cwi_pile_add(ctx, &v->pile, n_items, sizeof *v->touched);
}

cw_status cwi_vae_open(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                       const cwi_params *params, int64_t max_slots, void **out)
{
    (void)max_slots;
    cwi_vae *v = *out = cwi_alloc_zero(ctx, 1, sizeof *v);
    if (!v) return CW_NO_MEMORY;
    v->train = shape->train;
    v->n_items = shape->n_items;
    v->seed = (uint64_t)cwi_options_integer(options, "seed");
    v->keep = cwi_options_real(options, "keep");
    v->kl_cap = cwi_options_real(options, "kl-cap");
    v->kl_steps = (double)cwi_options_integer(options, "kl-steps");
    v->batch.rows = (int32_t)cwi_options_integer(options, "batch");
    v->block_rows = v->batch.rows < CWI_VAE_BLOCK ? v->batch.rows : CWI_VAE_BLOCK;
    CW_PASS(cwi_vae_net_find(ctx, params, v->n_items, &v->net));
    CW_PASS(cwi_vae_block_create(ctx, &v->net, v->block_rows, true, &v->block));
    create_slopes(ctx, v, params);
    create_lists(ctx, v);
    return v->pile.status;
}

/* ---- who takes part --------------------------------------------------------------- */

/* Let the arrays hold the entries of all users drawn. */
static cw_status grow_entries(cw_context *ctx, cwi_vae *v, size_t n)
{
    cwi_vae_batch *b = &v->batch;
    CW_PASS(cwi_grow(ctx, &b->item, &b->item_capacity, n, sizeof *b->item));
    CW_PASS(cwi_grow(ctx, &b->weight, &b->weight_capacity, n, sizeof *b->weight));
    CW_PASS(cwi_grow(ctx, &v->by_row, &v->by_row_capacity, n, sizeof *v->by_row));
    return cwi_grow(ctx, &v->by_weight, &v->by_weight_capacity, n, sizeof *v->by_weight);
}

/* The stream of a row gives its user first and then says which of that user's items stay. */
static int32_t draw_user(const cwi_vae *v, uint64_t step, int32_t row, cwi_rng *rng)
{
    cwi_rng_init(rng, v->seed, CWI_RNG_SAMPLE, cwi_stream_number(step, row));
    return (int32_t)cwi_rng_below(rng, (uint64_t)v->train->n_rows);
}

/* Dropout of a row divided by its norm; what stays is scaled up by as much as is lost. */
static void drop_out(cwi_vae *v, int32_t row, cwi_rng *rng)
{
    cwi_vae_batch *b = &v->batch;
    int64_t first = v->train->start[b->user[row]], last = v->train->start[b->user[row] + 1];
    int64_t n = b->start[row];
    float weight = (float)(1 / (v->keep * sqrt((double)(last - first))));
    for (int64_t e = first; e < last; e++) {
        if (cwi_rng_real(rng) >= v->keep) continue;
        b->item[n] = v->train->value[e];
        b->weight[n++] = weight;
    }
    b->start[row + 1] = n;
}

typedef struct noising {
    cwi_vae *v;
    uint64_t step;
} noising;

static cw_status draw_noise(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const noising *n = arg;
    int32_t z = n->v->net.latent;
    (void)chunk;
    for (int64_t row = begin; row < end; row++) {
        cwi_rng rng;
        cwi_rng_init(&rng, n->v->seed, CWI_RNG_NOISE, cwi_stream_number(n->step, row));
        for (int32_t j = 0; j < z; j++)
            n->v->batch.noise[row * z + j] = (float)cwi_rng_normal(&rng);
    }
    return CW_OK;
}

cw_status cwi_vae_draw(cw_context *ctx, cwi_vae *v, uint64_t step)
{
    cwi_vae_batch *b = &v->batch;
    cwi_rng rng;
    int64_t entries = 0;
    noising noise = {v, step};

    for (int32_t row = 0; row < b->rows; row++) {
        b->user[row] = draw_user(v, step, row, &rng);
        entries += v->train->start[b->user[row] + 1] - v->train->start[b->user[row]];
    }
    CW_PASS(grow_entries(ctx, v, (size_t)entries));
    b->start[0] = 0;
    for (int32_t row = 0; row < b->rows; row++) {
        draw_user(v, step, row, &rng);
        drop_out(v, row, &rng);
    }
    return cwi_pool_for(ctx, b->rows, ROWS_A_CHUNK, draw_noise, &noise);
}

/* ---- the loss --------------------------------------------------------------------- */

/* A block of users on its way through the network. */
typedef struct passage {
    cwi_vae *v;
    int32_t first, rows; /* of the batch */
    double beta;
} passage;

/* Logits of one user give way to their slopes; returns the negative log likelihood. */
static double take_softmax(float *x, int32_t n, const int32_t *items, int64_t degree, double b)
{
    double sum = 0, liked = 0;
    float most = x[0];
    for (int32_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    for (int64_t e = 0; e < degree; e++) liked += (double)(x[items[e]] - most);
    for (int32_t i = 0; i < n; i++) {
        x[i] = cwi_expf(x[i] - most);
        sum += (double)x[i];
    }
    float scale = (float)((double)degree / (sum * b)), one = (float)(1 / b);
    for (int32_t i = 0; i < n; i++) x[i] *= scale;
    for (int64_t e = 0; e < degree; e++) x[items[e]] -= one;
    return (double)degree * cwi_ln(sum) - liked;
}

static cw_status loss_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *p = arg;
    cwi_vae *v = p->v;
    float *logits = v->block.out[v->net.n_layers - 1];
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        int32_t user = v->batch.user[p->first + r];
        int64_t start = v->train->start[user];
        v->nll[p->first + r] =
            take_softmax(logits + r * v->n_items, v->n_items, v->train->value + start,
                         v->train->start[user + 1] - start, (double)v->batch.rows);
    }
    return CW_OK;
}

/* Through the sampling: slopes of mu and of the log variance, each with its share of KL. */
static cw_status code_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *p = arg;
    cwi_vae *v = p->v;
    int half = v->net.n_layers / 2;
    int64_t z = v->net.latent, offset = half == 1 ? p->first : 0;
    float share = (float)(p->beta / v->batch.rows);
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        const float *mu = v->block.out[half - 1] + r * 2 * z, *log_variance = mu + z;
        const float *noise = v->batch.noise + (p->first + r) * z, *dz = v->latent_slope + r * z;
        float *slope = v->slope[half - 1] + (offset + r) * 2 * z;
        double kl = 0;
        for (int64_t j = 0; j < z; j++) {
            float deviation = cwi_expf(log_variance[j] / 2), variance = deviation * deviation;
            slope[j] = dz[j] + share * mu[j];
            slope[z + j] = (dz[j] * noise[j] * deviation + share * (variance - 1)) / 2;
            kl += ((double)(variance + mu[j] * mu[j]) - (double)log_variance[j] - 1) / 2;
        }
        v->kl[p->first + r] = kl;
    }
    return CW_OK;
}

/* ---- one block forth and back ------------------------------------------------------ */

static cw_status go_forth(cw_context *ctx, passage *p)
{
    cwi_vae *v = p->v;
    const cwi_vae_batch *b = &v->batch;
    int last = v->net.n_layers - 1;
    cwi_sparse x = {b->start + p->first, b->item, b->weight, 0};

    CW_PASS(cwi_vae_forward(ctx, &v->net, &v->block, &x, p->rows,
                            b->noise + (int64_t)p->first * v->net.latent));
    CW_PASS(cwi_layer_forward(ctx, &v->net.layer[last], cwi_vae_input(&v->net, &v->block, last),
                              p->rows, v->block.out[last]));
    return cwi_pool_for(ctx, p->rows, ROWS_A_CHUNK, loss_rows, p);
}

/* Where the slopes of layer l are; those of the first are kept for the whole batch. */
static float *slope_of(const passage *p, int l)
{
    const cwi_vae *v = p->v;
    if (l == v->net.n_layers - 1) return v->block.out[l];
    return v->slope[l] + (l == 0 ? (int64_t)p->first * v->net.layer[0].out : 0);
}

static cw_status go_back(cw_context *ctx, passage *p)
{
    cwi_vae *v = p->v;
    int half = v->net.n_layers / 2;
    float carry = p->first > 0;

    for (int l = v->net.n_layers - 1; l >= 0; l--) {
        const cwi_layer *layer = &v->net.layer[l];
        const float *x = l > 0 ? cwi_vae_input(&v->net, &v->block, l) : NULL;
        const float *slope = slope_of(p, l);
        CW_PASS(cwi_layer_gradient(ctx, layer, x, slope, p->rows, carry, v->whole[2 * l],
                                   v->whole[2 * l + 1]));
        if (l == 0) break;
        CW_PASS(cwi_layer_back(ctx, layer, x, l != half, slope, p->rows,
                               l == half ? v->latent_slope : slope_of(p, l - 1)));
        if (l == half) CW_PASS(cwi_pool_for(ctx, p->rows, ROWS_A_CHUNK, code_rows, p));
    }
    return CW_OK;
}

/* ---- the first layer --------------------------------------------------------------- */

/* Entries of the batch by item, in the order of the rows; returns how many items have any. */
static int64_t list_touched(cwi_vae *v)
{
    const cwi_vae_batch *b = &v->batch;
    int64_t n_touched = 0, sum = 0;

    memset(v->end, 0, (size_t)v->n_items * sizeof *v->end);
    for (int64_t e = 0; e < b->start[b->rows]; e++) v->end[b->item[e]]++;
    for (int32_t i = 0; i < v->n_items; i++) {
        int64_t count = v->end[i];
        if (count > 0) v->touched[n_touched++] = i;
        v->end[i] = sum;
        sum += count;
    }
    for (int32_t row = 0; row < b->rows; row++)
        for (int64_t e = b->start[row]; e < b->start[row + 1]; e++) {
            int64_t at = v->end[b->item[e]]++;
            v->by_row[at] = row;
            v->by_weight[at] = b->weight[e];
        }
    return n_touched;
}

static cw_status sum_touched(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    cwi_vae *v = arg;
    const cwi_ops *ops = cwi_ops_best();
    int32_t width = v->net.layer[0].out;
    (void)chunk;
    for (int64_t t = begin; t < end; t++) {
        int32_t item = v->touched[t];
        int64_t first = item > 0 ? v->end[item - 1] : 0;
        ops->weighted_sum(v->slope[0], width, width, v->by_row + first, v->by_weight + first,
                          v->end[item] - first, v->touched_rows + t * width);
    }
    return CW_OK;
}

/* ---- a step ------------------------------------------------------------------------ */

cw_status cwi_vae_gradient(cw_context *ctx, cwi_vae *v, double beta, double *loss,
                           cwi_gradient *out)
{
    double nll = 0, kl = 0;
    int32_t rows = v->batch.rows;

    for (int32_t first = 0; first < rows; first += v->block_rows) {
        int32_t left = rows - first;
        passage p = {v, first, left < v->block_rows ? left : v->block_rows, beta};
        CW_PASS(go_forth(ctx, &p));
        CW_PASS(go_back(ctx, &p));
    }
    *out = (cwi_gradient){
        .n_touched = list_touched(v), .touched = v->touched, .rows = v->touched_rows};
    CW_PASS(cwi_pool_for(ctx, out->n_touched, ITEMS_A_CHUNK, sum_touched, v));
    memcpy(out->whole, v->whole, sizeof out->whole);
    for (int32_t r = 0; r < rows; r++) {
        nll += v->nll[r];
        kl += v->kl[r];
    }
    *loss = nll / rows;
    out->penalty = beta * kl / rows;
    return CW_OK;
}

double cwi_vae_beta(const cwi_vae *v, uint64_t step)
{
    if (v->kl_steps == 0) return v->kl_cap;
    double reached = (double)step / v->kl_steps;
    return reached < v->kl_cap ? reached : v->kl_cap;
}

cw_status cwi_vae_learn(cw_context *ctx, void *opened, const cwi_moment *now, double *loss,
                        cwi_gradient *out)
{
    cwi_vae *v = opened;
    CW_PASS(cwi_vae_draw(ctx, v, now->step));
    return cwi_vae_gradient(ctx, v, cwi_vae_beta(v, now->step), loss, out);
}

/*
 * vae.c - the network of Mult-VAE, and ranking by it.
 *
 * The logits of a user are [last hidden layer, 1] . [column of the last weight, bias], so ranking
 * is an inner product of vectors of h + 1 numbers that are computed once for all users.
 */
#include "score/vae.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "core/elementary.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "core/text.h"

static const cw_option_info options_of_vae[] = {
    TEXT("vae-sizes", "200,600",
         "sizes of the decoder's layers from the latent one on; the encoder has them the other "
         "way round"),
    REAL_ABOVE("keep", "0.5", 0, 1, "share of a user's items that dropout leaves"),
    REAL("kl-cap", "0.2", 0, 1e6, "the most that the KL term weighs"),
    WHOLE("kl-steps", "200000", 0, 1e12,
          "the KL term weighs step / this until it reaches kl-cap; 0 is kl-cap at once"),
    {0}};

enum { MAX_SIZE = 65536, ROWS_A_CHUNK = 8, NAME_BYTES = 32 };

/* ---- the network ------------------------------------------------------------------ */

/* Layer l of both halves together, as its tensors are named. */
static void name_layer(int l, int n_layers, char name[NAME_BYTES])
{
    int half = n_layers / 2;
    snprintf(name, NAME_BYTES, "%s%d", l < half ? "encoder" : "decoder", l % half + 1);
}

/* "200,600"; *n of them. */
static cw_status read_sizes(cw_context *ctx, const char *text, int32_t size[CWI_VAE_MAX_SIZES],
                            int *n)
{
    const char *entry = text;
    char shown[48];
    for (*n = 0; entry; (*n)++) {
        int64_t value;
        const char *comma = strchr(entry, ',');
        size_t length = comma ? (size_t)(comma - entry) : strlen(entry);
        if (*n == CWI_VAE_MAX_SIZES || !cwi_parse_int(entry, length, &value) || value < 1 ||
            value > MAX_SIZE)
            return cwi_fail(ctx, CW_BAD_ARG,
                            "--vae-sizes is '%s'; it must be 1 to %d whole numbers between 1 and "
                            "%d, with commas between them",
                            cwi_excerpt(text, strlen(text), shown), CWI_VAE_MAX_SIZES, MAX_SIZE);
        size[*n] = (int32_t)value;
        entry = comma ? comma + 1 : NULL;
    }
    return CW_OK;
}

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    int half;
    char name[NAME_BYTES];
    int32_t width[CWI_VAE_MAX_SIZES + 1]; /* of the decoder, from the latent to the items */
    float decay = (float)(2 * cwi_options_real(options, "reg"));
    cw_status status = read_sizes(ctx, cwi_options_text(options, "vae-sizes"), width, &half);

    width[half] = shape->n_items;
    for (int l = 0; l < 2 * half && status == CW_OK; l++) {
        int32_t in = l < half ? width[half - l] : width[l - half];
        int32_t out = l < half ? width[half - l - 1] : width[l - half + 1];
        name_layer(l, 2 * half, name);
        status =
            cwi_layer_declare(ctx, params, name, in, l == half - 1 ? 2 * (int64_t)out : out, decay);
    }
    return status;
}

static int count_sizes(const cwi_params *params)
{
    char name[NAME_BYTES];
    int n = 0;
    do snprintf(name, sizeof name, "encoder%d.weight", ++n);
    while (n <= CWI_VAE_MAX_SIZES && cwi_params_find(params, name));
    return n - 1;
}

cw_status cwi_vae_net_find(cw_context *ctx, const cwi_params *params, int32_t n_items,
                           cwi_vae_net *out)
{
    int half = count_sizes(params);
    int32_t width = n_items;
    char name[NAME_BYTES];

    *out = (cwi_vae_net){.n_layers = 2 * half};
    if (half == 0) return cwi_fail(ctx, CW_BAD_DATA, "the model lacks the tensor encoder1.weight");
    for (int l = 0; l < 2 * half; l++) {
        name_layer(l, 2 * half, name);
        CW_PASS(cwi_layer_find(ctx, params, name, width, l == 2 * half - 1 ? n_items : 0,
                               &out->layer[l]));
        width = out->layer[l].out;
        out->layer[l].is_tanh = l != half - 1 && l != 2 * half - 1;
        if (l != half - 1) continue;
        if (width % 2 != 0)
            return cwi_fail(ctx, CW_BAD_DATA,
                            "tensor %s.weight of the model has %d columns; a mean and a variance "
                            "each need an even number",
                            name, width);
        out->latent = width /= 2;
    }
    return CW_OK;
}

cw_status cwi_vae_block_create(cw_context *ctx, const cwi_vae_net *net, int32_t rows,
                               bool with_logits, cwi_vae_block *out)
{
    *out = (cwi_vae_block){0};
    for (int l = 0; l < net->n_layers - !with_logits; l++)
        out->out[l] =
            cwi_pile_add(ctx, &out->pile, (size_t)rows, (size_t)net->layer[l].out * sizeof(float));
    out->latent =
        cwi_pile_add(ctx, &out->pile, (size_t)rows, (size_t)net->latent * sizeof *out->latent);
    return out->pile.status;
}

typedef struct sampling {
    const float *code; /* [rows][2z] mu, then log variance */
    const float *noise;
    int32_t z;
    float *latent;
} sampling;

static cw_status sample_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const sampling *s = arg;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        const float *mu = s->code + r * 2 * s->z, *log_variance = mu + s->z;
        float *latent = s->latent + r * s->z;
        memcpy(latent, mu, (size_t)s->z * sizeof *latent);
        for (int32_t j = 0; j < s->z && s->noise; j++)
            latent[j] += s->noise[r * s->z + j] * cwi_expf(log_variance[j] / 2);
    }
    return CW_OK;
}

cw_status cwi_vae_forward(cw_context *ctx, const cwi_vae_net *net, cwi_vae_block *block,
                          const cwi_sparse *x, int32_t rows, const float *noise)
{
    int half = net->n_layers / 2;
    sampling s = {block->out[half - 1], noise, net->latent, block->latent};

    CW_PASS(cwi_layer_forward_sparse(ctx, &net->layer[0], x, rows, block->out[0]));
    for (int l = 1; l < half; l++)
        CW_PASS(cwi_layer_forward(ctx, &net->layer[l], block->out[l - 1], rows, block->out[l]));
    CW_PASS(cwi_pool_for(ctx, rows, ROWS_A_CHUNK, sample_rows, &s));
    for (int l = half; l < net->n_layers - 1; l++)
        CW_PASS(cwi_layer_forward(ctx, &net->layer[l], cwi_vae_input(net, block, l), rows,
                                  block->out[l]));
    return CW_OK;
}

/* ---- ranking ---------------------------------------------------------------------- */

/* Weights of all entries of the rows: 1 / sqrt(length of the row). */
static float *normalise(cw_context *ctx, const int64_t *start, int32_t rows)
{
    float *weight = cwi_alloc(ctx, (size_t)start[rows], sizeof *weight);
    for (int32_t r = 0; r < rows && weight; r++)
        for (int64_t e = start[r]; e < start[r + 1]; e++)
            weight[e] = 1.0f / sqrtf((float)(start[r + 1] - start[r]));
    return weight;
}

/* Vectors of so many rows: the last hidden layer and a 1. */
static cw_status encode(cw_context *ctx, const cwi_vae_net *net, cwi_vae_block *block,
                        const cwi_sparse *x, int32_t rows, float *out)
{
    int last = net->n_layers - 1;
    int64_t h = net->layer[last].in;
    cw_status status = cwi_vae_forward(ctx, net, block, x, rows, NULL);
    const float *hidden = cwi_vae_input(net, block, last);
    for (int64_t r = 0; r < rows && status == CW_OK; r++) {
        memcpy(out + r * (h + 1), hidden + r * h, (size_t)h * sizeof *out);
        out[r * (h + 1) + h] = 1;
    }
    return status;
}

/* The same of many users and the items that they have, a block at a time. */
static cw_status encode_users(cw_context *ctx, const cwi_vae_net *net, const int64_t *start,
                              const int32_t *items, int32_t n_users, float *out)
{
    cw_status status;
    int64_t width = net->layer[net->n_layers - 1].in + 1;
    int32_t block_rows = n_users < CWI_VAE_BLOCK ? n_users : CWI_VAE_BLOCK;
    cwi_vae_block block = {0};
    float *weight = normalise(ctx, start, n_users);

    CW_TRY(weight ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_vae_block_create(ctx, net, block_rows, false, &block));
    for (int64_t first = 0; first < n_users; first += block_rows) {
        int64_t left = n_users - first;
        int32_t rows = left < block_rows ? (int32_t)left : block_rows;
        cwi_sparse x = {start + first, items, weight, 0};
        CW_TRY(encode(ctx, net, &block, &x, rows, out + first * width));
    }
done:
    cwi_pile_clear(&block.pile);
    cwi_free(weight);
    return status;
}

/* Columns of the last weight with their biases. */
static void list_items(const cwi_layer *last, float *out)
{
    int64_t h = last->in, n_items = last->out;
    for (int64_t i = 0; i < n_items; i++) {
        for (int64_t j = 0; j < h; j++) out[i * (h + 1) + j] = last->weight[j * n_items + i];
        out[i * (h + 1) + h] = last->bias[i];
    }
}

/* Somebody new is encoded as those of train are. */
static cw_status fold_in(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out)
{
    const int64_t start[2] = {0, n};
    float *vector = cwi_alloc(ctx, (size_t)ranker->width, sizeof *vector);
    if (!vector) return CW_NO_MEMORY;
    const float *const one[1] = {vector};
    cw_status status = encode_users(ctx, ranker->state, start, items, 1, vector);
    if (status == CW_OK)
        cwi_ops_best()->score_block(one, 1, ranker->items, ranker->n_items, ranker->width, out);
    cwi_free(vector);
    return status;
}

/* The ranker keeps the network for people who were not there at training. */
static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    cw_status status;
    cwi_pile pile = {0};
    (void)options; /* the shapes of the parameters say it all */
    cwi_vae_net *net = cwi_pile_add(ctx, &pile, 1, sizeof *net);
    CW_TRY(pile.status);
    CW_TRY(cwi_vae_net_find(ctx, params, shape->n_items, net));
    const cwi_layer *last = &net->layer[net->n_layers - 1];
    size_t width = (size_t)last->in + 1, bytes = width * sizeof(float);
    float *users = cwi_pile_add(ctx, &pile, (size_t)shape->n_users, bytes);
    float *items = cwi_pile_add(ctx, &pile, (size_t)shape->n_items, bytes);
    CW_TRY(pile.status);
    list_items(last, items);
    CW_TRY(encode_users(ctx, net, shape->train->start, shape->train->value, shape->n_users, users));
    cwi_ranker_dot(users, items, shape->n_users, shape->n_items, (int32_t)width, out);
    out->fold_in = fold_in;
    out->explain = NULL;
    out->state = net;
    out->pile = pile;
done:
    if (status != CW_OK) cwi_pile_clear(&pile);
    return status;
}

const cwi_backbone cwi_backbone_vae = {
    .name = "vae",
    .help = "a variational autoencoder of the user's train items; only for method mult-vae",
    .declare = declare,
    .open = cwi_vae_open,
    .learn = cwi_vae_learn,
    .rank = rank,
    .close = cwi_vae_close,
    .options = options_of_vae,
};

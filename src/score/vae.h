/*
 * vae.h - Mult-VAE (Liang et al., WWW 2018): a variational autoencoder of a user's row of train.
 *
 * With the decoder sizes z, h_1, ..., h_n the encoder has the layers n_items - h_n - ... - h_1 - 2z
 * and the decoder z - h_1 - ... - h_n - n_items, n + 1 layers each; hidden layers are tanh.  The
 * last encoder layer gives a mean mu and a log variance; the decoder starts at mu + noise * exp(log
 * variance / 2), and at mu when items are ranked.
 */
#ifndef CWI_SCORE_VAE_H
#define CWI_SCORE_VAE_H

#include "score/layers.h"
#include "score/score.h"

enum {
    CWI_VAE_MAX_SIZES = 8,
    CWI_VAE_MAX_LAYERS = 2 * CWI_VAE_MAX_SIZES,
    /* Users that pass through the network together.  The logits are the largest array by far:
     * 256 x n_items floats, 51 MB for 50,000 items, whatever the batch. */
    CWI_VAE_BLOCK = 256
};

typedef struct cwi_vae_net {
    int n_layers;                        /* encoder first; both halves have as many */
    cwi_layer layer[CWI_VAE_MAX_LAYERS]; /* views of the parameters */
    int32_t latent;                      /* z */
} cwi_vae_net;

/* The network that the parameters hold, whose shapes must fit together. */
cw_status cwi_vae_net_find(cw_context *ctx, const cwi_params *params, int32_t n_items,
                           cwi_vae_net *out);

/* What the layers put out for a block of users. */
typedef struct cwi_vae_block {
    float *out[CWI_VAE_MAX_LAYERS]; /* [block][out of the layer]; of the last: the logits */
    float *latent;                  /* [block][z] */
    cwi_pile pile;
} cwi_vae_block;

/* Room for `rows` users; for the logits only when told.  Clear its pile, also after a failure. */
cw_status cwi_vae_block_create(cw_context *ctx, const cwi_vae_net *net, int32_t rows,
                               bool with_logits, cwi_vae_block *out);

/* All layers but the last, which is the one over all items; noise [rows][z] or NULL for none. */
cw_status cwi_vae_forward(cw_context *ctx, const cwi_vae_net *net, cwi_vae_block *block,
                          const cwi_sparse *x, int32_t rows, const float *noise);

/* What goes into layer l, from the second on. */
static inline const float *cwi_vae_input(const cwi_vae_net *net, const cwi_vae_block *block, int l)
{
    return l == net->n_layers / 2 ? block->latent : block->out[l - 1];
}

/* The users of a step: who, what of their rows is left by dropout, and the noise. */
typedef struct cwi_vae_batch {
    int32_t rows;
    int32_t *user;  /* [rows] */
    int64_t *start; /* [rows + 1] entries of a row */
    int32_t *item;
    float *weight;
    float *noise; /* [rows][z] */
    size_t item_capacity, weight_capacity;
} cwi_vae_batch;

/* Training state. */
typedef struct cwi_vae {
    cwi_vae_net net;
    const cwi_csr *train;
    int32_t n_items;
    int32_t block_rows; /* users of a block */
    uint64_t seed;
    double keep, kl_cap, kl_steps;
    cwi_vae_batch batch;
    cwi_vae_block block;
    float *slope[CWI_VAE_MAX_LAYERS]; /* [block][out] dL/d(x W + b); of layer 0 [rows][out]; the
                                         logits give way to those of the last */
    float *latent_slope;              /* [block][z] dL/d(input of the decoder) */
    double *nll, *kl;                 /* [rows] terms of the loss */
    int64_t *end;                     /* [n_items] scratch: where the entries of an item end */
    int32_t *touched, *by_row;        /* [n_items]; rows of the entries by item */
    float *by_weight;                 /* their weights */
    size_t by_row_capacity, by_weight_capacity;
    float *touched_rows;           /* [n_items][out of layer 0] */
    float *whole[CWI_MAX_TENSORS]; /* gradients of tensors 1, 2, ... */
    cwi_pile pile;                 /* of all arrays that do not grow */
} cwi_vae;

cw_status cwi_vae_open(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                       const cwi_params *params, int64_t max_slots, void **out);
void cwi_vae_close(void *opened);

/* A step is these two: who takes part and with what noise, then loss and gradients.  beta weighs
 * the KL term, whose value goes to the penalty of the gradient. */
cw_status cwi_vae_draw(cw_context *ctx, cwi_vae *v, uint64_t step);
cw_status cwi_vae_gradient(cw_context *ctx, cwi_vae *v, double beta, double *loss,
                           cwi_gradient *out);

/* min(cap, step / steps), or the cap when steps is 0. */
double cwi_vae_beta(const cwi_vae *v, uint64_t step);

cw_status cwi_vae_learn(cw_context *ctx, void *opened, const cwi_moment *now, double *loss,
                        cwi_gradient *out);

#endif

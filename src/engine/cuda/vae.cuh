/*
 * vae.cuh - Mult-VAE: rows of users through an encoder and a decoder (score/vae.h has the shapes, the
 * loss is that of score/vae_learn.c).
 *
 * Which of a user's items dropout leaves is never stored as a list: the random numbers of an entry are
 * found by its place in the stream of its row, where they are needed.  What an item's row of the first
 * weight needs to know, which rows of the batch have it, are bits.
 */
#ifndef CWI_ENGINE_CUDA_VAE_CUH
#define CWI_ENGINE_CUDA_VAE_CUH

#include "engine/cuda/sums.cuh"

enum { MOST_VAE_LAYERS = 16, MORE_COLUMNS = 4 /* of a thread */, MORE_ROWS = 4 };

typedef struct vae_work {
    int32_t batch, n_users, n_items, latent, layers, words; /* words of bits of an item */
    int32_t in[MOST_VAE_LAYERS], out[MOST_VAE_LAYERS];
    uint64_t seed;
    double keep, kl_cap, kl_steps;
    slices over; /* rows of the batch */
    const int64_t *start;
    const int32_t *value;
    uint64_t *step;  /* number of the first step of the window */
    int32_t *user;   /* [batch] */
    uint32_t *drawn; /* [batch] words of the stream of a row that chose its user */
    float *weight;   /* [batch] of the entries that are left */
    uint32_t *has;   /* [n_items][words] */
    float *noise;    /* [batch][z] */
    float *z[MOST_VAE_LAYERS], *slope[MOST_VAE_LAYERS]; /* [padded][out] */
    float *code, *code_slope;                           /* [padded][z] */
    double *nll, *kl;                                   /* [batch] */
} vae_work;

/* ---- who takes part --------------------------------------------------------------------------- */

/* The user of a row; a thread each. */
__global__ void draw_users(vae_work v, int s)
{
    int32_t row = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= v.batch) return;
    cwi_rng rng;
    cwi_rng_init(&rng, v.seed, CWI_RNG_SAMPLE, cwi_stream_number(*v.step + (uint64_t)s, row));
    int32_t user = (int32_t)cwi_rng_below(&rng, (uint64_t)v.n_users);
    int64_t n = v.start[user + 1] - v.start[user];
    v.user[row] = user;
    v.drawn[row] = 4 * rng.counter[0] - (uint32_t)rng.left;
    v.weight[row] = (float)(1 / (v.keep * sqrt((double)n)));
}

/* A number of the noise of a row takes one block of its stream. */
__global__ void draw_noise(vae_work v, int s)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= (int64_t)v.batch * v.latent) return;
    cwi_rng rng;
    cwi_rng_init(&rng, v.seed, CWI_RNG_NOISE,
                 cwi_stream_number(*v.step + (uint64_t)s, k / v.latent));
    rng.counter[0] = (uint32_t)(k % v.latent);
    v.noise[k] = (float)cwi_rng_normal(&rng);
}

/* ---- the first layer -------------------------------------------------------------------------- */

/* The items among the next BLOCK entries of a row that are left, in their order; returns how many.  A
 * block. */
__device__ inline int take_items(const vae_work &v, const cwi_rng &rng, int32_t row, int64_t first,
                                 int64_t begin, int64_t end, int32_t *items)
{
    __shared__ int counts[WARPS];
    int t = (int)threadIdx.x, lane = t % WARP, warp = t / WARP, at = 0, all = 0;
    int64_t e = first + t;
    bool stays = e < end && uniform_at(rng, v.drawn[row] + 2 * (uint32_t)(e - begin)) < v.keep;
    unsigned which = __ballot_sync(0xffffffffu, stays);
    __syncthreads(); /* items of the ones before are done with */
    if (lane == 0) counts[warp] = __popc(which);
    __syncthreads();
    for (int k = 0; k < WARPS; k++) {
        at += k < warp ? counts[k] : 0;
        all += counts[k];
    }
    if (stays) items[at + __popc(which & ((1u << lane) - 1))] = v.value[e];
    __syncthreads();
    return all;
}

/* What comes out of the first layer but for its bias, and the bits of items; a row a block. */
__global__ void enter_users(vae_work v, const float *weight, int s)
{
    __shared__ int32_t items[BLOCK];
    int32_t row = (int32_t)blockIdx.x, out = v.out[0];
    int64_t begin = v.start[v.user[row]], end = v.start[v.user[row] + 1];
    float by = v.weight[row];
    cwi_rng rng;
    cwi_rng_init(&rng, v.seed, CWI_RNG_SAMPLE, cwi_stream_number(*v.step + (uint64_t)s, row));
    for (int32_t base = 0; base < out; base += MORE_COLUMNS * BLOCK) {
        float sum[MORE_COLUMNS] = {0};
        for (int64_t e = begin; e < end; e += BLOCK) {
            int n = take_items(v, rng, row, e, begin, end, items);
            if (base == 0 && (int)threadIdx.x < n)
                atomicOr(&v.has[(int64_t)items[threadIdx.x] * v.words + row / 32], 1u << row % 32);
            for (int k = 0; k < n; k++)
                for (int q = 0; q < MORE_COLUMNS; q++) {
                    int32_t c = base + q * BLOCK + (int32_t)threadIdx.x;
                    if (c < out) sum[q] = fmaf(by, weight[(int64_t)items[k] * out + c], sum[q]);
                }
        }
        for (int q = 0; q < MORE_COLUMNS; q++) {
            int32_t c = base + q * BLOCK + (int32_t)threadIdx.x;
            if (c < out) v.z[0][(int64_t)row * out + c] = sum[q];
        }
    }
}

/* The gradient of the row of an item of the first weight, in the order of rows of the batch; an item a
 * block. */
__global__ void sum_item(vae_work v, float *gradient)
{
    __shared__ int32_t rows[BLOCK];
    __shared__ unsigned n;
    int32_t item = (int32_t)blockIdx.x, out = v.out[0];
    for (int32_t base = 0; base < out; base += MORE_COLUMNS * BLOCK) {
        float sum[MORE_COLUMNS] = {0};
        for (int32_t first = 0; first < v.words; first += BLOCK / 32) {
            int32_t word = first + (int32_t)threadIdx.x / 32;
            int lane = (int)threadIdx.x % 32;
            unsigned bits = word < v.words ? v.has[(int64_t)item * v.words + word] : 0;
            unsigned before = 0;
            __syncthreads(); /* rows of the ones before are done with */
            for (int32_t w = first; w < word && w < v.words; w++)
                before += (unsigned)__popc(v.has[(int64_t)item * v.words + w]);
            if (threadIdx.x == BLOCK - 1) n = before + (unsigned)__popc(bits);
            if (bits >> lane & 1)
                rows[before + (unsigned)__popc(bits & ((1u << lane) - 1))] = 32 * word + lane;
            __syncthreads();
            for (unsigned k = 0; k < n; k++) {
                int64_t row = rows[k];
                float by = v.weight[row];
                for (int q = 0; q < MORE_COLUMNS; q++) {
                    int32_t c = base + q * BLOCK + (int32_t)threadIdx.x;
                    if (c < out) sum[q] = fmaf(by, v.slope[0][row * out + c], sum[q]);
                }
            }
        }
        for (int q = 0; q < MORE_COLUMNS; q++) {
            int32_t c = base + q * BLOCK + (int32_t)threadIdx.x;
            if (c < out) gradient[(int64_t)item * out + c] = sum[q];
        }
    }
}

/* ---- the layers in between -------------------------------------------------------------------- */

/* z = f(z + bias) */
__global__ void finish_layer(float *z, const float *bias, int64_t rows, int32_t columns,
                             bool is_tanh)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < rows * columns;
         k += (int64_t)gridDim.x * blockDim.x) {
        float x = z[k] + bias[k % columns];
        z[k] = is_tanh ? cwi_tanhf(x) : x;
    }
}

/* Slopes of what a tanh made become those of what it was made of. */
__global__ void pass_tanh(float *slope, const float *z, int64_t n)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x)
        slope[k] *= 1.0f - z[k] * z[k];
}

/* The code of a user: the mean, and noise as wide as the variance says. */
__global__ void sample_codes(vae_work v, const float *encoded)
{
    int64_t z = v.latent;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < v.batch * z;
         k += (int64_t)gridDim.x * blockDim.x) {
        const float *mean = encoded + k / z * 2 * z + k % z;
        v.code[k] = mean[0] + v.noise[k] * cwi_expf(mean[z] / 2);
    }
}

__device__ inline double vae_beta(const vae_work &v, int s)
{
    if (v.kl_steps == 0) return v.kl_cap;
    double reached = (double)(*v.step + (uint64_t)s) / v.kl_steps;
    return reached < v.kl_cap ? reached : v.kl_cap;
}

/* Through the sampling: slopes of means and of log variances, with their share of KL; a row a warp. */
__global__ void pass_codes(vae_work v, const float *encoded, float *slope, int s)
{
    int64_t row = warp_of_grid(), z = v.latent;
    int lane = (int)threadIdx.x % WARP;
    float share = (float)(vae_beta(v, s) / v.batch);
    double kl = 0;
    if (row >= v.batch) return;
    for (int64_t j = lane; j < z; j += WARP) {
        float mean = encoded[row * 2 * z + j], wide = encoded[row * 2 * z + z + j];
        float deviation = cwi_expf(wide / 2), variance = deviation * deviation;
        float by = v.code_slope[row * z + j];
        slope[row * 2 * z + j] = by + share * mean;
        slope[row * 2 * z + z + j] =
            (by * v.noise[row * z + j] * deviation + share * (variance - 1)) / 2;
        kl += ((double)(variance + mean * mean) - (double)wide - 1) / 2;
    }
    kl = warp_sum_wide(kl);
    if (lane == 0) v.kl[row] = kl;
}

/* ---- the loss --------------------------------------------------------------------------------- */

/* Logits of a row, which lack their bias, give way to their slopes; a block. */
__global__ void lose_users(vae_work v, float *logits, const float *bias)
{
    __shared__ float most_room[WARPS];
    __shared__ double room[WARPS];
    int64_t row = blockIdx.x, n = v.n_items;
    float *x = logits + row * n, most = -INFINITY;
    double sum = 0, liked = 0;
    int64_t begin = v.start[v.user[row]], end = v.start[v.user[row] + 1];
    for (int64_t i = threadIdx.x; i < n; i += BLOCK) {
        x[i] += bias[i];
        most = x[i] > most ? x[i] : most;
    }
    most = block_max(most, most_room);
    for (int64_t e = begin + threadIdx.x; e < end; e += BLOCK) liked += (double)(x[v.value[e]] - most);
    liked = block_sum(liked, room);
    for (int64_t i = threadIdx.x; i < n; i += BLOCK) {
        x[i] = exp_of(x[i] - most);
        sum += (double)x[i];
    }
    sum = block_sum(sum, room);
    double degree = (double)(end - begin);
    float scale = (float)(degree / (sum * (double)v.batch)), one = (float)(1 / (double)v.batch);
    for (int64_t i = threadIdx.x; i < n; i += BLOCK) x[i] *= scale;
    __syncthreads();
    for (int64_t e = begin + threadIdx.x; e < end; e += BLOCK) x[v.value[e]] -= one;
    if (threadIdx.x == 0) v.nll[row] = degree * cwi_ln(sum) - liked;
}

/* What a step came to; a block. */
__global__ void close_users(work w, vae_work v, int s)
{
    __shared__ double room[WARPS];
    double nll = 0, kl = 0;
    for (int32_t r = (int32_t)threadIdx.x; r < v.batch; r += BLOCK) nll += v.nll[r], kl += v.kl[r];
    nll = block_sum(nll, room) / v.batch;
    kl = vae_beta(v, s) * block_sum(kl, room) / v.batch;
    if (threadIdx.x == 0 && !has_failed(w)) close_step(w, s, nll, kl);
}

#endif

/*
 * ngcf.cuh - the layers of NGCF but for their products: with P = A E^(l),
 *   S = P W1 + b1, B = (E^(l) * P) W2 + b2, E^(l+1) = phi(S) + phi(B), N^(l+1) of rows of length 1.
 * Tables are [rows][d], the columns of a head side by side; final vectors have the blocks of all
 * layers side by side for every head.
 */
#ifndef CWI_ENGINE_CUDA_NGCF_CUH
#define CWI_ENGINE_CUDA_NGCF_CUH

#include "engine/cuda/graph.cuh"
#include "engine/cuda/sums.cuh"

enum { MOST_NGCF_LAYERS = 16, ON_A = 1, ON_B = 2, LEFT_OUT = 4 };

typedef struct ngcf_work {
    int32_t d, heads, width, layers; /* of the table; columns of a head */
    int64_t rows;
    slices over;                      /* rows */
    float *e[MOST_NGCF_LAYERS + 1];   /* [padded][d]; [0] is the table */
    float *p[MOST_NGCF_LAYERS], *crossed[MOST_NGCF_LAYERS]; /* [padded][d] P and E * P */
    uint8_t *sign[MOST_NGCF_LAYERS];  /* [rows][d] which summands are above zero, and dropout */
    float *factor[MOST_NGCF_LAYERS];  /* [rows][heads] one over the lengths of rows */
    float *s, *b, *q, *t;             /* [padded][d] */
    float *final;                     /* [rows][d * (layers + 1)] */
    uint64_t *number;                 /* of the first step of the window over all epochs */
    uint64_t seed, message_bound;     /* words below this leave an entry of a layer out */
    double node_dropout;
    float message_scale;   /* of those that are left */
    edge *thinned, *thinned_turned; /* [edges] with the weights that are left, and of the transpose */
} ngcf_work;

/* ---- dropout ------------------------------------------------------------------------------- */

/* Word number `word` of a stream. */
__device__ inline uint32_t word_at(cwi_rng rng, uint32_t word)
{
    rng.counter[0] = word / 4;
    cwi_rng_next_block(&rng);
    return rng.word[word % 4];
}

/* Is an entry of E^(l+1) left out? */
__device__ inline bool drops_message(const ngcf_work &n, int32_t layer, int64_t row, int32_t column,
                                     int s)
{
    if (n.message_bound == 0) return false;
    cwi_rng rng;
    uint64_t step = *n.number + (uint64_t)s;
    cwi_rng_init(&rng, n.seed, CWI_RNG_MESSAGE_DROPOUT,
                 step << 35 | (uint64_t)layer << 31 | (uint64_t)row);
    return word_at(rng, (uint32_t)column) < n.message_bound;
}

/* Weights of the edges that are left, a part a warp. */
__global__ void thin_parts(ngcf_work n, net g, int s)
{
    int64_t k = warp_of_grid();
    if (k >= g.n_parts) return;
    edge_part part = g.part[k];
    uint64_t begin = part.at >> LENGTH_BITS, before = 0;
    if (part.cut > 0) before = (uint64_t)EDGES * g.cut[part.cut - 1].place;
    float scale = (float)(1.0 / (1.0 - n.node_dropout));
    cwi_rng rng;
    cwi_rng_init(&rng, n.seed, CWI_RNG_NODE_DROPOUT,
                 (*n.number + (uint64_t)s) << 32 | (uint64_t)part.row);
    for (uint32_t e = threadIdx.x % WARP; e < length_of(part); e += WARP) {
        const edge *from = g.edges + begin + e;
        bool drops = uniform_at(rng, 2 * (uint32_t)(before + e)) < n.node_dropout;
        n.thinned[begin + e] = {from->row, drops ? 0 : from->weight * scale};
    }
}

/* The same edges as the transpose has them. */
__global__ void turn_edges(ngcf_work n, net g)
{
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < g.n_groups * GROUP;
         e += (int64_t)gridDim.x * blockDim.x)
        n.thinned_turned[e] = {g.edges[e].row, n.thinned[g.mirror[e]].weight};
}

/* ---- layers -------------------------------------------------------------------------------- */

/* Where block `block` of a final vector begins. */
__device__ inline int64_t block_at(const ngcf_work &n, int64_t row, int32_t head, int32_t block)
{
    int32_t blocks = n.layers + 1;
    return (row * n.heads + head) * blocks * n.width + block * n.width;
}

__global__ void copy_table(ngcf_work n)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n.rows * n.d;
         k += (int64_t)gridDim.x * blockDim.x) {
        int32_t c = (int32_t)(k % n.d);
        n.final[block_at(n, k / n.d, c / n.width, 0) + c % n.width] = n.e[0][k];
    }
}

__device__ inline float leak(float x)
{
    return x > 0 ? x : 0.2f * x;
}

__device__ inline float unit_factor(float square)
{
    return 1.0f / sqrtf(square > 1e-12f ? square : 1e-12f);
}

typedef struct ngcf_biases {
    const float *first[2], *second[2]; /* [heads] */
} ngcf_biases;

/* From the two products, which lie in s and b; a row of a head a warp. */
__global__ void activate_rows(ngcf_work n, int32_t layer, ngcf_biases bias, int s)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t k = warp_of_grid(); k < n.rows * n.heads; k += warps_of_grid()) {
        int32_t head = (int32_t)(k % n.heads);
        int64_t at = k * n.width, to = block_at(n, k / n.heads, head, layer + 1);
        const float *b1 = head ? bias.first[1] : bias.first[0];
        const float *b2 = head ? bias.second[1] : bias.second[0];
        float square = 0;
        for (int32_t c = lane; c < n.width; c += WARP) {
            float a = n.s[at + c] + b1[c], b = n.b[at + c] + b2[c];
            bool drops = drops_message(n, layer, k / n.heads, head * n.width + c, s);
            float sum = drops ? 0 : n.message_scale * (leak(a) + leak(b));
            n.sign[layer][at + c] =
                (uint8_t)((a > 0 ? ON_A : 0) | (b > 0 ? ON_B : 0) | (drops ? LEFT_OUT : 0));
            n.e[layer + 1][at + c] = sum;
            square = fmaf(sum, sum, square);
        }
        float factor = unit_factor(warp_sum(square));
        for (int32_t c = lane; c < n.width; c += WARP)
            n.final[to + c] = factor * n.e[layer + 1][at + c];
        if (lane == 0) n.factor[layer][k] = factor;
    }
}

/* The slope of E^(l+1), which lies in s but for what its rows of length 1 add, turns into that of S
 * there and that of B in b; a row of a head a warp. */
__global__ void activate_back(work w, ngcf_work n, int32_t layer, int s)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t k = warp_of_grid(); k < n.rows * n.heads; k += warps_of_grid()) {
        int64_t at = k * n.width;
        int64_t from = block_at(n, k / n.heads, (int32_t)(k % n.heads), layer + 1);
        float factor = n.factor[layer][k], along = 0;
        bool counts = has_slope(w, s, k / n.heads);
        for (int32_t c = lane; c < n.width && counts; c += WARP)
            along = fmaf(n.final[from + c], w.gradient[from + c], along);
        along = warp_sum(along);
        if (factor >= unit_factor(0)) along = 0; /* too short to have a direction */
        for (int32_t c = lane; c < n.width; c += WARP) {
            float g = n.s[at + c];
            if (counts) g += factor * (w.gradient[from + c] - along * n.final[from + c]);
            uint8_t sign = n.sign[layer][at + c];
            g = sign & LEFT_OUT ? 0 : n.message_scale * g;
            n.s[at + c] = sign & ON_A ? g : 0.2f * g;
            n.b[at + c] = sign & ON_B ? g : 0.2f * g;
        }
    }
}

/* From the slopes of P by S, in t, and of Q, in q: all of that of P, and that of E. */
__global__ void cross_back(ngcf_work n, int32_t layer)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n.rows * n.d;
         k += (int64_t)gridDim.x * blockDim.x) {
        float r = n.q[k];
        n.t[k] = fmaf(n.e[layer][k], r, n.t[k]);
        n.q[k] = n.p[layer][k] * r;
    }
}

/* What the first block of final vectors adds to the slope of the table. */
__global__ void table_back(work w, ngcf_work n, int s)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n.rows * n.d;
         k += (int64_t)gridDim.x * blockDim.x) {
        int32_t c = (int32_t)(k % n.d);
        if (has_slope(w, s, k / n.d))
            n.s[k] += w.gradient[block_at(n, k / n.d, c / n.width, 0) + c % n.width];
    }
}

#endif

/*
 * lists.cuh - the best items of many users by inner products, the same as on the CPU to the last tie:
 * a score is one chain of fused steps in the order of columns.
 */
#ifndef CWI_ENGINE_CUDA_LISTS_CUH
#define CWI_ENGINE_CUDA_LISTS_CUH

#include "engine/cuda/grid.cuh"

enum { MOST_LISTED = 256, MOST_EQUAL = 1024, USERS_AT_ONCE = 2048, MOST_SCORES = 1 << 26 };

/* What is ranked: n users, their scores of all items, and what each of them had. */
typedef struct listing {
    const int32_t *users; /* [n] */
    float *score;         /* [n][n_items] */
    uint32_t *key;        /* [n][n_items] the same as whole numbers; 0 is no candidate */
    int64_t n_items;
    int32_t k;
    const int64_t *start; /* of a user's items in `value` */
    const int32_t *value;
    int32_t *item;  /* [n][k] */
    int32_t *count; /* [n]; -1: a score is no number */
} listing;

__global__ void gather_users(const float *vectors, const int32_t *users, int64_t n, int32_t width,
                             float *out)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n * width;
         k += (int64_t)gridDim.x * blockDim.x)
        out[k] = vectors[users[k / width] * (int64_t)width + k % width];
}

/* Keys of the candidates of a user; false where one is no number.  A block. */
__device__ inline bool make_keys(const listing &l, int64_t u, unsigned long long *room)
{
    uint32_t *key = l.key + u * l.n_items;
    const float *score = l.score + u * l.n_items;
    for (int64_t i = threadIdx.x; i < l.n_items; i += BLOCK) key[i] = 1;
    __syncthreads();
    for (int64_t e = l.start[l.users[u]] + threadIdx.x; e < l.start[l.users[u] + 1]; e += BLOCK)
        key[l.value[e]] = 0;
    __syncthreads();
    unsigned bad = 0;
    for (int64_t i = threadIdx.x; i < l.n_items; i += BLOCK) {
        if (key[i] == 0) continue;
        bad += !(score[i] == score[i]);
        key[i] = rank_bits_of(score[i]);
    }
    bool is_good = block_count(bad, room) == 0;
    __syncthreads();
    return is_good;
}

/* A key above which fewer than k candidates are and at which number k is, and how many of those at
 * it are on the list; 0 where all candidates are.  A block. */
__device__ inline uint32_t find_limit(const uint32_t *key, int64_t n, int32_t k, int32_t *at_limit)
{
    __shared__ unsigned in[256];
    __shared__ uint32_t prefix;
    __shared__ int64_t left;
    int t = (int)threadIdx.x;
    if (t == 0) prefix = 0, left = k;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int c = t; c < 256; c += BLOCK) in[c] = 0;
        __syncthreads();
        for (int64_t i = t; i < n; i += BLOCK)
            if (key[i] && (shift == 24 || key[i] >> (shift + 8) == prefix))
                atomicAdd(&in[key[i] >> shift & 255], 1u);
        __syncthreads();
        if (t == 0) {
            int c = 255;
            for (; c > 0 && left > (int64_t)in[c]; c--) left -= in[c];
            prefix = prefix << 8 | (uint32_t)c;
        }
        __syncthreads();
    }
    *at_limit = (int32_t)left;
    uint32_t limit = prefix;
    __syncthreads();
    return limit;
}

/* A user a block. */
__global__ void list_best(listing l, int64_t n)
{
    __shared__ unsigned long long room;
    __shared__ uint32_t best_key[MOST_LISTED];
    __shared__ int32_t best[MOST_LISTED], equal[MOST_EQUAL];
    __shared__ unsigned n_best, n_equal;
    int t = (int)threadIdx.x;
    for (int64_t u = blockIdx.x; u < n; u += gridDim.x) {
        const uint32_t *key = l.key + u * l.n_items;
        int32_t *out = l.item + u * l.k, at_limit;
        bool is_good = make_keys(l, u, &room);
        if (t == 0) n_best = n_equal = 0;
        __syncthreads();
        uint32_t limit = find_limit(key, l.n_items, l.k, &at_limit);
        for (int64_t i = t; i < l.n_items; i += BLOCK) {
            if (key[i] > limit) {
                unsigned at = atomicAdd(&n_best, 1u);
                best_key[at] = key[i], best[at] = (int32_t)i;
            } else if (key[i] == limit && limit > 0) {
                unsigned at = atomicAdd(&n_equal, 1u);
                if (at < MOST_EQUAL) equal[at] = (int32_t)i;
            }
        }
        __syncthreads();
        unsigned above = n_best, alike = n_equal;
        if (alike <= MOST_EQUAL) {
            for (unsigned e = (unsigned)t; e < alike; e += BLOCK) {
                int32_t rank = 0;
                for (unsigned o = 0; o < alike; o++) rank += equal[o] < equal[e];
                if (rank < at_limit) best_key[above + rank] = limit, best[above + rank] = equal[e];
            }
        } else if (t == 0) {
            for (int64_t i = 0, rank = 0; rank < at_limit; i++)
                if (key[i] == limit)
                    best_key[above + rank] = limit, best[above + rank++] = (int32_t)i;
        }
        __syncthreads();
        unsigned listed = above + (alike < (unsigned)at_limit ? alike : (unsigned)at_limit);
        for (unsigned e = (unsigned)t; e < listed; e += BLOCK) {
            int32_t rank = 0;
            for (unsigned o = 0; o < listed; o++)
                rank += best_key[o] > best_key[e] || (best_key[o] == best_key[e] && best[o] < best[e]);
            out[rank] = best[e];
        }
        if (t == 0) l.count[u] = is_good ? (int32_t)listed : -1;
        __syncthreads();
    }
}

#endif

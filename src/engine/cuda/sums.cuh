/*
 * sums.cuh - sums over very many rows: cut into slices of as many, which are added up in order.
 *
 * What is summed has zeros behind its last row, so that all slices are alike.
 */
#ifndef CWI_ENGINE_CUDA_SUMS_CUH
#define CWI_ENGINE_CUDA_SUMS_CUH

#include "engine/cuda/grid.cuh"

enum {
    MOST_SLICES = 256,
#if defined(__CUDACC__)
    LEAST_SLICE = 256,
    LEAST_DEPTH = 128 /* of a slice of a product */
#else
    LEAST_SLICE = 16,
    LEAST_DEPTH = 16
#endif
};

typedef struct slices {
    int64_t each, count, padded; /* rows, slices, rows of all of them */
} slices;

static slices slices_of(int64_t rows)
{
    slices s;
    s.count = (rows + LEAST_SLICE - 1) / LEAST_SLICE;
    if (s.count > MOST_SLICES) s.count = MOST_SLICES;
    s.each = (rows + s.count - 1) / s.count;
    s.padded = s.each * s.count;
    return s;
}

/* Sums over a slice of rows of a[c], or of by a[c] b[c] where those are given. */
typedef struct columns {
    const float *a, *b, *by; /* b and by may be NULL */
    int32_t n, stride;
} columns;

/* The sum of what the threads of a column have, in the order of warps; those of the first have it. */
__device__ inline float join_warps(float x)
{
    __shared__ float room[WARPS][WARP];
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    room[warp][lane] = x;
    __syncthreads();
    for (int k = 1; k < WARPS && warp == 0; k++) x += room[k][lane];
    return x;
}

/* blockIdx.y is the slice; a block has WARP columns, of whose rows a warp takes every so-manieth. */
__global__ void sum_columns(columns x, int64_t each, float *partial)
{
    int64_t first = blockIdx.y * each;
    int32_t c = (int32_t)(blockIdx.x * WARP + threadIdx.x % WARP);
    float sum = 0;
    for (int64_t r = first + threadIdx.x / WARP; r < first + each && c < x.n; r += WARPS) {
        float value = x.a[r * x.stride + c];
        if (x.b) value *= x.b[r * x.stride + c];
        sum = x.by ? fmaf(x.by[r], value, sum) : sum + value;
    }
    sum = join_warps(sum);
    if (threadIdx.x < WARP && c < x.n) partial[blockIdx.y * (int64_t)x.n + c] = sum;
}

/* to[k] = the sum of all slices, of which a warp takes every so-manieth. */
__global__ void join_slices(const float *partial, int64_t n, int64_t count, float *to)
{
    int64_t k = (int64_t)blockIdx.x * WARP + threadIdx.x % WARP;
    float sum = 0;
    for (int64_t p = threadIdx.x / WARP; p < count && k < n; p += WARPS) sum += partial[p * n + k];
    sum = join_warps(sum);
    if (threadIdx.x < WARP && k < n) to[k] = sum;
}

/* The same where they are few; a number a thread. */
__global__ void join_few(const float *partial, int64_t n, int64_t count, float *to)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    await_last();
    if (k >= n) return;
    float sum = partial[k];
    for (int64_t p = 1; p < count; p++) sum += partial[p * n + k];
    to[k] = sum;
}

#endif

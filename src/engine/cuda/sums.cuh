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

/* Sums over a slice of rows of a[c], or of by a[c] b[c] where those are given; a column a thread,
 * blockIdx.y the slice. */
typedef struct columns {
    const float *a, *b, *by; /* b and by may be NULL */
    int32_t n, stride;
} columns;

__global__ void sum_columns(columns x, int64_t each, float *partial)
{
    int64_t first = blockIdx.y * each;
    int32_t c = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    float sum = 0;
    if (c >= x.n) return;
    for (int64_t r = first; r < first + each; r++) {
        float value = x.a[r * x.stride + c];
        if (x.b) value *= x.b[r * x.stride + c];
        sum = x.by ? fmaf(x.by[r], value, sum) : sum + value;
    }
    partial[blockIdx.y * (int64_t)x.n + c] = sum;
}

/* to[k] = the sum of all slices. */
__global__ void join_slices(const float *partial, int64_t n, int64_t count, float *to)
{
    await_last();
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x) {
        float sum = partial[k];
        for (int64_t p = 1; p < count; p++) sum += partial[p * n + k];
        to[k] = sum;
    }
}

#endif

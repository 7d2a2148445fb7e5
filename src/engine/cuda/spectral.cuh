/*
 * spectral.cuh - the term on how far scores follow popularity (score/spectral.c), of the rows that
 * a step touches.
 *
 * Sums over rows are cut into slices, which are added up in order.
 */
#ifndef CWI_ENGINE_CUDA_SPECTRAL_CUH
#define CWI_ENGINE_CUDA_SPECTRAL_CUH

#include "engine/cuda/terms.cuh"

#if defined(__CUDACC__)
enum { POPULAR_SLICES = 64 };
#else
enum { POPULAR_SLICES = 2 };
#endif
enum { POPULAR_SQUARE, POPULAR_USERS, POPULAR_ITEMS, POPULAR_MORE }; /* after the columns */

/* Numbers of w.popular: those of slices, then their sums, in which the strength of the term and the
 * length of popularity take the places of the first two. */
static int64_t popular_numbers(int32_t d)
{
    return (int64_t)(POPULAR_SLICES + 1) * (d + POPULAR_MORE);
}

__device__ inline double *popular_slice(const work &w, int slice)
{
    return w.popular + (int64_t)slice * (w.d + POPULAR_MORE);
}

/* Which of the rows occur in an example, a warp each. */
__global__ void mark_occurring(work w, int s)
{
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        uint32_t times = count_examples(w, s, (int64_t)task.row, range_of(w, task),
                                        (int)threadIdx.x % WARP);
        if (threadIdx.x % WARP == 0) w.occurs[t] = times > 0;
    }
}

/* A slice of the sum of items by their popularity, or of users by what they follow it; a block. */
__global__ void sum_popular(work w, int s, bool is_of_users)
{
    const step_plan *p = &w.plan[s];
    const row_task *task = w.task + p->first_task;
    uint32_t begin = (uint32_t)((int64_t)p->tasks * blockIdx.x / POPULAR_SLICES);
    uint32_t end = (uint32_t)((int64_t)p->tasks * (blockIdx.x + 1) / POPULAR_SLICES);
    double *out = popular_slice(w, (int)blockIdx.x), strength = popular_slice(w, POPULAR_SLICES)[w.d];
    for (int32_t c = (int32_t)threadIdx.x; c < w.d; c += BLOCK) {
        double sum = 0;
        for (uint32_t t = begin; t < end; t++) {
            int32_t row = (int32_t)task[t].row;
            if (!w.occurs[t] || (row < w.n_users) != is_of_users) continue;
            double by = is_of_users ? 2 * strength * w.along[t] : (double)w.degree[row - w.n_users];
            sum += by * (double)w.vectors[(int64_t)row * w.d + c];
        }
        out[c] = sum;
    }
    if (threadIdx.x != 0 || is_of_users) return;
    double square = 0, users = 0, items = 0;
    for (uint32_t t = begin; t < end; t++) {
        int32_t row = (int32_t)task[t].row;
        bool is_user = row < w.n_users;
        double degree = is_user || !w.occurs[t] ? 0 : (double)w.degree[row - w.n_users];
        users += w.occurs[t] && is_user;
        items += w.occurs[t] && !is_user;
        square += degree * degree;
    }
    out[w.d + POPULAR_SQUARE] = square;
    out[w.d + POPULAR_USERS] = users;
    out[w.d + POPULAR_ITEMS] = items;
}

/* The slices together: the direction of popularity, or its slope; a block. */
__global__ void join_popular(work w, bool is_of_users)
{
    __shared__ double more[POPULAR_MORE];
    double *out = popular_slice(w, POPULAR_SLICES);
    if (threadIdx.x < POPULAR_MORE && !is_of_users) {
        double sum = 0;
        for (int k = 0; k < POPULAR_SLICES; k++) sum += popular_slice(w, k)[w.d + threadIdx.x];
        more[threadIdx.x] = sum;
    }
    __syncthreads();
    double length = is_of_users ? 1 : sqrt(more[POPULAR_SQUARE]);
    for (int32_t c = (int32_t)threadIdx.x; c < w.d; c += BLOCK) {
        double sum = 0;
        for (int k = 0; k < POPULAR_SLICES; k++) sum += popular_slice(w, k)[c];
        out[c] = length > 0 ? sum / length : 0;
    }
    if (threadIdx.x != 0 || is_of_users) return;
    bool has_any = more[POPULAR_USERS] > 0 && length > 0;
    out[w.d] = has_any ? w.spectral * more[POPULAR_ITEMS] / more[POPULAR_USERS] : 0;
    out[w.d + 1] = length;
}

/* Slopes of users that follow popularity, or of the items that make it; a row a warp. */
__global__ void follow_popular(work w, int s, bool is_of_users)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    const double *v = popular_slice(w, POPULAR_SLICES);
    double strength = v[w.d], length = v[w.d + 1];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        const float *x = w.vectors + (int64_t)task.row * w.d;
        float *sum = w.sum + (int64_t)(task.chunk - p->first_chunk) * w.d;
        if (!w.occurs[t] || ((int32_t)task.row < w.n_users) != is_of_users || strength == 0) continue;
        double by = is_of_users ? 0 : (double)w.degree[(int32_t)task.row - w.n_users] / length;
        if (is_of_users) {
            double along = 0;
            for (int32_t c = lane; c < w.d; c += WARP) along += (double)x[c] * v[c];
            along = warp_sum_wide(along);
            by = 2 * strength * along;
            if (lane == 0) w.along[t] = along;
            if (lane == 0) w.penalties[s % 2 * w.most_tasks + t] += strength * along * along;
        }
        for (int32_t c = lane; c < w.d; c += WARP) sum[c] += (float)(by * v[c]);
    }
}

#endif

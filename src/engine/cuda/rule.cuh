/*
 * rule.cuh - steps of optimisers on rows of the table.
 *
 * All rows are stepped at every step, but most of them have no gradient in most steps.  A row is
 * therefore read when a step touches it, and what follows up to the next one that does is done at
 * once: the same operations in the same order, without the traffic.  At the ends of a window all
 * rows are current.
 */
#ifndef CWI_ENGINE_CUDA_RULE_CUH
#define CWI_ENGINE_CUDA_RULE_CUH

#include "engine/cuda/draw.cuh"

/* A tensor and what is kept of it. */
typedef struct piece_at {
    float *theta, *memory[CWI_MAX_MEMORIES];
} piece_at;

/* Four numbers of a row. */
typedef struct piece {
    quad theta, memory[CWI_MAX_MEMORIES];
} piece;

/* Right to a bit or two; what is next to nothing is nothing. */
__device__ inline float root_of(float x)
{
#if defined(__CUDA_ARCH__)
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return sqrtf(x);
#endif
}

__device__ inline float one_over(float x)
{
#if defined(__CUDA_ARCH__)
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1.0f / x;
#endif
}

/* Roots and quotients are what takes time: one serves two numbers. */
__device__ inline void adam_step(const cwi_rates &r, float rate, float decay, const quad &gradient,
                                 piece *p)
{
    float c1 = 1.0f - r.beta1, c2 = 1.0f - r.beta2, below[4];
    for (int k = 0; k < 4; k++) {
        float g = fmaf(decay, p->theta.x[k], gradient.x[k]);
        p->memory[0].x[k] = fmaf(r.beta1, p->memory[0].x[k], c1 * g);
        p->memory[1].x[k] = fmaf(r.beta2, p->memory[1].x[k], c2 * g * g);
        below[k] = root_of(p->memory[1].x[k]) + r.epsilon;
    }
    for (int k = 0; k < 4; k += 2) {
        float both = -rate * one_over(below[k] * below[k + 1]);
        p->theta.x[k] = fmaf(both * below[k + 1], p->memory[0].x[k], p->theta.x[k]);
        p->theta.x[k + 1] = fmaf(both * below[k], p->memory[0].x[k + 1], p->theta.x[k + 1]);
    }
}

__device__ inline void plain_step(int rule, const cwi_rates &r, float rate, float decay,
                                  const quad &gradient, piece *p)
{
    for (int k = 0; k < 4; k++) {
        float g = fmaf(decay, p->theta.x[k], gradient.x[k]);
        if (rule == CWI_CUDA_SGD) {
            p->theta.x[k] -= rate * g;
        } else if (g != 0 || p->memory[0].x[k] != 0) {
            p->memory[0].x[k] = fmaf(g, g, p->memory[0].x[k]);
            p->theta.x[k] -= rate * g / (sqrtf(p->memory[0].x[k]) + r.epsilon);
        }
    }
}

template <int RULE>
__device__ inline void rule_step(const cwi_rates &r, float rate, float decay, const quad &gradient,
                                 piece *p)
{
    if (RULE == CWI_CUDA_ADAM)
        adam_step(r, rate, decay, gradient, p);
    else
        plain_step(RULE, r, rate, decay, gradient, p);
}

template <int RULE>
__device__ inline void rule_step(const cwi_rates &r, float decay, const quad &gradient, piece *p)
{
    rule_step<RULE>(r, r.rate, decay, gradient, p);
}

__device__ inline void plain_step(int rule, const cwi_rates &r, float decay, const quad &gradient,
                                  piece *p)
{
    plain_step(rule, r, r.rate, decay, gradient, p);
}

/* Does an optimiser keep memory number m?  ANY_RULE is known by what there is. */
enum { ANY_RULE = -1 };

template <int RULE> __device__ inline bool has_memory(const work &w, int m)
{
    if (RULE == CWI_CUDA_ADAM) return m < 2;
    if (RULE == CWI_CUDA_ADAGRAD) return m < 1;
    return RULE == ANY_RULE && w.memory[m];
}

/* A piece of a row that lies at `place` of the table. */
template <int ROW, int RULE = ANY_RULE>
__device__ inline piece load_piece(const work &w, int64_t row, int64_t place, int32_t base, int lane)
{
    piece p;
    int32_t d = length_of<ROW>(w.d);
    p.theta = load_quad<ROW, true>(w.theta + place * d, d, base, lane);
    for (int m = 0; m < CWI_MAX_MEMORIES; m++)
        if (has_memory<RULE>(w, m))
            p.memory[m] = load_quad<ROW, true>(w.memory[m] + row * d, d, base, lane);
    return p;
}

template <int ROW, int RULE = ANY_RULE>
__device__ inline void store_piece(const work &w, int64_t row, int64_t place, int32_t base,
                                   int lane, const piece *p)
{
    int32_t d = length_of<ROW>(w.d);
    store_quad<ROW>(w.theta + place * d, d, base, lane, &p->theta);
    for (int m = 0; m < CWI_MAX_MEMORIES; m++)
        if (has_memory<RULE>(w, m))
            store_quad<ROW>(w.memory[m] + row * d, d, base, lane, &p->memory[m]);
}

/* The rate of a step; those of the WARP steps from `first` on are with the lanes. */
typedef struct rates_ahead {
    float own;
    int first;
} rates_ahead;

__device__ inline rates_ahead look_ahead(const work &w, int first, int lane)
{
    rates_ahead r = {w.rate[first + lane].rate, first};
    return r;
}

/* That of a step of those. */
__device__ inline float rate_at(const rates_ahead &r, int step)
{
    return __shfl_sync(0xffffffffu, r.own, step - r.first);
}

/* Steps begin .. end - 1 of the window, counting those that are not empty, without a gradient. */
template <int RULE>
__device__ inline void miss_steps(const work &w, rates_ahead r, int begin, int end, int lane, piece *p)
{
    const quad none = {{0, 0, 0, 0}};
    ROLLED for (int a = begin; a < end;) {
        if (a == r.first + WARP) r = look_ahead(w, a, lane);
        int stop = end < r.first + WARP ? end : r.first + WARP;
        ROLLED for (; a < stop; a++) rule_step<RULE>(w.rates, rate_at(r, a), w.decay, none, p);
    }
}

/* The number of a step among those that are not empty; n: the end of the window. */
__device__ inline int count_until(const work &w, int s)
{
    return w.plan[s].before;
}

/* Rows before their first visit of the window, a warp each; rows with two places go to the first. */
template <int RULE, bool WHOLE> __global__ void start_rows(work w, int n)
{
    int lane = (int)threadIdx.x % WARP;
    rates_ahead rates = look_ahead(w, 0, lane);
    for (int64_t row = warp_of_grid(); row < w.n_rows; row += warps_of_grid()) {
        int until = w.steps_all ? count_until(w, next_visit(w, row, 0, n)) : 0;
        bool moves = w.is_twofold && w.is_second[row];
        __syncwarp();
        if (w.is_twofold && lane == 0) w.is_second[row] = visits_before(w, row, WINDOW) % 2;
        if (has_failed(w) || (until == 0 && !moves)) continue;
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            piece p = load_piece<WHOLE>(w, row, moves ? row + w.n_rows : row, base, lane);
            miss_steps<RULE>(w, rates, 0, until, lane, &p);
            store_piece<WHOLE>(w, row, row, base, lane, &p);
        }
    }
}

/* Rows of the table that are in their second place go to the first, where they are looked for
 * between windows; a warp each. */
template <bool WHOLE> __global__ void settle_rows(work w)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t row = warp_of_grid(); row < w.n_rows; row += warps_of_grid()) {
        bool moves = w.is_second[row];
        for (int32_t base = 0; base < w.d && moves; base += 4 * WARP) {
            quad q = load_quad<WHOLE>(w.theta + (row + w.n_rows) * w.d, w.d, base, lane);
            store_quad<WHOLE>(w.theta + row * w.d, w.d, base, lane, &q);
        }
        __syncwarp();
        if (lane == 0) w.is_second[row] = 0;
    }
}

/* The rows that a step touches, a warp each: the step with their gradient, then what they miss up
 * to their next visit. */
template <int RULE, bool WHOLE>
__global__ void __launch_bounds__(BLOCK, 4) step_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *plan = &w.plan[s];
    await_last();
    bool failed = has_failed(w);
    int at = plan->before;
    rates_ahead rates = look_ahead(w, at, lane);
    for (uint32_t t = (uint32_t)warp_of_grid(); t < plan->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[plan->first_task + t];
        const float *sums = w.sum + (int64_t)(task.chunk - plan->first_chunk) * w.d;
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            piece p = load_piece<WHOLE>(w, task.row, task.row, base, lane);
            quad g = load_quad<WHOLE>(sums, w.d, base, lane);
            for (uint32_t c = 1; c < task.chunk_end - task.chunk; c++) {
                quad more = load_quad<WHOLE>(sums + (int64_t)c * w.d, w.d, base, lane);
                for (int k = 0; k < 4; k++) g.x[k] += more.x[k];
            }
            rule_step<RULE>(w.rates, rate_at(rates, at), w.decay, g, &p);
            miss_steps<RULE>(w, rates, at + 1, task.until, lane, &p);
            if (!failed) store_piece<WHOLE>(w, task.row, task.row, base, lane, &p);
        }
    }
}

/* Four numbers of a tensor from the k-th on, of which `left` are there. */
__device__ inline quad load_some(const float *from, int64_t k, int left)
{
    if (left == 4) return load_quad<true>(from + k, 4, 0, 0);
    quad q = {{0, 0, 0, 0}};
    for (int o = 0; o < 4; o++)
        if (o < left) q.x[o] = from[k + o];
    return q;
}

__device__ inline void store_some(float *to, int64_t k, int left, const quad *q)
{
    if (left == 4)
        store_quad<true>(to + k, 4, 0, 0, q);
    else
        for (int o = 0; o < 4; o++)
            if (o < left) to[k + o] = q->x[o];
}

/* A step on n numbers of a tensor that has a gradient everywhere; four a thread. */
template <int RULE>
__global__ void step_tensor(work w, int s, piece_at at, const float *gradient, int64_t n,
                            float decay)
{
    if (has_failed(w) || w.plan[s].is_empty) return;
    const float rate = w.rate[w.plan[s].before].rate;
    for (int64_t k = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x); k < n;
         k += 4 * (int64_t)gridDim.x * blockDim.x) {
        piece p;
        int left = n - k < 4 ? (int)(n - k) : 4;
        quad g = load_some(gradient, k, left);
        p.theta = load_some(at.theta, k, left);
        for (int m = 0; m < CWI_MAX_MEMORIES; m++)
            if (at.memory[m]) p.memory[m] = load_some(at.memory[m], k, left);
        rule_step<RULE>(w.rates, rate, decay, g, &p);
        store_some(at.theta, k, left, &p.theta);
        for (int m = 0; m < CWI_MAX_MEMORIES; m++)
            if (at.memory[m]) store_some(at.memory[m], k, left, &p.memory[m]);
    }
}

/* Sums of squares of parts of a table. */
__global__ void sum_squares(const float *x, int64_t n, double *partial)
{
    __shared__ double room[BLOCK];
    double sum = 0;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x)
        sum += (double)x[k] * (double)x[k];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

#endif

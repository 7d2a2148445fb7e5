/*
 * visit.cuh - the rows that a step touches, in one go: the sum of their contributions, their step,
 * and what they miss up to the next visit.
 *
 * Gradients of other rows read what a row was before the step.  So rows of the table have two
 * places, and a visit takes a row from one to the other; who reads it next knows from the draws
 * where it will be (place_at).
 */
#ifndef CWI_ENGINE_CUDA_VISIT_CUH
#define CWI_ENGINE_CUDA_VISIT_CUH

#include "engine/cuda/rule.cuh"
#include "engine/cuda/terms.cuh"

#if !defined(VISIT_BLOCKS)
#define VISIT_BLOCKS 3
#endif

__device__ inline int64_t other_place(const work &w, const visit &v)
{
    return v.place == v.row ? (int64_t)v.row + w.n_rows : (int64_t)v.row;
}

/* The sum of a chunk is there.  Is it the last one of its row? */
__device__ inline bool is_last(const work &w, const visit &v, int lane)
{
    unsigned before = 0;
    __threadfence();
    __syncwarp();
    if (lane == 0) before = atomicAdd(&w.arrived[v.first], 1u);
    before = __shfl_sync(0xffffffffu, before, 0);
    if (before + 1 < v.count) return false;
    if (lane == 0) w.arrived[v.first] = 0; /* for the next step */
    __threadfence();
    return true;
}

__device__ inline row_terms terms_of(const work &w, int s, const visit &v, int lane)
{
    uint2 range = {v.begin, v.end};
    if (v.count > 1) {
        const visit *of = w.visit_of + w.plan[s].first_chunk + v.first;
        range.x = of[0].begin;
        range.y = of[v.count - 1].end;
    }
    return find_terms(w, s, v.row, range, lane);
}

/* The part of the penalty that the lanes have of a row. */
__device__ inline void tell_terms(const work &w, int s, const visit &v, double value, int lane)
{
    value = warp_sum_wide(value);
    if (lane == 0) w.penalties[s % 2 * w.most_tasks + v.task] = value;
}

/* A piece of a row with its gradient makes its step and those that it misses. */
template <int RULE, bool WHOLE>
__device__ inline void move_piece(const work &w, const visit &v, int at, const quad &gradient,
                                  int32_t base, int lane, piece *p)
{
    rule_step<RULE>(w.rate[at], w.decay, gradient, p);
    miss_steps<RULE>(w, at + 1, v.until, p);
    store_piece<WHOLE>(w, v.row, other_place(w, v), base, lane, p);
}

/* A row whose sums are all there, chunk for chunk, but for those of the lanes where it has one. */
template <int RULE, bool WHOLE, bool TERMS>
__device__ inline void move_row(const work &w, int s, const visit &v, unsigned which,
                                const part_of_sum &mine, int lane)
{
    const float *sums = w.sum + (int64_t)v.first * w.d;
    int at = w.plan[s].before;
    row_terms terms;
    double value = 0;
    if (TERMS) terms = terms_of(w, s, v, lane);
    for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        piece p = load_piece<WHOLE>(w, v.row, v.place, base, lane);
        quad sum;
        if (v.count == 1)
            sum = sum_some<WHOLE>(w, which, mine, base, lane);
        else
            sum = load_quad<WHOLE>(sums, w.d, base, lane);
        for (uint32_t c = 1; c < v.count; c++) {
            quad more = load_quad<WHOLE>(sums + (int64_t)c * w.d, w.d, base, lane);
            for (int k = 0; k < 4; k++) sum.x[k] += more.x[k];
        }
        if (TERMS) value += add_terms_of<WHOLE>(w, terms, base, lane, p.theta, &sum);
        move_piece<RULE, WHOLE>(w, v, at, sum, base, lane, &p);
    }
    if (TERMS) tell_terms(w, s, v, value, lane);
}

/* The sum of a chunk of a row of many contributions. */
template <bool WHOLE>
__device__ inline void put_sum(const work &w, uint32_t chunk, unsigned which,
                               const part_of_sum &mine, int lane)
{
    for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        quad sum = sum_some<WHOLE>(w, which, mine, base, lane);
        store_quad<WHOLE>(w.sum + (int64_t)chunk * w.d, w.d, base, lane, &sum);
    }
}

/* A chunk a warp; the first block tells the loss.  What was drawn is looked at before the last kernel
 * is done.  Of a row of many contributions, whoever has the last sum of a chunk adds up all of them,
 * in their order.  After a loss that is no number the table holds what nobody reads. */
template <int RULE, bool WHOLE, bool TERMS>
__global__ void __launch_bounds__(BLOCK, VISIT_BLOCKS) visit_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *plan = &w.plan[s];
    const visit *of = w.visit_of + plan->first_chunk;
    uint32_t c = (uint32_t)warp_of_grid() - WARPS, chunks = blockIdx.x > 0 ? plan->chunks : 0;
    visit v = {0, 0, 0, 0, 0, 0, 0, 0};
    contribution given;
    if (c < chunks) {
        v = of[c];
        given = own_of(w, s, v.begin, v.end, lane);
    }
    await_last();
    if (blockIdx.x == 0) close_or_wait(w, s);
    while (c < chunks) {
        part_of_sum mine;
        unsigned which = look_up(w, given, &mine);
        if (v.count > 1) put_sum<WHOLE>(w, c, which, mine, lane);
        if (v.count == 1 || is_last(w, v, lane))
            move_row<RULE, WHOLE, TERMS>(w, s, v, which, mine, lane);
        c += (uint32_t)warps_of_grid() - WARPS;
        if (c >= chunks) break;
        v = of[c];
        given = own_of(w, s, v.begin, v.end, lane);
    }
}

#endif

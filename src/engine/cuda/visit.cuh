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
#include "engine/cuda/slots.cuh"

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

/* A piece of a row with its gradient makes its step and those that it misses. */
template <int RULE, bool WHOLE>
__device__ inline void move_piece(const work &w, const visit &v, int at, const quad &gradient,
                                  int32_t base, int lane, piece *p)
{
    rule_step<RULE>(w.rate[at], w.decay, gradient, p);
    miss_steps<RULE>(w, at + 1, v.until, p);
    store_piece<WHOLE>(w, v.row, other_place(w, v), base, lane, p);
}

/* A row of many contributions: whoever has the last sum of a chunk adds up all of them, in their
 * order. */
template <int RULE, bool WHOLE>
__device__ inline void move_large(const work &w, const visit &v, uint32_t chunk, int at,
                                  unsigned which, const contribution &mine, float weight, int lane)
{
    const float *sums = w.sum + (int64_t)v.first * w.d;
    for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        quad sum = sum_some<WHOLE>(w, which, mine, weight, base, lane);
        store_quad<WHOLE>(w.sum + (int64_t)chunk * w.d, w.d, base, lane, &sum);
    }
    if (!is_last(w, v, lane)) return;
    for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        piece p = load_piece<WHOLE>(w, v.row, v.place, base, lane);
        quad sum = load_quad<WHOLE>(sums, w.d, base, lane);
        for (uint32_t c = 1; c < v.count; c++) {
            quad more = load_quad<WHOLE>(sums + (int64_t)c * w.d, w.d, base, lane);
            for (int k = 0; k < 4; k++) sum.x[k] += more.x[k];
        }
        move_piece<RULE, WHOLE>(w, v, at, sum, base, lane, &p);
    }
}

/* A chunk a warp; the first block tells the loss.  After a loss that is no number the table holds
 * what nobody reads. */
template <int RULE, bool WHOLE>
__global__ void __launch_bounds__(BLOCK, 3) visit_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *plan = &w.plan[s];
    int at = plan->before;
    await_last();
    if (blockIdx.x == 0) {
        close_rows(w, s);
        return;
    }
    for (uint32_t c = (uint32_t)warp_of_grid() - WARPS; c < plan->chunks;
         c += (uint32_t)warps_of_grid() - WARPS) {
        visit v = w.visit_of[plan->first_chunk + c];
        contribution mine = {0, 0, 0, -1};
        float weight;
        if (v.count > 1) {
            unsigned which = look_up(w, s, v.begin, v.end, lane, &mine, &weight);
            move_large<RULE, WHOLE>(w, v, c, at, which, mine, weight, lane);
            continue;
        }
        piece p = load_piece<WHOLE>(w, v.row, v.place, 0, lane);
        unsigned which = look_up(w, s, v.begin, v.end, lane, &mine, &weight);
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            if (base > 0) p = load_piece<WHOLE>(w, v.row, v.place, base, lane);
            quad sum = sum_some<WHOLE>(w, which, mine, weight, base, lane);
            move_piece<RULE, WHOLE>(w, v, at, sum, base, lane, &p);
        }
    }
}

#endif

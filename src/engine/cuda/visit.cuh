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

enum { VISIT_BLOCKS = 4 /* of a processor */, VISIT_FEW = 2 };

/* Where a row is in the table, before the step and after it. */
__device__ inline int64_t place_of(const work &w, const visit &v)
{
    return v.row % 2 ? (int64_t)(v.row / 2) + w.n_rows : (int64_t)(v.row / 2);
}

__device__ inline int64_t next_place(const work &w, const visit &v)
{
    bool stays = v.kind == VISIT_KEEP;
    return (v.row % 2 != 0) == stays ? (int64_t)(v.row / 2) + w.n_rows : (int64_t)(v.row / 2);
}

/* The sum of a chunk is there.  Is it the last one of its row? */
__device__ inline bool is_last(const work &w, const visit &v, uint32_t chunks, int lane)
{
    unsigned before = 0;
    __threadfence();
    __syncwarp();
    if (lane == 0) before = atomicAdd(&w.arrived[v.task], 1u);
    before = __shfl_sync(0xffffffffu, before, 0);
    if (before + 1 < chunks) return false;
    if (lane == 0) w.arrived[v.task] = 0; /* for the next step */
    __threadfence();
    return true;
}

/* The terms of the row of a visit, whose contributions begin where those of it do or, for a row of
 * many, of its first chunk. */
__device__ inline row_terms terms_of(const work &w, int s, const visit &v, int lane)
{
    uint2 range = {v.begin, v.begin + v.length};
    if (v.kind == VISIT_PART) range = range_of(w, w.task[w.plan[s].first_task + v.task]);
    return find_terms(w, s, v.row / 2, range, lane);
}

/* The part of the penalty that the lanes have of a row. */
__device__ inline void tell_terms(const work &w, int s, const visit &v, double value, int lane)
{
    value = warp_sum_wide(value);
    if (lane == 0) w.penalties[s % 2 * w.most_tasks + v.task] = value;
}

/* Rows of many contributions: the sum of a chunk is put aside, and whoever has the last one takes
 * them all, in their order. */
template <bool WHOLE>
__device__ inline void put_sum(const work &w, uint32_t chunk, unsigned which,
                               const part_of_sum &mine, int lane)
{
    ROLLED for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        quad sum = sum_some<WHOLE, VISIT_FEW>(w, which, mine, base, lane);
        store_quad<WHOLE>(w.sum + (int64_t)chunk * w.d, w.d, base, lane, &sum);
    }
}

template <bool WHOLE>
__device__ inline quad take_sums(const work &w, const row_task &task, uint32_t first_chunk,
                                 int32_t base, int lane)
{
    const float *sums = w.sum + (int64_t)(task.chunk - first_chunk) * w.d;
    quad sum = load_quad<WHOLE>(sums, w.d, base, lane);
    for (uint32_t c = 1; c < task.chunk_end - task.chunk; c++) {
        quad more = load_quad<WHOLE>(sums + (int64_t)c * w.d, w.d, base, lane);
        for (int k = 0; k < 4; k++) sum.x[k] += more.x[k];
    }
    return sum;
}

/* A piece of a row makes its step, where it has one, and those that it misses. */
template <int RULE, bool WHOLE>
__device__ inline void move_piece(const work &w, const visit &v, int at, int until,
                                  const quad &gradient, int32_t base, int lane, piece *p)
{
    bool has_step = v.kind != VISIT_KEEP;
    if (has_step) rule_step<RULE>(w.rate[at], w.decay, gradient, p);
    miss_steps<RULE>(w, at + has_step, until, p);
    store_piece<WHOLE>(w, v.row / 2, next_place(w, v), base, lane, p);
}

/* The row of a visit, of which the first piece is there; of a row of many contributions, all sums
 * are. */
template <int RULE, bool WHOLE, bool TERMS>
__device__ inline void move_row(const work &w, int s, const visit &v, const step_plan *plan,
                                unsigned which, const part_of_sum &mine, int lane, piece *p)
{
    row_terms terms;
    row_task task = {0, 0, 0, 0};
    double value = 0;
    int until = v.until;
    bool is_part = v.kind == VISIT_PART, has_terms = TERMS && v.kind != VISIT_KEEP;
    if (is_part) {
        task = w.task[plan->first_task + v.task];
        until = task.until;
    }
    if (has_terms) terms = terms_of(w, s, v, lane);
    ROLLED for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        if (base > 0) *p = load_piece<WHOLE>(w, v.row / 2, place_of(w, v), base, lane);
        quad sum = is_part ? take_sums<WHOLE>(w, task, plan->first_chunk, base, lane)
                           : sum_some<WHOLE, VISIT_FEW>(w, which, mine, base, lane);
        if (has_terms) value += add_terms_of<WHOLE>(w, terms, base, lane, p->theta, &sum);
        move_piece<RULE, WHOLE>(w, v, plan->before, until, sum, base, lane, p);
    }
    if (has_terms) tell_terms(w, s, v, value, lane);
}

/* Visit number c of a step: chunks of rows, then rows that wait. */
__device__ inline visit visit_at(const work &w, int s, const step_plan *plan, uint32_t c)
{
    if (c < plan->chunks) return w.visit_of[plan->first_chunk + c];
    return w.keeping[(int64_t)s * w.most_kept + c - plan->chunks];
}

__device__ inline uint32_t count_visits(const work &w, int s, const step_plan *plan)
{
    uint32_t n = w.n_keeping[s];
    return plan->chunks + (n < w.most_kept ? n : w.most_kept);
}

/* A visit a warp; the first block tells the loss.  What was drawn is looked at before the last kernel
 * is done, and of the next visit while the one before is made.  After a loss that is no number the
 * table holds what nobody reads. */
template <int RULE, bool WHOLE, bool TERMS>
__global__ void __launch_bounds__(BLOCK, VISIT_BLOCKS) visit_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *plan = &w.plan[s];
    uint32_t c = (uint32_t)warp_of_grid() - WARPS, apart = (uint32_t)warps_of_grid() - WARPS;
    uint32_t end = blockIdx.x > 0 ? count_visits(w, s, plan) : 0;
    visit next = {0, 0, 0, 0, 0, VISIT_KEEP};
    contribution given = {0, NO_ROW, 0, -1};
    if (c < end) {
        next = visit_at(w, s, plan, c);
        given = own_of(w, s, next.begin, next.begin + next.length, lane);
    }
    await_last();
    if (blockIdx.x == 0) close_or_wait(w, s);
    ROLLED for (; c < end; c += apart) {
        visit v = next;
        part_of_sum mine;
        piece p = load_piece<WHOLE>(w, v.row / 2, place_of(w, v), 0, lane);
        if (c + apart < end) next = visit_at(w, s, plan, c + apart);
        unsigned which = look_up(w, given, &mine);
        if (c + apart < end) given = own_of(w, s, next.begin, next.begin + next.length, lane);
        if (v.kind == VISIT_PART) {
            const row_task *task = &w.task[plan->first_task + v.task];
            put_sum<WHOLE>(w, c, which, mine, lane);
            if (!is_last(w, v, task->chunk_end - task->chunk, lane)) continue;
        }
        move_row<RULE, WHOLE, TERMS>(w, s, v, plan, which, mine, lane, &p);
    }
}

#endif

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

__device__ inline const row_task *task_of(const work &w, int s, const visit &v)
{
    return &w.task[w.plan[s].first_task + v.task];
}

/* The sum of a chunk is there.  Is it the last one of its row? */
__device__ inline bool is_last(const work &w, int s, const visit &v, int lane)
{
    const row_task *task = task_of(w, s, v);
    unsigned before = 0;
    __threadfence();
    __syncwarp();
    if (lane == 0) before = atomicAdd(&w.arrived[v.task], 1u);
    before = __shfl_sync(0xffffffffu, before, 0);
    if (before + 1 < task->chunk_end - task->chunk) return false;
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

/* The sums of all chunks of a row, in their order. */
template <int ROW>
__device__ inline quad take_sums(const work &w, int s, const visit &v, int32_t base, int lane)
{
    enum { MANY = 2 };
    const int32_t d = length_of<ROW>(w.d);
    const row_task *task = task_of(w, s, v);
    const float *sums = w.sum + (int64_t)(task->chunk - w.plan[s].first_chunk) * d;
    uint32_t chunks = task->chunk_end - task->chunk;
    quad sum = {{0, 0, 0, 0}}, more[MANY];
    ROLLED for (uint32_t first = 0; first < chunks; first += MANY) {
        for (uint32_t c = 0; c < MANY; c++)
            if (first + c < chunks)
                more[c] = load_quad<ROW, true>(sums + (int64_t)(first + c) * d, d, base, lane);
        for (uint32_t c = 0; c < MANY; c++)
            for (int k = 0; k < 4 && first + c < chunks; k++) sum.x[k] += more[c].x[k];
    }
    return sum;
}

/* A piece of a row makes its step, where it has one, and those that it misses. */
template <int RULE, int ROW>
__device__ inline void move_piece(const work &w, int s, const visit &v, const rates_ahead &rates,
                                  const quad &gradient, int32_t base, int lane, piece *p)
{
    bool has_step = v.kind != VISIT_KEEP;
    int until = v.kind == VISIT_PART ? task_of(w, s, v)->until : v.until;
    if (has_step) rule_step<RULE>(w.rates, rate_at(rates, rates.first), w.decay, gradient, p);
    miss_steps<RULE>(w, rates, rates.first + has_step, until, lane, p);
    store_piece<ROW, RULE>(w, v.row / 2, next_place(w, v), base, lane, p);
}

/* ---- the visits of a warp ------------------------------------------------------------------- */

__device__ inline visit visit_in(uint4 words)
{
    visit v;
    memcpy(&v, &words, sizeof v);
    return v;
}

/* Rows that wait at a step, so far as there was room for them. */
__device__ inline uint32_t count_kept(const work &w, int s)
{
    uint32_t n = w.n_keeping[s];
    return n < w.most_kept ? n : w.most_kept;
}

/* Visit number c of a step: rows that wait, then chunks of rows. */
__device__ inline const visit *visit_place(const work &w, int s, uint32_t c)
{
    const step_plan *plan = &w.plan[s];
    uint32_t kept = count_kept(w, s);
    if (c < kept) return w.keeping + (int64_t)s * w.most_kept + c;
    return w.visit_of + plan->first_chunk + c - kept;
}

__device__ inline uint4 visit_at(const work &w, int s, uint32_t c)
{
    return *(const uint4 *)visit_place(w, s, c);
}

/* Visits k, k + 1, .. of a block, which takes every so manieth of a step: the first block has other
 * things to do.  Its warps take them from a queue, of which they know their first ones. */
__device__ inline uint32_t visit_of_block(uint32_t k)
{
    return blockIdx.x - 1 + k * (gridDim.x - 1);
}

__device__ inline uint32_t take_visit(unsigned *queue, int lane)
{
    unsigned k = 0;
    if (lane == 0) k = atomicAdd(queue, 1u);
    return visit_of_block(__shfl_sync(0xffffffffu, k, 0));
}

/* ---- a visit ---------------------------------------------------------------------------------- */

/* What a lane has to add, and which of the lanes have something: as look_up has it, where scores are
 * inner products of rows of the table. */
template <int HEADS>
__device__ inline unsigned weigh_all(const work &w, const contribution &c, part_of_sum *out)
{
    bool counts = false;
    out->row = c.row, out->minus = c.minus;
    if (c.of != NO_ROW) {
        bool is_kept = w.kept[c.of] != 0;
        for (int h = 0; h < HEADS; h++) {
            bool has = HEADS == 1 || h < w.heads;
            out->by[h] = has ? w.slope[(int64_t)c.slot * w.heads + h] * w.scale : 0;
            counts |= out->by[h] != 0;
        }
        counts &= is_kept;
    }
    return __ballot_sync(0xffffffffu, counts);
}

/* The place of the sum of a part of a row: parts begin where the row does, and at multiples of
 * CHUNK. */
template <int ROW> __device__ inline float *sum_of_part(const work &w, int s, const visit &v)
{
    uint32_t first = task_of(w, s, v)->chunk;
    uint32_t chunk = first - w.plan[s].first_chunk + v.begin / CHUNK - w.chunk[first].x / CHUNK;
    return w.sum + (int64_t)chunk * length_of<ROW>(w.d);
}

/* One visit, of which the first piece of the row is there.  The sum of a part of a row is put aside;
 * whoever has the last one goes on with the sum of all. */
template <int RULE, int ROW, bool TERMS, int HEADS>
__device__ inline void make_visit(const work &w, int s, const visit &v, const contribution &given,
                                  const rates_ahead &rates, int lane, piece *p)
{
    part_of_sum mine;
    row_terms terms;
    double value = 0;
    const int32_t d = length_of<ROW>(w.d);
    bool is_part = v.kind == VISIT_PART, has_terms = TERMS && v.kind != VISIT_KEEP, is_all = !is_part;
    unsigned which = weigh_all<HEADS>(w, given, &mine);
    if (has_terms) terms = terms_of(w, s, v, lane);
    ROLLED while (true) {
        ROLLED for (int32_t base = 0; base < d; base += 4 * WARP) {
            quad sum = is_part && is_all
                           ? take_sums<ROW>(w, s, v, base, lane)
                           : sum_some<ROW, VISIT_FEW, HEADS>(w, w.vectors, which, mine, base, lane);
            if (!is_all) {
                store_quad<ROW>(sum_of_part<ROW>(w, s, v), d, base, lane, &sum);
                continue;
            }
            if (base > 0) *p = load_piece<ROW, RULE>(w, v.row / 2, place_of(w, v), base, lane);
            if (has_terms)
                value += add_terms_of<ROW != ROW_COLUMNS>(w, terms, base, lane, p->theta, &sum);
            move_piece<RULE, ROW>(w, s, v, rates, sum, base, lane, p);
        }
        if (is_all || !is_last(w, s, v, lane)) break;
        is_all = true;
    }
    if (has_terms && is_all) tell_terms(w, s, v, value, lane);
}

/* A visit a warp; the first block tells the loss.  What was drawn, and the row of the first visit, are
 * looked at before the last kernel is done: it and the one before change none of them.  After a loss
 * that is no number the table holds what nobody reads. */
template <int RULE, int ROW, bool TERMS, int HEADS>
__global__ void __launch_bounds__(BLOCK, VISIT_BLOCKS) visit_rows(work w, int s)
{
    __shared__ uint4 coming[WARPS];
    __shared__ unsigned queue, last;
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    uint4 *next = &coming[warp];
    if (blockIdx.x == 0) {
        await_last();
        close_or_wait(w, s);
        return;
    }
    uint32_t c = visit_of_block((uint32_t)warp), end = w.plan[s].chunks + count_kept(w, s);
    if (threadIdx.x == 0) queue = WARPS, last = end;
    rates_ahead rates = look_ahead(w, w.plan[s].before, lane);
    contribution given = {0, NO_ROW, 0, -1};
    piece p;
    visit v;
    if (c < end) {
        v = visit_in(visit_at(w, s, c));
        p = load_piece<ROW, RULE>(w, v.row / 2, place_of(w, v), 0, lane);
        given = own_of(w, s, v.begin, v.begin + v.length, lane);
    }
    __syncthreads();
    await_last();
    if (c >= end) return;
    ROLLED while (true) {
        c = take_visit(&queue, lane);
        if (c < last && lane == 0) copy_soon(next, visit_place(w, s, c));
        make_visit<RULE, ROW, TERMS, HEADS>(w, s, v, given, rates, lane, &p);
        if (c >= last) break;
        await_copies();
        __syncwarp();
        v = visit_in(*next);
        given = own_of(w, s, v.begin, v.begin + v.length, lane);
        p = load_piece<ROW, RULE>(w, v.row / 2, place_of(w, v), 0, lane);
        __syncwarp();
    }
}

#endif

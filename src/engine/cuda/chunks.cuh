/* chunks.cuh - what the slopes of a step add up to for a row, by chunks of its contributions. */
#ifndef CWI_ENGINE_CUDA_CHUNKS_CUH
#define CWI_ENGINE_CUDA_CHUNKS_CUH

#include "engine/cuda/slots.cuh"

/* What is added to a row: another one, or the difference of two, times a number for each head. */
typedef struct part_of_sum {
    int32_t row, minus;
    float by[MOST_HEADS];
} part_of_sum;

/* Contributions begin .. end - 1 of a step, at most one for each lane of a warp: that of a lane. */
__device__ inline contribution own_of(const work &w, int s, uint32_t begin, uint32_t end, int lane)
{
    contribution none = {0, NO_ROW, 0, -1};
    return begin + lane < end ? w.given[s * w.ends + begin + lane] : none;
}

/* Slopes of a slot times what its row is multiplied with; some are slopes of vectors already. */
__device__ inline float weigh(const work &w, const contribution &c, int h)
{
    if (w.ends_slope) return c.row < w.slots ? w.scale : 1;
    float weight = w.slope[(int64_t)c.slot * w.heads + h] * w.scale;
    return w.factor ? weight * w.factor[(int64_t)c.row * w.heads + h] : weight;
}

/* What a lane has to add, and which of the lanes have something, as bits. */
__device__ inline unsigned look_up(const work &w, const contribution &mine, part_of_sum *out)
{
    bool counts = false;
    out->row = mine.row, out->minus = mine.minus;
    for (int h = 0; h < MOST_HEADS; h++) out->by[h] = 0;
    if (mine.of != NO_ROW) {
        bool is_kept = w.grid.rows > 0 || w.kept[mine.of] != 0;
        for (int h = 0; h < MOST_HEADS; h++)
            if (h < w.heads) counts |= (out->by[h] = weigh(w, mine, h)) != 0;
        counts &= is_kept;
    }
    return __ballot_sync(0xffffffffu, counts);
}

/* The first of some bits, which is taken away. */
__device__ inline int take_bit(unsigned *bits)
{
    int first = __ffs((int)*bits) - 1;
    *bits &= *bits - 1;
    return first;
}

/* The row of a table that a lane has to add, or the difference of two. */
template <int ROW, bool PAIRS>
__device__ inline quad load_part(const float *table, int32_t d, const part_of_sum &mine, int source,
                                 int32_t base, int lane)
{
    int64_t row = __shfl_sync(0xffffffffu, mine.row, source);
    quad x = load_quad<ROW>(table + row * length_of<ROW>(d), d, base, lane);
    if (!PAIRS) return x;
    row = __shfl_sync(0xffffffffu, mine.minus, source);
    quad y = load_quad<ROW>(table + row * length_of<ROW>(d), d, base, lane);
    for (int k = 0; k < 4; k++) x.x[k] -= y.x[k];
    return x;
}

template <int ROW, int HEADS>
__device__ inline void add_part(const work &w, const part_of_sum &mine, int source, const quad &x,
                                int32_t base, int lane, quad *sum)
{
    int32_t width = w.heads > 1 ? w.d / w.heads : w.d;
    float by[HEADS];
    for (int h = 0; h < HEADS; h++) by[h] = __shfl_sync(0xffffffffu, mine.by[h], source);
    for (int k = 0; k < 4; k++) {
        bool is_first = HEADS == 1 || column_of<ROW != ROW_COLUMNS>(base, lane, k) < width;
        sum->x[k] = fmaf(is_first ? by[0] : by[HEADS - 1], x.x[k], sum->x[k]);
    }
}

/* Vectors are asked for a few at a time, and added in their order. */
template <int ROW, int FEW, int HEADS, bool PAIRS>
__device__ inline quad sum_rows_of(const work &w, const float *table, unsigned which,
                                   const part_of_sum &mine, int32_t base, int lane)
{
    quad sum = {{0, 0, 0, 0}};
    ROLLED for (unsigned rest = which, few = which; rest;) {
        quad x[FEW];
        for (int o = 0; o < FEW; o++)
            if (rest) x[o] = load_part<ROW, PAIRS>(table, w.d, mine, take_bit(&rest), base, lane);
        for (int o = 0; o < FEW; o++)
            if (few != rest) add_part<ROW, HEADS>(w, mine, take_bit(&few), x[o], base, lane, &sum);
    }
    return sum;
}

/* The sum of what the lanes have of a table: FEW rows are asked for at once.  All of them are
 * differences, or none is. */
template <int ROW, int FEW, int HEADS>
__device__ inline quad sum_some(const work &w, const float *table, unsigned which,
                                const part_of_sum &mine, int32_t base, int lane)
{
    if (w.is_paired && (__ballot_sync(0xffffffffu, mine.minus >= 0) & which))
        return sum_rows_of<ROW, FEW / 2, HEADS, true>(w, table, which, mine, base, lane);
    return sum_rows_of<ROW, FEW, HEADS, false>(w, table, which, mine, base, lane);
}

enum { CHUNK_FEW = 4 };

/* The sum of a chunk, a warp each; the first block tells the loss. */
template <bool WHOLE> __global__ void __launch_bounds__(BLOCK) add_chunks(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    const float *from = w.ends_slope ? w.ends_slope : w.vectors;
    await_last();
    if (blockIdx.x == 0) {
        if (!w.closes_late) close_rows(w, s);
        return;
    }
    for (uint32_t c = (uint32_t)warp_of_grid() - WARPS; c < p->chunks;
         c += (uint32_t)warps_of_grid() - WARPS) {
        uint2 range = w.chunk[p->first_chunk + c];
        part_of_sum mine;
        unsigned which = look_up(w, own_of(w, s, range.x, range.y, lane), &mine);
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad sum = sum_some<WHOLE, CHUNK_FEW, MOST_HEADS>(w, from, which, mine, base, lane);
            store_quad<WHOLE>(w.sum + (int64_t)c * w.d, w.d, base, lane, &sum);
        }
    }
}

#endif

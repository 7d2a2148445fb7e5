/* select.cuh - where not all rows of a step are trained on, those with the smallest margins are. */
#ifndef CWI_ENGINE_CUDA_SELECT_CUH
#define CWI_ENGINE_CUDA_SELECT_CUH

#include "engine/cuda/work.cuh"

/* A number whose order as a whole one is that of x; what is no number comes last. */
__device__ inline uint64_t rank_bits(double x)
{
    uint64_t bits;
    if (!(x == x)) return ~0ull;
    x += 0.0; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

enum { CELLS = 2 * CHOOSERS };

/* Rows begin .. end - 1 with the `keep` smallest margins, equal ones by lower index.  A whole block
 * works on it. */
typedef struct choice {
    int64_t begin, end, keep;
} choice;

/* Where the margin of a row stands among all; holes come last. */
__device__ inline uint64_t rank_of(const work &w, int64_t r)
{
    return w.kept[r] ? rank_bits(w.margin[r]) : ~0ull;
}

/* By digits of eight bits: for margins of which many are alike, or no numbers. */
__device__ inline void keep_by_digits(const work &w, const choice &c)
{
    enum { DIGITS = 256, AT_LIMIT = 2 };
    __shared__ unsigned in[DIGITS];
    __shared__ uint64_t prefix;
    __shared__ int64_t left, equal;
    int t = (int)threadIdx.x;
    if (t == 0) prefix = 0, left = c.keep;
    __syncthreads();
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (int k = t; k < DIGITS; k += CHOOSERS) in[k] = 0;
        __syncthreads();
        for (int64_t r = c.begin + t; r < c.end; r += CHOOSERS) {
            uint64_t bits = rank_of(w, r);
            if (shift == 56 || bits >> (shift + 8) == prefix) atomicAdd(&in[bits >> shift & 255], 1u);
        }
        __syncthreads();
        if (t == 0) {
            unsigned k = 0;
            for (; k < DIGITS - 1 && left > (int64_t)in[k]; k++) left -= in[k];
            prefix = prefix << 8 | k;
            equal = in[k];
        }
        __syncthreads();
    }
    /* what is no number is never kept */
    bool takes_equal = left >= equal;
    for (int64_t r = c.begin + t; r < c.end; r += CHOOSERS) {
        uint64_t bits = rank_of(w, r);
        bool is_equal = bits == prefix && prefix != ~0ull;
        w.kept[r] = bits < prefix ? 1 : !is_equal ? 0 : takes_equal ? 1 : AT_LIMIT;
    }
    __syncthreads();
    if (t > 0 || takes_equal) return;
    for (int64_t r = c.begin; r < c.end; r++)
        if (w.kept[r] == AT_LIMIT) w.kept[r] = left-- > 0;
}

/* Cells ascend with rounded margins; bounds may be a bit off. */
__device__ inline int cell_of(float x, float least, float per_unit)
{
    float cell = (x - least) * per_unit;
    return cell < 0 ? 0 : cell > CELLS - 1 ? CELLS - 1 : (int)cell;
}

/* The least and largest of a block's numbers; `room` has two for each warp. */
__device__ inline void find_bounds(float *least, float *most, float *room)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int turn = 0; turn < 2; turn++) {
        for (int apart = WARP / 2; apart > 0; apart /= 2) {
            float a = __shfl_xor_sync(0xffffffffu, *least, apart);
            float b = __shfl_xor_sync(0xffffffffu, *most, apart);
            *least = a < *least ? a : *least;
            *most = b > *most ? b : *most;
        }
        if (turn > 0) return;
        if (lane == 0) room[2 * warp] = *least, room[2 * warp + 1] = *most;
        __syncthreads();
        if (lane < (int)blockDim.x / WARP) *least = room[2 * lane], *most = room[2 * lane + 1];
    }
}

/* x and those of the lanes before it. */
__device__ inline unsigned sum_lanes(unsigned x, int lane)
{
    for (int apart = 1; apart < WARP; apart *= 2) {
        unsigned from = __shfl_sync(0xffffffffu, x, lane >= apart ? lane - apart : 0);
        if (lane >= apart) x += from;
    }
    return x;
}

/* The cell that number `n` of all is in, from 0, and *before, how many are in those before it;
 * every thread counts the cells from 2 t on. */
__device__ inline int find_cell(const unsigned *in, int64_t n, int64_t *before)
{
    __shared__ unsigned sums[CHOOSERS / WARP];
    __shared__ int cell;
    __shared__ int64_t found;
    int t = (int)threadIdx.x, lane = t % WARP, warp = t / WARP;
    unsigned own = in[2 * t] + in[2 * t + 1], sum = sum_lanes(own, lane);
    if (lane == WARP - 1) sums[warp] = sum;
    __syncthreads();
    unsigned of_warps = sum_lanes(lane < CHOOSERS / WARP ? sums[lane] : 0, lane);
    of_warps = __shfl_sync(0xffffffffu, of_warps, warp > 0 ? warp - 1 : 0);
    if (warp > 0) sum += of_warps;
    int64_t first = (int64_t)sum - own;
    if (n >= first && n < (int64_t)sum) {
        bool second = n >= first + in[2 * t];
        cell = 2 * t + second;
        found = first + (second ? in[2 * t] : 0);
    }
    __syncthreads();
    *before = found;
    return cell;
}

/* Rounded margins of a few rows of each thread, which are asked for together. */
enum { AT_HAND = 8 };
typedef struct margins {
    float x[AT_HAND];
} margins;

__device__ inline int32_t row_at_hand(int32_t first, int k)
{
    return first + (int32_t)threadIdx.x + k * CHOOSERS;
}

__device__ inline void look_at_margins(const float *rough, int32_t n, int32_t first, margins *own)
{
    for (int k = 0; k < AT_HAND; k++) {
        int32_t r = row_at_hand(first, k);
        own->x[k] = r < n ? rough[r] : NAN;
    }
}

__device__ inline void take_bounds(const margins &own, float *least, float *most)
{
    for (int k = 0; k < AT_HAND; k++) {
        *least = own.x[k] < *least ? own.x[k] : *least;
        *most = own.x[k] > *most ? own.x[k] : *most;
    }
}

/* Those of the cell where the limit is, by their rank: `before` of all are in the cells before it. */
__device__ inline void keep_by_rank(const work &w, const choice &c, const int32_t *number,
                                    const double *value, unsigned few, int64_t before)
{
    int t = (int)threadIdx.x;
    for (unsigned k = (unsigned)t / WARP; k < few; k += CHOOSERS / WARP) {
        int64_t rank = before;
        for (unsigned first = 0; first < few; first += WARP) {
            unsigned o = first + (unsigned)t % WARP;
            bool is_less = o < few && (value[o] < value[k] ||
                                       (value[o] == value[k] && number[o] < number[k]));
            rank += __popc(__ballot_sync(0xffffffffu, is_less));
        }
        if (t % WARP == 0) w.kept[c.begin + number[k]] = rank < c.keep;
    }
}

/* By equal cells between the least and the largest margin, and by rank within the one where the
 * limit is.  False, with nothing done, where that is not possible. */
__device__ inline bool keep_by_cells(const work &w, const choice &c)
{
    __shared__ unsigned in[CELLS];
    __shared__ float room[2 * CHOOSERS / WARP];
    __shared__ double value[CHOOSERS];
    __shared__ int32_t number[CHOOSERS];
    __shared__ unsigned few;
    const int32_t each = AT_HAND * CHOOSERS, n = (int32_t)(c.end - c.begin);
    const float *rough = w.rough + c.begin;
    bool is_one = n <= each; /* then margins stay at hand */
    int t = (int)threadIdx.x;
    float least = INFINITY, most = -INFINITY;
    margins own;
    in[t] = in[t + CHOOSERS] = 0;
    if (t == 0) few = 0;
    for (int32_t first = 0; first < n; first += each) {
        look_at_margins(rough, n, first, &own);
        take_bounds(own, &least, &most);
    }
    find_bounds(&least, &most, room);
    float per_unit = (CELLS - 1) / (most - least);
    if (!(per_unit > 0 && per_unit < 1e30f)) return false;
    for (int32_t first = 0; first < n; first += each) {
        if (!is_one) look_at_margins(rough, n, first, &own);
        for (int k = 0; k < AT_HAND; k++)
            if (own.x[k] == own.x[k]) atomicAdd(&in[cell_of(own.x[k], least, per_unit)], 1u);
    }
    __syncthreads();
    int64_t before;
    int cell = find_cell(in, c.keep - 1, &before);
    if (in[cell] > CHOOSERS) return false;
    for (int32_t first = 0; first < n; first += each) {
        if (!is_one) look_at_margins(rough, n, first, &own);
        for (int k = 0; k < AT_HAND; k++) {
            int32_t r = row_at_hand(first, k);
            if (own.x[k] != own.x[k]) continue;
            int in_cell = cell_of(own.x[k], least, per_unit);
            if (in_cell != cell) {
                w.kept[c.begin + r] = in_cell < cell;
                continue;
            }
            unsigned at = atomicAdd(&few, 1u);
            value[at] = w.margin[c.begin + r];
            number[at] = r;
        }
    }
    __syncthreads();
    keep_by_rank(w, c, number, value, few, before);
    return true;
}

__device__ inline void keep_smallest(const work &w, int64_t begin, int64_t end, int64_t keep)
{
    choice c = {begin, end, keep};
    if (keep == 0)
        for (int64_t r = begin + threadIdx.x; r < end; r += blockDim.x) w.kept[r] = 0;
    else if (!keep_by_cells(w, c))
        keep_by_digits(w, c);
    __syncthreads();
}

/* Where not all rows are trained on, the hardest are; a block, which leaves room for others. */
__global__ void __launch_bounds__(CHOOSERS, 2) select_rows(work w, int s)
{
    const step_plan *p = &w.plan[s];
    int64_t left_rows = p->all, left_keep = p->keep;
    await_last_first();
    if (left_keep == left_rows) return;
    if (!w.per_group) keep_smallest(w, 0, w.rows, left_keep);
    for (int g = 0; g < w.n_groups && w.per_group; g++) { /* shares add up to keep */
        int64_t begin = w.group[g].first_row, count = p->rows[g];
        int64_t share =
            left_rows ? (int64_t)rint((double)left_keep * (double)count / (double)left_rows) : 0;
        left_rows -= count;
        left_keep -= share;
        keep_smallest(w, begin, begin + w.group[g].candidates * w.group[g].most_rows, share);
    }
}

#endif

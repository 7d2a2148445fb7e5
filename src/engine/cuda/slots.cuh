/* slots.cuh - scores, selection and loss of one step, and what its slopes add up to for a row. */
#ifndef CWI_ENGINE_CUDA_SLOTS_CUH
#define CWI_ENGINE_CUDA_SLOTS_CUH

#include "engine/cuda/work.cuh"

/* ---- scores --------------------------------------------------------------------------------- */

/* user . (plus - minus), or user . plus; of columns begin .. end - 1. */
template <bool WHOLE>
__device__ inline float dot(const float *user, const float *plus, const float *minus, int32_t d,
                            int lane)
{
    float sum = 0;
    for (int32_t base = 0; base < d; base += 4 * WARP) {
        quad u = load_quad<WHOLE>(user, d, base, lane), x = load_quad<WHOLE>(plus, d, base, lane);
        if (minus) {
            quad y = load_quad<WHOLE>(minus, d, base, lane);
            for (int k = 0; k < 4; k++) x.x[k] -= y.x[k];
        }
        for (int k = 0; k < 4; k++) sum = fmaf(u.x[k], x.x[k], sum);
    }
    return sum;
}

/* A row of slots a warp. */
template <bool WHOLE> __global__ void score_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    int32_t d = w.d, width = d / w.heads;
    if (has_failed(w)) return;
    for (int64_t r = warp_of_grid(); r < w.rows; r += warps_of_grid()) {
        const draw_group &p = w.group[group_of_row(w, r)];
        int64_t first = p.first_slot + (r - p.first_row) * p.slots;
        const int32_t *user = w.user + s * w.slots + first, *item = w.item + s * w.slots + first;
        float *score = w.score + first * w.heads;
        bool is_hole = user[0] < 0;
        double margin = 0;
        if (w.is_paired) {
            int32_t k = p.slots / 2;
            for (int32_t j = 0; j < k && !is_hole; j++) {
                const float *items = w.vectors + (int64_t)w.n_users * d;
                float x = warp_sum(dot<WHOLE>(w.vectors + (int64_t)user[j] * d,
                                              items + (int64_t)item[j] * d,
                                              items + (int64_t)item[k + j] * d, d, lane));
                margin += (double)(x * w.scale);
                if (lane == 0) score[j] = x * w.scale;
                if (lane == 0) score[k + j] = 0;
            }
            if (lane == 0) w.margin[r] = is_hole ? NAN : margin / k;
        } else {
            for (int32_t k = 0; k < p.slots * w.heads && !is_hole; k++) {
                int32_t at = k % w.heads * width;
                const float *u = w.vectors + (int64_t)user[k / w.heads] * d + at;
                const float *i = w.vectors + ((int64_t)w.n_users + item[k / w.heads]) * d + at;
                float x = w.heads == 1 ? dot<WHOLE>(u, i, NULL, width, lane)
                                       : dot<false>(u, i, NULL, width, lane);
                x = warp_sum(x);
                if (lane == 0) score[k] = x * w.scale;
            }
        }
        if (lane == 0) w.kept[r] = !is_hole;
    }
}

/* ---- selection ------------------------------------------------------------------------------ */

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

/* By digits of eight bits: for margins of which many are alike, or no numbers. */
__device__ inline void keep_by_digits(const work &w, const choice &c)
{
    __shared__ unsigned in[256];
    __shared__ uint64_t prefix;
    __shared__ int64_t left, equal;
    int t = (int)threadIdx.x;
    if (t == 0) prefix = 0, left = c.keep;
    __syncthreads();
    for (int shift = 56; shift >= 0; shift -= 8) {
        if (t < 256) in[t] = 0;
        __syncthreads();
        for (int64_t r = c.begin + t; r < c.end; r += blockDim.x) {
            uint64_t bits = rank_bits(w.margin[r]);
            if (shift == 56 || bits >> (shift + 8) == prefix) atomicAdd(&in[bits >> shift & 255], 1u);
        }
        __syncthreads();
        if (t == 0) {
            unsigned k = 0;
            for (; k < 255 && left > (int64_t)in[k]; k++) left -= in[k];
            prefix = prefix << 8 | k;
            equal = in[k];
        }
        __syncthreads();
    }
    /* what is no number is never kept */
    bool takes_equal = left >= equal && prefix != ~0ull;
    for (int64_t r = c.begin + t; r < c.end; r += blockDim.x) {
        uint64_t bits = rank_bits(w.margin[r]);
        w.kept[r] = bits < prefix || (takes_equal && bits == prefix);
    }
    __syncthreads();
    if (t > 0 || takes_equal || prefix == ~0ull) return;
    for (int64_t r = c.begin; r < c.end && left > 0; r++)
        if (rank_bits(w.margin[r]) == prefix) w.kept[r] = 1, left--;
}

__device__ inline int cell_of(double x, double least, double per_unit)
{
    return (int)((x - least) * per_unit);
}

/* The least and largest of a block's numbers, in the first two of `room`. */
__device__ inline void find_bounds(double least, double most, double *room)
{
    int t = (int)threadIdx.x, warp = t / WARP, warps = (int)blockDim.x / WARP;
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        double a = __shfl_xor_sync(0xffffffffu, least, apart);
        double b = __shfl_xor_sync(0xffffffffu, most, apart);
        least = a < least ? a : least;
        most = b > most ? b : most;
    }
    if (t % WARP == 0) room[2 + 2 * warp] = least, room[3 + 2 * warp] = most;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < warps; k++) {
            least = room[2 + 2 * k] < least ? room[2 + 2 * k] : least;
            most = room[3 + 2 * k] > most ? room[3 + 2 * k] : most;
        }
        room[0] = least, room[1] = most;
    }
    __syncthreads();
}

/* The cell that number `n` of all is in, from 0, and *before, how many are in those before it;
 * every thread counts the cells from 2 t on. */
__device__ inline int find_cell(const unsigned *in, int64_t n, int64_t *before)
{
    __shared__ unsigned sums[CHOOSERS / WARP];
    __shared__ int cell;
    __shared__ int64_t found;
    int t = (int)threadIdx.x, lane = t % WARP;
    unsigned own = in[2 * t] + in[2 * t + 1], sum = own;
    for (int apart = 1; apart < WARP; apart *= 2) {
        unsigned from = __shfl_sync(0xffffffffu, sum, lane >= apart ? lane - apart : 0);
        if (lane >= apart) sum += from;
    }
    if (lane == WARP - 1) sums[t / WARP] = sum;
    __syncthreads();
    for (int k = 0; k < t / WARP; k++) sum += sums[k];
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

/* By equal cells between the least and the largest margin, and by rank within the one where the
 * limit is.  False, with nothing done, where that is not possible. */
__device__ inline bool keep_by_cells(const work &w, const choice &c)
{
    __shared__ unsigned in[CELLS];
    __shared__ double room[2 + 2 * CHOOSERS / WARP], value[CHOOSERS];
    __shared__ int32_t number[CHOOSERS];
    __shared__ unsigned few;
    int t = (int)threadIdx.x;
    double least = INFINITY, most = -INFINITY;
    for (int64_t r = c.begin + t; r < c.end; r += blockDim.x) {
        double x = w.margin[r];
        if (!w.kept[r]) continue; /* a hole */
        least = x < least ? x : least;
        most = x > most || !(x == x) ? x == x ? x : INFINITY : most;
    }
    in[t] = in[t + CHOOSERS] = 0;
    if (t == 0) few = 0;
    find_bounds(least, most, room);
    least = room[0];
    double per_unit = (CELLS - 1) / (room[1] - least);
    if (!(per_unit > 0 && per_unit < 1e300)) return false;
    for (int64_t r = c.begin + t; r < c.end; r += blockDim.x)
        if (w.kept[r]) atomicAdd(&in[cell_of(w.margin[r], least, per_unit)], 1u);
    __syncthreads();
    int64_t before;
    int cell = find_cell(in, c.keep - 1, &before);
    if (in[cell] > CHOOSERS) return false;
    for (int64_t r = c.begin + t; r < c.end; r += blockDim.x) {
        if (!w.kept[r]) continue;
        int in_cell = cell_of(w.margin[r], least, per_unit);
        if (in_cell == cell) {
            unsigned at = atomicAdd(&few, 1u);
            value[at] = w.margin[r];
            number[at] = (int32_t)(r - c.begin);
        }
        w.kept[r] = in_cell < cell;
    }
    __syncthreads();
    for (unsigned k = (unsigned)t; k < few; k += blockDim.x) {
        int64_t rank = before;
        for (unsigned o = 0; o < few; o++)
            rank += value[o] < value[k] || (value[o] == value[k] && number[o] < number[k]);
        w.kept[c.begin + number[k]] = rank < c.keep;
    }
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

/* Count what was kept of each group. */
__device__ inline void count_kept(const work &w, int s)
{
    __shared__ unsigned kept[CWI_MAX_GROUPS];
    step_plan *p = &w.plan[s];
    int t = (int)threadIdx.x;
    if (t < CWI_MAX_GROUPS) kept[t] = 0;
    __syncthreads();
    for (int g = 0; g < w.n_groups; g++) {
        int64_t begin = w.group[g].first_row, end = begin + w.group[g].candidates * w.group[g].most_rows;
        unsigned own = 0;
        for (int64_t r = begin + t; r < end; r += blockDim.x) own += w.kept[r];
        for (int apart = WARP / 2; apart > 0; apart /= 2)
            own += __shfl_xor_sync(0xffffffffu, own, apart);
        if (t % WARP == 0) atomicAdd(&kept[g], own);
    }
    __syncthreads();
    if (t > 0) return;
    double all = 0;
    for (int g = 0; g < w.n_groups; g++) all += kept[g];
    for (int g = 0; g < w.n_groups; g++) {
        p->kept[g] = kept[g];
        p->mass[g] = w.by_group ? (double)kept[g] : all;
    }
}

/* One block. */
__global__ void select_rows(work w, int s)
{
    const step_plan *p = &w.plan[s];
    if (has_failed(w) || p->keep == p->all) return;
    int64_t left_rows = p->all, left_keep = p->keep;
    if (!w.per_group) keep_smallest(w, 0, w.rows, p->keep);
    for (int g = 0; g < w.n_groups && w.per_group; g++) { /* shares add up to keep */
        int64_t begin = w.group[g].first_row, count = p->rows[g];
        int64_t share =
            left_rows ? (int64_t)rint((double)left_keep * (double)count / (double)left_rows) : 0;
        left_rows -= count;
        left_keep -= share;
        keep_smallest(w, begin, begin + w.group[g].candidates * w.group[g].most_rows, share);
    }
    __syncthreads();
    count_kept(w, s);
}

/* ---- loss ----------------------------------------------------------------------------------- */

typedef double loss_fn(const double *setting, const float *score, int32_t width, float mark,
                       float scale, float *slope);

/* What a step came to, told to the tally: one thread. */
__device__ inline void close_step(const work &w, int s, double loss)
{
    const step_plan *p = &w.plan[s];
    cwi_cuda_tally *t = w.tally;
    for (int g = 0; g < w.n_groups; g++) {
        t->draws.attempts[g] += (int64_t)w.tried[s * w.n_groups + g];
        t->draws.accepted[g] += p->rows[g] * w.group[g].slots / w.group[g].unit;
    }
    if (p->is_empty) return;
    if (!isfinite(loss)) {
        t->bad = *w.first + s;
        return;
    }
    t->trained++;
    t->applied++;
    t->data_loss += loss;
}

/* Sums of blocks in their order, by the last one to come. */
__device__ inline void join_losses(const work &w, int s, double sum)
{
    if (threadIdx.x > 0) return;
    w.partial[blockIdx.x] = sum;
    __threadfence();
    if (atomicAdd(w.arrived, 1u) + 1 < gridDim.x) return;
    __threadfence();
    double loss = 0, mass = 0;
    for (unsigned b = 0; b < gridDim.x; b++) loss += ((volatile double *)w.partial)[b];
    for (int g = 0; g < w.n_groups; g++) mass += w.plan[s].mass[g];
    *w.arrived = 0;
    close_step(w, s, mass > 0 ? loss : NAN);
}

/* A row a thread: its value and slopes, which are zero where it is not trained on. */
template <loss_fn *loss> __global__ void take_losses(work w, int s)
{
    __shared__ double room[BLOCK];
    double sum = 0;
    if (has_failed(w)) return;
    for (int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; r < w.rows;
         r += (int64_t)gridDim.x * blockDim.x) {
        int g = group_of_row(w, r);
        const draw_group &p = w.group[g];
        int64_t first = (p.first_slot + (r - p.first_row) * p.slots) * w.heads;
        int32_t width = p.slots * w.heads;
        double mass = w.plan[s].mass[g];
        if (w.kept[r])
            sum += loss(w.setting, w.score + first, width, w.mark[s * w.rows + r],
                        1.0f / (float)mass, w.slope + first) /
                   mass;
        else
            for (int32_t k = 0; k < width; k++) w.slope[first + k] = 0;
    }
    join_losses(w, s, block_sum(sum, room));
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* A contribution as a lane has it before the warp adds it up. */
typedef struct contribution {
    uint32_t slot;
    int32_t row, minus; /* vectors; minus -1: one alone */
    bool counts;
} contribution;

__device__ inline contribution read_end(const work &w, int s, uint32_t end)
{
    contribution c;
    const int32_t *user = w.user + s * w.slots, *item = w.item + s * w.slots;
    int kind = (int)(end & 3u);
    c.slot = end >> SLOT_SHIFT;
    c.minus = -1;
    c.counts = false;
    for (int h = 0; h < w.heads; h++) c.counts |= w.slope[(int64_t)c.slot * w.heads + h] != 0;
    c.row = kind == END_ITEM ? user[c.slot] : w.n_users + item[c.slot];
    if (kind == END_PAIR) c.minus = w.n_users + item[c.slot + (end >> 2 & 15u) + 1];
    return c;
}

/* The sum of a chunk, a warp each. */
template <bool WHOLE> __global__ void add_chunks(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    uint64_t begin = heads_before(w, s), end = heads_before(w, s + 1);
    uint32_t first = (uint32_t)begin, n = (uint32_t)end - first;
    int32_t d = w.d, width = d / w.heads;
    if (has_failed(w)) return;
    for (uint32_t c = (uint32_t)warp_of_grid(); c < n; c += (uint32_t)warps_of_grid()) {
        int64_t from = w.chunk_at[first + c];
        int64_t to = c + 1 < n ? w.chunk_at[first + c + 1] : w.n_ends[s];
        contribution mine;
        mine.counts = false;
        mine.slot = 0, mine.row = 0, mine.minus = -1;
        if (from + lane < to) mine = read_end(w, s, w.sorted_end[s * w.ends + from + lane]);
        unsigned which = __ballot_sync(0xffffffffu, mine.counts);
        for (int32_t base = 0; base < d; base += 4 * WARP) {
            quad sum = {{0, 0, 0, 0}};
            for (unsigned rest = which; rest; rest &= rest - 1) {
                int source = __ffs((int)rest) - 1;
                int32_t row = __shfl_sync(0xffffffffu, mine.row, source);
                int32_t minus = __shfl_sync(0xffffffffu, mine.minus, source);
                uint32_t slot = __shfl_sync(0xffffffffu, mine.slot, source);
                quad x = load_quad<WHOLE>(w.vectors + (int64_t)row * d, d, base, lane);
                if (minus >= 0) {
                    quad y = load_quad<WHOLE>(w.vectors + (int64_t)minus * d, d, base, lane);
                    for (int k = 0; k < 4; k++) x.x[k] -= y.x[k];
                }
                for (int k = 0; k < 4; k++) {
                    int32_t column = column_of<WHOLE>(base, lane, k);
                    int32_t h = w.heads == 1 || column >= d ? 0 : column / width;
                    float weight = w.slope[(int64_t)slot * w.heads + h] * w.scale;
                    sum.x[k] = fmaf(weight, x.x[k], sum.x[k]);
                }
            }
            store_quad<WHOLE>(w.sum + (int64_t)c * d, d, base, lane, &sum);
        }
    }
}

#endif

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

typedef double loss_fn(const double *setting, const float *score, int32_t width, float mark,
                       float scale, float *slope);

/* Dot products of a few pairs or slots of a row, whose vectors are asked for together; all lanes
 * have them.  `minus` may be NULL. */
enum { AT_ONCE = 3 };

template <bool WHOLE>
__device__ inline void dot_some(const work &w, const int32_t *user, const int32_t *plus,
                                const int32_t *minus, int n, int lane, float *out)
{
    const float *items = w.vectors + (int64_t)w.n_users * w.d;
    const float *u[AT_ONCE], *p[AT_ONCE], *m[AT_ONCE];
    for (int j = 0; j < AT_ONCE; j++) {
        int at = j < n ? j : 0;
        u[j] = w.vectors + (int64_t)user[at] * w.d;
        p[j] = items + (int64_t)plus[at] * w.d;
        m[j] = minus ? items + (int64_t)minus[at] * w.d : NULL;
        out[j] = 0;
    }
    for (int j = 0; j < AT_ONCE; j++)
        if (j < n) out[j] = dot<WHOLE>(u[j], p[j], m[j], w.d, lane);
    for (int j = 0; j < AT_ONCE; j++) out[j] = warp_sum(out[j]);
}

/* Scores of a row whose slots have one each. */
template <bool WHOLE>
__device__ inline void score_row(const work &w, const int32_t *user, const int32_t *item, int slots,
                                 int lane, float *score)
{
    int k = w.is_paired ? slots / 2 : slots;
    for (int j = 0; j < k; j += AT_ONCE) {
        float x[AT_ONCE];
        dot_some<WHOLE>(w, user + j, item + j, w.is_paired ? item + k + j : NULL, k - j, lane, x);
        for (int o = 0; o < AT_ONCE; o++)
            if (lane == o && j + o < k) score[j + o] = x[o] * w.scale;
        if (w.is_paired && lane < AT_ONCE && j + lane < k) score[k + j + lane] = 0;
    }
}

/* Scores of a row whose slots have several each, of a part of the columns. */
__device__ inline void score_heads(const work &w, const int32_t *user, const int32_t *item,
                                   int slots, int lane, float *score)
{
    int32_t width = w.d / w.heads;
    for (int32_t k = 0; k < slots * w.heads; k++) {
        int32_t at = k % w.heads * width;
        const float *u = w.vectors + (int64_t)user[k / w.heads] * w.d + at;
        const float *i = w.vectors + ((int64_t)w.n_users + item[k / w.heads]) * w.d + at;
        float x = warp_sum(dot<false>(u, i, NULL, width, lane)) * w.scale;
        if (w.factor)
            x *= w.factor[(int64_t)user[k / w.heads] * w.heads + k % w.heads] *
                 w.factor[((int64_t)w.n_users + item[k / w.heads]) * w.heads + k % w.heads];
        if (lane == 0) score[k] = x;
    }
}

/* How well a row is ranked: the mean of its differences. */
__device__ inline double margin_of(const float *score, int32_t width)
{
    double sum = 0;
    for (int32_t j = 0; j < width / 2; j++) sum += (double)score[j] - (double)score[width / 2 + j];
    return sum / (width / 2);
}

/* The loss of a row and its slopes, as if it were trained on; a thread. */
template <loss_fn *loss> __device__ inline void take_loss(const work &w, int s, int64_t r)
{
    int g = group_of_row(w, r);
    const draw_group &p = w.group[g];
    int64_t slot = p.first_slot + (r - p.first_row) * p.slots, first = slot * w.heads;
    int32_t width = p.slots * w.heads;
    double mass = w.plan[s].mass[g];
    w.kept[r] = w.user[s * w.slots + slot] >= 0;
    if (!w.kept[r]) return;
    if (w.selects) w.margin[r] = margin_of(w.score + first, width);
    w.value[r] = loss(w.setting, w.score + first, width, w.mark[s * w.rows + r],
                      1.0f / (float)mass, w.slope + first) /
                 mass;
}

/* Losses of rows whose slots have scores; a thread each. */
template <loss_fn *loss> __global__ void lose_rows(work w, int s)
{
    int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (r < w.rows) take_loss<loss>(w, s, r);
}

/* Rows of slots, a warp each; then their losses, a thread each. */
template <bool WHOLE, loss_fn *loss> __global__ void score_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t block = (int64_t)blockIdx.x * WARPS, r = block + threadIdx.x / WARP;
    await_last();
    if (r < w.rows) {
        const draw_group &p = w.group[group_of_row(w, r)];
        int64_t first = p.first_slot + (r - p.first_row) * p.slots;
        const int32_t *user = w.user + s * w.slots + first, *item = w.item + s * w.slots + first;
        float *score = w.score + first * w.heads;
        if (user[0] >= 0 && w.heads == 1 && !w.factor)
            score_row<WHOLE>(w, user, item, p.slots, lane, score);
        else if (user[0] >= 0)
            score_heads(w, user, item, p.slots, lane, score);
    }
    __syncthreads();
    if (threadIdx.x < WARPS && block + threadIdx.x < w.rows)
        take_loss<loss>(w, s, block + threadIdx.x);
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

__device__ inline int cell_of(double x, double least, double per_unit)
{
    return (int)((x - least) * per_unit);
}

/* The least and largest of a block's numbers; `room` has two for each warp. */
__device__ inline void find_bounds(double *least, double *most, double *room)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int turn = 0; turn < 2; turn++) {
        for (int apart = WARP / 2; apart > 0; apart /= 2) {
            double a = __shfl_xor_sync(0xffffffffu, *least, apart);
            double b = __shfl_xor_sync(0xffffffffu, *most, apart);
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

/* Margins of a thread's rows that stay at hand; those of further rows are read again. */
enum { AT_HAND = 8 };

/* By equal cells between the least and the largest margin, and by rank within the one where the
 * limit is.  False, with nothing done, where that is not possible. */
__device__ inline bool keep_by_cells(const work &w, const choice &c)
{
    __shared__ unsigned in[CELLS];
    __shared__ double room[2 * CHOOSERS / WARP], value[CHOOSERS];
    __shared__ int32_t number[CHOOSERS];
    __shared__ unsigned few;
    int t = (int)threadIdx.x;
    double least = INFINITY, most = -INFINITY, own[AT_HAND];
    bool is_row[AT_HAND];
    for (int k = 0; k < AT_HAND; k++) {
        int64_t r = c.begin + t + (int64_t)k * CHOOSERS;
        is_row[k] = r < c.end && w.kept[r];
        own[k] = r < c.end ? w.margin[r] : 0;
    }
    in[t] = in[t + CHOOSERS] = 0;
    if (t == 0) few = 0;
    for (int k = 0; k < AT_HAND; k++) {
        if (!is_row[k]) continue;
        least = own[k] < least ? own[k] : least;
        most = own[k] == own[k] ? own[k] > most ? own[k] : most : INFINITY;
    }
    find_bounds(&least, &most, room);
    double per_unit = (CELLS - 1) / (most - least);
    if (!(per_unit > 0 && per_unit < 1e300)) return false;
    for (int k = 0; k < AT_HAND; k++)
        if (is_row[k]) atomicAdd(&in[cell_of(own[k], least, per_unit)], 1u);
    __syncthreads();
    int64_t before;
    int cell = find_cell(in, c.keep - 1, &before);
    if (in[cell] > CHOOSERS) return false;
    for (int k = 0; k < AT_HAND; k++) {
        int64_t r = c.begin + t + (int64_t)k * CHOOSERS;
        if (!is_row[k]) continue;
        int in_cell = cell_of(own[k], least, per_unit);
        if (in_cell == cell) {
            unsigned at = atomicAdd(&few, 1u);
            value[at] = own[k];
            number[at] = (int32_t)(r - c.begin);
        } else {
            w.kept[r] = in_cell < cell;
        }
    }
    __syncthreads();
    for (unsigned k = (unsigned)t; k < few; k += CHOOSERS) {
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
    else if (end - begin > AT_HAND * CHOOSERS || !keep_by_cells(w, c))
        keep_by_digits(w, c);
    __syncthreads();
}

/* Where not all rows are trained on, the hardest are; one block. */
__global__ void __launch_bounds__(CHOOSERS) select_rows(work w, int s)
{
    await_last();
    const step_plan *p = &w.plan[s];
    int64_t left_rows = p->all, left_keep = p->keep;
    if (p->keep == p->all) return;
    if (!w.per_group) keep_smallest(w, 0, w.rows, p->keep);
    for (int g = 0; g < w.n_groups && w.per_group; g++) { /* shares add up to keep */
        int64_t begin = w.group[g].first_row, count = p->rows[g];
        int64_t share =
            left_rows ? (int64_t)rint((double)left_keep * (double)count / (double)left_rows) : 0;
        left_rows -= count;
        left_keep -= share;
        keep_smallest(w, begin, begin + w.group[g].candidates * w.group[g].most_rows, share);
    }
}

/* ---- loss ----------------------------------------------------------------------------------- */

/* What a step came to, told to the tally: one thread. */
__device__ inline void close_step(const work &w, int s, double loss, double penalty)
{
    const step_plan *p = &w.plan[s];
    cwi_cuda_tally *t = w.tally;
    for (int g = 0; g < w.n_groups; g++) {
        t->draws.attempts[g] += (int64_t)w.tried[s * w.n_groups + g];
        t->draws.accepted[g] += p->rows[g] * w.group[g].slots / w.group[g].unit;
        if (!w.is_strict || t->lacking_group || p->rows[g] >= w.group[g].candidates) continue;
        t->lacking_group = g + 1;
        t->lacking = p->rows[g];
    }
    if (p->is_empty) return;
    if (!isfinite(loss + penalty)) {
        t->bad = *w.first + s;
        return;
    }
    t->trained++;
    t->applied++;
    t->data_loss += loss;
    t->penalty += penalty;
}

/* The terms that are not of scores; a block. */
__device__ inline double sum_penalties(const work &w, int s, double *room)
{
    double sum = 0, squares = 0;
    if (w.penalty || w.batch_reg > 0 || w.spectral > 0)
        for (uint32_t t = threadIdx.x; t < w.plan[s].tasks; t += BLOCK) sum += w.penalties[t];
    if (w.final_decay > 0)
        for (int b = (int)threadIdx.x; b < SQUARE_BLOCKS; b += BLOCK) squares += w.squares[b];
    sum += (double)w.final_decay / 2 * squares;
    return block_sum(sum, room);
}

/* The mean loss; a block.  Less than was to be kept is kept where margins are no numbers. */
__device__ inline void close_rows(const work &w, int s)
{
    __shared__ double room[WARPS];
    __shared__ unsigned long long count;
    const step_plan *p = &w.plan[s];
    double sum = 0, mass = 0;
    unsigned own = 0;
    if (has_failed(w)) return;
    for (int64_t r = threadIdx.x; r < w.rows && w.grid.rows == 0; r += BLOCK) {
        bool counts = w.kept[r];
        double value = w.value[r];
        sum += counts ? value : 0;
        own += counts;
    }
    sum = block_sum(sum, room);
    if (w.grid.rows > 0) sum = *w.grid.mean, own = 0;
    int64_t kept = block_count(own, &count);
    double penalty = w.closes_late ? sum_penalties(w, s, room) : 0;
    for (int g = 0; g < w.n_groups; g++) mass += p->mass[g];
    if (threadIdx.x == 0) close_step(w, s, w.grid.rows > 0 || (kept == p->keep && mass > 0) ? sum : NAN, penalty);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Rows of contributions are asked for a few at a time, and added in their order. */
enum { FEW = 4 };

template <bool WHOLE>
__device__ inline void add_few(const work &w, const float *from, const contribution *c, const float *weight, int n,
                               int32_t base, int lane, quad *sum)
{
    quad x[FEW];
    for (int o = 0; o < FEW; o++)
        if (o < n) x[o] = load_quad<WHOLE>(from + (int64_t)c[o].row * w.d, w.d, base, lane);
    for (int o = 0; o < FEW; o++) {
        if (o >= n || c[o].minus < 0) continue;
        quad y = load_quad<WHOLE>(from + (int64_t)c[o].minus * w.d, w.d, base, lane);
        for (int k = 0; k < 4; k++) x[o].x[k] -= y.x[k];
    }
    for (int o = 0; o < FEW; o++) {
        if (o >= n) continue;
        for (int k = 0; k < 4; k++) {
            float by = weight[o];
            if (w.heads > 1 && !w.ends_slope) {
                int32_t column = column_of<WHOLE>(base, lane, k);
                int32_t h = column >= w.d ? 0 : column / (w.d / w.heads);
                by = w.slope[(int64_t)c[o].slot * w.heads + h] * w.scale;
                if (w.factor) by *= w.factor[(int64_t)c[o].row * w.heads + h];
            }
            sum->x[k] = fmaf(by, x[o].x[k], sum->x[k]);
        }
    }
}

/* The contribution of a lane, in all of them. */
__device__ inline contribution share(contribution mine, int source)
{
    contribution c;
    c.slot = __shfl_sync(0xffffffffu, mine.slot, source);
    c.row = __shfl_sync(0xffffffffu, mine.row, source);
    c.minus = __shfl_sync(0xffffffffu, mine.minus, source);
    c.of = 0;
    return c;
}

/* What the row of a contribution is multiplied with, of one head; some are slopes already. */
__device__ inline float weigh(const work &w, const contribution &c)
{
    if (w.ends_slope) return c.row < w.slots ? w.scale : 1;
    float weight = w.slope[(int64_t)c.slot * w.heads] * w.scale;
    return w.factor && w.heads == 1 ? weight * w.factor[c.row] : weight;
}

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
        contribution mine = {0, 0, 0, -1};
        float weight = 0;
        bool counts = false;
        if (range.x + lane < range.y) {
            mine = w.given[s * w.ends + range.x + lane];
            weight = weigh(w, mine);
            counts = weight != 0;
            for (int h = 1; h < w.heads && !w.ends_slope; h++)
                counts |= w.slope[(int64_t)mine.slot * w.heads + h] != 0;
            counts &= w.grid.rows > 0 || w.kept[mine.of] != 0;
        }
        unsigned which = __ballot_sync(0xffffffffu, counts);
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad sum = {{0, 0, 0, 0}};
            for (unsigned rest = which; rest;) {
                contribution few[FEW];
                float by[FEW];
                int n = 0;
                for (int o = 0; o < FEW; o++) {
                    int source = rest ? __ffs((int)rest) - 1 : 0;
                    few[o] = share(mine, source);
                    by[o] = __shfl_sync(0xffffffffu, weight, source);
                    n += rest != 0;
                    rest &= rest - 1;
                }
                add_few<WHOLE>(w, from, few, by, n, base, lane, &sum);
            }
            store_quad<WHOLE>(w.sum + (int64_t)c * w.d, w.d, base, lane, &sum);
        }
    }
}

#endif

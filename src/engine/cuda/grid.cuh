/*
 * grid.cuh - batches whose users all meet its items: scores and slopes by matrix products, losses of
 * rows, of columns or of crossed pairs in between.
 */
#ifndef CWI_ENGINE_CUDA_GRID_CUH
#define CWI_ENGINE_CUDA_GRID_CUH

#include "engine/cuda/products.cuh"
#include "engine/cuda/slots.cuh"

/* ---- reductions of a block -------------------------------------------------------------------- */

__device__ inline float warp_max(float x)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, x, apart);
        x = other > x ? other : x;
    }
    return x;
}

__device__ inline float block_max(float x, float *room)
{
    int lane = (int)threadIdx.x % WARP;
    x = warp_max(x);
    if (lane == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    x = warp_max(lane < WARPS ? room[lane] : -INFINITY);
    __syncthreads();
    return x;
}

/* Who works on a row: a warp, or a block where rows are long. */
template <int TEAM> __device__ inline int64_t row_of_team()
{
    return TEAM == WARP ? warp_of_grid() : (int64_t)blockIdx.x;
}

template <int TEAM> __device__ inline int place_in_team()
{
    return (int)threadIdx.x % TEAM;
}

template <int TEAM> __device__ inline float team_max(float x, float *room)
{
    return TEAM == WARP ? warp_max(x) : block_max(x, room);
}

template <int TEAM> __device__ inline double team_sum(double x, double *room)
{
    return TEAM == WARP ? warp_sum_wide(x) : block_sum(x, room);
}

/* e^x for x <= 0, right to a bit or two; what is next to nothing is nothing. */
__device__ inline float exp_of(float x)
{
#if defined(__CUDA_ARCH__)
    float n = rintf(x * 1.44269504f), y;
    float r = fmaf(n, 1.90465421e-9f, fmaf(n, -0.693147182f, x)); /* ln 2 in two parts */
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(r * 1.44269504f));
    return x < -87.0f ? 0 : y * __int_as_float(((int)n + 127) << 23);
#else
    return cwi_expf(x);
#endif
}

/* ---- vectors ------------------------------------------------------------------------------------ */

/* The vector of each end of each slot as it is scored, a warp each: users, then items.  And where the
 * tasks of rows are. */
__global__ void gather_ends(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    await_last();
    for (int64_t e = warp_of_grid(); e < 2 * w.slots; e += warps_of_grid()) {
        bool is_user = e < w.slots;
        int64_t slot = is_user ? e : e - w.slots;
        int64_t row = is_user ? w.user[s * w.slots + slot]
                              : w.n_users + (int64_t)w.item[s * w.slots + slot];
        float by = (w.factor ? w.factor[row] : 1) * (is_user ? w.scale : 1);
        for (int32_t c = lane; c < w.d; c += WARP)
            w.grid.vectors[e * w.d + c] = by * w.vectors[row * w.d + c];
    }
    const step_plan *p = &w.plan[s];
    for (uint32_t t = blockIdx.x * blockDim.x + threadIdx.x; t < p->tasks; t += gridDim.x * blockDim.x)
        w.grid.task_of[w.task[p->first_task + t].row] = p->first_task + t;
}

/* ---- what is no cross ------------------------------------------------------------------------------ */

/* The batch's slot of the item in a column of a row. */
__device__ inline int64_t slot_of(const work &w, int64_t r, int64_t c)
{
    return w.grid.is_square ? r / w.grid.side * w.grid.side + c : w.grid.rows + c;
}

/* Leave out an item that the user of a row had, wherever it is. */
__device__ inline void mask_item(const work &w, int s, int64_t r, uint32_t row)
{
    const grid_work &g = w.grid;
    const row_task *t = &w.task[w.grid.task_of[row]];
    int64_t first = g.is_square ? r / g.side * g.side : g.rows;
    for (uint32_t e = w.chunk[t->chunk].x; e < w.chunk[t->chunk_end - 1].y; e++) {
        int64_t c = (int64_t)w.given[s * w.ends + e].slot - first;
        if (c >= 0 && c < g.width) g.cross[r * g.width + c] = -INFINITY;
    }
}

/* The observed pair of a row is scored, and what its user had is left out; a block each. */
__global__ void finish_scores(work w, int s)
{
    int t = (int)threadIdx.x;
    int64_t r = blockIdx.x;
    const cwi_csr *had = &((const cwi_drawing *)w.sampler)->training->by_user;
    await_last();
    int32_t of = w.user[s * w.slots + r];
    for (int64_t e = had->start[of] + t; e < had->start[of + 1]; e += BLOCK) {
        uint32_t row = (uint32_t)(w.n_users + had->value[e]);
        if (is_touched(w, s, row)) mask_item(w, s, r, row);
    }
    if (t >= WARP) return;
    const float *user = w.grid.vectors + r * w.d, *item = user + w.slots * w.d;
    float x = warp_sum(dot<false>(user, item, w.d, t));
    if (t == 0) w.grid.own[r] = x;
}

/* ---- softmax ------------------------------------------------------------------------------------------ */

/* What is taken off the scores of a column. */
__device__ inline float taken_off(const work &w, int s, int64_t r, int64_t c, float less)
{
    return less == 0 ? 0 : less * w.mark[s * w.rows + slot_of(w, r, c)];
}

/* What a softmax over a row comes to: its largest number, what slopes are multiplied with, its value.
 * A thread of the team has the row's numbers t, t + TEAM, ..., the first KEPT of them at hand. */
template <int TEAM, int KEPT> __global__ void softmax_rows(work w, int s, float less, double share)
{
    __shared__ float most_room[WARPS];
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    int64_t r = row_of_team<TEAM>();
    int t = place_in_team<TEAM>();
    await_last();
    if (r >= g.rows) return;
    const float *x = g.cross + r * g.width;
    float most = g.own[r], kept[KEPT];
    double others = 0;
    UNROLLED for (int k = 0; k < KEPT; k++) {
        int64_t c = t + k * TEAM;
        kept[k] = c < g.width ? x[c] - taken_off(w, s, r, c, less) : -INFINITY;
        most = kept[k] > most ? kept[k] : most;
    }
    for (int64_t c = t + KEPT * TEAM; c < g.width; c += TEAM) {
        float y = x[c] - taken_off(w, s, r, c, less);
        most = y > most ? y : most;
    }
    most = team_max<TEAM>(most, most_room);
    UNROLLED for (int k = 0; k < KEPT; k++) others += (double)exp_of(kept[k] - most);
    for (int64_t c = t + KEPT * TEAM; c < g.width; c += TEAM)
        others += (double)exp_of(x[c] - taken_off(w, s, r, c, less) - most);
    others = team_sum<TEAM>(others, room);
    double all = cwi_exp((double)g.own[r] - (double)most) + others;
    if (t > 0) return;
    g.value[r] = share * ((double)most - (double)g.own[r] + cwi_ln(all));
    g.own_slope[r] = (float)(-share * others / all / (double)g.rows);
    g.row_factor[r] = (float)(share / all / (double)g.rows);
    g.row_top[r] = most;
}

/* Slopes of crosses: what both softmaxes say of a score. */
template <bool HAS_COLUMNS> __global__ void find_slopes(work w, int s, float less)
{
    const grid_work &g = w.grid;
    int64_t r = blockIdx.x, top = r / g.side * g.side;
    await_last();
    float most = g.row_top[r], factor = g.row_factor[r];
    const float *x = g.cross + r * g.width;
    for (int64_t c = threadIdx.x; c < g.width; c += BLOCK) {
        float y = factor * exp_of(x[c] - taken_off(w, s, r, c, less) - most);
        if (HAS_COLUMNS)
            y = fmaf(g.column_factor[top + c], exp_of(x[c] - g.column_top[top + c]), y);
        g.slope[r * g.width + c] = y;
    }
    __syncthreads();
    if (g.is_square && threadIdx.x == 0) g.slope[r * g.width + r - top] = g.own_slope[r];
}

/* Where the scores of a column begin; columns of parts are numbered one after the other. */
__device__ inline const float *column_at(const grid_work &g, int64_t b)
{
    return g.cross + b / g.side * g.side * g.width + b % g.side;
}

/* The largest score of a column and the sum of what others are to it, of some of its rows; a thread a
 * column, blockIdx.y the rows. */
__global__ void softmax_columns(work w)
{
    const grid_work &g = w.grid;
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = blockIdx.y * g.rows + b;
    int64_t first = (int64_t)blockIdx.y * COLUMN_ROWS, last = first + COLUMN_ROWS;
    double sum = 0;
    await_last();
    if (b >= g.rows) return;
    if (last > g.side) last = g.side;
    const float *x = column_at(g, b);
    float top = g.own[b];
    for (int64_t r = first; r < last; r++) top = x[r * g.width] > top ? x[r * g.width] : top;
    for (int64_t r = first; r < last; r++) sum += (double)exp_of(x[r * g.width] - top);
    g.column_top[at] = top;
    g.column_sum[at] = sum;
}

/* The losses of columns on top of those of rows; a block has WARP of them, a warp some of their
 * pieces. */
__global__ void join_columns(work w, int64_t pieces, double share)
{
    __shared__ float tops[WARPS][WARP];
    __shared__ double sums[WARPS][WARP];
    const grid_work &g = w.grid;
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int64_t b = (int64_t)blockIdx.x * WARP + lane;
    bool is_in = b < g.rows;
    double others = 0;
    await_last();
    float own = is_in ? g.own[b] : 0, top = own;
    for (int64_t k = warp; k < pieces && is_in; k += WARPS)
        top = g.column_top[k * g.rows + b] > top ? g.column_top[k * g.rows + b] : top;
    tops[warp][lane] = top;
    __syncthreads();
    for (int k = 0; k < WARPS; k++) top = tops[k][lane] > top ? tops[k][lane] : top;
    for (int64_t k = warp; k < pieces && is_in; k += WARPS)
        others += g.column_sum[k * g.rows + b] *
                  cwi_exp((double)g.column_top[k * g.rows + b] - (double)top);
    sums[warp][lane] = others;
    __syncthreads();
    if (warp > 0 || !is_in) return;
    for (int k = 1; k < WARPS; k++) others += sums[k][lane];
    double all = others + cwi_exp((double)own - (double)top);
    g.value[b] += share * ((double)top - (double)own + cwi_ln(all));
    g.own_slope[b] -= (float)(share * others / all / (double)g.rows);
    g.column_factor[b] = (float)(share / all / (double)g.rows);
    g.column_top[b] = top;
}

/* ---- pairwise and bilateral softmax ------------------------------------------------------------------- */

/* A row a block. */
__global__ void take_psl(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    double temperature = w.setting[0];
    await_last();
    for (int64_t r = blockIdx.x; r < g.rows; r += gridDim.x) {
        const float *x = g.cross + r * g.width;
        float *slope = g.slope + r * g.width;
        double sum = 0, back = 0, d;
        for (int64_t c = threadIdx.x; c < g.width; c += BLOCK) {
            double term =
                cwi_exp(psl_warp(temperature, (double)x[c] - (double)g.own[r], &d));
            sum += term;
            slope[c] = (float)(term * d);
        }
        sum = block_sum(sum, room) + 1e-12;
        for (int64_t c = threadIdx.x; c < g.width; c += BLOCK) {
            double p = (double)slope[c] / sum / (double)g.rows;
            slope[c] = (float)p;
            back += p;
        }
        back = block_sum(back, room);
        if (threadIdx.x == 0) g.own_slope[r] = (float)-back, g.value[r] = cwi_ln(sum);
    }
}

/* Rows weighted by e^(-value / ratio); a block. */
__global__ void weigh_rows(work w)
{
    __shared__ double room[WARPS];
    __shared__ float most_room[WARPS];
    const grid_work &g = w.grid;
    double ratio = w.setting[1], sum = 0;
    await_last();
    float most = -INFINITY; /* of minus the values, to a few digits: any bound is as good */
    for (int64_t r = threadIdx.x; r < g.rows; r += BLOCK)
        most = (float)-g.value[r] > most ? (float)-g.value[r] : most;
    double least = -(double)block_max(most, most_room);
    for (int64_t r = threadIdx.x; r < g.rows; r += BLOCK)
        sum += cwi_exp((least - g.value[r]) / ratio);
    sum = block_sum(sum, room);
    for (int64_t r = threadIdx.x; r < g.rows; r += BLOCK) {
        double weight = cwi_exp((least - g.value[r]) / ratio) / sum * (double)g.rows;
        g.row_factor[r] = (float)((double)g.row_factor[r] * weight);
        g.own_slope[r] = (float)((double)g.own_slope[r] * weight);
    }
    __syncthreads();
    if (threadIdx.x == 0) *g.mean = least - ratio * cwi_ln(sum / (double)g.rows);
}

/* ---- margins of two crossed pairs ---------------------------------------------------------------------- */

enum { SQUARE = 32 };

/* What goes by a cross and by the same one seen from the other pair, two squares of them a block:
 * margins from scores, in the place of slopes; or slopes of scores from those of margins, in the
 * place of scores. */
template <bool IS_BACK> __global__ void meet_crosses(work w)
{
    __shared__ float upper[SQUARE][SQUARE + 1], lower[SQUARE][SQUARE + 1];
    const grid_work &g = w.grid;
    const float *from = IS_BACK ? g.slope : g.cross;
    float *to = IS_BACK ? g.cross : g.slope;
    int64_t across = (g.side + SQUARE - 1) / SQUARE, square = blockIdx.x % (across * across);
    int64_t top = blockIdx.x / (across * across) * g.side; /* of the part */
    int64_t down = square / across * SQUARE, right = square % across * SQUARE;
    int column = (int)threadIdx.x % SQUARE, first = (int)threadIdx.x / SQUARE;
    await_last();
    if (down > right) return; /* is done with the other one */
    float half = IS_BACK ? (float)(0.5 / *g.crosses) : 0.5f;
    for (int r = first; r < SQUARE; r += BLOCK / SQUARE) {
        if (down + r < g.side && right + column < g.side)
            upper[r][column] = from[(top + down + r) * g.width + right + column];
        if (right + r < g.side && down + column < g.side)
            lower[r][column] = from[(top + right + r) * g.width + down + column];
    }
    __syncthreads();
    for (int turn = 0; turn < 2; turn++) {
        int64_t a = turn ? right : down, b = (turn ? down : right) + column;
        float own = !IS_BACK && b < g.side ? g.own[top + b] : 0;
        for (int r = first; r < SQUARE; r += BLOCK / SQUARE) {
            if (a + r >= g.side || b >= g.side) continue;
            float both = upper[turn ? column : r][turn ? r : column] +
                         lower[turn ? r : column][turn ? column : r];
            if (!IS_BACK) both -= g.own[top + a + r] + own;
            to[(top + a + r) * g.width + b] = half * both;
        }
    }
}

__device__ inline uint32_t rank_bits_of(float x)
{
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

/* Leave the `keep` largest of a row, of equal ones the first; all others become -infinity.  Returns
 * how many are finite then; a block. */
__device__ inline int64_t keep_largest(float *x, int64_t n, int64_t keep)
{
    __shared__ unsigned in[256];
    __shared__ unsigned long long count;
    __shared__ uint32_t prefix;
    __shared__ int64_t left, equal;
    int t = (int)threadIdx.x;
    unsigned own = 0;
    for (int64_t c = t; c < n; c += BLOCK) own += x[c] >= -3.402823466e38f;
    int64_t live = block_count(own, &count);
    __syncthreads();
    if (live <= keep) return live;
    if (t == 0) prefix = 0, left = keep;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int k = t; k < 256; k += BLOCK) in[k] = 0;
        __syncthreads();
        for (int64_t c = t; c < n; c += BLOCK) {
            uint32_t bits = rank_bits_of(x[c]);
            if (shift == 24 || bits >> (shift + 8) == prefix) atomicAdd(&in[bits >> shift & 255], 1u);
        }
        __syncthreads();
        if (t == 0) {
            unsigned k = 255;
            for (; k > 0 && left > (int64_t)in[k]; k--) left -= in[k];
            prefix = prefix << 8 | k;
            equal = in[k];
        }
        __syncthreads();
    }
    if (t == 0 && equal > left)
        for (int64_t c = 0; c < n; c++)
            if (rank_bits_of(x[c]) == prefix && --left < 0) x[c] = -INFINITY;
    __syncthreads();
    for (int64_t c = t; c < n; c += BLOCK)
        if (rank_bits_of(x[c]) < prefix) x[c] = -INFINITY;
    __syncthreads();
    return keep;
}

/* ln(1 + e) for 0 <= e <= 1. */
__device__ inline float log_of_more(float e)
{
#if defined(__CUDA_ARCH__)
    float more = 1.0f + e, y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(more));
    return fmaf(y, 0.693147182f, (e - (more - 1.0f)) * one_over(more)); /* what 1 + e rounded off */
#else
    return (float)cwi_log1p((double)e);
#endif
}

/* The loss of a margin, which its slope takes the place of. */
__device__ inline double lose_margin(float *x)
{
    float y = *x, e = exp_of(-fabsf(y));
    *x = (y < 0 ? e : 1) / (1 + e);
    return (y > 0 ? (double)y : y == y ? 0.0 : (double)y) + (double)log_of_more(e);
}

/* A number whose order as a whole one is that of x; 0 for what is no cross. */
__device__ inline uint32_t cross_key(float x)
{
    return x >= -3.402823466e38f ? rank_bits_of(x) : 0;
}

/* How many of the numbers of a warp are at least this. */
template <int KEPT> __device__ inline int count_from(const uint32_t *key, uint32_t limit)
{
    int n = 0;
    UNROLLED for (int k = 0; k < KEPT; k++) n += key[k] >= limit;
    for (int apart = WARP / 2; apart > 0; apart /= 2) n += __shfl_xor_sync(0xffffffffu, n, apart);
    return n;
}

/* The losses of the crosses of a row, or of its `keep` worst, of equal ones the first, where a lane
 * has all of its share of a row at hand.  What is no number has no key, and is told by the loss. */
template <int KEPT> __global__ void __launch_bounds__(BLOCK, 2) take_hardest(work w)
{
    const grid_work &g = w.grid;
    int lane = (int)threadIdx.x % WARP;
    int64_t a = warp_of_grid();
    await_last();
    if (a >= g.rows) return;
    int64_t share = (int64_t)(w.setting[1] * (double)g.width + 0.5);
    int keep = share < 1 ? 1 : (int)share;
    float *x = g.slope + a * g.width;
    uint32_t key[KEPT], limit = 1;
    double sum = 0;
    UNROLLED for (int k = 0; k < KEPT; k++) {
        int64_t b = lane + k * WARP;
        key[k] = b < g.width ? cross_key(x[b]) : 0;
    }
    int live = count_from<KEPT>(key, 1), ahead = 0;
    if (live > keep) {
        limit = 0;
        for (int bit = 31; bit >= 0; bit--)
            if (count_from<KEPT>(key, limit | 1u << bit) >= keep) limit |= 1u << bit;
        ahead = count_from<KEPT>(key, limit + 1);
    }
    for (int64_t first = 0; first < g.width; first += WARP) {
        int64_t b = first + lane;
        float y = b < g.width ? x[b] : -INFINITY;
        uint32_t own = cross_key(y);
        bool is_equal = live > keep && own == limit;
        unsigned equal = __ballot_sync(0xffffffffu, is_equal);
        int rank = ahead + __popc(equal & ((1u << lane) - 1));
        bool counts = is_equal ? rank < keep : own >= limit;
        ahead += __popc(equal);
        if (counts || y != y) sum += lose_margin(&y);
        if (b < g.width) x[b] = counts ? y : 0;
    }
    sum = warp_sum_wide(sum);
    if (lane == 0) g.value[a] = sum, g.count[a] = (float)(live < keep ? live : keep);
}

/* Losses of the crosses of a row, whose margins are there, and how many they are; their slopes but
 * for a factor.  A row a block. */
__global__ void take_margins(work w, bool is_lse)
{
    __shared__ double room[WARPS];
    __shared__ float most_room[WARPS];
    const grid_work &g = w.grid;
    int64_t a = blockIdx.x;
    await_last();
    int64_t keep = (int64_t)(w.setting[1] * (double)g.width + 0.5);
    float *x = g.slope + a * g.width, most = 0;
    double sum = 0;
    for (int64_t b = threadIdx.x; b < g.width && is_lse; b += BLOCK) most = x[b] > most ? x[b] : most;
    int64_t count = is_lse ? 1 : keep_largest(x, g.width, keep < 1 ? 1 : keep);
    most = is_lse ? block_max(most, most_room) : 0;
    for (int64_t b = threadIdx.x; b < g.width; b += BLOCK) {
        if (is_lse)
            sum += (double)(x[b] = exp_of(x[b] - most));
        else
            sum += lose_margin(&x[b]);
    }
    sum = block_sum(sum, room);
    double all = is_lse ? cwi_exp(-(double)most) + sum : 1;
    for (int64_t b = threadIdx.x; b < g.width && is_lse; b += BLOCK) x[b] *= (float)(1 / all);
    if (threadIdx.x == 0) {
        g.value[a] = is_lse ? (double)most + cwi_ln(all) : sum;
        g.count[a] = (float)count;
    }
}

/* The number of all crosses, and the mean loss; a block. */
__global__ void count_crosses(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    double count = 0, sum = 0;
    await_last();
    for (int64_t r = threadIdx.x; r < g.rows; r += BLOCK) count += (double)g.count[r], sum += g.value[r];
    count = block_sum(count, room);
    sum = block_sum(sum, room);
    if (count < 1) count = 1; /* all was observed: nothing to learn */
    if (threadIdx.x == 0) *g.crosses = count, *g.mean = sum / count;
}

/* The slopes of observed pairs, against those of all their crosses, on the diagonal; a row a block. */
__global__ void oppose_rows(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    int64_t a = blockIdx.x;
    double sum = 0;
    await_last();
    for (int64_t b = threadIdx.x; b < g.width; b += BLOCK) sum += (double)g.cross[a * g.width + b];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) g.cross[a * g.width + a % g.side] = (float)-sum;
}

/* ---- the end of a loss ------------------------------------------------------------------------------------ */

/* The mean of values; a block. */
__global__ void take_mean(work w)
{
    __shared__ double room[WARPS];
    double sum = 0;
    await_last();
    for (int64_t r = threadIdx.x; r < w.grid.rows; r += BLOCK) sum += w.grid.value[r];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) *w.grid.mean = sum / (double)w.grid.rows;
}

/* Slopes of observed pairs: on the diagonal of a square they are part of the products, elsewhere they
 * are added. */
__global__ void add_own(work w)
{
    const grid_work &g = w.grid;
    await_last();
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.rows * w.d;
         k += (int64_t)gridDim.x * blockDim.x) {
        int64_t item = w.slots * w.d + k;
        float by = g.own_slope[k / w.d];
        w.ends_slope[k] += by * g.vectors[item];
        w.ends_slope[item] = by * g.vectors[k];
    }
}

#endif

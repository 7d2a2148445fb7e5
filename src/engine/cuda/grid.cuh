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

/* The vector of each end of each slot as it is scored, a warp each: users, then items. */
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
}

/* ---- what is no cross ------------------------------------------------------------------------------ */

/* The batch's slot of the item in a column of a row. */
__device__ inline int64_t slot_of(const work &w, int64_t r, int64_t c)
{
    return w.grid.is_square ? r / w.grid.side * w.grid.side + c : w.grid.rows + c;
}

/* The task of a row that a step touches; tasks are in the order of rows. */
__device__ inline const row_task *find_task(const work &w, int s, uint32_t row)
{
    const step_plan *p = &w.plan[s];
    uint32_t low = p->first_task, high = low + p->tasks - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (w.task[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return &w.task[low];
}

/* Leave out an item that the user of a row had, wherever it is. */
__device__ inline void mask_item(const work &w, int s, int64_t r, uint32_t row)
{
    const grid_work &g = w.grid;
    const row_task *t = find_task(w, s, row);
    int64_t first = g.is_square ? r / g.side * g.side : g.rows;
    for (uint32_t e = w.chunk[t->chunk].x; e < w.chunk[t->chunk_end - 1].y; e++) {
        int64_t c = (int64_t)w.given[s * w.ends + e].slot - first;
        if (c >= 0 && c < g.width) g.cross[r * g.width + c] = -INFINITY;
    }
}

/* The observed pair of a row is scored, and what its user had is left out; a warp each. */
__global__ void finish_scores(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const cwi_csr *had = &((const cwi_drawing *)w.sampler)->training->by_user;
    await_last();
    for (int64_t r = warp_of_grid(); r < w.grid.rows; r += warps_of_grid()) {
        const float *user = w.grid.vectors + r * w.d, *item = user + w.slots * w.d;
        int32_t of = w.user[s * w.slots + r];
        float x = warp_sum(dot<false>(user, item, NULL, w.d, lane));
        if (lane == 0) w.grid.own[r] = x;
        for (int64_t e = had->start[of] + lane; e < had->start[of + 1]; e += WARP) {
            uint32_t row = (uint32_t)(w.n_users + had->value[e]);
            if (is_touched(w, s, row)) mask_item(w, s, r, row);
        }
    }
}

/* ---- softmax ------------------------------------------------------------------------------------------ */

/* What is taken off the scores of a column. */
__device__ inline float taken_off(const work &w, int s, int64_t r, int64_t c, float less)
{
    return less == 0 ? 0 : less * w.mark[s * w.rows + slot_of(w, r, c)];
}

/* The value of a row, and its slopes, but for their factor where somebody else has a word in it. */
template <int TEAM> __global__ void softmax_rows(work w, int s, float less, double share, bool scales)
{
    __shared__ float most_room[WARPS];
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    int64_t r = row_of_team<TEAM>();
    int t = place_in_team<TEAM>();
    await_last();
    if (r >= g.rows) return;
    const float *x = g.cross + r * g.width;
    float *slope = g.slope + r * g.width, most = g.own[r];
    double others = 0;
    for (int64_t c = t; c < g.width; c += TEAM) {
        float y = x[c] - taken_off(w, s, r, c, less);
        most = y > most ? y : most;
    }
    most = team_max<TEAM>(most, most_room);
    for (int64_t c = t; c < g.width; c += TEAM) {
        float y = exp_of(x[c] - taken_off(w, s, r, c, less) - most);
        slope[c] = y;
        others += (double)y;
    }
    others = team_sum<TEAM>(others, room);
    double all = cwi_exp((double)g.own[r] - (double)most) + others;
    float factor = (float)(share / all / (double)g.rows);
    for (int64_t c = t; c < g.width && scales; c += TEAM) slope[c] *= factor;
    if (t > 0) return;
    g.value[r] = share * ((double)most - (double)g.own[r] + cwi_ln(all));
    g.own_slope[r] = (float)(-share * others / all / (double)g.rows);
    g.row_factor[r] = factor;
}

__global__ void scale_rows(work w)
{
    const grid_work &g = w.grid;
    await_last();
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.rows * g.width;
         k += (int64_t)gridDim.x * blockDim.x)
        g.slope[k] *= g.row_factor[k / g.width];
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

/* The losses of columns on top of those of rows; a thread each. */
__global__ void join_columns(work w, int64_t pieces, double share)
{
    const grid_work &g = w.grid;
    int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    await_last();
    if (b >= g.rows) return;
    float top = g.own[b];
    double others = 0;
    for (int64_t k = 0; k < pieces; k++)
        top = g.column_top[k * g.rows + b] > top ? g.column_top[k * g.rows + b] : top;
    for (int64_t k = 0; k < pieces; k++)
        others += g.column_sum[k * g.rows + b] *
                  cwi_exp((double)g.column_top[k * g.rows + b] - (double)top);
    double all = others + cwi_exp((double)g.own[b] - (double)top);
    g.value[b] += share * ((double)top - (double)g.own[b] + cwi_ln(all));
    g.own_slope[b] -= (float)(share * others / all / (double)g.rows);
    g.column_factor[b] = (float)(share / all / (double)g.rows);
    g.column_top[b] = top;
}

__global__ void join_slopes(work w)
{
    const grid_work &g = w.grid;
    await_last();
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.rows * g.width;
         k += (int64_t)gridDim.x * blockDim.x) {
        int64_t r = k / g.width, b = r / g.side * g.side + k % g.width;
        g.slope[k] = fmaf(g.column_factor[b], exp_of(g.cross[k] - g.column_top[b]),
                          g.row_factor[r] * g.slope[k]);
    }
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

/* What goes by a cross and by the same one seen from the other pair, a square of them a block:
 * margins from scores, in the place of slopes; or slopes of scores from those of margins, in the
 * place of scores. */
template <bool IS_BACK> __global__ void meet_crosses(work w)
{
    __shared__ float other[SQUARE][SQUARE + 1];
    const grid_work &g = w.grid;
    const float *from = IS_BACK ? g.slope : g.cross;
    float *to = IS_BACK ? g.cross : g.slope;
    int64_t across = (g.side + SQUARE - 1) / SQUARE, square = blockIdx.x % (across * across);
    int64_t top = blockIdx.x / (across * across) * g.side; /* of the part */
    int64_t down = square / across * SQUARE, right = square % across * SQUARE;
    int column = (int)threadIdx.x % SQUARE, first = (int)threadIdx.x / SQUARE;
    await_last();
    float half = IS_BACK ? (float)(0.5 / *g.crosses) : 0.5f;
    for (int r = first; r < SQUARE; r += BLOCK / SQUARE)
        if (right + r < g.side && down + column < g.side)
            other[r][column] = from[(top + right + r) * g.width + down + column];
    __syncthreads();
    for (int r = first; r < SQUARE; r += BLOCK / SQUARE) {
        int64_t a = top + down + r, b = right + column;
        if (down + r >= g.side || b >= g.side) continue;
        float both = from[a * g.width + b] + other[column][r];
        to[a * g.width + b] = IS_BACK ? half * both : half * both - half * (g.own[a] + g.own[top + b]);
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
        float e = exp_of(is_lse ? x[b] - most : -fabsf(x[b]));
        if (is_lse) {
            sum += (double)e;
            x[b] = e;
        } else {
            sum += (x[b] > 0 ? (double)x[b] : x[b] == x[b] ? 0.0 : (double)x[b]) +
                   cwi_log1p((double)e);
            x[b] = (x[b] < 0 ? e : 1) / (1 + e);
        }
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

/* The slopes of observed pairs: against those of all their crosses; a row a block. */
__global__ void oppose_rows(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    int64_t a = blockIdx.x;
    double sum = 0;
    await_last();
    for (int64_t b = threadIdx.x; b < g.width; b += BLOCK) sum += (double)g.cross[a * g.width + b];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) g.own_slope[a] = (float)-sum;
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

/* Slopes of observed pairs: on the diagonal of a square they are part of the products. */
__global__ void place_own(work w, float *slope)
{
    const grid_work &g = w.grid;
    await_last();
    for (int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; r < g.rows;
         r += (int64_t)gridDim.x * blockDim.x)
        slope[r * g.width + r % g.side] = g.own_slope[r];
}

/* Elsewhere they are added. */
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

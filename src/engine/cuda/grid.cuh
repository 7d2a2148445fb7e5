/*
 * grid.cuh - batches whose users all meet its items: scores and slopes by matrix products, losses of
 * rows, of columns or of crossed pairs in between.
 */
#ifndef CWI_ENGINE_CUDA_GRID_CUH
#define CWI_ENGINE_CUDA_GRID_CUH

#include "engine/cuda/slots.cuh"

/* ---- reductions of a block -------------------------------------------------------------------- */

__device__ inline float block_max(float x, float *room)
{
    int lane = (int)threadIdx.x % WARP;
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, x, apart);
        x = other > x ? other : x;
    }
    if (lane == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    x = lane < WARPS ? room[lane] : -INFINITY;
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, x, apart);
        x = other > x ? other : x;
    }
    __syncthreads();
    return x;
}

/* ---- vectors and products ----------------------------------------------------------------------- */

/* The vector of each end of each slot as it is scored, a warp each: users, then items. */
__global__ void gather_ends(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
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

/* Observed pairs, a warp each. */
__global__ void score_own(work w)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t r = warp_of_grid(); r < w.grid.rows; r += warps_of_grid()) {
        const float *user = w.grid.vectors + r * w.d, *item = user + w.slots * w.d;
        float x = warp_sum(dot<false>(user, item, w.d, lane));
        if (lane == 0) w.grid.own[r] = x;
    }
}

/* c = a b for a [m][k], b [k][n]; either may lie turned.  Strides are from part to part. */
typedef struct matrices {
    const float *a, *b;
    float *c;
    int32_t m, n, k, lda, ldb, ldc;
    bool turned_a, turned_b;
    int64_t parts, next_a, next_b, next_c;
} matrices;

#if defined(__CUDACC__)
enum { SIDE = 16 /* threads of a tile, both ways */ };
#else
enum { SIDE = 8 };
#endif
enum { EACH = 8, TILE = SIDE * EACH, DEPTH = 8 };
static_assert(SIDE * SIDE == BLOCK, "a tile is a block");

__device__ inline void load_tile(const float *from, int32_t ld, bool turned, int32_t row,
                                 int32_t rows, int32_t depth, int32_t depths,
                                 float (*to)[TILE + 1])
{
    for (int t = (int)threadIdx.x; t < TILE * DEPTH; t += BLOCK) {
        int i = turned ? t % TILE : t / DEPTH, k = turned ? t / TILE : t % DEPTH;
        bool is_in = row + i < rows && depth + k < depths;
        int64_t at = turned ? (int64_t)(depth + k) * ld + row + i : (int64_t)(row + i) * ld + depth + k;
        to[k][i] = is_in ? from[at] : 0;
    }
}

/* A tile a block; every sum in the order of k. */
__global__ void __launch_bounds__(BLOCK) multiply_matrices(matrices x)
{
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    int32_t across = (x.n + TILE - 1) / TILE, top = (int32_t)blockIdx.x / across * TILE;
    int32_t left = (int32_t)blockIdx.x % across * TILE;
    int down = (int)threadIdx.x / SIDE, right = (int)threadIdx.x % SIDE;
    for (int64_t p = blockIdx.y; p < x.parts; p += gridDim.y) {
        float sum[EACH][EACH] = {{0}};
        for (int32_t k = 0; k < x.k; k += DEPTH) {
            load_tile(x.a + p * x.next_a, x.lda, x.turned_a, top, x.m, k, x.k, a);
            load_tile(x.b + p * x.next_b, x.ldb, !x.turned_b, left, x.n, k, x.k, b);
            __syncthreads();
            for (int o = 0; o < DEPTH; o++) {
                float u[EACH], v[EACH];
                for (int i = 0; i < EACH; i++) u[i] = a[o][down + SIDE * i];
                for (int i = 0; i < EACH; i++) v[i] = b[o][right + SIDE * i];
                for (int i = 0; i < EACH; i++)
                    for (int j = 0; j < EACH; j++) sum[i][j] = fmaf(u[i], v[j], sum[i][j]);
            }
            __syncthreads();
        }
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) {
                int32_t row = top + down + SIDE * i, column = left + right + SIDE * j;
                if (row < x.m && column < x.n)
                    x.c[p * x.next_c + (int64_t)row * x.ldc + column] = sum[i][j];
            }
    }
}

/* ---- what is no cross ------------------------------------------------------------------------------ */

/* The batch's slot of the item in a column of a row. */
__device__ inline int64_t slot_of(const work &w, int64_t r, int64_t c)
{
    return w.grid.is_square ? r / w.grid.side * w.grid.side + c : w.grid.rows + c;
}

/* Leave out what users had. */
__global__ void mask_observed(work w, int s)
{
    const cwi_training *train = ((const cwi_drawing *)w.sampler)->training;
    int64_t n = w.grid.rows * w.grid.width;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x) {
        int64_t r = k / w.grid.width, c = k % w.grid.width;
        int32_t user = w.user[s * w.slots + r], item = w.item[s * w.slots + slot_of(w, r, c)];
        if (cwi_training_has(train, user, item)) w.grid.cross[k] = -INFINITY;
    }
}

/* ---- softmax ------------------------------------------------------------------------------------------ */

/* What is taken off the scores of a column. */
__device__ inline float taken_off(const work &w, int s, int64_t r, int64_t c, float less)
{
    return less == 0 ? 0 : less * w.mark[s * w.rows + slot_of(w, r, c)];
}

/* A row a block: its value, and slopes but for a factor. */
__global__ void softmax_rows(work w, int s, float less, double share)
{
    __shared__ float most_room[WARPS];
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    for (int64_t r = blockIdx.x; r < g.rows; r += gridDim.x) {
        const float *x = g.cross + r * g.width;
        float *slope = g.slope + r * g.width, most = g.own[r];
        double others = 0;
        for (int64_t c = threadIdx.x; c < g.width; c += BLOCK) {
            float y = x[c] - taken_off(w, s, r, c, less);
            most = y > most ? y : most;
        }
        most = block_max(most, most_room);
        for (int64_t c = threadIdx.x; c < g.width; c += BLOCK) {
            slope[c] = cwi_expf(x[c] - taken_off(w, s, r, c, less) - most);
            others += (double)slope[c];
        }
        others = block_sum(others, room);
        double all = cwi_exp((double)g.own[r] - (double)most) + others;
        if (threadIdx.x > 0) continue;
        g.value[r] = share * ((double)most - (double)g.own[r] + cwi_ln(all));
        g.own_slope[r] = (float)(-share * others / all / (double)g.rows);
        g.row_factor[r] = (float)(share / all / (double)g.rows);
    }
}

__global__ void scale_rows(work w)
{
    const grid_work &g = w.grid;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.rows * g.width;
         k += (int64_t)gridDim.x * blockDim.x)
        g.slope[k] *= g.row_factor[k / g.width];
}

/* Columns, of which a block has WARP at a time: their losses on top of those of rows. */
__global__ void softmax_columns(work w, double share)
{
    __shared__ double sums[WARPS][WARP];
    __shared__ float tops[WARPS][WARP];
    const grid_work &g = w.grid;
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int64_t first = (int64_t)blockIdx.x * WARP; first < g.rows; first += gridDim.x * WARP) {
        int64_t b = first + lane, in = b % g.side; /* columns of parts one after the other */
        bool is_in = b < g.rows;
        float *x = g.cross + (is_in ? b / g.side * g.side * g.width + in : 0), most = -INFINITY;
        double others = 0;
        for (int64_t r = warp; r < g.side && is_in; r += WARPS)
            most = x[r * g.width] > most ? x[r * g.width] : most;
        tops[warp][lane] = most;
        __syncthreads();
        most = is_in ? g.own[b] : 0;
        for (int k = 0; k < WARPS; k++) most = tops[k][lane] > most ? tops[k][lane] : most;
        for (int64_t r = warp; r < g.side && is_in; r += WARPS) {
            x[r * g.width] = cwi_expf(x[r * g.width] - most);
            others += (double)x[r * g.width];
        }
        sums[warp][lane] = others;
        __syncthreads();
        others = 0;
        for (int k = 0; k < WARPS; k++) others += sums[k][lane];
        double all = others + cwi_exp(is_in ? (double)g.own[b] - (double)most : 0);
        if (warp == 0 && is_in) {
            g.value[b] += share * ((double)most - (double)g.own[b] + cwi_ln(all));
            g.own_slope[b] -= (float)(share * others / all / (double)g.rows);
            g.column_factor[b] = (float)(share / all / (double)g.rows);
        }
        __syncthreads();
    }
}

__global__ void join_slopes(work w)
{
    const grid_work &g = w.grid;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.rows * g.width;
         k += (int64_t)gridDim.x * blockDim.x) {
        int64_t r = k / g.width, b = r / g.side * g.side + k % g.width;
        g.slope[k] = g.row_factor[r] * g.slope[k] + g.column_factor[b] * g.cross[k];
    }
}

/* ---- pairwise and bilateral softmax ------------------------------------------------------------------- */

/* A row a block. */
__global__ void take_psl(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    double temperature = w.setting[0];
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

/* Losses of the crosses of a row, and how many they are; their slopes but for a factor.  A row a
 * block. */
__global__ void take_margins(work w, bool is_lse)
{
    __shared__ double room[WARPS];
    __shared__ float most_room[WARPS];
    const grid_work &g = w.grid;
    int64_t keep = (int64_t)(w.setting[1] * (double)g.width + 0.5);
    for (int64_t a = blockIdx.x; a < g.rows; a += gridDim.x) {
        int64_t top = a / g.side * g.side;
        float *x = g.slope + a * g.width, most = 0;
        double sum = 0;
        for (int64_t b = threadIdx.x; b < g.width; b += BLOCK) {
            float both = g.cross[a * g.width + b] + g.cross[(top + b) * g.width + a - top];
            x[b] = 0.5f * both - 0.5f * (g.own[a] + g.own[top + b]);
            most = x[b] > most ? x[b] : most;
        }
        __syncthreads();
        int64_t count = is_lse ? 1 : keep_largest(x, g.width, keep < 1 ? 1 : keep);
        most = is_lse ? block_max(most, most_room) : 0;
        for (int64_t b = threadIdx.x; b < g.width; b += BLOCK) {
            float e = cwi_expf(is_lse ? x[b] - most : -fabsf(x[b]));
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
}

/* The number of all crosses, and the mean loss; a block. */
__global__ void count_crosses(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    double count = 0, sum = 0;
    for (int64_t r = threadIdx.x; r < g.rows; r += BLOCK) count += (double)g.count[r], sum += g.value[r];
    count = block_sum(count, room);
    sum = block_sum(sum, room);
    if (count < 1) count = 1; /* all was observed: nothing to learn */
    if (threadIdx.x == 0) *g.crosses = count, *g.mean = sum / count;
}

/* S_ab is in the margins of a with b and of b with a; a row a block. */
__global__ void turn_slopes(work w)
{
    __shared__ double room[WARPS];
    const grid_work &g = w.grid;
    float half = (float)(0.5 / *g.crosses);
    for (int64_t a = blockIdx.x; a < g.rows; a += gridDim.x) {
        int64_t top = a / g.side * g.side;
        double sum = 0;
        for (int64_t b = threadIdx.x; b < g.width; b += BLOCK) {
            float x = half * (g.slope[a * g.width + b] + g.slope[(top + b) * g.width + a - top]);
            g.cross[a * g.width + b] = x;
            sum += (double)x;
        }
        sum = block_sum(sum, room);
        if (threadIdx.x == 0) g.own_slope[a] = (float)-sum;
    }
}

/* ---- the end of a loss ------------------------------------------------------------------------------------ */

/* The mean of values; a block. */
__global__ void take_mean(work w)
{
    __shared__ double room[WARPS];
    double sum = 0;
    for (int64_t r = threadIdx.x; r < w.grid.rows; r += BLOCK) sum += w.grid.value[r];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) *w.grid.mean = sum / (double)w.grid.rows;
}

/* Slopes of observed pairs: on the diagonal of a square they are part of the products. */
__global__ void place_own(work w, float *slope)
{
    const grid_work &g = w.grid;
    for (int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; r < g.rows;
         r += (int64_t)gridDim.x * blockDim.x)
        slope[r * g.width + r % g.side] = g.own_slope[r];
}

/* Elsewhere they are added. */
__global__ void add_own(work w)
{
    const grid_work &g = w.grid;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.rows * w.d;
         k += (int64_t)gridDim.x * blockDim.x) {
        int64_t item = w.slots * w.d + k;
        float by = g.own_slope[k / w.d];
        w.ends_slope[k] += by * g.vectors[item];
        w.ends_slope[item] = by * g.vectors[k];
    }
}

#endif

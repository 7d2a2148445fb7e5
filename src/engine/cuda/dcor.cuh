/*
 * dcor.cuh - distance correlation between the halves of vectors (loss/dcor.c), of the users that a
 * step touches and of its items.
 *
 * Distances are made twice, tile by tile, and never kept.  A block has some of the points and goes
 * over a slice of all points of their side; sums are in the order of tiles, threads and slices.
 */
#ifndef CWI_ENGINE_CUDA_DCOR_CUH
#define CWI_ENGINE_CUDA_DCOR_CUH

#include "engine/cuda/terms.cuh"

enum {
#if defined(__CUDACC__)
    POINT_SIDE = 16, /* threads of a tile, both ways */
    POINTS_EACH = 4, /* points of a thread, both ways */
    POINT_SLICES = 4,
#else
    POINT_SIDE = 8,
    POINTS_EACH = 2,
    POINT_SLICES = 2,
#endif
    TILE_POINTS = POINT_SIDE * POINTS_EACH,
    PRODUCTS = 3,
    DCOR_SUMS = 2 + PRODUCTS
};
static_assert(POINT_SIDE * POINT_SIDE == BLOCK, "a tile is a block");

/* What a side comes to. */
typedef struct dcor_side {
    double mean[2], v[2], c; /* as in loss/dcor.c */
    double scale;            /* of gradients; 0: it has no meaning */
} dcor_side;

typedef struct dcor_work {
    int64_t most;     /* tasks */
    double *sums;     /* [POINT_SLICES][most][DCOR_SUMS] of the distances of a point to others, and of their
                       * products: x, y, xx, yy, xy */
    double *mean;     /* [most][2] mean distances of a point to all, in both halves */
    float *pull;      /* [POINT_SLICES][most][d] */
    dcor_side *side;  /* [2] users, items */
} dcor_work;

/* Points of a side: tasks first .. first + n - 1 of a step, of which a block has those from `own`
 * on, none where own is n, and meets those of begin .. end - 1. */
typedef struct side_points {
    int side;
    uint32_t first, n, own, begin, end;
} side_points;

/* Tasks are in the order of rows, users first. */
__device__ inline uint32_t count_user_tasks(const work &w, const step_plan *p)
{
    uint32_t low = 0, high = p->tasks;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w.task[p->first_task + middle].row < (uint32_t)w.n_users)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__device__ inline side_points find_side(const work &w, const step_plan *p, int side)
{
    uint32_t users = count_user_tasks(w, p);
    side_points out = {side, side == 0 ? 0 : users, side == 0 ? users : p->tasks - users, 0, 0, 0};
    return out;
}

/* Tiles of users, then those of items; whole tiles of others. */
__device__ inline side_points find_own(const work &w, const step_plan *p, uint32_t tile, uint32_t slice)
{
    side_points users = find_side(w, p, 0), items = find_side(w, p, 1);
    uint32_t tiles = (users.n + TILE_POINTS - 1) / TILE_POINTS;
    side_points *mine = tile < tiles ? &users : &items;
    uint64_t own = (uint64_t)TILE_POINTS * (tile < tiles ? tile : tile - tiles);
    mine->own = own < mine->n ? (uint32_t)own : mine->n;
    uint32_t all = (mine->n + TILE_POINTS - 1) / TILE_POINTS, most = mine->n;
    uint32_t begin = (uint32_t)((uint64_t)all * slice / POINT_SLICES) * TILE_POINTS;
    uint32_t end = (uint32_t)((uint64_t)all * (slice + 1) / POINT_SLICES) * TILE_POINTS;
    mine->begin = begin < most ? begin : most;
    mine->end = end < most ? end : most;
    return *mine;
}

/* The vector of a point of a side; NULL: there is no such point. */
__device__ inline const float *vector_of(const work &w, const step_plan *p, const side_points &at,
                                         uint32_t k)
{
    if (k >= at.n) return NULL;
    return w.vectors + (int64_t)w.task[p->first_task + at.first + k].row * w.d;
}

/* Some columns of the points of two tiles. */
typedef struct tile_room {
    float own[POINT_SIDE][TILE_POINTS + 1], other[POINT_SIDE][TILE_POINTS + 1];
    const float *others[TILE_POINTS]; /* their vectors */
} tile_room;

/* Columns c .. c + POINT_SIDE - 1 of the points of a tile that a thread fetches, those from `end` on as
 * zeros. */
__device__ inline void fetch_points(const float *const point[POINTS_EACH], int32_t c, int32_t end,
                                    float to[POINT_SIDE][TILE_POINTS + 1])
{
    int i = (int)threadIdx.x / POINT_SIDE, j = (int)threadIdx.x % POINT_SIDE;
    UNROLLED for (int k = 0; k < POINTS_EACH; k++)
        to[j][i + k * POINT_SIDE] = point[k] && c + j < end ? point[k][c + j] : 0;
}

/* Squares of the distances in one half of the points i, i + POINT_SIDE, .. of a block to the points j, ..
 * of another tile, for thread i * POINT_SIDE + j. */
__device__ inline void find_squares(const work &w, const step_plan *p, const side_points &at,
                                    uint32_t first, int half, tile_room *room,
                                    float square[POINTS_EACH][POINTS_EACH])
{
    int i = (int)threadIdx.x / POINT_SIDE, j = (int)threadIdx.x % POINT_SIDE;
    int32_t width = w.d / 2, end = (half + 1) * width;
    const float *own[POINTS_EACH], *other[POINTS_EACH];
    UNROLLED for (int a = 0; a < POINTS_EACH; a++) {
        own[a] = vector_of(w, p, at, at.own + i + a * POINT_SIDE);
        other[a] = vector_of(w, p, at, first + i + a * POINT_SIDE);
        if (j == 0) room->others[i + a * POINT_SIDE] = other[a];
        UNROLLED for (int b = 0; b < POINTS_EACH; b++) square[a][b] = 0;
    }
    ROLLED for (int32_t c = half * width; c < end; c += POINT_SIDE) {
        float some[POINTS_EACH][POINTS_EACH] = {{0}};
        fetch_points(own, c, end, room->own);
        fetch_points(other, c, end, room->other);
        __syncthreads();
        UNROLLED for (int k = 0; k < POINT_SIDE; k++) {
            float x[POINTS_EACH], y[POINTS_EACH];
            UNROLLED for (int a = 0; a < POINTS_EACH; a++) x[a] = room->own[k][i + a * POINT_SIDE];
            UNROLLED for (int b = 0; b < POINTS_EACH; b++) y[b] = room->other[k][j + b * POINT_SIDE];
            UNROLLED for (int a = 0; a < POINTS_EACH; a++)
                UNROLLED for (int b = 0; b < POINTS_EACH; b++) {
                    float apart = x[a] - y[b];
                    some[a][b] = fmaf(apart, apart, some[a][b]);
                }
        }
        __syncthreads();
        UNROLLED for (int a = 0; a < POINTS_EACH; a++)
            UNROLLED for (int b = 0; b < POINTS_EACH; b++) square[a][b] += some[a][b];
    }
}

/* Sums over the points of a slice of the distances of a point and of their products. */
__global__ void __launch_bounds__(BLOCK) sum_distances(work w, int s, dcor_work d)
{
    __shared__ tile_room room;
    int i = (int)threadIdx.x / POINT_SIDE, j = (int)threadIdx.x % POINT_SIDE;
    const step_plan *p = &w.plan[s];
    side_points at = find_own(w, p, blockIdx.x, blockIdx.y);
    if (at.own == at.n) return;
    double sum[POINTS_EACH][DCOR_SUMS] = {{0}};
    for (uint32_t first = at.begin; first < at.end; first += TILE_POINTS) {
        float square[2][POINTS_EACH][POINTS_EACH];
        for (int half = 0; half < 2; half++) find_squares(w, p, at, first, half, &room, square[half]);
        UNROLLED for (int a = 0; a < POINTS_EACH; a++)
            UNROLLED for (int b = 0; b < POINTS_EACH; b++) {
                if (first + j + b * POINT_SIDE >= at.n) continue;
                double x = sqrt((double)square[0][a][b]), y = sqrt((double)square[1][a][b]);
                sum[a][0] += x;
                sum[a][1] += y;
                sum[a][2] += x * x;
                sum[a][3] += y * y;
                sum[a][4] += x * y;
            }
    }
    UNROLLED for (int a = 0; a < POINTS_EACH; a++) {
        int64_t task = (int64_t)at.first + at.own + i + a * POINT_SIDE;
        for (int k = 0; k < DCOR_SUMS; k++) {
            double all = sum[a][k];
            for (int apart = POINT_SIDE / 2; apart > 0; apart /= 2)
                all += __shfl_xor_sync(0xffffffffu, all, apart);
            if (j == 0 && at.own + i + a * POINT_SIDE < at.n)
                d.sums[(blockIdx.y * d.most + task) * DCOR_SUMS + k] = all;
        }
    }
}

/* Number k of the sums of a task, of all slices. */
__device__ inline double join_sums(const dcor_work &d, int64_t task, int k)
{
    double sum = 0;
    for (int slice = 0; slice < POINT_SLICES; slice++)
        sum += d.sums[(slice * d.most + task) * DCOR_SUMS + k];
    return sum;
}

/* The mean of the product of two centred matrices of distances; a block. */
__device__ inline double find_centred(const side_points &at, const dcor_work &d, int which, int a,
                                      int b, const double mean[2], double *room)
{
    double products = 0, rows = 0, n = (double)at.n;
    for (uint32_t k = threadIdx.x; k < at.n; k += BLOCK) {
        int64_t task = (int64_t)at.first + k;
        products += join_sums(d, task, 2 + which);
        rows += d.mean[2 * task + a] * d.mean[2 * task + b];
    }
    products = block_sum(products, room);
    rows = block_sum(rows, room);
    return products / (n * n) - 2 * rows / n + mean[a] * mean[b];
}

/* What a side comes to, which its first task tells; a block. */
__global__ void close_side(work w, int s, dcor_work d)
{
    __shared__ double room[WARPS];
    const double negligible = 1e-12;
    const step_plan *p = &w.plan[s];
    side_points at = find_side(w, p, (int)blockIdx.x);
    dcor_side out = {{0, 0}, {0, 0}, 0, 0};
    if (at.n == 0) return;
    double n = (double)at.n;
    for (int half = 0; half < 2; half++) {
        double sum = 0;
        for (uint32_t k = threadIdx.x; k < at.n; k += BLOCK) {
            int64_t task = (int64_t)at.first + k;
            double own = join_sums(d, task, half) / n;
            d.mean[2 * task + half] = own;
            sum += own;
        }
        out.mean[half] = block_sum(sum, room) / n;
    }
    out.v[0] = find_centred(at, d, 0, 0, 0, out.mean, room);
    out.v[1] = find_centred(at, d, 1, 1, 1, out.mean, room);
    out.c = find_centred(at, d, 2, 0, 1, out.mean, room);
    double most = sqrt(out.v[0] * out.v[1]);
    double value = most > 0 && out.c > negligible * most ? sqrt(out.c / most) : 0;
    out.scale = w.strength * value / (n * n);
    if (threadIdx.x != 0) return;
    d.side[at.side] = out;
    w.penalties[s % 2 * w.most_tasks + at.first] += w.strength * value;
}

/* How much a pair pulls its points together, by its distances in both halves. */
__device__ inline void find_pulls_of(const dcor_side &to, const double *own, const double *other,
                                     float square[2])
{
    double apart[2], centre[2];
    for (int k = 0; k < 2; k++) {
        apart[k] = sqrt((double)square[k]);
        centre[k] = apart[k] - own[k] - other[k] + to.mean[k];
    }
    for (int k = 0; k < 2; k++) {
        double slope = centre[1 - k] / to.c - centre[k] / to.v[k];
        square[k] = apart[k] == 0 ? 0 : (float)(slope / apart[k]);
    }
}

/* The sum of what pulls the points of a block, for columns c, c + POINT_SIDE, .. of a thread: pull[l][k]
 * is what point l of a tile does to point k of the block. */
__device__ inline void pull_half(const work &w, const step_plan *p, const side_points &at,
                                 uint32_t first, int32_t c, int32_t end, const tile_room *room,
                                 const float pull[TILE_POINTS][TILE_POINTS + 1],
                                 float sum[POINTS_EACH][POINTS_EACH])
{
    int i = (int)threadIdx.x / POINT_SIDE;
    float x[POINTS_EACH][POINTS_EACH], some[POINTS_EACH][POINTS_EACH] = {{0}};
    UNROLLED for (int a = 0; a < POINTS_EACH; a++) {
        const float *own = vector_of(w, p, at, at.own + i + a * POINT_SIDE);
        UNROLLED for (int b = 0; b < POINTS_EACH; b++) {
            bool is_there = own && c + b * POINT_SIDE < end;
            x[a][b] = is_there ? own[c + b * POINT_SIDE] : 0;
        }
    }
    for (uint32_t l = 0; l < TILE_POINTS && first + l < at.n; l++) {
        const float *other = room->others[l];
        float y[POINTS_EACH];
        UNROLLED for (int b = 0; b < POINTS_EACH; b++)
            y[b] = c + b * POINT_SIDE < end ? other[c + b * POINT_SIDE] : 0;
        UNROLLED for (int a = 0; a < POINTS_EACH; a++) {
            float by = pull[l][i + a * POINT_SIDE];
            UNROLLED for (int b = 0; b < POINTS_EACH; b++)
                some[a][b] = fmaf(by, x[a][b] - y[b], some[a][b]);
        }
    }
    UNROLLED for (int a = 0; a < POINTS_EACH; a++)
        UNROLLED for (int b = 0; b < POINTS_EACH; b++) sum[a][b] += some[a][b];
}

/* What the points of a slice add to gradients, columns base .. base + TILE_POINTS - 1 of both halves. */
__device__ inline void pull_columns(const work &w, const step_plan *p, const side_points &at,
                                    const dcor_work &d, const dcor_side &to, int32_t base,
                                    tile_room *room, float pull[TILE_POINTS][TILE_POINTS + 1])
{
    int i = (int)threadIdx.x / POINT_SIDE, j = (int)threadIdx.x % POINT_SIDE;
    int32_t width = w.d / 2;
    const double *mean = d.mean + 2 * (int64_t)at.first;
    float sum[2][POINTS_EACH][POINTS_EACH] = {{{0}}};
    for (uint32_t first = at.begin; first < at.end; first += TILE_POINTS) {
        float square[2][POINTS_EACH][POINTS_EACH];
        for (int half = 0; half < 2; half++) find_squares(w, p, at, first, half, room, square[half]);
        UNROLLED for (int a = 0; a < POINTS_EACH; a++)
            UNROLLED for (int b = 0; b < POINTS_EACH; b++) {
                uint32_t own = at.own + i + a * POINT_SIDE, other = first + j + b * POINT_SIDE;
                float both[2] = {square[0][a][b], square[1][a][b]};
                if (own < at.n && other < at.n)
                    find_pulls_of(to, mean + 2 * (int64_t)own, mean + 2 * (int64_t)other, both);
                square[0][a][b] = both[0], square[1][a][b] = both[1];
            }
        UNROLLED for (int half = 0; half < 2; half++) {
            UNROLLED for (int a = 0; a < POINTS_EACH; a++)
                UNROLLED for (int b = 0; b < POINTS_EACH; b++)
                    pull[j + b * POINT_SIDE][i + a * POINT_SIDE] = square[half][a][b];
            __syncthreads();
            pull_half(w, p, at, first, half * width + base + j, (half + 1) * width, room, pull,
                      sum[half]);
            __syncthreads();
        }
    }
    UNROLLED for (int a = 0; a < POINTS_EACH; a++) {
        uint32_t own = at.own + i + a * POINT_SIDE;
        int64_t task = (int64_t)at.first + own;
        float *out = d.pull + (blockIdx.y * d.most + task) * w.d;
        UNROLLED for (int half = 0; half < 2; half++)
            UNROLLED for (int b = 0; b < POINTS_EACH; b++) {
                int32_t c = base + j + b * POINT_SIDE;
                if (own < at.n && c < width) out[half * width + c] = sum[half][a][b];
            }
    }
}

__global__ void __launch_bounds__(BLOCK) pull_points(work w, int s, dcor_work d)
{
    __shared__ tile_room room;
    __shared__ float pull[TILE_POINTS][TILE_POINTS + 1];
    const step_plan *p = &w.plan[s];
    side_points at = find_own(w, p, blockIdx.x, blockIdx.y);
    if (at.own == at.n || d.side[at.side].scale == 0) return;
    const dcor_side to = d.side[at.side];
    ROLLED for (int32_t base = 0; base < w.d / 2; base += TILE_POINTS)
        pull_columns(w, p, at, d, to, base, &room, pull);
}

/* Gradients, which are added to the first sum of a row; a row a warp. */
__global__ void join_pulls(work w, int s, dcor_work d)
{
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        double scale = d.side[task.row >= (uint32_t)w.n_users].scale;
        float *to = w.sum + (int64_t)(task.chunk - p->first_chunk) * w.d;
        for (int32_t c = (int32_t)threadIdx.x % WARP; c < w.d / 2 * 2 && scale != 0; c += WARP) {
            double sum = 0;
            for (int slice = 0; slice < POINT_SLICES; slice++)
                sum += (double)d.pull[(slice * d.most + t) * w.d + c];
            to[c] += (float)(scale * sum);
        }
    }
}

#endif

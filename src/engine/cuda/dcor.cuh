/*
 * dcor.cuh - distance correlation between the halves of vectors (loss/dcor.c), of the users that a
 * step touches and of its items.
 *
 * Distances are made twice, tile by tile, and never kept.  A block has some of the points and goes
 * over all others of their side; sums over those are in the order of threads and tiles.
 */
#ifndef CWI_ENGINE_CUDA_DCOR_CUH
#define CWI_ENGINE_CUDA_DCOR_CUH

#include "engine/cuda/terms.cuh"

enum {
#if defined(__CUDACC__)
    TILE_POINTS = 16,
#else
    TILE_POINTS = 8,
#endif
    PULLED = 8, /* columns of a thread */
    PRODUCTS = 3
};
static_assert(TILE_POINTS * TILE_POINTS == BLOCK, "a thread for each pair of a tile");

/* What a side comes to. */
typedef struct dcor_side {
    double mean[2], v[2], c; /* as in loss/dcor.c */
    double scale;            /* of gradients; 0: it has no meaning */
} dcor_side;

typedef struct dcor_work {
    double *mean;     /* [tasks][2] mean distances of a point to all, in both halves */
    double *products; /* [tasks][PRODUCTS] of its distances: xx, yy, xy */
    dcor_side *side;  /* [2] users, items */
} dcor_work;

/* Points of a side: tasks first .. first + n - 1 of a step, of which a block has those from `own`
 * on; none where own is n. */
typedef struct side_points {
    int side;
    uint32_t first, n, own;
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
    side_points out = {side, side == 0 ? 0 : users, side == 0 ? users : p->tasks - users, 0};
    return out;
}

/* Tiles of users, then those of items. */
__device__ inline side_points find_own(const work &w, const step_plan *p, uint32_t tile)
{
    side_points users = find_side(w, p, 0), items = find_side(w, p, 1);
    uint32_t tiles = (users.n + TILE_POINTS - 1) / TILE_POINTS;
    side_points *mine = tile < tiles ? &users : &items;
    uint64_t own = (uint64_t)TILE_POINTS * (tile < tiles ? tile : tile - tiles);
    mine->own = own < mine->n ? (uint32_t)own : mine->n;
    return *mine;
}

/* The vector of a point of a side; NULL: there is no such point. */
__device__ inline const float *vector_of(const work &w, const step_plan *p, const side_points &at,
                                         uint32_t k)
{
    if (k >= at.n) return NULL;
    return w.vectors + (int64_t)w.task[p->first_task + at.first + k].row * w.d;
}

/* Columns of both halves of the points of a tile. */
typedef struct tile_room {
    float own[2][TILE_POINTS][TILE_POINTS + 1], other[2][TILE_POINTS][TILE_POINTS + 1];
} tile_room;

/* How far the vectors of a pair are apart in both halves: thread i * TILE_POINTS + j has the one of
 * point i of the block and j of the other tile, and is given the vectors that it fetches. */
__device__ inline void find_distances(const work &w, const float *own, const float *other,
                                      tile_room *room, double apart[2])
{
    int i = (int)threadIdx.x / TILE_POINTS, j = (int)threadIdx.x % TILE_POINTS;
    int32_t half = w.d / 2;
    apart[0] = apart[1] = 0;
    ROLLED for (int32_t base = 0; base < half; base += TILE_POINTS) {
        for (int side = 0; side < 2; side++) {
            int32_t c = side * half + base + j;
            bool is_there = base + j < half;
            room->own[side][i][j] = own && is_there ? own[c] : 0;
            room->other[side][i][j] = other && is_there ? other[c] : 0;
        }
        __syncthreads();
        for (int side = 0; side < 2; side++) {
            float sum = 0;
            for (int c = 0; c < TILE_POINTS; c++) {
                float x = room->own[side][i][c] - room->other[side][j][c];
                sum = fmaf(x, x, sum);
            }
            apart[side] += (double)sum;
        }
        __syncthreads();
    }
    for (int side = 0; side < 2; side++) apart[side] = sqrt(apart[side]);
}

/* Sums over all points of the distances of a point and of their products. */
__global__ void __launch_bounds__(BLOCK) sum_distances(work w, int s, dcor_work d)
{
    __shared__ tile_room room;
    __shared__ double all[TILE_POINTS][TILE_POINTS][2 + PRODUCTS];
    int i = (int)threadIdx.x / TILE_POINTS, j = (int)threadIdx.x % TILE_POINTS;
    const step_plan *p = &w.plan[s];
    side_points at = find_own(w, p, blockIdx.x);
    if (at.own == at.n) return;
    double sum[2 + PRODUCTS] = {0};
    const float *own = vector_of(w, p, at, at.own + i);
    for (uint32_t first = 0; first < at.n; first += TILE_POINTS) {
        double apart[2];
        find_distances(w, own, vector_of(w, p, at, first + i), &room, apart);
        if (!own || first + j >= at.n) continue;
        sum[0] += apart[0];
        sum[1] += apart[1];
        sum[2] += apart[0] * apart[0];
        sum[3] += apart[1] * apart[1];
        sum[4] += apart[0] * apart[1];
    }
    for (int k = 0; k < 2 + PRODUCTS; k++) all[i][j][k] = sum[k];
    __syncthreads();
    if (!own || j >= 2 + PRODUCTS) return;
    double total = 0;
    for (int k = 0; k < TILE_POINTS; k++) total += all[i][k][j];
    int64_t task = (int64_t)at.first + at.own + i;
    if (j < 2)
        d.mean[2 * task + j] = total / (double)at.n;
    else
        d.products[PRODUCTS * task + j - 2] = total;
}

/* The mean of the product of two centred matrices of distances; a block. */
__device__ inline double find_centred(const side_points &at, const dcor_work &d, int which, int a,
                                      int b, const double mean[2], double *room)
{
    double products = 0, rows = 0, n = (double)at.n;
    for (uint32_t k = threadIdx.x; k < at.n; k += BLOCK) {
        int64_t task = (int64_t)at.first + k;
        products += d.products[PRODUCTS * task + which];
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
        for (uint32_t k = threadIdx.x; k < at.n; k += BLOCK)
            sum += d.mean[2 * ((int64_t)at.first + k) + half];
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

/* How much a pair pulls its points together, for the distance in one half. */
__device__ inline float find_pull(const dcor_side &to, const double *own, const double *other,
                                  const double apart[2], int half)
{
    double centre[2];
    if (apart[half] == 0) return 0;
    for (int k = 0; k < 2; k++) centre[k] = apart[k] - own[k] - other[k] + to.mean[k];
    return (float)((centre[1 - half] / to.c - centre[half] / to.v[half]) / apart[half]);
}

/* Gradients, which are added to the first sum of a row. */
__global__ void __launch_bounds__(BLOCK) pull_points(work w, int s, dcor_work d)
{
    __shared__ tile_room room;
    __shared__ float pull[2][TILE_POINTS][TILE_POINTS];
    __shared__ const float *others[TILE_POINTS];
    int i = (int)threadIdx.x / TILE_POINTS, j = (int)threadIdx.x % TILE_POINTS;
    const step_plan *p = &w.plan[s];
    side_points at = find_own(w, p, blockIdx.x);
    if (at.own == at.n || d.side[at.side].scale == 0) return;
    const dcor_side to = d.side[at.side];
    const float *own = vector_of(w, p, at, at.own + i);
    const double *mean = d.mean + 2 * (int64_t)at.first;
    int32_t half = w.d / 2;
    for (int32_t base = j; base - j < 2 * half; base += PULLED * TILE_POINTS) {
        double total[PULLED] = {0};
        for (uint32_t first = 0; first < at.n; first += TILE_POINTS) {
            double apart[2];
            const float *other = vector_of(w, p, at, first + i);
            bool is_pair = own && first + j < at.n;
            if (j == 0) others[i] = other;
            find_distances(w, own, other, &room, apart);
            for (int side = 0; side < 2; side++)
                pull[side][i][j] = is_pair ? find_pull(to, mean + 2 * (at.own + i),
                                                       mean + 2 * (first + j), apart, side)
                                           : 0;
            __syncthreads();
            UNROLLED for (int o = 0; o < PULLED; o++) {
                int32_t c = base + o * TILE_POINTS;
                if (!own || c >= 2 * half) continue;
                float sum = 0, x = own[c];
                for (uint32_t k = 0; k < TILE_POINTS && first + k < at.n; k++)
                    sum = fmaf(pull[c >= half][i][k], x - others[k][c], sum);
                total[o] += (double)sum;
            }
            __syncthreads();
        }
        if (!own) continue;
        row_task task = w.task[p->first_task + at.first + at.own + i];
        float *sum = w.sum + (int64_t)(task.chunk - p->first_chunk) * w.d;
        UNROLLED for (int o = 0; o < PULLED; o++) {
            int32_t c = base + o * TILE_POINTS;
            if (c < 2 * half) sum[c] += (float)(to.scale * total[o]);
        }
    }
}

#endif

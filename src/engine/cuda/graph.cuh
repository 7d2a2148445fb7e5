/* graph.cuh - vectors averaged over the layers of a graph, and the way back from their slopes. */
#ifndef CWI_ENGINE_CUDA_GRAPH_CUH
#define CWI_ENGINE_CUDA_GRAPH_CUH

#include "engine/cuda/rule.cuh"

enum { EDGES = 256 /* of a part */ };

/* Some edges of a row; a row with many has several parts. */
typedef struct edge_part {
    int64_t begin, end;
    int32_t row;
    uint32_t first, count; /* the first part of the row, and how many it has */
} edge_part;

typedef struct net {
    int64_t n_parts, n_long; /* parts; rows of several */
    const edge_part *part;
    const uint32_t *longer; /* [n_long] their first parts */
    const int32_t *neighbour;
    const float *weight;
    float *partial; /* [n_parts][d] */
} net;

/* to = scale * (add + A from); also += A from.  add and also may be NULL. */
typedef struct product {
    const float *from, *add;
    float *to, *also;
    float scale;
} product;

template <bool WHOLE>
__device__ inline void finish_row(const work &w, const product &p, int64_t row, int32_t base,
                                  int lane, quad sum)
{
    int64_t at = row * w.d;
    if (p.also) {
        quad x = load_quad<WHOLE>(p.also + at, w.d, base, lane);
        for (int k = 0; k < 4; k++) x.x[k] += sum.x[k];
        store_quad<WHOLE>(p.also + at, w.d, base, lane, &x);
    }
    if (p.add) {
        quad x = load_quad<WHOLE>(p.add + at, w.d, base, lane);
        for (int k = 0; k < 4; k++) sum.x[k] += x.x[k];
    }
    for (int k = 0; k < 4; k++) sum.x[k] *= p.scale;
    store_quad<WHOLE>(p.to + at, w.d, base, lane, &sum);
}

/* A part a warp. */
template <bool WHOLE> __global__ void multiply_parts(work w, net n, product p)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t k = warp_of_grid(); k < n.n_parts; k += warps_of_grid()) {
        edge_part part = n.part[k];
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad sum = {{0, 0, 0, 0}};
            for (int64_t e = part.begin; e < part.end; e += WARP) {
                int left = part.end - e < WARP ? (int)(part.end - e) : WARP;
                int32_t mine = lane < left ? n.neighbour[e + lane] : 0;
                float weight = lane < left ? n.weight[e + lane] : 0;
                for (int o = 0; o < left; o++) {
                    int32_t row = __shfl_sync(0xffffffffu, mine, o);
                    float by = __shfl_sync(0xffffffffu, weight, o);
                    quad x = load_quad<WHOLE>(p.from + (int64_t)row * w.d, w.d, base, lane);
                    for (int q = 0; q < 4; q++) sum.x[q] = fmaf(by, x.x[q], sum.x[q]);
                }
            }
            if (part.count == 1)
                finish_row<WHOLE>(w, p, part.row, base, lane, sum);
            else
                store_quad<WHOLE>(n.partial + k * w.d, w.d, base, lane, &sum);
        }
    }
}

/* Rows of several parts, a warp each. */
template <bool WHOLE> __global__ void join_parts(work w, net n, product p)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t k = warp_of_grid(); k < n.n_long; k += warps_of_grid()) {
        edge_part part = n.part[n.longer[k]];
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad sum = {{0, 0, 0, 0}};
            for (uint32_t o = 0; o < part.count; o++) {
                const float *from = n.partial + (int64_t)(part.first + o) * w.d;
                quad x = load_quad<WHOLE>(from, w.d, base, lane);
                for (int q = 0; q < 4; q++) sum.x[q] += x.x[q];
            }
            finish_row<WHOLE>(w, p, part.row, base, lane, sum);
        }
    }
}

/* Does a column of a final vector of NGCF belong to a row of length 1? */
__device__ inline bool is_of_length_one(const work &w, int64_t k)
{
    int32_t of_head = w.d / w.heads;
    return w.layers > 0 && k % of_head >= of_head / (w.layers + 1);
}

/* Slopes of all vectors by their own L2 term, or zeros; its squares.  Rows of length 1 have no
 * slope, and tables of NGCF have that of the optimiser. */
__global__ void start_slopes(work w)
{
    __shared__ double room[WARPS];
    double sum = 0;
    int64_t n = (int64_t)w.n_rows * w.d;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x) {
        float x = w.final_decay > 0 ? w.vectors[k] : 0;
        w.gradient[k] = w.layers > 0 ? 0 : w.final_decay * x;
        if (w.layers > 0 && !is_of_length_one(w, k)) x = 0;
        sum += (double)x * (double)x;
    }
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) w.squares[blockIdx.x] = sum;
}

/* Slopes of the rows that a step touches, a warp each. */
template <bool WHOLE> __global__ void place_slopes(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        float *to = w.gradient + (int64_t)task.row * w.d;
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad g = load_quad<WHOLE>(to, w.d, base, lane);
            for (uint32_t c = task.chunk; c < task.chunk_end; c++) {
                const float *from = w.sum + (int64_t)(c - p->first_chunk) * w.d;
                quad more = load_quad<WHOLE>(from, w.d, base, lane);
                for (int k = 0; k < 4; k++) g.x[k] += more.x[k];
            }
            store_quad<WHOLE>(to, w.d, base, lane, &g);
        }
    }
}

#endif

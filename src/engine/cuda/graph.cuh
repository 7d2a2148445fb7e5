/* graph.cuh - vectors averaged over the layers of a graph, and the way back from their slopes. */
#ifndef CWI_ENGINE_CUDA_GRAPH_CUH
#define CWI_ENGINE_CUDA_GRAPH_CUH

#include "engine/cuda/rule.cuh"

enum { EDGES = 256 /* of a part */, LOOKS = 8 /* parts that a warp looks at */ };

/* Some edges of a row; a row with many has several parts. */
typedef struct edge_part {
    int64_t begin, end;
    int32_t row;
    uint32_t first, count; /* the first part of the row, and how many it has */
} edge_part;

typedef struct net {
    int64_t n_parts, n_long, n_edges; /* parts; rows of several */
    const edge_part *part;
    const uint32_t *longer; /* [n_long] their first parts */
    const int32_t *neighbour;
    const float *weight, *turned; /* of the transpose */
    float *partial;               /* [n_parts][d] */
} net;

enum { MOST_GRAPH_LAYERS = 16, MORE_EDGES = 4 /* rows that a lane asks for at once */ };

/* to = scale * (add[0] + add[1] + .. + A from), and where it is asked for crossed = across * to, number
 * by number.  Rows of `from` and of what is added that the step
 * does not touch may count as nothing, and rows of the result that it does not touch may be left as
 * they are. */
typedef struct product {
    const float *from, *add[MOST_GRAPH_LAYERS];
    int adds;
    float *to, *crossed;
    const float *across;
    float scale;
    bool reads_touched, adds_touched, writes_touched;
    const uint32_t *touched; /* bits of rows, for those three */
} product;

/* A number that is read once. */
template <typename T> __device__ inline T once(const T *from)
{
#if defined(__CUDA_ARCH__)
    return __ldcs(from);
#else
    return *from;
#endif
}

/* Does the vector of a row have a slope?  Those of touched rows have, or all by their own L2 term. */
__device__ inline bool has_slope(const work &w, int s, int64_t row)
{
    return w.final_decay > 0 || is_touched(w, s, row);
}

/* What is done with a row of the result: it is the gradient of a row of the table, which has its step
 * at once.  `pull` is that of the L2 term of a batch of rows that are touched, or NULL. */
typedef struct table_step {
    const float *pull;
    const uint32_t *touched; /* bits of rows */
    int step;                /* of the window */
} table_step;

/* Rows that a step touches as bits, which a processor soon has at hand. */
__global__ void mark_touched(work w, int s, uint32_t *touched)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned bits = __ballot_sync(0xffffffffu, row < w.n_rows && is_touched(w, s, row));
    if (row % 32 == 0) touched[row / 32] = bits;
}

__device__ inline bool is_marked(const uint32_t *touched, int64_t row)
{
    return touched[row / 32] >> row % 32 & 1;
}

template <bool WHOLE>
__device__ inline void step_row(const work &w, const table_step &t, int64_t row, int32_t base,
                                int lane, quad g)
{
    if (has_failed(w) || w.plan[t.step].is_empty) return;
    piece p = load_piece<WHOLE>(w, row, row, base, lane);
    if (t.pull && is_marked(t.touched, row))
        for (int k = 0; k < 4; k++) g.x[k] = fmaf(t.pull[row], p.theta.x[k], g.x[k]);
    const cwi_rates rate = w.rate[w.plan[t.step].before];
    if (w.rule == CWI_CUDA_ADAM)
        rule_step<CWI_CUDA_ADAM>(rate, w.decay, g, &p);
    else
        plain_step(w.rule, rate, w.decay, g, &p);
    store_piece<WHOLE>(w, row, row, base, lane, &p);
}

/* STEPS: the table has its step; else the row is stored. */
template <bool WHOLE, bool STEPS>
__device__ inline void finish_row(const work &w, const product &p, const table_step &t, int64_t row,
                                  int32_t base, int lane, quad sum)
{
    int64_t at = row * w.d;
    quad all = {{0, 0, 0, 0}};
    bool counts = !p.adds_touched || is_marked(p.touched, row);
    for (int a = 0; a < p.adds && counts; a++) {
        quad x = load_quad<WHOLE>(p.add[a] + at, w.d, base, lane);
        for (int k = 0; k < 4; k++) all.x[k] = a ? all.x[k] + x.x[k] : x.x[k];
    }
    for (int k = 0; k < 4; k++) sum.x[k] = (all.x[k] + sum.x[k]) * p.scale;
    if (STEPS) {
        step_row<WHOLE>(w, t, row, base, lane, sum);
        return;
    }
    store_quad<WHOLE>(p.to + at, w.d, base, lane, &sum);
    if (!p.crossed) return;
    quad x = load_quad<WHOLE>(p.across + at, w.d, base, lane);
    for (int k = 0; k < 4; k++) sum.x[k] *= x.x[k];
    store_quad<WHOLE>(p.crossed + at, w.d, base, lane, &sum);
}

/* Up to a warp's number of edges, of which those that count are moved to the front; returns how
 * many. */
__device__ inline int take_edges(const net &n, const product &p, int64_t first, int64_t end, int lane,
                                 int32_t *row, float *weight)
{
    __shared__ int32_t rows[BLOCK];
    __shared__ float weights[BLOCK];
    bool is_in = first + lane < end;
    int at = (int)threadIdx.x - lane, left = end - first < WARP ? (int)(end - first) : WARP;
    *row = is_in ? once(n.neighbour + first + lane) : 0;
    bool counts = is_in && (!p.reads_touched || is_marked(p.touched, *row));
    *weight = counts ? once(n.weight + first + lane) : 0;
    if (!p.reads_touched) return left;
    unsigned which = __ballot_sync(0xffffffffu, counts);
    if (counts) {
        int to = at + __popc(which & ((1u << lane) - 1));
        rows[to] = *row;
        weights[to] = *weight;
    }
    __syncwarp();
    *row = rows[at + lane];
    *weight = weights[at + lane];
    __syncwarp();
    return __popc(which);
}

/* The sum over edges of a part, of four columns from 4 `place` of `base` on.  Lanes that have the same
 * columns take edges in turn, and their sums are added up in the end. */
template <bool WHOLE, int LANES>
__device__ inline quad sum_part(const work &w, const net &n, const product &p, const edge_part &part,
                                int32_t base, int lane)
{
    enum { TEAMS = WARP / LANES };
    int team = lane / LANES, place = lane % LANES;
    quad sum = {{0, 0, 0, 0}};
    for (int64_t e = part.begin; e < part.end; e += WARP) {
        int32_t row;
        float weight;
        int left = take_edges(n, p, e, part.end, lane, &row, &weight);
        for (int o = 0; o < left; o += TEAMS * MORE_EDGES) {
            quad x[MORE_EDGES];
            float by[MORE_EDGES];
            for (int f = 0; f < MORE_EDGES; f++) {
                int source = o + f * TEAMS + team;
                int32_t from = __shfl_sync(0xffffffffu, row, source % WARP);
                by[f] = __shfl_sync(0xffffffffu, weight, source % WARP);
                if (source < left) x[f] = load_quad<WHOLE>(p.from + (int64_t)from * w.d, w.d, base, place);
            }
            for (int f = 0; f < MORE_EDGES; f++)
                if (o + f * TEAMS + team < left)
                    for (int k = 0; k < 4; k++) sum.x[k] = fmaf(by[f], x[f].x[k], sum.x[k]);
        }
    }
    for (int apart = LANES; apart < WARP; apart *= 2)
        for (int k = 0; k < 4; k++) sum.x[k] += __shfl_xor_sync(0xffffffffu, sum.x[k], apart);
    return sum;
}

template <bool WHOLE, int LANES, bool STEPS>
__device__ inline void multiply_part(const work &w, const net &n, const product &p,
                                     const table_step &t, int64_t k, int lane)
{
    edge_part part = n.part[k];
    for (int32_t base = 0; base < w.d; base += 4 * LANES) {
        quad sum = sum_part<WHOLE, LANES>(w, n, p, part, base, lane);
        if (lane >= LANES) continue;
        if (part.count == 1)
            finish_row<WHOLE, STEPS>(w, p, t, part.row, base, lane, sum);
        else
            store_quad<WHOLE>(n.partial + k * w.d, w.d, base, lane, &sum);
    }
}

/* A part a warp. */
template <bool WHOLE, int LANES, bool STEPS>
__global__ void __launch_bounds__(BLOCK, 4) multiply_parts(work w, net n, product p, table_step t)
{
    int64_t k = warp_of_grid();
    if (k < n.n_parts) multiply_part<WHOLE, LANES, STEPS>(w, n, p, t, k, (int)threadIdx.x % WARP);
}

/* Parts of rows that the step touches: a warp has a look at several, which lie apart. */
template <bool WHOLE, int LANES>
__global__ void __launch_bounds__(BLOCK, 4) multiply_touched(work w, net n, product p, table_step t)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t k = warp_of_grid() + lane * (int64_t)warps_of_grid();
    bool counts = lane < LOOKS && k < n.n_parts && is_marked(p.touched, n.part[k].row);
    unsigned which = __ballot_sync(0xffffffffu, counts);
    for (; which; which &= which - 1) {
        int64_t apart = (__ffs((int)which) - 1) * (int64_t)warps_of_grid();
        multiply_part<WHOLE, LANES, false>(w, n, p, t, warp_of_grid() + apart, lane);
    }
}

/* Rows of several parts, a warp each. */
template <bool WHOLE, bool STEPS>
__global__ void join_parts(work w, net n, product p, table_step t)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t k = warp_of_grid();
    if (k >= n.n_long) return;
    edge_part part = n.part[n.longer[k]];
    if (p.writes_touched && !is_marked(p.touched, part.row)) return;
    for (int32_t base = 0; base < w.d; base += 4 * WARP) {
        quad sum = {{0, 0, 0, 0}};
        for (uint32_t o = 0; o < part.count; o++) {
            const float *from = n.partial + (int64_t)(part.first + o) * w.d;
            quad x = load_quad<WHOLE>(from, w.d, base, lane);
            for (int q = 0; q < 4; q++) sum.x[q] += x.x[q];
        }
        finish_row<WHOLE, STEPS>(w, p, t, part.row, base, lane, sum);
    }
}

/* Where there are no layers: the sum of what is added is the gradient of the table; a row a warp. */
template <bool WHOLE> __global__ void step_table(work w, product p, table_step t)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t row = warp_of_grid();
    const quad none = {{0, 0, 0, 0}};
    for (int32_t base = 0; base < w.d && row < w.n_rows; base += 4 * WARP)
        finish_row<WHOLE, true>(w, p, t, row, base, lane, none);
}

/* Does a column of a final vector of NGCF belong to a row of length 1? */
__device__ inline bool is_of_length_one(const work &w, int64_t k)
{
    int32_t of_head = w.d / w.heads;
    return w.layers > 0 && k % of_head >= of_head / (w.layers + 1);
}

/* Slopes of all vectors by their own L2 term; its squares.  Rows of length 1 have no
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

/* Slopes of the rows that a step touches, on top of what is there or alone; a warp each. */
template <bool WHOLE> __global__ void place_slopes(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        float *to = w.gradient + (int64_t)task.row * w.d;
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad g = {{0, 0, 0, 0}};
            if (w.final_decay > 0) g = load_quad<WHOLE>(to, w.d, base, lane);
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

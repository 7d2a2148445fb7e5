/* graph.cuh - vectors averaged over the layers of a graph, and the way back from their slopes. */
#ifndef CWI_ENGINE_CUDA_GRAPH_CUH
#define CWI_ENGINE_CUDA_GRAPH_CUH

#include "engine/cuda/rule.cuh"

#ifndef SPREAD_IS
#define SPREAD_IS 1024
#define EDGES_IS 128
#endif

enum {
    GROUP = 4, /* edges that follow each other are of one row */
#if defined(__CUDACC__)
    EDGES = EDGES_IS,    /* of a part */
    SPREAD = SPREAD_IS, /* threads of a processor that multiply */
#else
    EDGES = 8,
    SPREAD = 64,
#endif
    SPREAD_WARPS = SPREAD / WARP
};

typedef struct alignas(8) edge {
    uint32_t row; /* that is read */
    float weight;
} edge;

/* Whose the edges of a group are, where they are the last ones. */
typedef struct alignas(8) owner {
    uint32_t row; /* one more than its number; 0: the row goes on */
    uint32_t cut; /* 0: these were all edges of the row; else one more than the number of the part */
} owner;

/* Some edges of a row; a row with many has several parts. */
typedef struct alignas(16) edge_part {
    uint64_t at; /* its first edge << LENGTH_BITS | how many */
    uint32_t row;
    uint32_t cut; /* as of an owner */
} edge_part;

enum { LENGTH_BITS = 16, NO_PART = 0xffffffffu /* its row */ };

/* A part of a row of several. */
typedef struct alignas(16) cut_part {
    uint32_t first, count, place; /* number of the first of them, how many there are, which it is */
} cut_part;

/*
 * Lanes that have a row between them are a team, and a team has a stream of edges: those of one part after the
 * other, in whole groups, whose last edge may be there again without a weight.  Streams of a processor have parts
 * that lie close in an order in which rows with many neighbours in common follow each other, so that half of
 * what they read is at hand.
 */
typedef struct net {
    int64_t n_parts, n_cuts, n_groups;
    unsigned blocks;       /* as many as there are processors */
    int lanes;             /* of a team */
    const edge_part *part;
    const cut_part *cut;   /* [n_cuts] */
    const uint32_t *range; /* [blocks * teams + 1] groups of a stream */
    const uint32_t *share; /* [blocks + 1] parts of a block */
    const edge *edges, *turned; /* of the transpose */
    const owner *whose;    /* [n_groups] */
    const int64_t *mirror; /* where an edge is seen from the other end; NULL: nobody asks */
    float *partial;        /* [n_cuts][d] */
    unsigned *arrived;     /* [columns / those of a team][n_cuts] of the first: parts of a row that are there */
    edge_part *listed;     /* [n_parts] of rows that a step touches, in no order */
    unsigned *n_listed;
} net;

enum {
    MOST_GRAPH_LAYERS = 16,
    MORE_EDGES = 8, /* rows that a lane asks for at once */
    FEWER_EDGES = 4 /* where there are fewer registers */
};

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

__host__ __device__ inline uint32_t length_of(const edge_part &part)
{
    return (uint32_t)part.at & ((1u << LENGTH_BITS) - 1);
}

/* An edge is read once. */
__device__ inline edge ask_edge(const edge *from)
{
#if defined(__CUDA_ARCH__)
    float2 x = __ldcs((const float2 *)from);
    return {__float_as_uint(x.x), x.y};
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
    ROLLED for (int a = 0; a < p.adds && counts; a++) {
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

/* Where a lane reads: its columns of the first row, and bytes from one row to the next. */
typedef struct reader {
    const char *from;
    uint32_t apart;
} reader;

/* Columns that are not there are those of others, and of no use to anybody. */
__device__ inline reader reader_of(const work &w, const product &p, int32_t column)
{
    if (column + 4 > w.d) column = w.d - 4;
    return {(const char *)(const void *)(p.from + column), 4u * (uint32_t)w.d};
}

/* Its columns of a row. */
__device__ inline float4 read_row(const reader &r, uint32_t row)
{
#if defined(__CUDA_ARCH__)
    uint64_t at;
    float4 x;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "r"(r.apart), "l"(r.from));
    asm("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(at));
    return x;
#else
    return *(const float4 *)(const void *)(r.from + (uint64_t)row * r.apart);
#endif
}

__device__ inline void add_row(float by, const float4 &x, quad *sum)
{
    sum->x[0] = fmaf(by, x.x, sum->x[0]);
    sum->x[1] = fmaf(by, x.y, sum->x[1]);
    sum->x[2] = fmaf(by, x.z, sum->x[2]);
    sum->x[3] = fmaf(by, x.w, sum->x[3]);
}

/* ---- all rows: streams --------------------------------------------------------------------- */

/* All parts of a row, in their order; of four columns. */
template <bool WHOLE, bool STEPS>
__device__ inline void join_parts(const work &w, const net &n, const product &p, const table_step &t,
                                  uint32_t row, const cut_part &cut, int32_t base, int lane)
{
    quad sum = {{0, 0, 0, 0}};
    ROLLED for (uint32_t o = 0; o < cut.count; o++) {
        const float *from = n.partial + (int64_t)(cut.first + o) * w.d;
        quad x = load_quad<WHOLE>(from, w.d, base, lane);
        for (int q = 0; q < 4; q++) sum.x[q] += x.x[q];
    }
    finish_row<WHOLE, STEPS>(w, p, t, row, base, lane, sum);
}

/* One more has arrived; how many had before.  What the warp wrote before it met is there for whoever is told
 * of a later one. */
__device__ inline unsigned arrive(unsigned *at)
{
#if defined(__CUDA_ARCH__)
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(at) : "memory");
    return before;
#else
    return atomicAdd(at, 1u);
#endif
}

/* Parts of rows of several: sums are put aside, and whoever has the last one of a row takes them all.  Lanes
 * without such a part, whose cut is 0, come along. */
template <bool WHOLE, int LANES, bool STEPS>
__device__ inline void put_part(const work &w, const net &n, const product &p, const table_step &t,
                                const owner &who, int32_t base, int lane, const quad &sum)
{
    unsigned before = 0, *arrived = n.arrived + base / (4 * LANES) * n.n_cuts;
    cut_part cut = {0, 0, 0};
    if (who.cut) {
        cut = n.cut[who.cut - 1];
        store_quad<WHOLE>(n.partial + (int64_t)(who.cut - 1) * w.d, w.d, base, lane, &sum);
    }
    __syncwarp();
    if (who.cut && lane == 0) before = arrive(&arrived[cut.first]);
    __syncwarp();
    before = __shfl_sync(0xffffffffu, before, (int)(threadIdx.x % WARP) - lane);
    if (!who.cut || before + 1 < cut.count) return;
    if (lane == 0) arrived[cut.first] = 0; /* for the next product */
    join_parts<WHOLE, STEPS>(w, n, p, t, who.row - 1, cut, base, lane);
}

/* The sum of a row, or a part of one, where the last group was the last of it. */
template <int LANES, bool STEPS, bool CUTS>
__device__ inline void end_group(const work &w, const net &n, const product &p, const table_step &t,
                                 const owner &who, int32_t base, int lane, quad *sum)
{
    if (CUTS && __ballot_sync(0xffffffffu, who.cut != 0))
        put_part<true, LANES, STEPS>(w, n, p, t, who, base, lane, *sum);
    if (who.row == 0) return;
    if (who.cut == 0) finish_row<true, STEPS>(w, p, t, (int64_t)who.row - 1, base, lane, *sum);
    *sum = {{0, 0, 0, 0}};
}

/* Edges that a team has before it, as many as lanes: all rows of two groups are on their way before the first
 * is there. */
template <int LANES, bool STEPS, bool CUTS>
__device__ inline void add_strip(const work &w, const net &n, const product &p, const table_step &t,
                                 const reader &r, const edge *edges, const owner *whose, int32_t base,
                                 int lane, quad *sum)
{
    enum { MORE = STEPS ? FEWER_EDGES : MORE_EDGES };
    ROLLED for (int o = 0; o < LANES; o += MORE) {
        float4 x[MORE];
        UNROLLED for (int f = 0; f < MORE; f++) x[f] = read_row(r, edges[o + f].row);
        UNROLLED for (int f = 0; f < MORE; f++) {
            add_row(edges[o + f].weight, x[f], sum);
            if (f % GROUP == GROUP - 1)
                end_group<LANES, STEPS, CUTS>(w, n, p, t, whose[(o + f) / GROUP], base, lane, sum);
        }
    }
}

/* What a lane asks for: an edge of its team, and of some lanes whose the edges of a group are. */
typedef struct asked {
    edge own;
    owner who;
} asked;

template <int LANES>
__device__ inline asked ask_strip(const net &n, uint32_t at, uint32_t end, int lane)
{
    asked a = {{0, 0}, {0, 0}};
    if (at + (uint32_t)lane / GROUP < end) a.own = ask_edge(n.edges + ((uint64_t)at * GROUP + (uint32_t)lane));
    if (lane < LANES / GROUP && at + (uint32_t)lane < end) a.who = n.whose[at + (uint32_t)lane];
    return a;
}

/* The table, and what is kept of it, of rows that end soon. */
__device__ inline void fetch_row(const work &w, uint32_t row)
{
    for (int32_t c = 0; c < w.d; c += 32) {
        int64_t at = (int64_t)row * w.d + c;
        fetch_line(w.theta + at);
        for (int m = 0; m < CWI_MAX_MEMORIES; m++)
            if (w.memory[m]) fetch_line(w.memory[m] + at);
    }
}

/* The product, a stream a team.  STEPS: the table has its step.  FEW: of rows that the step does not touch
 * there is one of zeros, behind the last. */
template <int LANES, bool STEPS, bool FEW>
__global__ void __launch_bounds__(SPREAD, 1) multiply_streams(work w, net n, product p, table_step t)
{
    __shared__ edge all_edges[SPREAD];
    __shared__ owner all_owners[SPREAD / GROUP];
    int lane = (int)(threadIdx.x % LANES), team = (int)(threadIdx.x / LANES);
    edge *edges = all_edges + team * LANES;
    owner *whose = all_owners + team * (LANES / GROUP);
    const uint32_t *range = n.range + blockIdx.x * (SPREAD / LANES) + team;
    await_last();
    ROLLED for (int32_t base = 0; base < w.d; base += 4 * LANES) {
        const reader r = reader_of(w, p, base + 4 * lane);
        uint32_t at = range[0], end = range[1];
        quad sum = {{0, 0, 0, 0}};
        asked next = ask_strip<LANES>(n, at, end, lane);
        ROLLED while (__ballot_sync(0xffffffffu, at < end)) {
            if (FEW && !is_marked(p.touched, next.own.row)) next.own = {(uint32_t)w.n_rows, 0};
            if (STEPS && next.who.row > 0) fetch_row(w, next.who.row - 1);
            bool cuts = __ballot_sync(0xffffffffu, next.who.cut != 0) != 0;
            edges[lane] = next.own;
            if (lane < LANES / GROUP) whose[lane] = next.who;
            __syncwarp();
            at += LANES / GROUP;
            next = ask_strip<LANES>(n, at, end, lane);
            if (cuts)
                add_strip<LANES, STEPS, true>(w, n, p, t, r, edges, whose, base, lane, &sum);
            else
                add_strip<LANES, STEPS, false>(w, n, p, t, r, edges, whose, base, lane, &sum);
            __syncwarp();
        }
    }
}

/* ---- some rows, or such that are no whole quads: part after part --------------------------- */

/* Edges of a warp, one a lane.  Behind the last one are others like it that weigh nothing, so that rows are
 * read without asking whether there are any. */
__device__ inline edge ask_edges(const edge *from, uint32_t left, int lane)
{
    edge own = {0, 0};
    if (left == 0) return own;
    own = ask_edge(from + ((uint32_t)lane < left ? (uint32_t)lane : left - 1));
    if ((uint32_t)lane >= left) own.weight = 0;
    return own;
}

/* The next MANY edges of each team. */
template <int TEAMS, int MANY>
__device__ inline void add_rows(const reader &r, const edge *from, quad *sum)
{
    float4 x[MANY];
    UNROLLED for (uint32_t f = 0; f < MANY; f++) x[f] = read_row(r, from[f * TEAMS].row);
    UNROLLED for (uint32_t f = 0; f < MANY; f++) add_row(from[f * TEAMS].weight, x[f], sum);
}

/* As many at once as there are. */
template <int TEAMS>
__device__ inline void add_all_rows(const reader &r, const edge *from, uint32_t left, quad *sum)
{
    ROLLED for (uint32_t o = 0; o < left; o += TEAMS * MORE_EDGES) {
        if (left - o > TEAMS * MORE_EDGES / 2)
            add_rows<TEAMS, MORE_EDGES>(r, from + o, sum);
        else if (left - o > TEAMS * MORE_EDGES / 4)
            add_rows<TEAMS, MORE_EDGES / 2>(r, from + o, sum);
        else
            add_rows<TEAMS, MORE_EDGES / 4>(r, from + o, sum);
    }
}

/* The same where rows are no whole quads: an edge after the other. */
__device__ inline void add_row_by_row(const work &w, const product &p, const edge *strip, uint32_t left,
                                      int32_t base, int lane, quad *sum)
{
    ROLLED for (uint32_t o = 0; o < left; o++) {
        if (p.reads_touched && !is_marked(p.touched, strip[o].row)) continue;
        quad x = load_quad<false>(p.from + (int64_t)strip[o].row * w.d, w.d, base, lane);
        for (int k = 0; k < 4; k++) sum->x[k] = fmaf(strip[o].weight, x.x[k], sum->x[k]);
    }
}

/* The sum over edges of a part, of which the first are at hand, of four columns from 4 `place` of `base`
 * on.  Lanes that have the same columns take edges in turn, and their sums are added up in the end. */
template <bool WHOLE, int LANES>
__device__ inline quad sum_part(const work &w, const net &n, const product &p, const edge_part &part,
                                edge now, int32_t base, int lane)
{
    __shared__ edge room[SPREAD];
    edge *strip = room + threadIdx.x / WARP * WARP;
    uint32_t left = length_of(part);
    const edge *at = n.edges + (part.at >> LENGTH_BITS);
    const reader r = reader_of(w, p, base + 4 * (lane % LANES));
    quad sum = {{0, 0, 0, 0}};
    for (;;) {
        uint32_t here = left < 32u ? left : 32u;
        edge next = {0, 0};
        if (left > WARP) next = ask_edges(at + WARP, left - WARP, lane);
        __syncwarp(); /* those of before are done with */
        strip[lane] = now;
        __syncwarp();
        if (WHOLE)
            add_all_rows<WARP / LANES>(r, strip + lane / LANES, here, &sum);
        else
            add_row_by_row(w, p, strip, here, base, lane, &sum);
        if (left <= WARP) break;
        left -= WARP, at += WARP, now = next;
    }
    for (int apart = LANES; apart < WARP; apart *= 2)
        for (int k = 0; k < 4; k++) sum.x[k] += __shfl_xor_sync(0xffffffffu, sum.x[k], apart);
    return sum;
}

template <bool WHOLE, int LANES, bool STEPS>
__device__ inline void multiply_part(const work &w, const net &n, const product &p,
                                     const table_step &t, const edge_part &part, edge first, int lane)
{
    ROLLED for (int32_t base = 0; base < w.d; base += 4 * LANES) {
        quad sum = sum_part<WHOLE, LANES>(w, n, p, part, first, base, lane);
        if (part.cut == 0 && lane < LANES)
            finish_row<WHOLE, STEPS>(w, p, t, part.row, base, lane, sum);
        owner who = {part.row + 1, lane < LANES ? part.cut : 0};
        if (part.cut > 0) put_part<WHOLE, LANES, STEPS>(w, n, p, t, who, base, lane % LANES, sum);
    }
}

/* What a block multiplies: parts first, first + apart, .. before end. */
typedef struct share_of_parts {
    const edge_part *part;
    uint32_t first, apart, end;
} share_of_parts;

/* Part number `number` of a share. */
__device__ inline edge_part ask_part(const share_of_parts &of, uint32_t number)
{
    edge_part none = {0, NO_PART, 0};
    uint32_t k = of.first + number * of.apart;
    return k < of.end ? of.part[k] : none;
}

__device__ inline edge ask_first(const net &n, const edge_part &part, int lane)
{
    return ask_edges(n.edges + (part.at >> LENGTH_BITS), length_of(part), lane);
}

/* The next part that nobody has. */
__device__ inline uint32_t take_part(unsigned *taken, int lane)
{
    unsigned number = 0;
    if (lane == 0) number = atomicAdd(taken, 1u);
    return __shfl_sync(0xffffffffu, number, 0);
}

/* A part a warp, until there are none left.  While one is at work, the edges of the next are on their
 * way, and so is what says where those of the one after it are. */
template <bool WHOLE, int LANES, bool STEPS>
__device__ inline void multiply_share(const work &w, const net &n, const product &p,
                                      const table_step &t, const share_of_parts &of)
{
    __shared__ unsigned taken;
    int lane = (int)(threadIdx.x % WARP);
    edge_part part = ask_part(of, threadIdx.x / WARP);
    edge_part after = ask_part(of, threadIdx.x / WARP + SPREAD_WARPS);
    if (threadIdx.x == 0) taken = 2 * SPREAD_WARPS;
    __syncthreads();
    edge first = ask_first(n, part, lane);
    ROLLED while (part.row != NO_PART) {
        edge ahead = ask_first(n, after, lane);
        edge_part last = ask_part(of, take_part(&taken, lane));
        multiply_part<WHOLE, LANES, STEPS>(w, n, p, t, part, first, lane);
        part = after, first = ahead, after = last;
    }
}

/* All rows. */
template <bool STEPS>
__global__ void __launch_bounds__(SPREAD, 1) multiply_rows(work w, net n, product p, table_step t)
{
    await_last();
    multiply_share<false, WARP, STEPS>(
        w, n, p, t, {n.part, n.share[blockIdx.x], 1, n.share[blockIdx.x + 1]});
}

/* Rows that the step touches, whose parts are listed. */
template <bool WHOLE, int LANES>
__global__ void __launch_bounds__(SPREAD, 1) multiply_touched(work w, net n, product p, table_step t)
{
    await_last();
    multiply_share<WHOLE, LANES, false>(w, n, p, t,
                                               {n.listed, blockIdx.x, gridDim.x, *n.n_listed});
}

/* Rows that a step touches as bits, which a processor soon has at hand; and, where they are to be listed, the
 * parts of them. */
__global__ void mark_touched(work w, net n, int s, uint32_t *touched, bool lists)
{
    int lane = (int)(threadIdx.x % WARP);
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    edge_part part = {0, NO_PART, 0};
    if (lists && k < n.n_parts) part = n.part[k];
    await_last();
    unsigned bits = __ballot_sync(0xffffffffu, k < w.n_rows && is_touched(w, s, k)), first = 0;
    if (lane == 0 && k < w.n_rows) touched[k / 32] = bits;
    bool counts = part.row != NO_PART && is_touched(w, s, part.row);
    unsigned which = __ballot_sync(0xffffffffu, counts);
    if (lane == 0 && which) first = atomicAdd(n.n_listed, (unsigned)__popc(which));
    first = __shfl_sync(0xffffffffu, first, 0);
    if (counts) n.listed[first + (unsigned)__popc(which & ((1u << lane) - 1))] = part;
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

/* Slopes of the rows that a step touches, on top of what is there or alone; a warp each.  The list of parts
 * is done with. */
template <bool WHOLE> __global__ void place_slopes(work w, int s, unsigned *n_listed)
{
    int lane = (int)threadIdx.x % WARP;
    await_last();
    if (blockIdx.x == 0 && threadIdx.x == 0) *n_listed = 0;
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

/*
 * products.cuh - matrix products, a tile a block.
 *
 * Where it is asked for, an entry is one chain of fused steps in the order of k, as on the CPU.
 * Otherwise the units for small matrices do it: each number is taken as the sum of two of 11 bits, and
 * of the four products of those the three that count are added up in fp32, as exact as plain fp32 and
 * twice as fast.  The order of sums is fixed in both.  While a tile is at work, the numbers of its next
 * step along k are on their way.
 */
#ifndef CWI_ENGINE_CUDA_PRODUCTS_CUH
#define CWI_ENGINE_CUDA_PRODUCTS_CUH

#include "engine/cuda/work.cuh"

/* c = a b for a [m][k], b [k][n]; either may lie turned.  Strides are from part to part.  With
 * slices, each has `slice` steps along k and a c of its own. */
typedef struct matrices {
    const float *a, *b;
    float *c;
    int32_t m, n, k, lda, ldb, ldc;
    bool turned_a, turned_b;
    int64_t parts, next_a, next_b, next_c;
    int32_t slices = 0, slice = 0; /* 0: k as a whole */
    int64_t next_slice = 0;
    bool is_chain = false; /* every entry is to be one chain of fused steps */
} matrices;

#if defined(__CUDACC__)
/* Threads of a tile, both ways; blocks that are enough for a GPU, and that fill one. */
enum { SIDE = 16, ENOUGH_TILES = 192, FULL_TILES = 256 };
#else
enum { SIDE = 8, ENOUGH_TILES = 2, FULL_TILES = 4 };
#endif
/* A thread has EACH by EACH entries, in quarters of four by four, of a wide tile or a narrow one. */
enum { WIDE = 8, NARROW = 4, WIDE_TILE = SIDE * WIDE, NARROW_TILE = SIDE * NARROW };
static_assert(SIDE * SIDE == BLOCK, "a tile is a block");

/* What a thread brings of a factor for a tile and its slice of k: fours of numbers, each `apart` from
 * the one before. */
typedef struct carrier {
    const float *at; /* of its first four */
    int32_t ld, rows, depths; /* numbers that are there from its first on, both ways */
    bool is_along, is_whole;  /* numbers along k lie side by side; four can be read at once */
} carrier;

template <int TILE, int DEPTH>
__device__ inline carrier carrier_of(const float *from, int32_t ld, bool is_along, int32_t row,
                                     int32_t rows, int32_t depth, int32_t depths)
{
    int t = (int)threadIdx.x;
    row += is_along ? t / (DEPTH / 4) : t % (TILE / 4) * 4;
    depth += is_along ? t % (DEPTH / 4) * 4 : t / (TILE / 4);
    from += is_along ? (int64_t)row * ld + depth : (int64_t)depth * ld + row;
    bool is_whole = ld % 4 == 0 && (size_t)from % 16 == 0;
    return {from, ld, rows - row, depths - depth, is_along, is_whole};
}

/* Four numbers, of which `left` are there. */
__device__ inline float4 load_four(const float *from, bool is_whole, int32_t left)
{
    if (is_whole && left >= 4) return *(const float4 *)from;
    return make_float4(left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0,
                       left > 3 ? from[3] : 0);
}

/* The next steps along k. */
template <int TILE, int DEPTH, int FOURS> __device__ inline void fetch_tile(carrier *c, float4 *out)
{
    for (int q = 0; q < FOURS; q++) {
        int32_t further = q * (c->is_along ? BLOCK * 4 / DEPTH : BLOCK * 4 / TILE);
        int32_t others = (c->is_along ? c->rows : c->depths) - further;
        int32_t left = others > 0 ? (c->is_along ? c->depths : c->rows) : 0;
        out[q] = load_four(c->at + (int64_t)further * c->ld, c->is_whole, left);
    }
    c->at += c->is_along ? DEPTH : (int64_t)DEPTH * c->ld;
    c->depths -= DEPTH;
}

/* Where column i of step k lies in the room of a tile, [DEPTH][TILE] with some space between.  For
 * small matrices columns are mixed so that a warp reads and writes all banks at once. */
template <int TILE, bool MIXES> __device__ inline int place_in_room(int k, int i)
{
    return k * (TILE + (MIXES ? 8 : 4)) + (MIXES ? i ^ k / 4 % 4 * 8 : i);
}

/* Into the room of a tile. */
template <int TILE, int DEPTH, int FOURS, bool MIXES>
__device__ inline void keep_tile(bool is_along, const float4 *in, float4 *room)
{
    float *to = (float *)room;
    for (int q = 0; q < FOURS; q++) {
        int t = (int)threadIdx.x + q * BLOCK;
        if (is_along) {
            int i = t / (DEPTH / 4), k = t % (DEPTH / 4) * 4;
            to[place_in_room<TILE, MIXES>(k, i)] = in[q].x;
            to[place_in_room<TILE, MIXES>(k + 1, i)] = in[q].y;
            to[place_in_room<TILE, MIXES>(k + 2, i)] = in[q].z;
            to[place_in_room<TILE, MIXES>(k + 3, i)] = in[q].w;
        } else {
            int i = t % (TILE / 4) * 4, k = t / (TILE / 4);
            *(float4 *)(to + place_in_room<TILE, MIXES>(k, i)) = in[q];
        }
    }
}

/* The numbers of a thread's rows, or columns, at one step along k. */
template <int EACH>
__device__ inline void read_side(const float4 *line, int place, float *out)
{
    for (int h = 0; h < EACH / 4; h++) {
        float4 x = line[h * SIDE + place];
        out[4 * h] = x.x, out[4 * h + 1] = x.y, out[4 * h + 2] = x.z, out[4 * h + 3] = x.w;
    }
}

template <int EACH>
__device__ inline void store_tile(const matrices &x, float *c, int32_t top, int32_t left,
                                  const float (*sum)[EACH])
{
    bool is_whole = x.ldc % 4 == 0 && (size_t)c % 16 == 0;
    for (int i = 0; i < EACH; i++) {
        int32_t row = top + i / 4 * 4 * SIDE + i % 4;
        if (row >= x.m) continue;
        for (int h = 0; h < EACH / 4; h++) {
            int32_t column = left + 4 * h * SIDE;
            float *to = c + (int64_t)row * x.ldc + column;
            if (is_whole && column + 4 <= x.n)
                *(float4 *)to = make_float4(sum[i][4 * h], sum[i][4 * h + 1], sum[i][4 * h + 2],
                                            sum[i][4 * h + 3]);
            else
                for (int j = 0; j < 4; j++)
                    if (column + j < x.n) to[j] = sum[i][4 * h + j];
        }
    }
}

/* A block has a tile of a slice of a part. */
typedef struct tile_place {
    int32_t top, left, k, end;
    int64_t part, slice;
} tile_place;

__device__ inline tile_place find_tile(const matrices &x, unsigned side)
{
    unsigned across = ((unsigned)x.n + side - 1) / side;
    unsigned tiles = across * (((unsigned)x.m + side - 1) / side);
    unsigned tile = blockIdx.x % tiles, slices = x.slices > 0 ? (unsigned)x.slices : 1;
    tile_place p;
    p.slice = blockIdx.x / tiles % slices;
    p.part = blockIdx.x / tiles / slices;
    p.top = (int32_t)(tile / across * side);
    p.left = (int32_t)(tile % across * side);
    p.k = x.slices > 0 ? (int32_t)p.slice * x.slice : 0;
    p.end = x.slices > 0 && p.k + x.slice < x.k ? p.k + x.slice : x.k;
    return p;
}

/* ---- chains of fused steps ---------------------------------------------------------------------- */

template <int EACH> __global__ void __launch_bounds__(BLOCK, 2) multiply_in_chains(matrices x)
{
    enum { TILE = SIDE * EACH, DEPTH = 64 / EACH, FOURS = TILE * DEPTH / 4 / BLOCK, LINE = TILE / 4 + 1 };
    __shared__ float4 a[2][DEPTH * LINE], b[2][DEPTH * LINE];
    tile_place p = find_tile(x, TILE);
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP; /* 8 by 4 threads */
    int down = warp / (SIDE / 4) * 8 + lane % 8, right = warp % (SIDE / 4) * 4 + lane / 8;
    await_last();
    carrier u = carrier_of<TILE, DEPTH>(x.a + p.part * x.next_a, x.lda, !x.turned_a, p.top, x.m, p.k, p.end);
    carrier v = carrier_of<TILE, DEPTH>(x.b + p.part * x.next_b, x.ldb, x.turned_b, p.left, x.n, p.k, p.end);
    float sum[EACH][EACH] = {{0}};
    float4 next_u[FOURS], next_v[FOURS];
    fetch_tile<TILE, DEPTH, FOURS>(&u, next_u);
    fetch_tile<TILE, DEPTH, FOURS>(&v, next_v);
    int at = 0;
    for (int32_t k = p.k; k < p.end; at = !at, k += DEPTH) {
        keep_tile<TILE, DEPTH, FOURS, false>(!x.turned_a, next_u, a[at]);
        keep_tile<TILE, DEPTH, FOURS, false>(x.turned_b, next_v, b[at]);
        __syncthreads();
        if (k + DEPTH < p.end) {
            fetch_tile<TILE, DEPTH, FOURS>(&u, next_u);
            fetch_tile<TILE, DEPTH, FOURS>(&v, next_v);
        }
        for (int o = 0; o < DEPTH; o++) {
            float from_u[EACH], from_v[EACH];
            read_side<EACH>(a[at] + o * LINE, down, from_u);
            read_side<EACH>(b[at] + o * LINE, right, from_v);
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++) sum[i][j] = fmaf(from_u[i], from_v[j], sum[i][j]);
        }
    }
    store_tile<EACH>(x, x.c + p.part * x.next_c + p.slice * x.next_slice, p.top + 4 * down,
                     p.left + 4 * right, sum);
}

/* ---- small matrices ------------------------------------------------------------------------------- */

/* A number as the sum of two that have 11 bits. */
__device__ inline void split_number(float x, uint32_t *high, uint32_t *low)
{
    uint32_t bits;
    float rest;
    memcpy(&bits, &x, sizeof bits);
    *high = (bits + 0x1000u) & 0xffffe000u;
    memcpy(&rest, high, sizeof rest);
    rest = x - rest;
    memcpy(low, &rest, sizeof rest);
}

/* c += a b for a of 16 by 8, b of 8 by 8, whose numbers lie as the units want them: with g and t the
 * quotient and the rest of the lane by 4, a has rows g and g + 8 of columns t and t + 4, b has rows t
 * and t + 4 of column g, c has columns 2 t and 2 t + 1 of rows g and g + 8. */
__device__ inline void multiply_small(float *c, const uint32_t *a, const uint32_t *b)
{
#if defined(__CUDA_ARCH__)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __shared__ uint32_t room[BLOCK][6];
    int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4, first = (int)threadIdx.x - lane;
    memcpy(room[threadIdx.x], a, 4 * sizeof *a);
    memcpy(room[threadIdx.x] + 4, b, 2 * sizeof *b);
    __syncwarp();
    for (int k = 0; k < 8; k++) {
        uint32_t *of_a = room[first + 4 * g + k % 4], *of_b = room[first + 8 * t + k % 4];
        uint32_t bits[4] = {of_a[k / 4 * 2], of_a[k / 4 * 2 + 1], of_b[4 + k / 4],
                            room[first + 8 * t + 4 + k % 4][4 + k / 4]};
        float x[4];
        memcpy(x, bits, sizeof x);
        for (int o = 0; o < 4; o++) c[o] += x[o / 2] * x[2 + o % 2];
    }
    __syncwarp();
#endif
}

/* A step of eight along k: MATRICES by MATRICES products of a warp, whose rows and columns begin at
 * `down` and `right` of the tile. */
template <int TILE, int MATRICES>
__device__ inline void multiply_step(const float *a, const float *b, int k, int down, int right,
                                     float (*sum)[MATRICES][4])
{
    int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    uint32_t high_b[MATRICES][2], low_b[MATRICES][2];
    for (int j = 0; j < MATRICES; j++)
        for (int o = 0; o < 2; o++)
            split_number(b[place_in_room<TILE, true>(k + 4 * o + t, right + 8 * j + g)], &high_b[j][o],
                         &low_b[j][o]);
    for (int i = 0; i < MATRICES; i++) {
        uint32_t high[4], low[4];
        for (int o = 0; o < 4; o++)
            split_number(a[place_in_room<TILE, true>(k + o / 2 * 4 + t, down + 16 * i + o % 2 * 8 + g)],
                         &high[o], &low[o]);
        for (int j = 0; j < MATRICES; j++) {
            float some[4] = {0}; /* the units cut off what they add up: not too much at once */
            multiply_small(some, low, high_b[j]);
            multiply_small(some, high, low_b[j]);
            multiply_small(some, high, high_b[j]);
            for (int o = 0; o < 4; o++) sum[i][j][o] += some[o];
        }
    }
}

template <int MATRICES>
__device__ inline void store_small(const matrices &x, float *c, int32_t top, int32_t left,
                                   const float (*sum)[MATRICES][4])
{
    int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    bool is_whole = x.ldc % 2 == 0 && (size_t)c % 8 == 0;
    for (int i = 0; i < 2 * MATRICES; i++) {
        int32_t row = top + 8 * i + g;
        for (int j = 0; j < MATRICES && row < x.m; j++) {
            int32_t column = left + 8 * j + 2 * t;
            const float *from = sum[i / 2][j] + i % 2 * 2;
            float *to = c + (int64_t)row * x.ldc + column;
            if (is_whole && column + 1 < x.n)
                *(float2 *)to = make_float2(from[0], from[1]);
            else
                for (int o = 0; o < 2; o++)
                    if (column + o < x.n) to[o] = from[o];
        }
    }
}

/* A warp has EACH / 2 by EACH / 2 small matrices of 16 by 8. */
template <int EACH> __global__ void __launch_bounds__(BLOCK, 2) multiply_in_pieces(matrices x)
{
    enum { TILE = SIDE * EACH, DEPTH = 64 / EACH, FOURS = TILE * DEPTH / 4 / BLOCK, LINE = TILE / 4 + 2 };
    enum { MATRICES = EACH / 2, ACROSS = TILE / (8 * MATRICES) };
    __shared__ float4 a[2][DEPTH * LINE], b[2][DEPTH * LINE];
    tile_place p = find_tile(x, TILE);
    int warp = (int)threadIdx.x / WARP;
    int down = warp / ACROSS * 16 * MATRICES, right = warp % ACROSS * 8 * MATRICES;
    await_last();
    carrier u = carrier_of<TILE, DEPTH>(x.a + p.part * x.next_a, x.lda, !x.turned_a, p.top, x.m, p.k, p.end);
    carrier v = carrier_of<TILE, DEPTH>(x.b + p.part * x.next_b, x.ldb, x.turned_b, p.left, x.n, p.k, p.end);
    float sum[MATRICES][MATRICES][4] = {{{0}}};
    float4 next_u[FOURS], next_v[FOURS];
    fetch_tile<TILE, DEPTH, FOURS>(&u, next_u);
    fetch_tile<TILE, DEPTH, FOURS>(&v, next_v);
    int at = 0;
    for (int32_t k = p.k; k < p.end; at = !at, k += DEPTH) {
        keep_tile<TILE, DEPTH, FOURS, true>(!x.turned_a, next_u, a[at]);
        keep_tile<TILE, DEPTH, FOURS, true>(x.turned_b, next_v, b[at]);
        __syncthreads();
        if (k + DEPTH < p.end) {
            fetch_tile<TILE, DEPTH, FOURS>(&u, next_u);
            fetch_tile<TILE, DEPTH, FOURS>(&v, next_v);
        }
        for (int o = 0; o < DEPTH; o += 8)
            multiply_step<TILE, MATRICES>((const float *)a[at], (const float *)b[at], o, down, right, sum);
    }
    store_small<MATRICES>(x, x.c + p.part * x.next_c + p.slice * x.next_slice, p.top + down, p.left + right,
                          sum);
}

#endif

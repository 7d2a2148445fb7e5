/*
 * products.cuh - matrix products, a tile a block.
 *
 * An entry is one chain of fused steps in the order of k, so that its bits depend on nothing but the
 * two factors; a product that is cut into slices of k has one such chain for each of them.  While a
 * tile is at work, the numbers of its next step along k are on their way.
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

/* Into the room of a tile, [DEPTH][TILE] and some space between. */
template <int TILE, int DEPTH, int FOURS>
__device__ inline void keep_tile(bool is_along, const float4 *in, float4 *room)
{
    float *to = (float *)room;
    for (int q = 0; q < FOURS; q++) {
        int t = (int)threadIdx.x + q * BLOCK;
        if (is_along) {
            int i = t / (DEPTH / 4), k = t % (DEPTH / 4) * 4;
            to[k * (TILE + 4) + i] = in[q].x;
            to[(k + 1) * (TILE + 4) + i] = in[q].y;
            to[(k + 2) * (TILE + 4) + i] = in[q].z;
            to[(k + 3) * (TILE + 4) + i] = in[q].w;
        } else {
            room[t / (TILE / 4) * (TILE / 4 + 1) + t % (TILE / 4)] = in[q];
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
template <int EACH> __global__ void __launch_bounds__(BLOCK, 2) multiply_matrices(matrices x)
{
    enum { TILE = SIDE * EACH, DEPTH = 64 / EACH, FOURS = TILE * DEPTH / 4 / BLOCK, LINE = TILE / 4 + 1 };
    __shared__ float4 a[2][DEPTH * LINE], b[2][DEPTH * LINE];
    unsigned across = ((unsigned)x.n + TILE - 1) / TILE, tiles = across * (((unsigned)x.m + TILE - 1) / TILE);
    unsigned tile = blockIdx.x % tiles, slices = x.slices > 0 ? (unsigned)x.slices : 1;
    unsigned slice = blockIdx.x / tiles % slices, p = blockIdx.x / tiles / slices;
    int32_t top = (int32_t)(tile / across) * TILE, left = (int32_t)(tile % across) * TILE;
    int32_t k = x.slices > 0 ? (int32_t)slice * x.slice : 0;
    int32_t end = x.slices > 0 && k + x.slice < x.k ? k + x.slice : x.k;
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP; /* 8 by 4 threads */
    int down = warp / (SIDE / 4) * 8 + lane % 8, right = warp % (SIDE / 4) * 4 + lane / 8;
    await_last();
    carrier u = carrier_of<TILE, DEPTH>(x.a + p * x.next_a, x.lda, !x.turned_a, top, x.m, k, end);
    carrier v = carrier_of<TILE, DEPTH>(x.b + p * x.next_b, x.ldb, x.turned_b, left, x.n, k, end);
    float sum[EACH][EACH] = {{0}};
    float4 next_u[FOURS], next_v[FOURS];
    fetch_tile<TILE, DEPTH, FOURS>(&u, next_u);
    fetch_tile<TILE, DEPTH, FOURS>(&v, next_v);
    for (int at = 0; k < end; at = !at, k += DEPTH) {
        keep_tile<TILE, DEPTH, FOURS>(!x.turned_a, next_u, a[at]);
        keep_tile<TILE, DEPTH, FOURS>(x.turned_b, next_v, b[at]);
        __syncthreads();
        if (k + DEPTH < end) {
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
    store_tile<EACH>(x, x.c + p * x.next_c + slice * x.next_slice, top + 4 * down, left + 4 * right,
                     sum);
}

#endif

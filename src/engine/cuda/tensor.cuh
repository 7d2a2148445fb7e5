/*
 * tensor.cuh - inner products of halves, a tile of users by a tile of items a block, by the matrix
 * units of the device.
 *
 * A thread holds 64 sums of a tile: those of 8 users, each with the same 8 items.  A block keeps the
 * vectors of its users and reads those of items in pieces of 64 columns, two of them ahead.  What a
 * machine without a device does instead gives the same sums, but for their last bits.
 */
#ifndef CWI_ENGINE_CUDA_TENSOR_CUH
#define CWI_ENGINE_CUDA_TENSOR_CUH

#include "engine/cuda/work.cuh"

enum {
    TILE_USERS = 128,
    TILE_ITEMS = 128,
    PIECE = 64,         /* columns */
    TILE_THREADS = 256, /* 8 warps: 2 of 64 users by 4 of 32 items */
    OWN_USERS = 8,
    OWN_ITEMS = 8,
    PIECE_BYTES = TILE_ITEMS * PIECE * 2,
    STAGES = 3
};

#if defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

/* ---- halves --------------------------------------------------------------------------------- */

__device__ inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

__device__ inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest half of a number below 2^15, the even one of two. */
__device__ inline uint16_t half_of(float x)
{
    uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size < 0x38800000u) { /* below 2^-14: whole numbers of 2^-24, which those above 2^23 are */
        float whole = float_of(size) * 0x1p24f + 0x1p23f;
        return (uint16_t)(sign | (bits_of(whole) - 0x4b000000u));
    }
    return (uint16_t)(sign | (size + 0xfffu + (size >> 13 & 1) - 0x38000000u) >> 13);
}

__device__ inline float value_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, size = half & 0x7fffu;
    float x = size < 0x400u ? (float)size * 0x1p-24f : float_of((size << 13) + 0x38000000u);
    return float_of(bits_of(x) | sign);
}

/* ---- tiles ------------------------------------------------------------------------------------ */

/* Vectors side by side, as many rows as whole tiles have, columns up to whole pieces. */
typedef struct halves {
    const uint16_t *users, *items;
    int32_t depth;
} halves;

/* The user of a thread's sums of number u, and the item of those of number i, in the tile. */
__device__ inline int own_user(int u)
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    return warp / 4 * 64 + u / 2 * 16 + u % 2 * 8 + lane / 4;
}

__device__ inline int own_item(int i)
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    return warp % 4 * 32 + i / 2 * 8 + lane % 4 * 2 + i % 2;
}

#if defined(__CUDACC__)

extern __shared__ uint4 tile_room[];

/* Bytes of it for vectors of this depth. */
static int tile_room_bytes(int32_t depth)
{
    return (depth / PIECE + STAGES) * PIECE_BYTES;
}

__device__ inline uint32_t room_at(int bytes)
{
    return (uint32_t)__cvta_generic_to_shared(tile_room) + (uint32_t)bytes;
}

/* Ask for 64 columns of 128 rows.  Units of 16 bytes change places within a row, so that neither
 * this nor reading them meets itself in the banks. */
__device__ inline void ask_piece(const uint16_t *from, int32_t depth, int room)
{
    for (int t = (int)threadIdx.x; t < TILE_ITEMS * 8; t += TILE_THREADS) {
        int row = t / 8, unit = t % 8;
        const uint16_t *at = from + (int64_t)row * depth + unit * 8;
        uint32_t to = room_at(room + row * 128 + ((unit ^ (row & 7)) << 4));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(at) : "memory");
    }
}

__device__ inline void end_ask()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ inline void load_four(uint32_t at, uint32_t out[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
}

__device__ inline void multiply_add(float sum[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline uint32_t unit_at(int room, int row, int unit)
{
    return room_at(room + row * 128 + ((unit ^ (row & 7)) << 4));
}

/* Add the products of a piece: sum[m][n] is that of 16 users by 8 items of the warp. */
__device__ inline void add_piece(int users, int items, float sum[4][4][4])
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int user = warp / 4 * 64 + lane % 16, item = warp % 4 * 32 + lane / 16 * 8 + lane % 8;
UNROLL
    for (int k = 0; k < PIECE / 16; k++) {
        uint32_t b[2][4];
UNROLL
        for (int n = 0; n < 2; n++)
            load_four(unit_at(items, item + 16 * n, 2 * k + lane / 8 % 2), b[n]);
UNROLL
        for (int m = 0; m < 4; m++) {
            uint32_t a[4];
            load_four(unit_at(users, user + 16 * m, 2 * k + lane / 16), a);
UNROLL
            for (int n = 0; n < 4; n++)
                multiply_add(sum[m][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
    }
}

/* The products of a tile of users with the tiles of items first .. last - 1: see(tile, sum) has
 * each. */
template <typename F>
__device__ inline void multiply_tiles(const halves &x, int user_tile, int first, int last, F see)
{
    int pieces = x.depth / PIECE, steps = (last - first) * pieces, stages = pieces * PIECE_BYTES;
    const uint16_t *users = x.users + (int64_t)user_tile * TILE_USERS * x.depth;
    auto ask_step = [&](int s) {
        int64_t row = (int64_t)(first + s / pieces) * TILE_ITEMS;
        ask_piece(x.items + row * x.depth + s % pieces * PIECE, x.depth,
                  stages + s % STAGES * PIECE_BYTES);
    };
    for (int p = 0; p < pieces; p++) ask_piece(users + p * PIECE, x.depth, p * PIECE_BYTES);
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) ask_step(s);
        end_ask();
    }
    float sum[4][4][4] = {{{0}}};
    for (int s = 0; s < steps; s++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        if (s + STAGES - 1 < steps) ask_step(s + STAGES - 1);
        end_ask();
        add_piece(s % pieces * PIECE_BYTES, stages + s % STAGES * PIECE_BYTES, sum);
        if (s % pieces < pieces - 1) continue;
        see(first + s / pieces, sum);
UNROLL
        for (int m = 0; m < 4; m++)
UNROLL
            for (int n = 0; n < 4; n++)
UNROLL
                for (int c = 0; c < 4; c++) sum[m][n][c] = 0;
    }
}

#else

static int tile_room_bytes(int32_t)
{
    return 0;
}

template <typename F>
inline void multiply_tiles(const halves &x, int user_tile, int first, int last, F see)
{
    for (int tile = first; tile < last; tile++) {
        float sum[4][4][4];
        for (int u = 0; u < OWN_USERS; u++)
            for (int i = 0; i < OWN_ITEMS; i++) {
                int64_t user = (int64_t)user_tile * TILE_USERS + own_user(u);
                int64_t item = (int64_t)tile * TILE_ITEMS + own_item(i);
                float *to = &sum[u / 2][i / 2][u % 2 * 2 + i % 2];
                *to = 0;
                for (int32_t k = 0; k < x.depth; k++)
                    *to += value_of_half(x.users[user * x.depth + k]) *
                           value_of_half(x.items[item * x.depth + k]);
            }
        see(tile, sum);
    }
}

#endif
#endif

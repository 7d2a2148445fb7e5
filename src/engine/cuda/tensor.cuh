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

/* Two halves in one number, the first one below. */
__device__ inline uint32_t pair_of(float first, float second)
{
#if defined(__CUDA_ARCH__)
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
#else
    return half_of(first) | (uint32_t)half_of(second) << 16;
#endif
}

/* ---- tiles ------------------------------------------------------------------------------------ */

/* Vectors side by side, as many rows as whole tiles have, columns up to whole pieces. */
typedef struct halves {
    const uint16_t *users, *items;
    int32_t depth;
} halves;

/* The first user of a thread's sums in the tile, and how far those of number u are from it. */
__device__ inline int own_user()
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    return warp / 4 * 64 + lane / 4;
}

__device__ inline int user_step(int u)
{
    return u / 2 * 16 + u % 2 * 8;
}

/* The same of items; a warp has 32 of them, from a multiple of 32 on. */
__device__ inline int own_item()
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    return warp % 4 * 32 + lane % 4 * 2;
}

__device__ inline int item_step(int i)
{
    return i / 2 * 8 + i % 2;
}

#if defined(__CUDACC__)

extern __shared__ __align__(1024) unsigned char tile_room[];

/* Bytes of it for vectors of this depth. */
static int tile_room_bytes(int32_t depth)
{
    return (depth / PIECE + STAGES) * PIECE_BYTES;
}

/* Ask for 64 columns of 128 rows, from where this thread reads to where it writes.  Units of 16
 * bytes change places within a row, so that neither this nor reading them meets itself in the banks.
 */
__device__ inline void ask_piece(const uint16_t *from, int32_t depth, uint32_t to)
{
UNROLL
    for (int k = 0; k < TILE_ITEMS * 8 / TILE_THREADS; k++)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + k * 4096),
                     "l"(from + (int64_t)k * 32 * depth)
                     : "memory");
}

__device__ inline void end_ask()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int OFFSET> __device__ inline void load_four(uint32_t at, uint32_t out[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at), "n"(OFFSET)
                 : "memory");
}

__device__ inline void multiply_add(float sum[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int M>
__device__ inline void multiply_users(uint32_t users, const uint32_t b[2][4], float sum[4][4][4])
{
    uint32_t a[4];
    load_four<M * 16 * 128>(users, a);
UNROLL
    for (int n = 0; n < 4; n++)
        multiply_add(sum[M][n], a, b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
}

/* Add the products of a piece: sum[m][n] is that of 16 users by 8 items of the warp. */
__device__ inline void add_piece(uint32_t users, uint32_t items, float sum[4][4][4])
{
UNROLL
    for (int k = 0; k < PIECE / 16; k++) {
        uint32_t b[2][4];
        load_four<0>(items ^ k << 5, b[0]);
        load_four<16 * 128>(items ^ k << 5, b[1]);
        multiply_users<0>(users ^ k << 5, b, sum);
        multiply_users<1>(users ^ k << 5, b, sum);
        multiply_users<2>(users ^ k << 5, b, sum);
        multiply_users<3>(users ^ k << 5, b, sum);
    }
}

/* Where a thread reads 16 bytes of a row, of the unit as it was before units changed places. */
__device__ inline uint32_t room_at(int row, int unit)
{
    return (uint32_t)__cvta_generic_to_shared(tile_room) +
           (uint32_t)(row * 128 + ((unit ^ (row & 7)) << 4));
}

/* The products of a tile of users with the tiles of items first .. last - 1: see(tile, sum) has
 * each. */
template <typename F>
__device__ inline void multiply_tiles(const halves &x, int user_tile, int first, int last, F see)
{
    int lane = (int)threadIdx.x % WARP, row = (int)threadIdx.x / 8, unit = (int)threadIdx.x % 8;
    int pieces = x.depth / PIECE, stages = pieces * PIECE_BYTES;
    uint32_t to = room_at(row, unit), users = room_at(own_user() - lane / 4 + lane % 16, lane / 16);
    uint32_t items = room_at((int)threadIdx.x / WARP % 4 * 32 + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    const uint16_t *from = x.users + ((int64_t)user_tile * TILE_USERS + row) * x.depth + unit * 8;
    for (int p = 0; p < pieces; p++) ask_piece(from + p * PIECE, x.depth, to + p * PIECE_BYTES);
    from = x.items + ((int64_t)first * TILE_ITEMS + row) * x.depth + unit * 8;
    int asked_tile = first, asked = 0, asked_stage = 0, stage = 0;
    auto ask_next = [&] {
        if (asked_tile < last)
            ask_piece(from + asked * PIECE, x.depth, to + stages + asked_stage * PIECE_BYTES);
        end_ask();
        asked_stage = asked_stage == STAGES - 1 ? 0 : asked_stage + 1;
        if (++asked < pieces) return;
        asked = 0;
        asked_tile++;
        from += (int64_t)TILE_ITEMS * x.depth;
    };
    for (int s = 0; s < STAGES - 1; s++) ask_next();
    for (int tile = first; tile < last; tile++) {
        float sum[4][4][4] = {{{0}}};
        for (int p = 0; p < pieces; p++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
            __syncthreads();
            ask_next();
            add_piece(users + p * PIECE_BYTES, items + stages + stage * PIECE_BYTES, sum);
            stage = stage == STAGES - 1 ? 0 : stage + 1;
        }
        see(tile, sum);
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
                int64_t user = (int64_t)user_tile * TILE_USERS + own_user() + user_step(u);
                int64_t item = (int64_t)tile * TILE_ITEMS + own_item() + item_step(i);
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

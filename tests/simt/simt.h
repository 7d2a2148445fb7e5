/*
 * simt.h - kernels on a machine without a device: every thread of a block is a fibre, and blocks
 * run one after the other.
 *
 * What CUDA calls a warp meets at its shuffles and votes, a block at __syncthreads; in between
 * threads run in the order of their numbers, or backwards, so that what depends on that order
 * shows.
 */
#ifndef SIMT_H
#define SIMT_H

#include <functional>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __global__ static
#define __device__ static
#define __host__
#define __launch_bounds__(...)
#define __shared__ static

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};
struct float4 {
    float x, y, z, w;
};
struct float2 {
    float x, y;
};
struct uint2 {
    unsigned x, y;
};
inline float2 make_float2(float x, float y)
{
    return {x, y};
}
struct uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void simt_launch(dim3 grid, dim3 block, const std::function<void()> &kernel);
void simt_meet_block();
void simt_meet_warp();
uint64_t *
simt_warp_room(); /* a number for each thread of the warp; not where the last ones are read */
unsigned simt_warp_size(); /* threads of the warp that are there */

inline void __syncthreads()
{
    simt_meet_block();
}
inline void __syncwarp(unsigned = 0xffffffffu)
{
    simt_meet_warp();
}
inline void __threadfence()
{
}

template <typename T> T simt_exchange(T value, unsigned from)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    uint64_t *room = simt_warp_room();
    room[threadIdx.x % 32] = bits;
    simt_meet_warp();
    bits = room[from % 32];
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T> T __shfl_sync(unsigned, T value, int from)
{
    return simt_exchange(value, (unsigned)from);
}
template <typename T> T __shfl_xor_sync(unsigned, T value, int apart)
{
    return simt_exchange(value, threadIdx.x % 32 ^ (unsigned)apart);
}
inline unsigned __ballot_sync(unsigned, bool vote)
{
    unsigned votes = 0, size = simt_warp_size();
    uint64_t *room = simt_warp_room();
    room[threadIdx.x % 32] = vote;
    simt_meet_warp();
    for (unsigned k = 0; k < size; k++) votes |= (unsigned)room[k] << k;
    return votes;
}
inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}
inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

template <typename T> T __ldcg(const T *at)
{
    return *at;
}

template <typename T> T atomicAdd(T *at, T more)
{
    T before = *at;
    *at = before + more;
    return before;
}
template <typename T> T atomicOr(T *at, T more)
{
    T before = *at;
    *at = before | more;
    return before;
}
template <typename T> T atomicMin(T *at, T other)
{
    T before = *at;
    *at = other < before ? other : before;
    return before;
}
template <typename T> T atomicMax(T *at, T other)
{
    T before = *at;
    *at = other > before ? other : before;
    return before;
}

#endif

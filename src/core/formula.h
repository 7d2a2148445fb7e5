/*
 * formula.h - functions of one source for loops of this machine and for kernels of a device.
 *
 * A formula works on plain numbers and flat tables: it neither allocates nor fails.  A file of
 * formulas can be included in CUDA; what only the host needs is left out there (__cplusplus).
 * Bits are those of the host where nothing is fused: nvcc -fmad=false.
 */
#ifndef CWI_CORE_FORMULA_H
#define CWI_CORE_FORMULA_H

#include <stdint.h>

#if defined(__CUDACC__)
#define CWI_FORMULA static __host__ __device__ inline
#else
#define CWI_FORMULA static inline
#endif

/* A formula of which C has one copy, in the file that is named like its header. */
#if defined(__cplusplus)
#define CWI_SHARED_FORMULA CWI_FORMULA
#else
#define CWI_SHARED_FORMULA
#endif

/* Ask for memory that is read soon: into the nearest cache, or the second one. */
#if defined(__CUDA_ARCH__)
#define CWI_FETCH(address)     ((void)(address))
#define CWI_FETCH_FAR(address) ((void)(address))
#else
#define CWI_FETCH(address)     __builtin_prefetch(address)
#define CWI_FETCH_FAR(address) __builtin_prefetch(address, 0, 2)
#endif

/* Number of the lowest bit that is set; there must be one. */
CWI_FORMULA int cwi_lowest_bit(uint32_t bits)
{
#if defined(__CUDA_ARCH__)
    return __ffs((int)bits) - 1;
#else
    return __builtin_ctz(bits);
#endif
}

#endif

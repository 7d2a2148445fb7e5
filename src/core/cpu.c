/* cpu.c - what this CPU can do, asked at run time. */
#include "crosswise/crosswise.h"

const char *cw_cpu_isa(void)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return "ref";
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return "avx512";
    return "avx2";
#elif defined(__aarch64__)
    return "neon"; /* part of every 64-bit Arm */
#else
    return "ref";
#endif
}

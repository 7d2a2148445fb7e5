/* library.c - the shared object of the CUDA engine, which lies beside this code. */
#include "engine/cuda/library.h"

#include "core/beside.h"

cw_status cwi_cuda_load(const cwi_cuda_calls **out, char *why)
{
    const cwi_beside_calls *found;
    cw_status status = cwi_beside_open("crosswise-cuda.so", "CUDA engine", CWI_CUDA_SYMBOL,
                                       CWI_CUDA_VERSION, &found, why);
    *out = (const cwi_cuda_calls *)(const void *)found;
    return status;
}

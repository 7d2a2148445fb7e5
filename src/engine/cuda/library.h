/* library.h - the shared object of the CUDA engine, found and opened at run time. */
#ifndef CWI_ENGINE_CUDA_LIBRARY_H
#define CWI_ENGINE_CUDA_LIBRARY_H

#include "engine/cuda/cuda.h"

/* The calls of the engine of this version beside this library; why: CWI_CUDA_TEXT bytes for a
 * sentence where there are none.  It stays open until the process ends. */
cw_status cwi_cuda_load(const cwi_cuda_calls **out, char *why);

#endif

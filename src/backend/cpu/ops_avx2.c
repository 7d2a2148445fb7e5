/* ops_avx2.c - the operations compiled for avx2. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/tables.h"

#define OPS_TABLE cwi_ops_avx2
#define OPS_NAME  "avx2"
#define OPS_GEMM  cwi_gemm_blas
#include "backend/cpu/kernels.h"

/* ops_avx512.c - the operations compiled for avx512. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/tables.h"

#define OPS_TABLE cwi_ops_avx512
#define OPS_NAME  "avx512"
#define OPS_GEMM  cwi_gemm_blas
#include "backend/cpu/kernels.h"

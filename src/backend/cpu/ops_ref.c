/* ops_ref.c - the operations compiled for any CPU: the reference. */
#include "backend/cpu/gemm.h"
#include "backend/cpu/tables.h"

#define OPS_TABLE cwi_ops_ref
#define OPS_NAME  "ref"
#if defined(__x86_64__)
#define OPS_GEMM cwi_gemm_plain
#else
#define OPS_GEMM cwi_gemm_blas /* the only table there is */
#endif
#include "backend/cpu/kernels.h"

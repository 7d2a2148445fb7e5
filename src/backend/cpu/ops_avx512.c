/* ops_avx512.c - the operations compiled for avx512. */
#include "backend/cpu/tables.h"

#define OPS_TABLE cwi_ops_avx512
#define OPS_NAME  "avx512"
#include "backend/cpu/kernels.h"

/* ops_avx2.c - the operations compiled for avx2. */
#include "backend/cpu/tables.h"

#define OPS_TABLE cwi_ops_avx2
#define OPS_NAME  "avx2"
#include "backend/cpu/kernels.h"

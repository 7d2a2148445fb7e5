/* ops_ref.c - the operations compiled for any CPU: the reference. */
#include "backend/cpu/tables.h"

#define OPS_TABLE cwi_ops_ref
#define OPS_NAME  "ref"
#include "backend/cpu/kernels.h"

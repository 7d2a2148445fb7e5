/* tables.h - the operation tables of this build. */
#ifndef CWI_BACKEND_CPU_TABLES_H
#define CWI_BACKEND_CPU_TABLES_H

#include "backend/backend.h"

extern const cwi_ops cwi_ops_ref, cwi_ops_avx2, cwi_ops_avx512;

#endif

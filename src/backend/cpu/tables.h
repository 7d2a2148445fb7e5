/* tables.h - the operation tables, and which of them this build has. */
#ifndef CWI_BACKEND_CPU_TABLES_H
#define CWI_BACKEND_CPU_TABLES_H

#include "backend/backend.h"

extern const cwi_ops cwi_ops_ref, cwi_ops_avx2, cwi_ops_avx512, cwi_ops_neon;

/* Those beside the reference; a CPU that has one has those before it. */
#if defined(__x86_64__)
#define CWI_FASTER_TABLES &cwi_ops_avx2, &cwi_ops_avx512
#elif defined(__aarch64__)
#define CWI_FASTER_TABLES &cwi_ops_neon
#endif

#endif

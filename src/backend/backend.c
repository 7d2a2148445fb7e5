/* backend.c - choose the table of operations for this CPU. */
#include "backend/backend.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/tables.h"
#include "core/context.h"

/* From the slowest to the fastest. */
static const cwi_ops *const tables[] = {
    &cwi_ops_ref,
#if defined(CWI_FASTER_TABLES)
    CWI_FASTER_TABLES,
#endif
};

enum { N_TABLES = sizeof tables / sizeof tables[0] };

/* NULL: the best one.  Tables are constants, so that any order of memory will do. */
static _Atomic(const cwi_ops *) chosen;

const cwi_ops *cwi_ops_best(void)
{
    const cwi_ops *ops = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!ops) ops = cwi_ops_find(cw_cpu_isa());
    return ops ? ops : tables[0];
}

/* The table after t that this CPU has, or N_TABLES. */
static size_t next_table(size_t t)
{
    return strcmp(tables[t]->name, cw_cpu_isa()) == 0 ? N_TABLES : t + 1;
}

const cwi_ops *cwi_ops_find(const char *name)
{
    for (size_t t = 0; t < N_TABLES; t = next_table(t))
        if (strcmp(tables[t]->name, name) == 0) return tables[t];
    return NULL;
}

cw_status cw_use_isa(cw_context *ctx, const char *name)
{
    const cwi_ops *ops = cwi_ops_find(name);
    char there[64] = "auto";

    cwi_begin(ctx);
    if (ops || strcmp(name, there) == 0) {
        atomic_store_explicit(&chosen, ops, memory_order_relaxed);
        return CW_OK;
    }
    for (size_t t = 0; t < N_TABLES; t = next_table(t)) {
        size_t used = strlen(there);
        snprintf(there + used, sizeof there - used, "|%s", tables[t]->name);
    }
    return cwi_fail(ctx, CW_BAD_ARG, "--isa is '%s'; on this machine it must be one of %s", name,
                    there);
}

/* backend.c - choose the table of operations for this CPU. */
#include "backend/backend.h"

#include <string.h>

#include "backend/cpu/tables.h"
#include "crosswise/crosswise.h"

/* From the slowest to the fastest. */
static const cwi_ops *const tables[] = {
    &cwi_ops_ref,
#if defined(CWI_FASTER_TABLES)
    CWI_FASTER_TABLES,
#endif
};

enum { N_TABLES = sizeof tables / sizeof tables[0] };

const cwi_ops *cwi_ops_best(void)
{
    const cwi_ops *ops = cwi_ops_find(cw_cpu_isa());
    return ops ? ops : tables[0];
}

const cwi_ops *cwi_ops_find(const char *name)
{
    const cwi_ops *found = NULL, *limit = NULL;
    for (size_t t = 0; t < N_TABLES && !limit; t++) {
        if (strcmp(tables[t]->name, name) == 0) found = tables[t];
        if (strcmp(tables[t]->name, cw_cpu_isa()) == 0) limit = tables[t];
    }
    return found;
}

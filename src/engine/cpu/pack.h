/* pack.h - rows that wait (late.h), for an engine whose rows do not: the state of either is one of
 * the other. */
#ifndef CWI_ENGINE_PACK_H
#define CWI_ENGINE_PACK_H

#include "engine/host.h"

typedef struct cwi_deferred cwi_deferred;

/* Rows of the table of an engine, freed by the other call also after a failure. */
cw_status cwi_deferred_open(cw_context *ctx, cwi_host *host, cwi_deferred **out);
void cwi_deferred_free(cwi_deferred *rows); /* accepts NULL */

/* Add what is kept of them to a list of the state. */
void cwi_deferred_list(const cwi_deferred *rows, cwi_state *out);

/* Rows as they are after so many steps, none of which they wait for, from the table and moments
 * [rows][d]; and the table and moments from rows, which may wait.  Where those are of the moments
 * as they stand, these stay, to the last bit. */
cw_status cwi_late_pack(cw_context *ctx, cwi_deferred *t, float *m, float *v, int64_t applied);
cw_status cwi_late_unpack(cw_context *ctx, cwi_deferred *t, float *m, float *v, int64_t applied);

#endif

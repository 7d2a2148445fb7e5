/* verdict.h - what a table of results comes to, in one sentence. */
#ifndef CWI_EXPERIMENT_VERDICT_H
#define CWI_EXPERIMENT_VERDICT_H

#include <jansson.h>

#include "core/context.h"

enum { CWI_VERDICT_BYTES = 4096 };

/* How methods and backbones are written; the name itself by default. */
typedef struct cwi_titles {
    const char *(*title)(const json_t *titles, const char *name);
    const json_t *titles;
} cwi_titles;

/*
 * Which row is best in the metric that the runs were chosen by, on each dataset, by how much over
 * the best row of the other side (`ours` against the baselines) or, where there is one side alone,
 * over the next, and whether that may be chance: a paired t test over the seeds.  "" where nothing
 * stands against anything.
 *   results  of an experiment, which holds the runs
 *   table    one of its tables
 *   titles   NULL for the names themselves
 */
cw_status cwi_verdict(cw_context *ctx, const json_t *results, const json_t *table,
                      const cwi_titles *titles, char out[CWI_VERDICT_BYTES]);

#endif

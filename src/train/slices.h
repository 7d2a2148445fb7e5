/*
 * slices.h - a file of pairs read by many processes, each of which reads slices of it.
 *
 * Slices go to processes in turn; what a line says is for the slice in which it begins.  Rows of a
 * round of slices then go to all processes, so that everybody sees the file in its order.
 */
#ifndef CWI_TRAIN_SLICES_H
#define CWI_TRAIN_SLICES_H

#include "comm/world.h"
#include "prepare/pairs.h"

enum { CWI_SLICES_BYTES = 16 << 20 }; /* of a round, unless there are many processes */

/*
 * Call fn with all pairs of a file, at all processes or, where root is not negative, at that one;
 * all take part.  *is_read is false, and nothing was wrong, where the file is no plain text of such
 * pairs, which only reading all of it can tell more of.
 *   round_bytes  of a round; CWI_SLICES_BYTES
 */
cw_status cwi_slices_each(cw_context *ctx, const cwi_world *world, int root, const char *path,
                          cwi_bounds bounds, int64_t round_bytes, cwi_pairs_fn fn, void *arg,
                          bool *is_read);

#endif

/*
 * dealt.h - training interactions that are dealt out: each process has those of its users.
 *
 * Users are dealt out as the rows of a table are (comm/world.h), so that who has interaction number
 * r follows from the numbers of interactions before each block of users.
 */
#ifndef CWI_SAMPLE_DEALT_H
#define CWI_SAMPLE_DEALT_H

#include "comm/world.h"
#include "sample/sampler.h"

typedef struct cwi_dealt {
    const cwi_world *world;
    int64_t n_blocks; /* of users */
    int64_t *before;  /* [n_blocks + 1] interactions of users before each block, by all processes */
} cwi_dealt;

/* The interactions of users of this process, in the order of the file.  All processes call it
 * together. */
cw_status cwi_training_create_dealt(cw_context *ctx, const cwi_world *world, int32_t n_users,
                                    int32_t n_items, const cwi_pairs *own, cwi_training *out);
void cwi_dealt_free(cwi_dealt *dealt); /* NULL is fine */

/* The block of users that has interaction number `row`. */
int64_t cwi_dealt_block(const cwi_dealt *dealt, int64_t row);

/* An interaction of this process by its number among all. */
cwi_pair cwi_dealt_pair(const cwi_training *training, int64_t block, int64_t row);

#endif

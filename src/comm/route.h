/*
 * route.h - who sends which vectors of a batch to whom.
 *
 * All processes know the whole batch, so nobody has to ask: what goes where follows from the owners
 * of the two rows of every slot, and both ends of a message go through the slots in one order.
 */
#ifndef CWI_COMM_ROUTE_H
#define CWI_COMM_ROUTE_H

#include "comm/world.h"
#include "core/mem.h"

/* One side of all slots: rows of the table are row[s] + first, things are numbers that the caller
 * has given to the distinct rows. */
typedef struct cwi_route_side {
    const int32_t *row;
    int64_t first;
} cwi_route_side;

typedef struct cwi_route {
    const cwi_world *world;
    int64_t n_own, n_out, n_in;
    int32_t *own;             /* things that this process needs and has */
    int32_t *out, *in;        /* things to send and to receive, in the order of processes */
    int *sent, *received;     /* [size] how many */
    size_t width;             /* floats of a thing */
    float *to_send, *arrived; /* [n_out][width], [n_in][width] */

    /* scratch */
    size_t max_things;
    uint8_t *is_sent;     /* [max_things][size] */
    uint8_t *is_received; /* [max_things] */
    int32_t *thing[2];    /* in slot order: of out, of in */
    int *peer[2];         /* their processes */
    int64_t *cursor;      /* [size] */
    cwi_pile pile;
} cwi_route;

/* For batches of so many slots and so many distinct things. */
cw_status cwi_route_create(cw_context *ctx, const cwi_world *world, int64_t max_slots,
                           int64_t max_things, int64_t width, cwi_route *out);
void cwi_route_clear(cwi_route *route); /* a zeroed one is fine; also after a failure */

/* Plan it: thing[s], whose row is the giver's, is wanted by the owner of the taker's row. */
void cwi_route_fill(cwi_route *route, int64_t n_slots, const int32_t *thing, cwi_route_side giver,
                    cwi_route_side taker);

/* Send to_send; arrived is what came. */
void cwi_route_run(cwi_route *route);

#endif

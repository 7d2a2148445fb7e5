/* rooms.h - scratch that threads take turns with: made before a loop, so that it cannot fail. */
#ifndef CWI_CORE_ROOMS_H
#define CWI_CORE_ROOMS_H

#include "core/context.h"

typedef struct cwi_rooms cwi_rooms;

/* One room of `bytes` bytes for each thread of the context. */
cw_status cwi_rooms_create(cw_context *ctx, size_t bytes, cwi_rooms **out);
void cwi_rooms_free(cwi_rooms *rooms); /* NULL is fine */

/* A room for the calling thread alone until it is left; waits while all are taken. */
void *cwi_rooms_enter(cwi_rooms *rooms);
void cwi_rooms_leave(cwi_rooms *rooms, void *room);

#endif

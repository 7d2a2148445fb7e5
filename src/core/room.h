/* room.h - the memory that long lists of rows may take before they go to files. */
#ifndef CWI_CORE_ROOM_H
#define CWI_CORE_ROOM_H

#include "core/context.h"

/* Bytes that this machine, its containers and limits leave to this process; INT64_MAX: no telling.
 */
int64_t cwi_room_machine(void);

/* May so many bytes be held in memory? */
bool cwi_room_holds(const cw_context *ctx, int64_t bytes);

/* A share of what may be held: one of `parts`. */
int64_t cwi_room_share(const cw_context *ctx, int64_t parts);

/* Fail when what cannot go to a file is larger than what the user said; what is such as "the ids of
 * 5 users and 4 items". */
cw_status cwi_room_check(cw_context *ctx, int64_t bytes, const char *what);

#endif

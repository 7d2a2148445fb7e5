/* sqlite.h - SQLite, whose library is opened when it is needed. */
#ifndef CWI_IMPORT_SQLITE_H
#define CWI_IMPORT_SQLITE_H

#include "core/context.h"

typedef struct cwi_sqlite cwi_sqlite;

/* Open a file, which must be there unless it is made.
 *   name  for messages */
cw_status cwi_sqlite_open(cw_context *ctx, const char *path, const char *name, bool makes,
                          cwi_sqlite **out);
void cwi_sqlite_close(cwi_sqlite *database); /* NULL is fine; what is not committed is undone */

/* Why the last call failed, with the name before it; CW_CANCELLED when the caller stopped it. */
cw_status cwi_sqlite_fail(cwi_sqlite *database);

/* Make one statement the current one. */
cw_status cwi_sqlite_prepare(cwi_sqlite *database, const char *sql);

/* Run statements that have no rows. */
cw_status cwi_sqlite_run(cwi_sqlite *database, const char *sql);

#endif

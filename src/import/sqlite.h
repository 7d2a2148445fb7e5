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

/* What one row of lists consists of. */
typedef struct cwi_sqlite_values {
    const char *text[3];
    int64_t whole;
    double real;
} cwi_sqlite_values;

/* Run the current statement once with ?1 ?2 ?5 as text, ?3 as the whole and ?4 as the real one. */
cw_status cwi_sqlite_insert(cwi_sqlite *database, const cwi_sqlite_values *values);

/* Is there a table or view of that name? */
cw_status cwi_sqlite_has(cwi_sqlite *database, const char *table, bool *out);

/* Run one statement that has no rows of interest. */
cw_status cwi_sqlite_run(cwi_sqlite *database, const char *sql);

#endif

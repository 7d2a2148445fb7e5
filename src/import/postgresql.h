/* postgresql.h - PostgreSQL, whose library is opened when it is needed. */
#ifndef CWI_IMPORT_POSTGRESQL_H
#define CWI_IMPORT_POSTGRESQL_H

#include "core/context.h"

/* A connection.  Whoever waits for the server tells the progress callback. */
typedef struct cwi_pg cwi_pg;

/*
 *   address  as libpq takes it, without a password: that comes from its files and variables
 *   name     for messages
 */
cw_status cwi_pg_open(cw_context *ctx, const char *address, const char *name, cwi_pg **out);
void cwi_pg_close(cwi_pg *pg); /* NULL is fine; what is not committed is undone */

/* Run statements that have no rows of interest. */
cw_status cwi_pg_run(cwi_pg *pg, const char *sql);

/* The first value that a statement has, as text; NULL for none.  To be freed. */
cw_status cwi_pg_ask(cwi_pg *pg, const char *sql, char **out);

/* What the columns of one statement are; it is not run. */
typedef struct cwi_pg_columns {
    size_t count;
    char **name;
    unsigned *type; /* [count] as PostgreSQL numbers types */
} cwi_pg_columns;

cw_status cwi_pg_describe(cwi_pg *pg, const char *sql, cwi_pg_columns *out);
void cwi_pg_columns_clear(cwi_pg_columns *columns);

/* Start a COPY ... TO STDOUT, then take row after row: *row is NULL after the last.  Borrowed until
 * the next one, and may be written to. */
cw_status cwi_pg_copy_out(cwi_pg *pg, const char *sql);
cw_status cwi_pg_next(cwi_pg *pg, char **row, size_t *length);

/* Start a COPY ... FROM STDIN, give it bytes, and end it. */
cw_status cwi_pg_copy_in(cwi_pg *pg, const char *sql);
cw_status cwi_pg_put(cwi_pg *pg, const char *bytes, size_t length);
cw_status cwi_pg_copy_end(cwi_pg *pg);

#endif

/* database.h - what the readers of databases share. */
#ifndef CWI_IMPORT_DATABASE_H
#define CWI_IMPORT_DATABASE_H

#include "import/import.h"
#include "import/uri.h"

/* Only what is new: rows from a value of a column on, or behind a rowid. */
typedef struct cwi_since {
    char *column; /* NULL for the rowid, or for nothing */
    char *value;  /* NULL: all rows */
    bool is_rowid;
} cwi_since;

/* One reading of a table or query. */
typedef struct cwi_reading {
    cwi_import *import;
    const cwi_uri *uri;
    cwi_source *source; /* of rows: its name is in messages */
    cwi_layout layout;  /* filled by choose */
    cwi_since since;
} cwi_reading;

/*
 * The columns there are, in order: which of them have roles?  Those that the address names, or
 * --columns, or those whose names are known.
 */
cw_status cwi_reading_choose(cwi_reading *reading, const cwi_text *name, size_t n_names);

/* Text that SQL takes for the name of a table or column: "a ""b"" c".  A table may be schema.table,
 * unless the whole name is given in quotes. */
char *cwi_sql_name(cw_context *ctx, const char *name, size_t length, bool is_table);

/* The statement that reads a table: its columns with roles in the order of the roles, or all while
 * none is chosen; only rows that are new.  behind_table is what the database wants there for all.
 */
char *cwi_sql_select(const cwi_reading *reading, const cwi_text *name, const char *behind_table);

/* The query without blanks and semicolons at its end; only what is new of it with is_new. */
char *cwi_sql_query(const cwi_reading *reading, bool is_new);

/* The table, or the query in brackets, as it stands behind FROM; it is called q. */
char *cwi_sql_from(const cwi_reading *reading);

/* Which field of a row of that statement each role has; -1 for none. */
void cwi_sql_places(const cwi_reading *reading, int place[CWI_N_ROLES]);

/* sqlite.c, pgread.c: read everything. */
cw_status cwi_sqlite_read(cwi_reading *reading);
cw_status cwi_postgresql_read(cwi_reading *reading);

#endif

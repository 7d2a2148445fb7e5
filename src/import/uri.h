/* uri.h - addresses of databases: sqlite:shop.db?table=clicks&user=visitor&item=page */
#ifndef CWI_IMPORT_URI_H
#define CWI_IMPORT_URI_H

#include "core/context.h"

enum { CWI_URI_ROLES = 4 /* user, item, rating, time, as in import.h */ };

typedef enum cwi_uri_kind { CWI_URI_NONE, CWI_URI_SQLITE, CWI_URI_POSTGRESQL } cwi_uri_kind;

/* What an address says; what it does not is NULL. */
typedef struct cwi_uri {
    cwi_uri_kind kind;
    char *address;               /* the file, or what is for libpq: without what follows here */
    char *table, *query;         /* one of them */
    char *column[CWI_URI_ROLES]; /* by role */
    char *name;                  /* for messages and records: no user and no password */
} cwi_uri;

/* Is this the address of a database?  Anything else is a file. */
cwi_uri_kind cwi_uri_find(const char *text);

/* Take it apart.  A password in it is refused: everybody sees it in the list of processes. */
cw_status cwi_uri_parse(cw_context *ctx, const char *text, cwi_uri *out);
void cwi_uri_clear(cwi_uri *uri); /* also after a failure */

#endif

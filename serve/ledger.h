/* ledger.h - the parts of the log of feedback: its files, and what is remembered of them. */
#ifndef SERVE_LEDGER_H
#define SERVE_LEDGER_H

#include "server.h"

/* ---- recall.c: what users had since training, in memory that is bounded ---- */

typedef struct recall recall;
recall *recall_create(void);
void recall_free(recall *r);
/* Thread-safe; false: no memory. */
bool recall_add(recall *r, const char *user, const char *item);
/* Call visit with every item of a user, oldest first, while nothing is added. */
void recall_each(recall *r, const char *user, void (*visit)(void *arg, const char *item),
                 void *arg);

/* ---- rows.c: rows as text -------------------------------------------------------- */

#define LEDGER_HEADER "user,item,timestamp\n"

/* Read rows from text, which is changed; *whole is the length of the part that is rows.  False:
 * no memory. */
bool rows_read(char *text, size_t length, recall *r, size_t *whole);

#endif

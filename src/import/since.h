/* since.h - of a database only what is new, and what there was, for the next time. */
#ifndef CWI_IMPORT_SINCE_H
#define CWI_IMPORT_SINCE_H

#include <jansson.h>

#include "import/database.h"

/* What is asked for, or remembered from the last time, about this table or query. */
cw_status cwi_since_find(cwi_reading *reading);
void cwi_since_clear(cwi_since *since);

/* " WHERE ... ORDER BY ..." for the rows that are new; "" for all. */
char *cwi_since_where(const cwi_reading *reading, bool with_order);

/* The statement that asks for the last value there is. */
char *cwi_since_last(const cwi_reading *reading);

/* Keep that value for the record; NULL: there are no rows, and what was known stays. */
cw_status cwi_since_remember(cwi_reading *reading, const char *value);

#endif

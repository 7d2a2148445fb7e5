/* library.h - libraries that are opened when they are needed, so that nothing depends on them. */
#ifndef CWI_CORE_LIBRARY_H
#define CWI_CORE_LIBRARY_H

#include <stddef.h>

/* A function of the library and where its address goes in the caller's table. */
typedef struct cwi_symbol {
    const char *name;
    size_t place;
} cwi_symbol;

/*
 * Open a library by its name, such as "libpq.so.5", and write the addresses of n functions into
 * table.  NULL: it is not installed, or lacks one of them.
 */
void *cwi_library_open(const char *name, const cwi_symbol *symbols, size_t n, void *table);
void cwi_library_close(void *library); /* NULL is fine */

#endif

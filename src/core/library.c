/* library.c - libraries that are opened when they are needed. */
#include "core/library.h"

#include <dlfcn.h>
#include <string.h>

void *cwi_library_open(const char *name, const cwi_symbol *symbols, size_t n, void *table)
{
    /* By name, so that the system's search finds it as it finds the libraries linked.  It stays
     * until the process ends: some keep state in threads that outlives their last user. */
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (size_t k = 0; library && k < n; k++) {
        void *symbol = dlsym(library, symbols[k].name);
        if (!symbol) {
            dlclose(library);
            return NULL;
        }
        /* ISO C has no cast from a pointer to an object to one to a function. */
        memcpy((char *)table + symbols[k].place, &symbol, sizeof symbol);
    }
    return library;
}

void cwi_library_close(void *library)
{
    if (library) dlclose(library);
}

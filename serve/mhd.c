/* mhd.c - open libmicrohttpd: neither the command nor the library is linked with it, so that all
 * other commands run without it. */
#ifdef CW_HAS_MICROHTTPD

#include "mhd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t place;
} calls[] = {
#define X(name) {"MHD_" #name, offsetof(mhd, name)},
    MHD_CALLS(X)
#undef X
};

/* ISO C has no cast from a pointer to an object to one to a function: the bytes are copied. */
const char *mhd_open(mhd *out)
{
    *out = (mhd){.library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL)};
    if (!out->library)
        return "libmicrohttpd.so.12 is not on this machine (Debian: libmicrohttpd12)";
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        void *symbol = dlsym(out->library, calls[k].name);
        if (!symbol) return "libmicrohttpd.so.12 of this machine lacks a call";
        memcpy((char *)out + calls[k].place, &symbol, sizeof symbol);
    }
    return NULL;
}

void mhd_close(mhd *m)
{
    if (m->library) (void)dlclose(m->library);
    m->library = NULL;
}

#else

typedef int nothing_here; /* ISO C wants something in a file */

#endif

/*
 * beside.c - where shared objects of the project are: beside what this code is part of, or in the
 * folder of the library, by absolute path and nowhere else.
 */
#include "core/beside.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if !defined(CWI_LIBRARY_FROM_COMMANDS)
#define CWI_LIBRARY_FROM_COMMANDS "../lib"
#endif

/* ---- the folder that this code was loaded from ----------------------------------------------- */

typedef struct place {
    uintptr_t code;
    char path[PATH_MAX]; /* of the file that has it */
    bool is_found;
} place;

static bool holds(const struct dl_phdr_info *object, uintptr_t code)
{
    for (int k = 0; k < object->dlpi_phnum; k++) {
        uintptr_t begin = object->dlpi_addr + object->dlpi_phdr[k].p_vaddr;
        if (object->dlpi_phdr[k].p_type == PT_LOAD && code >= begin &&
            code - begin < object->dlpi_phdr[k].p_memsz)
            return true;
    }
    return false;
}

/* The program itself has no name here. */
static int look_at(struct dl_phdr_info *object, size_t size, void *arg)
{
    place *p = arg;
    (void)size;
    if (!holds(object, p->code)) return 0;
    const char *name =
        object->dlpi_name && object->dlpi_name[0] ? object->dlpi_name : "/proc/self/exe";
    p->is_found = realpath(name, p->path) != NULL;
    return 1;
}

static bool find_folder(char out[PATH_MAX])
{
    cw_status (*here)(const char *, const char *, const char *, int, const cwi_beside_calls **,
                      char *) = cwi_beside_open;
    place p = {0};
    memcpy(&p.code, &here, sizeof p.code); /* ISO C has no cast from a function to a number */
    dl_iterate_phdr(look_at, &p);
    char *end = p.is_found ? strrchr(p.path, '/') : NULL;
    if (!end) return false;
    *end = '\0';
    memcpy(out, p.path, sizeof p.path);
    return true;
}

/* ---- open ---- */

/* The build folder, the library's folder, and that as seen from the command's. */
static bool find_file(const char *file, char out[PATH_MAX])
{
    static const char *const from_here[] = {"", "crosswise/",
                                            CWI_LIBRARY_FROM_COMMANDS "/crosswise/"};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (!find_folder(folder)) return false;
    for (size_t k = 0; k < sizeof from_here / sizeof from_here[0]; k++) {
        snprintf(path, sizeof path, "%s/%s%s", folder, from_here[k], file);
        if (access(path, R_OK) == 0 && realpath(path, out)) return true;
    }
    return false;
}

cw_status cwi_beside_open(const char *file, const char *what, const char *symbol, int version,
                          const cwi_beside_calls **out, char *why)
{
    char path[PATH_MAX];
    const cwi_beside_calls *(*find)(void);
    *out = NULL;
    if (!find_file(file, path)) {
        snprintf(why, CWI_BESIDE_TEXT, "crosswise was built or installed without its %s", what);
        return CW_UNSUPPORTED;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *found = library ? dlsym(library, symbol) : NULL;
    if (!found) {
        snprintf(why, CWI_BESIDE_TEXT, "%.400s cannot be opened as the %s", path, what);
        return CW_UNSUPPORTED;
    }
    memcpy(&find, &found, sizeof find); /* ISO C has no cast from an address to a function */
    const cwi_beside_calls *calls = find();
    if (calls->version != version || strcmp(calls->release, cw_version()) != 0) {
        snprintf(why, CWI_BESIDE_TEXT, "%.300s is of %scrosswise %.40s, and this is crosswise %s",
                 path, calls->version != version ? "another build, of " : "", calls->release,
                 cw_version());
        return CW_UNSUPPORTED;
    }
    *out = calls;
    return CW_OK;
}

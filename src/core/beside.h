/* beside.h - shared objects of the project's own, found and opened at run time. */
#ifndef CWI_CORE_BESIDE_H
#define CWI_CORE_BESIDE_H

#include "core/context.h"

enum { CWI_BESIDE_TEXT = 512 };

/* The function that all of them export: the calls of an object, a struct that begins so. */
typedef struct cwi_beside_calls {
    int version;
    const char *release; /* of crosswise */
} cwi_beside_calls;

/*
 * Open `file` of the folder that this code was loaded from, or of the library's folder, by absolute
 * path and nowhere else; it stays open until the process ends.
 *   what    it is, for messages, such as "CUDA engine"
 *   symbol  the name of its only function, which has no arguments and returns its calls
 *   why     CWI_BESIDE_TEXT bytes for a sentence, where there are none of this version
 */
cw_status cwi_beside_open(const char *file, const char *what, const char *symbol, int version,
                          const cwi_beside_calls **out, char *why);

#endif

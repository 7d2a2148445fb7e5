/* leaves.h - the values of one JSON object, in a single pass and without a tree. */
#ifndef CWI_IMPORT_LEAVES_H
#define CWI_IMPORT_LEAVES_H

#include "import/import.h"

typedef enum cwi_leaf_kind {
    CWI_LEAF_STRING,
    CWI_LEAF_NUMBER,
    CWI_LEAF_WORD, /* true or false */
    CWI_LEAF_NULL,
    CWI_LEAF_LIST,
    CWI_LEAF_OBJECT /* followed by what is in it */
} cwi_leaf_kind;

/* A value and the keys that lead to it, joined by dots.  Nothing is told from within a list. */
typedef struct cwi_leaf {
    cwi_leaf_kind kind;
    cwi_text path, value; /* value: without quotes and escapes; numbers as they are written */
} cwi_leaf;

enum {
    CWI_MAX_PATH = 512, /* bytes; keys that lead further are not told */
    CWI_MAX_DEPTH = 64  /* of objects and lists in each other */
};

typedef void (*cwi_leaf_fn)(void *user, const cwi_leaf *leaf);

/*
 * Tell the leaves of the object that line is, in order.  NULL, or why it is none; some leaves may
 * have been told by then.
 *   scratch  room for line.length bytes: values that were written with escapes lie in it
 */
const char *cwi_leaves_read(cwi_text line, char *scratch, cwi_leaf_fn tell, void *user);

#endif

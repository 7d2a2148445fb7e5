/* interactions.h - what importing gives: distinct pairs in file order with their raw ids. */
#ifndef CWI_IMPORT_INTERACTIONS_H
#define CWI_IMPORT_INTERACTIONS_H

#include "core/context.h"
#include "import/idmap.h"

struct cw_interactions {
    int64_t count;
    int32_t *user;      /* [count] */
    int32_t *item;      /* [count] */
    double *time;       /* [count], or NULL when no time was read */
    uint8_t *part;      /* [count] cw_part of a given split, or NULL */
    bool keeps_repeats; /* a pair may occur more than once */
    cwi_idmap users, items;
    char *source; /* what was read, as JSON text: how the counts below came about, files */
};

extern const cw_option_info cwi_import_options[];

#endif

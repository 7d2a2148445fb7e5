/* interactions.h - what importing gives: distinct pairs in file order with their raw ids. */
#ifndef CWI_IMPORT_INTERACTIONS_H
#define CWI_IMPORT_INTERACTIONS_H

#include "core/reel.h"
#include "import/idmap.h"

/* Rows below --min-rating, as they were read.  Their ids have numbers of their own, so that those
 * of the interactions do not depend on them; a pair may occur often, and at a better rating too. */
typedef struct cwi_below {
    int64_t count;
    size_t capacity;
    int32_t (*row)[2]; /* [count] numbers of user and item */
    cwi_idmap users, items;
} cwi_below;

void cwi_below_clear(cwi_below *below);

struct cw_interactions {
    int64_t count;
    int32_t *user;      /* [count] */
    int32_t *item;      /* [count] */
    double *time;       /* [count], or NULL when no time was read */
    uint8_t *part;      /* [count] cw_part of a given split, or NULL */
    cwi_spill *spill;   /* NULL; else rows are in this file and the arrays above NULL */
    bool is_split;      /* rows have a part */
    bool keeps_repeats; /* a pair may occur more than once */
    bool keeps_numbers; /* users and items are rows and columns of a matrix, all of them */
    cwi_idmap users, items;
    cwi_below below; /* what nobody trains on, but users know; empty where rows are in a file,
                        from which nobody trains */
    char *source;    /* what was read, as JSON text: how the counts below came about, files */
};

extern const cw_option_info cwi_import_options[];

/* Fail where rows are in a file: what the caller does wants them in memory. */
cw_status cwi_interactions_here(cw_context *ctx, const cw_interactions *interactions);

#endif

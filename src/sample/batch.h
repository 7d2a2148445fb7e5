/* batch.h - training examples as rows of slots; a slot is a (user, item) pair. */
#ifndef CWI_SAMPLE_BATCH_H
#define CWI_SAMPLE_BATCH_H

#include "core/context.h"

enum { CWI_MAX_GROUPS = 16 };

/* Rows with equal numbers of slots: slots first_slot + r * slots .. of row r. */
typedef struct cwi_group {
    int32_t slots; /* per row */
    int64_t rows;
    int64_t first_slot; /* of its first row in the batch's arrays */
} cwi_group;

typedef struct cwi_batch {
    int n_groups;
    cwi_group group[CWI_MAX_GROUPS];
    uint64_t step; /* what it was drawn for: the number of the step over all epochs */
    int64_t n_slots, max_slots;
    int32_t *user, *item;         /* [n_slots] */
    int32_t *user_row, *item_row; /* [n_slots] places in `fresh` */
    const int32_t *row;           /* table rows of the places in `fresh` */
    const float *fresh; /* values of the table rows that the slots read, where the table itself is
                           behind; NULL: it is not */
    float *mark; /* [rows] what the sampler tells the loss of a row: a label, a weight, ... */
} cwi_batch;

cw_status cwi_batch_create(cw_context *ctx, int64_t max_slots, cwi_batch *out);
void cwi_batch_clear(cwi_batch *batch); /* a zeroed one is fine */

/* One group of rows with so many slots each, whose slots are filled from the first on. */
void cwi_batch_fill(cwi_batch *batch, int32_t slots, int64_t rows);

/* Number of rows of all groups. */
int64_t cwi_batch_rows(const cwi_batch *batch);

/* Examples of `slots` slots were drawn from first_slot on in chunks of `chunk` examples each, of
 * which the first kept[c] are valid: move them together.  Returns how many there are. */
int64_t cwi_batch_gather(cwi_batch *batch, int64_t first_slot, int64_t slots, int64_t chunk,
                         const int64_t *kept, int64_t n_chunks);

#endif

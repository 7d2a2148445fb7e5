/* batch.h - training examples as rows of slots; a slot is a (user, item) pair. */
#ifndef CWI_SAMPLE_BATCH_H
#define CWI_SAMPLE_BATCH_H

#include "core/context.h"

enum { CWI_MAX_GROUPS = 16, CWI_MAX_SLOTS = 32 /* of a row */ };

/* Rows with equal numbers of slots: slots first_slot + r * slots .. of row r. */
typedef struct cwi_group {
    int32_t slots; /* per row */
    int64_t rows;
    int64_t first_slot; /* of its first row in the batch's arrays */
} cwi_group;

typedef struct cwi_batch {
    int n_groups;
    cwi_group group[CWI_MAX_GROUPS];
    /* Only differences count, says the loss: slot j of the first half of a row and slot j of the
     * second are of one user, and it goes by what the first scores above the second. */
    bool is_paired;
    uint64_t step; /* what it was drawn for: the number of the step over all epochs */
    int64_t n_slots, max_slots;
    int32_t *user, *item; /* [n_slots] */
    /* 0: rows of slots.  Else slots of one group of the batch are cut into so many: the users of a
     * part all meet its items, or the items of the second group where there is one, the users of
     * which mean nothing. */
    int64_t grid;
    float *mark; /* [rows] what the sampler tells the loss of a row: a label, a weight, ... */
} cwi_batch;

cw_status cwi_batch_create(cw_context *ctx, int64_t max_slots, cwi_batch *out);
void cwi_batch_clear(cwi_batch *batch); /* a zeroed one is fine */

/* Two slots of which only the difference counts. */
typedef struct cwi_slot_pair {
    int32_t user, plus, minus; /* the two items */
    int64_t slot, other;
} cwi_slot_pair;

/* Pairs of the rows that begin in slots begin .. end - 1 of a batch that is paired, at most
 * (end - begin + CWI_MAX_SLOTS) / 2.  Returns how many. */
int64_t cwi_batch_pairs(const cwi_batch *batch, int64_t begin, int64_t end, cwi_slot_pair *out);

/* Number of rows of all groups. */
int64_t cwi_batch_rows(const cwi_batch *batch);

#endif

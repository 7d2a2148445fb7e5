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

/* Current values of rows of a table that is behind; any thread may call.  Rows are asked for some
 * time before they are read. */
typedef struct cwi_reader {
    void (*ask)(const void *state, int32_t row);
    void (*read)(const void *state, int32_t row, float *out);
    /* row . (plus - minus); `room` is that of a row */
    float (*apart)(const void *state, int32_t row, const float *plus, const float *minus,
                   float *room);
    const void *state;
} cwi_reader;

typedef struct cwi_batch {
    int n_groups;
    cwi_group group[CWI_MAX_GROUPS];
    /* Only differences count: slot j of the first half of a row and slot j of the second are of one
     * user, and a loss goes by what the first scores above the second. */
    bool is_paired;
    uint64_t step; /* what it was drawn for: the number of the step over all epochs */
    int64_t n_slots, max_slots;
    int32_t *user, *item; /* [n_slots] */
    float *mark; /* [rows] what the sampler tells the loss of a row: a label, a weight, ... */

    /* where the table is behind, once cwi_batch_number was called */
    int64_t n_users, n_items; /* different ones in the slots */
    int32_t *users, *items;   /* [n_users], [n_items] they, by first slots */
    int32_t *item_place;      /* [n_slots] where the item is in `items` */
    const float *item_now;    /* [n_items] their current values; NULL: read the table */
    float *user_now;          /* room for those of the users that are kept */
    cwi_reader reader;
} cwi_batch;

cw_status cwi_batch_create(cw_context *ctx, int64_t max_slots, cwi_batch *out);
void cwi_batch_clear(cwi_batch *batch); /* a zeroed one is fine */

/* List the items of the slots, and the users where user_at is given.  user_at and item_at have a
 * number for every user and item: -1, before and after. */
void cwi_batch_number(cwi_batch *batch, int32_t *user_at, int32_t *item_at);

/* The first slot of a row at or after this slot. */
int64_t cwi_batch_row_start(const cwi_batch *batch, int64_t slot);

/* Number of rows of all groups. */
int64_t cwi_batch_rows(const cwi_batch *batch);

#endif

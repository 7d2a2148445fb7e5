/* select.c - dynamic sampling: the hardest candidates are trained on. */
#include "sample/select.h"

#include <math.h>

#include "core/smallest.h"

/* Rows are short: a call for each of their arrays would take longer than the move. */
static void move_slots(cwi_batch *batch, float *score, int32_t heads, int64_t from, int64_t to,
                       int32_t slots)
{
    for (int32_t s = 0; s < slots; s++) {
        batch->user[to + s] = batch->user[from + s];
        batch->item[to + s] = batch->item[from + s];
    }
    for (int32_t s = 0; s < slots * heads; s++) score[to * heads + s] = score[from * heads + s];
}

/* Move the kept rows of a group, the first of which is row number `row` of the batch, to the end of
 * what is kept already, `kept` rows.  Returns how many are kept then. */
static int64_t keep_rows(cwi_batch *batch, int g, int64_t row, int64_t kept, float *score,
                         int32_t heads, const double *margin, cwi_limit *until)
{
    cwi_group *group = &batch->group[g];
    int64_t from = group->first_slot, to = batch->n_slots, rows = group->rows, before = kept;

    for (int64_t r = 0; r < rows; r++, from += group->slots) {
        if (!cwi_limit_take(until, margin[row + r])) continue;
        move_slots(batch, score, heads, from, to, group->slots);
        batch->mark[kept++] = batch->mark[row + r];
        to += group->slots;
    }
    group->first_slot = batch->n_slots;
    group->rows = kept - before;
    batch->n_slots = to;
    return kept;
}

void cwi_select_hardest(cwi_batch *batch, float *score, int32_t heads, const double *margin,
                        int64_t keep, bool per_group, double *work)
{
    int64_t rows = cwi_batch_rows(batch), row = 0, kept = 0;
    int64_t left_rows = rows, left_keep = keep;
    cwi_limit until = cwi_smallest(margin, rows, keep, work);

    batch->n_slots = 0;
    for (int g = 0; g < batch->n_groups; g++) {
        int64_t count = batch->group[g].rows;
        if (per_group) { /* shares are rounded so that they add up to keep */
            int64_t share =
                left_rows ? (int64_t)rint((double)left_keep * (double)count / (double)left_rows)
                          : 0;
            left_rows -= count;
            left_keep -= share;
            until = cwi_smallest(margin + row, count, share, work);
        }
        kept = keep_rows(batch, g, row, kept, score, heads, margin, &until);
        row += count;
    }
}

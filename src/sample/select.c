/* select.c - dynamic sampling: the hardest candidates are trained on. */
#include "sample/select.h"

#include <math.h>

#include "core/smallest.h"

/* Rows are short: a call for each of their arrays would take longer than the move. */
static void move_row(cwi_batch *batch, float *score, int64_t from, int64_t to, int32_t slots)
{
    for (int32_t s = 0; s < slots; s++) {
        batch->user[to + s] = batch->user[from + s];
        batch->item[to + s] = batch->item[from + s];
        score[to + s] = score[from + s];
    }
}

/* Move the kept rows of a group to the end of what is kept already. */
static void keep_rows(cwi_batch *batch, int g, float *score, const double *margin, cwi_limit *until)
{
    cwi_group *group = &batch->group[g];
    int64_t from = group->first_slot, to = batch->n_slots;
    int64_t rows = group->rows;

    group->first_slot = to;
    group->rows = 0;
    for (int64_t r = 0; r < rows; r++, from += group->slots) {
        if (!cwi_limit_take(until, margin[r])) continue;
        move_row(batch, score, from, to, group->slots);
        to += group->slots;
        group->rows++;
    }
    batch->n_slots = to;
}

void cwi_select_hardest(cwi_batch *batch, float *score, const double *margin, int64_t keep,
                        bool per_group, double *work)
{
    int64_t rows = cwi_batch_rows(batch);
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
            until = cwi_smallest(margin, count, share, work);
        }
        keep_rows(batch, g, score, margin, &until);
        margin += count;
    }
}

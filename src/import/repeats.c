/* repeats.c - find pairs that occur more than once, in linear time. */
#include <string.h>

#include "core/mem.h"
#include "import/import.h"

/* A row as it lies among the rows of its user. */
typedef struct place {
    int64_t row;
    int32_t item;
} place;

enum { N_PARTS = 3 };

/* Sort rows by user (counting sort), each user's rows by part and then as they were read.
 * On return start[u + 1] is where the rows of user u end. */
static void sort_by_user(const cw_interactions *rows, int64_t *start, place *sorted)
{
    for (int64_t r = 0; r < rows->count; r++) start[rows->user[r] + 2]++;
    for (int32_t u = 0; u < rows->users.count; u++) start[u + 2] += start[u + 1];
    for (int part = 0; part < (rows->part ? N_PARTS : 1); part++)
        for (int64_t r = 0; r < rows->count; r++)
            if (!rows->part || rows->part[r] == part)
                sorted[start[rows->user[r] + 1]++] = (place){r, rows->item[r]};
}

/* Mark the rows whose item the same user had before: item -1.  first[i] is the place where the
 * current user had item i, which is this user's when it is not before the user's first place. */
static void mark_repeats(cw_interactions *rows, const int64_t *start, const place *sorted,
                         int64_t *first, int64_t counts[2])
{
    for (int32_t i = 0; i < rows->items.count; i++) first[i] = -1;
    for (int32_t u = 0; u < rows->users.count; u++) {
        for (int64_t k = start[u]; k < start[u + 1]; k++) {
            int64_t before = first[sorted[k].item];
            if (before < start[u]) {
                first[sorted[k].item] = k;
                continue;
            }
            bool overlaps =
                rows->part && rows->part[sorted[before].row] != rows->part[sorted[k].row];
            counts[overlaps]++;
            rows->item[sorted[k].row] = -1;
        }
    }
}

static void compact(cw_interactions *rows)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        if (rows->item[r] < 0) continue;
        rows->user[kept] = rows->user[r];
        rows->item[kept] = rows->item[r];
        if (rows->time) rows->time[kept] = rows->time[r];
        if (rows->part) rows->part[kept] = rows->part[r];
        kept++;
    }
    rows->count = kept;
}

cw_status cwi_drop_repeats(cw_context *ctx, cw_interactions *rows, int64_t *repeats,
                           int64_t *overlaps)
{
    int64_t counts[2] = {0, 0};
    cw_status status;
    cwi_pile pile = {0};
    int64_t *start = cwi_pile_add_zero(ctx, &pile, (size_t)rows->users.count + 2, sizeof *start);
    int64_t *first = cwi_pile_add(ctx, &pile, (size_t)rows->items.count, sizeof *first);
    place *sorted = cwi_pile_add(ctx, &pile, (size_t)rows->count, sizeof *sorted);

    CW_TRY(pile.status);
    sort_by_user(rows, start, sorted);
    mark_repeats(rows, start, sorted, first, counts);
    if (counts[0] + counts[1] > 0) compact(rows);
done:
    *repeats = counts[0];
    *overlaps = counts[1];
    cwi_pile_clear(&pile);
    return status;
}

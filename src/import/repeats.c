/* repeats.c - find pairs that occur more than once, in linear time. */
#include <string.h>

#include "core/mem.h"
#include "import/import.h"

/* A row as it lies among the rows of its user. */
typedef struct place {
    int64_t row;
    int32_t item;
} place;

enum { N_PARTS = 3, LEAST_PLACES = 1 << 22, MOST_WALKS = 8 };

/* Users whose rows are looked at together, so that places take a part of the memory of rows. */
typedef struct stretch {
    int32_t first, end; /* users */
    int64_t before;     /* rows of users before the first */
} stretch;

/* At least one user, and as many as there are places for. */
static stretch next_stretch(const int64_t *start, int32_t n_users, int32_t first, int64_t places)
{
    stretch s = {first, first + 1, start[first]};
    while (s.end < n_users && start[s.end + 1] - s.before <= places) s.end++;
    return s;
}

/* The most rows that a stretch has. */
static int64_t longest_stretch(const int64_t *start, int32_t n_users, int64_t places)
{
    int64_t longest = 0;
    for (int32_t u = 0; u < n_users;) {
        stretch s = next_stretch(start, n_users, u, places);
        if (start[s.end] - s.before > longest) longest = start[s.end] - s.before;
        u = s.end;
    }
    return longest;
}

/* Rows of a stretch by user, each user's rows by part and then as they were read.  next[u] is where
 * the next row of user u goes. */
static void sort_by_user(const cw_interactions *rows, const stretch *s, int64_t *next,
                         place *sorted)
{
    for (int part = 0; part < (rows->part ? N_PARTS : 1); part++)
        for (int64_t r = 0; r < rows->count; r++) {
            int32_t u = rows->user[r];
            if (u < s->first || u >= s->end || (rows->part && rows->part[r] != part)) continue;
            sorted[next[u]++ - s->before] = (place){r, rows->item[r]};
        }
}

/* Mark the rows whose item the same user had before: item -1.  first[i] is the place, among all
 * rows, where the current user had item i, which is this user's when it is not before the user's
 * first place.  end[u] is where the rows of user u end. */
static void mark_repeats(cw_interactions *rows, const stretch *s, const int64_t *end,
                         const place *sorted, int64_t *first, int64_t counts[2])
{
    int64_t start = s->before;
    for (int32_t u = s->first; u < s->end; start = end[u++])
        for (int64_t k = start; k < end[u]; k++) {
            const place *now = &sorted[k - s->before];
            int64_t before = first[now->item];
            if (before < start) {
                first[now->item] = k;
                continue;
            }
            bool overlaps =
                rows->part && rows->part[sorted[before - s->before].row] != rows->part[now->row];
            counts[overlaps]++;
            rows->item[now->row] = -1;
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

/* starts[u] is where the rows of user u begin. */
static void count_starts(const cw_interactions *rows, int64_t *starts)
{
    for (int64_t r = 0; r < rows->count; r++) starts[rows->user[r] + 1]++;
    for (int32_t u = 0; u < rows->users.count; u++) starts[u + 1] += starts[u];
}

cw_status cwi_drop_repeats_within(cw_context *ctx, cw_interactions *rows, int64_t places,
                                  int64_t *repeats, int64_t *overlaps)
{
    int64_t counts[2] = {0, 0};
    cw_status status;
    cwi_pile pile = {0};
    int32_t n_users = rows->users.count;
    int64_t *next = cwi_pile_add_zero(ctx, &pile, (size_t)n_users + 1, sizeof *next);
    int64_t *first = cwi_pile_add(ctx, &pile, (size_t)rows->items.count, sizeof *first);

    CW_TRY(pile.status);
    count_starts(rows, next);
    int64_t longest = longest_stretch(next, n_users, places);
    place *sorted = cwi_pile_add(ctx, &pile, (size_t)longest, sizeof *sorted);
    CW_TRY(pile.status);
    for (int32_t i = 0; i < rows->items.count; i++) first[i] = -1;
    for (int32_t u = 0; u < n_users;) {
        stretch s = next_stretch(next, n_users, u, places);
        sort_by_user(rows, &s, next, sorted);
        mark_repeats(rows, &s, next, sorted, first, counts);
        u = s.end;
    }
    if (counts[0] + counts[1] > 0) compact(rows);
done:
    *repeats = counts[0];
    *overlaps = counts[1];
    cwi_pile_clear(&pile);
    return status;
}

cw_status cwi_drop_repeats(cw_context *ctx, cw_interactions *rows, int64_t *repeats,
                           int64_t *overlaps)
{
    int64_t part = rows->count / MOST_WALKS;
    return cwi_drop_repeats_within(ctx, rows, part > LEAST_PLACES ? part : LEAST_PLACES, repeats,
                                   overlaps);
}

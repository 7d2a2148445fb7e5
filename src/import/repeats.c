/* repeats.c - find pairs that occur more than once, in linear time. */
#include "core/mem.h"
#include "core/room.h"
#include "import/import.h"

/* A row as it lies among the rows of its user. */
typedef struct place {
    int64_t row;
    int32_t item;
    uint8_t part; /* 0 where the log is not split */
} place;

enum { N_PARTS = 3, LEAST_PLACES = 1 << 22, MOST_WALKS = 8, MARKS = 64 /* a word */ };

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
static cw_status sort_by_user(cw_context *ctx, const cwi_reel *reel, bool is_split,
                              const stretch *s, int64_t *next, place *sorted)
{
    for (int part = 0; part < (is_split ? N_PARTS : 1); part++) {
        cwi_window w = cwi_window_over(reel);
        while (cwi_window_next(ctx, &w))
            for (int64_t k = 0; k < w.n; k++) {
                int32_t u = w.user[k];
                if (u < s->first || u >= s->end || (is_split && w.part[k] != part)) continue;
                sorted[next[u]++ - s->before] = (place){w.first + k, w.item[k], (uint8_t)part};
            }
        CW_PASS(w.status);
    }
    return CW_OK;
}

/* A bit of every row: it repeats another. */
static void mark(uint64_t *marks, int64_t row)
{
    marks[row / MARKS] |= UINT64_C(1) << row % MARKS;
}

static bool is_marked(const uint64_t *marks, int64_t row)
{
    return marks[row / MARKS] >> row % MARKS & 1;
}

/* Mark the rows whose item the same user had before.  first[i] is the place, among all rows, where
 * the current user had item i, which is this user's when it is not before the user's first place.
 * end[u] is where the rows of user u end. */
static void mark_repeats(const stretch *s, const int64_t *end, const place *sorted, int64_t *first,
                         uint64_t *marks, int64_t counts[2])
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
            counts[sorted[before - s->before].part != now->part]++;
            mark(marks, now->row);
        }
}

static cw_status compact(cw_context *ctx, cwi_reel *reel, const uint64_t *marks)
{
    cwi_window w = cwi_window_over(reel);
    cwi_reel_rewind(reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n && w.status == CW_OK; k++)
            if (!is_marked(marks, w.first + k)) w.status = cwi_reel_take(ctx, reel, &w, k);
    CW_PASS(w.status);
    return cwi_reel_end(ctx, reel);
}

/* starts[u] is where the rows of user u begin. */
static cw_status count_starts(cw_context *ctx, const cwi_reel *reel, int32_t n_users,
                              int64_t *starts)
{
    starts[0] = 0;
    CW_PASS(cwi_reel_degrees(ctx, reel, n_users, starts + 1, 0, NULL));
    for (int32_t u = 0; u < n_users; u++) starts[u + 1] += starts[u];
    return CW_OK;
}

cw_status cwi_drop_repeats_within(cw_context *ctx, cw_interactions *rows, int64_t places,
                                  int64_t *repeats, int64_t *overlaps)
{
    int64_t counts[2] = {0, 0};
    cw_status status;
    cwi_pile pile = {0};
    cwi_reel reel = CWI_REEL(rows);
    int32_t n_users = rows->users.count;
    int64_t *next = cwi_pile_add(ctx, &pile, (size_t)n_users + 1, sizeof *next);
    int64_t *first = cwi_pile_add(ctx, &pile, (size_t)rows->items.count, sizeof *first);
    uint64_t *marks = cwi_pile_add_zero(ctx, &pile, (size_t)reel.count / MARKS + 1, sizeof *marks);

    CW_TRY(pile.status);
    CW_TRY(count_starts(ctx, &reel, n_users, next));
    int64_t longest = longest_stretch(next, n_users, places);
    place *sorted = cwi_pile_add(ctx, &pile, (size_t)longest, sizeof *sorted);
    CW_TRY(pile.status);
    for (int32_t i = 0; i < rows->items.count; i++) first[i] = -1;
    for (int32_t u = 0; u < n_users;) {
        stretch s = next_stretch(next, n_users, u, places);
        CW_TRY(cwi_progress(ctx, "looking for repeats", u, n_users));
        CW_TRY(sort_by_user(ctx, &reel, rows->is_split, &s, next, sorted));
        mark_repeats(&s, next, sorted, first, marks, counts);
        u = s.end;
    }
    if (counts[0] + counts[1] > 0) CW_TRY(compact(ctx, &reel, marks));
    rows->count = reel.count;
done:
    *repeats = counts[0];
    *overlaps = counts[1];
    cwi_pile_clear(&pile);
    return status;
}

/* In memory, places for a part of the rows; else as many as a quarter of the memory is for. */
cw_status cwi_drop_repeats(cw_context *ctx, cw_interactions *rows, int64_t *repeats,
                           int64_t *overlaps)
{
    int64_t part = rows->count / MOST_WALKS;
    int64_t places = part > LEAST_PLACES ? part : LEAST_PLACES;
    int64_t room = cwi_room_share(ctx, 4) / (int64_t)sizeof(place);
    return cwi_drop_repeats_within(ctx, rows, places < room || !rows->spill ? places : room,
                                   repeats, overlaps);
}

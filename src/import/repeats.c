/*
 * repeats.c - find pairs that occur more than once, in linear time.
 *
 * Users are looked at a stretch at a time.  A log in memory is walked over for each stretch; one in
 * a file is first dealt out to files of the stretches, so that it is read once for many of them.
 */
#include <string.h>

#include "core/mem.h"
#include "core/room.h"
#include "import/import.h"

/* A row as it lies among the rows of its user. */
typedef struct place {
    int64_t row;
    int32_t item;
    uint8_t part; /* 0 where the log is not split */
} place;

enum {
    N_PARTS = 3,
    LEAST_PLACES = 1 << 22,
    MOST_WALKS = 8,
    MARKS = 64, /* of a word */
    MOST_FILES = 64,
    N_NONE = 255
};

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

/* ---- stretches of a log in a file ------------------------------------------------ */

/* Stretches whose rows are looked at one after the other, and where each has them: the whole log,
 * or a file of its own in which the time of a row is its number in the log. */
typedef struct lot {
    stretch of[MOST_FILES];
    cwi_reel rows[MOST_FILES];
    int n;
    bool is_dealt;  /* to such files */
    uint8_t *which; /* [users] the stretch of a user, N_NONE for none; NULL: nothing is dealt */
} lot;

/* How many files a share of the memory has buffers for. */
static int count_files(const cw_context *ctx)
{
    enum { LEAST_FILES = 7, BYTES_A_FILE = 10 << 20 };
    int64_t n = cwi_room_share(ctx, BYTES_A_FILE);
    return n < LEAST_FILES ? LEAST_FILES : n > MOST_FILES ? MOST_FILES : (int)n;
}

/* The next stretches, from user `first` on. */
static void plan_lot(const cw_context *ctx, const int64_t *start, int32_t n_users, int32_t first,
                     int64_t places, lot *l)
{
    int most = l->which ? count_files(ctx) : 1;
    for (l->n = 0; l->n < most && first < n_users; l->n++) {
        l->of[l->n] = next_stretch(start, n_users, first, places);
        first = l->of[l->n].end;
    }
    l->is_dealt = l->n > 1;
}

/* One walk over the log for all of them. */
static cw_status deal(cw_context *ctx, const cwi_reel *reel, int32_t n_users, lot *l)
{
    cwi_window w = cwi_window_over(reel);
    memset(l->which, N_NONE, (size_t)n_users);
    for (int f = 0; f < l->n; f++) {
        memset(l->which + l->of[f].first, f, (size_t)(l->of[f].end - l->of[f].first));
        CW_PASS(cwi_spill_create(ctx, true, true, &l->rows[f].spill));
    }
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n && w.status == CW_OK; k++) {
            uint8_t f = l->which[w.user[k]];
            if (f == N_NONE) continue;
            w.status = cwi_spill_add(ctx, l->rows[f].spill, w.user[k], w.item[k],
                                     (double)(w.first + k), w.part ? w.part[k] : 0);
            l->rows[f].count++;
        }
    for (int f = 0; f < l->n && w.status == CW_OK; f++) w.status = cwi_reel_end(ctx, &l->rows[f]);
    return w.status;
}

static void close_lot(lot *l)
{
    for (int f = 0; f < MOST_FILES; f++) {
        cwi_spill_free(l->rows[f].spill);
        l->rows[f] = (cwi_reel){0};
    }
}

/* Rows of a stretch by user, each user's rows by part and then as they were read.  next[u] is where
 * the next row of user u goes. */
static cw_status sort_by_user(cw_context *ctx, const cwi_reel *reel, bool is_dealt, bool is_split,
                              const stretch *s, int64_t *next, place *sorted)
{
    for (int part = 0; part < (is_split ? N_PARTS : 1); part++) {
        cwi_window w = cwi_window_over(reel);
        while (cwi_window_next(ctx, &w))
            for (int64_t k = 0; k < w.n; k++) {
                int32_t u = w.user[k];
                if (u < s->first || u >= s->end || (is_split && w.part[k] != part)) continue;
                int64_t row = is_dealt ? (int64_t)w.time[k] : w.first + k;
                sorted[next[u]++ - s->before] = (place){row, w.item[k], (uint8_t)part};
            }
        CW_PASS(w.status);
    }
    return CW_OK;
}

/* ---- repeats --------------------------------------------------------------------- */

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

/* What finding repeats takes. */
typedef struct search {
    cwi_reel reel;
    bool is_split;
    int32_t n_users;
    int64_t places;
    int64_t *next, *first; /* of sort_by_user and mark_repeats */
    uint64_t *marks;
    place *sorted;
    int64_t counts[2];
} search;

static cw_status search_lot(cw_context *ctx, search *s, lot *l)
{
    if (l->is_dealt) CW_PASS(deal(ctx, &s->reel, s->n_users, l));
    for (int f = 0; f < l->n; f++) {
        CW_PASS(sort_by_user(ctx, l->is_dealt ? &l->rows[f] : &s->reel, l->is_dealt, s->is_split,
                             &l->of[f], s->next, s->sorted));
        mark_repeats(&l->of[f], s->next, s->sorted, s->first, s->marks, s->counts);
    }
    return CW_OK;
}

static cw_status search_all(cw_context *ctx, search *s, lot *l)
{
    cw_status status = CW_OK;
    for (int32_t u = 0; u < s->n_users && status == CW_OK; u = l->of[l->n - 1].end) {
        plan_lot(ctx, s->next, s->n_users, u, s->places, l);
        status = cwi_progress(ctx, "looking for repeats", u, s->n_users);
        if (status == CW_OK) status = search_lot(ctx, s, l);
        close_lot(l);
    }
    return status;
}

cw_status cwi_drop_repeats_within(cw_context *ctx, cw_interactions *rows, int64_t places,
                                  int64_t *repeats, int64_t *overlaps)
{
    cw_status status;
    cwi_pile pile = {0};
    lot l = {.n = 0};
    search s = {.reel = CWI_REEL(rows),
                .is_split = rows->is_split,
                .n_users = rows->users.count,
                .places = places};
    int32_t n_items = rows->items.count;
    s.next = cwi_pile_add(ctx, &pile, (size_t)s.n_users + 1, sizeof *s.next);
    s.first = cwi_pile_add(ctx, &pile, (size_t)n_items, sizeof *s.first);
    s.marks = cwi_pile_add_zero(ctx, &pile, (size_t)s.reel.count / MARKS + 1, sizeof *s.marks);
    if (rows->spill) l.which = cwi_pile_add(ctx, &pile, (size_t)s.n_users, 1);
    CW_TRY(pile.status);
    CW_TRY(count_starts(ctx, &s.reel, s.n_users, s.next));
    size_t longest = (size_t)longest_stretch(s.next, s.n_users, places);
    s.sorted = cwi_pile_add(ctx, &pile, longest, sizeof *s.sorted);
    CW_TRY(pile.status);
    for (int32_t i = 0; i < n_items; i++) s.first[i] = -1;
    CW_TRY(search_all(ctx, &s, &l));
    if (s.counts[0] + s.counts[1] > 0) CW_TRY(compact(ctx, &s.reel, s.marks));
    rows->count = s.reel.count;
done:
    *repeats = s.counts[0];
    *overlaps = s.counts[1];
    cwi_pile_clear(&pile);
    return status;
}

/* In memory, places for a part of the rows; else as many as a quarter of the memory is for. */
cw_status cwi_drop_repeats(cw_context *ctx, cw_interactions *rows, int64_t *repeats,
                           int64_t *overlaps)
{
    int64_t part = rows->count / MOST_WALKS;
    int64_t places = part > LEAST_PLACES ? part : LEAST_PLACES;
    if (rows->spill) places = cwi_room_share(ctx, 4) / (int64_t)sizeof(place);
    return cwi_drop_repeats_within(ctx, rows, places, repeats, overlaps);
}

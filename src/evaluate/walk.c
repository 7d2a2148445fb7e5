/*
 * walk.c - all-ranking in rounds.
 *
 * A round is one block of users per slot.  Every slot has its own room for scores and lists, made
 * before the first round, so that memory is slots x block x items whatever the number of users.
 * Workers fill the slots of a round; then the caller goes through them in order.
 *
 * Where nobody looks at the scores themselves and the ranker goes by inner products, lists come
 * from bounds of the scores (screen.c), and all scores are made for the few users alone whom that
 * does not help.  Once they are not few, the walk goes on without it.  A ranker may have a device
 * that makes lists (listed.c).
 */
#include "evaluate/walk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "comm/world.h"
#include "core/mem.h"
#include "core/pool.h"
#include "evaluate/screen.h"
#include "evaluate/topk.h"

enum {
    MAX_BLOCK = CWI_SCORE_USERS, /* users scored together */
    MAX_BLOCK_SCORES = 1 << 21,  /* 8 MiB a slot, unless one user needs more */
    SLOTS_PER_THREAD = 2,        /* two, so that a slow block does not hold up all threads */
};

typedef struct rooms {
    const cwi_walk *walk;
    int32_t k, block, n_slots;
    int32_t first;     /* row of the first user of this round */
    cwi_screen screen; /* without rooms: all scores are made */
    int32_t scored;    /* users of a slot that have room for scores: block, or 1 with a screen */
    float *score;      /* [n_slots][scored][n_items] */
    float *tilted;     /* [n_slots][n_items] scores with the dial */
    cwi_ranked *top;   /* [n_slots][k] */
    int32_t *item;     /* [n_slots * block][n_dials][k] */
    int32_t *count;    /* [n_slots * block][n_dials] */
    int32_t *bad_row;  /* [n_slots] row of a user with a NaN, or -1 */
    int32_t *unhelped; /* [n_slots] users of this round whom the screen did not help */
    cwi_pile pile;     /* of all arrays but score */
} rooms;

int32_t cwi_walk_slots(const cw_context *ctx)
{
    return SLOTS_PER_THREAD * cw_context_threads(ctx);
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void rooms_clear(rooms *r)
{
    cwi_screen_clear(&r->screen);
    cwi_free(r->score);
    cwi_pile_clear(&r->pile);
}

/* A dial other than 0 and whoever measures need the scores. */
static bool is_screened(const cwi_walk *walk)
{
    return !walk->measure && walk->n_dials == 1 && walk->dials[0] == 0 &&
           cwi_screen_pays(walk->ranker, walk->k, walk->n_users);
}

/* Room for scores of this many users a slot. */
static cw_status make_scores(cw_context *ctx, rooms *r, int32_t scored)
{
    size_t items = (size_t)r->walk->ranker->n_items;
    cwi_free(r->score);
    r->scored = scored;
    r->score = cwi_alloc(ctx, (size_t)r->n_slots * (size_t)scored, items * sizeof *r->score);
    return r->score ? CW_OK : CW_NO_MEMORY;
}

/* Room for lists; how many slots and users there are is known. */
static cw_status make_lists(cw_context *ctx, rooms *r)
{
    size_t slots = (size_t)r->n_slots, rows = slots * (size_t)r->block;
    size_t dials = (size_t)r->walk->n_dials, k = (size_t)r->k;
    size_t items = (size_t)r->walk->ranker->n_items;
    r->tilted = cwi_pile_add(ctx, &r->pile, slots, items * sizeof *r->tilted);
    r->top = cwi_pile_add(ctx, &r->pile, slots, k * sizeof *r->top);
    r->item = cwi_pile_add(ctx, &r->pile, rows * dials, k * sizeof *r->item);
    r->count = cwi_pile_add(ctx, &r->pile, rows, dials * sizeof *r->count);
    r->bad_row = cwi_pile_add(ctx, &r->pile, slots, sizeof *r->bad_row);
    r->unhelped = cwi_pile_add(ctx, &r->pile, slots, sizeof *r->unhelped);
    return r->pile.status;
}

static cw_status rooms_init(cw_context *ctx, const cwi_walk *walk, rooms *r)
{
    int32_t n_items = walk->ranker->n_items;
    int32_t fitting = MAX_BLOCK_SCORES / (n_items > 0 ? n_items : 1);

    *r = (rooms){.walk = walk, .k = least(walk->k, n_items)};
    r->block = fitting < 1 ? 1 : least(fitting, MAX_BLOCK);
    int64_t blocks = cwi_pool_chunks(walk->n_users, r->block);
    r->n_slots = cwi_walk_slots(ctx) < blocks ? cwi_walk_slots(ctx) : (int32_t)blocks;
    CW_PASS(make_lists(ctx, r));
    if (is_screened(walk)) CW_PASS(cwi_screen_create(ctx, walk->ranker, walk->k, &r->screen));
    return make_scores(ctx, r, r->screen.rooms ? 1 : r->block);
}

/* What list number `dial` of the user in this place of the round is, without the scores. */
static cwi_list list_at(const rooms *r, int32_t place, int32_t dial)
{
    const cwi_walk *walk = r->walk;
    int64_t at = (int64_t)place * walk->n_dials + dial;
    int32_t row = r->first + place;
    return (cwi_list){.row = row,
                      .user = walk->users[row],
                      .dial = dial,
                      .count = r->count[at],
                      .item = r->item + at * r->k};
}

static const float *tilt(const rooms *r, int32_t slot, const float *score, double dial)
{
    const cwi_walk *walk = r->walk;
    int32_t n_items = walk->ranker->n_items;
    float *out = r->tilted + (int64_t)slot * n_items;

    if (dial == 0) return score;
    for (int32_t i = 0; i < n_items; i++)
        out[i] = (float)((double)score[i] + dial * walk->log_degree[i]);
    return out;
}

static bool rank_user(const rooms *r, int32_t slot, int32_t place, const float *score)
{
    const cwi_walk *walk = r->walk;
    int32_t user = walk->users[r->first + place];
    int64_t begin = walk->mask->start[user], n_skip = walk->mask->start[user + 1] - begin;
    cwi_ranked *top = r->top + (int64_t)slot * r->k;

    for (int32_t g = 0; g < walk->n_dials; g++) {
        const float *tilted = tilt(r, slot, score, walk->dials[g]);
        int64_t at = (int64_t)place * walk->n_dials + g;
        int32_t found =
            cwi_topk(tilted, walk->ranker->n_items, walk->mask->value + begin, n_skip, r->k, top);
        if (found < 0) return false;
        for (int32_t p = 0; p < found; p++) r->item[at * r->k + p] = top[p].item;
        r->count[at] = found;
        if (!walk->measure) continue;
        cwi_list list = list_at(r, place, g);
        list.score = tilted;
        walk->measure(walk->arg, &list, slot);
    }
    return true;
}

/* Lists from bounds; scores of a single user have to do where those are no help. */
static cw_status screen_block(const rooms *r, int32_t slot, int32_t begin, int32_t end,
                              float *score)
{
    const cwi_ranker *ranker = r->walk->ranker;
    const int32_t *users = r->walk->users + r->first;

    cwi_screen_rank(&r->screen, r->walk->mask, users + begin, end - begin,
                    r->item + (int64_t)begin * r->k, r->count + begin);
    for (int32_t place = begin; place < end; place++) {
        if (r->count[place] >= 0) continue;
        r->unhelped[slot]++;
        ranker->score(ranker, users + place, 1, score);
        if (rank_user(r, slot, place, score)) continue;
        r->bad_row[slot] = r->first + place;
        return CW_BAD_DATA;
    }
    return CW_OK;
}

/* Where a good part of a round needed all scores, they are sooner made for whole blocks. */
static cw_status judge_screen(cw_context *ctx, rooms *r, int32_t n)
{
    int64_t unhelped = 0;

    if (!r->screen.rooms) return CW_OK;
    for (int32_t s = 0; s < r->n_slots; s++) unhelped += r->unhelped[s];
    if (unhelped <= n / 8) return CW_OK;
    cwi_screen_clear(&r->screen);
    return make_scores(ctx, r, r->block);
}

static cw_status rank_block(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const rooms *r = arg;
    const cwi_ranker *ranker = r->walk->ranker;
    int32_t slot = (int32_t)chunk;
    float *score = r->score + chunk * r->scored * (int64_t)ranker->n_items;

    if (r->screen.rooms) return screen_block(r, slot, (int32_t)begin, (int32_t)end, score);
    ranker->score(ranker, r->walk->users + r->first + begin, (int32_t)(end - begin), score);
    for (int64_t place = begin; place < end; place++)
        if (!rank_user(r, slot, (int32_t)place, score + (place - begin) * ranker->n_items)) {
            r->bad_row[slot] = r->first + (int32_t)place;
            return CW_BAD_DATA;
        }
    return CW_OK;
}

cw_status cwi_walk_name_nan(cw_context *ctx, const cwi_walk *walk, int32_t row, float *score)
{
    int32_t item = 0;
    walk->ranker->score(walk->ranker, &walk->users[row], 1, score);
    while (item < walk->ranker->n_items - 1 &&
           (!isnan(score[item]) || cwi_csr_has(walk->mask, walk->users[row], item)))
        item++;
    return cwi_fail(ctx, CW_BAD_DATA, "the score of item %d for user %d is not a number", (int)item,
                    (int)walk->users[row]);
}

static cw_status name_nan(cw_context *ctx, const rooms *r)
{
    int32_t slot = 0;
    while (slot < r->n_slots - 1 && r->bad_row[slot] < 0) slot++;
    return cwi_walk_name_nan(ctx, r->walk, r->bad_row[slot], r->score);
}

static void collect_round(const rooms *r, int32_t n)
{
    const cwi_walk *walk = r->walk;
    if (!walk->collect) return;
    for (int32_t place = 0; place < n; place++)
        for (int32_t g = 0; g < walk->n_dials; g++) {
            cwi_list list = list_at(r, place, g);
            walk->collect(walk->arg, &list);
        }
}

/* Users in the places first .. end - 1 of the walk. */
static cw_status rank_rows(cw_context *ctx, rooms *r, int32_t first, int32_t end)
{
    const cwi_walk *walk = r->walk;
    int32_t round = r->n_slots * r->block, n;
    for (r->first = first; r->first < end; r->first += n) {
        n = least(round, end - r->first);
        if (walk->stage) CW_PASS(cwi_progress(ctx, walk->stage, r->first, walk->n_users));
        CW_PASS(cwi_ranker_bring(ctx, walk->ranker, walk->users + r->first, n));
        for (int32_t s = 0; s < r->n_slots; s++) r->bad_row[s] = -1, r->unhelped[s] = 0;
        cw_status status = cwi_pool_for(ctx, n, r->block, rank_block, r);
        if (status == CW_BAD_DATA) status = name_nan(ctx, r);
        CW_PASS(status);
        collect_round(r, n);
        CW_PASS(judge_screen(ctx, r, n));
    }
    return CW_OK;
}

/* ---- by many processes ----------------------------------------------------------------- */

/*
 * Users go through in windows of one part for every process, in their order.  A record is what a
 * user brings: a count and k items for each dial.
 */
typedef struct window {
    const cwi_walk *walk;
    cwi_walk own_walk; /* of the users of this process */
    int32_t k, part;   /* users of a part */
    size_t bytes;      /* of a record */
    int32_t first;     /* row of the first user of this process */
    int32_t *own;      /* [part] records */
    int32_t *all;      /* [size * part] records, at process 0 */
    char *own_each;    /* [part][each_bytes] */
    int *counts;       /* [size] */
    cwi_pile pile;
} window;

enum { MOST_PART = 1024, MOST_PART_BYTES = 1 << 24 };

static int32_t *record_at(const window *w, int32_t *records, int64_t user, int32_t dial)
{
    return records + (user * w->walk->n_dials + dial) * (w->k + 1);
}

static void keep_list(void *arg, const cwi_list *list)
{
    const window *w = arg;
    int32_t *record = record_at(w, w->own, list->row - w->first, list->dial);
    record[0] = list->count;
    memcpy(record + 1, list->item, (size_t)list->count * sizeof *record);
    memset(record + 1 + list->count, 0, (size_t)(w->k - list->count) * sizeof *record);
}

static cw_status window_init(cw_context *ctx, const cwi_walk *walk, int32_t k, window *w)
{
    size_t size = (size_t)walk->world->size;
    *w = (window){.walk = walk, .k = k};
    w->bytes = (size_t)walk->n_dials * (size_t)(k + 1) * sizeof *w->own;
    size_t record = w->bytes + walk->each_bytes, fitting = MOST_PART_BYTES / record;
    int32_t even = (int32_t)cwi_pool_chunks(walk->n_users, (int64_t)size);
    w->part = fitting < 1 ? 1 : fitting < MOST_PART ? (int32_t)fitting : MOST_PART;
    if (w->part > even) w->part = even;
    size_t part = (size_t)w->part, brought = walk->world->rank == 0 ? size * part : 1;
    w->own = cwi_pile_add(ctx, &w->pile, part, w->bytes);
    w->all = cwi_pile_add(ctx, &w->pile, brought, w->bytes);
    w->own_each = cwi_pile_add(ctx, &w->pile, part, walk->each_bytes);
    w->counts = cwi_pile_add(ctx, &w->pile, size, sizeof *w->counts);
    return w->pile.status;
}

/* How many users of a window, which begins at a row, every process has; returns how many in all. */
static int32_t deal_users(window *w, int32_t begin)
{
    int32_t left = w->walk->n_users - begin, all = 0;
    for (int p = 0; p < w->walk->world->size; p++) {
        w->counts[p] = least(w->part, left - all);
        if (p == w->walk->world->rank) w->first = begin + all;
        all += w->counts[p];
    }
    return all;
}

static void collect_all(window *w, int32_t begin, int32_t n)
{
    const cwi_walk *walk = w->walk;
    for (int32_t place = 0; place < n; place++)
        for (int32_t g = 0; g < walk->n_dials; g++) {
            const int32_t *record = record_at(w, w->all, place, g);
            const cwi_list list = {.row = begin + place,
                                   .user = walk->users[begin + place],
                                   .dial = g,
                                   .count = record[0],
                                   .item = record + 1};
            walk->collect(walk->arg, &list);
        }
}

/* What this process has found to process 0, which looks at all of it. */
static cw_status bring_window(cw_context *ctx, window *w, int32_t begin, int32_t n)
{
    const cwi_walk *walk = w->walk;
    const cwi_world *world = walk->world;
    if (walk->each) {
        char *each = walk->each;
        memcpy(w->own_each, each + (size_t)w->first * walk->each_bytes,
               (size_t)w->counts[world->rank] * walk->each_bytes);
        CW_PASS(cwi_world_bring(ctx, world,
                                &(cwi_bundle){w->own_each, w->counts, walk->each_bytes,
                                              each + (size_t)begin * walk->each_bytes},
                                walk->stage, begin, walk->n_users));
    }
    if (!walk->collect) return CW_OK;
    CW_PASS(cwi_world_bring(ctx, world, &(cwi_bundle){w->own, w->counts, w->bytes, w->all},
                            walk->stage, begin, walk->n_users));
    if (world->rank == 0) collect_all(w, begin, n);
    return CW_OK;
}

static cw_status rank_together(cw_context *ctx, const cwi_walk *walk, window *w, rooms *r)
{
    cw_status status = window_init(ctx, walk, r->k, w);
    assert(!walk->measure || !walk->collect); /* they would share `arg` */
    w->own_walk = *walk;
    if (walk->collect) {
        w->own_walk.collect = keep_list;
        w->own_walk.arg = w;
    }
    r->walk = &w->own_walk;
    for (int32_t begin = 0, n; begin < walk->n_users && status == CW_OK; begin += n) {
        n = deal_users(w, begin);
        status = rank_rows(ctx, r, w->first, w->first + w->counts[walk->world->rank]);
        if (status == CW_OK) status = bring_window(ctx, w, begin, n);
    }
    if (status != CW_CANCELLED) cwi_pile_clear(&w->pile); /* else MPI may still write there */
    return status;
}

cw_status cwi_walk_run(cw_context *ctx, const cwi_walk *walk)
{
    rooms r = {0};
    window w;
    cw_status status = walk->world ? CW_UNSUPPORTED : cwi_walk_listed(ctx, walk);

    if (status != CW_UNSUPPORTED) return status;
    CW_TRY(rooms_init(ctx, walk, &r));
    status = walk->world ? rank_together(ctx, walk, &w, &r) : rank_rows(ctx, &r, 0, walk->n_users);
done:
    rooms_clear(&r);
    return status;
}

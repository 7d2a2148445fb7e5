/*
 * screen.c - which items can be among a user's best K, found with bytes.
 *
 * Vectors are rounded to bytes, whose inner products are several times as fast as those of floats;
 * bytes.c says how far from the scores they can be.  A score that at least K items of a user
 * certainly reach is a bound: an item that certainly stays below it is not in the list, whatever
 * ties there are.  Only the items that are left get their scores, by the same operation as ever, so
 * that lists are the same to the last item.
 *
 * The bound comes without a heap: items are dealt to groups, several times K of them, and of each
 * group the largest lower bound is kept.  Where K groups reach a number, so do K items.  The first
 * panels are gone through twice, once for a bound to start with; it is raised whenever the items
 * seen have doubled.
 */
#include "evaluate/screen.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/pool.h"
#include "evaluate/bytes.h"

enum {
    BLOCK = CWI_SCORE_USERS,
    ITEMS = CWI_SCREEN_ITEMS,
    GROUPS_PER_PLACE = 4, /* fewer make a lower bound, more take longer */
    MOST_BASE = 256,      /* candidates of a user beside MOST_PER_PLACE K, or bounds are no help */
    MOST_PER_PLACE = 8,
    AT_ONCE = 32 /* scores; a multiple of what score_block does together for one user */
};

/* An item that may be in the list, and the most its score can be. */
typedef struct candidate {
    int32_t item;
    float upper;
} candidate;

/* What a thread needs for a block of users. */
typedef struct room {
    cwi_screen_user *user; /* [BLOCK] */
    float *slack;          /* [BLOCK] */
    int32_t *count;        /* [BLOCK] candidates; -1: bounds are no help */
    int8_t *byte;          /* [BLOCK][depth] */
    uint64_t *skipped;     /* [BLOCK][n_panels] bits of items that are no candidates */
    float *best;           /* [BLOCK][n_groups] largest lower bounds */
    candidate *found;      /* [BLOCK][most] */
    int32_t *sum;          /* [BLOCK][ITEMS] */
    uint64_t *above;       /* [BLOCK] */
    float *row;            /* [AT_ONCE][width] */
    float *score;          /* [most] */
    int32_t *place;        /* [most] */
} room;

static size_t part(char **at, size_t count, size_t size)
{
    size_t bytes = (count * size + 63) / 64 * 64;
    if (*at) *at += bytes;
    return bytes;
}

/* Lay the parts of a room out from `base` on, or only say how many bytes they take. */
static size_t lay_out(const cwi_screen *s, char *base, room *r)
{
    size_t block = BLOCK, most = (size_t)s->most, bytes = 0;
    char *at = base;
#define PART(name, number)                                                                         \
    r->name = (void *)at;                                                                          \
    bytes += part(&at, number, sizeof *r->name)
    PART(user, block);
    PART(slack, block);
    PART(count, block);
    PART(byte, block * (size_t)s->depth);
    PART(skipped, block * (size_t)s->n_panels);
    PART(best, block * (size_t)s->n_groups);
    PART(found, block * most);
    PART(sum, block * ITEMS);
    PART(above, block);
    PART(row, AT_ONCE * (size_t)s->ranker->width);
    PART(score, most);
    PART(place, most);
#undef PART
    return bytes;
}

/* ---- items ------------------------------------------------------------------------- */

bool cwi_screen_can(const cwi_ranker *ranker)
{
    return cwi_ranker_is_dot(ranker) && ranker->width > 0 && ranker->width <= CWI_BYTES_WIDEST &&
           ranker->n_items > 0;
}

/* Rounding the items has to pay, short vectors are quickly scored, and long lists leave too many
 * candidates, which are sorted in a time that grows with their square. */
bool cwi_screen_pays(const cwi_ranker *ranker, int32_t k, int32_t n_users)
{
    enum { MIN_WIDTH = 16, MIN_ITEMS = 512, MIN_USERS = 4 * BLOCK, MAX_K = 256, MAX_SHARE = 16 };
    return cwi_screen_can(ranker) && cwi_ops_best()->screen_pays() && n_users >= MIN_USERS &&
           ranker->width >= MIN_WIDTH && ranker->n_items >= MIN_ITEMS && k > 0 && k <= MAX_K &&
           k <= ranker->n_items / MAX_SHARE;
}

/* Round the items of a panel; those beyond the last are zeros. */
static cw_status round_panel(void *arg, int64_t panel, int64_t begin, int64_t end)
{
    const cwi_screen *s = arg;
    const cwi_ranker *ranker = s->ranker;
    uint8_t *to = s->byte + panel * s->depth * ITEMS;
    int8_t byte[CWI_BYTES_WIDEST];

    memset(to, 128, (size_t)s->depth * ITEMS);
    for (int64_t i = begin; i < end; i++) {
        cwi_rounded rounded;
        if (!cwi_round(ranker->items + i * ranker->width, ranker->width, byte, &rounded))
            return CW_BAD_DATA;
        for (int32_t j = 0; j < ranker->width; j++)
            to[(j - j % 4) * ITEMS + 4 * (i - begin) + j % 4] = (uint8_t)(byte[j] + 128);
        s->scale[i] = rounded.scale;
        s->length[i] = rounded.length;
        s->rest[i] = rounded.rest;
    }
    return CW_OK;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

cw_status cwi_screen_create(cw_context *ctx, const cwi_ranker *ranker, int32_t k, cwi_screen *out)
{
    room nowhere;
    cw_status status;
    int32_t n_panels = (ranker->n_items + ITEMS - 1) / ITEMS;
    size_t places = (size_t)n_panels * ITEMS;

    *out = (cwi_screen){.ranker = ranker, .k = least(k, ranker->n_items), .n_panels = n_panels};
    int64_t group_panels = ((int64_t)out->k * GROUPS_PER_PLACE + ITEMS - 1) / ITEMS;
    out->n_groups = ITEMS * (group_panels < n_panels ? (int32_t)group_panels : n_panels);
    int64_t most = MOST_BASE + (int64_t)out->k * MOST_PER_PLACE;
    out->most = most < (int64_t)places ? (int32_t)most : n_panels * ITEMS;
    out->depth = (ranker->width + 3) / 4 * 4;
    out->byte = cwi_pile_add(ctx, &out->pile, places, (size_t)out->depth);
    out->scale = cwi_pile_add_zero(ctx, &out->pile, places, sizeof *out->scale);
    out->length = cwi_pile_add_zero(ctx, &out->pile, places, sizeof *out->length);
    out->rest = cwi_pile_add_zero(ctx, &out->pile, places, sizeof *out->rest);
    CW_TRY(out->pile.status);
    status = cwi_pool_for(ctx, ranker->n_items, ITEMS, round_panel, out);
    if (status == CW_BAD_DATA) return CW_OK; /* no rooms, no screen */
    if (status == CW_OK) status = cwi_rooms_create(ctx, lay_out(out, NULL, &nowhere), &out->rooms);
done:
    if (status != CW_OK) cwi_screen_clear(out);
    return status;
}

void cwi_screen_clear(cwi_screen *screen)
{
    cwi_pile_clear(&screen->pile);
    cwi_rooms_free(screen->rooms);
    *screen = (cwi_screen){0};
}

/* A panel of items and where its groups begin. */
typedef struct batch {
    int32_t number, group;
    cwi_screen_panel panel;
} batch;

static batch batch_at(const cwi_screen *s, int32_t number)
{
    int64_t first = (int64_t)number * ITEMS;
    return (batch){.number = number,
                   .group = (int32_t)(first % s->n_groups),
                   .panel = {.byte = s->byte + first * s->depth,
                             .scale = s->scale + first,
                             .length = s->length + first,
                             .rest = s->rest + first}};
}

/* ---- bounds ------------------------------------------------------------------------ */

/* The rest of the walk leaves this user alone. */
static void give_up(room *r, int32_t k)
{
    r->count[k] = -1;
    r->user[k].bound = INFINITY;
}

static void skip_items(const cwi_screen *s, const cwi_csr *mask, int32_t user, uint64_t *skipped)
{
    int32_t beyond = s->n_panels * ITEMS - s->ranker->n_items;
    memset(skipped, 0, (size_t)s->n_panels * sizeof *skipped);
    if (beyond > 0) skipped[s->n_panels - 1] = ~UINT64_C(0) << (ITEMS - beyond);
    for (int64_t e = mask->start[user]; e < mask->start[user + 1]; e++)
        skipped[mask->value[e] / ITEMS] |= UINT64_C(1) << mask->value[e] % ITEMS;
}

static void start_user(const cwi_screen *s, room *r, int32_t k, const cwi_csr *mask, int32_t user)
{
    const cwi_ranker *ranker = s->ranker;
    int8_t *byte = r->byte + (int64_t)k * s->depth;
    float *best = r->best + (int64_t)k * s->n_groups;
    cwi_rounded rounded;

    memset(byte, 0, (size_t)s->depth);
    for (int32_t g = 0; g < s->n_groups; g++) best[g] = -INFINITY;
    skip_items(s, mask, user, r->skipped + (int64_t)k * s->n_panels);
    r->count[k] = 0;
    r->user[k] = (cwi_screen_user){.byte = byte, .bound = -INFINITY};
    const float *x = ranker->users + (int64_t)user * ranker->width;
    if (cwi_round(x, ranker->width, byte, &rounded) && rounded.scale > 0)
        r->slack[k] = cwi_round_user(&rounded, ranker->width, &r->user[k]);
    else
        give_up(r, k);
}

static float error_of(const cwi_screen_panel *panel, const cwi_screen_user *user, int i)
{
    return user->by_length * panel->length[i] + user->by_rest * panel->rest[i];
}

/* Keep the lower bounds of all candidates of a panel. */
static void keep_all(const cwi_screen *s, room *r, int32_t k, const batch *b)
{
    cwi_screen_user user = r->user[k];
    const int32_t *sum = r->sum + k * ITEMS;
    float lower[ITEMS], *best = r->best + (int64_t)k * s->n_groups + b->group;

    for (int i = 0; i < ITEMS; i++)
        lower[i] = (float)sum[i] * b->panel.scale[i] - error_of(&b->panel, &user, i);
    for (uint64_t left = r->skipped[(int64_t)k * s->n_panels + b->number]; left; left &= left - 1)
        lower[__builtin_ctzll(left)] = -INFINITY;
    for (int i = 0; i < ITEMS; i++) best[i] = lower[i] > best[i] ? lower[i] : best[i];
}

/* Keep the candidates of a panel whose bits are set, and their lower bounds. */
static void keep_some(const cwi_screen *s, room *r, int32_t k, const batch *b, uint64_t bits)
{
    cwi_screen_user user = r->user[k];
    const int32_t *sum = r->sum + k * ITEMS;
    float *best = r->best + (int64_t)k * s->n_groups + b->group;
    candidate *found = r->found + (int64_t)k * s->most;
    int32_t count = r->count[k];

    if (count > s->most - ITEMS) { /* there may not be room for all */
        give_up(r, k);
        return;
    }
    for (; bits; bits &= bits - 1) {
        int i = __builtin_ctzll(bits);
        float middle = (float)sum[i] * b->panel.scale[i], error = error_of(&b->panel, &user, i);
        float lower = middle - error;
        found[count++] = (candidate){b->number * ITEMS + i, middle + error};
        best[i] = lower > best[i] ? lower : best[i];
    }
    r->count[k] = count;
}

/* Drop the candidates of a user that have fallen below the bound. */
static void drop_some(const cwi_screen *s, room *r, int32_t k)
{
    candidate *found = r->found + (int64_t)k * s->most;
    float bound = r->user[k].bound;
    int32_t left = 0;

    for (int32_t c = 0; c < r->count[k]; c++) {
        found[left] = found[c];
        left += found[c].upper >= bound;
    }
    if (r->count[k] > 0) r->count[k] = left;
}

/* An item is out where its upper bound and slack are below a lower bound less slack.  That the
 * difference is rounded does no harm: bytes.c has many half steps of either bound to spare. */
static void raise_bounds(const cwi_screen *s, room *r, int32_t n)
{
    const cwi_ops *ops = cwi_ops_best();
    for (int32_t k = 0; k < n; k++) {
        const float *best = r->best + (int64_t)k * s->n_groups;
        if (r->count[k] < 0) continue;
        r->user[k].bound =
            ops->reached(best, s->n_groups, s->k, r->user[k].bound) - 2 * r->slack[k];
        if (r->count[k] > s->most / 2) drop_some(s, r, k);
    }
}

static void screen_block(const cwi_screen *s, room *r, int32_t n)
{
    const cwi_ops *ops = cwi_ops_best();
    int32_t first = least(s->n_groups / ITEMS * 2, s->n_panels), next = 0;

    for (int32_t p = 0; p < first; p++) {
        batch b = batch_at(s, p);
        ops->screen(&b.panel, r->user, n, s->depth, r->sum, r->above);
        for (int32_t k = 0; k < n; k++) keep_all(s, r, k, &b);
    }
    for (int32_t p = 0; p < s->n_panels; p++) {
        batch b = batch_at(s, p);
        if (p == next) {
            raise_bounds(s, r, n);
            next = p == 0 ? 2 * first : 2 * p;
        }
        ops->screen(&b.panel, r->user, n, s->depth, r->sum, r->above);
        for (int32_t k = 0; k < n; k++) {
            uint64_t bits = r->above[k] & ~r->skipped[(int64_t)k * s->n_panels + p];
            if (bits) keep_some(s, r, k, &b, bits);
        }
    }
    raise_bounds(s, r, n);
    for (int32_t k = 0; k < n; k++) drop_some(s, r, k);
}

/* ---- lists ------------------------------------------------------------------------- */

/* Scores of the candidates of a user.  Their vectors are laid side by side first. */
static void score_found(const cwi_screen *s, room *r, const float *user, const candidate *found,
                        int32_t count)
{
    const cwi_ranker *ranker = s->ranker;
    size_t bytes = (size_t)ranker->width * sizeof *r->row;

    for (int32_t first = 0; first < count; first += AT_ONCE) {
        int32_t n = least(AT_ONCE, count - first);
        for (int32_t c = 0; c < n; c++)
            memcpy(r->row + (int64_t)c * ranker->width,
                   ranker->items + (int64_t)found[first + c].item * ranker->width, bytes);
        cwi_ops_best()->score_block(&user, 1, r->row, n, ranker->width, r->score + first);
    }
}

/* Ask for the vectors of the candidates of a user.  Not inlined, it would be left out. */
__attribute__((always_inline)) static inline void call_found(const cwi_screen *s,
                                                             const candidate *found, int32_t count)
{
    int64_t width = s->ranker->width;
    for (int32_t c = 0; c < count; c++)
        cwi_fetch(s->ranker->items + found[c].item * width, width * (int64_t)sizeof(float));
}

static int32_t list_user(const cwi_screen *s, room *r, int32_t k, int32_t user, int32_t *item)
{
    const candidate *found = r->found + (int64_t)k * s->most;
    int32_t count = r->count[k];

    if (count < 0) return -1;
    score_found(s, r, s->ranker->users + (int64_t)user * s->ranker->width, found, count);
    cwi_ops_best()->places(r->score, count, r->place);
    for (int32_t c = 0; c < count; c++)
        if (r->place[c] < s->k) item[r->place[c]] = found[c].item;
    return least(count, s->k);
}

void cwi_screen_rank(const cwi_screen *screen, const cwi_csr *mask, const int32_t *users, int32_t n,
                     int32_t *item, int32_t *count)
{
    void *base = cwi_rooms_enter(screen->rooms);
    room r;

    lay_out(screen, base, &r);
    for (int32_t k = 0; k < n; k++) start_user(screen, &r, k, mask, users[k]);
    screen_block(screen, &r, n);
    for (int32_t k = 0; k < n; k++) {
        if (k + 1 < n)
            call_found(screen, r.found + (int64_t)(k + 1) * screen->most, r.count[k + 1]);
        count[k] = list_user(screen, &r, k, users[k], item + (int64_t)k * screen->k);
    }
    cwi_rooms_leave(screen->rooms, base);
}

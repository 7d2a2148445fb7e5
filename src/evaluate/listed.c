/* listed.c - all-ranking by a device, in rounds of many users. */
#include "core/mem.h"
#include "evaluate/walk.h"

enum { USERS_AT_ONCE = 1 << 16, MOST_PLACES = 1 << 24 };

typedef struct rooms {
    const cwi_walk *walk;
    int32_t k, round;
    double *tilt;   /* [n_items] the dial times logarithms */
    int32_t *item;  /* [n_dials][round][k] */
    int32_t *count; /* [n_dials][round] */
    cwi_pile pile;
} rooms;

static cw_status rooms_init(cw_context *ctx, const cwi_walk *walk, rooms *r)
{
    size_t dials = (size_t)walk->n_dials, n_items = (size_t)walk->ranker->n_items;
    *r = (rooms){.walk = walk, .k = walk->k, .round = USERS_AT_ONCE};
    if (r->k > walk->ranker->n_items) r->k = walk->ranker->n_items;
    if (r->round > MOST_PLACES / r->k) r->round = MOST_PLACES / r->k;
    if (r->round > walk->n_users) r->round = walk->n_users;
    r->tilt = cwi_pile_add(ctx, &r->pile, n_items, sizeof *r->tilt);
    r->item = cwi_pile_add(ctx, &r->pile, dials * (size_t)r->round, (size_t)r->k * sizeof *r->item);
    r->count = cwi_pile_add(ctx, &r->pile, dials, (size_t)r->round * sizeof *r->count);
    return r->pile.status;
}

/* The list of a user in this place of a round. */
static cwi_list list_at(const rooms *r, int32_t first, int32_t place, int32_t dial)
{
    int64_t at = (int64_t)dial * r->round + place;
    return (cwi_list){.row = first + place,
                      .user = r->walk->users[first + place],
                      .dial = dial,
                      .count = r->count[at],
                      .item = r->item + at * r->k};
}

static cw_status complain(cw_context *ctx, const cwi_walk *walk, int32_t row)
{
    float *score = cwi_alloc(ctx, (size_t)walk->ranker->n_items, sizeof *score);
    cw_status status = score ? cwi_walk_name_nan(ctx, walk, row, score) : CW_NO_MEMORY;
    cwi_free(score);
    return status;
}

static cw_status list_dial(cw_context *ctx, const rooms *r, int32_t first, int32_t n, int32_t dial)
{
    const cwi_walk *walk = r->walk;
    double by = walk->dials[dial];
    const cwi_wish wish = {.mask = walk->mask,
                           .users = walk->users + first,
                           .n = n,
                           .k = r->k,
                           .tilt = by == 0 ? NULL : r->tilt,
                           .item = r->item + (int64_t)dial * r->round * r->k,
                           .count = r->count + (int64_t)dial * r->round};
    for (int32_t i = 0; i < walk->ranker->n_items && by != 0; i++)
        r->tilt[i] = by * walk->log_degree[i];
    CW_PASS(walk->ranker->list(ctx, walk->ranker, &wish));
    for (int32_t place = 0; place < n; place++)
        if (wish.count[place] < 0) return complain(ctx, walk, first + place);
    return CW_OK;
}

static void collect(const rooms *r, int32_t first, int32_t n)
{
    const cwi_walk *walk = r->walk;
    for (int32_t place = 0; place < n && walk->collect; place++)
        for (int32_t g = 0; g < walk->n_dials; g++) {
            cwi_list list = list_at(r, first, place, g);
            walk->collect(walk->arg, &list);
        }
}

cw_status cwi_walk_listed(cw_context *ctx, const cwi_walk *walk)
{
    rooms r;
    cw_status status;
    if (!walk->ranker->list || walk->measure || walk->k < 1 || walk->n_users < 1 ||
        walk->ranker->n_items < 1)
        return CW_UNSUPPORTED;
    CW_TRY(rooms_init(ctx, walk, &r));
    for (int32_t first = 0, n; first < walk->n_users; first += n) {
        n = walk->n_users - first < r.round ? walk->n_users - first : r.round;
        if (walk->stage) CW_TRY(cwi_progress(ctx, walk->stage, first, walk->n_users));
        for (int32_t g = 0; g < walk->n_dials; g++) CW_TRY(list_dial(ctx, &r, first, n, g));
        collect(&r, first, n);
    }
done:
    cwi_pile_clear(&r.pile);
    return status;
}

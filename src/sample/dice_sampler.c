/*
 * dice_sampler.c - an observed pair and an item that is clearly more, or clearly less, popular.
 *
 * Of the items that user u did not have, the positive item i sees two pools: the popular ones, of
 * degree above d_i + margin, and the rare ones, of degree below d_i / 2.  In the order of degrees
 * they are the end and the beginning of all items, and the items of u are holes in them.  The k-th
 * item of a pool is found by binary search among the holes; no draw looks at all items.
 */
#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "sample/sampler.h"
#include "sample/shared_rows.h"

typedef struct dice_state {
    cwi_drawing drawing;
    int64_t negatives, min_size;
    double margin, margin_decay;
    cwi_csr by_degree; /* items in order of degree: start[d] of them have less than d */
    cwi_csr holes;     /* by user: places of the own items in that order, ascending */
    bool is_hopeless;  /* every user has every item */
    double margin_now; /* of the epoch */
} dice_state;

/* The items from place `first` on that fill a range, less the holes in it. */
typedef struct dice_pool {
    int64_t first, size;
    const int32_t *hole; /* [n_holes] places */
    int64_t n_holes;
    int64_t taken; /* draws made for the positive at hand */
} dice_pool;

typedef struct dice_pools {
    dice_pool popular, rare, all;
} dice_pools;

/* ---- pools ----------------------------------------------------------------------- */

CWI_FORMULA bool dice_has_all(const dice_state *s, int32_t user)
{
    return s->holes.start[user + 1] - s->holes.start[user] == s->drawing.training->n_items;
}

/* How many items have a degree below this. */
CWI_FORMULA int64_t dice_items_below(const dice_state *s, double degree)
{
    double whole = ceil(degree);
    if (whole > s->by_degree.n_rows) return s->drawing.training->n_items;
    return s->by_degree.start[(int64_t)whole];
}

CWI_FORMULA dice_pool dice_make_pool(const dice_state *s, int32_t user, int64_t first, int64_t end)
{
    const int32_t *hole = s->holes.value + s->holes.start[user];
    int64_t n = s->holes.start[user + 1] - s->holes.start[user];
    int64_t skipped = cwi_lower_bound(hole, n, (int32_t)first);
    int64_t inside = cwi_lower_bound(hole, n, (int32_t)end) - skipped;
    dice_pool pool = {first, end - first - inside, hole + skipped, inside, 0};
    return pool;
}

CWI_FORMULA dice_pools dice_make_pools(const dice_state *s, int32_t user, int32_t positive)
{
    double degree = (double)s->drawing.training->degree[positive];
    int64_t n = s->drawing.training->n_items;
    int64_t popular = dice_items_below(s, floor(degree + s->margin_now) + 1);
    dice_pools pools = {dice_make_pool(s, user, popular, n),
                        dice_make_pool(s, user, 0, dice_items_below(s, degree / 2)),
                        dice_make_pool(s, user, 0, n)};
    return pools;
}

/* Item number k of a pool: before hole h come hole[h] - first - h of them. */
CWI_FORMULA int32_t dice_item_at(const dice_state *s, const dice_pool *p, int64_t k)
{
    int64_t low = 0, high = p->n_holes;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (p->hole[middle] - p->first - middle <= k)
            low = middle + 1;
        else
            high = middle;
    }
    return s->by_degree.value[p->first + k + low];
}

/* A pool of less than min_size items gives way to the other; when it too is empty, any item that
 * the user did not have will do. */
CWI_FORMULA dice_pool *dice_choose_pool(const dice_state *s, dice_pools *p, cwi_rng *rng)
{
    bool popular;
    if (p->popular.size < s->min_size)
        popular = p->rare.size == 0;
    else if (p->rare.size < s->min_size)
        popular = true;
    else
        popular = cwi_rng_below(rng, 2) == 1;
    dice_pool *chosen = popular ? &p->popular : &p->rare;
    return chosen->size > 0 ? chosen : &p->all;
}

/* ---- draws ----------------------------------------------------------------------- */

/* Is the item among the negatives of the n rows? */
CWI_FORMULA bool dice_is_drawn(const int32_t *rows, int64_t n, int32_t item)
{
    for (int64_t k = 0; k < n; k++)
        if (rows[2 * k + 1] == item) return true;
    return false;
}

/* The rows of one positive; its negatives differ as long as their pools last.  Pairs of users who
 * have every item are passed over. */
CWI_FORMULA int64_t dice_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                              int32_t *item, float *mark, int64_t *tried)
{
    const dice_state *s = (const dice_state *)opened;
    const cwi_training *t = s->drawing.training;
    cwi_pair liked;
    (void)group;
    *tried += s->negatives;
    if (s->is_hopeless) return 0;
    do liked = t->pair[cwi_rng_below(rng, (uint64_t)t->count)];
    while (dice_has_all(s, liked.user));
    dice_pools pools = dice_make_pools(s, liked.user, liked.item);
    for (int64_t k = 0; k < s->negatives; k++) {
        int32_t negative;
        dice_pool *from = dice_choose_pool(s, &pools, rng);
        do negative = dice_item_at(s, from, (int64_t)cwi_rng_below(rng, (uint64_t)from->size));
        while (from->taken < from->size && dice_is_drawn(item, k, negative));
        from->taken++;
        user[2 * k] = user[2 * k + 1] = liked.user;
        item[2 * k] = liked.item;
        item[2 * k + 1] = negative;
        mark[k] = t->degree[negative] > t->degree[liked.item] ? 1 : 0;
    }
    return s->negatives;
}

#if !defined(__cplusplus)
static const cw_option_info dice_options[] = {
    NEGATIVES_OF_POSITIVE,
    REAL("margin", "", 0, 1e9,
         "a popular negative has so many more interactions than the positive; tuned when not "
         "given"),
    REAL("margin-decay", "0.9", 0, 1, "margin is multiplied by this after every epoch"),
    WHOLE("min-size", "40", 1, 1e9,
          "with fewer popular, or else fewer rare, items to draw from, all negatives are of the "
          "other kind"),
    {0}};

/* ---- tables ---------------------------------------------------------------------- */

static cw_status sort_by_degree(cw_context *ctx, const cwi_training *training, cwi_csr *out)
{
    int32_t n = training->n_items, most = 0;
    int32_t *degree = cwi_alloc(ctx, (size_t)n, sizeof *degree);
    int32_t *item = cwi_alloc(ctx, (size_t)n, sizeof *item);
    cw_status status = degree && item ? CW_OK : CW_NO_MEMORY;
    for (int32_t i = 0; i < n && status == CW_OK; i++) {
        degree[i] = (int32_t)training->degree[i];
        item[i] = i;
        if (degree[i] > most) most = degree[i];
    }
    if (status == CW_OK) status = cwi_csr_create(ctx, degree, item, n, most + 1, out);
    cwi_free(degree);
    cwi_free(item);
    return status;
}

/* Keep one of equal neighbours in every row; a repeated interaction is one hole. */
static void drop_repeats(cwi_csr *csr)
{
    int64_t kept = 0, next = csr->start[0];
    for (int32_t r = 0; r < csr->n_rows; r++) {
        int64_t begin = kept;
        for (; next < csr->start[r + 1]; next++)
            if (kept == begin || csr->value[next] != csr->value[kept - 1])
                csr->value[kept++] = csr->value[next];
        csr->start[r] = begin;
    }
    csr->start[csr->n_rows] = kept;
}

static cw_status list_holes(cw_context *ctx, const cwi_training *training, const cwi_csr *by_degree,
                            cwi_csr *out)
{
    int32_t *place = cwi_alloc(ctx, (size_t)training->n_items, sizeof *place);
    int32_t *hole = cwi_alloc(ctx, (size_t)training->count, sizeof *hole);
    int32_t *user = cwi_alloc(ctx, (size_t)training->count, sizeof *user);
    cw_status status = place && hole && user ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK) {
        for (int32_t p = 0; p < training->n_items; p++) place[by_degree->value[p]] = p;
        for (int64_t e = 0; e < training->count; e++) {
            user[e] = training->pair[e].user;
            hole[e] = place[training->pair[e].item];
        }
        status = cwi_csr_create(ctx, user, hole, training->count, training->n_users, out);
    }
    if (status == CW_OK) {
        cwi_csr_sort(out);
        drop_repeats(out);
    }
    cwi_free(place);
    cwi_free(hole);
    cwi_free(user);
    return status;
}

static cw_status dice_open(cw_context *ctx, const cw_options *options, void *opened)
{
    dice_state *s = opened;
    const cwi_training *t = s->drawing.training;
    cw_status status;
    s->negatives = cwi_options_integer(options, "neg");
    s->min_size = cwi_options_integer(options, "min-size");
    s->margin = cwi_options_real(options, "margin");
    s->margin_decay = cwi_options_real(options, "margin-decay");
    s->drawing.plan = (cwi_draw_plan){
        .n_groups = 1,
        .group = {{cwi_options_integer(options, "batch"), 2, (int32_t)s->negatives, 2}}};
    CW_TRY(sort_by_degree(ctx, t, &s->by_degree));
    CW_TRY(list_holes(ctx, t, &s->by_degree, &s->holes));
    s->is_hopeless = true;
    for (int64_t e = 0; e < t->count && s->is_hopeless; e++)
        s->is_hopeless = dice_has_all(s, t->pair[e].user);
done:
    return status;
}

static void dice_close(void *opened)
{
    dice_state *s = opened;
    cwi_csr_clear(&s->by_degree);
    cwi_csr_clear(&s->holes);
}

static void dice_begin(void *opened, int64_t epoch)
{
    dice_state *s = opened;
    s->margin_now = s->margin * cwi_pow(s->margin_decay, (double)epoch);
}

const cwi_sampler cwi_sampler_dice = {.name = "dice",
                                      .bytes = sizeof(dice_state),
                                      .open = dice_open,
                                      .close = dice_close,
                                      .begin = dice_begin,
                                      .draw = dice_draw,
                                      .options = dice_options};
#endif

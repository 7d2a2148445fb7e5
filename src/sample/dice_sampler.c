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
#include "core/pool.h"
#include "sample/sampler.h"
#include "sample/shared_rows.h"

static const cw_option_info options_of_dice[] = {
    NEGATIVES_OF_POSITIVE,
    REAL("margin", "", 0, 1e9,
         "a popular negative has so many more interactions than the positive; tuned when not "
         "given"),
    REAL("margin-decay", "0.9", 0, 1, "margin is multiplied by this after every epoch"),
    WHOLE("min-size", "40", 1, 1e9,
          "with fewer popular, or else fewer rare, items to draw from, all negatives are of the "
          "other kind"),
    {0}};

enum { POSITIVES_A_CHUNK = 256 };

typedef struct state {
    const cwi_training *training;
    uint64_t seed;
    int64_t batch, negatives, min_size;
    double margin, margin_decay;
    cwi_csr by_degree; /* items in order of degree: start[d] of them have less than d */
    cwi_csr holes;     /* by user: places of the own items in that order, ascending */
    bool is_hopeless;  /* every user has every item */
    /* the batch being drawn */
    uint64_t step;
    double margin_now;
    cwi_batch *out;
} state;

/* The items from place `first` on that fill a range, less the holes in it. */
typedef struct pool {
    int64_t first, size;
    const int32_t *hole; /* [n_holes] places */
    int64_t n_holes;
    int64_t taken; /* draws made for the positive at hand */
} pool;

typedef struct pools {
    pool popular, rare, all;
} pools;

/* ---- open and close -------------------------------------------------------------- */

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_csr_clear(&s->by_degree);
    cwi_csr_clear(&s->holes);
    cwi_free(s);
}

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

static bool has_all(const state *s, int32_t user)
{
    return s->holes.start[user + 1] - s->holes.start[user] == s->training->n_items;
}

static void read_options(const cw_options *options, state *s)
{
    s->seed = (uint64_t)cwi_options_integer(options, "seed");
    s->batch = cwi_options_integer(options, "batch");
    s->negatives = cwi_options_integer(options, "neg");
    s->min_size = cwi_options_integer(options, "min-size");
    s->margin = cwi_options_real(options, "margin");
    s->margin_decay = cwi_options_real(options, "margin-decay");
}

static cw_status open_state(cw_context *ctx, const cwi_training *training,
                            const cw_options *options, int64_t *max_slots, void **out)
{
    cw_status status;
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->training = training;
    read_options(options, s);
    CW_TRY(sort_by_degree(ctx, training, &s->by_degree));
    CW_TRY(list_holes(ctx, training, &s->by_degree, &s->holes));
    s->is_hopeless = true;
    for (int64_t e = 0; e < training->count && s->is_hopeless; e++)
        s->is_hopeless = has_all(s, training->pair[e].user);
    *max_slots = 2 * s->batch * s->negatives;
    *out = s;
done:
    if (status != CW_OK) close_state(s);
    return status;
}

/* ---- pools ----------------------------------------------------------------------- */

/* How many items have a degree below this. */
static int64_t items_below(const state *s, double degree)
{
    double whole = ceil(degree);
    if (whole > s->by_degree.n_rows) return s->training->n_items;
    return s->by_degree.start[(int64_t)whole];
}

/* How many of n ascending places are below this one. */
static int64_t holes_below(const int32_t *hole, int64_t n, int64_t place)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (hole[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static pool make_pool(const state *s, int32_t user, int64_t first, int64_t end)
{
    const int32_t *hole = s->holes.value + s->holes.start[user];
    int64_t n = s->holes.start[user + 1] - s->holes.start[user];
    int64_t skipped = holes_below(hole, n, first);
    int64_t inside = holes_below(hole, n, end) - skipped;
    return (pool){
        .first = first, .size = end - first - inside, .hole = hole + skipped, .n_holes = inside};
}

static pools make_pools(const state *s, int32_t user, int32_t positive)
{
    double degree = (double)s->training->degree[positive];
    int64_t n = s->training->n_items;
    return (pools){
        .popular = make_pool(s, user, items_below(s, floor(degree + s->margin_now) + 1), n),
        .rare = make_pool(s, user, 0, items_below(s, degree / 2)),
        .all = make_pool(s, user, 0, n),
    };
}

/* Item number k of a pool: before hole h come hole[h] - first - h of them. */
static int32_t item_at(const state *s, const pool *p, int64_t k)
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
static pool *choose_pool(const state *s, pools *p, cwi_rng *rng)
{
    bool popular;
    if (p->popular.size < s->min_size)
        popular = p->rare.size == 0;
    else if (p->rare.size < s->min_size)
        popular = true;
    else
        popular = cwi_rng_below(rng, 2) == 1;
    pool *chosen = popular ? &p->popular : &p->rare;
    return chosen->size > 0 ? chosen : &p->all;
}

/* ---- draws ----------------------------------------------------------------------- */

/* Is the item among the negatives of the n rows? */
static bool is_drawn(const int32_t *rows, int64_t n, int32_t item)
{
    for (int64_t k = 0; k < n; k++)
        if (rows[2 * k + 1] == item) return true;
    return false;
}

/* The rows of one positive; its negatives differ as long as their pools last. */
static void fill_rows(const state *s, int32_t user, int32_t positive, int64_t first_row,
                      cwi_rng *rng)
{
    pools p = make_pools(s, user, positive);
    int32_t *users = s->out->user + 2 * first_row, *items = s->out->item + 2 * first_row;
    const int64_t *degree = s->training->degree;
    for (int64_t k = 0; k < s->negatives; k++) {
        int32_t negative;
        pool *from = choose_pool(s, &p, rng);
        do negative = item_at(s, from, (int64_t)cwi_rng_below(rng, (uint64_t)from->size));
        while (from->taken < from->size && is_drawn(items, k, negative));
        from->taken++;
        users[2 * k] = users[2 * k + 1] = user;
        items[2 * k] = positive;
        items[2 * k + 1] = negative;
        s->out->mark[first_row + k] = degree[negative] > degree[positive] ? 1 : 0;
    }
}

/* Pairs of users who have every item are passed over. */
static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const state *s = arg;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        cwi_rng rng;
        int64_t pair;
        cwi_rng_init(&rng, s->seed, CWI_RNG_SAMPLE, s->step << 24 | (uint64_t)r);
        do pair = (int64_t)cwi_rng_below(&rng, (uint64_t)s->training->count);
        while (has_all(s, s->training->pair[pair].user));
        fill_rows(s, s->training->pair[pair].user, s->training->pair[pair].item, r * s->negatives,
                  &rng);
    }
    return CW_OK;
}

static cw_status draw(cw_context *ctx, void *opened, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck)
{
    state *s = opened;
    int64_t positives = s->is_hopeless ? 0 : s->batch, rows = positives * s->negatives;
    s->step = now->step;
    s->margin_now = s->margin * cwi_pow(s->margin_decay, (double)now->epoch);
    s->out = batch;
    cwi_batch_fill(batch, 2, rows);
    luck->slots[0] = 2;
    luck->attempts[0] += s->batch * s->negatives;
    luck->accepted[0] += rows;
    return cwi_pool_for(ctx, positives, POSITIVES_A_CHUNK, draw_chunk, s);
}

const cwi_sampler cwi_sampler_dice = {.name = "dice",
                                      .open = open_state,
                                      .draw = draw,
                                      .close = close_state,
                                      .options = options_of_dice};

/*
 * itemknn.c - the backbone of method itemknn: items by the K items most like those that a user has.
 *
 * With U_i the users of item i and w_u the weight of a user,
 *   like(i, j) = f_i f_j * sum over u in both of w_u^2 * n / (n + shrink),  n = |U_i and U_j|
 *   cosine  w = 1,                              f_i = 1 / sqrt(sum over U_i of w^2)
 *   tfidf   w = ln(items) - ln(1 + items of u), the same f
 *   bm25    the w of tfidf,                     f_i = (k1 + 1) / (1 + k1 (1 - b + b |U_i| / mean))
 * Sums run in double over rising users.  Of each item the K largest are kept as floats, equal ones
 * by the lower number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "core/rooms.h"
#include "core/smallest.h"
#include "score/itemitem.h"
#include "score/sides.h"

typedef enum likeness { COSINE, TFIDF, BM25 } likeness;

static const cw_option_info options_of_itemknn[] = {
    WHOLE("neighbours", "100", 1, 65536, "how many items most like an item are kept of each"),
    WORD("similarity", "bm25", "cosine|tfidf|bm25",
         "what makes items alike: their users, or their users weighted by how few items those "
         "have"),
    REAL("shrink", "10", 0, 1e6,
         "similarities of n common users are multiplied by n / (n + shrink)"),
    {0}};

static const double bm25_k1 = 1.2, bm25_b = 0.75;

enum { ITEMS_A_CHUNK = 16, MOST_ITEMS = 1 << 24 }; /* numbers that a float holds */

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    int64_t k = cwi_options_integer(options, "neighbours");
    if (shape->n_items > MOST_ITEMS)
        return cwi_fail(ctx, CW_UNSUPPORTED, "method itemknn takes up to %d items, not %d",
                        MOST_ITEMS, (int)shape->n_items);
    if (k > shape->n_items - 1) k = shape->n_items - 1;
    if (k < 1) k = 1;
    CW_PASS(cwi_params_add(ctx, params, "neighbours", shape->n_items, k, NULL));
    return cwi_params_add(ctx, params, "similarities", shape->n_items, k, NULL);
}

/* ---- similarities ----------------------------------------------------------------- */

typedef struct search {
    cwi_sides sides;
    int32_t n_items;
    int64_t k;
    double shrink;
    double *square; /* [n_users] w^2 */
    double *factor; /* [n_items] */
    float *neighbour, *similarity;
    cwi_rooms *rooms;
    cwi_pile pile;
} search;

/* What a thread needs for one item. */
typedef struct room {
    double *sum;        /* [n_items] zero between items, like the next */
    int32_t *count;     /* [n_items] common users */
    int32_t *met;       /* [n_items] those with common users */
    cwi_ordered *order; /* [n_items] */
} room;

/* The parts of a room lie in one block, those of the largest numbers first. */
static room room_in(void *block, size_t n)
{
    room r = {.order = block};
    r.sum = (double *)(void *)(r.order + n);
    r.count = (int32_t *)(void *)(r.sum + n);
    r.met = r.count + n;
    return r;
}

static size_t room_bytes(size_t n)
{
    return n * (sizeof(cwi_ordered) + sizeof(double) + 2 * sizeof(int32_t));
}

/* Common users of an item with all others; how many have some. */
static int32_t meet(const search *s, int32_t item, room *r)
{
    const cwi_csr *users = &s->sides.by_item, *items = &s->sides.by_user;
    int32_t n = 0;
    for (int64_t e = users->start[item]; e < users->start[item + 1]; e++) {
        int32_t u = users->value[e];
        for (int64_t k = items->start[u]; k < items->start[u + 1]; k++) {
            int32_t other = items->value[k];
            if (r->count[other]++ == 0) r->met[n++] = other;
            r->sum[other] += s->square[u];
        }
    }
    return n;
}

/* Those alike, the most first; the room is as it was. */
static int32_t order_alike(const search *s, int32_t item, int32_t n, room *r)
{
    int32_t kept = 0;
    for (int32_t m = 0; m < n; m++) {
        int32_t other = r->met[m];
        double common = r->count[other];
        float like = (float)(s->factor[item] * s->factor[other] * r->sum[other] *
                             (common / (common + s->shrink)));
        r->sum[other] = 0;
        r->count[other] = 0;
        if (other != item && like > 0) r->order[kept++] = (cwi_ordered){-(double)like, other};
    }
    cwi_order(r->order, (size_t)kept);
    return kept;
}

static cw_status search_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const search *s = arg;
    void *block = cwi_rooms_enter(s->rooms);
    room r = room_in(block, (size_t)s->n_items);
    (void)chunk;
    memset(r.sum, 0, (size_t)s->n_items * sizeof *r.sum);
    memset(r.count, 0, (size_t)s->n_items * sizeof *r.count);
    for (int64_t i = begin; i < end; i++) {
        int32_t kept = order_alike(s, (int32_t)i, meet(s, (int32_t)i, &r), &r);
        for (int64_t k = 0; k < s->k; k++) {
            s->neighbour[i * s->k + k] = k < kept ? (float)r.order[k].id : -1.0f;
            s->similarity[i * s->k + k] = k < kept ? (float)-r.order[k].value : 0.0f;
        }
    }
    cwi_rooms_leave(s->rooms, block);
    return CW_OK;
}

static void weigh_users(search *s, likeness kind)
{
    const int64_t *start = s->sides.by_user.start;
    for (int32_t u = 0; u < s->sides.by_user.n_rows; u++) {
        double w = cwi_ln((double)s->n_items) - cwi_log1p((double)(start[u + 1] - start[u]));
        s->square[u] = kind == COSINE ? 1 : w * w;
    }
}

static void weigh_items(search *s, likeness kind)
{
    const cwi_csr *users = &s->sides.by_item;
    double mean = (double)users->start[s->n_items] / s->n_items;
    for (int32_t i = 0; i < s->n_items; i++) {
        double length = (double)(users->start[i + 1] - users->start[i]), squares = 0;
        for (int64_t e = users->start[i]; e < users->start[i + 1]; e++)
            squares += s->square[users->value[e]];
        if (kind == BM25)
            s->factor[i] = (bm25_k1 + 1) / (1 + bm25_k1 * (1 - bm25_b + bm25_b * length / mean));
        else
            s->factor[i] = squares > 0 ? 1 / sqrt(squares) : 0;
    }
}

static cw_status fill(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      cwi_params *params)
{
    cw_status status;
    likeness kind = (likeness)cwi_options_choice(options, "similarity");
    search s = {.n_items = shape->n_items,
                .k = params->tensor[0].columns,
                .shrink = cwi_options_real(options, "shrink"),
                .neighbour = params->tensor[0].data,
                .similarity = params->tensor[1].data};

    CW_TRY(cwi_sides_create(ctx, shape, &s.sides));
    s.square = cwi_pile_add(ctx, &s.pile, (size_t)shape->n_users, sizeof *s.square);
    s.factor = cwi_pile_add(ctx, &s.pile, (size_t)shape->n_items, sizeof *s.factor);
    CW_TRY(s.pile.status);
    CW_TRY(cwi_rooms_create(ctx, room_bytes((size_t)shape->n_items), &s.rooms));
    weigh_users(&s, kind);
    weigh_items(&s, kind);
    CW_TRY(cwi_pool_for(ctx, shape->n_items, ITEMS_A_CHUNK, search_chunk, &s));
done:
    cwi_rooms_free(s.rooms);
    cwi_pile_clear(&s.pile);
    cwi_sides_clear(&s.sides);
    return status;
}

/* ---- ranking ---------------------------------------------------------------------- */

static int by_column(const void *a, const void *b)
{
    const cwi_ordered *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* The neighbours of an item by their numbers, which may come from a file. */
static cw_status list_row(cw_context *ctx, const cwi_tensor *neighbours, const float *similarity,
                          int64_t item, cwi_ordered *order, int64_t *n)
{
    int64_t k = neighbours->columns;
    const float *row = neighbours->data + item * k;
    *n = 0;
    for (int64_t e = 0; e < k && row[e] != -1.0f; e++) {
        if (!(row[e] >= 0 && row[e] < (float)neighbours->rows && row[e] == floorf(row[e])))
            return cwi_fail(ctx, CW_BAD_DATA,
                            "tensor neighbours of the model has %g for item %lld, which is no item",
                            (double)row[e], (long long)item);
        order[(*n)++] = (cwi_ordered){(double)similarity[item * k + e], (int64_t)row[e]};
    }
    qsort(order, (size_t)*n, sizeof *order, by_column);
    return CW_OK;
}

static cw_status list_rows(cw_context *ctx, const cwi_tensor *neighbours, const float *similarity,
                           cwi_ordered *order, cwi_itemitem *m)
{
    int64_t at = 0, n;
    m->rows.start[0] = 0;
    for (int64_t i = 0; i < neighbours->rows; i++) {
        CW_PASS(list_row(ctx, neighbours, similarity, i, order, &n));
        for (int64_t e = 0; e < n; e++, at++) {
            m->rows.value[at] = (int32_t)order[e].id;
            m->value[at] = (float)order[e].value;
        }
        m->rows.start[i + 1] = at;
    }
    return CW_OK;
}

static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    cw_status status;
    const cwi_tensor *neighbours, *similarities;
    cwi_ordered *order = NULL;
    cwi_pile pile = {0};
    (void)options; /* the parameters say it all */
    CW_TRY(cwi_params_expect(ctx, params, "neighbours", shape->n_items, 0, &neighbours));
    CW_TRY(cwi_params_expect(ctx, params, "similarities", shape->n_items, neighbours->columns,
                             &similarities));
    size_t rows = (size_t)shape->n_items, k = (size_t)neighbours->columns;
    cwi_itemitem *m = cwi_pile_add_zero(ctx, &pile, 1, sizeof *m);
    int64_t *start = cwi_pile_add(ctx, &pile, rows + 1, sizeof *start);
    int32_t *column = cwi_pile_add(ctx, &pile, rows, k * sizeof *column);
    float *value = cwi_pile_add(ctx, &pile, rows, k * sizeof *value);
    CW_TRY(pile.status);
    order = cwi_alloc(ctx, k, sizeof *order);
    CW_TRY(order ? CW_OK : CW_NO_MEMORY);
    m->rows = (cwi_csr){.n_rows = shape->n_items, .start = start, .value = column};
    m->value = value;
    CW_TRY(list_rows(ctx, neighbours, similarities->data, order, m));
    cwi_itemitem_rank(shape, m, pile, out);
done:
    cwi_free(order);
    if (status != CW_OK) cwi_pile_clear(&pile);
    return status;
}

const cwi_backbone cwi_backbone_itemknn = {
    .name = "itemknn",
    .help = "the items most like each item; only for method itemknn",
    .declare = declare,
    .fill = fill,
    .rank = rank,
    .options = options_of_itemknn,
};

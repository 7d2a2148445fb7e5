/*
 * neumf_rank.c - scores of all items by NeuMF.
 *
 * Users and items pass the first layer when the ranker is opened.  With one hidden layer, since
 * ReLU(a + b) = max(a, -b) + b,
 *   s(u, i) = (h_mf * E_u) . E_i + sum_m h_m max(A_um, -B_im) + sum_m h_m B_im
 * so a pair costs as much as an inner product of d plus `hidden` numbers.  Layers above the first
 * cannot be had so cheaply: blocks of items go through them user by user.
 */
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "core/rooms.h"
#include "score/neumf.h"
#include "score/table.h"

enum { USERS_AT_ONCE = CWI_SCORE_USERS, ITEMS_A_BLOCK = 128, ROWS_A_CHUNK = 128 };

typedef struct state {
    cwi_tower tower[CWI_MAX_TOWERS];
    int32_t ranked;     /* heads that are added up */
    int32_t d, width;   /* columns of their vectors, and of their first layers */
    float *users;       /* [n_users][d] h_mf * E_u */
    float *items;       /* [n_items][d] */
    float *first_users; /* [n_users][width] A */
    float *first_items; /* [n_items][width] -B */
    float *last;        /* [width] h_m, with one layer */
    float *constant;    /* [n_items] sum of h_m B_im, with one layer */
    cwi_rooms *rooms;   /* floors of a block of items, with several layers */
} state;

static void close_rooms(cwi_ranker *ranker)
{
    cwi_rooms_free(((state *)ranker->state)->rooms);
}

/* ---- scores ---------------------------------------------------------------------- */

/* A block of items for one user, all floors in a room. */
static void add_block(const cwi_ranker *ranker, int32_t user, int32_t first, int32_t n, float *room,
                      float *out)
{
    const state *s = ranker->state;
    const float *a = s->first_users + (int64_t)user * s->width;
    const float *b = s->first_items + (int64_t)first * s->width;
    for (int h = 0; h < s->ranked; h++) {
        const cwi_tower *tower = &s->tower[h];
        cwi_floors floors = cwi_tower_floors(tower, room, n, 0, n);
        for (int64_t r = 0; r < n; r++) {
            float *z = cwi_row(&floors.z[0], r);
            for (int32_t m = 0; m < tower->size[0]; m++) {
                float sum = a[m] - b[r * s->width + m];
                z[m] = 0 > sum ? 0 : sum;
            }
        }
        cwi_tower_climb(tower, cwi_ops_best(), &floors, out, 1);
        a += tower->size[0];
        b += tower->size[0];
    }
}

static void add_layers(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    const state *s = ranker->state;
    float *room = cwi_rooms_enter(s->rooms);
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = 0; i < ranker->n_items; i += ITEMS_A_BLOCK) {
            int32_t left = ranker->n_items - i;
            add_block(ranker, users[k], i, left < ITEMS_A_BLOCK ? left : ITEMS_A_BLOCK, room,
                      out + (int64_t)k * ranker->n_items + i);
        }
    cwi_rooms_leave(s->rooms, room);
}

/* Rows of a table by number. */
static void point(const float *table, int32_t width, const int32_t *row, int32_t n,
                  const float **out)
{
    for (int32_t k = 0; k < n; k++) out[k] = table + (int64_t)row[k] * width;
}

static void score_users(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    const cwi_ops *ops = cwi_ops_best();
    const state *s = ranker->state;
    const float *row[USERS_AT_ONCE];

    for (int32_t first = 0; first < n; first += USERS_AT_ONCE) {
        int32_t count = n - first < USERS_AT_ONCE ? n - first : USERS_AT_ONCE;
        float *to = out + (int64_t)first * ranker->n_items;
        point(s->users, s->d, users + first, count, row);
        ops->score_block(row, count, s->items, ranker->n_items, s->d, to);
        if (s->rooms) {
            add_layers(ranker, users + first, count, to);
            continue;
        }
        point(s->first_users, s->width, users + first, count, row);
        ops->max_block(s->last, s->constant, row, count, s->first_items, ranker->n_items, s->width,
                       to);
    }
}

/* ---- open ------------------------------------------------------------------------ */

/* B becomes -B; its share of the scores is kept apart. */
static cw_status turn_items(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    state *s = arg;
    (void)chunk;
    for (int64_t i = begin; i < end; i++) {
        float *b = s->first_items + i * s->width;
        double sum = 0;
        for (int32_t m = 0; m < s->width; m++) {
            if (s->last) sum += (double)s->last[m] * (double)b[m];
            b[m] = -b[m];
        }
        if (s->constant) s->constant[i] = (float)sum;
    }
    return CW_OK;
}

/* What one layer needs, or several. */
static cw_status create_rest(cw_context *ctx, int32_t n_items, cwi_pile *pile, state *s)
{
    const cwi_tower *tower = &s->tower[0];
    if (tower->n_layers > 1) {
        size_t bytes = ITEMS_A_BLOCK * (size_t)cwi_tower_width(tower) * sizeof(float);
        return cwi_rooms_create(ctx, bytes, &s->rooms);
    }
    s->last = cwi_pile_add(ctx, pile, (size_t)s->width, sizeof *s->last);
    s->constant = cwi_pile_add(ctx, pile, (size_t)n_items, sizeof *s->constant);
    for (int h = 0; h < s->ranked && s->constant; h++)
        memcpy(s->last + h * tower->size[0], s->tower[h].last,
               (size_t)tower->size[0] * sizeof *s->last);
    return CW_OK;
}

static void create_tables(cw_context *ctx, const cwi_shape *shape, const cwi_tensor *table,
                          cwi_pile *pile, state *s)
{
    int32_t d = (int32_t)table->columns;
    size_t bytes = (size_t)s->width * sizeof(float);
    const float *items = table->data + (int64_t)shape->n_users * d;
    s->users = cwi_table_columns(ctx, table->data, shape->n_users, d, s->d);
    cwi_pile_own(ctx, pile, s->users);
    s->items = cwi_table_columns(ctx, items, shape->n_items, d, s->d);
    cwi_pile_own(ctx, pile, s->items);
    s->first_users = cwi_pile_add(ctx, pile, (size_t)shape->n_users, bytes);
    s->first_items = cwi_pile_add(ctx, pile, (size_t)shape->n_items, bytes);
}

static cw_status pass_first(cw_context *ctx, const cwi_shape *shape, state *s)
{
    const cwi_matrix vectors[] = {{s->items, shape->n_items, s->d, s->d},
                                  {s->users, shape->n_users, s->d, s->d}};
    const cwi_matrix first[] = {{s->first_items, shape->n_items, s->width, s->width},
                                {s->first_users, shape->n_users, s->width, s->width}};
    CW_PASS(cwi_neumf_enter(ctx, s->tower, s->ranked, vectors, first));
    return cwi_pool_for(ctx, shape->n_items, ROWS_A_CHUNK, turn_items, s);
}

cw_status cwi_neumf_rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         const cwi_params *params, cwi_ranker *out)
{
    cw_status status;
    const cwi_tensor *table;
    (void)options;
    *out = (cwi_ranker){.n_users = shape->n_users, .n_items = shape->n_items, .score = score_users};
    state *s = out->state = cwi_pile_add_zero(ctx, &out->pile, 1, sizeof *s);
    CW_TRY(out->pile.status);
    out->close = close_rooms;
    CW_TRY(cwi_table_expect(ctx, shape, params, &table));
    CW_TRY(cwi_tower_find(ctx, params, shape->heads, (int32_t)table->columns, s->tower));
    s->ranked = shape->ranked;
    s->d = s->ranked * s->tower[0].d;
    s->width = s->ranked * s->tower[0].size[0];
    create_tables(ctx, shape, table, &out->pile, s);
    CW_TRY(create_rest(ctx, shape->n_items, &out->pile, s));
    CW_TRY(out->pile.status);
    CW_TRY(pass_first(ctx, shape, s));
    out->items = s->items;
    out->width = s->d;
done:
    if (status != CW_OK) cwi_ranker_close(out);
    return status;
}

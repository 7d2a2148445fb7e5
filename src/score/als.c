/*
 * als.c - the backbone of method ials: vectors of users and items by alternating least squares.
 *
 * Hu, Koren, Volinsky, ICDM 2008, with the L2 term of Rendle et al., RecSys 2022.  With w_0 the
 * weight of all pairs and d_u, d_i the rows of a user and an item the vectors minimise
 *   sum over train of (1 - x_u . y_i)^2 + w_0 * sum over all pairs of (x_u . y_i)^2
 *   + reg * (sum of (d_u + w_0 items)^power |x_u|^2 + sum of (d_i + w_0 users)^power |y_i|^2).
 * For one side given, each row of the other is the solution of
 *   (w_0 G + sum over its pairs of y y^T + reg_u I) x = sum over its pairs of y,  G = sum of y y^T.
 * A sweep makes a few steps of conjugate gradients for every user from where the vector was, then
 * for every item.  A row is solved by one thread in a fixed order.
 */
#include <math.h>
#include <string.h>

#include "backend/gemm.h"
#include "core/elementary.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "core/rooms.h"
#include "score/sides.h"
#include "score/table.h"

static const cw_option_info options_of_als[] = {
    REAL_ABOVE("unseen-weight", "0.2", 0, 1000,
               "weight of a pair that was not observed beside 1 of one that was"),
    REAL("reg-power", "1", 0, 2,
         "the L2 term of a vector grows with this power of its rows and unseen-weight times the "
         "other side; 0: the same for all"),
    WHOLE("cg-steps", "3", 1, 1000, "steps of conjugate gradients for a vector in a sweep"),
    {0}};

enum { ROWS_A_CHUNK = 32, PAIRS_AT_ONCE = 64 };

typedef struct als {
    float *table; /* users, then items */
    int32_t n_users, n_items, d;
    cwi_sides sides;
    double unseen, reg, power;
    int64_t steps;
    float *gram;            /* [d][d] of the side that is given, times w_0 */
    float *parts;           /* [CWI_GEMM_PARTS][d][d] */
    int32_t *order;         /* [d] 0, 1, ... */
    double *loss, *penalty; /* [chunks] sums */
    cwi_rooms *rooms;       /* [5][d] a thread */
    cwi_pile pile;
} als;

static double ridge_of(double reg, double power, double pairs, double mass)
{
    return reg * cwi_pow(pairs + mass, power);
}

/* ---- make and free ---------------------------------------------------------------- */

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    CW_PASS(cwi_table_declare(ctx, shape, options, params));
    params->tensor[0].decay = 0; /* the equations have the L2 term */
    return CW_OK;
}

static void close_state(void *opened)
{
    als *s = opened;
    if (!s) return;
    cwi_sides_clear(&s->sides);
    cwi_rooms_free(s->rooms);
    cwi_pile_clear(&s->pile);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            const cwi_params *params, int64_t max_slots, void **out)
{
    als *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    (void)max_slots;
    if (!s) return CW_NO_MEMORY;
    s->table = params->tensor[0].data;
    s->n_users = shape->n_users;
    s->n_items = shape->n_items;
    s->d = (int32_t)params->tensor[0].columns;
    s->unseen = cwi_options_real(options, "unseen-weight");
    s->reg = cwi_options_real(options, "reg");
    s->power = cwi_options_real(options, "reg-power");
    s->steps = cwi_options_integer(options, "cg-steps");
    CW_PASS(cwi_sides_create(ctx, shape, &s->sides));
    size_t d = (size_t)s->d;
    int32_t most = s->n_users > s->n_items ? s->n_users : s->n_items;
    size_t chunks = (size_t)cwi_pool_chunks(most, ROWS_A_CHUNK);
    s->gram = cwi_pile_add(ctx, &s->pile, d, d * sizeof *s->gram);
    s->parts = cwi_pile_add(ctx, &s->pile, CWI_GEMM_PARTS * d, d * sizeof *s->parts);
    s->order = cwi_pile_add(ctx, &s->pile, d, sizeof *s->order);
    s->loss = cwi_pile_add(ctx, &s->pile, chunks, sizeof *s->loss);
    s->penalty = cwi_pile_add(ctx, &s->pile, chunks, sizeof *s->penalty);
    CW_PASS(s->pile.status);
    for (int32_t k = 0; k < s->d; k++) s->order[k] = k;
    return cwi_rooms_create(ctx, 5 * d * sizeof(float), &s->rooms);
}

/* ---- one row ---------------------------------------------------------------------- */

/* The equations of a row. */
typedef struct equations {
    const als *s;
    const cwi_ops *ops;
    const float *given;  /* vectors of the other side */
    const int32_t *pair; /* [n] which of them */
    int64_t n;
    float ridge;
} equations;

static double dot(const equations *q, const float *a, const float *b)
{
    static const int32_t first[1] = {0};
    float out;
    q->ops->dot_pairs(a, first, b, first, 1, q->s->d, q->s->d, &out, 1);
    return (double)out;
}

/* out = A v, or b - A v where `less`; part is room.  Returns b . v. */
static double multiply(const equations *q, const float *v, bool less, float *part, float *out)
{
    static const int32_t zeros[PAIRS_AT_ONCE] = {0};
    int32_t d = q->s->d;
    double along = 0;
    float weight[PAIRS_AT_ONCE], sign = less ? -1.0f : 1.0f;

    q->ops->weighted_sum(q->s->gram, d, d, q->s->order, v, d, out);
    for (int32_t j = 0; j < d; j++) out[j] = sign * (out[j] + q->ridge * v[j]);
    for (int64_t at = 0; at < q->n; at += PAIRS_AT_ONCE) {
        int64_t m = q->n - at < PAIRS_AT_ONCE ? q->n - at : PAIRS_AT_ONCE;
        q->ops->dot_pairs(v, zeros, q->given, q->pair + at, m, d, d, weight, 1);
        for (int64_t k = 0; k < m; k++) {
            along += (double)weight[k];
            weight[k] = less ? 1.0f - weight[k] : weight[k];
        }
        q->ops->weighted_sum(q->given, d, d, q->pair + at, weight, m, part);
        for (int32_t j = 0; j < d; j++) out[j] += part[j];
    }
    return along;
}

/* to += scale * from */
static void add(int32_t d, float scale, const float *restrict from, float *restrict to)
{
    for (int32_t j = 0; j < d; j++) to[j] += scale * from[j];
}

/* Some steps from x on.  Returns what it leaves of the loss of its pairs: with r = b - A x that is
 * n - b . x - x . r, the L2 term of x included. */
static double solve(const equations *q, float *x, float *room)
{
    int32_t d = q->s->d;
    float *r = room, *p = r + d, *moved = p + d, *part = moved + d;
    double along = multiply(q, x, true, part, r), square = dot(q, r, r);

    memcpy(p, r, (size_t)d * sizeof *p);
    for (int64_t step = 0; step < q->s->steps && square > 1e-20; step++) {
        double slope = multiply(q, p, false, part, moved), curve = dot(q, p, moved);
        if (!(curve > 0)) break; /* as good as floats can tell */
        double rate = square / curve, before = square;
        add(d, (float)rate, p, x);
        add(d, (float)-rate, moved, r);
        along += (double)(float)rate * slope;
        square = dot(q, r, r);
        float keep = (float)(square / before);
        for (int32_t j = 0; j < d; j++) p[j] = r[j] + keep * p[j];
    }
    return (double)q->n - along - dot(q, x, r);
}

/* ---- a side ----------------------------------------------------------------------- */

/* Rows that are solved for, from the vectors of the other side. */
typedef struct side {
    als *s;
    const cwi_csr *rows;
    float *solved;
    const float *given;
    int32_t n_given;
} side;

static cw_status solve_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const side *w = arg;
    const als *s = w->s;
    float *room = cwi_rooms_enter(s->rooms);
    equations q = {.s = s, .ops = cwi_ops_best(), .given = w->given};
    double loss = 0, penalty = 0;

    for (int64_t k = begin; k < end; k++) {
        float *x = w->solved + k * s->d;
        q.pair = w->rows->value + w->rows->start[k];
        q.n = w->rows->start[k + 1] - w->rows->start[k];
        q.ridge = (float)ridge_of(s->reg, s->power, (double)q.n, s->unseen * w->n_given);
        if (q.n == 0) {
            memset(x, 0, (size_t)s->d * sizeof *x);
            continue;
        }
        double left = solve(&q, x, room), term = (double)q.ridge * dot(&q, x, x);
        loss += left - term;
        penalty += term;
    }
    s->loss[chunk] = loss;
    s->penalty[chunk] = penalty;
    cwi_rooms_leave(s->rooms, room);
    return CW_OK;
}

static cw_status solve_side(cw_context *ctx, side *w, double *loss, double *penalty)
{
    als *s = w->s;
    int64_t chunks = cwi_pool_chunks(w->rows->n_rows, ROWS_A_CHUNK);
    CW_PASS(cwi_gemm_sum(ctx, w->n_given, s->d, s->d, w->given, s->d, w->given, s->d, s->gram,
                         s->parts));
    for (int64_t k = 0; k < (int64_t)s->d * s->d; k++) s->gram[k] *= (float)s->unseen;
    CW_PASS(cwi_pool_for(ctx, w->rows->n_rows, ROWS_A_CHUNK, solve_chunk, w));
    *loss = *penalty = 0;
    for (int64_t c = 0; c < chunks; c++) {
        *loss += s->loss[c];
        *penalty += s->penalty[c];
    }
    return CW_OK;
}

static cw_status sweep(cw_context *ctx, void *opened, double *loss, double *reg)
{
    als *s = opened;
    float *users = s->table, *items = users + (int64_t)s->n_users * s->d;
    side by_user = {s, &s->sides.by_user, users, items, s->n_items};
    side by_item = {s, &s->sides.by_item, items, users, s->n_users};
    double terms[2], pairs = (double)s->sides.by_user.start[s->n_users];

    CW_PASS(solve_side(ctx, &by_user, loss, &terms[0]));
    CW_PASS(solve_side(ctx, &by_item, loss, &terms[1]));
    *loss /= pairs; /* as the items have left it, which came last */
    *reg = (terms[0] + terms[1]) / pairs;
    return CW_OK;
}

/* ---- ranking ---------------------------------------------------------------------- */

static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    const cwi_tensor *table;
    CW_PASS(cwi_table_expect(ctx, shape, params, &table));
    CW_PASS(cwi_table_rank(ctx, shape, NULL, table->data, (int32_t)table->columns, false,
                           (cwi_pile){0}, out));
    out->fold = (cwi_fold){.unseen = cwi_options_real(options, "unseen-weight"),
                           .reg = cwi_options_real(options, "reg"),
                           .power = cwi_options_real(options, "reg-power")};
    return CW_OK;
}

const cwi_backbone cwi_backbone_als = {
    .name = "als",
    .help = "vectors of users and items by alternating least squares; only for method ials",
    .declare = declare,
    .open = open_state,
    .sweep = sweep,
    .rank = rank,
    .close = close_state,
    .options = options_of_als,
};

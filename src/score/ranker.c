/* ranker.c - scores by inner products of a user's vector with all item vectors. */
#include "score/ranker.h"

#include "backend/backend.h"
#include "core/mem.h"
#include "score/foldin.h"

static void score_users(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    enum { AT_ONCE = CWI_SCORE_USERS };
    const cwi_ops *ops = cwi_ops_best();
    const float *vector[AT_ONCE];

    for (int32_t first = 0; first < n; first += AT_ONCE) {
        int32_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (int32_t k = 0; k < count; k++)
            vector[k] = ranker->users + (int64_t)users[first + k] * ranker->width;
        ops->score_block(vector, count, ranker->items, ranker->n_items, ranker->width,
                         out + (int64_t)first * ranker->n_items);
    }
}

void cwi_ranker_dot(const float *users, const float *items, int32_t n_users, int32_t n_items,
                    int32_t width, cwi_ranker *out)
{
    *out = (cwi_ranker){.n_users = n_users,
                        .n_items = n_items,
                        .score = score_users,
                        .fold_in = cwi_foldin_dot,
                        .explain = cwi_foldin_explain,
                        .items = items,
                        .users = users,
                        .width = width};
}

bool cwi_ranker_is_dot(const cwi_ranker *ranker)
{
    return ranker->score == score_users;
}

void cwi_ranker_narrow(cwi_ranker *ranker, int32_t first, int32_t n)
{
    ranker->items += (int64_t)first * ranker->width;
    ranker->n_items = n;
}

/* ---- item terms ------------------------------------------------------------------ */

typedef struct shifted {
    cwi_ranker inner;
    const float *term;
} shifted;

static void add_terms(const shifted *s, int32_t n, float *out)
{
    for (int32_t k = 0; k < n; k++, out += s->inner.n_items)
        for (int32_t i = 0; i < s->inner.n_items; i++) out[i] += s->term[i];
}

static void score_shifted(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    const shifted *s = ranker->state;
    s->inner.score(&s->inner, users, n, out);
    add_terms(s, n, out);
}

bool cwi_ranker_is_sum(const cwi_ranker *ranker, const float **term)
{
    const shifted *s = ranker->score == score_shifted ? ranker->state : NULL;
    *term = s ? s->term : NULL;
    return cwi_ranker_is_dot(s ? &s->inner : ranker);
}

static cw_status fold_in_shifted(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items,
                                 int32_t n, float *out)
{
    const shifted *s = ranker->state;
    CW_PASS(s->inner.fold_in(ctx, &s->inner, items, n, out));
    add_terms(s, 1, out);
    return CW_OK;
}

/* The term is the item's own, and nobody's of the user's items. */
static cw_status explain_shifted(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items,
                                 int32_t n, int32_t item, float *added)
{
    const shifted *s = ranker->state;
    return s->inner.explain(ctx, &s->inner, items, n, item, added);
}

static void close_shifted(cwi_ranker *ranker)
{
    shifted *s = ranker->state;
    cwi_ranker_close(&s->inner);
}

cw_status cwi_ranker_shift(cw_context *ctx, const float *term, cwi_ranker *ranker)
{
    cwi_ranker out = *ranker;
    out.pile = (cwi_pile){0};
    shifted *s = cwi_pile_add(ctx, &out.pile, 1, sizeof *s);
    cw_status status = s ? cwi_foldin_keep(ctx, ranker) : CW_NO_MEMORY;
    if (status != CW_OK) {
        cwi_pile_clear(&out.pile);
        return status;
    }
    *s = (shifted){*ranker, term};
    s->inner.far = NULL; /* the outer one has it */
    out.gram = NULL;     /* the inner one has it */
    out.state = s;
    out.score = score_shifted;
    out.list = NULL;
    out.measure = NULL;
    out.close_lister = NULL;
    out.fold_in = ranker->fold_in ? fold_in_shifted : NULL;
    out.explain = ranker->explain ? explain_shifted : NULL;
    out.close = close_shifted;
    *ranker = out;
    return CW_OK;
}

void cwi_ranker_close(cwi_ranker *ranker)
{
    if (ranker->close_lister) ranker->close_lister(ranker);
    if (ranker->gram) cwi_free(atomic_load(ranker->gram));
    cwi_free(ranker->gram);
    if (ranker->close) ranker->close(ranker);
    cwi_far_users_close(ranker->far);
    cwi_pile_clear(&ranker->pile);
    *ranker = (cwi_ranker){0};
}

/* evaluate_check.h - small catalogues with hand-made scores, shared by the tests of evaluation. */
#ifndef EVALUATE_CHECK_H
#define EVALUATE_CHECK_H

#include <math.h>

#include "core/rng.h"
#include "evaluate/assess.h"
#include "evaluate/evaluate.h"
#include "testing.h"

/* Scores from a table [n_users][n_items]. */
static inline void score_from_table(const cwi_ranker *ranker, const int32_t *users, int32_t n,
                                    float *out)
{
    const float *table = ranker->state;
    for (int32_t k = 0; k < n; k++)
        memcpy(out + (int64_t)k * ranker->n_items, table + (int64_t)users[k] * ranker->n_items,
               (size_t)ranker->n_items * sizeof *out);
}

static inline cwi_ranker table_ranker(float *table, int32_t n_users, int32_t n_items)
{
    return (cwi_ranker){
        .n_users = n_users, .n_items = n_items, .score = score_from_table, .state = table};
}

/* A random world: who has seen what, what is held out, how everybody scores everything. */
typedef struct world {
    listener l;
    int32_t n_users, n_items;
    float *score;
    cwi_pairs seen, held;
    cwi_csr mask;
    int64_t *degree, *user_degree;
    cwi_ranker ranker;
    cwi_subject subject;
} world;

static inline void draw_rows(world *w, cwi_rng *rng, int32_t u)
{
    for (int32_t i = 0; i < w->n_items; i++) {
        /* Item i is seen with a probability that falls with i. */
        double fate = cwi_rng_real(rng) * (2.0 + 8.0 * i / w->n_items);
        cwi_pairs *part = fate < 0.6 ? &w->seen : fate > 1.0 && fate < 1.3 ? &w->held : NULL;
        w->score[(int64_t)u * w->n_items + i] =
            (float)cwi_rng_below(rng, 50) / 10 + (fate > 1.0 && fate < 1.3 ? 2.0f : 0.0f);
        if (!part) continue;
        part->user[part->count] = u;
        part->item[part->count++] = i;
    }
}

static inline void world_init(world *w, int32_t n_users, int32_t n_items)
{
    size_t cells = (size_t)n_users * (size_t)n_items;
    memset(w, 0, sizeof *w);
    listener_init(&w->l);
    w->n_users = n_users;
    w->n_items = n_items;
    w->score = malloc(cells * sizeof *w->score);
    assert_int_equal(cwi_pairs_create(w->l.ctx, (int64_t)cells, &w->seen), CW_OK);
    assert_int_equal(cwi_pairs_create(w->l.ctx, (int64_t)cells, &w->held), CW_OK);
    w->seen.count = w->held.count = 0;
    for (int32_t u = 0; u < n_users; u++) {
        cwi_rng rng;
        cwi_rng_init(&rng, 5, CWI_RNG_TEST, (uint64_t)u);
        draw_rows(w, &rng, u);
    }
    w->degree = calloc((size_t)n_items, sizeof *w->degree);
    w->user_degree = calloc((size_t)n_users, sizeof *w->user_degree);
    cwi_degrees(w->seen.item, w->seen.count, n_items, w->degree);
    cwi_degrees(w->seen.user, w->seen.count, n_users, w->user_degree);
    assert_int_equal(
        cwi_csr_create(w->l.ctx, w->seen.user, w->seen.item, w->seen.count, n_users, &w->mask),
        CW_OK);
    w->ranker = table_ranker(w->score, n_users, n_items);
    w->subject = (cwi_subject){.ranker = &w->ranker,
                               .mask = &w->mask,
                               .held = &w->held,
                               .degree = w->degree,
                               .user_degree = w->user_degree};
}

static inline void world_clear(world *w)
{
    cwi_csr_clear(&w->mask);
    cwi_pairs_clear(&w->seen);
    cwi_pairs_clear(&w->held);
    free(w->score);
    free(w->degree);
    free(w->user_degree);
    listener_clear(&w->l);
}

/* Equal to ten significant digits. */
static inline void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 5.1e-10 * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* A request from "name=value" pairs, ending with NULL. */
static inline cw_status make_request(cw_context *ctx, const char *const *settings, cwi_request *out)
{
    cw_options *options;
    char name[64];
    cw_status status = cwi_options_create(ctx, "evaluate", cwi_evaluate_options, &options);
    assert_int_equal(status, CW_OK);
    for (; *settings && status == CW_OK; settings++) {
        const char *equals = strchr(*settings, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - *settings), *settings);
        status = cw_options_set(ctx, options, name, equals + 1);
    }
    if (status == CW_OK) status = cwi_request_parse(ctx, options, out);
    cw_options_free(options);
    return status;
}

#endif

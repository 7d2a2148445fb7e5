/*
 * bench_evaluate.c - evaluation after an epoch, on the shapes of MovieLens-1M and -10M, five stars
 * only, with inner products of 128 numbers.
 *
 * The share is the time in which SGEMM would make the scores of all pairs, without ranking them,
 * over that of the whole evaluation.  It exceeds 100 % where bounds make most scores unnecessary.
 */
#include <string.h>

#include "bench.h"
#include "core/mem.h"
#include "core/rng.h"
#include "evaluate/evaluate.h"
#include "evaluate/topk.h"

typedef struct shape {
    const char *name;
    int32_t n_users, n_items;
    int64_t n_seen, n_held;
} shape;

enum { DIM = 128, K = 20, LONG_K = 100, BLOCK = 64, RUNS = 3 };

/* Distinct by chance alone, which is near enough for a clock. */
static void draw_pairs(cwi_rng *rng, const shape *s, cwi_pairs *pairs)
{
    for (int64_t k = 0; k < pairs->count; k++) {
        pairs->user[k] = (int32_t)cwi_rng_below(rng, (uint64_t)s->n_users);
        pairs->item[k] = (int32_t)cwi_rng_below(rng, (uint64_t)s->n_items);
    }
}

/* Scores of all users by one thread, as evaluation asks for them. */
static void score_all(const shape *s, const cwi_ranker *ranker, float *scores)
{
    int32_t users[BLOCK];
    for (int32_t u = 0; u + BLOCK <= s->n_users; u += BLOCK) {
        for (int32_t k = 0; k < BLOCK; k++) users[k] = u + k;
        ranker->score(ranker, users, BLOCK, scores);
    }
}

/* The best 20 for all users by one thread, from the scores of the last block. */
static int64_t rank_all(const shape *s, const float *scores)
{
    cwi_ranked top[K];
    int64_t found = 0;
    for (int32_t u = 0; u < s->n_users; u++)
        found += cwi_topk(scores + (int64_t)(u % BLOCK) * s->n_items, s->n_items, NULL, 0, K, top);
    return found;
}

/* What is evaluated. */
typedef struct subject {
    const shape *s;
    cwi_ranker ranker;
    cwi_csr mask;
    cwi_pairs held;
    int64_t *degree;
} subject;

static cw_status time_evaluation(bench *b, const subject *e, int32_t k)
{
    cw_status status;
    char name[64];
    double best, work = 2.0 * e->s->n_users * e->s->n_items * DIM;
    cwi_metrics m;

    snprintf(name, sizeof name, "evaluate/%s/all %d threads%s", e->s->name,
             cw_context_threads(b->ctx), k == K ? "" : " K 100");
    CW_TRY(bench_machine(b));
    BENCH_BEST(best, RUNS,
               if (status == CW_OK) status =
                   cwi_evaluate(b->ctx, &e->ranker, &e->mask, &e->held, e->degree, NULL, k, &m));
    if (status == CW_OK) status = bench_machine(b);
    bench_row(b, &(bench_figure){name, work / 1e9, "GFLOP", best, bench_share(b, 0, work, best),
                                 "of SGEMM of all pairs"});
done:
    return status;
}

static cw_status time_all(bench *b, const subject *e, float *scores)
{
    cw_status status = CW_OK;
    const shape *s = e->s;
    int64_t found = 0;
    char name[2][64];

    snprintf(name[0], sizeof name[0], "evaluate/%s/score 1 thread", s->name);
    snprintf(name[1], sizeof name[1], "evaluate/%s/topk 1 thread", s->name);
    BENCH(b, name[0], RUNS, s->n_users, "users", score_all(s, &e->ranker, scores));
    BENCH(b, name[1], RUNS, s->n_users, "users", found += rank_all(s, scores));
    CW_TRY(time_evaluation(b, e, K));
    CW_TRY(time_evaluation(b, e, LONG_K));
    if (found == 0) status = CW_BAD_DATA;
done:
    return status;
}

static cw_status time_shape(bench *b, const shape *s)
{
    cw_status status = CW_NO_MEMORY;
    cwi_rng rng;
    subject e = {.s = s};
    cwi_pairs seen = {0};
    int64_t rows = (int64_t)s->n_users + s->n_items;
    float *vectors = cwi_alloc(b->ctx, (size_t)rows, DIM * sizeof *vectors);
    float *scores = cwi_alloc(b->ctx, (size_t)s->n_items, BLOCK * sizeof *scores);

    e.degree = cwi_alloc(b->ctx, (size_t)s->n_items, sizeof *e.degree);
    if (!vectors || !e.degree || !scores) goto done;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int64_t k = 0; k < rows * DIM; k++) vectors[k] = (float)cwi_rng_real(&rng) - 0.5f;
    CW_TRY(cwi_pairs_create(b->ctx, s->n_seen, &seen));
    CW_TRY(cwi_pairs_create(b->ctx, s->n_held, &e.held));
    draw_pairs(&rng, s, &seen);
    draw_pairs(&rng, s, &e.held);
    cwi_degrees(seen.item, seen.count, s->n_items, e.degree);
    CW_TRY(cwi_csr_create(b->ctx, seen.user, seen.item, seen.count, s->n_users, &e.mask));
    cwi_csr_sort(&e.mask);
    cwi_ranker_dot(vectors, vectors + (int64_t)s->n_users * DIM, s->n_users, s->n_items, DIM,
                   &e.ranker);
    CW_TRY(time_all(b, &e, scores));
done:
    cwi_ranker_close(&e.ranker);
    cwi_csr_clear(&e.mask);
    cwi_pairs_clear(&seen);
    cwi_pairs_clear(&e.held);
    cwi_free(vectors);
    cwi_free(scores);
    cwi_free(e.degree);
    return status;
}

static cw_status run(bench *b)
{
    static const shape shapes[] = {{"ml1m", 5881, 2705, 158296, 44700},
                                   {"ml10m", 61770, 6958, 1139104, 306791}};
    cw_status status = CW_OK;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        if (!b->shape || strcmp(b->shape, shapes[s].name) == 0) CW_TRY(time_shape(b, &shapes[s]));
done:
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

/*
 * bench_evaluate.c - evaluation after an epoch, on the shapes of MovieLens-1M and -10M, five stars
 * only, with inner products of 128 numbers.
 *
 * Evaluation is compared with large matrix products by BLAS on the same threads, taken in turn
 * with it.
 */
#include "backend/backend.h"
#include "bench.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "evaluate/evaluate.h"
#include "evaluate/topk.h"

typedef struct shape {
    const char *name;
    int32_t n_users, n_items;
    int64_t n_seen, n_held;
} shape;

enum { DIM = 128, K = 20, BLOCK = CWI_SCORE_USERS, RUNS = 3, SIDE = 1024, PRODUCTS = 4 };

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

static cw_status multiply(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    float *a = arg, *c = a + (1 + chunk) * SIDE * SIDE;
    (void)begin, (void)end;
    for (int k = 0; k < PRODUCTS; k++)
        cwi_ops_best()->gemm(false, false, SIDE, SIDE, SIDE, a, SIDE, a, SIDE, 0, c, SIDE);
    return CW_OK;
}

/* Evaluation and matrix products in turn, the best time of each. */
static cw_status time_threads(cw_context *ctx, const shape *s, const cwi_ranker *ranker,
                              const cwi_csr *mask, const cwi_pairs *held, const int64_t *degree)
{
    cw_status status = CW_OK;
    int threads = cw_context_threads(ctx);
    double best = 1e300, best_peak = 1e300, once;
    double work = 2e-9 * s->n_users * s->n_items * DIM;
    double peak_work = 2e-9 * SIDE * SIDE * SIDE * PRODUCTS * threads;
    float *room = cwi_alloc_zero(ctx, (size_t)threads + 1, sizeof *room * SIDE * SIDE);
    char name[64];
    cwi_metrics m;

    if (!room) return CW_NO_MEMORY;
    for (int r = 0; r < RUNS; r++) {
        BENCH_BEST(once, 1, status = cwi_pool_for(ctx, threads, 1, multiply, room));
        if (status != CW_OK) goto done;
        if (once < best_peak) best_peak = once;
        BENCH_BEST(once, 1, status = cwi_evaluate(ctx, ranker, mask, held, degree, K, &m));
        if (status != CW_OK) goto done;
        if (once < best) best = once;
    }
    snprintf(name, sizeof name, "evaluate/sgemm, threads: %d", threads);
    bench_print(name, peak_work, "GFLOP", best_peak);
    snprintf(name, sizeof name, "evaluate/all, threads: %d", threads);
    bench_print(name, work, "GFLOP", best);
    printf("%-32s %12.1f %% of sgemm\n", name, 100 * (work / best) / (peak_work / best_peak));
done:
    cwi_free(room);
    return status;
}

static cw_status time_all(cw_context *ctx, const shape *s, const cwi_ranker *ranker,
                          const cwi_csr *mask, const cwi_pairs *held, const int64_t *degree,
                          float *scores)
{
    cw_status status = CW_OK;
    int64_t found = 0;
    int most = cw_context_threads(ctx);

    printf("shape of %s\n", s->name);
    BENCH("evaluate/score, one thread", RUNS, s->n_users, "users", score_all(s, ranker, scores));
    BENCH("evaluate/topk, one thread", RUNS, s->n_users, "users", found += rank_all(s, scores));
    for (int threads = 1; threads <= most; threads *= 2) {
        CW_TRY(cw_context_set_threads(ctx, threads));
        CW_TRY(time_threads(ctx, s, ranker, mask, held, degree));
    }
    CW_TRY(cw_context_set_threads(ctx, most));
    if (found == 0) status = CW_BAD_DATA;
done:
    return status;
}

static cw_status run(cw_context *ctx, const shape *s)
{
    cw_status status = CW_NO_MEMORY;
    cwi_rng rng;
    cwi_ranker ranker = {0};
    cwi_csr mask = {0};
    cwi_pairs seen = {0}, held = {0};
    int64_t rows = (int64_t)s->n_users + s->n_items;
    float *vectors = cwi_alloc(ctx, (size_t)rows, DIM * sizeof *vectors);
    float *scores = cwi_alloc(ctx, (size_t)s->n_items, BLOCK * sizeof *scores);
    int64_t *degree = cwi_alloc(ctx, (size_t)s->n_items, sizeof *degree);

    if (!vectors || !degree || !scores) goto done;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int64_t k = 0; k < rows * DIM; k++) vectors[k] = (float)cwi_rng_real(&rng) - 0.5f;
    CW_TRY(cwi_pairs_create(ctx, s->n_seen, &seen));
    CW_TRY(cwi_pairs_create(ctx, s->n_held, &held));
    draw_pairs(&rng, s, &seen);
    draw_pairs(&rng, s, &held);
    cwi_degrees(seen.item, seen.count, s->n_items, degree);
    CW_TRY(cwi_csr_create(ctx, seen.user, seen.item, seen.count, s->n_users, &mask));
    cwi_csr_sort(&mask);
    cwi_ranker_dot(vectors, vectors + (int64_t)s->n_users * DIM, s->n_users, s->n_items, DIM,
                   &ranker);
    CW_TRY(time_all(ctx, s, &ranker, &mask, &held, degree, scores));
done:
    cwi_ranker_close(&ranker);
    cwi_csr_clear(&mask);
    cwi_pairs_clear(&seen);
    cwi_pairs_clear(&held);
    cwi_free(vectors);
    cwi_free(scores);
    cwi_free(degree);
    return status;
}

int main(void)
{
    static const shape shapes[] = {{"MovieLens-1M", 5881, 2705, 158296, 44700},
                                   {"MovieLens-10M", 61770, 6958, 1073769, 306791}};
    cw_context *ctx;
    if (cw_context_create(&ctx) != CW_OK) return 1;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        if (run(ctx, &shapes[s]) != CW_OK) {
            fprintf(stderr, "bench_evaluate: %s\n", cw_context_error(ctx));
            return 1;
        }
    cw_context_free(ctx);
    return 0;
}

/* bench_neumf.c - NeuMF on the shape of MovieLens-1M, five stars only, with vectors of 128 numbers
 * and a hidden layer of 256: ranking all items for all users, pair by pair through matrix products
 * and by the separable layer; and the steps of training. */
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "bench.h"
#include "core/mem.h"
#include "core/rng.h"
#include "registry/registry.h"

enum {
    N_USERS = 5881,
    N_ITEMS = 2705,
    DIM = 128,
    HIDDEN = 256,
    BLOCK = 64,
    PAIRS = 256,
    NAIVE_USERS = 64,     /* the pairwise way is slow: so many users stand for all */
    SLOTS = 2048 * 9 / 2, /* of CPR: 3/4 of the rows have 4, the others 6 */
    RUNS = 3,
    STEPS = 10
};

typedef struct bench {
    cw_context *ctx;
    cw_options *options;
    cwi_shape shape;
    cwi_params params;
    cwi_batch batch;
    void *scorer;
    float *scores; /* [BLOCK][N_ITEMS] */
    float *naive;  /* [N_ITEMS] */
    float *pairs;  /* [PAIRS][2 DIM] */
    float *hidden; /* [PAIRS][HIDDEN] */
    float *slope;  /* [SLOTS] */
    float *score;  /* [SLOTS] */
} bench;

static cw_status open_all(bench *b, const char *hidden)
{
    cw_status status;
    cwi_rng rng;
    b->shape = (cwi_shape){.n_users = N_USERS, .n_items = N_ITEMS, .heads = 1, .ranked = 1};
    CW_TRY(cwi_options_create(b->ctx, "train", cwi_train_options, &b->options));
    CW_TRY(cwi_options_assign(b->ctx, b->options, "hidden", hidden));
    CW_TRY(cwi_backbone_neumf.declare(b->ctx, &b->shape, b->options, &b->params));
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int t = 0; t < b->params.count; t++) {
        const cwi_tensor *tensor = &b->params.tensor[t];
        for (int64_t k = 0; k < tensor->rows * tensor->columns; k++)
            tensor->data[k] = (float)cwi_rng_real(&rng) * 0.2f - 0.1f;
    }
    CW_TRY(cwi_backbone_neumf.open(b->ctx, &b->shape, b->options, &b->params, SLOTS, &b->scorer));
    CW_TRY(cwi_batch_create(b->ctx, SLOTS, &b->batch));
    b->batch.n_slots = SLOTS;
    b->scores = cwi_alloc(b->ctx, N_ITEMS, BLOCK * sizeof *b->scores);
    b->naive = cwi_alloc(b->ctx, N_ITEMS, sizeof *b->naive);
    b->pairs = cwi_alloc(b->ctx, PAIRS, (size_t)2 * DIM * sizeof *b->pairs);
    b->hidden = cwi_alloc(b->ctx, PAIRS, HIDDEN * sizeof *b->hidden);
    b->slope = cwi_alloc(b->ctx, SLOTS, sizeof *b->slope);
    b->score = cwi_alloc(b->ctx, SLOTS, sizeof *b->score);
    status = b->scores && b->naive && b->pairs && b->hidden && b->slope && b->score ? CW_OK
                                                                                    : CW_NO_MEMORY;
    for (int64_t k = 0; k < SLOTS && status == CW_OK; k++) {
        b->batch.user[k] = (int32_t)cwi_rng_below(&rng, N_USERS);
        b->batch.item[k] = (int32_t)cwi_rng_below(&rng, N_ITEMS);
        b->slope[k] = (float)cwi_rng_real(&rng) - 0.5f;
    }
done:
    return status;
}

static void close_all(bench *b)
{
    cwi_backbone_neumf.close(b->scorer);
    cwi_batch_clear(&b->batch);
    cwi_params_clear(&b->params);
    cw_options_free(b->options);
    cwi_free(b->scores);
    cwi_free(b->naive);
    cwi_free(b->pairs);
    cwi_free(b->hidden);
    cwi_free(b->slope);
    cwi_free(b->score);
    *b = (bench){.ctx = b->ctx};
}

/* Seconds to open the ranker and score n users from the first on; *best is kept the smallest. */
static cw_status rank_all(bench *b, int32_t n, double *best)
{
    cwi_ranker ranker;
    double start = bench_now();
    cw_status status = cwi_backbone_neumf.rank(b->ctx, &b->shape, b->options, &b->params, &ranker);
    if (status != CW_OK) return status;
    for (int32_t u = 0; u < n; u += BLOCK) {
        int32_t users[BLOCK], count = n - u < BLOCK ? n - u : BLOCK;
        for (int32_t k = 0; k < count; k++) users[k] = u + k;
        ranker.score(&ranker, users, count, b->scores);
    }
    cwi_ranker_close(&ranker);
    start = bench_now() - start;
    if (start < *best) *best = start;
    return CW_OK;
}

/* Some items of one user: pairs side by side, one product with W, ReLU, one product with h. */
static void score_pairs(bench *b, int32_t user, int32_t first, int32_t n)
{
    const cwi_ops *ops = cwi_ops_best();
    const cwi_tensor *tensor = b->params.tensor;
    const float *x = tensor[0].data + (int64_t)user * DIM, *h = tensor[3].data;
    const float *items = tensor[0].data + (int64_t)(N_USERS + first) * DIM;
    float weighted[DIM];
    for (int32_t j = 0; j < DIM; j++) weighted[j] = h[j] * x[j];
    for (int64_t k = 0; k < n; k++) {
        memcpy(b->pairs + k * 2 * DIM, x, DIM * sizeof *x);
        memcpy(b->pairs + k * 2 * DIM + DIM, items + k * DIM, DIM * sizeof *x);
        memcpy(b->hidden + k * HIDDEN, tensor[2].data, HIDDEN * sizeof *x);
    }
    ops->gemm(false, false, n, HIDDEN, 2 * DIM, b->pairs, 2 * DIM, tensor[1].data, HIDDEN, 1,
              b->hidden, HIDDEN);
    for (int64_t k = 0; k < (int64_t)n * HIDDEN; k++)
        b->hidden[k] = b->hidden[k] > 0 ? b->hidden[k] : 0;
    ops->gemm(false, false, n, 1, DIM, items, DIM, weighted, 1, 0, b->naive + first, 1);
    ops->gemm(false, false, n, 1, HIDDEN, b->hidden, HIDDEN, h + DIM, 1, 1, b->naive + first, 1);
}

/* The same for so few users, scaled up to all. */
static void rank_pairs(bench *b, double *best)
{
    double start = bench_now();
    for (int32_t u = 0; u < NAIVE_USERS; u++)
        for (int32_t i = 0; i < N_ITEMS; i += PAIRS)
            score_pairs(b, u, i, N_ITEMS - i < PAIRS ? N_ITEMS - i : PAIRS);
    start = (bench_now() - start) * N_USERS / NAIVE_USERS;
    if (start < *best) *best = start;
}

/* The user whom both ways scored last is the same. */
static cw_status compare(bench *b, double *error)
{
    double unused = 1e300;
    cw_status status = rank_all(b, NAIVE_USERS, &unused);
    const float *last = b->scores + (int64_t)(NAIVE_USERS - 1) * N_ITEMS;
    for (int32_t i = 0; i < N_ITEMS && status == CW_OK; i++) {
        double off = fabs((double)last[i] - (double)b->naive[i]);
        if (off > *error) *error = off;
    }
    return status;
}

static cw_status run_steps(bench *b, const char *hidden)
{
    cw_status status = CW_OK;
    cwi_gradient gradient;
    char name[2][64];
    snprintf(name[0], sizeof name[0], "neumf %s/score slots", hidden);
    snprintf(name[1], sizeof name[1], "neumf %s/gradient", hidden);
    BENCH(name[0], STEPS, SLOTS, "slots",
          if (status == CW_OK) status =
              cwi_backbone_neumf.score(b->ctx, b->scorer, &b->batch, b->score));
    BENCH(name[1], STEPS, SLOTS, "slots",
          if (status == CW_OK) status =
              cwi_backbone_neumf.gradient(b->ctx, b->scorer, &b->batch, b->slope, NULL, &gradient));
    return status;
}

static cw_status run_single(bench *b)
{
    cw_status status = CW_OK;
    double pairs = 1e300, separable = 1e300, error = 0;
    for (int run = 0; run < RUNS; run++) {
        rank_pairs(b, &pairs);
        CW_TRY(rank_all(b, N_USERS, &separable));
    }
    CW_TRY(compare(b, &error));
    bench_print("neumf 256/rank by pairs", N_USERS, "users", pairs);
    bench_print("neumf 256/rank separable", N_USERS, "users", separable);
    printf("separable is %.0f times faster; scores differ by at most %.1e\n", pairs / separable,
           error);
    CW_TRY(run_steps(b, "256"));
done:
    return status;
}

static cw_status run_deep(bench *b)
{
    cw_status status;
    double best = 1e300;
    CW_TRY(rank_all(b, BLOCK, &best));
    bench_print("neumf 256,64/rank", BLOCK, "users", best);
    CW_TRY(run_steps(b, "256,64"));
done:
    return status;
}

int main(void)
{
    bench b = {0};
    if (cw_context_create(&b.ctx) != CW_OK) return 1;
    cw_status status = cw_context_set_threads(b.ctx, 1);
    if (status == CW_OK) status = open_all(&b, "256");
    if (status == CW_OK) status = run_single(&b);
    close_all(&b);
    if (status == CW_OK) status = open_all(&b, "256,64");
    if (status == CW_OK) status = run_deep(&b);
    close_all(&b);
    if (status != CW_OK) fprintf(stderr, "bench_neumf: %s\n", cw_context_error(b.ctx));
    cw_context_free(b.ctx);
    return status != CW_OK;
}

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

typedef struct subject {
    bench *b;
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
} subject;

static cw_status open_all(subject *s, const char *hidden)
{
    cw_status status;
    cwi_rng rng;
    s->shape = (cwi_shape){.n_users = N_USERS, .n_items = N_ITEMS, .heads = 1, .ranked = 1};
    CW_TRY(cwi_train_options(s->ctx, &s->options));
    CW_TRY(cwi_options_assign(s->ctx, s->options, "hidden", hidden));
    CW_TRY(cwi_backbone_neumf.declare(s->ctx, &s->shape, s->options, &s->params));
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int t = 0; t < s->params.count; t++) {
        const cwi_tensor *tensor = &s->params.tensor[t];
        for (int64_t k = 0; k < tensor->rows * tensor->columns; k++)
            tensor->data[k] = (float)cwi_rng_real(&rng) * 0.2f - 0.1f;
    }
    CW_TRY(cwi_backbone_neumf.open(s->ctx, &s->shape, s->options, &s->params, SLOTS, &s->scorer));
    CW_TRY(cwi_batch_create(s->ctx, SLOTS, &s->batch));
    s->batch.n_slots = SLOTS;
    s->scores = cwi_alloc(s->ctx, N_ITEMS, BLOCK * sizeof *s->scores);
    s->naive = cwi_alloc(s->ctx, N_ITEMS, sizeof *s->naive);
    s->pairs = cwi_alloc(s->ctx, PAIRS, (size_t)2 * DIM * sizeof *s->pairs);
    s->hidden = cwi_alloc(s->ctx, PAIRS, HIDDEN * sizeof *s->hidden);
    s->slope = cwi_alloc(s->ctx, SLOTS, sizeof *s->slope);
    s->score = cwi_alloc(s->ctx, SLOTS, sizeof *s->score);
    status = s->scores && s->naive && s->pairs && s->hidden && s->slope && s->score ? CW_OK
                                                                                    : CW_NO_MEMORY;
    for (int64_t k = 0; k < SLOTS && status == CW_OK; k++) {
        s->batch.user[k] = (int32_t)cwi_rng_below(&rng, N_USERS);
        s->batch.item[k] = (int32_t)cwi_rng_below(&rng, N_ITEMS);
        s->slope[k] = (float)cwi_rng_real(&rng) - 0.5f;
    }
done:
    return status;
}

static void close_all(subject *s)
{
    cwi_backbone_neumf.close(s->scorer);
    cwi_batch_clear(&s->batch);
    cwi_params_clear(&s->params);
    cw_options_free(s->options);
    cwi_free(s->scores);
    cwi_free(s->naive);
    cwi_free(s->pairs);
    cwi_free(s->hidden);
    cwi_free(s->slope);
    cwi_free(s->score);
    *s = (subject){.b = s->b, .ctx = s->ctx};
}

/* Seconds to open the ranker and score n users from the first on; *best is kept the smallest. */
static cw_status rank_all(subject *s, int32_t n, double *best)
{
    cwi_ranker ranker;
    double start = bench_now();
    cw_status status = cwi_backbone_neumf.rank(s->ctx, &s->shape, s->options, &s->params, &ranker);
    if (status != CW_OK) return status;
    for (int32_t u = 0; u < n; u += BLOCK) {
        int32_t users[BLOCK], count = n - u < BLOCK ? n - u : BLOCK;
        for (int32_t k = 0; k < count; k++) users[k] = u + k;
        ranker.score(&ranker, users, count, s->scores);
    }
    cwi_ranker_close(&ranker);
    start = bench_now() - start;
    if (start < *best) *best = start;
    return CW_OK;
}

/* Some items of one user: pairs side by side, one product with W, ReLU, one product with h. */
static void score_pairs(subject *s, int32_t user, int32_t first, int32_t n)
{
    const cwi_ops *ops = cwi_ops_best();
    const cwi_tensor *tensor = s->params.tensor;
    const float *x = tensor[0].data + (int64_t)user * DIM, *h = tensor[3].data;
    const float *items = tensor[0].data + (int64_t)(N_USERS + first) * DIM;
    float weighted[DIM];
    for (int32_t j = 0; j < DIM; j++) weighted[j] = h[j] * x[j];
    for (int64_t k = 0; k < n; k++) {
        memcpy(s->pairs + k * 2 * DIM, x, DIM * sizeof *x);
        memcpy(s->pairs + k * 2 * DIM + DIM, items + k * DIM, DIM * sizeof *x);
        memcpy(s->hidden + k * HIDDEN, tensor[2].data, HIDDEN * sizeof *x);
    }
    ops->gemm(false, false, n, HIDDEN, 2 * DIM, s->pairs, 2 * DIM, tensor[1].data, HIDDEN, 1,
              s->hidden, HIDDEN);
    for (int64_t k = 0; k < (int64_t)n * HIDDEN; k++)
        s->hidden[k] = s->hidden[k] > 0 ? s->hidden[k] : 0;
    ops->gemm(false, false, n, 1, DIM, items, DIM, weighted, 1, 0, s->naive + first, 1);
    ops->gemm(false, false, n, 1, HIDDEN, s->hidden, HIDDEN, h + DIM, 1, 1, s->naive + first, 1);
}

/* The same for so few users, scaled up to all. */
static void rank_pairs(subject *s, double *best)
{
    double start = bench_now();
    for (int32_t u = 0; u < NAIVE_USERS; u++)
        for (int32_t i = 0; i < N_ITEMS; i += PAIRS)
            score_pairs(s, u, i, N_ITEMS - i < PAIRS ? N_ITEMS - i : PAIRS);
    start = (bench_now() - start) * N_USERS / NAIVE_USERS;
    if (start < *best) *best = start;
}

/* The user whom both ways scored last is the same. */
static cw_status compare(subject *s, double *error)
{
    double unused = 1e300;
    cw_status status = rank_all(s, NAIVE_USERS, &unused);
    const float *last = s->scores + (int64_t)(NAIVE_USERS - 1) * N_ITEMS;
    for (int32_t i = 0; i < N_ITEMS && status == CW_OK; i++) {
        double off = fabs((double)last[i] - (double)s->naive[i]);
        if (off > *error) *error = off;
    }
    return status;
}

static cw_status run_steps(subject *s, const char *hidden)
{
    cw_status status = CW_OK;
    cwi_gradient gradient;
    char name[2][64];
    snprintf(name[0], sizeof name[0], "neumf/%s score slots", hidden);
    snprintf(name[1], sizeof name[1], "neumf/%s gradient", hidden);
    BENCH(s->b, name[0], STEPS, SLOTS, "slots",
          if (status == CW_OK) status =
              cwi_backbone_neumf.score(s->ctx, s->scorer, &s->batch, s->score));
    BENCH(s->b, name[1], STEPS, SLOTS, "slots",
          if (status == CW_OK) status =
              cwi_backbone_neumf.gradient(s->ctx, s->scorer, &s->batch, s->slope, NULL, &gradient));
    return status;
}

static cw_status run_single(subject *s)
{
    cw_status status = CW_OK;
    double pairs = 1e300, separable = 1e300, error = 0;
    for (int run = 0; run < RUNS; run++) {
        rank_pairs(s, &pairs);
        CW_TRY(rank_all(s, N_USERS, &separable));
    }
    CW_TRY(compare(s, &error));
    bench_print(s->b, "neumf/256 rank by pairs", N_USERS, "users", pairs);
    bench_print(s->b, "neumf/256 rank separable", N_USERS, "users", separable);
    printf("separable is %.0f times faster; scores differ by at most %.1e\n", pairs / separable,
           error);
    CW_TRY(run_steps(s, "256"));
done:
    return status;
}

static cw_status run_deep(subject *s)
{
    cw_status status;
    double best = 1e300;
    CW_TRY(rank_all(s, BLOCK, &best));
    bench_print(s->b, "neumf/256-64 rank", BLOCK, "users", best);
    CW_TRY(run_steps(s, "256-64"));
done:
    return status;
}

static cw_status run(bench *b)
{
    subject s = {.b = b, .ctx = b->ctx};
    cw_status status = cw_context_set_threads(b->ctx, 1);
    if (status == CW_OK) status = open_all(&s, "256");
    if (status == CW_OK) status = run_single(&s);
    close_all(&s);
    if (status == CW_OK) status = open_all(&s, "256,64");
    if (status == CW_OK) status = run_deep(&s);
    close_all(&s);
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

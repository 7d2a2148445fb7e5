/*
 * bench_recommend.c - what a question costs: opening a model, then lists from it.
 *
 * 20,000 users with 25 train rows each and 5,000 items, vectors of 64 numbers.  Opening and one
 * list is what a question costs whoever opens for each.
 */
#include <string.h>

#include "bench.h"
#include "core/mem.h"
#include "core/rng.h"
#include "recommend/recommend.h"

enum { USERS = 20000, ITEMS = 5000, ROWS = 25 * USERS, DIM = 64, K = 10, RUNS = 5, CALLS = 100 };

/* Vectors and train rows by chance, which is near enough for a clock. */
static cw_status make_model(cw_context *ctx, const char *backbone, cw_model *model)
{
    cw_status status;
    cwi_rng rng;
    cwi_tensor *table;
    cwi_pairs seen = {0};

    model->n_users = USERS;
    model->n_items = ITEMS;
    strcpy(model->method, "bpr");
    strcpy(model->backbone, backbone);
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    CW_TRY(cwi_params_add(ctx, &model->params, "embeddings", USERS + ITEMS, DIM, &table));
    for (int64_t k = 0; k < (USERS + ITEMS) * DIM; k++)
        table->data[k] = (float)cwi_rng_real(&rng) - 0.5f;
    CW_TRY(cwi_pairs_create(ctx, ROWS, &seen));
    for (int64_t k = 0; k < ROWS; k++) {
        seen.user[k] = (int32_t)(k / (ROWS / USERS));
        seen.item[k] = (int32_t)cwi_rng_below(&rng, ITEMS);
    }
    model->degree = cwi_alloc(ctx, ITEMS, sizeof *model->degree);
    status = CW_NO_MEMORY;
    if (!model->degree) goto done;
    cwi_degrees(seen.item, ROWS, ITEMS, model->degree);
    CW_TRY(cwi_csr_create(ctx, seen.user, seen.item, ROWS, USERS, &model->seen));
    cwi_csr_sort(&model->seen);
done:
    cwi_pairs_clear(&seen);
    return status;
}

/* Where lists go. */
typedef struct desk {
    cw_context *ctx;
    cw_model *model;
    cw_recommender *recommender;
    int32_t *users;
    cw_lists lists;
    cw_status status;
} desk;

/* What is timed; after a failure nothing is. */
typedef void (*question)(desk *d);

static void open_and_list(desk *d)
{
    cw_recommender *recommender = NULL;
    d->status = cw_recommender_open(d->ctx, d->model, &recommender);
    if (d->status == CW_OK)
        d->status = cw_recommend(d->ctx, recommender, d->users, 1, NULL, &d->lists);
    cw_recommender_close(recommender);
}

static void list_one(desk *d)
{
    d->status = cw_recommend(d->ctx, d->recommender, d->users, 1, NULL, &d->lists);
}

static void list_newcomer(desk *d)
{
    d->status = cw_recommend_history(d->ctx, d->recommender, d->users, 20, NULL, &d->lists);
}

static void list_similar(desk *d)
{
    d->status = cw_similar_items(d->ctx, d->recommender, d->users, 1, NULL, &d->lists);
}

static void list_all(desk *d)
{
    d->status = cw_recommend(d->ctx, d->recommender, d->users, USERS, NULL, &d->lists);
}

static void repeat(desk *d, question ask, int calls)
{
    for (int c = 0; c < calls && d->status == CW_OK; c++) ask(d);
}

static void time_questions(bench *b, const char *backbone, desk *d)
{
    static const struct {
        const char *name;
        question ask;
        int calls;
        double amount;
        const char *unit;
    } rows[] = {{"open and one list", open_and_list, 1, 1, "calls"},
                {"one list", list_one, CALLS, CALLS, "calls"},
                {"history", list_newcomer, CALLS, CALLS, "calls"},
                {"similar items", list_similar, CALLS / 10, CALLS / 10, "calls"},
                {"all users", list_all, 1, USERS, "users"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0] && d->status == CW_OK; r++) {
        char name[64];
        snprintf(name, sizeof name, "recommend/%s/%s", backbone, rows[r].name);
        BENCH(b, name, RUNS, rows[r].amount, rows[r].unit, repeat(d, rows[r].ask, rows[r].calls));
    }
}

static cw_status time_backbone(bench *b, const char *backbone)
{
    cw_status status;
    desk d = {.ctx = b->ctx};

    CW_TRY(cwi_model_create(b->ctx, &d.model));
    CW_TRY(make_model(b->ctx, backbone, d.model));
    CW_TRY(cw_recommender_open(b->ctx, d.model, &d.recommender));
    d.users = cwi_alloc(b->ctx, USERS, sizeof *d.users);
    d.lists = (cw_lists){.k = K,
                         .items = cwi_alloc(b->ctx, USERS, K * sizeof *d.lists.items),
                         .scores = cwi_alloc(b->ctx, USERS, K * sizeof *d.lists.scores)};
    status = CW_NO_MEMORY;
    if (!d.users || !d.lists.items || !d.lists.scores) goto done;
    for (int32_t u = 0; u < USERS; u++) d.users[u] = u;
    time_questions(b, backbone, &d);
    status = d.status;
done:
    cw_recommender_close(d.recommender);
    cw_model_free(d.model);
    cwi_free(d.users);
    cwi_free(d.lists.items);
    cwi_free(d.lists.scores);
    return status;
}

static cw_status run(bench *b)
{
    static const char *const backbones[] = {"mf", "lightgcn"};
    cw_status status = CW_OK;
    for (size_t k = 0; k < 2; k++)
        if (!b->backbone || strcmp(b->backbone, backbones[k]) == 0)
            CW_TRY(time_backbone(b, backbones[k]));
done:
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

/* recommend.c - lists for all users of a model, made by four threads that share one recommender. */
#include <crosswise/crosswise.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, K = 10, BATCH = 64 };

/* What one thread does: users first, first + THREADS * BATCH, ... and the BATCH - 1 after each. */
typedef struct worker {
    const cw_recommender *recommender;
    int32_t first;
    int64_t filled; /* places of the lists */
    cw_status status;
} worker;

static cw_status fill(cw_context *ctx, worker *w)
{
    int32_t users[BATCH], items[BATCH * K], counts[BATCH];
    float scores[BATCH * K];
    const cw_lists lists = {.k = K, .items = items, .scores = scores, .counts = counts};
    int32_t n_users = cw_model_users(cw_recommender_model(w->recommender));
    cw_status status = CW_OK;

    for (int32_t u = w->first; u < n_users && status == CW_OK; u += THREADS * BATCH) {
        size_t n = 0;
        for (; n < BATCH && u + (int32_t)n < n_users; n++) users[n] = u + (int32_t)n;
        status = cw_recommend(ctx, w->recommender, users, n, NULL, &lists);
        for (size_t k = 0; k < n && status == CW_OK; k++) w->filled += counts[k];
    }
    return status;
}

/* Every thread has a context of its own, and one thread is enough for it. */
static void *work(void *arg)
{
    worker *w = arg;
    cw_context *ctx = NULL;
    w->status = cw_context_create(&ctx);
    if (w->status == CW_OK) w->status = cw_context_set_threads(ctx, 1);
    if (w->status == CW_OK) w->status = fill(ctx, w);
    cw_context_free(ctx);
    return NULL;
}

static cw_status recommend_all(const cw_recommender *recommender)
{
    pthread_t thread[THREADS];
    worker w[THREADS];
    int64_t filled = 0;
    cw_status status = CW_OK;

    for (int t = 0; t < THREADS; t++) {
        w[t] = (worker){.recommender = recommender, .first = t * BATCH};
        if (pthread_create(&thread[t], NULL, work, &w[t]) != 0) abort();
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        if (w[t].status != CW_OK) status = w[t].status;
        filled += w[t].filled;
    }
    printf("%lld items for %d users\n", (long long)filled,
           (int)cw_model_users(cw_recommender_model(recommender)));
    return status;
}

int main(int argc, char **argv)
{
    cw_context *ctx = NULL;
    cw_model *model = NULL;
    cw_recommender *recommender = NULL;

    cw_status status = cw_context_create(&ctx);
    if (status == CW_OK)
        status = cw_model_load(ctx, argc > 1 ? argv[1] : "example.safetensors", &model);
    if (status == CW_OK) status = cw_recommender_open(ctx, model, &recommender);
    cw_model_free(model); /* the recommender keeps what it needs */
    if (status == CW_OK) status = recommend_all(recommender);
    if (status != CW_OK)
        fprintf(stderr, "recommend: %s\n", ctx ? cw_context_error(ctx) : cw_status_text(status));
    cw_recommender_close(recommender);
    cw_context_free(ctx);
    return status == CW_OK ? 0 : 1;
}

/* test_recommender.c - a model opened once: lists for every backbone, from many threads at once. */
#include <math.h>
#include <pthread.h>

#include "core/elementary.h"
#include "core/rng.h"
#include "model_sample.h"
#include "recommend/recommend.h"
#include "train_check.h"

enum { K = 7, SOME = 60 };

/* ---- every backbone ------------------------------------------------------------- */

typedef struct variant {
    const char *method, *backbone, *hidden;
    bool folds, compares_users, compares_items, explains;
} variant;

static const variant variants[] = {
    {"cpr", "mf", "8", true, true, true, true},
    {"bpr", "lightgcn", "8", true, true, true, true},
    {"bpr", "ngcf", "8", true, true, true, false},
    {"bpr", "neumf", "8", false, false, true, false},
    {"bpr", "neumf", "8,4", false, false, true, false}, /* its ranker needs room of its own */
    {"mult-vae", "vae", "8", true, true, true, false},
    {"pop", "pop", "8", true, false, false, false},
    {"ials", "als", "8", true, true, true, true},
    {"ease", "ease", "8", true, false, false, true},
    {"itemknn", "itemknn", "8", true, false, false, true},
};

enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

static cw_model *train_variant(cw_context *ctx, const cw_dataset *data, const variant *v)
{
    const char *const settings[][2] = {
        {"method", v->method}, {"backbone", v->backbone}, {"hidden", v->hidden}, {"dim", "8"},
        {"vae-sizes", "4,8"},  {"batch", "128"},          {"epochs", "1"}};
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "preset", "paper"), CW_OK);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        if (cw_method_takes(v->method, v->backbone, settings[k][0]))
            assert_int_equal(cw_options_set(ctx, options, settings[k][0], settings[k][1]), CW_OK);
    return train_with(ctx, data, options);
}

/* The best that is not barred, again and again: as plain as can be. */
static void expect_list(const float *score, int32_t n, const bool *is_barred, const int32_t *items,
                        const float *scores, int32_t count)
{
    bool is_taken[512] = {false};
    assert_true(n <= 512);
    for (int32_t r = 0; r < K; r++) {
        int32_t best = -1;
        for (int32_t i = 0; i < n; i++)
            if (!is_barred[i] && !is_taken[i] && (best < 0 || score[i] > score[best])) best = i;
        if (best < 0) {
            assert_int_equal(count, r);
            return;
        }
        is_taken[best] = true;
        assert_int_equal(items[r], best);
        assert_true(scores[r] == score[best]);
    }
    assert_int_equal(count, K);
}

/* What a call fills. */
typedef struct answer {
    int32_t items[SOME * K], counts[SOME];
    float scores[SOME * K];
} answer;

static cw_lists lists_of(answer *a)
{
    memset(a, 0, sizeof *a); /* so that answers can be compared as bytes */
    return (cw_lists){.k = K, .items = a->items, .scores = a->scores, .counts = a->counts};
}

static const int32_t excluded[] = {9, 3, 3, 50}, chosen[] = {80, 3, 9, 11, 12, 13, 2, 1, 0, 60};
static const int32_t boosted[] = {7, 30, 7};
static const float boosts[] = {1.5f, -2, 0.25f};

static void bar(const cw_model *model, const cw_rules *rules, int32_t user, bool *is_barred)
{
    const cwi_csr *seen = &model->seen;
    for (int32_t i = 0; i < model->n_items; i++) is_barred[i] = rules->only != NULL;
    for (size_t k = 0; k < rules->n_only; k++) is_barred[rules->only[k]] = false;
    for (size_t k = 0; k < rules->n_exclude; k++) is_barred[rules->exclude[k]] = true;
    for (int64_t e = seen->start[user]; e < seen->start[user + 1] && !rules->with_seen; e++)
        is_barred[seen->value[e]] = true;
}

static void expect_users(cw_context *ctx, const cw_recommender *rec, const cw_rules *rules)
{
    const cw_model *model = cw_recommender_model(rec);
    answer a;
    cw_lists lists = lists_of(&a);
    int32_t users[SOME];
    bool is_barred[512];
    float score[512];
    cwi_ranker ranker;

    for (int32_t k = 0; k < SOME; k++) users[k] = k * 7 % 50; /* some of them twice */
    assert_int_equal(cw_recommend(ctx, rec, users, SOME, rules, &lists), CW_OK);
    assert_int_equal(cwi_model_rank(ctx, model, &ranker), CW_OK);
    for (int32_t k = 0; k < SOME; k++) {
        ranker.score(&ranker, &users[k], 1, score);
        bar(model, rules, users[k], is_barred);
        for (int32_t i = 0; i < model->n_items && rules->dial != 0; i++)
            score[i] =
                (float)((double)score[i] + rules->dial * cwi_log1p((double)model->degree[i]));
        for (size_t b = 0; b < rules->n_boosted; b++) score[rules->boosted[b]] += rules->boosts[b];
        expect_list(score, model->n_items, is_barred, a.items + k * K, a.scores + k * K,
                    a.counts[k]);
    }
    cwi_ranker_close(&ranker);
}

static void expect_history(cw_context *ctx, const cw_recommender *rec)
{
    const cw_model *model = cw_recommender_model(rec);
    const int32_t history[] = {20, 4, 20, 30}, liked[] = {4, 20, 30};
    answer a;
    cw_lists lists = lists_of(&a);
    bool is_barred[512] = {false};
    float score[512];
    cwi_ranker ranker;

    for (int k = 0; k < 3; k++) is_barred[liked[k]] = true;
    assert_int_equal(cwi_model_rank(ctx, model, &ranker), CW_OK);
    assert_int_equal(ranker.fold_in(ctx, &ranker, liked, 3, score), CW_OK);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(cw_recommend_history(ctx, rec, history, 4, NULL, &lists), CW_OK);
        expect_list(score, model->n_items, is_barred, a.items, a.scores, a.counts[0]);
    }
    cwi_ranker_close(&ranker);
}

static void expect_pairs(cw_context *ctx, const cw_recommender *rec)
{
    const cw_model *model = cw_recommender_model(rec);
    int32_t users[SOME], items[SOME];
    float scores[SOME], score[512];
    cwi_ranker ranker;

    for (int32_t k = 0; k < SOME; k++) {
        users[k] = k / 3;
        items[k] = k * 31 % model->n_items;
    }
    assert_int_equal(cw_score_pairs(ctx, rec, users, items, SOME, scores), CW_OK);
    assert_int_equal(cwi_model_rank(ctx, model, &ranker), CW_OK);
    for (int32_t k = 0; k < SOME; k++) {
        ranker.score(&ranker, &users[k], 1, score);
        assert_memory_equal(&scores[k], &score[items[k]], sizeof *scores);
    }
    cwi_ranker_close(&ranker);
}

static double cosine(const float *a, const float *b, int32_t width)
{
    double ab = 0, aa = 0, bb = 0;
    for (int32_t d = 0; d < width; d++) {
        ab += (double)a[d] * (double)b[d];
        aa += (double)a[d] * (double)a[d];
        bb += (double)b[d] * (double)b[d];
    }
    return aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
}

/* Nobody is their own neighbour, and none that is left out is nearer. */
static void expect_alike(const float *table, int32_t rows, int32_t width, int32_t who,
                         const answer *a)
{
    assert_int_equal(a->counts[0], K);
    for (int32_t r = 0; r < K; r++) {
        assert_int_not_equal(a->items[r], who);
        near((double)a->scores[r],
             cosine(table + who * width, table + (int64_t)a->items[r] * width, width), 1e-6);
        assert_true(r == 0 || a->scores[r] <= a->scores[r - 1]);
    }
    for (int32_t i = 0; i < rows; i++) {
        bool is_listed = i == who;
        for (int32_t r = 0; r < K; r++) is_listed |= a->items[r] == i;
        if (is_listed) continue;
        assert_true(cosine(table + who * width, table + i * width, width) <=
                    (double)a->scores[K - 1] + 1e-6);
    }
}

/* Without vectors: what somebody gets who had that item and nothing else. */
static void expect_followers(cw_context *ctx, const cw_recommender *rec, int32_t who,
                             const answer *a)
{
    answer expected;
    cw_lists lists = lists_of(&expected);
    assert_int_equal(cw_recommend_history(ctx, rec, &who, 1, NULL, &lists), CW_OK);
    for (int32_t r = 0; r < K; r++) {
        assert_int_equal(a->items[r], expected.items[r]);
        assert_true(a->items[r] < 0 || a->scores[r] == expected.scores[r]);
        assert_int_not_equal(a->items[r], who);
    }
}

static void expect_neighbours(cw_context *ctx, const cw_recommender *rec, const variant *v)
{
    const int32_t who = 5;
    const cwi_ranker *ranker = &rec->ranker;
    answer a;
    cw_lists lists = lists_of(&a);
    cw_status status = cw_similar_items(ctx, rec, &who, 1, NULL, &lists);
    assert_int_equal(status, v->compares_items || v->explains ? CW_OK : CW_UNSUPPORTED);
    if (v->compares_items) expect_alike(ranker->items, rec->model->n_items, ranker->width, who, &a);
    if (!v->compares_items && v->explains) expect_followers(ctx, rec, who, &a);
    status = cw_similar_users(ctx, rec, &who, 1, &lists);
    assert_int_equal(status, v->compares_users ? CW_OK : CW_UNSUPPORTED);
    if (status == CW_OK) expect_alike(ranker->users, rec->model->n_users, ranker->width, who, &a);
}

/* Reasons add up to the score in the list of the same history. */
static void expect_reasons(cw_context *ctx, const cw_recommender *rec, const variant *v)
{
    enum { N = 3, ALL = 512 };
    const int32_t history[N] = {4, 20, 30};
    static int32_t items[ALL];
    static float scores[ALL];
    cw_lists lists = {.k = rec->model->n_items, .items = items, .scores = scores};
    float added[N], score = 0;
    cw_status status = cw_explain(ctx, rec, history, N, 7, added, &score);
    assert_int_equal(status, v->explains ? CW_OK : CW_UNSUPPORTED);
    if (!v->explains) return;
    assert_int_equal(cw_recommend_history(ctx, rec, history, N, NULL, &lists), CW_OK);
    for (int32_t r = 0; r < lists.k && items[r] >= 0; r++) {
        double sum = 0, size = 1e-3;
        assert_int_equal(cw_explain(ctx, rec, history, N, items[r], added, &score), CW_OK);
        for (int k = 0; k < N; k++) {
            sum += (double)added[k];
            size += fabs((double)added[k]);
        }
        near(sum, (double)score, 1e-6 * size);
        near((double)score, (double)scores[r], 1e-4 * size);
    }
}

/* The same items as without diversity when there is none to choose from; each once; the best first.
 */
static void expect_diversity(cw_context *ctx, const cw_recommender *rec, const variant *v)
{
    const int32_t user = 3;
    const cw_rules some = {.diversity = 0.5}, all = {.diversity = 1, .only = chosen, .n_only = K};
    answer plain, diverse;
    cw_lists lists = lists_of(&plain), others = lists_of(&diverse);
    cw_status status = cw_recommend(ctx, rec, &user, 1, &some, &others);
    assert_int_equal(status, v->compares_items ? CW_OK : CW_UNSUPPORTED);
    if (!v->compares_items) return;
    assert_int_equal(cw_recommend(ctx, rec, &user, 1, NULL, &lists), CW_OK);
    assert_int_equal(diverse.items[0], plain.items[0]);
    for (int a = 0; a < K; a++)
        for (int b = 0; b < a; b++) assert_int_not_equal(diverse.items[a], diverse.items[b]);
    assert_int_equal(cw_recommend(ctx, rec, &user, 1, &all, &others), CW_OK);
    int64_t sum = 0, expected = 0;
    lists_of(&plain);
    const cw_rules same = {.only = chosen, .n_only = K};
    assert_int_equal(cw_recommend(ctx, rec, &user, 1, &same, &lists), CW_OK);
    for (int r = 0; r < K; r++) {
        sum += diverse.items[r];
        expected += plain.items[r];
    }
    assert_int_equal(sum, expected);
}

static void answers_are_those_of_the_ranker_for_every_backbone(void **state)
{
    (void)state;
    static const cw_rules rules[] = {
        {0},
        {.with_seen = true, .dial = 0.3},
        {.dial = -2, .exclude = excluded, .n_exclude = 4},
        {.only = chosen, .n_only = 10},
        {.only = chosen, .n_only = 10, .exclude = excluded, .n_exclude = 4, .with_seen = true},
        {.only = chosen},
        {.boosted = boosted, .boosts = boosts, .n_boosted = 3, .dial = 0.1}};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    for (int v = 0; v < N_VARIANTS; v++) {
        cw_recommender *rec;
        cw_model *model = train_variant(l.ctx, data, &variants[v]);
        assert_int_equal(cw_recommender_open(l.ctx, model, &rec), CW_OK);
        assert_ptr_equal(cw_recommender_model(rec), model);
        for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
            expect_users(l.ctx, rec, &rules[r]);
        if (variants[v].folds) expect_history(l.ctx, rec);
        expect_pairs(l.ctx, rec);
        expect_neighbours(l.ctx, rec, &variants[v]);
        expect_reasons(l.ctx, rec, &variants[v]);
        expect_diversity(l.ctx, rec, &variants[v]);
        cw_recommender_close(rec);
        cw_model_free(model);
    }
    cw_dataset_free(data);
    listener_clear(&l);
}

/* ---- threads -------------------------------------------------------------------- */

/* All that can be asked, answered. */
typedef struct answers {
    answer users, newcomer, items, alike;
    float pairs[SOME];
} answers;

static cw_status ask_all(cw_context *ctx, const cw_recommender *rec, const variant *v, answers *out)
{
    const cw_rules rules = {.dial = 0.1, .exclude = excluded, .n_exclude = 4};
    int32_t who[SOME];
    cw_status status;
    cw_lists lists = lists_of(&out->users);
    for (int32_t k = 0; k < SOME; k++) who[k] = k;
    status = cw_recommend(ctx, rec, who, SOME, &rules, &lists);
    lists = lists_of(&out->newcomer);
    if (status == CW_OK && v->folds)
        status = cw_recommend_history(ctx, rec, who, 3, &rules, &lists);
    lists = lists_of(&out->items);
    if (status == CW_OK && v->compares_items)
        status = cw_similar_items(ctx, rec, who, SOME, &rules, &lists);
    lists = lists_of(&out->alike);
    if (status == CW_OK && v->compares_users)
        status = cw_similar_users(ctx, rec, who, SOME, &lists);
    if (status == CW_OK) status = cw_score_pairs(ctx, rec, who, who, SOME, out->pairs);
    return status;
}

/* No assertions: those belong to the main thread. */
typedef struct asker {
    pthread_t thread;
    const cw_recommender *rec;
    const variant *v;
    const answers *expected;
    int threads; /* of its context */
    bool is_good;
} asker;

static void *ask_often(void *arg)
{
    asker *a = arg;
    cw_context *ctx = NULL;
    answers *got = calloc(1, sizeof *got);
    a->is_good =
        got && cw_context_create(&ctx) == CW_OK && cw_context_set_threads(ctx, a->threads) == CW_OK;
    for (int n = 0; n < 3 && a->is_good; n++)
        a->is_good =
            ask_all(ctx, a->rec, a->v, got) == CW_OK && memcmp(got, a->expected, sizeof *got) == 0;
    cw_context_free(ctx);
    free(got);
    return NULL;
}

static void many_threads_ask_one_recommender(void **state)
{
    (void)state;
    enum { ASKERS = 4 };
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    for (int v = 0; v < N_VARIANTS; v++) {
        cw_recommender *alone, *shared;
        asker askers[ASKERS];
        answers *expected = calloc(1, sizeof *expected);
        cw_model *model = train_variant(l.ctx, data, &variants[v]);
        assert_int_equal(cw_recommender_open(l.ctx, model, &alone), CW_OK);
        assert_int_equal(cw_recommender_open(l.ctx, model, &shared), CW_OK);
        cw_model_free(model); /* both keep it */
        assert_int_equal(ask_all(l.ctx, alone, &variants[v], expected), CW_OK);
        cw_recommender_close(alone);
        for (int t = 0; t < ASKERS; t++) {
            askers[t] = (asker){
                .rec = shared, .v = &variants[v], .expected = expected, .threads = 1 + t % 2};
            assert_int_equal(pthread_create(&askers[t].thread, NULL, ask_often, &askers[t]), 0);
        }
        for (int t = 0; t < ASKERS; t++) {
            assert_int_equal(pthread_join(askers[t].thread, NULL), 0);
            assert_true(askers[t].is_good);
        }
        cw_recommender_close(shared);
        free(expected);
    }
    cw_dataset_free(data);
    listener_clear(&l);
}

/* ---- few lists at a time ----------------------------------------------------------- */

enum { WIDE_USERS = 30, WIDE_ITEMS = 700, WIDE = 24 };

/* Vectors by chance; every other item is there twice, so that there are ties. */
static cw_model *make_wide(cw_context *ctx)
{
    enum { ROWS = 10 * WIDE_USERS };
    cwi_rng rng;
    cwi_tensor *table;
    int32_t user[ROWS], item[ROWS];
    cw_model *model = NULL;
    assert_int_equal(cwi_model_create(ctx, &model), CW_OK);
    model->n_users = WIDE_USERS;
    model->n_items = WIDE_ITEMS;
    strcpy(model->method, "bpr");
    strcpy(model->backbone, "mf");
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    assert_int_equal(
        cwi_params_add(ctx, &model->params, "embeddings", WIDE_USERS + WIDE_ITEMS, WIDE, &table),
        CW_OK);
    for (int64_t k = 0; k < (WIDE_USERS + WIDE_ITEMS) * WIDE; k++)
        table->data[k] = (float)cwi_rng_real(&rng) - 0.5f;
    for (int64_t i = WIDE_USERS; i + 1 < WIDE_USERS + WIDE_ITEMS; i += 2)
        memcpy(table->data + (i + 1) * WIDE, table->data + i * WIDE, WIDE * sizeof(float));
    for (int32_t k = 0; k < ROWS; k++) {
        user[k] = k / 10;
        item[k] = (k % 10) * 70 + (int32_t)cwi_rng_below(&rng, 70);
    }
    model->degree = cwi_alloc(ctx, WIDE_ITEMS, sizeof *model->degree);
    cwi_degrees(item, ROWS, WIDE_ITEMS, model->degree);
    assert_int_equal(cwi_csr_create(ctx, user, item, ROWS, WIDE_USERS, &model->seen), CW_OK);
    cwi_csr_sort(&model->seen);
    return model;
}

/* A boost of 0 changes nothing but the way: then all scores are made. */
static void lists_of_few_users_are_those_of_all_scores(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    cw_recommender *rec;
    cw_model *model = make_wide(l.ctx);
    const int32_t first = 0, users[] = {3, 3, 7, 29, 0, 12, 11, 20, 1};
    const float nothing = 0;
    const cw_rules all = {.boosted = &first, .boosts = &nothing, .n_boosted = 1};
    answer quick, slow;
    cw_lists lists, others;
    assert_int_equal(cw_recommender_open(l.ctx, model, &rec), CW_OK);
    for (int32_t user = 0; user < WIDE_USERS; user++) {
        lists = lists_of(&quick);
        others = lists_of(&slow);
        assert_int_equal(cw_recommend(l.ctx, rec, &user, 1, NULL, &lists), CW_OK);
        assert_int_equal(cw_recommend(l.ctx, rec, &user, 1, &all, &others), CW_OK);
        assert_memory_equal(&quick, &slow, sizeof quick);
    }
    for (size_t n = 0; n <= 9; n++) {
        lists = lists_of(&quick);
        others = lists_of(&slow);
        assert_int_equal(cw_recommend(l.ctx, rec, users, n, NULL, &lists), CW_OK);
        assert_int_equal(cw_recommend(l.ctx, rec, users, n, &all, &others), CW_OK);
        assert_memory_equal(&quick, &slow, sizeof quick);
    }
    cw_recommender_close(rec);
    cw_model_free(model);
    listener_clear(&l);
}

/* What is excluded is at the top, so that places move up; beyond some the way is the other one. */
static void few_lists_without_some_items_are_those_of_all_scores(void **state)
{
    (void)state;
    enum { MOST = 40 };
    listener l;
    listener_init(&l);
    cw_recommender *rec;
    cw_model *model = make_wide(l.ctx);
    const int32_t first = 0;
    const float nothing = 0;
    int32_t best[MOST];
    answer quick, slow;
    assert_int_equal(cw_recommender_open(l.ctx, model, &rec), CW_OK);
    for (int32_t user = 0; user < WIDE_USERS; user++) {
        cw_lists top = {.k = MOST, .items = best}, lists, others;
        assert_int_equal(cw_recommend(l.ctx, rec, &user, 1, NULL, &top), CW_OK);
        for (size_t n = 1; n <= MOST; n += 1 + (size_t)user % 3) {
            cw_rules some = {.exclude = best, .n_exclude = n}, all = some;
            all.boosted = &first;
            all.boosts = &nothing;
            all.n_boosted = 1;
            lists = lists_of(&quick);
            others = lists_of(&slow);
            assert_int_equal(cw_recommend(l.ctx, rec, &user, 1, &some, &lists), CW_OK);
            assert_int_equal(cw_recommend(l.ctx, rec, &user, 1, &all, &others), CW_OK);
            assert_memory_equal(&quick, &slow, sizeof quick);
        }
    }
    cw_recommender_close(rec);
    cw_model_free(model);
    listener_clear(&l);
}

/* ---- arrays of the caller --------------------------------------------------------- */

typedef struct place {
    listener l;
    cw_model *model;
    cw_recommender *rec;
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    listener_init(&p->l);
    p->model = make_sample(p->l.ctx);
    assert_int_equal(cw_recommender_open(p->l.ctx, p->model, &p->rec), CW_OK);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    cw_model_free(p->model);
    cw_recommender_close(p->rec);
    listener_clear(&p->l);
    free(p);
    return 0;
}

static void places_beyond_the_last_item_are_empty(void **state)
{
    place *p = *state;
    enum { ROOM = SAMPLE_ITEMS + 3 };
    const int32_t users[] = {3, 2}, none = 0;
    int32_t items[2 * ROOM], counts[2];
    float scores[2 * ROOM];
    cw_lists lists = {.k = ROOM, .items = items, .scores = scores, .counts = counts};
    const int32_t expected[] = {4, -1, -1, -1, -1, -1, -1, -1, -1, 0, 2, 4, 3, 5, 1, -1, -1, -1};

    assert_int_equal(cw_recommend(p->l.ctx, p->rec, users, 2, NULL, &lists), CW_OK);
    assert_memory_equal(items, expected, sizeof expected);
    assert_true(counts[0] == 1 && counts[1] == SAMPLE_ITEMS);
    assert_true(scores[1] == 0 && scores[ROOM] == 2 && scores[2 * ROOM - 1] == 0);
    lists.scores = NULL;
    lists.counts = NULL;
    memset(items, 0, sizeof items);
    assert_int_equal(cw_recommend(p->l.ctx, p->rec, users, 2, NULL, &lists), CW_OK);
    assert_memory_equal(items, expected, sizeof expected);
    const cw_rules nothing = {.only = &none};
    assert_int_equal(cw_recommend(p->l.ctx, p->rec, users, 1, &nothing, &lists), CW_OK);
    assert_int_equal(items[0], -1);
    assert_int_equal(cw_recommend(p->l.ctx, p->rec, NULL, 0, NULL, &lists), CW_OK);
    assert_int_equal(cw_similar_users(p->l.ctx, p->rec, users, 1, &lists), CW_OK);
    assert_true(items[SAMPLE_USERS - 2] >= 0 && items[SAMPLE_USERS - 1] == -1);
}

/* i1 and i2 point the same way as i0 nearly; i5 has no direction. */
static void diversity_passes_over_what_is_alike(void **state)
{
    place *p = *state;
    const int32_t user = 2;
    int32_t items[3];
    cw_lists lists = {.k = 3, .items = items};
    const cw_rules none = {.with_seen = true}, much = {.with_seen = true, .diversity = 0.9};
    assert_int_equal(cw_recommend(p->l.ctx, p->rec, &user, 1, &none, &lists), CW_OK);
    const int32_t best[] = {0, 2, 4};
    assert_memory_equal(items, best, sizeof best);
    assert_int_equal(cw_recommend(p->l.ctx, p->rec, &user, 1, &much, &lists), CW_OK);
    const int32_t diverse[] = {0, 5, 4}; /* cosines with i0: i1 0.67, i2 0.93, i3 0.86, i4 0.22 */
    assert_memory_equal(items, diverse, sizeof diverse);
}

static void what_is_known_of_items_and_users_can_be_asked(void **state)
{
    place *p = *state;
    const int32_t *had;
    int32_t items[3], counts;
    float scores[3];
    cw_lists lists = {.k = 3, .items = items, .scores = scores, .counts = &counts};
    const int32_t first = 0;
    const cw_rules rules = {.exclude = &first, .n_exclude = 1};

    assert_int_equal(cw_user_items(p->rec, 1, &had), 2);
    assert_true(had[0] == 2 && had[1] == 3);
    assert_int_equal(cw_user_items(p->rec, 2, &had), 0);
    assert_int_equal(cw_user_items(p->rec, -1, &had), 0);
    assert_int_equal(cw_user_items(p->rec, SAMPLE_USERS, &had), 0);
    assert_null(had);
    assert_int_equal(cw_model_item_rows(p->model, 0), 2);
    assert_int_equal(cw_model_item_rows(p->model, SAMPLE_ITEMS), 0);
    assert_string_equal(cw_model_checksum(p->model), "");
    assert_int_equal(cw_popular(p->l.ctx, p->rec, &rules, &lists), CW_OK);
    assert_true(items[0] == 2 && items[1] == 3 && items[2] == 1 && counts == 3);
    assert_true(scores[0] == 2 && scores[2] == 1);
}

static void more_items_make_another_list(void **state)
{
    place *p = *state;
    const int32_t more[] = {2, 0}, all[] = {0, 2}, new_items[] = {2, 3};
    int32_t items[SAMPLE_ITEMS], expected[SAMPLE_ITEMS];
    cw_lists lists = {.k = SAMPLE_ITEMS, .items = items}, others = {SAMPLE_ITEMS, expected, 0, 0};
    assert_int_equal(cw_recommend_more(p->l.ctx, p->rec, 0, more, 2, NULL, &lists), CW_OK);
    assert_int_equal(cw_recommend_history(p->l.ctx, p->rec, all, 2, NULL, &others), CW_OK);
    assert_memory_equal(items, expected, sizeof items);
    assert_int_equal(cw_recommend_more(p->l.ctx, p->rec, -1, new_items, 2, NULL, &lists), CW_OK);
    assert_int_equal(cw_recommend_history(p->l.ctx, p->rec, new_items, 2, NULL, &others), CW_OK);
    assert_memory_equal(items, expected, sizeof items);
}

#define REFUSED(p, call, sentence)                                                                 \
    do {                                                                                           \
        assert_int_equal(call, CW_BAD_ARG);                                                        \
        assert_string_equal(cw_context_error((p)->l.ctx), sentence);                               \
    } while (0)

static void what_is_missing_is_named(void **state)
{
    place *p = *state;
    cw_context *ctx = p->l.ctx;
    int32_t item, one = 1;
    float score;
    const cw_lists lists = {.k = 1, .items = &item}, nowhere = {.k = 1}, flat = {.items = &item};
    cw_recommender *rec = p->rec;
    cw_rules *rules;

    REFUSED(p, cw_recommender_open(ctx, NULL, &rec), "the model is NULL");
    assert_null(rec);
    REFUSED(p, cw_rules_create(ctx, NULL, NULL, &rules), "the model is NULL");
    REFUSED(p, cw_recommend(ctx, NULL, &one, 1, NULL, &lists), "the recommender is NULL");
    REFUSED(p, cw_recommend(ctx, p->rec, NULL, 1, NULL, &lists), "users is NULL");
    REFUSED(p, cw_recommend(ctx, p->rec, &one, 1, NULL, NULL), "lists is NULL");
    REFUSED(p, cw_recommend(ctx, p->rec, &one, 1, NULL, &nowhere), "items of the lists is NULL");
    REFUSED(p, cw_recommend(ctx, p->rec, &one, 1, NULL, &flat), "k is 0; it must be at least 1");
    REFUSED(p, cw_recommend_history(ctx, NULL, &one, 1, NULL, &lists), "the recommender is NULL");
    REFUSED(p, cw_recommend_history(ctx, p->rec, NULL, 1, NULL, &lists), "history is NULL");
    REFUSED(p, cw_similar_items(ctx, p->rec, NULL, 1, NULL, &lists), "items is NULL");
    REFUSED(p, cw_similar_users(ctx, NULL, &one, 1, &lists), "the recommender is NULL");
    REFUSED(p, cw_score_pairs(ctx, NULL, &one, &one, 1, &score), "the recommender is NULL");
    REFUSED(p, cw_score_pairs(ctx, p->rec, &one, NULL, 1, &score), "items is NULL");
    REFUSED(p, cw_score_pairs(ctx, p->rec, &one, &one, 1, NULL), "scores is NULL");
    assert_int_equal(cw_score_pairs(ctx, p->rec, NULL, NULL, 0, NULL), CW_OK);
    const cw_rules no_items = {.n_boosted = 1}, no_boosts = {.boosted = &one, .n_boosted = 1};
    REFUSED(p, cw_recommend(ctx, p->rec, &one, 1, &no_items, &lists), "boosted is NULL");
    REFUSED(p, cw_recommend(ctx, p->rec, &one, 1, &no_boosts, &lists), "boosts is NULL");
    REFUSED(p, cw_recommend_more(ctx, p->rec, 0, NULL, 0, NULL, &lists),
            "a history needs at least one item");
    REFUSED(p, cw_recommend_more(ctx, p->rec, SAMPLE_USERS, &one, 1, NULL, &lists),
            "user[0] is 4; it must lie between 0 and 3");
    REFUSED(p, cw_popular(ctx, NULL, NULL, &lists), "the recommender is NULL");
    REFUSED(p, cw_explain(ctx, NULL, &one, 1, 0, &score, NULL), "the recommender is NULL");
    REFUSED(p, cw_explain(ctx, p->rec, NULL, 1, 0, &score, NULL), "history is NULL");
    REFUSED(p, cw_explain(ctx, p->rec, &one, 0, 0, &score, NULL),
            "a history needs at least one item");
    REFUSED(p, cw_explain(ctx, p->rec, &one, 1, 0, NULL, NULL), "added is NULL");
    cw_recommender_close(NULL);
}

static void numbers_out_of_range_are_named(void **state)
{
    place *p = *state;
    cw_context *ctx = p->l.ctx;
    int32_t room[3];
    float scores[3];
    const int32_t far[] = {0, 3, 6}, negative[] = {-1};
    const cw_lists lists = {.k = 1, .items = room};
    const cw_rules exclude = {.exclude = far, .n_exclude = 3}, none = {.n_exclude = 1},
                   only = {.only = negative, .n_only = 1}, dial = {.dial = NAN},
                   steep = {.dial = 2e6};

    REFUSED(p, cw_recommend(ctx, p->rec, far, 3, NULL, &lists),
            "users[2] is 6; it must lie between 0 and 3");
    REFUSED(p, cw_recommend_history(ctx, p->rec, negative, 1, NULL, &lists),
            "history[0] is -1; it must lie between 0 and 5");
    REFUSED(p, cw_similar_items(ctx, p->rec, far, 3, NULL, &lists),
            "items[2] is 6; it must lie between 0 and 5");
    REFUSED(p, cw_similar_users(ctx, p->rec, far, 3, &lists),
            "users[2] is 6; it must lie between 0 and 3");
    REFUSED(p, cw_score_pairs(ctx, p->rec, far, negative, 1, scores),
            "items[0] is -1; it must lie between 0 and 5");
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &exclude, &lists),
            "exclude[2] is 6; it must lie between 0 and 5");
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &none, &lists), "exclude is NULL");
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &only, &lists),
            "only[0] is -1; it must lie between 0 and 5");
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &dial, &lists),
            "the dial is nan; it must lie between -1000000 and 1000000");
    const float huge = INFINITY;
    const cw_rules boost = {.boosted = far, .boosts = &huge, .n_boosted = 1},
                   diverse = {.diversity = 1.5};
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &boost, &lists),
            "boosts[0] is inf; it must lie between -1000000 and 1000000");
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &diverse, &lists),
            "diversity is 1.5; it must lie between 0 and 1");
    REFUSED(p, cw_explain(ctx, p->rec, far, 1, 6, scores, NULL),
            "item[0] is 6; it must lie between 0 and 5");
    REFUSED(p, cw_recommend(ctx, p->rec, far, 1, &steep, &lists),
            "the dial is 2e+06; it must lie between -1000000 and 1000000");
}

static void scores_that_are_no_numbers_are_refused(void **state)
{
    place *p = *state;
    const int32_t users[] = {0, 1}, items[] = {1, 0};
    float scores[2];
    p->model->params.tensor[0].data[SAMPLE_USERS * SAMPLE_WIDTH] = NAN; /* of the first item */
    assert_int_equal(cw_score_pairs(p->l.ctx, p->rec, users, items, 1, scores), CW_OK);
    assert_int_equal(cw_score_pairs(p->l.ctx, p->rec, users, items, 2, scores), CW_BAD_DATA);
    assert_string_equal(cw_context_error(p->l.ctx), "the model gives a score that is not a number");
}

/* ---- what lists leave out, histories, and users folded in for good --------------------- */

static void lists_may_leave_out_what_their_users_have_now(void **state)
{
    place *p = *state;
    const int32_t users[] = {0, 0, 1, 0}, own[] = {1, 0, 2, 2, 3};
    const int64_t start[] = {0, 2, 2, 3, 5};
    const cw_rules rules = {.own_start = start, .own = own};
    const cw_rules far = {.own_start = start, .own = (const int32_t[]){1, 0, 2, 2, 6}};
    const cw_rules back = {.own_start = (const int64_t[]){0, 2, 1, 3, 5}, .own = own};
    const cw_rules all = {.own_start = start, .own = own, .with_seen = true};
    int32_t items[4 * 2];
    const cw_lists lists = {.k = 2, .items = items};
    const int32_t expected[] = {2, 3, 0, 1, 3, 0, 0, 1};

    assert_int_equal(cw_recommend(p->l.ctx, p->rec, users, 4, &rules, &lists), CW_OK);
    assert_memory_equal(items, expected, sizeof expected);
    assert_int_equal(cw_recommend(p->l.ctx, p->rec, users, 4, &all, &lists), CW_OK);
    assert_int_equal(items[0], 0);
    REFUSED(p, cw_recommend(p->l.ctx, p->rec, users, 4, &far, &lists),
            "own[4] is 6; it must lie between 0 and 5");
    REFUSED(p, cw_recommend(p->l.ctx, p->rec, users, 4, &back, &lists),
            "own: row 1 goes from 2 to 1");
}

static void histories_are_answered_one_by_one(void **state)
{
    place *p = *state;
    const int32_t liked[] = {2, 0, 2, 3};
    const int64_t start[] = {0, 3, 3, 4};
    int32_t items[3 * 2], alone[2];
    float scores[3 * 2], alone_scores[2];
    const cw_lists lists = {.k = 2, .items = items, .scores = scores};
    const cw_lists one = {.k = 2, .items = alone, .scores = alone_scores};

    assert_int_equal(cw_recommend_histories(p->l.ctx, p->rec, start, liked, 3, NULL, &lists),
                     CW_OK);
    assert_int_equal(cw_recommend_history(p->l.ctx, p->rec, liked, 3, NULL, &one), CW_OK);
    assert_memory_equal(items, alone, sizeof alone);
    assert_memory_equal(scores, alone_scores, sizeof alone_scores);
    assert_int_equal(items[2], 0); /* nothing liked: what most people had */
    assert_true(scores[2] == 2);
    assert_int_equal(cw_recommend_history(p->l.ctx, p->rec, liked + 3, 1, NULL, &one), CW_OK);
    assert_memory_equal(items + 4, alone, sizeof alone);
    REFUSED(p, cw_recommend_histories(p->l.ctx, p->rec, NULL, liked, 3, NULL, &lists),
            "histories is NULL");
}

static void users_are_folded_in_for_good(void **state)
{
    place *p = *state;
    cw_context *ctx = p->l.ctx;
    const int32_t users[] = {5, 1}, liked[] = {2, 0, 2, 3}, two[] = {5, 1};
    const int64_t start[] = {0, 3, 4};
    int32_t items[2 * 3], alone[3], width;
    float scores[2 * 3], alone_scores[3];
    const cw_lists lists = {.k = 3, .items = items, .scores = scores};
    const cw_lists one = {.k = 3, .items = alone, .scores = alone_scores};
    cw_model *model;
    cw_recommender *rec;

    assert_int_equal(cw_model_fold_users(ctx, p->rec, users, start, liked, 2, &model), CW_OK);
    assert_int_equal(cw_model_users(model), 6);
    assert_string_equal(cw_model_user_id(model, 5), "5");
    assert_int_equal(cw_recommender_open(ctx, model, &rec), CW_OK);
    cw_model_free(model);
    assert_int_equal(cw_recommend(ctx, rec, two, 2, NULL, &lists), CW_OK);
    assert_int_equal(cw_recommend_history(ctx, rec, liked, 3, NULL, &one), CW_OK);
    assert_memory_equal(items, alone, sizeof alone);
    assert_memory_equal(scores, alone_scores, sizeof alone_scores);
    assert_int_equal(cw_recommend_history(ctx, rec, liked + 3, 1, NULL, &one), CW_OK);
    assert_memory_equal(items + 3, alone, sizeof alone);
    const float *vectors = cw_recommender_users(rec, &width);
    assert_int_equal(width, SAMPLE_WIDTH);
    assert_memory_equal(vectors, sample_vectors, SAMPLE_WIDTH * sizeof *vectors); /* others stay */
    assert_memory_equal(cw_recommender_items(rec, &width), sample_vectors + 4 * SAMPLE_WIDTH,
                        SAMPLE_ITEMS * SAMPLE_WIDTH * sizeof *vectors);
    cw_recommender_close(rec);
    REFUSED(p,
            cw_model_fold_users(ctx, p->rec, users, (const int64_t[]){0, 0, 3}, liked, 2, &model),
            "user 5 has no items to be folded in from");
    strcpy(p->model->backbone, "lightgcn");
    assert_int_equal(cw_model_fold_users(ctx, p->rec, users, start, liked, 2, &model),
                     CW_UNSUPPORTED);
}

/* ---- many users at once ------------------------------------------------------------- */

enum { MANY = 240, MANY_ITEMS = 600, MANY_WIDTH = 16, MANY_K = 9 };

/* Vectors by chance, and four items that each user had. */
static cw_model *make_many(cw_context *ctx)
{
    cw_model *model;
    cwi_tensor *tensor;
    int32_t row[4 * MANY], item[4 * MANY];
    uint32_t random = 7;
    assert_int_equal(cwi_model_create(ctx, &model), CW_OK);
    model->n_users = MANY;
    model->n_items = MANY_ITEMS;
    strcpy(model->method, "bpr");
    strcpy(model->backbone, "mf");
    assert_int_equal(
        cwi_params_add(ctx, &model->params, "embeddings", MANY + MANY_ITEMS, MANY_WIDTH, &tensor),
        CW_OK);
    for (int64_t k = 0; k < (MANY + MANY_ITEMS) * MANY_WIDTH; k++) {
        random = random * 1664525 + 1013904223;
        tensor->data[k] = (float)(random >> 8) * 0x1p-24f - 0.5f;
    }
    for (int32_t k = 0; k < 4 * MANY; k++) {
        row[k] = k / 4;
        item[k] = k % 4 * 100 + k / 4 % 100;
    }
    assert_int_equal(cwi_csr_create(ctx, row, item, 4 * MANY, MANY, &model->seen), CW_OK);
    model->degree = cwi_alloc_zero(ctx, MANY_ITEMS, sizeof *model->degree);
    assert_int_equal(cwi_idmap_number(ctx, MANY, &model->users), CW_OK);
    assert_int_equal(cwi_idmap_number(ctx, MANY_ITEMS, &model->items), CW_OK);
    return model;
}

/* The same as asking for one user after the other, whose lists come from all scores. */
static void expect_many(cw_context *ctx, const cw_recommender *rec, const int32_t *users,
                        const cw_rules *rules)
{
    static int32_t items[MANY * MANY_K], counts[MANY];
    static float scores[MANY * MANY_K];
    const cw_lists lists = {MANY_K, items, scores, counts};
    assert_int_equal(cw_recommend(ctx, rec, users, MANY, rules, &lists), CW_OK);
    for (int32_t k = 0; k < MANY; k++) {
        int32_t item[MANY_K], count;
        float score[MANY_K];
        cw_rules own = *rules;
        if (own.own_start) own.own_start += k;
        assert_int_equal(
            cw_recommend(ctx, rec, users + k, 1, &own, &(cw_lists){MANY_K, item, score, &count}),
            CW_OK);
        assert_int_equal(count, counts[k]);
        assert_memory_equal(item, items + k * MANY_K, sizeof item);
        assert_memory_equal(score, scores + k * MANY_K, sizeof score);
    }
}

static void lists_of_many_users_are_those_of_each(void **state)
{
    (void)state;
    static int32_t users[MANY], own[3 * MANY];
    static int64_t start[MANY + 1];
    const int32_t barred[] = {5, 6};
    listener l;
    cw_recommender *rec;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, 2), CW_OK);
    cw_model *model = make_many(l.ctx);
    assert_int_equal(cw_recommender_open(l.ctx, model, &rec), CW_OK);
    for (int32_t k = 0; k < MANY; k++) {
        users[k] = k * 7 % MANY;
        start[k + 1] = start[k] + k % 4;
        for (int64_t e = start[k]; e < start[k + 1]; e++) own[e] = (int32_t)(e * 37 % MANY_ITEMS);
    }
    expect_many(l.ctx, rec, users, &(cw_rules){.dial = 0});
    expect_many(l.ctx, rec, users, &(cw_rules){.with_seen = true});
    expect_many(l.ctx, rec, users, &(cw_rules){.own_start = start, .own = own});
    expect_many(l.ctx, rec, users, &(cw_rules){.own_start = start, .own = own, .with_seen = true});
    expect_many(l.ctx, rec, users, &(cw_rules){.exclude = barred, .n_exclude = 2});
    users[3] = users[9]; /* with other rows of their own */
    expect_many(l.ctx, rec, users, &(cw_rules){.own_start = start, .own = own});
    expect_many(l.ctx, rec, users, &(cw_rules){.dial = 0});
    cw_recommender_close(rec);
    cw_model_free(model);
    listener_clear(&l);
}

static void tensors_and_rows_are_lent(void **state)
{
    place *p = *state;
    cw_tensor tensor;
    const int32_t *items;
    assert_true(cw_model_tensor(p->model, 0, &tensor));
    assert_string_equal(tensor.name, "embeddings");
    assert_int_equal(tensor.rows, SAMPLE_USERS + SAMPLE_ITEMS);
    assert_int_equal(tensor.columns, SAMPLE_WIDTH);
    assert_ptr_equal(tensor.data, p->model->params.tensor[0].data);
    assert_false(cw_model_tensor(p->model, 1, &tensor));
    const int64_t *start = cw_model_seen(p->model, &items);
    assert_int_equal(start[2], 3);
    assert_int_equal(items[1], 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_ranker_for_every_backbone),
        cmocka_unit_test(many_threads_ask_one_recommender),
        cmocka_unit_test(lists_of_few_users_are_those_of_all_scores),
        cmocka_unit_test(few_lists_without_some_items_are_those_of_all_scores),
        TEST(places_beyond_the_last_item_are_empty),
        TEST(diversity_passes_over_what_is_alike),
        TEST(what_is_known_of_items_and_users_can_be_asked),
        TEST(more_items_make_another_list),
        TEST(what_is_missing_is_named),
        TEST(numbers_out_of_range_are_named),
        TEST(scores_that_are_no_numbers_are_refused),
        TEST(lists_may_leave_out_what_their_users_have_now),
        TEST(histories_are_answered_one_by_one),
        TEST(users_are_folded_in_for_good),
        TEST(tensors_and_rows_are_lent),
        cmocka_unit_test(lists_of_many_users_are_those_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_recommend.c - lists for users, for a history, of similar items. */
#include <math.h>

#include "model_sample.h"
#include "score/foldin.h"

typedef struct place {
    listener l;
    char folder[64];
    cw_model *model;
    cw_options *options;
    char lists[1 << 16]; /* all lists as text: user: item item; */
    float scores[64];    /* of the first list */
    size_t n_lists;
    uint64_t bits; /* a checksum of all scores */
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    listener_init(&p->l);
    make_scratch(p->folder);
    p->model = make_sample(p->l.ctx);
    assert_int_equal(cw_options_create(p->l.ctx, "recommend", &p->options), CW_OK);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    cw_options_free(p->options);
    cw_model_free(p->model);
    remove_scratch(p->folder);
    listener_clear(&p->l);
    free(p);
    return 0;
}

static void collect(place *p, const char *key, const int32_t *items, const float *scores, int32_t n)
{
    size_t used = strlen(p->lists);
    used += (size_t)snprintf(p->lists + used, sizeof p->lists - used, "%s:", key);
    for (int32_t r = 0; r < n; r++) {
        uint32_t word;
        used += (size_t)snprintf(p->lists + used, sizeof p->lists - used, " %s",
                                 cw_model_item_id(p->model, items[r]));
        assert_true(used < sizeof p->lists);
        if (p->n_lists == 0 && r < 64) p->scores[r] = scores[r];
        memcpy(&word, &scores[r], sizeof word);
        p->bits = p->bits * 1099511628211u + word;
    }
    snprintf(p->lists + used, sizeof p->lists - used, ";");
    p->n_lists++;
}

static void set(place *p, const char *name, const char *value)
{
    assert_int_equal(cw_options_set(p->l.ctx, p->options, name, value), CW_OK);
}

/* Which call to make. */
typedef enum kind { FOR_USERS, FOR_HISTORY, LIKE_ITEMS } kind;

static cw_status ask(place *p, const cw_recommender *rec, kind what, const int32_t *who, size_t n,
                     const cw_rules *rules, const cw_lists *lists)
{
    if (what == FOR_HISTORY) return cw_recommend_history(p->l.ctx, rec, who, n, rules, lists);
    if (what == LIKE_ITEMS) return cw_similar_items(p->l.ctx, rec, who, n, rules, lists);
    return cw_recommend(p->l.ctx, rec, who, n, rules, lists);
}

static void collect_all(place *p, kind what, const int32_t *who, size_t n, const cw_lists *lists)
{
    for (size_t r = 0; r < (what == FOR_HISTORY ? 1 : n); r++) {
        const char *key = what == FOR_USERS    ? cw_model_user_id(p->model, who[r])
                          : what == LIKE_ITEMS ? cw_model_item_id(p->model, who[r])
                                               : "";
        collect(p, key, lists->items + r * (size_t)lists->k, lists->scores + r * (size_t)lists->k,
                lists->counts[r]);
    }
}

/* Open the model, ask by raw ids with the options, and keep the lists as text; ids NULL: all
 * users. */
static cw_status recommend_by(place *p, kind what, const char *const *ids, size_t n)
{
    int32_t k = atoi(cw_options_get(p->options, "k")), most = cw_model_items(p->model);
    cw_recommender *rec = NULL;
    cw_rules *rules = NULL;

    p->lists[0] = '\0';
    p->n_lists = p->bits = 0;
    if (!ids && what == FOR_USERS) n = (size_t)cw_model_users(p->model);
    if (k > most) k = most;
    int32_t *who = calloc(n + 1, sizeof *who);
    cw_lists lists = {.k = k,
                      .items = calloc((n + 1) * (size_t)k, sizeof *lists.items),
                      .scores = calloc((n + 1) * (size_t)k, sizeof *lists.scores),
                      .counts = calloc(n + 1, sizeof *lists.counts)};
    for (size_t r = 0; r < n; r++) {
        who[r] = (int32_t)r;
        if (ids && what == FOR_USERS) who[r] = cw_model_find_user(p->model, ids[r]);
        if (ids && what != FOR_USERS) who[r] = cw_model_find_item(p->model, ids[r]);
    }
    cw_status status = cw_rules_create(p->l.ctx, p->model, p->options, &rules);
    if (status == CW_OK) status = cw_recommender_open(p->l.ctx, p->model, &rec);
    if (status == CW_OK) status = ask(p, rec, what, who, n, rules, &lists);
    if (status == CW_OK) collect_all(p, what, who, n, &lists);
    cw_recommender_close(rec);
    cw_rules_free(rules);
    free(who);
    free(lists.items);
    free(lists.scores);
    free(lists.counts);
    return status;
}

static cw_status recommend(place *p, const char *const *users, size_t n)
{
    return recommend_by(p, FOR_USERS, users, n);
}

static cw_status from_history(place *p, const char *const *items, size_t n)
{
    return recommend_by(p, FOR_HISTORY, items, n);
}

static cw_status similar(place *p, const char *item)
{
    return recommend_by(p, LIKE_ITEMS, &item, 1);
}

static void users_get_unseen_items_best_first(void **state)
{
    place *p = *state;
    const char *ids[] = {"c\td", "ann"};
    set(p, "k", "2");
    assert_int_equal(recommend(p, ids, 2), CW_OK);
    assert_string_equal(p->lists, "c\td: i0 i2;ann: i1 i2;");
    assert_true(p->scores[0] == 2.0f && p->scores[1] == 1.0f);
    assert_int_equal(recommend(p, ids, 0), CW_OK);
}

static void all_users_come_in_order_and_lists_end_with_the_catalogue(void **state)
{
    place *p = *state;
    set(p, "k", "1000000");
    assert_int_equal(recommend(p, NULL, 0), CW_OK);
    assert_string_equal(p->lists, "ann: i1 i2 i3 caf\xe9 i5;bob: i0 i1 i5 caf\xe9;"
                                  "c\td: i0 i2 caf\xe9 i3 i5 i1;dee: caf\xe9;");
    set(p, "exclude", "none");
    assert_int_equal(recommend(p, NULL, 0), CW_OK);
    assert_string_equal(p->lists, "ann: i0 i1 i2 i3 caf\xe9 i5;bob: i2 i3 i0 i1 i5 caf\xe9;"
                                  "c\td: i0 i2 caf\xe9 i3 i5 i1;dee: i0 i1 i2 i3 caf\xe9 i5;");
}

static void a_file_of_items_is_left_out_for_everybody(void **state)
{
    place *p = *state;
    char path[128];
    write_file(p->folder, "out.txt", "i2\r\n\nnobody\ni1\ni2\ncaf\xe9");
    snprintf(path, sizeof path, "%s/out.txt", p->folder);
    set(p, "exclude", path);
    assert_int_equal(recommend(p, NULL, 0), CW_OK);
    assert_string_equal(p->lists, "ann: i3 i5;bob: i0 i5;c\td: i0 i3 i5;dee:;");
    assert_non_null(strstr(p->l.log, "out.txt: 1 items are not in the model"));
    set(p, "exclude", "/there/is/no/file");
    assert_int_equal(recommend(p, NULL, 0), CW_IO);
    assert_int_equal(p->n_lists, 0);
}

/* Hide i1 of ann, i2 of c d, and i0 of a guest, eve, who had i2. */
static void hide_some(place *p)
{
    static const int32_t row[] = {0, 2, 4}, item[] = {1, 2, 0}, had[] = {2}, zero[] = {0};
    static const char *const guest[] = {"eve"};
    cwi_rest *rest = &p->model->rest;
    sample_ids(p->l.ctx, guest, 1, &rest->users);
    assert_int_equal(cwi_csr_create(p->l.ctx, zero, had, 1, 1, &rest->rows), CW_OK);
    assert_int_equal(cwi_csr_create(p->l.ctx, row, item, 3, SAMPLE_USERS + 1, &rest->hidden),
                     CW_OK);
}

static void hidden_items_are_left_out_like_seen_ones(void **state)
{
    place *p = *state;
    char path[128];
    hide_some(p);
    set(p, "k", "6");
    assert_int_equal(recommend(p, NULL, 0), CW_OK);
    assert_string_equal(p->lists, "ann: i2 i3 caf\xe9 i5;bob: i0 i1 i5 caf\xe9;"
                                  "c\td: i0 caf\xe9 i3 i5 i1;dee: caf\xe9;");
    write_file(p->folder, "out.txt", "i3\ni1\ni0\n"); /* of what is hidden and seen, too */
    snprintf(path, sizeof path, "%s/out.txt", p->folder);
    set(p, "exclude", path);
    assert_int_equal(recommend(p, NULL, 0), CW_OK);
    assert_string_equal(p->lists, "ann: i2 caf\xe9 i5;bob: i5 caf\xe9;"
                                  "c\td: caf\xe9 i5;dee: caf\xe9;");
    set(p, "exclude", "none");
    assert_int_equal(recommend(p, NULL, 0), CW_OK);
    assert_string_equal(p->lists, "ann: i0 i1 i2 i3 caf\xe9 i5;bob: i2 i3 i0 i1 i5 caf\xe9;"
                                  "c\td: i0 i2 caf\xe9 i3 i5 i1;dee: i0 i1 i2 i3 caf\xe9 i5;");
}

/* A guest leaves out both, users before and after are not concerned, nor are other lists. */
static void hidden_items_of_guests_are_left_out(void **state)
{
    place *p = *state;
    static const int32_t users[] = {SAMPLE_USERS, 1, SAMPLE_USERS};
    int32_t items[3][SAMPLE_ITEMS], counts[3];
    const cw_lists lists = {.k = SAMPLE_ITEMS, .items = items[0], .counts = counts};
    const char *liked[] = {"i2"};
    cw_recommender *rec;

    hide_some(p);
    assert_int_equal(cw_recommender_open(p->l.ctx, p->model, &rec), CW_OK);
    assert_int_equal(cw_recommend(p->l.ctx, rec, users, 3, NULL, &lists), CW_OK);
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 4);
    assert_memory_equal(items[0], items[2], sizeof items[0]);
    for (int r = 0; r < 4; r++) assert_true(items[0][r] != 0 && items[0][r] != 2);
    assert_int_equal(items[1][0], 0); /* bob's best */
    const cw_rules all = {.with_seen = true};
    assert_int_equal(cw_recommend(p->l.ctx, rec, users, 3, &all, &lists), CW_OK);
    assert_int_equal(counts[0], SAMPLE_ITEMS);
    cw_recommender_close(rec);
    set(p, "k", "6");
    assert_int_equal(from_history(p, liked, 1), CW_OK);
    assert_non_null(strstr(p->lists, "i0")); /* who has the same history is somebody else */
}

static void popularity_moves_the_ranking(void **state)
{
    place *p = *state;
    const char *ids[] = {"dee", "c\td"};
    set(p, "exclude", "none");
    set(p, "popularity", "1");
    assert_int_equal(recommend(p, ids, 1), CW_OK);
    assert_string_equal(p->lists, "dee: i0 i2 i3 i1 i5 caf\xe9;");
    assert_true(p->scores[0] == (float)log(3) && p->scores[5] == 0.0f);
    set(p, "popularity", "-10");
    assert_int_equal(recommend(p, ids, 2), CW_OK);
    assert_string_equal(p->lists, "dee: caf\xe9 i1 i5 i0 i2 i3;c\td: caf\xe9 i5 i1 i0 i2 i3;");
}

static void numbers_and_ids_belong_together(void **state)
{
    place *p = *state;
    assert_int_equal(cw_model_find_user(p->model, "dee"), 3);
    assert_int_equal(cw_model_find_item(p->model, "caf\xe9"), 4);
    assert_int_equal(cw_model_find_user(p->model, "i0"), -1);
    assert_int_equal(cw_model_find_item(p->model, ""), -1);
    assert_string_equal(cw_model_user_id(p->model, 2), "c\td");
    assert_string_equal(cw_model_item_id(p->model, 5), "i5");
    assert_null(cw_model_user_id(p->model, 4));
    assert_null(cw_model_user_id(p->model, -1));
    assert_null(cw_model_item_id(p->model, 6));
    assert_null(cw_model_item_id(p->model, -1));
}

static void options_of_another_stage_are_refused(void **state)
{
    place *p = *state;
    cw_options *other;
    cw_rules *rules;
    assert_int_equal(cw_options_create(p->l.ctx, "skew", &other), CW_OK);
    assert_int_equal(cw_rules_create(p->l.ctx, p->model, other, &rules), CW_BAD_ARG);
    assert_null(rules);
    cw_options_free(other);
    assert_int_equal(cw_rules_create(p->l.ctx, p->model, NULL, &rules), CW_OK);
    assert_true(!rules->with_seen && rules->dial == 0 && !rules->exclude && !rules->only);
    cw_rules_free(rules);
    cw_rules_free(NULL);
}

static void similar_items_are_those_of_the_same_direction(void **state)
{
    place *p = *state;
    set(p, "exclude", "none");
    assert_int_equal(similar(p, "i2"), CW_OK);
    assert_string_equal(p->lists, "i2: i3 i0 i1 i5 caf\xe9;");
    double expected = 13.0 / sqrt(14.0 * 13.0);
    assert_true(fabs((double)p->scores[0] - expected) < 1e-6);
    assert_true(p->scores[3] == 0.0f);
}

/* ---- histories ---------------------------------------------------------------- */

/* Gaussian elimination with pivoting, as unlike Cholesky as can be. */
static void eliminate(double a[3][4], double x[3])
{
    for (int c = 0; c < 3; c++) {
        int best = c;
        for (int r = c + 1; r < 3; r++)
            if (fabs(a[r][c]) > fabs(a[best][c])) best = r;
        for (int k = 0; k < 4; k++) {
            double keep = a[c][k];
            a[c][k] = a[best][k];
            a[best][k] = keep;
        }
        for (int r = 0; r < 3; r++) {
            double factor = a[r][c] / a[c][c];
            for (int k = 0; k < 4 && r != c; k++) a[r][k] -= factor * a[c][k];
        }
    }
    for (int r = 0; r < 3; r++) x[r] = a[r][3] / a[r][r];
}

/* The vector of somebody who liked these items, by the formula of docs/models.md. */
static void solve_by_hand(const int32_t *liked, int32_t n, double x[3])
{
    const float *v = sample_vectors + SAMPLE_USERS * SAMPLE_WIDTH;
    double a[3][4] = {{0}}, trace = 0, w0 = (double)n / SAMPLE_ITEMS;
    for (int i = 0; i < SAMPLE_ITEMS; i++) {
        double weight = w0, target = 0;
        for (int32_t k = 0; k < n; k++) {
            weight += liked[k] == i;
            target += liked[k] == i;
        }
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++)
                a[r][c] += weight * (double)v[3 * i + r] * (double)v[3 * i + c];
            a[r][3] += target * (double)v[3 * i + r];
            trace += (double)v[3 * i + r] * (double)v[3 * i + r];
        }
    }
    for (int r = 0; r < 3; r++) a[r][r] += 0.1 * n * trace / (SAMPLE_ITEMS * 3);
    eliminate(a, x);
}

static void fold_in_solves_the_regression(void **state)
{
    place *p = *state;
    const int32_t liked[] = {0, 4};
    const char *ids[] = {"caf\xe9", "i0", "caf\xe9"};
    const float *v = sample_vectors + SAMPLE_USERS * SAMPLE_WIDTH;
    cwi_ranker ranker;
    double x[3];
    float u[3];

    assert_int_equal(cwi_model_rank(p->l.ctx, p->model, &ranker), CW_OK);
    assert_int_equal(cwi_foldin_vector(p->l.ctx, &ranker, liked, 2, u), CW_OK);
    solve_by_hand(liked, 2, x);
    for (int d = 0; d < 3; d++) assert_true(fabs((double)u[d] - x[d]) < 1e-6);
    set(p, "exclude", "none");
    assert_int_equal(from_history(p, ids, 3), CW_OK);
    double best = -1e9;
    for (int i = 0; i < SAMPLE_ITEMS; i++) {
        double score = 0;
        for (int d = 0; d < 3; d++) score += x[d] * (double)v[3 * i + d];
        best = score > best ? score : best;
    }
    assert_true(fabs((double)p->scores[0] - best) < 1e-5);
    cwi_ranker_close(&ranker);
}

static void fold_in_does_not_depend_on_scale(void **state)
{
    place *p = *state;
    const int32_t liked[] = {1, 2};
    float before[SAMPLE_ITEMS], after[SAMPLE_ITEMS];
    cwi_ranker ranker;

    assert_int_equal(cwi_model_rank(p->l.ctx, p->model, &ranker), CW_OK);
    assert_int_equal(ranker.fold_in(p->l.ctx, &ranker, liked, 2, before), CW_OK);
    float *data = p->model->params.tensor[0].data;
    for (int k = 0; k < (SAMPLE_USERS + SAMPLE_ITEMS) * SAMPLE_WIDTH; k++) data[k] *= 1024.0f;
    assert_int_equal(ranker.fold_in(p->l.ctx, &ranker, liked, 2, after), CW_OK);
    for (int i = 0; i < SAMPLE_ITEMS; i++) assert_true(fabsf(before[i] - after[i]) < 1e-6f);
    cwi_ranker_close(&ranker);
}

static void history_items_are_left_out(void **state)
{
    place *p = *state;
    const char *ids[] = {"i2", "i3", "nothing"};
    assert_int_equal(from_history(p, ids, 3), CW_BAD_ARG);
    assert_string_equal(cw_context_error(p->l.ctx),
                        "history[2] is -1; it must lie between 0 and 5");
    assert_int_equal(from_history(p, ids, 2), CW_OK);
    assert_null(strstr(p->lists, "i2"));
    assert_null(strstr(p->lists, "i3"));
    assert_non_null(strstr(p->lists, ": i0 "));
    assert_int_equal(from_history(p, NULL, 0), CW_BAD_ARG);
    assert_string_equal(cw_context_error(p->l.ctx), "a history needs at least one item");
}

static void what_a_model_cannot_do_is_said(void **state)
{
    place *p = *state;
    const char *ids[] = {"i2"};
    float *data = p->model->params.tensor[0].data;
    memset(data, 0, sizeof sample_vectors);
    assert_int_equal(from_history(p, ids, 1), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(p->l.ctx), "do not determine a vector"));
    data[SAMPLE_USERS * SAMPLE_WIDTH] = INFINITY;
    assert_int_equal(recommend(p, NULL, 0), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(p->l.ctx), "not a number"));
    cwi_params_clear(&p->model->params);
    strcpy(p->model->backbone, "pop");
    assert_int_equal(
        cwi_params_add(p->l.ctx, &p->model->params, "popularity", SAMPLE_ITEMS, 1, NULL), CW_OK);
    assert_int_equal(similar(p, "i2"), CW_UNSUPPORTED);
    assert_non_null(strstr(cw_context_error(p->l.ctx), "no item vectors"));
    assert_int_equal(from_history(p, ids, 1), CW_OK);
}

/* ---- many users --------------------------------------------------------------- */

/* 700 users, 900 items, vectors of 20 small numbers, a few seen items each. */
static cw_model *make_large(cw_context *ctx)
{
    enum { USERS = 700, ITEMS = 900, WIDTH = 20, SEEN = 5 };
    static int32_t row[USERS * SEEN], item[USERS * SEEN];
    uint32_t random = 1;
    cw_model *model;
    cwi_tensor *table;

    assert_int_equal(cwi_model_create(ctx, &model), CW_OK);
    model->n_users = USERS;
    model->n_items = ITEMS;
    strcpy(model->method, "bpr");
    strcpy(model->backbone, "mf");
    assert_int_equal(
        cwi_params_add(ctx, &model->params, "embeddings", USERS + ITEMS, WIDTH, &table), CW_OK);
    for (int64_t k = 0; k < (USERS + ITEMS) * WIDTH; k++) {
        random = random * 1664525u + 1013904223u;
        table->data[k] = (float)(random >> 8) / 16777216.0f - 0.5f;
    }
    for (int32_t k = 0; k < USERS * SEEN; k++) {
        row[k] = k / SEEN;
        item[k] = (k * 37) % ITEMS;
    }
    assert_int_equal(cwi_csr_create(ctx, row, item, USERS * SEEN, USERS, &model->seen), CW_OK);
    cwi_csr_sort(&model->seen);
    model->degree = cwi_alloc_zero(ctx, ITEMS, sizeof *model->degree);
    for (int32_t i = 0; i < ITEMS; i++) model->degree[i] = i % 7;
    assert_int_equal(cwi_idmap_number(ctx, USERS, &model->users), CW_OK);
    assert_int_equal(cwi_idmap_number(ctx, ITEMS, &model->items), CW_OK);
    return model;
}

static void lists_are_the_same_on_any_number_of_threads(void **state)
{
    place *p = *state;
    char *first = malloc(sizeof p->lists);
    uint64_t bits = 0;

    cw_model_free(p->model);
    p->model = make_large(p->l.ctx);
    write_file(p->folder, "out.txt", "1\n5\n77\n");
    char path[128];
    snprintf(path, sizeof path, "%s/out.txt", p->folder);
    set(p, "exclude", path);
    set(p, "popularity", "0.01");
    set(p, "k", "7");
    for (int threads = 1; threads <= 3; threads++) {
        assert_int_equal(cw_context_set_threads(p->l.ctx, threads), CW_OK);
        assert_int_equal(recommend(p, NULL, 0), CW_OK);
        assert_int_equal(p->n_lists, 700);
        if (threads == 1) {
            strcpy(first, p->lists);
            bits = p->bits;
        }
        assert_string_equal(p->lists, first);
        assert_true(p->bits == bits);
    }
    const char *last[] = {"699"};
    assert_int_equal(recommend(p, last, 1), CW_OK);
    assert_non_null(strstr(first, p->lists)); /* alone or in a block, the list is the same */
    free(first);
}

static bool stop(void *user, const char *stage, int64_t done, int64_t total)
{
    (void)user;
    (void)total;
    return strcmp(stage, "recommending") != 0 || done < 200;
}

static void progress_may_stop_it(void **state)
{
    place *p = *state;
    cw_model_free(p->model);
    p->model = make_large(p->l.ctx);
    assert_int_equal(cw_context_set_threads(p->l.ctx, 2), CW_OK);
    cw_context_set_progress(p->l.ctx, stop, NULL);
    assert_int_equal(recommend(p, NULL, 0), CW_CANCELLED);
    assert_string_equal(cw_context_error(p->l.ctx), "stopped while recommending");
}

static void allocation_failures_are_reported(void **state)
{
    place *p = *state;
    const char *ids[] = {"i1"};
    char path[128];
    hide_some(p);
    write_file(p->folder, "out.txt", "i3\n");
    snprintf(path, sizeof path, "%s/out.txt", p->folder);
    set(p, "exclude", path);
    set(p, "popularity", "1");
    assert_int_equal(cw_context_set_threads(p->l.ctx, 1), CW_OK);
    for (int which = 0; which < 3; which++) {
        cw_status status = CW_NO_MEMORY;
        for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
            cwi_mem_fail_at(p->l.ctx, nth);
            status = recommend_by(p, (kind)which, which == 0 ? NULL : ids, 1);
            cwi_mem_fail_at(p->l.ctx, 0);
        }
        assert_int_equal(status, CW_OK);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)
    const struct CMUnitTest tests[] = {
        TEST(users_get_unseen_items_best_first),
        TEST(all_users_come_in_order_and_lists_end_with_the_catalogue),
        TEST(a_file_of_items_is_left_out_for_everybody),
        TEST(hidden_items_are_left_out_like_seen_ones),
        TEST(hidden_items_of_guests_are_left_out),
        TEST(popularity_moves_the_ranking),
        TEST(numbers_and_ids_belong_together),
        TEST(options_of_another_stage_are_refused),
        TEST(similar_items_are_those_of_the_same_direction),
        TEST(fold_in_solves_the_regression),
        TEST(fold_in_does_not_depend_on_scale),
        TEST(history_items_are_left_out),
        TEST(what_a_model_cannot_do_is_said),
        TEST(lists_are_the_same_on_any_number_of_threads),
        TEST(progress_may_stop_it),
        TEST(allocation_failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_far.c - a model whose users' vectors stay in its file gives what one in memory gives. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alone.h"
#include "core/mem.h"
#include "evaluate/evaluate.h"
#include "model/model.h"
#include "testing.h"

enum { K = 7 };

typedef struct place {
    listener l;
    char folder[64], path[128], other[128];
    cw_dataset *data;
    cw_model *near, *far;
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    cw_options *simulate;
    listener_init(&p->l);
    make_scratch(p->folder);
    snprintf(p->path, sizeof p->path, "%s/model", p->folder);
    snprintf(p->other, sizeof p->other, "%s/other", p->folder);
    assert_int_equal(cw_options_create(p->l.ctx, "simulate", &simulate), CW_OK);
    assert_int_equal(cw_options_set(p->l.ctx, simulate, "users", "600"), CW_OK);
    assert_int_equal(cw_options_set(p->l.ctx, simulate, "items", "300"), CW_OK);
    assert_int_equal(cw_options_set(p->l.ctx, simulate, "relevant", "0.3"), CW_OK);
    assert_int_equal(cw_dataset_simulate(p->l.ctx, simulate, NULL, &p->data), CW_OK);
    cw_options_free(simulate);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    cw_dataset_free(p->data);
    remove_scratch(p->folder);
    listener_clear(&p->l);
    free(p);
    return 0;
}

/* Read the file as one of two processes does. */
static cw_status load_far(place *p, cw_model **out)
{
    cwi_world world = alone(0, 2);
    p->l.ctx->world = &world;
    cw_status status = cw_model_load(p->l.ctx, p->path, out);
    p->l.ctx->world = NULL;
    return status;
}

static bool add_terms(cw_model *model)
{
    model->term = malloc((size_t)model->n_items * sizeof *model->term);
    for (int32_t i = 0; model->term && i < model->n_items; i++) model->term[i] = (float)(i % 5) / 4;
    return model->term != NULL;
}

/* Train with what `words` say, and read the model both ways. */
static void make_models(place *p, const char *const (*words)[2], bool has_terms)
{
    cw_context *ctx = p->l.ctx;
    cw_options *options;
    cw_model *made;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "dim", "10"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "epochs", "1"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "epoch-steps", "20"), CW_OK);
    for (; (*words)[0]; words++)
        if (cw_options_set(ctx, options, (*words)[0], (*words)[1]) != CW_OK)
            fail_msg("%s", cw_context_error(ctx));
    if (cw_train(ctx, p->data, options, &made, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(ctx));
    if (has_terms) assert_true(add_terms(made));
    assert_int_equal(cw_model_save(ctx, made, p->path), CW_OK);
    cw_model_free(made);
    cw_options_free(options);
    assert_int_equal(cw_model_load(ctx, p->path, &p->near), CW_OK);
    if (load_far(p, &p->far) != CW_OK) fail_msg("%s", cw_context_error(ctx));
}

static void free_models(place *p)
{
    cw_model_free(p->near);
    cw_model_free(p->far);
}

/* ---- what is compared ---------------------------------------------------------------- */

typedef struct answer {
    int32_t items[8192], counts[1024];
    float scores[8192];
} answer;

/* Users in an order of their own, some of them twice. */
static size_t choose_users(const cw_model *model, int32_t *users)
{
    size_t n = 0;
    for (int32_t u = 0; u < 250; u++) users[n++] = u;
    for (int32_t u = model->n_users - 1; u > 3; u -= 3) users[n++] = u;
    return n;
}

static void ask(place *p, cw_model *model, int what, answer *out)
{
    int32_t users[1024], items[1024];
    cw_context *ctx = p->l.ctx;
    cw_recommender *rec;
    const cw_lists lists = {K, out->items, out->scores, out->counts};
    const cw_rules rules = {.dial = what == 1 ? 0.2 : 0, .diversity = what == 2 ? 0.4 : 0};
    size_t n = choose_users(model, users);
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < n; k++) items[k] = (int32_t)(k * 7) % model->n_items;
    assert_int_equal(cw_recommender_open(ctx, model, &rec), CW_OK);
    cw_status status = CW_OK;
    switch (what) {
    case 3: status = cw_similar_users(ctx, rec, users + 230, 40, &lists); break;
    case 4: status = cw_score_pairs(ctx, rec, users, items, n, out->scores); break;
    case 5: status = cw_recommend(ctx, rec, users + n - 3, 2, NULL, &lists); break;
    case 6: status = cw_recommend_history(ctx, rec, items, 4, NULL, &lists); break;
    default: status = cw_recommend(ctx, rec, users, n, &rules, &lists);
    }
    if (status != CW_OK) fail_msg("%d: %s", what, cw_context_error(ctx));
    cw_recommender_close(rec);
}

static char *evaluate(place *p, cw_model *model, const char *dial)
{
    cw_options *options;
    char *json = NULL;
    assert_int_equal(cw_options_create(p->l.ctx, "evaluate", &options), CW_OK);
    assert_int_equal(cw_options_set(p->l.ctx, options, "popularity-sweep", dial), CW_OK);
    if (cw_evaluate(p->l.ctx, p->data, model, options, &json) != CW_OK)
        fail_msg("%s", cw_context_error(p->l.ctx));
    cw_options_free(options);
    return json;
}

static void compare_evaluations(place *p)
{
    static const char *const dials[] = {"auto", "-1,0,0.5"};
    for (size_t d = 0; d < 2; d++) {
        char *one = evaluate(p, p->near, dials[d]), *other = evaluate(p, p->far, dials[d]);
        assert_string_equal(one, other);
        cw_text_free(one);
        cw_text_free(other);
    }
}

static void compare_files(const char *a, const char *b)
{
    char command[400];
    snprintf(command, sizeof command, "diff -r '%s' '%s'", a, b);
    assert_int_equal(system(command), 0);
}

/* What is written needs all rows after all. */
static void compare_written(place *p)
{
    char one[160], two[160];
    assert_int_equal(cw_model_save(p->l.ctx, p->far, p->other), CW_OK);
    compare_files(p->path, p->other);
    snprintf(one, sizeof one, "%s/one", p->folder);
    snprintf(two, sizeof two, "%s/two", p->folder);
    assert_int_equal(cw_model_export(p->l.ctx, p->near, one, true), CW_OK);
    assert_int_equal(cw_model_export(p->l.ctx, p->far, two, true), CW_OK);
    compare_files(one, two);
}

static void compare_all(place *p, bool is_far)
{
    static answer one, other;
    cw_tensor tensor;
    assert_int_equal(cw_model_tensor(p->far, 0, &tensor), !is_far);
    assert_string_equal(cw_model_checksum(p->near), cw_model_checksum(p->far));
    for (int what = 0; what < 7; what++) {
        ask(p, p->near, what, &one);
        ask(p, p->far, what, &other);
        if (memcmp(&one, &other, sizeof one) != 0) fail_msg("other answers to question %d", what);
    }
    compare_evaluations(p);
    compare_written(p);
}

static void answers_are_those_of_a_model_in_memory(void **state)
{
    place *p = *state;
    static const char *const plain[][2] = {{"method", "cpr"}, {NULL, NULL}};
    static const char *const heads[][2] = {{"method", "dice"}, {NULL, NULL}};
    static const char *const control[][2] = {{"method", "cause"}, {NULL, NULL}};
    static const char *const cosine[][2] = {
        {"method", "cross-softmax"}, {"scorer", "cosine"}, {"temperature", "0.2"}, {NULL, NULL}};
    static const char *const graph[][2] = {
        {"method", "bpr"}, {"backbone", "lightgcn"}, {"layers", "2"}, {"dim", "37"}, {NULL, NULL}};
    static const char *const heads_graph[][2] = {
        {"method", "dice"}, {"backbone", "lightgcn"}, {"layers", "3"}, {"dim", "38"}, {NULL, NULL}};
    static const char *const cosine_graph[][2] = {{"method", "cross-softmax"},
                                                  {"backbone", "lightgcn"},
                                                  {"scorer", "cosine"},
                                                  {"layers", "1"},
                                                  {NULL, NULL}};
    static const char *const flat_graph[][2] = {
        {"method", "bpr"}, {"backbone", "lightgcn"}, {"layers", "0"}, {NULL, NULL}};
    static const char *const net[][2] = {{"method", "bpr"}, {"backbone", "ngcf"}, {NULL, NULL}};
    const struct {
        const char *const (*words)[2];
        bool has_terms, is_far;
    } trial[] = {{plain, false, true},      {plain, true, true},       {heads, false, true},
                 {control, true, true},     {cosine, false, true},     {cosine, true, true},
                 {graph, false, true},      {heads_graph, true, true}, {cosine_graph, false, true},
                 {flat_graph, false, true}, {net, false, false}};
    for (size_t k = 0; k < sizeof trial / sizeof trial[0]; k++) {
        make_models(p, trial[k].words, trial[k].has_terms);
        compare_all(p, trial[k].is_far);
        free_models(p);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------ */

static cw_status list_some(place *p)
{
    int32_t users[] = {5, 6, 7, 300}, items[4 * K];
    const cw_lists lists = {.k = K, .items = items};
    cw_model *model = NULL;
    cw_recommender *rec = NULL;
    cw_status status = load_far(p, &model);
    if (status == CW_OK) status = cw_recommender_open(p->l.ctx, model, &rec);
    if (status == CW_OK) status = cw_recommend(p->l.ctx, rec, users, 4, NULL, &lists);
    cw_recommender_close(rec);
    cw_model_free(model);
    return status;
}

static void miss_every_block(place *p, const char *const (*words)[2])
{
    cw_status status = CW_NO_MEMORY;
    make_models(p, words, true);
    assert_int_equal(cw_context_set_threads(p->l.ctx, 1), CW_OK);
    assert_int_equal(list_some(p), CW_OK);
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cwi_mem_fail_at(p->l.ctx, nth);
        status = list_some(p);
        if (status != CW_OK) assert_non_null(strstr(cw_context_error(p->l.ctx), "out of memory"));
        assert_in_range(nth, 1, 2000);
    }
    cwi_mem_fail_at(p->l.ctx, 0);
    if (status != CW_OK) fail_msg("%s", cw_context_error(p->l.ctx));
    free_models(p);
}

static void every_missing_block_of_memory_is_told(void **state)
{
    static const char *const cosine[][2] = {
        {"method", "cross-softmax"}, {"scorer", "cosine"}, {NULL, NULL}};
    static const char *const graph[][2] = {
        {"method", "bpr"}, {"backbone", "lightgcn"}, {"dim", "20"}, {NULL, NULL}};
    miss_every_block(*state, cosine);
    miss_every_block(*state, graph);
}

/* Vectors of a graph go to a file of their own. */
static void no_place_for_vectors_is_told(void **state)
{
    place *p = *state;
    static const char *const words[][2] = {
        {"method", "bpr"}, {"backbone", "lightgcn"}, {NULL, NULL}};
    char nowhere[] = "/no/such/folder", *folder = p->l.ctx->room.folder;
    struct rlimit before, little = {.rlim_cur = 4096};
    make_models(p, words, false);
    p->l.ctx->room.folder = nowhere;
    assert_int_equal(list_some(p), CW_IO);
    assert_string_equal(cw_context_error(p->l.ctx), "cannot make a file for vectors in "
                                                    "/no/such/folder: No such file or directory");
    p->l.ctx->room.folder = p->folder;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    cw_status status = list_some(p);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, CW_IO);
    assert_non_null(strstr(cw_context_error(p->l.ctx), ": File too large"));
    assert_int_equal(list_some(p), CW_OK);
    p->l.ctx->room.folder = folder;
    free_models(p);
}

/* The file changes while its rows are still wanted. */
static void a_file_that_changes_is_told(void **state)
{
    place *p = *state;
    static const char *const words[][2] = {{"method", "bpr"}, {NULL, NULL}};
    int32_t user = 3, items[K];
    const float no_number = NAN;
    const cw_lists lists = {.k = K, .items = items};
    cw_recommender *rec;
    make_models(p, words, false);
    assert_int_equal(cw_recommender_open(p->l.ctx, p->far, &rec), CW_OK);
    FILE *file = fopen(p->path, "r+b");
    assert_int_equal(fseek(file, (long)p->far->params.tensor[0].far->at + 3 * 40, SEEK_SET), 0);
    assert_int_equal(fwrite(&no_number, sizeof no_number, 1, file), 1);
    fclose(file);
    assert_int_equal(cw_recommend(p->l.ctx, rec, &user, 1, NULL, &lists), CW_BAD_DATA);
    assert_non_null(
        strstr(cw_context_error(p->l.ctx), "model: embeddings has a number that is not finite"));
    assert_int_equal(truncate(p->path, 100), 0);
    assert_int_equal(cw_recommend(p->l.ctx, rec, &user, 1, NULL, &lists), CW_IO);
    assert_non_null(strstr(cw_context_error(p->l.ctx), "model: the file ends early"));
    cw_recommender_close(rec);
    free_models(p);
}

/* What is wrong with a file is told in the same words, whatever is read of it. */
static void damage_is_told_alike(void **state)
{
    place *p = *state;
    static const char *const words[][2] = {{"method", "bpr"}, {NULL, NULL}};
    char text[1024];
    cw_model *model;
    make_models(p, words, false);
    for (long at = 0; at < 4000; at += at < 60 ? 1 : 97) {
        FILE *file = fopen(p->path, "r+b");
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        int byte = fgetc(file);
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        fputc(byte ^ 0x55, file);
        fclose(file);
        cw_status one = cw_model_load(p->l.ctx, p->path, &model);
        snprintf(text, sizeof text, "%s", cw_context_error(p->l.ctx));
        assert_int_equal(load_far(p, &model), one);
        assert_string_equal(cw_context_error(p->l.ctx), text);
        assert_int_not_equal(one, CW_OK);
        file = fopen(p->path, "r+b");
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        fputc(byte, file);
        fclose(file);
    }
    for (int length = 0; length < 300; length += 7) {
        assert_int_equal(truncate(p->path, 300 - length), 0);
        cw_status one = cw_model_load(p->l.ctx, p->path, &model);
        snprintf(text, sizeof text, "%s", cw_context_error(p->l.ctx));
        assert_int_equal(load_far(p, &model), one);
        assert_string_equal(cw_context_error(p->l.ctx), text);
    }
    free_models(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_those_of_a_model_in_memory, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(every_missing_block_of_memory_is_told, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(no_place_for_vectors_is_told, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_file_that_changes_is_told, open_place, close_place),
        cmocka_unit_test_setup_teardown(damage_is_told_alike, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_fault.c - every public call survives each allocation failing in turn.
 *
 * The program replaces malloc, so that allocations of the libraries below (JSON, zlib, zstd, the C
 * library) fail too.  Under a sanitizer, which has a malloc of its own, the library's hook serves.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "arrow_sample.h"
#include "core/mem.h"
#include "model_sample.h"
#include "results_sample.h"
#include "testing.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#elif defined(__has_feature)
#define OWN_MALLOC (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define OWN_MALLOC 1
#endif

#if OWN_MALLOC
static atomic_long left; /* allocations until one fails; 0 is never */
static atomic_bool has_failed;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

/* Symbols are hidden by default, and the libraries would not find these. */
#define EVERYWHERE __attribute__((visibility("default")))

static bool must_fail(void)
{
    if (atomic_load(&left) <= 0 || atomic_fetch_sub(&left, 1) != 1) return false;
    atomic_store(&has_failed, true);
    errno = ENOMEM;
    return true;
}

EVERYWHERE void *malloc(size_t bytes)
{
    return must_fail() ? NULL : __libc_malloc(bytes);
}

EVERYWHERE void *calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __libc_calloc(count, size);
}

EVERYWHERE void *realloc(void *block, size_t bytes)
{
    return must_fail() ? NULL : __libc_realloc(block, bytes);
}

EVERYWHERE void *aligned_alloc(size_t alignment, size_t bytes)
{
    return must_fail() ? NULL : __libc_memalign(alignment, bytes);
}

EVERYWHERE void free(void *block)
{
    __libc_free(block);
}

/* librsvg, and GLib below it, end the process when they find no memory: not for us to mend. */
EVERYWHERE void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}

static void arm(cw_context *ctx, long nth)
{
    (void)ctx;
    atomic_store(&has_failed, false);
    atomic_store(&left, nth);
}

static bool disarm(cw_context *ctx)
{
    (void)ctx;
    atomic_store(&left, 0);
    return atomic_load(&has_failed);
}
#else
static void arm(cw_context *ctx, long nth)
{
    cwi_mem_fail_at(ctx, nth);
}

static bool disarm(cw_context *ctx)
{
    bool failed = atomic_load(&ctx->fail_at) <= 0;
    cwi_mem_fail_at(ctx, 0);
    return failed;
}
#endif

/* Memory is what is tried here; waiting for the disk would take most of the time. */
int fsync(int file)
{
    (void)file;
    return 0;
}

/* One thing to do with the library; everything it made is freed again. */
typedef cw_status (*scenario)(cw_context *ctx, const char *folder);

/* What a scenario says, NULL: not known yet.  When it succeeds although an allocation has failed,
 * it must say the same. */
static char *expected;

static void say(const char *text)
{
    if (!expected)
        expected = strdup(text);
    else if (strcmp(expected, text) != 0)
        fail_msg("it says: %s\nand not: %s", text, expected);
}

static void say_file(const char *path)
{
    char text[1 << 16];
    int file = open(path, O_RDONLY); /* without allocations of its own */
    ssize_t length = read(file, text, sizeof text - 1);
    assert_true(length >= 0);
    close(file);
    text[length] = '\0';
    say(text);
}

static void expect_what_is_said(scenario run, const char *folder)
{
    cw_context *ctx;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    assert_int_equal(cw_context_set_threads(ctx, 1), CW_OK);
    if (run(ctx, folder) != CW_OK) fail_msg("%s", cw_context_error(ctx));
    cw_context_free(ctx);
}

/* Without memory a folder under construction may stay; in its way the next attempt would need more
 * allocations than this one. */
static void remove_leftovers(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    char command[512];
    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (!strstr(entry->d_name, ".partial-")) continue;
        snprintf(command, sizeof command, "rm -rf '%s/%s'", folder, entry->d_name);
        assert_int_equal(system(command), 0);
    }
    closedir(entries);
}

/* Let allocation 1, 2, 3, ... fail until the scenario needs no more of them; from the thousandth
 * on only every stride-th, where there are many alike. */
static void exhaust(scenario run, const char *folder, long stride, bool is_first)
{
    long nth = 0;
    bool failed = true;
    free(expected);
    expected = NULL;
    if (is_first) expect_what_is_said(run, folder);
    while (failed) {
        cw_context *ctx;
        nth += nth < 1000 ? 1 : stride;
        assert_true(nth < 100000);
        assert_int_equal(cw_context_create(&ctx), CW_OK);
        assert_int_equal(cw_context_set_threads(ctx, 1), CW_OK);
        arm(ctx, nth);
        cw_status status = run(ctx, folder);
        failed = disarm(ctx);
        if (status != CW_OK) {
            const char *error = cw_context_error(ctx);
            if (!failed || (!strstr(error, "memory") && status != CW_NO_MEMORY) ||
                strstr(error, "damaged") || strstr(error, "no JSON"))
                fail_msg("allocation %ld: status %d, '%s'", nth, (int)status, error);
        }
        cw_context_free(ctx);
        remove_leftovers(folder);
    }
    print_message("%ld allocations failed in turn\n", nth - 1);
}

static const char *paths_of(const char *folder, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static cw_status import_and_prepare(cw_context *ctx, const char *input, const char *split,
                                    cw_dataset **out)
{
    cw_interactions *rows = NULL;
    cw_options *options = NULL;
    *out = NULL;
    cw_status status = cw_import(ctx, &input, 1, NULL, &rows);
    if (status == CW_OK) status = cw_options_create(ctx, "prepare", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "core", "1");
    if (status == CW_OK) status = cw_options_set(ctx, options, "split", split);
    if (status == CW_OK) status = cw_options_set(ctx, options, "max-users", "4");
    if (status == CW_OK) status = cw_dataset_prepare(ctx, rows, options, out);
    cw_options_free(options);
    cw_interactions_free(rows);
    return status;
}

static cw_status prepare_each_way(cw_context *ctx, const char *folder)
{
    static const char *const ways[] = {"debiased", "compat", "random", "leave-last", "by-time"};
    char path[128];
    cw_status status = CW_OK;
    for (size_t w = 0; w < 5 && status == CW_OK; w++) {
        cw_dataset *d;
        status = import_and_prepare(ctx, paths_of(folder, "log.csv", path), ways[w], &d);
        cw_dataset_free(d);
    }
    return status;
}

/* Rows in files. */
static cw_status prepare_in_files(cw_context *ctx, const char *folder)
{
    static const char *const ways[] = {"debiased", "leave-last", "by-time"};
    char input[128], out[128], *json = NULL;
    cw_status status = cw_context_set_memory(ctx, 0, folder);
    paths_of(folder, "log.csv", input);
    for (size_t w = 0; w < 3 && status == CW_OK; w++) {
        cw_dataset *d;
        status = import_and_prepare(ctx, input, ways[w], &d);
        if (status == CW_OK) status = cw_dataset_save(ctx, d, paths_of(folder, "filed", out), true);
        if (status == CW_OK) status = cw_dataset_describe(ctx, d, &json);
        if (status == CW_OK && w == 2) say(json);
        cw_text_free(json);
        json = NULL;
        cw_dataset_free(d);
    }
    return status;
}

static cw_status import_each_format(cw_context *ctx, const char *folder)
{
    static const char *const names[] = {"log.csv.gz", "lists.txt", "x.inter", "netflix", "split"};
    char path[128];
    cw_status status = CW_OK;
    for (size_t n = 0; n < 5 && status == CW_OK; n++) {
        cw_interactions *rows;
        const char *input = paths_of(folder, names[n], path);
        status = cw_import(ctx, &input, 1, NULL, &rows);
        cw_interactions_free(rows);
    }
    return status;
}

static cw_status save_load_describe(cw_context *ctx, const char *folder)
{
    cw_dataset *d, *back = NULL;
    char input[128], out[128], *json = NULL;
    paths_of(folder, "out", out);
    cw_status status = import_and_prepare(ctx, paths_of(folder, "log.csv", input), "random", &d);
    if (status == CW_OK) status = cw_dataset_save(ctx, d, out, true);
    if (status == CW_OK) status = cw_dataset_load(ctx, out, &back);
    if (status == CW_OK) status = cw_dataset_describe(ctx, back, &json);
    if (status == CW_OK) say(json);
    if (status == CW_OK) status = cw_dataset_skew(ctx, out, NULL, true, NULL);
    cw_text_free(json);
    cw_dataset_free(back);
    cw_dataset_free(d);
    return status;
}

static cw_status simulate(cw_context *ctx, const char *folder)
{
    static const char *const settings[][2] = {
        {"users", "20"},     {"items", "10"},       {"interactions", "30"}, {"dim", "2"},
        {"relevant", "0.5"}, {"popularity", "0.5"}, {"uniform-test", "3"}};
    cw_dataset *d = NULL, *back = NULL;
    cw_options *options = NULL, *split = NULL;
    char out[128];
    cw_status status = cw_options_create(ctx, "simulate", &options);
    for (size_t s = 0; s < 7 && status == CW_OK; s++)
        status = cw_options_set(ctx, options, settings[s][0], settings[s][1]);
    if (status == CW_OK) status = cw_options_create(ctx, "prepare", &split);
    if (status == CW_OK) status = cw_options_set(ctx, split, "core", "1");
    if (status == CW_OK) status = cw_dataset_simulate(ctx, options, split, &d);
    if (status == CW_OK) status = cw_dataset_save(ctx, d, paths_of(folder, "sim", out), true);
    if (status == CW_OK) status = cw_dataset_load(ctx, out, &back);
    cw_dataset_free(back);
    cw_dataset_free(d);
    cw_options_free(split);
    cw_options_free(options);
    return status;
}

/* What everybody likes, measured in every way. */
static cw_status evaluate(cw_context *ctx, const char *folder)
{
    static const char *const settings[][2] = {
        {"k", "3,5"}, {"bootstrap", "5"}, {"popularity-sweep", "auto"}, {"mask-valid", "on"}};
    cw_dataset *d = NULL;
    cw_model *model = NULL;
    cw_options *train = NULL, *options = NULL;
    char path[128], *json = NULL;
    cw_status status = cw_dataset_load(ctx, paths_of(folder, "sim", path), &d);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &train);
    if (status == CW_OK) status = cw_options_set(ctx, train, "preset", "paper");
    if (status == CW_OK) status = cw_options_set(ctx, train, "method", "pop");
    if (status == CW_OK) status = cw_train(ctx, d, train, &model, NULL);
    if (status == CW_OK) status = cw_options_create(ctx, "evaluate", &options);
    for (size_t s = 0; s < 4 && status == CW_OK; s++)
        status = cw_options_set(ctx, options, settings[s][0], settings[s][1]);
    if (status == CW_OK) status = cw_evaluate(ctx, d, model, options, &json);
    if (status == CW_OK) say(json);
    cw_text_free(json);
    cw_options_free(options);
    cw_model_free(model);
    cw_options_free(train);
    cw_dataset_free(d);
    return status;
}

static cw_status from_arrays(cw_context *ctx, const char *folder)
{
    const int64_t id[] = {1, 2, 3, 1};
    const double time[] = {1, 2, 3, 4};
    cw_interactions *rows;
    (void)folder;
    cw_status status = cw_interactions_create(ctx, id, id, time, 4, &rows);
    cw_interactions_free(rows);
    return status;
}

/* Tables in memory of each kind, and a dataset of one. */
static cw_status from_tables(cw_context *ctx, const char *folder)
{
    static const char *const text[] = {"ann", "bob", "cy", "ann"};
    static const int64_t id[] = {1, 2, 3, 2};
    static const int32_t offsets[] = {0, 3, 6, 8}, start[] = {0, 2, 3}, item[] = {1, 0, 1};
    const cw_arrays arrays = {.n = 4, .user = text, .item_number = id};
    const cw_matrix matrix = {2, 3, 4, start, item};
    sample_stream sample = {.n_columns = 0};
    cw_interactions *rows = NULL;
    cw_dataset *dataset = NULL;
    (void)folder;
    sample_fill(&sample, 0, 0, "user", "u", 3, offsets, "annbobcy");
    sample_fill(&sample, 1, 0, "item", "l", 3, id, NULL);
    struct ArrowArrayStream *stream = sample_open(&sample);
    cw_status status = cw_import_arrow(ctx, &stream, NULL, 1, NULL, &rows);
    assert_int_equal(sample.given, sample.released);
    cw_interactions_free(rows);
    rows = NULL;
    if (status == CW_OK) status = cw_import_arrays(ctx, &arrays, NULL, &rows);
    cw_interactions_free(rows);
    rows = NULL;
    if (status == CW_OK) status = cw_import_matrix(ctx, &matrix, 1, &rows);
    if (status == CW_OK) status = cw_dataset_prepare(ctx, rows, NULL, &dataset);
    cw_dataset_free(dataset);
    cw_interactions_free(rows);
    return status;
}

static cw_status report_page(cw_context *ctx, const char *folder)
{
    static const char json[] =
        "{\"title\": \"t\", \"lead\": \"l\", \"sections\": [{\"heading\": \"h\", \"table\":"
        " {\"columns\": [\"a\"], \"rows\": [[1]]}, \"chart\": {\"kind\": \"bar\", \"x\": [1],"
        " \"series\": [{\"name\": \"s\", \"values\": [0.5]}]}}]}";
    char out[128];
    cw_status status = cw_report_page(ctx, json, paths_of(folder, "page.html", out));
    if (status == CW_OK) say_file(out);
    return status;
}

static cw_status report_experiment(cw_context *ctx, const char *folder)
{
    char results[128], out[128];
    cw_status status = cw_report_experiment(ctx, paths_of(folder, "results", results),
                                            paths_of(folder, "report", out), true);
    if (status == CW_OK) say_file(paths_of(folder, "report/report.html", out));
    return status;
}

/* Lists of rows of items that come with the question, and users who have them from now on. */
static cw_status ask_for_rows(cw_context *ctx, const cw_recommender *rec)
{
    static const int32_t users[] = {1, 6}, own[] = {2, 0, 3};
    static const int64_t start[] = {0, 2, 3};
    const cw_rules rules = {.own_start = start, .own = own};
    int32_t items[4];
    const cw_lists lists = {.k = 2, .items = items};
    cw_model *model = NULL;
    cw_status status = cw_recommend(ctx, rec, own, 2, &rules, &lists);
    if (status == CW_OK) status = cw_recommend_histories(ctx, rec, start, own, 2, NULL, &lists);
    if (status == CW_OK) status = cw_model_fold_users(ctx, rec, users, start, own, 2, &model);
    cw_model_free(model);
    return status;
}

/* Every question that a model can be asked. */
static cw_status ask(cw_context *ctx, cw_model *model, const cw_rules *rules, int32_t item[4][8],
                     float score[4][8])
{
    static const int32_t who[] = {0, 1, 2, 3}, history[] = {2, 0};
    cw_lists lists[4];
    float pairs[4];
    cw_recommender *rec = NULL;
    for (int q = 0; q < 4; q++) lists[q] = (cw_lists){2, item[q], score[q], NULL};
    cw_status status = cw_recommender_open(ctx, model, &rec);
    if (status == CW_OK) status = cw_recommend(ctx, rec, who, 4, rules, &lists[0]);
    for (int twice = 0; twice < 2 && status == CW_OK; twice++)
        status = cw_recommend_history(ctx, rec, history, 2, rules, &lists[1]);
    if (status == CW_OK) status = cw_similar_items(ctx, rec, who, 4, NULL, &lists[2]);
    if (status == CW_OK) status = cw_similar_users(ctx, rec, who, 4, &lists[3]);
    if (status == CW_OK) status = cw_score_pairs(ctx, rec, who, who, 4, pairs);
    if (status == CW_OK) status = cw_recommend_more(ctx, rec, 1, history, 2, rules, &lists[1]);
    if (status == CW_OK) status = cw_popular(ctx, rec, rules, &lists[0]);
    if (status == CW_OK) status = cw_explain(ctx, rec, history, 2, 3, pairs, NULL);
    if (status == CW_OK) status = ask_for_rows(ctx, rec);
    cw_recommender_close(rec);
    return status;
}

static cw_status ask_model(cw_context *ctx, const char *folder)
{
    int32_t item[4][8] = {{0}};
    float score[4][8] = {{0}};
    char path[128], text[1024] = "";
    cw_model *model = NULL;
    cw_rules *rules = NULL;
    cw_options *options = NULL;
    cw_status status = cw_model_load(ctx, paths_of(folder, "m.safetensors", path), &model);
    if (status == CW_OK) status = cw_options_create(ctx, "recommend", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "popularity", "0.5");
    if (status == CW_OK)
        status = cw_options_set(ctx, options, "exclude", paths_of(folder, "exclude.txt", path));
    if (status == CW_OK)
        status = cw_options_set(ctx, options, "only", paths_of(folder, "only.txt", path));
    if (status == CW_OK)
        status = cw_options_set(ctx, options, "boost", paths_of(folder, "boost.txt", path));
    if (status == CW_OK) status = cw_options_set(ctx, options, "diversity", "0.3");
    if (status == CW_OK) status = cw_rules_create(ctx, model, options, &rules);
    if (status == CW_OK) status = ask(ctx, model, rules, item, score);
    for (int k = 0; k < 32; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d %g ", (int)item[k / 8][k % 8],
                 (double)score[k / 8][k % 8]);
    if (status == CW_OK) say(text);
    cw_rules_free(rules);
    cw_options_free(options);
    cw_model_free(model);
    return status;
}

/* A list for somebody new who liked the first items. */
static cw_status ask_newcomer(cw_context *ctx, cw_model *model, size_t n_liked)
{
    static const int32_t liked[] = {0, 1};
    int32_t item;
    cw_recommender *rec = NULL;
    cw_status status = cw_recommender_open(ctx, model, &rec);
    if (status == CW_OK)
        status = cw_recommend_history(ctx, rec, liked, n_liked, NULL,
                                      &(cw_lists){.k = 1, .items = &item});
    cw_recommender_close(rec);
    return status;
}

/* A model and a record over those that are there. */
static cw_status save_run(cw_context *ctx, const cw_model *model, const char *folder)
{
    static const char run[] = "{\"method\": \"cpr\", \"backbone\": \"mf\", \"options\": {}}";
    char out[128], record[128], none[128];
    const char *outputs[] = {paths_of(folder, "n", out), paths_of(folder, "n.run.json", record)};
    cw_status status = cw_output_compare(ctx, outputs, 2, &folder, 1);
    if (status == CW_OK) status = cw_output_check(ctx, CW_OUTPUT_MODEL, out, false);
    if (status == CW_OK)
        status = cw_output_check(ctx, CW_OUTPUT_DATASET, paths_of(folder, "nowhere", none), false);
    if (status == CW_OK) status = cw_model_save_run(ctx, model, out, run, record, false);
    return status;
}

static cw_status simulate_in_files(cw_context *ctx, const char *folder)
{
    cw_status status = cw_context_set_memory(ctx, 0, folder);
    return status == CW_OK ? simulate(ctx, folder) : status;
}

static cw_status use_model(cw_context *ctx, const char *folder)
{
    char path[128], out[128], *json = NULL;
    cw_model *model = NULL;
    cw_status status = cw_model_load(ctx, paths_of(folder, "m.safetensors", path), &model);
    if (status == CW_OK) status = cw_model_info(ctx, model, &json);
    if (status == CW_OK) say(json);
    if (status == CW_OK) status = cw_model_save(ctx, model, paths_of(folder, "n", out));
    if (status == CW_OK) status = save_run(ctx, model, folder);
    if (status == CW_OK) status = cw_model_export(ctx, model, paths_of(folder, "e", out), true);
    cw_text_free(json);
    cw_model_free(model);
    return status;
}

static void write_model(const char *folder)
{
    char path[128];
    cw_context *ctx;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    cw_model *model = make_sample(ctx);
    assert_int_equal(cw_model_save(ctx, model, paths_of(folder, "m.safetensors", path)), CW_OK);
    cw_model_free(model);
    cw_context_free(ctx);
    write_file(folder, "exclude.txt", "i1\n");
    write_file(folder, "only.txt", "i0\ni2\ni3\n");
    write_file(folder, "boost.txt", "i2\t0.5\n");
}

/* Options of a stage with a random bucket. */
static cw_status bucket_options(cw_context *ctx, const char *stage, const char *folder,
                                const char *const (*settings)[2], size_t n, cw_options **out)
{
    char path[128];
    cw_status status = cw_options_create(ctx, stage, out);
    for (size_t s = 0; s < n && status == CW_OK; s++)
        status = cw_options_set(ctx, *out, settings[s][0], settings[s][1]);
    if (status == CW_OK)
        status = cw_options_set(ctx, *out, "bucket", paths_of(folder, "bucket.csv", path));
    return status;
}

/* A bucket that is learnt from, twice: with a refit and a file, and by a race. */
static cw_status learn(cw_context *ctx, const char *folder)
{
    static const char *const once[][2] = {{"preset", "paper"}, {"method", "bpr"}, {"dim", "2"},
                                          {"epochs", "1"},     {"batch", "4"},    {"refit", "on"}};
    static const char *const raced[][2] = {{"trials", "3"},
                                           {"backbones", "mf"},
                                           {"set", "dim=2,epochs=2,batch=4,epoch-steps=2"},
                                           {"anew", "on"},
                                           {"refit", "on"}};
    char path[128], *run = NULL, *json = NULL;
    cw_dataset *d = NULL;
    cw_model *model = NULL;
    cw_options *options = NULL;
    cw_status status = cw_dataset_load(ctx, paths_of(folder, "wide", path), &d);
    if (status == CW_OK) status = bucket_options(ctx, "train", folder, once, 6, &options);
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, &run);
    paths_of(folder, "learnt.safetensors", path);
    if (status == CW_OK) status = cw_model_save_run(ctx, model, path, NULL, NULL, true);
    cw_model_free(model);
    model = NULL;
    if (status == CW_OK) status = cw_model_load(ctx, path, &model);
    if (status == CW_OK) status = ask_newcomer(ctx, model, 1);
    cw_model_free(model);
    cw_options_free(options);
    cw_text_free(run);
    model = NULL;
    options = NULL;
    if (status == CW_OK) status = bucket_options(ctx, "tune", folder, raced, 5, &options);
    paths_of(folder, "race", path);
    if (status == CW_OK) status = cw_tune(ctx, d, options, path, &model, NULL, &json);
    if (status == CW_OK) say(model->about);
    cw_text_free(json);
    cw_model_free(model);
    cw_options_free(options);
    cw_dataset_free(d);
    return status;
}

static const char *const two_epochs[][2] = {
    {"dim", "4"}, {"batch", "2"}, {"epochs", "2"}, {"eval-every", "1"}, {"checkpoint-every", "1"}};

/* Two epochs of a method on a backbone with one option of its own. */
static cw_status train_pair(cw_context *ctx, const cw_dataset *d, const char *method,
                            const char *backbone, const char *name, const char *value)
{
    cw_model *model = NULL;
    cw_options *options = NULL;
    cw_status status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "preset", "paper");
    for (size_t s = 0; s < 5 && status == CW_OK; s++)
        status = cw_options_set(ctx, options, two_epochs[s][0], two_epochs[s][1]);
    if (status == CW_OK) status = cw_options_set(ctx, options, "method", method);
    if (status == CW_OK) status = cw_options_set(ctx, options, "backbone", backbone);
    if (status == CW_OK) status = cw_options_set(ctx, options, name, value);
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
    cw_model_free(model);
    cw_options_free(options);
    return status;
}

/* Two epochs with a checkpoint after each, then on from it, on the graph, by other methods, one of
 * them with a file of its own. */
static cw_status train(cw_context *ctx, const char *folder)
{
    char input[128], checkpoint[128], treatment[128], *run = NULL;
    cw_dataset *d = NULL;
    cw_model *model = NULL;
    cw_options *options = NULL;
    paths_of(folder, "treatment.csv", treatment);
    (void)unlink(paths_of(folder, "checkpoint", checkpoint));
    cw_status status = import_and_prepare(ctx, paths_of(folder, "log.csv", input), "random", &d);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "preset", "paper");
    for (size_t s = 0; s < 5 && status == CW_OK; s++)
        status = cw_options_set(ctx, options, two_epochs[s][0], two_epochs[s][1]);
    if (status == CW_OK) status = cw_options_set(ctx, options, "checkpoint", checkpoint);
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
    cw_model_free(model);
    model = NULL;
    if (status == CW_OK) status = cw_options_set(ctx, options, "resume", "on");
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, &run);
    if (status == CW_OK) say(model->about);
    if (status == CW_OK) status = train_pair(ctx, d, "cpr", "lightgcn", "cycle", "2");
    if (status == CW_OK) status = train_pair(ctx, d, "cpr", "neumf", "hidden", "4,2");
    if (status == CW_OK) status = train_pair(ctx, d, "dice", "lightgcn", "dis", "mse");
    if (status == CW_OK) status = train_pair(ctx, d, "dice", "lightgcn", "dis", "dcor");
    if (status == CW_OK) status = train_pair(ctx, d, "cause", "mf", "neg", "2");
    if (status == CW_OK) status = train_pair(ctx, d, "cause", "mf", "treatment", treatment);
    cw_text_free(run);
    cw_model_free(model);
    cw_options_free(options);
    cw_dataset_free(d);
    return status;
}

/* The methods that use propensities, with those of a file. */
static cw_status train_with_propensities(cw_context *ctx, const char *folder)
{
    static const char *const methods[] = {"ubpr", "rel-mf"};
    static const char *const settings[][2] = {
        {"dim", "4"}, {"batch", "2"}, {"epochs", "1"}, {"eval-every", "0"}};
    char path[128];
    cw_dataset *d = NULL;
    cw_options *options = NULL;
    cw_status status = cw_dataset_load(ctx, paths_of(folder, "split", path), &d);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "preset", "paper");
    for (size_t s = 0; s < 4 && status == CW_OK; s++)
        status = cw_options_set(ctx, options, settings[s][0], settings[s][1]);
    if (status == CW_OK)
        status = cw_options_set(ctx, options, "propensity", paths_of(folder, "p.csv", path));
    for (size_t m = 0; m < 2 && status == CW_OK; m++) {
        cw_model *model = NULL;
        status = cw_options_set(ctx, options, "method", methods[m]);
        if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
        cw_model_free(model);
    }
    cw_options_free(options);
    cw_dataset_free(d);
    return status;
}

/* The autoencoder, and what a model of it is used for. */
static cw_status train_vae(cw_context *ctx, const char *folder)
{
    static const char *const settings[][2] = {{"method", "mult-vae"},
                                              {"vae-sizes", "2,3"},
                                              {"batch", "3"},
                                              {"epochs", "2"},
                                              {"eval-every", "1"}};
    char input[128], out[128];
    cw_dataset *d = NULL;
    cw_model *model = NULL;
    cw_options *options = NULL;
    cw_status status = import_and_prepare(ctx, paths_of(folder, "log.csv", input), "random", &d);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "preset", "paper");
    for (size_t s = 0; s < 5 && status == CW_OK; s++)
        status = cw_options_set(ctx, options, settings[s][0], settings[s][1]);
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
    if (status == CW_OK) status = ask_newcomer(ctx, model, 2);
    if (status == CW_OK) status = cw_model_export(ctx, model, paths_of(folder, "v", out), true);
    cw_model_free(model);
    cw_options_free(options);
    cw_dataset_free(d);
    return status;
}

/* Models of the whole matrix, and what they are used for. */
static cw_status train_baselines(cw_context *ctx, const char *folder)
{
    static const char *const methods[] = {"ease", "itemknn", "ials"};
    char input[128], out[128];
    cw_dataset *d = NULL;
    cw_options *options = NULL;
    cw_status status = import_and_prepare(ctx, paths_of(folder, "log.csv", input), "random", &d);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "dim", "2");
    if (status == CW_OK) status = cw_options_set(ctx, options, "epochs", "2");
    for (size_t m = 0; m < 3 && status == CW_OK; m++) {
        cw_model *model = NULL;
        status = cw_options_set(ctx, options, "method", methods[m]);
        if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
        if (status == CW_OK) status = ask_newcomer(ctx, model, 2);
        if (status == CW_OK) status = cw_model_export(ctx, model, paths_of(folder, "b", out), true);
        cw_model_free(model);
    }
    cw_options_free(options);
    cw_dataset_free(d);
    return status;
}

/* Rows of a log that are rated 4 or 5. */
static cw_status import_liked(cw_context *ctx, const char *input, cw_interactions **out)
{
    cw_options *options = NULL;
    *out = NULL;
    cw_status status = cw_options_create(ctx, "import", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "min-rating", "4");
    if (status == CW_OK) status = cw_import(ctx, &input, 1, options, out);
    cw_options_free(options);
    return status;
}

/* Lists without what was rated low, from the log to a model that goes on with another. */
static cw_status hide_rows(cw_context *ctx, const char *folder)
{
    static const int32_t who[] = {0, 1, 2};
    char path[128];
    int32_t item[3] = {0};
    cw_interactions *rows = NULL, *more = NULL;
    cw_options *options = NULL;
    cw_dataset *d = NULL;
    cw_model *model = NULL, *now = NULL;
    cw_recommender *rec = NULL;
    cw_status status = import_liked(ctx, paths_of(folder, "rated.csv", path), &rows);
    if (status == CW_OK) status = import_liked(ctx, paths_of(folder, "more.csv", path), &more);
    if (status == CW_OK) status = cw_options_create(ctx, "prepare", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "core", "1");
    if (status == CW_OK) status = cw_dataset_prepare(ctx, rows, options, &d);
    cw_options_free(options);
    options = NULL;
    if (status == CW_OK) status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "method", "pop");
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
    if (status == CW_OK) status = cw_update(ctx, model, more, NULL, &now, NULL);
    if (status == CW_OK) status = cw_model_save(ctx, now, paths_of(folder, "h", path));
    if (status == CW_OK) status = cw_recommender_open(ctx, now, &rec);
    if (status == CW_OK)
        status = cw_recommend(ctx, rec, who, 3, NULL, &(cw_lists){.k = 1, .items = item});
    snprintf(path, sizeof path, "%d %d %d", (int)item[0], (int)item[1], (int)item[2]);
    if (status == CW_OK) say(path);
    cw_recommender_close(rec);
    cw_model_free(now);
    cw_model_free(model);
    cw_options_free(options);
    cw_dataset_free(d);
    cw_interactions_free(more);
    cw_interactions_free(rows);
    return status;
}

/* NGCF in the form that needs most, and a list for somebody new. */
static cw_status train_ngcf(cw_context *ctx, const char *folder)
{
    static const char *const settings[][2] = {
        {"backbone", "ngcf"},  {"ngcf", "original"},    {"layers", "2"}, {"node-dropout", "0.1"},
        {"reg-kind", "batch"}, {"reg-target", "final"}, {"dim", "4"},    {"batch", "2"},
        {"epochs", "1"}};
    char input[128];
    cw_dataset *d = NULL;
    cw_model *model = NULL;
    cw_options *options = NULL;
    cw_status status = import_and_prepare(ctx, paths_of(folder, "log.csv", input), "random", &d);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "preset", "paper");
    for (size_t s = 0; s < sizeof settings / sizeof settings[0] && status == CW_OK; s++)
        status = cw_options_set(ctx, options, settings[s][0], settings[s][1]);
    if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
    if (status == CW_OK) status = ask_newcomer(ctx, model, 1);
    cw_model_free(model);
    cw_options_free(options);
    cw_dataset_free(d);
    return status;
}

/* The plain engine makes its matrices in every step, and what waits has blocks of its own. */
static cw_status train_on_engines(cw_context *ctx, const char *folder)
{
    static const char *const settings[][2] = {
        {"dim", "2"}, {"batch", "2"}, {"epochs", "1"}, {"eval-every", "0"}, {"method", "bpr"}};
    static const char *const ways[][4] = {{"engine", "ref", "backbone", "lightgcn"},
                                          {"engine", "ref", "backbone", "neumf"},
                                          {"optimizer", "adam-deferred", "backbone", "mf"},
                                          {"optimizer", "adagrad", "backbone", "neumf"}};
    char path[128];
    cw_dataset *d = NULL;
    cw_status status = cw_dataset_load(ctx, paths_of(folder, "split", path), &d);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0] && status == CW_OK; w++) {
        cw_model *model = NULL;
        cw_options *options = NULL;
        status = cw_options_create(ctx, "train", &options);
        if (status == CW_OK) status = cw_options_set(ctx, options, "preset", "paper");
        for (size_t k = 0; k < 5 && status == CW_OK; k++)
            status = cw_options_set(ctx, options, settings[k][0], settings[k][1]);
        for (size_t k = 0; k < 4 && status == CW_OK; k += 2)
            status = cw_options_set(ctx, options, ways[w][k], ways[w][k + 1]);
        if (status == CW_OK) status = cw_train(ctx, d, options, &model, NULL);
        cw_model_free(model);
        cw_options_free(options);
    }
    cw_dataset_free(d);
    return status;
}

/* A small experiment.  What an attempt stores the next one finds, so that all of it is tried. */
static cw_status experiment(cw_context *ctx, const char *folder)
{
    static const char format[] =
        "{\"datasets\": [\"%s/tiny\"], \"options\": {\"dim\": 2, \"batch\": 4, \"epochs\": 2,"
        " \"eval-every\": 1}, \"tune\": {\"kind\": \"halving\", \"rungs\": [1]}, \"tables\":"
        " [{\"methods\": [\"pop\", {\"method\": \"cpr\", \"grid\": {\"lr\": [0.1, 0.2]}}],"
        " \"train_sets\": [0.5], \"vary\": [{\"cycle\": 2}]}]}";
    char plan[512], out[128], *json = NULL;
    cw_options *options = NULL;
    snprintf(plan, sizeof plan, format, folder);
    cw_status status = cw_options_create(ctx, "experiment", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "keep-models", "on");
    if (status == CW_OK)
        status = cw_experiment_run(ctx, plan, options, paths_of(folder, "lab", out), &json);
    if (status == CW_OK) say_file(paths_of(folder, "lab/results.csv", out));
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

static cw_status dry_run(cw_context *ctx, const char *folder)
{
    static const char format[] =
        "{\"datasets\": [\"%s/tiny\"], \"options\": {\"dim\": 2, \"batch\": 4, \"epochs\": 1},"
        " \"tables\": [{\"methods\": [\"pop\"]}]}";
    char plan[512], *json = NULL;
    cw_options *options = NULL;
    snprintf(plan, sizeof plan, format, folder);
    cw_status status = cw_options_create(ctx, "experiment", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "dry-run", "on");
    if (status == CW_OK) status = cw_experiment_run(ctx, plan, options, "", &json);
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

static cw_status compare(cw_context *ctx, const char *folder)
{
    char a[128], b[128], data[128], *json = NULL;
    const char *paths[] = {paths_of(folder, "a.run.json", a), paths_of(folder, "b.run.json", b)};
    cw_options *options = NULL;
    cw_status status = cw_options_create(ctx, "compare", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "bootstrap", "3");
    if (status == CW_OK)
        status = cw_options_set(ctx, options, "data", paths_of(folder, "tiny", data));
    if (status == CW_OK) status = cw_compare(ctx, paths, 2, options, &json);
    if (status == CW_OK) say(json);
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

/* A dataset of nothing much, and two runs on it. */
static void write_runs(const char *folder)
{
    static const char *const methods[][3] = {{"pop", "a.safetensors", "a.run.json"},
                                             {"bpr", "b.safetensors", "b.run.json"}};
    char path[128];
    cw_context *ctx;
    cw_dataset *data;
    assert_int_equal(mkdir(paths_of(folder, "tiny", path), 0777), 0);
    write_file(path, "train.csv", "user,item\n0,0\n1,1\n2,2\n3,3\n0,1\n");
    write_file(path, "valid.csv", "user,item\n0,2\n");
    write_file(path, "test.csv", "user,item\n1,0\n2,0\n");
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    assert_int_equal(cw_dataset_load(ctx, path, &data), CW_OK);
    for (size_t m = 0; m < 2; m++) {
        cw_options *options;
        cw_model *model;
        char *run;
        assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
        assert_int_equal(cw_options_set(ctx, options, "preset", "paper"), CW_OK);
        assert_int_equal(cw_options_set(ctx, options, "method", methods[m][0]), CW_OK);
        assert_int_equal(cw_options_set(ctx, options, "dim", "2"), CW_OK);
        assert_int_equal(cw_options_set(ctx, options, "epochs", "1"), CW_OK);
        assert_int_equal(cw_train(ctx, data, options, &model, &run), CW_OK);
        assert_int_equal(cw_model_save(ctx, model, paths_of(folder, methods[m][1], path)), CW_OK);
        write_file(folder, methods[m][2], run);
        cw_text_free(run);
        cw_model_free(model);
        cw_options_free(options);
    }
    cw_dataset_free(data);
    cw_context_free(ctx);
}

static void write_inputs(const char *folder)
{
    static const char log[] = "user,item,rating,time\na,x,5,1\na,y,4,2\na,z,3,3\nb,x,5,4\nb,y,5,5\n"
                              "c,\"y \"\"\",1,6\nc,x,1,7\nd,x,1,8\nd,z,2,9\na,x,1,10\n";
    char path[128];
    write_file(folder, "log.csv", log);
    write_file(folder, "treatment.csv", "user,item\na,x\nb,x\n\"a\",x\n");
    gzFile zipped = gzopen(paths_of(folder, "log.csv.gz", path), "wb");
    assert_int_equal(gzwrite(zipped, log, sizeof log - 1), sizeof log - 1);
    assert_int_equal(gzclose(zipped), Z_OK);
    write_file(folder, "rated.csv",
               "user,item,rating\na,x,5\na,y,4\nb,x,5\nb,z,5\nb,y,1\nc,z,4\nc,x,1\na,z,2\n");
    write_file(folder, "more.csv", "user,item,rating\nb,y,5\nc,y,1\nd,x,4\nd,z,1\n");
    write_file(folder, "p.csv", "item,propensity\n\"x\",1\ny,0.5\n");
    write_file(folder, "lists.txt", "0 1 2 3\n1 2\n2 1 3 4 5\n");
    write_file(folder, "x.inter", "user_id:token\titem_id:token\n1\t2\n3\t4\n");
    assert_int_equal(mkdir(paths_of(folder, "netflix", path), 0777), 0);
    write_file(path, "mv_0000001.txt", "1:\n5,3,2005-09-06\n6,5,2005-05-13\n");
    assert_int_equal(mkdir(paths_of(folder, "split", path), 0777), 0);
    write_file(path, "train.csv", "user,item\n0,0\n1,1\n");
    write_file(path, "test.csv", "user,item\n0,1\n");
    write_file(path, "id2idx_u.csv", "id,idx\nann,0\nbob,1\n");
    write_file(path, "id2idx_i.csv", "id,idx\nx,0\ny,1\n");
    assert_int_equal(mkdir(paths_of(folder, "wide", path), 0777), 0);
    write_file(path, "train.csv", "user,item\n0,0\n1,1\n2,2\n3,3\n4,4\n5,5\n0,6\n1,7\n2,1\n3,0\n");
    write_file(path, "valid.csv", "user,item\n0,2\n4,3\n");
    write_file(folder, "bucket.csv",
               "user,item,liked\n0,1,1\n1,0,1\n2,0,1\n3,1,1\n4,0,1\n4,1,1\n5,0,1\n5,1,1\n"
               "4,2,1\n5,2,1\n1,2,1\n3,2,1\n0,5,0\n1,5,0\n2,5,0\n3,5,0\n4,5,0\n0,7,0\n2,7,0\n"
               "3,7,0\n4,7,0\n5,7,0\n1,6,0\n2,6,0\n9,1,1\n");
    assert_int_equal(mkdir(paths_of(folder, "results", path), 0777), 0);
    write_file(path, "results.json", results_sample);
}

static void every_call_survives_each_failing_allocation(void **state)
{
    (void)state;
    static const struct {
        scenario run;
        long stride;
        bool is_first; /* tried with memory before; some would leave nothing to be done */
    } scenarios[] = {{from_arrays, 1, false},
                     {from_tables, 1, false},
                     {import_each_format, 1, false},
                     {prepare_each_way, 1, false},
                     {prepare_in_files, 1, true},
                     {save_load_describe, 1, true},
                     {simulate, 1, false},
                     {simulate_in_files, 1, false},
                     {use_model, 1, true},
                     {ask_model, 1, true},
                     {evaluate, 1, true},
                     {train, 29, true},
                     {experiment, 29, false},
                     {dry_run, 29, false},
                     {compare, 29, true},
                     {report_page, 1, true},
                     {report_experiment, 29, true},
                     {train_with_propensities, 7, false},
                     {train_vae, 7, false},
                     {train_baselines, 7, false},
                     {hide_rows, 1, true},
                     {learn, 29, false},
                     {train_ngcf, 7, false},
                     {train_on_engines, 7, false}};
    char folder[64];
    make_scratch(folder);
    write_inputs(folder);
    write_model(folder);
    write_runs(folder);
    for (size_t s = 0; s < sizeof scenarios / sizeof scenarios[0]; s++)
        exhaust(scenarios[s].run, folder, scenarios[s].stride, scenarios[s].is_first);
    remove_scratch(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

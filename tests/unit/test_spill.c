/* test_spill.c - rows in files: the same bytes as from memory. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/nth.h"
#include "core/reel.h"
#include "core/room.h"
#include "prepare/dataset.h"
#include "testing.h"

/* ---- lists ----------------------------------------------------------------------- */

enum { N = 1000 };

/* Row k of a list, told by its number alone. */
static void expect_row(const cwi_window *w, int64_t at, int32_t k)
{
    assert_int_equal(w->user[at], 3 * k);
    assert_int_equal(w->item[at], -k);
    assert_true(w->time[at] == k / 8.0);
    assert_int_equal(w->part[at], k % 3);
}

static cwi_reel open_file(cw_context *ctx)
{
    cwi_reel reel = {0};
    assert_int_equal(cw_context_set_memory(ctx, 0, "."), CW_OK);
    assert_int_equal(cwi_spill_create(ctx, true, true, &reel.spill), CW_OK);
    for (int32_t k = 0; k < N; k++)
        assert_int_equal(cwi_spill_add(ctx, reel.spill, 3 * k, -k, k / 8.0, (uint8_t)(k % 3)),
                         CW_OK);
    assert_int_equal(cwi_reel_end(ctx, &reel), CW_OK);
    reel.count = N;
    return reel;
}

static void rows_come_back_from_a_file(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    cwi_reel reel = open_file(l.ctx);
    cwi_window w = cwi_window_over(&reel);
    int32_t k = 0;
    int windows = 0;
    for (; cwi_window_next(l.ctx, &w); windows++) {
        assert_int_equal(w.first, k);
        for (int64_t at = 0; at < w.n; at++) expect_row(&w, at, k++);
    }
    assert_int_equal(w.status, CW_OK);
    assert_int_equal(k, N);
    assert_true(windows > 10);
    cwi_spill_free(reel.spill);
    listener_clear(&l);
}

/* Again and again in place, until none is left. */
static void rows_leave_a_file_in_place(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    cwi_reel reel = open_file(l.ctx);
    for (int32_t step = 1; reel.count > 0; step *= 2) {
        cwi_window w = cwi_window_over(&reel);
        int64_t seen = 0;
        cwi_reel_rewind(&reel);
        for (; cwi_window_next(l.ctx, &w); seen += w.n)
            for (int64_t at = 0; at < w.n; at++) {
                expect_row(&w, at, (int32_t)(w.first + at) * step);
                if ((w.first + at) % 2 == 0 && step < N)
                    assert_int_equal(cwi_reel_take(l.ctx, &reel, &w, at), CW_OK);
            }
        assert_int_equal(w.status, CW_OK);
        assert_int_equal(cwi_reel_end(l.ctx, &reel), CW_OK);
        assert_true(reel.count <= (seen + 1) / 2);
    }
    cwi_spill_free(reel.spill);
    listener_clear(&l);
}

static void parts_are_kept_and_nothing_else(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    cwi_reel reel = open_file(l.ctx);
    cwi_window w = cwi_window_over(&reel);
    while (cwi_window_next(l.ctx, &w)) {
        for (int64_t at = 0; at < w.n; at++) w.part[at] = 7;
        memset(w.user, 0, (size_t)w.n * sizeof *w.user);
        assert_int_equal(cwi_window_keep_parts(l.ctx, &w), CW_OK);
    }
    for (w = cwi_window_over(&reel); cwi_window_next(l.ctx, &w);)
        for (int64_t at = 0; at < w.n; at++) {
            assert_int_equal(w.part[at], 7);
            w.part[at] = (uint8_t)((w.first + at) % 3);
            expect_row(&w, at, (int32_t)(w.first + at));
        }
    assert_int_equal(w.status, CW_OK);
    cwi_spill_free(reel.spill);
    listener_clear(&l);
}

/* A file that may not grow is as good as a full disk. */
static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct rlimit before;
    cw_status status = CW_OK;
    cwi_spill *spill;
    listener l;
    listener_init(&l);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(cw_context_set_memory(l.ctx, 0, "."), CW_OK);
    assert_int_equal(cwi_spill_create(l.ctx, false, false, &spill), CW_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){2000, before.rlim_max}), 0);
    for (int32_t k = 0; k < N && status == CW_OK; k++)
        status = cwi_spill_add(l.ctx, spill, k, k, 0, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, CW_IO);
    assert_string_equal(cw_context_error(l.ctx), "cannot keep rows in a file in .: File too large");
    cwi_spill_free(spill);
    listener_clear(&l);
}

/* ---- the smallest n ------------------------------------------------------------------ */

/* What cwi_smallest says of all at once. */
static void check_nth(cw_context *ctx, const double *value, int64_t count, int64_t n)
{
    enum { AT_ONCE = 777 };
    cwi_nth nth;
    double *work = malloc((size_t)count * sizeof *work);
    cwi_limit expected = cwi_smallest(value, count, n, work);
    assert_int_equal(cwi_nth_open(ctx, count, n, &nth), CW_OK);
    while (!nth.is_found) {
        for (int64_t k = 0; k < count; k += AT_ONCE)
            cwi_nth_see(&nth, value + k, count - k < AT_ONCE ? count - k : AT_ONCE);
        cwi_nth_turn(&nth);
    }
    for (int64_t k = 0; k < count; k++)
        if (cwi_limit_take(&nth.limit, value[k]) != cwi_limit_take(&expected, value[k]))
            fail_msg("%lld of %lld: value %lld, %g, is taken otherwise", (long long)n,
                     (long long)count, (long long)k, value[k]);
    cwi_nth_clear(&nth);
    free(work);
}

static void the_smallest_are_found_without_being_held(void **state)
{
    (void)state;
    enum { FEW = 300, MANY = 600000 };
    listener l;
    listener_init(&l);
    double *value = malloc(MANY * sizeof *value);
    for (int k = 0; k < FEW; k++) value[k] = k % 7 == 0 ? -0.0 : (k * 37 % 101 - 50) / 3.0;
    for (int64_t n = 0; n <= FEW; n += 7) check_nth(l.ctx, value, FEW, n);
    /* seconds of one day, more than can be kept at once, and half of them the same */
    for (int k = 0; k < MANY; k++) value[k] = k % 2 ? 1.7e9 : 1.7e9 + (double)(k * 7919LL % 86400);
    for (int64_t n = 1; n < MANY; n += MANY / 5) check_nth(l.ctx, value, MANY, n);
    for (int k = 0; k < MANY; k++) value[k] = -3;
    check_nth(l.ctx, value, MANY, MANY / 3);
    free(value);
    listener_clear(&l);
}

/* ---- datasets ------------------------------------------------------------------------ */

enum { LOG_ROWS = 5000 };

/* Users with many rows and few, repeats, ratings, times that are often the same. */
static void write_log(const char *folder, const char *name, int first, int end)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("user,item,rating,time\n", file);
    uint64_t x = 99;
    for (int k = 0; k < end; k++) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        int user = (int)(x >> 33) % 200 * ((int)(x >> 50) % 3 + 1) / 3, item = (int)(x >> 40) % 60;
        if (k >= first)
            fprintf(file, "user-%d,i%d,%d,%d\n", user, item * item / 60, (int)(x >> 20) % 5 + 1,
                    (int)(x >> 10) % 900);
    }
    assert_int_equal(fclose(file), 0);
}

/* Options as "name=value,...". */
static cw_options *options_of(cw_context *ctx, const char *stage, const char *text)
{
    char copy[256], *rest = copy, *word;
    cw_options *options;
    snprintf(copy, sizeof copy, "%s", text);
    assert_int_equal(cw_options_create(ctx, stage, &options), CW_OK);
    while ((word = strtok_r(rest, ",", &rest)) != NULL) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        assert_int_equal(cw_options_set(ctx, options, word, value), CW_OK);
    }
    return options;
}

/* A log, or a simulation where input is NULL. */
typedef struct trial {
    const char *input, *first, *second; /* options of import or simulate, and of prepare */
} trial;

static cw_status make(workshop *w, const trial *t, cw_dataset **out)
{
    cw_context *ctx = w->l.ctx;
    char path[256];
    const char *paths[] = {path};
    cw_interactions *rows = NULL;
    cw_options *first = options_of(ctx, t->input ? "import" : "simulate", t->first);
    cw_options *second = options_of(ctx, "prepare", t->second);
    cw_status status;
    *out = NULL;
    snprintf(path, sizeof path, "%s/%s", w->folder, t->input ? t->input : "");
    status = t->input ? cw_import(ctx, paths, 1, first, &rows)
                      : cw_dataset_simulate(ctx, first, second, out);
    if (status == CW_OK && t->input) status = cw_dataset_prepare(ctx, rows, second, out);
    cw_interactions_free(rows);
    cw_options_free(first);
    cw_options_free(second);
    return status;
}

static void save(workshop *w, const trial *t, const char *name)
{
    char path[256];
    cw_dataset *d;
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    if (make(w, t, &d) != CW_OK) fail_msg("%s: %s", t->second, cw_context_error(w->l.ctx));
    assert_int_equal(cw_dataset_save(w->l.ctx, d, path, true), CW_OK);
    cw_dataset_free(d);
}

static const trial trials[] = {
    {"log.csv", "", ""},
    {"log.csv", "min-rating=3", "core=5"},
    {"log.csv", "keep-duplicates=on", "split=random,core=1,moveback=off"},
    {"log.csv", "", "split=random,core=9,seed=4"},
    {"log.csv", "", "split=by-time,core=2"},
    {"log.csv", "min-rating=2", "split=by-time,moveback=on,test-share=0"},
    {"log.csv", "", "split=leave-last,core=1"},
    {"log.csv", "", "max-users=40,seed=7,core=2"},
    {"log.csv", "", "holdout=0.1,cap=1/30,test-share=1"},
    {"log.csv", "", "holdout=0.000001"},
    {"parts", "", ""},
    {"parts", "min-rating=2", "core=4,moveback=off"},
    {"parts", "", "split=debiased"},
    {"parts", "", "split=by-time,max-users=60,core=1"},
    {NULL, "users=300,items=90,uniform-test=7,dim=3", ""},
    {NULL, "users=300,items=90,interactions=700,violation=0.5,seed=3", "split=random,core=2"},
};

static void files_make_the_same_datasets(void **state)
{
    workshop *w = *state;
    char command[512];
    snprintf(command, sizeof command, "diff -r '%s/memory' '%s/files'", w->folder, w->folder);
    for (size_t t = 0; t < sizeof trials / sizeof trials[0]; t++) {
        assert_int_equal(cw_context_set_memory(w->l.ctx, 0, NULL), CW_OK);
        save(w, &trials[t], "memory");
        for (int threads = 1; threads <= 3; threads += 2) {
            assert_int_equal(cw_context_set_threads(w->l.ctx, threads), CW_OK);
            assert_int_equal(cw_context_set_memory(w->l.ctx, 0, w->folder), CW_OK);
            save(w, &trials[t], "files");
            if (system(command) != 0)
                fail_msg("%s, %s: they differ", trials[t].first, trials[t].second);
        }
    }
}

/* A bound that is passed on the way: rows begin in memory and go on in a file. */
static void a_bound_is_passed_on_the_way(void **state)
{
    workshop *w = *state;
    cw_dataset *d;
    w->l.ctx->room.is_strict = false;
    for (int64_t bytes = 1000; bytes < 1 << 21; bytes *= 2) {
        assert_int_equal(cw_context_set_memory(w->l.ctx, 0, w->folder), CW_OK);
        w->l.ctx->room.bytes = bytes;
        assert_int_equal(make(w, &trials[1], &d), CW_OK);
        bool is_here = cwi_dataset_here(w->l.ctx, d) == CW_OK;
        assert_true(is_here || bytes < 1 << 20);
        assert_true(!is_here || bytes > 1 << 16);
        cw_dataset_free(d);
    }
}

static int open_workshop(void **state)
{
    char path[256];
    workshop_open(state, "out");
    workshop *w = *state;
    write_log(w->folder, "log.csv", 0, LOG_ROWS);
    snprintf(path, sizeof path, "%s/parts", w->folder);
    assert_int_equal(mkdir(path, 0777), 0);
    write_log(path, "train.csv", 0, 3000);
    write_log(path, "valid.csv", 2500, 4000);
    write_log(path, "test.csv", 3500, LOG_ROWS);
    return 0;
}

/* ---- what is refused ------------------------------------------------------------------ */

static void expect_error(workshop *w, cw_status status, cw_status expected, const char *text)
{
    assert_int_equal(status, expected);
    if (!strstr(cw_context_error(w->l.ctx), text)) fail_msg("%s", cw_context_error(w->l.ctx));
}

static void what_wants_rows_in_memory_is_refused(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_dataset *d;
    cw_model *model;
    const trial compat = {"log.csv", "", "split=compat"};
    assert_int_equal(cw_context_set_memory(ctx, 0, w->folder), CW_OK);
    expect_error(w, make(w, &compat, &d), CW_BAD_ARG, "--split compat draws from all");
    assert_int_equal(make(w, &trials[0], &d), CW_OK);
    assert_null(cw_dataset_part_users(d, CW_PART_TRAIN));
    assert_true(cw_dataset_count(d, CW_PART_TRAIN) > 100);
    expect_error(w, cw_train(ctx, d, NULL, &model, NULL), CW_BAD_ARG,
                 "the rows of the dataset are in files; save it and load what was saved");
    cw_dataset_free(d);
}

/* A log that does not fit before its repeats are gone, and does then. */
static void compat_draws_where_what_is_left_fits(void **state)
{
    workshop *w = *state;
    char command[512];
    const trial compat = {"log.csv", "", "split=compat,core=5,cap=1/20"};
    assert_int_equal(cw_context_set_memory(w->l.ctx, 0, NULL), CW_OK);
    save(w, &compat, "memory");
    assert_int_equal(cw_context_set_memory(w->l.ctx, 0, w->folder), CW_OK);
    w->l.ctx->room.bytes = 190000;
    save(w, &compat, "files");
    snprintf(command, sizeof command, "diff -r '%s/memory' '%s/files'", w->folder, w->folder);
    assert_int_equal(system(command), 0);
}

static void bounds_are_checked(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_dataset *d;
    const trial wide = {NULL, "users=20000,items=900,interactions=50000", ""};
    expect_error(w, cw_context_set_memory(ctx, 1000, w->folder), CW_BAD_ARG,
                 "memory is 1000 bytes; it must be 0 or at least 1048576");
    expect_error(w, cw_context_set_memory(ctx, -1, "no-such-folder"), CW_IO,
                 "cannot make files in no-such-folder: No such file or directory");
    assert_int_equal(cw_context_set_memory(ctx, CW_LEAST_MEMORY, w->folder), CW_OK);
    expect_error(w, make(w, &wide, &d), CW_BAD_ARG,
                 "20000 users and 900 items with 8 traits each take about 5.1 MB, and --memory is "
                 "1.0 MB: rows can be in files, these cannot");
    assert_int_equal(cw_context_set_memory(ctx, -1, w->folder), CW_OK);
    assert_true(ctx->room.bytes > 1 << 20 && !ctx->room.is_strict);
    assert_int_equal(make(w, &wide, &d), CW_OK);
    assert_int_equal(cwi_dataset_here(ctx, d), CW_OK);
    cw_dataset_free(d);
}

/* Ids that are read, not drawn. */
static void ids_that_do_not_fit_are_an_error(void **state)
{
    workshop *w = *state;
    cw_dataset *d;
    const trial ids = {"ids.csv", "", ""};
    char path[256];
    snprintf(path, sizeof path, "%s/ids.csv", w->folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int k = 0; k < 20000; k++) fprintf(file, "a-rather-long-name-of-user-%d,%d\n", k, k % 50);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(cw_context_set_memory(w->l.ctx, CW_LEAST_MEMORY, w->folder), CW_OK);
    expect_error(w, make(w, &ids, &d), CW_BAD_ARG, "the ids of ");
    expect_error(w, CW_BAD_ARG, CW_BAD_ARG, " users and 50 items take about 1.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_from_a_file),
        cmocka_unit_test(rows_leave_a_file_in_place),
        cmocka_unit_test(parts_are_kept_and_nothing_else),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(the_smallest_are_found_without_being_held),
        cmocka_unit_test_setup_teardown(files_make_the_same_datasets, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(a_bound_is_passed_on_the_way, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(what_wants_rows_in_memory_is_refused, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(compat_draws_where_what_is_left_fits, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(bounds_are_checked, open_workshop, workshop_close),
        cmocka_unit_test_setup_teardown(ids_that_do_not_fit_are_an_error, open_workshop,
                                        workshop_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

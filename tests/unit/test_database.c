/* test_database.c - rows into SQLite and back, and every allocation on the way failing once. */
#include "import_check.h"

#include <unistd.h>

#include "core/mem.h"

typedef struct bed {
    cw_context *ctx;
    char folder[64], path[96], address[160];
} bed;

static int set_up(void **state)
{
    bed *b = calloc(1, sizeof *b);
    if (!b || cw_context_create(&b->ctx) != CW_OK) return -1;
    strcpy(b->folder, "test_database_XXXXXX");
    if (!mkdtemp(b->folder)) return -1;
    snprintf(b->path, sizeof b->path, "%s/x.db", b->folder);
    snprintf(b->address, sizeof b->address, "sqlite:%s?table=lists&user=who&item=what", b->path);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bed *b = *state;
    cw_context_free(b->ctx);
    (void)unlink(b->path);
    int failed = rmdir(b->folder); /* no journal may be left */
    free(b);
    return failed;
}

static cw_status write_lists(bed *b, bool replace, int n)
{
    cw_sink *sink = NULL;
    cw_status status = cw_sink_open(b->ctx, b->address, "user", "item", replace, &sink);
    for (int r = 1; r <= n && status == CW_OK; r++) {
        char item[16];
        snprintf(item, sizeof item, "i'%d", r);
        const cw_sink_row row = {"u \"1\"", item, r, 0.1f * (float)r, "trained"};
        status = cw_sink_put(b->ctx, sink, &row);
    }
    return cw_sink_close(b->ctx, sink, status);
}

static cw_status read_lists(bed *b, const char *const *pairs, cw_interactions **rows)
{
    const char *path = b->address;
    cw_options *options = import_options(b->ctx, pairs);
    cw_status status = cw_import(b->ctx, &path, 1, options, rows);
    cw_options_free(options);
    return status;
}

/* Skips where the build, or the machine, has no SQLite. */
static void need_sqlite(bed *b)
{
    cw_status status = write_lists(b, false, 3);
    if (status == CW_UNSUPPORTED) skip();
    if (status != CW_OK) fail_msg("%s", cw_context_error(b->ctx));
}

static void rows_come_back(void **state)
{
    bed *b = *state;
    cw_interactions *rows = NULL;
    need_sqlite(b);
    assert_int_equal(read_lists(b, NULL, &rows), CW_OK);
    assert_int_equal(cw_interactions_count(rows), 3);
    assert_row(rows, 2, "u \"1\"", "i'3");
    cw_interactions_free(rows);
    assert_int_equal(write_lists(b, false, 1), CW_BAD_ARG);
    assert_non_null(strstr(cw_context_error(b->ctx), "its rows are replaced only with --force"));
    assert_int_equal(write_lists(b, true, 5), CW_OK);
    assert_int_equal(read_lists(b, PAIRS("after-rowid", "3"), &rows), CW_OK);
    assert_int_equal(cw_interactions_count(rows), 2);
    assert_non_null(strstr(rows->source, "\"column\":null,\"value\":\"5\""));
    cw_interactions_free(rows);
}

static void what_is_not_finished_has_not_happened(void **state)
{
    bed *b = *state;
    cw_sink *sink = NULL;
    cw_interactions *rows = NULL;
    const cw_sink_row row = {"u", "i", 1, 1, "trained"};
    need_sqlite(b);
    assert_int_equal(cw_sink_open(b->ctx, b->address, "user", "item", true, &sink), CW_OK);
    assert_int_equal(cw_sink_put(b->ctx, sink, &row), CW_OK);
    assert_int_equal(cw_sink_close(b->ctx, sink, CW_CANCELLED), CW_CANCELLED);
    assert_int_equal(read_lists(b, NULL, &rows), CW_OK);
    assert_int_equal(cw_interactions_count(rows), 3);
    cw_interactions_free(rows);
    /* a file that was made for it goes with it */
    assert_int_equal(unlink(b->path), 0);
    assert_int_equal(cw_sink_open(b->ctx, b->address, "user", "item", true, &sink), CW_OK);
    assert_int_equal(cw_sink_close(b->ctx, sink, CW_CANCELLED), CW_CANCELLED);
    assert_int_equal(access(b->path, F_OK), -1);
}

static void memory_may_run_out_while_reading(void **state)
{
    bed *b = *state;
    need_sqlite(b);
    cw_status status = CW_NO_MEMORY;
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cw_interactions *rows = NULL;
        const char *path = b->address;
        cw_options *options = import_options(b->ctx, PAIRS("since", "rank=2"));
        cwi_mem_fail_at(b->ctx, nth);
        status = cw_import(b->ctx, &path, 1, options, &rows);
        cwi_mem_fail_at(b->ctx, 0);
        assert_true((status == CW_OK) == (rows != NULL));
        cw_interactions_free(rows);
        cw_options_free(options);
        assert_true(nth < 1000);
    }
    assert_int_equal(status, CW_OK);
}

static void memory_may_run_out_while_writing(void **state)
{
    bed *b = *state;
    need_sqlite(b);
    cw_status status = CW_NO_MEMORY;
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cw_interactions *rows = NULL;
        cwi_mem_fail_at(b->ctx, nth);
        status = write_lists(b, true, 7);
        cwi_mem_fail_at(b->ctx, 0);
        assert_int_equal(read_lists(b, NULL, &rows), CW_OK);
        assert_int_equal(cw_interactions_count(rows), status == CW_OK ? 7 : 3);
        cw_interactions_free(rows);
        assert_true(nth < 1000);
    }
    assert_int_equal(status, CW_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_come_back),
        TEST(what_is_not_finished_has_not_happened),
        TEST(memory_may_run_out_while_reading),
        TEST(memory_may_run_out_while_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

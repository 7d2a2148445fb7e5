/* test_slices.c - a file of pairs that many processes read in slices: here they are threads. */
#include "core/mem.h"
#include "processes.h"
#include "train/slices.h"

typedef struct bed {
    listener l;
    char scratch[64], path[96];
    cwi_pairs expected; /* as one process reads it */
    int64_t round_bytes;
    int root;
} bed;

static int set_up(void **state)
{
    bed *b = calloc(1, sizeof *b);
    listener_init(&b->l);
    make_scratch(b->scratch);
    snprintf(b->path, sizeof b->path, "%s/pairs.csv", b->scratch);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bed *b = *state;
    cwi_pairs_clear(&b->expected);
    remove_scratch(b->scratch);
    listener_clear(&b->l);
    free(b);
    return 0;
}

static void write_text(const bed *b, const char *text)
{
    FILE *file = fopen(b->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

/* Lines of all lengths, some of them empty. */
static char *make_text(int lines, const char *end, bool is_ended)
{
    char *text = calloc((size_t)lines + 2, 32);
    size_t used = (size_t)sprintf(text, "user,item%s", end);
    for (int k = 0; k < lines; k++) {
        int user = k % 7 == 0 ? k : k * 7919 % 100000;
        if (k % 11 == 5) used += (size_t)sprintf(text + used, "%s", end);
        used += (size_t)sprintf(text + used, "%d,%d%s", user, k % 13 ? k * 31 : 3,
                                k + 1 < lines || is_ended ? end : "");
    }
    return text;
}

static cw_status append(void *arg, const int32_t *user, const int32_t *item, int64_t n)
{
    cwi_pairs *out = arg;
    for (int64_t k = 0; k < n; k++) {
        out->user[out->count] = user[k];
        out->item[out->count++] = item[k];
    }
    return CW_OK;
}

static void compare(process *p, const cwi_world *world, cw_context *ctx)
{
    bed *b = p->what;
    cwi_pairs got;
    bool is_read;
    size_t bytes = (size_t)b->expected.count * sizeof *got.user;
    assert_int_equal(cwi_pairs_create(ctx, b->expected.count + 100, &got), CW_OK);
    got.count = 0;
    if (cwi_slices_each(ctx, world, b->root, b->path, (cwi_bounds){0, 0}, b->round_bytes, append,
                        &got, &is_read) != CW_OK ||
        !is_read)
        p->differs = "it is not read";
    else if (b->root >= 0 && b->root != p->rank)
        p->differs = got.count > 0 ? "rows that nobody wants here" : NULL;
    else if (got.count != b->expected.count)
        p->differs = "how many there are";
    else if (bytes > 0 && (memcmp(got.user, b->expected.user, bytes) != 0 ||
                           memcmp(got.item, b->expected.item, bytes) != 0))
        p->differs = "the pairs";
    cwi_pairs_clear(&got);
}

static void try_text(bed *b, char *text)
{
    cwi_source *source;
    write_text(b, text);
    free(text);
    cwi_pairs_clear(&b->expected);
    assert_int_equal(cwi_source_open(b->l.ctx, b->path, &source), CW_OK);
    assert_int_equal(cwi_pairs_read(b->l.ctx, source, (cwi_bounds){0, 0}, &b->expected), CW_OK);
    cwi_source_close(source);
    for (int n = 1; n <= MOST_PROCESSES; n++)
        for (b->round_bytes = 1; b->round_bytes < 20000; b->round_bytes = b->round_bytes * 3 + 64)
            for (b->root = -1; b->root < 2 && b->root < n; b->root++)
                run_processes(n, "slices", compare, b);
}

static void rows_come_in_the_order_of_the_file(void **state)
{
    bed *b = *state;
    try_text(b, make_text(400, "\n", true));
    try_text(b, make_text(401, "\n", false));
    try_text(b, make_text(300, "\r\n", true));
    try_text(b, make_text(1, "\n", false));
    try_text(b, make_text(0, "\n", true));
}

/* Of two processes the other has nothing: this one reads every second slice. */
static cw_status read_alone(bed *b, cwi_pairs *got, bool *is_read)
{
    const cwi_world world = cwi_world_of(&idle_calls, 0, 2);
    got->count = 0;
    return cwi_slices_each(b->l.ctx, &world, -1, b->path, (cwi_bounds){0, 0}, 256, append, got,
                           is_read);
}

static void a_bad_line_is_named(void **state)
{
    bed *b = *state;
    cwi_pairs got;
    bool is_read;
    char text[4000] = "user,item\n", expected[200];
    for (int k = 0; k < 300; k++) strcat(text, "12345,678\n"); /* ten bytes a line */
    memcpy(text + 10 * 28, "12345;678", 9);                    /* in the third slice of 128 bytes */
    assert_int_equal(cwi_pairs_create(b->l.ctx, 500, &got), CW_OK);
    write_text(b, text);
    assert_int_equal(read_alone(b, &got, &is_read), CW_BAD_DATA);
    snprintf(expected, sizeof expected, "%s:29: expected user,item", b->path);
    assert_string_equal(cw_context_error(b->l.ctx), expected);
    cwi_pairs_clear(&got);
}

static void other_files_are_left_to_others(void **state)
{
    bed *b = *state;
    cwi_pairs got;
    bool is_read = true;
    assert_int_equal(cwi_pairs_create(b->l.ctx, 500, &got), CW_OK);
    assert_int_equal(read_alone(b, &got, &is_read), CW_OK); /* there is none */
    assert_false(is_read);
    write_text(b, "item,user\n1,2\n");
    assert_int_equal(read_alone(b, &got, &is_read), CW_OK);
    assert_false(is_read);
    write_text(b, "");
    assert_int_equal(read_alone(b, &got, &is_read), CW_OK);
    assert_false(is_read);
    cwi_pairs_clear(&got);
}

static void every_missing_block_of_memory_is_told(void **state)
{
    bed *b = *state;
    cw_status status = CW_NO_MEMORY;
    cwi_pairs got;
    bool is_read;
    char *text = make_text(60, "\n", true);
    assert_int_equal(cwi_pairs_create(b->l.ctx, 500, &got), CW_OK);
    write_text(b, text);
    free(text);
    int64_t nth = 1;
    for (; status == CW_NO_MEMORY; nth++) {
        cwi_begin(b->l.ctx);
        cwi_mem_fail_at(b->l.ctx, nth);
        status = read_alone(b, &got, &is_read);
        assert_in_range(nth, 1, 500);
    }
    assert_int_equal(status, CW_OK);
    assert_true(nth > 8);
    cwi_mem_fail_at(b->l.ctx, 0);
    cwi_pairs_clear(&got);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_come_in_the_order_of_the_file),
        TEST(a_bad_line_is_named),
        TEST(other_files_are_left_to_others),
        TEST(every_missing_block_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

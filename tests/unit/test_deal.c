/* test_deal.c - a dataset folder of which each of many processes keeps the rows of its users: here
 * they are threads. */
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "processes.h"
#include "registry/registry.h"
#include "train/deal.h"

typedef struct bed {
    listener l;
    char scratch[64], folder[96];
    cw_dataset *whole; /* as one process reads it */
    char hash[CWI_HASH_BYTES];
    cwi_extent extent;
    const char *pos;   /* an option, or NULL */
    const char *train; /* the file that is asked for, or NULL */
    const char *why;   /* what every process says where nothing is dealt out */
    int64_t kept[MOST_PROCESSES][CWI_PARTS];
} bed;

static void make_folder(bed *b, const char *users)
{
    cw_options *simulate;
    cw_dataset *made;
    snprintf(b->folder, sizeof b->folder, "%s/of%s", b->scratch, users);
    assert_int_equal(cw_options_create(b->l.ctx, "simulate", &simulate), CW_OK);
    assert_int_equal(cw_options_set(b->l.ctx, simulate, "users", users), CW_OK);
    assert_int_equal(cw_options_set(b->l.ctx, simulate, "items", "90"), CW_OK);
    cw_options *split = paper_split(b->l.ctx);
    assert_int_equal(cw_dataset_simulate(b->l.ctx, simulate, split, &made), CW_OK);
    assert_int_equal(cw_dataset_save(b->l.ctx, made, b->folder, false), CW_OK);
    cw_dataset_free(made);
    cw_options_free(simulate);
    cw_options_free(split);
}

static int set_up(void **state)
{
    bed *b = calloc(1, sizeof *b);
    listener_init(&b->l);
    make_scratch(b->scratch);
    make_folder(b, "1300");
    assert_int_equal(cw_dataset_load(b->l.ctx, b->folder, &b->whole), CW_OK);
    cwi_dataset_hash(b->whole, b->hash);
    assert_int_equal(cwi_dataset_extent(b->l.ctx, b->whole, &b->extent), CW_OK);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bed *b = *state;
    cw_dataset_free(b->whole);
    remove_scratch(b->scratch);
    listener_clear(&b->l);
    free(b);
    return 0;
}

static cw_options *options_of(cw_context *ctx, const char *pos)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    if (!pos) return options;
    assert_int_equal(cw_options_set(ctx, options, "method", "bpr"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "pos", pos), CW_OK);
    return options;
}

/* ---- what is dealt out --------------------------------------------------------------------- */

/* Rows of own users, in the order of the file. */
static bool has_its_rows(const cwi_world *w, const cwi_pairs *all, const cwi_pairs *own)
{
    int64_t n = 0;
    for (int64_t r = 0; r < all->count; r++) {
        if (cwi_row_owner(w, all->user[r]) != w->rank) continue;
        if (n >= own->count || own->user[n] != all->user[r] || own->item[n] != all->item[r])
            return false;
        n++;
    }
    return n == own->count;
}

static void compare(process *p, const cwi_world *world, cw_context *ctx)
{
    bed *b = p->what;
    cw_dataset *d;
    cwi_extent extent;
    char hash[CWI_HASH_BYTES];
    cw_options *options = options_of(ctx, NULL);
    if (cwi_deal_load(ctx, b->folder, NULL, options, &d) != CW_OK || !d) {
        p->differs = "it is not dealt out";
        cw_options_free(options);
        return;
    }
    for (int part = 0; part < CWI_PARTS; part++) {
        b->kept[p->rank][part] = d->part[part].count;
        if (!has_its_rows(world, &b->whole->part[part], &d->part[part])) p->differs = "the rows";
        if (cwi_dataset_rows(d, part) != b->whole->part[part].count) p->differs = "the counts";
    }
    cwi_dataset_hash(d, hash);
    if (strcmp(hash, b->hash) != 0) p->differs = "the checksum";
    if (cwi_dataset_extent(ctx, d, &extent) != CW_OK || extent.rows != b->extent.rows ||
        extent.meeting != b->extent.meeting || extent.likeness != b->extent.likeness)
        p->differs = "the extent";
    if (d->n_users != b->whole->n_users || d->n_items != b->whole->n_items) p->differs = "the ids";
    cw_dataset_free(d);
    cw_options_free(options);
}

static void each_keeps_the_rows_of_its_users(void **state)
{
    bed *b = *state;
    for (int n = 2; n <= MOST_PROCESSES; n++) {
        run_processes(n, "a folder", compare, b);
        for (int part = 0; part < CWI_PARTS; part++) {
            int64_t kept = 0;
            for (int k = 0; k < n; k++) kept += b->kept[k][part];
            assert_int_equal(kept, b->whole->part[part].count);
        }
        assert_true(b->kept[0][0] < b->whole->part[0].count);
    }
}

/* ---- what is not ------------------------------------------------------------------------------
 */

static void keep_all(process *p, const cwi_world *world, cw_context *ctx)
{
    const bed *b = p->what;
    cw_dataset *d;
    cw_options *options = options_of(ctx, b->pos);
    listener heard = {.ctx = ctx};
    (void)world;
    cw_context_set_log(ctx, collect_log, &heard);
    if (cwi_deal_load(ctx, b->folder, b->train, options, &d) != CW_OK)
        p->differs = "it has failed";
    else if (d)
        p->differs = "it is dealt out";
    else if (!strstr(heard.log, b->why))
        p->differs = "what it says";
    cw_dataset_free(d);
    cw_options_free(options);
}

static void expect_all(bed *b, const char *why)
{
    b->why = why;
    run_processes(2, why, keep_all, b);
}

static char *path_of(const bed *b, const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", b->folder, name);
    return path;
}

/* Change the last line of a file, or add one. */
static void edit(const bed *b, const char *name, const char *line, bool replaces)
{
    static char text[1 << 20];
    FILE *file = fopen(path_of(b, name), "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 100, file);
    fclose(file);
    if (replaces) do
            length--;
        while (text[length - 1] != '\n');
    length += (size_t)snprintf(text + length, 100, "%s\n", line);
    file = fopen(path_of(b, name), "w");
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static void all_is_kept_where_dealing_does_not_do(void **state)
{
    bed *b = *state;
    const cwi_pairs *train = &b->whole->part[CW_PART_TRAIN];
    char line[40];
    b->pos = "user";
    expect_all(b, "every process keeps all interactions: it draws in ways that need them");
    b->pos = NULL;
    b->train = "train.csv";
    expect_all(b, "every process keeps all interactions: it is not train.csv that is trained on");
    b->train = NULL;
    snprintf(line, sizeof line, "%d,%d", (int)train->user[0], (int)train->item[0]);
    edit(b, "train.csv", line, true);
    expect_all(b, "every process keeps all interactions: a user has an item twice");
    edit(b, "train.csv", "0,1", false);
    expect_all(b, "other rows than dataset.json says");
    assert_int_equal(unlink(path_of(b, "dataset.json")), 0);
    expect_all(b, "dataset.json does not say how many rows there are");
    assert_int_equal(unlink(path_of(b, "id2idx_u.csv")), 0);
    expect_all(b, "every process keeps all interactions: there are no files of ids");
}

/* The other process, which would wait for this one to go on, has nothing. */
static void a_bad_line_is_named(void **state)
{
    bed *b = *state;
    cw_dataset *d;
    cwi_world world = cwi_world_of(&idle_calls, 0, 2);
    cw_options *options = options_of(b->l.ctx, NULL);
    make_folder(b, "250");
    edit(b, "train.csv", "7,x", false);
    b->l.ctx->world = &world;
    assert_int_equal(cwi_deal_load(b->l.ctx, b->folder, NULL, options, &d), CW_BAD_DATA);
    b->l.ctx->world = NULL;
    assert_null(d);
    assert_non_null(strstr(cw_context_error(b->l.ctx), ": item 'x' is not a whole number from 0"));
    cw_options_free(options);
}

/* Other files at another process: here it has another folder. */
static void read_others(process *p, const cwi_world *world, cw_context *ctx)
{
    bed *b = p->what;
    cw_dataset *d;
    char other[128];
    cw_options *options = options_of(ctx, NULL);
    snprintf(other, sizeof other, "%s/other", b->scratch);
    cw_status status = cwi_deal_load(ctx, world->rank == 1 ? other : b->folder, NULL, options, &d);
    if (status != CW_BAD_DATA || d)
        p->differs = "it has not failed";
    else if (!strstr(cw_context_error(ctx), "the data are others at rank 1 than at rank 0"))
        p->differs = "what it says";
    cw_options_free(options);
}

static void other_files_at_a_process_are_found(void **state)
{
    bed *b = *state;
    char other[128], *of[2];
    snprintf(other, sizeof other, "%s/other", b->scratch);
    assert_int_equal(cw_dataset_save(b->l.ctx, b->whole, other, false), CW_OK);
    of[0] = strdup(b->folder);
    strcpy(b->folder, other); /* as many rows, one of them another */
    const cwi_pairs *test = &b->whole->part[CW_PART_TEST];
    char line[40];
    int64_t last = test->count - 1;
    snprintf(line, sizeof line, "%d,%d", (int)test->user[last],
             (int)(test->item[last] + 1) % b->whole->n_items);
    edit(b, "test.csv", line, true);
    strcpy(b->folder, of[0]);
    free(of[0]);
    run_processes(2, "other files", read_others, b);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static void every_missing_block_of_memory_is_told(void **state)
{
    bed *b = *state;
    cw_status status = CW_NO_MEMORY;
    cwi_world world = cwi_world_of(&idle_calls, 0, 2);
    make_folder(b, "250");
    cw_options *options = options_of(b->l.ctx, NULL);
    b->l.ctx->world = &world;
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cw_dataset *d;
        cwi_mem_fail_at(b->l.ctx, nth);
        cwi_begin(b->l.ctx);
        status = cwi_deal_load(b->l.ctx, b->folder, NULL, options, &d);
        if (status == CW_NO_MEMORY) assert_null(d);
        cw_dataset_free(d);
        assert_in_range(nth, 1, 5000);
    }
    b->l.ctx->world = NULL;
    cwi_mem_fail_at(b->l.ctx, 0);
    assert_int_equal(status, CW_OK);
    cw_options_free(options);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_keeps_the_rows_of_its_users),
        TEST(all_is_kept_where_dealing_does_not_do),
        TEST(a_bad_line_is_named),
        TEST(other_files_at_a_process_are_found),
        TEST(every_missing_block_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

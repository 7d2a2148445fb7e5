/* test_store.c - dataset folders: written whole, read distrustfully. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prepare/dataset.h"
#include "testing.h"

static int set_up(void **state)
{
    return workshop_open(state, "set");
}

/* A small dataset, split at random, with awkward raw ids. */
static cw_dataset *make_dataset(workshop *f)
{
    cw_interactions *rows;
    cw_options *options;
    cw_dataset *d;
    char path[128];
    const char *paths[] = {path};
    write_file(f->folder, "log.csv",
               "user,item\n\"a,b\",007\n\"a,b\",\"say \"\"hi\"\"\"\nx,007\nx,9\ny,9\ny,007\n"
               "z,\"say \"\"hi\"\"\"\nz,9\n");
    snprintf(path, sizeof path, "%s/log.csv", f->folder);
    assert_int_equal(cw_import(f->l.ctx, paths, 1, NULL, &rows), CW_OK);
    assert_int_equal(cw_options_create(f->l.ctx, "prepare", &options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "core", "1"), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "split", "random"), CW_OK);
    assert_int_equal(cw_dataset_prepare(f->l.ctx, rows, options, &d), CW_OK);
    cw_options_free(options);
    cw_interactions_free(rows);
    f->l.log[0] = '\0'; /* what importing remarked is not what is tested here */
    return d;
}

static void a_saved_dataset_reads_back(void **state)
{
    workshop *f = *state;
    cw_dataset *back, *d = make_dataset(f);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_OK);
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &back), CW_OK);
    assert_int_equal(back->n_users, d->n_users);
    assert_int_equal(back->n_items, d->n_items);
    for (int p = 0; p < 3; p++) {
        assert_int_equal(back->part[p].count, d->part[p].count);
        size_t bytes = (size_t)d->part[p].count * sizeof(int32_t);
        assert_memory_equal(back->part[p].user, d->part[p].user, bytes);
        assert_memory_equal(back->part[p].item, d->part[p].item, bytes);
    }
    for (int32_t u = 0; u < d->n_users; u++)
        assert_string_equal(cw_dataset_user_id(back, u), cw_dataset_user_id(d, u));
    for (int32_t i = 0; i < d->n_items; i++)
        assert_string_equal(cw_dataset_item_id(back, i), cw_dataset_item_id(d, i));
    assert_string_equal(back->origin, d->origin);
    assert_null(cw_dataset_user_id(back, d->n_users));
    assert_null(cw_dataset_user_id(back, -1));
    assert_string_equal(f->l.log, "");
    cw_dataset_free(back);
    cw_dataset_free(d);
}

static void an_existing_folder_is_replaced_only_when_asked(void **state)
{
    workshop *f = *state;
    char expected[256], other[128];
    cw_dataset *d = make_dataset(f);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_OK);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_IO);
    snprintf(expected, sizeof expected, "%s exists; it is replaced only with --force", f->path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, true), CW_OK);
    /* a folder that is no dataset is never replaced; an empty one may be */
    snprintf(other, sizeof other, "%s/home", f->folder);
    assert_int_equal(mkdir(other, 0777), 0);
    write_file(other, "precious.txt", "keep me");
    assert_int_equal(cw_dataset_save(f->l.ctx, d, other, true), CW_IO);
    assert_string_equal(read_text(other, "precious.txt"), "keep me");
    snprintf(other, sizeof other, "%s/empty", f->folder);
    assert_int_equal(mkdir(other, 0777), 0);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, other, false), CW_OK);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, ".", true), CW_BAD_ARG);
    cw_dataset_free(d);
}

static bool stop_at_writing(void *user, const char *stage, int64_t done, int64_t total)
{
    (void)user;
    (void)total;
    return strcmp(stage, "writing the dataset") != 0 || done < 2;
}

static int count_entries(const char *folder)
{
    char command[128];
    int count = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static void an_interrupted_save_leaves_nothing(void **state)
{
    workshop *f = *state;
    cw_dataset *d = make_dataset(f);
    int before = count_entries(f->folder);
    cw_context_set_progress(f->l.ctx, stop_at_writing, NULL);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_CANCELLED);
    assert_int_equal(count_entries(f->folder), before);
    cw_dataset_free(d);
}

static void left_overs_of_dead_processes_are_removed(void **state)
{
    workshop *f = *state;
    char path[256];
    cw_dataset *d = make_dataset(f);
    snprintf(path, sizeof path, "%s/.set.partial-0123456789abcdef", f->folder);
    assert_int_equal(mkdir(path, 0777), 0);
    write_file(path, "train.csv", "user,item\n");
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    cw_dataset_free(d);
}

static void changed_files_are_noticed(void **state)
{
    workshop *f = *state;
    cw_dataset *back, *d = make_dataset(f);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_OK);
    write_file(f->path, "valid.csv", "user,item\n0,0\n");
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &back), CW_OK);
    assert_non_null(strstr(f->l.log, "valid.csv has changed since the dataset was made"));
    cw_dataset_free(back);
    cw_dataset_free(d);
}

/* Load a folder with this train.csv and expect a message that ends like this. */
static void refused(workshop *f, const char *train, const char *message)
{
    cw_dataset *d;
    (void)mkdir(f->path, 0777);
    write_file(f->path, "train.csv", train);
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &d), CW_BAD_DATA);
    assert_null(d);
    const char *error = cw_context_error(f->l.ctx);
    assert_true(strncmp(error, f->path, strlen(f->path)) == 0);
    assert_string_equal(error + strlen(f->path), message);
}

static void bad_train_files_are_refused(void **state)
{
    workshop *f = *state;
    refused(f, "", "/train.csv is empty");
    refused(f, "u,i\n1,2\n",
            "/train.csv:1: expected the header user,item; crosswise prepare "
            "reads other files");
    refused(f, "user,item\n1,2\n7\n", "/train.csv:3: expected user,item");
    refused(f, "user,item\n-1,2\n", "/train.csv:2: user '-1' is not a whole number from 0 on");
    refused(f, "user,item\n1,x\n", "/train.csv:2: item 'x' is not a whole number from 0 on");
    refused(f, "user,item\n1,1.5\n", "/train.csv:2: item '1.5' is not a whole number from 0 on");
    refused(f, "user,item\n1,99999999999\n",
            "/train.csv:2: item 99999999999 is not below 2147483646");
    refused(f, "user,item\n1,2,3\n", "/train.csv:2: item '2,3' is not a whole number from 0 on");
    refused(f, "user,item\n2000000000,1\n",
            ": the highest user id is 2000000000 with only 1 rows; crosswise prepare gives dense "
            "ids");
    refused(f, "user,item\n",
            " is not a dataset: it has no rows in train.csv, valid.csv or "
            "test.csv (or these with .gz or .zst)");
}

static void ids_must_be_in_the_id_maps(void **state)
{
    workshop *f = *state;
    assert_int_equal(mkdir(f->path, 0777), 0);
    write_file(f->path, "id2idx_u.csv", "id,idx\nbob,1\namy,0\n");
    refused(f, "user,item\n2,0\n", "/train.csv:2: user 2 is not below 2");
    cw_dataset *d;
    write_file(f->path, "train.csv", "user,item\n1,0\n");
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &d), CW_OK);
    assert_int_equal(d->n_users, 2);
    assert_string_equal(cw_dataset_user_id(d, 1), "bob");
    assert_string_equal(cw_dataset_item_id(d, 0), "0");
    cw_dataset_free(d);
}

static void bad_id_maps_are_refused(void **state)
{
    workshop *f = *state;
    static const char *const cases[][2] = {
        {"id,idx\na,0\na,1\n", "/id2idx_u.csv:3: this id occurs twice"},
        {"id,idx\na,0\nb,0\n", "/id2idx_u.csv: index 0 occurs twice; the 2 ids must have the "
                               "indices 0 to 1"},
        {"id,idx\na,5\n", "/id2idx_u.csv: index 5 is too large; the 1 ids must have the indices "
                          "0 to 0"},
        {"id,idx\na\n", "/id2idx_u.csv:2: expected id,idx with idx from 0 on"},
        {"id,idx\n,0\n", "/id2idx_u.csv:2: expected id,idx with idx from 0 on"},
        {"id,idx\n\"a,0\n", "/id2idx_u.csv:2: a quote is opened and never closed"},
        {"id;idx\na,0\n", "/id2idx_u.csv:1: expected the header id,idx"},
    };
    assert_int_equal(mkdir(f->path, 0777), 0);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        write_file(f->path, "id2idx_u.csv", cases[k][0]);
        refused(f, "user,item\n0,0\n", cases[k][1]);
    }
}

static void repeats_are_dropped_with_a_count(void **state)
{
    workshop *f = *state;
    cw_dataset *d;
    assert_int_equal(mkdir(f->path, 0777), 0);
    write_file(f->path, "train.csv", "user,item\n0,0\n0,1\n0,0\n1,1\n0,0\n");
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &d), CW_OK);
    assert_int_equal(d->part[0].count, 3);
    assert_string_equal(f->l.log, "! train.csv: 2 repeated interactions were dropped\n");
    cw_dataset_free(d);
}

static void broken_json_is_refused_with_its_line(void **state)
{
    workshop *f = *state;
    assert_int_equal(mkdir(f->path, 0777), 0);
    write_file(f->path, "dataset.json", "{\n \"format\": \n}");
    cw_dataset *d;
    write_file(f->path, "train.csv", "user,item\n0,0\n");
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &d), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "/dataset.json:3: "));
    write_file(f->path, "dataset.json", "{\"format\": 99}");
    assert_int_equal(cw_dataset_load(f->l.ctx, f->path, &d), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "written by a newer crosswise (format 99)"));
}

static void a_missing_folder_is_said_plainly(void **state)
{
    workshop *f = *state;
    cw_dataset *d;
    assert_int_equal(cw_dataset_load(f->l.ctx, "/nowhere/at/all", &d), CW_IO);
    assert_string_equal(cw_context_error(f->l.ctx), "there is no folder '/nowhere/at/all'");
    write_file(f->folder, "file", "x");
    char path[128], expected[256];
    snprintf(path, sizeof path, "%s/file", f->folder);
    snprintf(expected, sizeof expected, "%s is not a folder; crosswise prepare makes one of it",
             path);
    assert_int_equal(cw_dataset_load(f->l.ctx, path, &d), CW_IO);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
}

static void skewed_sets_keep_every_user_and_item(void **state)
{
    workshop *f = *state;
    static const char *const thetas[] = {"0.5", "-0.5"};
    int64_t user[2000], item[2000], n = 0;
    cw_interactions *rows;
    cw_options *options;
    cw_dataset *d;
    for (int64_t u = 0; u < 100; u++)
        for (int64_t i = 0; i < 20; i++)
            if ((u * 7 + i * 13) % 20 >= i) {
                user[n] = u;
                item[n++] = i;
            }
    assert_int_equal(cw_interactions_create(f->l.ctx, user, item, NULL, n, &rows), CW_OK);
    assert_int_equal(cw_dataset_prepare(f->l.ctx, rows, NULL, &d), CW_OK);
    assert_int_equal(cw_dataset_save(f->l.ctx, d, f->path, false), CW_OK);
    assert_int_equal(cw_options_create(f->l.ctx, "skew", &options), CW_OK);
    double mean[2] = {0, 0};
    for (int t = 0; t < 2; t++) {
        int64_t written;
        char name[32], *line;
        assert_int_equal(cw_options_set(f->l.ctx, options, "theta", thetas[t]), CW_OK);
        assert_int_equal(cw_dataset_skew(f->l.ctx, f->path, options, false, &written), CW_OK);
        assert_int_equal(cw_dataset_skew(f->l.ctx, f->path, options, false, NULL), CW_IO);
        assert_int_equal(cw_dataset_skew(f->l.ctx, f->path, options, true, NULL), CW_OK);
        snprintf(name, sizeof name, "train_%s.csv", thetas[t]);
        bool has_user[100] = {false}, has_item[20] = {false};
        int64_t degree[20], lines = 0;
        cwi_degrees(d->part[0].item, d->part[0].count, d->n_items, degree);
        char *text = (char *)read_text(f->path, name);
        for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1, lines++) {
            int u, i;
            assert_int_equal(sscanf(line, "%d,%d", &u, &i), 2);
            has_user[u] = has_item[i] = true;
            mean[t] += (double)degree[i];
        }
        assert_int_equal(lines, written);
        assert_true(written >= d->part[0].count * 7 / 10);
        mean[t] /= (double)lines;
        for (int32_t u = 0; u < d->n_users; u++) assert_true(has_user[u]);
        for (int32_t i = 0; i < d->n_items; i++) assert_true(has_item[i]);
    }
    assert_true(mean[0] > mean[1]); /* theta above 0 means more popular items */
    cw_options_free(options);
    cw_dataset_free(d);
    cw_interactions_free(rows);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_saved_dataset_reads_back),
        TEST(an_existing_folder_is_replaced_only_when_asked),
        TEST(an_interrupted_save_leaves_nothing),
        TEST(left_overs_of_dead_processes_are_removed),
        TEST(changed_files_are_noticed),
        TEST(bad_train_files_are_refused),
        TEST(ids_must_be_in_the_id_maps),
        TEST(bad_id_maps_are_refused),
        TEST(repeats_are_dropped_with_a_count),
        TEST(broken_json_is_refused_with_its_line),
        TEST(a_missing_folder_is_said_plainly),
        TEST(skewed_sets_keep_every_user_and_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

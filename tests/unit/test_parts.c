/* test_parts.c - the state of many processes in parts: every missing block of memory is told, and
 * what is not the part that the checkpoint names is refused. */
#include <dirent.h>
#include <unistd.h>

#include "alone.h"
#include "testing.h"
#include "train/train.h"

enum { N_PARTS = 3 };

typedef struct setting {
    cw_context *ctx;
    cw_dataset *data;
    cw_options *one, *many; /* options of one process, and of many */
    char folder[64], checkpoint[96];
} setting;

static cw_options *make_options(setting *s, const char *device)
{
    const char *const words[][2] = {{"dim", "2"},
                                    {"batch", "64"},
                                    {"epochs", "1"},
                                    {"epoch-steps", "3"},
                                    {"optimizer", "adam-deferred"},
                                    {"device", device},
                                    {"checkpoint", s->checkpoint},
                                    {"checkpoint-end", "on"}};
    cw_options *options;
    assert_int_equal(cw_options_create(s->ctx, "train", &options), CW_OK);
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        assert_int_equal(cw_options_set(s->ctx, options, words[k][0], words[k][1]), CW_OK);
    return options;
}

static void open_setting(setting *s)
{
    cw_options *simulate, *prepare;
    cw_model *model;
    strcpy(s->folder, "/tmp/crosswise-parts-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->checkpoint, sizeof s->checkpoint, "%s/state", s->folder);
    assert_int_equal(cw_context_create(&s->ctx), CW_OK);
    assert_int_equal(cw_context_set_threads(s->ctx, 1), CW_OK);
    assert_int_equal(cw_options_create(s->ctx, "simulate", &simulate), CW_OK);
    assert_int_equal(cw_options_create(s->ctx, "prepare", &prepare), CW_OK);
    assert_int_equal(cw_options_set(s->ctx, simulate, "users", "500"), CW_OK);
    assert_int_equal(cw_options_set(s->ctx, simulate, "items", "400"), CW_OK);
    assert_int_equal(cw_options_set(s->ctx, prepare, "core", "1"), CW_OK);
    assert_int_equal(cw_dataset_simulate(s->ctx, simulate, prepare, &s->data), CW_OK);
    s->one = make_options(s, "cpu");
    s->many = make_options(s, "mpi");
    assert_int_equal(cw_train(s->ctx, s->data, s->one, &model, NULL), CW_OK);
    cw_model_free(model);
    assert_int_equal(cw_options_set(s->ctx, s->one, "resume", "on"), CW_OK);
    assert_int_equal(cw_options_set(s->ctx, s->many, "resume", "on"), CW_OK);
    cw_options_free(simulate);
    cw_options_free(prepare);
}

static void close_setting(setting *s)
{
    char path[512];
    struct dirent *entry;
    DIR *files = opendir(s->folder);
    while ((entry = readdir(files)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", s->folder, entry->d_name);
            (void)unlink(path);
        } else if (strlen(entry->d_name) > 2) {
            fail_msg("left behind: %s", entry->d_name);
        }
    closedir(files);
    assert_int_equal(rmdir(s->folder), 0);
    cw_options_free(s->one);
    cw_options_free(s->many);
    cw_dataset_free(s->data);
    cw_context_free(s->ctx);
}

/* Go on as process `rank` of so many, and keep the state in parts when told. */
static cw_status go_on(setting *s, int rank, int size, bool saves)
{
    cwi_world world = alone(rank, size);
    cwi_trainer *t;
    cwi_begin(s->ctx);
    s->ctx->world = size > 1 ? &world : NULL;
    cw_status status = cwi_trainer_create(s->ctx, s->data, size > 1 ? s->many : s->one, &t);
    if (status == CW_OK && saves) status = cwi_checkpoint_save(t);
    cwi_trainer_free(t);
    s->ctx->world = NULL;
    return status;
}

/* What three processes write; the first one, which comes last, replaces the checkpoint. */
static void write_parts(setting *s)
{
    char whole[128], command[512];
    snprintf(whole, sizeof whole, "%s.whole", s->checkpoint);
    snprintf(command, sizeof command, "cp %s %s", s->checkpoint, whole);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "cp %s %s", whole, s->checkpoint);
    for (int p = N_PARTS - 1; p >= 0; p--) {
        assert_int_equal(system(command), 0);
        if (go_on(s, p, N_PARTS, true) != CW_OK) fail_msg("%s", cw_context_error(s->ctx));
    }
    (void)unlink(whole);
}

static void every_missing_block_of_memory_is_told(void **state)
{
    setting s;
    (void)state;
    open_setting(&s);
    write_parts(&s);
    for (int saves = 0; saves < 2; saves++) {
        cw_status status = CW_NO_MEMORY;
        for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
            cwi_mem_fail_at(s.ctx, nth);
            status = go_on(&s, 1, 2, saves);
            if (status != CW_OK) assert_non_null(strstr(cw_context_error(s.ctx), "out of memory"));
            assert_in_range(nth, 1, 2000);
        }
        cwi_mem_fail_at(s.ctx, 0);
        if (status != CW_OK) fail_msg("%s", cw_context_error(s.ctx));
    }
    close_setting(&s);
}

/* One part has taken the place of another. */
static void a_part_that_the_checkpoint_does_not_name_is_refused(void **state)
{
    setting s;
    char one[128], two[128];
    (void)state;
    open_setting(&s);
    write_parts(&s);
    snprintf(one, sizeof one, "%s.1-0.1-of-3", s.checkpoint);
    snprintf(two, sizeof two, "%s.1-0.2-of-3", s.checkpoint);
    assert_int_equal(go_on(&s, 0, 1, false), CW_OK);
    assert_int_equal(rename(one, two), 0);
    assert_int_equal(go_on(&s, 1, 2, false), CW_IO);
    assert_non_null(strstr(cw_context_error(s.ctx), "state.1-0.1-of-3: No such file"));
    assert_int_equal(rename(two, one), 0);
    assert_int_equal(link(one, two), 0);
    for (int many = 0; many < 2; many++) {
        assert_int_equal(go_on(&s, many, 1 + many, false), CW_BAD_DATA);
        assert_non_null(
            strstr(cw_context_error(s.ctx), "state.1-0.2-of-3 is not the part that goes with"));
    }
    close_setting(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_missing_block_of_memory_is_told),
        cmocka_unit_test(a_part_that_the_checkpoint_does_not_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

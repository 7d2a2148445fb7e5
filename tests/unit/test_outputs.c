/* test_outputs.c - what is written meets neither what is read nor itself. */
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

static int set_up(void **state)
{
    return workshop_open(state, "set");
}

/* A path in the scratch folder; static, so only four at a time. */
static const char *at(const workshop *f, const char *name)
{
    static char path[4][512];
    static int k;
    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/%s", f->folder, name);
    return path[k];
}

static cw_status compare(workshop *f, const char *one, const char *two, const char *input)
{
    const char *outputs[] = {at(f, one), at(f, two)}, *path = at(f, input);
    return cw_output_compare(f->l.ctx, outputs, 2, &path, 1);
}

static void outputs_are_told_apart_by_where_they_lead(void **state)
{
    workshop *f = *state;
    assert_int_equal(mkdir(at(f, "a"), 0700), 0);
    assert_int_equal(symlink("a", at(f, "link")), 0);
    assert_int_equal(compare(f, "x", "y", "z"), CW_OK);
    assert_int_equal(compare(f, "x", "x", "z"), CW_BAD_ARG);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "are the same file"));
    assert_int_equal(compare(f, "a/x", "link/x", "z"), CW_BAD_ARG);
    assert_int_equal(compare(f, "x", "a/..//x", "z"), CW_BAD_ARG);
    assert_int_equal(compare(f, "a/x", "x", "z"), CW_OK);
    assert_int_equal(compare(f, "no/x", "no/y", "z"), CW_OK);
    write_file(f->folder, "x", "x");
    assert_int_equal(link(at(f, "x"), at(f, "hard")), 0);
    assert_int_equal(compare(f, "x", "hard", "z"), CW_BAD_ARG);
}

static void an_input_is_no_place_for_an_output(void **state)
{
    workshop *f = *state;
    write_file(f->folder, "log", "x");
    assert_int_equal(symlink("log", at(f, "link")), 0);
    assert_int_equal(compare(f, "x", "y", "log"), CW_OK);
    assert_int_equal(compare(f, "x", "log", "log"), CW_BAD_ARG);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "would replace what is read from"));
    assert_int_equal(compare(f, "x", "log", "link"), CW_BAD_ARG);
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_int_equal(mkdir(at(f, "set/truth"), 0700), 0);
    write_file(f->path, "other", "x");
    assert_int_equal(compare(f, "set/model", "x", "set"), CW_OK);
    assert_int_equal(compare(f, "set/valid.csv", "x", "set"), CW_BAD_ARG);
    assert_int_equal(compare(f, "set/valid.csv.zst", "x", "set/"), CW_BAD_ARG);
    assert_int_equal(compare(f, "set/train_-0.5.csv", "x", "set"), CW_BAD_ARG);
    assert_int_equal(compare(f, "set/truth/truth.json", "x", "set"), CW_BAD_ARG);
    assert_int_equal(link(at(f, "set/other"), at(f, "hard")), 0);
    assert_int_equal(compare(f, "x", "hard", "set"), CW_BAD_ARG);
    assert_int_equal(compare(f, "set", "x", "set/other"), CW_BAD_ARG);
    assert_int_equal(compare(f, "set", "x", "log"), CW_OK);
}

static void each_kind_of_output_is_checked(void **state)
{
    workshop *f = *state;
    write_file(f->folder, "file", "mine");
    assert_int_equal(mkdir(f->path, 0700), 0);
    write_file(f->path, "notes", "mine");
    for (int what = CW_OUTPUT_MODEL; what <= CW_OUTPUT_REPORT; what++) {
        bool is_folder = what >= CW_OUTPUT_DATASET;
        const char *theirs = at(f, is_folder ? "set" : "file");
        bool can_force = what == CW_OUTPUT_MODEL || what == CW_OUTPUT_RECORD;
        assert_int_equal(cw_output_check(f->l.ctx, (cw_output)what, at(f, "new"), false), CW_OK);
        assert_int_equal(cw_output_check(f->l.ctx, (cw_output)what, at(f, "no/new"), true), CW_IO);
        assert_int_equal(cw_output_check(f->l.ctx, (cw_output)what, theirs, false), CW_IO);
        assert_int_equal(cw_output_check(f->l.ctx, (cw_output)what, theirs, true),
                         can_force ? CW_OK : CW_IO);
    }
    assert_int_equal(cw_output_check(f->l.ctx, (cw_output)99, at(f, "new"), false), CW_BAD_ARG);
    cw_checkpoint_remove(at(f, "file"));
    assert_string_equal(read_text(f->folder, "file"), "mine");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(outputs_are_told_apart_by_where_they_lead),
        CASE(an_input_is_no_place_for_an_output),
        CASE(each_kind_of_output_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

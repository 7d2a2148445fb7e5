/* test_file.c - files and folders that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/file.h"
#include "core/mem.h"
#include "testing.h"

static const char *const markers[] = {"marker", NULL};

static int set_up(void **state)
{
    return workshop_open(state, "set");
}

/* Names in a folder, sorted, each with a blank behind it. */
static const char *names_in(const char *folder)
{
    static char names[1024];
    char command[128];
    names[0] = '\0';
    snprintf(command, sizeof command, "ls -A '%s' | LC_ALL=C sort | tr '\\n' ' '", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    names[fread(names, 1, sizeof names - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
    return names;
}

static void expect_hash(const char *hash, const void *bytes, size_t length)
{
    char expected[CWI_HASH_BYTES];
    XXH128_hash_t known = XXH3_128bits(bytes, length);
    snprintf(expected, sizeof expected, "%016llx%016llx", (unsigned long long)known.high64,
             (unsigned long long)known.low64);
    assert_string_equal(hash, expected);
}

/* ---- writer ---------------------------------------------------------------- */

static void the_hash_is_that_of_the_bytes_written(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    char hash[CWI_HASH_BYTES], again[CWI_HASH_BYTES];

    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    cwi_writer_text(writer, "user,item\n");
    cwi_writer_int(writer, INT64_MIN);
    cwi_writer_put(writer, "\0\n", 2);
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, hash), CW_OK);
    expect_hash(hash, "user,item\n-9223372036854775808\0\n", 32);
    assert_int_equal(cwi_file_hash(f->l.ctx, f->path, again), CW_OK);
    assert_string_equal(hash, again);
}

static void an_empty_file_has_the_hash_of_nothing(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    char hash[CWI_HASH_BYTES];

    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, hash), CW_OK);
    expect_hash(hash, "", 0);
}

static void more_than_a_buffer_is_written_whole(void **state)
{
    workshop *f = *state;
    enum { BYTES = 1000003 };
    cwi_writer *writer;
    char hash[CWI_HASH_BYTES], again[CWI_HASH_BYTES];
    char *bytes = malloc(BYTES);

    for (size_t k = 0; k < BYTES; k++) bytes[k] = (char)(k * 31 % 251);
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    cwi_writer_put(writer, bytes, 7);
    cwi_writer_put(writer, bytes + 7, BYTES - 7);
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, hash), CW_OK);
    expect_hash(hash, bytes, BYTES);
    assert_int_equal(cwi_file_hash(f->l.ctx, f->path, again), CW_OK);
    assert_string_equal(hash, again);
    free(bytes);
}

static void a_full_disk_is_reported_when_closing(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;

    if (cwi_writer_open(f->l.ctx, "/dev/full", &writer) != CW_OK) {
        print_message("there is no /dev/full\n");
        skip();
    }
    for (int k = 0; k < 100000; k++) cwi_writer_text(writer, "more than a buffer\n");
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, NULL), CW_IO);
    assert_string_equal(cw_context_error(f->l.ctx),
                        "cannot write /dev/full: No space left on device");
}

static void what_cannot_be_opened_is_named(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    char hash[CWI_HASH_BYTES], expected[256];

    assert_int_equal(cwi_writer_open(f->l.ctx, f->folder, &writer), CW_IO);
    assert_null(writer);
    snprintf(expected, sizeof expected, "cannot create %s: Is a directory", f->folder);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_file_hash(f->l.ctx, f->path, hash), CW_IO);
    snprintf(expected, sizeof expected, "cannot read %s: No such file or directory", f->path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    cwi_writer_abandon(NULL);
}

static void a_long_path_does_not_hide_the_reason(void **state)
{
    workshop *f = *state;
    char path[2048];

    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    errno = EACCES;
    assert_int_equal(cwi_fail_errno(f->l.ctx, "read", path), CW_IO);
    const char *error = cw_context_error(f->l.ctx);
    assert_memory_equal(error, "cannot read ...xxx", 18);
    assert_string_equal(error + strlen(error) - 22, "xxx: Permission denied");
    cwi_begin(f->l.ctx);
    errno = ENOENT;
    assert_int_equal(cwi_fail_errno(f->l.ctx, "read", ""), CW_IO);
    assert_string_equal(cw_context_error(f->l.ctx), "cannot read '': No such file or directory");
}

/* ---- files under construction ---------------------------------------------- */

static void a_published_file_replaces_the_old_one(void **state)
{
    workshop *f = *state;
    write_file(f->folder, "set", "old");
    write_file(f->folder, ".set.partial-1-0", "of a living process");
    write_file(f->folder, ".set.partial-2147483647-0", "of a process that cannot be");
    char *work = cwi_file_work_path(f->l.ctx, f->path);
    assert_non_null(work);
    assert_string_equal(names_in(f->folder), ".set.partial-1-0 set ");
    write_file(f->folder, strrchr(work, '/') + 1, "new");
    assert_string_equal(read_text(f->folder, "set"), "old");
    assert_int_equal(cwi_file_publish(f->l.ctx, work, f->path), CW_OK);
    assert_string_equal(read_text(f->folder, "set"), "new");
    assert_string_equal(names_in(f->folder), ".set.partial-1-0 set ");
    cwi_free(work);
}

/* ---- folders under construction -------------------------------------------- */

static cwi_folder *begin(workshop *f, bool replace)
{
    cwi_folder *folder;
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, replace, markers, &folder), CW_OK);
    return folder;
}

static void make_set(workshop *f, const char *text)
{
    cwi_folder *folder = begin(f, true);
    write_file(cwi_folder_path(folder), "marker", text);
    assert_int_equal(cwi_folder_commit(f->l.ctx, folder), CW_OK);
}

static void a_folder_appears_when_committed(void **state)
{
    workshop *f = *state;
    cwi_folder *folder = begin(f, false);
    write_file(cwi_folder_path(folder), "marker", "whole");
    assert_false(cwi_path_exists(f->path));
    assert_int_equal(cwi_folder_commit(f->l.ctx, folder), CW_OK);
    assert_string_equal(read_text(f->path, "marker"), "whole");
    assert_string_equal(names_in(f->folder), "set ");
}

static void an_aborted_folder_leaves_nothing(void **state)
{
    workshop *f = *state;
    char path[256];
    cwi_folder *folder = begin(f, false);
    write_file(cwi_folder_path(folder), "marker", "half");
    snprintf(path, sizeof path, "%s/deep", cwi_folder_path(folder));
    assert_int_equal(mkdir(path, 0777), 0);
    write_file(path, "er", "half");
    cwi_folder_abort(f->l.ctx, folder);
    cwi_folder_abort(f->l.ctx, NULL);
    assert_string_equal(names_in(f->folder), "");
}

static void the_message_of_an_aborted_folder_names_its_place(void **state)
{
    workshop *f = *state;
    char path[256], expected[256];
    cwi_folder *folder = begin(f, false);
    snprintf(path, sizeof path, "%s/train.csv", cwi_folder_path(folder));
    errno = ENOSPC;
    assert_int_equal(cwi_fail_errno(f->l.ctx, "write", path), CW_IO);
    cwi_folder_abort(f->l.ctx, folder);
    snprintf(expected, sizeof expected, "cannot write %s/train.csv: No space left on device",
             f->path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
}

static void an_old_folder_is_replaced_only_when_asked(void **state)
{
    workshop *f = *state;
    cwi_folder *folder;

    make_set(f, "old");
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, false, markers, &folder), CW_IO);
    assert_null(folder);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "exists; it is replaced only with --force"));
    make_set(f, "new");
    assert_string_equal(read_text(f->path, "marker"), "new");
    assert_string_equal(names_in(f->folder), "set ");
}

static void a_folder_without_a_marker_is_never_replaced(void **state)
{
    workshop *f = *state;
    cwi_folder *folder;

    assert_int_equal(mkdir(f->path, 0777), 0);
    write_file(f->path, "precious", "keep");
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, markers, &folder), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "has no marker, so it is not replaced"));
    assert_string_equal(read_text(f->path, "precious"), "keep");
}

static void a_link_or_file_is_never_replaced(void **state)
{
    workshop *f = *state;
    cwi_folder *folder;

    write_file(f->folder, "set", "a file");
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, markers, &folder), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "exists and is not a folder"));
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(symlink("/", f->path), 0);
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, markers, &folder), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "exists and is a link, not a folder"));
}

static void two_folders_under_construction_do_not_meet(void **state)
{
    workshop *f = *state;
    cwi_folder *one = begin(f, false), *two = begin(f, false);

    assert_string_not_equal(cwi_folder_path(one), cwi_folder_path(two));
    write_file(cwi_folder_path(one), "marker", "one");
    write_file(cwi_folder_path(two), "marker", "two");
    assert_int_equal(cwi_folder_commit(f->l.ctx, two), CW_OK);
    assert_int_equal(cwi_folder_commit(f->l.ctx, one), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "exists; it is replaced only with --force"));
    assert_string_equal(read_text(f->path, "marker"), "two");
    assert_string_equal(names_in(f->folder), "set ");
}

static void a_place_that_someone_took_meanwhile_is_not_replaced(void **state)
{
    workshop *f = *state;
    cwi_folder *folder = begin(f, true);

    write_file(cwi_folder_path(folder), "marker", "ours");
    assert_int_equal(mkdir(f->path, 0777), 0);
    write_file(f->path, "precious", "keep");
    assert_int_equal(cwi_folder_commit(f->l.ctx, folder), CW_IO);
    assert_string_equal(read_text(f->path, "precious"), "keep");
    assert_string_equal(names_in(f->folder), "set ");
}

static void left_overs_of_a_dead_process_are_removed(void **state)
{
    workshop *f = *state;
    char alive[128];

    pid_t child = fork();
    if (child == 0) {
        cwi_folder *folder;
        cw_status status = cwi_folder_begin(f->l.ctx, f->path, false, markers, &folder);
        _exit(status == CW_OK ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    snprintf(alive, sizeof alive, ".set.partial-%lld-0 ", (long long)child);
    assert_string_equal(names_in(f->folder), alive);
    cwi_folder *folder = begin(f, false);
    snprintf(alive, sizeof alive, ".set.partial-%lld-0 ", (long long)getpid());
    assert_string_equal(names_in(f->folder), alive);
    cwi_folder_abort(f->l.ctx, folder);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_hash_is_that_of_the_bytes_written),
        CASE(an_empty_file_has_the_hash_of_nothing),
        CASE(more_than_a_buffer_is_written_whole),
        CASE(a_full_disk_is_reported_when_closing),
        CASE(what_cannot_be_opened_is_named),
        CASE(a_long_path_does_not_hide_the_reason),
        CASE(a_published_file_replaces_the_old_one),
        CASE(a_folder_appears_when_committed),
        CASE(an_aborted_folder_leaves_nothing),
        CASE(the_message_of_an_aborted_folder_names_its_place),
        CASE(an_old_folder_is_replaced_only_when_asked),
        CASE(a_folder_without_a_marker_is_never_replaced),
        CASE(a_link_or_file_is_never_replaced),
        CASE(two_folders_under_construction_do_not_meet),
        CASE(a_place_that_someone_took_meanwhile_is_not_replaced),
        CASE(left_overs_of_a_dead_process_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

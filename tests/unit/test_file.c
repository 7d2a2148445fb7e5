/* test_file.c - files and folders that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/file.h"
#include "core/mem.h"
#include "testing.h"

static bool owns(const char *path)
{
    return strcmp(path, "marker") == 0 || strcmp(path, "deep/") == 0 ||
           strcmp(path, "deep/er") == 0;
}

static const cwi_folder_kind kind = {"marker", owns};

static bool begins_like_a_note(const char *start, size_t length)
{
    return length >= 4 && memcmp(start, "note", 4) == 0;
}

static const cwi_file_kind note = {"note", begins_like_a_note, true};
static const cwi_file_kind strict = {"note", begins_like_a_note, false};

static int set_up(void **state)
{
    return workshop_open(state, "set");
}

/* Names in a folder, sorted, each with a blank behind it. */
static const char *names_in(const char *folder)
{
    static char names[1024];
    char command[512];
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

/* Let writing fail beyond so many bytes, as on a full disk. */
static void limit_files(rlim_t bytes, struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    struct rlimit limit = {bytes, before->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
}

static void a_full_disk_is_reported_and_the_old_file_stays(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    struct rlimit before;
    char expected[256];

    write_file(f->folder, "set", "old");
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    limit_files(4096, &before);
    for (int k = 0; k < 100000; k++) cwi_writer_text(writer, "more than a buffer\n");
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, NULL), CW_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    snprintf(expected, sizeof expected, "cannot write %s: File too large", f->path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    assert_string_equal(read_text(f->folder, "set"), "old");
    assert_string_equal(names_in(f->folder), "set ");
}

static void what_cannot_be_opened_is_named(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    char hash[CWI_HASH_BYTES], expected[512], path[256];

    assert_int_equal(cwi_writer_open(f->l.ctx, f->folder, &writer), CW_IO);
    assert_null(writer);
    snprintf(expected, sizeof expected, "cannot create %s: it is a folder", f->folder);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    cwi_begin(f->l.ctx);
    snprintf(path, sizeof path, "%s/no/file", f->folder);
    assert_int_equal(cwi_writer_open(f->l.ctx, path, &writer), CW_IO);
    snprintf(expected, sizeof expected, "cannot create %s: No such file or directory", path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_file_hash(f->l.ctx, f->path, hash), CW_IO);
    snprintf(expected, sizeof expected, "cannot read %s: No such file or directory", f->path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    cwi_writer_abandon(NULL);
}

/* Neither opening nor, when it came later, closing may replace what is at f->path. */
static void expect_refused(workshop *f, int (*put)(const char *path), const char *words)
{
    cwi_writer *writer;
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    assert_int_equal(put(f->path), 0);
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, NULL), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), words));
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), words));
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_file_check(f->l.ctx, f->path, &note, true), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), words));
    cwi_begin(f->l.ctx);
    assert_string_equal(names_in(f->folder), "set ");
    assert_int_equal(remove(f->path), 0);
}

static int put_fifo(const char *path)
{
    return mkfifo(path, 0600);
}

static int put_folder(const char *path)
{
    return mkdir(path, 0700);
}

static int put_link(const char *path)
{
    return symlink("/nowhere", path);
}

static int put_socket(const char *path)
{
    return mknod(path, S_IFSOCK | 0600, 0);
}

static int put_device(const char *path)
{
    return mknod(path, S_IFCHR | 0600, makedev(1, 3));
}

static void only_a_plain_file_is_replaced(void **state)
{
    workshop *f = *state;
    expect_refused(f, put_fifo, "it is a FIFO");
    expect_refused(f, put_folder, "it is a folder");
    expect_refused(f, put_link, "it is a link");
    expect_refused(f, put_socket, "it is a socket");
    if (put_device(f->path) == 0) { /* root alone may make one */
        assert_int_equal(remove(f->path), 0);
        expect_refused(f, put_device, "it is a device");
    }
}

static void a_file_of_another_kind_is_replaced_only_when_asked(void **state)
{
    workshop *f = *state;
    cw_context *ctx = f->l.ctx;

    assert_int_equal(cwi_file_check(ctx, f->path, &note, false), CW_OK);
    write_file(f->folder, "set", "");
    assert_int_equal(cwi_file_check(ctx, f->path, &note, false), CW_OK);
    write_file(f->folder, "set", "note of ours");
    assert_int_equal(cwi_file_check(ctx, f->path, &note, false), CW_OK);
    write_file(f->folder, "set", "precious");
    assert_int_equal(cwi_file_check(ctx, f->path, &note, true), CW_OK);
    assert_int_equal(cwi_file_check(ctx, f->path, &note, false), CW_IO);
    assert_non_null(strstr(cw_context_error(ctx),
                           "set exists and is no note of crosswise; only train "
                           "--force replaces it"));
    cwi_begin(ctx);
    assert_int_equal(cwi_file_check(ctx, f->path, &strict, true), CW_IO);
    assert_non_null(strstr(cw_context_error(ctx), "it is not replaced"));
    cwi_file_remove(f->path, &note);
    assert_string_equal(read_text(f->folder, "set"), "precious");
    write_file(f->folder, "set", "note of ours");
    cwi_file_remove(f->path, &note);
    assert_string_equal(names_in(f->folder), "");
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

static void a_call_without_memory_is_not_blamed_on_the_file(void **state)
{
    workshop *f = *state;
    errno = ENOMEM;
    assert_int_equal(cwi_fail_errno(f->l.ctx, "read", f->path), CW_NO_MEMORY);
    assert_string_equal(cw_context_error(f->l.ctx), "out of memory");
}

/* ---- files under construction ---------------------------------------------- */

/* What nobody holds, and names that are not ours. */
static void leave_things(workshop *f)
{
    char path[256];
    write_file(f->folder, ".set.partial-0123456789abcdef", "of a process that is gone");
    write_file(f->folder, ".set.partial-12-0", "named after a process");
    write_file(f->folder, ".set.partial-0123456789abcdeg", "no number");
    write_file(f->folder, ".other.partial-0123456789abcdef", "of another file");
    snprintf(path, sizeof path, "%s/.set.partial-000000000000000f", f->folder);
    assert_int_equal(symlink("/nowhere", path), 0);
}

static void a_published_file_replaces_the_old_one(void **state)
{
    static const char left[] = ".other.partial-0123456789abcdef .set.partial-000000000000000f "
                               ".set.partial-0123456789abcdeg .set.partial-12-0 ";
    workshop *f = *state;
    cwi_writer *writer;
    char expected[512];

    write_file(f->folder, "set", "old");
    leave_things(f);
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    cwi_writer_text(writer, "new");
    assert_int_equal(cwi_writer_finish(f->l.ctx, writer, NULL), CW_OK);
    assert_string_equal(read_text(f->folder, "set"), "old");
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, NULL), CW_OK);
    assert_string_equal(read_text(f->folder, "set"), "new");
    snprintf(expected, sizeof expected, "%sset ", left);
    assert_string_equal(names_in(f->folder), expected);
}

static void the_longest_name_can_be_written(void **state)
{
    workshop *f = *state;
    char name[NAME_MAX + 1], path[512];
    cwi_writer *writer;
    memset(name, 'x', NAME_MAX);
    name[NAME_MAX] = '\0';
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    assert_int_equal(cwi_writer_open(f->l.ctx, path, &writer), CW_OK);
    cwi_writer_text(writer, "text");
    assert_int_equal(cwi_writer_close(f->l.ctx, writer, NULL), CW_OK);
    assert_string_equal(read_text(f->folder, name), "text");
}

static void fields_are_quoted_where_they_must(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    assert_int_equal(cwi_writer_open_in(f->l.ctx, f->folder, "fields.csv", &writer), CW_OK);
    cwi_writer_field(writer, "", "plain \xc3\xa9");
    cwi_writer_field(writer, "'", "=1");
    cwi_writer_field(writer, "'", "=\"a\",\n");
    assert_int_equal(cwi_writer_end(f->l.ctx, writer, CW_OK), CW_OK);
    assert_string_equal(read_text(f->folder, "fields.csv"), "plain \xc3\xa9'=1\"'=\"\"a\"\",\n\"");
}

static void an_abandoned_file_leaves_nothing(void **state)
{
    workshop *f = *state;
    cwi_writer *writer;
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &writer), CW_OK);
    cwi_writer_text(writer, "half");
    assert_int_equal(cwi_writer_end(f->l.ctx, writer, CW_CANCELLED), CW_CANCELLED);
    assert_string_equal(names_in(f->folder), "");
}

static void two_writers_of_one_file_do_not_meet(void **state)
{
    workshop *f = *state;
    cwi_writer *one, *two;
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &one), CW_OK);
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &two), CW_OK);
    cwi_writer_text(one, "one");
    cwi_writer_text(two, "two");
    assert_int_equal(cwi_writer_close(f->l.ctx, two, NULL), CW_OK);
    assert_string_equal(read_text(f->folder, "set"), "two");
    assert_int_equal(cwi_writer_close(f->l.ctx, one, NULL), CW_OK);
    assert_string_equal(read_text(f->folder, "set"), "one");
    assert_string_equal(names_in(f->folder), "set ");
}

static cwi_writer *write_new(workshop *f, const char *name, const char *text)
{
    cwi_writer *writer;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    assert_int_equal(cwi_writer_open(f->l.ctx, path, &writer), CW_OK);
    cwi_writer_text(writer, text);
    return writer;
}

static void a_pair_is_published_together(void **state)
{
    workshop *f = *state;
    for (int k = 0; k < 2; k++) {
        cwi_writer *one = write_new(f, "set", k ? "new" : "old");
        cwi_writer *two = write_new(f, "tells", k ? "new" : "old");
        assert_int_equal(cwi_writer_close_pair(f->l.ctx, one, two), CW_OK);
        assert_string_equal(read_text(f->folder, "set"), k ? "new" : "old");
        assert_string_equal(read_text(f->folder, "tells"), k ? "new" : "old");
        assert_string_equal(names_in(f->folder), "set tells ");
    }
}

static void a_pair_that_fails_leaves_the_old_one(void **state)
{
    workshop *f = *state;
    write_file(f->folder, "tells", "old");
    cwi_writer *one = write_new(f, "set", "new"), *two = write_new(f, "tells", "new");
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_int_equal(cwi_writer_close_pair(f->l.ctx, one, two), CW_IO);
    assert_string_equal(read_text(f->folder, "tells"), "old");
    assert_string_equal(names_in(f->folder), "set tells ");
}

/* A pair that another process might be in the middle of is never mixed with ours. */
static void a_locked_folder_is_refused_in_the_end(void **state)
{
    workshop *f = *state;
    int folder = open(f->folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(folder, LOCK_EX), 0);
    cwi_writer *one = write_new(f, "set", "new"), *two = write_new(f, "tells", "new");
    assert_int_equal(cwi_writer_close_pair(f->l.ctx, one, two), CW_IO);
    assert_non_null(strstr(f->l.ctx->error, "another process holds the lock"));
    assert_string_equal(names_in(f->folder), "");
    close(folder);
}

static void a_file_has_a_name(void **state)
{
    static const cwi_file_kind any = {.noun = "thing"};
    workshop *f = *state;
    assert_int_equal(cwi_file_check(f->l.ctx, "", &any, false), CW_BAD_ARG);
    assert_string_equal(cw_context_error(f->l.ctx), "'' is no name for a file");
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_file_check(f->l.ctx, "new/", &any, false), CW_BAD_ARG);
}

/* ---- folders under construction -------------------------------------------- */

static cwi_folder *begin(workshop *f, bool replace)
{
    cwi_folder *folder;
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, replace, &kind, &folder), CW_OK);
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
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, false, &kind, &folder), CW_IO);
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
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, &kind, &folder), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "has no marker, so it is not replaced"));
    assert_string_equal(read_text(f->path, "precious"), "keep");
}

static void a_link_or_file_is_never_replaced(void **state)
{
    workshop *f = *state;
    cwi_folder *folder;

    write_file(f->folder, "set", "a file");
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, &kind, &folder), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "exists and is a file, not a folder"));
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(symlink("/", f->path), 0);
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, &kind, &folder), CW_IO);
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

static void a_folder_with_a_foreign_file_is_never_replaced(void **state)
{
    workshop *f = *state;
    cwi_folder *folder;
    char path[256], expected[512];

    make_set(f, "old");
    snprintf(path, sizeof path, "%s/deep", f->path);
    assert_int_equal(mkdir(path, 0777), 0);
    write_file(path, "notes", "keep");
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, &kind, &folder), CW_IO);
    snprintf(
        expected, sizeof expected,
        "deep/notes in %s was not made by crosswise; move it away, then the folder is replaced",
        f->path);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    assert_string_equal(read_text(path, "notes"), "keep");
    snprintf(path, sizeof path, "%s/deep/notes", f->path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(f->folder, path), 0); /* nor is a link ours */
    cwi_begin(f->l.ctx);
    assert_int_equal(cwi_folder_begin(f->l.ctx, f->path, true, &kind, &folder), CW_IO);
    assert_string_equal(cw_context_error(f->l.ctx), expected);
    assert_int_equal(unlink(path), 0);
    cwi_begin(f->l.ctx);
    make_set(f, "new");
    assert_string_equal(names_in(f->path), "marker ");
}

/* A process that is gone, seen from the folder. */
static void begin_and_die(workshop *f)
{
    int result;
    pid_t child = fork();
    if (child == 0) {
        cwi_folder *folder;
        cw_status status = cwi_folder_begin(f->l.ctx, f->path, false, &kind, &folder);
        if (status == CW_OK) write_file(cwi_folder_path(folder), "marker", "half");
        _exit(status == CW_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static void left_overs_of_a_dead_process_are_removed(void **state)
{
    workshop *f = *state;
    char only[128];

    begin_and_die(f);
    assert_non_null(strstr(names_in(f->folder), ".set.partial-"));
    cwi_folder *folder = begin(f, false);
    snprintf(only, sizeof only, "%s ", strrchr(cwi_folder_path(folder), '/') + 1);
    assert_string_equal(names_in(f->folder), only);
    cwi_folder_abort(f->l.ctx, folder);
    assert_string_equal(names_in(f->folder), "");
}

static void left_overs_with_a_foreign_file_stay(void **state)
{
    workshop *f = *state;
    char path[256];
    snprintf(path, sizeof path, "%s/.set.partial-0123456789abcdef", f->folder);
    assert_int_equal(mkdir(path, 0777), 0);
    write_file(path, "marker", "half");
    write_file(path, "notes", "keep");
    make_set(f, "whole");
    assert_string_equal(names_in(path), "notes ");
}

static void the_work_of_a_living_process_is_left_alone(void **state)
{
    workshop *f = *state;
    cwi_folder *folder = begin(f, false);
    write_file(cwi_folder_path(folder), "marker", "ours");
    pid_t child = fork();
    if (child == 0) {
        cwi_folder *other;
        cw_status status = cwi_folder_begin(f->l.ctx, f->path, false, &kind, &other);
        if (status == CW_OK) cwi_folder_abort(f->l.ctx, other);
        _exit(status == CW_OK ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(cwi_folder_commit(f->l.ctx, folder), CW_OK);
    assert_string_equal(read_text(f->path, "marker"), "ours");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_hash_is_that_of_the_bytes_written),
        CASE(an_empty_file_has_the_hash_of_nothing),
        CASE(more_than_a_buffer_is_written_whole),
        CASE(a_full_disk_is_reported_and_the_old_file_stays),
        CASE(what_cannot_be_opened_is_named),
        CASE(a_long_path_does_not_hide_the_reason),
        CASE(only_a_plain_file_is_replaced),
        CASE(a_file_of_another_kind_is_replaced_only_when_asked),
        CASE(a_call_without_memory_is_not_blamed_on_the_file),
        CASE(a_published_file_replaces_the_old_one),
        CASE(the_longest_name_can_be_written),
        CASE(fields_are_quoted_where_they_must),
        CASE(an_abandoned_file_leaves_nothing),
        CASE(two_writers_of_one_file_do_not_meet),
        CASE(a_pair_is_published_together),
        CASE(a_pair_that_fails_leaves_the_old_one),
        CASE(a_locked_folder_is_refused_in_the_end),
        CASE(a_file_has_a_name),
        CASE(a_folder_appears_when_committed),
        CASE(an_aborted_folder_leaves_nothing),
        CASE(the_message_of_an_aborted_folder_names_its_place),
        CASE(an_old_folder_is_replaced_only_when_asked),
        CASE(a_folder_without_a_marker_is_never_replaced),
        CASE(a_link_or_file_is_never_replaced),
        CASE(two_folders_under_construction_do_not_meet),
        CASE(a_place_that_someone_took_meanwhile_is_not_replaced),
        CASE(a_folder_with_a_foreign_file_is_never_replaced),
        CASE(left_overs_of_a_dead_process_are_removed),
        CASE(left_overs_with_a_foreign_file_stay),
        CASE(the_work_of_a_living_process_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

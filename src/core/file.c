/* file.c - buffered writing with a checksum; files that appear whole or not at all. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/mem.h"
#include "core/text.h"
#include "core/work.h"

enum { BUFFER_BYTES = 1 << 18 };

struct cwi_writer {
    cwi_work work;
    int error; /* errno of the first failure, 0 when all is well */
    bool is_finished;
    char *path; /* where it shall appear */
    XXH3_state_t *hash;
    size_t used;
    char buffer[BUFFER_BYTES];
};

/* ---- hashes --------------------------------------------------------------- */

static void print_hash(XXH128_hash_t hash, char out[CWI_HASH_BYTES])
{
    snprintf(out, CWI_HASH_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void cwi_digest_add(cwi_digest *digest, const void *bytes, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, length, digest->high ^ digest->low);
    digest->high = hash.high64;
    digest->low = hash.low64;
}

void cwi_digest_print(const cwi_digest *digest, char hash[CWI_HASH_BYTES])
{
    print_hash((XXH128_hash_t){.low64 = digest->low, .high64 = digest->high}, hash);
}

cw_status cwi_file_hash(cw_context *ctx, const char *path, char hash[CWI_HASH_BYTES])
{
    cw_status status = CW_OK;
    ssize_t got = 0;
    XXH3_state_t *state = NULL;
    char *buffer = cwi_alloc(ctx, BUFFER_BYTES, 1);
    int file;

    CWI_AGAIN(file, open(path, O_RDONLY | O_CLOEXEC));
    if (file < 0)
        status = cwi_fail_errno(ctx, "read", path);
    else if (!buffer || !(state = XXH3_createState()))
        status = cwi_no_memory(ctx);
    if (status == CW_OK) {
        XXH3_128bits_reset(state);
        do {
            CWI_AGAIN(got, read(file, buffer, BUFFER_BYTES));
            if (got > 0) XXH3_128bits_update(state, buffer, (size_t)got);
        } while (got > 0);
        if (got < 0) status = cwi_fail_errno(ctx, "read", path);
        print_hash(XXH3_128bits_digest(state), hash);
    }
    if (file >= 0) close(file);
    XXH3_freeState(state);
    cwi_free(buffer);
    return status;
}

/* ---- without a name --------------------------------------------------------- */

/* Where there are no such files, one that loses its name at once. */
static int open_named(cw_context *ctx, const char *folder)
{
    char *path = cwi_path_join(ctx, folder, ".crosswise-XXXXXX");
    int file = -1;
    if (path) CWI_AGAIN(file, mkostemp(path, O_CLOEXEC));
    if (file >= 0) (void)unlink(path);
    cwi_free(path);
    return file;
}

cw_status cwi_file_nameless(cw_context *ctx, const char *folder, const char *what, int *out)
{
    CWI_AGAIN(*out, open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (*out < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) *out = open_named(ctx, folder);
    return *out >= 0 ? CW_OK : cwi_fail_errno(ctx, what, folder);
}

/* ---- reading -------------------------------------------------------------- */

static cw_status read_all(cw_context *ctx, int file, const char *path, size_t most, char **out,
                          size_t *length)
{
    size_t capacity = 0;
    ssize_t got;
    do {
        CW_PASS(cwi_grow(ctx, out, &capacity, *length + (1 << 16), 1));
        CWI_AGAIN(got, read(file, *out + *length, capacity - *length));
        if (got < 0) return cwi_fail_errno(ctx, "read", path);
        *length += (size_t)got;
        if (*length > most)
            return cwi_fail(ctx, CW_BAD_DATA, "%s: it is larger than %zu bytes", path, most);
    } while (got != 0);
    return CW_OK;
}

cw_status cwi_file_read(cw_context *ctx, const char *path, size_t most, char **out, size_t *length)
{
    int file;
    *out = NULL;
    *length = 0;
    CWI_AGAIN(file, open(path, O_RDONLY | O_CLOEXEC));
    if (file < 0) return cwi_fail_errno(ctx, "read", path);
    cw_status status = read_all(ctx, file, path, most, out, length);
    close(file);
    return status;
}

/* ---- paths ---------------------------------------------------------------- */

char *cwi_path_join(cw_context *ctx, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    bool has_slash = length > 0 && folder[length - 1] == '/';
    return cwi_format(ctx, has_slash ? "%s%s" : "%s/%s", folder, name);
}

/* What cannot be looked at may well be there: whoever opens it then learns why not. */
static bool is_absent(void)
{
    return errno == ENOENT || errno == ENOTDIR;
}

bool cwi_path_exists(const char *path)
{
    return access(path, F_OK) == 0 || !is_absent();
}

bool cwi_path_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? S_ISDIR(info.st_mode) : !is_absent();
}

/* ---- places --------------------------------------------------------------- */

/* A place for a file is empty or has a plain file.  *size is -1 when there is none. */
static cw_status check_plain(cw_context *ctx, const char *path, int64_t *size)
{
    struct stat info;
    *size = -1;
    if (cwi_path_base(path)[0] == '\0')
        return cwi_fail(ctx, CW_BAD_ARG, "'%s' is no name for a file", path);
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? CW_OK : cwi_fail_errno(ctx, "create", path);
    *size = info.st_size;
    if (S_ISREG(info.st_mode)) return CW_OK;
    return cwi_fail(ctx, CW_IO, "cannot create %s: it is %s", path, cwi_mode_words(info.st_mode));
}

/* The first bytes of a plain file; -1 when it cannot be read. */
static ssize_t read_start(const char *path, char start[CWI_FILE_START])
{
    struct stat info;
    ssize_t used = 0, got = -1;
    int file;
    CWI_AGAIN(file, open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file < 0) return -1;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) do { /* a read may be short */
            CWI_AGAIN(got, pread(file, start + used, (size_t)(CWI_FILE_START - used), used));
            if (got > 0) used += got;
        } while (got > 0 && used < CWI_FILE_START);
    close(file);
    return got < 0 ? -1 : used;
}

cw_status cwi_file_check(cw_context *ctx, const char *path, const cwi_file_kind *kind, bool replace)
{
    char start[CWI_FILE_START];
    int64_t size;
    CW_PASS(check_plain(ctx, path, &size));
    if (size < 0) return cwi_path_check_parent(ctx, "create", path);
    if (size == 0 || (replace && kind->can_force)) return CW_OK;
    ssize_t got = read_start(path, start);
    if (got < 0) return cwi_fail_errno(ctx, "read", path);
    if (kind->is_ours(start, (size_t)got)) return CW_OK;
    return cwi_fail(ctx, CW_IO, "%s exists and is no %s of crosswise; %s", path, kind->noun,
                    kind->can_force ? "only train --force replaces it" : "it is not replaced");
}

void cwi_file_remove(const char *path, const cwi_file_kind *kind)
{
    char start[CWI_FILE_START];
    ssize_t got = read_start(path, start);
    if (got > 0 && kind->is_ours(start, (size_t)got)) (void)unlink(path);
}

/* ---- writer --------------------------------------------------------------- */

static cw_status begin(cw_context *ctx, const char *path, cwi_writer *writer)
{
    int64_t size;
    writer->path = cwi_strdup(ctx, path);
    if (!writer->path) return CW_NO_MEMORY;
    writer->hash = XXH3_createState();
    if (!writer->hash) return cwi_no_memory(ctx);
    XXH3_128bits_reset(writer->hash);
    CW_PASS(check_plain(ctx, path, &size));
    CW_PASS(cwi_work_sweep(ctx, path, NULL, NULL));
    return cwi_work_open(ctx, path, false, &writer->work);
}

cw_status cwi_writer_open(cw_context *ctx, const char *path, cwi_writer **out)
{
    *out = NULL;
    cwi_writer *writer = cwi_alloc(ctx, 1, sizeof *writer);
    if (!writer) return CW_NO_MEMORY;
    memset(writer, 0, offsetof(cwi_writer, buffer));
    writer->work.file = -1;
    cw_status status = begin(ctx, path, writer);
    if (status == CW_OK)
        *out = writer;
    else
        cwi_writer_abandon(writer);
    return status;
}

cw_status cwi_writer_open_in(cw_context *ctx, const char *folder, const char *name,
                             cwi_writer **out)
{
    char *path = cwi_path_join(ctx, folder, name);
    *out = NULL;
    cw_status status = path ? cwi_writer_open(ctx, path, out) : CW_NO_MEMORY;
    cwi_free(path);
    return status;
}

static void flush(cwi_writer *writer)
{
    size_t at = 0;
    while (at < writer->used && writer->error == 0) {
        ssize_t wrote = write(writer->work.file, writer->buffer + at, writer->used - at);
        if (wrote > 0)
            at += (size_t)wrote;
        else if (wrote == 0 || errno != EINTR)
            writer->error = wrote == 0 ? ENOSPC : errno;
    }
    XXH3_128bits_update(writer->hash, writer->buffer, writer->used);
    writer->used = 0;
}

void cwi_writer_put(cwi_writer *writer, const void *bytes, size_t length)
{
    const char *from = bytes;
    while (length > 0) {
        size_t left = BUFFER_BYTES - writer->used;
        size_t part = length < left ? length : left;
        memcpy(writer->buffer + writer->used, from, part);
        writer->used += part;
        from += part;
        length -= part;
        if (writer->used == BUFFER_BYTES) flush(writer);
    }
}

void cwi_writer_text(cwi_writer *writer, const char *text)
{
    cwi_writer_put(writer, text, strlen(text));
}

void cwi_writer_list(cwi_writer *writer, const char *const *texts)
{
    for (; *texts; texts++) cwi_writer_text(writer, *texts);
}

void cwi_writer_int(cwi_writer *writer, int64_t value)
{
    char digits[CWI_NUMBER_BYTES];
    size_t length = cwi_print_int(value, digits);
    cwi_writer_put(writer, digits, length);
}

void cwi_writer_field(cwi_writer *writer, const char *mark, const char *text)
{
    const char *quote = strpbrk(text, ",\"\r\n") ? "\"" : "";
    cwi_writer_text(writer, quote);
    cwi_writer_text(writer, mark);
    for (; *text; text++)
        cwi_writer_put(writer, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cwi_writer_text(writer, quote);
}

cw_status cwi_writer_finish(cw_context *ctx, cwi_writer *writer, char hash[CWI_HASH_BYTES])
{
    int result = 0;
    if (!writer->is_finished) {
        flush(writer);
        if (writer->error == 0) CWI_AGAIN(result, fsync(writer->work.file));
        if (result != 0) writer->error = errno;
        writer->is_finished = true;
    }
    if (hash) print_hash(XXH3_128bits_digest(writer->hash), hash);
    errno = writer->error;
    return writer->error == 0 ? CW_OK : cwi_fail_errno(ctx, "write", writer->path);
}

/* The last step.  Someone else may have taken the place since it was looked at. */
static cw_status publish(cw_context *ctx, cwi_writer *writer)
{
    int64_t size;
    int result;
    CW_PASS(check_plain(ctx, writer->path, &size));
    CWI_AGAIN(result, rename(writer->work.path, writer->path));
    if (result != 0) return cwi_fail_errno(ctx, "create", writer->path);
    cwi_work_close(&writer->work); /* it has its own name now */
    char *parent = cwi_path_parent(ctx, writer->path);
    cw_status status = parent ? cwi_folder_sync(ctx, parent) : CW_NO_MEMORY;
    cwi_free(parent);
    return status;
}

cw_status cwi_writer_close(cw_context *ctx, cwi_writer *writer, char hash[CWI_HASH_BYTES])
{
    cw_status status = cwi_writer_finish(ctx, writer, hash);
    if (status == CW_OK) status = publish(ctx, writer);
    cwi_writer_abandon(writer);
    return status;
}

void cwi_writer_abandon(cwi_writer *writer)
{
    if (!writer) return;
    if (writer->work.file >= 0) (void)unlink(writer->work.path);
    cwi_work_close(&writer->work);
    XXH3_freeState(writer->hash);
    cwi_free(writer->path);
    cwi_free(writer);
}

cw_status cwi_writer_end(cw_context *ctx, cwi_writer *writer, cw_status status)
{
    if (status == CW_OK) return cwi_writer_close(ctx, writer, NULL);
    cwi_writer_abandon(writer);
    return status;
}

/* ---- two files that belong together ------------------------------------------ */

/* Others that publish a pair in this folder wait, so that two pairs do not mix; one that cannot be
 * had in seconds is an error.  Where locks cannot be had at all there is nothing to wait for. */
static cw_status lock_folder(cw_context *ctx, const char *path, const char *file, int *folder)
{
    enum { ATTEMPTS = 300 };
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int result;
    CWI_AGAIN(*folder, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (*folder < 0) return cwi_fail_errno(ctx, "read folder", path);
    for (int k = 0; k < ATTEMPTS; k++) {
        CWI_AGAIN(result, flock(*folder, LOCK_EX | LOCK_NB));
        if (result == 0 || errno != EWOULDBLOCK) return CW_OK;
        (void)nanosleep(&pause, NULL);
    }
    return cwi_fail(ctx, CW_IO, "cannot create %s: another process holds the lock of its folder",
                    file);
}

/* Move an old file away to a name of work, where it is left over should we be killed; NULL when
 * there was none. */
static cw_status put_aside(cw_context *ctx, const char *path, char **aside)
{
    cwi_work work;
    int64_t size;
    int result;
    *aside = NULL;
    CW_PASS(check_plain(ctx, path, &size));
    if (size < 0) return CW_OK;
    CW_PASS(cwi_work_open(ctx, path, false, &work));
    cw_status status = CW_OK;
    CWI_AGAIN(result, rename(path, work.path));
    if (result == 0) {
        *aside = work.path;
        work.path = NULL;
    } else {
        status = cwi_fail_errno(ctx, "replace", path);
        (void)unlink(work.path);
    }
    cwi_work_close(&work);
    return status;
}

static cw_status publish_pair(cw_context *ctx, const char *parent, cwi_writer *writer,
                              cwi_writer *second)
{
    char *aside = NULL;
    cw_status status = put_aside(ctx, second->path, &aside);
    if (status == CW_OK && aside) status = cwi_folder_sync(ctx, parent);
    if (status == CW_OK) status = publish(ctx, writer);
    /* The old file is still in its place, and what tells about it can be so again. */
    if (writer->work.file >= 0 && aside && rename(aside, second->path) == 0) {
        cwi_free(aside);
        aside = NULL;
    }
    if (status == CW_OK) status = publish(ctx, second);
    if (aside) (void)unlink(aside);
    cwi_free(aside);
    return status;
}

cw_status cwi_writer_close_pair(cw_context *ctx, cwi_writer *writer, cwi_writer *second)
{
    cw_status status;
    int lock = -1;
    if (!second) return cwi_writer_close(ctx, writer, NULL);
    char *parent = cwi_path_parent(ctx, second->path);
    if (!parent) CW_TRY(CW_NO_MEMORY);
    CW_TRY(cwi_writer_finish(ctx, writer, NULL));
    CW_TRY(cwi_writer_finish(ctx, second, NULL));
    CW_TRY(lock_folder(ctx, parent, writer->path, &lock));
    CW_TRY(publish_pair(ctx, parent, writer, second));
done:
    if (lock >= 0) close(lock);
    cwi_free(parent);
    cwi_writer_abandon(writer);
    cwi_writer_abandon(second);
    return status;
}

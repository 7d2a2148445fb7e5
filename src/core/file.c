/* file.c - buffered writing with a checksum; files and folders that appear whole or not at all. */
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/mem.h"
#include "core/text.h"

enum { BUFFER_BYTES = 1 << 18 };

struct cwi_writer {
    int file;
    int error; /* errno of the first failure, 0 when all is well */
    char *path;
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
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        status = cwi_fail_errno(ctx, "read", path);
    else if (!buffer || !(state = XXH3_createState()))
        status = cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
    if (status == CW_OK) {
        XXH3_128bits_reset(state);
        while ((got = read(file, buffer, BUFFER_BYTES)) > 0)
            XXH3_128bits_update(state, buffer, (size_t)got);
        if (got < 0) status = cwi_fail_errno(ctx, "read", path);
        print_hash(XXH3_128bits_digest(state), hash);
    }
    if (file >= 0) close(file);
    XXH3_freeState(state);
    cwi_free(buffer);
    return status;
}

/* ---- writer --------------------------------------------------------------- */

static cw_status refuse_open(cw_context *ctx, cwi_writer *writer, const char *path, bool no_file)
{
    if (no_file) (void)cwi_fail_errno(ctx, "create", path);
    cw_status status = no_file ? CW_IO : cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
    cwi_writer_abandon(writer);
    return status;
}

cw_status cwi_writer_open(cw_context *ctx, const char *path, cwi_writer **out)
{
    *out = NULL;
    cwi_writer *writer = cwi_alloc(ctx, 1, sizeof *writer);
    if (!writer) return CW_NO_MEMORY;
    writer->file = -1;
    writer->error = 0;
    writer->used = 0;
    writer->path = cwi_strdup(ctx, path);
    writer->hash = XXH3_createState();
    if (!writer->path || !writer->hash) return refuse_open(ctx, writer, path, false);
    XXH3_128bits_reset(writer->hash);
    writer->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->file < 0) return refuse_open(ctx, writer, path, true);
    *out = writer;
    return CW_OK;
}

static void flush(cwi_writer *writer)
{
    size_t at = 0;
    while (at < writer->used && writer->error == 0) {
        ssize_t wrote = write(writer->file, writer->buffer + at, writer->used - at);
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
        size_t room = BUFFER_BYTES - writer->used;
        size_t part = length < room ? length : room;
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

void cwi_writer_int(cwi_writer *writer, int64_t value)
{
    char digits[CWI_NUMBER_BYTES];
    size_t length = cwi_print_int(value, digits);
    cwi_writer_put(writer, digits, length);
}

void cwi_writer_abandon(cwi_writer *writer)
{
    if (!writer) return;
    if (writer->file >= 0) close(writer->file);
    XXH3_freeState(writer->hash);
    cwi_free(writer->path);
    cwi_free(writer);
}

cw_status cwi_writer_close(cw_context *ctx, cwi_writer *writer, char hash[CWI_HASH_BYTES])
{
    cw_status status = CW_OK;

    flush(writer);
    if (writer->error == 0 && fsync(writer->file) != 0) writer->error = errno;
    if (close(writer->file) != 0 && writer->error == 0) writer->error = errno;
    writer->file = -1;
    errno = writer->error;
    if (writer->error != 0) status = cwi_fail_errno(ctx, "write", writer->path);
    if (hash) print_hash(XXH3_128bits_digest(writer->hash), hash);
    cwi_writer_abandon(writer);
    return status;
}

/* ---- paths ---------------------------------------------------------------- */

char *cwi_path_join(cw_context *ctx, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    bool has_slash = length > 0 && folder[length - 1] == '/';
    return cwi_format(ctx, has_slash ? "%s%s" : "%s/%s", folder, name);
}

bool cwi_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool cwi_path_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Bring a folder's list of names to the disk, so that a rename survives a power cut. */
static void sync_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return; /* a file system that cannot do it has nothing to lose by it */
    (void)fsync(folder);
    close(folder);
}

/* Cut path at its last slash: the folder it lies in ("." when none), newly allocated. */
static char *parent_of(cw_context *ctx, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return cwi_strdup(ctx, ".");
    if (slash == path) return cwi_strdup(ctx, "/");
    return cwi_format(ctx, "%.*s", (int)(slash - path), path);
}

/* ---- work in progress ----------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What is being made is named after its process; remove what processes that are gone have left. */
static void remove_leftovers(cw_context *ctx, const char *parent, const char *base)
{
    DIR *entries = opendir(parent);
    char *prefix = cwi_format(ctx, ".%s.partial-", base);
    struct dirent *entry;

    while (entries && prefix && (entry = readdir(entries)) != NULL) {
        size_t length = strlen(prefix);
        int64_t process;
        if (strncmp(entry->d_name, prefix, length) != 0) continue;
        const char *digits = entry->d_name + length;
        size_t n_digits = strspn(digits, "0123456789");
        if (!cwi_parse_int(digits, n_digits, &process) || process <= 0 || process > INT32_MAX)
            continue;
        if (kill((pid_t)process, 0) == 0 || errno != ESRCH) continue;
        char *path = cwi_path_join(ctx, parent, entry->d_name);
        if (path) remove_tree(path);
        cwi_free(path);
    }
    if (entries) closedir(entries);
    cwi_free(prefix);
}

/* ".base.partial-PROCESS-N" in parent, newly allocated. */
static char *work_name(cw_context *ctx, const char *parent, const char *base, int n)
{
    return cwi_format(ctx, "%s/.%s.partial-%lld-%d", parent, base, (long long)getpid(), n);
}

char *cwi_file_work_path(cw_context *ctx, const char *path)
{
    char *parent = parent_of(ctx, path);
    if (!parent) return NULL;
    remove_leftovers(ctx, parent, base_of(path));
    char *work = work_name(ctx, parent, base_of(path), 0);
    cwi_free(parent);
    return work;
}

cw_status cwi_file_publish(cw_context *ctx, const char *temporary, const char *path)
{
    char *parent = parent_of(ctx, path);
    if (!parent) return CW_NO_MEMORY;
    cw_status status = CW_OK;
    if (rename(temporary, path) != 0)
        status = cwi_fail_errno(ctx, "create", path);
    else
        sync_folder(parent);
    cwi_free(parent);
    return status;
}

/* ---- folders -------------------------------------------------------------- */

struct cwi_folder {
    char *path;   /* where it shall appear */
    char *parent; /* the folder around it */
    char *work;   /* where it is being made, beside path */
    bool replace; /* an existing folder may be replaced */
    const char *const *markers;
};

static bool folder_is_empty(const char *path)
{
    DIR *entries = opendir(path);
    struct dirent *entry;
    bool empty = entries != NULL;
    while (empty && (entry = readdir(entries)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (entries) closedir(entries);
    return empty;
}

static bool holds_a_marker(cw_context *ctx, const char *path, const char *const *markers)
{
    bool found = false;
    for (; *markers && !found; markers++) {
        char *file = cwi_path_join(ctx, path, *markers);
        found = file && cwi_path_exists(file);
        cwi_free(file);
    }
    return found;
}

/* May a new folder take this place?  Only an empty one, or with `replace` one of our own kind. */
static cw_status check_place(cw_context *ctx, const char *path, bool replace,
                             const char *const *markers)
{
    struct stat info;
    const char *base = base_of(path);

    if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return cwi_fail(ctx, CW_BAD_ARG, "'%s' cannot be an output folder; name a new one", path);
    if (lstat(path, &info) != 0) return CW_OK;
    if (!S_ISDIR(info.st_mode))
        return cwi_fail(ctx, CW_IO, "%s exists and is %s", path,
                        S_ISLNK(info.st_mode) ? "a link, not a folder" : "not a folder");
    if (folder_is_empty(path)) return CW_OK;
    if (!replace) return cwi_fail(ctx, CW_IO, "%s exists; it is replaced only with --force", path);
    if (!holds_a_marker(ctx, path, markers))
        return cwi_fail(ctx, CW_IO, "%s exists and has no %s, so it is not replaced", path,
                        markers[0]);
    return CW_OK;
}

static cw_status make_work_folder(cw_context *ctx, cwi_folder *folder)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        cwi_free(folder->work);
        folder->work = work_name(ctx, folder->parent, base_of(folder->path), attempt);
        if (!folder->work) return CW_NO_MEMORY;
        if (mkdir(folder->work, 0777) == 0) return CW_OK;
        if (errno != EEXIST) break;
    }
    cwi_free(folder->work);
    folder->work = NULL;
    return cwi_fail_errno(ctx, "create folder", folder->path);
}

static void folder_free(cwi_folder *folder)
{
    cwi_free(folder->path);
    cwi_free(folder->parent);
    cwi_free(folder->work);
    cwi_free(folder);
}

cw_status cwi_folder_begin(cw_context *ctx, const char *path, bool replace,
                           const char *const *markers, cwi_folder **out)
{
    cw_status status = CW_NO_MEMORY;

    *out = NULL;
    cwi_folder *folder = cwi_alloc_zero(ctx, 1, sizeof *folder);
    if (!folder) return status;
    folder->replace = replace;
    folder->markers = markers;
    folder->path = cwi_strdup(ctx, path);
    if (!folder->path) goto done;
    for (size_t end = strlen(path); end > 1 && folder->path[end - 1] == '/'; end--)
        folder->path[end - 1] = '\0';
    folder->parent = parent_of(ctx, folder->path);
    if (!folder->parent) goto done;
    CW_TRY(check_place(ctx, folder->path, replace, markers));
    remove_leftovers(ctx, folder->parent, base_of(folder->path));
    CW_TRY(make_work_folder(ctx, folder));
    *out = folder;
done:
    if (status != CW_OK) folder_free(folder);
    return status;
}

const char *cwi_folder_path(const cwi_folder *folder)
{
    return folder->work;
}

/* Swap the work folder with the one in its place; where the file system cannot swap, move the old
 * one away first. */
static int swap_folders(const char *work, const char *path)
{
    char aside[4096];
    if (renameat2(AT_FDCWD, work, AT_FDCWD, path, RENAME_EXCHANGE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (snprintf(aside, sizeof aside, "%s-old", work) >= (int)sizeof aside) return -1;
    if (rename(path, aside) != 0) return -1;
    if (rename(work, path) != 0) {
        int reason = errno;
        (void)rename(aside, path);
        errno = reason;
        return -1;
    }
    return rename(aside, work);
}

/* Put the work folder in place; an old folder that was there is removed afterwards.  Someone else
 * may have taken the place since begin, so it is checked again. */
static cw_status move_into_place(cw_context *ctx, const cwi_folder *folder)
{
    if (rename(folder->work, folder->path) == 0) return CW_OK;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return cwi_fail_errno(ctx, "create folder", folder->path);
    cw_status status = check_place(ctx, folder->path, folder->replace, folder->markers);
    if (status != CW_OK) return status;
    if (swap_folders(folder->work, folder->path) != 0)
        return cwi_fail_errno(ctx, "create folder", folder->path);
    remove_tree(folder->work);
    return CW_OK;
}

cw_status cwi_folder_commit(cw_context *ctx, cwi_folder *folder)
{
    sync_folder(folder->work);
    cw_status status = move_into_place(ctx, folder);
    if (status != CW_OK) {
        cwi_folder_abort(ctx, folder);
        return status;
    }
    sync_folder(folder->parent);
    folder_free(folder);
    return CW_OK;
}

void cwi_folder_abort(cw_context *ctx, cwi_folder *folder)
{
    if (!folder) return;
    cwi_fail_rename(ctx, folder->work, folder->path);
    remove_tree(folder->work);
    folder_free(folder);
}

/* work.c - names, locks and left-overs of what is being made. */
#include "core/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"

enum { N_DIGITS = 16, MAX_BASE = 200 }; /* a longer name is cut, so that there is room for ours */

static const char middle[] = ".partial-";

/* ---- paths ---------------------------------------------------------------- */

char *cwi_path_trim(cw_context *ctx, const char *path)
{
    char *out = cwi_strdup(ctx, path);
    for (size_t end = strlen(path); out && end > 1 && out[end - 1] == '/'; end--)
        out[end - 1] = '\0';
    return out;
}

char *cwi_path_parent(cw_context *ctx, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return cwi_strdup(ctx, ".");
    if (slash == path) return cwi_strdup(ctx, "/");
    return cwi_format(ctx, "%.*s", (int)(slash - path), path);
}

const char *cwi_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *cwi_mode_words(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return "a file";
    case S_IFDIR: return "a folder";
    case S_IFLNK: return "a link";
    case S_IFIFO: return "a FIFO";
    case S_IFSOCK: return "a socket";
    default: return "a device";
    }
}

cw_status cwi_path_check_parent(cw_context *ctx, const char *what, const char *path)
{
    char *parent = cwi_path_parent(ctx, path);
    if (!parent) return CW_NO_MEMORY;
    cw_status status = CW_OK;
    if (faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) != 0)
        status = cwi_fail_errno(ctx, what, path);
    cwi_free(parent);
    return status;
}

/* Some file systems have nothing to say about folders, and a folder may be closed to readers. */
static bool cannot_sync(int reason)
{
    return reason == EINVAL || reason == EROFS || reason == ENOSYS || reason == EOPNOTSUPP ||
           reason == EACCES || reason == EBADF;
}

cw_status cwi_folder_sync(cw_context *ctx, const char *path)
{
    int folder, result = -1;
    CWI_AGAIN(folder, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder >= 0) CWI_AGAIN(result, fsync(folder));
    int reason = errno;
    if (folder >= 0) close(folder);
    if (result == 0 || cannot_sync(reason)) return CW_OK;
    errno = reason;
    return cwi_fail_errno(ctx, "write folder", path);
}

/* ---- names ---------------------------------------------------------------- */

bool cwi_work_is_name(const char *name, const char **base, size_t *length)
{
    const char *at = NULL;
    if (name[0] != '.') return false;
    for (const char *next = name; (next = strstr(next, middle)) != NULL; next++) at = next;
    if (!at || at == name) return false;
    const char *digits = at + sizeof middle - 1;
    if (strlen(digits) != N_DIGITS || strspn(digits, "0123456789abcdef") != N_DIGITS) return false;
    *base = name + 1;
    *length = (size_t)(at - *base);
    return true;
}

/* A new name of work for path. */
static cw_status make_name(cw_context *ctx, const char *path, char **out)
{
    uint64_t random;
    ssize_t got;
    CWI_AGAIN(got, getrandom(&random, sizeof random, 0));
    if (got != (ssize_t)sizeof random) return cwi_fail_errno(ctx, "create", path);
    const char *base = cwi_path_base(path);
    *out = cwi_format(ctx, "%.*s.%.*s%s%016llx", (int)(base - path), path, MAX_BASE, base, middle,
                      (unsigned long long)random);
    return *out ? CW_OK : CW_NO_MEMORY;
}

/* ---- locks ---------------------------------------------------------------- */

static bool has_no_locks(int reason)
{
    return reason == EOPNOTSUPP || reason == ENOSYS || reason == EINVAL || reason == EBADF;
}

bool cwi_is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Show that the maker lives.  Between its making and this, the work may have looked left over to
 * somebody: then *lost is set and it has to be made again. */
static int claim(const cwi_work *work, bool *lost)
{
    struct stat ours, named;
    int result;
    CWI_AGAIN(result, flock(work->file, LOCK_EX | LOCK_NB));
    *lost = result != 0 && errno == EWOULDBLOCK;
    if (*lost) return 0;
    /* Where there are no locks, nobody takes work for left over either. */
    if (result != 0 && !has_no_locks(errno)) return -1;
    if (fstat(work->file, &ours) != 0) return -1;
    *lost = lstat(work->path, &named) != 0 || !cwi_is_same_file(&ours, &named);
    return 0;
}

static int make(const char *path, bool is_folder)
{
    int result;
    if (is_folder) {
        CWI_AGAIN(result, mkdir(path, 0777));
        if (result != 0) return -1;
        CWI_AGAIN(result, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        return result;
    }
    CWI_AGAIN(result, open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    return result;
}

/* Once: *lost says that it has to be tried again. */
static cw_status try_open(cw_context *ctx, const char *path, bool is_folder, cwi_work *out,
                          bool *lost)
{
    *lost = false;
    CW_PASS(make_name(ctx, path, &out->path));
    out->file = make(out->path, is_folder);
    if (out->file < 0) *lost = errno == EEXIST || (is_folder && errno == ENOENT);
    if (out->file >= 0 && claim(out, lost) == 0 && !*lost) return CW_OK;
    int reason = errno;
    if (out->file >= 0) (void)unlinkat(AT_FDCWD, out->path, is_folder ? AT_REMOVEDIR : 0);
    cwi_work_close(out);
    errno = reason;
    if (*lost) return CW_OK;
    return cwi_fail_errno(ctx, is_folder ? "create folder" : "create", path);
}

cw_status cwi_work_open(cw_context *ctx, const char *path, bool is_folder, cwi_work *out)
{
    enum { ATTEMPTS = 100 };
    cw_status status = CW_OK;
    bool lost = true;
    *out = (cwi_work){.file = -1};
    for (int k = 0; k < ATTEMPTS && lost && status == CW_OK; k++)
        status = try_open(ctx, path, is_folder, out, &lost);
    if (lost && status == CW_OK)
        status = cwi_fail_errno(ctx, is_folder ? "create folder" : "create", path);
    return status;
}

void cwi_work_close(cwi_work *work)
{
    if (work->file >= 0) close(work->file);
    cwi_free(work->path);
    *work = (cwi_work){.file = -1};
}

/* ---- left-overs ------------------------------------------------------------ */

/* Whatever cannot be asked counts as alive.  Never waits, never follows a link. */
static void sweep_entry(int folder, const char *name, cwi_work_remove_fn remove, void *user)
{
    struct stat info, named;
    int file, result;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!S_ISREG(info.st_mode) && !(S_ISDIR(info.st_mode) && remove)) return;
    int access = S_ISDIR(info.st_mode) ? O_RDONLY | O_DIRECTORY : O_WRONLY;
    CWI_AGAIN(file, openat(folder, name, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file < 0) return;
    CWI_AGAIN(result, flock(file, LOCK_EX | LOCK_NB));
    if (result == 0 && fstat(file, &info) == 0 &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        cwi_is_same_file(&info, &named)) {
        if (S_ISREG(info.st_mode))
            (void)unlinkat(folder, name, 0);
        else if (S_ISDIR(info.st_mode))
            remove(user, folder, name);
    }
    close(file);
}

cw_status cwi_work_sweep(cw_context *ctx, const char *path, cwi_work_remove_fn remove, void *user)
{
    const char *wanted = cwi_path_base(path), *base;
    char *parent = cwi_path_parent(ctx, path);
    size_t length, wanted_length = strnlen(wanted, MAX_BASE);
    struct dirent *entry;

    if (!parent) return CW_NO_MEMORY;
    DIR *entries = opendir(parent);
    while (entries && (entry = readdir(entries)) != NULL)
        if (cwi_work_is_name(entry->d_name, &base, &length) && length == wanted_length &&
            memcmp(base, wanted, length) == 0)
            sweep_entry(dirfd(entries), entry->d_name, remove, user);
    if (entries) closedir(entries);
    cwi_free(parent);
    return CW_OK;
}

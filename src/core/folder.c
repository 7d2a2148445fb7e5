/* folder.c - folders that appear whole or not at all, and go only as far as we made them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/work.h"

struct cwi_folder {
    char *path; /* where it shall appear */
    cwi_work work;
    bool replace; /* an existing folder may be replaced */
    const cwi_folder_kind *kind;
};

/* ---- what is in a folder --------------------------------------------------- */

enum { PATH_BYTES = 1024 };

/* A walk through a folder of a kind, which never leaves it. */
typedef struct walk {
    const cwi_folder_kind *kind;
    bool removes;             /* what is ours */
    char foreign[PATH_BYTES]; /* the first thing that is not; "" when there is none */
} walk;

static void walk_folder(walk *w, int folder, const char *prefix);

/* One of the files of its kind, or what was to become one. */
static bool is_ours(const walk *w, const char *prefix, const char *name, bool is_folder)
{
    char path[PATH_BYTES];
    const char *base = name;
    size_t length = strlen(name);
    if (!is_folder) (void)cwi_work_is_name(name, &base, &length);
    int used =
        snprintf(path, sizeof path, "%s%.*s%s", prefix, (int)length, base, is_folder ? "/" : "");
    return used > 0 && (size_t)used < sizeof path && w->kind->owns(path);
}

/* Says whether it is gone now. */
static bool walk_entry(walk *w, int folder, const char *prefix, const char *name)
{
    struct stat info;
    char path[PATH_BYTES];
    int inner = -1;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return false; /* gone meanwhile */
    bool is_folder = S_ISDIR(info.st_mode);
    bool good = (is_folder || S_ISREG(info.st_mode)) && is_ours(w, prefix, name, is_folder);
    if (good && is_folder) {
        CWI_AGAIN(inner, openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        good = inner >= 0;
    }
    snprintf(path, sizeof path, "%s%s%s", prefix, name, is_folder ? "/" : "");
    if (good && is_folder) walk_folder(w, inner, path);
    if (!good && !w->foreign[0]) memcpy(w->foreign, path, sizeof path);
    return good && w->removes && unlinkat(folder, name, is_folder ? AT_REMOVEDIR : 0) == 0;
}

/* One pass over the names, of which some may be passed over while others go.  No memory is asked
 * for: what is half made is also removed when there is none.  Says whether something went. */
static bool walk_once(walk *w, int folder, const char *prefix)
{
    _Alignas(struct dirent64) char entries[4096];
    bool any = false;
    ssize_t got = lseek(folder, 0, SEEK_SET) == 0 ? 1 : 0;
    while (got > 0) {
        CWI_AGAIN(got, getdents64(folder, entries, sizeof entries));
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                any |= walk_entry(w, folder, prefix, entry->d_name);
        }
    }
    return any;
}

/* folder is closed. */
static void walk_folder(walk *w, int folder, const char *prefix)
{
    while (walk_once(w, folder, prefix)) {
    }
    close(folder);
}

/* Walk through `name` in the folder `parent`; when removing, the folder itself goes if it is empty
 * then. */
static int walk_tree(walk *w, int parent, const char *name)
{
    int folder;
    CWI_AGAIN(folder, openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder < 0) return -1;
    walk_folder(w, folder, "");
    if (w->removes) (void)unlinkat(parent, name, AT_REMOVEDIR);
    return 0;
}

/* Remove a folder as far as it is ours: what someone has put into it stays, and so does it. */
static void remove_tree(void *kind, int parent, const char *name)
{
    walk w = {.kind = kind, .removes = true};
    (void)walk_tree(&w, parent, name);
}

/* ---- may it be made here? --------------------------------------------------- */

static bool owns_nothing(const char *path)
{
    (void)path;
    return false;
}

static bool folder_is_empty(const char *path)
{
    const cwi_folder_kind none = {.owns = owns_nothing};
    walk w = {.kind = &none};
    return walk_tree(&w, AT_FDCWD, path) == 0 && !w.foreign[0];
}

/* May this folder go?  Only one of our own kind, with nothing else in it. */
static cw_status check_old(cw_context *ctx, const char *path, const cwi_folder_kind *kind)
{
    walk w = {.kind = kind};
    char *marker = cwi_path_join(ctx, path, kind->marker);
    if (!marker) return CW_NO_MEMORY;
    bool has_marker = cwi_path_exists(marker);
    cwi_free(marker);
    if (!has_marker)
        return cwi_fail(ctx, CW_IO, "%s exists and has no %s, so it is not replaced", path,
                        kind->marker);
    if (walk_tree(&w, AT_FDCWD, path) != 0) return cwi_fail_errno(ctx, "read folder", path);
    if (w.foreign[0])
        return cwi_fail(ctx, CW_IO,
                        "%s in %s was not made by crosswise; move it away, then the folder is "
                        "replaced",
                        w.foreign, path);
    return CW_OK;
}

/* May a new folder take this place?  Only an empty one, or with `replace` one of our own kind. */
static cw_status check_place(cw_context *ctx, const char *path, bool replace,
                             const cwi_folder_kind *kind)
{
    struct stat info;
    const char *base = cwi_path_base(path);

    if (base[0] == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return cwi_fail(ctx, CW_BAD_ARG, "'%s' cannot be an output folder; name a new one", path);
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? CW_OK : cwi_fail_errno(ctx, "create folder", path);
    if (!S_ISDIR(info.st_mode))
        return cwi_fail(ctx, CW_IO, "%s exists and is %s, not a folder", path,
                        cwi_mode_words(info.st_mode));
    if (folder_is_empty(path)) return CW_OK;
    if (!replace) return cwi_fail(ctx, CW_IO, "%s exists; it is replaced only with --force", path);
    return check_old(ctx, path, kind);
}

cw_status cwi_folder_check(cw_context *ctx, const char *path, bool replace,
                           const cwi_folder_kind *kind)
{
    cw_status status;
    char *place = cwi_path_trim(ctx, path);
    if (!place) return CW_NO_MEMORY;
    CW_TRY(check_place(ctx, place, replace, kind));
    CW_TRY(cwi_path_check_parent(ctx, "create folder", place));
done:
    cwi_free(place);
    return status;
}

/* ---- making ------------------------------------------------------------------ */

cw_status cwi_folder_make(cw_context *ctx, const char *path)
{
    int result;
    CWI_AGAIN(result, mkdir(path, 0777));
    if (result != 0 && !(errno == EEXIST && cwi_path_is_folder(path)))
        return cwi_fail_errno(ctx, "create folder", path);
    char *place = cwi_path_trim(ctx, path), *parent = place ? cwi_path_parent(ctx, place) : NULL;
    cw_status status = parent ? cwi_folder_sync(ctx, parent) : CW_NO_MEMORY;
    cwi_free(place);
    cwi_free(parent);
    return status;
}

static void folder_free(cwi_folder *folder)
{
    cwi_work_close(&folder->work);
    cwi_free(folder->path);
    cwi_free(folder);
}

cw_status cwi_folder_begin(cw_context *ctx, const char *path, bool replace,
                           const cwi_folder_kind *kind, cwi_folder **out)
{
    cw_status status = CW_NO_MEMORY;

    *out = NULL;
    cwi_folder *folder = cwi_alloc_zero(ctx, 1, sizeof *folder);
    if (!folder) return status;
    *folder = (cwi_folder){.work.file = -1, .replace = replace, .kind = kind};
    folder->path = cwi_path_trim(ctx, path);
    if (!folder->path) goto done;
    CW_TRY(check_place(ctx, folder->path, replace, kind));
    CW_TRY(cwi_work_sweep(ctx, folder->path, remove_tree, (void *)kind));
    CW_TRY(cwi_work_open(ctx, folder->path, true, &folder->work));
    *out = folder;
done:
    if (status != CW_OK) folder_free(folder);
    return status;
}

const char *cwi_folder_path(const cwi_folder *folder)
{
    return folder->work.path;
}

/* ---- putting it in place ------------------------------------------------------- */

/* Swap the work folder with the one in its place; where the file system cannot swap, move the old
 * one away first. */
static int swap_folders(cw_context *ctx, const char *work, const char *path)
{
    int result;
    CWI_AGAIN(result, renameat2(AT_FDCWD, work, AT_FDCWD, path, RENAME_EXCHANGE));
    if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return result;
    cwi_work aside;
    if (cwi_work_open(ctx, path, true, &aside) != CW_OK) return -1;
    result = rename(path, aside.path); /* over an empty folder */
    if (result == 0 && rename(work, path) != 0) {
        int reason = errno;
        (void)rename(aside.path, path);
        errno = reason;
        result = -1;
    }
    if (result == 0) result = rename(aside.path, work);
    cwi_work_close(&aside);
    return result;
}

/* Put the work folder in place; an old folder that was there has its name then.  Someone else may
 * have taken the place since begin, so it is checked again. */
static cw_status move_into_place(cw_context *ctx, const cwi_folder *folder)
{
    int result;
    CWI_AGAIN(result, rename(folder->work.path, folder->path));
    if (result == 0) return CW_OK;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return cwi_fail_errno(ctx, "create folder", folder->path);
    CW_PASS(check_place(ctx, folder->path, folder->replace, folder->kind));
    if (swap_folders(ctx, folder->work.path, folder->path) != 0)
        return cwi_fail_errno(ctx, "create folder", folder->path);
    return CW_OK;
}

/* The names in the new folder, then its own reach the disk, and only then an old one goes. */
cw_status cwi_folder_commit(cw_context *ctx, cwi_folder *folder)
{
    cw_status status;
    char *parent = cwi_path_parent(ctx, folder->path);
    bool is_placed = false;
    if (!parent) CW_TRY(CW_NO_MEMORY);
    CW_TRY(cwi_folder_sync(ctx, folder->work.path));
    CW_TRY(move_into_place(ctx, folder));
    is_placed = true;
    CW_TRY(cwi_folder_sync(ctx, parent));
    remove_tree((void *)folder->kind, AT_FDCWD, folder->work.path);
done:
    cwi_free(parent);
    if (is_placed)
        folder_free(folder);
    else
        cwi_folder_abort(ctx, folder);
    return status;
}

void cwi_folder_abort(cw_context *ctx, cwi_folder *folder)
{
    if (!folder) return;
    cwi_fail_rename(ctx, folder->work.path, folder->path);
    remove_tree((void *)folder->kind, AT_FDCWD, folder->work.path);
    folder_free(folder);
}

cw_status cwi_folder_end(cw_context *ctx, cwi_folder *folder, cw_status status)
{
    if (status == CW_OK) return cwi_folder_commit(ctx, folder);
    cwi_folder_abort(ctx, folder);
    return status;
}

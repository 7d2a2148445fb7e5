/* runstore.c - the folder of an experiment. */
#include "experiment/runstore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/report.h"

static const char lock_name[] = "experiment.lock";

char *cwi_runstore_path(cw_context *ctx, const cwi_runstore *store, const char *format, ...)
{
    char name[512];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return cwi_path_join(ctx, store->folder, name);
}

/* A folder of ours has a lock; any other must be empty. */
static cw_status check_place(cw_context *ctx, const cwi_runstore *store)
{
    DIR *entries = opendir(store->folder);
    struct dirent *entry;
    bool is_ours = false, is_empty = true;

    if (!entries) return cwi_fail_errno(ctx, "read folder", store->folder);
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, lock_name) == 0) is_ours = true;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) is_empty = false;
    }
    closedir(entries);
    if (is_ours || is_empty) return CW_OK;
    return cwi_fail(ctx, CW_IO, "%s holds something that is no experiment; choose another folder",
                    store->folder);
}

static cw_status make_folder(cw_context *ctx, const char *path)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && cwi_path_is_folder(path))) return CW_OK;
    return cwi_fail_errno(ctx, "create folder", path);
}

static cw_status take_lock(cw_context *ctx, cwi_runstore *store)
{
    char *path = cwi_runstore_path(ctx, store, "%s", lock_name);
    cw_status status = CW_OK;
    if (!path) return CW_NO_MEMORY;
    store->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (store->lock < 0)
        status = cwi_fail_errno(ctx, "create", path);
    else if (flock(store->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status =
            cwi_fail(ctx, CW_IO, "%s is in use: another process is running an experiment there",
                     store->folder);
    cwi_free(path);
    return status;
}

static cw_status make_inner_folder(cw_context *ctx, const cwi_runstore *store, const char *name)
{
    char *path = cwi_runstore_path(ctx, store, "%s", name);
    cw_status status = path ? make_folder(ctx, path) : CW_NO_MEMORY;
    cwi_free(path);
    return status;
}

cw_status cwi_runstore_open(cw_context *ctx, const char *folder, cwi_runstore *out)
{
    cw_status status;
    *out = (cwi_runstore){.folder = cwi_strdup(ctx, folder), .lock = -1};
    if (!out->folder) return CW_NO_MEMORY;
    CW_TRY(make_folder(ctx, folder));
    CW_TRY(check_place(ctx, out));
    CW_TRY(take_lock(ctx, out));
    CW_TRY(make_inner_folder(ctx, out, "runs"));
    CW_TRY(make_inner_folder(ctx, out, "data"));
done:
    return status;
}

void cwi_runstore_close(cwi_runstore *store)
{
    if (!store->folder) return;
    if (store->lock >= 0) close(store->lock);
    cwi_free(store->folder);
    *store = (cwi_runstore){.lock = -1};
}

cw_status cwi_runstore_read(cw_context *ctx, const cwi_runstore *store, const char *file,
                            json_t **out)
{
    json_error_t error;
    cw_status status = CW_OK;
    char *path = cwi_runstore_path(ctx, store, "%s", file);
    *out = NULL;
    if (!path) return CW_NO_MEMORY;
    if (cwi_path_exists(path)) {
        *out = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
        if (!*out && cwi_report_lacks_memory(&error))
            status = cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
        else if (!json_is_object(*out))
            status =
                cwi_fail(ctx, CW_BAD_DATA, "%s is damaged; remove it to have it made again", path);
    }
    if (status != CW_OK) {
        json_decref(*out);
        *out = NULL;
    }
    cwi_free(path);
    return status;
}

cw_status cwi_newfile_open(cw_context *ctx, const cwi_runstore *store, const char *file,
                           cwi_newfile *out)
{
    *out = (cwi_newfile){.path = cwi_runstore_path(ctx, store, "%s", file)};
    if (out->path) out->work = cwi_file_work_path(ctx, out->path);
    return out->work ? cwi_writer_open(ctx, out->work, &out->writer) : CW_NO_MEMORY;
}

cw_status cwi_newfile_close(cw_context *ctx, cwi_newfile *file, cw_status status)
{
    if (status == CW_OK)
        status = cwi_writer_close(ctx, file->writer, NULL);
    else
        cwi_writer_abandon(file->writer);
    if (status == CW_OK) status = cwi_file_publish(ctx, file->work, file->path);
    if (status != CW_OK && file->work) {
        (void)unlink(file->work);
        cwi_fail_rename(ctx, file->work, file->path);
    }
    cwi_free(file->work);
    cwi_free(file->path);
    *file = (cwi_newfile){0};
    return status;
}

cw_status cwi_runstore_write(cw_context *ctx, const cwi_runstore *store, const char *file,
                             const char *text)
{
    cwi_newfile made;
    cw_status status = cwi_newfile_open(ctx, store, file, &made);
    if (status == CW_OK) cwi_writer_text(made.writer, text);
    return cwi_newfile_close(ctx, &made, status);
}

void cwi_runstore_sweep(cw_context *ctx, const cwi_runstore *store)
{
    char *folder = cwi_runstore_path(ctx, store, "runs");
    DIR *entries = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    while (entries && (entry = readdir(entries)) != NULL)
        if (strstr(entry->d_name, ".checkpoint") || strstr(entry->d_name, ".partial-"))
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries) closedir(entries);
    cwi_free(folder);
}

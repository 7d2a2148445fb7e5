/* runstore.c - the folder of an experiment. */
#include "experiment/runstore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/work.h"

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

static cw_status take_lock(cw_context *ctx, cwi_runstore *store)
{
    char *path = cwi_runstore_path(ctx, store, "%s", lock_name);
    cw_status status = CW_OK;
    if (!path) return CW_NO_MEMORY;
    int result = -1;
    CWI_AGAIN(store->lock, open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (store->lock >= 0) CWI_AGAIN(result, flock(store->lock, LOCK_EX | LOCK_NB));
    if (store->lock < 0)
        status = cwi_fail_errno(ctx, "create", path);
    else if (result != 0 && errno == EWOULDBLOCK)
        status =
            cwi_fail(ctx, CW_IO, "%s is in use: another process is running an experiment there",
                     store->folder);
    else if (result != 0)
        status = cwi_fail_errno(ctx, "lock", path);
    cwi_free(path);
    return status;
}

static cw_status make_inner_folder(cw_context *ctx, const cwi_runstore *store, const char *name)
{
    char *path = cwi_runstore_path(ctx, store, "%s", name);
    cw_status status = path ? cwi_folder_make(ctx, path) : CW_NO_MEMORY;
    cwi_free(path);
    return status;
}

cw_status cwi_runstore_open(cw_context *ctx, const char *folder, cwi_runstore *out)
{
    *out = (cwi_runstore){.folder = cwi_strdup(ctx, folder), .lock = -1};
    if (!out->folder) return CW_NO_MEMORY;
    CW_PASS(cwi_folder_make(ctx, folder));
    CW_PASS(check_place(ctx, out));
    CW_PASS(take_lock(ctx, out));
    CW_PASS(make_inner_folder(ctx, out, "runs"));
    return make_inner_folder(ctx, out, "data");
}

void cwi_runstore_close(cwi_runstore *store)
{
    if (!store->folder) return;
    if (store->lock >= 0) close(store->lock);
    cwi_free(store->folder);
    *store = (cwi_runstore){.lock = -1};
}

/* ---- records --------------------------------------------------------------------- */

/* The key under which a record says its own name. */
static const char own_name[] = "run";

/* Is it whole, and what its name says?  Descriptions of earlier versions do not say. */
static cw_status check_record(cw_context *ctx, const char *path, const char *name,
                              const json_t *record)
{
    const json_t *found = json_object_get(record, own_name);
    const char *text = json_string_value(found);
    if (!found || (text && strcmp(text, name) == 0)) return CW_OK;
    return cwi_fail(ctx, CW_BAD_DATA,
                    "%s is the record of another run, %s; remove it to have it made again", path,
                    text ? text : "which has no name");
}

cw_status cwi_runstore_read(cw_context *ctx, const cwi_runstore *store, const char *kind,
                            const char *name, json_t **out)
{
    cw_status status = CW_OK;
    char *path = cwi_runstore_path(ctx, store, "%s/%s.json", kind, name);
    *out = NULL;
    if (!path) return CW_NO_MEMORY;
    if (!cwi_path_exists(path)) goto done;
    status = cwi_json_load(ctx, path, out);
    if (status == CW_BAD_DATA) {
        cwi_begin(ctx);
        (void)cwi_fail(ctx, status, "%s is damaged; remove it to have it made again", path);
    }
    if (status == CW_OK) status = check_record(ctx, path, name, *out);
    if (status == CW_OK) goto done;
    json_decref(*out);
    *out = NULL;
done:
    cwi_free(path);
    return status;
}

cw_status cwi_runstore_keep(cw_context *ctx, const cwi_runstore *store, const char *kind,
                            const char *name, json_t *record, json_t **out)
{
    cw_status status;
    char *text = NULL, file[160];
    *out = NULL;
    snprintf(file, sizeof file, "%s/%s.json", kind, name);
    cwi_json_set(&record, own_name, json_string(name));
    CW_TRY(cwi_json_sign(ctx, record, &text));
    CW_TRY(cwi_runstore_write(ctx, store, file, text));
    CW_TRY(cwi_json_verify(ctx, file, text, strlen(text), out));
done:
    cwi_free(text);
    return status;
}

cw_status cwi_runstore_write(cw_context *ctx, const cwi_runstore *store, const char *file,
                             const char *text)
{
    cwi_writer *writer;
    cw_status status = cwi_writer_open_in(ctx, store->folder, file, &writer);
    if (status == CW_OK) cwi_writer_text(writer, text);
    return cwi_writer_end(ctx, writer, status);
}

/* We hold the folder's lock, so nothing in it can be alive. */
static bool is_left_over(const char *name)
{
    const char *base;
    size_t length;
    return cwi_ends_with(name, ".checkpoint") || cwi_work_is_name(name, &base, &length);
}

void cwi_runstore_remove(cw_context *ctx, const cwi_runstore *store,
                         bool (*is_unwanted)(const char *name))
{
    char *folder = cwi_runstore_path(ctx, store, "runs");
    DIR *entries = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    while (entries && (entry = readdir(entries)) != NULL)
        if (is_unwanted(entry->d_name)) (void)unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries) closedir(entries);
    cwi_free(folder);
}

void cwi_runstore_sweep(cw_context *ctx, const cwi_runstore *store)
{
    cwi_runstore_remove(ctx, store, is_left_over);
}

cw_status cwi_runstore_finish(cw_context *ctx, const cwi_runstore *store, json_t *results,
                              char **json)
{
    char *text = NULL;
    CW_PASS(cwi_json_sign(ctx, json_incref(results), &text));
    cw_status status = cwi_runstore_write(ctx, store, "results.json", text);
    if (status == CW_OK) cwi_runstore_sweep(ctx, store);
    if (status == CW_OK && json)
        *json = text;
    else
        cwi_free(text);
    return status;
}

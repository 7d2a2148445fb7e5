/*
 * work.h - what is being made, beside the place it is meant for.
 *
 * Its name, ".BASE.partial-" and 16 random digits, cannot be guessed, and while its maker lives it
 * is locked: process ids mean nothing to other machines and containers that share the folder.
 */
#ifndef CWI_CORE_WORK_H
#define CWI_CORE_WORK_H

#include <sys/stat.h>

#include "core/context.h"

typedef struct cwi_work {
    int file;   /* -1: none */
    char *path; /* its own name */
} cwi_work;

/* Make a new file, or a new folder, that is to become `path`.  A message names path. */
cw_status cwi_work_open(cw_context *ctx, const char *path, bool is_folder, cwi_work *out);

/* Close it and forget its name; the file stays.  A zeroed one with file -1 is fine. */
void cwi_work_close(cwi_work *work);

/* Is this the name of work for BASE?  Returns what stands for BASE and its length. */
bool cwi_work_is_name(const char *name, const char **base, size_t *length);

/* Removes one entry of a folder that nobody works on any more. */
typedef void (*cwi_work_remove_fn)(void *user, int folder, const char *name);

/* Find what processes that are gone have left on their way to `path`: plain files, which are
 * removed, and folders, which are given to `remove` (NULL: they stay).  Fails only for want of
 * memory: a left-over that cannot be removed does no harm. */
cw_status cwi_work_sweep(cw_context *ctx, const char *path, cwi_work_remove_fn remove, void *user);

/* Path without slashes at its end, newly allocated. */
char *cwi_path_trim(cw_context *ctx, const char *path);

/* The folder around path ("." when it names none), newly allocated, and the name in it. */
char *cwi_path_parent(cw_context *ctx, const char *path);
const char *cwi_path_base(const char *path);

/* Can something new be made at path?  The reason names it; what is "create" or "create folder". */
cw_status cwi_path_check_parent(cw_context *ctx, const char *what, const char *path);

/* Bring a folder's list of names to the disk, so that what it lists survives a power cut. */
cw_status cwi_folder_sync(cw_context *ctx, const char *path);

/* Are they the same file, whatever it is called? */
bool cwi_is_same_file(const struct stat *a, const struct stat *b);

/* What has this mode, in words: "a folder", "a link", "a device", ... */
const char *cwi_mode_words(unsigned mode);

/* Do it once more when a signal came between. */
#define CWI_AGAIN(result, call)                                                                    \
    do {                                                                                           \
        (result) = (call);                                                                         \
    } while ((result) < 0 && errno == EINTR)

#endif

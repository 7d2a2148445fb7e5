/* file.h - files and folders that appear whole or not at all. */
#ifndef CWI_CORE_FILE_H
#define CWI_CORE_FILE_H

#include "core/context.h"

enum { CWI_HASH_BYTES = 33 }; /* 32 hexadecimal digits and the end */

/* A checksum of several blocks one after the other, without any memory of its own: each block is
 * hashed with the result so far as its seed.  Start from zeros. */
typedef struct cwi_digest {
    uint64_t high, low;
} cwi_digest;

void cwi_digest_add(cwi_digest *digest, const void *bytes, size_t length);
void cwi_digest_print(const cwi_digest *digest, char hash[CWI_HASH_BYTES]);

/* ---- files ------------------------------------------------------------------- */

/*
 * The one way to write a file: under a name of its own beside `path`, brought to the disk, then
 * moved to path in one step.  Until then the old file stays as it is; anything else than a plain
 * file is never replaced.  What killed processes have left on the way to path is removed.
 * A failure is remembered and reported in the end; messages name path.
 */
typedef struct cwi_writer cwi_writer;

cw_status cwi_writer_open(cw_context *ctx, const char *path, cwi_writer **out);
/* The same for folder/name. */
cw_status cwi_writer_open_in(cw_context *ctx, const char *folder, const char *name,
                             cwi_writer **out);

void cwi_writer_put(cwi_writer *writer, const void *bytes, size_t length);
void cwi_writer_text(cwi_writer *writer, const char *text);
/* Several of them. */
#define CWI_WRITE(writer, ...) cwi_writer_list(writer, (const char *const[]){__VA_ARGS__, NULL})
void cwi_writer_list(cwi_writer *writer, const char *const *texts); /* ends with NULL */
void cwi_writer_int(cwi_writer *writer, int64_t value);
/* A field of CSV, `mark` and then text; in quotes where text needs them. */
void cwi_writer_field(cwi_writer *writer, const char *mark, const char *text);

/* Bring everything to the disk, put it in its place and free.  hash (may be NULL) receives the XXH3
 * 128-bit checksum of the file's bytes.  Always frees; on failure nothing of it is left. */
cw_status cwi_writer_close(cw_context *ctx, cwi_writer *writer, char hash[CWI_HASH_BYTES]);

/* Bring everything to the disk, without the last step: close or close_pair must follow. */
cw_status cwi_writer_finish(cw_context *ctx, cwi_writer *writer, char hash[CWI_HASH_BYTES]);

/* Close a file and another that tells about it (NULL: there is none).  Whenever it is stopped, the
 * new file never stands beside the old second one, nor the other way round. */
cw_status cwi_writer_close_pair(cw_context *ctx, cwi_writer *writer, cwi_writer *second);

/* Remove what was written and free; NULL is fine. */
void cwi_writer_abandon(cwi_writer *writer);

/* close or abandon, as status says; returns what came of it.  NULL is fine after a failure. */
cw_status cwi_writer_end(cw_context *ctx, cwi_writer *writer, cw_status status);

/* A kind of file that crosswise writes. */
enum { CWI_FILE_START = 4096 };
typedef struct cwi_file_kind {
    const char *noun;                                  /* such as "model", for messages */
    bool (*is_ours)(const char *start, size_t length); /* by its first CWI_FILE_START bytes */
    bool can_force; /* a plain file of another kind may be replaced when that is asked for */
} cwi_file_kind;

/* May a file be written here?  Only where there is none, an empty one, or one of the same kind;
 * with replace any plain file, if the kind allows that. */
cw_status cwi_file_check(cw_context *ctx, const char *path, const cwi_file_kind *kind,
                         bool replace);

/* Remove a file if it is of this kind; anything else stays. */
void cwi_file_remove(const char *path, const cwi_file_kind *kind);

/* All bytes of a file, newly allocated, also to be freed after a failure; CW_BAD_DATA when there
 * are more than `most`. */
cw_status cwi_file_read(cw_context *ctx, const char *path, size_t most, char **out, size_t *length);

/* A new file without a name, for reading and writing, that is gone when it is closed; `what` is
 * what a message says of the folder, such as "make a file for rows in". */
cw_status cwi_file_nameless(cw_context *ctx, const char *folder, const char *what, int *out);

/* The same checksum of a file that exists. */
cw_status cwi_file_hash(cw_context *ctx, const char *path, char hash[CWI_HASH_BYTES]);

/* "folder/name", newly allocated. */
char *cwi_path_join(cw_context *ctx, const char *folder, const char *name);

bool cwi_path_exists(const char *path);
bool cwi_path_is_folder(const char *path);

/* ---- folders ----------------------------------------------------------------- */

/* A kind of folder that crosswise makes. */
typedef struct cwi_folder_kind {
    const char *marker; /* the file by which such a folder is known */
    /* Is this one of the files of such a folder?  path begins in the folder, as in "train.csv" and
     * "truth/truth.json"; a folder within ends in a slash. */
    bool (*owns)(const char *path);
} cwi_folder_kind;

/*
 * A folder under construction beside its final place.  Left-overs of processes that were killed
 * are removed on the way.
 *   replace  allow an existing folder of the same kind to be replaced, if it holds nothing but
 *            what crosswise makes; an empty one may always be
 * begin checks and makes the work folder, commit moves it into place, abort removes it.
 */
typedef struct cwi_folder cwi_folder;

cw_status cwi_folder_begin(cw_context *ctx, const char *path, bool replace,
                           const cwi_folder_kind *kind, cwi_folder **out);
const char *cwi_folder_path(const cwi_folder *folder);            /* where to write now */
cw_status cwi_folder_commit(cw_context *ctx, cwi_folder *folder); /* always frees */
/* A message about the failure names the final place.  NULL is fine. */
void cwi_folder_abort(cw_context *ctx, cwi_folder *folder);
/* commit or abort, as status says; returns what came of it. */
cw_status cwi_folder_end(cw_context *ctx, cwi_folder *folder, cw_status status);

/* Make a folder that is filled file by file, unless it is there. */
cw_status cwi_folder_make(cw_context *ctx, const char *path);

/* May such a folder be made here?  What begin asks, before the long work starts. */
cw_status cwi_folder_check(cw_context *ctx, const char *path, bool replace,
                           const cwi_folder_kind *kind);

#endif

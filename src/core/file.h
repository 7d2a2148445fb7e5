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

/* Writes a new file through a buffer.  A failure is remembered and reported by close. */
typedef struct cwi_writer cwi_writer;

cw_status cwi_writer_open(cw_context *ctx, const char *path, cwi_writer **out);
void cwi_writer_put(cwi_writer *writer, const void *bytes, size_t length);
void cwi_writer_text(cwi_writer *writer, const char *text);
void cwi_writer_int(cwi_writer *writer, int64_t value);

/* Bring everything to the disk, close and free.  hash (may be NULL) receives the XXH3 128-bit
 * checksum of the file's bytes.  Always frees, also on failure. */
cw_status cwi_writer_close(cw_context *ctx, cwi_writer *writer, char hash[CWI_HASH_BYTES]);

/* Close and free without caring for the result; NULL is fine. */
void cwi_writer_abandon(cwi_writer *writer);

/* The same checksum of a file that exists. */
cw_status cwi_file_hash(cw_context *ctx, const char *path, char hash[CWI_HASH_BYTES]);

/* "folder/name", newly allocated. */
char *cwi_path_join(cw_context *ctx, const char *folder, const char *name);

bool cwi_path_exists(const char *path);
bool cwi_path_is_folder(const char *path);

/*
 * A folder under construction beside its final place.  Left-overs of processes that were killed
 * are removed on the way.
 *   replace  allow an existing folder to be replaced when it holds a file named in markers,
 *            a list that ends with NULL; an empty one may always be
 * begin checks and makes the work folder, commit moves it into place, abort removes it.
 */
typedef struct cwi_folder cwi_folder;

cw_status cwi_folder_begin(cw_context *ctx, const char *path, bool replace,
                           const char *const *markers, cwi_folder **out);
const char *cwi_folder_path(const cwi_folder *folder);            /* where to write now */
cw_status cwi_folder_commit(cw_context *ctx, cwi_folder *folder); /* always frees */
/* A message about the failure names the final place.  NULL is fine. */
void cwi_folder_abort(cw_context *ctx, cwi_folder *folder);

/* Where to make the file `path` before it gets its name; newly allocated.  Left-overs of processes
 * that were killed while making it are removed. */
char *cwi_file_work_path(cw_context *ctx, const char *path);

/* Give a finished temporary file its name, replacing what had it, in one step. */
cw_status cwi_file_publish(cw_context *ctx, const char *temporary, const char *path);

#endif

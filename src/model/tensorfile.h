/*
 * tensorfile.h - named arrays and texts in one safetensors file.
 *
 * Eight bytes with the length of the header, the header as JSON padded with spaces, the bytes of
 * the arrays one after the other.  Models and checkpoints are such files; docs/models.md has the
 * details.
 */
#ifndef CWI_MODEL_TENSORFILE_H
#define CWI_MODEL_TENSORFILE_H

#include "core/numbers.h"

enum { CWI_ARRAY_MAX_RANK = 2, CWI_TENSORFILE_MAX_ARRAYS = 4096 };

/* A rank of 0 is a single number. */
typedef struct cwi_array {
    const char *name;
    cwi_dtype dtype;
    int rank;
    int64_t shape[CWI_ARRAY_MAX_RANK];
    const void *data;
} cwi_array;

typedef struct cwi_note {
    const char *key, *value;
} cwi_note;

/*
 * What a file holds.  To write one, fill the first five by hand; everything is borrowed.  One that
 * was read owns its bytes until cwi_tensorfile_clear.
 *   format   what kind of file this is, such as "crosswise-model"
 *   version  of that format, from 1
 */
typedef struct cwi_tensorfile {
    const char *format;
    int version;
    size_t n_arrays, n_notes;
    cwi_array *arrays; /* [n_arrays]; when read, by place in the file */
    cwi_note *notes;   /* [n_notes] keys other than format, format_version, crosswise, checksum */
    char *signature;   /* writing only: room for the checksum, as below; NULL: not asked for */
    void *bytes;       /* reading only: the whole file, */
    void *header;      /* and its header */
    size_t space;      /* of cwi_tensorfile_read_far: `bytes` is address space of so many; 0 else */
    int file;          /* which stays open then */
    char checksum[33]; /* reading only */
} cwi_tensorfile;

/* Write a file whole or not at all, replacing a plain one.  On failure the old file is as it was.
 */
cw_status cwi_tensorfile_write(cw_context *ctx, const char *path, const cwi_tensorfile *file);

/* Everything into a file that is open; path is for messages. */
cw_status cwi_tensorfile_put(cw_context *ctx, const char *path, const cwi_tensorfile *file,
                             cwi_writer *writer);

/* Are these the first bytes of a file of this format, of any version? */
bool cwi_tensorfile_begins(const char *start, size_t length, const char *format);

/* Read a file of this format, of this version or an older one.  Everything is checked: sizes,
 * places, the checksum.  *out is zeroed on failure. */
cw_status cwi_tensorfile_read(cw_context *ctx, const char *path, const char *format, int version,
                              cwi_tensorfile *out);

/* The same, but of an array that is far only its place is known: `data` of it has nothing in
 * memory. The file is read whole once, for its checksum.  Where numbers have to be turned round,
 * nothing is far. */
typedef bool cwi_is_far_fn(const cwi_tensorfile *file, const cwi_array *array);
cw_status cwi_tensorfile_read_far(cw_context *ctx, const char *path, const char *format,
                                  int version, cwi_is_far_fn *is_far, cwi_tensorfile *out);

/* Such a file needs no memory for this array any more. */
void cwi_tensorfile_forget(const cwi_tensorfile *file, const cwi_array *array);

/* The same from memory, which is borrowed, aligned to 8 bytes.  name is for messages. */
cw_status cwi_tensorfile_parse(cw_context *ctx, const char *name, const void *bytes, size_t length,
                               const char *format, int version, cwi_tensorfile *out);

/* The same without a look at anything but the header, where the checksum has been made already. */
cw_status cwi_tensorfile_parse_header(cw_context *ctx, const char *name, const void *bytes,
                                      size_t length, const char *digits, const char *format,
                                      int version, cwi_tensorfile *out);

/* How long a plain file is. */
cw_status cwi_tensorfile_measure(cw_context *ctx, int file, const char *path, size_t *length);

/* By name; NULL when there is none. */
const cwi_array *cwi_tensorfile_find(const cwi_tensorfile *file, const char *name);
const char *cwi_tensorfile_note(const cwi_tensorfile *file, const char *key);

void cwi_tensorfile_clear(cwi_tensorfile *file); /* a zeroed one is fine */

/* Numbers in an array; its shape must have been checked. */
int64_t cwi_array_count(const cwi_array *array);

/* ---- the format itself ------------------------------------------------------- */

/* The header begins with the checksum, at a fixed place: it is the XXH3 128-bit hash of all bytes
 * of the file after it, in 32 hexadecimal digits. */
#define CWI_TENSORFILE_START "{\"__metadata__\":{\"checksum\":\""
enum {
    CWI_TENSORFILE_PREFIX = 8,             /* the length of the header */
    CWI_TENSORFILE_MAX_HEADER = 100000000, /* what other readers allow, too */
    CWI_CHECKSUM_AT = CWI_TENSORFILE_PREFIX + sizeof CWI_TENSORFILE_START - 1,
    CWI_CHECKSUM_DIGITS = 32
};

/* Names of the types in the header, and their sizes. */
extern const char *const cwi_dtype_names[]; /* ends with NULL */
extern const size_t cwi_dtype_bytes[];

/* The checksum that the file in bytes[0..length) should have; length must reach beyond it. */
void cwi_tensorfile_checksum(const void *bytes, size_t length, char out[CWI_CHECKSUM_DIGITS + 1]);

#endif

/* npy.h - arrays of numbers in NumPy's .npy files, format 1.0. */
#ifndef CWI_PREPARE_NPY_H
#define CWI_PREPARE_NPY_H

#include "core/context.h"

typedef enum cwi_npy_kind { CWI_NPY_FLOAT32 = 0, CWI_NPY_INT32 = 1 } cwi_npy_kind;

typedef struct cwi_npy {
    cwi_npy_kind kind;
    int n_dims;          /* 1 or 2 */
    int64_t shape[2];    /* shape[1] is 1 when n_dims is 1 */
    size_t header_bytes; /* where the numbers start */
} cwi_npy;

enum { CWI_NPY_HEADER_BYTES = 10 + 65535 }; /* the longest header of format 1.0 */

/*
 * Read the header in bytes[0..length) of a file of file_bytes bytes: little-endian float32 or
 * int32 in C order, as many numbers as the file has.
 * Returns NULL, or what is wrong; nothing that the file says is believed unchecked.
 */
const char *cwi_npy_parse(const unsigned char *bytes, size_t length, uint64_t file_bytes,
                          cwi_npy *out);

/* Write a new file; header_bytes is not looked at. */
cw_status cwi_npy_write(cw_context *ctx, const char *path, const cwi_npy *array, const void *data);

/* Read a whole file.  *data is [shape[0]][shape[1]] of the kind found. */
cw_status cwi_npy_read(cw_context *ctx, const char *path, cwi_npy *array, void **data);

#endif

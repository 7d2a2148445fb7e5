/*
 * far.h - a long table of floats in a file, of which only the rows that were asked for take memory.
 *
 * It has address space for all rows, so that each is where it would be in an ordinary table.
 */
#ifndef CWI_CORE_FAR_H
#define CWI_CORE_FAR_H

#include "core/context.h"

typedef struct cwi_far {
    char *path; /* for messages */
    char *name; /* of the table, likewise */
    int file;
    int64_t at; /* of the first row in the file */
    int64_t rows, columns;
    float *data; /* [rows][columns]; zeros where nothing was read */
} cwi_far;

/* The file stays that of the caller. */
cw_status cwi_far_open(cw_context *ctx, const cwi_far *like, cwi_far **out);

/* Read rows first .. first + n - 1; numbers that are not finite are refused. */
cw_status cwi_far_read(cw_context *ctx, cwi_far *far, int64_t first, int64_t n);

/* Put columns first .. first + n - 1 of all rows, which lie side by side, into the file. */
cw_status cwi_far_write(cw_context *ctx, const cwi_far *far, int64_t first, int64_t n,
                        const float *columns);

/* Those columns of all rows, side by side; none of the rows is in memory afterwards. */
cw_status cwi_far_columns(cw_context *ctx, cwi_far *far, int64_t first, int64_t n, float *out);

/* Let go of rows, but for those that share a page of memory with others. */
void cwi_far_forget(cwi_far *far, int64_t first, int64_t n);

void cwi_far_close(cwi_far *far); /* NULL is fine */

/* All bytes of a part of a file. */
cw_status cwi_read_at(cw_context *ctx, int file, const char *path, int64_t at, void *out,
                      size_t length);

#endif

/* arrow.h - the C data interface of Apache Arrow, and columns of a record batch read by it. */
#ifndef CWI_IMPORT_ARROW_H
#define CWI_IMPORT_ARROW_H

#include "import/import.h"

/* The layout that the interface prescribes; guarded by its own names, for others have it too. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/* Calls return 0 or a number of errno; an array without release is the end. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif

typedef enum cwi_arrow_kind {
    CWI_ARROW_NONE, /* nothing that is read here */
    CWI_ARROW_INTEGER,
    CWI_ARROW_UNSIGNED,
    CWI_ARROW_REAL,
    CWI_ARROW_BOOLEAN,
    CWI_ARROW_TIME, /* since 1970: days of scale seconds in 4 bytes, or scale parts of a second in 8
                     */
    CWI_ARROW_TEXT,
    CWI_ARROW_VIEW /* text of which short ones lie in the view itself */
} cwi_arrow_kind;

/* How values of a type lie in memory. */
typedef struct cwi_arrow_type {
    cwi_arrow_kind kind;
    int bytes; /* of a number, or of an offset of text */
    double scale;
} cwi_arrow_type;

/* A column of one batch, or a dictionary: value k is at place first + k of its buffers. */
typedef struct cwi_arrow_column {
    cwi_arrow_type type;
    int64_t first, length;
    const uint8_t *valid; /* a bit for each place; NULL: all are there */
    const void *values;   /* numbers, bits, views, or offsets of text */
    const char *text;
    const void **shared; /* buffers that views point to */
    const int64_t *shared_bytes;
    int64_t n_shared;
    const struct cwi_arrow_column *dictionary; /* NULL: values are their own */
} cwi_arrow_column;

/* The type of a format string; kind NONE when it is not one of those above. */
cwi_arrow_type cwi_arrow_type_of(const char *format);

/* Look at an array of that schema, whose rows are [first, first + length), before anything is read.
 * `dictionary` is room for that of the column.  name is for messages. */
cw_status cwi_arrow_open(cw_context *ctx, const char *name, const struct ArrowSchema *schema,
                         const struct ArrowArray *array, int64_t first, int64_t length,
                         cwi_arrow_column *dictionary, cwi_arrow_column *out);

/*
 * Value number `row` of it.  What is null, or text for a number, is NaN or text of length 0.
 * CW_BAD_DATA when it points outside the array.
 *   digits  room for the text of numbers
 */
cw_status cwi_arrow_text(cw_context *ctx, const cwi_arrow_column *column, int64_t row,
                         char digits[32], cwi_text *out);
cw_status cwi_arrow_number(cw_context *ctx, const cwi_arrow_column *column, int64_t row,
                           double *out);
/* Of a time: seconds since 1970. */
cw_status cwi_arrow_seconds(cw_context *ctx, const cwi_arrow_column *column, int64_t row,
                            cwi_dates dates, double *out);

#endif

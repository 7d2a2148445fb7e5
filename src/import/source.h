/* source.h - lines of text from a file, standard input or memory, compressed or not. */
#ifndef CWI_IMPORT_SOURCE_H
#define CWI_IMPORT_SOURCE_H

#include "core/context.h"

/*
 * gzip, zstd, bzip2 and xz are recognised by their first bytes, never by the name.  Lines end in LF
 * or CRLF, the last one need not.  A byte order mark at the beginning is dropped: of UTF-8, or of
 * UTF-16, which becomes UTF-8.  While reading, the
 * progress callback is told "reading NAME" every few megabytes.
 */
typedef struct cwi_source cwi_source;

enum {
    CWI_MAX_LINE_BYTES = 256 << 20,
    CWI_PEEK_BYTES = 64 << 10 /* what cwi_source_peek looks at, at most */
};

/* "-" is standard input. */
cw_status cwi_source_open(cw_context *ctx, const char *path, cwi_source **out);

/* The same for bytes in memory, which must stay there until close.  name is for messages. */
cw_status cwi_source_open_memory(cw_context *ctx, const char *name, const void *bytes,
                                 size_t length, cwi_source **out);

/* No bytes at all, but a name and a number for messages about the rows of a table in memory. */
cw_status cwi_source_open_table(cw_context *ctx, const char *name, cwi_source **out);
void cwi_source_set_line(cwi_source *source, int64_t number);

/* Rows that come from elsewhere, such as a database: there is no text to read.  name is for
 * messages, which then say "name, row 17". */
cw_status cwi_source_open_rows(cw_context *ctx, const char *name, cwi_source **out);

/* The next row is looked at; tells the progress callback now and then. */
cw_status cwi_source_count_row(cw_context *ctx, cwi_source *source);

/* The next bytes of text without reading them: CWI_PEEK_BYTES, or fewer when the text ends
 * before.  Borrowed until the next call. */
cw_status cwi_source_peek(cw_context *ctx, cwi_source *source, const char **text, size_t *length);

/* The next line without its end; *line is NULL after the last one.  Borrowed until the next call
 * and not zero-terminated.  A zero byte or a line over CWI_MAX_LINE_BYTES is CW_BAD_DATA. */
cw_status cwi_source_line(cw_context *ctx, cwi_source *source, const char **line, size_t *length);

/* Append the following line to the one just read, with the line end between them, for quoted text
 * that goes on.  *line is NULL and nothing changes when there is none.  The number of the whole
 * stays that of its first line. */
cw_status cwi_source_extend(cw_context *ctx, cwi_source *source, const char **line, size_t *length);

/* Undo cwi_source_extend: the next line is again the one after the first. */
void cwi_source_shrink(cwi_source *source);

/* Number of the line just read, from 1; 0 before the first. */
int64_t cwi_source_line_number(const cwi_source *source);

/* Number of line ends passed so far: all lines of the text once the end was reached. */
int64_t cwi_source_lines_read(const cwi_source *source);

/* The path as it was given; "standard input" for "-". */
const char *cwi_source_name(const cwi_source *source);

/* Where it is: "name:line", or "name, row 17". */
enum { CWI_SPOT_BYTES = 300 };
const char *cwi_source_place(const cwi_source *source, char out[CWI_SPOT_BYTES]);

/* cwi_fail with "name:line: " before the message. */
cw_status cwi_source_fail(cw_context *ctx, const cwi_source *source, cw_status status,
                          const char *format, ...) CWI_PRINTF(4, 5);

void cwi_source_close(cwi_source *source); /* NULL is fine */

#endif

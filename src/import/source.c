/* source.c - a window on text that moves forward line by line. */
#include "import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "import/codec.h"
#include "import/wide.h"

enum {
    WINDOW_BYTES = 256 << 10,
    PACKED_BYTES = 64 << 10,
    PROGRESS_BYTES = 4 << 20, /* of text between two calls of the progress callback */
    WAIT_MS = 200,            /* between two such calls while nothing comes */
    PROGRESS_ROWS = 1 << 16
};

struct cwi_source {
    char *name;
    char *stage; /* "reading NAME" */
    int fd;      /* -1 for memory */
    bool owns_fd;
    bool is_rows; /* there is no text */
    const unsigned char *memory;
    size_t memory_left;
    int64_t bytes_read, bytes_total;
    int64_t until_progress;

    const cwi_codec *codec; /* NULL for plain text */
    void *codec_state;
    unsigned char *packed; /* the codec's input; for plain text only the first bytes */
    cwi_span input;        /* what is left of packed */
    bool has_pending;      /* the codec may hold more output without more input */
    cwi_wide wide;         /* text is UTF-16 in this order, or not */
    unsigned char *units;  /* [WINDOW_BYTES] UTF-16 text on its way; NULL otherwise */
    cwi_span units_input;  /* what is left of units */

    char *window;
    size_t window_bytes;
    size_t start, next, end; /* the line just read begins at start; unread text is next..end */
    size_t first_bytes;      /* from start to the line after the first one read, for shrink */
    bool at_end, has_zero;
    int64_t line, lines_read;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* A pipe may keep us waiting for long: the caller is asked meanwhile whether to go on. */
static cw_status await_input(cw_context *ctx, const cwi_source *source)
{
    struct pollfd input = {.fd = source->fd, .events = POLLIN};
    int ready = 0;
    cw_status status = CW_OK;
    while (status == CW_OK && (ready == 0 || (ready < 0 && errno == EINTR))) {
        ready = poll(&input, 1, WAIT_MS);
        if (ready <= 0) status = cwi_progress(ctx, source->stage, source->bytes_read, 0);
    }
    return status; /* reading says what else is wrong */
}

/* Up to size bytes of the file as they are; *got is 0 at the end. */
static cw_status read_raw(cw_context *ctx, cwi_source *source, void *out, size_t size, size_t *got)
{
    if (source->fd < 0) {
        *got = source->memory_left < size ? source->memory_left : size;
        if (*got > 0) memcpy(out, source->memory, *got);
        source->memory += *got;
        source->memory_left -= *got;
    } else {
        ssize_t result;
        CW_PASS(source->bytes_total > 0 ? CW_OK : await_input(ctx, source));
        do result = read(source->fd, out, size);
        while (result < 0 && errno == EINTR);
        if (result < 0) return cwi_fail_errno(ctx, "read", source->name);
        *got = (size_t)result;
    }
    source->bytes_read += (int64_t)*got;
    return CW_OK;
}

/* Bytes of text from the codec; *got is 0 at the end. */
static cw_status read_packed(cw_context *ctx, cwi_source *source, cwi_span out, size_t *got)
{
    size_t bytes = out.left;

    *got = 0;
    while (*got == 0) {
        if (source->input.left == 0 && !source->has_pending) {
            source->input.at = source->packed;
            CW_PASS(read_raw(ctx, source, source->packed, PACKED_BYTES, &source->input.left));
            if (source->input.left == 0 && source->codec->is_whole(source->codec_state))
                return CW_OK;
            if (source->input.left == 0)
                return cwi_fail(ctx, CW_BAD_DATA, "%s: compressed data ends too early",
                                source->name);
        }
        const char *wrong = source->codec->decode(source->codec_state, &source->input, &out);
        if (wrong && wrong[0] == '\0')
            return cwi_fail(ctx, CW_NO_MEMORY, "out of memory for decompression");
        if (wrong) return cwi_fail(ctx, CW_BAD_DATA, "%s: %s", source->name, wrong);
        source->has_pending = out.left == 0;
        *got = bytes - out.left;
    }
    return CW_OK;
}

static cw_status read_text(cw_context *ctx, cwi_source *source, cwi_span out, size_t *got)
{
    if (source->codec) return read_packed(ctx, source, out, got);
    if (source->input.left == 0) return read_raw(ctx, source, out.at, out.left, got);
    *got = source->input.left < out.left ? source->input.left : out.left;
    memcpy(out.at, source->input.at, *got);
    source->input.at += *got;
    source->input.left -= *got;
    return CW_OK;
}

/* The same with what is UTF-16 as UTF-8; there is room for a character. */
static cw_status read_units(cw_context *ctx, cwi_source *source, cwi_span out, size_t *got)
{
    size_t bytes = out.left, more;
    cwi_span *in = &source->units_input;

    *got = 0;
    while (*got == 0) {
        memmove(source->units, in->at, in->left);
        in->at = source->units;
        cwi_span room = {source->units + in->left, WINDOW_BYTES - in->left};
        CW_PASS(read_text(ctx, source, room, &more));
        in->left += more;
        bool is_good = cwi_wide_decode(source->wide, in, &out);
        *got = bytes - out.left;
        if (!is_good || (more == 0 && *got == 0 && in->left > 0))
            return cwi_fail(ctx, CW_BAD_DATA,
                            "%s: the text begins as UTF-16, but not all of it is: something is "
                            "broken near line %" PRId64,
                            source->name, source->lines_read + 1);
        if (more == 0 && in->left == 0) break;
    }
    return CW_OK;
}

/* Make space behind the window's text: first by forgetting what lies before start. */
static cw_status make_space(cw_context *ctx, cwi_source *source)
{
    if (source->window_bytes - source->end >= CWI_WIDEST) return CW_OK;
    if (source->start >= CWI_WIDEST) {
        memmove(source->window, source->window + source->start, source->end - source->start);
        source->end -= source->start;
        source->next -= source->start;
        source->start = 0;
        return CW_OK;
    }
    if (source->window_bytes > CWI_MAX_LINE_BYTES)
        return cwi_fail(ctx, CW_BAD_DATA, "%s:%" PRId64 ": the line is longer than %d MiB",
                        source->name, source->lines_read + 1, CWI_MAX_LINE_BYTES >> 20);
    return cwi_grow(ctx, &source->window, &source->window_bytes, source->window_bytes + CWI_WIDEST,
                    1);
}

/* Read more text into the window, or set at_end. */
static cw_status fill(cw_context *ctx, cwi_source *source)
{
    size_t got;

    if (source->until_progress <= 0) {
        CW_PASS(cwi_progress(ctx, source->stage, source->bytes_read, source->bytes_total));
        source->until_progress = PROGRESS_BYTES;
    }
    CW_PASS(make_space(ctx, source));
    cwi_span out = {(unsigned char *)source->window + source->end,
                    source->window_bytes - source->end};
    CW_PASS(source->wide ? read_units(ctx, source, out, &got) : read_text(ctx, source, out, &got));
    source->at_end = got == 0;
    source->has_zero = source->has_zero || memchr(out.at, '\0', got) != NULL;
    source->end += got;
    source->until_progress -= (int64_t)got;
    return CW_OK;
}

static cw_status fill_to(cw_context *ctx, cwi_source *source, size_t wanted)
{
    while (!source->at_end && source->end - source->next < wanted) CW_PASS(fill(ctx, source));
    return CW_OK;
}

static cw_status find_codec(cw_context *ctx, cwi_source *source)
{
    size_t held = 0, got = 1;

    while (held < CWI_MAGIC_BYTES && got > 0) { /* a pipe may give single bytes */
        CW_PASS(read_raw(ctx, source, source->packed + held, PACKED_BYTES - held, &got));
        held += got;
    }
    source->input = (cwi_span){source->packed, held};
    source->codec = cwi_codec_find(source->packed, held);
    if (!source->codec) return CW_OK;
    cw_status status = source->codec->open(ctx, &source->codec_state);
    if (status == CW_OK) return CW_OK;
    const char *lack = source->codec->lack;
    source->codec = NULL; /* there is nothing to close */
    return status == CW_UNSUPPORTED
               ? cwi_fail(ctx, status, "%s is compressed with %s", source->name, lack)
               : status;
}

/* What was read so far was UTF-16: it goes through a buffer of its own. */
static cw_status widen(cw_context *ctx, cwi_source *source)
{
    char *window = cwi_alloc(ctx, WINDOW_BYTES, 1);
    if (!window) return CW_NO_MEMORY;
    source->units = (unsigned char *)source->window;
    source->units_input = (cwi_span){source->units + 2, source->end - 2};
    source->window = window;
    source->end = 0;
    source->has_zero = source->at_end = false;
    return CW_OK;
}

/* Everything that opening has in common; takes over fd. */
static cw_status start(cw_context *ctx, cwi_source *source, const char *name)
{
    source->name = cwi_strdup(ctx, name);
    if (!source->name) return CW_NO_MEMORY;
    source->stage = cwi_format(ctx, "reading %s", base_name(name));
    source->packed = cwi_alloc(ctx, PACKED_BYTES, 1);
    source->window = cwi_alloc(ctx, WINDOW_BYTES, 1);
    if (!source->stage || !source->packed || !source->window) return CW_NO_MEMORY;
    source->window_bytes = WINDOW_BYTES;
    CW_PASS(find_codec(ctx, source));
    CW_PASS(fill_to(ctx, source, 3));
    if (source->end >= 3 && memcmp(source->window, "\xef\xbb\xbf", 3) == 0)
        source->start = source->next = 3;
    source->wide = cwi_wide_find(source->window, source->end);
    return source->wide ? widen(ctx, source) : CW_OK;
}

static cw_status open_file(cw_context *ctx, const char *path, cwi_source *source)
{
    struct stat info;
    bool is_input = strcmp(path, "-") == 0;

    source->fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0) return cwi_fail_errno(ctx, "open", path);
    source->owns_fd = !is_input;
    if (fstat(source->fd, &info) != 0) return cwi_fail_errno(ctx, "look at", path);
    if (S_ISDIR(info.st_mode))
        return cwi_fail(ctx, CW_IO, "%s is a folder; a file is needed here", path);
    source->bytes_total = S_ISREG(info.st_mode) ? (int64_t)info.st_size : 0;
    return start(ctx, source, is_input ? "standard input" : path);
}

cw_status cwi_source_open(cw_context *ctx, const char *path, cwi_source **out)
{
    *out = NULL;
    cwi_source *source = cwi_alloc_zero(ctx, 1, sizeof *source);
    if (!source) return CW_NO_MEMORY;
    cw_status status = open_file(ctx, path, source);
    if (status == CW_OK)
        *out = source;
    else
        cwi_source_close(source);
    return status;
}

cw_status cwi_source_open_memory(cw_context *ctx, const char *name, const void *bytes,
                                 size_t length, cwi_source **out)
{
    *out = NULL;
    cwi_source *source = cwi_alloc_zero(ctx, 1, sizeof *source);
    if (!source) return CW_NO_MEMORY;
    source->fd = -1;
    source->memory = bytes;
    source->memory_left = length;
    source->bytes_total = (int64_t)length;
    cw_status status = start(ctx, source, name);
    if (status == CW_OK)
        *out = source;
    else
        cwi_source_close(source);
    return status;
}

cw_status cwi_source_open_rows(cw_context *ctx, const char *name, cwi_source **out)
{
    *out = NULL;
    cwi_source *source = cwi_alloc_zero(ctx, 1, sizeof *source);
    if (!source) return CW_NO_MEMORY;
    source->fd = -1;
    source->is_rows = true;
    source->name = cwi_strdup(ctx, name);
    source->stage = cwi_format(ctx, "reading %s", base_name(name));
    if (!source->name || !source->stage) {
        cwi_source_close(source);
        return CW_NO_MEMORY;
    }
    *out = source;
    return CW_OK;
}

cw_status cwi_source_count_row(cw_context *ctx, cwi_source *source)
{
    source->line = ++source->lines_read;
    if (source->line % PROGRESS_ROWS != 1) return CW_OK;
    return cwi_progress(ctx, source->stage, source->line - 1, 0);
}

cw_status cwi_source_peek(cw_context *ctx, cwi_source *source, const char **text, size_t *length)
{
    *text = NULL;
    *length = 0;
    CW_PASS(fill_to(ctx, source, CWI_PEEK_BYTES));
    size_t held = source->end - source->next;
    *text = source->window + source->next;
    *length = held < CWI_PEEK_BYTES ? held : CWI_PEEK_BYTES;
    return CW_OK;
}

/* Move next behind the following line end; false in *found when there is no text left. */
static cw_status pass_line(cw_context *ctx, cwi_source *source, bool *found)
{
    size_t seen = source->next - source->start;
    char *newline = NULL;

    for (;;) {
        size_t from = source->start + seen;
        newline = memchr(source->window + from, '\n', source->end - from);
        if (newline || source->at_end) break;
        seen = source->end - source->start;
        CW_PASS(fill(ctx, source));
    }
    size_t behind = newline ? (size_t)(newline - source->window) + 1 : source->end;
    *found = behind > source->next;
    source->next = behind;
    source->lines_read += *found;
    return CW_OK;
}

/* The text from start to next, less the line end. */
static cw_status give_line(cw_context *ctx, cwi_source *source, const char **line, size_t *length)
{
    const char *text = source->window + source->start;
    size_t size = source->next - source->start;

    if (size > 0 && text[size - 1] == '\n') size--;
    if (size > 0 && text[size - 1] == '\r') size--;
    if (size > CWI_MAX_LINE_BYTES)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "the line is longer than %d MiB",
                               CWI_MAX_LINE_BYTES >> 20);
    if (source->has_zero && memchr(text, '\0', size))
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "contains a zero byte; this is not text");
    *line = text;
    *length = size;
    return CW_OK;
}

cw_status cwi_source_line(cw_context *ctx, cwi_source *source, const char **line, size_t *length)
{
    bool found;

    *line = NULL;
    *length = 0;
    source->start = source->next;
    CW_PASS(pass_line(ctx, source, &found));
    if (!found) return CW_OK;
    source->line = source->lines_read;
    source->first_bytes = source->next - source->start;
    return give_line(ctx, source, line, length);
}

cw_status cwi_source_extend(cw_context *ctx, cwi_source *source, const char **line, size_t *length)
{
    bool found;

    *line = NULL;
    *length = 0;
    cw_status status = pass_line(ctx, source, &found);
    if (status != CW_OK || !found) return status;
    return give_line(ctx, source, line, length);
}

void cwi_source_shrink(cwi_source *source)
{
    source->next = source->start + source->first_bytes;
    source->lines_read = source->line;
}

cw_status cwi_source_open_table(cw_context *ctx, const char *name, cwi_source **out)
{
    return cwi_source_open_memory(ctx, name, "", 0, out);
}

void cwi_source_set_line(cwi_source *source, int64_t number)
{
    source->line = source->lines_read = number;
}

int64_t cwi_source_line_number(const cwi_source *source)
{
    return source->line;
}

int64_t cwi_source_lines_read(const cwi_source *source)
{
    return source->lines_read;
}

const char *cwi_source_name(const cwi_source *source)
{
    return source->name;
}

const char *cwi_source_place(const cwi_source *source, char out[CWI_SPOT_BYTES])
{
    if (source->is_rows && source->line == 0)
        snprintf(out, CWI_SPOT_BYTES, "%s", source->name);
    else
        snprintf(out, CWI_SPOT_BYTES, "%s%s%" PRId64, source->name,
                 source->is_rows ? ", row " : ":", source->line);
    return out;
}

cw_status cwi_source_fail(cw_context *ctx, const cwi_source *source, cw_status status,
                          const char *format, ...)
{
    char text[800], place[CWI_SPOT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!source->is_rows) /* a path may be long */
        return cwi_fail(ctx, status, "%s:%" PRId64 ": %s", source->name, source->line, text);
    return cwi_fail(ctx, status, "%s: %s", cwi_source_place(source, place), text);
}

void cwi_source_close(cwi_source *source)
{
    if (!source) return;
    if (source->owns_fd) (void)close(source->fd);
    if (source->codec) source->codec->close(source->codec_state);
    cwi_free(source->units);
    cwi_free(source->window);
    cwi_free(source->packed);
    cwi_free(source->stage);
    cwi_free(source->name);
    cwi_free(source);
}

/* far.c - rows of a table that stays in its file. */
#include "core/far.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/numbers.h"
#include "core/work.h"

enum { MOST_AT_ONCE = 1 << 24 };

cw_status cwi_read_at(cw_context *ctx, int file, const char *path, int64_t at, void *out,
                      size_t length)
{
    ssize_t got;
    for (size_t done = 0; done < length; done += (size_t)got) {
        size_t some = length - done < MOST_AT_ONCE ? length - done : MOST_AT_ONCE;
        CWI_AGAIN(got, pread(file, (char *)out + done, some, at + (int64_t)done));
        if (got < 0) return cwi_fail_errno(ctx, "read", path);
        if (got == 0) return cwi_fail(ctx, CW_IO, "cannot read %s: the file ends early", path);
    }
    return CW_OK;
}

static size_t bytes_of(const cwi_far *far)
{
    return (size_t)far->rows * (size_t)far->columns * sizeof *far->data;
}

cw_status cwi_far_open(cw_context *ctx, const cwi_far *like, cwi_far **out)
{
    cwi_far *far = *out = cwi_alloc_zero(ctx, 1, sizeof *far);
    if (!far) return CW_NO_MEMORY;
    *far = *like;
    far->path = cwi_strdup(ctx, like->path);
    far->name = cwi_strdup(ctx, like->name);
    far->data = cwi_space_open(ctx, bytes_of(far));
    far->file = fcntl(like->file, F_DUPFD_CLOEXEC, 0);
    cw_status status = far->path && far->name && far->data ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK && far->file < 0) status = cwi_fail_errno(ctx, "read", like->path);
    if (status == CW_OK) return CW_OK;
    cwi_far_close(far);
    *out = NULL;
    return status;
}

cw_status cwi_far_read(cw_context *ctx, cwi_far *far, int64_t first, int64_t n)
{
    float *to = far->data + first * far->columns;
    size_t count = (size_t)(n * far->columns);
    int64_t at = far->at + first * far->columns * (int64_t)sizeof *to;
    CW_PASS(cwi_read_at(ctx, far->file, far->path, at, to, count * sizeof *to));
    cwi_numbers_turn(to, count, sizeof *to);
    for (size_t k = 0; k < count; k++)
        if (!isfinite(to[k]))
            return cwi_fail(ctx, CW_BAD_DATA, "%s: %s has a number that is not finite", far->path,
                            far->name);
    return CW_OK;
}

enum { ROWS_AT_ONCE = 4096 };

cw_status cwi_far_columns(cw_context *ctx, cwi_far *far, int64_t first, int64_t n, float *out)
{
    for (int64_t at = 0, some; at < far->rows; at += some) {
        some = far->rows - at < ROWS_AT_ONCE ? far->rows - at : ROWS_AT_ONCE;
        CW_PASS(cwi_far_read(ctx, far, at, some));
        for (int64_t r = at; r < at + some; r++)
            memcpy(out + r * n, far->data + r * far->columns + first, (size_t)n * sizeof *out);
        cwi_far_forget(far, at, some);
    }
    cwi_far_forget(far, 0, far->rows); /* pages that rows of two rounds have in common */
    return CW_OK;
}

static cw_status write_at(cw_context *ctx, const cwi_far *far, int64_t at, const char *bytes,
                          size_t length)
{
    ssize_t put;
    for (size_t done = 0; done < length; done += (size_t)put) {
        CWI_AGAIN(put, pwrite(far->file, bytes + done, length - done, at + (int64_t)done));
        if (put <= 0) return cwi_fail_errno(ctx, "write", far->path);
    }
    return CW_OK;
}

/* Some rows at a time, with what other columns of them are in the file already. */
static cw_status write_rows(cw_context *ctx, const cwi_far *far, float *room, int64_t first,
                            int64_t n, const float *columns)
{
    size_t row = (size_t)far->columns * sizeof *room;
    for (int64_t at = 0, some; at < far->rows; at += some) {
        int64_t place = far->at + at * (int64_t)row;
        some = far->rows - at < ROWS_AT_ONCE ? far->rows - at : ROWS_AT_ONCE;
        if (first > 0)
            CW_PASS(cwi_read_at(ctx, far->file, far->path, place, room, (size_t)some * row));
        for (int64_t r = 0; r < some; r++)
            memcpy(room + r * far->columns + first, columns + (at + r) * n,
                   (size_t)n * sizeof *room);
        CW_PASS(write_at(ctx, far, place, (const char *)room, (size_t)some * row));
    }
    return CW_OK;
}

cw_status cwi_far_write(cw_context *ctx, const cwi_far *far, int64_t first, int64_t n,
                        const float *columns)
{
    float *room = cwi_alloc_zero(ctx, ROWS_AT_ONCE, (size_t)far->columns * sizeof *room);
    if (!room) return CW_NO_MEMORY;
    cw_status status = write_rows(ctx, far, room, first, n, columns);
    cwi_free(room);
    return status;
}

void cwi_far_forget(cwi_far *far, int64_t first, int64_t n)
{
    size_t row_bytes = (size_t)far->columns * sizeof *far->data;
    cwi_space_forget(far->data, (size_t)first * row_bytes, (size_t)(first + n) * row_bytes);
}

void cwi_far_close(cwi_far *far)
{
    if (!far) return;
    if (far->file >= 0) close(far->file);
    cwi_space_close(far->data, bytes_of(far));
    cwi_free(far->path);
    cwi_free(far->name);
    cwi_free(far);
}

/*
 * reel.c - rows in windows, from memory or from a file.
 *
 * A file has blocks of equal numbers of rows, in each the users, the items, the times, the parts.
 * It has no name, so it goes with its last descriptor, whatever ends the process.
 */
#include "core/reel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/room.h"
#include "core/work.h"

struct cwi_spill {
    int file;
    bool has_time, has_part; /* rows of the reel */
    size_t time_at, part_at; /* where in a block; 0: they are not there */
    size_t block_bytes;
    int64_t block_rows;
    int64_t count;        /* rows that were added */
    int64_t written;      /* of them: in the file */
    unsigned char *block; /* the last, which grows */
};

/* ---- files ------------------------------------------------------------------- */

/* Few rows where there is little memory, so that blocks of several lists do not matter. */
static int64_t choose_rows(const cw_context *ctx)
{
    enum { LEAST = 64, MOST = 1 << 16, BYTES_A_ROW = 1024 };
    int64_t rows = ctx->room.bytes / BYTES_A_ROW;
    return rows < LEAST ? LEAST : rows > MOST ? MOST : rows;
}

cw_status cwi_spill_create(cw_context *ctx, bool has_time, bool has_part, cwi_spill **out)
{
    cwi_spill *spill = *out = cwi_alloc_zero(ctx, 1, sizeof *spill);
    cw_status status = CW_NO_MEMORY;
    if (!spill) return status;
    size_t rows = (size_t)choose_rows(ctx), bytes = rows * 2 * sizeof(int32_t);
    *spill = (cwi_spill){.file = -1, .has_time = has_time, .has_part = has_part};
    spill->block_rows = (int64_t)rows;
    spill->time_at = has_time ? bytes : 0;
    if (has_time) bytes += rows * sizeof(double);
    spill->part_at = has_part ? bytes : 0;
    if (has_part) bytes += rows;
    spill->block_bytes = bytes;
    spill->block = cwi_alloc_zero(ctx, bytes, 1);
    if (spill->block)
        status = cwi_file_nameless(ctx, ctx->room.folder, "make a file for rows in", &spill->file);
    if (status == CW_OK) return CW_OK;
    cwi_spill_free(spill);
    *out = NULL;
    return status;
}

void cwi_spill_free(cwi_spill *spill)
{
    if (!spill) return;
    if (spill->file >= 0) close(spill->file);
    cwi_free(spill->block);
    cwi_free(spill);
}

void cwi_spill_lose_times(cwi_spill *spill)
{
    spill->has_time = false;
}

bool cwi_spill_has_times(const cwi_spill *spill)
{
    return spill->has_time;
}

static cw_status write_at(cw_context *ctx, const cwi_spill *spill, const void *bytes, size_t n,
                          int64_t place)
{
    const char *from = bytes;
    while (n > 0) {
        ssize_t wrote;
        CWI_AGAIN(wrote, pwrite(spill->file, from, n, (off_t)place));
        if (wrote == 0) errno = ENOSPC;
        if (wrote <= 0) return cwi_fail_errno(ctx, "keep rows in a file in", ctx->room.folder);
        from += wrote;
        place += wrote;
        n -= (size_t)wrote;
    }
    return CW_OK;
}

static cw_status read_at(cw_context *ctx, const cwi_spill *spill, void *bytes, size_t n,
                         int64_t place)
{
    char *to = bytes;
    while (n > 0) {
        ssize_t got;
        CWI_AGAIN(got, pread(spill->file, to, n, (off_t)place));
        if (got == 0) errno = EIO; /* it was written once */
        if (got <= 0) return cwi_fail_errno(ctx, "read rows of a file in", ctx->room.folder);
        to += got;
        place += got;
        n -= (size_t)got;
    }
    return CW_OK;
}

static int64_t place_of(const cwi_spill *spill, int64_t block)
{
    return block * (int64_t)spill->block_bytes;
}

cw_status cwi_spill_flush(cw_context *ctx, cwi_spill *spill)
{
    if (spill->written == spill->count) return CW_OK;
    CW_PASS(write_at(ctx, spill, spill->block, spill->block_bytes,
                     place_of(spill, (spill->count - 1) / spill->block_rows)));
    spill->written = spill->count;
    return CW_OK;
}

cw_status cwi_spill_add(cw_context *ctx, cwi_spill *spill, int32_t user, int32_t item, double time,
                        uint8_t part)
{
    int64_t at = spill->count % spill->block_rows;
    unsigned char *block = spill->block;
    int32_t *users = (int32_t *)(void *)block;
    users[at] = user;
    users[spill->block_rows + at] = item;
    if (spill->time_at) ((double *)(void *)(block + spill->time_at))[at] = time;
    if (spill->part_at) block[spill->part_at + (size_t)at] = part;
    spill->count++;
    return at + 1 < spill->block_rows ? CW_OK : cwi_spill_flush(ctx, spill);
}

/* ---- windows ------------------------------------------------------------------- */

cwi_window cwi_window_over(const cwi_reel *reel)
{
    return (cwi_window){.reel = *reel};
}

void cwi_window_close(cwi_window *window)
{
    cwi_free(window->block);
    window->block = NULL;
}

static void show_arrays(cwi_window *w)
{
    const cwi_reel *reel = &w->reel;
    int64_t left = reel->count - w->first;
    w->n = left < CWI_WINDOW_ROWS ? left : CWI_WINDOW_ROWS;
    w->user = reel->user ? reel->user + w->first : NULL;
    w->item = reel->item ? reel->item + w->first : NULL;
    w->time = reel->time ? reel->time + w->first : NULL;
    w->part = reel->part ? reel->part + w->first : NULL;
}

static cw_status read_block(cw_context *ctx, cwi_window *w)
{
    const cwi_spill *spill = w->reel.spill;
    int64_t left = w->reel.count - w->first;
    if (!w->block) w->block = cwi_alloc(ctx, spill->block_bytes, 1);
    if (!w->block) return CW_NO_MEMORY;
    w->n = left < spill->block_rows ? left : spill->block_rows;
    w->user = (int32_t *)(void *)w->block;
    w->item = w->user + spill->block_rows;
    w->time = spill->has_time ? (double *)(void *)(w->block + spill->time_at) : NULL;
    w->part = spill->has_part ? w->block + spill->part_at : NULL;
    return read_at(ctx, spill, w->block, spill->block_bytes,
                   place_of(spill, w->first / spill->block_rows));
}

bool cwi_window_next(cw_context *ctx, cwi_window *window)
{
    window->first += window->n;
    window->n = 0;
    bool has_more = window->status == CW_OK && window->first < window->reel.count;
    if (has_more && window->reel.spill)
        window->status = read_block(ctx, window);
    else if (has_more)
        show_arrays(window);
    if (has_more && window->status == CW_OK) return true;
    cwi_window_close(window);
    return false;
}

cw_status cwi_window_keep_parts(cw_context *ctx, const cwi_window *window)
{
    const cwi_spill *spill = window->reel.spill;
    if (!spill) return CW_OK;
    return write_at(ctx, spill, window->part, (size_t)window->n,
                    place_of(spill, window->first / spill->block_rows) + (int64_t)spill->part_at);
}

/* ---- lists --------------------------------------------------------------------- */

void cwi_reel_rewind(cwi_reel *reel)
{
    reel->count = 0;
    if (reel->spill) reel->spill->count = reel->spill->written = 0;
}

cw_status cwi_reel_end(cw_context *ctx, cwi_reel *reel)
{
    return reel->spill ? cwi_spill_flush(ctx, reel->spill) : CW_OK;
}

cw_status cwi_reel_degrees(cw_context *ctx, const cwi_reel *reel, int32_t n_users,
                           int64_t *user_degree, int32_t n_items, int64_t *item_degree)
{
    cwi_window w = cwi_window_over(reel);
    if (user_degree) memset(user_degree, 0, (size_t)n_users * sizeof *user_degree);
    if (item_degree) memset(item_degree, 0, (size_t)n_items * sizeof *item_degree);
    while (cwi_window_next(ctx, &w)) {
        for (int64_t k = 0; user_degree && k < w.n; k++) user_degree[w.user[k]]++;
        for (int64_t k = 0; item_degree && k < w.n; k++) item_degree[w.item[k]]++;
    }
    return w.status;
}

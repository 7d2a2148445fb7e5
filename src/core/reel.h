/*
 * reel.h - a long list of rows, one after the other: in memory, or in a file where the memory of
 * the context does not hold it (core/room.h).
 *
 * Whoever goes through rows takes them in windows, and is not told which of the two it is: in
 * memory a window shows a part of the arrays, in a file it is a block that was read.
 */
#ifndef CWI_CORE_REEL_H
#define CWI_CORE_REEL_H

#include "core/context.h"

typedef struct cwi_spill cwi_spill;

/* A look at a list: its owner has the arrays and the file, and takes over the count that changed.
 */
typedef struct cwi_reel {
    int64_t count;
    int32_t *user, *item; /* [count]; NULL in a file, like the others, and where all that is known
                             of things is how many there are */
    double *time;         /* NULL: rows have none */
    uint8_t *part;        /* the same */
    cwi_spill *spill;     /* NULL: in memory */
} cwi_reel;

/* That of a struct with such members. */
#define CWI_REEL(rows)                                                                             \
    ((cwi_reel){(rows)->count, (rows)->user, (rows)->item, (rows)->time, (rows)->part,             \
                (rows)->spill})

/* Some rows, one after the other. */
typedef struct cwi_window {
    int64_t first, n;     /* rows */
    int32_t *user, *item; /* [n] */
    double *time;         /* [n] or NULL */
    uint8_t *part;        /* [n] or NULL */
    cwi_reel reel;
    unsigned char *block; /* of a file */
    cw_status status;
} cwi_window;

/* Most rows in a window. */
enum { CWI_WINDOW_ROWS = 1 << 20 };

/*
 * All rows in windows:
 *     cwi_window w = cwi_window_over(&reel);
 *     while (cwi_window_next(ctx, &w))
 *         for (int64_t k = 0; k < w.n; k++) ... w.user[k] ...
 *     return w.status;
 * Leaving early takes cwi_window_close.
 */
cwi_window cwi_window_over(const cwi_reel *reel);
bool cwi_window_next(cw_context *ctx, cwi_window *window);
void cwi_window_close(cwi_window *window);

/* Keep the parts of this window's rows, which were changed. */
cw_status cwi_window_keep_parts(cw_context *ctx, const cwi_window *window);

/* A new file for rows, in the folder of the context. */
cw_status cwi_spill_create(cw_context *ctx, bool has_time, bool has_part, cwi_spill **out);
void cwi_spill_free(cwi_spill *spill); /* NULL is fine; the file is gone */
void cwi_spill_lose_times(cwi_spill *spill);
bool cwi_spill_has_times(const cwi_spill *spill);

/* Append a row to a file.  Windows over the reel need a flush first. */
cw_status cwi_spill_add(cw_context *ctx, cwi_spill *spill, int32_t user, int32_t item, double time,
                        uint8_t part);
cw_status cwi_spill_flush(cw_context *ctx, cwi_spill *spill);

/* Take all rows out, to append some of them again; windows that are open go on over the old ones.
 */
void cwi_reel_rewind(cwi_reel *reel);

/* Append a row of a window: to a file, or to arrays that have room for it. */
static inline cw_status cwi_reel_take(cw_context *ctx, cwi_reel *reel, const cwi_window *from,
                                      int64_t k)
{
    int64_t at = reel->count++;
    if (reel->spill)
        return cwi_spill_add(ctx, reel->spill, from->user[k], from->item[k],
                             from->time ? from->time[k] : 0, from->part ? from->part[k] : 0);
    reel->user[at] = from->user[k];
    reel->item[at] = from->item[k];
    if (reel->time) reel->time[at] = from->time[k];
    if (reel->part) reel->part[at] = from->part[k];
    return CW_OK;
}

/* Append a row without time and part. */
static inline cw_status cwi_reel_put(cw_context *ctx, cwi_reel *reel, int32_t user, int32_t item)
{
    int64_t at = reel->count++;
    if (reel->spill) return cwi_spill_add(ctx, reel->spill, user, item, 0, 0);
    reel->user[at] = user;
    reel->item[at] = item;
    return CW_OK;
}

/* What was appended is all: windows may look at it. */
cw_status cwi_reel_end(cw_context *ctx, cwi_reel *reel);

/* How often each user or item occurs: [n], zeroed first; NULL: not wanted. */
cw_status cwi_reel_degrees(cw_context *ctx, const cwi_reel *reel, int32_t n_users,
                           int64_t *user_degree, int32_t n_items, int64_t *item_degree);

#endif

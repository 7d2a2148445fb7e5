/*
 * world.h - the processes of a training, and which rows of a table each of them has.
 *
 * Rows are dealt out in blocks, in turn, so that every process has about as many of them, users as
 * well as items, popular ones as well as others.  Blocks are the chunks in which a table is stepped
 * and summed: partial sums of one process are those of many.
 */
#ifndef CWI_COMM_WORLD_H
#define CWI_COMM_WORLD_H

#include "comm/mpi.h"
#include "core/context.h"

enum { CWI_BLOCK_ROWS = 256, CWI_MOST_PROCESSES = 4096 };

typedef struct cwi_world {
    const cwi_mpi_calls *calls;
    int rank, size;
} cwi_world;

/* A process of so many. */
static inline cwi_world cwi_world_of(const cwi_mpi_calls *calls, int rank, int size)
{
    return (cwi_world){calls, rank, size};
}

/* Who has a row, and where. */
static inline int cwi_row_owner(const cwi_world *w, int64_t row)
{
    if (w->size == 1) return 0;
    return (int)((uint32_t)(row / CWI_BLOCK_ROWS) % (uint32_t)w->size); /* quicker than 64 bits */
}

static inline int64_t cwi_row_place(const cwi_world *w, int64_t row)
{
    if (w->size == 1) return row;
    int64_t round = (uint32_t)(row / CWI_BLOCK_ROWS) / (uint32_t)w->size;
    return round * CWI_BLOCK_ROWS + row % CWI_BLOCK_ROWS;
}

/* The row in a place of a process. */
static inline int64_t cwi_row_at(const cwi_world *w, int rank, int64_t place)
{
    return (place / CWI_BLOCK_ROWS * w->size + rank) * CWI_BLOCK_ROWS + place % CWI_BLOCK_ROWS;
}

/* How many of so many rows a process has. */
int64_t cwi_rows_of(const cwi_world *w, int rank, int64_t rows);

/*
 * Rows from..rows-1 of a table in their order, to `whole`, at all processes or, where root is not
 * negative, at that one alone.  At a root `own` may be NULL: its rows are in `whole` already.
 */
cw_status cwi_rows_gather(cw_context *ctx, const cwi_world *w, int root, const void *own,
                          int64_t from, int64_t rows, size_t row_bytes, void *whole);

/* Those of this process, which lie at the beginning of a table, to their places in it; and out of
 * those. */
void cwi_rows_spread(const cwi_world *w, int64_t rows, size_t row_bytes, void *whole);
void cwi_rows_take(const cwi_world *w, const void *whole, int64_t rows, size_t row_bytes,
                   void *own);

/* Sum of the numbers of all blocks in their order; own has those of the blocks of this process. */
cw_status cwi_blocks_sum(cw_context *ctx, const cwi_world *w, const double *own, int64_t rows,
                         double *out);

/* n records of every process, n as counts says, to `all` at process 0, in the order of processes.
 * The progress callback is told of `stage` meanwhile, and may cancel: what `own` and `all` point to
 * must then stay until the processes end. */
typedef struct cwi_bundle {
    const void *own;
    const int *counts; /* [size] */
    size_t bytes;      /* of one */
    void *all;         /* at process 0 */
} cwi_bundle;
cw_status cwi_world_bring(cw_context *ctx, const cwi_world *w, const cwi_bundle *records,
                          const char *stage, int64_t done, int64_t total);

/* Numbers of all processes added up, at all of them. */
cw_status cwi_world_add(cw_context *ctx, const cwi_world *w, int64_t *values, int64_t n);

/* All processes must have the same bytes: else the first one that differs from process 0 fails, and
 * so do all others, with a sentence that begins with `what`. */
cw_status cwi_world_agree(cw_context *ctx, const cwi_world *w, const char *what, const void *bytes,
                          size_t count);

#endif

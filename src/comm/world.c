/* world.c - joining the other processes; dealing out rows and bringing them together. */
#include "comm/world.h"

#include <limits.h>
#include <string.h>
#include <xxhash.h>

#include "core/beside.h"
#include "core/mem.h"

/* Once; the context then has a world. */
static cw_status join(cw_context *ctx)
{
    const cwi_beside_calls *found;
    char why[CWI_BESIDE_TEXT];
    if (ctx->world) return CW_OK;
    cw_status status = cwi_beside_open("crosswise-mpi.so", "MPI engine", CWI_MPI_SYMBOL,
                                       CWI_MPI_VERSION, &found, why);
    if (status != CW_OK) return cwi_fail(ctx, status, "--device is 'mpi': %s", why);
    cwi_world *w = cwi_alloc_zero(ctx, 1, sizeof *w);
    if (!w) return CW_NO_MEMORY;
    w->calls = (const cwi_mpi_calls *)(const void *)found;
    if (w->calls->join(&w->rank, &w->size) != 0)
        status = cwi_fail(ctx, CW_UNSUPPORTED, "--device is 'mpi': MPI does not start");
    else if (w->size > CWI_MOST_PROCESSES)
        status = cwi_fail(ctx, CW_UNSUPPORTED,
                          "--device is 'mpi': there are %d processes, at most "
                          "%d are possible",
                          w->size, CWI_MOST_PROCESSES);
    if (status == CW_OK) {
        *w = cwi_world_of(w->calls, w->rank, w->size);
        ctx->world = w;
    } else {
        cwi_free(w);
    }
    return status;
}

cw_status cw_processes_join(cw_context *ctx, int *rank, int *count)
{
    cwi_begin(ctx);
    *rank = 0;
    *count = 1;
    CW_PASS(join(ctx));
    *rank = ctx->world->rank;
    *count = ctx->world->size;
    return CW_OK;
}

void cw_processes_leave(cw_context *ctx)
{
    if (!ctx || !ctx->world) return;
    ctx->world->calls->leave();
    cwi_free(ctx->world);
    ctx->world = NULL;
}

void cw_processes_end(cw_context *ctx, int code)
{
    if (ctx && ctx->world) ctx->world->calls->end(code);
}

/* ---- records ------------------------------------------------------------------------ */

/* What is told while the others are waited for. */
typedef struct waiting {
    cw_context *ctx;
    const char *stage;
    int64_t done, total;
} waiting;

static int go_on(void *arg)
{
    const waiting *w = arg;
    return !w->stage || cwi_progress(w->ctx, w->stage, w->done, w->total) == CW_OK;
}

cw_status cwi_world_bring(cw_context *ctx, const cwi_world *w, const cwi_bundle *r,
                          const char *stage, int64_t done, int64_t total)
{
    waiting wait = {ctx, stage, done, total};
    int is_over =
        w->calls->bring(r->own, r->counts[w->rank], r->all, r->counts, r->bytes, go_on, &wait);
    return is_over ? CW_CANCELLED : CW_OK;
}

cw_status cw_processes_collect(cw_context *ctx, const void *own, const size_t *counts, size_t bytes,
                               void *all)
{
    cwi_begin(ctx);
    const cwi_world *w = ctx->world;
    if (!w) CW_PASS(cwi_fail(ctx, CW_BAD_ARG, "cw_processes_join was not called"));
    int *n = cwi_alloc(ctx, (size_t)w->size, sizeof *n);
    cw_status status = n ? CW_OK : CW_NO_MEMORY;
    for (int p = 0; p < w->size && status == CW_OK; p++) {
        if (counts[p] > INT_MAX || bytes > INT_MAX)
            status = cwi_fail(ctx, CW_BAD_ARG, "%zu records of %zu bytes are too many at a time",
                              counts[p], bytes);
        n[p] = (int)counts[p];
    }
    const cwi_bundle records = {own, n, bytes, all};
    if (status == CW_OK) status = cwi_world_bring(ctx, w, &records, "waiting for others", 0, 0);
    if (status != CW_CANCELLED) cwi_free(n);
    return status;
}

cw_status cw_processes_spread(cw_context *ctx, void *bytes, size_t n)
{
    cwi_begin(ctx);
    if (!ctx->world) return cwi_fail(ctx, CW_BAD_ARG, "cw_processes_join was not called");
    ctx->world->calls->spread(0, bytes, n);
    return CW_OK;
}

cw_status cw_processes_compare(cw_context *ctx, const char *what, const void *bytes, size_t n)
{
    cwi_begin(ctx);
    if (!ctx->world) return cwi_fail(ctx, CW_BAD_ARG, "cw_processes_join was not called");
    XXH128_hash_t hash = XXH3_128bits(bytes, n);
    return cwi_world_agree(ctx, ctx->world, what, &hash, sizeof hash);
}

/* ---- rows ------------------------------------------------------------------------ */

int64_t cwi_rows_of(const cwi_world *w, int rank, int64_t rows)
{
    int64_t round = (int64_t)CWI_BLOCK_ROWS * w->size;
    int64_t rest = rows % round - (int64_t)CWI_BLOCK_ROWS * rank;
    int64_t more = rest < 0 ? 0 : rest > CWI_BLOCK_ROWS ? CWI_BLOCK_ROWS : rest;
    return rows / round * CWI_BLOCK_ROWS + more;
}

/* Bytes that are under way at a time, so that bringing rows together needs little room. */
static const size_t most_at_once = (size_t)16 << 20;

/* So many blocks of every process at a time. */
static int64_t count_blocks(const cwi_world *w, size_t row_bytes)
{
    size_t bytes = row_bytes * CWI_BLOCK_ROWS * (size_t)w->size;
    return bytes < most_at_once ? (int64_t)(most_at_once / bytes) : 1;
}

/* Rows that process p brings of places first .. first + n - 1. */
static int count_some(const cwi_world *w, int p, int64_t rows, int64_t first, int64_t n)
{
    int64_t left = cwi_rows_of(w, p, rows) - first;
    return (int)(left < 0 ? 0 : left < n ? left : n);
}

/* What is brought together. */
typedef struct gathering {
    int64_t from;
    size_t row_bytes;
    char *whole;
} gathering;

/* Rows of process p from its place `first` on, to their own places. */
static void put_rows(const cwi_world *w, const gathering *g, int p, int64_t first, int64_t n,
                     const char *rows)
{
    for (int64_t k = 0; k < n;) {
        int64_t row = cwi_row_at(w, p, first + k);
        int64_t some = n - k < CWI_BLOCK_ROWS ? n - k : CWI_BLOCK_ROWS;
        int64_t skip = row < g->from ? g->from - row : 0;
        if (skip < some)
            memcpy(g->whole + (size_t)(row + skip - g->from) * g->row_bytes,
                   rows + (size_t)skip * g->row_bytes, (size_t)(some - skip) * g->row_bytes);
        rows += (size_t)some * g->row_bytes;
        k += some;
    }
}

cw_status cwi_rows_gather(cw_context *ctx, const cwi_world *w, int root, const void *own,
                          int64_t from, int64_t rows, size_t row_bytes, void *whole)
{
    int64_t n = count_blocks(w, row_bytes) * CWI_BLOCK_ROWS, most = cwi_rows_of(w, 0, rows);
    bool is_wanted = root < 0 || root == w->rank;
    const gathering g = {from, row_bytes, whole};
    int *counts = cwi_alloc(ctx, (size_t)w->size, sizeof *counts);
    char *some = cwi_alloc(ctx, is_wanted ? (size_t)(n * w->size) : 1, row_bytes);
    cw_status status = counts && some ? CW_OK : CW_NO_MEMORY;
    int64_t first = from / CWI_BLOCK_ROWS / w->size * CWI_BLOCK_ROWS;
    for (; first < most && status == CW_OK; first += n) {
        for (int p = 0; p < w->size; p++) counts[p] = count_some(w, p, rows, first, n);
        int mine = own ? counts[w->rank] : (counts[w->rank] = 0);
        const char *at =
            own ? (const char *)own + (size_t)(mine > 0 ? first : 0) * row_bytes : some;
        if (root < 0)
            w->calls->gather(at, mine, some, counts, row_bytes);
        else
            w->calls->collect(root, at, mine, some, counts, row_bytes);
        const char *rows_of = some;
        for (int p = 0; p < w->size && is_wanted; p++) {
            put_rows(w, &g, p, first, counts[p], rows_of);
            rows_of += (size_t)counts[p] * row_bytes;
        }
    }
    cwi_free(counts);
    cwi_free(some);
    return status;
}

/* From the last block on: none moves to where one is that has not moved. */
void cwi_rows_spread(const cwi_world *w, int64_t rows, size_t row_bytes, void *whole)
{
    int64_t mine = cwi_rows_of(w, w->rank, rows);
    int64_t last = (mine - 1) / CWI_BLOCK_ROWS * CWI_BLOCK_ROWS;
    for (int64_t k = last; k >= 0 && mine > 0; k -= CWI_BLOCK_ROWS) {
        int64_t n = mine - k < CWI_BLOCK_ROWS ? mine - k : CWI_BLOCK_ROWS;
        memmove((char *)whole + (size_t)cwi_row_at(w, w->rank, k) * row_bytes,
                (const char *)whole + (size_t)k * row_bytes, (size_t)n * row_bytes);
    }
}

void cwi_rows_take(const cwi_world *w, const void *whole, int64_t rows, size_t row_bytes, void *own)
{
    int64_t mine = cwi_rows_of(w, w->rank, rows);
    for (int64_t k = 0; k < mine; k += CWI_BLOCK_ROWS) {
        int64_t n = mine - k < CWI_BLOCK_ROWS ? mine - k : CWI_BLOCK_ROWS;
        memcpy((char *)own + (size_t)k * row_bytes,
               (const char *)whole + (size_t)cwi_row_at(w, w->rank, k) * row_bytes,
               (size_t)n * row_bytes);
    }
}

/* ---- sums ------------------------------------------------------------------------ */

static int64_t count_blocks_of(const cwi_world *w, int rank, int64_t rows)
{
    return (cwi_rows_of(w, rank, rows) + CWI_BLOCK_ROWS - 1) / CWI_BLOCK_ROWS;
}

cw_status cwi_blocks_sum(cw_context *ctx, const cwi_world *w, const double *own, int64_t rows,
                         double *out)
{
    int64_t all = (rows + CWI_BLOCK_ROWS - 1) / CWI_BLOCK_ROWS;
    int *counts = cwi_alloc(ctx, (size_t)w->size, sizeof *counts);
    double *each = cwi_alloc(ctx, (size_t)all, sizeof *each), sum = 0;
    int64_t *start = cwi_alloc(ctx, (size_t)w->size, sizeof *start), at = 0;
    cw_status status = counts && each && start ? CW_OK : CW_NO_MEMORY;
    for (int p = 0; p < w->size && status == CW_OK; p++) {
        counts[p] = (int)count_blocks_of(w, p, rows);
        start[p] = at;
        at += counts[p];
    }
    if (status == CW_OK) w->calls->gather(own, counts[w->rank], each, counts, sizeof *own);
    for (int64_t b = 0; b < all && status == CW_OK; b++)
        sum += each[start[b % w->size] + b / w->size];
    *out = sum;
    cwi_free(counts);
    cwi_free(each);
    cwi_free(start);
    return status;
}

cw_status cwi_world_add(cw_context *ctx, const cwi_world *w, int64_t *values, int64_t n)
{
    enum { AT_ONCE = 1 << 16 };
    int64_t some = n < AT_ONCE ? n : AT_ONCE;
    int *counts = cwi_alloc(ctx, (size_t)w->size, sizeof *counts);
    int64_t *all = cwi_alloc(ctx, (size_t)(some * w->size), sizeof *all);
    cw_status status = counts && all ? CW_OK : CW_NO_MEMORY;
    for (int64_t first = 0; first < n && status == CW_OK; first += AT_ONCE) {
        if (n - first < some) some = n - first;
        for (int p = 0; p < w->size; p++) counts[p] = (int)some;
        w->calls->gather(values + first, (int)some, all, counts, sizeof *all);
        memset(values + first, 0, (size_t)some * sizeof *values);
        for (int64_t k = 0; k < some * w->size; k++) values[first + k % some] += all[k];
    }
    cwi_free(counts);
    cwi_free(all);
    return status;
}

cw_status cwi_world_agree(cw_context *ctx, const cwi_world *w, const char *what, const void *bytes,
                          size_t count)
{
    int *counts = cwi_alloc(ctx, (size_t)w->size, sizeof *counts);
    char *all = cwi_alloc(ctx, (size_t)w->size, count);
    cw_status status = counts && all ? CW_OK : CW_NO_MEMORY;
    for (int p = 0; p < w->size && status == CW_OK; p++) counts[p] = 1;
    if (status == CW_OK) w->calls->gather(bytes, 1, all, counts, count);
    for (int p = 1; p < w->size && status == CW_OK; p++)
        if (memcmp(all, all + (size_t)p * count, count) != 0)
            status = cwi_fail(ctx, CW_BAD_DATA,
                              "%s at rank %d than at rank 0; all processes must be given the same",
                              what, p);
    cwi_free(counts);
    cwi_free(all);
    return status;
}

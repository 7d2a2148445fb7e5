/* one.c - what crosswise-mpi.so is for a single process, without MPI: so its files can be watched.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/mpi.h"

#pragma GCC visibility push(default)
const cwi_mpi_calls *cw_mpi_calls(void);
#pragma GCC visibility pop

static int join(int *rank, int *size)
{
    *rank = 0;
    *size = 1;
    return 0;
}

static void copy(const void *from, int count, void *to, size_t unit)
{
    if (count > 0) memmove(to, from, (size_t)count * unit);
}

static void exchange(const void *from, const int *send, void *to, const int *received, size_t unit)
{
    (void)received;
    copy(from, send[0], to, unit);
}

static void gather(const void *from, int count, void *to, const int *counts, size_t unit)
{
    (void)counts;
    copy(from, count, to, unit);
}

static void collect(int root, const void *from, int count, void *to, const int *counts, size_t unit)
{
    (void)root;
    (void)counts;
    copy(from, count, to, unit);
}

static int bring(const void *from, int count, void *to, const int *counts, size_t unit,
                 int (*waits)(void *arg), void *arg)
{
    (void)counts;
    copy(from, count, to, unit);
    return waits(arg) ? 0 : 1;
}

static void spread(int root, void *bytes, size_t count)
{
    (void)root;
    (void)bytes;
    (void)count;
}

static void nothing(void)
{
}

static void end(int code)
{
    exit(code);
}

const cwi_mpi_calls *cw_mpi_calls(void)
{
    static const cwi_mpi_calls calls = {.version = CWI_MPI_VERSION,
                                        .release = CWI_MPI_RELEASE,
                                        .join = join,
                                        .exchange = exchange,
                                        .gather = gather,
                                        .collect = collect,
                                        .bring = bring,
                                        .spread = spread,
                                        .meet = nothing,
                                        .leave = nothing,
                                        .end = end};
    return &calls;
}

/* mpi_object.c - the shared object around MPI: the only file that sees its header. */
#include "comm/mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

const cwi_mpi_calls *cw_mpi_calls(void);

static int size_of_world;

static int join(int *rank, int *size)
{
    int given, is_there = 0;
    MPI_Initialized(&is_there);
    if (!is_there && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    size_of_world = *size;
    return 0;
}

static MPI_Datatype make_unit(size_t unit)
{
    MPI_Datatype type;
    MPI_Type_contiguous((int)unit, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Where the parts of all processes begin; freed by the caller. */
static int *find_starts(const int *counts)
{
    int *start = malloc((size_t)size_of_world * sizeof *start), sum = 0;
    if (!start) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int p = 0; p < size_of_world; p++) {
        start[p] = sum;
        sum += counts[p];
    }
    return start;
}

static void exchange(const void *from, const int *send, void *to, const int *received, size_t unit)
{
    MPI_Datatype type = make_unit(unit);
    int *here = find_starts(send), *there = find_starts(received);
    MPI_Alltoallv(from, send, here, type, to, received, there, type, MPI_COMM_WORLD);
    free(here);
    free(there);
    MPI_Type_free(&type);
}

static void gather(const void *from, int count, void *to, const int *counts, size_t unit)
{
    MPI_Datatype type = make_unit(unit);
    int *start = find_starts(counts);
    MPI_Allgatherv(from, count, type, to, counts, start, type, MPI_COMM_WORLD);
    free(start);
    MPI_Type_free(&type);
}

static void collect(int root, const void *from, int count, void *to, const int *counts, size_t unit)
{
    MPI_Datatype type = make_unit(unit);
    int *start = find_starts(counts);
    MPI_Gatherv(from, count, type, to, counts, start, type, root, MPI_COMM_WORLD);
    free(start);
    MPI_Type_free(&type);
}

/* Another process may be long in coming, or be lost: who waits for it is to notice a signal. */
static bool await(MPI_Request *request, int (*waits)(void *arg), void *arg)
{
    enum { EAGER_LOOKS = 1000 };
    const struct timespec moment = {.tv_nsec = 100000};
    int is_done = 0;
    for (int looks = 0;; looks++) {
        MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (is_done) return true;
        if (looks < EAGER_LOOKS) continue;
        if (!waits(arg)) return false;
        (void)nanosleep(&moment, NULL);
    }
}

static int bring(const void *from, int count, void *to, const int *counts, size_t unit,
                 int (*waits)(void *arg), void *arg)
{
    MPI_Request request;
    MPI_Datatype type = make_unit(unit);
    int *start = find_starts(counts);
    MPI_Igatherv(from, count, type, to, counts, start, type, 0, MPI_COMM_WORLD, &request);
    if (!await(&request, waits, arg)) return 1; /* start is still read */
    free(start);
    MPI_Type_free(&type);
    return 0;
}

static void spread(int root, void *bytes, size_t count)
{
    const size_t most = INT_MAX / 2;
    for (size_t done = 0; done < count; done += most) {
        size_t some = count - done < most ? count - done : most;
        MPI_Bcast((char *)bytes + done, (int)some, MPI_BYTE, root, MPI_COMM_WORLD);
    }
}

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void leave(void)
{
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (!is_over) MPI_Finalize();
}

static void end(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

EXPORT const cwi_mpi_calls *cw_mpi_calls(void)
{
    static const cwi_mpi_calls calls = {.version = CWI_MPI_VERSION,
                                        .release = CWI_MPI_RELEASE,
                                        .join = join,
                                        .exchange = exchange,
                                        .gather = gather,
                                        .collect = collect,
                                        .bring = bring,
                                        .spread = spread,
                                        .meet = meet,
                                        .leave = leave,
                                        .end = end};
    return &calls;
}

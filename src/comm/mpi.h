/*
 * mpi.h - what the library and MPI, which is behind a shared object of its own, say to each other.
 *
 * The object is opened at run time, so that the same command runs with and without an MPI library.
 * It knows processes and bytes alone.  All calls but `end` are made by all processes, in the same
 * order, from the thread that joined.  MPI itself ends the job when a process is lost.
 */
#ifndef CWI_COMM_MPI_H
#define CWI_COMM_MPI_H

#include <stddef.h>
#include <stdint.h>

enum { CWI_MPI_VERSION = 2 };

/*
 *   join      become one of the processes that were started together; not 0: it was not possible
 *   exchange  send[p] units for every process p lie side by side, and so do received[p] from it
 *   gather    the units of all processes, in their order, at all of them
 *   collect   the same at process `root` alone
 *   bring     the same at process 0, where `waits` is asked now and then whether to go on: not 0:
 *             it said no, and the arrays may be written to until all processes end
 *   spread    bytes of process `root` to all
 *   meet      nobody goes on before all are here
 *   leave     done, all well
 *   end       of all processes, at once
 */
typedef struct cwi_mpi_calls {
    int version;
    const char *release; /* of crosswise */
    int (*join)(int *rank, int *size);
    void (*exchange)(const void *from, const int *send, void *to, const int *received, size_t unit);
    void (*gather)(const void *from, int count, void *to, const int *counts, size_t unit);
    void (*collect)(int root, const void *from, int count, void *to, const int *counts,
                    size_t unit);
    int (*bring)(const void *from, int count, void *to, const int *counts, size_t unit,
                 int (*waits)(void *arg), void *arg);
    void (*spread)(int root, void *bytes, size_t count);
    void (*meet)(void);
    void (*leave)(void);
    void (*end)(int code);
} cwi_mpi_calls;

#define CWI_MPI_SYMBOL "cw_mpi_calls"

#endif

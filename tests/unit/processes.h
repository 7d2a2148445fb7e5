/* processes.h - processes of a training that are threads, for the calls of comm/mpi.h. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include <pthread.h>

#include "comm/world.h"
#include "testing.h"

enum { MOST_PROCESSES = 4 };

static pthread_barrier_t everybody;
static _Thread_local int my_rank;
static int n_processes;
static struct {
    const void *from;
    int count;
} brought[MOST_PROCESSES];

static inline void process_collect(int root, const void *from, int count, void *to,
                                   const int *counts, size_t unit)
{
    char *at = to;
    brought[my_rank].from = from;
    brought[my_rank].count = count;
    pthread_barrier_wait(&everybody);
    for (int p = 0; p < n_processes && (root < 0 || root == my_rank); p++) {
        assert_int_equal(counts[p], brought[p].count);
        size_t bytes = (size_t)counts[p] * unit;
        if (bytes > 0) memcpy(at, brought[p].from, bytes);
        at += bytes;
    }
    pthread_barrier_wait(&everybody);
}

static inline void process_gather(const void *from, int count, void *to, const int *counts,
                                  size_t unit)
{
    process_collect(-1, from, count, to, counts, unit);
}

static inline void process_spread(int root, void *bytes, size_t count)
{
    brought[my_rank].from = bytes;
    pthread_barrier_wait(&everybody);
    if (my_rank != root) memcpy(bytes, brought[root].from, count);
    pthread_barrier_wait(&everybody);
}

static const cwi_mpi_calls process_calls = {.version = CWI_MPI_VERSION,
                                            .gather = process_gather,
                                            .collect = process_collect,
                                            .spread = process_spread};

/* The other process of two, which has nothing: it adds nothing to sums and counts, and agrees. */
static inline void idle_gather(const void *from, int count, void *to, const int *counts,
                               size_t unit)
{
    size_t bytes = (size_t)count * unit, theirs = (size_t)counts[1] * unit;
    if (bytes > 0) memcpy(to, from, bytes);
    if (unit == sizeof(int64_t) || unit == sizeof(int32_t))
        memset((char *)to + bytes, 0, theirs);
    else
        memcpy((char *)to + bytes, from, theirs);
}

static inline void idle_collect(int root, const void *from, int count, void *to, const int *counts,
                                size_t unit)
{
    (void)root;
    (void)counts;
    if (count > 0) memcpy(to, from, (size_t)count * unit);
}

static inline void idle_spread(int root, void *bytes, size_t count)
{
    (void)root;
    (void)bytes;
    (void)count;
}

static const cwi_mpi_calls idle_calls = {.version = CWI_MPI_VERSION,
                                         .gather = idle_gather,
                                         .collect = idle_collect,
                                         .spread = idle_spread};

/* One of them. */
typedef struct process {
    void *what; /* the same for all */
    int rank;
    const char *differs; /* NULL: nothing does */
} process;

typedef void (*process_fn)(process *p, const cwi_world *world, cw_context *ctx);

static process_fn process_run;

static inline void *process_begin(void *arg)
{
    process *p = arg;
    listener l;
    cwi_world world = cwi_world_of(&process_calls, p->rank, n_processes);
    my_rank = p->rank;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, 2), CW_OK);
    l.ctx->world = &world;
    process_run(p, &world, l.ctx);
    l.ctx->world = NULL;
    listener_clear(&l);
    return NULL;
}

/* Let so many processes run; fails by what differs at any of them. */
static inline void run_processes(int n, const char *name, process_fn fn, void *what)
{
    pthread_t thread[MOST_PROCESSES];
    process p[MOST_PROCESSES];
    n_processes = n;
    process_run = fn;
    pthread_barrier_init(&everybody, NULL, (unsigned)n);
    for (int k = 0; k < n; k++) {
        p[k] = (process){.what = what, .rank = k};
        assert_int_equal(pthread_create(&thread[k], NULL, process_begin, &p[k]), 0);
    }
    for (int k = 0; k < n; k++) pthread_join(thread[k], NULL);
    pthread_barrier_destroy(&everybody);
    for (int k = 0; k < n; k++)
        if (p[k].differs) fail_msg("%s, process %d of %d: %s", name, k, n, p[k].differs);
}

#endif

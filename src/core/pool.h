/* pool.h - parallel loops whose results do not depend on the number of threads. */
#ifndef CWI_CORE_POOL_H
#define CWI_CORE_POOL_H

#include <pthread.h>

#include "core/context.h"

enum { CWI_MAX_THREADS = 1024 };

/*
 * Work on the range [begin, end), which is chunk number `chunk`.  Runs on any thread, so it may
 * touch only what belongs to its chunk: no allocation through the context, no messages.
 */
typedef cw_status (*cwi_chunk_fn)(void *arg, int64_t chunk, int64_t begin, int64_t end);

/*
 * Cut [0, count) into chunks of chunk_size and run them all.  The cut depends on the arguments
 * alone; sums are made reproducible by adding partial results in chunk order afterwards.
 * Returns the status of the lowest failing chunk.
 */
cw_status cwi_pool_for(cw_context *ctx, int64_t count, int64_t chunk_size, cwi_chunk_fn fn,
                       void *arg);

/* Number of chunks that cwi_pool_for makes. */
int64_t cwi_pool_chunks(int64_t count, int64_t chunk_size);

/*
 * Let a worker run `task` beside what the caller does next; one at a time.  Parallel loops go on
 * meanwhile with the threads that are left.  The task may touch nothing that the caller touches,
 * and not use the context.  cwi_pool_wait returns its status, CW_OK when there is none; on a single
 * thread it is what runs the task.
 */
typedef cw_status (*cwi_task_fn)(void *arg);
cw_status cwi_pool_post(cw_context *ctx, cwi_task_fn task, void *arg);
cw_status cwi_pool_wait(cw_context *ctx);

/* Start a thread that signals do not reach: they belong to the caller's.  False when none can. */
bool cwi_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* Can a thread be started?  For libraries that end the program when they cannot. */
bool cwi_pool_can_start(void);

void cwi_pool_free(struct cwi_pool *pool); /* NULL is fine */

#endif

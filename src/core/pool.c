/*
 * pool.c - a small thread pool for parallel loops.
 *
 * Workers sleep until a loop is posted, then take chunks by an atomic counter.  The caller works
 * too, so one thread means no pool at all.
 */
#include "core/pool.h"

#include <pthread.h>
#include <signal.h>

#include "core/mem.h"

typedef struct loop {
    cwi_chunk_fn fn;
    void *arg;
    int64_t count, chunk_size, n_chunks;
    atomic_int_fast64_t next;
    pthread_mutex_t lock; /* guards the two below */
    int64_t failed_chunk; /* lowest failing chunk, n_chunks when none */
    cw_status status;
} loop;

struct cwi_pool {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t posted, finished;
    loop *work;
    uint64_t generation; /* number of loops posted so far */
    int busy;            /* workers that have not finished the posted loop */
    bool stop;
    int n_workers;
    pthread_t worker[CWI_MAX_THREADS];
};

int64_t cwi_pool_chunks(int64_t count, int64_t chunk_size)
{
    return count / chunk_size + (count % chunk_size != 0);
}

static void run_chunks(loop *work)
{
    for (;;) {
        int64_t chunk = atomic_fetch_add(&work->next, 1);
        if (chunk >= work->n_chunks) return;
        int64_t begin = chunk * work->chunk_size;
        int64_t end = begin + work->chunk_size;
        if (end > work->count) end = work->count;
        cw_status status = work->fn(work->arg, chunk, begin, end);
        if (status == CW_OK) continue;
        pthread_mutex_lock(&work->lock);
        if (chunk < work->failed_chunk) {
            work->failed_chunk = chunk;
            work->status = status;
        }
        pthread_mutex_unlock(&work->lock);
        return;
    }
}

static void *worker_main(void *arg)
{
    struct cwi_pool *pool = arg;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->posted, &pool->lock);
        if (pool->stop) break;
        seen = pool->generation;
        loop *work = pool->work;
        pthread_mutex_unlock(&pool->lock);
        run_chunks(work);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Signals belong to the caller's threads, so the workers block all of them. */
static void start_workers(struct cwi_pool *pool, int wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->n_workers < wanted) {
        if (pthread_create(&pool->worker[pool->n_workers], NULL, worker_main, pool) != 0) break;
        pool->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct cwi_pool *pool_create(cw_context *ctx, int workers)
{
    struct cwi_pool *pool = cwi_alloc_zero(ctx, 1, sizeof *pool);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->finished, NULL);
    start_workers(pool, workers); /* fewer threads than wanted only cost time */
    return pool;
}

void cwi_pool_free(struct cwi_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (int w = 0; w < pool->n_workers; w++) pthread_join(pool->worker[w], NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->lock);
    cwi_free(pool);
}

static void run_with_workers(struct cwi_pool *pool, loop *work)
{
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->busy = pool->n_workers;
    pool->generation++;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    run_chunks(work);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0) pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

cw_status cwi_pool_for(cw_context *ctx, int64_t count, int64_t chunk_size, cwi_chunk_fn fn,
                       void *arg)
{
    loop work = {.fn = fn,
                 .arg = arg,
                 .count = count,
                 .chunk_size = chunk_size,
                 .n_chunks = cwi_pool_chunks(count, chunk_size),
                 .status = CW_OK};
    int threads = cw_context_threads(ctx);

    work.failed_chunk = work.n_chunks;
    atomic_init(&work.next, 0);
    pthread_mutex_init(&work.lock, NULL);
    if (threads == 1 || work.n_chunks == 1) {
        run_chunks(&work);
    } else {
        if (!ctx->pool) ctx->pool = pool_create(ctx, threads - 1);
        if (ctx->pool)
            run_with_workers(ctx->pool, &work);
        else
            work.status = CW_NO_MEMORY;
    }
    pthread_mutex_destroy(&work.lock);
    return work.status;
}

/*
 * pool.c - a small thread pool for parallel loops and one task beside them.
 *
 * Workers look for work for a moment, then sleep until some is posted.  Every thread begins with a
 * part of the chunks of its own, so that what it fetches past the end of one chunk is what it reads
 * in the next, and then helps with the other parts.  The caller works too, so one thread means no
 * pool at all.
 */
#include "core/pool.h"

#include <signal.h>

#include "core/mem.h"

/* Loops follow each other within microseconds in training, and waking a thread takes longer. */
enum { LOOKS = 2000, MAX_PARTS = 64 };

/* Neighbouring chunks that one thread begins with, alone on its cache line. */
typedef struct part {
    _Alignas(64) atomic_int_fast64_t next;
    int64_t end;
} part;

typedef struct loop {
    cwi_chunk_fn fn;
    void *arg;
    int64_t count, chunk_size, n_chunks;
    int n_parts;
    part parts[MAX_PARTS];
    pthread_mutex_t lock; /* guards the two below */
    int64_t failed_chunk; /* lowest failing chunk, n_chunks when none */
    cw_status status;
} loop;

typedef enum task_state { TASK_NONE, TASK_POSTED, TASK_RUNNING, TASK_DONE } task_state;

struct cwi_pool {
    pthread_mutex_t lock; /* guards everything below; what is atomic is also looked at without */
    pthread_cond_t posted, finished;
    atomic_uint_fast64_t posts; /* loops, tasks and the wish to stop, so far */
    loop *work;                 /* open to workers; NULL: none */
    uint64_t generation;        /* number of loops posted so far */
    atomic_int busy;            /* workers in the loop */
    cwi_task_fn task;
    void *task_arg;
    atomic_int task_state;
    cw_status task_status;
    bool stop;
    int n_workers, n_started;
    pthread_t worker[CWI_MAX_THREADS];
};

int64_t cwi_pool_chunks(int64_t count, int64_t chunk_size)
{
    return count / chunk_size + (count % chunk_size != 0);
}

/* The next chunk for a thread, which goes from part to part; -1: all are taken. */
static int64_t take_chunk(loop *work, int *visited, int thread)
{
    for (; *visited < work->n_parts; (*visited)++) {
        part *p = &work->parts[(thread + *visited) % work->n_parts];
        int64_t chunk = atomic_fetch_add(&p->next, 1);
        if (chunk < p->end) return chunk;
    }
    return -1;
}

/* The caller is thread 0 and begins with the lowest chunks, so that the lowest one that fails is
 * always run. */
static void run_chunks(loop *work, int thread)
{
    for (int visited = 0;;) {
        int64_t chunk = take_chunk(work, &visited, thread);
        if (chunk < 0) return;
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

static inline void pause_thread(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Run the posted task; the lock is held before and after. */
static void run_task(struct cwi_pool *pool)
{
    atomic_store(&pool->task_state, TASK_RUNNING);
    pthread_mutex_unlock(&pool->lock);
    cw_status status = pool->task(pool->task_arg);
    pthread_mutex_lock(&pool->lock);
    pool->task_status = status;
    atomic_store(&pool->task_state, TASK_DONE);
    pthread_cond_signal(&pool->finished);
}

/* Help with the open loop; the lock is held before and after. */
static void join_loop(struct cwi_pool *pool, int thread)
{
    loop *work = pool->work;
    atomic_fetch_add(&pool->busy, 1);
    pthread_mutex_unlock(&pool->lock);
    run_chunks(work, thread);
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_sub(&pool->busy, 1);
    pthread_cond_signal(&pool->finished);
}

/* Wait for something new, awake at first; the lock is held before and after. */
static void await_post(struct cwi_pool *pool, uint64_t seen)
{
    pthread_mutex_unlock(&pool->lock);
    for (int look = 0; look < LOOKS && atomic_load(&pool->posts) == seen; look++) pause_thread();
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->posts) == seen) pthread_cond_wait(&pool->posted, &pool->lock);
}

static void *worker_main(void *arg)
{
    struct cwi_pool *pool = arg;
    uint64_t joined = 0;

    pthread_mutex_lock(&pool->lock);
    int thread = ++pool->n_started;
    while (!pool->stop) {
        uint64_t seen = atomic_load(&pool->posts);
        if (atomic_load(&pool->task_state) == TASK_POSTED) {
            run_task(pool);
        } else if (pool->work && pool->generation != joined) {
            joined = pool->generation;
            join_loop(pool, thread);
        } else {
            await_post(pool, seen);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

bool cwi_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static void *do_nothing(void *arg)
{
    return arg;
}

bool cwi_pool_can_start(void)
{
    pthread_t thread;
    return cwi_thread_start(&thread, do_nothing, NULL) && pthread_join(thread, NULL) == 0;
}

static struct cwi_pool *pool_create(cw_context *ctx, int workers)
{
    struct cwi_pool *pool = cwi_alloc_zero(ctx, 1, sizeof *pool);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->posted, NULL);
    pthread_cond_init(&pool->finished, NULL);
    while (pool->n_workers < workers && /* fewer threads than wanted only cost time */
           cwi_thread_start(&pool->worker[pool->n_workers], worker_main, pool))
        pool->n_workers++;
    return pool;
}

void cwi_pool_free(struct cwi_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add(&pool->posts, 1);
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (int w = 0; w < pool->n_workers; w++) pthread_join(pool->worker[w], NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->lock);
    cwi_free(pool);
}

/* Wait until a number of the pool is what it should be, awake at first; the lock is not held. */
static void await_number(struct cwi_pool *pool, atomic_int *number, int wanted)
{
    for (int look = 0; look < LOOKS && atomic_load(number) != wanted; look++) pause_thread();
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(number) != wanted) pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void run_with_workers(struct cwi_pool *pool, loop *work)
{
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->generation++;
    atomic_fetch_add(&pool->posts, 1);
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    run_chunks(work, 0);
    pthread_mutex_lock(&pool->lock);
    pool->work = NULL;
    pthread_mutex_unlock(&pool->lock);
    await_number(pool, &pool->busy, 0);
}

static cw_status open_pool(cw_context *ctx)
{
    if (!ctx->pool) ctx->pool = pool_create(ctx, cw_context_threads(ctx) - 1);
    return ctx->pool ? CW_OK : CW_NO_MEMORY;
}

/* One part for every thread. */
static void make_parts(loop *work, int threads)
{
    work->n_parts = threads < MAX_PARTS ? threads : MAX_PARTS;
    for (int p = 0; p < work->n_parts; p++) {
        atomic_init(&work->parts[p].next, work->n_chunks * p / work->n_parts);
        work->parts[p].end = work->n_chunks * (p + 1) / work->n_parts;
    }
}

cw_status cwi_pool_for(cw_context *ctx, int64_t count, int64_t chunk_size, cwi_chunk_fn fn,
                       void *arg)
{
    loop work;
    int threads = cw_context_threads(ctx);

    work.fn = fn;
    work.arg = arg;
    work.count = count;
    work.chunk_size = chunk_size;
    work.n_chunks = cwi_pool_chunks(count, chunk_size);
    work.status = CW_OK;
    work.failed_chunk = work.n_chunks;
    make_parts(&work, threads);
    pthread_mutex_init(&work.lock, NULL);
    if (threads == 1 || work.n_chunks == 1) {
        run_chunks(&work, 0);
    } else {
        work.status = open_pool(ctx);
        if (work.status == CW_OK) run_with_workers(ctx->pool, &work);
    }
    pthread_mutex_destroy(&work.lock);
    return work.status;
}

cw_status cwi_pool_post(cw_context *ctx, cwi_task_fn task, void *arg)
{
    CW_PASS(open_pool(ctx));
    struct cwi_pool *pool = ctx->pool;
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->task_arg = arg;
    atomic_store(&pool->task_state, TASK_POSTED);
    atomic_fetch_add(&pool->posts, 1);
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    return CW_OK;
}

cw_status cwi_pool_wait(cw_context *ctx)
{
    struct cwi_pool *pool = ctx->pool;
    if (!pool || atomic_load(&pool->task_state) == TASK_NONE) return CW_OK;
    pthread_mutex_lock(&pool->lock);
    if (atomic_load(&pool->task_state) == TASK_POSTED) run_task(pool); /* no worker had time */
    pthread_mutex_unlock(&pool->lock);
    await_number(pool, &pool->task_state, TASK_DONE);
    atomic_store(&pool->task_state, TASK_NONE);
    return pool->task_status;
}

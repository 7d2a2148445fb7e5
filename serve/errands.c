/*
 * errands.c - what takes longer than an answer, and the threads that do it: one writes feedback, as
 * many rows as are waiting with one sync; half as many as wait for sockets make what takes long,
 * such as batches; the main thread reads models and closes connections that take too long.
 *
 * The connection is suspended meanwhile, and everybody else is served.
 */
#ifdef CW_HAS_MICROHTTPD

#include <errno.h>
#include <stdlib.h>

#include "door.h"

enum { MAX_AT_ONCE = 256, MOST_LONG = 64 };

/* For one more that takes long?  Its place is taken then. */
bool has_room(door *d)
{
    pthread_mutex_lock(&d->lock);
    bool has = d->n_thinking < MOST_LONG;
    d->n_thinking += has;
    atomic_store(&d->s->meter.long_waiting, d->n_thinking);
    pthread_mutex_unlock(&d->lock);
    return has;
}

enum MHD_Result wait_for(exchange *e)
{
    door *d = e->door;
    exchange **const lists[] = {
        [RELOAD] = &d->to_reload, [WRITE_ROWS] = &d->to_write, [TAKE_TIME] = &d->to_think};
    pthread_cond_t *const wakes[] = {
        [RELOAD] = &d->wake_main, [WRITE_ROWS] = &d->wake_writer, [TAKE_TIME] = &d->wake_thinker};
    d->call.suspend_connection(e->connection);
    pthread_mutex_lock(&d->lock);
    exchange **list = lists[e->out.errand];
    e->next = *list;
    *list = e;
    pthread_cond_signal(wakes[e->out.errand]);
    pthread_mutex_unlock(&d->lock);
    return MHD_YES;
}

static void go_on(exchange *e)
{
    e->is_done = true;
    e->door->call.resume_connection(e->connection);
}

/* Oldest first. */
static exchange *reverse(exchange *list)
{
    exchange *out = NULL;
    for (exchange *next; list; list = next) {
        next = list->next;
        list->next = out;
        out = list;
    }
    return out;
}

static exchange *write_some(door *d, exchange *list)
{
    exchange *some[MAX_AT_ONCE];
    reply *out[MAX_AT_ONCE] = {NULL};
    size_t n = 0;
    for (; list && n < MAX_AT_ONCE; list = list->next, n++) {
        some[n] = list;
        out[n] = &list->out;
    }
    server_write(d->s, out, n);
    for (size_t k = 0; k < n; k++) go_on(some[k]);
    return list;
}

static void *write_feedback(void *arg)
{
    door *d = arg;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->to_write && !d->is_stopping) pthread_cond_wait(&d->wake_writer, &d->lock);
        exchange *list = reverse(d->to_write);
        d->to_write = NULL;
        if (!list) break;
        pthread_mutex_unlock(&d->lock);
        while (list) list = write_some(d, list);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* The one that has waited for longest, out of the list. */
static exchange *take_oldest(exchange **list)
{
    while (*list && (*list)->next) list = &(*list)->next;
    exchange *e = *list;
    *list = NULL;
    return e;
}

/* When the server stops what is left is refused. */
static void *think(void *arg)
{
    door *d = arg;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->to_think && !d->is_stopping) pthread_cond_wait(&d->wake_thinker, &d->lock);
        if (!d->to_think) break;
        exchange *e = take_oldest(&d->to_think);
        bool is_late = d->is_stopping;
        pthread_mutex_unlock(&d->lock);
        request in = request_of(e);
        in.is_admitted = true;
        if (is_late)
            say_problem(&e->out, 503, NULL, "the server is about to stop");
        else
            server_answer(d->s, &in, &e->out);
        pthread_mutex_lock(&d->lock);
        atomic_store(&d->s->meter.long_waiting, --d->n_thinking);
        go_on(e);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static void reload_for(door *d, cw_context *ctx, exchange *list)
{
    for (exchange *next; list; list = next) {
        next = list->next;
        server_reload(d->s, ctx, &list->out);
        go_on(list);
    }
}

void door_tend(door *d, cw_context *ctx, int wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)wait_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&d->lock);
    if (!d->to_reload) (void)pthread_cond_timedwait(&d->wake_main, &d->lock, &until);
    exchange *list = reverse(d->to_reload);
    d->to_reload = NULL;
    pthread_mutex_unlock(&d->lock);
    reload_for(d, ctx, list);
    close_slow(d);
}

/* ---- the threads ---------------------------------------------------------------------- */

bool start_helpers(door *d)
{
    size_t threads = (size_t)d->s->settings->threads, n = (threads + 1) / 2;
    if ((errno = pthread_create(&d->writer, NULL, write_feedback, d)) != 0) return false;
    d->has_writer = true;
    d->thinker = calloc(n, sizeof *d->thinker);
    for (size_t k = 0; k < n && d->thinker; k++, d->n_thinkers++)
        if ((errno = pthread_create(&d->thinker[k], NULL, think, d)) != 0) return false;
    return d->thinker != NULL;
}

void stop_helpers(door *d)
{
    pthread_mutex_lock(&d->lock);
    d->is_stopping = true;
    pthread_cond_signal(&d->wake_writer);
    pthread_cond_broadcast(&d->wake_thinker);
    pthread_mutex_unlock(&d->lock);
    if (d->has_writer) pthread_join(d->writer, NULL);
    while (d->n_thinkers > 0) pthread_join(d->thinker[--d->n_thinkers], NULL);
}

#else

typedef int nothing_here; /* ISO C wants something in a file */

#endif

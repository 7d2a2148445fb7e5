/*
 * http.c - requests and replies, by libmicrohttpd, which is opened when a server starts.
 *
 * Threads of the library wait for sockets (epoll), so that a slow client costs a place
 * in a table and no thread.  errands.c has what takes longer than an answer.
 */
#ifdef CW_HAS_MICROHTTPD

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "door.h"

enum { CONNECTION_BYTES = 32 << 10, FIRST_BODY = 4096 };

/* ---- replies ----------------------------------------------------------------------- */

static const char page_policy[] =
    "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void add_headers(const door *d, struct MHD_Response *r, const reply *out)
{
    char text[512];
    const mhd *m = &d->call;
    (void)m->add_response_header(r, "Content-Type", out->type);
    (void)m->add_response_header(r, "X-Content-Type-Options", "nosniff");
    (void)m->add_response_header(r, "Cache-Control", "no-store");
    if (out->nonce[0]) {
        snprintf(text, sizeof text, page_policy, out->nonce, out->nonce);
        (void)m->add_response_header(r, "Content-Security-Policy", text);
        (void)m->add_response_header(r, "Referrer-Policy", "no-referrer");
    }
    if (out->status == 405) (void)m->add_response_header(r, "Allow", out->allow);
    if (out->status == 401)
        (void)m->add_response_header(r, "WWW-Authenticate", "Bearer realm=\"crosswise\"");
    if (out->retry_s > 0) {
        snprintf(text, sizeof text, "%d", out->retry_s);
        (void)m->add_response_header(r, "Retry-After", text);
    }
    if (d->is_draining || out->is_last) (void)m->add_response_header(r, "Connection", "close");
}

static enum MHD_Result send_reply(exchange *e)
{
    door *d = e->door;
    reply *out = &e->out;
    meter_add(&d->s->meter, out->route, out->status, door_seconds() - e->began);
    struct MHD_Response *r = d->call.create_response_from_buffer(
        out->length, out->body, out->is_static ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
    if (!r) return MHD_NO;
    out->body = NULL;
    e->reply_bytes = out->is_static ? 0 : out->length;
    atomic_fetch_add(&d->s->meter.reply_bytes, (long long)e->reply_bytes);
    add_headers(d, r, out);
    enum MHD_Result result = d->call.queue_response(e->connection, (unsigned)out->status, r);
    d->call.destroy_response(r);
    set_working(d, e->guest, false);
    return result;
}

/* ---- what is asked ------------------------------------------------------------------- */

static const char *header(const exchange *e, const char *name)
{
    return e->door->call.lookup_connection_value(e->connection, MHD_HEADER_KIND, name);
}

request request_of(const exchange *e)
{
    static const char nothing[] = "";
    const union MHD_ConnectionInfo *info =
        e->door->call.get_connection_info(e->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return (request){.method = e->method,
                     .target = e->target,
                     .type = header(e, "Content-Type"),
                     .authorization = header(e, "Authorization"),
                     .body = e->body ? e->body : nothing,
                     .body_length = e->length,
                     .client = info ? info->client_addr : NULL,
                     .is_too_long = e->is_too_long,
                     .is_lost = e->is_lost};
}

/* ---- requests ------------------------------------------------------------------------- */

/* The line of the request is there: what comes belongs to it until on_completed. */
static void *on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
    door *d = arg;
    exchange *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->connection = connection;
    e->door = d;
    e->guest = guest_of(d, connection);
    e->target = strdup(target);
    pthread_mutex_lock(&d->lock);
    if (e->guest) e->guest->has_asked = true;
    d->n_busy++;
    pthread_mutex_unlock(&d->lock);
    return e;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    door *d = arg;
    exchange *e = *context;
    (void)connection;
    (void)code;
    if (!e) return;
    set_working(d, e->guest, false);
    atomic_fetch_sub(&d->s->meter.reply_bytes, (long long)e->reply_bytes);
    pthread_mutex_lock(&d->lock);
    d->n_busy--;
    pthread_mutex_unlock(&d->lock);
    reply_clear(&e->out);
    free(e->target);
    free(e->body);
    free(e);
    *context = NULL;
}

/* Nothing is decoded by the library: url.c does it. */
static size_t leave_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

/* What is announced to be too long is refused before it comes. */
static bool is_announced_too_long(const exchange *e)
{
    const char *length = header(e, "Content-Length");
    return length && strtoull(length, NULL, 10) > (uint64_t)e->door->s->settings->body_bytes;
}

static void take_body(exchange *e, const char *bytes, size_t n)
{
    if (e->length + n > (size_t)e->door->s->settings->body_bytes) e->is_too_long = true;
    if (e->is_too_long || e->is_lost) return;
    if (e->length + n + 1 > e->room) {
        size_t room = 2 * (e->length + n) + FIRST_BODY;
        char *more = realloc(e->body, room);
        if (!more) {
            e->is_lost = true;
            return;
        }
        e->body = more;
        e->room = room;
    }
    memcpy(e->body + e->length, bytes, n);
    e->length += n;
    e->body[e->length] = '\0';
}

static enum MHD_Result answer(exchange *e)
{
    request in = request_of(e);
    in.may_wait = true;
    set_working(e->door, e->guest, true);
    e->began = door_seconds();
    server_answer(e->door->s, &in, &e->out);
    if (e->out.errand == TAKE_TIME && !has_room(e->door))
        say_problem(&e->out, 503, NULL, "too many requests that take long are waiting");
    else if (e->out.errand != NO_ERRAND)
        return wait_for(e);
    return send_reply(e);
}

static enum MHD_Result refuse(exchange *e, const char *wrong)
{
    set_working(e->door, e->guest, true);
    e->began = door_seconds();
    e->out.route = -1;
    e->out.is_last = true;
    say_problem(&e->out, 400, NULL, "%s", wrong);
    return send_reply(e);
}

/* Called when the headers are there, for parts of the body, when all is there, and once more when
 * an errand is done. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_length, void **context)
{
    exchange *e = *context;
    (void)arg;
    (void)connection;
    (void)path;
    (void)version;
    if (!e || !e->target) return MHD_NO; /* no memory */
    if (e->is_done) return send_reply(e);
    if (!e->has_begun) {
        e->has_begun = true;
        snprintf(e->method, sizeof e->method, "%s", method);
        const char *wrong = wrong_headers(e);
        if (wrong) return refuse(e, wrong);
        e->is_too_long = is_announced_too_long(e);
        return e->is_too_long ? answer(e) : MHD_YES;
    }
    if (*upload_length > 0) {
        take_body(e, upload, *upload_length);
        *upload_length = 0;
        return MHD_YES;
    }
    return answer(e);
}

/* ---- open and close ------------------------------------------------------------------- */

static void on_message(void *arg, const char *format, va_list args)
{
    (void)arg;
    (void)format;
    (void)args; /* what clients do wrong is no message of ours */
}

/* One that has no socket to listen on: left to itself the library would open one, on all
 * addresses. */
static struct MHD_Daemon *start_one(door *d)
{
    const serve_settings *set = d->s->settings;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
                     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    return d->call.start_daemon(
        flags, 0, NULL, NULL, on_request, d, MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_LIMIT,
        2 * (unsigned)set->connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)set->timeout_s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, d, MHD_OPTION_URI_LOG_CALLBACK, on_target, d,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, d, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped,
        NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

static void stop_daemons(door *d)
{
    while (d->n_daemons > 0) d->call.stop_daemon(d->daemon[--d->n_daemons]);
}

/* The library's own pool of threads wants a socket to listen on; so there are as many of it as
 * threads are to answer. */
static bool start(door *d)
{
    size_t threads = d->s->settings->threads > 1 ? (size_t)d->s->settings->threads : 1;
    d->daemon = calloc(threads, sizeof(struct MHD_Daemon *));
    for (size_t k = 0; k < threads && d->daemon; k++) {
        d->daemon[k] = start_one(d);
        if (!d->daemon[k]) {
            stop_daemons(d);
            return false;
        }
        d->n_daemons++;
    }
    return d->n_daemons > 0;
}

static void free_door(door *d)
{
    mhd_close(&d->call);
    if (d->stop_accepting >= 0) (void)close(d->stop_accepting);
    pthread_cond_destroy(&d->wake_writer);
    pthread_cond_destroy(&d->wake_main);
    pthread_cond_destroy(&d->wake_thinker);
    free(d->thinker);
    pthread_mutex_destroy(&d->lock);
    free((void *)d->daemon);
    free(d);
}

door *door_open(server *s, int listening)
{
    door *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->s = s;
    d->listening = listening;
    d->stop_accepting = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake_writer, NULL);
    pthread_cond_init(&d->wake_main, NULL);
    pthread_cond_init(&d->wake_thinker, NULL);
    const char *missing = mhd_open(&d->call);
    if (!missing && d->stop_accepting >= 0 && start_helpers(d) && start(d) &&
        (errno = pthread_create(&d->acceptor, NULL, accept_guests, d)) == 0)
        return d;
    fprintf(stderr, "crosswise: cannot serve: %s\n", missing ? missing : strerror(errno));
    stop_daemons(d);
    stop_helpers(d);
    free_door(d);
    return NULL;
}

void door_close(door *d)
{
    const int tick_ms = 20, least_ms = 200;
    cw_context *ctx = NULL; /* nobody reads models any more */
    d->is_draining = true;
    atomic_store(&d->s->is_ready, false);
    const uint64_t one = 1;
    (void)!write(d->stop_accepting, &one, sizeof one);
    pthread_join(d->acceptor, NULL);
    if (cw_context_create(&ctx) != CW_OK) ctx = NULL;
    int64_t left = d->s->settings->grace_s * 1000;
    for (int waited = 0; left > 0 && (waited < least_ms || is_busy(d)); waited += tick_ms) {
        if (ctx) door_tend(d, ctx, tick_ms);
        left -= tick_ms;
    }
    stop_helpers(d);
    if (ctx) door_tend(d, ctx, 1); /* nothing may stay suspended */
    stop_daemons(d);
    cw_context_free(ctx);
    free_door(d);
}

const char *door_missing(void)
{
    mhd calls;
    const char *missing = mhd_open(&calls);
    mhd_close(&calls);
    return missing;
}

#else

#include "server.h"

const char *door_missing(void)
{
    return "this build has no server, because libmicrohttpd was not there when it was built "
           "(Debian: libmicrohttpd-dev)";
}

door *door_open(server *s, int listening)
{
    (void)s;
    (void)listening;
    return NULL;
}

void door_close(door *d)
{
    (void)d;
}

void door_tend(door *d, cw_context *ctx, int wait_ms)
{
    (void)d;
    (void)ctx;
    (void)wait_ms;
}

#endif

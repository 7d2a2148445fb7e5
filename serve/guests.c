/* guests.c - connections: let in, watched, and shown out when they take too long. */
#ifdef CW_HAS_MICROHTTPD

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door.h"

double door_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* May one client have one connection more?  Under the lock. */
static bool may_enter(const door *d, const guest *g)
{
    int64_t most = d->s->settings->client_connections, n = 1;
    if (most <= 0) return true;
    for (const guest *other = d->oldest; other && n <= most; other = other->younger)
        n += memcmp(other->address, g->address, sizeof g->address) == 0 && !other->is_closing;
    return n <= most;
}

static void link_guest(door *d, guest *g)
{
    pthread_mutex_lock(&d->lock);
    if (!may_enter(d, g)) {
        g->is_closing = true;
        (void)shutdown(g->socket, SHUT_RDWR);
    }
    g->older = d->youngest;
    *(d->youngest ? &d->youngest->younger : &d->oldest) = g;
    d->youngest = g;
    d->n_guests++;
    pthread_mutex_unlock(&d->lock);
    atomic_fetch_add(&d->s->meter.connections, 1);
}

static void unlink_guest(door *d, guest *g)
{
    pthread_mutex_lock(&d->lock);
    *(g->older ? &g->older->younger : &d->oldest) = g->younger;
    *(g->younger ? &g->younger->older : &d->youngest) = g->older;
    d->n_guests--;
    pthread_mutex_unlock(&d->lock);
    atomic_fetch_sub(&d->s->meter.connections, 1);
}

/* The library closes the socket after it has told us, so one of the list is open. */
void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode code)
{
    door *d = arg;
    guest *g = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (g) unlink_guest(d, g);
        free(g);
        *context = NULL;
        return;
    }
    g = *context = calloc(1, sizeof *g);
    if (!g) return;
    const union MHD_ConnectionInfo *info =
        d->call.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    g->connection = connection;
    g->socket = info ? info->connect_fd : -1;
    g->since = door_seconds();
    info = d->call.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    (void)guard_address(info ? info->client_addr : NULL, g->address);
    link_guest(d, g);
}

guest *guest_of(door *d, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        d->call.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void set_working(door *d, guest *g, bool is_working)
{
    if (!g) return;
    pthread_mutex_lock(&d->lock);
    g->is_working = is_working;
    g->since = door_seconds();
    pthread_mutex_unlock(&d->lock);
}

/* A request must be there, and its reply be taken, within the time; when places run short, those
 * go first that have waited for longest. */
void close_slow(door *d)
{
    double now = door_seconds(), limit = (double)d->s->settings->timeout_s;
    int64_t most = d->s->settings->connections, spare = most / 16;
    pthread_mutex_lock(&d->lock);
    int64_t surplus = d->n_guests - (most - spare);
    for (guest *g = d->oldest; g; g = g->younger) {
        double waited = now - g->since;
        bool is_late = waited > limit || (surplus > 0 && waited > 0.5);
        if (g->is_working || g->is_closing || !is_late || g->socket < 0) continue;
        g->is_closing = true;
        surplus--;
        (void)shutdown(g->socket, SHUT_RDWR);
        atomic_fetch_add(&d->s->meter.closed_slow, 1);
    }
    pthread_mutex_unlock(&d->lock);
}

bool is_busy(door *d)
{
    const double fresh_s = 1;
    double now = door_seconds();
    pthread_mutex_lock(&d->lock);
    bool busy = d->n_busy > 0;
    for (const guest *g = d->youngest; g && !busy && now - g->since < fresh_s; g = g->older)
        busy = !g->has_asked && !g->is_closing;
    pthread_mutex_unlock(&d->lock);
    return busy;
}

/* ---- letting in --------------------------------------------------------------------- */

/* Everybody who waits is let in, as long as there are places; false: there is none. */
static bool let_in(door *d)
{
    struct sockaddr_storage from;
    for (;;) {
        pthread_mutex_lock(&d->lock);
        bool has_place = d->n_guests < d->s->settings->connections;
        pthread_mutex_unlock(&d->lock);
        if (!has_place) return false;
        socklen_t length = sizeof from;
        int socket =
            accept4(d->listening, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
        const int on = 1;
        (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        size_t turn = d->next_daemon++ % d->n_daemons;
        (void)d->call.add_connection(d->daemon[turn], socket, (struct sockaddr *)&from, length);
    }
}

/* Nobody may begin a connection any more: segments with SYN are dropped, others are let through, so
 * that what has begun is completed. */
static void refuse_new(int listening)
{
    enum { FLAGS_AT = 13, SYN = 2 }; /* of a TCP header */
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
                                  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SYN, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffff)};
    const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    (void)setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* We accept and the library does not: its way to stop accepting (0.9.75) ends the process when a
 * thread of the pool is faster.  At the end those are let in whom the system has accepted. */
void *accept_guests(void *arg)
{
    enum { PAUSE_MS = 20, LAST_MS = 200 };
    door *d = arg;
    struct pollfd files[2] = {{.fd = d->stop_accepting, .events = POLLIN},
                              {.fd = d->listening, .events = POLLIN}};
    while (files[0].revents == 0) {
        bool has_place = let_in(d);
        (void)poll(files, has_place ? 2 : 1, has_place ? -1 : PAUSE_MS);
    }
    refuse_new(d->listening);
    for (int waited = 0; waited < LAST_MS; waited += PAUSE_MS) {
        (void)let_in(d);
        (void)poll(NULL, 0, PAUSE_MS);
    }
    (void)let_in(d);
    (void)close(d->listening);
    return NULL;
}

#else

typedef int nothing_here; /* ISO C wants something in a file */

#endif

/* door.h - connections and requests under way: what guests.c and http.c share. */
#ifndef SERVE_DOOR_H
#define SERVE_DOOR_H

#include "mhd.h"
#include "server.h"

/* A connection, in a list of all. */
typedef struct guest guest;
struct guest {
    struct MHD_Connection *connection;
    guest *older, *younger;
    int socket;
    double since;    /* when it began to wait, or to send */
    bool is_working; /* we have the request and it waits for us */
    bool is_closing, has_asked;
    unsigned char address[16]; /* of the client, whatever its port */
};

typedef struct exchange exchange;

struct door {
    server *s;
    mhd call;
    struct MHD_Daemon **daemon; /* [n_daemons] a thread each; they take connections in turn */
    size_t n_daemons, next_daemon;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake_writer, wake_main;
    exchange *to_write, *to_reload; /* newest first */
    guest *oldest, *youngest;       /* by when they came */
    int64_t n_guests, n_busy;       /* connections; requests under way */
    bool is_stopping;
    atomic_bool is_draining;
    int listening, stop_accepting; /* the socket; an eventfd that wakes who accepts */
    pthread_t writer, acceptor;
};

/* Of a clock that only goes on. */
double door_seconds(void);

/* The library tells of connections that begin and end. */
void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode code);
guest *guest_of(door *d, struct MHD_Connection *connection);
/* A guest whose request is there waits for us; after the reply we wait for the guest. */
void set_working(door *d, guest *g, bool is_working);
/* Show those out who take too long. */
void close_slow(door *d);
/* Requests are under way, or somebody has just come and will ask. */
bool is_busy(door *d);
/* A thread: let guests in until stop_accepting is written to. */
void *accept_guests(void *arg);

#endif

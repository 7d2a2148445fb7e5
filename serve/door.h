/* door.h - connections and requests under way: what guests.c, http.c and errands.c
 * share. */
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

/* A request under way. */
typedef struct exchange exchange;
struct exchange {
    struct MHD_Connection *connection;
    struct door *door;
    guest *guest;
    exchange *next; /* among those that wait for an errand */
    char *target;
    char *body;
    size_t length, room;
    size_t reply_bytes;
    double began;
    bool has_begun, is_too_long, is_lost, is_done; /* is_done: the reply is there */
    reply out;
    char method[16];
};

struct door {
    server *s;
    mhd call;
    struct MHD_Daemon **daemon; /* [n_daemons] a thread each; they take connections in turn */
    size_t n_daemons, next_daemon;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake_writer, wake_main, wake_thinker;
    exchange *to_write, *to_reload, *to_think; /* newest first */
    guest *oldest, *youngest;                  /* by when they came */
    int64_t n_guests, n_busy;                  /* connections; requests under way */
    int64_t n_thinking;                        /* requests that take long */
    bool is_stopping, has_writer;
    atomic_bool is_draining;
    int listening, stop_accepting; /* the socket; an eventfd that wakes who accepts */
    pthread_t writer, acceptor, *thinker;
    size_t n_thinkers;
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

/* What the request of an exchange asks. */
request request_of(const exchange *e);

/* headers.c: what is ambiguous in the headers; NULL: nothing. */
const char *wrong_headers(const exchange *e);

/* errands.c: room for one more request that takes long, which is taken then; let a request wait for
 * its errand. */
bool has_room(door *d);
enum MHD_Result wait_for(exchange *e);
bool start_helpers(door *d);
void stop_helpers(door *d); /* what waits for them is done or refused */

#endif

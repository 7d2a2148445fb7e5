/* server.h - the parts of the server, and what goes from one to the next. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "draft.h"
#include "routes.h"
#include "serve.h"
#include "url.h"

/* ---- shelf.c: the models that are served ------------------------------------- */

enum { N_GROUPS = 10, N_SHELVES = 2 };

/* A model, opened; it goes with its last reader. */
typedef struct volume {
    atomic_int readers; /* the shelf is one */
    cw_recommender *recommender;
    const cw_model *model;
    char hash[33];
    const char *method, *backbone; /* of info */
    json_t *info;
    double dial;
    time_t loaded_at;
    int32_t n_items;
    uint8_t *group; /* [n_items] tenth of the catalogue by train rows */
    double log_share[N_GROUPS];
    int64_t rows_from[N_GROUPS], rows_to[N_GROUPS], group_items[N_GROUPS];
    double log_mean;     /* train rows of the item of a row of the log, on average */
    int64_t *held_start; /* [users + 1] of --data, if given: what users did and the model */
    int32_t *held;       /* was not told, ascending; NULL: nothing */
    int64_t n_held;
    int64_t *log_rows;       /* [n_items] rows of all parts of --data; NULL: train rows are all */
    atomic_uchar *is_served; /* [n_items] */
    atomic_llong n_served, lists, mean_rows; /* distinct items; lists; sum of thousandths */
    atomic_llong served[N_GROUPS];
} volume;

typedef struct shelf {
    const char *path;  /* NULL: empty */
    const char *data;  /* folder; NULL: none */
    bool is_data_ours; /* the folder must be the one that the model was trained on */
    volume *now;
    pthread_mutex_t lock;
    struct timespec changed; /* of the file, when it was last looked at */
    int64_t bytes, inode;
    uint64_t data_mark, data_read; /* of the folder, likewise, and when it was read */
    bool is_due;                   /* it changed, and is read when it has stopped changing */
    atomic_llong swaps, refusals;
} shelf;

/* Read the model; false: *why (a buffer of WHY_BYTES) says why, and the old one stays. */
enum { WHY_BYTES = 512 };
bool shelf_load(shelf *s, cw_context *ctx, bool *is_new, char *why);
bool shelf_watch(shelf *s); /* has the file changed and settled? */
volume *shelf_take(shelf *s);
void volume_give_back(volume *v); /* NULL is fine */
void shelf_clear(shelf *s);
/* Count what a list has. */
void volume_count(volume *v, const int32_t *items, int32_t n);

/* ---- data.c: the log beside a model ------------------------------------------------ */

/* Read a dataset folder for a volume that is being opened.  A folder must be the one that the model
 * was trained on if is_strict; otherwise rows of whom the model does not know are passed over.
 * After a failure *why may say why; otherwise the context does. */
cw_status volume_join(cw_context *ctx, volume *v, const char *folder, bool is_strict, char *why);
/* What a user did and the model was not told; how many. */
size_t volume_held(const volume *v, int32_t user, const int32_t **items);
/* Another number when a file of the folder has changed. */
uint64_t data_mark(const char *folder);

/* ---- meter.c: what happened ------------------------------------------------- */

enum { N_BUCKETS = 14, MAX_ROUTES = 24, N_CLASSES = 6, MOST_REPLY_BYTES = 256 << 20 };

typedef struct meter {
    atomic_llong requests[MAX_ROUTES][N_CLASSES]; /* by hundreds of the status */
    atomic_llong bucket[MAX_ROUTES][N_BUCKETS];
    atomic_llong micros[MAX_ROUTES];
    atomic_llong connections, closed_slow, refused_clients, feedback_rows;
    atomic_llong long_waiting,
        reply_bytes; /* requests put off; replies that nobody has taken yet */
    struct timespec started;
} meter;

/* route -1: none was found. */
void meter_add(meter *m, int which, int status, double seconds);

/* ---- guard.c: who may ask, and how often ------------------------------------- */

typedef struct guard guard;
/* tokens may be NULL; NULL: a sentence is on standard error. */
guard *guard_open(const char *tokens, int64_t rate);
void guard_close(guard *g);
/* What the header "Bearer ..." gives; ANYBODY when it is not there, -1 when it is wrong. */
int guard_role(const guard *g, const char *authorization);
bool guard_has(const guard *g, role least);
/* Who it is, of IPv6 the network of a customer, /64.  False: this machine. */
bool guard_address(const struct sockaddr *from, unsigned char out[16]);
/* May this client ask now?  Loopback, where a proxy would be, has no limit to its rate. */
bool guard_admit(guard *g, const struct sockaddr *client);
/* A token was wrong: after ten within a minute the client is refused for a minute. */
void guard_blame(guard *g, const struct sockaddr *client);
bool guard_is_blamed(guard *g, const struct sockaddr *client);

/* ---- ledger.c: the log of feedback ---------------------------------------------- */

typedef struct ledger ledger;
typedef struct ledger_row {
    const char *user, *item;
    double time;
} ledger_row;
ledger *ledger_open(const char *folder, int64_t rotate_bytes); /* NULL: said why */
void ledger_close(ledger *l);
/* Rows as they stand in the log; to be freed; NULL: no memory. */
char *ledger_text(const ledger_row *rows, size_t n, size_t *length);
/* Write and sync; false when the disk refused, and then nothing of it is there. */
bool ledger_append(ledger *l, const char *text, size_t length, char *why);
/* Remember what users had since training; visible to ledger_had from then on. */
bool ledger_remember(ledger *l, const ledger_row *rows, size_t n);
/* The items that a user had, by the numbers of a model, without those it knows of this user.
 * Returns how many were put into out, at most `room`. */
size_t ledger_had(ledger *l, const char *user, const volume *v, int32_t number, int32_t *out,
                  size_t room);

/* ---- server.c --------------------------------------------------------------------- */

enum { N_NUMBERS = 5 };

/* What one request at a time needs; taken from the server and given back. */
typedef struct worker worker;
struct worker {
    cw_context *ctx;
    url url;
    value value[MAX_FIELDS];
    int32_t *items, *numbers[N_NUMBERS]; /* all of these grow as needed */
    float *scores, *boosts, *added;
    size_t room_items, room_scores, room_boosts, room_added, room_numbers[N_NUMBERS];
    worker *next;
};

typedef struct server {
    const serve_settings *settings;
    shelf shelf[N_SHELVES]; /* main, beside */
    meter meter;
    guard *guard;
    ledger *ledger; /* NULL: none */
    worker *idle;
    pthread_mutex_t lock; /* of idle */
    atomic_bool is_ready;
    char *openapi_text;
} server;

/* What came in, apart from how; strings end with a zero and live until the reply is made. */
typedef struct request {
    const char *method, *target, *type, *authorization;
    const char *body;
    size_t body_length;
    const struct sockaddr *client;
    bool is_too_long; /* the body was cut */
    bool is_lost;     /* likewise, for want of memory */
    bool may_wait;    /* what takes long is put off, and asked again without this, but with: */
    bool is_admitted; /* the client's rate has been looked at */
} request;

/* What waits for somebody else than the thread of the request. */
typedef enum errand_kind { NO_ERRAND, RELOAD, WRITE_ROWS, TAKE_TIME } errand_kind;

typedef struct reply {
    int status, route;
    const char *type;
    char *body; /* to be freed, unless is_static */
    size_t length;
    bool is_static;
    char allow[48];
    char nonce[33]; /* of the page */
    int retry_s;
    bool is_last;       /* the connection ends with it */
    errand_kind errand; /* the reply is not there yet */
    char *text;         /* rows to write, [text_length] */
    size_t text_length, n_rows;
    json_t *rows; /* the same, to remember */
} reply;

struct call {
    server *s;
    worker *w;
    const route *route;
    const request *in;
    reply *out;
    draft draft; /* a reply that is being written */
};

bool server_open(server *s, cw_context *ctx, const serve_settings *settings);
void server_close(server *s);
void server_answer(server *s, const request *in, reply *out);
/* Read the model files again: for the reply of whoever asked, who may be NULL. */
void server_reload(server *s, cw_context *ctx, reply *out);
/* Write what n replies wait for, with one sync for all, and make them. */
void server_write(server *s, reply *const *out, size_t n);
void reply_clear(reply *out);

/* ---- say.c: replies ------------------------------------------------------------------ */

void say_json(reply *out, int status, json_t *root);    /* takes root over */
void say_draft(reply *out, const char *type, draft *d); /* status 200; takes its text over */
void say_problem(reply *out, int status, const char *which, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
const char *status_title(int status);

/* ---- check.c: the values of a request ----------------------------------------------- */

bool check_values(call *c, json_t **body);
const value *value_of(const call *c, const char *name);
void values_clear(call *c);

/* ---- answers.c: what the routes do ------------------------------------------------------ */

void answer_recommend(call *c);
void answer_batch(call *c);
void answer_rank(call *c);
void answer_similar(call *c);
void answer_popular(call *c);
void answer_explain(call *c);
void answer_feedback(call *c);
void answer_reload(call *c);
void answer_model(call *c);
void answer_served(call *c);
void answer_live(call *c);
void answer_ready(call *c);
void answer_metrics(call *c);
void answer_openapi(call *c);
void answer_page(call *c);

/* ---- http.c: connections ------------------------------------------------------------- */

typedef struct door door;
door *door_open(server *s, int listening); /* NULL: said why */
/* Stop listening, finish what was accepted, for at most grace_s; then close. */
void door_close(door *d);
/* Do waiting errands and look after slow clients; returns after at most wait_ms. */
void door_tend(door *d, cw_context *ctx, int wait_ms);
const char *door_missing(void);

#endif

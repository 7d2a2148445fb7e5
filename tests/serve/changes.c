/* changes.c - a server whose model changes, that is stopped, or killed, while clients ask it. */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

enum { CLIENTS = 4 };

typedef struct client {
    pthread_t thread;
    stand *s;
    int number, round;
    atomic_bool *stop;
    long asked, failed, cut;
    long *acknowledged; /* rows 0 .. n - 1 by number, in this round */
    mail m;
} client;

static void start_clients(client *c, void *(*run)(void *), stand *s, atomic_bool *stop)
{
    for (int k = 0; k < CLIENTS; k++) {
        c[k].s = s;
        c[k].number = k;
        c[k].stop = stop;
        must(pthread_create(&c[k].thread, NULL, run, &c[k]) == 0, "no thread");
    }
}

static void join_clients(client *c)
{
    for (int k = 0; k < CLIENTS; k++) pthread_join(c[k].thread, NULL);
}

static client *make_clients(void)
{
    client *c = calloc(CLIENTS, sizeof *c);
    must(c != NULL, "no memory");
    return c;
}

/* ---- models ------------------------------------------------------------------------- */

static char first_hash[33], second_hash[33];
static char first_items[2][512]; /* of the first model and the second, for ann */
static pthread_mutex_t seen = PTHREAD_MUTEX_INITIALIZER;
static atomic_int generation; /* even: the first model was acknowledged last */

static void find_hash(const char *body, char out[33])
{
    const char *at = strstr(body, "\"model\":\"");
    out[0] = '\0';
    if (at) snprintf(out, 33, "%.32s", at + 9);
}

/* The list that belongs to a model is always the same. */
static bool is_consistent(const char *body, int which)
{
    const char *items = strstr(body, "\"items\":");
    char found[512];
    if (!items) return false;
    snprintf(found, sizeof found, "%.*s", (int)strcspn(items, "]"), items);
    pthread_mutex_lock(&seen);
    if (!first_items[which][0]) strcpy(first_items[which], found);
    bool is_same = strcmp(first_items[which], found) == 0;
    pthread_mutex_unlock(&seen);
    return is_same;
}

/* Whoever asks after the reply of a reload gets the new model. */
static void *ask_models(void *arg)
{
    client *c = arg;
    static const char get[] = "GET /v1/recommend/ann?n=3 HTTP/1.1\r\nHost: x\r\n\r\n";
    char hash[33];
    int file = reach(c->s);
    must(file >= 0, "no connection");
    mail_open(&c->m, file);
    while (!atomic_load(c->stop)) {
        int before = atomic_load(&generation);
        must(send_text(file, get) && mail_read(&c->m, 20000), "no reply during a swap");
        must(c->m.status == 200, "%d during a swap", c->m.status);
        int after = atomic_load(&generation);
        find_hash(c->m.body, hash);
        bool is_first = strcmp(hash, first_hash) == 0, is_second = strcmp(hash, second_hash) == 0;
        must(is_first || is_second, "model %s is none of the two", hash);
        must(is_consistent(c->m.body, is_second),
             "a list of one model under the name of the other");
        if (before == after && before % 4 == 0) must(is_first, "an old model after its swap");
        if (before == after && before % 4 == 2) must(is_second, "an old model after its swap");
        c->asked++;
    }
    close(file);
    return NULL;
}

static void reload(stand *s, int expected, mail *m)
{
    int file = reach(s);
    must(file >= 0 && send_text(file, "POST /v1/reload HTTP/1.1\r\nHost: x\r\n" ADMIN "\r\n"),
         "cannot send");
    mail_open(m, file);
    must(mail_read(m, 20000) && m->status == expected, "reload: %d", m->status);
    close(file);
}

void try_swap(stand *s)
{
    static const char *const words[] = {"--threads", "3", NULL};
    static mail m;
    atomic_bool stop = false;
    client *c = make_clients();
    start_server(s, words);
    must(request_once(s, "GET /v1/model", NULL, &m) == 200, "no model");
    find_hash(m.body, first_hash);
    place_model(s, "pop");
    reload(s, 200, &m);
    find_hash(m.body, second_hash);
    must(strcmp(first_hash, second_hash) != 0, "the models have one hash");
    place_model(s, "mf");
    reload(s, 200, &m);
    start_clients(c, ask_models, s, &stop);
    for (int k = 0; k < (s->is_long ? 500 : 40); k++) {
        atomic_fetch_add(&generation, 1); /* odd: under way */
        place_model(s, k % 2 ? "mf" : "pop");
        reload(s, 200, &m);
        atomic_fetch_add(&generation, 1);
        if (k % 10 == 5) { /* a damaged one changes nothing */
            place_model(s, "misfit");
            reload(s, 422, &m);
            place_model(s, k % 2 ? "mf" : "pop");
        }
        sleep_ms(5);
    }
    atomic_fetch_add(&generation, 1);
    place_model(s, "pop");
    must(kill(s->server, SIGHUP) == 0, "no server");
    sleep_ms(500);
    atomic_store(&stop, true);
    join_clients(c);
    must(request_once(s, "GET /v1/model", NULL, &m) == 200 && strstr(m.body, second_hash),
         "SIGHUP changed nothing");
    place_model(s, "mf"); /* and by itself */
    double until = now_s() + 15;
    while (request_once(s, "GET /v1/model", NULL, &m) == 200 && !strstr(m.body, first_hash) &&
           now_s() < until)
        sleep_ms(100);
    must(strstr(m.body, first_hash), "a changed file was not noticed");
    long asked = 0;
    for (int k = 0; k < CLIENTS; k++) asked += c[k].asked;
    printf("%ld lists while models changed\n", asked);
    free(c);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

/* ---- an end ----------------------------------------------------------------------------- */

/* A request that was sent on an accepted connection gets its reply. */
static void *ask_until_refused(void *arg)
{
    client *c = arg;
    while (!atomic_load(c->stop)) {
        int file = reach(c->s);
        if (file < 0) break;
        bool is_sent = send_text(
            file, "GET /v1/recommend/ann HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        mail_open(&c->m, file);
        if (!is_sent || !mail_read(&c->m, 20000))
            c->cut++;
        else
            c->asked++;
        close(file);
    }
    return NULL;
}

void try_stop(stand *s)
{
    static const char *const words[] = {"--threads", "2", NULL};
    long asked = 0, cut = 0;
    for (int round = 0; round < (s->is_long ? 50 : 5); round++) {
        atomic_bool stop = false;
        client *c = make_clients();
        start_server(s, words);
        start_clients(c, ask_until_refused, s, &stop);
        sleep_ms(150 + 10 * round);
        must(stop_server(s, SIGTERM) == 0, "the server did not end well");
        atomic_store(&stop, true);
        join_clients(c);
        for (int k = 0; k < CLIENTS; k++) {
            asked += c[k].asked;
            cut += c[k].cut;
        }
        free(c);
    }
    printf("%ld requests around %d stops, %ld without a reply\n", asked, s->is_long ? 50 : 5, cut);
    must(cut == 0, "%ld requests got no reply", cut);
}

/* ---- kills ------------------------------------------------------------------------------ */

enum { MAX_ROUNDS = 128 };

static long told[MAX_ROUNDS][CLIENTS]; /* rows of a client that were acknowledged, 0 .. n - 1 */

static void *feed_until_killed(void *arg)
{
    client *c = arg;
    char head[256], body[256];
    int file = reach(c->s);
    mail_open(&c->m, file);
    for (long n = 0; file >= 0; n++) {
        snprintf(body, sizeof body,
                 "{\"interactions\":[{\"user\":\"r%dc%d\",\"item\":\"n%ld\",\"time\":1}]}",
                 c->round, c->number, n);
        snprintf(head, sizeof head,
                 "POST /v1/feedback HTTP/1.1\r\nHost: x\r\n" WRITER
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 strlen(body));
        if (!send_text(file, head) || !send_text(file, body) || !mail_read(&c->m, 20000)) break;
        must(c->m.status == 200, "feedback: %d", c->m.status);
        told[c->round][c->number] = n + 1;
    }
    if (file >= 0) close(file);
    return NULL;
}

typedef struct tally {
    unsigned char *seen[MAX_ROUNDS][CLIENTS];
    long rows;
} tally;

static void count_file(const char *path, tally *t, int rounds)
{
    char line[256];
    FILE *in = fopen(path, "r");
    must(in && fgets(line, sizeof line, in) && strcmp(line, "user,item,timestamp\n") == 0,
         "%s has no header", path);
    while (fgets(line, sizeof line, in)) {
        int round, number, end = 0;
        long n;
        must(sscanf(line, "\"r%dc%d\",\"n%ld\",1\n%n", &round, &number, &n, &end) == 3 && end > 0 &&
                 round >= 0 && round < rounds && number >= 0 && number < CLIENTS && n >= 0 &&
                 n <= told[round][number],
             "%s: %s", path, line);
        must(!t->seen[round][number][n], "a row is there twice: %s", line);
        t->seen[round][number][n] = 1;
        t->rows++;
    }
    fclose(in);
}

static void check_log(const stand *s, int rounds)
{
    tally t = {0};
    long acknowledged = 0, files = 0;
    char path[256];
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < CLIENTS; k++) {
            t.seen[r][k] = calloc((size_t)told[r][k] + 1, 1);
            must(t.seen[r][k] != NULL, "no memory");
        }
    for (int f = 1; f < 100000; f++) {
        snprintf(path, sizeof path, "%s/log/feedback-%06d.csv", s->folder, f);
        if (access(path, F_OK) != 0) break;
        count_file(path, &t, rounds);
        files++;
    }
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < CLIENTS; k++) {
            for (long n = 0; n < told[r][k]; n++)
                must(t.seen[r][k][n], "acknowledged and lost: r%dc%d n%ld", r, k, n);
            acknowledged += told[r][k];
            free(t.seen[r][k]);
        }
    printf("%d kills, %ld rows acknowledged, %ld in %ld files\n", rounds, acknowledged, t.rows,
           files);
}

void try_kills(stand *s)
{
    static const char *const words[] = {"--feedback", "log", "--rotate-bytes", "4096", "--threads",
                                        "2",          NULL};
    int rounds = s->is_long ? 100 : 6;
    for (int round = 0; round < rounds; round++) {
        client *c = make_clients();
        for (int k = 0; k < CLIENTS; k++) c[k].round = round;
        start_server(s, words);
        start_clients(c, feed_until_killed, s, NULL);
        sleep_ms(30 + round * 37 % 120);
        must(stop_server(s, SIGKILL) == 128 + SIGKILL, "not killed");
        join_clients(c);
        free(c);
    }
    start_server(s, words);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
    check_log(s, rounds);
}

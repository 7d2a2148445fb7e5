/* doors.c - where a server listens, how many connections a client may have, and how long what is
 * long keeps others waiting. */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define GET_ANN "GET /v1/recommend/ann?n=2 HTTP/1.1\r\nHost: x\r\n\r\n"

/* ---- sockets ---------------------------------------------------------------------- */

/* Is the socket one of the server's? */
static bool is_of_server(const stand *s, unsigned long inode)
{
    char path[64], link[64], want[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)s->server);
    snprintf(want, sizeof want, "socket:[%lu]", inode);
    DIR *files = opendir(path);
    must(files != NULL, "no %s", path);
    for (const struct dirent *e; (e = readdir(files)) && !found;) {
        ssize_t n = readlinkat(dirfd(files), e->d_name, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        found = strcmp(link, want) == 0;
    }
    closedir(files);
    return found;
}

/* Sockets of the server that listen, in one of the system's tables; *port is that of the last. */
static int count_listening(const stand *s, const char *table, unsigned *port)
{
    char line[512], address[64];
    int n = 0;
    FILE *in = fopen(table, "r");
    while (in && fgets(line, sizeof line, in)) {
        unsigned at, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %63[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu", address, &at,
                   &state, &inode) != 4)
            continue;
        if (state != 10 || !is_of_server(s, inode)) continue;
        *port = at;
        n++;
    }
    if (in) fclose(in);
    return n;
}

static void expect_one_socket(const stand *s)
{
    unsigned port = 0;
    int n =
        count_listening(s, "/proc/net/tcp", &port) + count_listening(s, "/proc/net/tcp6", &port);
    must(n == 1 && port == (unsigned)s->port, "%d sockets listen, the last on port %u", n, port);
}

/* ---- places of a client ---------------------------------------------------------------- */

enum { PLACES = 4, CLIENTS = 10 };

static int count_served(const int *file)
{
    static mail m;
    int served = 0;
    for (int k = 0; k < CLIENTS; k++) {
        mail_open(&m, file[k]);
        served += send_text(file[k], GET_ANN) && mail_read(&m, 2000) && m.status == 200;
    }
    return served;
}

static void expect_places(const stand *s)
{
    int file[CLIENTS];
    for (int k = 0; k < CLIENTS; k++) must((file[k] = reach(s)) >= 0, "no connection");
    int served = count_served(file);
    must(served == PLACES, "%d of %d connections were served, not %d", served, CLIENTS, PLACES);
    for (int k = 0; k < CLIENTS; k++) close(file[k]);
}

/* ---- what takes long -------------------------------------------------------------------- */

enum { LONG_USERS = 17, ASKING = 200 };

/* A batch that is put off, all of it for ann. */
static void write_batch(char out[1024])
{
    char body[512] = "";
    for (int k = 0; k < LONG_USERS; k++) strcat(body, k ? ",\"ann\"" : "\"ann\"");
    snprintf(out, 1024,
             "POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n{\"n\": 2, \"users\": [%s]}",
             strlen(body) + 21, body);
}

/* As many at once as wait, and more: each has a reply, in its place, and others have theirs. */
static void expect_patience(const stand *s)
{
    static mail m;
    static int file[ASKING];
    char batch[1024];
    int served = 0, refused = 0;
    write_batch(batch);
    for (int k = 0; k < ASKING; k++) {
        file[k] = reach(s);
        must(file[k] >= 0 && send_text(file[k], batch) && send_text(file[k], GET_ANN),
             "no request");
    }
    must(request_once(s, "GET /v1/recommend/ann?n=2", NULL, &m) == 200, "others are not served");
    for (int k = 0; k < ASKING; k++) {
        int lists = 0;
        mail_open(&m, file[k]);
        must(mail_read(&m, 10000) && (m.status == 200 || m.status == 503), "status %d", m.status);
        for (const char *at = m.body; (at = strstr(at, "\"how\"")); at++)
            lists += at < m.bytes + m.used;
        must(lists == (m.status == 200 ? LONG_USERS : 0), "%d lists: %s", lists, m.body);
        *(m.status == 200 ? &served : &refused) += 1;
        must(mail_read(&m, 10000) && m.status == 200 && strstr(m.body, "\"user\""), "%s", m.bytes);
        close(file[k]);
    }
    must(served > 0, "%d served, %d refused", served, refused);
}

void try_doors(stand *s)
{
    static const char *const words[] = {"--client-connections", "4", "--threads", "3", NULL};
    static const char *const one[] = {"--threads", "1", NULL};
    start_server(s, one);
    expect_one_socket(s);
    for (int times = 0; times < 3; times++) expect_patience(s);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
    start_server(s, words);
    expect_one_socket(s);
    for (int times = 0; times < 3; times++) {
        expect_places(s);
        sleep_ms(300); /* those have left */
    }
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

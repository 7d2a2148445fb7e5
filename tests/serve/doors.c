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

void try_doors(stand *s)
{
    static const char *const words[] = {"--client-connections", "4", "--threads", "3", NULL};
    static const char *const one[] = {"--threads", "1", NULL};
    start_server(s, one);
    expect_one_socket(s);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
    start_server(s, words);
    expect_one_socket(s);
    for (int times = 0; times < 3; times++) {
        expect_places(s);
        sleep_ms(300); /* those have left */
    }
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

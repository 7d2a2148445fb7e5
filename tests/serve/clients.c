/* clients.c - clients that are slow, many, wrong or curious: limits hold, and others are served. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "stress.h"

#define GET_ANN "GET /v1/recommend/ann?n=2 HTTP/1.1\r\nHost: x\r\n\r\n"

static mail shared; /* of the main thread */

/* An honest client gets its list, soon. */
static void expect_service(const stand *s, double within_s)
{
    double began = now_s();
    int status = request_once(s, "GET /v1/recommend/ann?n=2", NULL, &shared);
    must(status == 200, "an honest client got %d", status);
    must(now_s() - began < within_s, "an honest client waited for %g s", now_s() - began);
}

/* ---- malformed -------------------------------------------------------------------- */

typedef struct bad {
    const char *text;
    int status; /* 0: the connection may just end */
} bad;

static const bad bads[] = {
    {"GARBAGE\r\n\r\n", 0},
    {"\r\n\r\n\r\n", 0},
    {"GET\r\n\r\n", 0},
    {"GET /v1/popular HTTP/9.9\r\nHost: x\r\n\r\n", 0},
    {"GET /v1/popular HTTP/1.1\r\n\r\n", 400}, /* no host */
    {"GET /v1/popular HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 0},
    {"GET /v1/popular HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: odd\r\n\r\n", 0},
    {"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 0},
    {"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
     "9999999\r\n\r\n",
     413},
    {"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
     "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
     0},
    {"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
     "3\r\n\r\n\xff\xfe{",
     400},
    {"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
     "17\r\n\r\n{\"users\":[\"\xff\xff\"]} ",
     400},
    {"POST /v1/rank HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}", 400},
    {"POST /v1/rank HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400},
    {"POST /v1/rank HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n"
     "\r\n2\r\n{}\r\n0\r\n\r\n",
     400},
    {"POST /v1/rank HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST /v1/rank HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"
     "\r\n0\r\n\r\n",
     400},
    {"GET /v1/popular HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
    {"GET /v1/popular HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n", 400},
    {"GET /v1/popular HTTP/1.1\r\nHost: x\r\nX: a\x01b\r\n\r\n", 400},
    {"GET //etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404},
    {"GET /../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404},
    {"GET /v1/recommend/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: x\r\n\r\n", 200}, /* an id */
    {"GET /v1/recommend/%c0%ae%c0%ae HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /v1/recommend/\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /v1/recommend/a%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /v1/recommend/a/b/c/d/e/f/g/h/i HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET http://elsewhere/v1/popular HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"TRACE /v1/popular HTTP/1.1\r\nHost: x\r\n\r\n", 405},
    {"BREW /v1/popular HTTP/1.1\r\nHost: x\r\n\r\n", 405},
    {"AVERYLONGMETHODTHATNOBODYKNOWS /v1/popular HTTP/1.1\r\nHost: x\r\n\r\n", 405},
    {"GET /v1/popular?n=1&n=1 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /v1/popular?n=9223372036854775808 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET /v1/popular?n=1e400 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
};

static void send_bad(const stand *s, const bad *b)
{
    int file = reach(s);
    must(file >= 0, "no connection");
    (void)send_text(file, b->text);
    mail_open(&shared, file);
    bool is_read = mail_read(&shared, b->status ? 5000 : 300);
    must(b->status == 0 || (is_read && shared.status == b->status), "%.60s: %d in place of %d",
         b->text, shared.status, b->status);
    must(!is_read || shared.status != 500, "%.60s: 500", b->text);
    must(!is_read || !mail_read(&shared, 0), "%.60s: a second reply", b->text);
    close(file);
}

static void send_long(const stand *s, const char *before, size_t n, const char *after)
{
    char *text = malloc(n + 1);
    int file = reach(s);
    must(text && file >= 0, "no connection");
    memset(text, 'a', n);
    text[n] = '\0';
    bool is_sent = send_text(file, before) && send_text(file, text) && send_text(file, after);
    mail_open(&shared, file);
    bool is_read = mail_read(&shared, 3000);
    must(!is_sent || !is_read || shared.status / 100 == 4 || (n < 16384 && shared.status == 200),
         "%zu bytes: %d", n, shared.status);
    close(file);
    free(text);
}

void try_malformed(stand *s)
{
    static const char *const words[] = {"--body-bytes", "65536", "--timeout", "2", NULL};
    start_server(s, words);
    for (size_t k = 0; k < sizeof bads / sizeof bads[0]; k++) send_bad(s, &bads[k]);
    for (size_t n = 4000; n <= 256000; n *= 4) {
        send_long(s, "GET /v1/popular?n=", n, " HTTP/1.1\r\nHost: x\r\n\r\n");
        send_long(s, "GET /v1/popular HTTP/1.1\r\nHost: x\r\nX: ", n, "\r\n\r\n");
        send_long(s, "GET /v1/popular HTTP/1.1\r\nHost: x\r\n", n, ": x\r\n\r\n");
        send_long(s, "", n, " / HTTP/1.1\r\n\r\n");
    }
    expect_service(s, 5);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

/* ---- pipelining -------------------------------------------------------------------- */

void try_pipelining(stand *s)
{
    static const char *const words[] = {NULL}, *const users[] = {"ann", "bob", "dee"};
    enum { N = 60 };
    char text[N * 80] = "", expected[32];
    start_server(s, words);
    for (int k = 0; k < N; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "GET /v1/recommend/%s?n=1 HTTP/1.1\r\nHost: x\r\n\r\n", users[k % 3]);
    int file = reach(s);
    must(file >= 0 && send_text(file, text), "cannot send");
    mail_open(&shared, file);
    for (int k = 0; k < N; k++) {
        must(mail_read(&shared, 10000) && shared.status == 200, "reply %d: %d", k, shared.status);
        snprintf(expected, sizeof expected, "\"user\":\"%s\"", users[k % 3]);
        must(strstr(shared.body, expected), "reply %d is not for %s", k, users[k % 3]);
    }
    close(file);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

/* ---- slow and idle -------------------------------------------------------------------- */

/* They send a byte now and then, and never end their request; all are shown out. */
void try_slow(stand *s)
{
    static const char *const words[] = {"--timeout", "1", "--threads", "2", NULL};
    enum { N = 200 };
    static const char head[] = "GET /v1/popular HTTP/1.1\r\nHost: x\r\nX-A: ",
                      post[] = "POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: "
                               "application/json\r\nContent-Length: 5000\r\n\r\n{";
    int file[N], open_ones = N;
    start_server(s, words);
    for (int k = 0; k < N; k++) {
        file[k] = reach(s);
        must(file[k] >= 0 && send_text(file[k], k % 2 ? head : post), "slow client %d", k);
    }
    for (int round = 0; round < 100 && open_ones > 0; round++) {
        sleep_ms(100);
        if (round % 5 == 0) expect_service(s, 3);
        for (int k = 0; k < N; k++) {
            if (file[k] < 0 || send_all(file[k], "a", 1)) continue;
            close(file[k]);
            file[k] = -1;
            open_ones--;
        }
    }
    must(open_ones == 0, "%d slow clients are still there", open_ones);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

static void allow_files(rlim_t n)
{
    struct rlimit files;
    must(getrlimit(RLIMIT_NOFILE, &files) == 0, "no limit");
    if (files.rlim_cur < n) files.rlim_cur = files.rlim_max < n ? files.rlim_max : n;
    must(setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= n, "too few files: %llu",
         (unsigned long long)files.rlim_cur);
}

/* First as many as there are places, then many more than that. */
void try_idle(stand *s)
{
    int n = s->is_long ? 10000 : 800;
    char places[16];
    const char *const enough[] = {"--connections", places, "--timeout", "60", NULL};
    int *file = calloc((size_t)n, sizeof *file);
    must(file != NULL, "no memory");
    allow_files((rlim_t)n + 100);
    for (int times = 1; times <= 4; times += 3) { /* 1: all have places; 4: one in four has */
        snprintf(places, sizeof places, "%d", times == 1 ? n + n / 8 : n / times);
        start_server(s, enough);
        for (int k = 0; k < n; k++) {
            file[k] = reach(s);
            must(file[k] >= 0, "idle client %d of %d", k, n);
            if (k % (n / 10) == 0) expect_service(s, 10);
        }
        expect_service(s, 10);
        for (int k = 0; k < n; k++) close(file[k]);
        expect_service(s, 10);
        must(stop_server(s, SIGTERM) == 0, "the server did not end well");
    }
    free(file);
}

/* ---- tokens ------------------------------------------------------------------------ */

void try_tokens(stand *s)
{
    static const char *const words[] = {NULL};
    char head[512];
    start_server(s, words);
    for (int k = 0; k < 300; k++) {
        snprintf(head, sizeof head,
                 "POST /v1/reload HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                 "Authorization: Bearer %.*s%d\r\n\r\n",
                 k % 20, ADMIN_TOKEN, k);
        int file = reach(s);
        must(file >= 0 && send_text(file, head), "cannot send");
        mail_open(&shared, file);
        must(mail_read(&shared, 5000) && shared.status == 401, "guess %d: %d", k, shared.status);
        close(file);
    }
    int file = reach(s);
    must(send_text(file, "POST /v1/reload HTTP/1.1\r\nHost: x\r\n" WRITER "\r\n"), "cannot send");
    mail_open(&shared, file);
    must(mail_read(&shared, 5000) && shared.status == 403, "write token: %d", shared.status);
    must(send_text(file, "POST /v1/reload HTTP/1.1\r\nHost: x\r\n" ADMIN "\r\n"), "cannot send");
    must(mail_read(&shared, 5000) && shared.status == 200, "admin token: %d", shared.status);
    close(file);
    must(stop_server(s, SIGTERM) == 0, "the server did not end well");
}

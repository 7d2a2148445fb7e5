/*
 * faults.c - each allocation and each call to the system of a server fails in turn: while it
 * starts, while it is asked for everything, while it stops.
 *
 * A server may refuse to start, or a request, or end with a line on standard error because there is
 * no memory.  It may not crash, hang, reply nonsense, go on wrongly afterwards, or lose rows that
 * it acknowledged.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../torture/preload.h"
#include "stress.h"

enum { N_ASKED = 18, MAX_ROWS = 4, WAIT_MS = 10000 };

/* What is asked, and what must be in the reply when it is good. */
static const struct asked {
    const char *head, *body, *found;
} asked[N_ASKED] = {
    {"GET /health/live", NULL, "live"},
    {"GET /v1/recommend/ann?n=3&dial=0.5&exclude=i9", NULL, "\"trained\""},
    {"GET /v1/recommend/nobody", NULL, "\"popularity\""},
    {"GET /v1/recommend/ann?n=wrong", NULL, "whole number"},
    {"GET /v1/similar/i2?diversity=0.5&only=i1&only=i3", NULL, "\"i3\""},
    {"GET /v1/popular", NULL, "\"rows\""},
    {"GET /v1/explain/ann/i2", NULL, "\"reasons\""},
    {"GET /v1/model", NULL, "\"data_rows\""},
    {"GET /v1/served", NULL, "\"groups\""},
    {"GET /metrics", NULL, "crosswise_requests_total"},
    {"GET /openapi.json", NULL, "\"openapi\""},
    {"GET /", NULL, "<title>"},
    {"POST /v1/recommend", "{\"users\": [\"ann\", \"bob\"], \"n\": 2, \"boost\": {\"i1\": 1}}",
     "lists"},
    {"POST /v1/recommend", "{\"history\": [\"i2\"], \"exclude\": [\"i1\"]}", "\"fold-in\""},
    {"POST /v1/rank", "{\"user\": \"ann\", \"items\": [\"i1\", \"i2\"]}", "\"i2\""},
    {"POST /v1/feedback", NULL, "\"accepted\""},
    {"POST /v1/reload", NULL, "\"models\""},
    {"GET /v1/recommend/zed", NULL, "\"items\""},
};

enum { FEEDBACK = 15, WRONG = 3 };

typedef struct trial {
    stand *s;
    page *page;
    long rows[2 * MAX_ROWS]; /* numbers of those that were acknowledged */
    int n_rows;
    bool is_gone;
    int code;
    mail m;
} trial;

static page *open_page(stand *s)
{
    s->page_file = memfd_create("page", MFD_CLOEXEC);
    must(s->page_file >= 0 && ftruncate(s->page_file, PAGE_BYTES) == 0, "no page");
    page *out = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->page_file, 0);
    must(out != MAP_FAILED, "no page");
    return out;
}

static void forget_log(const stand *s)
{
    char path[128];
    snprintf(path, sizeof path, "rm -rf '%s/log'", s->folder);
    must(system(path) == 0, "the log stays");
}

/* ---- what is left behind ---------------------------------------------------------------- */

/* Every acknowledged row is there once. */
static void check_rows(const trial *t)
{
    char path[160], text[4096] = "";
    size_t n = 0;
    for (int f = 1; f < 9; f++) {
        snprintf(path, sizeof path, "%s/log/feedback-%06d.csv", t->s->folder, f);
        FILE *in = fopen(path, "r");
        if (!in) continue;
        n += fread(text + n, 1, sizeof text - 1 - n, in);
        fclose(in);
    }
    text[n] = '\0';
    for (int r = 0; r < t->n_rows; r++) {
        char row[64];
        snprintf(row, sizeof row, "\n\"zed\",\"i%ld\",7\n", t->rows[r]);
        const char *found = strstr(text, row);
        must(found != NULL, "acknowledged and lost: %s in %s", row, text);
        must(!strstr(found + 1, row), "twice: %s in %s", row, text);
    }
}

/* A server that ended by itself has said why, in a line of its own. */
static void check_end(const stand *s, int code, const char *when)
{
    char path[128], text[512] = "";
    snprintf(path, sizeof path, "%s/err", s->folder);
    FILE *in = fopen(path, "r");
    must(in != NULL, "no %s", path);
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[n] = '\0';
    if (code == 127 && strstr(text, "memory for thread-local data")) return; /* glibc does that */
    must(code == 1, "%s: it ended with %d and said: %s", when, code, text);
    const char *ours = strstr(text, "crosswise: "); /* libraries may have said something before */
    must(ours && (ours == text || ours[-1] == '\n') && text[n - 1] == '\n',
         "%s: it ended and said: %s", when, text);
}

/* ---- asking ------------------------------------------------------------------------------- */

/* False: the server is no more, and code says how it ended. */
static bool is_there(trial *t)
{
    int status = 0;
    if (t->is_gone) return false;
    if (waitpid(t->s->server, &status, WNOHANG) == 0) return true;
    t->is_gone = true;
    t->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
}

/* Without a reply it may be about to end. */
static bool is_gone(trial *t)
{
    for (int waited = 0; waited < 60 && is_there(t); waited += 10) sleep_ms(10);
    return t->is_gone;
}

static void ask_one(trial *t, int k, long row, bool must_be_good)
{
    char body[128];
    const struct asked *a = &asked[k];
    snprintf(body, sizeof body,
             "{\"interactions\": [{\"user\": \"zed\", \"item\": \"i%ld\", \"time\": 7}]}", row);
    int status = request_as(t->s, a->head, ADMIN, k == FEEDBACK ? body : a->body, &t->m);
    int good = k == WRONG ? 400 : 200;
    if (status == 0 && is_gone(t)) return;
    must(status == good || (!must_be_good && (status == 0 || status == 503 || status == 422)),
         "%.30s: status %d, %.300s", a->head, status, t->m.bytes);
    if (status == good)
        must(strstr(t->m.body, a->found), "%.30s: %.300s", a->head, t->m.body);
    else if (status > 0)
        must(strstr(t->m.body, "\"detail\""), "%.30s: %.300s", a->head, t->m.body);
    if (k == FEEDBACK && status == 200) t->rows[t->n_rows++] = row;
}

/* Everything once; false: the server is no more. */
static bool ask_all(trial *t, long row, bool must_be_good)
{
    for (int k = 0; k < N_ASKED; k++) {
        ask_one(t, k, row, must_be_good);
        if (!is_there(t)) return false;
    }
    return true;
}

/* ---- a trial ------------------------------------------------------------------------------- */

static const char *const words[] = {"--feedback", "log", "--threads", "1", NULL};

/* At which count of the page the server listened, was asked, and ended. */
typedef struct span {
    long started, asked, ended;
} span;

static span measure(trial *t, bool of_calls)
{
    span out;
    const atomic_long *count = of_calls ? &t->page->calls : &t->page->count;
    *t->page = (page){.has_plugins = true, .has_clock = true};
    forget_log(t->s);
    t->is_gone = false;
    must(begin_server(t->s, words), "the server did not start");
    out.started = atomic_load(count);
    t->n_rows = 0;
    must(ask_all(t, 1, true), "the server ended with %d", t->code);
    out.asked = atomic_load(count);
    must(stop_server(t->s, SIGTERM) == 0, "the server did not end well");
    out.ended = atomic_load(count);
    check_rows(t);
    return out;
}

static void stop_within(trial *t, const char *when)
{
    must(kill(t->s->server, SIGTERM) == 0, "%s: the server is not there", when);
    for (int waited = 0; is_there(t); waited += 20) {
        must(waited < WAIT_MS, "%s: it does not stop", when);
        sleep_ms(20);
    }
    if (t->code != 0) check_end(t->s, t->code, when);
}

static void try_one(trial *t, const page *fault, const span *of, const char *when)
{
    bool of_calls = fault->call_fails_at > 0;
    long at = of_calls ? fault->call_fails_at : fault->fail_at;
    t->n_rows = 0;
    t->is_gone = false;
    forget_log(t->s);
    memcpy(t->page, fault, sizeof *fault);
    if (!begin_server(t->s, words)) {
        check_end(t->s, stop_server(t->s, 0), when);
        return;
    }
    bool is_left = ask_all(t, 1, false);
    bool is_over =
        !fault->fail_on && atomic_load(of_calls ? &t->page->calls : &t->page->count) >= at;
    is_left = is_left && ask_all(t, 2, is_over);
    if (!is_left)
        check_end(t->s, t->code, when);
    else if (at > of->asked)
        stop_within(t, when);
    else
        (void)stop_server(t->s, SIGKILL);
    check_rows(t);
}

static long try_range(trial *t, page fault, bool of_calls, const char *what, long step)
{
    span of = measure(t, of_calls);
    long tried = 0;
    const char *begin = of_calls ? NULL : getenv("FIRST_FAULT"); /* to go on where it stopped */
    for (long at = begin ? atol(begin) : 1 + (of.ended % step); at <= of.ended;
         at += step, tried++) {
        char when[96];
        snprintf(when, sizeof when, "%s %ld of %ld", what, at, of.ended);
        *(of_calls ? &fault.call_fails_at : &fault.fail_at) = at;
        current_trial = when;
        try_one(t, &fault, &of, when);
    }
    current_trial = NULL;
    printf("%-28s %5ld to start, %5ld asked, %5ld in all: %ld tried\n", what, of.started,
           of.asked - of.started, of.ended, tried);
    return tried;
}

void try_faults(stand *s)
{
    static const struct {
        const char *what;
        page fault;
        bool of_calls;
        int step; /* of the quick form */
    } kinds[] = {{"an allocation fails", {.fail_at = 1}, false, 211},
                 {"all allocations fail from", {.fail_at = 1, .fail_on = true}, false, 997},
                 {"a call fails: EIO", {.call_error = EIO}, true, 29},
                 {"a call fails: ENOSPC", {.call_error = ENOSPC}, true, 31},
                 {"a call fails: EMFILE", {.call_error = EMFILE}, true, 37},
                 {"a call fails: EINTR", {.call_error = EINTR}, true, 41},
                 {"a call moves half", {.call_error = 0}, true, 43}};
    static trial t;
    if (!s->preload) {
        printf("%s\n", "faults: no library to load before all else was named");
        return;
    }
    t.s = s;
    t.page = open_page(s);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        page fault = kinds[k].fault;
        fault.has_plugins = fault.has_clock = true;
        (void)try_range(&t, fault, kinds[k].of_calls, kinds[k].what,
                        s->is_long ? 1 : kinds[k].step);
    }
    (void)munmap(t.page, PAGE_BYTES);
    (void)close(s->page_file);
}

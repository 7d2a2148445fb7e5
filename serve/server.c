/* server.c - from a request to a reply, whatever it came by. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* ---- workers --------------------------------------------------------------------- */

static worker *take_worker(server *s)
{
    pthread_mutex_lock(&s->lock);
    worker *w = s->idle;
    if (w) s->idle = w->next;
    pthread_mutex_unlock(&s->lock);
    if (w) return w;
    w = calloc(1, sizeof *w);
    if (w && cw_context_create(&w->ctx) == CW_OK && cw_context_set_threads(w->ctx, 1) == CW_OK)
        return w;
    if (w) cw_context_free(w->ctx);
    free(w);
    return NULL;
}

static void put_worker(server *s, worker *w)
{
    pthread_mutex_lock(&s->lock);
    w->next = s->idle;
    s->idle = w;
    pthread_mutex_unlock(&s->lock);
}

static void free_worker(worker *w)
{
    cw_context_free(w->ctx);
    free(w->items);
    free(w->scores);
    free(w->boosts);
    free(w->added);
    for (int k = 0; k < N_NUMBERS; k++) free(w->numbers[k]);
    free(w);
}

/* ---- finding the route ----------------------------------------------------------------- */

/* Does the path have the form of a route?  A part in braces is any text. */
static bool fits(const route *r, const url *u)
{
    const char *at = r->path + 1;
    for (size_t k = 0; k < u->n_segments; k++) {
        size_t length = strcspn(at, "/");
        bool is_last = k + 1 == u->n_segments;
        if (*at != '{' &&
            (strlen(u->segment[k]) != length || strncmp(at, u->segment[k], length) != 0))
            return false;
        if (is_last) return at[length] == '\0';
        if (at[length] == '\0') return false;
        at += length + 1;
    }
    return false;
}

static bool is_method(const route *r, const char *method)
{
    return strcmp(r->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0);
}

static const route *find_route(const url *u, const char *method, reply *out)
{
    for (const route *r = routes; r->method; r++) {
        if (!fits(r, u)) continue;
        out->route = (int)(r - routes);
        if (is_method(r, method)) return r;
        size_t used = strlen(out->allow);
        snprintf(out->allow + used, sizeof out->allow - used, "%s%s", used ? ", " : "",
                 strcmp(r->method, "GET") == 0 ? "GET, HEAD" : r->method);
    }
    out->route = -1;
    if (out->allow[0])
        say_problem(out, 405, NULL, "this path takes %s", out->allow);
    else
        say_problem(out, 404, NULL,
                    "there is nothing at this path; /openapi.json says what is where");
    return NULL;
}

/* ---- may they? ------------------------------------------------------------------------- */

static bool admit(call *c)
{
    guard *g = c->s->guard;
    role least = c->route->role;
    if (least == ANYBODY || (least == READER && !guard_has(g, READER))) return true;
    if (guard_is_blamed(g, c->in->client)) {
        say_problem(c->out, 429, NULL, "too many wrong tokens came from this address");
        c->out->retry_s = 60;
        return false;
    }
    int has = guard_role(g, c->in->authorization);
    if (has >= (int)least) return true;
    if (has < 0) guard_blame(g, c->in->client);
    if (!guard_has(g, least))
        say_problem(c->out, 403, NULL,
                    "this server was started without a token of this kind, so nobody may");
    else if (has > ANYBODY)
        say_problem(c->out, 403, NULL, "this token does not go so far");
    else
        say_problem(c->out, 401, NULL,
                    has < 0 ? "this token is not known"
                            : "a token is needed: Authorization: Bearer");
    return false;
}

/* Many users, long histories and long lists that are to be diverse would keep others waiting. */
static bool takes_time(const call *c)
{
    enum { USERS = 16, HISTORY = 500, DIVERSE = 100 };
    return value_of(c, "users")->n > USERS || value_of(c, "history")->n > HISTORY ||
           (value_of(c, "diversity")->number > 0 && value_of(c, "n")->number > DIVERSE);
}

/* ---- the request ----------------------------------------------------------------------- */

static void answer_known(call *c)
{
    json_t *body = NULL;
    if (!admit(c)) return;
    if (c->in->is_too_long) {
        say_problem(c->out, 413, NULL, "the body may have %lld bytes and no more",
                    (long long)c->s->settings->body_bytes);
        return;
    }
    if (c->in->is_lost) {
        say_problem(c->out, 503, NULL, "out of memory");
        return;
    }
    bool is_good = check_values(c, &body);
    if (is_good && c->in->may_wait && takes_time(c))
        c->out->errand = TAKE_TIME;
    else if (is_good)
        c->route->answer(c);
    values_clear(c);
    draft_clear(&c->draft);
    json_decref(body);
}

static void answer_with(server *s, worker *w, const request *in, reply *out)
{
    call c = {.s = s, .w = w, .in = in, .out = out};
    if (strlen(in->target) > URL_BYTES) {
        say_problem(out, 414, NULL, "the URL may have %d bytes and no more", (int)URL_BYTES);
        return;
    }
    const char *wrong = url_parse(in->target, &w->url);
    if (wrong) {
        say_problem(out, 400, NULL, "%s", wrong);
        return;
    }
    c.route = find_route(&w->url, in->method, out);
    if (c.route) answer_known(&c);
}

void server_answer(server *s, const request *in, reply *out)
{
    *out = (reply){.route = -1};
    if (!in->is_admitted && !guard_admit(s->guard, in->client)) {
        atomic_fetch_add(&s->meter.refused_clients, 1);
        say_problem(out, 429, NULL, "this address asks too often");
        return;
    }
    worker *w = take_worker(s);
    if (!w) {
        say_problem(out, 503, NULL, "out of memory");
        return;
    }
    answer_with(s, w, in, out);
    put_worker(s, w);
}

/* ---- open and close ----------------------------------------------------------------------- */

static bool load_models(server *s, cw_context *ctx)
{
    char why[WHY_BYTES];
    bool is_new;
    const char *const paths[N_SHELVES] = {s->settings->model, s->settings->beside};
    for (int k = 0; k < N_SHELVES; k++) {
        s->shelf[k].path = paths[k];
        s->shelf[k].data = s->settings->data;
        s->shelf[k].is_data_ours = k == 0; /* the other may be older */
        if (!paths[k] || shelf_load(&s->shelf[k], ctx, &is_new, why)) continue;
        fprintf(stderr, "crosswise: %s\n", why);
        return false;
    }
    if (s->settings->data && !s->settings->is_quiet)
        fprintf(stderr,
                "crosswise: %lld rows of %s that the model was not told of are hidden too\n",
                (long long)s->shelf[0].now->n_held, s->settings->data);
    return true;
}

bool server_open(server *s, cw_context *ctx, const serve_settings *settings)
{
    *s = (server){.settings = settings};
    pthread_mutex_init(&s->lock, NULL);
    for (int k = 0; k < N_SHELVES; k++) pthread_mutex_init(&s->shelf[k].lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &s->meter.started);
    s->guard = guard_open(settings->tokens, settings->client_rate);
    if (!s->guard) return false;
    s->openapi_text = serve_openapi();
    if (!s->openapi_text) {
        fputs("crosswise: out of memory\n", stderr);
        return false;
    }
    if (settings->feedback &&
        !(s->ledger = ledger_open(settings->feedback, settings->rotate_bytes)))
        return false;
    if (!load_models(s, ctx)) return false;
    atomic_store(&s->is_ready, true);
    return true;
}

void server_close(server *s)
{
    for (worker *w = s->idle, *next; w; w = next) {
        next = w->next;
        free_worker(w);
    }
    for (int k = 0; k < N_SHELVES; k++) shelf_clear(&s->shelf[k]);
    guard_close(s->guard);
    ledger_close(s->ledger);
    free(s->openapi_text);
    pthread_mutex_destroy(&s->lock);
}

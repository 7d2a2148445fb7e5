/* answers.c - what is asked of the server itself: feedback, models, health. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server.h"

extern const unsigned char cwi_serve_page[];
extern const size_t cwi_serve_page_bytes;

static const char *const shelf_names[N_SHELVES] = {"main", "beside"};

/* ---- feedback -------------------------------------------------------------------- */

static ledger_row row_of(const json_t *row, double now)
{
    const json_t *when = json_object_get(row, "time");
    return (ledger_row){json_string_value(json_object_get(row, "user")),
                        json_string_value(json_object_get(row, "item")),
                        when ? json_number_value(when) : now};
}

static ledger_row *rows_of(const json_t *rows, size_t n)
{
    ledger_row *out = calloc(n + 1, sizeof *out);
    for (size_t k = 0; k < n && out; k++)
        out[k] = row_of(json_array_get(rows, k), (double)time(NULL));
    return out;
}

void answer_feedback(call *c)
{
    const value *given = value_of(c, "interactions");
    reply *out = c->out;
    if (!c->s->ledger) {
        say_problem(out, 503, NULL,
                    "this server keeps no feedback; it was started without a folder");
        return;
    }
    ledger_row *rows = rows_of(given->rows, given->n);
    if (rows) out->text = ledger_text(rows, given->n, &out->text_length);
    free(rows);
    if (!out->text) {
        say_problem(out, 503, NULL, "out of memory");
        return;
    }
    out->rows = json_incref((json_t *)given->rows);
    out->n_rows = given->n;
    out->errand = WRITE_ROWS;
}

/* What lies in `text` together. */
static char *join(reply *const *out, size_t n, size_t *length)
{
    *length = 0;
    for (size_t k = 0; k < n; k++) *length += out[k]->text_length;
    char *all = malloc(*length + 1), *to = all;
    for (size_t k = 0; k < n && all; k++) {
        memcpy(to, out[k]->text, out[k]->text_length);
        to += out[k]->text_length;
    }
    return all;
}

static void accept_rows(server *s, reply *out)
{
    ledger_row *rows = rows_of(out->rows, out->n_rows);
    bool is_remembered = rows && ledger_remember(s->ledger, rows, out->n_rows);
    free(rows);
    atomic_fetch_add(&s->meter.feedback_rows, (long long)out->n_rows);
    say_json(out, 200,
             json_pack("{s:I, s:b}", "accepted", (json_int_t)out->n_rows, "is_remembered",
                       is_remembered));
}

void server_write(server *s, reply *const *out, size_t n)
{
    char why[WHY_BYTES] = "out of memory";
    size_t length;
    char *all = join(out, n, &length);
    bool is_kept = all && ledger_append(s->ledger, all, length, why);
    free(all);
    for (size_t k = 0; k < n; k++) {
        out[k]->errand = NO_ERRAND;
        if (is_kept)
            accept_rows(s, out[k]);
        else
            say_problem(out[k], 503, NULL, "%s", why);
    }
}

/* ---- models ------------------------------------------------------------------------- */

void answer_reload(call *c)
{
    c->out->errand = RELOAD;
}

void server_reload(server *s, cw_context *ctx, reply *out)
{
    json_t *models = json_array();
    char why[WHY_BYTES];
    bool is_new = false, is_good = true;
    for (int k = 0; k < N_SHELVES && is_good; k++) {
        shelf *one = &s->shelf[k];
        if (!one->path) continue;
        is_good = shelf_load(one, ctx, &is_new, why);
        if (is_new && !s->settings->is_quiet)
            fprintf(stderr, "crosswise: model %s is now %s\n", shelf_names[k], one->now->hash);
        if (is_good)
            json_array_append_new(models, json_pack("{s:s, s:s, s:b}", "name", shelf_names[k],
                                                    "model", one->now->hash, "is_new", is_new));
        else
            fprintf(stderr, "crosswise: the old model goes on: %s\n", why);
    }
    if (out) {
        out->errand = NO_ERRAND;
        if (is_good)
            say_json(out, 200, json_pack("{s:O}", "models", models));
        else
            say_problem(out, 422, NULL, "the old model goes on: %s", why);
    }
    json_decref(models);
}

static json_t *model_json(const volume *v, const char *name)
{
    char loaded[32];
    struct tm parts;
    gmtime_r(&v->loaded_at, &parts);
    strftime(loaded, sizeof loaded, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:O, s:I, s:f, s:s, s:f}", "name", name,
                     "model", v->hash, "method", v->method, "backbone", v->backbone, "users",
                     (json_int_t)cw_model_users(v->model), "items", (json_int_t)v->n_items,
                     "train_rows", json_object_get(v->info, "train_rows"), "data_rows",
                     (json_int_t)v->n_held, "dial", v->dial, "loaded_at", loaded, "age_s",
                     difftime(time(NULL), v->loaded_at));
}

void answer_model(call *c)
{
    json_t *models = json_array();
    for (int k = 0; k < N_SHELVES; k++) {
        volume *v = shelf_take(&c->s->shelf[k]);
        if (v) json_array_append_new(models, model_json(v, shelf_names[k]));
        volume_give_back(v);
    }
    say_json(c->out, 200,
             json_pack("{s:s, s:b, s:o}", "version", cw_version(), "keeps_feedback",
                       c->s->ledger != NULL, "models", models));
}

static json_t *groups_json(const volume *v)
{
    json_t *groups = json_array();
    long long all = 0;
    for (int g = 0; g < N_GROUPS; g++) all += atomic_load(&v->served[g]);
    for (int g = 0; g < N_GROUPS; g++) {
        double share = all > 0 ? (double)atomic_load(&v->served[g]) / (double)all : 0;
        if (v->group_items[g] == 0) continue;
        json_array_append_new(groups, json_pack("{s:I, s:I, s:I, s:f, s:f}", "items",
                                                (json_int_t)v->group_items[g], "rows_from",
                                                (json_int_t)v->rows_from[g], "rows_to",
                                                (json_int_t)v->rows_to[g], "log_share",
                                                v->log_share[g], "served_share", share));
    }
    return groups;
}

void answer_served(call *c)
{
    const char *name = value_of(c, "model")->text;
    volume *v = shelf_take(&c->s->shelf[name && strcmp(name, "beside") == 0]);
    if (!v) {
        say_problem(c->out, 404, "model", "there is no model beside the main one");
        return;
    }
    long long lists = atomic_load(&v->lists);
    double mean = lists > 0 ? 1e-3 * (double)atomic_load(&v->mean_rows) / (double)lists : 0;
    double coverage = v->n_items > 0 ? (double)atomic_load(&v->n_served) / v->n_items : 0;
    say_json(c->out, 200,
             json_pack("{s:s, s:I, s:f, s:f, s:f, s:o}", "model", v->hash, "lists",
                       (json_int_t)lists, "arp", mean, "log_arp", v->log_mean, "coverage", coverage,
                       "groups", groups_json(v)));
    volume_give_back(v);
}

/* ---- health ------------------------------------------------------------------------- */

void answer_live(call *c)
{
    say_json(c->out, 200, json_pack("{s:s}", "status", "live"));
}

void answer_ready(call *c)
{
    if (atomic_load(&c->s->is_ready))
        say_json(c->out, 200, json_pack("{s:s}", "status", "ready"));
    else
        say_problem(c->out, 503, NULL, "the server is about to stop");
}

/* ---- documents ------------------------------------------------------------------------ */

void answer_openapi(call *c)
{
    c->out->status = 200;
    c->out->type = c->route->reply;
    c->out->body = c->s->openapi_text;
    c->out->length = strlen(c->out->body);
    c->out->is_static = true;
}

/* Scripts and styles of the page bear a number that is used once; the policy allows no others. */
void answer_page(call *c)
{
    static const char mark[] = "@NONCE@";
    reply *out = c->out;
    unsigned char bytes[16];
    const char *page = (const char *)cwi_serve_page, *found;
    draft *d = &c->draft;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        say_problem(out, 503, NULL, "there is no randomness yet");
        return;
    }
    for (size_t k = 0; k < sizeof bytes; k++) snprintf(out->nonce + 2 * k, 3, "%02x", bytes[k]);
    draft_expect(d, cwi_serve_page_bytes + 1);
    for (; (found = strstr(page, mark)); page = found + sizeof mark - 1) {
        draft_add(d, page, (size_t)(found - page));
        draft_add(d, out->nonce, strlen(out->nonce));
    }
    draft_add(d, page, strlen(page));
    say_draft(out, c->route->reply, d);
}

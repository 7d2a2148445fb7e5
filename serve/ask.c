/* ask.c - a question to a model: which model it goes to, and by which rules. */
#include "ask.h"

#include <stdlib.h>
#include <string.h>

/* ---- room ------------------------------------------------------------------------ */

bool make_room(void *block, size_t *room, size_t n, size_t size)
{
    void **at = block;
    if (n <= *room) return true;
    void *more = realloc(*at, (n + n / 2) * size);
    if (!more) return false;
    *at = more;
    *room = n + n / 2;
    return true;
}

bool fail(ask *a, cw_status status)
{
    const char *reason = cw_context_error(a->c->w->ctx);
    int code = status == CW_BAD_ARG       ? 400
               : status == CW_UNSUPPORTED ? 422
               : status == CW_NO_MEMORY   ? 503
                                          : 500;
    say_problem(a->c->out, code, NULL, "%s", reason[0] ? reason : cw_status_text(status));
    return false;
}

/* ---- the question ------------------------------------------------------------------- */

/* Ids as numbers of the model; those that it does not know are counted, not kept. */
bool find_items(ask *a, const value *ids, int which, const int32_t **out, size_t *n)
{
    worker *w = a->c->w;
    if (!make_room(&w->numbers[which], &w->room_numbers[which], ids->n + 1, sizeof(int32_t)))
        return fail(a, CW_NO_MEMORY);
    *n = 0;
    for (size_t k = 0; k < ids->n; k++) {
        int32_t item = cw_model_find_item(a->v->model, ids->texts[k]);
        if (item >= 0)
            w->numbers[which][(*n)++] = item;
        else
            a->ignored++;
    }
    *out = w->numbers[which];
    return true;
}

static bool find_boosts(ask *a, const value *boost)
{
    worker *w = a->c->w;
    if (!make_room(&w->numbers[BOOSTED], &w->room_numbers[BOOSTED], boost->n + 1,
                   sizeof(int32_t)) ||
        !make_room(&w->boosts, &w->room_boosts, boost->n + 1, sizeof(float)))
        return fail(a, CW_NO_MEMORY);
    for (size_t k = 0; k < boost->n; k++) {
        int32_t item = cw_model_find_item(a->v->model, boost->texts[k]);
        a->ignored += item < 0;
        if (item < 0) continue;
        w->numbers[BOOSTED][a->rules.n_boosted] = item;
        w->boosts[a->rules.n_boosted++] = (float)boost->numbers[k];
    }
    a->rules.boosted = w->numbers[BOOSTED];
    a->rules.boosts = w->boosts;
    return true;
}

/* ids must lie behind the exclusions of the request. */
bool exclude_more(ask *a, const int32_t *ids, size_t n)
{
    worker *w = a->c->w;
    size_t had = a->rules.n_exclude;
    if (!make_room(&w->numbers[EXCLUDE], &w->room_numbers[EXCLUDE], had + n + 1, sizeof(int32_t)))
        return fail(a, CW_NO_MEMORY);
    memcpy(w->numbers[EXCLUDE] + had, ids, n * sizeof *ids);
    a->rules.exclude = w->numbers[EXCLUDE];
    a->rules.n_exclude = had + n;
    return true;
}

static bool read_rules(ask *a)
{
    const call *c = a->c;
    const value *only = value_of(c, "only"), *dial = value_of(c, "dial"),
                *filter = value_of(c, "filter");
    a->rules.with_seen = filter->text && strcmp(filter->text, "none") == 0;
    a->rules.dial = dial->is_given ? dial->number : a->v->dial;
    a->rules.diversity = value_of(c, "diversity")->number;
    if (only->is_given && !find_items(a, only, ONLY, &a->rules.only, &a->rules.n_only))
        return false;
    return find_items(a, value_of(c, "exclude"), EXCLUDE, &a->rules.exclude, &a->rules.n_exclude) &&
           find_boosts(a, value_of(c, "boost"));
}

/* Take the model, and make room for lists of n. */
bool open_ask(ask *a, call *c)
{
    const value *model = value_of(c, "model"), *n = value_of(c, "n");
    worker *w = c->w;
    int which = model->text && strcmp(model->text, "beside") == 0;
    *a = (ask){.c = c};
    if (atomic_load(&c->s->meter.reply_bytes) > MOST_REPLY_BYTES) {
        say_problem(c->out, 503, NULL, "too many replies wait for their clients to take them");
        return false;
    }
    a->v = shelf_take(&c->s->shelf[which]);
    if (!a->v) {
        say_problem(c->out, 404, "model", "there is no model beside the main one");
        return false;
    }
    a->n = n->number > 0 ? (int32_t)n->number : 10;
    if (a->n > a->v->n_items) a->n = a->v->n_items;
    size_t room = (size_t)a->n;
    if (make_room(&w->items, &w->room_items, room, sizeof *w->items) &&
        make_room(&w->scores, &w->room_scores, room, sizeof *w->scores))
        return read_rules(a);
    return fail(a, CW_NO_MEMORY);
}

void close_ask(ask *a)
{
    volume_give_back(a->v);
}

/* questions.c - what is asked of a model: lists, orders, reasons. */
#include <stdlib.h>
#include <string.h>

#include "ask.h"

/* ---- lists as JSON --------------------------------------------------------------- */

static void write_item(const ask *a, int32_t item, const char *key, double number)
{
    draft *d = &a->c->draft;
    DRAFT(d, "{\"item\":");
    draft_id(d, cw_model_item_id(a->v->model, item));
    draft_add(d, key, strlen(key));
    draft_real(d, number);
    DRAFT(d, ",\"rows\":");
    draft_whole(d, cw_model_item_rows(a->v->model, item));
    DRAFT(d, "}");
}

/* A list that was made: whom it is for, with the key before (NULL: nobody), and how. */
static void write_list(const ask *a, const char *key, const char *id, const char *how,
                       int32_t count)
{
    enum { OF_A_LIST = 256, OF_AN_ITEM = 80 }; /* so much is usual */
    draft *d = &a->c->draft;
    const worker *w = a->c->w;
    draft_expect(d, OF_A_LIST + (size_t)count * OF_AN_ITEM);
    DRAFT(d, "{\"how\":\"");
    draft_add(d, how, strlen(how));
    if (strcmp(how, "popularity") == 0)
        DRAFT(d, "\",\"fallback\":true,\"items\":[");
    else
        DRAFT(d, "\",\"fallback\":false,\"items\":[");
    for (int32_t r = 0; r < count; r++) {
        if (r > 0) DRAFT(d, ",");
        write_item(a, w->items[r], ",\"score\":", (double)w->scores[r]);
    }
    DRAFT(d, "]");
    if (!key) return;
    draft_add(d, key, strlen(key));
    draft_id(d, id);
}

/* What ends every reply of a model. */
static void say_list(const ask *a)
{
    draft *d = &a->c->draft;
    DRAFT(d, ",\"model\":");
    draft_id(d, a->v->hash);
    DRAFT(d, ",\"ignored\":");
    draft_whole(d, a->ignored);
    DRAFT(d, "}");
    say_draft(a->c->out, "application/json", d);
}

static void say_one_list(const ask *a, const char *key, const char *id, const char *how,
                         int32_t count)
{
    write_list(a, key, id, how, count);
    say_list(a);
}

/* ---- a list of a user ---------------------------------------------------------------- */

enum { MAX_MORE = 1000 };

static const char user_key[] = ",\"user\":";

static cw_lists lists_of(const ask *a, int32_t *count)
{
    return (cw_lists){a->n, a->c->w->items, a->c->w->scores, count};
}

static int32_t find_user(const volume *v, const char *id)
{
    int32_t found = cw_model_find_user(v->model, id);
    return found >= 0 ? found : cw_model_find_guest_user(v->model, id);
}

/* What somebody did since training, by feedback; with any of it also what the model was not told of
 * before. */
static bool find_more(ask *a, const char *id, int32_t user, const int32_t **more, size_t *n)
{
    ledger *l = a->c->s->ledger;
    worker *w = a->c->w;
    const int32_t *held = NULL;
    size_t n_held = volume_held(a->v, user, &held);
    *n = 0;
    if (!l) return true;
    if (!make_room(&w->numbers[MORE], &w->room_numbers[MORE], MAX_MORE + n_held, sizeof *held))
        return fail(a, CW_NO_MEMORY);
    *more = w->numbers[MORE];
    *n = ledger_had(l, id, a->v, user, w->numbers[MORE], MAX_MORE);
    if (*n > 0 && n_held > 0) {
        memcpy(w->numbers[MORE] + *n, held, n_held * sizeof *held);
        *n += n_held;
    }
    return true;
}

static cw_status list_popular(ask *a, int32_t *count)
{
    cw_lists lists = lists_of(a, count);
    cw_rules rules = a->rules;
    rules.dial = 0;
    return cw_popular(a->c->w->ctx, a->v->recommender, &rules, &lists);
}

/* The usual list of a user, or nobody's, without n items more. */
static cw_status list_without(ask *a, int32_t user, const int32_t *more, size_t n, int32_t *count)
{
    cw_lists lists = lists_of(a, count);
    size_t before = a->rules.n_exclude;
    if (!a->rules.with_seen && n > 0 && !exclude_more(a, more, n)) return CW_NO_MEMORY;
    cw_status status =
        user >= 0 ? cw_recommend(a->c->w->ctx, a->v->recommender, &user, 1, &a->rules, &lists)
                  : list_popular(a, count);
    a->rules.n_exclude = before;
    return status;
}

/* Somebody may be known to the model, to the log of feedback, to both or to nobody.  Where the
 * backbone has no way to take more items in, they are left out of the list at least. */
static cw_status list_user(ask *a, const char *id, const char **how, int32_t *count)
{
    cw_lists lists = lists_of(a, count);
    int32_t user = find_user(a->v, id);
    const int32_t *more = NULL, *held = NULL;
    size_t n, n_held = volume_held(a->v, user, &held);
    cw_list_way way = user >= 0 ? cw_user_way(a->v->recommender, user) : CW_WAY_POPULARITY;
    cw_status status = CW_UNSUPPORTED;
    if (!find_more(a, id, user, &more, &n)) return CW_NO_MEMORY;
    if (n > 0)
        status =
            cw_recommend_more(a->c->w->ctx, a->v->recommender, user, more, n, &a->rules, &lists);
    if (n > 0 && status != CW_UNSUPPORTED)
        way = CW_WAY_FOLD_IN;
    else
        status = list_without(a, user, n > 0 ? more : held, n > 0 ? n : n_held, count);
    *how = cw_way_name(way);
    if (status == CW_OK) volume_count(a->v, a->c->w->items, *count);
    return status;
}

/* History that the model knows nothing of is nobody's. */
static cw_status list_history(ask *a, const value *history, const char **how, int32_t *count)
{
    const int32_t *liked;
    size_t n;
    cw_lists lists = lists_of(a, count);
    if (!find_items(a, history, LIKED, &liked, &n)) return CW_NO_MEMORY;
    *how = cw_way_name(n > 0 ? CW_WAY_FOLD_IN : CW_WAY_POPULARITY);
    cw_status status =
        n > 0 ? cw_recommend_history(a->c->w->ctx, a->v->recommender, liked, n, &a->rules, &lists)
              : list_popular(a, count);
    if (status == CW_OK) volume_count(a->v, a->c->w->items, *count);
    return status;
}

void answer_recommend(call *c)
{
    ask a;
    int32_t count = 0;
    const char *how = "", *user = value_of(c, "user")->text;
    if (open_ask(&a, c)) {
        cw_status status = list_user(&a, user, &how, &count);
        if (status == CW_OK)
            say_one_list(&a, user_key, user, how, count);
        else
            (void)fail(&a, status);
    }
    close_ask(&a);
}

static bool add_list(ask *a, const char *user)
{
    int32_t count = 0;
    const char *how = "";
    cw_status status = user ? list_user(a, user, &how, &count)
                            : list_history(a, value_of(a->c, "history"), &how, &count);
    if (status != CW_OK) return fail(a, status);
    write_list(a, user ? user_key : NULL, user, how, count);
    DRAFT(&a->c->draft, "}");
    return !a->c->draft.is_broken || fail(a, CW_NO_MEMORY);
}

void answer_batch(call *c)
{
    enum { MOST_PLACES = 200000, MOST_DIVERSE = 2000000 };
    ask a;
    const value *users = value_of(c, "users");
    bool is_good = open_ask(&a, c);
    if (is_good && (double)users->n * a.n > MOST_PLACES) {
        say_problem(c->out, 400, "n", "users times n may be %d and no more", (int)MOST_PLACES);
        is_good = false;
    }
    double work = (double)users->n * a.n * a.n;
    if (is_good && a.rules.diversity > 0 && work > MOST_DIVERSE) {
        say_problem(c->out, 400, "n", "users times n times n may be %d and no more with diversity",
                    (int)MOST_DIVERSE);
        is_good = false;
    }
    DRAFT(&c->draft, "{\"lists\":[");
    if (is_good && !users->is_given) is_good = add_list(&a, NULL);
    for (size_t k = 0; k < users->n && is_good; k++) {
        if (k > 0) DRAFT(&c->draft, ",");
        is_good = add_list(&a, users->texts[k]);
    }
    DRAFT(&c->draft, "]");
    if (is_good) say_list(&a);
    close_ask(&a);
}

/* Of a list only these items, all of them. */
void answer_rank(call *c)
{
    ask a;
    int32_t count = 0;
    const char *how = "";
    const value *user = value_of(c, "user"), *items = value_of(c, "items");
    bool is_good = open_ask(&a, c) && find_items(&a, items, ONLY, &a.rules.only, &a.rules.n_only);
    if (is_good) {
        a.n = a.rules.n_only > 0 ? (int32_t)a.rules.n_only : 1;
        a.rules.with_seen = true;
        is_good = (make_room(&c->w->items, &c->w->room_items, (size_t)a.n, sizeof(int32_t)) &&
                   make_room(&c->w->scores, &c->w->room_scores, (size_t)a.n, sizeof(float))) ||
                  fail(&a, CW_NO_MEMORY);
    }
    if (is_good) {
        cw_status status = user->is_given ? list_user(&a, user->text, &how, &count)
                                          : list_history(&a, value_of(c, "history"), &how, &count);
        if (status == CW_OK)
            say_one_list(&a, user->is_given ? user_key : NULL, user->text, how, count);
        else
            (void)fail(&a, status);
    }
    close_ask(&a);
}

/* ---- lists of nobody -------------------------------------------------------------------- */

void answer_similar(call *c)
{
    ask a;
    int32_t count = 0;
    const char *id = value_of(c, "item")->text;
    bool is_good = open_ask(&a, c);
    int32_t item = is_good ? cw_model_find_item(a.v->model, id) : -1;
    if (is_good && item < 0) item = cw_model_find_guest_item(a.v->model, id);
    if (is_good && item < 0) {
        say_problem(c->out, 404, "item", "the model does not know this item");
        is_good = false;
    }
    if (is_good) {
        cw_lists lists = lists_of(&a, &count);
        if (!value_of(c, "dial")->is_given) a.rules.dial = 0; /* a model's own is for scores */
        cw_status status =
            cw_similar_items(c->w->ctx, a.v->recommender, &item, 1, &a.rules, &lists);
        if (status == CW_OK)
            say_one_list(&a, ",\"item\":", id, cw_way_name(cw_item_way(a.v->recommender, item)),
                         count);
        else
            (void)fail(&a, status);
    }
    close_ask(&a);
}

void answer_popular(call *c)
{
    ask a;
    int32_t count = 0;
    if (open_ask(&a, c)) {
        cw_status status = list_popular(&a, &count);
        if (status == CW_OK)
            say_one_list(&a, NULL, NULL, cw_way_name(CW_WAY_POPULARITY), count);
        else
            (void)fail(&a, status);
    }
    close_ask(&a);
}

/* ---- reasons ---------------------------------------------------------------------------- */

typedef struct reason {
    int32_t item;
    float added;
} reason;

static int compare_reasons(const void *a, const void *b)
{
    const reason *first = a, *second = b;
    if (first->added != second->added) return first->added < second->added ? 1 : -1;
    return first->item < second->item ? -1 : first->item > second->item;
}

static int compare_items(const void *a, const void *b)
{
    int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
    return first < second ? -1 : first > second;
}

/* All items of a user, of the model and of feedback. */
static bool find_had(ask *a, const char *id, size_t *n, bool *is_trained)
{
    worker *w = a->c->w;
    const int32_t *had = NULL, *more = NULL;
    int32_t user = find_user(a->v, id);
    size_t n_more, n_had = user >= 0 ? cw_user_items(a->v->recommender, user, &had) : 0;
    if (!find_more(a, id, user, &more, &n_more)) return false;
    *n = n_had + n_more;
    if (!make_room(&w->numbers[LIKED], &w->room_numbers[LIKED], *n + 1, sizeof *had))
        return fail(a, CW_NO_MEMORY);
    if (n_had > 0) memcpy(w->numbers[LIKED], had, n_had * sizeof *had);
    if (n_more > 0) memcpy(w->numbers[LIKED] + n_had, more, n_more * sizeof *more);
    *is_trained =
        n_more == 0 && user >= 0 && cw_user_way(a->v->recommender, user) == CW_WAY_TRAINED;
    return true;
}

/* The distinct items that somebody liked: of the request, or of the model and of feedback. */
static bool find_liked(ask *a, const int32_t **liked, size_t *n, bool *is_trained)
{
    worker *w = a->c->w;
    const value *id = value_of(a->c, "user");
    *is_trained = false;
    if (id->is_given ? !find_had(a, id->text, n, is_trained)
                     : !find_items(a, value_of(a->c, "history"), LIKED, liked, n))
        return false;
    int32_t *all = w->numbers[LIKED];
    qsort(all, *n, sizeof *all, compare_items);
    size_t kept = 0;
    for (size_t k = 0; k < *n; k++)
        if (kept == 0 || all[kept - 1] != all[k]) all[kept++] = all[k];
    *liked = all;
    *n = kept;
    if (kept > 0) return true;
    say_problem(a->c->out, 404, id->is_given ? "user" : "history",
                "nothing that the model knows was liked, so nothing can be a reason");
    return false;
}

/* False: no memory. */
static bool write_reasons(const ask *a, const int32_t *liked, size_t n, size_t wanted)
{
    const float *added = a->c->w->added;
    reason *order = calloc(n, sizeof *order);
    if (!order) return false;
    for (size_t k = 0; k < n; k++) order[k] = (reason){liked[k], added[k]};
    qsort(order, n, sizeof *order, compare_reasons);
    for (size_t k = 0; k < n && k < wanted; k++) {
        if (k > 0) DRAFT(&a->c->draft, ",");
        write_item(a, order[k].item, ",\"added\":", (double)order[k].added);
    }
    free(order);
    return true;
}

static void say_reasons(ask *a, const char *id, double score, bool is_exact, const int32_t *liked,
                        size_t n)
{
    draft *d = &a->c->draft;
    DRAFT(d, "{\"item\":");
    draft_id(d, id);
    DRAFT(d, ",\"score\":");
    draft_real(d, score);
    if (is_exact)
        DRAFT(d, ",\"is_exact\":true,\"reasons\":[");
    else
        DRAFT(d, ",\"is_exact\":false,\"reasons\":[");
    if (!write_reasons(a, liked, n, (size_t)value_of(a->c, "n")->number)) {
        (void)fail(a, CW_NO_MEMORY);
        return;
    }
    DRAFT(d, "]");
    say_list(a);
}

static void explain(ask *a, const char *id, int32_t item)
{
    worker *w = a->c->w;
    const int32_t *liked = NULL;
    size_t n = 0;
    float score = 0;
    bool is_trained;
    if (!find_liked(a, &liked, &n, &is_trained)) return;
    if (!make_room(&w->added, &w->room_added, n, sizeof *w->added)) {
        (void)fail(a, CW_NO_MEMORY);
        return;
    }
    cw_status status = cw_explain(w->ctx, a->v->recommender, liked, n, item, w->added, &score);
    if (status != CW_OK) {
        (void)fail(a, status);
        return;
    }
    bool is_sum = strcmp(a->v->backbone, "ease") == 0 || strcmp(a->v->backbone, "itemknn") == 0;
    say_reasons(a, id, (double)score, !is_trained || is_sum, liked, n);
}

void answer_explain(call *c)
{
    ask a;
    const char *id = value_of(c, "item")->text;
    if (open_ask(&a, c)) {
        int32_t item = cw_model_find_item(a.v->model, id);
        if (item < 0)
            say_problem(c->out, 404, "item", "the model does not know this item");
        else
            explain(&a, id, item);
    }
    close_ask(&a);
}

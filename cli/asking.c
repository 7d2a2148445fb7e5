/* asking.c - ask a recommender for the lists of a wish, many at a time where that can be. */
#include <stdlib.h>
#include <string.h>

#include "listing.h"

static const pair *pairs_of(errand *e, int32_t user)
{
    size_t low = 0, high = e->n_pairs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (e->pairs[middle].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    for (e->n_own = 0; low + e->n_own < e->n_pairs && e->pairs[low + e->n_own].user == user;)
        e->n_own++;
    return e->pairs + low;
}

/* A list that is made alone: of somebody new or unknown, or with rules of their own. */
static bool is_single(errand *e, size_t which)
{
    return is_newcomer(e) || e->who[which] < 0 ||
           (!e->w->similar_items && pairs_of(e, e->who[which]) && e->n_own > 0);
}

static cw_status ask_single(errand *e, size_t which, const cw_lists *lists)
{
    cw_context *ctx = e->call->ctx;
    if (is_newcomer(e) && e->newcomers[which].n > 0)
        return cw_recommend_history(ctx, e->recommender, e->liked + e->newcomers[which].first,
                                    e->newcomers[which].n, e->rules, lists);
    if (is_newcomer(e) || e->who[which] < 0)
        return cw_popular(ctx, e->recommender, e->rules, lists);
    cw_rules own = *e->rules;
    const pair *pairs = pairs_of(e, e->who[which]);
    for (size_t k = 0; k < e->n_own; k++) e->excluded[own.n_exclude++] = pairs[k].item;
    own.exclude = e->excluded;
    return cw_recommend(ctx, e->recommender, e->who + which, 1, &own, lists);
}

static cw_status ask(const errand *e, const int32_t *who, size_t n, const cw_lists *lists)
{
    cw_context *ctx = e->call->ctx;
    if (e->w->similar_items) return cw_similar_items(ctx, e->recommender, who, n, e->rules, lists);
    if (e->w->similar_users) return cw_similar_users(ctx, e->recommender, who, n, lists);
    return cw_recommend(ctx, e->recommender, who, n, e->rules, lists);
}

static cw_list_way find_way(const errand *e, size_t which)
{
    if (is_newcomer(e)) return e->newcomers[which].n > 0 ? CW_WAY_FOLD_IN : CW_WAY_POPULARITY;
    if (e->who[which] < 0) return CW_WAY_POPULARITY;
    return e->w->similar_items ? cw_item_way(e->recommender, e->who[which])
                               : cw_user_way(e->recommender, e->who[which]);
}

static const char *key_of(const errand *e, size_t which)
{
    if (is_newcomer(e)) return e->newcomers[which].key;
    if (e->key) return e->key[which];
    return cw_model_user_id(e->model, e->who[which]);
}

static int compare_reasons(const void *a, const void *b)
{
    const reason *first = a, *second = b;
    if (first->added != second->added) return first->added < second->added ? 1 : -1;
    return first->item < second->item ? -1 : first->item > second->item;
}

/* The items of a history that add most to the score of one. */
static cw_status reason_item(const errand *e, const int32_t *had, size_t n, size_t place,
                             int32_t item)
{
    cw_status status = CW_NO_MEMORY;
    float *added = calloc(n, sizeof *added);
    reason *all = calloc(n, sizeof *all);
    if (added && all) status = cw_explain(e->call->ctx, e->recommender, had, n, item, added, NULL);
    if (status == CW_OK) {
        for (size_t k = 0; k < n; k++) all[k] = (reason){had[k], added[k]};
        qsort(all, n, sizeof *all, compare_reasons);
        size_t kept = n < e->most_reasons ? n : e->most_reasons;
        memcpy(e->reasons + place * e->most_reasons, all, kept * sizeof *all);
        e->n_reason[place] = (int32_t)kept;
    }
    free(added);
    free(all);
    return status;
}

/* Why the items of a list are there; a list of what is popular has no reasons. */
static cw_status reason_list(const errand *e, size_t which, const list *l)
{
    const int32_t *had = NULL;
    size_t n = 0;
    cw_status status = CW_OK;
    if (is_newcomer(e)) {
        had = e->liked + e->newcomers[which].first;
        n = e->newcomers[which].n;
    } else if (e->who[which] >= 0) {
        n = cw_user_items(e->recommender, e->who[which], &had);
    }
    memset(e->n_reason, 0, (size_t)l->count * sizeof *e->n_reason);
    if (n == 0 || find_way(e, which) == CW_WAY_POPULARITY) return CW_OK;
    for (int32_t r = 0; r < l->count && status == CW_OK; r++)
        status = reason_item(e, had, n, (size_t)r, l->items[r]);
    return status;
}

/* A list that goes elsewhere than to standard output. */
static cw_status store_list(errand *e, const list *l)
{
    cw_status status = CW_OK;
    for (int32_t r = 0; r < l->count && status == CW_OK; r++) {
        int32_t found = l->items[r];
        const cw_sink_row row = {.key = l->key,
                                 .item = e->p.lists_users ? cw_model_user_id(e->model, found)
                                                          : cw_model_item_id(e->model, found),
                                 .rank = r + 1,
                                 .score = l->scores[r],
                                 .how = l->how};
        status = cw_sink_put(e->call->ctx, e->sink, &row);
    }
    e->n_lists++;
    e->n_rows += l->count;
    return status;
}

static cw_status print_lists(errand *e, size_t first, size_t n, const cw_lists *lists)
{
    cw_status status = CW_OK;
    if (!e->sink) cli_clear_line();
    for (size_t r = 0; r < n && !ferror(stdout) && status == CW_OK; r++) {
        size_t place = r * (size_t)lists->k;
        list l = {.key = key_of(e, first + r),
                  .how = cw_way_name(find_way(e, first + r)),
                  .items = lists->items + place,
                  .scores = lists->scores + place,
                  .count = lists->counts[r],
                  .reasons = e->reasons,
                  .n_reason = e->n_reason,
                  .max_reasons = (int32_t)e->most_reasons};
        if (e->reasons) status = reason_list(e, first + r, &l);
        if (status == CW_OK && e->sink)
            status = store_list(e, &l);
        else if (status == CW_OK)
            print_list(&e->p, &l);
    }
    return status;
}

/* Ask for as many lists at a time as there is room for, but alone for those with rules of their
 * own. */
static cw_status ask_for_all(errand *e, size_t capacity, const cw_lists *lists)
{
    cw_status status = CW_OK;
    for (size_t first = 0, n; first < e->n_who && status == CW_OK && !ferror(stdout); first += n) {
        cli_show_part(e->call, (int64_t)first, (int64_t)e->n_who);
        bool alone = is_single(e, first);
        for (n = 1; !alone && n < capacity && first + n < e->n_who && !is_single(e, first + n);)
            n++;
        status = alone ? ask_single(e, first, lists) : ask(e, e->who + first, n, lists);
        if (status == CW_OK) status = print_lists(e, first, n, lists);
    }
    if (status == CW_OK && !e->sink) print_header(&e->p);
    return status; /* main says that standard output cannot be written to, and why */
}

cw_status make_lists(errand *e)
{
    enum { LISTS = 4096, PLACES = 1 << 22 };
    cw_status status = CW_NO_MEMORY;
    int32_t most = e->w->similar_users ? cw_model_users(e->model) : cw_model_items(e->model);
    long k = strtol(cw_options_get(e->call->options[0], "k"), NULL, 10);
    if (k > most) k = most;
    size_t capacity = PLACES / (size_t)k < LISTS ? PLACES / (size_t)k : LISTS;
    if (capacity > e->n_who) capacity = e->n_who;
    if (capacity < 1) capacity = 1;
    cw_lists lists = {.k = (int32_t)k,
                      .items = calloc(capacity * (size_t)k, sizeof *lists.items),
                      .scores = calloc(capacity * (size_t)k, sizeof *lists.scores),
                      .counts = calloc(capacity, sizeof *lists.counts)};
    bool has_room = lists.items && lists.scores && lists.counts;
    if (e->most_reasons > 0) {
        e->reasons = calloc((size_t)k * e->most_reasons, sizeof *e->reasons);
        e->n_reason = calloc((size_t)k, sizeof *e->n_reason);
        has_room = has_room && e->reasons && e->n_reason;
    }
    if (has_room) status = ask_for_all(e, capacity, &lists);
    free(lists.items);
    free(lists.scores);
    free(lists.counts);
    return status;
}

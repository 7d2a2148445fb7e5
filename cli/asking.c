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

/* A list as it goes from process to process. */
typedef struct record {
    int32_t *count, *items;
    float *scores;
    int32_t *n_reason;
    reason *reasons; /* [k][most_reasons] */
} record;

/* Lists on their way: a batch of each process, which together are a round. */
typedef struct shelf {
    size_t capacity; /* lists of a batch */
    cw_lists lists;  /* of the batch that is made here */
    size_t bytes;    /* of a record */
    char *own, *all; /* [capacity], at process 0 [processes * capacity] records */
    size_t *counts;  /* [processes] lists of the batches */
} shelf;

static record open_record(const shelf *s, char *records, size_t at)
{
    size_t k = (size_t)s->lists.k;
    record r = {.count = (int32_t *)(void *)(records + at * s->bytes)};
    r.items = r.count + 1;
    r.scores = (float *)(void *)(r.items + k);
    r.n_reason = (int32_t *)(void *)(r.scores + k);
    r.reasons = (reason *)(void *)(r.n_reason + k);
    return r;
}

/* The items of a history that add most to the score of the one in a place. */
static cw_status reason_item(const errand *e, const int32_t *had, size_t n, int32_t place,
                             const record *r)
{
    cw_status status = CW_NO_MEMORY;
    float *added = calloc(n, sizeof *added);
    reason *all = calloc(n, sizeof *all);
    if (added && all)
        status = cw_explain(e->call->ctx, e->recommender, had, n, r->items[place], added, NULL);
    if (status == CW_OK) {
        for (size_t k = 0; k < n; k++) all[k] = (reason){had[k], added[k]};
        qsort(all, n, sizeof *all, compare_reasons);
        size_t kept = n < e->most_reasons ? n : e->most_reasons;
        memcpy(r->reasons + (size_t)place * e->most_reasons, all, kept * sizeof *all);
        r->n_reason[place] = (int32_t)kept;
    }
    free(added);
    free(all);
    return status;
}

/* Why the items of a list are there; a list of what is popular has no reasons. */
static cw_status reason_list(const errand *e, size_t which, const record *r)
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
    memset(r->n_reason, 0, (size_t)*r->count * sizeof *r->n_reason);
    if (n == 0 || find_way(e, which) == CW_WAY_POPULARITY) return CW_OK;
    for (int32_t k = 0; k < *r->count && status == CW_OK; k++)
        status = reason_item(e, had, n, k, r);
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

static cw_status print_round(errand *e, const shelf *s, size_t first, size_t n)
{
    cw_status status = CW_OK;
    if (!e->sink) cli_clear_line();
    for (size_t k = 0; k < n && !ferror(stdout) && status == CW_OK; k++) {
        record r = open_record(s, s->all, k);
        list l = {.key = key_of(e, first + k),
                  .how = cw_way_name(find_way(e, first + k)),
                  .items = r.items,
                  .scores = r.scores,
                  .count = *r.count,
                  .reasons = r.reasons,
                  .n_reason = r.n_reason,
                  .max_reasons = (int32_t)e->most_reasons};
        if (e->sink)
            status = store_list(e, &l);
        else
            print_list(&e->p, &l);
    }
    return status;
}

/* The batch of this process. */
static cw_status make_batch(errand *e, shelf *s, size_t first, size_t n)
{
    cw_status status = is_single(e, first) ? ask_single(e, first, &s->lists)
                                           : ask(e, e->who + first, n, &s->lists);
    size_t k = (size_t)s->lists.k;
    for (size_t at = 0; at < n && status == CW_OK; at++) {
        record r = open_record(s, s->own, at);
        *r.count = s->lists.counts[at];
        memcpy(r.items, s->lists.items + at * k, k * sizeof *r.items);
        memcpy(r.scores, s->lists.scores + at * k, k * sizeof *r.scores);
        if (e->most_reasons > 0) status = reason_list(e, first + at, &r);
    }
    return status;
}

/* As many lists from `first` on as there is room for, but one alone that has rules of its own. */
static size_t count_batch(errand *e, const shelf *s, size_t first)
{
    size_t n = first < e->n_who ? 1 : 0;
    if (n == 0 || is_single(e, first)) return n;
    while (n < s->capacity && first + n < e->n_who && !is_single(e, first + n)) n++;
    return n;
}

/* A batch of every process; all of them know who makes which. */
static cw_status make_round(errand *e, shelf *s, size_t *first)
{
    cw_context *ctx = e->call->ctx;
    size_t begin = *first, own = begin;
    cw_status status = CW_OK;
    for (int p = 0; p < e->call->processes; p++) {
        s->counts[p] = count_batch(e, s, *first);
        if (p == e->call->rank) own = *first;
        *first += s->counts[p];
    }
    cli_show_part(e->call, (int64_t)begin, (int64_t)e->n_who);
    if (s->counts[e->call->rank] > 0) status = make_batch(e, s, own, s->counts[e->call->rank]);
    if (status == CW_OK && e->call->processes > 1)
        status = cw_processes_collect(ctx, s->own, s->counts, s->bytes, s->all);
    if (status == CW_OK && e->call->rank == 0) status = print_round(e, s, begin, *first - begin);
    return status;
}

/* While somebody reads what is written. */
static cw_status make_rounds(errand *e, shelf *s)
{
    cw_status status = CW_OK;
    char goes_on = 1;
    for (size_t first = 0; first < e->n_who && status == CW_OK && goes_on;) {
        status = make_round(e, s, &first);
        goes_on = !ferror(stdout);
        if (status == CW_OK && e->call->processes > 1)
            status = cw_processes_spread(e->call->ctx, &goes_on, 1);
    }
    if (status == CW_OK && !e->sink) print_header(&e->p);
    return status; /* main says that standard output cannot be written to, and why */
}

/* Room for batches, which does not grow with the number of users. */
static bool make_room(const errand *e, shelf *s)
{
    enum { LISTS = 4096, REASONED = 64, PLACES = 1 << 22 };
    size_t k = (size_t)s->lists.k, processes = (size_t)e->call->processes;
    size_t most = e->most_reasons > 0 ? REASONED : LISTS, even = e->n_who / processes + 1;
    s->bytes = sizeof(int32_t) + k * (sizeof(int32_t) + sizeof(float));
    if (e->most_reasons > 0) s->bytes += k * (sizeof(int32_t) + e->most_reasons * sizeof(reason));
    s->capacity = PLACES / k / processes;
    if (s->capacity > most) s->capacity = most;
    if (s->capacity > even) s->capacity = even;
    if (s->capacity < 1) s->capacity = 1;
    s->lists.items = calloc(s->capacity * k, sizeof *s->lists.items);
    s->lists.scores = calloc(s->capacity * k, sizeof *s->lists.scores);
    s->lists.counts = calloc(s->capacity, sizeof *s->lists.counts);
    s->own = s->all = calloc(s->capacity, s->bytes);
    if (processes > 1) s->all = calloc(e->call->rank == 0 ? processes * s->capacity : 1, s->bytes);
    s->counts = calloc(processes, sizeof *s->counts);
    return s->lists.items && s->lists.scores && s->lists.counts && s->own && s->all && s->counts;
}

cw_status make_lists(errand *e)
{
    shelf s = {.capacity = 0};
    int32_t most = e->w->similar_users ? cw_model_users(e->model) : cw_model_items(e->model);
    long k = strtol(cw_options_get(e->call->options[0], "k"), NULL, 10);
    s.lists.k = (int32_t)(k > most ? most : k);
    cw_status status = make_room(e, &s) ? make_rounds(e, &s) : CW_NO_MEMORY;
    if (status == CW_CANCELLED && e->call->processes > 1) return status; /* MPI may write there */
    if (s.all != s.own) free(s.all);
    free(s.own);
    free(s.counts);
    free(s.lists.items);
    free(s.lists.scores);
    free(s.lists.counts);
    return status;
}

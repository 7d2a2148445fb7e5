/* recommender.c - what a model can be asked once its ranker is made. */
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/elementary.h"
#include "core/mem.h"
#include "core/pool.h"
#include "engine/ranking.h"
#include "recommend/recommend.h"
#include "score/foldin.h"

enum { PAIRS_A_CHUNK = 4096 };

/* ---- the handle ----------------------------------------------------------------- */

cw_status cw_recommender_open(cw_context *ctx, cw_model *model, cw_recommender **out)
{
    cw_status status;
    cw_recommender *rec = NULL;

    cwi_begin(ctx);
    *out = NULL;
    CW_TRY(cwi_check_given(ctx, "the model", model));
    rec = cwi_alloc_zero(ctx, 1, sizeof *rec);
    if (!rec) return CW_NO_MEMORY;
    rec->model = cwi_model_hold(model);
    rec->log_degree = cwi_alloc(ctx, (size_t)model->n_items, sizeof *rec->log_degree);
    CW_TRY(rec->log_degree ? CW_OK : CW_NO_MEMORY);
    for (int32_t i = 0; i < model->n_items; i++)
        rec->log_degree[i] = cwi_log1p((double)model->degree[i]);
    CW_TRY(cwi_model_rank(ctx, model, &rec->ranker));
    CW_TRY(cwi_foldin_keep(ctx, &rec->ranker));
    CW_TRY(cwi_recommender_screen(ctx, rec));
    *out = rec;
done:
    if (status != CW_OK) cw_recommender_close(rec);
    return status;
}

cw_status cw_recommender_use(cw_context *ctx, cw_recommender *rec, const char *device)
{
    cwi_begin(ctx);
    CW_PASS(cwi_check_given(ctx, "the recommender", rec));
    CW_PASS(cwi_check_given(ctx, "the device", device));
    if (rec->ranker.list) return cwi_fail(ctx, CW_BAD_ARG, "the recommender has a device already");
    return cwi_device_serve(ctx, device, rec->model->backbone, &rec->ranker);
}

void cw_recommender_close(cw_recommender *rec)
{
    if (!rec) return;
    cwi_screen_clear(&rec->screen);
    cwi_ranker_close(&rec->ranker);
    cwi_free(rec->log_degree);
    cw_model_free(rec->model);
    cwi_free(rec);
}

const cw_model *cw_recommender_model(const cw_recommender *rec)
{
    return rec->model;
}

const float *cw_recommender_users(const cw_recommender *rec, int32_t *width)
{
    bool is_dot = cwi_ranker_is_dot(&rec->ranker) && !rec->ranker.far;
    *width = is_dot ? rec->ranker.width : 0;
    return is_dot ? rec->ranker.users : NULL;
}

const float *cw_recommender_items(const cw_recommender *rec, int32_t *width)
{
    *width = rec->ranker.items ? rec->ranker.width : 0;
    return rec->ranker.items;
}

/* ---- lists for users and newcomers ------------------------------------------------ */

static void score_users(const cwi_listing *l, const int32_t *who, int32_t n, float *out)
{
    l->rec->ranker.score(&l->rec->ranker, who, n, out);
}

static void score_newcomer(const cwi_listing *l, const int32_t *who, int32_t n, float *out)
{
    (void)who;
    (void)n;
    memcpy(out, l->newcomer, (size_t)l->n_scores * sizeof *out);
}

void cwi_sort_distinct(cwi_csr *row)
{
    int64_t n = row->start[1], kept = 0;
    cwi_csr_sort(row);
    for (int64_t k = 0; k < n; k++)
        if (kept == 0 || row->value[kept - 1] != row->value[k]) row->value[kept++] = row->value[k];
    row->start[1] = kept;
}

/* The one list of somebody without parameters, from the items liked or by popularity. */
static cw_status list_newcomer(cw_context *ctx, cwi_listing *listing, const cwi_csr *liked,
                               cw_list_way way)
{
    cw_status status = CW_NO_MEMORY;
    const cwi_ranker *ranker = &listing->rec->ranker;
    static const int32_t first[] = {0};
    float *score = cwi_alloc(ctx, (size_t)ranker->n_items, sizeof *score);

    if (!score) goto done;
    if (way == CW_WAY_FOLD_IN)
        CW_TRY(ranker->fold_in(ctx, ranker, liked->value, (int32_t)liked->start[1], score));
    for (int32_t i = 0; i < ranker->n_items && way == CW_WAY_POPULARITY; i++)
        score[i] = (float)listing->rec->model->degree[i];
    listing->score = score_newcomer;
    listing->newcomer = score;
    listing->who = first;
    listing->skip = liked;
    CW_TRY(cwi_listing_run(ctx, listing, 1));
done:
    cwi_free(score);
    return status;
}

static cw_status check_history(cw_context *ctx, const cw_recommender *rec, const int32_t *history,
                               size_t n)
{
    if (!rec->ranker.fold_in)
        return cwi_fail(ctx, CW_UNSUPPORTED, "backbone %s has no way to recommend from a history",
                        rec->model->backbone);
    if (n == 0) return cwi_fail(ctx, CW_BAD_ARG, "a history needs at least one item");
    if (n > INT32_MAX) return cwi_fail(ctx, CW_BAD_ARG, "a history of %zu items is too long", n);
    return cwi_check_numbers(ctx, "history", history, n, rec->model->n_items);
}

cw_status cw_recommend_history(cw_context *ctx, const cw_recommender *rec, const int32_t *history,
                               size_t n, const cw_rules *rules, const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;
    int64_t start[] = {0, (int64_t)n};
    cwi_csr liked = {.n_rows = 1, .start = start};

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, rules, lists, &listing));
    CW_TRY(check_history(ctx, rec, history, n));
    liked.value = cwi_alloc(ctx, n, sizeof *liked.value);
    CW_TRY(liked.value ? CW_OK : CW_NO_MEMORY);
    memcpy(liked.value, history, n * sizeof *liked.value);
    cwi_sort_distinct(&liked);
    CW_TRY(list_newcomer(ctx, &listing, &liked, CW_WAY_FOLD_IN));
done:
    cwi_free(liked.value);
    cwi_listing_clear(&listing);
    return status;
}

/* One row of many, as row 0; start is room for where it begins and ends. */
static cwi_csr single_row(const cwi_csr *rows, int32_t row, int64_t start[2])
{
    start[0] = 0;
    start[1] = rows->start[row + 1] - rows->start[row];
    return (cwi_csr){.n_rows = 1, .start = start, .value = rows->value + rows->start[row]};
}

/* What the user had and n items more. */
static cw_status join_items(cw_context *ctx, const cw_recommender *rec, int32_t user,
                            const int32_t *more, size_t n, cwi_csr *liked)
{
    const int32_t *had;
    size_t n_had = user >= 0 ? cw_user_items(rec, user, &had) : 0;
    liked->value = cwi_alloc(ctx, n_had + n, sizeof *liked->value);
    if (!liked->value) return CW_NO_MEMORY;
    if (n_had > 0) memcpy(liked->value, had, n_had * sizeof *had);
    memcpy(liked->value + n_had, more, n * sizeof *more);
    liked->start[1] = (int64_t)(n_had + n);
    cwi_sort_distinct(liked);
    return CW_OK;
}

cw_status cw_recommend_more(cw_context *ctx, const cw_recommender *rec, int32_t user,
                            const int32_t *more, size_t n, const cw_rules *rules,
                            const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;
    int64_t start[2] = {0, 0}, hidden_start[2];
    cwi_csr liked = {.n_rows = 1, .start = start}, hidden;

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, rules, lists, &listing));
    CW_TRY(check_history(ctx, rec, more, n));
    int32_t n_users = rec->model->n_users + rec->model->rest.users.count;
    if (user != -1) CW_TRY(cwi_check_numbers(ctx, "user", &user, 1, n_users));
    CW_TRY(join_items(ctx, rec, user, more, n, &liked));
    if (user >= 0 && cwi_model_count_hidden(rec->model) > 0) {
        hidden = single_row(&rec->model->rest.hidden, user, hidden_start);
        listing.hidden = &hidden;
    }
    CW_TRY(list_newcomer(ctx, &listing, &liked, CW_WAY_FOLD_IN));
done:
    cwi_free(liked.value);
    cwi_listing_clear(&listing);
    return status;
}

cw_status cw_popular(cw_context *ctx, const cw_recommender *rec, const cw_rules *rules,
                     const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;
    int64_t start[] = {0, 0};
    int32_t none = 0;
    const cwi_csr nothing = {.n_rows = 1, .start = start, .value = &none};

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, rules, lists, &listing));
    CW_TRY(list_newcomer(ctx, &listing, &nothing, CW_WAY_POPULARITY));
done:
    cwi_listing_clear(&listing);
    return status;
}

/* Whoever liked nothing gets what most people had. */
static cw_status list_history(cw_context *ctx, cwi_listing *listing, const int64_t *start,
                              const int32_t *items, int32_t *row)
{
    int64_t own[2] = {0, start[1] - start[0]};
    cwi_csr liked = {.n_rows = 1, .start = own, .value = row};
    if (own[1] > 0) memcpy(row, items + start[0], (size_t)own[1] * sizeof *row);
    cwi_sort_distinct(&liked);
    return list_newcomer(ctx, listing, &liked, own[1] > 0 ? CW_WAY_FOLD_IN : CW_WAY_POPULARITY);
}

static cw_status list_histories(cw_context *ctx, cwi_listing *listing, const int64_t *start,
                                const int32_t *items, size_t n)
{
    const cw_lists all = listing->out;
    cw_status status = CW_OK;
    int64_t most = 0;
    for (size_t k = 0; k < n; k++)
        if (start[k + 1] - start[k] > most) most = start[k + 1] - start[k];
    int32_t *row = cwi_alloc(ctx, (size_t)most, sizeof *row);
    if (!row) return CW_NO_MEMORY;
    for (size_t k = 0; k < n; k++) {
        listing->out = cwi_lists_from(&all, k);
        CW_TRY(cwi_progress(ctx, "recommending", (int64_t)k, (int64_t)n));
        CW_TRY(list_history(ctx, listing, start + k, items, row));
    }
done:
    cwi_free(row);
    return status;
}

cw_status cw_recommend_histories(cw_context *ctx, const cw_recommender *rec, const int64_t *start,
                                 const int32_t *items, size_t n, const cw_rules *rules,
                                 const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, rules, lists, &listing));
    CW_TRY(cwi_check_rows(ctx, "histories", start, items, n, rec->model->n_items));
    if (!rec->ranker.fold_in)
        CW_TRY(cwi_fail(ctx, CW_UNSUPPORTED, "backbone %s has no way to recommend from a history",
                        rec->model->backbone));
    listing.own = NULL;
    CW_TRY(list_histories(ctx, &listing, start, items, n));
done:
    cwi_listing_clear(&listing);
    return status;
}

/* ---- users and guests of the model --------------------------------------------------- */

cw_list_way cw_user_way(const cw_recommender *rec, int32_t user)
{
    const cw_model *model = rec->model;
    int32_t guest = user - model->n_users;
    if (guest < 0) return CW_WAY_TRAINED;
    bool has_rows = guest < model->rest.users.count &&
                    model->rest.rows.start[guest + 1] > model->rest.rows.start[guest];
    bool counts_alone = strcmp(model->backbone, "pop") == 0;
    return has_rows && rec->ranker.fold_in && !counts_alone ? CW_WAY_FOLD_IN : CW_WAY_POPULARITY;
}

cw_list_way cw_item_way(const cw_recommender *rec, int32_t item)
{
    return item < rec->model->n_items ? CW_WAY_TRAINED : CW_WAY_POPULARITY;
}

const char *cw_way_name(cw_list_way way)
{
    static const char *const names[] = {"trained", "fold-in", "popularity"};
    return names[way];
}

/* Lists for n users in a row, all of them trained. */
static cw_status list_trained(cw_context *ctx, cwi_listing *listing, const int32_t *users, size_t n)
{
    const cw_model *model = listing->rec->model;
    listing->score = score_users;
    listing->who = users;
    listing->skip = &model->seen;
    listing->hidden = cwi_model_count_hidden(model) > 0 ? &model->rest.hidden : NULL;
    bool is_done;
    CW_PASS(cwi_listing_screen(ctx, listing, n, &is_done));
    if (is_done) return CW_OK;
    CW_PASS(cwi_ranker_bring(ctx, &listing->rec->ranker, users, (int64_t)n));
    return cwi_listing_run(ctx, listing, n);
}

static cw_status list_guest(cw_context *ctx, cwi_listing *listing, int32_t user)
{
    const cw_recommender *rec = listing->rec;
    const cw_model *model = rec->model;
    bool has_hidden = cwi_model_count_hidden(model) > 0;
    int64_t own_start[2], hidden_start[2];
    cwi_csr own = single_row(&model->rest.rows, user - model->n_users, own_start), hidden;

    if (has_hidden) hidden = single_row(&model->rest.hidden, user, hidden_start);
    listing->hidden = has_hidden ? &hidden : NULL;
    cw_status status = list_newcomer(ctx, listing, &own, cw_user_way(rec, user));
    listing->hidden = NULL;
    return status;
}

/* Those of training among 0 .. n - 1, from `first` on: where do they end? */
static size_t run_of(const int32_t *number, size_t first, size_t n, int32_t limit)
{
    while (first < n && number[first] < limit) first++;
    return first;
}

/* Users of training are ranked together, guests one after the other. */
static cw_status list_users(cw_context *ctx, cwi_listing *listing, const int32_t *users, size_t n)
{
    const cw_lists all = listing->out;
    for (size_t at = 0, end; at < n; at = end) {
        listing->out = cwi_lists_from(&all, at);
        listing->own_first = (int64_t)at;
        end = run_of(users, at, n, listing->rec->model->n_users);
        if (end > at) {
            CW_PASS(list_trained(ctx, listing, users + at, end - at));
        } else {
            CW_PASS(list_guest(ctx, listing, users[at]));
            end = at + 1;
        }
    }
    return CW_OK;
}

cw_status cw_recommend(cw_context *ctx, const cw_recommender *rec, const int32_t *users, size_t n,
                       const cw_rules *rules, const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, rules, lists, &listing));
    CW_TRY(cwi_check_numbers(ctx, "users", users, n,
                             rec->model->n_users + rec->model->rest.users.count));
    CW_TRY(cwi_listing_own(ctx, rules, n, &listing));
    CW_TRY(list_users(ctx, &listing, users, n));
done:
    cwi_listing_clear(&listing);
    return status;
}

/* ---- items and users that are alike ----------------------------------------------- */

static double dot(const float *a, const float *b, int32_t width)
{
    double sum = 0.0;
    for (int32_t d = 0; d < width; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

/* Cosines of some vectors of a table with all; 0 where a vector has no direction. */
static void score_alike(const cwi_listing *l, const int32_t *who, int32_t n, float *out)
{
    int32_t width = l->rec->ranker.width;
    for (int32_t k = 0; k < n; k++, out += l->n_scores) {
        const float *own = l->alike + (int64_t)who[k] * width;
        double length = sqrt(dot(own, own, width));
        for (int32_t r = 0; r < l->n_scores; r++) {
            const float *other = l->alike + (int64_t)r * width;
            double both = length * sqrt(dot(other, other, width));
            out[r] = both > 0.0 ? (float)(dot(own, other, width) / both) : 0.0f;
        }
    }
}

/* Lists of what lies near n of the vectors; nothing is a neighbour of itself.  noun is "item" or
 * "user". */
static cw_status list_alike(cw_context *ctx, cwi_listing *listing, const char *noun,
                            const char *plural, const int32_t *who, size_t n)
{
    if (!listing->alike)
        return cwi_fail(ctx, CW_UNSUPPORTED, "backbone %s has no %s vectors to compare",
                        listing->rec->model->backbone, noun);
    CW_PASS(cwi_check_numbers(ctx, plural, who, n, listing->n_scores));
    listing->score = score_alike;
    listing->who = who;
    listing->with_skipped = false;
    return cwi_listing_run(ctx, listing, n);
}

/* Without vectors: the lists of those who had one of the items and nothing else. */
static cw_status list_followers(cw_context *ctx, cwi_listing *listing, const int32_t *items,
                                size_t n)
{
    const cw_lists all = listing->out;
    int64_t start[] = {0, 1};
    int32_t item;
    const cwi_csr alone = {.n_rows = 1, .start = start, .value = &item};
    CW_PASS(cwi_check_numbers(ctx, "items", items, n, listing->rec->model->n_items));
    listing->with_skipped = false;
    for (size_t k = 0; k < n; k++) {
        item = items[k];
        listing->out = cwi_lists_from(&all, k);
        CW_PASS(list_newcomer(ctx, listing, &alone, CW_WAY_FOLD_IN));
    }
    return CW_OK;
}

/* Of items that the model does not know nothing is known but what most people had. */
static cw_status list_items(cw_context *ctx, cwi_listing *listing, const int32_t *items, size_t n)
{
    const cw_lists all = listing->out;
    int64_t start[] = {0, 0};
    int32_t none = 0;
    const cwi_csr nothing = {.n_rows = 1, .start = start, .value = &none};
    for (size_t at = 0, end; at < n; at = end) {
        listing->out = cwi_lists_from(&all, at);
        listing->skip = NULL;
        end = run_of(items, at, n, listing->rec->model->n_items);
        if (end > at) {
            bool is_sum = listing->rec->ranker.explain != NULL; /* over what somebody had */
            CW_PASS(listing->alike || !is_sum
                        ? list_alike(ctx, listing, "item", "items", items + at, end - at)
                        : list_followers(ctx, listing, items + at, end - at));
        } else {
            CW_PASS(list_newcomer(ctx, listing, &nothing, CW_WAY_POPULARITY));
            end = at + 1;
        }
    }
    return CW_OK;
}

cw_status cw_similar_items(cw_context *ctx, const cw_recommender *rec, const int32_t *items,
                           size_t n, const cw_rules *rules, const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, rules, lists, &listing));
    CW_TRY(cwi_check_numbers(ctx, "items", items, n,
                             rec->model->n_items + rec->model->rest.items.count));
    listing.alike = rec->ranker.items;
    CW_TRY(list_items(ctx, &listing, items, n));
done:
    cwi_listing_clear(&listing);
    return status;
}

cw_status cw_similar_users(cw_context *ctx, const cw_recommender *rec, const int32_t *users,
                           size_t n, const cw_lists *lists)
{
    cw_status status;
    cwi_listing listing;

    cwi_begin(ctx);
    CW_TRY(cwi_listing_init(ctx, rec, NULL, lists, &listing));
    CW_TRY(cwi_ranker_bring_all(ctx, &rec->ranker));
    listing.alike = rec->ranker.users;
    listing.n_scores = rec->model->n_users;
    CW_TRY(list_alike(ctx, &listing, "user", "users", users, n));
done:
    cwi_listing_clear(&listing);
    return status;
}

/* ---- scores of pairs --------------------------------------------------------------- */

typedef struct pairs {
    const cwi_ranker *ranker;
    const int32_t *user, *item;
    float *score;
} pairs;

/* By the operation that lists are made with, so that the bits are those of lists. */
static cw_status score_products(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const pairs *p = arg;
    const cwi_ranker *ranker = p->ranker;
    const cwi_ops *ops = cwi_ops_best();
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        const float *user = ranker->users + (int64_t)p->user[k] * ranker->width;
        ops->score_block(&user, 1, ranker->items + (int64_t)p->item[k] * ranker->width, 1,
                         ranker->width, p->score + k);
    }
    return CW_OK;
}

/* Where a score cannot be had alone, all of a user are made. */
static cw_status score_whole_rows(cw_context *ctx, const pairs *p, int64_t n)
{
    cw_status status = CW_OK;
    float *row = cwi_alloc(ctx, (size_t)p->ranker->n_items, sizeof *row);
    if (!row) return CW_NO_MEMORY;
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || p->user[k] != p->user[k - 1]) {
            CW_TRY(cwi_progress(ctx, "scoring", k, n));
            p->ranker->score(p->ranker, &p->user[k], 1, row);
        }
        p->score[k] = row[p->item[k]];
    }
done:
    cwi_free(row);
    return status;
}

cw_status cw_score_pairs(cw_context *ctx, const cw_recommender *rec, const int32_t *users,
                         const int32_t *items, size_t n, float *scores)
{
    cwi_begin(ctx);
    CW_PASS(cwi_check_given(ctx, "the recommender", rec));
    CW_PASS(cwi_check_numbers(ctx, "users", users, n, rec->model->n_users));
    CW_PASS(cwi_check_numbers(ctx, "items", items, n, rec->model->n_items));
    if (n > 0) CW_PASS(cwi_check_given(ctx, "scores", scores));
    pairs p = {&rec->ranker, users, items, scores};
    CW_PASS(cwi_ranker_bring(ctx, p.ranker, users, (int64_t)n));
    if (cwi_ranker_is_dot(&rec->ranker))
        CW_PASS(cwi_pool_for(ctx, (int64_t)n, PAIRS_A_CHUNK, score_products, &p));
    else
        CW_PASS(score_whole_rows(ctx, &p, (int64_t)n));
    for (size_t k = 0; k < n; k++)
        if (isnan(scores[k])) CW_PASS(cwi_fail_nan(ctx));
    return CW_OK;
}

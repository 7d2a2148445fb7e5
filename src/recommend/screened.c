/*
 * screened.c - lists for many users at once, from bounds of the scores or by a device.
 *
 * Most scores are not made at all (evaluate/screen.h); those of the lists are made afterwards. Both
 * are the same bits as from all scores.
 */
#include <string.h>

#include "backend/backend.h"
#include "core/pool.h"
#include "evaluate/screen.h"
#include "evaluate/walk.h"
#include "recommend/recommend.h"

enum { LISTS_A_CHUNK = 256 };

bool cwi_listing_is_plain(const cwi_listing *l)
{
    return l->dial == 0 && l->n_boosted == 0 && l->n_barred == 0 && l->diversity == 0 &&
           !l->newcomer && !l->alike && (!l->hidden || l->with_skipped);
}

/* May a device make them?  It knows of terms and the dial. */
static bool is_for_device(const cwi_listing *l)
{
    return l->rec->ranker.list && l->n_boosted == 0 && l->n_barred == 0 && l->diversity == 0 &&
           !l->newcomer && !l->alike && !(l->hidden && l->own);
}

/* Whom each of the rows of the listing is for, once and no more, so that a user has one row. */
static bool rows_by_user(const cwi_listing *l, const cwi_csr *own, int64_t n, int64_t *start)
{
    int32_t n_users = l->rec->model->n_users;
    for (int64_t k = 0; k < n; k++) {
        int64_t row = l->own_first + k, user = l->who[k];
        if (start[user + 1] >= 0) return false;
        start[user + 1] = own->start[row + 1] - own->start[row];
    }
    start[0] = 0;
    for (int32_t u = 0; u < n_users; u++)
        start[u + 1] = start[u] + (start[u + 1] > 0 ? start[u + 1] : 0);
    return true;
}

/* What is left out, by user.  *fits is false when somebody is asked for twice with rows of their
 * own. */
static cw_status make_mask(cw_context *ctx, const cwi_listing *l, int64_t n, cwi_csr *mask,
                           bool *fits)
{
    size_t users = (size_t)l->rec->model->n_users;
    const cwi_csr *own = l->own;

    *fits = true;
    *mask = (cwi_csr){.n_rows = l->rec->model->n_users};
    mask->start = cwi_alloc_zero(ctx, users + 1, sizeof *mask->start);
    if (!mask->start) return CW_NO_MEMORY;
    if (!l->with_skipped && own) {
        memset(mask->start, -1, (users + 1) * sizeof *mask->start);
        *fits = rows_by_user(l, own, n, mask->start);
    }
    int64_t count = *fits ? mask->start[users] : 0;
    mask->value = cwi_alloc(ctx, (size_t)count, sizeof *mask->value);
    if (!mask->value) return CW_NO_MEMORY;
    for (int64_t k = 0; k < n && count > 0; k++) {
        int64_t row = l->own_first + k, begin = own->start[row];
        int64_t length = own->start[row + 1] - begin;
        if (length > 0)
            memcpy(mask->value + mask->start[l->who[k]], own->value + begin,
                   (size_t)length * sizeof *mask->value);
    }
    return CW_OK;
}

static void put_list(void *arg, const cwi_list *list)
{
    const cw_lists *out = arg;
    int32_t *items = out->items + (int64_t)list->row * out->k;
    for (int32_t r = 0; r < out->k; r++) items[r] = r < list->count ? list->item[r] : -1;
    if (out->counts) out->counts[list->row] = list->count;
}

/* A score of a list as it is made among all of them. */
static float score_one(const cwi_listing *l, const float *term, const float *user, int32_t item)
{
    const cwi_ranker *ranker = &l->rec->ranker;
    float score;
    cwi_ops_best()->score_block(&user, 1, ranker->items + (int64_t)item * ranker->width, 1,
                                ranker->width, &score);
    if (term) score += term[item];
    if (l->dial != 0) score = (float)((double)score + l->dial * l->rec->log_degree[item]);
    return score;
}

/* The scores of some lists. */
static cw_status score_lists(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_listing *l = arg;
    const cwi_ranker *ranker = &l->rec->ranker;
    const float *term;
    (void)chunk;
    (void)cwi_ranker_is_sum(ranker, &term);
    for (int64_t row = begin; row < end; row++) {
        const float *user = ranker->users + (int64_t)l->who[row] * ranker->width;
        const int32_t *items = l->out.items + row * l->out.k;
        float *scores = l->out.scores + row * l->out.k;
        for (int32_t r = 0; r < l->out.k; r++)
            scores[r] = items[r] >= 0 ? score_one(l, term, user, items[r]) : 0.0f;
    }
    return CW_OK;
}

static cw_status list_screened(cw_context *ctx, const cwi_listing *l, const cwi_csr *mask,
                               int32_t n)
{
    cw_lists out = l->out;
    const cwi_walk walk = {.ranker = &l->rec->ranker,
                           .mask = mask,
                           .users = l->who,
                           .n_users = n,
                           .k = l->out.k,
                           .dials = &l->dial,
                           .n_dials = 1,
                           .log_degree = l->rec->log_degree,
                           .collect = put_list,
                           .arg = &out,
                           .stage = "recommending"};
    CW_PASS(cwi_walk_run(ctx, &walk));
    if (!l->out.scores) return CW_OK;
    CW_PASS(cwi_ranker_bring(ctx, walk.ranker, l->who, n));
    return cwi_pool_for(ctx, n, LISTS_A_CHUNK, score_lists, (void *)l);
}

/* Do bounds, or a device, bring them sooner? */
static bool is_sooner(const cwi_listing *l, size_t n)
{
    const cwi_ranker *ranker = &l->rec->ranker;
    if (n > INT32_MAX) return false;
    if (is_for_device(l)) return true;
    return cwi_listing_is_plain(l) && cwi_ranker_is_dot(ranker) &&
           cwi_screen_pays(ranker, l->out.k, (int32_t)n);
}

cw_status cwi_listing_screen(cw_context *ctx, const cwi_listing *l, size_t n, bool *is_done)
{
    cw_status status = CW_OK;
    cwi_csr own = {0};
    bool fits = true;

    *is_done = false;
    if (!is_sooner(l, n)) return CW_OK;
    if (l->with_skipped || l->own)
        CW_TRY(make_mask(ctx, l, (int64_t)n, &own, &fits));
    else if (l->hidden)
        CW_TRY(cwi_csr_join(ctx, l->skip, l->hidden, &own));
    if (!fits) goto done;
    CW_TRY(list_screened(ctx, l, own.start ? &own : l->skip, (int32_t)n));
    *is_done = true;
done:
    cwi_csr_clear(&own);
    return status;
}

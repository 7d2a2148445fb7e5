/*
 * lists.c - rankers whose lists a GPU makes, from vectors of the host.
 *
 * Items are there for good, users go there with what each of them does not get, some at a time, so
 * that their number does not matter.  One thread at a time is served.
 */
#include "engine/cuda/lists.h"

#include <pthread.h>
#include <string.h>

#include "core/mem.h"

struct cwi_lists {
    const cwi_cuda_calls *calls;
    cwi_cuda_lister *device;
    pthread_mutex_t lock;
};

/* A GPU that fails is not one that cannot. */
cw_status cwi_lists_fail(cw_context *ctx, cw_status status, const char *why)
{
    return cwi_fail(ctx, status == CW_UNSUPPORTED ? CW_IO : status, "%s", why);
}

static cw_status pass_on(cw_context *ctx, cw_status status, const char *why)
{
    return status == CW_OK || !why[0] ? status : cwi_lists_fail(ctx, status, why);
}

cw_status cwi_lists_open(cw_context *ctx, const cwi_cuda_calls *calls, int device,
                         const cwi_ranker *ranker, cwi_lists **out)
{
    char why[CWI_CUDA_TEXT] = "";
    cwi_cuda_catalog catalog = {device, ranker->n_items, ranker->width, ranker->items, NULL};
    cwi_lists *lists = *out = cwi_alloc_zero(ctx, 1, sizeof *lists);
    if (!lists) return CW_NO_MEMORY;
    pthread_mutex_init(&lists->lock, NULL);
    lists->calls = calls;
    (void)cwi_ranker_is_sum(ranker, &catalog.term);
    cw_status status = calls->look_up(&catalog, &lists->device, why);
    if (status == CW_OK) return CW_OK;
    cwi_lists_close(lists);
    *out = NULL;
    return pass_on(ctx, status, why);
}

void cwi_lists_close(cwi_lists *lists)
{
    if (!lists) return;
    lists->calls->close_lister(lists->device);
    pthread_mutex_destroy(&lists->lock);
    cwi_free(lists);
}

cw_status cwi_lists_renew(cw_context *ctx, cwi_lists *lists, const cwi_ranker *ranker)
{
    char why[CWI_CUDA_TEXT] = "";
    return pass_on(ctx, lists->calls->renew(lists->device, ranker->items, why), why);
}

cw_status cwi_lists_gather(cw_context *ctx, const cwi_csr *mask, const int32_t *users, int32_t n,
                           cwi_pile *pile, const int64_t **start, const int32_t **value)
{
    int64_t count = 0, at = 0;
    for (int32_t r = 0; r < n; r++) count += mask->start[users[r] + 1] - mask->start[users[r]];
    int64_t *begin = cwi_pile_add(ctx, pile, (size_t)n + 1, sizeof *begin);
    int32_t *items = cwi_pile_add(ctx, pile, (size_t)count, sizeof *items);
    CW_PASS(pile->status);
    for (int32_t r = 0; r < n; r++) {
        int64_t first = mask->start[users[r]], length = mask->start[users[r] + 1] - first;
        begin[r] = at;
        if (length > 0) memcpy(items + at, mask->value + first, (size_t)length * sizeof *items);
        at += length;
    }
    begin[n] = at;
    *start = begin;
    *value = items;
    return CW_OK;
}

/* Lists for some of the users of a wish. */
static cw_status list_some(cw_context *ctx, const cwi_lists *lists, const cwi_ranker *ranker,
                           const cwi_wish *wish, int32_t first, int32_t n)
{
    char why[CWI_CUDA_TEXT] = "";
    cwi_pile pile = {0};
    int32_t width = ranker->width;
    const int32_t *users = wish->users + first;
    cwi_cuda_wish asked = {.n = n,
                           .k = wish->k,
                           .tilt = wish->tilt,
                           .item = wish->item + (int64_t)first * wish->k,
                           .count = wish->count + first};
    float *vectors = cwi_pile_add(ctx, &pile, (size_t)n, (size_t)width * sizeof *vectors);
    cw_status status =
        cwi_lists_gather(ctx, wish->mask, users, n, &pile, &asked.start, &asked.value);
    for (int32_t r = 0; r < n && status == CW_OK; r++)
        memcpy(vectors + (int64_t)r * width, ranker->users + (int64_t)users[r] * width,
               (size_t)width * sizeof *vectors);
    asked.vectors = vectors;
    if (status == CW_OK) status = pass_on(ctx, lists->calls->list(lists->device, &asked, why), why);
    cwi_pile_clear(&pile);
    return status;
}

static cw_status list(cw_context *ctx, const cwi_ranker *ranker, const cwi_wish *wish)
{
    cwi_lists *lists = ranker->lister;
    cw_status status = CW_OK;
    if (wish->k > CWI_CUDA_MOST_LISTED) return CW_UNSUPPORTED;
    pthread_mutex_lock(&lists->lock);
    int32_t most = lists->calls->most_rows(lists->device, wish->k);
    for (int32_t first = 0; first < wish->n && status == CW_OK; first += most)
        status = list_some(ctx, lists, ranker, wish, first,
                           wish->n - first < most ? wish->n - first : most);
    pthread_mutex_unlock(&lists->lock);
    return status;
}

void cwi_lists_serve(cwi_lists *lists, cwi_ranker *ranker)
{
    ranker->list = list;
    ranker->lister = lists;
}

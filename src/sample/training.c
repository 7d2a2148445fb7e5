/* training.c - training interactions in the order and shape that samplers want. */
#include "core/mem.h"
#include "sample/sampler.h"

/* Eight bits an item, so that few clear answers are missed, or one for every item there is. */
static uint32_t filter_bits(int64_t degree, int32_t n_items)
{
    uint32_t bits = 64;
    while (bits < 8 * degree && bits < (uint32_t)n_items) bits *= 2;
    return bits;
}

static cw_status create_filter(cw_context *ctx, cwi_training *t)
{
    const cwi_csr *by_user = &t->by_user;
    uint64_t words = 0;

    t->filter = cwi_alloc(ctx, (size_t)t->n_users, sizeof *t->filter);
    if (!t->filter) return CW_NO_MEMORY;
    for (int32_t u = 0; u < t->n_users; u++) {
        uint32_t bits = filter_bits(by_user->start[u + 1] - by_user->start[u], t->n_items);
        t->filter[u] = (cwi_filter){(uint32_t)words, bits - 1};
        words += bits / 64;
        if (words > UINT32_MAX)
            return cwi_fail(ctx, CW_UNSUPPORTED, "there are too many interactions to train on");
    }
    t->bits = cwi_alloc_zero(ctx, (size_t)words, sizeof *t->bits);
    if (!t->bits) return CW_NO_MEMORY;
    for (int64_t e = 0; e < t->count; e++) {
        cwi_filter f = t->filter[t->user[e]];
        uint32_t at = (uint32_t)t->item[e] & f.mask;
        t->bits[f.start + at / 64] |= 1ull << at % 64;
    }
    return CW_OK;
}

cw_status cwi_training_create(cw_context *ctx, int32_t n_users, int32_t n_items,
                              const cwi_pairs *train, cwi_training *out)
{
    cw_status status;
    *out = (cwi_training){.n_users = n_users, .n_items = n_items, .count = train->count};
    CW_TRY(cwi_csr_create(ctx, train->user, train->item, train->count, n_users, &out->by_user));
    out->user = cwi_alloc(ctx, (size_t)train->count, sizeof *out->user);
    out->item = cwi_alloc(ctx, (size_t)train->count, sizeof *out->item);
    out->degree = cwi_alloc(ctx, (size_t)n_items, sizeof *out->degree);
    status = out->user && out->item && out->degree ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    for (int32_t u = 0; u < n_users; u++)
        for (int64_t e = out->by_user.start[u]; e < out->by_user.start[u + 1]; e++) {
            out->user[e] = u;
            out->item[e] = out->by_user.value[e];
        }
    cwi_csr_sort(&out->by_user);
    cwi_degrees(train->item, train->count, n_items, out->degree);
    CW_TRY(create_filter(ctx, out));
done:
    if (status != CW_OK) cwi_training_clear(out);
    return status;
}

void cwi_training_clear(cwi_training *training)
{
    cwi_csr_clear(&training->by_user);
    cwi_free(training->user);
    cwi_free(training->item);
    cwi_free(training->degree);
    cwi_pairs_clear(&training->treatment);
    cwi_free(training->propensity);
    cwi_free(training->filter);
    cwi_free(training->bits);
    *training = (cwi_training){0};
}

bool cwi_training_unseen(const cwi_training *training, int32_t user, cwi_rng *rng, int32_t *item)
{
    const cwi_csr *by_user = &training->by_user;
    if (by_user->start[user + 1] - by_user->start[user] >= training->n_items) return false;
    do *item = (int32_t)cwi_rng_below(rng, (uint64_t)training->n_items);
    while (cwi_training_has(training, user, *item));
    return true;
}

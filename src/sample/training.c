/* training.c - training interactions in the order and shape that samplers want. */
#include "core/mem.h"
#include "sample/dealt.h"

static cw_status create_bits(cw_context *ctx, cwi_training *t)
{
    t->log_words = 6;
    while (t->count >> t->log_words > 4) t->log_words++;
    t->bits = cwi_alloc_zero(ctx, (size_t)1 << t->log_words, sizeof *t->bits);
    if (!t->bits) return CW_NO_MEMORY;
    for (int64_t e = 0; e < t->count; e++) {
        cwi_trace trace = cwi_training_trace(t, t->pair[e].user, t->pair[e].item);
        *trace.word |= trace.bits;
    }
    return CW_OK;
}

cw_status cwi_training_list(cw_context *ctx, int32_t n_users, int32_t n_items,
                            const cwi_pairs *train, cwi_training *out)
{
    cw_status status;
    *out = (cwi_training){.n_users = n_users, .n_items = n_items, .count = train->count};
    CW_TRY(cwi_csr_create(ctx, train->user, train->item, train->count, n_users, &out->by_user));
    out->pair = cwi_alloc(ctx, (size_t)train->count, sizeof *out->pair);
    out->degree = cwi_alloc(ctx, (size_t)n_items, sizeof *out->degree);
    status = out->pair && out->degree ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    for (int32_t u = 0; u < n_users; u++)
        for (int64_t e = out->by_user.start[u]; e < out->by_user.start[u + 1]; e++)
            out->pair[e] = (cwi_pair){u, out->by_user.value[e]};
    cwi_csr_sort(&out->by_user);
    cwi_degrees(train->item, train->count, n_items, out->degree);
done:
    if (status != CW_OK) cwi_training_clear(out);
    return status;
}

cw_status cwi_training_create(cw_context *ctx, int32_t n_users, int32_t n_items,
                              const cwi_pairs *train, cwi_training *out)
{
    CW_PASS(cwi_training_list(ctx, n_users, n_items, train, out));
    cw_status status = create_bits(ctx, out);
    if (status != CW_OK) cwi_training_clear(out);
    return status;
}

void cwi_training_clear(cwi_training *training)
{
    cwi_csr_clear(&training->by_user);
    cwi_free(training->pair);
    cwi_free(training->degree);
    cwi_pairs_clear(&training->treatment);
    cwi_free(training->propensity);
    cwi_free(training->bits);
    cwi_dealt_free(training->dealt);
    *training = (cwi_training){0};
}

void cwi_draws_add(cwi_draws *draws, const cwi_draws *more)
{
    for (int g = 0; g < CWI_MAX_GROUPS; g++) {
        draws->slots[g] = more->slots[g];
        draws->attempts[g] += more->attempts[g];
        draws->accepted[g] += more->accepted[g];
    }
}

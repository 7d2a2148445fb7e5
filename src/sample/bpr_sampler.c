/* bpr_sampler.c - an observed pair and an item that the user did not have. */
#include <string.h>

#include "core/mem.h"
#include "core/option_rows.h"
#include "sample/sampler.h"

typedef struct bpr_state {
    cwi_drawing drawing;
    bool by_user;   /* draw a user, then one of their pairs */
    int32_t *users; /* [n_users] those with a pair, for by_user */
    int32_t n_users;
} bpr_state;

/* A row being drawn, in three parts, each of which asks for what the next reads. */
typedef struct bpr_draft {
    int64_t row;
    cwi_pair pair;
    int32_t negative;
} bpr_draft;

/* A uniformly drawn pair, or one of a uniformly drawn user. */
CWI_FORMULA void bpr_draw_positive(const bpr_state *s, cwi_rng *rng, bpr_draft *d)
{
    const cwi_training *t = s->drawing.training;
    int64_t first = 0, count = t->count;
    if (s->by_user) {
        int32_t user = s->users[cwi_rng_below(rng, (uint64_t)s->n_users)];
        first = t->by_user.start[user];
        count = t->by_user.start[user + 1] - first;
    }
    d->row = first + (int64_t)cwi_rng_below(rng, (uint64_t)count);
    if (!t->asking) CWI_FETCH(t->pair + d->row);
}

CWI_FORMULA void bpr_guess_negative(const bpr_state *s, cwi_rng *rng, bpr_draft *d)
{
    const cwi_training *t = s->drawing.training;
    d->pair = cwi_training_pair(t, d->row);
    d->negative = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_items);
    if (t->bits) CWI_FETCH(cwi_training_trace(t, d->pair.user, d->negative).word);
}

/* Rows that are made: none when the user had all items. */
CWI_FORMULA int64_t bpr_make_row(const bpr_state *s, cwi_rng *rng, bpr_draft *d, int32_t *user,
                                 int32_t *item)
{
    const cwi_training *t = s->drawing.training;
    if (cwi_training_has(t, d->pair.user, d->negative) &&
        !cwi_training_unseen(t, d->pair.user, rng, &d->negative))
        return 0;
    user[0] = user[1] = d->pair.user;
    item[0] = d->pair.item;
    item[1] = d->negative;
    return 1;
}

CWI_FORMULA int64_t bpr_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                             int32_t *item, float *mark, int64_t *tried)
{
    const bpr_state *s = (const bpr_state *)opened;
    bpr_draft d;
    (void)group;
    (void)mark;
    ++*tried;
    bpr_draw_positive(s, rng, &d);
    bpr_guess_negative(s, rng, &d);
    return bpr_make_row(s, rng, &d, user, item);
}

#if !defined(__cplusplus)
static const cw_option_info bpr_options[] = {
    WORD("pos", "interaction", "interaction|user",
         "draw an interaction, or a user and then one of their interactions"),
    {0}};

/* Memory is far away, so that each part of the work is done for several rows at a time. */
static int64_t bpr_draw_many(const void *opened, int group, int64_t n, cwi_rng *rng, int32_t *user,
                             int32_t *item, float *mark, int64_t *tried)
{
    enum { AT_ONCE = 64 };
    const bpr_state *s = opened;
    bpr_draft d[AT_ONCE];
    int64_t kept = 0;
    (void)group;
    (void)mark;
    *tried += n;
    for (; n > 0; n -= AT_ONCE, rng += AT_ONCE) {
        int64_t now = n < AT_ONCE ? n : AT_ONCE;
        for (int64_t c = 0; c < now; c++) bpr_draw_positive(s, &rng[c], &d[c]);
        for (int64_t c = 0; c < now; c++) bpr_guess_negative(s, &rng[c], &d[c]);
        for (int64_t c = 0; c < now; c++)
            kept += bpr_make_row(s, &rng[c], &d[c], user + 2 * kept, item + 2 * kept);
    }
    return kept;
}

static cw_status bpr_open(cw_context *ctx, const cw_options *options, void *opened)
{
    bpr_state *s = opened;
    const cwi_training *t = s->drawing.training;
    s->by_user = strcmp(cwi_options_text(options, "pos"), "user") == 0;
    s->users = cwi_alloc(ctx, (size_t)t->n_users, sizeof *s->users);
    if (!s->users) return CW_NO_MEMORY;
    for (int32_t u = 0; u < t->n_users; u++)
        if (t->by_user.start[u] < t->by_user.start[u + 1]) s->users[s->n_users++] = u;
    s->drawing.plan =
        (cwi_draw_plan){.n_groups = 1, .group = {{cwi_options_integer(options, "batch"), 2, 1, 2}}};
    return CW_OK;
}

static void bpr_close(void *opened)
{
    bpr_state *s = opened;
    cwi_free(s->users);
}

/* Which users have interactions is not dealt out. */
static bool bpr_asks(const cw_options *options)
{
    return strcmp(cwi_options_text(options, "pos"), "interaction") == 0;
}

const cwi_sampler cwi_sampler_bpr = {.name = "bpr",
                                     .bytes = sizeof(bpr_state),
                                     .open = bpr_open,
                                     .close = bpr_close,
                                     .draw = bpr_draw,
                                     .draw_many = bpr_draw_many,
                                     .asks = bpr_asks,
                                     .options = bpr_options};
#endif

/* ranker.c - scores by inner products of a user's vector with all item vectors. */
#include "score/ranker.h"

#include "backend/backend.h"
#include "core/mem.h"
#include "score/foldin.h"

static void score_users(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    enum { AT_ONCE = CWI_SCORE_USERS };
    const cwi_ops *ops = cwi_ops_best();
    const float *vector[AT_ONCE];

    for (int32_t first = 0; first < n; first += AT_ONCE) {
        int32_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (int32_t k = 0; k < count; k++)
            vector[k] = ranker->users + (int64_t)users[first + k] * ranker->width;
        ops->score_block(vector, count, ranker->items, ranker->n_items, ranker->width,
                         out + (int64_t)first * ranker->n_items);
    }
}

void cwi_ranker_dot(const float *users, const float *items, int32_t n_users, int32_t n_items,
                    int32_t width, cwi_ranker *out)
{
    *out = (cwi_ranker){.n_users = n_users,
                        .n_items = n_items,
                        .score = score_users,
                        .fold_in = cwi_foldin_dot,
                        .items = items,
                        .users = users,
                        .width = width};
}

bool cwi_ranker_is_dot(const cwi_ranker *ranker)
{
    return ranker->score == score_users;
}

void cwi_ranker_narrow(cwi_ranker *ranker, int32_t first, int32_t n)
{
    ranker->items += (int64_t)first * ranker->width;
    ranker->n_items = n;
}

void cwi_ranker_close(cwi_ranker *ranker)
{
    if (ranker->gram) cwi_free(atomic_load(ranker->gram));
    cwi_free(ranker->gram);
    if (ranker->close) ranker->close(ranker);
    cwi_pile_clear(&ranker->pile);
    *ranker = (cwi_ranker){0};
}

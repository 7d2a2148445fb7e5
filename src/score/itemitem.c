/*
 * itemitem.c - sums of rows of a matrix from items to items.
 *
 * A score is summed in double in the order of the user's items and rounded once, so that equal
 * sums stay equal whatever the order of their terms.  Columns are done in blocks that fit the
 * stack, because a ranker cannot allocate.
 */
#include "score/itemitem.h"

#include "backend/backend.h"

enum { BLOCK = 2048 };

/* Entries of the row from column `first` on, n columns. */
static void add_sparse(const cwi_itemitem *m, int32_t row, int32_t first, int32_t n, double *sum)
{
    int64_t begin = m->rows.start[row], end = m->rows.start[row + 1];
    int64_t e = begin + cwi_lower_bound(m->rows.value + begin, end - begin, first);
    for (; e < end && m->rows.value[e] - first < n; e++)
        sum[m->rows.value[e] - first] += (double)m->value[e];
}

/* Scores of all items for who has these, which are ascending; repeats count once. */
static void score_items(const cwi_ranker *ranker, const int32_t *items, int64_t n, float *out)
{
    const cwi_itemitem *m = ranker->state;
    const cwi_ops *ops = cwi_ops_best();
    for (int32_t first = 0; first < ranker->n_items; first += BLOCK) {
        double sum[BLOCK] = {0};
        int32_t left = ranker->n_items - first, width = left < BLOCK ? left : BLOCK;
        for (int64_t k = 0; k < n; k++) {
            if (k > 0 && items[k] == items[k - 1]) continue;
            if (m->dense)
                ops->add_row(m->dense + (int64_t)items[k] * ranker->n_items + first, width, sum);
            else
                add_sparse(m, items[k], first, width, sum);
        }
        for (int32_t c = 0; c < width; c++) out[first + c] = (float)sum[c];
        if (left <= BLOCK) break; /* beyond it `first` may not be counted */
    }
}

static void score_users(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    const cwi_csr *seen = &((const cwi_itemitem *)ranker->state)->seen;
    for (int32_t k = 0; k < n; k++)
        score_items(ranker, seen->value + seen->start[users[k]],
                    seen->start[users[k] + 1] - seen->start[users[k]],
                    out + (int64_t)k * ranker->n_items);
}

static cw_status fold_in(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out)
{
    (void)ctx;
    score_items(ranker, items, n, out);
    return CW_OK;
}

/* One entry of the row of each item; of repeats the first counts. */
static cw_status explain(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         int32_t item, float *added)
{
    const cwi_itemitem *m = ranker->state;
    (void)ctx;
    for (int32_t k = 0; k < n; k++) {
        double sum = 0.0;
        if (m->dense)
            sum = (double)m->dense[(int64_t)items[k] * ranker->n_items + item];
        else
            add_sparse(m, items[k], item, 1, &sum);
        added[k] = (float)sum;
    }
    return CW_OK;
}

void cwi_itemitem_rank(const cwi_shape *shape, cwi_itemitem *matrix, cwi_pile pile, cwi_ranker *out)
{
    matrix->seen = *shape->train;
    *out = (cwi_ranker){.n_users = shape->n_users,
                        .n_items = shape->n_items,
                        .score = score_users,
                        .fold_in = fold_in,
                        .explain = explain,
                        .state = matrix,
                        .pile = pile};
}

/* sides.c - train once by user and once by item, without repeats. */
#include "score/sides.h"

#include "core/mem.h"

static int64_t list_distinct(const cwi_shape *shape, int32_t *user, int32_t *item)
{
    const cwi_csr *train = shape->train;
    int64_t n = 0;
    for (int32_t u = 0; u < shape->n_users; u++)
        for (int64_t e = train->start[u]; e < train->start[u + 1]; e++) {
            if (e > train->start[u] && train->value[e] == train->value[e - 1]) continue;
            user[n] = u;
            item[n++] = train->value[e];
        }
    return n;
}

cw_status cwi_sides_create(cw_context *ctx, const cwi_shape *shape, cwi_sides *out)
{
    cw_status status;
    cwi_pile pile = {0};
    size_t rows = (size_t)shape->train->start[shape->n_users];
    *out = (cwi_sides){0};
    int32_t *user = cwi_pile_add(ctx, &pile, rows, sizeof *user);
    int32_t *item = cwi_pile_add(ctx, &pile, rows, sizeof *item);
    CW_TRY(pile.status);
    int64_t n = list_distinct(shape, user, item);
    CW_TRY(cwi_csr_create(ctx, user, item, n, shape->n_users, &out->by_user));
    CW_TRY(cwi_csr_create(ctx, item, user, n, shape->n_items, &out->by_item));
done:
    cwi_pile_clear(&pile);
    return status;
}

void cwi_sides_clear(cwi_sides *sides)
{
    cwi_csr_clear(&sides->by_user);
    cwi_csr_clear(&sides->by_item);
}

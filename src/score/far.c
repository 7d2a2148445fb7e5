/*
 * far.c - a ranker by inner products of a table that lies in a file.
 *
 * Vectors of items are read once.  Those of users are there for those alone who are ranked now, so
 * that memory does not grow with the number of users.
 */
#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "score/table.h"

typedef struct cwi_far_users {
    cwi_far *far;
    bool owns;      /* `far`, which is borrowed else */
    float *vectors; /* [rows][columns] what is ranked by: those of `far`, or made of them */
    size_t space;   /* of vectors; 0: those of `far` */
    int64_t n_users;
    int32_t columns, parts;
    bool is_cosine;
} cwi_far_users;

void cwi_far_users_close(cwi_far_users *f)
{
    if (!f) return;
    if (f->space > 0) cwi_space_close(f->vectors, f->space);
    if (f->owns) cwi_far_close(f->far);
    cwi_free(f);
}

/* What cwi_table_rank makes of whole tables. */
static void make_row(const cwi_far_users *f, int64_t row)
{
    int32_t width = f->columns / f->parts;
    float *to = f->vectors + row * f->columns;
    memcpy(to, f->far->data + row * f->far->columns, (size_t)f->columns * sizeof *to);
    for (int32_t p = 0; f->is_cosine && p < f->parts; p++)
        (void)cwi_ops_best()->normalise(to + p * width, width, to + p * width);
}

static cw_status read_rows(cw_context *ctx, const cwi_far_users *f, int64_t first, int64_t n)
{
    enum { AT_ONCE = 4096 };
    if (f->space == 0) return cwi_far_read(ctx, f->far, first, n);
    for (int64_t some; n > 0; first += some, n -= some) {
        some = n < AT_ONCE ? n : AT_ONCE;
        CW_PASS(cwi_far_read(ctx, f->far, first, some));
        for (int64_t row = first; row < first + some; row++) make_row(f, row);
        cwi_far_forget(f->far, first, some);
    }
    return CW_OK;
}

cw_status cwi_ranker_bring(cw_context *ctx, const cwi_ranker *ranker, const int32_t *users,
                           int64_t n)
{
    const cwi_far_users *f = ranker->far;
    if (!f) return CW_OK;
    cwi_space_forget(f->vectors, 0, (size_t)f->n_users * (size_t)f->columns * sizeof *f->vectors);
    for (int64_t k = 0, some; k < n; k += some) {
        for (some = 1; k + some < n && users[k + some] == users[k] + some;) some++;
        CW_PASS(read_rows(ctx, f, users[k], some));
    }
    return CW_OK;
}

cw_status cwi_ranker_bring_all(cw_context *ctx, const cwi_ranker *ranker)
{
    return ranker->far ? read_rows(ctx, ranker->far, 0, ranker->n_users) : CW_OK;
}

cw_status cwi_table_rank_far(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                             const cwi_tensor *table, bool owned, cwi_ranker *out)
{
    int32_t d = (int32_t)table->columns, n_users = shape->n_users;
    cwi_far_users *f = cwi_alloc(ctx, 1, sizeof *f);
    if (!f) return CW_NO_MEMORY;
    *f = (cwi_far_users){.far = table->far,
                         .vectors = table->data,
                         .n_users = n_users,
                         .columns = d / shape->heads * shape->ranked,
                         .parts = shape->ranked,
                         .is_cosine = options && cwi_options_choice(options, "scorer") == 1};
    cw_status status = CW_OK;
    if (f->columns < d || f->is_cosine) {
        f->space = (size_t)table->rows * (size_t)f->columns * sizeof *f->vectors;
        f->vectors = cwi_space_open(ctx, f->space);
        if (!f->vectors) status = CW_NO_MEMORY;
    }
    if (status == CW_OK) status = read_rows(ctx, f, n_users, shape->n_items);
    f->owns = owned && status == CW_OK;
    if (status != CW_OK) {
        cwi_far_users_close(f);
        return status;
    }
    cwi_ranker_dot(f->vectors, f->vectors + (int64_t)n_users * f->columns, n_users, shape->n_items,
                   f->columns, out);
    out->is_cosine = f->is_cosine;
    out->far = f;
    return CW_OK;
}

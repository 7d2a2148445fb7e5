/* foldin.c - ridge regression on implicit feedback, solved by Cholesky in double. */
#include "score/foldin.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/elementary.h"
#include "core/mem.h"
#include "core/pool.h"

static const double ridge = 0.1; /* lambda in units of the mean square of a vector's numbers */

enum { ROWS_A_CHUNK = 8 };

/* The Gram matrix of all item vectors, its upper triangle. */
typedef struct gram {
    const float *items;
    int32_t n_items, width;
    double *sum; /* [width][width] */
} gram;

static void add_outer(const float *v, int64_t begin, int64_t end, int32_t width, double weight,
                      double *sum)
{
    for (int64_t a = begin; a < end; a++) {
        double scaled = weight * (double)v[a];
        double *row = sum + a * width;
        for (int64_t b = a; b < width; b++) row[b] += scaled * (double)v[b];
    }
}

/* Some rows of the matrix: each number is summed in the order of the items. */
static cw_status gram_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const gram *g = arg;
    (void)chunk;
    for (int64_t i = 0; i < g->n_items; i++)
        add_outer(g->items + i * g->width, begin, end, g->width, 1.0, g->sum);
    return CW_OK;
}

/* A = R^T R in place for a symmetric A given by its upper triangle.  False when A is not positive
 * definite. */
static bool factorise(double *a, int32_t n)
{
    for (int64_t r = 0; r < n; r++) {
        double *row = a + r * n;
        for (int64_t p = 0; p < r; p++) {
            const double *above = a + p * n;
            for (int64_t c = r; c < n; c++) row[c] -= above[r] * above[c];
        }
        if (!(row[r] > 0.0 && isfinite(row[r]))) return false;
        double scale = 1.0 / sqrt(row[r]);
        for (int64_t c = r; c < n; c++) row[c] *= scale;
    }
    return true;
}

/* Solve R^T R x = b in place: two triangular systems. */
static void solve(const double *a, int32_t n, double *x)
{
    for (int64_t r = 0; r < n; r++) {
        x[r] /= a[r * n + r];
        for (int64_t c = r + 1; c < n; c++) x[c] -= a[r * n + c] * x[r];
    }
    for (int64_t r = n - 1; r >= 0; r--) {
        for (int64_t c = r + 1; c < n; c++) x[r] -= a[r * n + c] * x[c];
        x[r] /= a[r * n + r];
    }
}

/* Turn the Gram matrix into the normal equations of the regression. */
static void add_history(gram *g, const cwi_fold *fold, const int32_t *items, int32_t n,
                        double *right)
{
    int64_t d = g->width;
    double w0 = (double)n / g->n_items, trace = 0.0;
    for (int64_t r = 0; r < d; r++) trace += g->sum[r * d + r];
    double lambda = ridge * w0 * trace / (double)d;
    if (fold->unseen > 0) {
        w0 = fold->unseen;
        lambda = fold->reg * cwi_pow((double)n + w0 * g->n_items, fold->power);
    }

    for (int64_t k = 0; k < d * d; k++) g->sum[k] *= w0;
    for (int64_t r = 0; r < d; r++) {
        g->sum[r * d + r] += lambda;
        right[r] = 0.0;
    }
    for (int32_t k = 0; k < n; k++) {
        const float *v = g->items + items[k] * d;
        add_outer(v, 0, d, g->width, 1.0, g->sum);
        for (int64_t r = 0; r < d; r++) right[r] += (double)v[r];
    }
}

/* Make the Gram matrix, or copy the one that is kept.  The first thread that has made it leaves it
 * for the others. */
static cw_status find_gram(cw_context *ctx, const cwi_ranker *ranker, gram *g)
{
    size_t d = (size_t)g->width;
    double *kept = ranker->gram ? atomic_load(ranker->gram) : NULL, *none = NULL;

    if (kept) {
        memcpy(g->sum, kept, d * d * sizeof *kept);
        return CW_OK;
    }
    cw_status status = cwi_pool_for(ctx, g->width, ROWS_A_CHUNK, gram_rows, g);
    if (status != CW_OK || !ranker->gram) return status;
    kept = cwi_alloc(ctx, d, d * sizeof *kept);
    if (!kept) return CW_NO_MEMORY;
    memcpy(kept, g->sum, d * d * sizeof *kept);
    if (!atomic_compare_exchange_strong(ranker->gram, &none, kept)) cwi_free(kept);
    return CW_OK;
}

cw_status cwi_foldin_keep(cw_context *ctx, cwi_ranker *ranker)
{
    if (ranker->fold_in != cwi_foldin_dot) return CW_OK;
    ranker->gram = cwi_alloc_zero(ctx, 1, sizeof *ranker->gram);
    return ranker->gram ? CW_OK : CW_NO_MEMORY;
}

/* The regression of a history, factorised, and its solution in the row behind the matrix; there is
 * room for one row more.  g->sum is freed by the caller, also after a failure. */
static cw_status regress(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         gram *g)
{
    size_t d = (size_t)ranker->width;
    *g = (gram){.items = ranker->items, .n_items = ranker->n_items, .width = ranker->width};
    g->sum = cwi_alloc_zero(ctx, d + 2, d * sizeof *g->sum);
    if (!g->sum) return CW_NO_MEMORY;
    double *right = g->sum + d * d;
    CW_PASS(find_gram(ctx, ranker, g));
    add_history(g, &ranker->fold, items, n, right);
    if (!factorise(g->sum, g->width))
        return cwi_fail(ctx, CW_BAD_DATA,
                        "the item vectors of the model do not determine a vector for a new user");
    solve(g->sum, g->width, right);
    return CW_OK;
}

cw_status cwi_foldin_vector(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items,
                            int32_t n, float *u)
{
    gram g;
    size_t d = (size_t)ranker->width;
    cw_status status = regress(ctx, ranker, items, n, &g);
    for (size_t r = 0; r < d && status == CW_OK; r++) u[r] = (float)g.sum[d * d + r];
    cwi_free(g.sum);
    return status;
}

static double dot(const double *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t r = 0; r < n; r++) sum += a[r] * (double)b[r];
    return sum;
}

/* With u = A^-1 (v_1 + ... + v_n) and A x = v_i the score u . v_i is the sum of v_k . x. */
cw_status cwi_foldin_explain(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items,
                             int32_t n, int32_t item, float *added)
{
    gram g;
    int64_t d = ranker->width;
    cw_status status = regress(ctx, ranker, items, n, &g);
    if (status == CW_OK) {
        double *u = g.sum + d * d, *x = u + d, square = 0.0, scale = 1.0;
        for (int64_t r = 0; r < d; r++) {
            x[r] = (double)ranker->items[item * d + r];
            square += u[r] * u[r];
        }
        solve(g.sum, g.width, x);
        if (ranker->is_cosine && square > 0.0) scale = 1.0 / sqrt(square);
        for (int32_t k = 0; k < n; k++)
            added[k] = (float)(scale * dot(x, ranker->items + items[k] * d, d));
    }
    cwi_free(g.sum);
    return status;
}

cw_status cwi_foldin_dot(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out)
{
    float *u = cwi_alloc(ctx, (size_t)ranker->width, sizeof *u);
    if (!u) return CW_NO_MEMORY;
    const float *const one[1] = {u};
    cw_status status = cwi_foldin_vector(ctx, ranker, items, n, u);
    if (status == CW_OK && ranker->is_cosine) (void)cwi_ops_best()->normalise(u, ranker->width, u);
    if (status == CW_OK)
        cwi_ops_best()->score_block(one, 1, ranker->items, ranker->n_items, ranker->width, out);
    cwi_free(u);
    return status;
}

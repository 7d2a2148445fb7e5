/* tape.c - operations on matrices, forth and back. */
#include "engine/ref/tape.h"

#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"

/* Every number k of a node n; r is its row, c its column. */
#define FOR_ALL(n)                                                                                 \
    for (int64_t r = 0, k = 0; r < (n)->rows; r++)                                                 \
        for (int64_t c = 0; c < (n)->columns; c++, k++)

void cwi_tape_clear(cwi_tape *tape)
{
    while (tape->last) {
        cwi_node *node = tape->last;
        tape->last = node->next;
        cwi_free(node->value);
        cwi_free(node->slope);
        cwi_free(node->touched);
        cwi_free(node);
    }
}

void cwi_tape_back(cwi_tape *tape)
{
    for (cwi_node *node = tape->last; node; node = node->next)
        if (node->back) node->back(node);
}

/* A node of zeros; NULL when there is no memory for it or was none for another. */
static cwi_node *make(cwi_tape *tape, int64_t rows, int64_t columns, void (*back)(cwi_node *),
                      cwi_node *a, cwi_node *b)
{
    if (tape->lacks_memory) return NULL;
    cwi_node *node = cwi_alloc_zero(tape->ctx, 1, sizeof *node);
    if (node) {
        *node = (cwi_node){.rows = rows, .columns = columns, .a = a, .b = b, .back = back};
        node->value = cwi_alloc_zero(tape->ctx, (size_t)(rows * columns), sizeof *node->value);
        node->slope = cwi_alloc_zero(tape->ctx, (size_t)(rows * columns), sizeof *node->slope);
        node->next = tape->last;
        tape->last = node;
    }
    tape->lacks_memory = !node || !node->value || !node->slope;
    return tape->lacks_memory ? NULL : node;
}

cwi_node *cwi_tape_leaf(cwi_tape *tape, const cwi_tensor *tensor)
{
    cwi_node *n = make(tape, tensor->rows, tensor->columns, NULL, NULL, NULL);
    if (!n) return NULL;
    FOR_ALL(n) n->value[k] = (double)tensor->data[k];
    n->touched = cwi_alloc_zero(tape->ctx, (size_t)n->rows, sizeof *n->touched);
    tape->lacks_memory = !n->touched;
    return tape->lacks_memory ? NULL : n;
}

static void touch(cwi_node *n, int64_t row)
{
    if (n->touched) n->touched[row] = true;
}

/* ---- rows and columns ------------------------------------------------------------- */

static void rows_back(cwi_node *n)
{
    FOR_ALL(n) n->a->slope[(n->first + n->index[r]) * n->columns + c] += n->slope[k];
    for (int64_t r = 0; r < n->rows; r++) touch(n->a, n->first + n->index[r]);
}

cwi_node *cwi_tape_rows(cwi_tape *tape, cwi_node *a, int64_t first, const int32_t *index,
                        int64_t rows)
{
    cwi_node *n = a ? make(tape, rows, a->columns, rows_back, a, NULL) : NULL;
    if (!n) return NULL;
    n->first = first;
    n->index = index;
    FOR_ALL(n) n->value[k] = a->value[(first + index[r]) * a->columns + c];
    return n;
}

static void columns_back(cwi_node *n)
{
    FOR_ALL(n)
    {
        n->a->slope[r * n->a->columns + n->first + c] += n->slope[k];
        touch(n->a, r);
    }
}

cwi_node *cwi_tape_columns(cwi_tape *tape, cwi_node *a, int64_t first, int64_t columns)
{
    cwi_node *n = a ? make(tape, a->rows, columns, columns_back, a, NULL) : NULL;
    if (!n) return NULL;
    n->first = first;
    FOR_ALL(n) n->value[k] = a->value[r * a->columns + first + c];
    return n;
}

static void beside_back(cwi_node *n)
{
    FOR_ALL(n)
    {
        bool left = c < n->a->columns;
        cwi_node *of = left ? n->a : n->b;
        of->slope[r * of->columns + (left ? c : c - n->a->columns)] += n->slope[k];
        touch(of, r);
    }
}

cwi_node *cwi_tape_beside(cwi_tape *tape, cwi_node *a, cwi_node *b)
{
    cwi_node *n = a && b ? make(tape, a->rows, a->columns + b->columns, beside_back, a, b) : NULL;
    if (!n) return NULL;
    FOR_ALL(n)
    n->value[k] =
        c < a->columns ? a->value[r * a->columns + c] : b->value[r * b->columns + c - a->columns];
    return n;
}

/* ---- numbers ---------------------------------------------------------------------- */

/* Where the number of b is that goes with number k of n. */
static int64_t mate(const cwi_node *n, int64_t k)
{
    return n->b->rows == 1 ? k % n->columns : k;
}

static void add_back(cwi_node *n)
{
    FOR_ALL(n)
    {
        n->a->slope[k] += n->slope[k];
        n->b->slope[mate(n, k)] += n->factor * n->slope[k];
        touch(n->a, r);
    }
}

cwi_node *cwi_tape_add(cwi_tape *tape, cwi_node *a, cwi_node *b, double factor)
{
    cwi_node *n = a && b ? make(tape, a->rows, a->columns, add_back, a, b) : NULL;
    if (!n) return NULL;
    n->factor = factor;
    FOR_ALL(n) n->value[k] = a->value[k] + factor * b->value[mate(n, k)];
    return n;
}

static void times_back(cwi_node *n)
{
    FOR_ALL(n)
    {
        n->a->slope[k] += n->slope[k] * n->b->value[mate(n, k)];
        n->b->slope[mate(n, k)] += n->slope[k] * n->a->value[k];
        touch(n->a, r);
    }
}

cwi_node *cwi_tape_times(cwi_tape *tape, cwi_node *a, cwi_node *b)
{
    cwi_node *n = a && b ? make(tape, a->rows, a->columns, times_back, a, b) : NULL;
    if (!n) return NULL;
    FOR_ALL(n) n->value[k] = a->value[k] * b->value[mate(n, k)];
    return n;
}

/* A function of every number alone, and its slope in terms of what came of it. */
#define FUNCTION(id, forth, slope_of)                                                              \
    static void id##_back(cwi_node *n)                                                             \
    {                                                                                              \
        FOR_ALL(n)                                                                                 \
        {                                                                                          \
            double x = n->a->value[k], y = n->value[k], f = n->factor;                             \
            (void)x, (void)y, (void)f;                                                             \
            n->a->slope[k] += n->slope[k] * (slope_of);                                            \
        }                                                                                          \
    }                                                                                              \
    static cwi_node *id(cwi_tape *tape, cwi_node *a, double f, const uint8_t *gone)                \
    {                                                                                              \
        cwi_node *n = a ? make(tape, a->rows, a->columns, id##_back, a, NULL) : NULL;              \
        if (!n) return NULL;                                                                       \
        n->factor = f;                                                                             \
        n->gone = gone;                                                                            \
        FOR_ALL(n)                                                                                 \
        {                                                                                          \
            double x = a->value[k];                                                                \
            n->value[k] = (forth);                                                                 \
        }                                                                                          \
        return n;                                                                                  \
    }

/* clang-format off */
FUNCTION(leaky, x > 0 ? x : f * x, x > 0 ? 1 : f)
FUNCTION(hyperbolic, 1 - 2 / (1 + cwi_exp(2 * x)), 1 - y * y) /* tanh */
FUNCTION(power, cwi_exp(f * x), f * y)
FUNCTION(drop, gone && gone[k] ? 0 : f * x, n->gone && n->gone[k] ? 0 : f)
/* clang-format on */

cwi_node *cwi_tape_leaky(cwi_tape *tape, cwi_node *a, double slope)
{
    return leaky(tape, a, slope, NULL);
}

cwi_node *cwi_tape_tanh(cwi_tape *tape, cwi_node *a)
{
    return hyperbolic(tape, a, 0, NULL);
}

cwi_node *cwi_tape_exp(cwi_tape *tape, cwi_node *a, double factor)
{
    return power(tape, a, factor, NULL);
}

cwi_node *cwi_tape_drop(cwi_tape *tape, cwi_node *a, const uint8_t *gone, double factor)
{
    return drop(tape, a, factor, gone);
}

/* ---- products and sums ------------------------------------------------------------- */

static void product_back(cwi_node *n)
{
    const cwi_node *a = n->a, *b = n->b;
    FOR_ALL(n)
    for (int64_t j = 0; j < a->columns; j++) {
        a->slope[r * a->columns + j] += n->slope[k] * b->value[j * b->columns + c];
        b->slope[j * b->columns + c] += n->slope[k] * a->value[r * a->columns + j];
    }
}

cwi_node *cwi_tape_product(cwi_tape *tape, cwi_node *a, cwi_node *b)
{
    cwi_node *n = a && b ? make(tape, a->rows, b->columns, product_back, a, b) : NULL;
    if (!n) return NULL;
    FOR_ALL(n)
    for (int64_t j = 0; j < a->columns; j++)
        n->value[k] += a->value[r * a->columns + j] * b->value[j * b->columns + c];
    return n;
}

static void spread_back(cwi_node *n)
{
    for (int64_t r = 0; r < n->rows; r++)
        for (int64_t e = n->start[r]; e < n->start[r + 1]; e++) {
            touch(n->a, n->index[e]);
            for (int64_t c = 0; c < n->columns; c++)
                n->a->slope[n->index[e] * n->columns + c] +=
                    (double)n->weight[e] * n->slope[r * n->columns + c];
        }
}

cwi_node *cwi_tape_spread(cwi_tape *tape, cwi_node *a, int64_t rows, const int64_t *start,
                          const int32_t *index, const float *weight)
{
    cwi_node *n = a ? make(tape, rows, a->columns, spread_back, a, NULL) : NULL;
    if (!n) return NULL;
    n->start = start;
    n->index = index;
    n->weight = weight;
    FOR_ALL(n)
    for (int64_t e = start[r]; e < start[r + 1]; e++)
        n->value[k] += (double)weight[e] * a->value[index[e] * a->columns + c];
    return n;
}

/* Sum over row r of x y. */
static double dot(const cwi_node *n, int64_t r, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t c = 0; c < n->columns; c++) sum += x[r * n->columns + c] * y[r * n->columns + c];
    return sum;
}

static double length(const cwi_node *a, int64_t r)
{
    return sqrt(dot(a, r, a->value, a->value));
}

static const double shortest = 1e-6;

static void normalise_back(cwi_node *n)
{
    FOR_ALL(n)
    {
        double l = length(n->a, r);
        double along = l > shortest ? n->value[k] * dot(n, r, n->value, n->slope) : 0;
        n->a->slope[k] += (n->slope[k] - along) / fmax(l, shortest);
    }
}

cwi_node *cwi_tape_normalise(cwi_tape *tape, cwi_node *a)
{
    cwi_node *n = a ? make(tape, a->rows, a->columns, normalise_back, a, NULL) : NULL;
    if (!n) return NULL;
    FOR_ALL(n) n->value[k] = a->value[k] / fmax(length(a, r), shortest);
    return n;
}

static void sums_back(cwi_node *n)
{
    for (int64_t k = 0; k < n->rows * n->a->columns; k++)
        n->a->slope[k] += n->slope[k / n->a->columns];
}

cwi_node *cwi_tape_sums(cwi_tape *tape, cwi_node *a)
{
    cwi_node *n = a ? make(tape, a->rows, 1, sums_back, a, NULL) : NULL;
    if (!n) return NULL;
    for (int64_t k = 0; k < n->rows * a->columns; k++) n->value[k / a->columns] += a->value[k];
    return n;
}

/* The row of b in column c of row r. */
static int64_t crossed(const cwi_node *n, int64_t r, int64_t c)
{
    return (n->side > 0 ? r / n->side * n->side : n->first) + c;
}

static void cross_back(cwi_node *n)
{
    int64_t d = n->a->columns;
    FOR_ALL(n)
    for (int64_t j = 0; j < d; j++) {
        n->a->slope[r * d + j] += n->slope[k] * n->b->value[crossed(n, r, c) * d + j];
        n->b->slope[crossed(n, r, c) * d + j] += n->slope[k] * n->a->value[r * d + j];
    }
}

cwi_node *cwi_tape_cross(cwi_tape *tape, cwi_node *a, cwi_node *b, int64_t rows, int64_t columns,
                         int64_t side, int64_t first)
{
    cwi_node *n = a && b ? make(tape, rows, columns, cross_back, a, b) : NULL;
    if (!n) return NULL;
    n->side = side;
    n->first = first;
    FOR_ALL(n)
    for (int64_t j = 0; j < a->columns; j++)
        n->value[k] += a->value[r * a->columns + j] * b->value[crossed(n, r, c) * a->columns + j];
    return n;
}

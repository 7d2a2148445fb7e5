/*
 * cross.c - every observed pair of a part of the batch crossed with every other.
 *
 * S_ab is the score of a's user with b's item.  Softmax of rows asks which item is a's, that of
 * columns whose the item is.  The others go by CPR's margin of two pairs,
 *   m_ab = (S_aa + S_bb - S_ab - S_ba) / 2,
 * one cross at a time (logistic), maybe the hardest of each row alone, or all of a row at once
 * (lse). Terms of a user alone cancel in rows, of an item in columns, both in their mean and in
 * margins.
 */
#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "loss/grid.h"

enum { CROSS_FORM, CROSS_HARDEST, CROSS_KEEPS };
enum { FORM_BOTH, FORM_ROWS, FORM_COLUMNS, FORM_LOGISTIC, FORM_LSE };

static const cw_option_info cross_options[] = {
    WORD("form", "both", "both|rows|columns|logistic|lse",
         "softmax over the items that an observed pair meets, over the users, or both; or the "
         "margins of two crossed pairs one by one, or those of a pair together"),
    REAL_ABOVE("hardest", "1", 0, 1,
               "logistic: the share of the crosses of a pair, those that are ranked worst, that "
               "it learns from"),
    REAL("gamma", "1", 0, 1,
         "rows and both: how much of their popularity items keep as negatives; 1 cancels it in the "
         "scores, 0 has negatives count as if drawn uniformly"),
    {0}};

static void cross_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[CROSS_FORM] = cwi_options_choice(options, "form");
    setting[CROSS_HARDEST] = cwi_options_real(options, "hardest");
    setting[CROSS_KEEPS] = cwi_options_real(options, "gamma");
}

typedef struct job {
    const cwi_ops *ops;
    cwi_loss_grid *grid;
    const double *setting;
    float *partial;    /* [strips][width] of columns */
    float *column;     /* [parts][width] their largest scores, then what they are multiplied with */
    float *row_factor; /* [rows] */
    float *count;      /* [rows] crosses that count */
    double *share;     /* [rows][shares] of the slopes of own pairs, a block of columns each */
    int64_t shares;
    double factor; /* of all slopes */
    bool is_even;  /* margins of a with b and of b with a have the same slope */
} job;

/* ---- softmax ----------------------------------------------------------------------- */

/* The largest scores of the columns of a strip. */
static cw_status find_largest(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    int64_t width = j->grid->width;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(j->grid, k);
        float *most = j->partial + k * width;
        memcpy(most, j->grid->cross + strip.first * j->grid->stride, (size_t)width * sizeof *most);
        for (int64_t r = 1; r < strip.rows; r++)
            j->ops->keep_larger(j->grid->cross + (strip.first + r) * j->grid->stride, width, most);
    }
    return CW_OK;
}

/* Of whole columns, their own pair included. */
static void join_largest(const job *j)
{
    const cwi_loss_grid *g = j->grid;
    memcpy(j->column, g->own, (size_t)g->rows * sizeof *j->column);
    for (int64_t k = 0; k < cwi_grid_strips(g); k++)
        j->ops->keep_larger(j->partial + k * g->width, g->width,
                            j->column + cwi_grid_strip(g, k).part * g->width);
}

/* Exponentials in the place of scores, and their sums over a strip. */
static cw_status raise_columns(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    static const float one = 1;
    const job *j = arg;
    int64_t width = j->grid->width, stride = j->grid->stride;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(j->grid, k);
        int32_t row[CWI_STRIP_ROWS];
        float weight[CWI_STRIP_ROWS], *from = j->grid->cross + strip.first * stride;
        for (int64_t r = 0; r < strip.rows; r++) {
            row[r] = (int32_t)r;
            weight[r] = one;
            j->ops->exp_row(from + r * stride, j->column + strip.part * width, 0, width,
                            from + r * stride);
        }
        j->ops->weighted_sum(from, (int32_t)width, (int32_t)stride, row, weight, strip.rows,
                             j->partial + k * width);
    }
    return CW_OK;
}

/* Losses of the columns, on top of those of the rows. */
static void join_columns(const job *j, double share)
{
    cwi_loss_grid *g = j->grid;
    int64_t strips = cwi_grid_strips(g) / cwi_grid_parts(g);
    for (int64_t b = 0; b < g->rows; b++) {
        int64_t part = b / g->width, in = b % g->width;
        double most = (double)j->column[b], others = 0;
        for (int64_t k = 0; k < strips; k++)
            others += (double)j->partial[(part * strips + k) * g->width + in];
        double all = others + cwi_exp((double)g->own[b] - most);
        g->value[b] += share * (most - (double)g->own[b] + cwi_ln(all));
        g->own_slope[b] -= (float)(share * others / all / (double)g->rows);
        j->column[b] = (float)(share / all / (double)g->rows);
    }
}

static cw_status join_slopes(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    cwi_loss_grid *g = j->grid;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(g, k);
        for (int64_t r = strip.first; r < strip.first + strip.rows; r++)
            j->ops->blend(j->row_factor[r], g->slope + r * g->stride,
                          j->column + strip.part * g->width, g->cross + r * g->stride, g->width,
                          g->slope + r * g->stride);
    }
    return CW_OK;
}

static cw_status add_columns(cw_context *ctx, job *j, double share)
{
    CW_PASS(cwi_grid_for(ctx, j->grid, find_largest, j));
    join_largest(j);
    CW_PASS(cwi_grid_for(ctx, j->grid, raise_columns, j));
    join_columns(j, share);
    return cwi_grid_for(ctx, j->grid, join_slopes, j);
}

/* What is taken off the scores of columns; NULL: nothing. */
static const float *correct(const job *j, float *by)
{
    const cwi_loss_grid *g = j->grid;
    float less = (float)(1 - j->setting[CROSS_KEEPS]);
    if (less == 0) return NULL;
    for (int64_t k = 0; k < cwi_grid_parts(g) * g->width; k++) by[k] = less * g->mark[k];
    return by;
}

static cw_status softmax(cw_context *ctx, job *j, int form, double *mean)
{
    cwi_loss_grid *g = j->grid;
    double rows = form == FORM_ROWS ? 1 : form == FORM_COLUMNS ? 0 : 0.5;
    float *by = j->column + cwi_grid_parts(g) * g->width;
    if (rows > 0) {
        CW_PASS(
            cwi_grid_softmax_rows(ctx, g, correct(j, by), rows, rows < 1 ? j->row_factor : NULL));
    } else {
        memset(g->slope, 0, (size_t)(g->rows * g->stride) * sizeof *g->slope);
        memset(g->own_slope, 0, (size_t)g->rows * sizeof *g->own_slope);
        memset(j->row_factor, 0, (size_t)g->rows * sizeof *j->row_factor);
    }
    for (int64_t r = 0; r < g->rows; r++) g->value[r] = rows > 0 ? rows * g->value[r] : 0;
    if (rows < 1) CW_PASS(add_columns(ctx, j, 1 - rows));
    *mean = cwi_grid_total(g) / (double)g->rows;
    return CW_OK;
}

/* ---- margins ------------------------------------------------------------------------- */

/* what(row a, block of columns from b on, n of them, their mirror image), which may overwrite the
 * block. */
typedef void (*block_fn)(const job *j, int64_t a, int64_t part, int64_t b, int64_t n,
                         const float *mirror);

/* The blocks of a strip up to its place on the diagonal, and those that are their mirror images:
 * two blocks are read, and overwritten, while both are near the core. */
static void walk_blocks(const job *j, const cwi_strip *strip, block_fn what)
{
    const cwi_loss_grid *g = j->grid;
    float image[2][CWI_STRIP_ROWS * CWI_STRIP_ROWS];
    int64_t top = strip->part * g->side, b = strip->first - top;
    int32_t rows = (int32_t)strip->rows;
    for (int64_t a = 0; a <= b; a += CWI_STRIP_ROWS) {
        int32_t others = a < b ? CWI_STRIP_ROWS : rows;
        j->ops->turn(g->cross + (top + b) * g->stride + a, g->stride, rows, others, CWI_STRIP_ROWS,
                     image[0]);
        if (a < b)
            j->ops->turn(g->cross + (top + a) * g->stride + b, g->stride, others, rows,
                         CWI_STRIP_ROWS, image[1]);
        for (int32_t r = 0; r < others; r++)
            what(j, top + a + r, strip->part, b, rows, image[0] + r * CWI_STRIP_ROWS);
        for (int32_t r = 0; r < rows && a < b; r++)
            what(j, strip->first + r, strip->part, a, others, image[1] + r * CWI_STRIP_ROWS);
    }
}

/* -m_ab; a cross of which either pair was observed is none. */
static void find_margins(const job *j, int64_t a, int64_t part, int64_t b, int64_t n,
                         const float *mirror)
{
    const cwi_loss_grid *g = j->grid;
    j->ops->margin_row(g->cross + a * g->stride + b, mirror, g->own[a], g->own + part * g->side + b,
                       n, g->cross + a * g->stride + b);
}

/* Strips that reach far are begun first. */
static cwi_strip strip_from_end(const job *j, int64_t number)
{
    return cwi_grid_strip(j->grid, cwi_grid_strips(j->grid) - 1 - number);
}

static cw_status take_margins(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = strip_from_end(j, k);
        walk_blocks(j, &strip, find_margins);
    }
    return CW_OK;
}

/* Crosses of a pair that it learns from. */
static int64_t count_kept(const job *j)
{
    int64_t keep = (int64_t)(j->setting[CROSS_HARDEST] * (double)j->grid->width + 0.5);
    return keep < 1 ? 1 : keep;
}

/* Losses of the crosses one by one, and their slopes. */
static void take_logistic(const job *j, int64_t r)
{
    cwi_loss_grid *g = j->grid;
    float *x = g->cross + r * g->stride;
    j->count[r] = (float)j->ops->keep_largest(x, g->width, count_kept(j));
    g->value[r] = (double)j->ops->softplus_row(x, g->width, x);
}

/* ln(1 + sum of e^-m_ab). */
static void take_lse(const job *j, int64_t r)
{
    cwi_loss_grid *g = j->grid;
    float *x = g->cross + r * g->stride, most = j->ops->largest(x, NULL, g->width);
    if (!(most > 0)) most = 0;
    double others = (double)j->ops->exp_row(x, NULL, most, g->width, x);
    double all = cwi_exp(-(double)most) + others;
    g->value[r] = (double)most + cwi_ln(all);
    j->count[r] = 1;
    j->ops->blend((float)(1 / all), x, NULL, NULL, g->width, x);
}

static cw_status take_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(j->grid, k);
        for (int64_t r = strip.first; r < strip.first + strip.rows; r++)
            if (j->setting[CROSS_FORM] == FORM_LSE)
                take_lse(j, r);
            else
                take_logistic(j, r);
    }
    return CW_OK;
}

/* S_ab is in the margins of a with b and of b with a.  Slopes of a block add up to a share of that
 * of a's own pair. */
static void find_slopes(const job *j, int64_t a, int64_t part, int64_t b, int64_t n,
                        const float *mirror)
{
    const cwi_loss_grid *g = j->grid;
    float *x = g->cross + a * g->stride + b;
    (void)part;
    j->share[a * j->shares + b / CWI_STRIP_ROWS] =
        j->ops->mirror_row((float)(0.5 * j->factor), x, mirror, n, x);
}

/* Where both margins of two pairs have the same slope no mirror is needed. */
static void walk_even(const job *j, const cwi_strip *strip)
{
    const cwi_loss_grid *g = j->grid;
    for (int64_t r = strip->first; r < strip->first + strip->rows; r++)
        for (int64_t b = 0; b < g->width; b += CWI_STRIP_ROWS)
            find_slopes(j, r, strip->part, b,
                        g->width - b < CWI_STRIP_ROWS ? g->width - b : CWI_STRIP_ROWS,
                        g->cross + r * g->stride + b);
}

static cw_status take_slopes(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = strip_from_end(j, k);
        if (j->is_even)
            walk_even(j, &strip);
        else
            walk_blocks(j, &strip, find_slopes);
    }
    return CW_OK;
}

static void join_own_slopes(const job *j)
{
    for (int64_t r = 0; r < j->grid->rows; r++) {
        double sum = 0;
        for (int64_t k = 0; k < j->shares; k++) sum -= j->share[r * j->shares + k];
        j->grid->own_slope[r] = (float)sum;
    }
}

static void swap(float **a, float **b)
{
    float *kept = *a;
    *a = *b;
    *b = kept;
}

static cw_status margins(cw_context *ctx, job *j, double *mean)
{
    cwi_loss_grid *g = j->grid;
    double mass = 0;
    j->shares = cwi_grid_strips(g) / cwi_grid_parts(g);
    j->share = g->value + g->rows;
    CW_PASS(cwi_grid_for(ctx, g, take_margins, j));
    CW_PASS(cwi_grid_for(ctx, g, take_rows, j));
    for (int64_t r = 0; r < g->rows; r++) mass += (double)j->count[r];
    if (mass < 1) mass = 1; /* all was observed: nothing to learn */
    j->factor = 1 / mass;
    j->is_even = j->setting[CROSS_FORM] == FORM_LOGISTIC && count_kept(j) == g->width;
    *mean = cwi_grid_total(g) / mass;
    CW_PASS(cwi_grid_for(ctx, g, take_slopes, j));
    join_own_slopes(j);
    swap(&g->cross, &g->slope);
    g->is_even = true; /* S_ab and S_ba are in the same margins */
    return CW_OK;
}

static cw_status cross_grid(cw_context *ctx, const double *setting, cwi_loss_grid *grid,
                            double *mean)
{
    int form = (int)setting[CROSS_FORM];
    int64_t columns = cwi_grid_parts(grid) * grid->width;
    job j = {.ops = cwi_ops_best(), .grid = grid, .setting = setting, .partial = grid->room};
    j.column = j.partial + cwi_grid_strips(grid) * grid->width;
    j.row_factor = j.column + 3 * columns;
    j.count = j.row_factor + grid->rows;
    return form < FORM_LOGISTIC ? softmax(ctx, &j, form, mean) : margins(ctx, &j, mean);
}

const cwi_loss cwi_loss_cross = {
    .name = "cross", .set = cross_set, .grid = cross_grid, .options = cross_options};

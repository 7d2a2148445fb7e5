/*
 * grids.c - what losses on grids are, written down without regard to speed.
 *
 * S_rb is the score of row r's user with column b, -infinity where the pair was observed; s_r that
 * of the row's own pair.
 */
#include "engine/ref/grids.h"

#include <math.h>

#include "core/elementary.h"

/* Settings of the losses (loss/cross.c, loss/softmax.c). */
enum { FORM, HARDEST, GAMMA };
enum { BOTH, ROWS, COLUMNS, LOGISTIC, LSE };
enum { TEMPERATURE, RATIO };

void cwi_plain_grid_create(cw_context *ctx, cwi_pile *pile, cwi_plain_grid *g)
{
    size_t rows = (size_t)g->shape.rows, entries = rows * (size_t)g->shape.width;
    g->own = cwi_pile_add(ctx, pile, rows, sizeof *g->own);
    g->own_slope = cwi_pile_add(ctx, pile, rows, sizeof *g->own_slope);
    g->cross = cwi_pile_add(ctx, pile, entries, sizeof *g->cross);
    g->slope = cwi_pile_add(ctx, pile, entries, sizeof *g->slope);
    g->weight = cwi_pile_add(ctx, pile, entries, sizeof *g->weight);
}

void cwi_plain_grid_score(cwi_plain_grid *g, const cwi_batch *batch, const cwi_csr *train,
                          const cwi_net *net)
{
    for (int64_t r = 0; r < g->shape.rows; r++) {
        int64_t first = g->shape.is_square ? r / g->shape.side * g->shape.side : g->shape.rows;
        g->own[r] = net->score[0]->value[r];
        for (int64_t b = 0; b < g->shape.width; b++) {
            int64_t k = r * g->shape.width + b;
            bool was_seen = cwi_csr_has(train, batch->user[r], batch->item[first + b]);
            g->cross[k] = was_seen ? -INFINITY : net->cross->value[k];
        }
    }
}

void cwi_plain_grid_back(const cwi_plain_grid *g, cwi_net *net)
{
    for (int64_t r = 0; r < g->shape.rows; r++) net->score[0]->slope[r] = g->own_slope[r];
    for (int64_t k = 0; k < g->shape.rows * g->shape.width; k++) net->cross->slope[k] = g->slope[k];
}

/* Where in its matrix the pair (row r's user, row b's item) of r's part is. */
static int64_t at(const cwi_plain_grid *g, int64_t r, int64_t b)
{
    return r * g->shape.width + b;
}

/* share times ln(1 + sum over n terms of e^(S - by - s)): x points to the first score, `step`
 * apart.
 */
static double softmax(double share, double own, const double *x, const float *by, double less,
                      int64_t n, int64_t step, double *own_slope, double *slope)
{
    double most = own, sum;
    for (int64_t k = 0; k < n; k++)
        most = fmax(most, x[k * step] - (by ? less * (double)by[k] : 0));
    sum = cwi_exp(own - most);
    for (int64_t k = 0; k < n; k++)
        sum += cwi_exp(x[k * step] - (by ? less * (double)by[k] : 0) - most);
    for (int64_t k = 0; k < n; k++)
        slope[k * step] +=
            share * cwi_exp(x[k * step] - (by ? less * (double)by[k] : 0) - most) / sum;
    *own_slope += share * (cwi_exp(own - most) / sum - 1);
    return share * (most + cwi_ln(sum) - own);
}

static double take_softmax(cwi_plain_grid *g, double rows, double less, const float *mark)
{
    double value = 0;
    for (int64_t r = 0; r < g->shape.rows; r++) {
        int64_t width = g->shape.width, part = r / g->shape.side;
        if (rows > 0)
            value += softmax(rows, g->own[r], g->cross + at(g, r, 0),
                             less > 0 ? mark + part * width : NULL, less, width, 1,
                             g->own_slope + r, g->slope + at(g, r, 0));
        int64_t first = at(g, part * g->shape.side, r % g->shape.side);
        if (rows < 1)
            value += softmax(1 - rows, g->own[r], g->cross + first, NULL, 0, g->shape.side, width,
                             g->own_slope + r, g->slope + first);
    }
    return value;
}

/* -m of row r and row b of its part. */
static double margin(const cwi_plain_grid *g, int64_t r, int64_t b)
{
    int64_t top = r / g->shape.side * g->shape.side;
    return (g->cross[at(g, r, b)] + g->cross[at(g, top + b, r - top)] - g->own[r] -
            g->own[top + b]) /
           2;
}

/* How many crosses of a row come before b: those that are ranked worse, of equal ones the first. */
static int64_t place(const cwi_plain_grid *g, int64_t r, int64_t b)
{
    int64_t before = 0;
    double x = margin(g, r, b);
    for (int64_t c = 0; c < g->shape.width; c++)
        before += margin(g, r, c) > x || (margin(g, r, c) == x && c < b);
    return before;
}

/* Weights of margins, and the sum of what they give; *mass is how many count. */
static double take_margins(cwi_plain_grid *g, const double *setting, double *mass)
{
    double value = 0, keep = fmax(1, floor(setting[HARDEST] * (double)g->shape.width + 0.5));
    for (int64_t r = 0; r < g->shape.rows; r++) {
        double sum = 1, *w = g->weight + at(g, r, 0);
        for (int64_t b = 0; b < g->shape.width; b++) {
            double x = margin(g, r, b);
            w[b] = 0;
            if (x == -INFINITY) continue;
            sum += cwi_exp(x);
            if (setting[FORM] == LSE) {
                w[b] = cwi_exp(x);
            } else if ((double)place(g, r, b) < keep) {
                w[b] = 1 / (1 + cwi_exp(-x));
                value += fmax(x, 0) + cwi_log1p(cwi_exp(-fabs(x)));
                ++*mass;
            }
        }
        if (setting[FORM] != LSE) continue;
        for (int64_t b = 0; b < g->shape.width; b++) w[b] /= sum;
        value += cwi_ln(sum);
        ++*mass;
    }
    return value;
}

static void spread_weights(cwi_plain_grid *g)
{
    for (int64_t r = 0; r < g->shape.rows; r++)
        for (int64_t b = 0; b < g->shape.width; b++) {
            int64_t top = r / g->shape.side * g->shape.side;
            double half = g->weight[at(g, r, b)] / 2;
            g->slope[at(g, r, b)] += half;
            g->slope[at(g, top + b, r - top)] += half;
            g->own_slope[r] -= half;
            g->own_slope[top + b] -= half;
        }
}

static double take_psl(cwi_plain_grid *g, double t)
{
    double value = 0;
    for (int64_t r = 0; r < g->shape.rows; r++) {
        double sum = 1e-12;
        for (int64_t b = 0; b < g->shape.width; b++)
            sum += cwi_pow(fmax(0, 1 + t * (g->cross[at(g, r, b)] - g->own[r])), 1 / t);
        for (int64_t b = 0; b < g->shape.width; b++) {
            double base = fmax(0, 1 + t * (g->cross[at(g, r, b)] - g->own[r]));
            double slope = base > 0 ? cwi_pow(base, 1 / t - 1) / sum : 0;
            g->slope[at(g, r, b)] = slope;
            g->own_slope[r] -= slope;
        }
        value += cwi_ln(sum);
    }
    return value;
}

/* Rows weighted by e^(-value / ratio). */
static double take_bsl(cwi_plain_grid *g, double ratio)
{
    double sum = 0;
    int64_t rows = g->shape.rows, width = g->shape.width;
    for (int64_t r = 0; r < rows; r++) {
        double value = softmax(1, g->own[r], g->cross + at(g, r, 0), NULL, 0, width, 1,
                               g->own_slope + r, g->slope + at(g, r, 0));
        double weight = cwi_exp(-value / ratio);
        g->own_slope[r] *= weight;
        for (int64_t b = 0; b < width; b++) g->slope[at(g, r, b)] *= weight;
        sum += weight;
    }
    for (int64_t r = 0; r < rows; r++) g->own_slope[r] *= (double)rows / sum;
    for (int64_t k = 0; k < rows * width; k++) g->slope[k] *= (double)rows / sum;
    return -ratio * cwi_ln(sum / (double)rows) * (double)rows;
}

double cwi_plain_grid_loss(cwi_plain_grid *g, const cwi_loss *loss, const double *setting,
                           const float *mark)
{
    double mass = (double)g->shape.rows, value;
    for (int64_t r = 0; r < g->shape.rows; r++) g->own_slope[r] = 0;
    for (int64_t k = 0; k < g->shape.rows * g->shape.width; k++) g->slope[k] = 0;
    if (loss == &cwi_loss_psl) {
        value = take_psl(g, setting[TEMPERATURE]);
    } else if (loss == &cwi_loss_bsl) {
        value = take_bsl(g, setting[RATIO]);
    } else if (loss == &cwi_loss_sl) {
        value = take_softmax(g, 1, 0, mark);
    } else if (setting[FORM] < LOGISTIC) {
        double rows = setting[FORM] == ROWS ? 1 : setting[FORM] == COLUMNS ? 0 : 0.5;
        value = take_softmax(g, rows, 1 - setting[GAMMA], mark);
    } else {
        mass = 0;
        value = take_margins(g, setting, &mass);
        spread_weights(g);
        mass = fmax(mass, 1);
    }
    for (int64_t r = 0; r < g->shape.rows; r++) g->own_slope[r] /= mass;
    for (int64_t k = 0; k < g->shape.rows * g->shape.width; k++) g->slope[k] /= mass;
    return value / mass;
}

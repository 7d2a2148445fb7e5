/* bucket_fit.c - logistic regression with priors, and a normal term for each item. */
#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "evaluate/bucket.h"

enum { P = CWI_FIT_COLUMNS, MAX_STEPS = 60, MAX_HALVINGS = 30 };

double cwi_log_chance(double z)
{
    return z >= 0 ? -cwi_log1p(cwi_exp(-z)) : z - cwi_log1p(cwi_exp(z));
}

double cwi_logit_at(const cwi_logit_rows *rows, const cwi_logit_fit *fit, int64_t row)
{
    const double *x = rows->x + row * P;
    double z = fit->precision > 0 ? fit->term[rows->term[row]] : 0;
    for (int j = 0; j < rows->n_columns; j++) z += fit->slope[j] * x[j];
    return z;
}

static double times_of(const cwi_logit_rows *rows, int64_t row)
{
    return rows->times ? rows->times[row] : 1;
}

/* What the most likely fit makes largest. */
static double penalised(const cwi_logit_rows *rows, const cwi_logit_fit *fit)
{
    double sum = 0;
    for (int64_t k = 0; k < rows->n; k++) {
        double z = cwi_logit_at(rows, fit, k);
        sum += times_of(rows, k) * cwi_log_chance(rows->yes[k] ? z : -z);
    }
    for (int j = 0; j < rows->n_columns; j++) {
        double by = fit->slope[j] - rows->mean[j];
        sum -= rows->precision[j] * by * by / 2;
    }
    for (int32_t i = 0; i < rows->n_terms && fit->precision > 0; i++)
        sum -= fit->precision * fit->term[i] * fit->term[i] / 2;
    return sum;
}

/* Slopes and curvature at a fit: those of terms in `fit->room`, of which all but the diagonal is
 * between a term and the slopes. */
typedef struct bend {
    double slope[P], curve[P][P];         /* of what is left when terms have moved */
    double *own, *own_slope, (*cross)[P]; /* [n_terms] */
} bend;

static void bend_point(const cwi_logit_fit *fit, int32_t n_terms, bend *b)
{
    b->own = fit->room;
    b->own_slope = b->own + n_terms;
    b->cross = (double(*)[P])(b->own_slope + n_terms);
}

static void add_row(const cwi_logit_rows *rows, const cwi_logit_fit *fit, int64_t k, bend *b)
{
    const double *x = rows->x + k * P;
    double chance = 1 / (1 + cwi_exp(-cwi_logit_at(rows, fit, k))), times = times_of(rows, k);
    double rest = times * (rows->yes[k] - chance), weight = times * chance * (1 - chance);
    for (int j = 0; j < rows->n_columns; j++) {
        b->slope[j] += rest * x[j];
        for (int l = 0; l <= j; l++) b->curve[j][l] += weight * x[j] * x[l];
    }
    if (!(fit->precision > 0)) return;
    int32_t i = rows->term[k];
    b->own[i] += weight;
    b->own_slope[i] += rest;
    for (int j = 0; j < rows->n_columns; j++) b->cross[i][j] += weight * x[j];
}

static void find_bend(const cwi_logit_rows *rows, const cwi_logit_fit *fit, bend *b)
{
    int32_t n_terms = fit->precision > 0 ? rows->n_terms : 0;
    memset(b, 0, sizeof *b);
    bend_point(fit, rows->n_terms, b);
    for (int32_t i = 0; i < n_terms; i++) {
        b->own[i] = fit->precision;
        b->own_slope[i] = -fit->precision * fit->term[i];
        memset(b->cross[i], 0, sizeof b->cross[i]);
    }
    for (int j = 0; j < rows->n_columns; j++) {
        b->slope[j] = -rows->precision[j] * (fit->slope[j] - rows->mean[j]);
        b->curve[j][j] = rows->precision[j];
    }
    for (int64_t k = 0; k < rows->n; k++)
        if (times_of(rows, k) > 0) add_row(rows, fit, k, b);
    for (int32_t i = 0; i < n_terms; i++)
        for (int j = 0; j < rows->n_columns; j++) {
            double by = b->cross[i][j] / b->own[i];
            b->slope[j] -= by * b->own_slope[i];
            for (int l = 0; l <= j; l++) b->curve[j][l] -= by * b->cross[i][l];
        }
}

/* Cholesky factor in place; the priors keep it positive, but for rounding. */
static void factor(double a[P][P], int n)
{
    for (int j = 0; j < n; j++)
        for (int r = j; r < n; r++) {
            double sum = a[r][j];
            for (int k = 0; k < j; k++) sum -= a[r][k] * a[j][k];
            a[r][j] = r > j ? sum / a[j][j] : sqrt(sum > 1e-12 ? sum : 1e-12);
        }
}

static void solve(double a[P][P], int n, double *x)
{
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < r; c++) x[r] -= a[r][c] * x[c];
        x[r] /= a[r][r];
    }
    for (int r = n - 1; r >= 0; r--) {
        for (int c = r + 1; c < n; c++) x[r] -= a[c][r] * x[c];
        x[r] /= a[r][r];
    }
}

/* Go by `share` of a step. */
static void move(const cwi_logit_rows *rows, const bend *b, const double *step, double share,
                 cwi_logit_fit *fit)
{
    for (int j = 0; j < rows->n_columns; j++) fit->slope[j] += share * step[j];
    for (int32_t i = 0; i < rows->n_terms && fit->precision > 0; i++) {
        double own = b->own_slope[i];
        for (int j = 0; j < rows->n_columns; j++) own -= b->cross[i][j] * step[j];
        fit->term[i] += share * own / b->own[i];
    }
}

/* The Laplace approximation at the top. */
static double evidence(const cwi_logit_rows *rows, const cwi_logit_fit *fit, const bend *b)
{
    double sum = penalised(rows, fit);
    for (int j = 0; j < rows->n_columns; j++)
        sum -= cwi_ln(b->curve[j][j]) - cwi_ln(rows->precision[j]) / 2;
    for (int32_t i = 0; i < rows->n_terms && fit->precision > 0; i++)
        sum -= cwi_ln(b->own[i] / fit->precision) / 2;
    return sum;
}

void cwi_logit_solve(const cwi_logit_rows *rows, cwi_logit_fit *fit)
{
    const double enough = 1e-9; /* of a step */
    bend b;
    for (int j = 0; j < rows->n_columns; j++) fit->slope[j] = rows->mean[j];
    for (int32_t i = 0; i < rows->n_terms; i++) fit->term[i] = 0;
    double now = penalised(rows, fit), longest = 1;
    find_bend(rows, fit, &b);
    factor(b.curve, rows->n_columns);
    for (int steps = 0; steps < MAX_STEPS && longest > enough; steps++) {
        double step[P], share = 1, then = 0;
        memcpy(step, b.slope, sizeof step);
        solve(b.curve, rows->n_columns, step);
        move(rows, &b, step, 1, fit);
        for (int h = 0; h < MAX_HALVINGS; h++) {
            then = penalised(rows, fit);
            if (then >= now - 1e-12 * fabs(now)) break;
            move(rows, &b, step, -share / 2, fit);
            share /= 2;
        }
        now = then;
        longest = 0;
        for (int j = 0; j < rows->n_columns; j++) longest = fmax(longest, fabs(share * step[j]));
        find_bend(rows, fit, &b);
        factor(b.curve, rows->n_columns);
    }
    fit->evidence = evidence(rows, fit, &b);
}

void cwi_logit_best(const cwi_logit_rows *rows, bool has_terms, cwi_logit_fit *fit)
{
    static const double tried[] = {0, 16, 8, 4, 2, 1, 0.5, 0.25, 0.125};
    double best = 0, most = 0;
    for (size_t k = 0; k < sizeof tried / sizeof tried[0] && (has_terms || k == 0); k++) {
        fit->precision = tried[k];
        cwi_logit_solve(rows, fit);
        if (k > 0 && !(fit->evidence > most)) continue;
        most = fit->evidence;
        best = tried[k];
    }
    fit->precision = best;
    cwi_logit_solve(rows, fit);
}

/*
 * dcor.c - distance correlation (Szekely, Rizzo, Bakirov, 2007).
 *
 * a_kl = |x_k - x_l|, A = a less its row and column means plus the mean of all, b and B likewise in
 * y; c = mean of A B, v_x of A A, v_y of B B; dCor = sqrt(c) / (v_x v_y)^(1/4).
 */
#include "loss/dcor.h"

#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"

enum { LANES = 16, POINTS_A_CHUNK = 16 };

/* Below this share of what it could be, c is rounding: the root has no slope there. */
static const double negligible = 1e-12;

cw_status cwi_dcor_create(cw_context *ctx, int64_t max_n, cwi_dcor *out)
{
    size_t chunks = (size_t)cwi_pool_chunks(max_n, POINTS_A_CHUNK);
    *out = (cwi_dcor){.max_n = max_n};
    out->mean[0] = cwi_alloc(ctx, (size_t)max_n, sizeof *out->mean[0]);
    out->mean[1] = cwi_alloc(ctx, (size_t)max_n, sizeof *out->mean[1]);
    out->sum = cwi_alloc(ctx, chunks, 3 * sizeof *out->sum);
    if (out->mean[0] && out->mean[1] && out->sum) return CW_OK;
    cwi_dcor_clear(out);
    return CW_NO_MEMORY;
}

void cwi_dcor_clear(cwi_dcor *work)
{
    cwi_free(work->mean[0]);
    cwi_free(work->mean[1]);
    cwi_free(work->sum);
    cwi_free(work->pull);
    *work = (cwi_dcor){0};
}

/* What the loops over pairs need: c, v, the means over all, and where gradients go. */
typedef struct job {
    cwi_dcor *work;
    const cwi_points *points;
    double mean[2], v[2], c;
    double scale;
    float *gradient;
} job;

static const float *vector_of(const cwi_points *points, int64_t k)
{
    return points->table + (int64_t)points->row[k] * points->width;
}

/* Lanes let the compiler use vectors and fix the order of the sum. */
static double distance(const float *restrict x, const float *restrict y, int32_t d)
{
    float sum[LANES] = {0};
    double total = 0;
    int32_t j = 0;
    for (; j + LANES <= d; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float apart = x[j + l] - y[j + l];
            sum[l] += apart * apart;
        }
    for (int l = 0; j < d; j++, l++) sum[l] += (x[j] - y[j]) * (x[j] - y[j]);
    for (int l = 0; l < LANES; l++) total += (double)sum[l];
    return sqrt(total);
}

/* First loop: mean distances of points, and products of distances. */
static cw_status sum_distances(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_points *p = j->points;
    int32_t h = p->width / 2;
    double *sum = j->work->sum + 3 * chunk;
    memset(sum, 0, 3 * sizeof *sum);
    for (int64_t k = begin; k < end; k++) {
        const float *one = vector_of(p, k);
        double all[2] = {0, 0};
        for (int64_t l = 0; l < p->n; l++) {
            const float *other = vector_of(p, l);
            double a = distance(one, other, h), b = distance(one + h, other + h, h);
            all[0] += a;
            all[1] += b;
            sum[0] += a * a;
            sum[1] += b * b;
            sum[2] += a * b;
        }
        for (int side = 0; side < 2; side++) j->work->mean[side][k] = all[side] / (double)p->n;
    }
    return CW_OK;
}

/* Mean of the product of two centred matrices, from the sum of products of distances. */
static double centred(const job *j, double products, int s, int t)
{
    double n = (double)j->points->n, rows = 0;
    for (int64_t k = 0; k < j->points->n; k++) rows += j->work->mean[s][k] * j->work->mean[t][k];
    return products / (n * n) - 2 * rows / n + j->mean[s] * j->mean[t];
}

static void finish_sums(job *j)
{
    double sum[3] = {0, 0, 0};
    for (int64_t c = 0; c < cwi_pool_chunks(j->points->n, POINTS_A_CHUNK); c++)
        for (int k = 0; k < 3; k++) sum[k] += j->work->sum[3 * c + k];
    for (int side = 0; side < 2; side++) {
        for (int64_t k = 0; k < j->points->n; k++) j->mean[side] += j->work->mean[side][k];
        j->mean[side] /= (double)j->points->n;
    }
    j->v[0] = centred(j, sum[0], 0, 0);
    j->v[1] = centred(j, sum[1], 1, 1);
    j->c = centred(j, sum[2], 0, 1);
}

/* to += weight (one - other) */
static void add_difference(float weight, const float *restrict one, const float *restrict other,
                           int32_t d, float *restrict to)
{
    for (int32_t j = 0; j < d; j++) to[j] += weight * (one[j] - other[j]);
}

/* What point l adds to the pull on point k. */
static void pull_pair(const job *j, int64_t k, int64_t l, float *pull)
{
    int32_t h = j->points->width / 2;
    const float *one = vector_of(j->points, k), *other = vector_of(j->points, l);
    double apart[2], centre[2];
    for (int side = 0; side < 2; side++) {
        const double *mean = j->work->mean[side];
        apart[side] = distance(one + side * h, other + side * h, h);
        centre[side] = apart[side] - mean[k] - mean[l] + j->mean[side];
    }
    for (int side = 0; side < 2; side++) {
        if (apart[side] == 0) continue;
        double slope = centre[1 - side] / j->c - centre[side] / j->v[side];
        add_difference((float)(slope / apart[side]), one + side * h, other + side * h, h,
                       pull + side * h);
    }
}

/* Second loop: gradients. */
static cw_status pull_points(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_points *p = j->points;
    float *pull = j->work->pull + chunk * p->width;
    for (int64_t k = begin; k < end; k++) {
        float *to = j->gradient + (int64_t)p->place[k] * p->width;
        memset(pull, 0, (size_t)p->width * sizeof *pull);
        for (int64_t l = 0; l < p->n; l++) pull_pair(j, k, l, pull);
        for (int32_t c = 0; c < p->width; c++) to[c] += (float)(j->scale * (double)pull[c]);
    }
    return CW_OK;
}

cw_status cwi_dcor_add(cw_context *ctx, cwi_dcor *work, const cwi_points *points, double weight,
                       float *gradient, double *value)
{
    job j = {.work = work, .points = points, .gradient = gradient};
    *value = 0;
    if (!work->pull)
        work->pull = cwi_alloc(ctx, (size_t)cwi_pool_chunks(work->max_n, POINTS_A_CHUNK),
                               (size_t)points->width * sizeof *work->pull);
    if (!work->pull) return CW_NO_MEMORY;
    cw_status status = cwi_pool_for(ctx, points->n, POINTS_A_CHUNK, sum_distances, &j);
    if (status != CW_OK || points->n == 0) return status;
    finish_sums(&j);
    double most = sqrt(j.v[0] * j.v[1]);
    if (!(most > 0 && j.c > negligible * most)) return CW_OK;
    *value = sqrt(j.c / most);
    j.scale = weight * *value / ((double)points->n * (double)points->n);
    return cwi_pool_for(ctx, points->n, POINTS_A_CHUNK, pull_points, &j);
}

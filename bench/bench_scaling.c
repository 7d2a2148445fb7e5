/*
 * bench_scaling.c - how time grows with users, items, interactions, d and threads, on simulated
 * data: an epoch of CPR on matrix factorisation, a step of BPR on LightGCN, an evaluation.
 *
 * Each axis is varied alone; its exponent is the slope of a line through the logarithms.  The first
 * two must be linear in interactions x d: exponents near 1, or below where something else still
 * costs more.
 */
#include <math.h>
#include <string.h>

#include "bench.h"

enum { MAX_VALUES = 8, N_SUBJECTS = 3, FULL_ROUNDS = 5, QUICK_ROUNDS = 2 };

typedef enum axis { USERS, ITEMS, INTERACTIONS, DIM, THREADS, N_AXES } axis;

static const char *const axis_name[N_AXES] = {"users", "items", "interactions", "d", "threads"};

/* Where the axes cross, and by how much each value exceeds the one before. */
static const int64_t centre[N_AXES] = {16000, 4000, 200000, 64, 0};
static const int64_t first_value[N_AXES] = {8000, 2000, 100000, 32, 1};
static const int n_values[N_AXES] = {3, 3, 3, 4, MAX_VALUES};

/* Seconds of one subject, with a trainer of it. */
static cw_status time_epoch(cwi_trainer *t, double *seconds)
{
    int64_t steps;
    return bench_epoch(t, 1e300, &steps, seconds);
}

static cw_status time_step(cwi_trainer *t, double *seconds)
{
    int64_t steps;
    cw_status status = bench_steps(t, 0.3, &steps, seconds);
    *seconds /= (double)steps;
    return status;
}

static cw_status time_evaluation(cwi_trainer *t, double *seconds)
{
    int64_t some, all;
    return bench_evaluation(t, 1e300, &some, &all, seconds);
}

typedef struct subject {
    const char *name, *method, *backbone, *optimizer;
    cw_status (*time)(cwi_trainer *t, double *seconds);
} subject;

static const subject subjects[N_SUBJECTS] = {
    {"epoch cpr mf", "cpr", "mf", "adam-deferred", time_epoch},
    {"step bpr lightgcn", "bpr", "lightgcn", "adam", time_step},
    {"eval mf", "bpr", "mf", "adam", time_evaluation},
};

/* Values of one axis and the seconds of every subject there. */
typedef struct series {
    axis along;
    cw_dataset *data; /* of the last point */
    int n;
    double value[MAX_VALUES];
    double seconds[N_SUBJECTS][MAX_VALUES];
} series;

static cw_status time_subject(bench *b, const cw_dataset *data, const subject *s, int64_t d,
                              double *best)
{
    cw_status status = CW_OK;
    cw_options *options = NULL;
    cwi_trainer *t = NULL;
    char dim[24];
    snprintf(dim, sizeof dim, "%lld", (long long)d);
    CW_TRY(bench_options(b, "train",
                         (const char *[]){"preset", "paper", "method", s->method, "backbone",
                                          s->backbone, "optimizer", s->optimizer, "dim", dim, NULL},
                         &options));
    *best = 1e300;
    for (int round = b->is_full ? FULL_ROUNDS : QUICK_ROUNDS; round > 0; round--) {
        double seconds;
        CW_TRY(cwi_trainer_create(b->ctx, data, options, &t));
        CW_TRY(s->time(t, &seconds));
        if (seconds < *best) *best = seconds;
        cwi_trainer_free(t);
        t = NULL;
    }
done:
    cwi_trainer_free(t);
    cw_options_free(options);
    return status;
}

/* All subjects at one point of an axis. */
static cw_status time_point(bench *b, series *x, int64_t value)
{
    cw_status status = CW_OK;
    int64_t at[N_AXES];
    int threads = cw_context_threads(b->ctx);
    memcpy(at, centre, sizeof at);
    at[THREADS] = threads;
    at[x->along] = value;
    if (!x->data || x->along < DIM) {
        cw_dataset_free(x->data);
        CW_TRY(bench_simulate(b, at[USERS], at[ITEMS], at[INTERACTIONS], 0.3, 0.3, &x->data));
    }
    CW_TRY(cw_context_set_threads(b->ctx, (int)at[THREADS]));
    for (int s = 0; s < N_SUBJECTS; s++)
        CW_TRY(time_subject(b, x->data, &subjects[s], at[DIM], &x->seconds[s][x->n]));
    x->value[x->n++] = (double)value;
    CW_TRY(cw_context_set_threads(b->ctx, threads));
done:
    return status;
}

/* Slope of the line through the logarithms by least squares, and its standard error, which tells
 * growth from noise; a line through two points has none. */
static double exponent(const double *value, const double *seconds, int n, double *error)
{
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (int k = 0; k < n; k++) {
        double lx = log(value[k]), ly = log(seconds[k]);
        x += lx / n;
        y += ly / n;
    }
    for (int k = 0; k < n; k++) {
        double lx = log(value[k]) - x, ly = log(seconds[k]) - y;
        xx += lx * lx;
        xy += lx * ly;
        yy += ly * ly;
    }
    *error = n > 2 ? sqrt(fmax(0, yy - xy * xy / xx) / (n - 2) / xx) : 0;
    return xy / xx;
}

static void print_exponent(bench *b, const series *x, int s)
{
    char name[96], note[64] = "two points";
    double error, slope = exponent(x->value, x->seconds[s], x->n, &error);
    snprintf(name, sizeof name, "scaling/%s/%s", subjects[s].name, axis_name[x->along]);
    if (x->n > 2) snprintf(note, sizeof note, "standard error %.2f", error);
    bench_row(b, &(bench_figure){name, slope, "exponent", 0, 0, note});
}

static void print_series(bench *b, const series *x)
{
    char name[96];
    for (int s = 0; s < N_SUBJECTS; s++) {
        for (int k = 0; k < x->n; k++) {
            snprintf(name, sizeof name, "scaling/%s/%s %.0f", subjects[s].name, axis_name[x->along],
                     x->value[k]);
            bench_print(b, name, 1, "times", x->seconds[s][k]);
        }
        if (x->n > 1) print_exponent(b, x, s);
    }
}

static cw_status time_axis(bench *b, axis along)
{
    cw_status status = CW_OK;
    series x = {.along = along};
    int64_t last = along == THREADS ? cw_context_threads(b->ctx) : INT64_MAX;
    int64_t value = first_value[along];
    for (int k = 0; k < n_values[along] && value <= last; k++, value *= 2)
        CW_TRY(time_point(b, &x, value));
    print_series(b, &x);
done:
    cw_dataset_free(x.data);
    return status;
}

static cw_status run(bench *b)
{
    cw_status status = CW_OK;
    for (int a = 0; a < N_AXES; a++) CW_TRY(time_axis(b, (axis)a));
done:
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

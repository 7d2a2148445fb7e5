/* bench.h - time a piece of work: best of several runs, one row of one table each. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <time.h>

#include "train/train.h"

/* What a benchmark program was asked for, and what it knows of the machine. */
typedef struct bench {
    cw_context *ctx;
    bool is_full; /* whole epochs and all users; otherwise a part of them, scaled up */
    const char *shape, *method, *backbone; /* only this one; NULL: all */
    FILE *rows;                            /* receives every row as CSV; may be NULL */
    double copy_speed, gemm_speed;         /* bytes and operations a second; see bench_machine */
} bench;

/* One row of the table. */
typedef struct bench_figure {
    const char *name; /* subject/what, without a comma */
    double amount;
    const char *unit;
    double seconds;   /* 0: the amount is a figure by itself */
    double share;     /* of what the machine could do at best; 0: not known */
    const char *note; /* without a comma; NULL: none */
} bench_figure;

/* Read the arguments, run, print the reason of a failure; the exit code. */
int bench_main(int argc, char **argv, cw_status (*run)(bench *b));

void bench_row(bench *b, const bench_figure *figure);

/* Measure large copies and matrix products on the threads of the context and keep the best speeds
 * so far in b: on a machine with other work, measure before and after. */
cw_status bench_machine(bench *b);
/* Print both. */
void bench_machine_rows(bench *b);

/* How close to the roof: the time that bytes and operations need at least, over the time taken. */
double bench_share(const bench *b, double bytes, double operations, double seconds);

/* Steps of training after a first one: an epoch of them, or as many as fit into the limit. */
cw_status bench_steps(cwi_trainer *t, double limit_s, int64_t *steps, double *seconds);

/* The same, scaled up to an epoch.
 *   steps  how many were made for it */
cw_status bench_epoch(cwi_trainer *t, double limit_s, int64_t *steps, double *seconds);

/* One evaluation as after an epoch, scaled up from as many users as the limit asks for.
 *   some  how many were evaluated
 *   all   how many there are with held-out rows */
cw_status bench_evaluation(const cwi_trainer *t, double limit_s, int64_t *some, int64_t *all,
                           double *seconds);

/* The shapes by name: index 0, 1, ...; NULL past the last or when b asks for another. */
enum { BENCH_SHAPES = 3 };
const char *bench_shape(const bench *b, int index);

/* The dataset of that shape: the real one where CROSSWISE_DATA names a folder that has it,
 * otherwise a simulated one.  Says which. */
cw_status bench_dataset(bench *b, const char *shape, cw_dataset **out);

/* A simulated dataset with so many users, items and interactions, of which a share is held out;
 * `relevant` is the mean relevance of all pairs. */
cw_status bench_simulate(bench *b, int64_t users, int64_t items, int64_t interactions,
                         double relevant, double holdout, cw_dataset **out);

/* Options of a stage from pairs of name and value; the last name is NULL. */
cw_status bench_options(bench *b, const char *stage, const char *const *pairs, cw_options **out);

static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Run work (an expression) `runs` times; best_s is set to the best time. */
#define BENCH_BEST(best_s, runs, work)                                                             \
    do {                                                                                           \
        (best_s) = 1e300;                                                                          \
        for (int bench_run = 0; bench_run < (runs); bench_run++) {                                 \
            double bench_start = bench_now();                                                      \
            work;                                                                                  \
            double bench_time = bench_now() - bench_start;                                         \
            if (bench_time < (best_s)) (best_s) = bench_time;                                      \
        }                                                                                          \
    } while (0)

static inline void bench_print(bench *b, const char *name, double amount, const char *unit,
                               double best_s)
{
    bench_row(b, &(bench_figure){name, amount, unit, best_s, 0, NULL});
}

/* The same as BENCH_BEST, and a row of the best time and amount / time. */
#define BENCH(b, name, runs, amount, unit, work)                                                   \
    do {                                                                                           \
        double bench_best;                                                                         \
        BENCH_BEST(bench_best, runs, work);                                                        \
        bench_print(b, name, (double)(amount), unit, bench_best);                                  \
    } while (0)

#endif

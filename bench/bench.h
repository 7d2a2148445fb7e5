/* bench.h - time a piece of work: best of several runs, one row of text each. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <time.h>

static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void bench_print(const char *name, double amount, const char *unit, double best_s)
{
    printf("%-32s %12.3f %-10s %9.4f s %12.2f %s/s\n", name, amount, unit, best_s, amount / best_s,
           unit);
    fflush(stdout);
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

/* The same, and print the best time and amount / time. */
#define BENCH(name, runs, amount, unit, work)                                                      \
    do {                                                                                           \
        double bench_best;                                                                         \
        BENCH_BEST(bench_best, runs, work);                                                        \
        bench_print(name, (double)(amount), unit, bench_best);                                     \
    } while (0)

#endif

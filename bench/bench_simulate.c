/* bench_simulate.c - a simulated dataset of the shape of MovieLens-10M, five stars only. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "prepare/simulation.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_row(const char *what, double seconds, int64_t count)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-22s %8.3f s %12.0f interactions/s %8lld KiB peak\n", what, seconds,
           (double)count / seconds, (long long)usage.ru_maxrss);
}

static int fail(const cw_context *ctx)
{
    fprintf(stderr, "bench_simulate: %s\n", cw_context_error(ctx));
    return 1;
}

static cw_status set_shape(cw_context *ctx, cw_options *options)
{
    cw_status status;
    CW_TRY(cw_options_set(ctx, options, "users", "61770"));
    CW_TRY(cw_options_set(ctx, options, "items", "6958"));
    CW_TRY(cw_options_set(ctx, options, "interactions", "1533956"));
    CW_TRY(cw_options_set(ctx, options, "uniform-test", "20"));
done:
    return status;
}

/* The drawing alone, with the defaults of the option table. */
static cw_status draw(cw_context *ctx)
{
    cwi_simulation sim = {.plan = {.n_users = 61770,
                                   .n_items = 6958,
                                   .dim = 8,
                                   .interactions = 1533956,
                                   .alpha = 0.5,
                                   .popularity = 1.0,
                                   .activity = 1.0,
                                   .quality = 0.3,
                                   .sharpness = 4.0,
                                   .relevant = 0.3}};
    cw_status status;
    double start = now_s();

    CW_TRY(cwi_simulation_populate(ctx, &sim));
    CW_TRY(cwi_simulation_calibrate(ctx, &sim));
    double calibrated = now_s();
    CW_TRY(cwi_simulation_draw(ctx, &sim));
    print_row("simulate/calibrate", calibrated - start, sim.start[sim.plan.n_users]);
    print_row("simulate/draw", now_s() - calibrated, sim.start[sim.plan.n_users]);
done:
    cwi_simulation_clear(&sim);
    return status;
}

int main(void)
{
    cw_context *ctx;
    cw_options *options;
    cw_dataset *dataset;

    if (cw_context_create(&ctx) != CW_OK) return 1;
    if (draw(ctx) != CW_OK) return fail(ctx);
    if (cw_options_create(ctx, "simulate", &options) != CW_OK) return fail(ctx);
    if (set_shape(ctx, options) != CW_OK) return fail(ctx);
    double start = now_s();
    if (cw_dataset_simulate(ctx, options, NULL, &dataset) != CW_OK) return fail(ctx);
    print_row("simulate/dataset", now_s() - start,
              cw_dataset_count(dataset, CW_PART_TRAIN) + cw_dataset_count(dataset, CW_PART_VALID) +
                  cw_dataset_count(dataset, CW_PART_TEST));
    cw_dataset_free(dataset);
    cw_options_free(options);
    cw_context_free(ctx);
    return 0;
}

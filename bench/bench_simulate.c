/* bench_simulate.c - a simulated dataset of the shape of MovieLens-10M, five stars only. */
#include <sys/resource.h>

#include "bench.h"
#include "prepare/simulation.h"

enum { N_USERS = 61770, N_ITEMS = 6958, INTERACTIONS = 1533956 };

/* With the largest memory so far. */
static void print_row(bench *b, const char *name, double seconds, int64_t count)
{
    struct rusage usage;
    char note[64];
    getrusage(RUSAGE_SELF, &usage);
    snprintf(note, sizeof note, "%lld MiB at most", (long long)usage.ru_maxrss / 1024);
    bench_row(b, &(bench_figure){name, (double)count, "rows", seconds, 0, note});
}

/* The drawing alone, with the defaults of the option table. */
static cw_status draw(bench *b)
{
    cwi_simulation sim = {.plan = {.n_users = N_USERS,
                                   .n_items = N_ITEMS,
                                   .dim = 8,
                                   .interactions = INTERACTIONS,
                                   .alpha = 0.5,
                                   .popularity = 1.0,
                                   .activity = 1.0,
                                   .quality = 0.3,
                                   .sharpness = 4.0,
                                   .relevant = 0.3}};
    cw_status status;
    double start = bench_now();

    CW_TRY(cwi_simulation_populate(b->ctx, &sim));
    CW_TRY(cwi_simulation_calibrate(b->ctx, &sim));
    double calibrated = bench_now();
    CW_TRY(cwi_simulation_count(b->ctx, &sim));
    CW_TRY(cwi_simulation_draw(b->ctx, &sim, INT64_MAX));
    print_row(b, "simulate/calibrate", calibrated - start, sim.start[sim.plan.n_users]);
    print_row(b, "simulate/draw", bench_now() - calibrated, sim.start[sim.plan.n_users]);
done:
    cwi_simulation_clear(&sim);
    return status;
}

static cw_status run(bench *b)
{
    cw_dataset *data = NULL;
    cw_status status;
    int64_t rows = 0;
    CW_TRY(draw(b));
    double start = bench_now();
    CW_TRY(bench_simulate(b, N_USERS, N_ITEMS, INTERACTIONS, 0.3, 0.3, &data));
    double taken = bench_now() - start;
    for (int p = CW_PART_TRAIN; p <= CW_PART_TEST; p++) rows += cw_dataset_count(data, (cw_part)p);
    print_row(b, "simulate/dataset", taken, rows);
done:
    cw_dataset_free(data);
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

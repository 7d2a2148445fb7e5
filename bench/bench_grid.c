/* bench_grid.c - a step of 2,048 pairs that are all crossed, beside the speed of matrix products in
 * the same run: three products of 2,048 x 2,048 x 128 are its least work. */
#include "bench.h"

enum { PAIRS = 2048, DIM = 128, ROUNDS = 5 };

static const char *const subjects[][4] = {
    /* label, method, form, share of the crosses */
    {"rows", "cross-softmax", "rows", "1"},     {"both", "cross-softmax", "both", "1"},
    {"logistic", "cross-all", "logistic", "1"}, {"hardest", "cross-all", "logistic", "0.25"},
    {"lse", "cross-all", "lse", "1"},
};

/* The best time of a step over some rounds. */
static cw_status time_step(bench *b, const cw_dataset *data, const char *const *subject,
                           double *best)
{
    cw_status status = CW_OK;
    cw_options *options = NULL;
    cwi_trainer *t = NULL;
    CW_TRY(
        bench_options(b, "train",
                      (const char *[]){"preset", "paper", "method", subject[1], "form", subject[2],
                                       "hardest", subject[3], "optimizer", "adam", NULL},
                      &options));
    *best = 1e300;
    CW_TRY(cwi_trainer_create(b->ctx, data, options, &t));
    for (int round = 0; round < ROUNDS; round++) {
        int64_t steps;
        double seconds;
        CW_TRY(bench_steps(t, b->is_full ? 2 : 0.3, &steps, &seconds));
        if (seconds / (double)steps < *best) *best = seconds / (double)steps;
    }
done:
    cwi_trainer_free(t);
    cw_options_free(options);
    return status;
}

static cw_status run(bench *b)
{
    const double operations = 6.0 * PAIRS * PAIRS * DIM;
    cw_status status;
    cw_dataset *data = NULL;
    CW_TRY(bench_dataset(b, bench_shape(b, 0), &data));
    for (size_t k = 0; k < sizeof subjects / sizeof subjects[0]; k++) {
        double best;
        char name[64];
        CW_TRY(bench_machine(b));
        CW_TRY(time_step(b, data, subjects[k], &best));
        CW_TRY(bench_machine(b));
        snprintf(name, sizeof name, "grid/step %s", subjects[k][0]);
        bench_row(b, &(bench_figure){.name = name,
                                     .amount = operations / 1e9,
                                     .unit = "GFLOP",
                                     .seconds = best,
                                     .share = bench_share(b, 0, operations, best)});
    }
    bench_machine_rows(b);
done:
    cw_dataset_free(data);
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

/* bench_grid.c - a step of 2,048 pairs that are all crossed, or met by as many items, beside the
 * speed of matrix products in the same run: three products of 2,048 x 2,048 x 128 are its least
 * work.  Of steps, as of products, the quickest counts; on one thread by its own time, because a
 * step is too long to fall between the turns of other programs. */
#include <math.h>
#include <string.h>

#include "bench.h"

enum { PAIRS = 2048, DIM = 128, EPOCHS = 5 };

static const struct subject {
    const char *label, *method, *option[4]; /* up to two options and their values */
} subjects[] = {
    {"rows", "cross-softmax", {"form", "rows"}},
    {"columns", "cross-softmax", {"form", "columns"}},
    {"both", "cross-softmax", {"form", "both"}},
    {"logistic", "cross-all", {"form", "logistic", "hardest", "1"}},
    {"hardest", "cross-all", {"form", "logistic", "hardest", "0.25"}},
    {"lse", "cross-all", {"form", "lse"}},
    {"sl", "sl", {"candidates", "2048"}},
    {"bsl", "bsl", {"candidates", "2048"}},
    {"psl", "psl", {"candidates", "2048"}},
};

static double seconds_now(const bench *b)
{
    struct timespec now;
    if (cw_context_threads(b->ctx) > 1) return bench_now();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The least time of a step of an epoch, or *best where that is less. */
static cw_status time_steps(bench *b, const cw_dataset *data, const struct subject *subject,
                            double *best)
{
    cw_status status = CW_OK;
    cw_options *options = NULL;
    cwi_trainer *t = NULL;
    CW_TRY(bench_options(b, "train",
                         (const char *[]){"preset", "paper", "optimizer", "adam", "method",
                                          subject->method, subject->option[0], subject->option[1],
                                          subject->option[2], subject->option[3], NULL},
                         &options));
    CW_TRY(cwi_trainer_create(b->ctx, data, options, &t));
    do { /* the first step touches memory for the first time, and is not the quickest */
        double start = seconds_now(b);
        CW_TRY(cwi_trainer_step(t));
        *best = fmin(*best, seconds_now(b) - start);
    } while (t->tally.steps < t->task.steps_per_epoch);
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
        const struct subject *subject = &subjects[k];
        double best = 1;
        char name[64];
        if (b->method && strcmp(b->method, subject->method) != 0) continue;
        CW_TRY(bench_machine(b));
        for (int epoch = 0; epoch < (b->is_full ? EPOCHS : 1); epoch++)
            CW_TRY(time_steps(b, data, subject, &best));
        CW_TRY(bench_machine(b));
        snprintf(name, sizeof name, "grid/step %s", subject->label);
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

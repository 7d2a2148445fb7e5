/*
 * bench_epoch.c - an epoch of training and an evaluation for every method on every backbone, with
 * their tuned defaults, on the three shapes.
 *
 * Unless --full is given, only as many steps and users are taken as half a second holds, and the
 * row says so.
 */
#include <string.h>

#include "bench.h"
#include "core/text.h"

/* One row of the grid. */
typedef struct cell {
    const char *shape, *method, *backbone;
    const char *optimizer; /* NULL: the default */
} cell;

static const double quick_s = 0.5, no_limit = 1e300;

/* subject/shape/method/backbone */
static void name_row(const char *subject, const cell *c, char name[64])
{
    snprintf(name, 64, "%s/%s/%s/%s%s%s", subject, c->shape, c->method, c->backbone,
             c->optimizer ? " " : "", c->optimizer ? c->optimizer : "");
}

static void note_part(int64_t some, int64_t all, const char *unit, char note[96])
{
    if (some < all)
        snprintf(note, 96, "scaled up from %lld of %lld %s", (long long)some, (long long)all, unit);
}

static cw_status time_epoch(bench *b, const cell *c, cwi_trainer *t)
{
    char name[64], note[96] = "";
    int64_t steps, all = t->task.steps_per_epoch;
    double seconds;
    /* what rows have missed is paid later, so that a few steps do not stand for all */
    double limit_s =
        b->is_full || t->task.optimizer->schedule == CWI_STEP_LATE ? no_limit : quick_s;
    cw_status status = bench_epoch(t, limit_s, &steps, &seconds);
    if (status != CW_OK) return status;
    name_row("epoch", c, name);
    note_part(steps, all, "steps", note);
    double rows = (double)all * (double)cwi_options_integer(t->options, "batch");
    bench_row(b, &(bench_figure){name, rows, "rows", seconds, 0, note});
    return CW_OK;
}

static cw_status time_evaluation(bench *b, const cell *c, const cwi_trainer *t)
{
    char name[64], note[96] = "";
    int64_t some, all;
    double seconds;
    cw_status status = bench_evaluation(t, b->is_full ? no_limit : quick_s, &some, &all, &seconds);
    if (status != CW_OK) return status;
    name_row("eval", c, name);
    note_part(some, all, "users", note);
    bench_row(b, &(bench_figure){name, (double)all, "users", seconds, 0, note});
    return CW_OK;
}

static cw_status time_cell(bench *b, const cw_dataset *data, const cell *c)
{
    cw_status status;
    cw_options *options = NULL;
    cwi_trainer *t = NULL;
    const char *pairs[] = {"preset",
                           "paper",
                           "method",
                           c->method,
                           "backbone",
                           c->backbone,
                           c->optimizer ? "optimizer" : NULL,
                           c->optimizer,
                           NULL};
    CW_TRY(bench_options(b, "train", pairs, &options));
    CW_TRY(cwi_trainer_create(b->ctx, data, options, &t));
    if (cwi_trainer_learns(t)) CW_TRY(time_epoch(b, c, t));
    if (!c->optimizer) CW_TRY(time_evaluation(b, c, t));
done:
    cwi_trainer_free(t);
    cw_options_free(options);
    return status;
}

static bool is_wanted(const char *only, const char *name)
{
    return !only || strcmp(only, name) == 0;
}

static cw_status time_method(bench *b, const cw_dataset *data, const char *shape,
                             const char *method)
{
    cw_status status = CW_OK;
    const char *backbone;
    for (size_t k = 0; (backbone = cw_backbone_name(k)); k++) {
        cell c = {shape, method, backbone, NULL};
        if (!is_wanted(b->backbone, backbone) ||
            cwi_word_index(cwi_find_method(method)->backbones, backbone) < 0)
            continue;
        CW_TRY(time_cell(b, data, &c));
        c.optimizer = "adam-deferred";
        if (strcmp(method, "cpr") == 0 && strcmp(backbone, "mf") == 0)
            CW_TRY(time_cell(b, data, &c));
    }
done:
    return status;
}

static cw_status time_shape(bench *b, const char *shape)
{
    cw_status status;
    cw_dataset *data = NULL;
    const char *method;
    CW_TRY(bench_dataset(b, shape, &data));
    for (size_t m = 0; (method = cw_method_name(m)); m++)
        if (is_wanted(b->method, method)) CW_TRY(time_method(b, data, shape, method));
done:
    cw_dataset_free(data);
    return status;
}

static cw_status run(bench *b)
{
    cw_status status = CW_OK;
    for (int s = 0; s < BENCH_SHAPES; s++)
        if (bench_shape(b, s)) CW_TRY(time_shape(b, bench_shape(b, s)));
done:
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

/* bench.c - what all benchmarks share: arguments, rows, the speed of the machine, datasets. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BENCH_BLAS
#include <cblas.h>
#endif

#include "backend/gemm.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"

/* ---- the program -------------------------------------------------------------------- */

static int complain(const char *program)
{
    fprintf(stderr,
            "usage: %s [--full] [--threads N] [--isa NAME] [--shape NAME] [--method NAME] "
            "[--backbone NAME] [--rows FILE]\n",
            program);
    return 2;
}

/* Arguments that take a value; false when this is none of them. */
static bool take_argument(bench *b, const char *name, const char *value)
{
    const struct {
        const char *name, **place;
    } words[] = {{"--shape", &b->shape}, {"--method", &b->method}, {"--backbone", &b->backbone}};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (strcmp(name, words[w].name) == 0) {
            *words[w].place = value;
            return true;
        }
    if (strcmp(name, "--threads") == 0) return cw_context_set_threads(b->ctx, atoi(value)) == CW_OK;
    if (strcmp(name, "--isa") == 0) return cw_use_isa(b->ctx, value) == CW_OK;
    if (strcmp(name, "--rows") == 0) return (b->rows = fopen(value, "a")) != NULL;
    return false;
}

static bool take_arguments(bench *b, int argc, char **argv)
{
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--full") == 0)
            b->is_full = true;
        else if (a + 1 == argc || !take_argument(b, argv[a], argv[a + 1]))
            return false;
        else
            a++;
    }
    return true;
}

int bench_main(int argc, char **argv, cw_status (*run)(bench *b))
{
    bench b = {0};
    int code = 1;
    if (cw_context_create(&b.ctx) != CW_OK) return 1;
    if (!take_arguments(&b, argc, argv))
        code = complain(argv[0]);
    else if (run(&b) == CW_OK)
        code = 0;
    else
        fprintf(stderr, "%s: %s\n", argv[0], cw_context_error(b.ctx));
    if (b.rows && fclose(b.rows) != 0) code = 1;
    cw_context_free(b.ctx);
    return code;
}

void bench_row(bench *b, const bench_figure *figure)
{
    bool is_timed = figure->seconds > 0;
    double value = is_timed ? figure->amount / figure->seconds : figure->amount;
    const char *note = figure->note ? figure->note : "", *per = is_timed ? "/s" : "";
    char seconds[24] = "", share[16] = "";
    if (is_timed) snprintf(seconds, sizeof seconds, "%.4f s", figure->seconds);
    if (figure->share > 0) snprintf(share, sizeof share, "%.1f %%", 100 * figure->share);
    printf("%-38s %12s %14.2f %s%-*s %8s  %s\n", figure->name, seconds, value, figure->unit,
           12 - (int)strlen(figure->unit), per, share, note);
    fflush(stdout);
    if (b->rows)
        fprintf(b->rows, "%s,%.6g,%.6g,%s%s,%.4g,%s\n", figure->name, figure->seconds, value,
                figure->unit, per, figure->share, note);
}

/* ---- the machine -------------------------------------------------------------------- */

/* Beyond the caches, yet short enough to fall between the turns of other programs. */
enum { COPY_BYTES = 1 << 26, GEMM_ROWS = 1024, GEMM_SIDE = 512, MACHINE_RUNS = 50 };

typedef struct copy {
    char *to;
    const char *from;
} copy;

static cw_status copy_bytes(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const copy *c = arg;
    (void)chunk;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
    return CW_OK;
}

/* One large copy per thread; bytes read and bytes written both count. */
static cw_status measure_copy(bench *b)
{
    cw_status status = CW_NO_MEMORY;
    double best = 1;
    copy c = {cwi_alloc_zero(b->ctx, COPY_BYTES, 1), cwi_alloc_zero(b->ctx, COPY_BYTES, 1)};
    if (!c.to || !c.from) goto done;
    status = CW_OK;
    memset(c.to, 1, COPY_BYTES); /* pages that were never written are not memory yet */
    memset((char *)c.from, 1, COPY_BYTES);
    BENCH_BEST(best, MACHINE_RUNS,
               if (status == CW_OK) status =
                   cwi_pool_for(b->ctx, COPY_BYTES, COPY_BYTES / cw_context_threads(b->ctx) + 1,
                                copy_bytes, &c));
    b->copy_speed = fmax(b->copy_speed, 2.0 * COPY_BYTES / best);
done:
    cwi_free(c.to);
    cwi_free((char *)c.from);
    return status;
}

/* A BLAS is the measure where there is one, otherwise the product of our own. */
#ifdef BENCH_BLAS
static cw_status multiply(bench *b, const float *a, float *c)
{
    const int side = GEMM_SIDE;
    openblas_set_num_threads(cw_context_threads(b->ctx));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, GEMM_ROWS, side, side, 1, a, side, a,
                side, 0, c, side);
    return CW_OK;
}
#else
static cw_status multiply(bench *b, const float *a, float *c)
{
    const int32_t side = GEMM_SIDE;
    return cwi_gemm(b->ctx, GEMM_ROWS, side, side, a, side, false, a, side, 0, c, side);
}
#endif

static cw_status measure_gemm(bench *b)
{
    cw_status status = CW_NO_MEMORY;
    const int32_t side = GEMM_SIDE;
    double best = 1, operations = 2.0 * GEMM_ROWS * side * side;
    float *a = cwi_alloc(b->ctx, (size_t)GEMM_ROWS * GEMM_SIDE, sizeof *a);
    float *c = cwi_alloc(b->ctx, (size_t)GEMM_ROWS * GEMM_SIDE, sizeof *c);
    if (!a || !c) goto done;
    status = CW_OK;
    for (int64_t k = 0; k < (int64_t)GEMM_ROWS * side; k++) a[k] = (float)(k % 7) - 3;
    BENCH_BEST(best, MACHINE_RUNS, if (status == CW_OK) status = multiply(b, a, c));
    b->gemm_speed = fmax(b->gemm_speed, operations / best);
done:
    cwi_free(a);
    cwi_free(c);
    return status;
}

cw_status bench_machine(bench *b)
{
    cw_status status;
    CW_TRY(measure_copy(b));
    CW_TRY(measure_gemm(b));
done:
    return status;
}

static void print_speed(bench *b, const char *what, double speed, const char *unit)
{
    char name[64];
    int threads = cw_context_threads(b->ctx);
    snprintf(name, sizeof name, "machine/%s %d thread%s", what, threads, threads > 1 ? "s" : "");
    bench_print(b, name, 1e-9 * speed, unit, 0);
}

void bench_machine_rows(bench *b)
{
    print_speed(b, "copy", b->copy_speed, "GB/s");
    print_speed(b, "sgemm", b->gemm_speed, "GFLOP/s");
}

double bench_share(const bench *b, double bytes, double operations, double seconds)
{
    double memory = bytes / b->copy_speed, arithmetic = operations / b->gemm_speed;
    return (memory > arithmetic ? memory : arithmetic) / seconds;
}

/* ---- training and evaluation -------------------------------------------------------- */

cw_status bench_steps(cwi_trainer *t, double limit_s, int64_t *steps, double *seconds)
{
    cw_status status;
    double start;
    *steps = 0;
    CW_TRY(cwi_trainer_step(t)); /* the first one touches memory for the first time */
    start = bench_now();
    do {
        CW_TRY(cwi_trainer_step(t));
        *seconds = bench_now() - start;
    } while (++*steps < t->task.steps_per_epoch && (*steps < 2 || *seconds < limit_s));
done:
    return status;
}

cw_status bench_epoch(cwi_trainer *t, double limit_s, int64_t *steps, double *seconds)
{
    cw_status status;
    CW_TRY(bench_steps(t, limit_s, steps, seconds));
    *seconds *= (double)t->task.steps_per_epoch / (double)*steps;
    double start = bench_now();
    CW_TRY(t->engine->verbs->settle(t->engine));
    *seconds += bench_now() - start;
done:
    return status;
}

/* Users below the limit who have a held-out row; those rows become `some`. */
static int64_t take_users(const cwi_pairs *held, int32_t limit, cwi_pairs *some, bool *is_there)
{
    int64_t users = 0;
    some->count = 0;
    for (int64_t k = 0; k < held->count; k++) {
        if (held->user[k] >= limit) continue;
        users += !is_there[held->user[k]];
        is_there[held->user[k]] = true;
        some->user[some->count] = held->user[k];
        some->item[some->count++] = held->item[k];
    }
    return users;
}

/* Evaluate the first users, four times as many each time until it takes long enough. */
static cw_status evaluate_some(const cwi_trainer *t, const cwi_ranker *ranker,
                               const cwi_pairs *held, double limit_s, int64_t *users, int64_t *all,
                               double *seconds)
{
    enum { FIRST_USERS = 512 };
    cw_status status = CW_NO_MEMORY;
    cwi_metrics metrics;
    cwi_pairs some = {0};
    int32_t n_users = t->dataset->n_users, limit = FIRST_USERS;
    bool *is_there = cwi_alloc_zero(t->ctx, (size_t)n_users, sizeof *is_there);
    if (!is_there) goto done;
    CW_TRY(cwi_pairs_create(t->ctx, held->count, &some));
    *all = take_users(held, n_users, &some, is_there);
    do {
        if (limit > n_users) limit = n_users;
        memset(is_there, 0, (size_t)n_users * sizeof *is_there);
        *users = take_users(held, limit, &some, is_there);
        double start = bench_now();
        CW_TRY(cwi_evaluate(t->ctx, ranker, &t->training.by_user, &some, t->training.degree,
                            &t->exposure, t->metric_k, &metrics));
        *seconds = bench_now() - start;
        limit *= 4;
    } while (*users < *all && (*seconds < limit_s || *users == 0));
    *seconds *= (double)*all / (double)*users;
done:
    cwi_pairs_clear(&some);
    cwi_free(is_there);
    return status;
}

cw_status bench_evaluation(const cwi_trainer *t, double limit_s, int64_t *some, int64_t *all,
                           double *seconds)
{
    cw_status status;
    const cwi_pairs *held = t->dataset->part;
    cwi_ranker ranker = {0};
    double start = bench_now();
    held += held[CW_PART_VALID].count > 0 ? CW_PART_VALID : CW_PART_TEST;
    const cwi_params *params = &t->best; /* of methods that do not learn */
    if (t->engine) CW_TRY(t->engine->verbs->params(t->engine, &params));
    CW_TRY(cwi_method_rank(t->ctx, t->task.method, t->task.backbone, &t->task.shape, t->options,
                           params, &ranker));
    double opened = bench_now() - start;
    CW_TRY(evaluate_some(t, &ranker, held, limit_s, some, all, seconds));
    *seconds += opened;
done:
    cwi_ranker_close(&ranker);
    return status;
}

/* ---- datasets ----------------------------------------------------------------------- */

typedef struct shape {
    const char *name;
    const char *folder; /* of CROSSWISE_DATA; NULL: always simulated */
    bool is_raw;        /* files to import rather than a dataset */
    int64_t users, items, interactions;
    double holdout;
    double relevant; /* a dense set needs much that is relevant */
} shape;

/* Before those without a row are dropped.  The last one ends near 61,770 users, 6,958 items and
 * 1.14 million train rows, which is 556 steps of 2048. */
static const shape shapes[BENCH_SHAPES] = {
    {"ml1m", "ml1m5-debiased", false, 5900, 2760, 225346, 0.2975, 0.5},
    {"gowalla", "gowalla", true, 29858, 40981, 1027370, 0.2115, 0.3},
    {"ml10m", NULL, false, 62230, 7000, 1533956, 0.257, 0.3}};

const char *bench_shape(const bench *b, int index)
{
    if (index >= BENCH_SHAPES) return NULL;
    return b->shape && strcmp(b->shape, shapes[index].name) != 0 ? NULL : shapes[index].name;
}

cw_status bench_options(bench *b, const char *stage, const char *const *pairs, cw_options **out)
{
    cw_status status = cw_options_create(b->ctx, stage, out);
    for (; status == CW_OK && *pairs; pairs += 2)
        status = cw_options_set(b->ctx, *out, pairs[0], pairs[1]);
    if (status != CW_OK) {
        cw_options_free(*out);
        *out = NULL;
    }
    return status;
}

cw_status bench_simulate(bench *b, int64_t users, int64_t items, int64_t interactions,
                         double relevant, double holdout, cw_dataset **out)
{
    cw_status status;
    cw_options *simulation = NULL, *preparation = NULL;
    char text[5][32];
    snprintf(text[0], sizeof text[0], "%lld", (long long)users);
    snprintf(text[1], sizeof text[1], "%lld", (long long)items);
    snprintf(text[2], sizeof text[2], "%lld", (long long)interactions);
    snprintf(text[3], sizeof text[3], "%g", holdout);
    snprintf(text[4], sizeof text[4], "%g", relevant);
    CW_TRY(bench_options(b, "simulate",
                         (const char *[]){"users", text[0], "items", text[1], "interactions",
                                          text[2], "relevant", text[4], NULL},
                         &simulation));
    CW_TRY(bench_options(b, "prepare", /* the cap of the paper */
                         (const char *[]){"core", "1", "cap", "1/60", "holdout", text[3], NULL},
                         &preparation));
    CW_TRY(cw_dataset_simulate(b->ctx, simulation, preparation, out));
done:
    cw_options_free(simulation);
    cw_options_free(preparation);
    return status;
}

static cw_status load(bench *b, const shape *s, const char *folder, cw_dataset **out)
{
    cw_status status;
    cw_options *preparation = NULL; /* the split of the paper */
    cw_interactions *rows = NULL;
    if (!s->is_raw) return cw_dataset_load(b->ctx, folder, out);
    CW_TRY(bench_options(b, "prepare", (const char *[]){"cap", "1/60", "holdout", "0.3", NULL},
                         &preparation));
    CW_TRY(cw_import(b->ctx, &folder, 1, NULL, &rows));
    CW_TRY(cw_dataset_prepare(b->ctx, rows, preparation, out));
done:
    cw_interactions_free(rows);
    cw_options_free(preparation);
    return status;
}

cw_status bench_dataset(bench *b, const char *name, cw_dataset **out)
{
    const char *data = getenv("CROSSWISE_DATA");
    const shape *s = shapes;
    char folder[1024] = "";
    while (strcmp(s->name, name) != 0) s++;
    if (data && s->folder) snprintf(folder, sizeof folder, "%s/%s", data, s->folder);
    bool is_real = folder[0] && access(folder, R_OK) == 0;
    cw_status status = is_real ? load(b, s, folder, out)
                               : bench_simulate(b, s->users, s->items, s->interactions, s->relevant,
                                                s->holdout, out);
    if (status == CW_OK)
        printf("%s, %s: %d users, %d items, %lld train interactions\n", name,
               is_real ? s->folder : "simulated", cw_dataset_users(*out), cw_dataset_items(*out),
               (long long)cw_dataset_count(*out, CW_PART_TRAIN));
    return status;
}

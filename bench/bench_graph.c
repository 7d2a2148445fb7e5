/*
 * bench_graph.c - products with the graph of Gowalla against the copy bandwidth of the machine, and
 * training steps of LightGCN on it.
 *
 * The real set is read from the folder gowalla of CROSSWISE_DATA when that is there; otherwise one
 * of about its shape is simulated.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "score/graph.h"
#include "train/train.h"

enum { RUNS = 5, STEPS = 3 };

static const int32_t widths[] = {64, 128};
enum { N_WIDTHS = sizeof widths / sizeof widths[0] };

/* ---- the data ----------------------------------------------------------------------- */

static cw_status load(cw_context *ctx, const char *folder, cw_dataset **out)
{
    cw_interactions *rows;
    cw_status status = cw_import(ctx, &folder, 1, NULL, &rows);
    if (status != CW_OK) return status;
    status = cw_dataset_prepare(ctx, rows, NULL, out);
    cw_interactions_free(rows);
    return status;
}

/* As many interactions as Gowalla has, of which a fifth is held out. */
static cw_status simulate(cw_context *ctx, cw_dataset **out)
{
    cw_status status;
    cw_options *simulation = NULL, *preparation = NULL;
    CW_TRY(cw_options_create(ctx, "simulate", &simulation));
    CW_TRY(cw_options_create(ctx, "prepare", &preparation));
    CW_TRY(cw_options_set(ctx, simulation, "users", "29858"));
    CW_TRY(cw_options_set(ctx, simulation, "items", "40981"));
    CW_TRY(cw_options_set(ctx, simulation, "interactions", "1027370"));
    CW_TRY(cw_options_set(ctx, preparation, "core", "1"));
    CW_TRY(cw_options_set(ctx, preparation, "holdout", "0.2115"));
    CW_TRY(cw_dataset_simulate(ctx, simulation, preparation, out));
done:
    cw_options_free(simulation);
    cw_options_free(preparation);
    return status;
}

static cw_status get_data(cw_context *ctx, cw_dataset **out)
{
    const char *data = getenv("CROSSWISE_DATA");
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/gowalla", data ? data : "");
    bool real = data && access(folder, R_OK) == 0;
    cw_status status = real ? load(ctx, folder, out) : simulate(ctx, out);
    if (status == CW_OK)
        printf("%s: %d users, %d items, %lld train interactions\n",
               real ? "Gowalla" : "simulated in the shape of Gowalla", cw_dataset_users(*out),
               cw_dataset_items(*out), (long long)cw_dataset_count(*out, CW_PART_TRAIN));
    return status;
}

/* ---- copies ------------------------------------------------------------------------- */

enum { COPY_BYTES = 1 << 29 };

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

/* Bytes a second, read and written, of one large copy per thread. */
static cw_status time_copy(cw_context *ctx, double *speed)
{
    cw_status status = CW_NO_MEMORY;
    int threads = cw_context_threads(ctx);
    char name[64];
    char *to = cwi_alloc_zero(ctx, COPY_BYTES, 1), *from = cwi_alloc_zero(ctx, COPY_BYTES, 1);
    double best = 1;
    if (to && from) {
        copy c = {to, from};
        status = CW_OK;
        BENCH_BEST(best, RUNS,
                   if (status == CW_OK) status =
                       cwi_pool_for(ctx, COPY_BYTES, COPY_BYTES / threads + 1, copy_bytes, &c));
        snprintf(name, sizeof name, "copy, %d threads", threads);
        bench_print(name, 2e-9 * COPY_BYTES, "GB", best);
    }
    *speed = 2.0 * COPY_BYTES / best;
    cwi_free(to);
    cwi_free(from);
    return status;
}

/* ---- products ----------------------------------------------------------------------- */

/* Bytes that must move: a row, a number and a weight for every end of an edge, and the result. */
static double product_bytes(const cwi_graph *graph, int32_t d)
{
    double row = (double)d * sizeof(float);
    return (double)graph->start[graph->n_nodes] * (row + 8) + (double)graph->n_nodes * row;
}

static cw_status time_product(cw_context *ctx, const cwi_graph *graph, int32_t d, double copy_speed)
{
    cw_status status = CW_NO_MEMORY;
    cwi_rng rng;
    char name[64];
    double best, bytes = product_bytes(graph, d);
    size_t entries = (size_t)graph->n_nodes * (size_t)d;
    float *from = cwi_alloc(ctx, entries, sizeof *from), *to = cwi_alloc(ctx, entries, sizeof *to);
    if (!from || !to) goto done;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (size_t k = 0; k < entries; k++) from[k] = (float)cwi_rng_real(&rng) - 0.5f;
    const cwi_product p = {.from = from, .d = d, .scale = 1, .to = to};
    status = CW_OK;
    BENCH_BEST(best, RUNS, if (status == CW_OK) status = cwi_graph_multiply(ctx, graph, &p));
    snprintf(name, sizeof name, "graph/product, d %d", d);
    bench_print(name, 1e-9 * bytes, "GB", best);
    printf("%-32s %12.1f %%\n", "  of the speed of a copy", 100 * bytes / best / copy_speed);
done:
    cwi_free(from);
    cwi_free(to);
    return status;
}

static cw_status time_products(cw_context *ctx, const cw_dataset *data, double copy_speed)
{
    cw_status status;
    cwi_training training = {0};
    cwi_graph graph = {0};
    CW_TRY(cwi_training_create(ctx, data->n_users, data->n_items, &data->part[CW_PART_TRAIN],
                               &training));
    CW_TRY(cwi_graph_create(ctx, &training.by_user, data->n_users, data->n_items, &graph));
    for (int w = 0; w < N_WIDTHS; w++) CW_TRY(time_product(ctx, &graph, widths[w], copy_speed));
done:
    cwi_graph_clear(&graph);
    cwi_training_clear(&training);
    return status;
}

/* ---- training steps ----------------------------------------------------------------- */

static cw_status make_steps(cwi_trainer *trainer)
{
    cw_status status = CW_OK;
    for (int k = 0; k < STEPS && status == CW_OK; k++) status = cwi_trainer_step(trainer);
    return status;
}

static cw_status time_steps(cw_context *ctx, const cw_dataset *data, int32_t d)
{
    cw_status status;
    cw_options *options = NULL;
    cwi_trainer *trainer = NULL;
    char name[64], dim[16];
    snprintf(dim, sizeof dim, "%d", d);
    CW_TRY(cw_options_create(ctx, "train", &options));
    CW_TRY(cw_options_set(ctx, options, "method", "bpr"));
    CW_TRY(cw_options_set(ctx, options, "backbone", "lightgcn"));
    CW_TRY(cw_options_set(ctx, options, "layers", "3"));
    CW_TRY(cw_options_set(ctx, options, "batch", "2048"));
    CW_TRY(cw_options_set(ctx, options, "dim", dim));
    CW_TRY(cwi_trainer_create(ctx, data, options, &trainer));
    snprintf(name, sizeof name, "lightgcn/step, bpr, d %d", d);
    BENCH(name, RUNS, STEPS, "steps", if (status == CW_OK) status = make_steps(trainer));
done:
    cwi_trainer_free(trainer);
    cw_options_free(options);
    return status;
}

int main(void)
{
    cw_context *ctx;
    cw_dataset *data = NULL;
    cw_status status;
    double copy_speed;
    if (cw_context_create(&ctx) != CW_OK) return 1;
    CW_TRY(get_data(ctx, &data));
    CW_TRY(time_copy(ctx, &copy_speed));
    CW_TRY(time_products(ctx, data, copy_speed));
    for (int w = 0; w < N_WIDTHS; w++) CW_TRY(time_steps(ctx, data, widths[w]));
done:
    if (status != CW_OK) fprintf(stderr, "bench_graph: %s\n", cw_context_error(ctx));
    cw_dataset_free(data);
    cw_context_free(ctx);
    return status == CW_OK ? 0 : 1;
}

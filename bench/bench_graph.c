/* bench_graph.c - products with the graph of Gowalla against the copy bandwidth of the machine, and
 * training steps of LightGCN on it. */
#include "bench.h"
#include "core/mem.h"
#include "core/rng.h"
#include "score/graph.h"
#include "train/train.h"

enum { RUNS = 5, STEPS = 3 };

static const int32_t widths[] = {64, 128};
enum { N_WIDTHS = sizeof widths / sizeof widths[0] };

/* ---- products ----------------------------------------------------------------------- */

/* Bytes that must move: a row, a number and a weight for every end of an edge, and the result. */
static double product_bytes(const cwi_graph *graph, int32_t d)
{
    double row = (double)d * sizeof(float);
    return (double)graph->start[graph->n_nodes] * (row + 8) + (double)graph->n_nodes * row;
}

static cw_status time_product(bench *b, const cwi_graph *graph, int32_t d)
{
    cw_status status = CW_NO_MEMORY;
    cwi_rng rng;
    char name[64];
    double best, bytes = product_bytes(graph, d);
    size_t entries = (size_t)graph->n_nodes * (size_t)d;
    float *from = cwi_alloc(b->ctx, entries, sizeof *from);
    float *to = cwi_alloc(b->ctx, entries, sizeof *to);
    if (!from || !to) goto done;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (size_t k = 0; k < entries; k++) from[k] = (float)cwi_rng_real(&rng) - 0.5f;
    const cwi_product p = {.from = from, .d = d, .scale = 1, .to = to};
    status = CW_OK;
    BENCH_BEST(best, RUNS, if (status == CW_OK) status = cwi_graph_multiply(b->ctx, graph, &p));
    snprintf(name, sizeof name, "graph/product d %d", d);
    bench_row(b, &(bench_figure){name, 1e-9 * bytes, "GB", best, bytes / best / b->copy_speed,
                                 "of copy"});
done:
    cwi_free(from);
    cwi_free(to);
    return status;
}

static cw_status time_products(bench *b, const cw_dataset *data)
{
    cw_status status;
    cwi_training training = {0};
    cwi_graph graph = {0};
    CW_TRY(cwi_training_create(b->ctx, data->n_users, data->n_items, &data->part[CW_PART_TRAIN],
                               &training));
    CW_TRY(cwi_graph_create(b->ctx, &training.by_user, data->n_users, data->n_items, &graph));
    for (int w = 0; w < N_WIDTHS; w++) CW_TRY(time_product(b, &graph, widths[w]));
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

static cw_status time_steps(bench *b, const cw_dataset *data, int32_t d)
{
    cw_status status;
    cw_options *options = NULL;
    cwi_trainer *trainer = NULL;
    char name[64], dim[16];
    snprintf(dim, sizeof dim, "%d", d);
    CW_TRY(
        bench_options(b, "train",
                      (const char *[]){"preset", "paper", "method", "bpr", "backbone", "lightgcn",
                                       "layers", "3", "batch", "2048", "dim", dim, NULL},
                      &options));
    CW_TRY(cwi_trainer_create(b->ctx, data, options, &trainer));
    snprintf(name, sizeof name, "lightgcn/step bpr d %d", d);
    BENCH(b, name, RUNS, STEPS, "steps", if (status == CW_OK) status = make_steps(trainer));
done:
    cwi_trainer_free(trainer);
    cw_options_free(options);
    return status;
}

static cw_status run(bench *b)
{
    cw_dataset *data = NULL;
    cw_status status;
    CW_TRY(bench_dataset(b, b->shape ? b->shape : "gowalla", &data));
    CW_TRY(bench_machine(b));
    bench_machine_rows(b);
    CW_TRY(time_products(b, data));
    for (int w = 0; w < N_WIDTHS; w++) CW_TRY(time_steps(b, data, widths[w]));
done:
    cw_dataset_free(data);
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

/*
 * bench_ops.c - every operation of the backend against what the machine can do.
 *
 * Operations run on one thread, so that they are compared with copies and matrix products on one
 * thread.  Bytes are those that the operation has to read and write, each row once per use; the
 * tables are those of MovieLens-10M with 128 columns, larger than the caches.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "backend/backend.h"
#include "bench.h"
#include "core/mem.h"
#include "core/rng.h"

enum {
    D = 128,
    ROWS = 68728, /* users and items */
    ENTRIES = ROWS * D,
    PAIRS = 1 << 16,
    PER_SUM = 16, /* terms of a sum of rows */
    MISSED = 2,   /* pieces of the gap of a row */
    USERS = 64,
    ITEMS = 6958,
    PANELS = ITEMS / CWI_SCREEN_ITEMS,
    PANEL_BYTES = CWI_SCREEN_ITEMS * D,
    GROUPS = 128, /* numbers of which some reach a bound */
    FEW = 40,     /* scores to be sorted */
    SIDE = 512,   /* of matrices */
    RUNS = 8,
    ROUNDS = 3
};

/* Memory that all operations share. */
typedef struct room {
    float *table, *m, *v, *out; /* [ROWS][D] */
    int32_t *ia, *ib;           /* [PAIRS] rows */
    float *weight;              /* [PAIRS] */
    int64_t *start;             /* [PAIRS / PER_SUM + 1] */
    uint8_t *sign;              /* [ENTRIES] */
    int16_t *drift;             /* [ENTRIES] */
    const float *users[USERS];
    double sum; /* of results, so that none is left out */
} room;

typedef struct operation {
    const char *name;
    void (*run)(const cwi_ops *ops, room *r);
    double bytes, flops;
} operation;

static const cwi_rates adam_step = {1e-3f, 0.9f, 0.999f, 1e-8f, 1e-6f};

/* ---- the operations ----------------------------------------------------------------- */

static void random_blocks(const cwi_ops *ops, room *r)
{
    enum { BLOCKS = 64 };
    uint32_t word[4 * BLOCKS];
    for (int k = 0; k < PAIRS; k += BLOCKS) {
        ops->random_blocks(1, CWI_RNG_TEST, (uint64_t)k, BLOCKS, word);
        r->sum += word[0];
    }
}

static void dot_pairs(const cwi_ops *ops, room *r)
{
    ops->dot_pairs(r->table, r->ia, r->table, r->ib, PAIRS, D, D, r->out, 1);
}

static void dot_apart(const cwi_ops *ops, room *r)
{
    for (int k = 0; k < PAIRS; k++) {
        int64_t a = (int64_t)r->ia[k] * D, b = (int64_t)r->ib[k] * D;
        r->sum +=
            ops->dot_apart(r->table + a, r->drift + a, 0.999f, 1e-7f, r->table + b, r->out, D);
    }
}

static void weighted_sum(const cwi_ops *ops, room *r)
{
    for (int k = 0; k < PAIRS; k += PER_SUM)
        ops->weighted_sum(r->table, D, D, r->ia + k, r->weight + k, PER_SUM,
                          r->out + (ptrdiff_t)(k / PER_SUM) * D);
}

static void sparse_rows(const cwi_ops *ops, room *r)
{
    const cwi_sparse a = {r->start, r->ia, r->weight, 0};
    const cwi_product p = {.from = r->table, .d = D, .scale = 1, .to = r->out};
    ops->sparse_rows(&a, &p, 0, PAIRS / PER_SUM);
}

static void relu_pairs(const cwi_ops *ops, room *r)
{
    ops->relu_pairs(r->weight, r->table, r->ia, r->ib, PAIRS, D, D, r->out, 1);
}

static void gated_sum(const cwi_ops *ops, room *r)
{
    for (int k = 0; k < PAIRS; k += PER_SUM)
        ops->gated_sum(r->weight, r->table, D, D, r->ia + k, r->weight + k, PER_SUM,
                       r->out + (ptrdiff_t)(k / PER_SUM) * D);
}

static void adam(const cwi_ops *ops, room *r)
{
    ops->adam(r->table, r->m, r->v, r->out, ENTRIES, &adam_step);
}

static cwi_adam_row row_of(room *r)
{
    return (cwi_adam_row){r->table, r->drift, r->v};
}

static void adam_peek(const cwi_ops *ops, room *r)
{
    ops->adam_peek(r->table, r->drift, ENTRIES, 0.999f, 1e-7f, r->out);
}

static void adam_late(const cwi_ops *ops, room *r)
{
    static const cwi_adam_pause pause = {5e-4f, 2e-4f, 0.43f, 0.992f, 1e-8f};
    cwi_adam_row row = row_of(r);
    ops->adam_late(&row, r->out, ENTRIES, &pause, &adam_step, r->m);
}

static void adam_pull(const cwi_ops *ops, room *r)
{
    r->sum += (double)ops->adam_pull(r->table, r->v, ENTRIES, 1e-8f);
}

/* A gap that is made up for in two pieces. */
static void adam_missed(const cwi_ops *ops, room *r)
{
    cwi_adam_row row = row_of(r);
    static const cwi_adam_gap gap[] = {{5e-3f, 2e-3f, 0.995f, 0.43f, 0.992f, 1e-8f, 1e-6f},
                                       {6e-3f, 8e-3f, 0.99f, 0.2f, 0.98f, 1e-8f, 1e-6f}};
    ops->adam_missed(&row, ENTRIES, 1e-8f, gap, MISSED, &row);
}

static void score_block(const cwi_ops *ops, room *r)
{
    ops->score_block(r->users, USERS, r->table, ITEMS, D, r->out);
}

static void max_block(const cwi_ops *ops, room *r)
{
    ops->max_block(r->weight, r->weight, r->users, USERS, r->table, ITEMS, D, r->out);
}

static void gemm(const cwi_ops *ops, room *r)
{
    ops->gemm(false, true, SIDE, SIDE, SIDE, r->table, SIDE, r->m, SIDE, 0, r->out, SIDE);
}

static void multiply(const cwi_ops *ops, room *r)
{
    ops->multiply(r->table, r->m, ENTRIES, r->out);
}

static void multiply_back(const cwi_ops *ops, room *r)
{
    ops->multiply_back(r->table, r->m, ENTRIES, r->v, r->out);
}

static void leaky_sum(const cwi_ops *ops, room *r)
{
    ops->leaky_sum(r->out, r->table, r->m, r->v, ENTRIES, 0.5f, r->sign);
}

static void leaky_sum_back(const cwi_ops *ops, room *r)
{
    ops->leaky_sum_back(r->out, r->sign, ENTRIES, 0.5f, r->m);
}

static void normalise(const cwi_ops *ops, room *r)
{
    for (ptrdiff_t k = 0; k < ROWS; k++)
        r->sum += (double)ops->normalise(r->table + k * D, D, r->out + k * D);
}

static void normalise_back(const cwi_ops *ops, room *r)
{
    for (ptrdiff_t k = 0; k < ROWS; k++)
        ops->normalise_back(r->table + k * D, 1, r->m + k * D, D, r->out + k * D);
}

/* The rows stand for bytes, of which there are four in a float. */
static void screen(const cwi_ops *ops, room *r)
{
    cwi_screen_user users[USERS];
    static int32_t sum[USERS * CWI_SCREEN_ITEMS];
    static uint64_t above[USERS];
    for (int k = 0; k < USERS; k++)
        users[k] = (cwi_screen_user){(const int8_t *)r->users[k], 0, 1e-3f, 1e-3f, 1e30f};
    for (int p = 0; p < PANELS; p++) {
        const cwi_screen_panel panel = {(const uint8_t *)r->sign + (ptrdiff_t)p * PANEL_BYTES,
                                        r->weight, r->weight, r->weight};
        ops->screen(&panel, users, USERS, D, sum, above);
        r->sum += (double)sum[p % USERS];
    }
}

static void reached(const cwi_ops *ops, room *r)
{
    for (int k = 0; k < PAIRS; k += GROUPS)
        r->sum += (double)ops->reached(r->weight + k, GROUPS, GROUPS / 6, -INFINITY);
}

static void places(const cwi_ops *ops, room *r)
{
    for (int k = 0; k + FEW <= PAIRS; k += FEW) ops->places(r->weight + k, FEW, r->ib);
}

/* No score is above the bound, so that all are looked at. */
static void first_above(const cwi_ops *ops, room *r)
{
    r->sum += ops->first_above(r->table, 0, ENTRIES, 1e30f);
}

static void sum_squares(const cwi_ops *ops, room *r)
{
    r->sum += ops->sum_squares(r->table, ENTRIES);
}

/* ---- the table ---------------------------------------------------------------------- */

#define ROW_BYTES (4.0 * D)
#define SUMS      ((double)PAIRS / PER_SUM)
#define N         ((double)ENTRIES)
#define BLOCK     ((double)USERS * ITEMS)

static const operation operations[] = {
    {"random_blocks", random_blocks, 16.0 * PAIRS, 80.0 * PAIRS},
    {"dot_pairs", dot_pairs, PAIRS *(2 * ROW_BYTES + 12), 2.0 * PAIRS *D},
    {"dot_apart", dot_apart, PAIRS *(2.5 * ROW_BYTES + 12), 6.0 * PAIRS *D},
    {"weighted_sum", weighted_sum, PAIRS *(ROW_BYTES + 8) + SUMS *ROW_BYTES, 2.0 * PAIRS *D},
    {"sparse_rows", sparse_rows, PAIRS *(ROW_BYTES + 8) + SUMS *ROW_BYTES, 2.0 * PAIRS *D},
    {"relu_pairs", relu_pairs, PAIRS *(2 * ROW_BYTES + 16), 4.0 * PAIRS *D},
    {"gated_sum", gated_sum, PAIRS *(ROW_BYTES + 8) + SUMS *ROW_BYTES, 3.0 * PAIRS *D},
    {"adam", adam, 28 * N, 14 * N},
    {"adam_peek", adam_peek, 10 * N, 3 * N},
    {"adam_late", adam_late, 28 * N, 33 * N},
    {"adam_pull", adam_pull, 8 * N, 5 * N},
    {"adam_missed", adam_missed, 20 * N, 23.0 * MISSED *N},
    {"score_block", score_block, (USERS + ITEMS) * ROW_BYTES + 4 * BLOCK, 2 * BLOCK *D},
    {"max_block", max_block, (USERS + ITEMS) * ROW_BYTES + 8 * BLOCK, 3 * BLOCK *D},
    {"screen", screen, (USERS + ITEMS) * (double)D, 2 * BLOCK *D},
    {"reached", reached, 4.0 * PAIRS, 8.0 * PAIRS},
    {"places", places, 8.0 * PAIRS, 1.0 * FEW *PAIRS},
    {"first_above", first_above, 4 * N, N},
    {"gemm", gemm, 12.0 * SIDE *SIDE, 2.0 * SIDE *SIDE *SIDE},
    {"multiply", multiply, 12 * N, N},
    {"multiply_back", multiply_back, 24 * N, 3 * N},
    {"leaky_sum", leaky_sum, 22 * N, 6 * N},
    {"leaky_sum_back", leaky_sum_back, 13 * N, 3 * N},
    {"normalise", normalise, 8 * N, 3 * N},
    {"normalise_back", normalise_back, 16 * N, 6 * N},
    {"sum_squares", sum_squares, 4 * N, 2 * N},
};

enum {
    N_OPERATIONS = sizeof operations / sizeof operations[0],
    N_ENTRIES = (sizeof(cwi_ops) - offsetof(cwi_ops, random_blocks)) / sizeof(void (*)(void))
};

static void print_operation(bench *b, const operation *o, double best)
{
    bool in_memory = o->bytes / b->copy_speed > o->flops / b->gemm_speed;
    char name[64];
    snprintf(name, sizeof name, "ops/%s", o->name);
    bench_row(b, &(bench_figure){name, 1e-9 * (in_memory ? o->bytes : o->flops),
                                 in_memory ? "GB" : "GFLOP", best,
                                 bench_share(b, o->bytes, o->flops, best),
                                 in_memory ? "of copy" : "of sgemm"});
}

static void fill(room *r)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (ptrdiff_t k = 0; k < ENTRIES; k++) {
        r->table[k] = (float)(k * 7919 % 1013) / 1013 - 0.5f;
        r->m[k] = 1e-3f * r->table[k];
        r->v[k] = 1e-6f;
        r->out[k] = 1e-3f * r->table[k];
    }
    for (int k = 0; k < PAIRS; k++) {
        r->ia[k] = (int32_t)cwi_rng_below(&rng, ROWS);
        r->ib[k] = (int32_t)cwi_rng_below(&rng, ROWS);
        r->weight[k] = (float)cwi_rng_real(&rng) - 0.5f;
    }
    for (int k = 0; k <= PAIRS / PER_SUM; k++) r->start[k] = (int64_t)k * PER_SUM;
    for (int k = 0; k < USERS; k++) r->users[k] = r->table + (ptrdiff_t)(ITEMS + k) * D;
}

static cw_status open_room(bench *b, room *r)
{
    float **tables[] = {&r->table, &r->m, &r->v, &r->out};
    bool is_open = true;
    for (int t = 0; t < 4; t++) {
        *tables[t] = cwi_alloc(b->ctx, ENTRIES, sizeof(float));
        is_open = is_open && *tables[t];
    }
    r->ia = cwi_alloc(b->ctx, PAIRS, sizeof *r->ia);
    r->ib = cwi_alloc(b->ctx, PAIRS, sizeof *r->ib);
    r->weight = cwi_alloc(b->ctx, PAIRS, sizeof *r->weight);
    r->start = cwi_alloc(b->ctx, PAIRS / PER_SUM + 1, sizeof *r->start);
    r->sign = cwi_alloc_zero(b->ctx, ENTRIES, sizeof *r->sign);
    r->drift = cwi_alloc_zero(b->ctx, ENTRIES, sizeof *r->drift);
    is_open = is_open && r->ia && r->ib && r->weight && r->start && r->sign && r->drift;
    return is_open ? CW_OK : CW_NO_MEMORY;
}

static void close_room(room *r)
{
    cwi_free(r->table);
    cwi_free(r->m);
    cwi_free(r->v);
    cwi_free(r->out);
    cwi_free(r->ia);
    cwi_free(r->ib);
    cwi_free(r->weight);
    cwi_free(r->start);
    cwi_free(r->drift);
    cwi_free(r->sign);
}

/* One thread: machine and operations in turn, the best of several rounds each. */
static cw_status time_operations(bench *b, room *r, double *best)
{
    cw_status status = CW_OK;
    for (int round = 0; round < ROUNDS; round++) {
        CW_TRY(bench_machine(b));
        for (int o = 0; o < N_OPERATIONS; o++) {
            double time;
            fill(r); /* the operations before have changed it */
            BENCH_BEST(time, RUNS, operations[o].run(cwi_ops_best(), r));
            if (round == 0 || time < best[o]) best[o] = time;
        }
    }
done:
    return status;
}

static cw_status run(bench *b)
{
    cw_status status;
    room r = {0};
    double best[N_OPERATIONS];
    CW_TRY(bench_machine(b));
    bench_machine_rows(b); /* all threads, for the record */
    CW_TRY(cw_context_set_threads(b->ctx, 1));
    b->copy_speed = b->gemm_speed = 0;
    CW_TRY(open_room(b, &r));
    CW_TRY(time_operations(b, &r, best));
    bench_machine_rows(b);
    for (int o = 0; o < N_OPERATIONS; o++) print_operation(b, &operations[o], best[o]);
    if (N_OPERATIONS < N_ENTRIES)
        printf("%d operations of backend.h have no row here\n", (int)(N_ENTRIES - N_OPERATIONS));
done:
    close_room(&r);
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}

/* init.c - first values of parameters, a function of the seed, the tensor and the row. */
#include <math.h>
#include <string.h>

#include "comm/world.h"
#include "core/rng.h"
#include "train/train.h"

typedef enum init_kind { INIT_JOINT, INIT_SPLIT, INIT_NORMAL, INIT_UNIFORM } init_kind;

static double xavier(int64_t rows, int64_t columns)
{
    return sqrt(6.0 / (double)(rows + columns));
}

/* Half width of the uniform distribution of a row of the embedding table. */
static double table_bound(init_kind kind, const cwi_tensor *table, int32_t n_users, int64_t row)
{
    if (kind == INIT_UNIFORM) return 1.0 / sqrt((double)table->columns);
    if (kind == INIT_JOINT) return xavier(table->rows, table->columns);
    return xavier(row < n_users ? n_users : table->rows - n_users, table->columns);
}

/* Normal with standard deviation 0.001; beyond two of them it is drawn again. */
static double draw_tiny(cwi_rng *rng)
{
    double x;
    do x = cwi_rng_normal(rng);
    while (fabs(x) > 2);
    return 0.001 * x;
}

static void fill_xavier(cwi_rng *rng, double bound, int64_t n, float *out)
{
    for (int64_t c = 0; c < n; c++) out[c] = (float)(bound * (2 * cwi_rng_real(rng) - 1));
}

static void fill_row(const cw_options *options, int32_t n_users, const cwi_tensor *tensor,
                     int64_t row, cwi_rng *rng, float *out)
{
    init_kind kind = (init_kind)cwi_options_choice(options, "init");
    double scale = cwi_options_real(options, "init-scale");
    int64_t n = tensor->columns;

    if (tensor->init == CWI_INIT_TINY)
        for (int64_t c = 0; c < n; c++) out[c] = (float)draw_tiny(rng);
    else if (tensor->init == CWI_INIT_XAVIER)
        fill_xavier(rng, xavier(tensor->rows, n), n, out);
    else if (kind == INIT_NORMAL)
        for (int64_t c = 0; c < n; c++) out[c] = (float)(scale * cwi_rng_normal(rng));
    else
        fill_xavier(rng, table_bound(kind, tensor, n_users, row), n, out);
}

/* The row of tensor t is of so many rows as the tensor has, wherever it is put. */
static void start_row(const cw_options *options, int32_t n_users, const cwi_tensor *tensor, int t,
                      int64_t row, float *out)
{
    cwi_rng rng;
    uint64_t seed = (uint64_t)cwi_options_integer(options, "seed");
    cwi_rng_init(&rng, seed, CWI_RNG_INIT, (uint64_t)t << 40 | (uint64_t)row);
    fill_row(options, n_users, tensor, row, &rng, out);
}

void cwi_params_init_share(const cw_options *options, int32_t n_users, const cwi_tensor *table,
                           const struct cwi_world *world, float *own)
{
    int64_t rows = cwi_rows_of(world, world->rank, table->rows);
    for (int64_t k = 0; k < rows; k++)
        start_row(options, n_users, table, 0, cwi_row_at(world, world->rank, k),
                  own + k * table->columns);
}

void cwi_params_init(const cw_options *options, int32_t n_users, cwi_params *params)
{
    for (int t = 0; t < params->count; t++)
        for (int64_t row = 0; row < params->tensor[t].rows; row++)
            start_row(options, n_users, &params->tensor[t], t, row,
                      params->tensor[t].data + row * params->tensor[t].columns);
}

/* init.c - first values of parameters, a function of the seed, the tensor and the row. */
#include <math.h>
#include <string.h>

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

cw_status cwi_params_init(cw_context *ctx, const cw_options *options, int32_t n_users,
                          cwi_params *params)
{
    uint64_t seed = (uint64_t)cwi_options_integer(options, "seed");
    init_kind kind = (init_kind)cwi_options_choice(options, "init");
    double scale = cwi_options_real(options, "init-scale");
    (void)ctx;

    for (int t = 0; t < params->count; t++) {
        cwi_tensor *tensor = &params->tensor[t];
        for (int64_t row = 0; row < tensor->rows; row++) {
            cwi_rng rng;
            float *out = tensor->data + row * tensor->columns;
            double bound = t == 0 ? table_bound(kind, tensor, n_users, row)
                                  : xavier(tensor->rows, tensor->columns);
            cwi_rng_init(&rng, seed, CWI_RNG_INIT, (uint64_t)t << 40 | (uint64_t)row);
            for (int64_t c = 0; c < tensor->columns; c++)
                out[c] =
                    (float)(t == 0 && kind == INIT_NORMAL ? scale * cwi_rng_normal(&rng)
                                                          : bound * (2 * cwi_rng_real(&rng) - 1));
        }
    }
    return CW_OK;
}

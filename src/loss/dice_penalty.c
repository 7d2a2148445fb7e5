/*
 * dice_penalty.c - keeps the interest and the conformity half of vectors apart.
 *
 * mse, l1: minus the mean square, or the mean size, of their differences, over the users of the
 * rows and over the items of the slots, each as often as it occurs.  dcor: plus their distance
 * correlation over the users and over the items that occur, each once.
 */
#include <math.h>

#include "core/mem.h"
#include "core/pool.h"
#include "loss/dcor.h"
#include "loss/loss.h"
#include "score/score.h"
#include "score/shared_rows.h"

static const cw_option_info options_of_dice[] = {
    DIS_PENALTY,
    WORD("dis", "mse", "mse|l1|dcor",
         "what keeps the halves apart: their mean squared or mean absolute difference, or their "
         "distance correlation, which takes time quadratic in the batch"),
    {0}};

typedef enum dis { MSE, L1, DCOR } dis;

enum { ROWS_A_CHUNK = 256 };

typedef struct state {
    dis kind;
    double weight;
    int32_t n_users;
    int32_t *count;  /* [nodes] how often it occurs in the batch; 0 between calls */
    double *partial; /* [chunks] */
    /* of dcor alone */
    cwi_dcor dcor;
    int32_t *row, *place; /* [most] of users or of items */
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->count);
    cwi_free(s->partial);
    cwi_dcor_clear(&s->dcor);
    cwi_free(s->row);
    cwi_free(s->place);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            int64_t max_slots, void **out)
{
    cw_status status = CW_OK;
    int64_t nodes = (int64_t)shape->n_users + shape->n_items;
    int64_t most = 2 * max_slots < nodes ? 2 * max_slots : nodes; /* that a batch touches */

    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->kind = (dis)cwi_options_choice(options, "dis");
    s->weight = cwi_options_real(options, "dis-penalty");
    s->n_users = shape->n_users;
    if (s->kind == DCOR) {
        CW_TRY(cwi_dcor_create(ctx, most, &s->dcor));
        s->row = cwi_alloc(ctx, (size_t)most, sizeof *s->row);
        s->place = cwi_alloc(ctx, (size_t)most, sizeof *s->place);
        status = s->row && s->place ? CW_OK : CW_NO_MEMORY;
    } else {
        s->count = cwi_alloc_zero(ctx, (size_t)nodes, sizeof *s->count);
        s->partial =
            cwi_alloc(ctx, (size_t)cwi_pool_chunks(most, ROWS_A_CHUNK), sizeof *s->partial);
        status = s->count && s->partial ? CW_OK : CW_NO_MEMORY;
    }
done:
    if (status == CW_OK)
        *out = s;
    else
        close_state(s);
    return status;
}

/* The touched rows of the batch and where their gradients are. */
typedef struct job {
    state *s;
    const int32_t *touched;
    int64_t n_touched;
    const float *table;
    int32_t width;
    float *rows;
    double user_share, item_share; /* of one entry in the term */
} job;

/* ---- mse, l1 --------------------------------------------------------------------- */

static void count_nodes(state *s, const cwi_batch *batch)
{
    for (int g = 0; g < batch->n_groups; g++) {
        const cwi_group *group = &batch->group[g];
        for (int64_t r = 0; r < group->rows; r++)
            s->count[batch->user[group->first_slot + r * group->slots]]++;
    }
    for (int64_t k = 0; k < batch->n_slots; k++) s->count[s->n_users + batch->item[k]]++;
}

/* Sum over the entries of one vector; its halves are pushed apart. */
static double push_apart(dis kind, const float *x, double share, int32_t h, float *gradient)
{
    double sum = 0;
    for (int32_t c = 0; c < h; c++) {
        double apart = (double)x[c] - (double)x[h + c];
        double slope = kind == L1 ? (double)((apart > 0) - (apart < 0)) : 2 * apart;
        sum += kind == L1 ? fabs(apart) : apart * apart;
        gradient[c] -= (float)(share * slope);
        gradient[h + c] += (float)(share * slope);
    }
    return share * sum;
}

static cw_status push_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    double sum = 0;
    for (int64_t t = begin; t < end; t++) {
        int32_t row = j->touched[t];
        double share = row < j->s->n_users ? j->user_share : j->item_share;
        sum += push_apart(j->s->kind, j->table + (int64_t)row * j->width, share * j->s->count[row],
                          j->width / 2, j->rows + t * j->width);
        j->s->count[row] = 0;
    }
    j->s->partial[chunk] = sum;
    return CW_OK;
}

static cw_status add_differences(cw_context *ctx, job *j, const cwi_batch *batch, double *value)
{
    double h = j->width / 2.0;
    count_nodes(j->s, batch);
    j->user_share = j->s->weight / (h * (double)cwi_batch_rows(batch));
    j->item_share = j->s->weight / (h * (double)batch->n_slots);
    cw_status status = cwi_pool_for(ctx, j->n_touched, ROWS_A_CHUNK, push_rows, j);
    for (int64_t c = 0; c < cwi_pool_chunks(j->n_touched, ROWS_A_CHUNK); c++)
        *value -= j->s->partial[c];
    return status;
}

/* ---- dcor ------------------------------------------------------------------------ */

/* The users, or the items, of the batch. */
static cw_status add_correlation(cw_context *ctx, const job *j, bool users, double *value)
{
    state *s = j->s;
    double dcor;
    cwi_points points = {.table = j->table, .width = j->width, .row = s->row, .place = s->place};
    for (int64_t t = 0; t < j->n_touched; t++)
        if ((j->touched[t] < s->n_users) == users) {
            s->row[points.n] = j->touched[t];
            s->place[points.n++] = (int32_t)t;
        }
    cw_status status = cwi_dcor_add(ctx, &s->dcor, &points, s->weight, j->rows, &dcor);
    *value += s->weight * dcor;
    return status;
}

static cw_status add(cw_context *ctx, void *opened, const cwi_batch *batch, const int32_t *touched,
                     int64_t n_touched, const float *table, int32_t width, float *rows,
                     double *value)
{
    state *s = opened;
    job j = {s, touched, n_touched, table, width, rows, 0, 0};
    *value = 0;
    if (s->weight == 0) return CW_OK;
    if (s->kind != DCOR) return add_differences(ctx, &j, batch, value);
    cw_status status = add_correlation(ctx, &j, true, value);
    return status == CW_OK ? add_correlation(ctx, &j, false, value) : status;
}

const cwi_penalty cwi_penalty_dice = {.name = "dice",
                                      .open = open_state,
                                      .add = add,
                                      .close = close_state,
                                      .options = options_of_dice};

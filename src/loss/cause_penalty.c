/* cause_penalty.c - the two vectors of an item are drawn to one another. */
#include <math.h>

#include "core/mem.h"
#include "core/pool.h"
#include "score/score.h"
#include "score/shared_rows.h"

static const cw_option_info options_of_cause[] = {
    DIS_PENALTY,
    WORD("cause-penalty", "l2", "l2|l1|l1-stop",
         "mean square or mean absolute difference of the two vectors, or their mean L1 distance "
         "with the treatment vector held constant"),
    {0}};

enum { ITEMS_A_CHUNK = 128 };

/* In the order of the option's choices. */
typedef enum kind {
    KIND_L2,     /* mean square over the items of the batch and their numbers */
    KIND_L1,     /* mean absolute value of the same */
    KIND_L1_STOP /* mean L1 distance over the control rows; the treatment vector stands still */
} kind;

typedef struct state {
    kind kind;
    double strength;
    int32_t n_users, n_items; /* items of one table */
    int32_t *place;           /* [2 n_items] of each vector among those touched */
    int32_t *item;            /* [n_items] items of the batch */
    int32_t *times;           /* [n_items] control rows of each; all 0 between calls */
    double *partial;          /* [chunks] */
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->place);
    cwi_free(s->item);
    cwi_free(s->times);
    cwi_free(s->partial);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            int64_t max_slots, void **out)
{
    (void)max_slots;
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->kind = (kind)cwi_options_choice(options, "cause-penalty");
    s->strength = cwi_options_real(options, "dis-penalty");
    s->n_users = shape->n_users;
    s->n_items = shape->n_items / 2;
    s->place = cwi_alloc(ctx, (size_t)shape->n_items, sizeof *s->place);
    s->item = cwi_alloc(ctx, (size_t)s->n_items, sizeof *s->item);
    s->times = cwi_alloc_zero(ctx, (size_t)s->n_items, sizeof *s->times);
    s->partial =
        cwi_alloc(ctx, (size_t)cwi_pool_chunks(s->n_items, ITEMS_A_CHUNK), sizeof *s->partial);
    if (!s->place || !s->item || !s->times || !s->partial) {
        close_state(s);
        return CW_NO_MEMORY;
    }
    *out = s;
    return CW_OK;
}

/* Items of the batch, and where their vectors are; the sampler gives both of each. */
static int32_t list_items(state *s, const int32_t *touched, int64_t n_touched)
{
    int32_t n = 0;
    for (int64_t t = 0; t < n_touched; t++) {
        int32_t vector = touched[t] - s->n_users;
        if (vector < 0) continue; /* a user */
        s->place[vector] = (int32_t)t;
        if (vector < s->n_items) s->item[n++] = vector;
    }
    return n;
}

static void count_control(state *s, const cwi_batch *batch, int32_t step)
{
    const cwi_group *control = &batch->group[0];
    for (int64_t r = 0; r < control->rows; r++)
        s->times[batch->item[control->first_slot + 2 * r]] += step;
}

/* One call at work. */
typedef struct job {
    state *state;
    const float *table;
    int32_t width;
    float *rows;
    double unit; /* weight of an item, or of each of its control rows */
} job;

/* weight times the sum of squares of c - t, and its slopes. */
static double pull_l2(const float *c, const float *t, int32_t n, double weight, float *to_c,
                      float *to_t)
{
    double sum = 0;
    for (int32_t k = 0; k < n; k++) {
        double apart = (double)c[k] - (double)t[k];
        float slope = (float)(2 * weight * apart);
        sum += apart * apart;
        to_c[k] += slope;
        to_t[k] -= slope;
    }
    return weight * sum;
}

/* The same of absolute values; to_t may be NULL. */
static double pull_l1(const float *c, const float *t, int32_t n, double weight, float *to_c,
                      float *to_t)
{
    double sum = 0;
    for (int32_t k = 0; k < n; k++) {
        double apart = (double)c[k] - (double)t[k];
        float slope = (float)(weight * ((apart > 0) - (apart < 0)));
        sum += fabs(apart);
        to_c[k] += slope;
        if (to_t) to_t[k] -= slope;
    }
    return weight * sum;
}

/* An item belongs to one chunk, and so do the gradients of its two vectors. */
static cw_status pull_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const state *s = j->state;
    double value = 0;
    for (int64_t k = begin; k < end; k++) {
        int32_t item = s->item[k], twin = s->n_items + item, d = j->width;
        const float *c = j->table + ((int64_t)s->n_users + item) * d;
        const float *t = j->table + ((int64_t)s->n_users + twin) * d;
        float *to_c = j->rows + (int64_t)s->place[item] * d;
        float *to_t = j->rows + (int64_t)s->place[twin] * d;
        if (s->kind == KIND_L2)
            value += pull_l2(c, t, d, j->unit, to_c, to_t);
        else if (s->kind == KIND_L1)
            value += pull_l1(c, t, d, j->unit, to_c, to_t);
        else if (s->times[item] > 0)
            value += pull_l1(c, t, d, j->unit * s->times[item], to_c, NULL);
    }
    s->partial[chunk] = value;
    return CW_OK;
}

static cw_status add(cw_context *ctx, void *opened, const cwi_batch *batch, const int32_t *touched,
                     int64_t n_touched, const float *table, int32_t width, float *rows,
                     double *value)
{
    state *s = opened;
    int32_t n = list_items(s, touched, n_touched);
    job j = {.state = s, .table = table, .width = width, .rows = rows};
    double parts = (double)(s->kind == KIND_L1_STOP ? batch->group[0].rows : (int64_t)n * width);
    j.unit = parts > 0 ? s->strength / parts : 0;
    if (s->kind == KIND_L1_STOP) count_control(s, batch, 1);
    cw_status status = cwi_pool_for(ctx, n, ITEMS_A_CHUNK, pull_chunk, &j);
    if (s->kind == KIND_L1_STOP) count_control(s, batch, -1);
    *value = 0;
    for (int64_t c = 0; c < cwi_pool_chunks(n, ITEMS_A_CHUNK); c++) *value += s->partial[c];
    return status;
}

const cwi_penalty cwi_penalty_cause = {.name = "cause",
                                       .open = open_state,
                                       .add = add,
                                       .close = close_state,
                                       .options = options_of_cause};

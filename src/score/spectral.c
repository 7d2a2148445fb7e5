/*
 * spectral.c - a term on how far scores follow popularity, after ReSN (Lin et al., 2025).
 *
 * The largest singular value of the matrix of scores belongs to a direction close to popularity, so
 * that to hold it down holds popularity down.  With q the popularity of the items of the batch at
 * length 1 and v = sum of q_i E_i, the term is
 *   spectral x (items of the batch) x mean over its users of (E_u . v)^2.
 */
#include <math.h>

#include "core/mem.h"
#include "score/score.h"

typedef struct state {
    double strength;
    int32_t n_users;
    float *degree; /* [items] train rows */
    double *room;  /* [2][width]: v, and its slope */
    int32_t width;
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->degree);
    cwi_free(s->room);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            int64_t max_slots, void **out)
{
    (void)max_slots;
    state *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->strength = cwi_options_real(options, "spectral");
    s->n_users = shape->n_users;
    s->degree = cwi_alloc_zero(ctx, (size_t)shape->n_items, sizeof *s->degree);
    if (!s->degree) return CW_NO_MEMORY;
    for (int64_t e = 0; e < shape->train->start[shape->n_users]; e++)
        s->degree[shape->train->value[e]]++;
    return CW_OK;
}

/* v, and how long popularity is; the first item among the touched rows. */
static double find_direction(const state *s, const int32_t *touched, int64_t n, const float *table,
                             int32_t width, int64_t *first)
{
    double square = 0;
    *first = 0;
    while (*first < n && touched[*first] < s->n_users) ++*first;
    for (int32_t c = 0; c < width; c++) s->room[c] = s->room[width + c] = 0;
    for (int64_t t = *first; t < n; t++) {
        double degree = (double)s->degree[touched[t] - s->n_users];
        square += degree * degree;
        for (int32_t c = 0; c < width; c++)
            s->room[c] += degree * (double)table[(int64_t)touched[t] * width + c];
    }
    for (int32_t c = 0; c < width && square > 0; c++) s->room[c] /= sqrt(square);
    return sqrt(square);
}

/* Slopes of users, and what is left for v. */
static double add_users(const state *s, const int32_t *touched, int64_t n, const float *table,
                        int32_t width, double strength, float *rows)
{
    double value = 0, *v = s->room, *slope = s->room + width;
    for (int64_t t = 0; t < n; t++) {
        const float *x = table + (int64_t)touched[t] * width;
        double along = 0;
        for (int32_t c = 0; c < width; c++) along += (double)x[c] * v[c];
        value += strength * along * along;
        for (int32_t c = 0; c < width; c++) {
            rows[t * width + c] += (float)(2 * strength * along * v[c]);
            slope[c] += 2 * strength * along * (double)x[c];
        }
    }
    return value;
}

static cw_status add(cw_context *ctx, void *opened, const cwi_batch *batch, const int32_t *touched,
                     int64_t n_touched, const float *table, int32_t width, float *rows,
                     double *value)
{
    state *s = opened;
    int64_t first;
    (void)batch;
    *value = 0;
    if (s->width != width) {
        cwi_free(s->room);
        s->room = cwi_alloc(ctx, 2 * (size_t)width, sizeof *s->room);
        s->width = s->room ? width : 0;
        if (!s->room) return CW_NO_MEMORY;
    }
    double length = find_direction(s, touched, n_touched, table, width, &first);
    if (first == 0 || length == 0) return CW_OK;
    double strength = s->strength * (double)(n_touched - first) / (double)first;
    *value = add_users(s, touched, first, table, width, strength, rows);
    for (int64_t t = first; t < n_touched; t++) {
        double share = (double)s->degree[touched[t] - s->n_users] / length;
        for (int32_t c = 0; c < width; c++)
            rows[t * width + c] += (float)(share * s->room[width + c]);
    }
    return CW_OK;
}

const cwi_penalty cwi_penalty_spectral = {
    .name = "spectral",
    .open = open_state,
    .add = add,
    .close = close_state,
};

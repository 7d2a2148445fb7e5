/*
 * pack.c - rows that wait, made of the parameters and moments of an Adam that waits for nothing,
 * and turned back into those.
 *
 * An engine whose rows do not wait keeps both: whoever goes on from its state takes the blocks, it
 * itself the moments, of which blocks hold half the bits.
 */
#include "engine/cpu/late.h"

#include "core/pool.h"

enum { ROWS_A_CHUNK = 256 };

typedef struct job {
    cwi_deferred *t;
    float *m, *v;
    float epsilon;   /* of the last step */
    uint32_t step;   /* that one, its low bits */
    bool has_waited; /* rows have missed steps */
} job;

static job job_of(cwi_deferred *t, float *m, float *v, int64_t applied)
{
    float epsilon = (float)cwi_adam_epsilon(&t->gaps.clock, applied > 0 ? applied : 1);
    return (job){.t = t, .m = m, .v = v, .epsilon = epsilon, .step = (uint32_t)applied};
}

/* What a block has of two moments. */
static int16_t pack_one(float m, float v, float epsilon, float *root)
{
    *root = sqrtf(v);
    return cwi_drift_nearest((float)CWI_DRIFT_UNITS * (m / (*root + epsilon)));
}

static cw_status pack_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    cwi_deferred *t = j->t;
    (void)chunk;
    for (int64_t row = begin; row < end; row++) {
        cwi_adam_row to = cwi_late_row(t, row);
        const float *m = j->m + row * t->d, *v = j->v + row * t->d;
        if (t->block.holds_theta)
            memcpy(to.theta, t->theta + row * t->d, (size_t)t->d * sizeof *to.theta);
        for (int64_t c = 0; c < t->d; c++)
            to.drift[c] = pack_one(m[c], v[c], j->epsilon, &to.root[c]);
        float pull = t->decay * t->ops->adam_pull(to.theta, to.root, t->d, j->epsilon);
        t->ages[row] = (cwi_age){j->step, pull};
    }
    return CW_OK;
}

cw_status cwi_late_pack(cw_context *ctx, cwi_deferred *t, float *m, float *v, int64_t applied)
{
    job j = job_of(t, m, v, applied);
    return cwi_pool_for(ctx, t->rows, ROWS_A_CHUNK, pack_rows, &j);
}

/* Is the block that of the moments, which then say more? */
static bool is_of(const job *j, int64_t row, const float *m, const float *v)
{
    cwi_adam_row at = cwi_late_row(j->t, row);
    if (j->t->ages[row].last != j->step) return false;
    for (int64_t c = 0; c < j->t->d; c++) {
        float root;
        int16_t drift = pack_one(m[c], v[c], j->epsilon, &root);
        if (drift != at.drift[c] || memcmp(&root, &at.root[c], sizeof root) != 0) return false;
    }
    return true;
}

static cw_status unpack_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    cwi_deferred *t = j->t;
    float *room = cwi_rooms_enter(t->rooms);
    (void)chunk;
    for (int64_t row = begin; row < end; row++) {
        float *m = j->m + row * t->d, *v = j->v + row * t->d;
        bool is_same = is_of(j, row, m, v);
        if (j->has_waited) cwi_late_catch_up(t, row, room);
        cwi_adam_row from = cwi_late_row(t, row);
        if (t->block.holds_theta)
            memcpy(t->theta + row * t->d, from.theta, (size_t)t->d * sizeof *from.theta);
        for (int64_t c = 0; c < t->d && !is_same; c++) {
            m[c] = (float)from.drift[c] / (float)CWI_DRIFT_UNITS * (from.root[c] + j->epsilon);
            v[c] = from.root[c] * from.root[c];
        }
    }
    cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

cw_status cwi_late_unpack(cw_context *ctx, cwi_deferred *t, float *m, float *v, int64_t applied)
{
    job j = job_of(t, m, v, applied);
    for (int64_t r = 0; r < t->rows && !j.has_waited; r++) j.has_waited = t->ages[r].last != j.step;
    if (j.has_waited) CW_PASS(cwi_deferred_go_on(ctx, t, applied));
    return cwi_pool_for(ctx, t->rows, ROWS_A_CHUNK, unpack_rows, &j);
}

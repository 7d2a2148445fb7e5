/*
 * late.h - rows that wait (deferred.c): what is kept of one, and what may be done with it.
 *
 * Inline, because a step does little else.
 */
#ifndef CWI_ENGINE_LATE_H
#define CWI_ENGINE_LATE_H

#include <math.h>
#include <string.h>

#include "core/rooms.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/pack.h"
#include "optim/gap.h"
#include "score/table.h"

/* The pull of a row changes slowly, once it is slow. */
enum { CWI_SLOW = 1, CWI_PULLS_EVERY = 8 };

/* Shares of a row that the L2 term may take at once where the row is written, and where it is only
 * read, by a mean of its numbers. */
static const float cwi_most_stepped = 1e-2f, cwi_most_read = 5e-3f;

/* How far a row is. */
typedef struct cwi_age {
    uint32_t last; /* step up to which it is current, its low bits: gaps are shorter than those */
    float pull;    /* how fast the L2 term shrinks it: share for a learning rate of one */
} cwi_age;

/* Where the parts of a block lie, in units of two bytes, each in whole cache lines: drift and root
 * (backend.h), and before them the parameters where scores are made from blocks, which settle then
 * copies to the table. */
typedef struct cwi_block_layout {
    bool holds_theta;
    int64_t drift, root, width;
} cwi_block_layout;

struct cwi_deferred {
    const cwi_ops *ops;
    float *theta; /* the table */
    int64_t rows, d;
    float decay;
    cwi_age *ages;
    cwi_block_layout block;
    int16_t *blocks; /* [rows] */
    float *no_slope; /* [d] zeros */
    cwi_gaps gaps;
    cwi_rooms *rooms; /* for gradients under way */

    /* where scores are made from blocks */
    int32_t n_users, heads;
    float *user_now, *item_now; /* current values: users that are kept, items that are drawn */
    cwi_table_plan plan;
};

static inline int16_t *cwi_late_block(const cwi_deferred *t, int64_t row)
{
    return t->blocks + row * t->block.width;
}

static inline float *cwi_late_theta(const cwi_deferred *t, int64_t row)
{
    return t->block.holds_theta ? (float *)(void *)cwi_late_block(t, row) : t->theta + row * t->d;
}

static inline int16_t *cwi_late_drift(const cwi_deferred *t, int64_t row)
{
    return cwi_late_block(t, row) + t->block.drift;
}

static inline float *cwi_late_root(const cwi_deferred *t, int64_t row)
{
    return (float *)(void *)(cwi_late_block(t, row) + t->block.root);
}

static inline cwi_adam_row cwi_late_row(const cwi_deferred *t, int64_t row)
{
    return (cwi_adam_row){cwi_late_theta(t, row), cwi_late_drift(t, row), cwi_late_root(t, row)};
}

/* Inline, because a function that only fetches does nothing in the eyes of a compiler. */
__attribute__((always_inline)) static inline void cwi_late_fetch(const cwi_deferred *t, int64_t row)
{
    __builtin_prefetch(t->ages + row);
    cwi_fetch(cwi_late_theta(t, row), t->d * (int64_t)sizeof *t->theta);
    cwi_fetch(cwi_late_drift(t, row), t->d * (int64_t)sizeof(int16_t));
}

/* How many steps a row has missed. */
static inline int64_t cwi_late_missed(const cwi_deferred *t, int64_t row)
{
    return (int64_t)((uint32_t)t->gaps.step - t->ages[row].last);
}

/* Does the L2 term move a row so little that its missed steps may be taken at once?  It is then
 * small beside the root of v, and what is left out is of second order. */
static inline bool cwi_late_is_light(float pull, const cwi_adam_pause *pause, float most)
{
    return pull <= CWI_SLOW && pull * pause->pull_rate <= most;
}

/* A row after the steps that it missed, one or more, with care. */
static inline void cwi_late_miss(const cwi_deferred *t, int64_t row, const cwi_adam_row *to)
{
    cwi_adam_gap gaps[CWI_GAP_PIECES];
    cwi_adam_row from = cwi_late_row(t, row);
    int64_t last = t->gaps.step - cwi_late_missed(t, row);
    int n = cwi_gaps_find(&t->gaps, last, t->decay, gaps);
    t->ops->adam_missed(&from, t->d, (float)t->gaps.time[last].epsilon, gaps, n, to);
}

static inline float cwi_late_pull(const cwi_deferred *t, const cwi_adam_row *row)
{
    float now = (float)t->gaps.time[t->gaps.step].epsilon;
    return t->decay * t->ops->adam_pull(row->theta, row->root, t->d, now);
}

/* Bring a row up to date.  Where it may be done at once, the pause before a step is all there is of
 * the step: it neither learns nor moves.  `room` is that of a row. */
static inline void cwi_late_catch_up(const cwi_deferred *t, int64_t row, float *room)
{
    cwi_adam_row at = cwi_late_row(t, row);
    int64_t steps = cwi_late_missed(t, row);
    if (steps == 0) return;
    cwi_adam_pause pause = cwi_gaps_pause(&t->gaps, steps);
    const cwi_rates still = {.beta1 = 1,
                             .beta2 = 1,
                             .epsilon = (float)t->gaps.time[t->gaps.step].epsilon,
                             .decay = t->decay};
    if (cwi_late_is_light(t->ages[row].pull, &pause, cwi_most_stepped))
        t->ops->adam_late(&at, t->no_slope, t->d, &pause, &still, room);
    else
        cwi_late_miss(t, row, &at);
    t->ages[row] = (cwi_age){(uint32_t)t->gaps.step, cwi_late_pull(t, &at)};
}

/* The current values of a row are keep * theta - rate * drift, unless this returns false.  The pull
 * goes by a mean of the row here, and not into the table. */
static inline bool cwi_late_pause(const cwi_deferred *t, int64_t row, float *keep, float *rate)
{
    float pull = t->ages[row].pull;
    cwi_adam_pause pause = cwi_gaps_pause(&t->gaps, cwi_late_missed(t, row));
    *keep = 1.0f - pull * pause.pull_rate;
    *rate = pause.drift_rate / CWI_DRIFT_UNITS;
    return cwi_late_is_light(pull, &pause, cwi_most_read) || pause.m_left == 1.0f;
}

/* The current values of a row, which stays as it is. */
static inline void cwi_late_peek(const cwi_deferred *t, int64_t row, float *out)
{
    float keep, rate;
    if (cwi_late_pause(t, row, &keep, &rate))
        t->ops->adam_peek(cwi_late_theta(t, row), cwi_late_drift(t, row), t->d, keep, rate, out);
    else
        cwi_late_miss(t, row, &(cwi_adam_row){.theta = out});
}

/* row . (plus - minus); `room` is that of a row. */
static inline float cwi_late_dot(const cwi_deferred *t, int64_t row, const float *plus,
                                 const float *minus, float *room)
{
    float keep, rate;
    if (cwi_late_pause(t, row, &keep, &rate))
        return t->ops->dot_apart(cwi_late_theta(t, row), cwi_late_drift(t, row), keep, rate, plus,
                                 minus, t->d);
    cwi_late_miss(t, row, &(cwi_adam_row){.theta = room});
    return t->ops->dot_apart(room, NULL, 1, 0, plus, minus, t->d);
}

/* A row that is stepped now, after the steps that it missed. */
__attribute__((always_inline)) static inline void cwi_late_step(const cwi_deferred *t,
                                                                const cwi_rates *rates, int64_t row,
                                                                const float *gradient, float *now)
{
    cwi_adam_row at = cwi_late_row(t, row);
    int64_t steps = cwi_late_missed(t, row), step = t->gaps.step + 1;
    cwi_adam_pause pause = cwi_gaps_pause(&t->gaps, steps);
    if (steps > 0 && !cwi_late_is_light(t->ages[row].pull, &pause, cwi_most_stepped)) {
        cwi_late_miss(t, row, &at);
        pause = cwi_gaps_pause(&t->gaps, 0);
    }
    t->ops->adam_late(&at, gradient, t->d, &pause, rates, now);
    t->ages[row].last = (uint32_t)step;
    if (t->ages[row].pull > CWI_SLOW || (step + row) % CWI_PULLS_EVERY == 0)
        t->ages[row].pull = cwi_late_pull(t, &at);
}

__attribute__((always_inline)) static inline void cwi_late_fetch_all(const cwi_deferred *t,
                                                                     int64_t row)
{
    cwi_late_fetch(t, row);
    cwi_fetch(cwi_late_root(t, row), t->d * (int64_t)sizeof(float));
}

/* deferred.c, for rows of whatever share of a table: */
cw_status cwi_deferred_create(cw_context *ctx, cwi_cpu *e); /* as e->deferred, and what it needs */
cw_status cwi_deferred_settle(cw_context *ctx, cwi_deferred *t);
cw_status cwi_deferred_go_on(cw_context *ctx, cwi_deferred *t, int64_t applied);

#endif

/* town.h - users and items with vectors of many kinds, for tests of lists. */
#ifndef TOWN_H
#define TOWN_H

#include <math.h>

#include "core/rng.h"
#include "score/ranker.h"
#include "testing.h"

/* Users and items with vectors of some kind, and what users have seen. */
typedef struct town {
    listener l;
    int32_t n_users, n_items, d;
    float *users, *items;
    cwi_csr mask;
    cwi_ranker ranker;
} town;

typedef float (*number_fn)(cwi_rng *rng, int32_t row, int32_t column);

static float normal(cwi_rng *rng, int32_t row, int32_t column)
{
    (void)row, (void)column;
    return (float)cwi_rng_normal(rng);
}

/* Lengths from 1e-12 to 1e12. */
static float of_any_length(cwi_rng *rng, int32_t row, int32_t column)
{
    (void)column;
    return (float)(cwi_rng_normal(rng) * pow(10, row * 7 % 25 - 12));
}

/* One number of each vector is far above the others. */
static float spiky(cwi_rng *rng, int32_t row, int32_t column)
{
    return (float)cwi_rng_normal(rng) * (column == row % 5 ? 1e4f : 1.0f);
}

/* Seven vectors again and again. */
static float repeated(cwi_rng *rng, int32_t row, int32_t column)
{
    (void)rng;
    return sinf((float)(row % 7 * 100 + column));
}

static float equal(cwi_rng *rng, int32_t row, int32_t column)
{
    (void)rng, (void)row, (void)column;
    return 0.25f;
}

/* Every third vector has no number but zero. */
static float often_zero(cwi_rng *rng, int32_t row, int32_t column)
{
    float number = normal(rng, row, column);
    return row % 3 == 0 ? 0 : number;
}

/* Whole numbers, whose scores are often equal. */
static float whole(cwi_rng *rng, int32_t row, int32_t column)
{
    (void)row, (void)column;
    return (float)cwi_rng_below(rng, 3) - 1;
}

static float denormal(cwi_rng *rng, int32_t row, int32_t column)
{
    return normal(rng, row, column) * (row % 2 ? 1e-42f : 1e-21f);
}

static float huge(cwi_rng *rng, int32_t row, int32_t column)
{
    return normal(rng, row, column) * 1e30f;
}

/* A user has seen every item with this probability. */
static void see_items(town *t, cwi_rng *rng, double share)
{
    int64_t count = 0, most = (int64_t)t->n_users * t->n_items;
    int32_t *user = malloc((size_t)most * sizeof *user),
            *item = malloc((size_t)most * sizeof *item);
    for (int64_t e = 0; e < most; e++) {
        if (cwi_rng_real(rng) >= share) continue;
        user[count] = (int32_t)(e / t->n_items);
        item[count++] = (int32_t)(e % t->n_items);
    }
    assert_int_equal(cwi_csr_create(t->l.ctx, user, item, count, t->n_users, &t->mask), CW_OK);
    free(user);
    free(item);
}

static void town_init(town *t, int32_t n_users, int32_t n_items, int32_t d, number_fn number,
                      double share)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 5, CWI_RNG_TEST, (uint64_t)d);
    listener_init(&t->l);
    t->n_users = n_users;
    t->n_items = n_items;
    t->d = d;
    t->users = malloc((size_t)n_users * (size_t)d * sizeof *t->users);
    t->items = malloc((size_t)n_items * (size_t)d * sizeof *t->items);
    for (int32_t e = 0; e < n_users * d; e++) t->users[e] = number(&rng, e / d, e % d);
    for (int32_t e = 0; e < n_items * d; e++) t->items[e] = number(&rng, e / d, e % d);
    see_items(t, &rng, share);
    cwi_ranker_dot(t->users, t->items, n_users, n_items, d, &t->ranker);
}

static void town_clear(town *t)
{
    free(t->users);
    free(t->items);
    cwi_csr_clear(&t->mask);
    listener_clear(&t->l);
}

#endif

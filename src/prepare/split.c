/*
 * split.c - the ways to divide rows: debiased, as published, random, by time, as given.
 *
 * The debiased split holds out rows with probability falling in the popularity of their item, so
 * that every item is about equally likely to be tested (Liang et al., 2016; used by CausE, DICE,
 * CPR).  Rows whose user or item would vanish from train go back to train.
 */
#include "prepare/split.h"

#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/mt19937.h"
#include "core/rng.h"
#include "core/smallest.h"
#include "core/text.h"
#include "prepare/dataset.h"
#include "prepare/draw.h"
#include "prepare/reach.h"

typedef cw_status (*split_fn)(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                              cwi_split *split);

/* ---- pieces --------------------------------------------------------------- */

static double by_degree(double degree, double cap)
{
    return 1.0 / degree < cap ? 1.0 / degree : cap;
}

/* Weight min(1/d_i, cap) of every item, d_i its degree. */
static cw_status weigh_items(cw_context *ctx, const cwi_rows *rows, double cap, double **weight)
{
    cwi_pile pile = {0};
    int64_t *degree = cwi_pile_add(ctx, &pile, (size_t)rows->n_items, sizeof *degree);
    *weight = degree ? cwi_alloc(ctx, (size_t)rows->n_items, sizeof **weight) : NULL;
    if (*weight) cwi_degrees(rows->item, rows->count, rows->n_items, degree);
    for (int32_t i = 0; i < rows->n_items && *weight; i++)
        (*weight)[i] = by_degree((double)degree[i], cap);
    cwi_pile_clear(&pile);
    return *weight ? CW_OK : CW_NO_MEMORY;
}

/* The same of every row. */
static cw_status debias_weights(cw_context *ctx, const cwi_rows *rows, double cap, double **weight)
{
    return cwi_degree_weights(ctx, rows->item, rows->count, rows->n_items, by_degree, cap, weight);
}

/* An option that was given, or its value in the paper. */
static double real_or(const cw_options *options, const char *name, double usual)
{
    return cwi_options_is_set(options, name) ? cwi_options_real(options, name) : usual;
}

static const double usual_holdout = 0.3, usual_cap = 1.0 / 60;

/* Rows that are not train, in file order, as the held-out list. */
static void list_held(const cwi_rows *rows, cwi_split *split)
{
    split->n_held = 0;
    for (int64_t r = 0; r < rows->count; r++)
        if (split->part[r] != CW_PART_TRAIN) split->held[split->n_held++] = r;
    split->drawn = split->n_held;
}

/* Held-out rows whose user or item has no train row are given `part`; *changed says how many.
 * One pass: rows moved back do not help others. */
static cw_status place_unseen(cw_context *ctx, const cwi_rows *rows, cwi_split *split, uint8_t part,
                              int64_t *changed)
{
    uint8_t *has_user = cwi_alloc_zero(ctx, (size_t)rows->n_users + (size_t)rows->n_items, 1);
    if (!has_user) return CW_NO_MEMORY;
    uint8_t *has_item = has_user + rows->n_users;
    int64_t kept = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        if (split->part[r] != CW_PART_TRAIN) continue;
        has_user[rows->user[r]] = 1;
        has_item[rows->item[r]] = 1;
    }
    for (int64_t h = 0; h < split->n_held; h++) {
        int64_t r = split->held[h];
        if (has_user[rows->user[r]] && has_item[rows->item[r]])
            split->held[kept++] = r;
        else
            split->part[r] = part;
    }
    *changed = split->n_held - kept;
    split->n_held = kept;
    cwi_free(has_user);
    return CW_OK;
}

enum { MOVEBACK_AUTO, MOVEBACK_ON, MOVEBACK_OFF };

static cw_status settle_unseen(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                               bool by_default, cwi_split *split)
{
    int choice = cwi_options_choice(options, "moveback");
    bool back = choice == MOVEBACK_AUTO ? by_default : choice == MOVEBACK_ON;
    return place_unseen(ctx, rows, split, back ? CW_PART_TRAIN : CWI_PART_DROPPED,
                        back ? &split->moved_back : &split->dropped);
}

static int64_t held_share(const cwi_rows *rows, const cwi_split *split)
{
    return (int64_t)rint((double)rows->count * split->holdout);
}

static int64_t test_share(const cwi_split *split, const cw_options *options)
{
    return (int64_t)rint((double)split->n_held * cwi_options_real(options, "test-share"));
}

static uint64_t seed_of(const cw_options *options)
{
    return (uint64_t)cwi_options_integer(options, "seed");
}

/* Give test its share of the held-out rows, uniformly at random. */
static cw_status cut_test(cw_context *ctx, const cw_options *options, cwi_split *split)
{
    uint8_t *drawn = cwi_alloc(ctx, (size_t)split->n_held, 1);
    if (!drawn) return CW_NO_MEMORY;
    cw_status status = cwi_draw(ctx, NULL, split->n_held, test_share(split, options),
                                seed_of(options), CWI_RNG_TEST_CUT, drawn);
    for (int64_t h = 0; h < split->n_held && status == CW_OK; h++)
        split->part[split->held[h]] = drawn[h] ? CW_PART_TEST : CW_PART_VALID;
    cwi_free(drawn);
    return status;
}

/* ---- debiased and random -------------------------------------------------- */

/* weight: of items, or NULL. */
static cw_status split_by_weight(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                                 const double *weight, cwi_split *split)
{
    CW_PASS(cwi_draw_by(ctx, weight, rows->item, rows->count, held_share(rows, split),
                        seed_of(options), CWI_RNG_HOLDOUT, split->part));
    list_held(rows, split); /* drawn rows hold 1 for now, which is not train */
    CW_PASS(settle_unseen(ctx, rows, options, true, split));
    return cut_test(ctx, options, split);
}

static cw_status split_debiased(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                                cwi_split *split)
{
    double *weight;
    CW_PASS(cwi_reach_fit(ctx, rows, options, &split->cap, &split->holdout));
    cw_status status = weigh_items(ctx, rows, split->cap, &weight);
    if (status == CW_OK) status = split_by_weight(ctx, rows, options, weight, split);
    cwi_free(weight);
    return status;
}

static cw_status split_random(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                              cwi_split *split)
{
    split->holdout = real_or(options, "holdout", usual_holdout);
    return split_by_weight(ctx, rows, options, NULL, split);
}

/* ---- as published --------------------------------------------------------- */

/* Test rows are the first of a permutation of the held-out rows and come in its order; valid
 * rows are the others in draw order. */
static cw_status cut_test_compat(cw_context *ctx, const cw_options *options, cwi_split *split)
{
    cw_status status;
    cwi_pile pile = {0};
    int64_t n_test = test_share(split, options), at = 0;
    int32_t *order = cwi_pile_add(ctx, &pile, (size_t)split->n_held, sizeof *order);
    int64_t *draw_order = cwi_pile_add(ctx, &pile, (size_t)split->n_held, sizeof *draw_order);
    cwi_mt19937 mt;

    CW_TRY(pile.status);
    cwi_mt_init(&mt, (uint32_t)seed_of(options));
    cwi_mt_permute(&mt, order, (int32_t)split->n_held);
    memcpy(draw_order, split->held, (size_t)split->n_held * sizeof *draw_order);
    for (int64_t h = 0; h < split->n_held; h++) split->part[draw_order[h]] = CW_PART_VALID;
    for (int64_t h = 0; h < n_test; h++) {
        split->held[at] = draw_order[order[h]];
        split->part[split->held[at++]] = CW_PART_TEST;
    }
    for (int64_t h = 0; h < split->n_held; h++)
        if (split->part[draw_order[h]] == CW_PART_VALID) split->held[at++] = draw_order[h];
done:
    cwi_pile_clear(&pile);
    return status;
}

static cw_status split_compat(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                              cwi_split *split)
{
    cw_status status;
    double *weight = NULL;

    split->cap = real_or(options, "cap", usual_cap);
    split->holdout = real_or(options, "holdout", usual_holdout);
    split->n_held = split->drawn = held_share(rows, split);
    if (split->n_held > INT32_MAX)
        return cwi_fail(ctx, CW_BAD_DATA, "compat splits hold out at most %d rows", INT32_MAX);
    CW_TRY(debias_weights(ctx, rows, split->cap, &weight));
    CW_TRY(cwi_draw_compat(ctx, weight, rows->count, split->n_held, (uint32_t)seed_of(options),
                           split->held));
    for (int64_t h = 0; h < split->n_held; h++) split->part[split->held[h]] = CW_PART_VALID;
    CW_TRY(settle_unseen(ctx, rows, options, true, split));
    CW_TRY(cut_test_compat(ctx, options, split));
done:
    cwi_free(weight);
    return status;
}

/* ---- by time -------------------------------------------------------------- */

/* All rows from the earliest to the latest; equal times keep file order. */
static cw_status sort_by_time(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                              cwi_ordered **out)
{
    if (!rows->time) {
        *out = NULL;
        return cwi_fail(ctx, CW_BAD_DATA,
                        "--split %s needs a time for every interaction and the input has none",
                        cwi_split_name(rows, options));
    }
    *out = cwi_alloc(ctx, (size_t)rows->count, sizeof **out);
    if (!*out) return CW_NO_MEMORY;
    for (int64_t r = 0; r < rows->count; r++) (*out)[r] = (cwi_ordered){rows->time[r], r};
    cwi_order(*out, (size_t)rows->count);
    return CW_OK;
}

/* The latest rows are held out; of these the later ones are the test. */
static cw_status split_by_time(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                               cwi_split *split)
{
    cw_status status;
    cwi_ordered *sorted = NULL;
    split->holdout = real_or(options, "holdout", usual_holdout);
    int64_t n_held = held_share(rows, split);

    CW_TRY(sort_by_time(ctx, rows, options, &sorted));
    split->n_held = n_held;
    int64_t n_test = test_share(split, options);
    for (int64_t k = 0; k < n_held; k++)
        split->part[sorted[rows->count - 1 - k].id] = k < n_test ? CW_PART_TEST : CW_PART_VALID;
    list_held(rows, split);
    CW_TRY(settle_unseen(ctx, rows, options, false, split));
done:
    cwi_free(sorted);
    return status;
}

/* The last row of every user is their test, the one before their validation; users with fewer than
 * three rows stay in train. */
static cw_status split_leave_last(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                                  cwi_split *split)
{
    cw_status status;
    cwi_pile pile = {0};
    cwi_ordered *sorted = NULL;
    int64_t *degree = cwi_pile_add(ctx, &pile, (size_t)rows->n_users, sizeof *degree);
    uint8_t *taken = cwi_pile_add_zero(ctx, &pile, (size_t)rows->n_users, 1);

    CW_TRY(pile.status);
    CW_TRY(sort_by_time(ctx, rows, options, &sorted));
    cwi_degrees(rows->user, rows->count, rows->n_users, degree);
    for (int64_t k = rows->count - 1; k >= 0; k--) {
        int64_t r = sorted[k].id;
        int32_t u = rows->user[r];
        if (degree[u] < 3 || taken[u] == 2) continue;
        split->part[r] = taken[u]++ == 0 ? CW_PART_TEST : CW_PART_VALID;
    }
    list_held(rows, split);
    CW_TRY(settle_unseen(ctx, rows, options, false, split));
done:
    cwi_free(sorted);
    cwi_pile_clear(&pile);
    return status;
}

/* ---- as given ------------------------------------------------------------- */

/* A published split is not altered: rows whose user or item train lacks stay, unless asked. */
static cw_status split_given(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                             cwi_split *split)
{
    if (!rows->part)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--split given needs a folder with train, valid and test files, or "
                        "--train, --valid and --test");
    memcpy(split->part, rows->part, (size_t)rows->count);
    list_held(rows, split);
    if (cwi_options_choice(options, "moveback") == MOVEBACK_AUTO) return CW_OK;
    return settle_unseen(ctx, rows, options, false, split);
}

/* ---- the table ------------------------------------------------------------ */

static const struct {
    const char *name;
    split_fn split;
} ways[] = {
    {"debiased", split_debiased},     {"compat", split_compat},   {"random", split_random},
    {"leave-last", split_leave_last}, {"by-time", split_by_time}, {"given", split_given},
};

const char *cwi_split_name(const cwi_rows *rows, const cw_options *options)
{
    const char *name = cwi_options_text(options, "split");
    if (strcmp(name, "auto") != 0) return name;
    return rows->part ? "given" : "debiased";
}

cw_status cwi_split_create(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                           cwi_split *out)
{
    cw_status status = CW_NO_MEMORY;
    const char *name = cwi_split_name(rows, options);
    size_t way = 0;

    *out = (cwi_split){0};
    out->part = cwi_alloc_zero(ctx, (size_t)rows->count, 1); /* all train */
    out->held = cwi_alloc(ctx, (size_t)rows->count, sizeof *out->held);
    while (strcmp(ways[way].name, name) != 0) way++;
    if (out->part && out->held) status = ways[way].split(ctx, rows, options, out);
    if (status != CW_OK) cwi_split_clear(out);
    return status;
}

cw_status cwi_split_draw(cw_context *ctx, const cwi_rows *rows, double cap, int64_t n,
                         uint64_t seed, cwi_split *out)
{
    cw_status status;
    double *weight = NULL;

    *out = (cwi_split){.cap = cap};
    out->part = cwi_alloc(ctx, (size_t)rows->count, 1);
    out->held = cwi_alloc(ctx, (size_t)rows->count, sizeof *out->held);
    status = out->part && out->held ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK && cap > 0) status = weigh_items(ctx, rows, cap, &weight);
    if (status != CW_OK) goto done;
    CW_TRY(cwi_draw_by(ctx, weight, rows->item, rows->count, n, seed, CWI_RNG_FOLD, out->part));
    list_held(rows, out); /* a drawn row holds 1, which is validation */
    CW_TRY(place_unseen(ctx, rows, out, CW_PART_TRAIN, &out->moved_back));
done:
    cwi_free(weight);
    if (status != CW_OK) cwi_split_clear(out);
    return status;
}

void cwi_split_clear(cwi_split *split)
{
    cwi_free(split->part);
    cwi_free(split->held);
    *split = (cwi_split){0};
}

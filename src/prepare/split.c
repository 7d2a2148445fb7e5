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
#include "core/nth.h"
#include "core/rng.h"
#include "core/text.h"
#include "prepare/dataset.h"
#include "prepare/draw.h"
#include "prepare/reach.h"

typedef cw_status (*split_fn)(cw_context *ctx, cwi_rows *rows, const cw_options *options,
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
    const cwi_reel reel = CWI_REEL(rows);
    cw_status status =
        *weight ? cwi_reel_degrees(ctx, &reel, 0, NULL, rows->n_items, degree) : CW_NO_MEMORY;
    for (int32_t i = 0; i < rows->n_items && status == CW_OK; i++)
        (*weight)[i] = by_degree((double)degree[i], cap);
    cwi_pile_clear(&pile);
    return status;
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

static bool is_held(uint8_t part)
{
    return part == CW_PART_VALID || part == CW_PART_TEST;
}

static cw_status count_held(cw_context *ctx, const cwi_rows *rows, cwi_split *split)
{
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    split->n_held = 0;
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) split->n_held += is_held(w.part[k]);
    split->drawn = split->n_held;
    return w.status;
}

/* Whose rows are in train. */
static cw_status mark_train(cw_context *ctx, const cwi_reel *reel, uint8_t *has_user,
                            uint8_t *has_item)
{
    cwi_window w = cwi_window_over(reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) {
            if (w.part[k] != CW_PART_TRAIN) continue;
            has_user[w.user[k]] = 1;
            has_item[w.item[k]] = 1;
        }
    return w.status;
}

/* Held-out rows whose user or item has no train row are given `part`; *changed says how many.
 * One pass: rows moved back do not help others. */
static cw_status place_unseen(cw_context *ctx, cwi_rows *rows, cwi_split *split, uint8_t part,
                              int64_t *changed)
{
    cw_status status;
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    uint8_t *has_user = cwi_alloc_zero(ctx, (size_t)rows->n_users + (size_t)rows->n_items, 1);
    if (!has_user) return CW_NO_MEMORY;
    uint8_t *has_item = has_user + rows->n_users;
    *changed = 0;
    CW_TRY(mark_train(ctx, &reel, has_user, has_item));
    while (cwi_window_next(ctx, &w)) {
        for (int64_t k = 0; k < w.n; k++) {
            if (!is_held(w.part[k]) || (has_user[w.user[k]] && has_item[w.item[k]])) continue;
            w.part[k] = part;
            ++*changed;
        }
        CW_TRY(cwi_window_keep_parts(ctx, &w));
    }
    status = w.status;
    split->n_held -= *changed;
done:
    cwi_window_close(&w);
    cwi_free(has_user);
    return status;
}

enum { MOVEBACK_AUTO, MOVEBACK_ON, MOVEBACK_OFF };

static cw_status settle_unseen(cw_context *ctx, cwi_rows *rows, const cw_options *options,
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
static cw_status cut_test(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                          const cwi_split *split)
{
    cw_status status;
    cwi_lottery lottery = {0};
    const double *key;
    const cwi_reel reel = CWI_REEL(rows), held = {.count = split->n_held};
    cwi_window w = cwi_window_over(&reel);
    int64_t first = 0;
    CW_TRY(cwi_lottery_open(ctx, NULL, &held, test_share(split, options), seed_of(options),
                            CWI_RNG_TEST_CUT, &lottery));
    while (cwi_window_next(ctx, &w)) {
        int64_t n = 0, at = 0;
        for (int64_t k = 0; k < w.n; k++) n += is_held(w.part[k]);
        CW_TRY(cwi_lottery_keys(ctx, &lottery, first, n, NULL, &key));
        for (int64_t k = 0; k < w.n; k++)
            if (is_held(w.part[k]))
                w.part[k] =
                    cwi_limit_take(&lottery.limit, key[at++]) ? CW_PART_TEST : CW_PART_VALID;
        CW_TRY(cwi_window_keep_parts(ctx, &w));
        first += n;
    }
    status = w.status;
done:
    cwi_window_close(&w);
    cwi_lottery_close(&lottery);
    return status;
}

/* ---- debiased and random -------------------------------------------------- */

/* weight: of items, or NULL. */
static cw_status split_by_weight(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                                 const double *weight, cwi_split *split)
{
    const cwi_reel reel = CWI_REEL(rows);
    CW_PASS(cwi_draw_rows(ctx, weight, &reel, held_share(rows, split), seed_of(options),
                          CWI_RNG_HOLDOUT)); /* drawn rows hold 1, which is validation */
    CW_PASS(count_held(ctx, rows, split));
    CW_PASS(settle_unseen(ctx, rows, options, true, split));
    return cut_test(ctx, rows, options, split);
}

static cw_status split_debiased(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                                cwi_split *split)
{
    double *weight;
    CW_PASS(cwi_reach_fit(ctx, rows, options, &split->cap, &split->holdout));
    cw_status status = weigh_items(ctx, rows, split->cap, &weight);
    if (status == CW_OK) status = split_by_weight(ctx, rows, options, weight, split);
    cwi_free(weight);
    return status;
}

static cw_status split_random(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                              cwi_split *split)
{
    split->holdout = real_or(options, "holdout", usual_holdout);
    return split_by_weight(ctx, rows, options, NULL, split);
}

/* ---- as published --------------------------------------------------------- */

/* The rows of an order that are still held out. */
static void drop_moved(const cwi_rows *rows, cwi_split *split, int64_t n)
{
    int64_t kept = 0;
    for (int64_t h = 0; h < n; h++)
        if (is_held(rows->part[split->order[h]])) split->order[kept++] = split->order[h];
}

/* Test rows are the first of a permutation of the held-out rows and come in its order; valid
 * rows are the others in draw order. */
static cw_status cut_test_compat(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                                 cwi_split *split)
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
    memcpy(draw_order, split->order, (size_t)split->n_held * sizeof *draw_order);
    for (int64_t h = 0; h < n_test; h++) {
        split->order[at] = draw_order[order[h]];
        rows->part[split->order[at++]] = CW_PART_TEST;
    }
    for (int64_t h = 0; h < split->n_held; h++)
        if (rows->part[draw_order[h]] == CW_PART_VALID) split->order[at++] = draw_order[h];
done:
    cwi_pile_clear(&pile);
    return status;
}

static cw_status split_compat(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                              cwi_split *split)
{
    cw_status status;
    double *weight = NULL;
    int64_t n;

    CW_PASS(cwi_rows_bring(ctx, rows));
    split->cap = real_or(options, "cap", usual_cap);
    split->holdout = real_or(options, "holdout", usual_holdout);
    split->n_held = split->drawn = n = held_share(rows, split);
    if (n > INT32_MAX)
        return cwi_fail(ctx, CW_BAD_DATA, "compat splits hold out at most %d rows", INT32_MAX);
    split->order = cwi_alloc(ctx, (size_t)n, sizeof *split->order);
    CW_TRY(split->order ? CW_OK : CW_NO_MEMORY);
    CW_TRY(debias_weights(ctx, rows, split->cap, &weight));
    CW_TRY(cwi_draw_compat(ctx, weight, rows->count, n, (uint32_t)seed_of(options), split->order));
    memset(rows->part, CW_PART_TRAIN, (size_t)rows->count);
    for (int64_t h = 0; h < n; h++) rows->part[split->order[h]] = CW_PART_VALID;
    CW_TRY(settle_unseen(ctx, rows, options, true, split));
    drop_moved(rows, split, n);
    CW_TRY(cut_test_compat(ctx, rows, options, split));
done:
    cwi_free(weight);
    return status;
}

/* ---- by time -------------------------------------------------------------- */

static cw_status check_times(cw_context *ctx, const cwi_rows *rows, const cw_options *options)
{
    if (rows->has_time) return CW_OK;
    return cwi_fail(ctx, CW_BAD_DATA,
                    "--split %s needs a time for every interaction and the input has none",
                    cwi_split_name(rows, options));
}

/* The n earliest rows; of equal times the first. */
static cw_status find_earliest(cw_context *ctx, const cwi_reel *reel, int64_t n, cwi_limit *out)
{
    cw_status status;
    cwi_nth nth;
    CW_TRY(cwi_nth_open(ctx, reel->count, n, &nth));
    while (!nth.is_found) {
        cwi_window w = cwi_window_over(reel);
        while (cwi_window_next(ctx, &w)) cwi_nth_see(&nth, w.time, w.n);
        CW_TRY(w.status);
        cwi_nth_turn(&nth);
    }
    *out = nth.limit;
done:
    cwi_nth_clear(&nth);
    return status;
}

/* The latest rows are held out; of these the later ones are the test. */
static cw_status split_by_time(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                               cwi_split *split)
{
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    cwi_limit train, valid;
    CW_PASS(check_times(ctx, rows, options));
    split->holdout = real_or(options, "holdout", usual_holdout);
    split->n_held = split->drawn = held_share(rows, split);
    int64_t n_test = test_share(split, options);
    CW_PASS(find_earliest(ctx, &reel, rows->count - split->n_held, &train));
    CW_PASS(find_earliest(ctx, &reel, rows->count - n_test, &valid));
    while (cwi_window_next(ctx, &w)) {
        for (int64_t k = 0; k < w.n; k++) {
            bool is_train = cwi_limit_take(&train, w.time[k]);
            bool is_before = cwi_limit_take(&valid, w.time[k]); /* train is, too */
            w.part[k] = is_train ? CW_PART_TRAIN : is_before ? CW_PART_VALID : CW_PART_TEST;
        }
        w.status = cwi_window_keep_parts(ctx, &w);
    }
    CW_PASS(w.status);
    return settle_unseen(ctx, rows, options, false, split);
}

/* The last two rows of a user so far; row -1: none. */
typedef struct latest {
    double time[2];
    int64_t row[2];
    int64_t n; /* rows so far */
} latest;

/* Of equal times the later row is the later one. */
static void note_row(latest *of, double time, int64_t row)
{
    if (of->n++ == 0 || time >= of->time[0]) {
        of->time[1] = of->time[0];
        of->row[1] = of->row[0];
        of->time[0] = time;
        of->row[0] = row;
    } else if (of->n == 2 || time >= of->time[1]) {
        of->time[1] = time;
        of->row[1] = row;
    }
}

/* The last row of every user is their test, the one before their validation; users with fewer than
 * three rows stay in train. */
static cw_status split_leave_last(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                                  cwi_split *split)
{
    cw_status status = CW_NO_MEMORY;
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    CW_PASS(check_times(ctx, rows, options));
    latest *of = cwi_alloc_zero(ctx, (size_t)rows->n_users, sizeof *of);
    if (!of) return status;
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) note_row(&of[w.user[k]], w.time[k], w.first + k);
    CW_TRY(w.status);
    w = cwi_window_over(&reel);
    while (cwi_window_next(ctx, &w)) {
        for (int64_t k = 0; k < w.n; k++) {
            const latest *its = &of[w.user[k]];
            int64_t r = w.first + k;
            bool is_train = its->n < 3 || (r != its->row[0] && r != its->row[1]);
            w.part[k] = is_train ? CW_PART_TRAIN : r == its->row[0] ? CW_PART_TEST : CW_PART_VALID;
        }
        w.status = cwi_window_keep_parts(ctx, &w);
    }
    CW_TRY(w.status);
    CW_TRY(count_held(ctx, rows, split));
    CW_TRY(settle_unseen(ctx, rows, options, false, split));
done:
    cwi_free(of);
    return status;
}

/* ---- as given ------------------------------------------------------------- */

/* A published split is not altered: rows whose user or item train lacks stay, unless asked. */
static cw_status split_given(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                             cwi_split *split)
{
    if (!rows->is_split)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--split given needs a folder with train, valid and test files, or "
                        "--train, --valid and --test");
    CW_PASS(count_held(ctx, rows, split));
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
    return rows->is_split ? "given" : "debiased";
}

cw_status cwi_split_create(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                           cwi_split *out)
{
    const char *name = cwi_split_name(rows, options);
    size_t way = 0;

    *out = (cwi_split){0};
    while (strcmp(ways[way].name, name) != 0) way++;
    cw_status status = ways[way].split(ctx, rows, options, out);
    if (status != CW_OK) cwi_split_clear(out);
    return status;
}

cw_status cwi_split_draw(cw_context *ctx, cwi_rows *rows, double cap, int64_t n, uint64_t seed,
                         cwi_split *out)
{
    cw_status status = CW_OK;
    const cwi_reel reel = CWI_REEL(rows);
    double *weight = NULL;

    *out = (cwi_split){.cap = cap};
    if (cap > 0) CW_PASS(weigh_items(ctx, rows, cap, &weight));
    CW_TRY(cwi_draw_rows(ctx, weight, &reel, n, seed, CWI_RNG_FOLD));
    CW_TRY(count_held(ctx, rows, out)); /* a drawn row holds 1, which is validation */
    CW_TRY(place_unseen(ctx, rows, out, CW_PART_TRAIN, &out->moved_back));
done:
    cwi_free(weight);
    return status;
}

void cwi_split_clear(cwi_split *split)
{
    cwi_free(split->order);
    *split = (cwi_split){0};
}

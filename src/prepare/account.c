/* account.c - what happened to the rows on their way into a dataset. */
#include "prepare/account.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"

/* ---- for dataset.json ----------------------------------------------------------------- */

json_t *cwi_account_steps(const cwi_account *account)
{
    const cwi_split *split = account->split;
    const cwi_reach *reach = &account->reach;
    json_t *steps = json_pack(
        "{s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I}", "rows_read", (json_int_t)account->rows_in,
        "rows_after_max_users", (json_int_t)account->rows_kept_users, "core",
        (json_int_t)account->core, "split", account->name, "rows_after_core",
        (json_int_t)account->rows_core, "held_out", (json_int_t)split->drawn, "moved_back",
        (json_int_t)split->moved_back, "dropped", (json_int_t)split->dropped);
    if (split->holdout > 0) cwi_json_set(&steps, "holdout", json_real(split->holdout));
    if (split->cap > 0) cwi_json_set(&steps, "cap", json_real(split->cap));
    if (split->cap > 0) cwi_json_set(&steps, "items_above_cap", json_integer(reach->above_cap));
    cwi_json_set(&steps, "items_held_out", json_integer(reach->held));
    cwi_json_set(&steps, "items_tested", json_integer(reach->tested));
    cwi_json_set(&steps, "top_tenth_of_log", json_real(reach->top_log));
    cwi_json_set(&steps, "top_tenth_of_test", json_real(reach->top_test));
    return steps;
}

/* ---- in words --------------------------------------------------------------------------- */

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void say_core(cw_context *ctx, const cwi_account *account, const cw_dataset *dataset)
{
    int64_t dropped = account->rows_kept_users - account->rows_core;
    if (dropped == 0) return;
    cwi_log(ctx, CW_LOG_INFO,
            "--core %lld dropped %lld of %lld rows (%.1f %%): %d users and %d items have too few",
            (long long)account->core, (long long)dropped, (long long)account->rows_kept_users,
            percent(dropped, account->rows_kept_users), dataset->rest.users.count,
            dataset->rest.items.count);
}

/* The two numbers of the debiased split, and whose choice they are. */
static void say_choice(cw_context *ctx, const cwi_account *account, const cw_options *options)
{
    const cwi_split *split = account->split;
    if (strcmp(account->name, "debiased") != 0 || cwi_options_is_set(options, "cap")) return;
    cwi_log(ctx, CW_LOG_INFO,
            "chosen for these rows: --cap 1/%.0f %s--holdout %.4g; items of %.0f rows or more, "
            "%.0f %% of all, are tested alike%s",
            1 / split->cap, cwi_options_is_set(options, "holdout") ? "for " : "", split->holdout,
            1 / split->cap, percent(account->reach.above_cap, account->reach.items),
            split->holdout > 0.5 ? "" : ", and none expects to lose more than half of its rows");
}

static void say_reach(cw_context *ctx, const cwi_account *account)
{
    const cwi_reach *reach = &account->reach;
    char back[64] = "";
    if (account->split->moved_back > 0)
        snprintf(back, sizeof back, "; %lld drawn rows moved back to train",
                 (long long)account->split->moved_back);
    cwi_log(ctx, CW_LOG_INFO,
            "test reaches %lld of %lld items (%.0f %%); the most frequent tenth of the items has "
            "%.0f %% of its rows and %.0f %% of all%s",
            (long long)reach->tested, (long long)reach->items, percent(reach->tested, reach->items),
            100 * reach->top_test, 100 * reach->top_log, back);
}

enum {
    FEW_ABOVE = 10,  /* percent of the items: fewer with 1/cap rows do not debias a split */
    MANY_BACK = 10,  /* percent of the rows that were drawn */
    MANY_UNHELD = 25 /* percent of the items */
};

/* What to do about a cap that few items reach depends on whose choice it is. */
static const char *advise_on_cap(const cwi_account *account, const cw_options *options)
{
    if (strcmp(account->name, "debiased") != 0) return "give a larger --cap";
    if (cwi_options_is_set(options, "cap")) return "leave --cap out, or give a larger one";
    if (cwi_options_is_set(options, "holdout")) return "a smaller --holdout helps";
    return "a larger --core helps";
}

static void warn_of_cap(cw_context *ctx, const cwi_account *account, const cw_options *options)
{
    const cwi_reach *reach = &account->reach;
    double cap = account->split->cap;
    if (cap <= 0 || percent(reach->above_cap, reach->items) >= FEW_ABOVE) return;
    cwi_log(ctx, CW_LOG_WARNING,
            "only %.1f %% of the items have as many as 1/cap = %.4g rows: this split is close to a "
            "random one, and its test to what is popular; %s",
            percent(reach->above_cap, reach->items), 1 / cap, advise_on_cap(account, options));
}

static void warn_of_rest(cw_context *ctx, const cwi_account *account)
{
    const cwi_split *split = account->split;
    const cwi_reach *reach = &account->reach;
    int64_t unheld = reach->items - reach->held;
    bool moves_many = percent(split->moved_back, split->drawn) > MANY_BACK;
    if (moves_many)
        cwi_log(ctx, CW_LOG_WARNING,
                "%.0f %% of the rows that were drawn moved back to train, which would have lost "
                "their user or item: the test has fewer of the rare ones; a larger --core or a "
                "smaller --holdout helps",
                percent(split->moved_back, split->drawn));
    if (percent(unheld, reach->items) > MANY_UNHELD)
        cwi_log(ctx, CW_LOG_WARNING,
                "%.0f %% of the items have nothing held out: what is measured says nothing of "
                "them; %s helps",
                percent(unheld, reach->items),
                moves_many ? "more rows or a larger --core"
                           : "more rows, a larger --core or a larger --holdout");
}

void cwi_account_say(cw_context *ctx, const cwi_account *account, const cw_options *options,
                     const cw_dataset *dataset)
{
    const cwi_split *split = account->split;
    say_core(ctx, account, dataset);
    if (split->dropped > 0)
        cwi_log(ctx, CW_LOG_INFO,
                "%lld of %lld held-out rows were dropped: train lacks their user or item",
                (long long)split->dropped, (long long)split->drawn);
    if (strcmp(account->name, "given") == 0) return; /* it is as somebody wanted it */
    if (split->n_held == 0) {
        cwi_log(ctx, CW_LOG_WARNING, "valid and test are empty: none of the %lld rows is held out",
                (long long)account->rows_core);
        return;
    }
    say_choice(ctx, account, options);
    if (dataset->part[CW_PART_TEST].count > 0)
        say_reach(ctx, account);
    else if (cwi_options_real(options, "test-share") > 0)
        cwi_log(ctx, CW_LOG_WARNING, "test is empty");
    warn_of_cap(ctx, account, options);
    warn_of_rest(ctx, account);
}

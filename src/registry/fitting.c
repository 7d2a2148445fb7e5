/*
 * fitting.c - --preset auto: settings from the size of the data.
 *
 * A schedule in passes over the data leaves a small log with a few dozen steps, and settings tuned
 * on one dataset let others down.  So the schedule goes by steps, and what a method is sensitive to
 * follows the number of rows, users and items.  docs/training.md has the rule, the sets on which it
 * was formed and checked, and what it gives there.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/rng.h"
#include "core/text.h"
#include "prepare/dataset.h"
#include "registry/registry.h"

enum {
    LARGEST_BATCH = 2048,
    SMALLEST_BATCH = 128,
    ROWS_A_BATCH = 16, /* at least so many batches in a pass, as far as the smallest allows */
    LEAST_EPOCH = 100, /* steps */
    USERS_A_BATCH = 8  /* the same for a step that takes users */
};

double cwi_meeting_of(double rows, double user_squares, double item_squares)
{
    return rows / (rows * rows / user_squares) / (rows * rows / item_squares);
}

static double sum_squares(const int32_t *ids, int64_t rows, int32_t n, int64_t *degree)
{
    double squares = 0;
    cwi_degrees(ids, rows, n, degree);
    for (int32_t k = 0; k < n; k++) squares += (double)degree[k] * (double)degree[k];
    return squares;
}

bool cwi_is_even(double of_valid, int64_t valid, double of_train, int64_t train)
{
    const double ALIKE = 0.8; /* random splits have 0.94 and more, debiased ones 0.6 and less */
    return of_valid * (double)train <= ALIKE * of_train * (double)valid;
}

static double sum_degrees(const cwi_pairs *rows, const int64_t *degree)
{
    double sum = 0;
    for (int64_t r = 0; r < rows->count; r++) sum += (double)degree[rows->item[r]];
    return sum;
}

static cw_status measure_meeting(cw_context *ctx, const cwi_pairs *train, const cwi_pairs *valid,
                                 cwi_extent *extent)
{
    int32_t users = extent->users, items = extent->items;
    int64_t *degree = cwi_alloc(ctx, (size_t)(users > items ? users : items), sizeof *degree);
    if (!degree) return CW_NO_MEMORY;
    double of_users = sum_squares(train->user, train->count, users, degree);
    double of_items = sum_squares(train->item, train->count, items, degree);
    extent->meeting = cwi_meeting_of((double)train->count, of_users, of_items);
    extent->evenly = cwi_is_even(sum_degrees(valid, degree), valid->count,
                                 sum_degrees(train, degree), train->count);
    cwi_free(degree);
    return CW_OK;
}

int64_t cwi_meetings_count(int64_t rows)
{
    enum { DRAWS = 65536, DRAWS_A_ROW = 16 }; /* at most, whichever is less */
    return rows < DRAWS / DRAWS_A_ROW ? rows * DRAWS_A_ROW : DRAWS;
}

static int64_t draw_row(int64_t rows, int64_t k, cwi_rng *rng)
{
    cwi_rng_init(rng, 0, CWI_RNG_EXTENT, (uint64_t)k);
    return (int64_t)cwi_rng_below(rng, (uint64_t)rows);
}

void cwi_meetings_draw(int64_t rows, int64_t n, cwi_meeting *out)
{
    cwi_rng rng;
    for (int64_t k = 0; k < n; k++) out[k] = (cwi_meeting){.row = draw_row(rows, k, &rng)};
}

void cwi_meeting_choose(int64_t rows, int64_t k, int64_t user_rows, int64_t item_rows,
                        cwi_meeting *out)
{
    cwi_rng rng;
    (void)draw_row(rows, k, &rng);
    out->nth_user = (int64_t)cwi_rng_below(&rng, (uint64_t)item_rows);
    out->nth_item = (int64_t)cwi_rng_below(&rng, (uint64_t)user_rows);
}

double cwi_meetings_share(const cwi_meeting *m, int64_t n)
{
    int64_t drawn = 0, met = 0;
    for (int64_t k = 0; k < n; k++) {
        if (m[k].other_user == m[k].user || m[k].other_item == m[k].item) continue;
        drawn++;
        met += m[k].has_met;
    }
    return drawn > 0 ? (double)met / (double)drawn : 0;
}

static int64_t count_row(const cwi_csr *csr, int32_t row)
{
    return csr->start[row + 1] - csr->start[row];
}

static void find_others(const cwi_pairs *train, const cwi_csr *by_user, const cwi_csr *by_item,
                        int64_t n, cwi_meeting *meetings)
{
    for (int64_t k = 0; k < n; k++) {
        cwi_meeting *m = &meetings[k];
        m->user = train->user[m->row];
        m->item = train->item[m->row];
        cwi_meeting_choose(train->count, k, count_row(by_user, m->user),
                           count_row(by_item, m->item), m);
        m->other_user = by_item->value[by_item->start[m->item] + m->nth_user];
        m->other_item = by_user->value[by_user->start[m->user] + m->nth_item];
        m->has_met = cwi_csr_has(by_user, m->other_user, m->other_item);
    }
}

static cw_status measure_likeness(cw_context *ctx, const cwi_pairs *train, cwi_extent *extent)
{
    cw_status status;
    cwi_csr by_user = {0}, by_item = {0};
    int64_t n = cwi_meetings_count(train->count);
    cwi_meeting *meetings = cwi_alloc(ctx, (size_t)n, sizeof *meetings);
    if (!meetings) return CW_NO_MEMORY;
    CW_TRY(cwi_csr_create(ctx, train->user, train->item, train->count, extent->users, &by_user));
    CW_TRY(cwi_csr_create(ctx, train->item, train->user, train->count, extent->items, &by_item));
    cwi_csr_sort(&by_user);
    cwi_meetings_draw(train->count, n, meetings);
    find_others(train, &by_user, &by_item, n, meetings);
    extent->likeness = cwi_meetings_share(meetings, n) / extent->meeting;
done:
    cwi_free(meetings);
    cwi_csr_clear(&by_user);
    cwi_csr_clear(&by_item);
    return status;
}

cw_status cwi_dataset_extent(cw_context *ctx, const cw_dataset *dataset, cwi_extent *out)
{
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    *out = (cwi_extent){.users = dataset->n_users,
                        .items = dataset->n_items,
                        .rows = cwi_dataset_rows(dataset, CW_PART_TRAIN),
                        .meeting = 1,
                        .likeness = 1,
                        .evenly = true};
    if (dataset->whole) {
        out->meeting = dataset->whole->meeting;
        out->likeness = dataset->whole->likeness;
        out->evenly = dataset->whole->evenly;
        return CW_OK;
    }
    if (train->count == 0) return CW_OK; /* which training refuses */
    CW_PASS(measure_meeting(ctx, train, &dataset->part[CW_PART_VALID], out));
    return measure_likeness(ctx, train, out);
}

/* Two digits are enough, and kind to who reads them. */
static double round_off(double value)
{
    double scale = 1;
    if (!(value > 0) || value >= 100) return rint(value);
    while (value * scale < 10) scale *= 10;
    return rint(value * scale) / scale;
}

/* The choices of an option; NULL when it has none. */
static const char *choices_of(const cw_options *options, const char *name)
{
    const cw_option_info *info;
    for (size_t row = 0; (info = cwi_options_row(options, row)) != NULL; row++)
        if (strcmp(info->name, name) == 0) return info->choices;
    return NULL;
}

static cw_status assign(cw_context *ctx, cw_options *options, const char *name, double value)
{
    char text[CWI_NUMBER_BYTES], word[CWI_WORD_BYTES];
    const char *words = choices_of(options, name);
    if (!cw_options_get(options, name) || cw_options_is_given(options, name)) return CW_OK;
    cwi_print_real(round_off(value), text);
    for (int k = 0; words && k <= (int)value; k++) (void)cwi_next_word(&words, word);
    return cwi_options_assign(ctx, options, name, choices_of(options, name) ? word : text);
}

/* A power of two, so that few sizes occur. */
static int64_t batch_of(int64_t examples, int64_t parts)
{
    int64_t batch = SMALLEST_BATCH;
    while (batch < LARGEST_BATCH && batch * 2 * parts <= examples) batch *= 2;
    return batch;
}

static cw_status fit_batch(cw_context *ctx, const cwi_extent *extent, bool takes_users,
                           cw_options *options)
{
    int64_t examples = takes_users ? extent->users : extent->rows;
    CW_PASS(assign(ctx, options, "batch",
                   (double)batch_of(examples, takes_users ? USERS_A_BATCH : ROWS_A_BATCH)));
    int64_t pass = examples / cwi_options_integer(options, "batch");
    return assign(ctx, options, "epoch-steps", (double)(pass > LEAST_EPOCH ? pass : LEAST_EPOCH));
}

/* What the method has not chosen. */
static cw_status fit_schedule(cw_context *ctx, cw_options *options)
{
    CW_PASS(assign(ctx, options, "eval-every", 2));
    CW_PASS(assign(ctx, options, "patience", 20));
    return assign(ctx, options, "min-epochs", 40);
}

/* A row of its own for a backbone comes before the one for all. */
static bool came_before(const cwi_fit *rows, const cwi_fit *row, const char *backbone)
{
    for (; rows < row; rows++)
        if (strcmp(rows->option, row->option) == 0 &&
            (!rows->backbone || strcmp(rows->backbone, backbone) == 0))
            return true;
    return false;
}

/* Parts of a batch that was given may not come out even. */
static cw_status fit_group(cw_context *ctx, double group, cw_options *options)
{
    int64_t batch = cwi_options_integer(options, "batch");
    return assign(ctx, options, "group", group > 0 && batch % (int64_t)group == 0 ? group : 0);
}

static bool makes_passes(const cwi_method *method, const cwi_backbone *backbone)
{
    return method->sampler || backbone->learn; /* others make few, or none */
}

cw_status cwi_train_fit(cw_context *ctx, const cwi_extent *extent, const cwi_method *method,
                        const cwi_backbone *backbone, cw_options *options)
{
    bool has_passes = makes_passes(method, backbone);
    if (has_passes) CW_PASS(fit_batch(ctx, extent, !method->sampler, options));
    for (const cwi_fit *row = method->fits; row && row->option; row++) {
        if ((row->backbone && strcmp(row->backbone, backbone->name) != 0) ||
            came_before(method->fits, row, backbone->name))
            continue;
        double value = row->value(extent);
        CW_PASS(strcmp(row->option, "group") == 0 ? fit_group(ctx, value, options)
                                                  : assign(ctx, options, row->option, value));
    }
    return has_passes ? fit_schedule(ctx, options) : CW_OK;
}

/* What is shown, and what it goes by where it follows the data. */
static const struct {
    const char *option, *reason;
} shown[] = {{"lr", ""},
             {"reg", " (more for few rows)"},
             {"beta", " (more where to share one tells much)"},
             {"form", " (by how often users and items meet)"},
             {"scorer", ""},
             {"temperature", " (more for few items)"},
             {"hardest", ""},
             {"group", ""},
             {"unseen-weight", " (less for many items)"},
             {"shrink", " (0 where rare items count as much)"},
             {"batch", " (less for few rows)"}};

/* Of what most trainings have only what is special is shown. */
static bool is_told(const char *option, const char *value)
{
    static const char *const usual[][2] = {
        {"scorer", "dot"}, {"temperature", "1"}, {"hardest", "1"}, {"group", "0"}};
    for (size_t k = 0; k < sizeof usual / sizeof usual[0]; k++)
        if (strcmp(option, usual[k][0]) == 0 && strcmp(value, usual[k][1]) == 0) return false;
    return true;
}

/* Did the data choose it?  The batch follows them wherever there is one. */
static bool is_fitted(const cw_options *settled, const char *option, bool has_batch)
{
    const cwi_method *method = cwi_find_method(cw_options_get(settled, "method"));
    const char *backbone = cw_options_get(settled, "backbone");
    for (const cwi_fit *row = method->fits; row && row->option; row++)
        if (strcmp(row->option, option) == 0 &&
            (!row->backbone || strcmp(row->backbone, backbone) == 0))
            return true;
    return has_batch && strcmp(option, "batch") == 0;
}

void cwi_train_fit_text(const cwi_extent *extent, const cw_options *settled,
                        char out[CWI_FIT_BYTES])
{
    int64_t epoch = cwi_options_integer(settled, "epoch-steps");
    bool has_steps = makes_passes(cwi_find_method(cw_options_get(settled, "method")),
                                  cwi_find_backbone(cw_options_get(settled, "backbone")));
    int used = snprintf(out, CWI_FIT_BYTES,
                        "chosen for %lld rows of %d users and %d items, where who shares an item "
                        "shares others %.2g times as often as by chance:",
                        (long long)extent->rows, extent->users, extent->items, extent->likeness);
    for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++) {
        const char *option = shown[k].option, *value = cw_options_get(settled, option);
        bool fitted = is_fitted(settled, option, has_steps);
        if (value && is_told(option, value) && (has_steps || fitted))
            used += snprintf(out + used, (size_t)(CWI_FIT_BYTES - used), " %s %s%s,", option, value,
                             fitted && strcmp(value, "0") != 0 ? shown[k].reason : "");
    }
    if (has_steps)
        used +=
            snprintf(out + used, (size_t)(CWI_FIT_BYTES - used),
                     " evaluated every %lld %s, for at least %lld;",
                     (long long)((epoch ? epoch : 1) * cwi_options_integer(settled, "eval-every")),
                     epoch ? "steps" : "epochs",
                     (long long)((epoch ? epoch : 1) * cwi_options_integer(settled, "min-epochs")));
    else
        out[used - 1] = ';';
    snprintf(out + used, (size_t)(CWI_FIT_BYTES - used),
             " --preset paper has the published settings");
}

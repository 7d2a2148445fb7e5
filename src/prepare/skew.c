/*
 * skew.c - training sets of another bias.
 *
 * A share of the train rows is drawn with weight d_i^theta: theta above 0 makes popular items
 * more frequent, below 0 less.  Rows of users and items that would be missing are added whole, so
 * that ids, valid and test stay the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/elementary.h"
#include "core/file.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/rng.h"
#include "core/text.h"
#include "prepare/dataset.h"
#include "prepare/draw.h"
#include "prepare/pairs.h"
#include "prepare/store.h"

const cw_option_info cwi_skew_options[] = {
    REAL("theta", "0.5", -10, 10,
         "rows are drawn with weight (degree of the item)^theta: above 0 more biased towards "
         "popular items, below 0 less"),
    REAL_ABOVE("share", "0.7", 0, 1, "share of the train rows to draw"),
    WORD("draw", "keys", "keys|compat",
         "compat draws bit for bit as the paper's published sets were"),
    SEED("same seed, same rows"),
    {0}};

/* Drawn rows: keys give them in file order, compat in draw order. */
static cw_status draw_rows(cw_context *ctx, const cw_options *options, const double *weight,
                           int64_t count, int64_t n, int64_t *order)
{
    uint64_t seed = (uint64_t)cwi_options_integer(options, "seed");
    if (strcmp(cwi_options_text(options, "draw"), "compat") == 0)
        return cwi_draw_compat(ctx, weight, count, n, (uint32_t)seed, order);
    uint8_t *drawn = cwi_alloc(ctx, (size_t)count, 1);
    if (!drawn) return CW_NO_MEMORY;
    cw_status status = cwi_draw(ctx, weight, count, n, seed, CWI_RNG_SKEW, drawn);
    int64_t listed = 0;
    for (int64_t r = 0; r < count && status == CW_OK; r++)
        if (drawn[r]) order[listed++] = r;
    cwi_free(drawn);
    return status;
}

/* Append every row whose user or item the drawn rows lack; returns the new length. */
static cw_status append_missing(cw_context *ctx, const cw_dataset *dataset, int64_t *order,
                                int64_t *n)
{
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    size_t n_users = (size_t)dataset->n_users;
    uint8_t *has_user = cwi_alloc_zero(ctx, n_users + (size_t)dataset->n_items, 1);
    if (!has_user) return CW_NO_MEMORY;
    uint8_t *has_item = has_user + n_users;
    for (int64_t k = 0; k < *n; k++) {
        has_user[train->user[order[k]]] = 1;
        has_item[train->item[order[k]]] = 1;
    }
    for (int64_t r = 0; r < train->count; r++)
        if (!has_user[train->user[r]] || !has_item[train->item[r]]) order[(*n)++] = r;
    cwi_free(has_user);
    return CW_OK;
}

cw_status cwi_skew(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                   cwi_pairs *out)
{
    cw_status status;
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    int64_t n = (int64_t)rint((double)train->count * cwi_options_real(options, "share"));
    double *weight = NULL;
    int64_t *order = cwi_alloc(ctx, (size_t)train->count, sizeof *order);

    if (!order) return CW_NO_MEMORY;
    CW_TRY(cwi_degree_weights(ctx, train->item, train->count, dataset->n_items, cwi_pow,
                              cwi_options_real(options, "theta"), &weight));
    CW_TRY(draw_rows(ctx, options, weight, train->count, n, order));
    CW_TRY(append_missing(ctx, dataset, order, &n));
    CW_TRY(cwi_pairs_create(ctx, n, out));
    for (int64_t k = 0; k < n; k++) {
        out->user[k] = train->user[order[k]];
        out->item[k] = train->item[order[k]];
    }
done:
    cwi_free(weight);
    cwi_free(order);
    return status;
}

/* Write beside the other files, in one step. */
static cw_status publish(cw_context *ctx, const char *folder, double theta, bool replace,
                         const cwi_pairs *pairs)
{
    cw_status status;
    char text[CWI_NUMBER_BYTES];

    cwi_print_real(theta, text);
    char *path = cwi_format(ctx, "%s/train_%s.csv", folder, text);
    if (!path) return CW_NO_MEMORY;
    if (!replace && cwi_path_exists(path))
        CW_TRY(cwi_fail(ctx, CW_IO, "%s exists; it is replaced only with --force", path));
    CW_TRY(cwi_file_check(ctx, path, &cwi_pairs_kind, false));
    CW_TRY(cwi_pairs_write(ctx, path, pairs, NULL));
    cwi_log(ctx, CW_LOG_INFO, "wrote %s", path);
done:
    cwi_free(path);
    return status;
}

cw_status cw_dataset_skew(cw_context *ctx, const char *folder, const cw_options *options,
                          bool replace, int64_t *rows)
{
    cw_status status;
    cw_options *defaults = NULL;
    cw_dataset *dataset = NULL;
    cwi_pairs pairs = {0};

    cwi_begin(ctx);
    if (rows) *rows = 0;
    CW_TRY(cwi_options_check(ctx, options, "skew"));
    if (!options) CW_TRY(cwi_options_create(ctx, "skew", cwi_skew_options, &defaults));
    if (!options) options = defaults;
    CW_TRY(cwi_store_load(ctx, folder, NULL, &dataset));
    if (dataset->part[CW_PART_TRAIN].count == 0)
        CW_TRY(cwi_fail(ctx, CW_BAD_DATA, "%s has no train.csv to draw from", folder));
    CW_TRY(cwi_skew(ctx, dataset, options, &pairs));
    CW_TRY(publish(ctx, folder, cwi_options_real(options, "theta"), replace, &pairs));
    if (rows) *rows = pairs.count;
done:
    cwi_pairs_clear(&pairs);
    cw_dataset_free(dataset);
    cw_options_free(defaults);
    return status;
}

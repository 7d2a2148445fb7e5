/* prepare.c - interactions to a dataset: filter, split, give dense ids. */
#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "import/interactions.h"
#include "prepare/account.h"
#include "prepare/dataset.h"
#include "prepare/hidden.h"
#include "prepare/rest.h"
#include "prepare/rows.h"

const cw_option_info cwi_prepare_options[] = {
    WHOLE("core", "", 1, 1000000,
          "drop users and items with fewer than this many interactions, repeatedly; 3 unless "
          "the split is given"),
    WHOLE("max-users", "0", 0, 2147483647,
          "keep this many users, drawn uniformly before the core filter; 0 keeps all"),
    WORD("split", "auto", CWI_SPLIT_CHOICES,
         "how to hold out rows: debiased (each item about equally likely), compat (the same, "
         "bit for bit as the paper's files), random, leave-last and by-time (need times), "
         "given (files supplied); auto is given for a split folder, else debiased"),
    REAL_BETWEEN("holdout", "", 0, 1,
                 "share of the rows to hold out; 0.3 unless given, less for a debiased split that "
                 "could not test half of the items alike otherwise"),
    REAL_ABOVE("cap", "", 0, 1,
               "debiased and compat: a row weighs min(1/degree of its item, cap); chosen for the "
               "data unless given, for compat 1/60"),
    REAL("test-share", "2/3", 0, 1,
         "share of the held-out rows that become the test set; the others validate"),
    WORD("moveback", "auto", "auto|on|off",
         "held-out rows whose user or item has no train row: on moves them to train, off "
         "drops them; auto is on for debiased, compat and random, off for the splits by "
         "time, and leaves a given split as it is"),
    SEED("same seed, same dataset, on any number of threads"),
    {0}};

/* What is done with the rows. */
typedef struct history {
    cwi_account account;
    uint8_t *drawn; /* [users] of max-users; NULL: all are kept */
} history;

/* Remember whom max-users left, for what is filtered next is missing for another reason. */
static cw_status note_drawn(cw_context *ctx, const cwi_rows *rows, history *past)
{
    past->drawn = cwi_alloc_zero(ctx, (size_t)rows->n_users, 1);
    if (!past->drawn) return CW_NO_MEMORY;
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) past->drawn[w.user[k]] = 1;
    return w.status;
}

static cw_status filter(cw_context *ctx, const cw_interactions *from, const cw_options *options,
                        cwi_rows *rows, history *past)
{
    cwi_account *account = &past->account;
    int64_t max_users = cwi_options_integer(options, "max-users");
    uint64_t seed = (uint64_t)cwi_options_integer(options, "seed");

    account->rows_in = rows->count;
    account->name = cwi_split_name(rows, options);
    account->core = strcmp(account->name, "given") == 0 || from->keeps_numbers ? 1 : 3;
    if (cwi_options_is_set(options, "core")) account->core = cwi_options_integer(options, "core");
    if (max_users > 0 && strcmp(account->name, "compat") == 0)
        CW_PASS(cwi_rows_subsample_compat(ctx, rows, max_users, seed));
    else if (max_users > 0)
        CW_PASS(cwi_rows_subsample(ctx, rows, max_users, seed));
    if (max_users > 0) CW_PASS(note_drawn(ctx, rows, past));
    account->rows_kept_users = rows->count;
    CW_PASS(cwi_progress(ctx, "filtering", 0, 0));
    CW_PASS(cwi_rows_core(ctx, rows, account->core));
    account->rows_core = rows->count;
    if (rows->count > 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_DATA,
                    "--core %lld leaves none of the %lld interactions; try a smaller one",
                    (long long)account->core, (long long)account->rows_kept_users);
}

/* ---- dense ids ------------------------------------------------------------ */

/* Old ids in order of first appearance, and the way back. */
typedef struct renumbering {
    int32_t count;
    int32_t *old_id; /* [count] */
    int32_t *new_id; /* [old ids], -1 when it does not occur */
} renumbering;

static renumbering renumbering_create(cw_context *ctx, cwi_pile *pile, int32_t n_old)
{
    renumbering out = {.old_id = cwi_pile_add(ctx, pile, (size_t)n_old, sizeof *out.old_id),
                       .new_id = cwi_pile_add(ctx, pile, (size_t)n_old, sizeof *out.new_id)};
    for (int32_t k = 0; k < n_old && out.new_id; k++) out.new_id[k] = -1;
    return out;
}

static int32_t renumber(renumbering *map, int32_t old_id)
{
    if (map->new_id[old_id] < 0) {
        map->new_id[old_id] = map->count;
        map->old_id[map->count++] = old_id;
    }
    return map->new_id[old_id];
}

static void keep_all_numbers(renumbering *map, int32_t n_old)
{
    for (int32_t k = 0; k < n_old; k++) renumber(map, k);
}

/* Both ways of numbering, and where rows go with their new numbers. */
typedef struct parting {
    renumbering users, items;
    cwi_reel part[CWI_PARTS];
} parting;

static cw_status put(cw_context *ctx, parting *to, int part, int32_t user, int32_t item)
{
    return cwi_reel_put(ctx, &to->part[part], renumber(&to->users, user),
                        renumber(&to->items, item));
}

/* Room for the rows of each part, in files or in memory. */
static cw_status open_parts(cw_context *ctx, const cwi_rows *rows, bool in_files, parting *to,
                            cw_dataset *dataset)
{
    int64_t size[CWI_PARTS + 1] = {0};
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);

    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) size[w.part[k]]++;
    CW_PASS(w.status);
    for (int p = 0; p < CWI_PARTS; p++) {
        cwi_pairs *pairs = &dataset->part[p];
        dataset->has_part[p] = true;
        CW_PASS(in_files ? cwi_spill_create(ctx, false, false, &pairs->spill)
                         : cwi_pairs_create(ctx, size[p], pairs));
        to->part[p] = cwi_pairs_reel(pairs);
        to->part[p].count = 0;
    }
    return CW_OK;
}

/* The rows of a part in their order. */
static cw_status fill_part(cw_context *ctx, const cwi_rows *rows, int part, parting *to)
{
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n && w.status == CW_OK; k++)
            if (w.part[k] == part) w.status = put(ctx, to, part, w.user[k], w.item[k]);
    return w.status;
}

/* The same in the order of the split. */
static cw_status fill_ordered(cw_context *ctx, const cwi_rows *rows, const cwi_split *split,
                              int part, parting *to)
{
    for (int64_t h = 0; h < split->n_held; h++) {
        int64_t r = split->order[h];
        if (rows->part[r] == part) CW_PASS(put(ctx, to, part, rows->user[r], rows->item[r]));
    }
    return CW_OK;
}

/* Copy rows into the parts: train first, so that its ids are the lowest. */
static cw_status fill_parts(cw_context *ctx, const cwi_rows *rows, const cwi_split *split,
                            parting *to, cw_dataset *dataset)
{
    for (int p = 0; p < CWI_PARTS; p++) {
        CW_PASS(split->order && p != CW_PART_TRAIN ? fill_ordered(ctx, rows, split, p, to)
                                                   : fill_part(ctx, rows, p, to));
        CW_PASS(cwi_reel_end(ctx, &to->part[p]));
        dataset->part[p].count = to->part[p].count;
    }
    return CW_OK;
}

static cw_status assemble(cw_context *ctx, const cw_interactions *from, const cwi_rows *rows,
                          const cwi_split *split, const history *past, cw_dataset *dataset)
{
    cw_status status;
    cwi_pile pile = {0};
    parting to = {.users = renumbering_create(ctx, &pile, rows->n_users),
                  .items = renumbering_create(ctx, &pile, rows->n_items)};
    renumbering *users = &to.users, *items = &to.items;

    CW_TRY(pile.status);
    if (from->keeps_numbers) {
        keep_all_numbers(users, rows->n_users);
        keep_all_numbers(items, rows->n_items);
    }
    CW_TRY(open_parts(ctx, rows, from->spill, &to, dataset)); /* where the interactions are */
    CW_TRY(fill_parts(ctx, rows, split, &to, dataset));
    dataset->n_users = users->count;
    dataset->n_items = items->count;
    dataset->keeps_repeats = from->keeps_repeats;
    CW_TRY(cwi_idmap_select(ctx, &from->users, users->old_id, users->count, &dataset->users));
    CW_TRY(cwi_idmap_select(ctx, &from->items, items->old_id, items->count, &dataset->items));
    const cwi_kept kept = {users->new_id, items->new_id, past->drawn, users->count};
    CW_TRY(cwi_rest_fill(ctx, from, &kept, &dataset->rest));
    CW_TRY(cwi_hide_below(ctx, &from->below, dataset));
done:
    cwi_pile_clear(&pile);
    return status;
}

/* ---- how it was made ------------------------------------------------------ */

static cw_status write_origin(cw_context *ctx, const cw_interactions *from,
                              const cw_options *options, const cwi_account *account,
                              cw_dataset *dataset)
{
    json_t *source = NULL;
    CW_PASS(from->source ? cwi_json_reparse(ctx, from->source, &source) : CW_OK);
    if (!source) source = json_object();
    json_t *origin = json_pack("{s:o, s:o, s:o}", "source", source, "options",
                               cwi_json_options(options), "steps", cwi_account_steps(account));
    return cwi_json_text(ctx, origin, &dataset->origin);
}

cw_status cw_dataset_prepare(cw_context *ctx, const cw_interactions *interactions,
                             const cw_options *options, cw_dataset **out)
{
    cw_status status;
    cw_options *defaults = NULL;
    cw_dataset *dataset = NULL;
    cwi_rows rows = {0};
    cwi_split split = {0};
    history past = {0};

    cwi_begin(ctx);
    *out = NULL;
    CW_TRY(cwi_options_check(ctx, options, "prepare"));
    if (!options) CW_TRY(cwi_options_create(ctx, "prepare", cwi_prepare_options, &defaults));
    if (!options) options = defaults;
    CW_TRY(cwi_rows_copy(ctx, interactions, &rows));
    CW_TRY(filter(ctx, interactions, options, &rows, &past));
    CW_TRY(cwi_progress(ctx, "splitting", 0, 0));
    CW_TRY(cwi_split_create(ctx, &rows, options, &split));
    CW_TRY(cwi_dataset_create(ctx, &dataset));
    CW_TRY(assemble(ctx, interactions, &rows, &split, &past, dataset));
    past.account.split = &split;
    CW_TRY(cwi_reach_measure(ctx, &rows, &split, &past.account.reach));
    CW_TRY(write_origin(ctx, interactions, options, &past.account, dataset));
    cwi_account_say(ctx, &past.account, options, dataset);
    *out = dataset;
done:
    if (status != CW_OK) cw_dataset_free(dataset);
    cwi_split_clear(&split);
    cwi_rows_clear(&rows);
    cwi_free(past.drawn);
    cw_options_free(defaults);
    return status;
}

/* deal.c - reading a dataset folder by many processes, each of which keeps the rows of its users.
 */
#include "train/deal.h"

#include <stdlib.h>
#include <string.h>

#include "comm/world.h"
#include "core/mem.h"
#include "core/numbers.h"
#include "prepare/pairs.h"
#include "prepare/store.h"
#include "registry/registry.h"
#include "train/slices.h"

/* A folder on its way in. */
typedef struct deal {
    cw_context *ctx;
    const cwi_world *world;
    const char *folder;
    cw_dataset *dataset;
    int64_t stated[CWI_PARTS]; /* rows, as dataset.json says */
    bool has_files[CWI_PARTS];
    bool is_listed;    /* dataset.json has checksums, which are compared: slices are of one file */
    cwi_digest digest; /* of all rows, as cwi_dataset_hash has it; at process 0 alone */
    const char *why;   /* all rows have to be everywhere */

    /* the part at hand */
    int part;
    int64_t rows;          /* seen so far */
    cwi_digest check;      /* of what was read */
    cwi_digest_flow *flow; /* of users, then of items; at process 0 alone */
    size_t user_capacity, item_capacity;

    /* draws of rows of train */
    cwi_meeting *meeting; /* [n_meetings] */
    int32_t *order;       /* [n_meetings] by row, then by item and place */
    int64_t n_meetings, next;
    int64_t *item_rows; /* [n_items] of train so far */
    int64_t judged;     /* sum of them over the validation rows; at process 0 alone */
    double trained;     /* the same over the train rows */
    int64_t *at;        /* [n_items + 1] where the draws of an item begin in the order */
    cwi_csr lists;      /* items of own users, ascending */
    cwi_pile pile;
} deal;

static bool leads(const deal *d)
{
    return d->world->rank == 0;
}

/* ---- once through a file: rows of own users, and of the draws ---------------------------- */

static cw_status keep_own(deal *d, const int32_t *user, const int32_t *item, int64_t n)
{
    cwi_pairs *own = &d->dataset->part[d->part];
    for (int64_t k = 0; k < n; k++) {
        if (cwi_row_owner(d->world, user[k]) != d->world->rank) continue;
        size_t need = (size_t)own->count + 1;
        CW_PASS(cwi_grow(d->ctx, &own->user, &d->user_capacity, need, sizeof *own->user));
        CW_PASS(cwi_grow(d->ctx, &own->item, &d->item_capacity, need, sizeof *own->item));
        own->user[own->count] = user[k];
        own->item[own->count++] = item[k];
    }
    return CW_OK;
}

static void look_at_draws(deal *d, const int32_t *user, const int32_t *item, int64_t n)
{
    for (int64_t k = 0; k < n; k++) d->item_rows[item[k]]++;
    for (; d->next < d->n_meetings; d->next++) {
        cwi_meeting *m = &d->meeting[d->order[d->next]];
        if (m->row >= d->rows + n) break;
        m->user = user[m->row - d->rows];
        m->item = item[m->row - d->rows];
    }
}

static cw_status take_rows(void *arg, const int32_t *user, const int32_t *item, int64_t n)
{
    deal *d = arg;
    cwi_digest_numbers(&d->check, user, (size_t)n, sizeof *user);
    cwi_digest_numbers(&d->check, item, (size_t)n, sizeof *item);
    if (d->flow) cwi_digest_put(d->flow, user, (size_t)n, sizeof *user);
    if (d->part == CW_PART_TRAIN) look_at_draws(d, user, item, n);
    d->rows += n;
    return keep_own(d, user, item, n);
}

/* ---- once more at process 0: items, and who else has one ---------------------------------- */

static void look_for_others(deal *d, const int32_t *user, const int32_t *item, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        int32_t i = item[k];
        int64_t nth = d->item_rows[i]++;
        for (; d->at[i] < d->at[i + 1]; d->at[i]++) {
            cwi_meeting *m = &d->meeting[d->order[d->at[i]]];
            if (m->item != i || m->nth_user != nth) break;
            m->other_user = user[k];
        }
    }
}

static cw_status take_items(void *arg, const int32_t *user, const int32_t *item, int64_t n)
{
    deal *d = arg;
    cwi_digest_put(d->flow, item, (size_t)n, sizeof *item);
    if (d->part == CW_PART_TRAIN && d->n_meetings > 0) look_for_others(d, user, item, n);
    for (int64_t k = 0; k < n && d->part == CW_PART_VALID; k++) d->judged += d->item_rows[item[k]];
    return CW_OK;
}

/* All of the part by this process alone. */
static cw_status read_alone(deal *d, cwi_bounds bounds, cwi_pairs_fn fn)
{
    cwi_source *source = NULL;
    cw_status status = cwi_store_open_part(d->ctx, d->folder, d->part, &source);
    if (status == CW_OK && source) status = cwi_pairs_each(d->ctx, source, bounds, fn, d);
    cwi_source_close(source);
    return status;
}

/* Walk over the part, at all processes or at `root`; the digest at process 0 goes on by what fn
 * puts.  Each process reads slices of it, or all of it where that is not possible. */
static cw_status walk(deal *d, int root, cwi_pairs_fn fn)
{
    bool is_read = false;
    cwi_bounds bounds = {d->dataset->n_users, d->dataset->n_items};
    char *path = cwi_path_join(d->ctx, d->folder, cwi_store_part_name(d->part));
    if (leads(d)) d->flow = cwi_digest_open(d->ctx, &d->digest);
    cw_status status = path && (d->flow || !leads(d)) ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK && d->is_listed)
        status = cwi_slices_each(d->ctx, d->world, root, path, bounds, CWI_SLICES_BYTES, fn, d,
                                 &is_read);
    if (status == CW_OK && !is_read && (root < 0 || root == d->world->rank))
        status = read_alone(d, bounds, fn);
    cwi_digest_close(d->flow, &d->digest);
    d->flow = NULL;
    cwi_free(path);
    return status;
}

/* ---- draws -------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b, void *arg)
{
    const cwi_meeting *m = arg;
    int64_t x = m[*(const int32_t *)a].row, y = m[*(const int32_t *)b].row;
    return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b, void *arg)
{
    const cwi_meeting *m = arg, *x = &m[*(const int32_t *)a], *y = &m[*(const int32_t *)b];
    if (x->item != y->item) return (x->item > y->item) - (x->item < y->item);
    return (x->nth_user > y->nth_user) - (x->nth_user < y->nth_user);
}

/* Rows are drawn before they are read: how many there are was stated. */
static cw_status draw_meetings(deal *d)
{
    int64_t rows = d->stated[CW_PART_TRAIN];
    size_t n = (size_t)cwi_meetings_count(rows), items = (size_t)d->dataset->n_items;
    d->meeting = cwi_pile_add(d->ctx, &d->pile, n, sizeof *d->meeting);
    d->order = cwi_pile_add(d->ctx, &d->pile, n, sizeof *d->order);
    d->item_rows = cwi_pile_add_zero(d->ctx, &d->pile, items, sizeof *d->item_rows);
    d->at = cwi_pile_add_zero(d->ctx, &d->pile, items + 1, sizeof *d->at);
    CW_PASS(d->pile.status);
    d->n_meetings = (int64_t)n;
    cwi_meetings_draw(rows, d->n_meetings, d->meeting);
    for (int64_t k = 0; k < d->n_meetings; k++) d->order[k] = (int32_t)k;
    qsort_r(d->order, n, sizeof *d->order, by_row, d->meeting);
    return CW_OK;
}

static bool owns(const deal *d, int32_t user)
{
    return cwi_row_owner(d->world, user) == d->world->rank;
}

static int64_t count_list(const deal *d, int32_t user)
{
    return d->lists.start[user + 1] - d->lists.start[user];
}

/* Places among what the two ends of a row have: how much the user has is known to one process. */
static cw_status choose_places(deal *d, int64_t *value)
{
    for (int64_t k = 0; k < d->n_meetings; k++)
        value[k] = owns(d, d->meeting[k].user) ? count_list(d, d->meeting[k].user) : 0;
    CW_PASS(cwi_world_add(d->ctx, d->world, value, d->n_meetings));
    for (int64_t k = 0; k < d->n_meetings; k++)
        cwi_meeting_choose(d->stated[CW_PART_TRAIN], k, value[k], d->item_rows[d->meeting[k].item],
                           &d->meeting[k]);
    for (int64_t k = 0; k < d->n_meetings; k++) {
        const cwi_meeting *m = &d->meeting[k];
        value[k] = owns(d, m->user) ? d->lists.value[d->lists.start[m->user] + m->nth_item] : 0;
    }
    CW_PASS(cwi_world_add(d->ctx, d->world, value, d->n_meetings));
    for (int64_t k = 0; k < d->n_meetings; k++) d->meeting[k].other_item = (int32_t)value[k];
    return CW_OK;
}

/* Order them by items and places there, for the second walk. */
static void order_by_place(deal *d)
{
    int32_t items = d->dataset->n_items;
    qsort_r(d->order, (size_t)d->n_meetings, sizeof *d->order, by_place, d->meeting);
    for (int64_t k = 0; k < d->n_meetings; k++) d->at[d->meeting[k].item + 1]++;
    for (int32_t i = 0; i < items; i++) d->at[i + 1] += d->at[i];
    memset(d->item_rows, 0, (size_t)items * sizeof *d->item_rows);
}

/* What process 0 has found goes to all, and so does what each knows of its users. */
static cw_status judge_meetings(deal *d, int64_t *value, cwi_whole *whole)
{
    for (int64_t k = 0; k < d->n_meetings; k++) value[k] = leads(d) ? d->meeting[k].other_user : 0;
    CW_PASS(cwi_world_add(d->ctx, d->world, value, d->n_meetings));
    for (int64_t k = 0; k < d->n_meetings; k++) {
        cwi_meeting *m = &d->meeting[k];
        m->other_user = (int32_t)value[k];
        value[k] = owns(d, m->other_user) && cwi_csr_has(&d->lists, m->other_user, m->other_item);
    }
    CW_PASS(cwi_world_add(d->ctx, d->world, value, d->n_meetings));
    for (int64_t k = 0; k < d->n_meetings; k++) d->meeting[k].has_met = value[k] != 0;
    whole->likeness = cwi_meetings_share(d->meeting, d->n_meetings) / whole->meeting;
    return CW_OK;
}

static cw_status measure_meeting(deal *d, cwi_whole *whole)
{
    double items = 0;
    int64_t users = 0;
    for (int32_t u = 0; u < d->dataset->n_users; u++) users += count_list(d, u) * count_list(d, u);
    for (int32_t i = 0; i < d->dataset->n_items; i++)
        items += (double)d->item_rows[i] * (double)d->item_rows[i];
    CW_PASS(cwi_world_add(d->ctx, d->world, &users, 1));
    whole->meeting = cwi_meeting_of((double)d->stated[CW_PART_TRAIN], (double)users, items);
    d->trained = items;
    return CW_OK;
}

/* ---- parts --------------------------------------------------------------------------------- */

/* Does a user have an item twice?  The lists of own users are left in d->lists. */
static cw_status find_repeats(deal *d, int64_t *repeats)
{
    const cwi_pairs *own = &d->dataset->part[d->part];
    cwi_csr_clear(&d->lists);
    CW_PASS(
        cwi_csr_create(d->ctx, own->user, own->item, own->count, d->dataset->n_users, &d->lists));
    cwi_csr_sort(&d->lists);
    for (int32_t u = 0; u < d->dataset->n_users && !d->dataset->keeps_repeats; u++)
        for (int64_t k = d->lists.start[u] + 1; k < d->lists.start[u + 1]; k++)
            *repeats += d->lists.value[k] == d->lists.value[k - 1];
    return cwi_world_add(d->ctx, d->world, repeats, 1);
}

/* What was read must be what the others have read, and as much as was stated. */
static cw_status compare_part(deal *d)
{
    const int64_t rows = d->rows;
    struct {
        int64_t rows;
        cwi_digest check;
    } read = {rows, d->check};
    CW_PASS(cwi_world_agree(d->ctx, d->world, "the data are others", &read, sizeof read));
    if (rows != d->stated[d->part]) d->why = "the files have other rows than dataset.json says";
    return CW_OK;
}

static cw_status shrink(deal *d)
{
    cwi_pairs *own = &d->dataset->part[d->part];
    void *user, *item;
    if (own->count == 0) return CW_OK;
    CW_PASS((user = cwi_resize(d->ctx, own->user, (size_t)own->count, 4)) ? CW_OK : CW_NO_MEMORY);
    own->user = user;
    CW_PASS((item = cwi_resize(d->ctx, own->item, (size_t)own->count, 4)) ? CW_OK : CW_NO_MEMORY);
    own->item = item;
    return CW_OK;
}

/* Read a part; of train, draws are looked up between the two walks. */
static cw_status read_part(deal *d, cwi_whole *whole)
{
    int64_t repeats = 0;
    bool is_train = d->part == CW_PART_TRAIN;
    d->rows = 0;
    d->check = (cwi_digest){0};
    d->user_capacity = d->item_capacity = 0;
    cwi_digest_numbers(&d->digest, &d->stated[d->part], 1, sizeof *d->stated);
    CW_PASS(walk(d, -1, take_rows));
    CW_PASS(shrink(d));
    CW_PASS(compare_part(d));
    if (d->why) return CW_OK;
    CW_PASS(find_repeats(d, &repeats));
    if (repeats > 0) d->why = "a user has an item twice";
    if (d->why) return CW_OK;
    int64_t *value = cwi_alloc(d->ctx, (size_t)d->n_meetings, sizeof *value);
    cw_status status = value ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK && is_train) status = measure_meeting(d, whole);
    if (status == CW_OK && is_train) status = choose_places(d, value);
    if (status == CW_OK && is_train) order_by_place(d);
    if (status == CW_OK) status = walk(d, 0, take_items);
    if (status == CW_OK && is_train) status = judge_meetings(d, value, whole);
    cwi_free(value);
    cwi_csr_clear(&d->lists);
    whole->rows[d->part] = d->rows;
    return status;
}

static cw_status measure_evenness(deal *d, cwi_whole *whole)
{
    int64_t judged = leads(d) ? d->judged : 0;
    CW_PASS(cwi_world_add(d->ctx, d->world, &judged, 1));
    whole->evenly = cwi_is_even((double)judged, whole->rows[CW_PART_VALID], d->trained,
                                whole->rows[CW_PART_TRAIN]);
    return CW_OK;
}

static cw_status read_parts(deal *d)
{
    cw_dataset *dataset = d->dataset;
    cwi_whole *whole = dataset->whole = cwi_alloc_zero(d->ctx, 1, sizeof *whole);
    const int64_t sizes[] = {dataset->n_users, dataset->n_items};
    if (!whole) return CW_NO_MEMORY;
    cwi_digest_numbers(&d->digest, sizes, 2, sizeof *sizes);
    CW_PASS(draw_meetings(d));
    for (d->part = 0; d->part < CWI_PARTS && !d->why; d->part++) {
        dataset->has_part[d->part] = d->has_files[d->part];
        CW_PASS(cwi_progress(d->ctx, "reading the dataset", d->part, CWI_PARTS));
        CW_PASS(read_part(d, whole));
    }
    CW_PASS(measure_evenness(d, whole));
    cwi_digest_print(&d->digest, whole->hash);
    d->world->calls->spread(0, whole->hash, sizeof whole->hash);
    return CW_OK;
}

/* ---- can it be done? ------------------------------------------------------------------------ */

/* Which files there are, and whether it is known how many rows they have. */
static cw_status look_at_files(deal *d)
{
    for (int p = 0; p < CWI_PARTS; p++) {
        cwi_source *source;
        CW_PASS(cwi_store_open_part(d->ctx, d->folder, p, &source));
        d->has_files[p] = source != NULL;
        cwi_source_close(source);
        if (!source) d->stated[p] = 0;
    }
    for (int p = 0; p < CWI_PARTS && d->dataset; p++)
        if (d->stated[p] < 0) d->why = "dataset.json does not say how many rows there are";
    if (!d->dataset) d->why = "there are no files of ids";
    if (!d->why && d->stated[CW_PART_TRAIN] == 0) d->why = "train has no rows";
    return CW_OK;
}

static cw_status load_frame(deal *d)
{
    cwi_digest files = {0};
    CW_PASS(cwi_store_load_frame(d->ctx, d->folder, d->stated, &files, &d->dataset));
    CW_PASS(look_at_files(d));
    d->is_listed = files.high != 0 || files.low != 0;
    const int64_t found[] = {d->dataset ? d->dataset->n_users : -1,
                             d->dataset ? d->dataset->n_items : -1,
                             d->stated[0],
                             d->stated[1],
                             d->stated[2],
                             (int64_t)files.high,
                             (int64_t)files.low};
    return cwi_world_agree(d->ctx, d->world, "the data are others", found, sizeof found);
}

/* Does this training look at interactions in ways that can be asked for? */
static cw_status look_at_training(deal *d, const cw_options *options)
{
    cw_options *settled = NULL;
    const cwi_method *method;
    const cwi_backbone *backbone;
    CW_PASS(cwi_train_settle(d->ctx, options, NULL, &settled, &method, &backbone));
    const cwi_sampler *sampler = method->sampler;
    bool asks = sampler && sampler->asks && sampler->asks(settled);
    bool is_trained = sampler && !method->penalty; /* else it is refused soon */
    if (!asks) d->why = is_trained ? "it draws in ways that need them" : "";
    cw_options_free(settled);
    return CW_OK;
}

cw_status cwi_deal_load(cw_context *ctx, const char *folder, const char *train_file,
                        const cw_options *options, cw_dataset **out)
{
    cw_status status;
    deal d = {.ctx = ctx, .world = ctx->world, .folder = folder};
    *out = NULL;
    if (!ctx->world || ctx->world->size == 1) return CW_OK;
    CW_TRY(look_at_training(&d, options));
    if (train_file) d.why = "it is not train.csv that is trained on";
    if (!d.why) CW_TRY(load_frame(&d));
    if (!d.why) CW_TRY(read_parts(&d));
    if (d.why) {
        if (d.why[0]) cwi_log(ctx, CW_LOG_INFO, "every process keeps all interactions: %s", d.why);
    } else {
        cwi_log(ctx, CW_LOG_INFO, "%d processes; this one keeps %lld of %lld train rows",
                d.world->size, (long long)d.dataset->part[CW_PART_TRAIN].count,
                (long long)d.dataset->whole->rows[CW_PART_TRAIN]);
        *out = d.dataset;
        d.dataset = NULL;
    }
done:
    cwi_csr_clear(&d.lists);
    cwi_pile_clear(&d.pile);
    cw_dataset_free(d.dataset);
    return status;
}

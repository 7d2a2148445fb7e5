/* fuzz_trip_dataset.c - any dataset, written and read back, is the same, whatever bytes its ids
 * have; with any byte of any file changed it is read or refused, but never more than that. */
#include "fuzzing.h"
#include "prepare/truth.h"

enum { MOST = 6 };

/* Distinct pairs, at least one. */
static void make_pairs(cw_context *ctx, tape *t, const cw_dataset *d, cwi_pairs *out)
{
    bool used[MOST][MOST] = {{false}};
    int64_t n = take_number(t, 1, 8), kept = 0;
    must_work(ctx, cwi_pairs_create(ctx, n, out));
    for (int64_t k = 0; k < n; k++) {
        int32_t user = (int32_t)take_number(t, 0, d->n_users - 1);
        int32_t item = (int32_t)take_number(t, 0, d->n_items - 1);
        if (used[user][item] && !d->keeps_repeats) continue;
        used[user][item] = true;
        out->user[kept] = user;
        out->item[kept++] = item;
    }
    out->count = kept;
}

static void make_truth(cw_context *ctx, tape *t, cw_dataset *d)
{
    must_work(ctx, cwi_truth_create(ctx, d->n_users, d->n_items, 2, &d->truth));
    d->truth->offset = (double)take_float(t);
    d->truth->alpha = (double)(uint8_t)take_byte(t) / 3.0;
    for (int32_t u = 0; u < 2 * d->n_users; u++) d->truth->user_factors[u] = take_float(t);
    for (int32_t i = 0; i < d->n_items; i++) d->truth->item_quality[i] = take_float(t);
    make_pairs(ctx, t, d, &d->truth->uniform);
}

static cw_dataset *make(cw_context *ctx, tape *t)
{
    cw_dataset *d;
    must_work(ctx, cwi_dataset_create(ctx, &d));
    uint8_t choice = take_byte(t);
    d->n_users = (int32_t)take_number(t, 1, MOST);
    d->n_items = (int32_t)take_number(t, 1, MOST);
    d->keeps_repeats = choice & 1;
    take_ids(ctx, t, d->n_users, &d->users);
    take_ids(ctx, t, d->n_items, &d->items);
    for (int p = 0; p < CWI_PARTS; p++) {
        d->has_part[p] = p == 0 || choice & 2 << p;
        if (d->has_part[p]) make_pairs(ctx, t, d, &d->part[p]);
    }
    if (choice & 32) make_truth(ctx, t, d);
    return d;
}

static void compare_pairs(const cwi_pairs *a, const cwi_pairs *b)
{
    must(a->count == b->count);
    for (int64_t k = 0; k < a->count; k++)
        must(a->user[k] == b->user[k] && a->item[k] == b->item[k]);
}

static void compare(const cw_dataset *a, const cw_dataset *b)
{
    must(a->n_users == b->n_users && a->n_items == b->n_items);
    must(a->keeps_repeats == b->keeps_repeats && !a->truth == !b->truth);
    compare_ids(&a->users, &b->users);
    compare_ids(&a->items, &b->items);
    for (int p = 0; p < CWI_PARTS; p++) {
        must(a->has_part[p] == b->has_part[p]);
        compare_pairs(&a->part[p], &b->part[p]);
    }
    if (!a->truth) return;
    must(a->truth->offset == b->truth->offset && a->truth->alpha == b->truth->alpha);
    must(memcmp(a->truth->user_factors, b->truth->user_factors,
                (size_t)a->n_users * 2 * sizeof(float)) == 0);
    must(memcmp(a->truth->item_quality, b->truth->item_quality,
                (size_t)a->n_items * sizeof(float)) == 0);
    compare_pairs(&a->truth->uniform, &b->truth->uniform);
}

/* Change a byte of one of the files. */
static void damage_folder(tape *t, const cw_dataset *d)
{
    static const char *const names[] = {
        "trip/train.csv",        "trip/id2idx_u.csv",           "trip/id2idx_i.csv",
        "trip/dataset.json",     "trip/truth/user_factors.npy", "trip/truth/item_propensity.npy",
        "trip/truth/truth.json", "trip/test_uniform.csv"};
    damage(t, scratch(names[take_byte(t) % (d->truth ? 8 : 4)]).path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    tape t = {data, size};
    place folder = fresh("trip");
    cw_dataset *made = make(ctx, &t), *read;

    must_work(ctx, cw_dataset_save(ctx, made, folder.path, false));
    must_work(ctx, cw_dataset_load(ctx, folder.path, &read));
    compare(made, read);
    cw_dataset_free(read);
    damage_folder(&t, made);
    cw_status status = cw_dataset_load(ctx, folder.path, &read);
    must((status == CW_OK) == (read != NULL));
    check_status(ctx, status);
    cw_dataset_free(read);
    cw_dataset_free(made);
    cw_context_free(ctx);
    return 0;
}

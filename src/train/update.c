/* update.c - a model goes on with new rows, new users and new items. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/numbers.h"
#include "core/option_rows.h"
#include "import/import.h"
#include "model/model.h"
#include "prepare/hidden.h"
#include "prepare/rest.h"
#include "train/train.h"

const cw_option_info cwi_update_options[] = {
    REAL_ABOVE("update-share", "0.2", 0, 100,
               "steps to make, as a share of those that the model was trained for"),
    WHOLE("steps", "0", 0, 1e12, "make so many steps instead; 0: the share"),
    REAL("lr", "", 1e-12, 1000, "learning rate; the model's when not given"),
    REAL("reg", "", 0, 1e6, "L2 coefficient; the model's when not given"),
    WHOLE("batch", "", 1, 1048576, "examples per step; the model's when not given"),
    WHOLE("seed", "", 0, 4294967295.0, "of first values and samples; the model's when not given"),
    TEXT("checkpoint", "", "file to keep the state of training in"),
    TEXT("checkpoint-every", "60s",
         "write it after so many epochs (10) or seconds (60s); 0 only when interrupted"),
    FLAG("resume", "go on from the checkpoint when there is one"),
    {0}};

/* ---- all rows ------------------------------------------------------------------ */

/* The data of a model and those that are new; ids of the model keep their numbers. */
typedef struct growth {
    cw_dataset data;      /* everything is in its train part */
    int64_t fresh;        /* rows that the model did not know */
    int64_t repeats;      /* rows of the log that it did, or that come twice */
    int32_t *user, *item; /* numbers of those of the interactions */
} growth;

static cw_status add_ids(cw_context *ctx, const cwi_idmap *from, cwi_idmap *to, int32_t *number)
{
    for (int32_t k = 0; k < from->count; k++) {
        const char *id = cwi_idmap_text(from, k);
        CW_PASS(cwi_idmap_add(ctx, to, id, strlen(id), &number[k]));
    }
    return CW_OK;
}

static bool is_in(const cwi_idmap *map, const cwi_idmap *other, int32_t index, int32_t *found)
{
    const char *id = cwi_idmap_text(other, index);
    *found = cwi_idmap_find(map, id, strlen(id));
    return *found >= 0;
}

static void add_row(cwi_pairs *rows, int32_t user, int32_t item)
{
    rows->user[rows->count] = user;
    rows->item[rows->count++] = item;
}

static int64_t count_rows(const cwi_csr *rows)
{
    return rows->start ? rows->start[rows->n_rows] : 0;
}

/* Number of a user or guest of the model among the users of now; -1 for nobody. */
static int32_t find_user(const cw_model *model, const cwi_idmap *users, int32_t anybody)
{
    int32_t user = anybody;
    if (anybody >= model->n_users)
        is_in(users, &model->rest.users, anybody - model->n_users, &user);
    return user;
}

/* Of somebody: items that the filter had dropped and that are items now. */
static void add_found(const cw_model *model, int32_t anybody, const cwi_idmap *items, int32_t user,
                      cwi_pairs *rows)
{
    const cwi_csr *lost = &model->rest.lost;
    int32_t item;
    if (!lost->start) return;
    for (int64_t e = lost->start[anybody]; e < lost->start[anybody + 1]; e++)
        if (is_in(items, &model->rest.items, lost->value[e], &item)) add_row(rows, user, item);
}

/* Rows of the model, those of its guests who are users now, and those with items that are back. */
static void add_known(const cw_model *model, const cw_dataset *data, cwi_pairs *rows)
{
    const cwi_idmap *users = &data->users;
    int32_t user;
    for (int32_t u = 0; u < model->n_users; u++)
        for (int64_t e = model->seen.start[u]; e < model->seen.start[u + 1]; e++)
            add_row(rows, u, model->seen.value[e]);
    for (int32_t g = 0; g < model->rest.users.count; g++)
        if (is_in(users, &model->rest.users, g, &user))
            for (int64_t e = model->rest.rows.start[g]; e < model->rest.rows.start[g + 1]; e++)
                add_row(rows, user, model->rest.rows.value[e]);
    for (int32_t a = 0; a < model->rest.lost.n_rows; a++)
        if ((user = find_user(model, users, a)) >= 0) add_found(model, a, &data->items, user, rows);
}

static bool has_repeats(const cwi_csr *seen)
{
    for (int32_t u = 0; u < seen->n_rows; u++)
        for (int64_t e = seen->start[u] + 1; e < seen->start[u + 1]; e++)
            if (seen->value[e] == seen->value[e - 1]) return true;
    return false;
}

static cw_status fill_rows(cw_context *ctx, const cw_model *model, const cw_interactions *rows,
                           growth *g)
{
    cwi_pairs *train = &g->data.part[CW_PART_TRAIN];
    int64_t guests = count_rows(&model->rest.rows) + count_rows(&model->rest.lost);
    int64_t overlaps, most = model->seen.start[model->n_users] + guests + rows->count;
    CW_PASS(cwi_pairs_create(ctx, most, train));
    train->count = 0;
    add_known(model, &g->data, train);
    int64_t known = train->count;
    for (int64_t r = 0; r < rows->count; r++)
        add_row(train, g->user[rows->user[r]], g->item[rows->item[r]]);
    if (!rows->keeps_repeats && !has_repeats(&model->seen)) {
        cw_interactions all = {.count = train->count, .user = train->user, .item = train->item};
        all.users.count = g->data.n_users;
        all.items.count = g->data.n_items;
        CW_PASS(cwi_drop_repeats(ctx, &all, &g->repeats, &overlaps));
        train->count = all.count;
    }
    g->fresh = train->count - known;
    return CW_OK;
}

/* What was hidden and what is too low now, unless it is trained on. */
static cw_status hide_rows(cw_context *ctx, const cw_model *model, const cwi_below *below,
                           cw_dataset *data)
{
    const cwi_csr *old = &model->rest.hidden;
    cwi_pairs rows = {0};

    CW_PASS(cwi_pairs_create(ctx, cwi_model_count_hidden(model) + below->count, &rows));
    rows.count = 0;
    for (int32_t u = 0; u < old->n_rows; u++) {
        /* guests have other numbers now, or are users */
        int32_t user = u < model->n_users ? u : cwi_find_anybody(data, cw_model_user_id(model, u));
        for (int64_t e = old->start[u]; e < old->start[u + 1]; e++)
            add_row(&rows, user, old->value[e]);
    }
    cw_status status = cwi_hidden_add(ctx, below, data, &rows);
    if (status == CW_OK) status = cwi_hidden_fill(ctx, &rows, data);
    cwi_pairs_clear(&rows);
    return status;
}

/* Guests that are not in the new log stay guests. */
static cw_status keep_guests(cw_context *ctx, const cw_model *model, cw_dataset *data)
{
    cw_status status;
    const cwi_rest *old = &model->rest;
    cwi_rest *rest = &data->rest;
    cwi_pairs rows = {0};
    int32_t number;

    CW_TRY(cwi_pairs_create(ctx, count_rows(&old->rows) + count_rows(&old->lost), &rows));
    rows.count = 0;
    for (int32_t g = 0; g < old->users.count; g++) {
        if (is_in(&data->users, &old->users, g, &number)) continue;
        const char *id = cwi_idmap_text(&old->users, g);
        CW_TRY(cwi_idmap_add(ctx, &rest->users, id, strlen(id), &number));
        for (int64_t e = old->rows.start[g]; e < old->rows.start[g + 1]; e++)
            add_row(&rows, number, old->rows.value[e]);
        add_found(model, model->n_users + g, &data->items, number, &rows);
    }
    for (int32_t g = 0; g < old->items.count; g++) {
        if (is_in(&data->items, &old->items, g, &number)) continue;
        const char *id = cwi_idmap_text(&old->items, g);
        CW_TRY(cwi_idmap_add(ctx, &rest->items, id, strlen(id), &number));
    }
    CW_TRY(cwi_csr_create(ctx, rows.user, rows.item, rows.count, rest->users.count, &rest->rows));
    cwi_csr_sort(&rest->rows);
done:
    cwi_pairs_clear(&rows);
    return status;
}

/* Dropped items that did not come back are remembered of those who had them. */
static cw_status keep_lost(cw_context *ctx, const cw_model *model, cw_dataset *data)
{
    cw_status status;
    const cwi_csr *old = &model->rest.lost;
    cwi_rest *rest = &data->rest;
    cwi_pairs rows = {0};
    int32_t item;

    if (rest->items.count == 0 || !old->start) return CW_OK;
    CW_PASS(cwi_pairs_create(ctx, count_rows(old), &rows));
    rows.count = 0;
    for (int32_t a = 0; a < old->n_rows; a++) {
        int32_t user = cwi_find_anybody(data, cw_model_user_id(model, a));
        for (int64_t e = old->start[a]; e < old->start[a + 1]; e++)
            if (is_in(&rest->items, &model->rest.items, old->value[e], &item))
                add_row(&rows, user, item);
    }
    CW_TRY(cwi_csr_create(ctx, rows.user, rows.item, rows.count, data->n_users + rest->users.count,
                          &rest->lost));
    cwi_csr_sort(&rest->lost);
done:
    cwi_pairs_clear(&rows);
    return status;
}

static cw_status grow(cw_context *ctx, const cw_model *model, const cw_interactions *rows,
                      growth *g)
{
    cw_dataset *data = &g->data;
    g->user = cwi_alloc(ctx, (size_t)rows->users.count, sizeof *g->user);
    g->item = cwi_alloc(ctx, (size_t)rows->items.count, sizeof *g->item);
    CW_PASS(g->user && g->item ? CW_OK : CW_NO_MEMORY);
    CW_PASS(cwi_idmap_copy(ctx, &model->users, &data->users));
    CW_PASS(cwi_idmap_copy(ctx, &model->items, &data->items));
    CW_PASS(add_ids(ctx, &rows->users, &data->users, g->user));
    CW_PASS(add_ids(ctx, &rows->items, &data->items, g->item));
    data->n_users = data->users.count;
    data->n_items = data->items.count;
    CW_PASS(fill_rows(ctx, model, rows, g));
    if (g->fresh == 0)
        return cwi_fail(ctx, CW_BAD_DATA,
                        "there is nothing new: the model knows all %lld interactions already",
                        (long long)rows->count);
    CW_PASS(keep_guests(ctx, model, data));
    CW_PASS(keep_lost(ctx, model, data));
    return hide_rows(ctx, model, &rows->below, data);
}

/* ---- databases ------------------------------------------------------------------- */

static const char *text_at(const json_t *entry, const char *key)
{
    return cwi_json_get_text(entry, key);
}

/* What is known of a database that was not asked this time stays known. */
static void add_known_latest(const json_t *known, json_t **latest)
{
    size_t k, n, count = json_array_size(*latest);
    json_t *entry, *other;

    json_array_foreach(known, k, entry)
    {
        bool is_asked = false;
        for (n = 0; n < count; n++) {
            other = json_array_get(*latest, n);
            is_asked =
                is_asked || (strcmp(text_at(entry, "database"), text_at(other, "database")) == 0 &&
                             strcmp(text_at(entry, "table"), text_at(other, "table")) == 0);
        }
        if (!is_asked) cwi_json_add(latest, json_incref(entry));
    }
}

/* Where databases are at now, in the place where a dataset has it. */
static cw_status note_latest(cw_context *ctx, const json_t *about, const cw_interactions *rows,
                             cw_dataset *data)
{
    const json_t *known = json_object_get(json_object_get(about, "data"), "latest");
    json_t *source = NULL;

    CW_PASS(rows->source ? cwi_json_reparse(ctx, rows->source, &source) : CW_OK);
    json_t *read = json_object_get(source, "latest");
    json_t *latest = read ? json_incref(read) : json_array();
    json_decref(source);
    add_known_latest(known, &latest);
    if (json_array_size(latest) == 0) {
        json_decref(latest);
        return CW_OK;
    }
    return cwi_json_text(ctx, json_pack("{s:{s:o}}", "source", "latest", latest), &data->origin);
}

cw_status cw_import_new(cw_context *ctx, const cw_model *model, const char *const *paths,
                        size_t n_paths, const cw_options *options, cw_interactions **out)
{
    json_t *about = NULL;

    cwi_begin(ctx);
    *out = NULL;
    CW_PASS(cwi_json_reparse(ctx, model->about ? model->about : "{}", &about));
    cw_status status =
        cwi_import_after(ctx, paths, n_paths, options,
                         json_object_get(json_object_get(about, "data"), "latest"), out);
    json_decref(about);
    return status;
}

static void growth_clear(growth *g)
{
    cwi_free(g->data.origin);
    cwi_free(g->user);
    cwi_free(g->item);
    cwi_pairs_clear(&g->data.part[CW_PART_TRAIN]);
    cwi_idmap_clear(&g->data.users);
    cwi_idmap_clear(&g->data.items);
    cwi_rest_clear(&g->data.rest);
}

/* ---- parameters ------------------------------------------------------------------ */

static void copy_rows(const cwi_tensor *from, int64_t at, int64_t n, cwi_tensor *to, int64_t put)
{
    for (int64_t r = 0; r < n; r++)
        memcpy(to->data + (put + r) * to->columns, from->data + (at + r) * from->columns,
               (size_t)from->columns * sizeof *to->data);
}

/* Users, then the items of each table. */
static bool take_table(const cwi_trainer *t, const cw_model *model, const cwi_tensor *from,
                       cwi_tensor *to)
{
    int32_t old_users = model->n_users, n_users = t->dataset->n_users;
    int32_t old_items = model->n_items, n_items = t->dataset->n_items;
    int64_t tables = (to->rows - n_users) / n_items;
    if (from->columns != to->columns || from->rows != old_users + tables * old_items) return false;
    copy_rows(from, 0, old_users, to, 0);
    for (int64_t k = 0; k < tables; k++)
        copy_rows(from, old_users + k * old_items, old_items, to, n_users + k * n_items);
    return true;
}

/* A size that differs must be that of the items; the first ones are the old ones. */
static bool is_same_size(const cwi_trainer *t, const cw_model *model, int64_t old, int64_t now)
{
    return old == now || (old == model->n_items && now == t->dataset->n_items);
}

static bool take_tensor(const cwi_trainer *t, const cw_model *model, const cwi_tensor *from,
                        cwi_tensor *to)
{
    if (!is_same_size(t, model, from->rows, to->rows) ||
        !is_same_size(t, model, from->columns, to->columns))
        return false;
    copy_rows(from, 0, from->rows, to, 0);
    return true;
}

cw_status cwi_params_take_over(const cwi_trainer *t, const cw_model *from, cwi_params *to)
{
    for (int k = 0; k < to->count; k++) {
        cwi_tensor *now = &to->tensor[k];
        const cwi_tensor *old = cwi_params_find(&from->params, now->name);
        bool is_table = k == 0 && !t->task.backbone->learn;
        bool is_good = old && (is_table ? take_table : take_tensor)(t, from, old, now);
        if (!is_good)
            return cwi_fail(t->ctx, CW_BAD_DATA,
                            "the model's tensor %s is missing or of another size than its options "
                            "say",
                            now->name);
    }
    return CW_OK;
}

/* ---- how ------------------------------------------------------------------------- */

/* The model's own options, and those that are given over them. */
static cw_status choose_options(cw_context *ctx, const cw_model *model, const json_t *about,
                                const cw_options *given, cw_options **out)
{
    cw_status status;
    const cwi_method *method;
    const cwi_backbone *backbone;
    const cw_option_info *info;
    json_t *recorded = NULL;
    cw_options *joined = NULL;

    CW_TRY(cwi_find_pair(ctx, model->method, model->backbone, &method, &backbone));
    recorded = cwi_json_copy(json_object_get(about, "options"));
    CW_TRY(cwi_json_check(ctx, recorded));
    json_object_del(recorded, "refit");
    if (backbone->learn) json_object_del(recorded, "dim"); /* it has no use for it */
    CW_TRY(cwi_train_reread(ctx, method, backbone, recorded, &joined));
    CW_TRY(cwi_options_assign(ctx, joined, "method", model->method));
    CW_TRY(cwi_options_assign(ctx, joined, "backbone", model->backbone));
    for (size_t row = 2; given && (info = cwi_options_row(given, row)); row++)
        if (cw_options_is_given(given, info->name))
            CW_TRY(
                cwi_options_assign(ctx, joined, info->name, cwi_options_text(given, info->name)));
    *out = joined;
    joined = NULL;
done:
    cw_options_free(joined);
    json_decref(recorded);
    return status;
}

/* Steps that the model was trained for; one of an earlier version says how many epochs. */
static double count_trained(const cw_model *model, const json_t *about)
{
    double steps = cwi_json_get_number(about, "steps");
    double batch = cwi_json_get_number(json_object_get(about, "options"), "batch");
    double rows = cwi_json_get_number(json_object_get(about, "data"), "train");
    if (cwi_find_backbone(model->backbone)->learn) rows = model->n_users;
    if (steps >= 1 || batch < 1) return steps;
    return cwi_json_get_number(about, "best_epoch") * fmax(1, floor(rows / batch));
}

/* Epochs are for what is told and for checkpoints: one pass over the rows each, all equally long.
 */
static cw_status plan_steps(cw_context *ctx, const cw_options *given, const cw_options *options,
                            double trained, const growth *g, cwi_sequel *sequel)
{
    double steps = rint(trained * (given ? cwi_options_real(given, "update-share") : 0.2));
    if (given && cwi_options_integer(given, "steps") > 0)
        steps = (double)cwi_options_integer(given, "steps");
    if (!(steps >= 1)) steps = 1;
    if (steps > 1e12)
        return cwi_fail(ctx, CW_BAD_ARG, "%g steps are too many; give a smaller --update-share",
                        steps);
    int64_t rows = g->data.part[CW_PART_TRAIN].count;
    int64_t pass = rows / cwi_options_integer(options, "batch");
    if (pass < 1) pass = 1;
    sequel->epochs = (int64_t)steps / pass;
    if (sequel->epochs < 1) sequel->epochs = 1;
    sequel->steps_per_epoch = (int64_t)steps / sequel->epochs;
    return CW_OK;
}

/* Of the rows and of what training begins with. */
static void hash_inputs(const cw_model *model, const growth *g, char out[CWI_HASH_BYTES])
{
    cwi_digest digest = {0};
    cwi_dataset_hash(&g->data, out);
    cwi_digest_numbers(&digest, out, strlen(out), 1);
    for (int k = 0; k < model->params.count; k++) {
        const cwi_tensor *tensor = &model->params.tensor[k];
        cwi_digest_numbers(&digest, tensor->data, (size_t)(tensor->rows * tensor->columns),
                           sizeof *tensor->data);
    }
    cwi_digest_print(&digest, out);
}

/* ---- the call ---------------------------------------------------------------------- */

/* What the new model says of itself, with what the old one said.  "steps" stays what a whole
 * training takes, for the next update. */
static cw_status describe(const cwi_trainer *t, const cw_model *model, const growth *g,
                          double trained, json_t *before, json_t **found)
{
    json_t *none = json_null(), *about = cwi_describe_model(t, none, none);
    json_t *update = json_pack(
        "{s:I, s:I, s:i, s:i, s:I, s:I}", "rows", (json_int_t)g->fresh, "repeats",
        (json_int_t)g->repeats, "new_users", (int)(t->dataset->n_users - model->n_users),
        "new_items", (int)(t->dataset->n_items - model->n_items), "steps",
        (json_int_t)(t->epoch * t->task.steps_per_epoch), "updates",
        (json_int_t)cwi_json_get_number(json_object_get(before, "update"), "updates") + 1);
    json_t *old = cwi_json_copy(before);
    if (old) json_object_del(old, "before"); /* which would grow without end */
    cwi_json_set(&about, "steps", json_integer((json_int_t)trained));
    cwi_json_set(&about, "update", update);
    cwi_json_copy_keys(before, "dial|bucket", &about);
    cwi_json_set(&about, "before", old);
    *found = json_pack("{s:o, s:O}", "about", about, "epochs", t->epochs);
    return cwi_json_check(t->ctx, *found);
}

/* Items that are new have a term of 0, as those that a bucket did not have. */
static cw_status keep_terms(cw_context *ctx, const cw_model *from, cw_model *to)
{
    if (!from->term) return CW_OK;
    to->term = cwi_alloc_zero(ctx, (size_t)to->n_items, sizeof *to->term);
    if (!to->term) return CW_NO_MEMORY;
    memcpy(to->term, from->term, (size_t)from->n_items * sizeof *to->term);
    return CW_OK;
}

static cw_status refuse_sum(cw_context *ctx, const json_t *about)
{
    if (!json_object_get(about, "sum")) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "the model is a sum of two, which cannot be trained on; run tune again");
}

static cw_status train_on(cw_context *ctx, const cw_model *model, const growth *g,
                          const cw_options *given, json_t *about, cw_model **out, char **run)
{
    cw_status status;
    cwi_trainer *t = NULL;
    cw_options *options = NULL;
    json_t *found = NULL;
    double trained = 0;
    cwi_sequel sequel = {.phase = "update", .model = model, .before = about, .resumes = true};

    CW_TRY(choose_options(ctx, model, about, given, &options));
    trained = count_trained(model, about);
    CW_TRY(plan_steps(ctx, given, options, trained, g, &sequel));
    hash_inputs(model, g, sequel.data_hash);
    CW_TRY(cwi_trainer_follow(ctx, &g->data, options, &sequel, &t));
    CW_TRY(cwi_trainer_run(t));
    CW_TRY(describe(t, model, g, trained, about, &found));
    CW_TRY(cwi_make_model(t, found, out, run));
    status = keep_terms(ctx, model, *out);
    if (status != CW_OK) {
        cw_model_free(*out);
        *out = NULL;
        if (run) cwi_free(*run);
        if (run) *run = NULL;
    }
done:
    cwi_trainer_free(t);
    cw_options_free(options);
    json_decref(found);
    return status;
}

cw_status cw_update(cw_context *ctx, const cw_model *model, const cw_interactions *interactions,
                    const cw_options *options, cw_model **out, char **run)
{
    cw_status status;
    growth g = {0};
    json_t *about = NULL;

    cwi_begin(ctx);
    *out = NULL;
    if (run) *run = NULL;
    CW_TRY(cwi_options_check(ctx, options, "update"));
    CW_TRY(cwi_interactions_here(ctx, interactions));
    CW_TRY(cwi_json_reparse(ctx, model->about ? model->about : "{}", &about));
    CW_TRY(refuse_sum(ctx, about));
    CW_TRY(cwi_params_complete(ctx, &model->params));
    CW_TRY(grow(ctx, model, interactions, &g));
    CW_TRY(note_latest(ctx, about, interactions, &g.data));
    CW_TRY(train_on(ctx, model, &g, options, about, out, run));
done:
    growth_clear(&g);
    json_decref(about);
    return status;
}

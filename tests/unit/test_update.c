/* test_update.c - a model goes on with new rows: whom it knows then, and the same bits always. */
#include <jansson.h>
#include <sys/stat.h>

#include "core/text.h"
#include "model/model.h"
#include "prepare/dataset.h"
#include "registry/registry.h"
#include "train_check.h"

enum { N_OLD = 1200, N_NEW = 200 };

typedef struct fixture {
    listener l;
    char folder[64], checkpoint[128];
    cw_options *train, *update;
    cw_interactions *old, *fresh;
    int64_t user[N_OLD + N_NEW], item[N_OLD + N_NEW];
} fixture;

static void set(fixture *f, cw_options *options, const char *name, const char *value)
{
    assert_int_equal(cw_options_set(f->l.ctx, options, name, value), CW_OK);
}

/* 100 users of 40 items, of which the last 20 and the last 4 come later; 50 rows come twice. */
static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    uint32_t x = 1;
    listener_init(&f->l);
    make_scratch(f->folder);
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s/c", f->folder);
    for (int k = 0; k < N_OLD + N_NEW; k++) {
        bool is_new = k >= N_OLD;
        x = x * 1664525 + 1013904223;
        f->user[k] = (x >> 8) % (is_new ? 100 : 80);
        f->item[k] = (x >> 20) % (is_new ? 40 : 36);
    }
    for (int k = 0; k < 50; k++) {
        f->user[N_OLD + k] = f->user[k];
        f->item[N_OLD + k] = f->item[k];
    }
    assert_int_equal(cw_interactions_create(f->l.ctx, f->user, f->item, NULL, N_OLD, &f->old),
                     CW_OK);
    assert_int_equal(
        cw_interactions_create(f->l.ctx, f->user + N_OLD, f->item + N_OLD, NULL, N_NEW, &f->fresh),
        CW_OK);
    assert_int_equal(cw_options_create(f->l.ctx, "train", &f->train), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, f->train, "preset", "paper"), CW_OK);
    assert_int_equal(cw_options_create(f->l.ctx, "update", &f->update), CW_OK);
    set(f, f->train, "dim", "4");
    set(f, f->train, "batch", "64");
    set(f, f->train, "epochs", "4");
    set(f, f->train, "eval-every", "2");
    set(f, f->train, "refit", "on");
    set(f, f->update, "update-share", "0.5");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    cw_options_free(f->train);
    cw_options_free(f->update);
    cw_interactions_free(f->old);
    cw_interactions_free(f->fresh);
    remove_scratch(f->folder);
    listener_clear(&f->l);
    free(f);
    return 0;
}

static cw_model *train(fixture *f)
{
    cw_dataset *data;
    cw_model *model;
    assert_int_equal(cw_dataset_prepare(f->l.ctx, f->old, NULL, &data), CW_OK);
    if (cw_train(f->l.ctx, data, f->train, &model, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    cw_dataset_free(data);
    return model;
}

static cw_model *update(fixture *f, const cw_model *model)
{
    cw_model *out;
    if (cw_update(f->l.ctx, model, f->fresh, f->update, &out, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    return out;
}

static void assert_same_model(const cw_model *a, const cw_model *b)
{
    assert_string_equal(a->about, b->about);
    assert_int_equal(a->params.count, b->params.count);
    for (int t = 0; t < a->params.count; t++) {
        size_t bytes = cwi_tensor_bytes(&a->params.tensor[t]);
        assert_int_equal(bytes, cwi_tensor_bytes(&b->params.tensor[t]));
        assert_memory_equal(a->params.tensor[t].data, b->params.tensor[t].data, bytes);
    }
}

static bool knows(const cw_model *model, int64_t user, int64_t item)
{
    char id[2][24];
    snprintf(id[0], sizeof id[0], "%lld", (long long)user);
    snprintf(id[1], sizeof id[1], "%lld", (long long)item);
    int32_t u = cw_model_find_user(model, id[0]), i = cw_model_find_item(model, id[1]);
    return u >= 0 && i >= 0 && cwi_csr_has(&model->seen, u, i);
}

static void old_numbers_stay_and_all_rows_are_known(void **state)
{
    fixture *f = *state;
    cw_model *old = train(f), *now = update(f, old);
    assert_true(now->n_users > old->n_users && now->n_items > old->n_items);
    for (int32_t u = 0; u < old->n_users; u++)
        assert_string_equal(cw_model_user_id(old, u), cw_model_user_id(now, u));
    for (int32_t i = 0; i < old->n_items; i++)
        assert_string_equal(cw_model_item_id(old, i), cw_model_item_id(now, i));
    for (int k = 0; k < N_OLD + N_NEW; k++) assert_true(knows(now, f->user[k], f->item[k]));
    int64_t rows = now->seen.start[now->n_users];
    for (int32_t i = 0; i < now->n_items; i++) rows -= now->degree[i];
    assert_true(rows == 0);
    json_t *about = json_loads(now->about, 0, NULL), *before = json_loads(old->about, 0, NULL);
    const json_t *told = json_object_get(about, "update");
    assert_true(json_equal(json_object_get(about, "before"), before));
    assert_int_equal(json_integer_value(json_object_get(told, "rows")),
                     now->seen.start[now->n_users] - old->seen.start[old->n_users]);
    assert_true(json_integer_value(json_object_get(told, "repeats")) >= 50);
    assert_int_equal(json_integer_value(json_object_get(told, "steps")) * 2,
                     json_integer_value(json_object_get(before, "steps")));
    assert_true(json_equal(json_object_get(about, "steps"), json_object_get(before, "steps")));
    json_decref(about);
    json_decref(before);
    cw_model *third = NULL; /* once more: there is nothing left to learn */
    assert_int_equal(cw_update(f->l.ctx, now, f->fresh, NULL, &third, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "there is nothing new"));
    assert_null(third);
    cw_model_free(old);
    cw_model_free(now);
}

static cw_interactions *rows_of(fixture *f, const int64_t *user, const int64_t *item, int64_t n)
{
    cw_interactions *rows;
    assert_int_equal(cw_interactions_create(f->l.ctx, user, item, NULL, n, &rows), CW_OK);
    return rows;
}

static cw_model *update_with(fixture *f, cw_model *old, int64_t user, int64_t item)
{
    cw_model *out;
    cw_interactions *rows = rows_of(f, &user, &item, 1);
    if (cw_update(f->l.ctx, old, rows, f->update, &out, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    cw_interactions_free(rows);
    cw_model_free(old);
    return out;
}

/* Items that the core filter dropped come back one by one, each with all who ever had it: 900 of
 * user 3 and guest 200, 901 of user 4. */
static void dropped_items_come_back_to_those_who_had_them(void **state)
{
    fixture *f = *state;
    static const int64_t rare[][2] = {{3, 900}, {200, 900}, {4, 901}};
    int64_t user[N_OLD + 3], item[N_OLD + 3];
    cw_options *prepare;
    cw_dataset *data;
    cw_model *model;
    memcpy(user, f->user, N_OLD * sizeof *user);
    memcpy(item, f->item, N_OLD * sizeof *item);
    for (int k = 0; k < 3; k++) user[N_OLD + k] = rare[k][0], item[N_OLD + k] = rare[k][1];
    cw_interactions *all = rows_of(f, user, item, N_OLD + 3);
    assert_int_equal(cw_options_create(f->l.ctx, "prepare", &prepare), CW_OK);
    set(f, prepare, "core", "3");
    assert_int_equal(cw_dataset_prepare(f->l.ctx, all, prepare, &data), CW_OK);
    assert_int_equal(cw_train(f->l.ctx, data, f->train, &model, NULL), CW_OK);
    assert_true(cw_model_find_item(model, "900") < 0 && cw_model_find_item(model, "901") < 0);

    model = update_with(f, model, 5, 900);
    assert_true(knows(model, 5, 900) && knows(model, 3, 900));
    assert_false(knows(model, 4, 900));
    assert_true(cw_model_find_item(model, "901") < 0);
    int32_t guest = cwi_idmap_find(&model->rest.users, "200", 3);
    assert_true(guest >= 0);
    assert_true(cwi_csr_has(&model->rest.rows, guest, cw_model_find_item(model, "900")));
    model = update_with(f, model, 200, 901); /* one who was remembered, with both now */
    assert_true(knows(model, 4, 901) && knows(model, 200, 901) && knows(model, 200, 900));
    assert_null(model->rest.lost.start);
    cw_model_free(model);
    cw_dataset_free(data);
    cw_options_free(prepare);
    cw_interactions_free(all);
}

/* With the smallest of steps the vectors of old users and items are nearly what they were. */
static void parameters_are_taken_over(void **state)
{
    fixture *f = *state;
    static const char *const methods[][2] = {{"cpr", "mf"}, {"cause", "mf"}, {"mult-vae", "vae"}};
    set(f, f->update, "lr", "1e-9");
    for (size_t m = 0; m < 3; m++) {
        set(f, f->train, "method", methods[m][0]);
        cw_model *old = train(f), *now = update(f, old);
        const cwi_tensor *a = &old->params.tensor[0], *b = &now->params.tensor[0];
        int64_t grown = m == 2 ? 0 : now->n_users - old->n_users;
        int64_t n = m == 2 ? old->n_items : old->n_users + old->n_items;
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < a->columns; c++)
                near((double)b->data[(r + (r < old->n_users ? 0 : grown)) * b->columns + c],
                     (double)a->data[r * a->columns + c], 1e-6);
        if (m == 1) /* the second table of items */
            near((double)b->data[(now->n_users + now->n_items) * b->columns],
                 (double)a->data[(old->n_users + old->n_items) * a->columns], 1e-6);
        cw_model_free(old);
        cw_model_free(now);
    }
}

/* A model that was tuned with a popularity dial is ranked with it afterwards, too. */
static void the_dial_stays(void **state)
{
    fixture *f = *state;
    cw_model *old = train(f);
    size_t bytes = strlen(old->about) + 32;
    char *about = malloc(bytes);
    double dial;
    snprintf(about, bytes, "{\"dial\": 0.25,%s", old->about + 1);
    free(old->about);
    old->about = about;
    cw_model *now = update(f, old);
    assert_int_equal(cwi_model_dial(f->l.ctx, now, &dial), CW_OK);
    assert_float_equal(dial, 0.25, 0);
    cw_model_free(old);
    cw_model_free(now);
}

/* Stopped again and again. */
static void assert_same_in_pieces(fixture *f, const cw_model *old, const cw_model *whole)
{
    cw_model *pieces = NULL;
    cw_status status = CW_CANCELLED;
    set(f, f->update, "checkpoint", f->checkpoint);
    set(f, f->update, "resume", "on");
    for (int steps = 0; status == CW_CANCELLED; steps += 3) {
        int left = steps;
        cw_context_set_progress(f->l.ctx, count_down, &left);
        status = cw_update(f->l.ctx, old, f->fresh, f->update, &pieces, NULL);
    }
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    assert_int_equal(status, CW_OK);
    assert_same_model(whole, pieces);
    cw_model_free(pieces);
    set(f, f->update, "checkpoint", "");
    set(f, f->update, "resume", "off");
    cw_checkpoint_remove(f->checkpoint);
}

/* Whatever the registry holds. */
static void every_method_goes_on_to_the_same_bits(void **state)
{
    fixture *f = *state;
    for (size_t m = 0; cw_method_name(m); m++)
        for (size_t b = 0; cw_backbone_name(b); b++) {
            const cwi_method *method = cwi_find_method(cw_method_name(m));
            const cwi_backbone *backbone = cwi_find_backbone(cw_backbone_name(b));
            if (cwi_word_index(method->backbones, backbone->name) < 0) continue;
            set(f, f->train, "method", method->name);
            set(f, f->train, "backbone", backbone->name);
            cw_model *old = train(f), *first = update(f, old);
            assert_int_equal(cw_context_set_threads(f->l.ctx, 3), CW_OK);
            cw_model *second = update(f, old);
            assert_same_model(first, second);
            if (method->sampler || cwi_backbone_learns(backbone))
                assert_same_in_pieces(f, old, first);
            assert_int_equal(cw_context_set_threads(f->l.ctx, 1), CW_OK);
            cw_model_free(old);
            cw_model_free(first);
            cw_model_free(second);
        }
}

/* That of a training is no state of an update, nor is one of another model. */
static void foreign_checkpoints_are_refused(void **state)
{
    fixture *f = *state;
    cw_model *model = train(f), *out;
    int left = 3;
    set(f, f->update, "checkpoint", f->checkpoint);
    cw_context_set_progress(f->l.ctx, count_down, &left);
    assert_int_equal(cw_update(f->l.ctx, model, f->fresh, f->update, &out, NULL), CW_CANCELLED);
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    set(f, f->update, "resume", "on");
    model->params.tensor[0].data[0] += 1;
    assert_int_equal(cw_update(f->l.ctx, model, f->fresh, f->update, &out, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "was made with other data"));
    set(f, f->train, "checkpoint", f->checkpoint);
    set(f, f->train, "resume", "on");
    cw_dataset *data;
    assert_int_equal(cw_dataset_prepare(f->l.ctx, f->old, NULL, &data), CW_OK);
    assert_int_equal(cw_train(f->l.ctx, data, f->train, &out, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "is of another command: update, not train"));
    cw_dataset_free(data);
    cw_model_free(model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(old_numbers_stay_and_all_rows_are_known),
        TEST(dropped_items_come_back_to_those_who_had_them),
        TEST(parameters_are_taken_over),
        TEST(the_dial_stays),
        TEST(every_method_goes_on_to_the_same_bits),
        TEST(foreign_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_hidden.c - rows below --min-rating from the log to the lists: hidden, and nothing else. */
#include "core/mem.h"
#include "import/interactions.h"
#include "model/model.h"
#include "prepare/dataset.h"
#include "train_check.h"

typedef struct fixture {
    listener l;
    char folder[64], path[128];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    listener_init(&f->l);
    make_scratch(f->folder);
    snprintf(f->path, sizeof f->path, "%s/log.csv", f->folder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    remove_scratch(f->folder);
    listener_clear(&f->l);
    free(f);
    return 0;
}

/* Rows of a log that are rated 4 or 5. */
static cw_interactions *import(fixture *f, const char *log)
{
    const char *path = f->path;
    cw_interactions *rows;
    cw_options *options;
    write_file(f->folder, "log.csv", log);
    assert_int_equal(cw_options_create(f->l.ctx, "import", &options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "min-rating", "4"), CW_OK);
    if (cw_import(f->l.ctx, &path, 1, options, &rows) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    cw_options_free(options);
    return rows;
}

static cw_dataset *prepare(fixture *f, const char *log, const char *core, const char *max_users)
{
    cw_interactions *rows = import(f, log);
    cw_options *options;
    cw_dataset *data;
    assert_int_equal(cw_options_create(f->l.ctx, "prepare", &options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "core", core), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "max-users", max_users), CW_OK);
    if (cw_dataset_prepare(f->l.ctx, rows, options, &data) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    cw_options_free(options);
    cw_interactions_free(rows);
    return data;
}

static cw_model *train(fixture *f, const cw_dataset *data, const char *method, const char *refit)
{
    cw_options *options;
    cw_model *model;
    assert_int_equal(cw_options_create(f->l.ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "preset", "paper"), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "method", method), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "dim", "4"), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "batch", "2"), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "epochs", "2"), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "refit", refit), CW_OK);
    if (cw_train(f->l.ctx, data, options, &model, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    cw_options_free(options);
    return model;
}

/* Hidden rows as "user item;", users first and then guests.  Static, so only one at a time. */
static const char *print(const cwi_idmap *users, const cwi_idmap *items, const cwi_rest *rest)
{
    static char text[4096];
    size_t used = 0;
    text[0] = '\0';
    if (rest->hidden.start) assert_int_equal(rest->hidden.n_rows, users->count + rest->users.count);
    for (int32_t u = 0; u < rest->hidden.n_rows; u++)
        for (int64_t e = rest->hidden.start[u]; e < rest->hidden.start[u + 1]; e++) {
            bool is_guest = u >= users->count;
            if (e > rest->hidden.start[u])
                assert_true(rest->hidden.value[e] > rest->hidden.value[e - 1]);
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s %s;",
                cwi_idmap_text(is_guest ? &rest->users : users, is_guest ? u - users->count : u),
                cwi_idmap_text(items, rest->hidden.value[e]));
            assert_true(used < sizeof text);
        }
    return text;
}

static const char *print_data(const cw_dataset *data)
{
    return print(&data->users, &data->items, &data->rest);
}

static const char *print_model(const cw_model *model)
{
    return print(&model->users, &model->items, &model->rest);
}

/* Three who like all of three items, one who likes two, and what is rated low between that. */
#define HEAD  "user,item,rating\n"
#define LOW1  "low,x,1\nbob,y,1\nann,low,2\neve,z,1\nann,w,3\n"
#define HIGH1 "ann,x,5\nann,y,5\nann,z,4\nbob,x,5\nbob,z,5\nbob,y,4\n"
#define LOW2  "bob,w,1\nbob,y,2\ncat,x,1\nbob,w,2\n"
#define HIGH2 "cat,x,4\ncat,y,5\ncat,z,5\neve,x,5\neve,y,5\neve,w,5\n"
#define LOW3  "eve,z,1\neve,z,2\ncat,w,1\neve,x,1\n"

static void numbers_and_rows_are_those_of_a_log_without(void **state)
{
    fixture *f = *state;
    cw_dataset *with = prepare(f, HEAD LOW1 HIGH1 LOW2 HIGH2 LOW3, "1", "0");
    cw_dataset *without = prepare(f, HEAD HIGH1 HIGH2, "1", "0");
    char hash[2][CWI_HASH_BYTES];
    cwi_dataset_hash(with, hash[0]);
    cwi_dataset_hash(without, hash[1]);
    assert_string_equal(hash[0], hash[1]);
    for (int32_t u = 0; u < without->n_users; u++)
        assert_string_equal(cw_dataset_user_id(with, u), cw_dataset_user_id(without, u));
    for (int32_t i = 0; i < without->n_items; i++)
        assert_string_equal(cw_dataset_item_id(with, i), cw_dataset_item_id(without, i));
    assert_string_equal(print_data(without), "");
    assert_null(without->rest.hidden.start);
    /* nor is anything else of the model: parameters, and metrics of what was held out */
    cw_model *a = train(f, with, "bpr", "on"), *b = train(f, without, "bpr", "on");
    assert_string_equal(a->about, b->about);
    assert_memory_equal(a->params.tensor[0].data, b->params.tensor[0].data,
                        cwi_tensor_bytes(&a->params.tensor[0]));
    assert_memory_equal(a->degree, b->degree, (size_t)a->n_items * sizeof *a->degree);
    cw_model_free(a);
    cw_model_free(b);
    cw_dataset_free(with);
    cw_dataset_free(without);
}

/* Each once; what is liked before or after is not hidden; who is only rated low is nobody. */
static void rows_below_are_hidden_once_and_not_when_liked(void **state)
{
    fixture *f = *state;
    cw_dataset *data = prepare(f, HEAD LOW1 HIGH1 LOW2 HIGH2 LOW3, "1", "0");
    assert_string_equal(print_data(data), "ann w;bob w;cat w;eve z;");
    cw_model *plain = train(f, data, "bpr", "off"), *refitted = train(f, data, "bpr", "on");
    assert_string_equal(print_model(plain), "ann w;bob w;cat w;eve z;");
    assert_string_equal(print_model(refitted), "ann w;bob w;cat w;eve z;");
    cw_model_free(plain);
    cw_model_free(refitted);
    cw_dataset_free(data);
    data = prepare(f, HEAD "ann,x,1\n" HIGH1 "low,x,1\n", "1", "0");
    assert_null(data->rest.hidden.start); /* nothing is left */
    cw_dataset_free(data);
}

/* w is not in the core, nor is eve, who has a list all the same. */
static void those_whom_the_core_drops_hide_rows_too(void **state)
{
    fixture *f = *state;
    cw_dataset *data = prepare(f, HEAD LOW1 HIGH1 LOW2 HIGH2 LOW3, "3", "0");
    assert_int_equal(data->n_users, 3);
    assert_int_equal(data->rest.users.count, 1);
    assert_string_equal(print_data(data), "eve z;");
    cw_dataset_free(data);
}

static void users_not_drawn_hide_nothing(void **state)
{
    fixture *f = *state;
    cw_dataset *data = prepare(f, HEAD LOW1 HIGH1 LOW2 HIGH2 LOW3, "1", "2");
    assert_int_equal(data->n_users, 2);
    for (int32_t u = 0; u < data->rest.hidden.n_rows; u++)
        assert_true(u < data->n_users && data->rest.hidden.start[u + 1] <= 2);
    cw_dataset_free(data);
}

/* ---- lists ---- */

/* Is the pair in the text of a log, at whatever rating? */
static bool is_in_log(const char *log, const char *user, const char *item)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s,%s,", user, item);
    return strstr(log, line) != NULL;
}

/* How many places of all lists, guests too, are in the log. */
static int count_known(fixture *f, cw_model *model, const cw_rules *rules, const char *log)
{
    int32_t n = cw_model_users(model) + cw_model_guest_users(model), k = cw_model_items(model);
    int32_t *items = calloc((size_t)n * (size_t)k, sizeof *items), who[64];
    int known = 0;
    cw_recommender *rec;
    assert_true(n <= 64);
    for (int32_t u = 0; u < n; u++) who[u] = u;
    assert_int_equal(cw_recommender_open(f->l.ctx, model, &rec), CW_OK);
    assert_int_equal(
        cw_recommend(f->l.ctx, rec, who, (size_t)n, rules, &(cw_lists){.k = k, .items = items}),
        CW_OK);
    for (int32_t p = 0; p < n * k; p++)
        known += items[p] >= 0 &&
                 is_in_log(log, cw_model_user_id(model, p / k), cw_model_item_id(model, items[p]));
    cw_recommender_close(rec);
    free(items);
    return known;
}

static void nobody_gets_what_is_in_their_log(void **state)
{
    static const char log[] = HEAD LOW1 HIGH1 LOW2 HIGH2 LOW3;
    static const char *const cores[] = {"1", "3"};
    static const int all[] = {16, 12}; /* places of lists whose pair is in the log */
    fixture *f = *state;
    for (int c = 0; c < 2; c++) {
        cw_dataset *data = prepare(f, log, cores[c], "0");
        cw_model *model = train(f, data, c ? "pop" : "bpr", "on"); /* the core has all its pairs */
        assert_int_equal(count_known(f, model, NULL, log), 0);
        assert_int_equal(count_known(f, model, &(cw_rules){.with_seen = true}, log), all[c]);
        cw_model_free(model);
        cw_dataset_free(data);
    }
}

/* ---- update ---- */

static cw_model *update(fixture *f, const cw_model *model, const char *log)
{
    cw_interactions *rows = import(f, log);
    cw_model *out;
    if (cw_update(f->l.ctx, model, rows, NULL, &out, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(f->l.ctx));
    cw_interactions_free(rows);
    return out;
}

/* What is liked now is hidden no more; users of the model need no liked row to hide one. */
static void an_update_keeps_hides_and_trains_on(void **state)
{
    fixture *f = *state;
    cw_dataset *data = prepare(f, HEAD LOW1 HIGH1 LOW2 HIGH2 LOW3, "1", "0");
    cw_model *old = train(f, data, "bpr", "on");
    cw_model *now = update(f, old,
                           HEAD "ann,w,5\nnew,x,5\nnew,y,1\nnew,v,1\nbob,v,5\ncat,v,2\ncat,y,1\n"
                                "nobody,x,1\n");
    assert_string_equal(print_model(now), "bob w;cat w;cat v;eve z;new y;new v;");
    cw_model *again = update(f, now, HEAD "new,y,5\n");
    assert_string_equal(print_model(again), "bob w;cat w;cat v;eve z;new v;");
    cw_model_free(again);
    cw_model_free(now);
    cw_model_free(old);
    cw_dataset_free(data);
}

/* Guests get other numbers when one of them is a user from now on. */
static void an_update_moves_the_hidden_rows_of_guests(void **state)
{
    static const char old_log[] = HEAD HIGH1 HIGH2 "dan,x,5\ndan,z,1\neve,z,1\nann,v,5\n";
    static const char new_log[] = HEAD "dan,y,5\neve,y,1\ndan,v,1\ncat,v,4\n";
    fixture *f = *state;
    cw_dataset *data = prepare(f, old_log, "3", "0");
    cw_model *old = train(f, data, "pop", "on");
    assert_string_equal(print_model(old), "eve z;dan z;");
    cw_model *now = update(f, old, new_log);
    assert_string_equal(print_model(now), "dan z;dan v;eve z;");
    assert_int_equal(cw_model_guest_users(now), 1);
    assert_int_equal(count_known(f, now, NULL, new_log), 0);
    cw_model_free(now);
    cw_model_free(old);
    cw_dataset_free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_and_rows_are_those_of_a_log_without),
        TEST(rows_below_are_hidden_once_and_not_when_liked),
        TEST(those_whom_the_core_drops_hide_rows_too),
        TEST(users_not_drawn_hide_nothing),
        TEST(nobody_gets_what_is_in_their_log),
        TEST(an_update_keeps_hides_and_trains_on),
        TEST(an_update_moves_the_hidden_rows_of_guests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

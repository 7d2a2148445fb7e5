/* test_evaluate_model.c - the public call: models that fit, that do not, and what they report. */
#include "core/mem.h"
#include "evaluate_check.h"
#include "model/model.h"

/* Simulated data and the model that recommends what is popular. */
typedef struct setting {
    listener l;
    cw_dataset *dataset;
    cw_model *model;
} setting;

static cw_options *options_of(cw_context *ctx, const char *stage, const char *const *pairs)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, stage, &options), CW_OK);
    for (; pairs[0]; pairs += 2)
        assert_int_equal(cw_options_set(ctx, options, pairs[0], pairs[1]), CW_OK);
    return options;
}

static void setting_init(setting *s, const char *users)
{
    listener_init(&s->l);
    cw_options *simulate = options_of(
        s->l.ctx, "simulate",
        (const char *const[]){"users", users, "items", "60", "uniform-test", "10", NULL});
    cw_options *split = paper_split(s->l.ctx);
    assert_int_equal(cw_options_set(s->l.ctx, split, "core", "1"), CW_OK);
    cw_options *train = options_of(s->l.ctx, "train", (const char *const[]){"method", "pop", NULL});
    assert_int_equal(cw_dataset_simulate(s->l.ctx, simulate, split, &s->dataset), CW_OK);
    assert_int_equal(cw_train(s->l.ctx, s->dataset, train, &s->model, NULL), CW_OK);
    cw_options_free(simulate);
    cw_options_free(split);
    cw_options_free(train);
}

static void setting_clear(setting *s)
{
    cw_model_free(s->model);
    cw_dataset_free(s->dataset);
    listener_clear(&s->l);
}

static json_t *evaluate(setting *s, const char *const *pairs)
{
    char *text;
    cw_options *options = options_of(s->l.ctx, "evaluate", pairs);
    assert_int_equal(cw_evaluate(s->l.ctx, s->dataset, s->model, options, &text), CW_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    cw_text_free(text);
    cw_options_free(options);
    return root;
}

static double metric(const json_t *root, const char *name)
{
    return json_number_value(json_object_get(json_object_get(root, "metrics"), name));
}

static void report_has_what_was_asked_for(void **state)
{
    (void)state;
    setting s;
    char *text;
    setting_init(&s, "300");
    assert_int_equal(cw_evaluate(s.l.ctx, s.dataset, s.model, NULL, &text), CW_OK);
    json_t *plain = json_loads(text, 0, NULL);
    cw_text_free(text);
    assert_true(metric(plain, "recall@20") > 0);
    assert_null(json_object_get(plain, "bootstrap"));
    assert_null(json_object_get(plain, "sweep"));
    assert_non_null(json_object_get(plain, "truth")); /* it is simulated */
    json_t *full =
        evaluate(&s, (const char *const[]){"k", "5,20", "bootstrap", "100", "groups", "3",
                                           "popularity-sweep", "auto", "truth", "off", NULL});
    assert_true(metric(full, "recall@20") == metric(plain, "recall@20"));
    assert_null(json_object_get(full, "truth"));
    assert_int_equal(json_array_size(json_object_get(full, "groups")), 3);
    assert_int_equal(json_array_size(json_object_get(full, "user_groups")), 3);
    assert_int_equal(json_array_size(json_object_get(full, "sweep")), 9);
    const json_t *interval = json_object_get(json_object_get(full, "bootstrap"), "recall@20");
    assert_true(json_number_value(json_array_get(interval, 0)) < metric(full, "recall@20"));
    assert_true(json_number_value(json_array_get(interval, 1)) > metric(full, "recall@20"));
    json_decref(plain);
    json_decref(full);
    setting_clear(&s);
}

static void splits_and_masks_change_what_is_found(void **state)
{
    (void)state;
    setting s;
    setting_init(&s, "300");
    json_t *test = evaluate(&s, (const char *const[]){"k", "30", NULL});
    json_t *masked = evaluate(&s, (const char *const[]){"k", "30", "mask-valid", "on", NULL});
    json_t *valid = evaluate(&s, (const char *const[]){"split", "valid", NULL});
    json_t *uniform = evaluate(&s, (const char *const[]){"split", "uniform", NULL});
    /* fewer competitors for the same test rows */
    assert_true(metric(masked, "ndcg@30") > metric(test, "ndcg@30"));
    assert_int_equal(json_integer_value(json_object_get(valid, "rows")),
                     s.dataset->part[CW_PART_VALID].count);
    assert_int_equal(json_integer_value(json_object_get(uniform, "rows")),
                     s.dataset->truth->uniform.count);
    json_decref(test);
    json_decref(masked);
    json_decref(valid);
    json_decref(uniform);
    setting_clear(&s);
}

static void assert_refused(setting *s, const cw_dataset *dataset, const char *const *pairs,
                           const char *reason)
{
    char *text = "";
    cw_options *options = options_of(s->l.ctx, "evaluate", pairs);
    assert_int_equal(cw_evaluate(s->l.ctx, dataset, s->model, options, &text), CW_BAD_ARG);
    assert_null(text);
    if (!strstr(cw_context_error(s->l.ctx), reason))
        fail_msg("'%s' lacks '%s'", cw_context_error(s->l.ctx), reason);
    cw_options_free(options);
}

static void model_of_other_data_is_refused(void **state)
{
    (void)state;
    setting s, other;
    const char *const none[] = {NULL};
    setting_init(&s, "300");
    setting_init(&other, "200");
    assert_refused(&s, other.dataset, none, "the model does not fit the dataset: it knows");
    char *id = s.dataset->items.text + s.dataset->items.start[7], expected[128];
    snprintf(expected, sizeof expected, "its item number 7 is '%s', that of the dataset 'x%s'", id,
             id + 1);
    *id = 'x';
    assert_refused(&s, s.dataset, none, expected);
    setting_clear(&other);
    setting_clear(&s);
}

static void what_the_dataset_lacks_is_refused(void **state)
{
    (void)state;
    setting s;
    setting_init(&s, "300");
    s.dataset->truth->uniform.count = 0;
    assert_refused(&s, s.dataset, (const char *const[]){"split", "uniform", NULL},
                   "without a uniform test");
    cwi_truth_free(s.dataset->truth);
    s.dataset->truth = NULL;
    assert_refused(&s, s.dataset, (const char *const[]){"split", "uniform", NULL},
                   "--split uniform needs a simulated dataset");
    assert_refused(&s, s.dataset, (const char *const[]){"truth", "on", NULL},
                   "--truth on needs a simulated dataset");
    s.dataset->part[CW_PART_TEST].count = 0;
    assert_refused(&s, s.dataset, (const char *const[]){NULL}, "the dataset has no test rows");
    setting_clear(&s);
}

static bool stop_at_once(void *user, const char *stage, int64_t done, int64_t total)
{
    (void)user, (void)stage, (void)done, (void)total;
    return false;
}

static void caller_may_stop_it(void **state)
{
    (void)state;
    setting s;
    char *text;
    setting_init(&s, "300");
    cw_context_set_progress(s.l.ctx, stop_at_once, NULL);
    assert_int_equal(cw_evaluate(s.l.ctx, s.dataset, s.model, NULL, &text), CW_CANCELLED);
    assert_null(text);
    setting_clear(&s);
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    setting s;
    setting_init(&s, "30");
    cw_options *options = options_of(s.l.ctx, "evaluate",
                                     (const char *const[]){"mask-valid", "on", "bootstrap", "5",
                                                           "popularity-sweep", "auto", NULL});
    cw_status status = CW_NO_MEMORY;
    for (int64_t nth = 1; status != CW_OK; nth++) {
        char *text;
        assert_true(nth < 1000);
        cwi_mem_fail_at(s.l.ctx, nth);
        status = cw_evaluate(s.l.ctx, s.dataset, s.model, options, &text);
        cwi_mem_fail_at(s.l.ctx, 0);
        assert_true(status == CW_OK || (status == CW_NO_MEMORY && !text));
        cw_text_free(text);
    }
    cw_options_free(options);
    setting_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_has_what_was_asked_for),
        cmocka_unit_test(splits_and_masks_change_what_is_found),
        cmocka_unit_test(model_of_other_data_is_refused),
        cmocka_unit_test(what_the_dataset_lacks_is_refused),
        cmocka_unit_test(caller_may_stop_it),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

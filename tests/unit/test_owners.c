/* test_owners.c - who takes which option of training, and what a run is known by. */
#include "core/options.h"
#include "core/text.h"
#include "registry/registry.h"
#include "testing.h"

static int set_up(void **state)
{
    listener *l = calloc(1, sizeof *l);
    listener_init(l);
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    listener_clear(*state);
    free(*state);
    return 0;
}

static cw_options *create(listener *l)
{
    cw_options *options;
    assert_int_equal(cw_options_create(l->ctx, "train", &options), CW_OK);
    return options;
}

static void set(listener *l, cw_options *options, const char *name, const char *value)
{
    if (cw_options_set(l->ctx, options, name, value) != CW_OK)
        fail_msg("%s", cw_context_error(l->ctx));
}

static cw_status settle(listener *l, const cw_options *given, cw_options **out)
{
    const cwi_method *method;
    const cwi_backbone *backbone;
    cwi_begin(l->ctx);
    return cwi_train_settle(l->ctx, given, NULL, out, &method, &backbone);
}

/* Call for every method on every backbone it works on. */
static void for_each_pair(listener *l,
                          void (*try)(listener *l, const char *method, const char *backbone))
{
    const char *method, *backbone;
    for (size_t m = 0; (method = cw_method_name(m)) != NULL; m++)
        for (size_t b = 0; (backbone = cw_method_backbone(method, b)) != NULL; b++)
            try(l, method, backbone);
    assert_null(cw_method_backbone("magic", 0));
}

static void no_option_is_listed_twice(void **state)
{
    (void)state;
    const cw_option_info *info, *other;
    size_t common = 0;
    for (size_t row = 0; (info = cw_stage_option("train", row)) != NULL; row++) {
        for (size_t k = 0; (other = cw_stage_option("train", k)) != NULL; k++) {
            assert_true(k == row || strcmp(other->name, info->name) != 0);
            assert_true(!info->former || strcmp(other->name, info->former) != 0);
        }
        common += !cw_train_option_owner(info->name, 0);
        assert_true(!info->former == !info->former_note);
    }
    assert_in_range(common, 15, 26);
    assert_null(cw_train_option_owner("magic", 0));
}

/* What two parts list under one name is one option. */
static void parts_that_share_an_option_say_the_same_of_it(void **state)
{
    (void)state;
    const cw_option_info *tables[CWI_TRAIN_TABLES];
    size_t n = 0;
    cwi_train_tables(NULL, NULL, NULL, tables);
    for (; tables[n]; n++)
        for (const cw_option_info *row = tables[n]; row->name; row++)
            for (size_t t = 0; t < n; t++) {
                const cw_option_info *other = cwi_table_find(tables[t], row->name);
                if (!other) continue;
                assert_int_equal(other->kind, row->kind);
                assert_string_equal(other->preset, row->preset);
                assert_string_equal(other->help, row->help);
                assert_true(other->minimum == row->minimum && other->maximum == row->maximum);
                assert_string_equal(other->choices ? other->choices : "",
                                    row->choices ? row->choices : "");
            }
    assert_true(n + 10 < CWI_TRAIN_TABLES); /* room for new parts */
}

/* All that a pair takes is there, and of the rest each is refused. */
static void check_pair(listener *l, const char *method, const char *backbone)
{
    const cw_option_info *info;
    cw_options *settled;
    for (size_t row = 0; (info = cw_stage_option("train", row)) != NULL; row++) {
        static const char *const value[] = {"1", "1", NULL, "a", "on"};
        char word[32], text[64];
        const char *owner = cw_train_option_owner(info->name, 0);
        bool takes = cw_method_takes(method, backbone, info->name);
        cw_options *given = create(l);
        set(l, given, "method", method);
        set(l, given, "backbone", backbone);
        if (owner && cwi_find_optimizer(owner)) set(l, given, "optimizer", owner);
        snprintf(word, sizeof word, "%.*s", (int)strcspn(info->choices ? info->choices : "", "|"),
                 info->choices ? info->choices : "");
        if (!takes)
            set(l, given, info->name,
                info->choices     ? word
                : info->preset[0] ? info->preset
                                  : value[info->kind]);
        assert_int_equal(settle(l, given, &settled), takes ? CW_OK : CW_BAD_ARG);
        snprintf(text, sizeof text, "; method %s on %s does not take it, ", method, backbone);
        if (takes)
            assert_non_null(cw_options_get(settled, info->name));
        else
            assert_non_null(strstr(cw_context_error(l->ctx), text));
        cw_options_free(settled);
        cw_options_free(given);
    }
}

static void a_pair_has_the_options_it_takes_and_no_others(void **state)
{
    for_each_pair(*state, check_pair);
}

static void the_refusal_names_the_owners(void **state)
{
    listener *l = *state;
    cw_options *settled, *given = create(l);
    set(l, given, "method", "bpr");
    set(l, given, "margin", "10");
    assert_int_equal(settle(l, given, &settled), CW_BAD_ARG);
    assert_null(settled);
    assert_string_equal(cw_context_error(l->ctx),
                        "--margin is '10'; method bpr on mf does not take it, dice does");
    set(l, given, "margin", ""); /* not given any more */
    set(l, given, "negatives", "user");
    assert_int_equal(settle(l, given, &settled), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l->ctx), "--negatives is 'user'; method bpr on mf does "
                                                  "not take it, rel-mf, bce, mse and wmf do");
    cw_options_free(given);
}

/* A default of an option that nobody reads would be a mistake of the table. */
static void tuned_defaults_are_of_options_that_are_taken(void **state)
{
    (void)state;
    const char *name;
    for (size_t m = 0; (name = cw_method_name(m)) != NULL; m++)
        for (const cwi_default *row = cwi_find_method(name)->defaults; row->option; row++) {
            bool takes = false;
            const char *backbone;
            for (size_t b = 0; (backbone = cw_method_backbone(name, b)) != NULL; b++)
                takes = takes || (cw_method_takes(name, backbone, row->option) &&
                                  (!row->backbone || strcmp(row->backbone, backbone) == 0));
            if (!takes) fail_msg("%s: %s", name, row->option);
        }
    assert_string_equal(cw_method_default("dice", "lightgcn", "reg-target"), "final");
    assert_string_equal(cw_method_default("dice", "mf", "reg-target"), "");
}

static char *identity(listener *l, const cw_options *given)
{
    cw_options *settled;
    assert_int_equal(settle(l, given, &settled), CW_OK);
    json_t *object = cwi_train_identity(settled);
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    json_decref(object);
    cw_options_free(settled);
    return text;
}

/* So that options that are new leave the names of runs as they are. */
static void a_run_is_known_by_what_differs_from_the_tables(void **state)
{
    listener *l = *state;
    cw_options *given = create(l);
    char *text = identity(l, given);
    assert_string_equal(text, "{\"backbone\":\"mf\",\"beta\":2.0,\"lr\":0.0003,\"reg\":0.05}");
    free(text);
    set(l, given, "method", "cause");
    set(l, given, "dim", "128");
    set(l, given, "treatment-cap", "2/120");
    set(l, given, "checkpoint", "somewhere");
    set(l, given, "neg", "2");
    text = identity(l, given);
    assert_string_equal(text, "{\"backbone\":\"mf\",\"dis-penalty\":100.0,\"lr\":0.001,\"method\":"
                              "\"cause\",\"neg\":2,\"reg\":0.001}");
    free(text);
    cw_options_free(given);
}

/* What a record of the method and its first backbone says of an option now. */
static void reread(listener *l, const char *method, json_t *recorded, const char *option,
                   const char *expected)
{
    cw_options *options;
    const cwi_backbone *backbone = cwi_find_backbone(cw_method_backbone(method, 0));
    cwi_begin(l->ctx);
    assert_int_equal(
        cwi_train_reread(l->ctx, cwi_find_method(method), backbone, recorded, &options), CW_OK);
    assert_string_equal(cw_options_get(options, option), expected);
    cw_options_free(options);
    json_decref(recorded);
}

static void a_former_name_is_refused_and_still_read_in_records(void **state)
{
    static const char *const words[][2] = {
        {"dense", "adam"}, {"deferred", "adam-deferred"}, {"lazy", "adam-lazy"}};
    listener *l = *state;
    cw_options *given = create(l);
    assert_int_equal(cw_options_set(l->ctx, given, "k", "3"), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l->ctx), "--k is the length of lists elsewhere; the cycle "
                                                  "length of CPR is --cycle now");
    assert_int_equal(cw_options_set(l->ctx, given, "adam", "lazy"), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l->ctx),
                        "--adam is --optimizer now: adam, adam-deferred or adam-lazy");
    reread(l, "cpr", json_pack("{s:i}", "k", 3), "cycle", "3");
    reread(l, "cpr", json_pack("{s:i, s:i}", "k", 3, "cycle", 4), "cycle", "4");
    reread(l, "cpr", json_object(), "cycle", "0");
    for (size_t w = 0; w < 3; w++)
        reread(l, "bpr", json_pack("{s:s}", "adam", words[w][0]), "optimizer", words[w][1]);
    reread(l, "bpr", json_pack("{s:s, s:s}", "adam", "lazy", "optimizer", "sgd"), "optimizer",
           "sgd");
    cw_options_free(given);
}

static void what_a_record_cannot_say_is_refused(void **state)
{
    listener *l = *state;
    cw_options *options;
    json_t *recorded = json_pack("{s:s}", "adam", "eager");
    assert_int_equal(cwi_train_reread(l->ctx, cwi_find_method("bpr"), cwi_find_backbone("mf"),
                                      recorded, &options),
                     CW_BAD_DATA);
    assert_null(options);
    json_decref(recorded);
}

static void the_words_of_optimizer_are_those_of_the_list(void **state)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES], *row;
    size_t n = 0;
    (void)state;
    cwi_train_tables(NULL, NULL, NULL, tables);
    row = cwi_table_find(tables[0], "optimizer");
    for (const char *name; (name = cw_optimizer_name(n)) != NULL; n++) {
        assert_int_equal(cwi_word_index(row->choices, name), n);
        assert_true(cw_optimizer_help(name)[0]);
    }
    for (const char *bar = row->choices; (bar = strchr(bar, '|')) != NULL; bar++) n--;
    assert_int_equal(n, 1);
    assert_null(cw_optimizer_help("magic"));
}

static void an_optimizer_has_options_of_its_own(void **state)
{
    listener *l = *state;
    cw_options *settled, *given = create(l);
    set(l, given, "adam-eps", "torch");
    assert_int_equal(settle(l, given, &settled), CW_OK);
    assert_string_equal(cw_options_get(settled, "adam-eps"), "torch");
    cw_options_free(settled);
    set(l, given, "optimizer", "sgd");
    assert_int_equal(settle(l, given, &settled), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l->ctx),
                        "--adam-eps is 'torch'; optimizer sgd does not take it, adam, "
                        "adam-deferred, adam-lazy and auto do");
    cw_options_free(given);
    given = create(l);
    set(l, given, "optimizer", "sgd");
    assert_int_equal(settle(l, given, &settled), CW_OK);
    assert_null(cw_options_get(settled, "adam-eps"));
    cw_options_free(settled);
    cw_options_free(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_option_is_listed_twice),
        cmocka_unit_test(parts_that_share_an_option_say_the_same_of_it),
        cmocka_unit_test_setup_teardown(a_pair_has_the_options_it_takes_and_no_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_refusal_names_the_owners, set_up, tear_down),
        cmocka_unit_test(tuned_defaults_are_of_options_that_are_taken),
        cmocka_unit_test_setup_teardown(a_run_is_known_by_what_differs_from_the_tables, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_former_name_is_refused_and_still_read_in_records, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_record_cannot_say_is_refused, set_up, tear_down),
        cmocka_unit_test(the_words_of_optimizer_are_those_of_the_list),
        cmocka_unit_test_setup_teardown(an_optimizer_has_options_of_its_own, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

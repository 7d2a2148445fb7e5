/* test_options.c - options by name, their bounds and messages. */
#include "core/options.h"
#include "testing.h"

static void refused(cw_context *ctx, cw_options *options, const char *name, const char *value,
                    const char *message)
{
    char before[64] = "";
    if (cw_options_get(options, name)) strcpy(before, cw_options_get(options, name));
    assert_int_equal(cw_options_set(ctx, options, name, value), CW_BAD_ARG);
    assert_string_equal(cw_context_error(ctx), message);
    if (cw_options_get(options, name)) assert_string_equal(cw_options_get(options, name), before);
}

static void values_outside_their_bounds_are_refused(void **state)
{
    (void)state;
    listener l;
    cw_options *o;
    listener_init(&l);
    assert_int_equal(cw_options_create(l.ctx, "prepare", &o), CW_OK);
    refused(l.ctx, o, "holdout", "1", "--holdout is '1'; it must be a number above 0 and below 1");
    refused(l.ctx, o, "holdout", "nan",
            "--holdout is 'nan'; it must be a number above 0 and below 1");
    refused(l.ctx, o, "core", "0",
            "--core is '0'; it must be a whole number between 1 and 1000000");
    refused(l.ctx, o, "core", "2.5",
            "--core is '2.5'; it must be a whole number between 1 and 1000000");
    refused(l.ctx, o, "moveback", "maybe", "--moveback is 'maybe'; it must be one of auto|on|off");
    refused(l.ctx, o, "seed", "-1",
            "--seed is '-1'; it must be a whole number between 0 and 4294967295");
    refused(l.ctx, o, "seed", "99999999999999999999",
            "--seed is '99999999999999999999'; it must be a whole number between 0 and 4294967295");
    cw_options_free(o);
    listener_clear(&l);
}

static void unknown_names_list_the_known_ones(void **state)
{
    (void)state;
    listener l;
    cw_options *o;
    listener_init(&l);
    assert_int_equal(cw_options_create(l.ctx, "skew", &o), CW_OK);
    refused(l.ctx, o, "thetta", "1",
            "there is no skew option 'thetta'; there are theta, share, draw, seed");
    cw_options_free(o);
    assert_int_equal(cw_options_create(l.ctx, "cook", &o), CW_BAD_ARG);
    assert_null(o);
    listener_clear(&l);
}

static void values_are_kept_as_text_and_number(void **state)
{
    (void)state;
    listener l;
    cw_options *o;
    listener_init(&l);
    assert_int_equal(cw_options_create(l.ctx, "prepare", &o), CW_OK);
    assert_string_equal(cw_options_get(o, "test-share"), "2/3");
    assert_true(cwi_options_real(o, "test-share") == 2.0 / 3);
    assert_false(cwi_options_is_set(o, "cap"));
    assert_int_equal(cw_options_set(l.ctx, o, "cap", "1/60"), CW_OK);
    assert_string_equal(cw_options_get(o, "cap"), "1/60");
    assert_true(cwi_options_real(o, "cap") == 1.0 / 60);
    assert_false(cwi_options_is_set(o, "core"));
    assert_int_equal(cw_options_set(l.ctx, o, "core", "5"), CW_OK);
    assert_int_equal(cwi_options_integer(o, "core"), 5);
    assert_int_equal(cw_options_set(l.ctx, o, "core", ""), CW_OK);
    assert_false(cwi_options_is_set(o, "core"));
    assert_int_equal(cw_options_set(l.ctx, o, "split", "compat"), CW_OK);
    assert_string_equal(cwi_options_text(o, "split"), "compat");
    assert_null(cw_options_get(o, "nothing"));
    cw_options_free(o);
    listener_clear(&l);
}

static void options_of_another_stage_are_refused(void **state)
{
    (void)state;
    listener l;
    cw_options *o;
    listener_init(&l);
    assert_int_equal(cw_options_create(l.ctx, "skew", &o), CW_OK);
    assert_int_equal(cwi_options_check(l.ctx, o, "prepare"), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l.ctx),
                        "these are options of 'skew'; 'prepare' needs its own");
    assert_int_equal(cwi_options_check(l.ctx, NULL, "prepare"), CW_OK);
    cw_options_free(o);
    listener_clear(&l);
}

/* Every stage in the registry: defaults pass their own checks, help is there. */
static void the_name_of_a_stage_may_go(void **state)
{
    (void)state;
    char stage[] = "simulate";
    cw_context *ctx;
    cw_options *options;
    cw_dataset *dataset;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    assert_int_equal(cw_options_create(ctx, stage, &options), CW_OK);
    memset(stage, 'x', sizeof stage - 1);
    assert_int_equal(cw_options_set(ctx, options, "users", "300"), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, NULL, &dataset), CW_OK);
    cw_dataset_free(dataset);
    cw_options_free(options);
    cw_context_free(ctx);
}

static void every_option_has_help_and_a_valid_default(void **state)
{
    (void)state;
    listener l;
    cw_options *o;
    const cw_option_info *info;
    const char *stage;
    listener_init(&l);
    for (size_t s = 0; (stage = cw_stage_name(s)) != NULL; s++) {
        assert_int_equal(cw_options_create(l.ctx, stage, &o), CW_OK);
        for (size_t row = 0; (info = cw_stage_option(stage, row)) != NULL; row++) {
            assert_true(strlen(info->help) > 10);
            assert_int_equal(cw_options_set(l.ctx, o, info->name, info->preset), CW_OK);
            assert_true((info->kind == CW_OPTION_CHOICE) == (info->choices != NULL));
        }
        cw_options_free(o);
    }
    assert_null(cw_stage_option("cook", 0));
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_outside_their_bounds_are_refused),
        cmocka_unit_test(unknown_names_list_the_known_ones),
        cmocka_unit_test(values_are_kept_as_text_and_number),
        cmocka_unit_test(options_of_another_stage_are_refused),
        cmocka_unit_test(the_name_of_a_stage_may_go),
        cmocka_unit_test(every_option_has_help_and_a_valid_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

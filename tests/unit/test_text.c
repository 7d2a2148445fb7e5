/* test_text.c - numbers from and to text. */
#include <locale.h>
#include <math.h>

#include "core/text.h"
#include "testing.h"

static void whole_numbers_are_parsed_to_their_limits(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"+7", true, 7},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x10", false, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        int64_t value = 0;
        assert_int_equal(cwi_parse_int(cases[k].text, strlen(cases[k].text), &value),
                         cases[k].good);
        if (cases[k].good) assert_true(value == cases[k].value);
    }
}

static void check_real(const char *text, bool good, double expected)
{
    double value = 0;
    assert_int_equal(cwi_parse_real(text, strlen(text), &value), good);
    if (good) assert_true(value == expected || (isnan(value) && isnan(expected)));
}

static void check_all_reals(void)
{
    check_real("0.5", true, 0.5);
    check_real("5", true, 5);
    check_real("-4.25", true, -4.25);
    check_real(".5", true, 0.5);
    check_real("5.", true, 5);
    check_real("1e-4", true, 1e-4);
    check_real("0.1234567890123456789", true, 0.1234567890123456789);
    check_real("123456789012345678901234567890", true, 123456789012345678901234567890.0);
    check_real("2.2250738585072014e-308", true, 2.2250738585072014e-308);
    check_real("1e999", true, (double)INFINITY);
    check_real("nan", true, (double)NAN);
    check_real("", false, 0);
    check_real(".", false, 0);
    check_real("-", false, 0);
    check_real("1,5", false, 0);
    check_real(" 1", false, 0);
    check_real("1 ", false, 0);
    check_real("0x1p3", false, 0);
    check_real("1.2.3", false, 0);
}

static void reals_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    check_all_reals();
    if (setlocale(LC_ALL, "de_DE.UTF-8")) {
        char text[CWI_NUMBER_BYTES];
        check_all_reals();
        cwi_print_real(0.5, text);
        assert_string_equal(text, "0.5");
        setlocale(LC_ALL, "C");
    } else {
        print_message("no locale with a decimal comma here; checked in C only\n");
    }
}

static void fractions_are_numbers(void **state)
{
    (void)state;
    double value;
    assert_true(cwi_parse_fraction("1/60", 4, &value) && value == 1.0 / 60);
    assert_true(cwi_parse_fraction("2/3", 3, &value) && value == 2.0 / 3);
    assert_true(cwi_parse_fraction("0.3", 3, &value) && value == 0.3);
    assert_false(cwi_parse_fraction("1/0", 3, &value));
    assert_false(cwi_parse_fraction("1/", 2, &value));
    assert_false(cwi_parse_fraction("/2", 2, &value));
}

static void printed_numbers_read_back(void **state)
{
    (void)state;
    const double values[] = {0, 1, -0.5, 1.0 / 60, 1e300, 5e-324, 0.1, 123456789.125};
    char text[CWI_NUMBER_BYTES];
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        double back;
        size_t length = cwi_print_real(values[k], text);
        assert_true(cwi_parse_real(text, length, &back) && back == values[k]);
    }
    cwi_print_real(0.1, text);
    assert_string_equal(text, "0.1");
    cwi_print_int(INT64_MIN, text);
    assert_string_equal(text, "-9223372036854775808");
}

static void excerpts_are_short_and_printable(void **state)
{
    (void)state;
    char out[48];
    assert_string_equal(cwi_excerpt("a\tb\n", 4, out), "a?b?");
    assert_int_equal(strlen(cwi_excerpt("0123456789012345678901234567890123456789xyz", 43, out)),
                     43);
    assert_string_equal(out + 40, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_parsed_to_their_limits),
        cmocka_unit_test(reals_do_not_depend_on_the_locale),
        cmocka_unit_test(fractions_are_numbers),
        cmocka_unit_test(printed_numbers_read_back),
        cmocka_unit_test(excerpts_are_short_and_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

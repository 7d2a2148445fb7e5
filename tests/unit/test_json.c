/* test_json.c - JSON text: what is good is read, what is not is named, what is damaged is found. */
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "core/json.h"
#include "core/mem.h"
#include "testing.h"

static int set_up(void **state)
{
    return workshop_open(state, "x.json");
}

/* Jansson, which has memory here, agrees. */
static void values_are_read_as_they_are(void **state)
{
    static const char *const good[] = {
        "{}",
        " [ ] ",
        "\t{\"a\" : [1, -2, 0, 9223372036854775807, -9223372036854775808]}\r\n",
        "[0.5, -1e-3, 1E+2, 123456789.123456789, 1e-400, 5e-324, -0.0, 2.2250738585072014e-308]",
        "[true, false, null, \"\", \"x\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"]",
        "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xef\xbf\xbf\"]",
        "{\"a\": {\"b\": {\"c\": [[[[\"deep\"]]]]}, \"d\": \"after\"}, \"\": \"no name\"}",
        "{\"a name that is much longer than sixteen bytes\": \"and a text that is longer still\"}"};
    workshop *w = *state;
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        json_t *root, *expected = json_loads(good[k], 0, NULL);
        cw_status status = cwi_json_parse(w->l.ctx, "x", good[k], strlen(good[k]), &root);
        if (status != CW_OK) fail_msg("%s: %s", good[k], cw_context_error(w->l.ctx));
        assert_true(json_equal(root, expected));
        json_decref(root);
        json_decref(expected);
    }
}

static void what_is_no_json_is_refused(void **state)
{
    static const char *const bad[][2] = {{"", "x:1: it is no JSON: '{' or '[' is expected"},
                                         {"\n3", "x:2: it is no JSON: '{' or '[' is expected"},
                                         {"[", "it ends too early"},
                                         {"[1", "',' or ']' is expected"},
                                         {"[1,]", "a value is expected"},
                                         {"[1 2]", "',' or ']' is expected"},
                                         {"{\"a\": 1,}", "a name in quotes is expected"},
                                         {"{\"a\" 1}", "':' is expected"},
                                         {"{\"a\": 1]", "',' or '}' is expected"},
                                         {"{\"a\": 1, \"a\": 2}", "a name is there twice"},
                                         {"[\"a", "a string has no end"},
                                         {"[\"a\n\"]", "a control character in it"},
                                         {"[\"\\x\"]", "a bad escape"},
                                         {"[\"\\u12\"]", "a bad \\u escape"},
                                         {"[\"\\u0000\"]", "a bad \\u escape"},
                                         {"[\"\\ud800\"]", "a bad \\u escape"},
                                         {"[\"\\ud800\\u0041\"]", "a bad \\u escape"},
                                         {"[\"\\udc00\"]", "a bad \\u escape"},
                                         {"[\"\xc3\"]", "it is not UTF-8"},
                                         {"[\"\xc0\x80\"]", "it is not UTF-8"},
                                         {"[\"\xe0\x9f\xbf\"]", "it is not UTF-8"},
                                         {"[\"\xed\xa0\x80\"]", "it is not UTF-8"},
                                         {"[\"\xf0\x8f\xbf\xbf\"]", "it is not UTF-8"},
                                         {"[\"\xf4\x90\x80\x80\"]", "it is not UTF-8"},
                                         {"[\"\xf5\x80\x80\x80\"]", "it is not UTF-8"},
                                         {"[01]", "a value is expected"},
                                         {"[-]", "a value is expected"},
                                         {"[.5]", "a value is expected"},
                                         {"[1.]", "a value is expected"},
                                         {"[1e]", "a value is expected"},
                                         {"[NaN]", "a value is expected"},
                                         {"[Infinity]", "a value is expected"},
                                         {"[1e999]", "too large or too long"},
                                         {"[9223372036854775808]", "too large or too long"},
                                         {"[truth]", "a value is expected"},
                                         {"[trues]", "',' or ']' is expected"},
                                         {"{} x", "something after its end"},
                                         {"{}{}", "something after its end"}};
    workshop *w = *state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        json_t *root;
        cwi_begin(w->l.ctx);
        cw_status status = cwi_json_parse(w->l.ctx, "x", bad[k][0], strlen(bad[k][0]), &root);
        const char *error = cw_context_error(w->l.ctx);
        if (status != CW_BAD_DATA || root || !strstr(error, bad[k][1]))
            fail_msg("%s: %d, '%s'", bad[k][0], (int)status, error);
    }
}

static void deep_nesting_is_refused(void **state)
{
    workshop *w = *state;
    enum { LENGTH = 1 << 20 };
    char *text = malloc(LENGTH);
    json_t *root;
    memset(text, '[', LENGTH);
    assert_int_equal(cwi_json_parse(w->l.ctx, "x", text, LENGTH, &root), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(w->l.ctx), "nested too deeply"));
    free(text);
}

static json_t *sample(void)
{
    return json_pack("{s:s, s:[i, f, s], s:{s:b}}", "name", "d\xc3\xa9j\xc3\xa0", "list", 1, 0.25,
                     "xxh3_128", "inner", "signed", 1);
}

/* Any single byte of a signed text, changed in any way, is found or changes nothing. */
static void every_changed_byte_of_a_signed_text_is_found(void **state)
{
    workshop *w = *state;
    json_t *root, *original = sample();
    char *text;
    long tried = 0, harmless = 0;
    assert_int_equal(cwi_json_sign(w->l.ctx, sample(), &text), CW_OK);
    size_t length = strlen(text);
    for (size_t at = 0; at < length; at++)
        for (int change = 1; change < 256; change++, tried++) {
            text[at] = (char)(text[at] ^ change);
            cwi_begin(w->l.ctx);
            cw_status status = cwi_json_verify(w->l.ctx, "x", text, length, &root);
            text[at] = (char)(text[at] ^ change);
            if (status == CW_OK && !json_equal(root, original))
                fail_msg("byte %zu ^ %d is not found", at, change);
            harmless += status == CW_OK;
            json_decref(root);
        }
    print_message("%ld changes, %ld of them harmless\n", tried, harmless);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(cwi_json_verify(w->l.ctx, "x", text, cut, &root), CW_BAD_DATA);
    assert_int_equal(cwi_json_verify(w->l.ctx, "x", text, length, &root), CW_OK);
    assert_true(json_equal(root, original));
    json_decref(root);
    json_decref(original);
    cwi_free(text);
}

static void a_text_without_a_signature_is_believed(void **state)
{
    static const char *const lost[] = {"{\"a\": 1, \"signed\": true}", "{\"xxh3_128\": \"\"}",
                                       "{\"signed\": true, \"xxh3_128\": \"\"}"};
    workshop *w = *state;
    json_t *root;
    write_file(w->folder, "x.json", "{\"a\": 1}");
    assert_int_equal(cwi_json_load(w->l.ctx, w->path, &root), CW_OK);
    assert_int_equal(json_integer_value(json_object_get(root, "a")), 1);
    json_decref(root);
    for (size_t k = 0; k < sizeof lost / sizeof lost[0]; k++) {
        cwi_begin(w->l.ctx);
        write_file(w->folder, "x.json", lost[k]);
        assert_int_equal(cwi_json_load(w->l.ctx, w->path, &root), CW_BAD_DATA);
        assert_non_null(strstr(cw_context_error(w->l.ctx), "checksum is not in its place"));
    }
}

static void what_lacks_a_part_is_not_there(void **state)
{
    workshop *w = *state;
    char *text;
    json_t *list = json_array(), *root = json_object();
    cwi_json_add(&list, json_integer(1));
    cwi_json_set(&root, "list", list);
    cwi_json_set(&root, "number", cwi_json_number((double)INFINITY));
    cwi_json_set(&root, "text", cwi_json_string("a\xff"));
    assert_int_equal(cwi_json_check(w->l.ctx, root), CW_OK);
    assert_int_equal(json_array_size(json_object_get(root, "list")), 1);
    assert_true(json_is_null(json_object_get(root, "number")));
    assert_string_equal(cwi_json_get_text(root, "text"), "a?");

    list = json_array();
    cwi_json_add(&list, NULL); /* found no memory */
    cwi_json_add(&list, json_integer(1));
    assert_null(list);
    cwi_json_set(&root, "list", list);
    cwi_json_set(&root, "more", json_true());
    assert_int_equal(cwi_json_text(w->l.ctx, root, &text), CW_NO_MEMORY);
    assert_string_equal(cw_context_error(w->l.ctx), "out of memory");
    assert_null(text);
}

static void values_of_another_kind_are_as_if_they_were_missing(void **state)
{
    (void)state;
    json_t *root = json_pack("{s:s, s:i, s:f}", "text", "x", "whole", 2, "real", 0.5);
    assert_string_equal(cwi_json_get_text(root, "text"), "x");
    assert_string_equal(cwi_json_get_text(root, "whole"), "");
    assert_string_equal(cwi_json_get_text(NULL, "text"), "");
    assert_true(cwi_json_to_number(json_object_get(root, "whole")) == 2);
    assert_true(cwi_json_to_number(json_object_get(root, "real")) == 0.5);
    assert_true(isnan(cwi_json_to_number(json_object_get(root, "text"))));
    assert_true(isnan(cwi_json_to_number(NULL)));
    json_decref(root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(values_are_read_as_they_are),
                                       TEST(what_is_no_json_is_refused),
                                       TEST(deep_nesting_is_refused),
                                       TEST(every_changed_byte_of_a_signed_text_is_found),
                                       TEST(a_text_without_a_signature_is_believed),
                                       TEST(what_lacks_a_part_is_not_there),
                                       TEST(values_of_another_kind_are_as_if_they_were_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_cells.c - tables of text: what others wrote stays text in Markdown and CSV. */
#include "experiment/cells.h"
#include "testing.h"

static int set_up(void **state)
{
    return workshop_open(state, "table");
}

static void markdown_shows_html_and_markup_as_text(void **state)
{
    static const char *const cases[][2] = {
        {"plain, with-signs (1.5)", "plain, with-signs (1.5)"},
        {"<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"},
        {"a&lt;b", "a&amp;lt;b"},
        {"a|b", "a\\|b"},
        {"a\\|b", "a\\\\\\|b"},
        {"[x](javascript:y)", "\\[x\\](javascript:y)"},
        {"*a* `b`", "\\*a\\* \\`b\\`"},
        {"ml_1m _a_", "ml_1m \\_a\\_"},
        {"one\r\ntwo\tthree", "one  two three"},
        {"\x1b[31m\x7f", "?\\[31m?"},
        {"", ""},
    };
    char out[CWI_MARKED_BYTES];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        assert_string_equal(cwi_cell_marked(cases[k][0], out), cases[k][1]);
}

static void markdown_that_is_too_long_is_cut_between_letters(void **state)
{
    char text[CWI_MARKED_BYTES + 10], out[CWI_MARKED_BYTES];
    (void)state;
    memset(text, '&', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    size_t length = strlen(cwi_cell_marked(text, out));
    assert_true(length < CWI_MARKED_BYTES && length > CWI_MARKED_BYTES - 6);
    assert_string_equal(out + length - 5, "&amp;");
}

/* The row as CSV, with the new line at its end. */
static const char *csv_of(workshop *f, const char *text)
{
    cwi_writer *out;
    json_t *row = json_pack("[s, s]", "x", text);
    assert_int_equal(cwi_writer_open(f->l.ctx, f->path, &out), CW_OK);
    cwi_cells_csv(out, row);
    assert_int_equal(cwi_writer_close(f->l.ctx, out, NULL), CW_OK);
    json_decref(row);
    return read_text(f->folder, "table");
}

static void csv_text_cannot_start_a_formula(void **state)
{
    static const char *const cases[][2] = {
        {"=1+1", "x,'=1+1\n"},
        {"=HYPERLINK(\"http://x\",\"y\")", "x,\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"\n"},
        {"+cmd|' /C calc'!A0", "x,'+cmd|' /C calc'!A0\n"},
        {"-2+3", "x,'-2+3\n"},
        {"@SUM(A1)", "x,'@SUM(A1)\n"},
        {"\t=1", "x,'\t=1\n"},
        {"\r=1", "x,\"'\r=1\"\n"},
        {"a=b", "x,a=b\n"},
        {"", "x,\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        assert_string_equal(csv_of(*state, cases[k][0]), cases[k][1]);
}

static void csv_numbers_stay_numbers(void **state)
{
    static const char *const cases[][2] = {{"-0.25", "x,-0.25\n"}, {"+1e-05", "x,+1e-05\n"},
                                           {"-3", "x,-3\n"},       {"-52.69 %", "x,-52.69 %\n"},
                                           {"-", "x,-\n"},         {"-inf", "x,-inf\n"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        assert_string_equal(csv_of(*state, cases[k][0]), cases[k][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown_shows_html_and_markup_as_text),
        cmocka_unit_test(markdown_that_is_too_long_is_cut_between_letters),
        cmocka_unit_test_setup_teardown(csv_text_cannot_start_a_formula, set_up, workshop_close),
        cmocka_unit_test_setup_teardown(csv_numbers_stay_numbers, set_up, workshop_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_report.c - report pages: what is in them, what is refused, and that they appear whole. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/page.h"
#include "testing.h"

static int set_up(void **state)
{
    return workshop_open(state, "page.html");
}

static int entries(const char *folder)
{
    int count = -2; /* . and .. */
    DIR *list = opendir(folder);
    assert_non_null(list);
    while (readdir(list)) count++;
    closedir(list);
    return count;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    while ((text = strstr(text, word)) != NULL) text += strlen(word), count++;
    return count;
}

/* The whole of a page that carries the chart library; to be freed. */
static char *read_all(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    char *text = malloc((size_t)info.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)info.st_size, file), (size_t)info.st_size);
    text[info.st_size] = '\0';
    fclose(file);
    return text;
}

static void write_page(workshop *f, const char *json)
{
    cw_status status = cw_report_page(f->l.ctx, json, f->path);
    if (status != CW_OK) print_error("%s\n", cw_context_error(f->l.ctx));
    assert_int_equal(status, CW_OK);
}

static void control_characters_become_letters(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"a\\u001b[2J\\u007f\\tb\\nc\", \"sections\": []}");
    const char *page = read_text(f->folder, "page.html");
    assert_non_null(strstr(page, "<title>a\xef\xbf\xbd[2J\xef\xbf\xbd\tb\nc</title>"));
}

static void text_is_escaped(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"a < b & \\\"c\\\"\", \"lead\": \"</style><script>x</script>\","
                  " \"sections\": [{\"heading\": \"<b>\", \"text\": \"it's\"}]}");
    const char *page = read_text(f->folder, "page.html");
    assert_non_null(strstr(page, "<title>a &lt; b &amp; &quot;c&quot;</title>"));
    assert_non_null(strstr(page, "<h2>&lt;b&gt;</h2>"));
    assert_non_null(strstr(page, "it&#39;s"));
    assert_null(strstr(page, "<script>x"));
    assert_int_equal(count_of(page, "</style>"), 1);
}

static void chart_data_cannot_end_their_script(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"sections\": [{\"chart\": {\"kind\": \"line\","
                  " \"x\": [\"</script><script>bad()</script>\", 2], \"y_title\": \"\\\"><!--\","
                  " \"series\": [{\"name\": \"</SCRIPT>\", \"values\": [1, null]}]}}]}");
    char *page = read_all(f->path);
    assert_null(strstr(page, "<script>bad"));
    assert_null(strstr(page, "</SCRIPT>"));
    assert_null(strstr(page, "<!--"));
    assert_non_null(strstr(page, "\\u003c/script>\\u003cscript>bad()"));
    assert_int_equal(count_of(page, "<script"), count_of(page, "</script>"));
    assert_int_equal(count_of(page, "<script"), 3); /* the data, the library, the drawing */
    free(page);
}

static void every_chart_has_its_numbers_in_a_table(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"sections\": [{\"chart\": {\"kind\": \"bar\","
                  " \"x\": [\"rare\", \"often\"], \"x_title\": \"group\", \"y_title\": \"share\","
                  " \"series\": [{\"name\": \"A\", \"values\": [0.123456, 1]},"
                  " {\"name\": \"B\", \"values\": [null, 1]}]}}]}");
    char *page = read_all(f->path);
    assert_non_null(strstr(page, "<th scope=\"row\">rare</th><td class=\"number\">0.1235</td>"
                                 "<td class=\"number\">&ndash;</td>"));
    assert_non_null(strstr(page, "aria-label=\"Bar chart: share by group for A, B."));
    free(page);
}

static void columns_without_anything_are_left_out(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"sections\": [{\"table\": {"
                  "\"columns\": [\"a\", \"b\", \"c\", \"d\", \"e\"],"
                  "\"spans\": [[\"\", 1], [\"gone\", 2], [\"kept\", 2]],"
                  "\"rows\": [[\"x\", null, \"\", 1, {\"text\": \"\"}],"
                  "           [\"y\", null, null, null, \"\"]]}}]}");
    char *page = read_all(f->path);
    assert_null(strstr(page, "gone"));
    assert_non_null(strstr(page, "class=\"span\" colspan=\"1\">kept</th></tr>"));
    assert_non_null(strstr(page, "<th scope=\"col\">a</th><th scope=\"col\" "
                                 "class=\"number\">d</th></tr></thead>"));
    assert_non_null(strstr(page, "<th scope=\"row\">y</th><td class=\"number\">&ndash;</td></tr>"));
    free(page);
}

static void the_verdict_stands_before_the_lead(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"lead\": \"long\", \"verdict\": \"A & B.\"}");
    assert_non_null(strstr(read_text(f->folder, "page.html"),
                           "</h1>\n<p class=\"verdict\">A &amp; B.</p>\n<p class=\"lead\">"));
}

/* Rows that are too wide for a phone are laid out as blocks, and keep their roles there. */
static void wide_tables_are_stacked_on_phones(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"sections\": [{\"table\": {"
                  "\"columns\": [\"method\", \"Recall@20\"], \"rows\": [[\"bpr\", 0.5]]}},"
                  "{\"table\": {\"spans\": [[\"\", 1], [\"ml\", 5]],"
                  "\"columns\": [\"method\", \"Recall@20\", \"NDCG@20\", \"ARP@20\", \"Gini@20\","
                  "\"coverage\"], \"rows\": [[\"bpr\", 0.5, 0.5, 0.5, 0.5, 0.5]]}}]}");
    char *page = read_all(f->path);
    assert_int_equal(count_of(page, "class=\"scroll stack\""), 1);
    assert_int_equal(count_of(page, "role=\"rowheader\""), 1);
    assert_int_equal(count_of(page, "role=\"cell\" class=\"number\""), 5);
    assert_non_null(strstr(page, " data-title=\"ml Recall@20\"><span>0.5</span></td>"));
    free(page);
}

static void pages_without_charts_carry_no_scripts(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"sections\": [{\"text\": \"one\\n\\ntwo\\nlines\","
                  " \"table\": {\"columns\": [\"name\", \"n\"], \"rows\": [[\"x\", \"1,234\"],"
                  " [\"y\", 5]]}}]}");
    const char *page = read_text(f->folder, "page.html");
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "<p>one</p>\n<p>two\nlines</p>"));
    assert_non_null(strstr(page, "<td class=\"number\">1,234</td>"));
    assert_null(strstr(page, "http://"));
    assert_null(strstr(page, "https://"));
}

static void numbers_are_shown_to_four_digits(void **state)
{
    workshop *f = *state;
    write_page(f, "{\"title\": \"t\", \"sections\": [{\"table\": {\"columns\": [\"v\"], \"rows\":"
                  " [[0.000123456], [12.3456], [123456.7], [-0.5], [0.0], [7], [1e300]]}}]}");
    const char *page = read_text(f->folder, "page.html");
    static const char *const shown[] = {"0.0001235<", ">12.35<", ">123457<", ">-0.5<",
                                        ">0<",        ">7<",     ">1e+300<"};
    for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
        if (!strstr(page, shown[k])) fail_msg("no %s in %s", shown[k], strstr(page, "<tbody>"));
}

static void wrong_descriptions_are_refused(void **state)
{
    static const char *const bad[][2] = {
        {"{", "the description of the page:1: it is no JSON: "},
        {"[]", "the page is not an object"},
        {"{}", "the page has no \"title\""},
        {"{\"title\": 3}", "title is not text"},
        {"{\"title\": \"t\", \"titel\": 1}",
         "the page has a key 'titel'; it may have title|verdict|lead|contents|sections"},
        {"{\"title\": \"t\", \"sections\": 1}", "sections is not an array"},
        {"{\"title\": \"t\", \"sections\": [1]}", "sections[0] is not an object"},
        {"{\"title\": \"t\", \"sections\": [{}, {\"table\": {\"columns\": [\"a\"]}}]}",
         "sections[1].table has no \"rows\""},
        {"{\"title\": \"t\", \"sections\": [{\"table\": {\"columns\": [\"a\"], \"rows\": [[1, "
         "2]]}}]}",
         "sections[0].table.rows[0] has 2 entries in place of 1"},
        {"{\"title\": \"t\", \"sections\": [{\"table\": {\"columns\": [\"a\"], \"rows\": "
         "[[{}]]}}]}",
         "sections[0].table.rows[0][0] has no \"text\""},
        {"{\"title\": \"t\", \"sections\": [{\"table\": {\"columns\": [\"a\"], \"rows\": "
         "[[true]]}}]}",
         "sections[0].table.rows[0][0] must be text or a number or null"},
        {"{\"title\": \"t\", \"sections\": [{\"table\": {\"columns\": [\"a\"], \"rows\": [], "
         "\"spans\": [[\"b\", 2]]}}]}",
         "sections[0].table.spans[0] must be [text, number of columns]"},
        {"{\"title\": \"t\", \"sections\": [{\"chart\": {\"kind\": \"scatter\", \"x\": "
         "[\"a\"], \"series\": []}}]}",
         "sections[0].chart.x[0] must be a number"},
        {"{\"title\": \"t\", \"sections\": [{\"chart\": {\"kind\": \"pie\", \"x\": [], \"series\": "
         "[]}}]}",
         "sections[0].chart.kind must be one of line|bar|scatter"},
        {"{\"title\": \"t\", \"sections\": [{\"chart\": {\"kind\": \"bar\", \"x\": [1], "
         "\"series\": [{\"name\": \"a\", \"values\": [\"1\"]}]}}]}",
         "sections[0].chart.series[0].values[0] must be a number or null"},
        {"{\"title\": \"t\", \"sections\": [{\"chart\": {\"kind\": \"bar\", \"x\": [1], "
         "\"series\": [{\"name\": \"a\", \"values\": []}]}}]}",
         "sections[0].chart.series[0].values has 0 entries in place of 1"},
    };
    workshop *f = *state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(cw_report_page(f->l.ctx, bad[k][0], f->path), CW_BAD_DATA);
        const char *error = cw_context_error(f->l.ctx);
        if (strncmp(error, bad[k][1], strlen(bad[k][1])) != 0) fail_msg("%s: %s", bad[k][0], error);
        assert_int_equal(entries(f->folder), 0);
    }
}

static void pages_appear_whole_or_not_at_all(void **state)
{
    workshop *f = *state;
    char missing[160];
    write_file(f->folder, "page.html", "<h1>old</h1>");
    assert_int_equal(cw_report_page(f->l.ctx, "{\"title\": \"new\"}", f->path), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "is no page of crosswise"));
    assert_string_equal(read_text(f->folder, "page.html"), "<h1>old</h1>");
    assert_int_equal(unlink(f->path), 0);
    write_page(f, "{\"title\": \"old\"}");
    assert_int_equal(cw_report_page(f->l.ctx, "{\"title\": 1}", f->path), CW_BAD_DATA);
    assert_non_null(strstr(read_text(f->folder, "page.html"), "<h1>old</h1>"));
    write_page(f, "{\"title\": \"new\"}");
    assert_non_null(strstr(read_text(f->folder, "page.html"), "<h1>new</h1>"));
    assert_int_equal(entries(f->folder), 1);
    snprintf(missing, sizeof missing, "%s/none/page.html", f->folder);
    assert_int_equal(cw_report_page(f->l.ctx, "{\"title\": \"t\"}", missing), CW_IO);
    assert_non_null(strstr(cw_context_error(f->l.ctx), missing));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)
    const struct CMUnitTest tests[] = {
        TEST(text_is_escaped),
        TEST(control_characters_become_letters),
        TEST(chart_data_cannot_end_their_script),
        TEST(every_chart_has_its_numbers_in_a_table),
        TEST(columns_without_anything_are_left_out),
        TEST(the_verdict_stands_before_the_lead),
        TEST(wide_tables_are_stacked_on_phones),
        TEST(pages_without_charts_carry_no_scripts),
        TEST(numbers_are_shown_to_four_digits),
        TEST(wrong_descriptions_are_refused),
        TEST(pages_appear_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

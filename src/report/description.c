/* description.c - is the description of a page what crosswise.h says it is? */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "report/page.h"

static cw_status wrong(cw_context *ctx, const cwi_place *at, const char *what)
{
    return cwi_fail(ctx, CW_BAD_DATA, "%s %s", at->text[0] ? at->text : "the page", what);
}

/* An object with no other keys than those of "a|b|c"; `required` and `texts` are such lists, too.
 */
static cw_status check_object(cw_context *ctx, const cwi_place *at, const char *known,
                              const char *required, const char *texts)
{
    const char *key;
    json_t *value;
    char what[256], name[CWI_WORD_BYTES];

    if (!json_is_object(at->value)) return wrong(ctx, at, "is not an object");
    json_object_foreach((json_t *)at->value, key, value)
    {
        if (cwi_word_index(known, key) >= 0) continue;
        snprintf(what, sizeof what, "has a key '%s'; it may have %s",
                 cwi_excerpt(key, strlen(key), name), known);
        return wrong(ctx, at, what);
    }
    while (cwi_next_word(&required, name)) {
        snprintf(what, sizeof what, "has no \"%s\"", name);
        if (!json_object_get(at->value, name)) return wrong(ctx, at, what);
    }
    while (cwi_next_word(&texts, name)) {
        cwi_place here = cwi_place_field(at, name);
        if (here.value && !json_is_string(here.value)) return wrong(ctx, &here, "is not text");
    }
    return CW_OK;
}

enum { IS_TEXT = 1, IS_NUMBER = 2, IS_NULL = 4, IS_OBJECT = 8 };

static int kind_of(const json_t *entry)
{
    switch (entry ? json_typeof(entry) : JSON_TRUE) {
    case JSON_STRING: return IS_TEXT;
    case JSON_INTEGER:
    case JSON_REAL: return IS_NUMBER;
    case JSON_NULL: return IS_NULL;
    case JSON_OBJECT: return IS_OBJECT;
    default: return 0;
    }
}

/* An array whose entries are of the kinds allowed; `length` -1 when it may have any. */
static cw_status check_array(cw_context *ctx, const cwi_place at, int allowed, int64_t length)
{
    char what[96];
    if (!json_is_array(at.value)) return wrong(ctx, &at, "is not an array");
    int64_t n = (int64_t)json_array_size(at.value);
    snprintf(what, sizeof what, "has %lld entries in place of %lld", (long long)n,
             (long long)length);
    if (length >= 0 && n != length) return wrong(ctx, &at, what);
    snprintf(what, sizeof what, "must be %s%s%s", allowed & IS_TEXT ? "text" : "a number",
             (allowed & (IS_TEXT | IS_NUMBER)) == (IS_TEXT | IS_NUMBER) ? " or a number" : "",
             allowed & IS_NULL ? " or null" : "");
    for (size_t k = 0; k < json_array_size(at.value); k++) {
        cwi_place here = cwi_place_index(&at, k);
        if (!(kind_of(here.value) & allowed)) return wrong(ctx, &here, what);
    }
    return CW_OK;
}

/* A word of "a|b|c", where there is something. */
static cw_status check_word(cw_context *ctx, const cwi_place at, const char *words)
{
    const char *text = json_string_value(at.value);
    char what[96];
    snprintf(what, sizeof what, "must be one of %s", words);
    return at.value && (!text || cwi_word_index(words, text) < 0) ? wrong(ctx, &at, what) : CW_OK;
}

static cw_status check_flag(cw_context *ctx, const cwi_place at)
{
    bool good = !at.value || json_is_boolean(at.value);
    return good ? CW_OK : wrong(ctx, &at, "must be true or false");
}

/* ---- tables ---------------------------------------------------------------- */

/* The cells of a row that are more than a text or a number. */
static cw_status check_cells(cw_context *ctx, const cwi_place *row)
{
    for (size_t c = 0; c < json_array_size(row->value); c++) {
        cwi_place at = cwi_place_index(row, c);
        if (!json_is_object(at.value)) continue;
        CW_PASS(check_object(ctx, &at, "text|spread|stars|bold|underline", "text",
                             "text|spread|stars"));
        CW_PASS(check_flag(ctx, cwi_place_field(&at, "bold")));
        CW_PASS(check_flag(ctx, cwi_place_field(&at, "underline")));
    }
    return CW_OK;
}

/* Titles above the columns: [[text, how many columns], ...], all columns together. */
static cw_status check_spans(cw_context *ctx, const cwi_place at, json_int_t n_columns)
{
    json_int_t sum = 0;
    if (!at.value) return CW_OK;
    if (!json_is_array(at.value)) return wrong(ctx, &at, "is not an array");
    for (size_t s = 0; s < json_array_size(at.value); s++) {
        cwi_place span = cwi_place_index(&at, s);
        json_int_t width = json_integer_value(json_array_get(span.value, 1));
        if (!json_is_string(json_array_get(span.value, 0)) || width < 1 || width > n_columns)
            return wrong(ctx, &span, "must be [text, number of columns]");
        sum += width;
    }
    return sum == n_columns ? CW_OK : wrong(ctx, &at, "does not cover the columns");
}

static cw_status check_table(cw_context *ctx, const cwi_place *at)
{
    cwi_place columns = cwi_place_field(at, "columns"), rows = cwi_place_field(at, "rows");
    cwi_place rules = cwi_place_field(at, "rules");
    size_t n = json_array_size(columns.value);

    CW_PASS(check_object(ctx, at, "columns|rows|spans|rules", "columns|rows", ""));
    CW_PASS(check_array(ctx, columns, IS_TEXT, -1));
    CW_PASS(check_spans(ctx, cwi_place_field(at, "spans"), (json_int_t)n));
    if (rules.value) CW_PASS(check_array(ctx, rules, IS_NUMBER, -1));
    if (!json_is_array(rows.value)) return wrong(ctx, &rows, "is not an array");
    for (size_t r = 0; r < json_array_size(rows.value); r++) {
        cwi_place row = cwi_place_index(&rows, r);
        CW_PASS(check_array(ctx, row, IS_TEXT | IS_NUMBER | IS_NULL | IS_OBJECT, (int64_t)n));
        CW_PASS(check_cells(ctx, &row));
    }
    return CW_OK;
}

/* ---- charts ---------------------------------------------------------------- */

static cw_status check_series(cw_context *ctx, const cwi_place at, size_t length)
{
    if (!json_is_array(at.value)) return wrong(ctx, &at, "is not an array");
    for (size_t s = 0; s < json_array_size(at.value); s++) {
        cwi_place series = cwi_place_index(&at, s);
        CW_PASS(check_object(ctx, &series, "name|values|reference", "name|values", "name"));
        CW_PASS(check_flag(ctx, cwi_place_field(&series, "reference")));
        CW_PASS(check_array(ctx, cwi_place_field(&series, "values"), IS_NUMBER | IS_NULL,
                            (int64_t)length));
    }
    return CW_OK;
}

bool cwi_chart_has_numbers(const json_t *chart)
{
    const char *kind = json_string_value(json_object_get(chart, "kind"));
    const char *scale = json_string_value(json_object_get(chart, "x_scale"));
    return (kind && strcmp(kind, "scatter") == 0) || (scale && strcmp(scale, "words") != 0);
}

static cw_status check_chart(cw_context *ctx, const cwi_place *at)
{
    cwi_place x = cwi_place_field(at, "x");
    CW_PASS(check_object(ctx, at, "kind|x|x_title|x_scale|y_title|y_scale|series", "kind|x|series",
                         "kind|x_title|y_title"));
    CW_PASS(check_word(ctx, cwi_place_field(at, "kind"), "line|bar|scatter"));
    CW_PASS(check_word(ctx, cwi_place_field(at, "x_scale"), "words|linear|log"));
    CW_PASS(check_word(ctx, cwi_place_field(at, "y_scale"), "zero|fit|log"));
    CW_PASS(check_array(ctx, x, cwi_chart_has_numbers(at->value) ? IS_NUMBER : IS_TEXT | IS_NUMBER,
                        -1));
    return check_series(ctx, cwi_place_field(at, "series"), json_array_size(x.value));
}

static cw_status check_section(cw_context *ctx, const cwi_place *at)
{
    cwi_place table = cwi_place_field(at, "table"), chart = cwi_place_field(at, "chart");
    CW_PASS(check_object(ctx, at, "name|heading|subheading|text|table|chart", "",
                         "name|heading|subheading|text"));
    if (table.value) CW_PASS(check_table(ctx, &table));
    if (chart.value) CW_PASS(check_chart(ctx, &chart));
    return CW_OK;
}

cw_status cwi_page_check(cw_context *ctx, const json_t *root)
{
    const cwi_place top = {"", root};
    cwi_place sections = cwi_place_field(&top, "sections");
    CW_PASS(check_object(ctx, &top, "title|verdict|lead|contents|sections", "title",
                         "title|verdict|lead"));
    CW_PASS(check_flag(ctx, cwi_place_field(&top, "contents")));
    if (sections.value && !json_is_array(sections.value))
        return wrong(ctx, &sections, "is not an array");
    for (size_t s = 0; s < json_array_size(sections.value); s++) {
        cwi_place at = cwi_place_index(&sections, s);
        CW_PASS(check_section(ctx, &at));
    }
    return CW_OK;
}

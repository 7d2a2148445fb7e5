/* description.c - is the description of a page what crosswise.h says it is? */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "report/page.h"

/* A place within the description, such as "sections[2].chart". */
typedef struct place {
    char text[128];
} place;

static place inside(const place *outer, const char *format, ...) CWI_PRINTF(2, 3);

static place inside(const place *outer, const char *format, ...)
{
    place inner = *outer;
    size_t used = strlen(inner.text);
    va_list args;
    va_start(args, format);
    vsnprintf(inner.text + used, sizeof inner.text - used, format, args);
    va_end(args);
    return inner;
}

static cw_status wrong(cw_context *ctx, const place *at, const char *what)
{
    const char *where = at->text[0] ? at->text : "the page";
    return cwi_fail(ctx, CW_BAD_DATA, "%s %s", where[0] == '.' ? where + 1 : where, what);
}

/* An object with no other keys than those of "a|b|c"; `required` is such a list, too. */
static cw_status check_object(cw_context *ctx, const place *at, const json_t *object,
                              const char *known, const char *required)
{
    const char *key;
    json_t *value;
    char what[256], name[48];

    if (!json_is_object(object)) return wrong(ctx, at, "is not an object");
    json_object_foreach((json_t *)object, key, value)
    {
        if (cwi_word_index(known, key) >= 0) continue;
        snprintf(what, sizeof what, "has a key '%s'; it may have %s",
                 cwi_excerpt(key, strlen(key), name), known);
        return wrong(ctx, at, what);
    }
    while (*required) {
        size_t length = strcspn(required, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, required);
        snprintf(what, sizeof what, "has no \"%s\"", name);
        if (!json_object_get(object, name)) return wrong(ctx, at, what);
        required += length + (required[length] == '|');
    }
    return CW_OK;
}

/* The texts among the keys of an object, where there are any. */
static cw_status check_texts(cw_context *ctx, const place *at, const json_t *object,
                             const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *value = json_object_get(object, *keys);
        place here = inside(at, ".%s", *keys);
        if (value && !json_is_string(value)) return wrong(ctx, &here, "is not text");
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
static cw_status check_array(cw_context *ctx, const place *at, const json_t *array, int allowed,
                             int64_t length)
{
    char what[96];
    if (!json_is_array(array)) return wrong(ctx, at, "is not an array");
    int64_t n = (int64_t)json_array_size(array);
    snprintf(what, sizeof what, "has %lld entries in place of %lld", (long long)n,
             (long long)length);
    if (length >= 0 && n != length) return wrong(ctx, at, what);
    for (int64_t k = 0; k < n; k++) {
        const json_t *entry = json_array_get(array, (size_t)k);
        place here = inside(at, "[%lld]", (long long)k);
        snprintf(what, sizeof what, "must be %s%s%s", allowed & IS_TEXT ? "text" : "a number",
                 (allowed & (IS_TEXT | IS_NUMBER)) == (IS_TEXT | IS_NUMBER) ? " or a number" : "",
                 allowed & IS_NULL ? " or null" : "");
        if (!(kind_of(entry) & allowed)) return wrong(ctx, &here, what);
    }
    return CW_OK;
}

/* A word of "a|b|c" where the object has this key. */
static cw_status check_word(cw_context *ctx, const place *at, const json_t *object, const char *key,
                            const char *words)
{
    const json_t *value = json_object_get(object, key);
    place here = inside(at, ".%s", key);
    char what[96];
    snprintf(what, sizeof what, "must be one of %s", words);
    if (value && (!json_is_string(value) || cwi_word_index(words, json_string_value(value)) < 0))
        return wrong(ctx, &here, what);
    return CW_OK;
}

static cw_status check_flag(cw_context *ctx, const place *at, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    place here = inside(at, ".%s", key);
    if (value && !json_is_boolean(value)) return wrong(ctx, &here, "must be true or false");
    return CW_OK;
}

/* ---- tables ---------------------------------------------------------------- */

/* The cells of a row that are more than a text or a number. */
static cw_status check_cells(cw_context *ctx, const place *at, const json_t *row)
{
    static const char *const texts[] = {"text", "spread", "stars", NULL};
    cw_status status = CW_OK;
    for (size_t c = 0; c < json_array_size(row); c++) {
        const json_t *cell = json_array_get(row, c);
        place here = inside(at, "[%zu]", c);
        if (!json_is_object(cell)) continue;
        CW_TRY(check_object(ctx, &here, cell, "text|spread|stars|bold|underline", "text"));
        CW_TRY(check_texts(ctx, &here, cell, texts));
        CW_TRY(check_flag(ctx, &here, cell, "bold"));
        CW_TRY(check_flag(ctx, &here, cell, "underline"));
    }
done:
    return status;
}

/* Titles above the columns: [[text, how many columns], ...], all columns together. */
static cw_status check_spans(cw_context *ctx, const place *at, const json_t *spans,
                             json_int_t n_columns)
{
    json_int_t sum = 0;
    place here = inside(at, ".spans");
    if (!spans) return CW_OK;
    if (!json_is_array(spans)) return wrong(ctx, &here, "is not an array");
    for (size_t s = 0; s < json_array_size(spans); s++) {
        const json_t *span = json_array_get(spans, s), *width = json_array_get(span, 1);
        place entry = inside(&here, "[%zu]", s);
        if (!json_is_string(json_array_get(span, 0)) || !json_is_integer(width) ||
            json_integer_value(width) < 1 || json_integer_value(width) > n_columns)
            return wrong(ctx, &entry, "must be [text, number of columns]");
        sum += json_integer_value(width);
    }
    if (sum != n_columns) return wrong(ctx, &here, "does not cover the columns");
    return CW_OK;
}

static cw_status check_table(cw_context *ctx, const place *at, const json_t *table)
{
    cw_status status;
    const json_t *columns = json_object_get(table, "columns"), *rows;
    place here = inside(at, ".columns");

    CW_TRY(check_object(ctx, at, table, "columns|rows|spans|rules", "columns|rows"));
    CW_TRY(check_array(ctx, &here, columns, IS_TEXT, -1));
    CW_TRY(check_spans(ctx, at, json_object_get(table, "spans"),
                       (json_int_t)json_array_size(columns)));
    here = inside(at, ".rules");
    if (json_object_get(table, "rules"))
        CW_TRY(check_array(ctx, &here, json_object_get(table, "rules"), IS_NUMBER, -1));
    rows = json_object_get(table, "rows");
    here = inside(at, ".rows");
    if (!json_is_array(rows)) return wrong(ctx, &here, "is not an array");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        here = inside(at, ".rows[%zu]", r);
        CW_TRY(check_array(ctx, &here, json_array_get(rows, r),
                           IS_TEXT | IS_NUMBER | IS_NULL | IS_OBJECT,
                           (int64_t)json_array_size(columns)));
        CW_TRY(check_cells(ctx, &here, json_array_get(rows, r)));
    }
done:
    return status;
}

/* ---- charts ---------------------------------------------------------------- */

static cw_status check_series(cw_context *ctx, const place *at, const json_t *chart)
{
    static const char *const texts[] = {"name", NULL};
    cw_status status = CW_OK;
    const json_t *list = json_object_get(chart, "series");
    int64_t length = (int64_t)json_array_size(json_object_get(chart, "x"));
    place here = inside(at, ".series");

    if (!json_is_array(list)) return wrong(ctx, &here, "is not an array");
    for (size_t s = 0; s < json_array_size(list); s++) {
        const json_t *series = json_array_get(list, s);
        here = inside(at, ".series[%zu]", s);
        CW_TRY(check_object(ctx, &here, series, "name|values|reference", "name|values"));
        CW_TRY(check_texts(ctx, &here, series, texts));
        CW_TRY(check_flag(ctx, &here, series, "reference"));
        here = inside(at, ".series[%zu].values", s);
        CW_TRY(check_array(ctx, &here, json_object_get(series, "values"), IS_NUMBER | IS_NULL,
                           length));
    }
done:
    return status;
}

bool cwi_chart_has_numbers(const json_t *chart)
{
    const char *kind = json_string_value(json_object_get(chart, "kind"));
    const char *scale = json_string_value(json_object_get(chart, "x_scale"));
    return (kind && strcmp(kind, "scatter") == 0) || (scale && strcmp(scale, "words") != 0);
}

static cw_status check_chart(cw_context *ctx, const place *at, const json_t *chart)
{
    static const char *const texts[] = {"kind", "x_title", "y_title", NULL};
    cw_status status;
    place x = inside(at, ".x");

    CW_TRY(check_object(ctx, at, chart, "kind|x|x_title|x_scale|y_title|y_scale|series",
                        "kind|x|series"));
    CW_TRY(check_texts(ctx, at, chart, texts));
    CW_TRY(check_word(ctx, at, chart, "kind", "line|bar|scatter"));
    CW_TRY(check_word(ctx, at, chart, "x_scale", "words|linear|log"));
    CW_TRY(check_word(ctx, at, chart, "y_scale", "zero|fit|log"));
    CW_TRY(check_array(ctx, &x, json_object_get(chart, "x"),
                       cwi_chart_has_numbers(chart) ? IS_NUMBER : IS_TEXT | IS_NUMBER, -1));
    CW_TRY(check_series(ctx, at, chart));
done:
    return status;
}

static cw_status check_section(cw_context *ctx, const place *at, const json_t *section)
{
    static const char *const texts[] = {"name", "heading", "subheading", "text", NULL};
    cw_status status;
    const json_t *table = json_object_get(section, "table");
    const json_t *chart = json_object_get(section, "chart");
    place table_at = inside(at, ".table"), chart_at = inside(at, ".chart");

    CW_TRY(check_object(ctx, at, section, "name|heading|subheading|text|table|chart", ""));
    CW_TRY(check_texts(ctx, at, section, texts));
    if (table) CW_TRY(check_table(ctx, &table_at, table));
    if (chart) CW_TRY(check_chart(ctx, &chart_at, chart));
done:
    return status;
}

cw_status cwi_page_check(cw_context *ctx, const json_t *root)
{
    static const char *const texts[] = {"title", "lead", NULL};
    cw_status status;
    const place top = {""};
    const json_t *sections = json_object_get(root, "sections");
    place here = inside(&top, "sections");

    CW_TRY(check_object(ctx, &top, root, "title|lead|contents|sections", "title"));
    CW_TRY(check_texts(ctx, &top, root, texts));
    CW_TRY(check_flag(ctx, &top, root, "contents"));
    if (sections && !json_is_array(sections)) return wrong(ctx, &here, "is not an array");
    for (size_t s = 0; s < json_array_size(sections); s++) {
        here = inside(&top, "sections[%zu]", s);
        CW_TRY(check_section(ctx, &here, json_array_get(sections, s)));
    }
done:
    return status;
}

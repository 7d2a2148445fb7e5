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

enum { IS_TEXT = 1, IS_NUMBER = 2, IS_NULL = 4 };

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
        int kind = json_is_string(entry)   ? IS_TEXT
                   : json_is_number(entry) ? IS_NUMBER
                   : json_is_null(entry)   ? IS_NULL
                                           : 0;
        snprintf(what, sizeof what, "must be %s%s%s", allowed & IS_TEXT ? "text" : "a number",
                 (allowed & (IS_TEXT | IS_NUMBER)) == (IS_TEXT | IS_NUMBER) ? " or a number" : "",
                 allowed & IS_NULL ? " or null" : "");
        if (!(kind & allowed)) return wrong(ctx, &here, what);
    }
    return CW_OK;
}

static cw_status check_table(cw_context *ctx, const place *at, const json_t *table)
{
    cw_status status;
    const json_t *columns = json_object_get(table, "columns"), *rows;
    place here = inside(at, ".columns");

    CW_TRY(check_object(ctx, at, table, "columns|rows", "columns|rows"));
    CW_TRY(check_array(ctx, &here, columns, IS_TEXT, -1));
    rows = json_object_get(table, "rows");
    here = inside(at, ".rows");
    if (!json_is_array(rows)) return wrong(ctx, &here, "is not an array");
    for (size_t r = 0; r < json_array_size(rows); r++) {
        here = inside(at, ".rows[%zu]", r);
        CW_TRY(check_array(ctx, &here, json_array_get(rows, r), IS_TEXT | IS_NUMBER | IS_NULL,
                           (int64_t)json_array_size(columns)));
    }
done:
    return status;
}

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
        CW_TRY(check_object(ctx, &here, series, "name|values", "name|values"));
        CW_TRY(check_texts(ctx, &here, series, texts));
        here = inside(at, ".series[%zu].values", s);
        CW_TRY(check_array(ctx, &here, json_object_get(series, "values"), IS_NUMBER | IS_NULL,
                           length));
    }
done:
    return status;
}

static cw_status check_chart(cw_context *ctx, const place *at, const json_t *chart)
{
    static const char *const texts[] = {"kind", "x_title", "y_title", NULL};
    cw_status status;
    place kind = inside(at, ".kind"), x = inside(at, ".x");

    CW_TRY(check_object(ctx, at, chart, "kind|x|x_title|y_title|series", "kind|x|series"));
    CW_TRY(check_texts(ctx, at, chart, texts));
    if (cwi_word_index("line|bar", json_string_value(json_object_get(chart, "kind"))) < 0)
        return wrong(ctx, &kind, "must be line or bar");
    CW_TRY(check_array(ctx, &x, json_object_get(chart, "x"), IS_TEXT | IS_NUMBER, -1));
    CW_TRY(check_series(ctx, at, chart));
done:
    return status;
}

static cw_status check_section(cw_context *ctx, const place *at, const json_t *section)
{
    static const char *const texts[] = {"heading", "text", NULL};
    cw_status status;
    const json_t *table = json_object_get(section, "table");
    const json_t *chart = json_object_get(section, "chart");
    place table_at = inside(at, ".table"), chart_at = inside(at, ".chart");

    CW_TRY(check_object(ctx, at, section, "heading|text|table|chart", ""));
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

    CW_TRY(check_object(ctx, &top, root, "title|lead|sections", "title"));
    CW_TRY(check_texts(ctx, &top, root, texts));
    if (sections && !json_is_array(sections)) return wrong(ctx, &here, "is not an array");
    for (size_t s = 0; s < json_array_size(sections); s++) {
        here = inside(&top, "sections[%zu]", s);
        CW_TRY(check_section(ctx, &here, json_array_get(sections, s)));
    }
done:
    return status;
}

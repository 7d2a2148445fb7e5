/* trim.c - columns of a page's tables in which no row has anything. */
#include "core/json.h"
#include "report/page.h"

/* A gap, or a text without letters. */
static bool is_empty(const json_t *cell)
{
    const json_t *value = json_is_object(cell) ? json_object_get(cell, "text") : cell;
    const char *text = json_string_value(value);
    return !value || json_is_null(value) || (text && !text[0]);
}

static bool is_empty_column(const json_t *rows, size_t c)
{
    for (size_t r = 0; r < json_array_size(rows); r++)
        if (!is_empty(json_array_get(json_array_get(rows, r), c))) return false;
    return json_array_size(rows) > 0; /* a table without rows still says what it is about */
}

/* The title above column c has one column less under it, and goes with its last one. */
static void narrow_span(json_t *spans, size_t c)
{
    size_t end = 0;
    for (size_t s = 0; s < json_array_size(spans); s++) {
        json_t *width = json_array_get(json_array_get(spans, s), 1);
        end += (size_t)json_integer_value(width);
        if (c >= end) continue;
        (void)json_integer_set(width, json_integer_value(width) - 1);
        if (json_integer_value(width) == 0) (void)json_array_remove(spans, s);
        return;
    }
}

static void drop_column(json_t *table, size_t c)
{
    const json_t *rows = json_object_get(table, "rows");
    (void)json_array_remove(json_object_get(table, "columns"), c);
    for (size_t r = 0; r < json_array_size(rows); r++)
        (void)json_array_remove(json_array_get(rows, r), c);
    narrow_span(json_object_get(table, "spans"), c);
}

void cwi_table_trim(json_t *table)
{
    const json_t *columns = json_object_get(table, "columns");
    for (size_t c = json_array_size(columns); c-- > 0;)
        if (json_array_size(columns) > 1 && is_empty_column(json_object_get(table, "rows"), c))
            drop_column(table, c);
}

void cwi_page_trim(json_t *page)
{
    const json_t *sections = json_object_get(page, "sections");
    for (size_t s = 0; s < json_array_size(sections); s++)
        cwi_table_trim(json_object_get(json_array_get(sections, s), "table"));
}

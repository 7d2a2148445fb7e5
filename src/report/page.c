/*
 * page.c - one HTML file from a description.
 *
 * Text and tables are plain HTML.  A chart is a canvas that page.js draws from the JSON beside it,
 * with the same numbers in a table for those who cannot or do not want to see it.  The content
 * security policy allows what is in the file and nothing else.
 */
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/text.h"

typedef struct page {
    cw_context *ctx;
    cwi_writer *out;
} page;

/* ---- text ------------------------------------------------------------------ */

static void put(const page *p, const char *markup)
{
    cwi_writer_text(p->out, markup);
}

/* Text between tags or within the quotes of an attribute. */
static void put_text(const page *p, const char *text)
{
    for (; *text; text++) {
        size_t plain = strcspn(text, "&<>\"'");
        cwi_writer_put(p->out, text, plain);
        text += plain;
        switch (*text) {
        case '&': put(p, "&amp;"); break;
        case '<': put(p, "&lt;"); break;
        case '>': put(p, "&gt;"); break;
        case '"': put(p, "&quot;"); break;
        case '\'': put(p, "&#39;"); break;
        default: return;
        }
    }
}

static void put_element(const page *p, const char *open, const char *text, const char *close)
{
    put(p, open);
    put_text(p, text);
    put(p, close);
}

/* One <p> for every part between blank lines. */
static void put_paragraphs(const page *p, const char *open, const char *text)
{
    bool is_open = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool is_blank = strspn(text, " \t\r") >= length;
        char *line = cwi_format(p->ctx, "%.*s", (int)length, text);
        if (is_blank && is_open) put(p, "</p>\n");
        if (!is_blank) put(p, is_open ? "\n" : open);
        if (!is_blank && line) put_text(p, line);
        is_open = !is_blank;
        cwi_free(line);
        text += length + (text[length] == '\n');
    }
    if (is_open) put(p, "</p>\n");
}

/* Four digits are what a reader compares; whole numbers keep all of theirs. */
static void put_real(const page *p, double value)
{
    char text[CWI_NUMBER_BYTES];
    int digits = value == 0 ? 0 : 3 - (int)floor(log10(fabs(value)));
    if (digits > 0 && digits < 20) {
        double scale = pow(10, digits);
        value = round(value * scale) / scale;
    } else if (digits <= 0 && fabs(value) < 1e15) {
        value = round(value);
    }
    size_t length = cwi_print_real(value, text);
    cwi_writer_put(p->out, text, length);
}

static void put_cell_text(const page *p, const json_t *cell)
{
    if (json_is_string(cell))
        put_text(p, json_string_value(cell));
    else if (json_is_integer(cell))
        cwi_writer_int(p->out, json_integer_value(cell));
    else if (json_is_real(cell))
        put_real(p, json_real_value(cell));
    else
        put(p, "&ndash;");
}

/* ---- tables ---------------------------------------------------------------- */

/* A number, or text that looks like one: such columns are set flush right. */
static bool is_numeric(const json_t *cell)
{
    const char *text = json_string_value(cell);
    if (!text) return true;
    if (!text[0] || !strchr("+-.0123456789", text[0])) return false;
    return text[strspn(text, "+-.,0123456789eE %")] == '\0';
}

static bool is_numeric_column(const json_t *rows, size_t c)
{
    for (size_t r = 0; r < json_array_size(rows); r++)
        if (!is_numeric(json_array_get(json_array_get(rows, r), c))) return false;
    return true;
}

static void put_row(const page *p, const json_t *row, const json_t *rows)
{
    put(p, "<tr>");
    for (size_t c = 0; c < json_array_size(row); c++) {
        bool is_number = is_numeric_column(rows, c);
        put(p, c == 0 ? "<th scope=\"row\"" : "<td");
        put(p, is_number ? " class=\"number\">" : ">");
        put_cell_text(p, json_array_get(row, c));
        put(p, c == 0 ? "</th>" : "</td>");
    }
    put(p, "</tr>\n");
}

static void put_table(const page *p, const json_t *columns, const json_t *rows, const char *label)
{
    put_element(p, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", label,
                "\">\n<table>\n<thead><tr>");
    for (size_t c = 0; c < json_array_size(columns); c++) {
        put(p, is_numeric_column(rows, c) ? "<th scope=\"col\" class=\"number\">"
                                          : "<th scope=\"col\">");
        put_text(p, json_string_value(json_array_get(columns, c)));
        put(p, "</th>");
    }
    put(p, "</tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < json_array_size(rows); r++) put_row(p, json_array_get(rows, r), rows);
    put(p, "</tbody>\n</table>\n</div>\n");
}

/* ---- charts ---------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The numbers of a chart as a table: a row for each x, a column for each series. */
static cw_status put_numbers(const page *p, const json_t *chart, const char *label)
{
    const json_t *x = json_object_get(chart, "x"), *series = json_object_get(chart, "series");
    json_t *columns = json_pack("[s]", text_of(chart, "x_title")), *rows = json_array();
    int bad = !columns || !rows;

    for (size_t s = 0; s < json_array_size(series); s++)
        bad |= json_array_append(columns, json_object_get(json_array_get(series, s), "name"));
    for (size_t k = 0; k < json_array_size(x); k++) {
        json_t *row = json_pack("[O]", json_array_get(x, k));
        for (size_t s = 0; s < json_array_size(series); s++)
            bad |= json_array_append(
                row, json_array_get(json_object_get(json_array_get(series, s), "values"), k));
        bad |= json_array_append_new(rows, row);
    }
    if (!bad) put_table(p, columns, rows, label);
    json_decref(columns);
    json_decref(rows);
    return bad ? cwi_fail(p->ctx, CW_NO_MEMORY, "out of memory") : CW_OK;
}

/* JSON within a script element: '<' occurs in strings alone, and there it can be written so that
 * no tag or comment begins. */
static cw_status put_data(const page *p, const json_t *data)
{
    char *text = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10));
    if (!text) return cwi_fail(p->ctx, CW_NO_MEMORY, "out of memory");
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "<");
        cwi_writer_put(p->out, at, plain);
        at += plain;
        if (*at) put(p, "\\u003c");
        at += *at != '\0';
    }
    free(text);
    return CW_OK;
}

/* What a screen reader says in place of the picture. */
static void put_label(const page *p, const json_t *chart)
{
    const json_t *series = json_object_get(chart, "series");
    put(p, strcmp(text_of(chart, "kind"), "line") == 0 ? "Line chart: " : "Bar chart: ");
    put_text(p, text_of(chart, "y_title"));
    put(p, " by ");
    put_text(p, text_of(chart, "x_title"));
    for (size_t s = 0; s < json_array_size(series); s++) {
        put(p, s ? ", " : " for ");
        put_text(p, text_of(json_array_get(series, s), "name"));
    }
    put(p, ". The numbers follow in a table.");
}

static cw_status put_chart(const page *p, const json_t *chart, const char *heading)
{
    put(p, "<figure>\n<div class=\"plot\"><canvas role=\"img\" aria-label=\"");
    put_label(p, chart);
    put(p, "\"></canvas></div>\n<script type=\"application/json\">");
    cw_status status = put_data(p, chart);
    put(p, "</script>\n<details><summary>The numbers</summary>\n");
    if (status == CW_OK) status = put_numbers(p, chart, heading);
    put(p, "</details>\n</figure>\n");
    return status;
}

/* ---- the whole ------------------------------------------------------------- */

static cw_status put_section(const page *p, const json_t *section)
{
    const json_t *table = json_object_get(section, "table");
    const json_t *chart = json_object_get(section, "chart");
    const char *heading = text_of(section, "heading");
    cw_status status = CW_OK;

    put(p, "<section>\n");
    if (heading[0]) put_element(p, "<h2>", heading, "</h2>\n");
    put_paragraphs(p, "<p>", text_of(section, "text"));
    if (table)
        put_table(p, json_object_get(table, "columns"), json_object_get(table, "rows"), heading);
    if (chart) status = put_chart(p, chart, heading);
    put(p, "</section>\n");
    return status;
}

static void put_head(const page *p, const char *title)
{
    put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
           "<meta name=\"generator\" content=\"crosswise ");
    put_text(p, cw_version());
    put_element(p, "\">\n<title>", title, "</title>\n<style>\n");
    cwi_writer_put(p->out, cwi_page_css, cwi_page_css_bytes);
    put(p, "</style>\n</head>\n");
}

static void put_script(const page *p, const unsigned char *bytes, size_t length)
{
    put(p, "<script>\n");
    cwi_writer_put(p->out, bytes, length);
    put(p, "</script>\n");
}

static cw_status put_page(const page *p, const json_t *root)
{
    const json_t *sections = json_object_get(root, "sections");
    bool has_charts = false;
    cw_status status = CW_OK;

    put_head(p, text_of(root, "title"));
    put_element(p, "<body>\n<main>\n<h1>", text_of(root, "title"), "</h1>\n");
    put_paragraphs(p, "<p class=\"lead\">", text_of(root, "lead"));
    for (size_t s = 0; s < json_array_size(sections) && status == CW_OK; s++) {
        const json_t *section = json_array_get(sections, s);
        has_charts |= json_object_get(section, "chart") != NULL;
        status = put_section(p, section);
    }
    put_element(p, "</main>\n<footer>Made by crosswise ", cw_version(), "</footer>\n");
    if (has_charts) {
        put_script(p, cwi_chart_js, cwi_chart_js_bytes);
        put_script(p, cwi_page_js, cwi_page_js_bytes);
    }
    put(p, "</body>\n</html>\n");
    return status;
}

static cw_status write_page(cw_context *ctx, const json_t *root, const char *path)
{
    page p = {.ctx = ctx};
    char *work = cwi_file_work_path(ctx, path);
    if (!work) return CW_NO_MEMORY;
    cw_status status = cwi_writer_open(ctx, work, &p.out);
    if (status == CW_OK) {
        status = put_page(&p, root);
        cw_status closed = cwi_writer_close(ctx, p.out, NULL);
        if (status == CW_OK) status = closed;
    }
    if (status == CW_OK) status = cwi_file_publish(ctx, work, path);
    if (status != CW_OK) {
        cwi_fail_rename(ctx, work, path);
        (void)unlink(work);
    }
    cwi_free(work);
    return status;
}

cw_status cw_report_page(cw_context *ctx, const char *json, const char *path)
{
    json_error_t error;
    cwi_begin(ctx);
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
    if (!root)
        return cwi_fail(ctx, CW_BAD_DATA, "the description of the page is no JSON: line %d: %s",
                        error.line, error.text);
    cw_status status = cwi_page_check(ctx, root);
    if (status == CW_OK) status = write_page(ctx, root, path);
    json_decref(root);
    return status;
}

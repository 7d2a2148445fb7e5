/*
 * page.c - one HTML file from a description.
 *
 * Text and tables are plain HTML.  A chart is there three times: as a drawing to print and to save,
 * which is also what is seen without scripts; as a canvas that page.js draws from the JSON beside
 * it; and as a table for those who cannot or do not want to see it.  The content security policy
 * allows what is in the file and nothing else.
 */
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "report/markup.h"
#include "report/plain.h"
#include "report/svg.h"

typedef struct page {
    cw_context *ctx;
    cwi_writer *out;
} page;

/* ---- text ------------------------------------------------------------------ */

static void put(const page *p, const char *markup)
{
    cwi_writer_text(p->out, markup);
}

static void put_text(const page *p, const char *text)
{
    cwi_markup_text(p->out, text);
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
        if (is_blank && is_open) put(p, "</p>\n");
        if (!is_blank) put(p, is_open ? "\n" : open);
        if (!is_blank) cwi_markup_part(p->out, text, length);
        is_open = !is_blank;
        text += length + (text[length] == '\n');
    }
    if (is_open) put(p, "</p>\n");
}

/* Four digits are what a reader compares; whole numbers keep all of theirs. */
static void put_real(const page *p, double value)
{
    char text[CWI_NUMBER_BYTES];
    int digits = value == 0 ? 0 : 3 - (int)floor(cwi_log10(fabs(value)));
    if (digits > 0 && digits < 20) {
        double scale = cwi_pow(10, digits);
        value = round(value * scale) / scale;
    } else if (digits <= 0 && fabs(value) < 1e15) {
        value = round(value);
    }
    size_t length = cwi_print_real(value, text);
    cwi_writer_put(p->out, text, length);
}

/* A text with what sets it off: best, best of the baselines, stars, spread. */
static void put_marked(const page *p, const json_t *cell)
{
    bool is_bold = json_is_true(json_object_get(cell, "bold"));
    bool is_underlined = json_is_true(json_object_get(cell, "underline"));
    const char *stars = cwi_json_get_text(cell, "stars"),
               *spread = cwi_json_get_text(cell, "spread");
    CWI_WRITE(p->out, is_bold ? "<strong>" : "", is_underlined ? "<u>" : "");
    put_text(p, cwi_json_get_text(cell, "text"));
    CWI_WRITE(p->out, is_underlined ? "</u>" : "", is_bold ? "</strong>" : "");
    if (stars[0]) put_element(p, "<sup>", stars, "</sup>");
    if (spread[0]) put_element(p, " <small>± ", spread, "</small>");
}

static void put_cell_text(const page *p, const json_t *cell)
{
    if (json_is_object(cell))
        put_marked(p, cell);
    else if (json_is_string(cell))
        put_text(p, json_string_value(cell));
    else if (json_is_integer(cell))
        cwi_writer_int(p->out, json_integer_value(cell));
    else if (json_is_real(cell))
        put_real(p, json_real_value(cell));
    else
        put(p, "&ndash;");
}

/* ---- tables ---------------------------------------------------------------- */

/* A table on its way to the page. */
typedef struct grid {
    const json_t *columns, *rows, *spans, *rules;
    const json_t *table;
    bool is_stacked; /* on a phone every row is a block of lines, since side by side it is too wide
                      */
} grid;

/* Roles that a browser forgets when the parts are laid out as blocks. */
static const char *role(const grid *g, const char *attribute)
{
    return g->is_stacked ? attribute : "";
}

/* Names longer than this are broken between words. */
enum { MAX_NAME_LETTERS = 24 };

static void put_name(const page *p, const grid *g, const json_t *cell, bool is_number)
{
    const char *text = json_string_value(cell);
    bool is_long = text && strlen(text) > MAX_NAME_LETTERS;
    CWI_WRITE(p->out, "<th scope=\"row\"", role(g, " role=\"rowheader\""),
              is_number ? " class=\"number\">"
              : is_long ? " class=\"long\">"
                        : ">");
    put_cell_text(p, cell);
    put(p, "</th>");
}

static void put_value(const page *p, const grid *g, const json_t *row, size_t c)
{
    char title[CWI_CELL_BYTES];
    CWI_WRITE(p->out, "<td", role(g, " role=\"cell\""),
              cwi_markup_is_numeric(g->rows, c) ? " class=\"number\"" : "");
    if (g->is_stacked) {
        cwi_plain_title(g->table, c, title);
        put_element(p, " data-title=\"", title, "\"");
    }
    put(p, g->is_stacked ? "><span>" : ">");
    put_cell_text(p, json_array_get(row, c));
    put(p, g->is_stacked ? "</span></td>" : "</td>");
}

static void put_row(const page *p, const grid *g, const json_t *row, bool has_rule)
{
    CWI_WRITE(p->out, "<tr", role(g, " role=\"row\""), has_rule ? " class=\"rule\">" : ">");
    if (json_array_size(row) > 0)
        put_name(p, g, json_array_get(row, 0), cwi_markup_is_numeric(g->rows, 0));
    for (size_t c = 1; c < json_array_size(row); c++) put_value(p, g, row, c);
    put(p, "</tr>\n");
}

static void put_spans(const page *p, const grid *g)
{
    if (json_array_size(g->spans) == 0) return;
    CWI_WRITE(p->out, "<tr", role(g, " role=\"row\""), ">");
    for (size_t s = 0; s < json_array_size(g->spans); s++) {
        const json_t *span = json_array_get(g->spans, s);
        const char *text = json_string_value(json_array_get(span, 0));
        if (text[0])
            CWI_WRITE(p->out, "<th scope=\"colgroup\"", role(g, " role=\"columnheader\""),
                      " class=\"span\" colspan=\"");
        else
            CWI_WRITE(p->out, "<td", role(g, " role=\"cell\""), " colspan=\"");
        cwi_writer_int(p->out, json_integer_value(json_array_get(span, 1)));
        put_element(p, "\">", text, text[0] ? "</th>" : "</td>");
    }
    put(p, "</tr>\n");
}

static bool has_rule(const grid *g, size_t r)
{
    for (size_t k = 0; k < json_array_size(g->rules); k++)
        if (json_number_value(json_array_get(g->rules, k)) == (double)r) return true;
    return false;
}

/* Quarters of a usual letter. */
static size_t letter_width(char letter)
{
    if (((unsigned char)letter & 0xc0) == 0x80) return 0; /* more of the letter before */
    return letter == '@' ? 7 : letter >= 'A' && letter <= 'Z' ? 5 : 4;
}

/* The width of the longest word, or of all the text when it is not broken. */
static size_t width_of(const char *text, bool is_whole)
{
    size_t longest = 0, now = 0;
    for (; *text; text++) {
        now = *text == ' ' && !is_whole ? 0 : now + letter_width(*text);
        if (now > longest) longest = now;
    }
    return longest;
}

/* How much room the column needs at least; numbers are not broken, names are. */
static size_t column_width(const grid *g, size_t c)
{
    bool is_number = cwi_markup_is_numeric(g->rows, c);
    size_t most = width_of(json_string_value(json_array_get(g->columns, c)), false);
    for (size_t r = 0; r < json_array_size(g->rows); r++) {
        const json_t *cell = json_array_get(json_array_get(g->rows, r), c);
        const json_t *value = json_is_object(cell) ? json_object_get(cell, "text") : cell;
        const char *text = json_string_value(value);
        size_t width = text ? width_of(text, is_number) : json_is_number(value) ? 24 : 4;
        width += 4 * strlen(cwi_json_get_text(cell, "stars"));
        if (width > most) most = width;
    }
    return most;
}

/* So much stands side by side on a phone, with a letter between columns: 40 letters. */
enum { PHONE_WIDTH = 160 };

static bool is_wide_for_a_phone(const grid *g)
{
    size_t width = 0;
    for (size_t c = 0; c < json_array_size(g->columns); c++) width += column_width(g, c) + 4;
    return width > PHONE_WIDTH;
}

/* Tables of more columns are set smaller, on paper even more, where nobody can scroll. */
enum { MAX_COLUMNS_AT_FULL_SIZE = 8 };

static void open_table(const page *p, const grid *g, const char *label)
{
    size_t n_columns = json_array_size(g->columns);
    CWI_WRITE(p->out, "<div class=\"scroll", g->is_stacked ? " stack" : "");
    if (n_columns > MAX_COLUMNS_AT_FULL_SIZE) {
        put(p, " wide\" style=\"--columns: ");
        cwi_writer_int(p->out, (int64_t)n_columns);
    }
    put_element(p, "\" role=\"region\" tabindex=\"0\" aria-label=\"", label, "\">\n<table");
    CWI_WRITE(p->out, role(g, " role=\"table\""), ">\n<thead", role(g, " role=\"rowgroup\""), ">");
}

static void put_titles(const page *p, const grid *g)
{
    CWI_WRITE(p->out, "<tr", role(g, " role=\"row\""), ">");
    for (size_t c = 0; c < json_array_size(g->columns); c++) {
        CWI_WRITE(p->out, "<th scope=\"col\"", role(g, " role=\"columnheader\""),
                  cwi_markup_is_numeric(g->rows, c) ? " class=\"number\">" : ">");
        put_element(p, "", json_string_value(json_array_get(g->columns, c)), "</th>");
    }
    put(p, "</tr>");
}

/* may_stack: a row is worth reading by itself, which those of a chart's numbers are not. */
static void put_table(const page *p, const json_t *table, const char *label, bool may_stack)
{
    grid g = {json_object_get(table, "columns"),
              json_object_get(table, "rows"),
              json_object_get(table, "spans"),
              json_object_get(table, "rules"),
              table,
              false};
    g.is_stacked = may_stack && is_wide_for_a_phone(&g);
    open_table(p, &g, label);
    put_spans(p, &g);
    put_titles(p, &g);
    CWI_WRITE(p->out, "</thead>\n<tbody", role(&g, " role=\"rowgroup\""), ">\n");
    for (size_t r = 0; r < json_array_size(g.rows); r++)
        put_row(p, &g, json_array_get(g.rows, r), has_rule(&g, r));
    put(p, "</tbody>\n</table>\n</div>\n");
}

/* ---- charts ---------------------------------------------------------------- */

/* A row of a series of points: its name, x and y. */
static json_t *point_row(const json_t *chart, const json_t *series)
{
    const json_t *values = json_object_get(series, "values");
    for (size_t k = 0; k < json_array_size(values); k++) {
        json_t *value = json_array_get(values, k);
        if (!json_is_null(value))
            return json_pack("[O, O, O]", json_object_get(series, "name"),
                             json_array_get(json_object_get(chart, "x"), k), value);
    }
    return json_pack("[O, n, n]", json_object_get(series, "name"));
}

/* Points as a table: a row for each series. */
static json_t *point_table(const json_t *chart)
{
    const json_t *series = json_object_get(chart, "series");
    json_t *rows = json_array();
    for (size_t s = 0; s < json_array_size(series); s++)
        cwi_json_add(&rows, point_row(chart, json_array_get(series, s)));
    return json_pack("{s:[s, s, s], s:o}", "columns", "", cwi_json_get_text(chart, "x_title"),
                     cwi_json_get_text(chart, "y_title"), "rows", rows);
}

/* Lines or bars as a table: a row for each x, a column for each series. */
static json_t *series_table(const json_t *chart)
{
    const json_t *x = json_object_get(chart, "x"), *series = json_object_get(chart, "series");
    json_t *columns = json_pack("[s]", cwi_json_get_text(chart, "x_title")), *rows = json_array();

    for (size_t s = 0; s < json_array_size(series); s++)
        cwi_json_add(&columns, json_incref(json_object_get(json_array_get(series, s), "name")));
    for (size_t k = 0; k < json_array_size(x); k++) {
        json_t *row = json_pack("[O]", json_array_get(x, k));
        for (size_t s = 0; s < json_array_size(series); s++)
            cwi_json_add(&row, json_incref(json_array_get(
                                   json_object_get(json_array_get(series, s), "values"), k)));
        cwi_json_add(&rows, row);
    }
    return json_pack("{s:o, s:o}", "columns", columns, "rows", rows);
}

json_t *cwi_chart_table(const json_t *chart)
{
    bool has_points = strcmp(cwi_json_get_text(chart, "kind"), "scatter") == 0;
    json_t *table = has_points ? point_table(chart) : series_table(chart);
    if (table) cwi_table_trim(table);
    return table;
}

static cw_status put_numbers(const page *p, const json_t *chart, const char *label)
{
    json_t *table = cwi_chart_table(chart);
    if (!table) return cwi_no_memory(p->ctx);
    put_table(p, table, label, false);
    json_decref(table);
    return CW_OK;
}

/* JSON within a script element: '<' occurs in strings alone, and there it can be written so that
 * no tag or comment begins. */
static cw_status put_data(const page *p, const json_t *data)
{
    char *text =
        cwi_json_print(p->ctx, data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10));
    if (!text) return CW_NO_MEMORY;
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "<");
        cwi_writer_put(p->out, at, plain);
        at += plain;
        if (*at) put(p, "\\u003c");
        at += *at != '\0';
    }
    cwi_free(text);
    return CW_OK;
}

static cw_status put_chart(const page *p, const json_t *chart, const char *heading)
{
    put(p, "<figure>\n<div class=\"drawing\">");
    cwi_svg_chart(p->out, chart, heading);
    put(p, "</div>\n<div class=\"plot\"><canvas role=\"img\" aria-label=\"");
    cwi_markup_label(p->out, chart);
    put(p, " The numbers follow in a table.\"></canvas></div>\n<script type=\"application/json\">");
    cw_status status = put_data(p, chart);
    put(p, "</script>\n<details><summary>The numbers</summary>\n");
    if (status == CW_OK) status = put_numbers(p, chart, heading);
    put(p, "</details>\n</figure>\n");
    return status;
}

/* ---- the whole ------------------------------------------------------------- */

static void put_heading(const page *p, const char *tag, const char *name, const char *text)
{
    if (!text[0]) return;
    CWI_WRITE(p->out, "<", tag);
    if (name[0]) put_element(p, " id=\"", name, "\"");
    put_element(p, ">", text, "</");
    CWI_WRITE(p->out, tag, ">\n");
}

static cw_status put_section(const page *p, const json_t *section)
{
    const json_t *table = json_object_get(section, "table");
    const json_t *chart = json_object_get(section, "chart");
    const char *heading = cwi_json_get_text(section, "heading");
    const char *subheading = cwi_json_get_text(section, "subheading");
    const char *name = cwi_json_get_text(section, "name");
    cw_status status = CW_OK;

    put(p, "<section>\n");
    put_heading(p, "h2", name, heading);
    put_heading(p, "h3", heading[0] ? "" : name, subheading);
    put_paragraphs(p, "<p>", cwi_json_get_text(section, "text"));
    const char *label = subheading[0] ? subheading : heading;
    if (table) put_table(p, table, label, true);
    if (chart) status = put_chart(p, chart, label);
    put(p, "</section>\n");
    return status;
}

/* Links to the sections that have a heading and a name. */
static void put_contents(const page *p, const json_t *sections)
{
    put(p, "<nav aria-label=\"Contents\">\n<ul>\n");
    for (size_t s = 0; s < json_array_size(sections); s++) {
        const char *name = cwi_json_get_text(json_array_get(sections, s), "name");
        const char *heading = cwi_json_get_text(json_array_get(sections, s), "heading");
        if (!heading[0] || !name[0]) continue;
        put_element(p, "<li><a href=\"#", name, "\">");
        put_element(p, "", heading, "</a></li>\n");
    }
    put(p, "</ul>\n</nav>\n");
}

/* By which a page is known as ours. */
static const char generator[] = "<meta name=\"generator\" content=\"crosswise ";

static void put_head(const page *p, const char *title)
{
    put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
    put_element(p, generator, cw_version(), "\">\n<title>");
    put_element(p, "", title, "</title>\n<style>\n");
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

    put_head(p, cwi_json_get_text(root, "title"));
    put_element(p, "<body>\n<main>\n<h1>", cwi_json_get_text(root, "title"), "</h1>\n");
    put_paragraphs(p, "<p class=\"verdict\">", cwi_json_get_text(root, "verdict"));
    put_paragraphs(p, "<p class=\"lead\">", cwi_json_get_text(root, "lead"));
    if (json_is_true(json_object_get(root, "contents"))) put_contents(p, sections);
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

static bool begins_like_a_page(const char *start, size_t length)
{
    return memmem(start, length, generator, sizeof generator - 1) != NULL;
}

const cwi_file_kind cwi_page_kind = {"page", begins_like_a_page, false};

cw_status cwi_page_write(cw_context *ctx, const json_t *root, const char *path)
{
    page p = {.ctx = ctx};
    cw_status status = cwi_file_check(ctx, path, &cwi_page_kind, false);
    if (status == CW_OK) status = cwi_writer_open(ctx, path, &p.out);
    if (status == CW_OK) status = put_page(&p, root);
    return cwi_writer_end(ctx, p.out, status);
}

cw_status cw_report_page(cw_context *ctx, const char *json, const char *path)
{
    json_t *root;
    cwi_begin(ctx);
    cw_status status =
        cwi_json_parse(ctx, "the description of the page", json, strlen(json), &root);
    if (status == CW_OK) status = cwi_page_check(ctx, root);
    if (status == CW_OK) cwi_page_trim(root);
    if (status == CW_OK) status = cwi_page_write(ctx, root, path);
    json_decref(root);
    return status;
}

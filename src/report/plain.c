/* plain.c - the tables of a page's description as Markdown, LaTeX and CSV. */
#include "report/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "experiment/cells.h"
#include "report/markup.h"

/* The plain text of a cell. */
static const char *text_of_cell(const json_t *cell, char out[CWI_CELL_BYTES])
{
    const json_t *value = json_is_object(cell) ? json_object_get(cell, "text") : cell;
    if (!cwi_json_to_text(value, out, CWI_CELL_BYTES)) out[0] = '\0';
    return out;
}

static bool is_marked(const json_t *cell, const char *key)
{
    return json_is_true(json_object_get(cell, key));
}

/* The title above column c. */
static const char *span_of(const json_t *table, size_t c)
{
    const json_t *spans = json_object_get(table, "spans");
    size_t end = 0;
    for (size_t s = 0; s < json_array_size(spans); s++) {
        const json_t *span = json_array_get(spans, s);
        end += (size_t)json_integer_value(json_array_get(span, 1));
        if (c < end) return json_string_value(json_array_get(span, 0));
    }
    return "";
}

/* The paper's columns stand behind what they belong to. */
void cwi_plain_title(const json_t *table, size_t c, char out[CWI_CELL_BYTES])
{
    const json_t *columns = json_object_get(table, "columns");
    const char *span = span_of(table, c);
    const char *title = json_string_value(json_array_get(columns, c));
    bool is_paper = strcmp(title, "paper") == 0 && c > 0;
    const char *owner = is_paper ? json_string_value(json_array_get(columns, c - 1)) : "";
    snprintf(out, CWI_CELL_BYTES, "%.200s%s%.100s%s%.100s", span, span[0] ? " " : "", owner,
             is_paper ? " " : "", title);
}

/* ---- Markdown --------------------------------------------------------------------------- */

static void add_markdown(json_t **cells, const json_t *cell)
{
    char plain[CWI_CELL_BYTES], text[CWI_MARKED_BYTES], out[CWI_MARKED_BYTES + 256];
    bool is_bold = is_marked(cell, "bold"), is_underlined = is_marked(cell, "underline");
    const char *spread = cwi_json_get_text(cell, "spread");
    if (json_is_null(cell)) {
        cwi_cell_add(cells, "-");
        return;
    }
    cwi_cell_marked(text_of_cell(cell, plain), text);
    snprintf(out, sizeof out, "%s%s%s%s%s%s%s%s", is_bold ? "**" : "", is_underlined ? "<u>" : "",
             text, is_underlined ? "</u>" : "", is_bold ? "**" : "", spread[0] ? " ± " : "", spread,
             cwi_json_get_text(cell, "stars")[0] ? " " : "");
    size_t used = strlen(out);
    for (const char *star = cwi_json_get_text(cell, "stars"); *star && used < sizeof out - 3;
         star++) {
        out[used++] = '\\'; /* a star by itself would begin emphasis */
        out[used++] = *star;
    }
    out[used] = '\0';
    cwi_cell_add(cells, out);
}

static cw_status put_markdown_table(cw_context *ctx, cwi_writer *out, const json_t *table)
{
    const json_t *columns = json_object_get(table, "columns");
    json_t *rows = json_array(), *head = json_array(), *row;
    char title[CWI_CELL_BYTES], text[CWI_MARKED_BYTES];
    size_t index;
    for (size_t c = 0; c < json_array_size(columns); c++) {
        cwi_plain_title(table, c, title);
        cwi_cell_add(&head, cwi_cell_marked(title, text));
    }
    cwi_json_add(&rows, head);
    json_array_foreach(json_object_get(table, "rows"), index, row)
    {
        json_t *cells = json_array();
        for (size_t c = 0; c < json_array_size(row); c++)
            add_markdown(&cells, json_array_get(row, c));
        cwi_json_add(&rows, cells);
    }
    cw_status status = cwi_json_check(ctx, rows);
    if (status == CW_OK) status = cwi_cells_markdown(ctx, out, rows);
    json_decref(rows);
    return status;
}

cw_status cwi_plain_markdown(cw_context *ctx, cwi_writer *out, const json_t *page)
{
    size_t index;
    json_t *section;
    cwi_writer_text(out, "# ");
    cwi_cells_text(out, cwi_json_get_text(page, "title"), " ");
    cwi_writer_text(out, cwi_json_get_text(page, "verdict")[0] ? "\n\n" : "");
    cwi_cells_text(out, cwi_json_get_text(page, "verdict"), " ");
    cwi_writer_text(out, "\n");
    json_array_foreach(json_object_get(page, "sections"), index, section)
    {
        const json_t *table = json_object_get(section, "table");
        if (!table) continue;
        cwi_writer_text(out, "\n## ");
        cwi_cells_text(out, cwi_json_get_text(section, "heading"), " ");
        cwi_writer_text(out, "\n\n");
        cwi_cells_text(out, cwi_json_get_text(section, "text"), "\n");
        cwi_writer_text(out, cwi_json_get_text(section, "text")[0] ? "\n\n" : "");
        CW_PASS(put_markdown_table(ctx, out, table));
    }
    return CW_OK;
}

/* ---- LaTeX ------------------------------------------------------------------------------- */

static void put_latex_text(cwi_writer *out, const char *text)
{
    static const struct {
        char letter;
        const char *command;
    } special[] = {{'\\', "\\textbackslash{}"},  {'~', "\\textasciitilde{}"},
                   {'^', "\\textasciicircum{}"}, {'<', "\\textless{}"},
                   {'>', "\\textgreater{}"},     {'\n', " "}};
    for (; *text; text++) {
        const char *command = NULL;
        for (size_t k = 0; k < sizeof special / sizeof special[0]; k++)
            if (special[k].letter == *text) command = special[k].command;
        if (command) {
            cwi_writer_text(out, command);
            continue;
        }
        if (strchr("&%$#_{}", *text)) cwi_writer_text(out, "\\");
        cwi_writer_put(out, (unsigned char)*text < 32 || *text == 127 ? "?" : text, 1);
    }
}

static void put_latex_cell(cwi_writer *out, const json_t *cell)
{
    char text[CWI_CELL_BYTES];
    const char *stars = cwi_json_get_text(cell, "stars"),
               *spread = cwi_json_get_text(cell, "spread");
    if (json_is_null(cell)) {
        cwi_writer_text(out, "--");
        return;
    }
    CWI_WRITE(out, is_marked(cell, "bold") ? "\\textbf{" : "",
              is_marked(cell, "underline") ? "\\underline{" : "");
    put_latex_text(out, text_of_cell(cell, text));
    CWI_WRITE(out, is_marked(cell, "underline") ? "}" : "", is_marked(cell, "bold") ? "}" : "");
    if (stars[0]) CWI_WRITE(out, "$^{", stars, "}$");
    if (spread[0]) CWI_WRITE(out, " {\\scriptsize$\\pm$", spread, "}");
}

static void put_latex_row(cwi_writer *out, const json_t *row)
{
    for (size_t c = 0; c < json_array_size(row); c++) {
        cwi_writer_text(out, c ? " & " : "");
        put_latex_cell(out, json_array_get(row, c));
    }
    cwi_writer_text(out, " \\\\\n");
}

/* Titles above the columns, with a line under each. */
static void put_latex_spans(cwi_writer *out, const json_t *spans)
{
    char text[64];
    size_t index, at = 1;
    json_t *span;
    if (json_array_size(spans) == 0) return;
    json_array_foreach(spans, index, span)
    {
        snprintf(text, sizeof text, "%s\\multicolumn{%d}{c}{", index ? " & " : "",
                 (int)json_integer_value(json_array_get(span, 1)));
        cwi_writer_text(out, text);
        put_latex_text(out, json_string_value(json_array_get(span, 0)));
        cwi_writer_text(out, "}");
    }
    cwi_writer_text(out, " \\\\\n");
    json_array_foreach(spans, index, span)
    {
        size_t width = (size_t)json_integer_value(json_array_get(span, 1));
        snprintf(text, sizeof text, "\\cmidrule(lr){%zu-%zu}\n", at, at + width - 1);
        if (json_string_value(json_array_get(span, 0))[0]) cwi_writer_text(out, text);
        at += width;
    }
}

static void put_latex_body(cwi_writer *out, const json_t *table)
{
    size_t index, next = 0;
    const json_t *rules = json_object_get(table, "rules");
    json_t *row;
    put_latex_spans(out, json_object_get(table, "spans"));
    put_latex_row(out, json_object_get(table, "columns"));
    cwi_writer_text(out, "\\midrule\n");
    json_array_foreach(json_object_get(table, "rows"), index, row)
    {
        if (json_number_value(json_array_get(rules, next)) == (double)index &&
            next < json_array_size(rules)) {
            cwi_writer_text(out, "\\midrule\n");
            next++;
        }
        put_latex_row(out, row);
    }
}

/* Columns of words are set flush left, those of numbers flush right. */
static void put_latex_columns(cwi_writer *out, const json_t *table)
{
    const json_t *rows = json_object_get(table, "rows");
    for (size_t c = 0; c < json_array_size(json_object_get(table, "columns")); c++)
        cwi_writer_text(out, cwi_markup_is_numeric(rows, c) ? "r" : "l");
}

void cwi_plain_latex(cwi_writer *out, const json_t *page)
{
    size_t index;
    json_t *section;
    const char *verdict = cwi_json_get_text(page, "verdict");
    cwi_writer_text(out, "% Needs \\usepackage{booktabs}.\n");
    if (verdict[0]) cwi_writer_text(out, "% ");
    put_latex_text(out, verdict);
    if (verdict[0]) cwi_writer_text(out, "\n");
    json_array_foreach(json_object_get(page, "sections"), index, section)
    {
        const json_t *table = json_object_get(section, "table");
        if (!table) continue;
        cwi_writer_text(out, "\n\\begin{table}\n\\centering\n\\caption{");
        put_latex_text(out, cwi_json_get_text(section, "heading"));
        CWI_WRITE(out, "}\n\\label{tab:", cwi_json_get_text(section, "name"),
                  "}\n\\begin{tabular}{");
        put_latex_columns(out, table);
        cwi_writer_text(out, "}\n\\toprule\n");
        put_latex_body(out, table);
        cwi_writer_text(out, "\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    }
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* Has any cell of the column this text beside its value? */
static bool has_extra(const json_t *table, size_t c, const char *key)
{
    const json_t *rows = json_object_get(table, "rows");
    for (size_t r = 0; r < json_array_size(rows); r++)
        if (cwi_json_get_text(json_array_get(json_array_get(rows, r), c), key)[0]) return true;
    return false;
}

static const char *const extras[] = {"spread", "stars"};
static const char *const extra_titles[] = {"sd", "stars"};

static void add_csv_titles(const json_t *table, size_t c, json_t **cells)
{
    char title[CWI_CELL_BYTES], extra[CWI_CELL_BYTES + 16];
    cwi_plain_title(table, c, title);
    cwi_cell_add(cells, title);
    for (size_t k = 0; k < 2; k++) {
        if (!has_extra(table, c, extras[k])) continue;
        snprintf(extra, sizeof extra, "%s %s", title, extra_titles[k]);
        cwi_cell_add(cells, extra);
    }
}

static void add_csv_cells(const json_t *table, const json_t *row, size_t c, json_t **cells)
{
    char text[CWI_CELL_BYTES];
    const json_t *cell = json_array_get(row, c);
    cwi_cell_add(cells, text_of_cell(cell, text));
    for (size_t k = 0; k < 2; k++)
        if (has_extra(table, c, extras[k])) cwi_cell_add(cells, cwi_json_get_text(cell, extras[k]));
}

cw_status cwi_plain_csv(cw_context *ctx, cwi_writer *out, const json_t *table)
{
    size_t n = json_array_size(json_object_get(table, "columns"));
    const json_t *rows = json_object_get(table, "rows");
    for (size_t r = 0; r <= json_array_size(rows); r++) {
        json_t *cells = json_array();
        for (size_t c = 0; c < n; c++)
            if (r == 0)
                add_csv_titles(table, c, &cells);
            else
                add_csv_cells(table, json_array_get(rows, r - 1), c, &cells);
        if (!cells) return cwi_no_memory(ctx);
        cwi_cells_csv(out, cells);
        json_decref(cells);
    }
    return CW_OK;
}

/* cells.c - tables of text. */
#include "experiment/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "experiment/plan.h"

const char *cwi_cell_fixed(double value, int digits, char out[CWI_CELL_BYTES])
{
    if (!isfinite(value)) return memcpy(out, "-", 2);
    snprintf(out, CWI_CELL_BYTES, "%.*f", digits, value);
    char *comma = strchr(out, ','); /* the caller may run in a locale with a comma */
    if (comma) *comma = '.';
    return out;
}

const char *cwi_cell_settings(const json_t *settings, char out[CWI_CELL_BYTES])
{
    const char *name;
    json_t *value;
    size_t used = 0;
    out[0] = '\0';
    json_object_foreach((json_t *)settings, name, value)
    {
        char text[256] = "";
        (void)cwi_json_to_text(value, text, sizeof text);
        int added =
            snprintf(out + used, CWI_CELL_BYTES - used, "%s%s %s", used ? ", " : "", name, text);
        if (added < 0 || (size_t)added >= CWI_CELL_BYTES - used) break;
        used += (size_t)added;
    }
    return out;
}

void cwi_cell_add(json_t **row, const char *text)
{
    cwi_json_add(row, cwi_json_string(text));
}

/* ---- Markdown ------------------------------------------------------------------------------- */

/* Within a word '_' marks nothing. */
static bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (unsigned char)byte >= 0x80;
}

/* What shows text[at] where it is: itself, or what stands for it. */
static const char *marked(const char *text, size_t at, const char *line_end, char out[3])
{
    unsigned char byte = (unsigned char)text[at];
    size_t used = 0;
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\n': return line_end;
    case '\r':
    case '\t': return " ";
    case '_': used = at == 0 || !is_word(text[at - 1]) || !is_word(text[at + 1]); break;
    default: used = strchr("*`\\[]|", byte) != NULL;
    }
    if (byte < 32 || byte == 127) return "?";
    out[0] = '\\';
    out[used] = text[at];
    out[used + 1] = '\0';
    return out;
}

void cwi_cells_text(cwi_writer *out, const char *text, const char *line_end)
{
    char shown[3];
    for (size_t at = 0; text[at]; at++) cwi_writer_text(out, marked(text, at, line_end, shown));
}

const char *cwi_cell_marked(const char *text, char out[CWI_MARKED_BYTES])
{
    char shown[3];
    size_t used = 0;
    for (size_t at = 0; text[at]; at++) {
        const char *piece = marked(text, at, " ", shown);
        size_t length = strlen(piece);
        if (used + length >= CWI_MARKED_BYTES) break;
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return out;
}

/* Letters of UTF-8 text. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static const char *cell_at(const json_t *rows, size_t r, size_t c)
{
    const char *text = json_string_value(json_array_get(json_array_get(rows, r), c));
    return text ? text : "";
}

static bool is_numeric(const json_t *rows, size_t c)
{
    for (size_t r = 1; r < json_array_size(rows); r++) {
        const char *text = cell_at(rows, r, c);
        if (!strchr("+-0123456789", text[0])) return false; /* an empty one is fine */
    }
    return true;
}

static void put_repeated(cwi_writer *out, char letter, size_t times)
{
    for (size_t k = 0; k < times; k++) cwi_writer_put(out, &letter, 1);
}

static void put_cell(cwi_writer *out, const char *text, size_t width, bool is_right)
{
    size_t padding = width - width_of(text);
    cwi_writer_text(out, "| ");
    if (is_right) put_repeated(out, ' ', padding);
    cwi_writer_text(out, text);
    if (!is_right) put_repeated(out, ' ', padding);
    cwi_writer_text(out, " ");
}

static void put_rule(cwi_writer *out, size_t width, bool is_right)
{
    cwi_writer_text(out, "|");
    put_repeated(out, '-', width + (is_right ? 1 : 2));
    if (is_right) cwi_writer_text(out, ":");
}

cw_status cwi_cells_markdown(cw_context *ctx, cwi_writer *out, const json_t *rows)
{
    size_t columns = json_array_size(json_array_get(rows, 0));
    size_t *width = cwi_alloc(ctx, columns, sizeof *width);
    if (!width) return CW_NO_MEMORY;
    for (size_t c = 0; c < columns; c++) {
        width[c] = 3;
        for (size_t r = 0; r < json_array_size(rows); r++)
            if (width_of(cell_at(rows, r, c)) > width[c]) width[c] = width_of(cell_at(rows, r, c));
    }
    for (size_t r = 0; r < json_array_size(rows); r++) {
        for (size_t c = 0; c < columns; c++)
            put_cell(out, cell_at(rows, r, c), width[c], is_numeric(rows, c));
        cwi_writer_text(out, "|\n");
        for (size_t c = 0; r == 0 && c < columns; c++) put_rule(out, width[c], is_numeric(rows, c));
        if (r == 0) cwi_writer_text(out, "|\n");
    }
    cwi_free(width);
    return CW_OK;
}

void cwi_cell_metric(const json_t *table, int metric, char key[32], char title[48])
{
    const cw_metric_info *info = &cwi_metric_table[metric];
    size_t index, length = strlen(info->name);
    json_t *row, *unused;
    const char *name;
    key[0] = '\0';
    json_array_foreach(json_object_get(table, "rows"), index, row)
    {
        json_object_foreach(json_object_get(row, "mean"), name, unused)
        {
            if (key[0] || strncmp(name, info->name, length) != 0 || name[length] != '@') continue;
            cwi_copy_text(key, 32, name);
        }
    }
    snprintf(title, 48, "%s%.20s", info->title, key[0] ? key + length : "");
}

double cwi_cell_p(const json_t *table, size_t row, const char *key)
{
    const json_t *tests = json_object_get(table, "tests");
    for (size_t k = 0; k < json_array_size(tests); k++) {
        const json_t *test = json_array_get(tests, k), *p = json_object_get(test, "p");
        if (json_integer_value(json_object_get(test, "row")) == (json_int_t)row &&
            strcmp(cwi_json_get_text(test, "metric"), key) == 0 && json_is_number(p) &&
            cwi_json_get_number(test, "difference") > 0)
            return json_number_value(p);
    }
    return NAN;
}

const char *cwi_cell_gain(double ours, double baseline, char out[CWI_CELL_BYTES])
{
    char digits[CWI_CELL_BYTES];
    double gain = 100 * (ours / baseline - 1);
    if (!isfinite(gain)) return strcpy(out, "-");
    snprintf(out, CWI_CELL_BYTES, "%s%.60s %%", gain > 0 ? "+" : "",
             cwi_cell_fixed(gain, 2, digits));
    return out;
}

const char *cwi_cell_chance(double p, char out[CWI_CELL_BYTES])
{
    char digits[CWI_CELL_BYTES];
    if (p < 0.0001) return strcpy(out, "< 0.0001");
    snprintf(out, CWI_CELL_BYTES, "= %.20s", cwi_cell_fixed(p, 4, digits));
    return out;
}

static bool is_empty_column(const json_t *rows, size_t c)
{
    for (size_t r = 1; r < json_array_size(rows); r++) {
        const char *text = cell_at(rows, r, c);
        if (text[0] && strcmp(text, "-") != 0) return false;
    }
    return json_array_size(rows) > 1;
}

void cwi_cells_trim(json_t *rows)
{
    for (size_t c = json_array_size(json_array_get(rows, 0)); c-- > 0;)
        for (size_t r = 0, empty = is_empty_column(rows, c); empty && r < json_array_size(rows);
             r++)
            (void)json_array_remove(json_array_get(rows, r), c);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* Would a spreadsheet compute it?  A number, with or without " %", and a sign alone do no harm. */
static bool is_formula(const char *text)
{
    double number;
    size_t length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, " %") == 0) length -= 2;
    return length > 1 && strchr("=+-@\t\r", text[0]) && !cwi_parse_real(text, length, &number);
}

void cwi_cells_csv(cwi_writer *out, const json_t *row)
{
    for (size_t c = 0; c < json_array_size(row); c++) {
        const char *text = json_string_value(json_array_get(row, c));
        if (c > 0) cwi_writer_text(out, ",");
        cwi_writer_field(out, is_formula(text) ? "'" : "", text);
    }
    cwi_writer_text(out, "\n");
}

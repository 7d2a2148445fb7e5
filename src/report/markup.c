/* markup.c - text within HTML and SVG. */
#include "report/markup.h"

#include <string.h>

/* What XML does not allow: control characters but tab and line ends. */
#define CONTROLS "\1\2\3\4\5\6\7\10\13\14\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37\177"

void cwi_markup_part(cwi_writer *out, const char *text, size_t length)
{
    const char *end = text + length;
    for (; text < end; text++) {
        size_t plain = strcspn(text, "&<>\"'" CONTROLS), left = (size_t)(end - text);
        cwi_writer_put(out, text, plain < left ? plain : left);
        if (plain >= left) return;
        text += plain;
        switch (*text) {
        case '&': cwi_writer_text(out, "&amp;"); break;
        case '<': cwi_writer_text(out, "&lt;"); break;
        case '>': cwi_writer_text(out, "&gt;"); break;
        case '"': cwi_writer_text(out, "&quot;"); break;
        case '\'': cwi_writer_text(out, "&#39;"); break;
        default: cwi_writer_text(out, "\xef\xbf\xbd"); /* U+FFFD, a letter that cannot be shown */
        }
    }
}

void cwi_markup_text(cwi_writer *out, const char *text)
{
    cwi_markup_part(out, text, strlen(text));
}

void cwi_markup_label(cwi_writer *out, const json_t *chart)
{
    const json_t *series = json_object_get(chart, "series");
    const char *kind = cwi_json_get_text(chart, "kind");
    cwi_writer_text(out, strcmp(kind, "line") == 0  ? "Line chart: "
                         : strcmp(kind, "bar") == 0 ? "Bar chart: "
                                                    : "Scatter chart: ");
    cwi_markup_text(out, cwi_json_get_text(chart, "y_title"));
    cwi_writer_text(out, " by ");
    cwi_markup_text(out, cwi_json_get_text(chart, "x_title"));
    for (size_t s = 0; s < json_array_size(series); s++) {
        cwi_writer_text(out, s ? ", " : " for ");
        cwi_markup_text(out, cwi_json_get_text(json_array_get(series, s), "name"));
    }
    cwi_writer_text(out, ".");
}

/* A number, or text that looks like one. */
static bool is_numeric(const json_t *cell)
{
    if (json_is_object(cell)) cell = json_object_get(cell, "text");
    const char *text = json_string_value(cell);
    if (!text || !text[0]) return true;
    if (!strchr("+-.0123456789", text[0])) return false;
    return text[strspn(text, "+-.,0123456789eE %")] == '\0';
}

bool cwi_markup_is_numeric(const json_t *rows, size_t c)
{
    for (size_t r = 0; r < json_array_size(rows); r++)
        if (!is_numeric(json_array_get(json_array_get(rows, r), c))) return false;
    return true;
}

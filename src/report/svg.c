/* svg.c - a chart of a page's description as a drawing for a paper. */
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "experiment/cells.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/scale.h"

enum {
    WIDTH = 640,
    LEFT = 76,
    RIGHT = 624,
    TOP = 16,
    BOTTOM = 316,
    LEGEND = 388,
    LEGEND_COLUMN = 205,
    LEGEND_COLUMNS = 3,
    LEGEND_LINE = 20,
    N_STYLES = 6
};

/* The same as in page.js: hues of Okabe and Ito that are dark enough on white. */
static const char *const hues[N_STYLES] = {"#0072b2", "#d55e00", "#007f5f",
                                           "#8f4a7d", "#7a6a00", "#444444"};
static const char *const dashes[N_STYLES] = {"none", "8 4", "2 3", "10 3 2 3", "16 4", "5 2"};
/* What is drawn over a tile of 8 x 8. */
static const char *const hatches[N_STYLES] = {"",       "M-2 10L10 -2M-2 2L2 -2M6 10L10 6",
                                              "M0 4H8", "M-2 -2L10 10M6 -2L10 2M-2 6L2 10",
                                              "M4 0V8", "M0 4H8M4 0V8"};
static const char *const points[N_STYLES] = {"M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
                                             "M-3.5 -3.5H3.5V3.5H-3.5Z",
                                             "M0 -4.5L4.5 3.5H-4.5Z",
                                             "M0 -5L5 0L0 5L-5 0Z",
                                             "M-4 -4L4 4M-4 4L4 -4",
                                             "M0 -5V5M-4 -3L4 3M-4 3L4 -3"};

typedef enum kind { LINE, BAR, SCATTER } kind;

typedef struct figure {
    cwi_writer *out;
    const json_t *x, *series;
    size_t n, n_series;
    kind kind;
    bool has_numbers; /* x is an axis of numbers */
    bool is_tilted;   /* words of x stand too close to lie flat */
    double legend;    /* where it begins */
    cwi_scale h, v;
} figure;

/* How a series looks: a number for all that sets it apart. */
typedef struct look {
    size_t hue, pattern;
    bool is_reference;
} look;

/* ---- bits --------------------------------------------------------------------------------- */

static void put(const figure *f, const char *text)
{
    cwi_writer_text(f->out, text);
}

/* A place or length as text, which lasts as long as the statement it is in. */
typedef struct printed {
    char text[CWI_CELL_BYTES];
} printed;

static printed at(double value)
{
    printed out = {""};
    cwi_cell_fixed(value, 1, out.text);
    return out;
}

static void put_label(const figure *f, double x, double y, const char *anchor, const char *text)
{
    CWI_WRITE(f->out, "<text x=\"", at(x).text, "\" y=\"", at(y).text, "\" text-anchor=\"", anchor,
              "\">");
    cwi_markup_text(f->out, text);
    put(f, "</text>\n");
}

static bool is_reference(const figure *f, size_t s)
{
    return json_is_true(json_object_get(json_array_get(f->series, s), "reference"));
}

/* As in page.js: the seventh series differs from the first, too, and references are black. */
static look look_of(const figure *f, size_t s)
{
    size_t before = 0;
    for (size_t k = 0; k < s; k++) before += is_reference(f, k);
    if (is_reference(f, s)) return (look){.pattern = (before + 1) % N_STYLES, .is_reference = true};
    return (look){s % N_STYLES, (s + s / N_STYLES) % N_STYLES, false};
}

static double value_of(const figure *f, size_t s, size_t k)
{
    const json_t *values = json_object_get(json_array_get(f->series, s), "values");
    double number = cwi_json_to_number(json_array_get(values, k));
    return f->v.is_log && !(number > 0) ? NAN : number;
}

static double place_x(const figure *f, size_t k)
{
    if (f->has_numbers) return cwi_scale_place(&f->h, json_number_value(json_array_get(f->x, k)));
    return LEFT + ((double)k + 0.5) * (RIGHT - LEFT) / (double)f->n;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void measure(figure *f, const char *x_scale, const char *y_scale)
{
    f->h = (cwi_scale){
        .is_log = strcmp(x_scale, "log") == 0, .start = LEFT, .end = RIGHT, .is_empty = true};
    f->v = (cwi_scale){
        .is_log = strcmp(y_scale, "log") == 0, .start = BOTTOM, .end = TOP, .is_empty = true};
    if (!f->v.is_log && strcmp(y_scale, "fit") != 0) cwi_scale_add(&f->v, 0);
    for (size_t k = 0; k < f->n; k++) {
        cwi_scale_add(&f->h, json_number_value(json_array_get(f->x, k)));
        for (size_t s = 0; s < f->n_series; s++) cwi_scale_add(&f->v, value_of(f, s, k));
    }
    cwi_scale_finish(&f->h);
    cwi_scale_finish(&f->v);
}

static const char *print_mark(double value, int digits, char out[CWI_CELL_BYTES])
{
    char number[CWI_NUMBER_BYTES];
    double rounded = value;
    cwi_cell_fixed(value, digits >= 0 ? digits : 12, out);
    if (digits >= 0 || !cwi_parse_real(out, strlen(out), &rounded)) return out;
    cwi_print_real(rounded, number); /* as short as it can be */
    cwi_copy_text(out, CWI_CELL_BYTES, number);
    return out;
}

static void put_line(const figure *f, double x1, double y1, double x2, double y2)
{
    CWI_WRITE(f->out, "M", at(x1).text, " ", at(y1).text, "L", at(x2).text, " ", at(y2).text);
}

static void put_y_axis(const figure *f, const char *title)
{
    double mark[CWI_MAX_MARKS];
    char text[CWI_CELL_BYTES];
    int digits;
    size_t n = cwi_scale_marks(&f->v, mark, &digits);
    put(f, "<path stroke=\"#d0d0d0\" d=\"");
    for (size_t k = 0; k < n; k++) {
        double y = cwi_scale_place(&f->v, mark[k]);
        put_line(f, LEFT, y, RIGHT, y);
    }
    put(f, "\"/>\n");
    for (size_t k = 0; k < n; k++)
        put_label(f, LEFT - 6, cwi_scale_place(&f->v, mark[k]) + 4, "end",
                  print_mark(mark[k], digits, text));
    put(f, "<g transform=\"rotate(-90)\">");
    put_label(f, -(TOP + BOTTOM) / 2.0, 13, "middle", title);
    put(f, "</g>\n");
}

/* Letters that fit under one place of x. */
static size_t width_for_words(const figure *f)
{
    return (size_t)((RIGHT - LEFT) / 7 / (f->n > 0 ? f->n : 1));
}

/* Tilted labels where a single word is too long for its place; they need room above the legend. */
static void measure_words(figure *f)
{
    size_t longest_word = 0, longest = 0;
    f->legend = LEGEND;
    for (size_t k = 0; k < f->n && !f->has_numbers; k++) {
        const char *text = json_string_value(json_array_get(f->x, k));
        if (!text) continue;
        if (strlen(text) > longest) longest = strlen(text);
        for (; *text; text += strcspn(text, " "), text += *text == ' ')
            if (strcspn(text, " ") > longest_word) longest_word = strcspn(text, " ");
    }
    f->is_tilted = longest_word > width_for_words(f);
    double needed =
        6.0 * (double)(longest < 40 ? longest : 40); /* a letter's share of the height */
    if (f->is_tilted && needed > 36) f->legend += needed - 36;
}

static void put_tilted(const figure *f, double x, const char *text)
{
    CWI_WRITE(f->out, "<g transform=\"translate(", at(x + 5).text, " ", at(BOTTOM + 14).text,
              ") rotate(-40)\">");
    put_label(f, 0, 0, "end", text);
    put(f, "</g>\n");
}

/* The words of a label, one under the other as far as they need it. */
static void put_words(const figure *f, double x, const char *text)
{
    size_t width = width_for_words(f);
    if (f->is_tilted) {
        put_tilted(f, x, text);
        return;
    }
    for (int line = 0; *text && line < 3; line++) {
        char part[CWI_CELL_BYTES];
        size_t length = 0, next;
        while (text[length] &&
               (length == 0 || length + 1 + strcspn(text + length + 1, " ") <= width)) {
            next = strcspn(text + length + (length > 0), " ");
            length += next + (length > 0);
        }
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        put_label(f, x, BOTTOM + 18 + 15 * line, "middle", part);
        text += length + (text[length] == ' ');
    }
}

static void put_x_axis(const figure *f, const char *title)
{
    double mark[CWI_MAX_MARKS];
    char text[CWI_CELL_BYTES];
    int digits;
    size_t n = f->has_numbers ? cwi_scale_marks(&f->h, mark, &digits) : f->n;
    for (size_t k = 0; k < n; k++) {
        const json_t *word = json_array_get(f->x, k);
        if (f->has_numbers)
            put_label(f, cwi_scale_place(&f->h, mark[k]), BOTTOM + 18, "middle",
                      print_mark(mark[k], digits, text));
        else if (json_is_string(word))
            put_words(f, place_x(f, k), json_string_value(word));
        else
            put_words(f, place_x(f, k), print_mark(json_number_value(word), -1, text));
    }
    put(f, "<path stroke=\"#000\" fill=\"none\" d=\"");
    put_line(f, LEFT, TOP, LEFT, BOTTOM);
    put_line(f, LEFT, BOTTOM, RIGHT, BOTTOM);
    put(f, "\"/>\n");
    put_label(f, (LEFT + RIGHT) / 2.0, f->legend - 24, "middle", title);
}

/* ---- series -------------------------------------------------------------------------------------
 */

static const char *color_of(look how)
{
    return how.is_reference ? "#000" : hues[how.hue];
}

static void put_point(const figure *f, double x, double y, look how)
{
    bool is_open = how.pattern >= 4; /* crosses and stars have no inside */
    CWI_WRITE(f->out, "<path transform=\"translate(", at(x).text, " ", at(y).text, ")\" d=\"",
              points[how.pattern], "\" stroke=\"", color_of(how), "\" stroke-width=\"1.5\" fill=\"",
              is_open ? "none" : color_of(how), "\"/>\n");
}

static void begin_stroke(const figure *f, look how)
{
    CWI_WRITE(f->out, "<path fill=\"none\" stroke=\"", color_of(how), "\" stroke-width=\"",
              how.is_reference ? "2.5" : "1.8", "\" stroke-dasharray=\"", dashes[how.pattern],
              "\" d=\"");
}

static void draw_line(const figure *f, size_t s, look how)
{
    bool is_begun = false;
    begin_stroke(f, how);
    for (size_t k = 0; k < f->n; k++) {
        double value = value_of(f, s, k);
        if (isnan(value)) continue; /* a gap is bridged */
        CWI_WRITE(f->out, is_begun ? "L" : "M", at(place_x(f, k)).text, " ",
                  at(cwi_scale_place(&f->v, value)).text);
        is_begun = true;
    }
    put(f, is_begun ? "\"/>\n" : "M0 0\"/>\n");
}

static void draw_points(const figure *f, size_t s, look how)
{
    size_t stride = f->n / 20 + 1; /* more would hide the line */
    for (size_t k = 0; k < f->n; k += f->kind == SCATTER ? 1 : stride) {
        double value = value_of(f, s, k);
        if (!isnan(value)) put_point(f, place_x(f, k), cwi_scale_place(&f->v, value), how);
    }
}

/* Drawings that share a page share these names, so a name says all of how it looks. */
static printed hatch_name(look how)
{
    printed out = {""};
    snprintf(out.text, sizeof out.text, "hatch%s%d%d", how.is_reference ? "r" : "", (int)how.hue,
             (int)how.pattern);
    return out;
}

static void put_box(const figure *f, double x, double y, double width, double height, look how)
{
    CWI_WRITE(f->out, "<rect x=\"", at(x).text, "\" y=\"", at(y).text, "\" width=\"",
              at(width).text, "\" height=\"", at(height > 0 ? height : 0).text, "\" stroke=\"",
              color_of(how), "\" fill=\"url(#", hatch_name(how).text, ")\"/>\n");
}

static void draw_bars(const figure *f, size_t s, look how)
{
    double slot = (RIGHT - LEFT) / (double)f->n, width = 0.8 * slot / (double)f->n_series;
    double base = f->v.is_log ? BOTTOM : cwi_scale_place(&f->v, 0);
    for (size_t k = 0; k < f->n; k++) {
        double value = value_of(f, s, k);
        if (isnan(value)) continue;
        double top = cwi_scale_place(&f->v, value);
        put_box(f, place_x(f, k) - 0.4 * slot + (double)s * width, fmin(top, base), 0.95 * width,
                fabs(base - top), how);
    }
}

static void draw_series(const figure *f, size_t s)
{
    look how = look_of(f, s);
    if (f->kind == BAR) draw_bars(f, s, how);
    if (f->kind == LINE) draw_line(f, s, how);
    if (f->kind == SCATTER || (f->kind == LINE && !how.is_reference)) draw_points(f, s, how);
}

/* ---- the whole --------------------------------------------------------------------------- */

static void put_hatches(const figure *f)
{
    put(f, "<defs>\n");
    for (size_t k = 0; k < f->n_series; k++) {
        look how = look_of(f, k);
        CWI_WRITE(f->out, "<pattern id=\"", hatch_name(how).text,
                  "\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
                  "<rect width=\"8\" height=\"8\" fill=\"",
                  color_of(how), "\"/><path d=\"", hatches[how.pattern],
                  "\" stroke=\"#fff\" stroke-width=\"2\"/></pattern>\n");
    }
    put(f, "</defs>\n");
}

static void put_legend(const figure *f)
{
    for (size_t s = 0; s < f->n_series; s++) {
        look how = look_of(f, s);
        double x = 16 + (double)(s % LEGEND_COLUMNS) * LEGEND_COLUMN;
        double y = f->legend + (double)(s / LEGEND_COLUMNS) * LEGEND_LINE;
        if (f->kind == BAR) put_box(f, x + 6, y - 6, 20, 12, how);
        if (f->kind == LINE) {
            begin_stroke(f, how);
            put_line(f, x, y, x + 34, y);
            put(f, "\"/>\n");
        }
        if (f->kind == SCATTER || (f->kind == LINE && !how.is_reference))
            put_point(f, x + 17, y, how);
        put_label(f, x + 40, y + 4, "start",
                  cwi_json_get_text(json_array_get(f->series, s), "name"));
    }
}

static void put_head(const figure *f, const json_t *chart, const char *title)
{
    char head[256];
    size_t lines = (f->n_series + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;
    size_t height = (size_t)f->legend + LEGEND_LINE * lines;
    snprintf(head, sizeof head,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%zu\" "
             "viewBox=\"0 0 %d %zu\" font-family=\"Helvetica, Arial, sans-serif\" "
             "font-size=\"13\">\n<title>",
             WIDTH, height, WIDTH, height);
    put(f, head);
    cwi_markup_text(f->out, title);
    put(f, "</title>\n<desc>");
    cwi_markup_label(f->out, chart);
    put(f, "</desc>\n");
}

void cwi_svg_chart(cwi_writer *out, const json_t *chart, const char *title)
{
    const char *name = cwi_json_get_text(chart, "kind");
    figure f = {.out = out,
                .x = json_object_get(chart, "x"),
                .series = json_object_get(chart, "series"),
                .kind = (kind)cwi_word_index("line|bar|scatter", name),
                .has_numbers = cwi_chart_has_numbers(chart)};
    f.n = json_array_size(f.x);
    f.n_series = json_array_size(f.series);
    measure(&f, cwi_json_get_text(chart, "x_scale"), cwi_json_get_text(chart, "y_scale"));
    measure_words(&f);
    put_head(&f, chart, title);
    if (f.kind == BAR) put_hatches(&f);
    put_y_axis(&f, cwi_json_get_text(chart, "y_title"));
    put_x_axis(&f, cwi_json_get_text(chart, "x_title"));
    for (size_t s = 0; s < f.n_series; s++) draw_series(&f, s);
    put_legend(&f);
    put(&f, "</svg>\n");
}

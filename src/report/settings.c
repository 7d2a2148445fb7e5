/* settings.c - the chart of a table that varies options, such as the composition of the samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "experiment/cells.h"
#include "experiment/plan.h"
#include "report/panel.h"

static const json_t *varied_of(const json_t *row, const char *key)
{
    return json_object_get(json_object_get(row, "varied"), key);
}

/* Is this the first row with its value of a varied option, a number? */
static bool is_first_value(const cwi_panel *p, const json_t *row, const char *key)
{
    const json_t *other, *value = varied_of(row, key);
    if (!json_is_number(value)) return false;
    for (size_t r = 0; (other = cwi_panel_row(p, r)) != row; r++)
        if (json_equal(varied_of(other, key), value)) return false;
    return true;
}

/* The values of a varied option in the rows of the panel, each once, as a new array. */
static json_t *values_of(const cwi_panel *p, const char *key)
{
    const json_t *row;
    json_t *list = json_array();
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        if (is_first_value(p, row, key))
            cwi_json_add(&list, json_incref((json_t *)varied_of(row, key)));
    return list;
}

static size_t count_values(const cwi_panel *p, const char *key)
{
    const json_t *row;
    size_t n = 0;
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++) n += is_first_value(p, row, key);
    return n;
}

/* The varied option with the most values: what the x axis shows.  NULL: none has two. */
static const char *find_axis(const cwi_panel *p)
{
    const char *key, *best = NULL;
    json_t *unused;
    const json_t *row;
    size_t most = 1;
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        json_object_foreach(json_object_get(row, "varied"), key, unused)
        {
            if (count_values(p, key) <= most) continue;
            most = count_values(p, key);
            best = key;
        }
    return best;
}

/* Do two rows belong to the same line: alike in all but the option of the axis? */
static bool is_same_line(const json_t *a, const json_t *b, const char *axis)
{
    const char *key;
    json_t *value;
    if (!json_equal(json_object_get(a, "method"), json_object_get(b, "method")) ||
        !json_equal(json_object_get(a, "backbone"), json_object_get(b, "backbone")) ||
        json_object_size(json_object_get(a, "varied")) !=
            json_object_size(json_object_get(b, "varied")))
        return false;
    json_object_foreach(json_object_get(a, "varied"), key, value)
    {
        const json_t *other = varied_of(b, key);
        if (!other || (strcmp(key, axis) != 0 && !json_equal(value, other))) return false;
    }
    return true;
}

/* "CPR, max-k 3" */
static const char *line_name(const cwi_panel *p, const json_t *row, const char *axis,
                             char out[CWI_NAME_BYTES])
{
    const char *key;
    json_t *value;
    cwi_panel_name(p, row, out);
    json_object_foreach(json_object_get(row, "varied"), key, value)
    {
        char text[64] = "";
        size_t used = strlen(out);
        if (strcmp(key, axis) == 0) continue;
        (void)cwi_json_to_text(value, text, sizeof text);
        snprintf(out + used, CWI_NAME_BYTES - used, ", %s %s", key, text);
    }
    return out;
}

/* The value of the line of `row` at a value of the axis; a row without the axis is level. */
static double value_at(const cwi_panel *p, const json_t *row, const char *axis, const json_t *x,
                       const char *key)
{
    const json_t *other;
    if (!varied_of(row, axis)) return cwi_panel_mean(row, key);
    for (size_t r = 0; (other = cwi_panel_row(p, r)) != NULL; r++)
        if (is_same_line(row, other, axis) && json_equal(varied_of(other, axis), x))
            return cwi_panel_mean(other, key);
    return NAN;
}

static bool is_first_of_line(const cwi_panel *p, const json_t *row, const char *axis)
{
    const json_t *other;
    for (size_t r = 0; (other = cwi_panel_row(p, r)) != row; r++)
        if (is_same_line(row, other, axis)) return false;
    return true;
}

cw_status cwi_panel_settings(const cwi_panel *p)
{
    const char *axis = find_axis(p);
    const json_t *row;
    char key[32], label[48], name[CWI_NAME_BYTES];
    if (!axis) return CW_OK;
    json_t *x = values_of(p, axis), *series = json_array();
    cwi_cell_metric(p->table, CWI_METRIC_recall, key, label);
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++) {
        if (!is_first_of_line(p, row, axis)) continue;
        json_t *values = json_array();
        for (size_t k = 0; k < json_array_size(x); k++)
            cwi_json_add(&values,
                         cwi_json_number(value_at(p, row, axis, json_array_get(x, k), key)));
        cwi_panel_series(&series, line_name(p, row, axis, name), values, !varied_of(row, axis));
    }
    return cwi_panel_figure(
        p, "settings", "Settings",
        "Level lines are settings without the option of the x axis, such as one k alone.",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_scale", "linear",
                  "x_title", axis, "y_title", label, "y_scale", "fit", "x", x, "series", series));
}

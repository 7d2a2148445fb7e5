/* published.c - what the paper printed. */
#include "report/published.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

cw_status cwi_published_read(cw_context *ctx, json_t **out)
{
    return cwi_json_parse(ctx, "published.json", (const char *)cwi_published, cwi_published_bytes,
                          out);
}

const char *cwi_published_dataset(const json_t *published, json_int_t users, json_int_t items)
{
    const json_t *sets = json_object_get(published, "datasets");
    for (size_t k = 0; k < json_array_size(sets); k++) {
        const json_t *set = json_array_get(sets, k);
        if (json_integer_value(json_object_get(set, "users")) == users &&
            json_integer_value(json_object_get(set, "items")) == items)
            return json_string_value(json_object_get(set, "name"));
    }
    return NULL;
}

const char *cwi_published_title(const json_t *published, const char *name)
{
    const char *title =
        json_string_value(json_object_get(json_object_get(published, "titles"), name));
    return title ? title : name;
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* A training set by its theta or by the file that `crosswise skew` writes for it. */
static bool is_train_set(const json_t *published, const json_t *given)
{
    const char *name = json_string_value(published), *text = json_string_value(given);
    char file[64];
    if (json_equal(published, given)) return true;
    if (!name || !text || strncmp(name, "theta ", 6) != 0) return false;
    snprintf(file, sizeof file, "train_%.20s.csv", name + 6);
    return strcmp(file, text) == 0;
}

/* Is this line of numbers about the row of an experiment? */
static bool is_about(const json_t *line, const char *dataset, const json_t *row)
{
    return is_text(json_array_get(line, 0), dataset) &&
           is_train_set(json_array_get(line, 1), json_object_get(row, "train_set")) &&
           json_equal(json_array_get(line, 2), json_object_get(row, "backbone")) &&
           json_equal(json_array_get(line, 3), json_object_get(row, "method")) &&
           json_object_size(json_object_get(row, "varied")) == 0;
}

/* The place of a metric in a line of numbers; past its end where the paper has it not. */
static size_t find_column(const json_t *published, const char *metric)
{
    const json_t *columns = json_object_get(published, "columns");
    size_t column = 0;
    while (column < json_array_size(columns) && !is_text(json_array_get(columns, column), metric))
        column++;
    return column;
}

double cwi_published_value(const json_t *published, const char *dataset, const json_t *row,
                           const char *metric)
{
    const json_t *lines = json_object_get(published, "numbers");
    size_t column = find_column(published, metric);
    for (size_t k = 0; dataset && k < json_array_size(lines); k++) {
        const json_t *line = json_array_get(lines, k), *value = json_array_get(line, column);
        if (is_about(line, dataset, row) && json_is_number(value)) return json_number_value(value);
    }
    return NAN;
}

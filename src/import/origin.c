/* origin.c - the record of what was read, as JSON. */
#include "core/json.h"
#include "import/import.h"

static json_t *list_files(const cwi_import *import)
{
    json_t *list = json_array();
    for (size_t e = 0; e < import->n_entries; e++) {
        const cwi_entry *entry = &import->entry[e];
        cwi_json_add(&list, json_pack("{s:o, s:s, s:I, s:I}", "name", cwi_json_string(entry->name),
                                      "format", entry->format, "lines", (json_int_t)entry->lines,
                                      "rows", (json_int_t)entry->rows));
    }
    return list;
}

static json_t *list_options(const cwi_import *import)
{
    json_t *object = json_object();
    const cw_option_info *info = cwi_import_options;
    for (; import->options && info->name; info++)
        cwi_json_set(&object, info->name,
                     cwi_json_string(cw_options_get(import->options, info->name)));
    return object;
}

static json_t *list_ignored(const cwi_import *import)
{
    json_t *list = json_array();
    for (size_t n = 0; n < import->n_ignored; n++)
        cwi_json_add(&list, cwi_json_string(import->ignored[n]));
    return list;
}

/* Every value with its rows where there are few, and null where there was no rating at all. */
static json_t *print_ratings(const cwi_import *import)
{
    const cwi_ratings *ratings = &import->ratings;
    cwi_rating_rows list[CWI_RATINGS_KEPT];
    size_t n = cwi_ratings_list(ratings, list);

    if (ratings->count + import->bad_ratings == 0) return json_null();
    json_t *object = json_pack("{s:I, s:I}", "numbers", (json_int_t)ratings->count, "not_numbers",
                               (json_int_t)import->bad_ratings);
    if (ratings->count == 0) return object;
    cwi_json_set(&object, "min", cwi_json_number(ratings->min));
    cwi_json_set(&object, "median", cwi_json_number(cwi_ratings_median(ratings)));
    cwi_json_set(&object, "max", cwi_json_number(ratings->max));
    if (n == 0 || n > CWI_RATINGS_LISTED) return object;
    json_t *values = json_array();
    for (size_t v = 0; v < n; v++)
        cwi_json_add(&values, json_pack("{s:o, s:I}", "value", cwi_json_number(list[v].value),
                                        "rows", (json_int_t)list[v].rows));
    cwi_json_set(&object, "values", values);
    return object;
}

cw_status cwi_origin_print(const cwi_import *import, char **out)
{
    json_t *object = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "files", list_files(import),
        "lines", (json_int_t)import->lines, "bad_lines", (json_int_t)import->bad_lines, "bad_times",
        (json_int_t)import->bad_times, "below_min_rating", (json_int_t)import->below,
        "without_rating", (json_int_t)import->unrated, "repeats", (json_int_t)import->repeats,
        "overlaps", (json_int_t)import->overlaps, "columns_ignored", list_ignored(import),
        "ratings", print_ratings(import), "options", list_options(import));
    if (import->latest) cwi_json_set(&object, "latest", json_incref(import->latest));
    *out = cwi_json_print(import->ctx, object, JSON_COMPACT);
    json_decref(object);
    return *out ? CW_OK : CW_NO_MEMORY;
}

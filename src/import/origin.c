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

cw_status cwi_origin_print(const cwi_import *import, char **out)
{
    json_t *object = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "files", list_files(import), "lines",
        (json_int_t)import->lines, "bad_lines", (json_int_t)import->bad_lines, "below_min_rating",
        (json_int_t)import->below, "repeats", (json_int_t)import->repeats, "overlaps",
        (json_int_t)import->overlaps, "options", list_options(import));
    *out = cwi_json_print(import->ctx, object, JSON_COMPACT);
    json_decref(object);
    return *out ? CW_OK : CW_NO_MEMORY;
}

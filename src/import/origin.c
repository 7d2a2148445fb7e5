/* origin.c - the record of what was read, as JSON. */
#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/report.h"
#include "import/import.h"

/* The _new calls take over their value, also when they fail and when it is NULL. */
static bool add_count(json_t *object, const char *name, int64_t count)
{
    return json_object_set_new(object, name, json_integer((json_int_t)count)) == 0;
}

static json_t *entry_value(const cwi_entry *entry)
{
    json_t *value = json_object();
    if (!value) return NULL;
    if (json_object_set_new(value, "name", cwi_report_string(entry->name)) == 0 &&
        json_object_set_new(value, "format", json_string(entry->format)) == 0 &&
        add_count(value, "lines", entry->lines) && add_count(value, "rows", entry->rows))
        return value;
    json_decref(value);
    return NULL;
}

static json_t *files_value(const cwi_import *import)
{
    json_t *list = json_array();
    for (size_t e = 0; list && e < import->n_entries; e++) {
        if (json_array_append_new(list, entry_value(&import->entry[e])) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *options_value(const cwi_import *import)
{
    json_t *object = json_object();
    const cw_option_info *info = cwi_import_options;

    for (; object && import->options && info->name; info++) {
        json_t *value = cwi_report_string(cw_options_get(import->options, info->name));
        if (json_object_set_new(object, info->name, value) == 0) continue;
        json_decref(object);
        return NULL;
    }
    return object;
}

static bool fill(const cwi_import *import, json_t *object)
{
    return json_object_set_new(object, "files", files_value(import)) == 0 &&
           add_count(object, "lines", import->lines) &&
           add_count(object, "bad_lines", import->bad_lines) &&
           add_count(object, "below_min_rating", import->below) &&
           add_count(object, "repeats", import->repeats) &&
           add_count(object, "overlaps", import->overlaps) &&
           json_object_set_new(object, "options", options_value(import)) == 0;
}

cw_status cwi_origin_print(const cwi_import *import, char **out)
{
    json_t *object = json_object();
    *out =
        object && fill(import, object) ? cwi_json_print(import->ctx, object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (*out) return CW_OK;
    return cwi_fail(import->ctx, CW_NO_MEMORY, "out of memory for the record of what was read");
}

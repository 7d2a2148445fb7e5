/* report.c - options and results as JSON text. */
#include "core/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"

json_t *cwi_report_string(const char *text)
{
    if (cwi_json_is_utf8(text, strlen(text))) return json_string_nocheck(text);
    char *plain = strdup(text);
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    json_t *string = plain ? json_string_nocheck(plain) : NULL;
    free(plain);
    return string;
}

json_t *cwi_report_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cwi_report_copy(const json_t *value)
{
    json_t *copy = json_deep_copy(value);
    if (json_equal(copy, value)) return copy;
    json_decref(copy);
    return NULL;
}

static json_t *value_of(const cw_options *options, const cw_option_info *info)
{
    if (!cwi_options_is_set(options, info->name)) return json_null();
    switch (info->kind) {
    case CW_OPTION_INTEGER: return json_integer(cwi_options_integer(options, info->name));
    case CW_OPTION_REAL: return json_real(cwi_options_real(options, info->name));
    case CW_OPTION_FLAG: return json_boolean(cwi_options_flag(options, info->name));
    case CW_OPTION_CHOICE:
    case CW_OPTION_TEXT: break;
    }
    return cwi_report_string(cwi_options_text(options, info->name));
}

json_t *cwi_report_options(const cw_options *options)
{
    json_t *object = json_object();
    const cw_option_info *info;
    for (size_t row = 0; object && (info = cwi_options_row(options, row)); row++)
        if (json_object_set_new(object, info->name, value_of(options, info)) != 0) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

bool cwi_report_value(const json_t *value, char *out, size_t bytes)
{
    char number[CWI_NUMBER_BYTES] = "";
    const char *text = number;
    if (json_is_integer(value))
        cwi_print_int(json_integer_value(value), number);
    else if (json_is_real(value))
        cwi_print_real(json_real_value(value), number);
    else if (json_is_boolean(value))
        text = json_is_true(value) ? "on" : "off";
    else if (json_is_string(value))
        text = json_string_value(value);
    else
        return false;
    cwi_copy_text(out, bytes, text);
    return true;
}

cw_status cwi_report_put(cw_context *ctx, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0) return CW_OK;
    return cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
}

cw_status cwi_report_text(cw_context *ctx, json_t *root, char **out)
{
    *out = cwi_json_print(ctx, root, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(root);
    return *out ? CW_OK : CW_NO_MEMORY;
}

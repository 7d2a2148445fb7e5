/* options.c - parse, check and keep the values of one option table. */
#include "core/options.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

enum { MAX_ROWS = 256 }; /* of a stage */

typedef struct value {
    const cw_option_info *info;
    char *text;
    double number; /* INTEGER and REAL; index of a CHOICE; 0 or 1 of a FLAG */
    double preset; /* the same of the table */
    bool is_given; /* assigned by somebody, not by the table */
} value;

struct cw_options {
    const char *stage;
    size_t count;
    value value[]; /* [count] */
};

static bool is_set(const value *v)
{
    return v->text[0] != '\0';
}

static cw_status bad_value(cw_context *ctx, const cw_option_info *info, const char *text,
                           const char *allowed)
{
    char shown[48];
    return cwi_fail(ctx, CW_BAD_ARG, "--%s is '%s'; it must be %s", info->name,
                    cwi_excerpt(text, strlen(text), shown), allowed);
}

/* "a whole number between 1 and 5", "a number above 0", ... */
static void print_range(const cw_option_info *info, char *out, size_t bytes)
{
    const char *noun = info->kind == CW_OPTION_INTEGER ? "a whole number" : "a number";
    char low[CWI_NUMBER_BYTES], high[CWI_NUMBER_BYTES];

    cwi_print_real(info->minimum, low);
    cwi_print_real(info->maximum, high);
    if (info->kind == CW_OPTION_INTEGER && info->maximum >= 0x1p53)
        snprintf(out, bytes, "%s, %s or more", noun, low);
    else if (isinf(info->maximum) && isinf(info->minimum))
        snprintf(out, bytes, "%s", noun);
    else if (isinf(info->maximum))
        snprintf(out, bytes, info->minimum_is_open ? "%s above %s" : "%s, %s or more", noun, low);
    else if (info->minimum_is_open || info->maximum_is_open)
        snprintf(out, bytes, "%s %s %s and %s %s", noun, info->minimum_is_open ? "above" : "from",
                 low, info->maximum_is_open ? "below" : "at most", high);
    else
        snprintf(out, bytes, "%s between %s and %s", noun, low, high);
}

static bool in_range(const cw_option_info *info, double number)
{
    if (isinf(number)) return false;
    bool above = info->minimum_is_open ? number > info->minimum : number >= info->minimum;
    bool below = info->maximum_is_open ? number < info->maximum : number <= info->maximum;
    return above && below; /* false for NaN */
}

static cw_status parse_number(cw_context *ctx, const cw_option_info *info, const char *text,
                              double *out)
{
    char allowed[160];
    int64_t whole = 0;
    bool good;

    if (info->kind == CW_OPTION_INTEGER) {
        good = cwi_parse_int(text, strlen(text), &whole) && whole < (INT64_C(1) << 53);
        *out = (double)whole;
    } else {
        good = cwi_parse_fraction(text, strlen(text), out);
    }
    if (good && in_range(info, *out)) return CW_OK;
    print_range(info, allowed, sizeof allowed);
    return bad_value(ctx, info, text, allowed);
}

/* A choice or a flag. */
static cw_status parse_word(cw_context *ctx, const cw_option_info *info, const char *text,
                            double *out)
{
    bool is_flag = info->kind == CW_OPTION_FLAG;
    char allowed[512] = "on or off";
    int index = cwi_word_index(is_flag ? "off|on|no|yes|false|true|0|1" : info->choices, text);
    *out = is_flag ? index % 2 : index;
    if (index >= 0) return CW_OK;
    if (!is_flag) snprintf(allowed, sizeof allowed, "one of %s", info->choices);
    return bad_value(ctx, info, text, allowed);
}

static cw_status parse_value(cw_context *ctx, const cw_option_info *info, const char *text,
                             double *out)
{
    bool is_number = info->kind == CW_OPTION_INTEGER || info->kind == CW_OPTION_REAL;
    bool is_not_given = text[0] == '\0' && info->preset[0] == '\0'; /* any more */
    *out = 0;
    if (is_not_given || info->kind == CW_OPTION_TEXT) return CW_OK;
    return is_number ? parse_number(ctx, info, text, out) : parse_word(ctx, info, text, out);
}

static cw_status assign(cw_context *ctx, value *v, const char *text, bool is_given)
{
    double number;
    CW_PASS(parse_value(ctx, v->info, text, &number));
    char *copy = cwi_strdup(ctx, text);
    if (!copy) return CW_NO_MEMORY;
    cwi_free(v->text); /* which `text` may be */
    bool not_given = !copy[0] && !v->info->preset[0];
    v->text = copy;
    v->number = number;
    v->is_given = is_given && !not_given;
    return CW_OK;
}

const cw_option_info *cwi_table_find(const cw_option_info *table, const char *name)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

/* The rows of all tables that no earlier table has, as far as there is room; returns how many. */
static size_t list_rows(const cw_option_info *const *tables, const cw_option_info *out[MAX_ROWS])
{
    size_t count = 0;
    for (size_t t = 0; tables[t]; t++)
        for (const cw_option_info *row = tables[t]; row->name && count < MAX_ROWS; row++) {
            size_t earlier = 0;
            while (earlier < t && !cwi_table_find(tables[earlier], row->name)) earlier++;
            if (earlier == t) out[count++] = row;
        }
    return count;
}

const cw_option_info *cwi_tables_row(const cw_option_info *const *tables, size_t index)
{
    const cw_option_info *rows[MAX_ROWS];
    return index < list_rows(tables, rows) ? rows[index] : NULL;
}

cw_status cwi_options_join(cw_context *ctx, const char *stage, const cw_option_info *const *tables,
                           cw_options **out)
{
    const cw_option_info *rows[MAX_ROWS];
    size_t count = list_rows(tables, rows);
    cw_status status = CW_OK;

    *out = NULL;
    cw_options *options = cwi_alloc_zero(ctx, 1, sizeof *options + count * sizeof(value));
    if (!options) return CW_NO_MEMORY;
    options->stage = stage;
    options->count = count;
    for (size_t row = 0; row < count && status == CW_OK; row++) {
        value *v = &options->value[row];
        v->info = rows[row];
        status = assign(ctx, v, rows[row]->preset, false);
        v->preset = v->number;
    }
    if (status == CW_OK)
        *out = options;
    else
        cw_options_free(options);
    return status;
}

cw_status cwi_options_create(cw_context *ctx, const char *stage, const cw_option_info *table,
                             cw_options **out)
{
    const cw_option_info *const tables[] = {table, NULL};
    return cwi_options_join(ctx, stage, tables, out);
}

void cw_options_free(cw_options *options)
{
    if (!options) return;
    for (size_t row = 0; row < options->count; row++) cwi_free(options->value[row].text);
    cwi_free(options);
}

static const value *find(const cw_options *options, const char *name)
{
    for (size_t row = 0; row < options->count; row++)
        if (strcmp(options->value[row].info->name, name) == 0) return &options->value[row];
    return NULL;
}

cw_status cw_options_set(cw_context *ctx, cw_options *options, const char *name, const char *text)
{
    cwi_begin(ctx);
    return cwi_options_assign(ctx, options, name, text);
}

cw_status cwi_options_assign(cw_context *ctx, cw_options *options, const char *name,
                             const char *text)
{
    char known[900] = "";
    for (size_t row = 0; row < options->count; row++)
        if (strcmp(options->value[row].info->name, name) == 0)
            return assign(ctx, &options->value[row], text, true);
    const char *note = cwi_options_former(options, name);
    if (note) return cwi_fail(ctx, CW_BAD_ARG, "%s", note);
    for (size_t row = 0; row < options->count; row++)
        cwi_list_text(known, sizeof known, options->value[row].info->name);
    return cwi_fail(ctx, CW_BAD_ARG, "there is no %s option '%s'; there are %s", options->stage,
                    name, known);
}

const char *cw_options_get(const cw_options *options, const char *name)
{
    const value *v = find(options, name);
    return v ? v->text : NULL;
}

bool cwi_options_is(const cw_options *options, const char *name, const char *word)
{
    const value *v = find(options, name);
    return v && strcmp(v->text, word) == 0;
}

/* Nobody reads an option that its stage, or the parts of a training, do not have. */
static const value *must_find(const cw_options *options, const char *name)
{
    static const cw_option_info no_row = {.preset = ""};
    static const value nothing = {.info = &no_row, .text = ""};
    const value *v = find(options, name);
    assert(v && "option is not in the table");
    return v ? v : &nothing;
}

int64_t cwi_options_integer(const cw_options *options, const char *name)
{
    return (int64_t)must_find(options, name)->number;
}

double cwi_options_real(const cw_options *options, const char *name)
{
    return must_find(options, name)->number;
}

int cwi_options_choice(const cw_options *options, const char *name)
{
    return (int)must_find(options, name)->number;
}

bool cwi_options_flag(const cw_options *options, const char *name)
{
    return must_find(options, name)->number != 0;
}

const char *cwi_options_text(const cw_options *options, const char *name)
{
    return must_find(options, name)->text;
}

bool cwi_options_is_set(const cw_options *options, const char *name)
{
    return is_set(must_find(options, name));
}

bool cw_options_is_given(const cw_options *options, const char *name)
{
    const value *v = find(options, name);
    return v && v->is_given;
}

bool cwi_options_is_preset(const cw_options *options, const char *name)
{
    const value *v = must_find(options, name);
    const char *preset = v->info->preset;
    if (v->info->kind == CW_OPTION_TEXT || !is_set(v) || !preset[0])
        return strcmp(v->text, preset) == 0;
    return v->number == v->preset;
}

const char *cwi_options_former(const cw_options *options, const char *name)
{
    for (size_t row = 0; row < options->count; row++) {
        const cw_option_info *info = options->value[row].info;
        if (info->former && strcmp(info->former, name) == 0) return info->former_note;
    }
    return NULL;
}

const cw_option_info *cwi_options_row(const cw_options *options, size_t index)
{
    return index < options->count ? options->value[index].info : NULL;
}

cw_status cwi_options_check(cw_context *ctx, const cw_options *options, const char *stage)
{
    if (!options || strcmp(options->stage, stage) == 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG, "these are options of '%s'; '%s' needs its own",
                    options->stage, stage);
}

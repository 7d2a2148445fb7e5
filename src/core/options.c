/* options.c - parse, check and keep the values of one option table. */
#include "core/options.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

typedef struct value {
    char *text;
    double number; /* INTEGER and REAL; index of a CHOICE; 0 or 1 of a FLAG */
    bool is_given; /* assigned by somebody, not by the table */
} value;

struct cw_options {
    const char *stage;
    const cw_option_info *table;
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

static cw_status parse_word(cw_context *ctx, const cw_option_info *info, const char *text,
                            double *out)
{
    char allowed[512];
    int index = cwi_word_index(info->choices, text);
    *out = index;
    if (index >= 0) return CW_OK;
    snprintf(allowed, sizeof allowed, "one of %s", info->choices);
    return bad_value(ctx, info, text, allowed);
}

static cw_status parse_flag(cw_context *ctx, const cw_option_info *info, const char *text,
                            double *out)
{
    int index = cwi_word_index("off|on|no|yes|false|true|0|1", text);
    *out = index % 2;
    return index >= 0 ? CW_OK : bad_value(ctx, info, text, "on or off");
}

static cw_status parse_value(cw_context *ctx, const cw_option_info *info, const char *text,
                             double *out)
{
    *out = 0;
    if (text[0] == '\0' && info->preset[0] == '\0') return CW_OK; /* back to "not given" */
    switch (info->kind) {
    case CW_OPTION_INTEGER:
    case CW_OPTION_REAL: return parse_number(ctx, info, text, out);
    case CW_OPTION_CHOICE: return parse_word(ctx, info, text, out);
    case CW_OPTION_FLAG: return parse_flag(ctx, info, text, out);
    case CW_OPTION_TEXT: return CW_OK;
    }
    return CW_OK;
}

static cw_status assign(cw_context *ctx, cw_options *options, size_t row, const char *text,
                        bool is_given)
{
    double number;
    cw_status status = parse_value(ctx, &options->table[row], text, &number);
    if (status != CW_OK) return status;
    char *copy = cwi_strdup(ctx, text);
    if (!copy) return CW_NO_MEMORY;
    cwi_free(options->value[row].text); /* which `text` may be */
    bool not_given = !copy[0] && !options->table[row].preset[0];
    options->value[row] =
        (value){.text = copy, .number = number, .is_given = is_given && !not_given};
    return CW_OK;
}

cw_status cwi_options_create(cw_context *ctx, const char *stage, const cw_option_info *table,
                             cw_options **out)
{
    size_t count = 0;
    cw_status status = CW_OK;

    *out = NULL;
    while (table[count].name) count++;
    cw_options *options = cwi_alloc_zero(ctx, 1, sizeof *options + count * sizeof(value));
    if (!options) return CW_NO_MEMORY;
    options->stage = stage;
    options->table = table;
    options->count = count;
    for (size_t row = 0; row < count && status == CW_OK; row++)
        status = assign(ctx, options, row, table[row].preset, false);
    if (status == CW_OK)
        *out = options;
    else
        cw_options_free(options);
    return status;
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
        if (strcmp(options->table[row].name, name) == 0) return &options->value[row];
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
    size_t length = 0;

    for (size_t row = 0; row < options->count; row++) {
        if (strcmp(options->table[row].name, name) == 0)
            return assign(ctx, options, row, text, true);
        int added = snprintf(known + length, sizeof known - length, "%s%s", row ? ", " : "",
                             options->table[row].name);
        if (added > 0 && (size_t)added < sizeof known - length) length += (size_t)added;
    }
    return cwi_fail(ctx, CW_BAD_ARG, "there is no %s option '%s'; there are %s", options->stage,
                    name, known);
}

const char *cw_options_get(const cw_options *options, const char *name)
{
    const value *v = find(options, name);
    return v ? v->text : NULL;
}

static const value *must_find(const cw_options *options, const char *name)
{
    const value *v = find(options, name);
    assert(v && "option is not in the table");
    return v;
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

bool cwi_options_is_given(const cw_options *options, const char *name)
{
    return must_find(options, name)->is_given;
}

const cw_option_info *cwi_options_table(const cw_options *options)
{
    return options->table;
}

cw_status cwi_options_check(cw_context *ctx, const cw_options *options, const char *stage)
{
    if (!options || strcmp(options->stage, stage) == 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG, "these are options of '%s'; '%s' needs its own",
                    options->stage, stage);
}

/* arrow_column.c - values of the columns of Arrow arrays, each looked at before it is believed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "import/arrow.h"

enum { VIEW_BYTES = 16, SHORT_VIEW = 12 };

/* ---- types ------------------------------------------------------------------------ */

static cwi_arrow_type type_of_time(const char *format)
{
    cwi_arrow_type days = {CWI_ARROW_TIME, 4, 86400.0}, none = {CWI_ARROW_NONE, 0, 0};
    if (strcmp(format, "tdD") == 0) return days;
    if (strcmp(format, "tdm") == 0) return (cwi_arrow_type){CWI_ARROW_TIME, 8, 1e3};
    if (strncmp(format, "ts", 2) != 0 || format[2] == '\0' || format[3] != ':') return none;
    switch (format[2]) { /* what a second is divided by */
    case 's': return (cwi_arrow_type){CWI_ARROW_TIME, 8, 1};
    case 'm': return (cwi_arrow_type){CWI_ARROW_TIME, 8, 1e3};
    case 'u': return (cwi_arrow_type){CWI_ARROW_TIME, 8, 1e6};
    case 'n': return (cwi_arrow_type){CWI_ARROW_TIME, 8, 1e9};
    default: return none;
    }
}

cwi_arrow_type cwi_arrow_type_of(const char *format)
{
    static const struct {
        const char *format;
        cwi_arrow_type type;
    } known[] = {
        {"c", {CWI_ARROW_INTEGER, 1, 1}},        {"s", {CWI_ARROW_INTEGER, 2, 1}},
        {"i", {CWI_ARROW_INTEGER, 4, 1}},        {"l", {CWI_ARROW_INTEGER, 8, 1}},
        {"C", {CWI_ARROW_UNSIGNED, 1, 1}},       {"S", {CWI_ARROW_UNSIGNED, 2, 1}},
        {"I", {CWI_ARROW_UNSIGNED, 4, 1}},       {"L", {CWI_ARROW_UNSIGNED, 8, 1}},
        {"f", {CWI_ARROW_REAL, 4, 1}},           {"g", {CWI_ARROW_REAL, 8, 1}},
        {"b", {CWI_ARROW_BOOLEAN, 0, 1}},        {"u", {CWI_ARROW_TEXT, 4, 1}},
        {"z", {CWI_ARROW_TEXT, 4, 1}},           {"U", {CWI_ARROW_TEXT, 8, 1}},
        {"Z", {CWI_ARROW_TEXT, 8, 1}},           {"vu", {CWI_ARROW_VIEW, VIEW_BYTES, 1}},
        {"vz", {CWI_ARROW_VIEW, VIEW_BYTES, 1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (strcmp(format, known[k].format) == 0) return known[k].type;
    return type_of_time(format);
}

/* ---- arrays ----------------------------------------------------------------------- */

static cw_status bad_array(cw_context *ctx, const char *name, const char *what)
{
    return cwi_fail(ctx, CW_BAD_DATA, "the Arrow data of column %s are malformed: %s", name, what);
}

/* Are there the rows that are asked for? */
static const char *check_extent(const struct ArrowArray *array, int64_t first, int64_t length)
{
    if (!array || !array->release) return "there is no array";
    if (array->length < 0 || array->offset < 0) return "a length or offset is negative";
    if (first < 0 || length < 0 || first > INT64_MAX - length) return "rows are out of range";
    if (first + length > array->length) return "it is shorter than the batch";
    if (array->offset > INT64_MAX / VIEW_BYTES - first - length) return "the offset is too large";
    return NULL;
}

/* How many buffers a type has; views have one or more for text, and one with their sizes. */
static const char *check_buffers(const struct ArrowArray *array, cwi_arrow_type type, bool is_empty)
{
    int64_t wanted = type.kind == CWI_ARROW_TEXT ? 3 : 2;
    bool is_view = type.kind == CWI_ARROW_VIEW;

    if (is_view ? array->n_buffers < 3 : array->n_buffers != wanted)
        return "the number of buffers is not that of its type";
    if (!array->buffers) return "there are no buffers";
    if (is_empty) return NULL;
    if (!array->buffers[1]) return "the buffer of values is missing";
    if (array->null_count > 0 && !array->buffers[0]) return "there are nulls and no bitmap";
    if (is_view && array->n_buffers > 3 && !array->buffers[array->n_buffers - 1])
        return "the sizes of the buffers are missing";
    return NULL;
}

static cw_status open_plain(cw_context *ctx, const char *name, cwi_arrow_type type,
                            const struct ArrowArray *array, int64_t first, int64_t length,
                            cwi_arrow_column *out)
{
    const char *wrong = check_extent(array, first, length);
    if (!wrong) wrong = check_buffers(array, type, length == 0);
    if (wrong) return bad_array(ctx, name, wrong);
    *out = (cwi_arrow_column){.type = type,
                              .first = array->offset + first,
                              .length = length,
                              .valid = array->null_count == 0 ? NULL : array->buffers[0],
                              .values = array->buffers[1]};
    if (type.kind == CWI_ARROW_TEXT) out->text = array->buffers[2];
    if (type.kind == CWI_ARROW_VIEW) {
        out->n_shared = array->n_buffers - 3;
        out->shared = array->buffers + 2;
        out->shared_bytes = array->buffers[array->n_buffers - 1];
    }
    return CW_OK;
}

cw_status cwi_arrow_open(cw_context *ctx, const char *name, const struct ArrowSchema *schema,
                         const struct ArrowArray *array, int64_t first, int64_t length,
                         cwi_arrow_column *dictionary, cwi_arrow_column *out)
{
    const struct ArrowSchema *of_values = schema->dictionary ? schema->dictionary : schema;
    cwi_arrow_type index = cwi_arrow_type_of(schema->format);
    cwi_arrow_type type = cwi_arrow_type_of(of_values->format);

    if (type.kind == CWI_ARROW_NONE || of_values->dictionary)
        return cwi_fail(ctx, CW_BAD_DATA,
                        "column %s has the Arrow type '%s', which holds neither text nor numbers "
                        "nor times",
                        name, of_values->format);
    if (!schema->dictionary) return open_plain(ctx, name, type, array, first, length, out);
    if (index.kind != CWI_ARROW_INTEGER && index.kind != CWI_ARROW_UNSIGNED)
        return bad_array(ctx, name, "places in its dictionary are no integers");
    CW_PASS(open_plain(ctx, name, index, array, first, length, out));
    const struct ArrowArray *words = array->dictionary;
    if (!words || words->length < 0) return bad_array(ctx, name, "its dictionary is missing");
    CW_PASS(open_plain(ctx, name, type, words, 0, words->length, dictionary));
    out->dictionary = dictionary;
    return CW_OK;
}

/* ---- values ----------------------------------------------------------------------- */

static bool bit_at(const uint8_t *bits, int64_t place)
{
    return bits[place / 8] >> (place % 8) & 1;
}

/* Numbers may lie anywhere: a producer need not align them. */
static int64_t integer_at(const void *values, int bytes, int64_t place)
{
    const char *at = (const char *)values + place * bytes;
    int16_t two;
    int32_t four;
    int64_t eight;
    switch (bytes) {
    case 1: return *(const int8_t *)at;
    case 2: memcpy(&two, at, sizeof two); return two;
    case 4: memcpy(&four, at, sizeof four); return four;
    default: memcpy(&eight, at, sizeof eight); return eight;
    }
}

/* The low bytes of a number that has no sign. */
static uint64_t unsigned_at(const void *values, int bytes, int64_t place)
{
    uint64_t value = (uint64_t)integer_at(values, bytes, place);
    return bytes == 8 ? value : value & ((UINT64_C(1) << 8 * bytes) - 1);
}

static double real_at(const void *values, int bytes, int64_t place)
{
    const char *at = (const char *)values + place * bytes;
    float four;
    double eight;
    if (bytes == 4) {
        memcpy(&four, at, sizeof four);
        return (double)four;
    }
    memcpy(&eight, at, sizeof eight);
    return eight;
}

static cw_status bad_value(cw_context *ctx, const char *what)
{
    return cwi_fail(ctx, CW_BAD_DATA, "the Arrow data are malformed: %s", what);
}

/* Follow a dictionary: *column and *row are then where the value is; *row is -1 for null. */
static cw_status find_value(cw_context *ctx, const cwi_arrow_column **column, int64_t *row)
{
    const cwi_arrow_column *c = *column;

    if (c->valid && !bit_at(c->valid, c->first + *row)) {
        *row = -1;
        return CW_OK;
    }
    if (!c->dictionary) return CW_OK;
    int64_t word = c->type.kind == CWI_ARROW_UNSIGNED
                       ? (int64_t)unsigned_at(c->values, c->type.bytes, c->first + *row)
                       : integer_at(c->values, c->type.bytes, c->first + *row);
    if (word < 0 || word >= c->dictionary->length)
        return bad_value(ctx, "a value is not in its dictionary");
    *column = c->dictionary;
    *row = word;
    if (c->dictionary->valid && !bit_at(c->dictionary->valid, c->dictionary->first + word))
        *row = -1;
    return CW_OK;
}

static cw_status text_at(cw_context *ctx, const cwi_arrow_column *c, int64_t place, cwi_text *out)
{
    int64_t begin = integer_at(c->values, c->type.bytes, place);
    int64_t end = integer_at(c->values, c->type.bytes, place + 1);

    if (begin < 0 || end < begin) return bad_value(ctx, "offsets of text go backwards");
    if (end > begin && !c->text) return bad_value(ctx, "the buffer of text is missing");
    *out = (cwi_text){end > begin ? c->text + begin : "", (size_t)(end - begin)};
    return CW_OK;
}

/* A view: its length; then the text itself, or four bytes of it, a buffer and a place in it. */
static cw_status view_at(cw_context *ctx, const cwi_arrow_column *c, int64_t place, cwi_text *out)
{
    const char *at = (const char *)c->values + place * VIEW_BYTES;
    int32_t field[4];

    memcpy(field, at, sizeof field);
    if (field[0] < 0) return bad_value(ctx, "a length of text is negative");
    *out = (cwi_text){at + 4, (size_t)field[0]};
    if (field[0] <= SHORT_VIEW) return CW_OK;
    if (field[2] < 0 || field[2] >= c->n_shared || field[3] < 0 || !c->shared[field[2]] ||
        (int64_t)field[3] + field[0] > c->shared_bytes[field[2]])
        return bad_value(ctx, "text lies outside its buffer");
    out->at = (const char *)c->shared[field[2]] + field[3];
    return CW_OK;
}

cw_status cwi_arrow_text(cw_context *ctx, const cwi_arrow_column *column, int64_t row,
                         char digits[32], cwi_text *out)
{
    *out = (cwi_text){"", 0};
    CW_PASS(find_value(ctx, &column, &row));
    if (row < 0) return CW_OK;
    int64_t place = column->first + row;
    if (column->type.kind == CWI_ARROW_TEXT) return text_at(ctx, column, place, out);
    if (column->type.kind == CWI_ARROW_VIEW) return view_at(ctx, column, place, out);
    if (column->type.kind == CWI_ARROW_UNSIGNED) {
        uint64_t value = unsigned_at(column->values, column->type.bytes, place);
        *out = (cwi_text){digits, (size_t)snprintf(digits, 32, "%" PRIu64, value)};
        return CW_OK;
    }
    int64_t value = integer_at(column->values, column->type.bytes, place);
    *out = (cwi_text){digits, cwi_print_int(value, digits)};
    return CW_OK;
}

cw_status cwi_arrow_number(cw_context *ctx, const cwi_arrow_column *column, int64_t row,
                           double *out)
{
    *out = (double)NAN;
    CW_PASS(find_value(ctx, &column, &row));
    if (row < 0) return CW_OK;
    const void *values = column->values;
    int bytes = column->type.bytes;
    int64_t place = column->first + row;
    switch (column->type.kind) {
    case CWI_ARROW_INTEGER: *out = (double)integer_at(values, bytes, place); break;
    case CWI_ARROW_UNSIGNED: *out = (double)unsigned_at(values, bytes, place); break;
    case CWI_ARROW_REAL: *out = real_at(values, bytes, place); break;
    case CWI_ARROW_BOOLEAN: *out = bit_at(values, place) ? 1.0 : 0.0; break;
    default: break;
    }
    return CW_OK;
}

cw_status cwi_arrow_seconds(cw_context *ctx, const cwi_arrow_column *column, int64_t row,
                            cwi_dates dates, double *out)
{
    const cwi_arrow_column *of_values = column->dictionary ? column->dictionary : column;
    char digits[32];
    cwi_text text;

    if (of_values->type.kind == CWI_ARROW_TEXT || of_values->type.kind == CWI_ARROW_VIEW) {
        CW_PASS(cwi_arrow_text(ctx, column, row, digits, &text));
        if (!cwi_parse_time(text.at, text.length, dates, out)) *out = (double)NAN;
        return CW_OK;
    }
    if (of_values->type.kind != CWI_ARROW_TIME) return cwi_arrow_number(ctx, column, row, out);
    *out = (double)NAN;
    CW_PASS(find_value(ctx, &column, &row));
    if (row < 0) return CW_OK;
    double value = (double)integer_at(column->values, column->type.bytes, column->first + row);
    bool is_days = column->type.bytes == 4;
    *out = is_days ? value * column->type.scale : value / column->type.scale;
    return CW_OK;
}

/* json.c - values, a parser that knows bad text from missing memory, signed files. */
#include "core/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/text.h"

/* ---- making values ------------------------------------------------------------ */

static void release(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

void cwi_json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) != 0) release(object);
}

void cwi_json_add(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) != 0) release(array);
}

json_t *cwi_json_string(const char *text)
{
    if (cwi_json_is_utf8(text, strlen(text))) return json_string_nocheck(text);
    char *plain = strdup(text);
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    json_t *string = plain ? json_string_nocheck(plain) : NULL;
    free(plain);
    return string;
}

json_t *cwi_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cwi_json_copy(const json_t *value)
{
    json_t *copy = json_deep_copy(value);
    if (!json_equal(copy, value)) release(&copy);
    return copy;
}

void cwi_json_copy_keys(const json_t *from, const char *keys, json_t **to)
{
    char key[CWI_WORD_BYTES];
    while (cwi_next_word(&keys, key)) {
        json_t *value = json_object_get(from, key);
        if (value) cwi_json_set(to, key, json_incref(value));
    }
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
    return cwi_json_string(cwi_options_text(options, info->name));
}

json_t *cwi_json_options(const cw_options *options)
{
    json_t *object = json_object();
    const cw_option_info *info;
    for (size_t row = 0; (info = cwi_options_row(options, row)) != NULL; row++)
        cwi_json_set(&object, info->name, value_of(options, info));
    return object;
}

cw_status cwi_json_check(cw_context *ctx, const json_t *value)
{
    return value ? CW_OK : cwi_no_memory(ctx);
}

/* ---- reading values -------------------------------------------------------------- */

const char *cwi_json_get_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double cwi_json_get_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

double cwi_json_to_number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool cwi_json_to_text(const json_t *value, char *out, size_t bytes)
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

bool cwi_json_has(const json_t *list, const json_t *value)
{
    size_t at = 0;
    while (at < json_array_size(list) && !json_equal(json_array_get(list, at), value)) at++;
    return at < json_array_size(list);
}

bool cwi_json_has_text(const json_t *list, const char *text)
{
    for (size_t at = 0; at < json_array_size(list); at++) {
        const char *other = json_string_value(json_array_get(list, at));
        if (other && strcmp(other, text) == 0) return true;
    }
    return false;
}

cwi_place cwi_place_field(const cwi_place *place, const char *field)
{
    cwi_place out = {.value = json_object_get(place->value, field)};
    snprintf(out.text, sizeof out.text, "%.100s%s%.50s", place->text, place->text[0] ? "." : "",
             field);
    return out;
}

cwi_place cwi_place_index(const cwi_place *place, size_t index)
{
    cwi_place out = {.value = json_array_get(place->value, index)};
    snprintf(out.text, sizeof out.text, "%.130s[%zu]", place->text, index);
    return out;
}

/* ---- parsing ------------------------------------------------------------------- */

enum { MAX_DEPTH = 128, MAX_BYTES = 1 << 30 };

typedef struct parser {
    const char *at, *end;
    char *text;       /* decoded names and strings; a string is longer in the source */
    size_t used;      /* of it, by the names of the objects that are open */
    int depth;        /* of these and of open arrays */
    const char *flaw; /* why it is no JSON; NULL: a value that is missing found no memory */
} parser;

static json_t *parse_value(parser *p);

/* Say what is wrong, and return what a call that fails returns: NULL, or false. */
static void *spoil(parser *p, const char *flaw)
{
    if (!p->flaw) p->flaw = flaw;
    return NULL;
}

static void skip_space(parser *p)
{
    while (p->at < p->end && memchr(" \t\r\n", *p->at, 4)) p->at++;
}

/* Take one character if it comes next, white space aside. */
static bool take(parser *p, char expected)
{
    skip_space(p);
    if (p->at == p->end || *p->at != expected) return false;
    p->at++;
    return true;
}

/* ---- strings ---------------------------------------------------------------- */

/* Bytes of the UTF-8 character that begins here; 0 when none does. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    static const unsigned char least[] = {0, 0, 0x80, 0xa0, 0x90};
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (n <= 1) return n;
    if (at[0] > 0xf4 || n > left) return 0;
    for (size_t k = 1; k < n; k++)
        if ((at[k] & 0xc0) != 0x80) return 0;
    if ((at[0] & (n == 3 ? 0x0f : 0x07)) == 0 && at[1] < least[n]) return 0; /* a longer form */
    if ((at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f)) return 0;
    return n;
}

bool cwi_json_is_utf8(const char *text, size_t length)
{
    size_t at = 0, n = 1;
    for (; at < length && n > 0; at += n)
        n = character_bytes((const unsigned char *)text + at, length - at);
    return n > 0;
}

static size_t print_character(uint32_t code, char *out)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t k = n; k-- > 1; code >>= 6) out[k] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[n] | code);
    return n;
}

/* Four hexadecimal digits. */
static bool take_code(parser *p, uint32_t *out)
{
    *out = 0;
    if (p->end - p->at < 4) return false;
    for (int k = 0; k < 4; k++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *p->at ? strchr(digits, *p->at++) : NULL;
        if (!digit) return false;
        *out = *out * 16 + (uint32_t)(digit - digits - (digit - digits > 15 ? 6 : 0));
    }
    return true;
}

/* What follows "\u", of which two may make one character. */
static bool take_unicode(parser *p, char **to)
{
    uint32_t code, low = 0;
    bool good = take_code(p, &code) && code > 0;
    if (good && code >= 0xd800 && code < 0xe000) {
        good = code < 0xdc00 && p->end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'u';
        if (good) p->at += 2;
        good = good && take_code(p, &low) && low >= 0xdc00 && low < 0xe000;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (!good) return spoil(p, "a string has a bad \\u escape");
    *to += print_character(code, *to);
    return true;
}

/* What follows a backslash. */
static bool take_escape(parser *p, char **to)
{
    static const char named[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char c = p->at < p->end ? *p->at++ : '\0';
    const char *found = c ? strchr(named, c) : NULL;
    if (c == 'u') return take_unicode(p, to);
    if (!found) return spoil(p, "a string has a bad escape");
    *(*to)++ = meant[found - named];
    return true;
}

/* The string that follows its opening quote; it stays until what comes after it is decoded. */
static const char *take_string(parser *p)
{
    char *to = p->text + p->used;
    while (p->at < p->end && *p->at != '"') {
        size_t n = character_bytes((const unsigned char *)p->at, (size_t)(p->end - p->at));
        if (n == 0) return spoil(p, "it is not UTF-8");
        if ((unsigned char)*p->at < 0x20)
            return spoil(p, "a string has an end of line or a control character in it");
        if (*p->at == '\\') {
            p->at++;
            if (!take_escape(p, &to)) return NULL;
            continue;
        }
        memcpy(to, p->at, n);
        to += n;
        p->at += n;
    }
    if (p->at == p->end) return spoil(p, "a string has no end");
    p->at++;
    *to = '\0';
    return p->text + p->used;
}

/* ---- other values ------------------------------------------------------------ */

static size_t count_digits(const parser *p, const char *from)
{
    const char *at = from;
    while (at < p->end && *at >= '0' && *at <= '9') at++;
    return (size_t)(at - from);
}

/* The end of the number that begins here; NULL when it is none. */
static const char *find_number_end(const parser *p, bool *is_real)
{
    const char *at = p->at + (*p->at == '-');
    size_t n = count_digits(p, at);
    *is_real = false;
    if (n == 0 || (n > 1 && *at == '0')) return NULL;
    at += n;
    if (at < p->end && *at == '.') {
        *is_real = true;
        n = count_digits(p, ++at);
        if (n == 0) return NULL;
        at += n;
    }
    if (at < p->end && (*at == 'e' || *at == 'E')) {
        *is_real = true;
        at++;
        if (at < p->end && (*at == '+' || *at == '-')) at++;
        n = count_digits(p, at);
        if (n == 0) return NULL;
        at += n;
    }
    return at;
}

static json_t *parse_number(parser *p)
{
    bool is_real;
    int64_t whole;
    double real;
    const char *end = find_number_end(p, &is_real);
    if (!end) return spoil(p, "a value is expected");
    size_t length = (size_t)(end - p->at);
    bool good = is_real ? cwi_parse_real(p->at, length, &real) && isfinite(real)
                        : cwi_parse_int(p->at, length, &whole);
    if (!good) return spoil(p, "a number is too large or too long");
    p->at = end;
    return is_real ? json_real(real) : json_integer(whole);
}

static bool take_word(parser *p, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

static bool add_element(parser *p, json_t *array)
{
    return json_array_append_new(array, parse_value(p)) == 0;
}

static bool add_member(parser *p, json_t *object)
{
    size_t before = p->used;
    if (!take(p, '"')) return spoil(p, "a name in quotes is expected");
    const char *name = take_string(p);
    if (!name) return false;
    if (json_object_get(object, name)) return spoil(p, "a name is there twice");
    if (!take(p, ':')) return spoil(p, "':' is expected");
    p->used += strlen(name) + 1;
    json_t *value = parse_value(p);
    p->used = before;
    return json_object_set_new_nocheck(object, name, value) == 0;
}

static bool fill(parser *p, json_t *out, char close, bool (*add)(parser *p, json_t *out))
{
    if (take(p, close)) return true;
    do {
        if (!add(p, out)) return false;
    } while (take(p, ','));
    return take(p, close) ||
           spoil(p, close == ']' ? "',' or ']' is expected" : "',' or '}' is expected");
}

static json_t *parse_nested(parser *p)
{
    bool is_array = *p->at++ == '[';
    if (p->depth == MAX_DEPTH) return spoil(p, "it is nested too deeply");
    json_t *out = is_array ? json_array() : json_object();
    p->depth++;
    bool good = out && fill(p, out, is_array ? ']' : '}', is_array ? add_element : add_member);
    p->depth--;
    if (!good) release(&out);
    return out;
}

static json_t *parse_value(parser *p)
{
    skip_space(p);
    char next = p->at < p->end ? *p->at : '\0';
    if (next == '{' || next == '[') return parse_nested(p);
    if (next == '"') {
        p->at++;
        const char *text = take_string(p);
        return text ? json_string_nocheck(text) : NULL;
    }
    if (take_word(p, "true")) return json_true();
    if (take_word(p, "false")) return json_false();
    if (take_word(p, "null")) return json_null();
    return p->at < p->end ? parse_number(p) : spoil(p, "it ends too early");
}

/* ---- texts ------------------------------------------------------------------- */

static int64_t line_of(const char *text, const char *at)
{
    int64_t line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

cw_status cwi_json_parse(cw_context *ctx, const char *name, const char *text, size_t length,
                         json_t **out)
{
    parser p = {.at = text, .end = text + length};

    *out = NULL;
    p.text = cwi_alloc(ctx, length + 1, 1);
    if (!p.text) return CW_NO_MEMORY;
    skip_space(&p);
    if (p.at < p.end && (*p.at == '{' || *p.at == '['))
        *out = parse_nested(&p);
    else
        spoil(&p, "'{' or '[' is expected");
    skip_space(&p);
    if (*out && p.at < p.end) spoil(&p, "there is something after its end");
    cwi_free(p.text);
    if (!p.flaw) return cwi_json_check(ctx, *out);
    release(out);
    return cwi_fail(ctx, CW_BAD_DATA, "%s:%lld: it is no JSON: %s", name,
                    (long long)line_of(text, p.at), p.flaw);
}

cw_status cwi_json_reparse(cw_context *ctx, const char *text, json_t **out)
{
    return cwi_json_parse(ctx, "text of the library", text, strlen(text), out);
}

char *cwi_json_print(cw_context *ctx, const json_t *value, size_t flags)
{
    flags |= JSON_ENCODE_ANY;
    size_t bytes = value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = bytes > 0 ? cwi_alloc(ctx, bytes + 1, 1) : NULL;
    if (text && json_dumpb(value, text, bytes, flags) == bytes) { /* which may fail, too */
        text[bytes] = '\0';
        return text;
    }
    cwi_free(text);
    (void)cwi_no_memory(ctx);
    return NULL;
}

cw_status cwi_json_text(cw_context *ctx, json_t *root, char **out)
{
    *out = cwi_json_print(ctx, root, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    json_decref(root);
    return *out ? CW_OK : CW_NO_MEMORY;
}

/* ---- signatures --------------------------------------------------------------- */

static const char before_digits[] = "\"xxh3_128\": \"", after_digits[] = "\"\n}";

enum { DIGITS = CWI_HASH_BYTES - 1 };

/* The digits with which a signed text ends, white space aside; NULL: it does not. */
static const char *find_digits(const char *text, size_t length)
{
    const size_t before = sizeof before_digits - 1, after = sizeof after_digits - 1;
    while (length > 0 && memchr(" \t\r\n", text[length - 1], 4)) length--;
    if (length < before + DIGITS + after) return NULL;
    const char *digits = text + length - after - DIGITS;
    return memcmp(digits + DIGITS, after_digits, after) == 0 &&
                   memcmp(digits - before, before_digits, before) == 0
               ? digits
               : NULL;
}

static void print_checksum(const char *text, const char *digits, char out[CWI_HASH_BYTES])
{
    cwi_digest digest = {0};
    cwi_digest_add(&digest, text, (size_t)(digits - text));
    cwi_digest_print(&digest, out);
}

cw_status cwi_json_sign(cw_context *ctx, json_t *root, char **out)
{
    static const char blank[] = "00000000000000000000000000000000";
    char hash[CWI_HASH_BYTES];
    *out = NULL;
    (void)json_object_del(root, "signed"); /* both come last */
    (void)json_object_del(root, "xxh3_128");
    cwi_json_set(&root, "signed", json_true());
    cwi_json_set(&root, "xxh3_128", json_string(blank));
    CW_PASS(cwi_json_text(ctx, root, out));
    char *digits = (char *)find_digits(*out, strlen(*out));
    print_checksum(*out, digits, hash);
    memcpy(digits, hash, DIGITS);
    return CW_OK;
}

cw_status cwi_json_verify(cw_context *ctx, const char *name, const char *text, size_t length,
                          json_t **out)
{
    char hash[CWI_HASH_BYTES];
    const char *digits = find_digits(text, length);
    *out = NULL;
    if (digits) print_checksum(text, digits, hash);
    if (digits && memcmp(digits, hash, DIGITS) != 0)
        return cwi_fail(ctx, CW_BAD_DATA, "%s is damaged: its checksum does not match", name);
    cw_status status = cwi_json_parse(ctx, name, text, length, out);
    if (status != CW_OK) return status;
    bool claims = json_object_get(*out, "signed") || json_object_get(*out, "xxh3_128");
    if (!json_is_object(*out))
        status = cwi_fail(ctx, CW_BAD_DATA, "%s: it must hold a JSON object", name);
    else if (claims && !digits)
        status =
            cwi_fail(ctx, CW_BAD_DATA, "%s is damaged: its checksum is not in its place", name);
    (void)json_object_del(*out, "signed");
    (void)json_object_del(*out, "xxh3_128");
    if (status != CW_OK) release(out);
    return status;
}

/* ---- files --------------------------------------------------------------------- */

cw_status cwi_json_load(cw_context *ctx, const char *path, json_t **out)
{
    char *text;
    size_t length;
    *out = NULL;
    cw_status status = cwi_file_read(ctx, path, MAX_BYTES, &text, &length);
    if (status == CW_OK) status = cwi_json_verify(ctx, path, text, length, out);
    cwi_free(text);
    return status;
}

/* leaves.c - the values of one JSON object, in a single pass and without a tree. */
#include "import/leaves.h"

#include <string.h>

typedef struct scanner {
    const char *at, *end;
    char *scratch; /* where the next unescaped string goes */
    const char *wrong;
    cwi_leaf_fn tell;
    void *user;
    char path[CWI_MAX_PATH];
    size_t path_length; /* CWI_MAX_PATH or more: too long to be told */
    int depth, lists;   /* lists: those that the place lies in */
} scanner;

static bool refuse(scanner *s, const char *wrong)
{
    if (!s->wrong) s->wrong = wrong;
    return false;
}

static void skip_blanks(scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')) s->at++;
}

/* The next byte that is no blank, or 0 at the end. */
static char peek(scanner *s)
{
    skip_blanks(s);
    return s->at < s->end ? *s->at : '\0';
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The four digits behind \u; -1: there are none. */
static int32_t take_unit(scanner *s)
{
    int32_t unit = 0;
    if (s->end - s->at < 4) return -1;
    for (int d = 0; d < 4; d++) {
        int digit = hex_digit(*s->at++);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static void put_utf8(scanner *s, int32_t code)
{
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *s->scratch++ = (char)(marks[more] | code >> 6 * more);
    for (int b = more - 1; b >= 0; b--) *s->scratch++ = (char)(0x80 | (code >> 6 * b & 0x3f));
}

/* \uXXXX, or two of them for one character. */
static bool take_code(scanner *s)
{
    int32_t code = take_unit(s);
    if (code < 0) return refuse(s, "four hexadecimal digits are needed behind \\u");
    if (code == 0) return refuse(s, "a string has a zero byte");
    if (code >= 0xd800 && code < 0xdc00) {
        bool has_second = s->end - s->at >= 6 && s->at[0] == '\\' && s->at[1] == 'u';
        s->at += has_second ? 2 : 0;
        int32_t low = has_second ? take_unit(s) : -1;
        if (low < 0xdc00 || low > 0xdfff) return refuse(s, "half a character behind \\u");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return refuse(s, "half a character behind \\u");
    }
    put_utf8(s, code);
    return true;
}

static bool take_escape(scanner *s)
{
    static const char written[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (s->at == s->end) return refuse(s, "a string is opened and never closed");
    char byte = *s->at++;
    if (byte == 'u') return take_code(s);
    const char *found = byte ? strchr(written, byte) : NULL;
    if (!found) return refuse(s, "an unknown escape in a string");
    *s->scratch++ = meant[found - written];
    return true;
}

/* The string at the quote, into *out: as it lies there, or in scratch when it has escapes. */
static bool take_string(scanner *s, cwi_text *out)
{
    const char *start = ++s->at;
    while (s->at < s->end && *s->at != '"' && *s->at != '\\' && (unsigned char)*s->at >= 32)
        s->at++;
    *out = (cwi_text){start, (size_t)(s->at - start)};
    if (s->at < s->end && *s->at == '"') {
        s->at++;
        return true;
    }
    char *copy = s->scratch;
    memcpy(copy, start, out->length);
    s->scratch += out->length;
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < 32) return refuse(s, "a control character in a string");
        if (*s->at != '\\')
            *s->scratch++ = *s->at++;
        else if (s->at++, !take_escape(s))
            return false;
    }
    if (s->at == s->end) return refuse(s, "a string is opened and never closed");
    s->at++;
    *out = (cwi_text){copy, (size_t)(s->scratch - copy)};
    return true;
}

static size_t pass_digits(scanner *s)
{
    const char *start = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') s->at++;
    return (size_t)(s->at - start);
}

static bool take_number(scanner *s, cwi_text *out)
{
    const char *start = s->at;
    bool is_good;

    if (*s->at == '-') s->at++;
    bool is_zero = s->at < s->end && *s->at == '0';
    size_t n = pass_digits(s);
    is_good = n == 1 || (n > 1 && !is_zero);
    if (is_good && s->at < s->end && *s->at == '.') {
        s->at++;
        is_good = pass_digits(s) > 0;
    }
    if (is_good && s->at < s->end && (*s->at | 0x20) == 'e') {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-')) s->at++;
        is_good = pass_digits(s) > 0;
    }
    *out = (cwi_text){start, (size_t)(s->at - start)};
    return is_good || refuse(s, "a value is no JSON");
}

static bool take_word(scanner *s, cwi_leaf *leaf)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t w = 0; w < 3; w++) {
        size_t length = strlen(words[w]);
        if ((size_t)(s->end - s->at) < length || memcmp(s->at, words[w], length) != 0) continue;
        leaf->kind = w == 2 ? CWI_LEAF_NULL : CWI_LEAF_WORD;
        leaf->value = (cwi_text){s->at, length};
        s->at += length;
        return true;
    }
    return refuse(s, "a value is no JSON");
}

static void tell(scanner *s, cwi_leaf *leaf)
{
    if (s->lists > 0 || s->path_length >= CWI_MAX_PATH) return;
    leaf->path = (cwi_text){s->path, s->path_length};
    s->tell(s->user, leaf);
}

static bool take_value(scanner *s);

/* A key joins the path, whose length before it is returned by *before. */
static bool take_key(scanner *s, size_t *before)
{
    cwi_text key;
    char *scratch = s->scratch;

    *before = s->path_length;
    if (peek(s) != '"') return refuse(s, "a key is needed, in quotes");
    if (!take_string(s, &key)) return false;
    size_t dot = *before > 0;
    if (*before + dot + key.length < CWI_MAX_PATH) {
        if (dot) s->path[*before] = '.';
        memcpy(s->path + *before + dot, key.at, key.length);
        s->path_length += dot + key.length;
    } else {
        s->path_length = CWI_MAX_PATH;
    }
    s->scratch = scratch; /* a key is not kept */
    if (peek(s) != ':') return refuse(s, "a colon is needed behind a key");
    s->at++;
    return true;
}

/* Behind a value: a comma and more, or the end.  *more says which. */
static bool take_comma(scanner *s, char closing, bool *more)
{
    char byte = peek(s);
    if (byte != ',' && byte != closing) return refuse(s, "a comma or a bracket is missing");
    s->at++;
    *more = byte == ',';
    return true;
}

static bool take_object(scanner *s)
{
    bool more = true;
    size_t before;

    s->at++;
    if (peek(s) == '}') {
        s->at++;
        return true;
    }
    while (more) {
        if (!take_key(s, &before) || !take_value(s)) return false;
        s->path_length = before;
        if (!take_comma(s, '}', &more)) return false;
    }
    return true;
}

static bool take_list(scanner *s)
{
    bool more = true;

    s->at++;
    if (peek(s) == ']') {
        s->at++;
        return true;
    }
    while (more)
        if (!take_value(s) || !take_comma(s, ']', &more)) return false;
    return true;
}

/* What is inside of a list or an object; the recursion ends at CWI_MAX_DEPTH. */
static bool take_inside(scanner *s, bool is_list)
{
    cwi_leaf leaf = {.kind = is_list ? CWI_LEAF_LIST : CWI_LEAF_OBJECT};
    if (s->depth == CWI_MAX_DEPTH) return refuse(s, "objects and lists lie too deep");
    tell(s, &leaf);
    s->depth++;
    s->lists += is_list;
    bool is_good = is_list ? take_list(s) : take_object(s);
    s->lists -= is_list;
    s->depth--;
    return is_good;
}

static bool take_value(scanner *s)
{
    cwi_leaf leaf = {0};
    bool is_good;

    switch (peek(s)) {
    case '{': return take_inside(s, false);
    case '[': return take_inside(s, true);
    case '"':
        leaf.kind = CWI_LEAF_STRING;
        is_good = take_string(s, &leaf.value);
        break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        leaf.kind = CWI_LEAF_NUMBER;
        is_good = take_number(s, &leaf.value);
        break;
    default: is_good = take_word(s, &leaf);
    }
    if (is_good) tell(s, &leaf);
    return is_good;
}

const char *cwi_leaves_read(cwi_text line, char *scratch, cwi_leaf_fn tell_leaf, void *user)
{
    scanner s = {.at = line.at,
                 .end = line.at + line.length,
                 .scratch = scratch,
                 .tell = tell_leaf,
                 .user = user};

    if (peek(&s) != '{') return "the line is no JSON object";
    if (!take_object(&s)) return s.wrong;
    return peek(&s) == '\0' && s.at == s.end ? NULL : "there is text behind the JSON object";
}

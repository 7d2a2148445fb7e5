/* text.c - locale-independent numbers. */
#include "core/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cwi_parse_int(const char *text, size_t length, int64_t *out)
{
    bool negative = length > 0 && text[0] == '-';
    size_t at = negative || (length > 0 && text[0] == '+') ? 1 : 0;
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value = 0;

    if (at == length) return false;
    for (; at < length; at++) {
        unsigned digit = (unsigned)(text[at] - '0');
        if (digit > 9 || value > (limit - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* Digits with an optional point and at most 15 of them significant: both the digits and the power
 * of ten are exact doubles, so one division rounds correctly.  Covers nearly all real input. */
static bool parse_short_decimal(const char *text, size_t length, double *out)
{
    static const double power[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool negative = text[0] == '-';
    size_t at = negative || text[0] == '+' ? 1 : 0;
    size_t first = at, decimals = 0;
    bool has_point = false;
    int64_t value = 0;

    if (length - at > 15) return false;
    for (; at < length; at++) {
        if (text[at] == '.' && !has_point) {
            has_point = true;
            continue;
        }
        unsigned digit = (unsigned)(text[at] - '0');
        if (digit > 9) return false;
        value = value * 10 + (int64_t)digit;
        decimals += has_point;
    }
    if (length - first == (has_point ? 1U : 0U)) return false;
    double magnitude = (double)value / power[decimals];
    *out = negative ? -magnitude : magnitude;
    return true;
}

bool cwi_parse_real(const char *text, size_t length, double *out)
{
    char copy[512];
    char *end;

    if (length == 0) return false;
    if (parse_short_decimal(text, length, out)) return true;
    /* strtod accepts leading blanks and hexadecimal; we do not. */
    if (length >= sizeof copy || memchr(text, '\0', length)) return false;
    if (strchr(" \t\n\v\f\r", text[0]) || memchr(text, 'x', length) || memchr(text, 'X', length))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* no allocation in glibc */
    if (c_locale == (locale_t)0) return false;
    *out = strtod_l(copy, &end, c_locale);
    freelocale(c_locale);
    return end == copy + length;
}

bool cwi_parse_fraction(const char *text, size_t length, double *out)
{
    const char *slash = memchr(text, '/', length);
    double top, bottom;

    if (!slash) return cwi_parse_real(text, length, out);
    size_t before = (size_t)(slash - text);
    if (!cwi_parse_real(text, before, &top)) return false;
    if (!cwi_parse_real(slash + 1, length - before - 1, &bottom) || bottom == 0) return false;
    *out = top / bottom;
    return true;
}

size_t cwi_print_int(int64_t value, char out[CWI_NUMBER_BYTES])
{
    char reversed[CWI_NUMBER_BYTES];
    size_t digits = 0, length = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        reversed[digits++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) out[length++] = '-';
    while (digits > 0) out[length++] = reversed[--digits];
    out[length] = '\0';
    return length;
}

size_t cwi_print_real(double value, char out[CWI_NUMBER_BYTES])
{
    double back = 0;
    int length = 0;
    if (value == floor(value) && fabs(value) < 1e15) return cwi_print_int((int64_t)value, out);
    for (int digits = 1; digits <= 17; digits++) {
        length = snprintf(out, CWI_NUMBER_BYTES, "%.*g", digits, value);
        char *comma = strchr(out, ','); /* the caller may run in a locale with a comma */
        if (comma) *comma = '.';
        if (cwi_parse_real(out, (size_t)length, &back) && (back == value || isnan(value))) break;
    }
    return (size_t)length;
}

int cwi_word_index(const char *words, const char *text)
{
    size_t length = strlen(text);
    for (int index = 0;; index++) {
        const char *bar = strchr(words, '|');
        size_t word = bar ? (size_t)(bar - words) : strlen(words);
        if (word == length && memcmp(words, text, word) == 0) return index;
        if (!bar) return -1;
        words = bar + 1;
    }
}

bool cwi_next_word(const char **words, char word[CWI_WORD_BYTES])
{
    size_t length = strcspn(*words, "|");
    if (!**words) return false;
    snprintf(word, CWI_WORD_BYTES, "%.*s", (int)length, *words);
    *words += length + ((*words)[length] == '|');
    return true;
}

bool cwi_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

bool cwi_is_file_name(const char *text)
{
    return text[0] && strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && !strchr(text, '/');
}

const char *cwi_excerpt(const char *text, size_t length, char out[48])
{
    size_t kept = length < 40 ? length : 40;
    for (size_t at = 0; at < kept; at++) {
        unsigned char byte = (unsigned char)text[at];
        out[at] = byte < 32 || byte == 127 ? '?' : text[at];
    }
    memcpy(out + kept, length > kept ? "..." : "", length > kept ? 4 : 1);
    return out;
}

void cwi_copy_text(char *out, size_t bytes, const char *text)
{
    size_t length = strlen(text);
    if (length >= bytes) length = bytes - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}

void cwi_list_text(char *list, size_t bytes, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", word);
}

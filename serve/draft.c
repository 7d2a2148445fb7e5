/* draft.c - text while it is written. */
#include "draft.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "url.h"

enum { DIGITS = 9, FIRST_ROOM = 512 };

void draft_expect(draft *d, size_t bytes)
{
    if (d->is_broken || (d->text && bytes <= d->room - d->length)) return;
    size_t room = d->length + bytes + (d->room > FIRST_ROOM ? d->room : FIRST_ROOM);
    char *more = realloc(d->text, room);
    if (!more) {
        d->is_broken = true;
        return;
    }
    d->text = more;
    d->room = room;
}

void draft_add(draft *d, const char *text, size_t length)
{
    draft_expect(d, length + 1);
    if (d->is_broken) return;
    memcpy(d->text + d->length, text, length);
    d->length += length;
    d->text[d->length] = '\0';
}

void draft_print(draft *d, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) d->is_broken = true;
    draft_expect(d, (size_t)length + 1);
    if (!d->is_broken) {
        (void)vsnprintf(d->text + d->length, (size_t)length + 1, format, again);
        d->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

char *draft_take(draft *d, size_t *length)
{
    DRAFT(d, "");
    char *text = d->is_broken ? NULL : d->text;
    *length = d->length;
    if (text) *d = (draft){0};
    draft_clear(d);
    return text;
}

void draft_clear(draft *d)
{
    free(d->text);
    *d = (draft){0};
}

/* ---- texts ----------------------------------------------------------------------- */

static void add_control(draft *d, unsigned char byte)
{
    static const char letters[] = "\bb\ff\nn\rr\tt";
    char text[8];
    const char *at = byte ? strchr(letters, byte) : NULL;
    int length = at ? snprintf(text, sizeof text, "\\%c", at[1])
                    : snprintf(text, sizeof text, "\\u%04X", byte);
    draft_add(d, text, (size_t)length);
}

static bool is_plain(unsigned char byte)
{
    return byte >= 32 && byte != '"' && byte != '\\';
}

void draft_id(draft *d, const char *id)
{
    size_t length = strlen(id), from = 0;
    bool is_text = is_utf8(id, length);
    DRAFT(d, "\"");
    for (size_t k = 0; k < length; k++) {
        unsigned char byte = (unsigned char)id[k];
        char escaped[8];
        if (is_plain(byte) && (is_text || byte < 128)) continue;
        draft_add(d, id + from, k - from);
        from = k + 1;
        if (byte < 32)
            add_control(d, byte);
        else if (byte < 128)
            draft_add(d, (char[]){'\\', (char)byte}, 2);
        else
            draft_add(d, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\\\x%02x", byte));
    }
    draft_add(d, id + from, length - from);
    DRAFT(d, "\"");
}

/* ---- numbers --------------------------------------------------------------------- */

void draft_whole(draft *d, int64_t number)
{
    char text[24], *at = text + sizeof text;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0) *--at = '-';
    draft_add(d, at, (size_t)(text + sizeof text - at));
}

/* By the C library, which has the decimal point of the locale, and two digits for an exponent. */
static void add_any(draft *d, double number)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.*g", DIGITS, number);
    for (char *at = text; *at; at++)
        if (!strchr("+-0123456789e", *at)) *at = '.';
    char *e = strchr(text, 'e');
    if (!e) {
        draft_add(d, text, strlen(text));
        if (!strchr(text, '.')) DRAFT(d, ".0");
        return;
    }
    const char *power = e + 1 + strspn(e + 1, "+-0");
    draft_add(d, text, (size_t)(e + 1 - text));
    if (e[1] == '-') DRAFT(d, "-");
    draft_add(d, power, strlen(power));
}

/* |number| as `digits` * 10^(power - 8), to the nearest, halves to even, exactly: a float is a
 * whole number of 24 bits times 2^e, which times 10^12 has 64 bits.  Of a float from 1e-4 up to
 * 1e8. */
static uint64_t round_digits(double number, int *power)
{
    static const uint64_t tens[] = {1,           10,           100,          1000,      10000,
                                    100000,      1000000,      10000000,     100000000, 1000000000,
                                    10000000000, 100000000000, 1000000000000};
    static const double starts[] = {1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    int e, p = -4;
    double fraction = frexp(number, &e);
    uint64_t whole = (uint64_t)ldexp(fraction, 24);
    e -= 24;
    while (p < 7 && number >= starts[p + 4]) p++;
    uint64_t all = whole * tens[DIGITS - 1 - p], digits = e >= 0 ? all << e : all >> -e;
    if (e < 0) {
        uint64_t half = UINT64_C(1) << (-e - 1), rest = all & (2 * half - 1);
        digits += rest > half || (rest == half && (digits & 1));
    }
    *power = p + (digits == tens[DIGITS]);
    return digits == tens[DIGITS] ? tens[DIGITS - 1] : digits;
}

/* Without an exponent, as power is from -4 to 8; zeros at the end are left out but for one. */
static void add_digits(draft *d, uint64_t digits, int power)
{
    char all[DIGITS + 4] = "0000", text[DIGITS + 8]; /* zeros of what is below one */
    int lead = power < 0 ? -power : 0, n = DIGITS + lead, point = power < 0 ? 1 : power + 1;
    for (int k = n - 1; k >= lead; k--, digits /= 10) all[k] = (char)('0' + digits % 10);
    while (n > point + 1 && all[n - 1] == '0') n--;
    if (n == point) all[n++] = '0';
    memcpy(text, all, (size_t)point);
    text[point] = '.';
    memcpy(text + point + 1, all + point, (size_t)(n - point));
    draft_add(d, text, (size_t)n + 1);
}

void draft_real(draft *d, double number)
{
    double size = fabs(number);
    int power;
    if (!isfinite(number)) d->is_broken = true; /* JSON has no such number */
    if (d->is_broken) return;
    if (size < 1e-4 || size >= 1e8 || size != (double)(float)size) {
        add_any(d, number);
        return;
    }
    uint64_t digits = round_digits(size, &power);
    if (number < 0) DRAFT(d, "-");
    add_digits(d, digits, power);
}

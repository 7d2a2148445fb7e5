/* calendar.c - times from text. */
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "import/import.h"

/* The number made of exactly these digits, or -1. */
static int digits(const char *text, size_t n)
{
    int value = 0;
    for (size_t d = 0; d < n; d++) {
        if (text[d] < '0' || text[d] > '9') return -1;
        value = value * 10 + (text[d] - '0');
    }
    return value;
}

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1970-01-01 in the Gregorian calendar. */
static int days_since_1970(int year, int month, int day)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int y = year - 1; /* full years since year 1 */
    int days = y * 365 + y / 4 - y / 100 + y / 400 - 719162;
    return days + before[month - 1] + (month > 2 && is_leap(year)) + day - 1;
}

static bool is_date(int year, int month, int day)
{
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || month < 1 || month > 12 || day < 1) return false;
    return day <= length[month - 1] + (month == 2 && is_leap(year));
}

static bool parse_date(const char *text, double *out)
{
    int year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2);

    if (text[4] != '-' || text[7] != '-' || !is_date(year, month, day)) return false;
    *out = 86400.0 * days_since_1970(year, month, day);
    return true;
}

/* "Z", "+hh:mm", "+hhmm" or "+hh", also with "-"; nothing is the same as Z. */
static bool parse_zone(const char *text, size_t length, double *out)
{
    *out = 0;
    if (length == 0 || (length == 1 && (text[0] == 'Z' || text[0] == 'z'))) return true;
    if (text[0] != '+' && text[0] != '-') return false;
    if (length != 3 && length != 5 && (length != 6 || text[3] != ':')) return false;
    int hour = digits(text + 1, 2), minute = length == 3 ? 0 : digits(text + length - 2, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    *out = (text[0] == '-' ? -60.0 : 60.0) * (hour * 60 + minute);
    return true;
}

/* ":ss" or ":ss.fraction" at the beginning of text, or nothing; *used is its length. */
static bool parse_second(const char *text, size_t length, double *out, size_t *used)
{
    *out = 0;
    *used = 0;
    if (length == 0 || text[0] != ':') return true;
    size_t end = 1;
    while (end < length && (text[end] == '.' || (text[end] >= '0' && text[end] <= '9'))) end++;
    if (end < 3 || digits(text + 1, 2) < 0) return false;
    *used = end;
    return cwi_parse_real(text + 1, end - 1, out) && *out < 61; /* 60 is a leap second */
}

/* "hh:mm", perhaps seconds, perhaps a zone. */
static bool parse_clock(const char *text, size_t length, double *out)
{
    double second, zone;
    size_t used;

    if (length < 5 || text[2] != ':') return false;
    int hour = digits(text, 2), minute = digits(text + 3, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    if (!parse_second(text + 5, length - 5, &second, &used)) return false;
    if (!parse_zone(text + 5 + used, length - 5 - used, &zone)) return false;
    *out = hour * 3600.0 + minute * 60.0 + second - zone;
    return true;
}

/* A date of another form than ISO 8601, cut at its marks. */
typedef struct parts {
    int first, second, year;
    size_t length;
    bool is_fixed; /* in the order of day, month: with dots, or when the year comes first */
} parts;

/* A number of one or two digits at *at, which moves behind it and the mark that follows. */
static int take_number(const char **at, const char *end, char mark)
{
    size_t n = 0;
    while (*at + n < end && n < 3 && (*at)[n] >= '0' && (*at)[n] <= '9') n++;
    if (n < 1 || n > 2 || *at + n >= end || (*at)[n] != mark) return -1;
    int value = digits(*at, n);
    *at += n + 1;
    return value;
}

/* "31.12.2024", "31/12/2024", "12-31-2024" or "2024/12/31" at the beginning of text. */
static bool take_parts(const char *text, size_t length, parts *out)
{
    const char *at = text, *end = text + length;

    if (length < 8) return false;
    if (length >= 10 && text[4] == '/' && text[7] == '/') {
        *out = (parts){digits(text + 8, 2), digits(text + 5, 2), digits(text, 4), 10, true};
        return out->first > 0 && out->second > 0 && out->year > 0;
    }
    char mark = text[1] >= '0' && text[1] <= '9' ? text[2] : text[1];
    if (mark != '.' && mark != '/' && mark != '-') return false;
    out->first = take_number(&at, end, mark);
    out->second = out->first < 0 ? -1 : take_number(&at, end, mark);
    if (out->second < 0 || end - at < 4) return false;
    out->year = digits(at, 4);
    out->length = (size_t)(at - text) + 4;
    out->is_fixed = mark == '.';
    return out->year > 0;
}

/* "hh:mm" with or without what may follow, or "h:mm AM" as it is written with month-first dates. */
static bool parse_day_time(const char *text, size_t length, double *out)
{
    char full[32] = "0";
    bool is_short = length > 1 && text[1] == ':';

    if (length + 2 > sizeof full) return false;
    memcpy(full + is_short, text, length);
    length += is_short;
    char half = length > 6 && (full[length - 1] == 'M' || full[length - 1] == 'm')
                    ? (char)(full[length - 2] | 0x20)
                    : 'x';
    if (half != 'a' && half != 'p') return parse_clock(full, length, out);
    length -= 2;
    if (full[length - 1] == ' ') length--;
    if (!parse_clock(full, length, out) || digits(full, 2) < 1 || digits(full, 2) > 12)
        return false;
    *out += (half == 'p' ? 43200 : 0) - (digits(full, 2) == 12 ? 43200 : 0);
    return true;
}

/* A date of another form, perhaps with a time behind it. */
static bool parse_other(const char *text, size_t length, cwi_dates dates, double *out)
{
    double clock = 0;
    parts p;

    if (!take_parts(text, length, &p)) return false;
    if (!p.is_fixed && dates == CWI_DATES_AUTO && p.first != p.second) return false;
    if (!p.is_fixed && dates == CWI_DATES_MONTH_FIRST) {
        int month = p.first;
        p.first = p.second;
        p.second = month;
    }
    if (!is_date(p.year, p.second, p.first)) return false;
    *out = 86400.0 * days_since_1970(p.year, p.second, p.first);
    if (p.length == length) return true;
    size_t gap = text[p.length] == ',' && p.length + 1 < length ? 2 : 1;
    if ((text[p.length + gap - 1] != ' ' && text[p.length] != 'T') || p.length + gap >= length)
        return false;
    if (!parse_day_time(text + p.length + gap, length - p.length - gap, &clock)) return false;
    *out += clock;
    return true;
}

bool cwi_parse_time(const char *text, size_t length, cwi_dates dates, double *out)
{
    double clock = 0;

    if (length < 10 || text[4] != '-') {
        if (cwi_parse_real(text, length, out)) return isfinite(*out);
        return parse_other(text, length, dates, out);
    }
    if (!parse_date(text, out)) return false;
    if (length == 10) return true;
    if (text[10] != ' ' && text[10] != 'T') return false;
    if (!parse_clock(text + 11, length - 11, &clock)) return false;
    *out += clock;
    return true;
}

cwi_dates cwi_date_order(const char *text, size_t length)
{
    parts p;
    if (!take_parts(text, length, &p) || p.is_fixed) return CWI_DATES_AUTO;
    bool is_day = is_date(p.year, p.second, p.first);
    bool is_month = is_date(p.year, p.first, p.second);
    return is_day == is_month ? CWI_DATES_AUTO
           : is_day           ? CWI_DATES_DAY_FIRST
                              : CWI_DATES_MONTH_FIRST;
}

bool cwi_date_is_ambiguous(const char *text, size_t length)
{
    parts p;
    return take_parts(text, length, &p) && !p.is_fixed && p.first != p.second &&
           is_date(p.year, p.second, p.first) && is_date(p.year, p.first, p.second);
}

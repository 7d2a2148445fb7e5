/* calendar.c - times from text. */
#include <math.h>

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

static bool parse_date(const char *text, double *out)
{
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = digits(text, 4), month = digits(text + 5, 2), day = digits(text + 8, 2);

    if (text[4] != '-' || text[7] != '-') return false;
    if (year < 1 || month < 1 || month > 12 || day < 1) return false;
    if (day > length[month - 1] + (month == 2 && is_leap(year))) return false;
    *out = 86400.0 * days_since_1970(year, month, day);
    return true;
}

/* "Z", "+hh:mm" or "-hh:mm"; nothing is the same as Z. */
static bool parse_zone(const char *text, size_t length, double *out)
{
    *out = 0;
    if (length == 0 || (length == 1 && (text[0] == 'Z' || text[0] == 'z'))) return true;
    if (length != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return false;
    int hour = digits(text + 1, 2), minute = digits(text + 4, 2);
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

bool cwi_parse_time(const char *text, size_t length, double *out)
{
    double clock = 0;

    if (length < 10 || text[4] != '-') return cwi_parse_real(text, length, out) && isfinite(*out);
    if (!parse_date(text, out)) return false;
    if (length == 10) return true;
    if (text[10] != ' ' && text[10] != 'T') return false;
    if (!parse_clock(text + 11, length - 11, &clock)) return false;
    *out += clock;
    return true;
}

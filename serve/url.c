/* url.c - the target of a request: a path and a query. */
#include "url.h"

#include <string.h>

/* How many bytes follow the first one of a character, and which the second may be; -1: none. */
static int sequence(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (first < 0x80) return 0;
    if (first >= 0xc2 && first <= 0xdf) return 1;
    if (first == 0xe0) *low = 0xa0;
    if (first == 0xed) *high = 0x9f; /* no surrogates */
    if (first >= 0xe0 && first <= 0xef) return 2;
    if (first == 0xf0) *low = 0x90;
    if (first == 0xf4) *high = 0x8f;
    return first >= 0xf0 && first <= 0xf4 ? 3 : -1;
}

bool is_utf8(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    while (at < end) {
        unsigned char low, high;
        int more = sequence(*at++, &low, &high);
        if (more < 0 || end - at < more) return false;
        for (int k = 0; k < more; k++, at++) {
            if (*at < low || *at > high) return false;
            low = 0x80;
            high = 0xbf;
        }
    }
    return true;
}

size_t count_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place; it never grows. */
static const char *decode(char *text, bool is_query)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        if (*at == '+' && is_query) {
            *to++ = ' ';
        } else if (*at != '%') {
            *to++ = *at;
        } else {
            int high = digit(at[1]), low = high < 0 ? -1 : digit(at[2]);
            if (low < 0) return "a % in the URL is not followed by two hexadecimal digits";
            if (high + low == 0) return "there is a zero byte in the URL";
            *to++ = (char)(16 * high + low);
            at += 2;
        }
    }
    *to = '\0';
    return is_utf8(text, (size_t)(to - text)) ? NULL : "the URL is not UTF-8";
}

static const char *parse_path(char *path, url *out)
{
    while (path) {
        char *next = strchr(path, '/');
        if (next) *next++ = '\0';
        if (out->n_segments == URL_SEGMENTS) return "the path of the URL has too many parts";
        out->segment[out->n_segments++] = path;
        const char *wrong = decode(path, false);
        if (wrong) return wrong;
        path = next;
    }
    return NULL;
}

static const char *parse_query(char *query, url *out)
{
    while (query) {
        char *next = strchr(query, '&');
        if (next) *next++ = '\0';
        if (*query) {
            static const char nothing[] = "";
            char *value = strchr(query, '=');
            if (value) *value++ = '\0';
            if (out->n_pairs == URL_PAIRS) return "the URL has too many parameters";
            const char *wrong = decode(query, true);
            if (!wrong && value) wrong = decode(value, true);
            if (wrong) return wrong;
            out->pair[out->n_pairs].name = query;
            out->pair[out->n_pairs++].value = value ? value : nothing;
        }
        query = next;
    }
    return NULL;
}

const char *url_parse(const char *target, url *out)
{
    size_t length = strlen(target);
    out->n_segments = out->n_pairs = 0;
    if (length > URL_BYTES) return "the URL is too long";
    if (target[0] != '/') return "the URL does not begin with a slash";
    memcpy(out->text, target, length + 1);
    char *query = strchr(out->text, '?');
    if (query) *query++ = '\0';
    const char *wrong = parse_path(out->text + 1, out);
    return wrong ? wrong : parse_query(query, out);
}

/* url.h - the target of a request: a path and a query. */
#ifndef SERVE_URL_H
#define SERVE_URL_H

#include <stdbool.h>
#include <stddef.h>

enum { URL_SEGMENTS = 8, URL_PAIRS = 1024, URL_BYTES = 16384, ID_LENGTH = 1000 /* characters */ };

/* Everything is decoded, without zero bytes, and UTF-8. */
typedef struct url {
    char text[URL_BYTES + 1];
    const char *segment[URL_SEGMENTS];
    size_t n_segments;
    struct {
        const char *name, *value;
    } pair[URL_PAIRS];
    size_t n_pairs;
} url;

/* Take a target apart; NULL, or what is wrong with it. */
const char *url_parse(const char *target, url *out);

/* Characters of a text that is UTF-8. */
size_t count_characters(const char *text);

/* Is it UTF-8, as RFC 3629 has it? */
bool is_utf8(const char *text, size_t length);

#endif

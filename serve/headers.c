/*
 * headers.c - headers that two readers could understand in two ways.
 *
 * A proxy and a server that do not agree where a request ends let clients hide one in the body of
 * another (RFC 9112, 11.2).  The web library takes the first of two lengths and prefers chunks to a
 * length; here such requests are refused and the connection ends.
 */
#ifdef CW_HAS_MICROHTTPD

#include <string.h>
#include <strings.h>

#include "door.h"

/* Those that may be there once, and that were. */
enum { LENGTH, CHUNKS, HOST, WHO, TYPE, N_SINGLE };

typedef struct look {
    bool is_there[N_SINGLE];
    const char *wrong;
} look;

static bool is_name(const char *name, size_t length)
{
    static const char others[] = "!#$%&'*+-.^_`|~0123456789"
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return length > 0 && strnlen(name, length) == length && strspn(name, others) == length;
}

static bool is_value(const char *text, size_t length)
{
    for (size_t k = 0; k < length; k++)
        if (((unsigned char)text[k] < ' ' && text[k] != '\t') || text[k] == 127) return false;
    return true;
}

static const char *find_wrong(look *l, const char *name, size_t name_length, const char *text,
                              size_t length)
{
    static const char *const single[N_SINGLE] = {"Content-Length", "Transfer-Encoding", "Host",
                                                 "Authorization", "Content-Type"};
    if (!is_name(name, name_length)) return "the name of a header is not one";
    if (!is_value(text, length)) return "a header has a control character";
    for (int k = 0; k < N_SINGLE; k++) {
        if (strcasecmp(name, single[k]) != 0) continue;
        if (l->is_there[k]) return "a header is there twice that may be there once";
        l->is_there[k] = true;
        if (k == CHUNKS && strcasecmp(text, "chunked") != 0)
            return "Transfer-Encoding may be chunked and nothing else";
    }
    if (l->is_there[LENGTH] && l->is_there[CHUNKS])
        return "Content-Length and Transfer-Encoding exclude each other";
    return NULL;
}

static enum MHD_Result see(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_length,
                           const char *text, size_t length)
{
    static const char nothing[] = "";
    look *l = arg;
    (void)kind;
    l->wrong = find_wrong(l, name, name_length, text ? text : nothing, length);
    return l->wrong ? MHD_NO : MHD_YES;
}

const char *wrong_headers(const exchange *e)
{
    look l = {0};
    (void)e->door->call.get_connection_values_n(e->connection, MHD_HEADER_KIND, see, &l);
    return l.wrong;
}

#else

typedef int nothing_here; /* ISO C wants something in a file */

#endif

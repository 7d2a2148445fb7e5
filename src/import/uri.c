/* uri.c - addresses of databases, taken apart. */
#include "import/uri.h"

#include <ctype.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

typedef struct scheme {
    const char *begin;
    cwi_uri_kind kind;
} scheme;

static const scheme schemes[] = {
    {"sqlite:", CWI_URI_SQLITE},
    {"postgresql://", CWI_URI_POSTGRESQL},
    {"postgres://", CWI_URI_POSTGRESQL},
};

static const scheme *find_scheme(const char *text)
{
    for (size_t s = 0; s < sizeof schemes / sizeof schemes[0]; s++)
        if (strncmp(text, schemes[s].begin, strlen(schemes[s].begin)) == 0) return &schemes[s];
    return NULL;
}

cwi_uri_kind cwi_uri_find(const char *text)
{
    const scheme *found = find_scheme(text);
    return found ? found->kind : CWI_URI_NONE;
}

/* ---- passwords --------------------------------------------------------------------------- */

/* Is "word=" a parameter of the text behind the first '?'? */
static bool has_parameter(const char *text, const char *word)
{
    size_t length = strlen(word);
    const char *at = strchr(text, '?');
    while (at) {
        if (strncmp(at + 1, word, length) == 0 && at[1 + length] == '=') return true;
        at = strchr(at + 1, '&');
    }
    return false;
}

/* What stands behind a colon of host:port and is no number, such as half of a password that has a
 * / or ? in it.  The colons of [::1] count for nothing. */
static bool has_odd_port(const char *host, size_t length)
{
    bool is_inside = false;
    for (size_t at = 0; at < length; at++) {
        if (host[at] == '[' || host[at] == ']') is_inside = host[at] == '[';
        if (host[at] != ':' || is_inside) continue;
        while (at + 1 < length && host[at + 1] >= '0' && host[at + 1] <= '9') at++;
        if (at + 1 < length && host[at + 1] != ',') return true;
    }
    return false;
}

/* A colon between the // and the last @ before the parameters: user:password@host. */
static bool has_password(const char *text)
{
    const char *begin = strstr(text, "//") + 2; /* the scheme has them */
    size_t length = strcspn(begin, "?");
    const char *at = memrchr(begin, '@', length);
    if (at && memchr(begin, ':', (size_t)(at - begin))) return true;
    const char *host = at ? at + 1 : begin;
    if (has_odd_port(host, strcspn(host, "/?"))) return true;
    return has_parameter(text, "password") || has_parameter(text, "sslpassword");
}

static cw_status refuse_password(cw_context *ctx)
{
    return cwi_fail(ctx, CW_BAD_ARG,
                    "the address of the database has a password in it, which everybody sees in the "
                    "list of processes; leave it out and put it into ~/.pgpass or PGPASSWORD");
}

/* ---- taking apart ------------------------------------------------------------------------ */

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* text[0..length) with %20 and the like as bytes. */
static cw_status decode(cw_context *ctx, const char *what, const char *text, size_t length,
                        char **out)
{
    char *copy = cwi_alloc(ctx, length + 1, 1), *to = copy;
    if (!copy) return CW_NO_MEMORY;
    *out = copy; /* the caller frees it in any case */
    *to = '\0';
    for (size_t at = 0; at < length; at++) {
        int high = -1, low = -1;
        if (text[at] == '%' && length - at > 2) {
            high = hex_value(text[at + 1]);
            low = hex_value(text[at + 2]);
        }
        if (text[at] == '%' && (high < 0 || low < 0 || high + low == 0))
            return cwi_fail(ctx, CW_BAD_ARG,
                            "%s of a database has a %% that is not followed by two hexadecimal "
                            "digits; %%25 stands for it",
                            what);
        *to++ = text[at] == '%' ? (char)(high << 4 | low) : text[at];
        if (text[at] == '%') at += 2;
    }
    *to = '\0';
    return CW_OK;
}

/* Where the value of a parameter of ours goes; NULL: it is not ours. */
static char **find_place(cwi_uri *uri, const char *name, size_t length)
{
    static const char *const roles[CWI_URI_ROLES] = {"user", "item", "rating", "time"};
    if (length == 5 && memcmp(name, "table", length) == 0) return &uri->table;
    if (length == 5 && memcmp(name, "query", length) == 0) return &uri->query;
    for (int role = 0; role < CWI_URI_ROLES; role++)
        if (strlen(roles[role]) == length && memcmp(name, roles[role], length) == 0)
            return &uri->column[role];
    return NULL;
}

/* One "name=value"; what is for libpq is appended to the address. */
static cw_status take_parameter(cw_context *ctx, const char *text, size_t length, bool *has_others,
                                cwi_uri *uri)
{
    char shown[48];
    const char *equals = memchr(text, '=', length);
    size_t before = equals ? (size_t)(equals - text) : length;
    char **place = find_place(uri, text, before);

    if (place && *place)
        return cwi_fail(ctx, CW_BAD_ARG, "the address of a database says twice what the %.*s is",
                        (int)before, text);
    if (place && equals) return decode(ctx, "the address", equals + 1, length - before - 1, place);
    if (uri->kind == CWI_URI_SQLITE || !equals)
        return cwi_fail(
            ctx, CW_BAD_ARG,
            "the address of a database has '%s' in it; behind the ? go table=, query=, "
            "user=, item=, rating= and time=, with & between them (%%26 stands for an & "
            "in one)",
            uri->kind == CWI_URI_SQLITE ? cwi_excerpt(text, before, shown) : "something without =");
    char *longer =
        cwi_format(ctx, "%s%c%.*s", uri->address, *has_others ? '&' : '?', (int)length, text);
    if (!longer) return CW_NO_MEMORY;
    cwi_free(uri->address);
    uri->address = longer;
    *has_others = true;
    return CW_OK;
}

static cw_status take_parameters(cw_context *ctx, const char *text, cwi_uri *uri)
{
    bool has_others = false;
    while (*text) {
        size_t length = strcspn(text, "&");
        if (length > 0) CW_PASS(take_parameter(ctx, text, length, &has_others, uri));
        text += length + (text[length] == '&');
    }
    return CW_OK;
}

/* Of the name of a database, as far as it is repeated: what is odd may be anything, even a password
 * in the wrong place. */
static size_t name_length(const char *database)
{
    size_t n = 0;
    while (database[n] && (isalnum((unsigned char)database[n]) || strchr("_-. ", database[n]) ||
                           (unsigned char)database[n] >= 0x80))
        n++;
    return n;
}

/* "sqlite:shop.db", "postgresql:shop": the file, or the database without what stands before it. */
static cw_status make_name(cw_context *ctx, cwi_uri *uri)
{
    if (uri->kind == CWI_URI_SQLITE) {
        uri->name = cwi_format(ctx, "sqlite:%s", uri->address);
    } else {
        const char *host = strstr(uri->address, "//") + 2; /* the scheme has them */
        const char *database = host + strcspn(host, "/?");
        database += *database == '/';
        uri->name = cwi_format(ctx, "postgresql:%.*s", (int)name_length(database), database);
    }
    return uri->name ? CW_OK : CW_NO_MEMORY;
}

static cw_status check(cw_context *ctx, const cwi_uri *uri)
{
    if (uri->kind == CWI_URI_SQLITE && !uri->address[0])
        return cwi_fail(ctx, CW_BAD_ARG, "sqlite: is not followed by the name of a file");
    if (!uri->table == !uri->query)
        return cwi_fail(
            ctx, CW_BAD_ARG, "%s: %s; an address is written %s?table=NAME or ...?query=SELECT ...",
            uri->name,
            uri->table ? "table and query are both given" : "a table or a query is missing",
            uri->kind == CWI_URI_SQLITE ? "sqlite:FILE" : "postgresql://[user@]host/database");
    return CW_OK;
}

cw_status cwi_uri_parse(cw_context *ctx, const char *text, cwi_uri *out)
{
    const scheme *found = find_scheme(text);

    *out = (cwi_uri){.kind = found ? found->kind : CWI_URI_NONE};
    if (!found) return cwi_fail(ctx, CW_BAD_ARG, "this is not the address of a database");
    size_t begin = found->kind == CWI_URI_SQLITE ? strlen(found->begin) : 0;
    size_t length = strcspn(text, "?");
    if (found->kind == CWI_URI_POSTGRESQL) {
        if (has_password(text)) return refuse_password(ctx);
        out->address = cwi_format(ctx, "%.*s", (int)length, text);
        if (!out->address) return CW_NO_MEMORY;
    } else {
        CW_PASS(decode(ctx, "the file", text + begin, length - begin, &out->address));
    }
    CW_PASS(make_name(ctx, out));
    if (text[length] == '?') CW_PASS(take_parameters(ctx, text + length + 1, out));
    return check(ctx, out);
}

void cwi_uri_clear(cwi_uri *uri)
{
    cwi_free(uri->address);
    cwi_free(uri->table);
    cwi_free(uri->query);
    for (int role = 0; role < CWI_URI_ROLES; role++) cwi_free(uri->column[role]);
    cwi_free(uri->name);
    *uri = (cwi_uri){0};
}

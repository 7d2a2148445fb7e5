/* columns.c - header lines, names of columns, and what is in which column. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/fields.h"
#include "import/import.h"

enum { MAX_NAMES = 256 }; /* columns behind these can be chosen by number */

#define ROLE_WORDS "user|item|rating|time"

/* Names that say what a column is, in small letters and digits only. */
static const char *const known_names[CWI_N_ROLES] = {
    "user|userid|users|uid|username|customer|customerid|reviewer|reviewerid|member|memberid|"
    "visitor|visitorid|account|accountid|person|personid|profile|profileid|session|sessionid",
    "item|itemid|items|iid|movie|movieid|film|filmid|business|businessid|product|productid|asin|"
    "parentasin|book|bookid|isbn|song|songid|track|trackid|artist|artistid|venue|venueid|"
    "location|locationid|poi|poiid|place|placeid|gmapid|news|newsid|article|articleid|game|"
    "gameid|app|appid|anime|animeid|video|videoid|outfit|outfitid|sku|recipe|recipeid",
    "rating|ratings|score|stars|star|weight|overall|bookrating|reviewrating|value|preference",
    "timestamp|time|date|datetime|ts|unixtime|unixreviewtime|reviewtime|createdat|ratedat",
};

typedef struct names {
    cwi_text name[MAX_NAMES];
    size_t count;
} names;

/* What the choice is made from. */
typedef struct chooser {
    cwi_import *import;
    const cwi_source *source;
    const cwi_sample *sample;
    cwi_layout *layout;
    names header;  /* the fields of the first line */
    bool is_table; /* whose columns say themselves what is in them */
} chooser;

static void take_names(chooser *c)
{
    c->header.count = cwi_split_roughly(c->layout, c->sample->line[0], c->header.name, MAX_NAMES);
    for (size_t n = 0; n < c->header.count; n++) {
        cwi_text name = cwi_trim(c->header.name[n]);
        const char *colon = c->layout->has_types ? memrchr(name.at, ':', name.length) : NULL;
        if (colon) name.length = (size_t)(colon - name.at);
        c->header.name[n] = name;
    }
}

static bool is_known_name(cwi_role role, cwi_text name)
{
    char plain[24];
    size_t length = 0;

    for (size_t at = 0; at < name.length; at++) {
        char byte = name.at[at];
        if (byte == '_' || byte == '-' || byte == ' ' || byte == '.') continue;
        if (length + 1 == sizeof plain) return false;
        plain[length++] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
    }
    plain[length] = '\0';
    return length > 0 && cwi_word_index(known_names[role], plain) >= 0;
}

static bool is_number(cwi_text text)
{
    double value;
    text = cwi_trim(text);
    return cwi_parse_real(text.at, text.length, &value);
}

/* A number that is hardly a rating: seconds since 1970 from 1973 on. */
static bool is_epoch(cwi_text text)
{
    double value;
    text = cwi_trim(text);
    return cwi_parse_real(text.at, text.length, &value) && value >= 1e8;
}

static bool is_time(cwi_text text)
{
    double value;
    text = cwi_trim(text);
    return cwi_parse_time(text.at, text.length, &value);
}

/* Do most sampled lines have such a value in that column? */
static bool is_mostly(const chooser *c, size_t column, bool (*test)(cwi_text))
{
    cwi_text field[MAX_NAMES];
    size_t first = c->layout->has_header ? 1 : 0, good = 0;

    if (column >= MAX_NAMES) return false;
    for (size_t s = first; s < c->sample->count; s++)
        good += cwi_split_roughly(c->layout, c->sample->line[s], field, column + 1) > column &&
                test(field[column]);
    return good > 0 && good * 2 >= c->sample->count - first;
}

/* Is there a header?  Yes when a name of the first line is known, or when it has no number and
 * the second line has one. */
static bool guess_header(const chooser *c)
{
    cwi_text field[MAX_NAMES];

    for (size_t n = 0; n < c->header.count; n++)
        if (is_known_name(CWI_ROLE_USER, c->header.name[n]) ||
            is_known_name(CWI_ROLE_ITEM, c->header.name[n]))
            return true;
    for (size_t n = 0; n < c->header.count; n++)
        if (is_number(c->header.name[n])) return false;
    if (c->sample->count < 2) return false;
    size_t count = cwi_split_roughly(c->layout, c->sample->line[1], field, MAX_NAMES);
    for (size_t n = 0; n < count; n++)
        if (is_number(field[n])) return true;
    return false;
}

/* "a, b, c" for a message. */
static const char *print_names(const names *header, char *out, size_t bytes)
{
    size_t used = 0;
    char shown[48];

    out[0] = '\0';
    for (size_t n = 0; n < header->count && used < bytes; n++) {
        cwi_excerpt(header->name[n].at, header->name[n].length, shown);
        int added = snprintf(out + used, bytes - used, "%s%s", n ? ", " : "", shown);
        used += added > 0 ? (size_t)added : 0;
    }
    return out;
}

static cw_status find_name(const chooser *c, cwi_text name, int *out)
{
    char list[400], shown[48];

    for (size_t n = 0; n < c->header.count; n++)
        if (name.length == c->header.name[n].length &&
            strncasecmp(name.at, c->header.name[n].at, name.length) == 0) {
            *out = (int)n;
            return CW_OK;
        }
    return cwi_fail(c->import->ctx, CW_BAD_ARG, "--columns: %s has no column '%s'; it has %s",
                    cwi_source_name(c->source), cwi_excerpt(name.at, name.length, shown),
                    print_names(&c->header, list, sizeof list));
}

/* One "role=column" of --columns. */
static cw_status choose_one(const chooser *c, cwi_text part)
{
    cw_context *ctx = c->import->ctx;
    const char *equals = memchr(part.at, '=', part.length);
    char role_name[8] = "", shown[48];
    int64_t number;

    size_t before = equals ? (size_t)(equals - part.at) : 0;
    if (before < sizeof role_name) memcpy(role_name, part.at, before);
    int role = before < sizeof role_name ? cwi_word_index(ROLE_WORDS, role_name) : -1;
    if (role < 0)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--columns: '%s' is not understood; write user=1,item=2,rating=3,time=4",
                        cwi_excerpt(part.at, part.length, shown));
    cwi_text value = {equals + 1, part.length - before - 1};
    if (!cwi_parse_int(value.at, value.length, &number)) {
        if (!c->layout->has_header)
            return cwi_fail(ctx, CW_BAD_ARG,
                            "--columns: %s has no header, so '%s' must be a number",
                            cwi_source_name(c->source), cwi_excerpt(value.at, value.length, shown));
        return find_name(c, value, &c->layout->column[role]);
    }
    if (number < 1 || number > CWI_MAX_COLUMNS)
        return cwi_fail(ctx, CW_BAD_ARG, "--columns: column %" PRId64 " must lie between 1 and %d",
                        number, CWI_MAX_COLUMNS);
    c->layout->column[role] = (int)number - 1;
    return CW_OK;
}

static cw_status choose_given(const chooser *c)
{
    cwi_text rest = {c->import->settings.columns, strlen(c->import->settings.columns)};

    while (rest.length > 0) {
        const char *comma = memchr(rest.at, ',', rest.length);
        size_t length = comma ? (size_t)(comma - rest.at) : rest.length;
        CW_PASS(choose_one(c, cwi_trim((cwi_text){rest.at, length})));
        rest.at += length + (comma != NULL);
        rest.length -= length + (comma != NULL);
    }
    if (c->layout->column[CWI_ROLE_USER] >= 0 && c->layout->column[CWI_ROLE_ITEM] >= 0)
        return CW_OK;
    return cwi_fail(c->import->ctx, CW_BAD_ARG, "--columns must say where user and item are");
}

static cw_status choose_by_name(const chooser *c)
{
    int *column = c->layout->column;
    char list[400];

    for (size_t n = c->header.count; n-- > 0;) /* the first one that fits wins */
        for (int role = 0; role < CWI_N_ROLES; role++)
            if (is_known_name((cwi_role)role, c->header.name[n]) &&
                (role != CWI_ROLE_TIME || c->is_table || is_mostly(c, n, is_time)))
                column[role] = (int)n;
    if (column[CWI_ROLE_USER] >= 0 && column[CWI_ROLE_ITEM] >= 0) return CW_OK;
    return cwi_fail(c->import->ctx, CW_BAD_DATA,
                    "%s: no %s column is known by its name; there are %s: choose with "
                    "--columns user=..,item=..%s",
                    cwi_source_name(c->source), column[CWI_ROLE_USER] < 0 ? "user" : "item",
                    print_names(&c->header, list, sizeof list),
                    c->is_table ? "" : ", or say --header no");
}

static cw_status choose_by_position(const chooser *c)
{
    int *column = c->layout->column;
    cwi_text field[2];
    size_t most = 0;

    for (size_t s = 0; s < c->sample->count; s++) {
        size_t count = cwi_split_roughly(c->layout, c->sample->line[s], field, 2);
        most = count > most ? count : most;
    }
    if (most < 2)
        return cwi_fail(c->import->ctx, CW_BAD_DATA,
                        "%s: there is only one column; a user and an item are needed",
                        cwi_source_name(c->source));
    column[CWI_ROLE_USER] = 0;
    column[CWI_ROLE_ITEM] = 1;
    if (is_mostly(c, 3, is_time)) column[CWI_ROLE_TIME] = 3;
    if (is_mostly(c, 2, is_number) && !is_mostly(c, 2, is_epoch))
        column[CWI_ROLE_RATING] = 2;
    else if (column[CWI_ROLE_TIME] < 0 && is_mostly(c, 2, is_time))
        column[CWI_ROLE_TIME] = 2;
    return CW_OK;
}

static bool has_role(const chooser *c, size_t column)
{
    for (int role = 0; role < CWI_N_ROLES; role++)
        if (c->layout->column[role] == (int)column) return true;
    return false;
}

/* What --columns would call a column: its name where it has one, its number otherwise. */
static const char *print_column(const chooser *c, size_t column, char out[48])
{
    bool is_named = c->layout->has_header && c->header.name[column].length > 0;
    if (is_named) return cwi_excerpt(c->header.name[column].at, c->header.name[column].length, out);
    snprintf(out, 48, "%zu", column + 1);
    return out;
}

/* "title, genre, column 7 and 3 more", or "columns 5, 6"; returns how many there are. */
static size_t print_ignored(const chooser *c, char *out, size_t bytes)
{
    enum { SHOWN = 8 };
    char name[48], word[64];
    size_t count = 0;

    out[0] = '\0';
    for (size_t n = 0; n < c->header.count; n++) {
        if (has_role(c, n) || count++ >= SHOWN) continue;
        bool lacks_name = c->layout->has_header && c->header.name[n].length == 0;
        snprintf(word, sizeof word, "%s%s", lacks_name ? "column " : "", print_column(c, n, name));
        cwi_list_text(out, bytes, word);
    }
    size_t used = strlen(out);
    if (c->header.count == MAX_NAMES && count > SHOWN)
        snprintf(out + used, bytes - used, " and more");
    else if (count > SHOWN)
        snprintf(out + used, bytes - used, " and %zu more", count - SHOWN);
    return count;
}

static void log_choice(const chooser *c)
{
    static const char *const role_names[CWI_N_ROLES] = {"user", "item", "rating", "time"};
    char text[128] = "", ignored[560];
    size_t used = 0;

    for (int role = 0; role < CWI_N_ROLES; role++)
        if (c->layout->column[role] >= 0)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s in column %d",
                                 role ? ", " : "", role_names[role], c->layout->column[role] + 1);
    size_t count = print_ignored(c, ignored, sizeof ignored);
    const char *what = c->layout->has_header ? "" : count == 1 ? "column " : "columns ";
    cwi_log(c->import->ctx, CW_LOG_INFO, "%s: %s%s%s%s%s", cwi_source_name(c->source), text,
            count ? "; ignored: " : "", count ? what : "", ignored,
            c->layout->is_ambiguous ? "; --format adjacency would read lists of items instead"
                                    : "");
}

/* The first value in a column that is neither empty nor a time, of the sampled lines. */
static cwi_text find_unreadable(const chooser *c, size_t column)
{
    cwi_text field[MAX_NAMES];

    for (size_t s = c->layout->has_header ? 1 : 0; s < c->sample->count; s++) {
        if (cwi_split_roughly(c->layout, c->sample->line[s], field, column + 1) <= column) continue;
        cwi_text value = cwi_trim(field[column]);
        if (value.length > 0 && !is_time(value)) return value;
    }
    return (cwi_text){NULL, 0};
}

/* A column that is called a time and was not taken, since hardly any value of it can be read. */
static void log_unreadable_times(const chooser *c)
{
    char name[48], shown[48];

    if (c->import->settings.columns[0] || !c->layout->has_header) return;
    for (size_t n = 0; n < c->header.count && c->layout->column[CWI_ROLE_TIME] < 0; n++) {
        if (!is_known_name(CWI_ROLE_TIME, c->header.name[n])) continue;
        cwi_text value = find_unreadable(c, n);
        if (!value.at) continue;
        cwi_log(c->import->ctx, CW_LOG_WARNING,
                "%s: the times in column %s cannot be read, such as '%s': no times are used, so "
                "splits by time are not possible",
                cwi_source_name(c->source), print_column(c, n, name),
                cwi_excerpt(value.at, value.length, shown));
        return;
    }
}

static cw_status remember_name(cwi_import *import, const char *name)
{
    enum { REMEMBERED = 256 };

    for (size_t n = 0; n < import->n_ignored; n++)
        if (strcmp(import->ignored[n], name) == 0) return CW_OK;
    if (import->n_ignored == REMEMBERED) return CW_OK;
    CW_PASS(cwi_grow(import->ctx, &import->ignored, &import->ignored_capacity,
                     import->n_ignored + 1, sizeof *import->ignored));
    char *copy = cwi_strdup(import->ctx, name);
    if (!copy) return CW_NO_MEMORY;
    import->ignored[import->n_ignored++] = copy;
    return CW_OK;
}

/* For the record of what was read: several files mostly have the same columns. */
static cw_status remember_ignored(const chooser *c)
{
    char name[48];
    for (size_t n = 0; n < c->header.count; n++)
        if (!has_role(c, n)) CW_PASS(remember_name(c->import, print_column(c, n, name)));
    return CW_OK;
}

static bool names_a_column(const char *columns)
{
    const char *equals = columns;
    while ((equals = strchr(equals, '='))) {
        size_t length = strcspn(++equals, ",");
        int64_t number;
        if (!cwi_parse_int(equals, length, &number)) return true;
    }
    return false;
}

cw_status cwi_columns_choose_named(cwi_import *import, const cwi_source *source,
                                   const char *const *columns, size_t n, cwi_layout *layout)
{
    chooser c = {.import = import, .source = source, .layout = layout, .is_table = true};

    *layout = (cwi_layout){.has_header = true, .column = {-1, -1, -1, -1}, .n_columns = n};
    c.header.count = n < MAX_NAMES ? n : MAX_NAMES;
    for (size_t k = 0; k < c.header.count; k++)
        c.header.name[k] = (cwi_text){columns[k], strlen(columns[k])};
    CW_PASS(import->settings.columns[0] ? choose_given(&c) : choose_by_name(&c));
    for (int role = 0; role < CWI_N_ROLES; role++)
        if (layout->column[role] >= (int)n)
            return cwi_fail(import->ctx, CW_BAD_ARG, "--columns: %s has %zu columns, and no %d",
                            cwi_source_name(source), n, layout->column[role] + 1);
    log_choice(&c);
    return remember_ignored(&c);
}

cw_status cwi_columns_choose(cwi_import *import, const cwi_source *source, const cwi_sample *sample,
                             cwi_layout *layout)
{
    const cwi_settings *settings = &import->settings;
    chooser c = {.import = import, .source = source, .sample = sample, .layout = layout};

    take_names(&c);
    if (settings->header != CWI_HEADER_AUTO)
        layout->has_header = settings->header == CWI_HEADER_YES;
    else
        layout->has_header =
            layout->has_types || names_a_column(settings->columns) || guess_header(&c);
    CW_PASS(settings->columns[0] ? choose_given(&c)
            : layout->has_header ? choose_by_name(&c)
                                 : choose_by_position(&c));
    for (int role = 0; role < CWI_N_ROLES; role++)
        if ((size_t)(layout->column[role] + 1) > layout->n_columns)
            layout->n_columns = (size_t)(layout->column[role] + 1);
    log_choice(&c);
    log_unreadable_times(&c);
    return remember_ignored(&c);
}

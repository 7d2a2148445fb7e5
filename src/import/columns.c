/* columns.c - header lines, names of columns, and what is in which column. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/fields.h"
#include "import/import.h"

enum { MAX_NAMES = CWI_MAX_NAMES };

#define ROLE_WORDS "user|item|rating|time"

typedef struct names {
    cwi_text name[MAX_NAMES];
    size_t count;
} names;

/* What the choice is made from. */
typedef struct chooser {
    cwi_import *import;
    const cwi_source *source;
    const cwi_view *view;
    cwi_layout *layout;
    names header;    /* the fields of the first line */
    cwi_dates dates; /* of the column that is looked at */
} chooser;

/* The sampled lines of text in columns, as a view. */
typedef struct text_view {
    cwi_view base;
    const cwi_sample *sample;
    const cwi_layout *layout;
} text_view;

static size_t split_row(const cwi_view *view, size_t row, cwi_text *field, size_t n)
{
    const text_view *text = (const text_view *)view;
    return cwi_split_roughly(text->layout, text->sample->line[row + text->layout->has_header],
                             field, n);
}

static void take_names(chooser *c, const cwi_sample *sample)
{
    c->header.count = cwi_split_roughly(c->layout, sample->line[0], c->header.name, MAX_NAMES);
    for (size_t n = 0; n < c->header.count; n++) {
        cwi_text name = cwi_trim(c->header.name[n]);
        const char *colon = c->layout->has_types ? memrchr(name.at, ':', name.length) : NULL;
        if (colon) name.length = (size_t)(colon - name.at);
        c->header.name[n] = name;
    }
}

typedef bool (*test_fn)(const chooser *c, cwi_text text);

static bool is_number(const chooser *c, cwi_text text)
{
    double value;
    (void)c;
    text = cwi_trim(text);
    return cwi_parse_real(text.at, text.length, &value) ||
           cwi_parse_comma(text.at, text.length, &value);
}

/* A number that is hardly a rating: seconds since 1970 from 1973 on. */
static bool is_epoch(const chooser *c, cwi_text text)
{
    double value;
    (void)c;
    text = cwi_trim(text);
    return cwi_parse_real(text.at, text.length, &value) && value >= 1e8;
}

static bool is_time(const chooser *c, cwi_text text)
{
    double value;
    text = cwi_trim(text);
    return cwi_parse_time(text.at, text.length, c->dates, &value);
}

/* Calls look for the values of a column that are there, until it returns false. */
static bool each_value(const chooser *c, size_t column, bool (*look)(void *user, cwi_text value),
                       void *user)
{
    cwi_text field[MAX_NAMES];

    if (column >= MAX_NAMES) return true;
    for (size_t s = 0; s < c->view->n_rows; s++)
        if (c->view->row(c->view, s, field, column + 1) > column &&
            !look(user, cwi_trim(field[column])))
            return false;
    return true;
}

typedef struct tally {
    const chooser *c;
    test_fn test;
    size_t good;
} tally;

static bool count_good(void *user, cwi_text value)
{
    tally *t = user;
    t->good += t->test(t->c, value);
    return true;
}

/* Do most sampled rows have such a value in that column? */
static bool is_mostly(const chooser *c, size_t column, test_fn test)
{
    tally t = {.c = c, .test = test};
    (void)each_value(c, column, count_good, &t);
    return t.good > 0 && t.good * 2 >= c->view->n_rows;
}

/* The order that the dates of a column show; 0 is none, 3 is both. */
static bool look_for_order(void *user, cwi_text value)
{
    *(unsigned *)user |= (unsigned)cwi_date_order(value.at, value.length);
    return true;
}

/* Are there mostly times in that column?  Their order is remembered, as far as it is plain. */
static bool is_times(chooser *c, size_t column)
{
    unsigned seen = 0;
    c->dates = c->import->settings.dates;
    if (c->dates == CWI_DATES_AUTO) {
        (void)each_value(c, column, look_for_order, &seen);
        if (seen != (CWI_DATES_DAY_FIRST | CWI_DATES_MONTH_FIRST)) c->dates = (cwi_dates)seen;
    }
    return c->view->is_typed || is_mostly(c, column, is_time);
}

/* Is there a header?  Yes when a name of the first line is known, or when it has no number and
 * the second line has one. */
static bool guess_header(const chooser *c, const cwi_sample *sample)
{
    cwi_text field[MAX_NAMES];

    for (size_t n = 0; n < c->header.count; n++)
        for (cwi_role role = CWI_ROLE_USER; role <= CWI_ROLE_ITEM; role++)
            if (cwi_names_know(role, c->header.name[n]) ||
                cwi_names_translate(role, c->header.name[n]))
                return true;
    for (size_t n = 0; n < c->header.count; n++)
        if (is_number(c, c->header.name[n])) return false;
    if (sample->count < 2) return false;
    size_t count = cwi_split_roughly(c->layout, sample->line[1], field, MAX_NAMES);
    for (size_t n = 0; n < count; n++)
        if (is_number(c, field[n])) return true;
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
    char role_name[8] = "", shown[48], list[400];
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
    if (c->view->is_complete && (size_t)number > c->header.count)
        return cwi_fail(ctx, CW_BAD_ARG, "--columns: %s has no column %" PRId64 "; it has %s",
                        cwi_source_name(c->source), number,
                        print_names(&c->header, list, sizeof list));
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

static bool has_numbers(const chooser *c, size_t column)
{
    if (!c->view->is_typed) return is_mostly(c, column, is_number);
    return !c->view->has_numbers || c->view->has_numbers[column];
}

/* Give roles that have no column yet the first one whose name is known. */
static void choose_known(chooser *c, bool (*knows)(cwi_role role, cwi_text name), bool has_doubts)
{
    int *column = c->layout->column;

    for (int role = 0; role < CWI_N_ROLES; role++)
        for (size_t n = 0; n < c->header.count && column[role] < 0; n++)
            if (knows((cwi_role)role, c->header.name[n]) &&
                (role != CWI_ROLE_TIME || is_times(c, n)) &&
                (role != CWI_ROLE_RATING || !has_doubts || has_numbers(c, n)))
                column[role] = (int)n;
}

static cw_status choose_by_name(chooser *c)
{
    int *column = c->layout->column;
    char list[400];

    choose_known(c, cwi_names_know, false);
    choose_known(c, cwi_names_translate, true);
    if (column[CWI_ROLE_USER] >= 0 && column[CWI_ROLE_ITEM] >= 0) return CW_OK;
    return cwi_fail(c->import->ctx, CW_BAD_DATA,
                    "%s: no %s %s is known by its name; there are %s: choose with "
                    "--columns user=..,item=..%s",
                    cwi_source_name(c->source), column[CWI_ROLE_USER] < 0 ? "user" : "item",
                    c->view->word, print_names(&c->header, list, sizeof list),
                    c->view->is_complete ? "" : ", or say --header no");
}

static cw_status choose_by_position(chooser *c)
{
    int *column = c->layout->column;
    cwi_text field[2];
    size_t most = 0;

    for (size_t s = 0; s < c->view->n_rows; s++) {
        size_t count = c->view->row(c->view, s, field, 2);
        most = count > most ? count : most;
    }
    if (most < 2)
        return cwi_fail(c->import->ctx, CW_BAD_DATA,
                        "%s: there is only one column; a user and an item are needed",
                        cwi_source_name(c->source));
    column[CWI_ROLE_USER] = 0;
    column[CWI_ROLE_ITEM] = 1;
    if (is_times(c, 3)) column[CWI_ROLE_TIME] = 3;
    if (is_mostly(c, 2, is_number) && !is_mostly(c, 2, is_epoch))
        column[CWI_ROLE_RATING] = 2;
    else if (column[CWI_ROLE_TIME] < 0 && is_times(c, 2))
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
    char text[400] = "", ignored[560], name[48], word[80];

    for (int role = 0; role < CWI_N_ROLES; role++) {
        int column = c->layout->column[role];
        if (column < 0) continue;
        if (c->view->is_complete)
            snprintf(word, sizeof word, "%s in %s %s", role_names[role], c->view->word,
                     print_column(c, (size_t)column, name));
        else
            snprintf(word, sizeof word, "%s in column %d", role_names[role], column + 1);
        cwi_list_text(text, sizeof text, word);
    }
    size_t count = print_ignored(c, ignored, sizeof ignored);
    const char *what = c->layout->has_header ? "" : count == 1 ? "column " : "columns ";
    cwi_log(c->import->ctx, CW_LOG_INFO, "%s: %s%s%s%s%s", cwi_source_name(c->source), text,
            count ? "; ignored: " : "", count ? what : "", ignored,
            c->layout->is_ambiguous ? "; --format adjacency would read lists of items instead"
                                    : "");
}

typedef struct search {
    const chooser *c;
    cwi_text found; /* at is NULL until there is one */
} search;

static bool look_for_unreadable(void *user, cwi_text value)
{
    search *s = user;
    if (value.length > 0 && !is_time(s->c, value)) s->found = value;
    return !s->found.at;
}

/* A column that is called a time and was not taken, since hardly any value of it can be read. */
static void log_unreadable_times(chooser *c)
{
    char name[48], shown[48];

    if (c->import->settings.columns[0] || !c->layout->has_header) return;
    for (size_t n = 0; n < c->header.count && c->layout->column[CWI_ROLE_TIME] < 0; n++) {
        search s = {.c = c};
        if (!cwi_names_know(CWI_ROLE_TIME, c->header.name[n])) continue;
        (void)is_times(c, n);
        (void)each_value(c, n, look_for_unreadable, &s);
        if (!s.found.at) continue;
        cwi_log(c->import->ctx, CW_LOG_WARNING,
                "%s: the times in column %s cannot be read, such as '%s'%s: no times are used, so "
                "splits by time are not possible",
                cwi_source_name(c->source), print_column(c, n, name),
                cwi_excerpt(s.found.at, s.found.length, shown),
                cwi_date_is_ambiguous(s.found.at, s.found.length)
                    ? " (say --dates day-first or --dates month-first)"
                    : "");
        return;
    }
}

/* A comma in numbers is the decimal one when it cannot be one between thousands. */
static bool look_for_comma(void *user, cwi_text value)
{
    double number;
    const char *comma = memchr(value.at, ',', value.length);
    size_t before = comma ? (size_t)(comma - value.at) : 0;
    bool is_plain = comma && cwi_parse_comma(value.at, value.length, &number);
    bool is_thousand = value.length == before + 4 && before <= 3 && value.at[0] != '0';
    *(bool *)user = is_plain && !is_thousand;
    return !*(bool *)user;
}

/* How the values of the chosen columns are written. */
static void take_spelling(chooser *c)
{
    int rating = c->layout->column[CWI_ROLE_RATING], when = c->layout->column[CWI_ROLE_TIME];

    c->import->has_comma = false;
    if (rating >= 0) (void)each_value(c, (size_t)rating, look_for_comma, &c->import->has_comma);
    c->dates = c->import->settings.dates;
    if (when >= 0) (void)is_times(c, (size_t)when);
    c->import->dates = c->dates;
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

/* Exactly the columns that an address names. */
static cw_status choose_exactly(const chooser *c)
{
    char list[400], shown[48];

    for (int role = 0; role < CWI_N_ROLES; role++) {
        const char *name = c->view->given[role];
        if (!name) continue;
        for (size_t n = 0; n < c->header.count && c->layout->column[role] < 0; n++)
            if (strlen(name) == c->header.name[n].length &&
                memcmp(name, c->header.name[n].at, c->header.name[n].length) == 0)
                c->layout->column[role] = (int)n;
        if (c->layout->column[role] < 0)
            return cwi_fail(c->import->ctx, CW_BAD_ARG, "%s: there is no column '%s'; there are %s",
                            cwi_source_name(c->source), cwi_excerpt(name, strlen(name), shown),
                            print_names(&c->header, list, sizeof list));
    }
    if (c->layout->column[CWI_ROLE_USER] >= 0 && c->layout->column[CWI_ROLE_ITEM] >= 0)
        return CW_OK;
    return cwi_fail(
        c->import->ctx, CW_BAD_ARG,
        "%s: the address must say where user and item are, or leave both to their names",
        cwi_source_name(c->source));
}

/* What follows the choice of a header. */
static cw_status choose(chooser *c)
{
    cwi_layout *layout = c->layout;

    CW_PASS(c->view->given                   ? choose_exactly(c)
            : c->import->settings.columns[0] ? choose_given(c)
            : layout->has_header             ? choose_by_name(c)
                                             : choose_by_position(c));
    for (int role = 0; role < CWI_N_ROLES; role++)
        if ((size_t)(layout->column[role] + 1) > layout->n_columns)
            layout->n_columns = (size_t)(layout->column[role] + 1);
    take_spelling(c);
    log_choice(c);
    log_unreadable_times(c);
    return remember_ignored(c);
}

cw_status cwi_columns_choose(cwi_import *import, const cwi_source *source, const cwi_sample *sample,
                             cwi_layout *layout)
{
    const cwi_settings *settings = &import->settings;
    text_view view = {
        .base = {.row = split_row, .word = "column"}, .sample = sample, .layout = layout};
    chooser c = {.import = import, .source = source, .view = &view.base, .layout = layout};

    take_names(&c, sample);
    if (settings->header != CWI_HEADER_AUTO)
        layout->has_header = settings->header == CWI_HEADER_YES;
    else
        layout->has_header =
            layout->has_types || names_a_column(settings->columns) || guess_header(&c, sample);
    view.base.n_rows = sample->count - layout->has_header;
    return choose(&c);
}

cw_status cwi_columns_find(cwi_import *import, const cwi_source *source, const cwi_view *view,
                           const cwi_text *name, size_t n_names, cwi_layout *layout)
{
    chooser c = {.import = import, .source = source, .view = view, .layout = layout};

    layout->has_header = true;
    for (; c.header.count < n_names && c.header.count < MAX_NAMES; c.header.count++)
        c.header.name[c.header.count] = name[c.header.count];
    return choose(&c);
}

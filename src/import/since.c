/* since.c - of a database only what is new, and what there was, for the next time. */
#include "import/since.h"

#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"

/* ---- what is asked for ------------------------------------------------------------------- */

static cw_status set_text(cw_context *ctx, const char *text, size_t length, char **out)
{
    cwi_free(*out);
    *out = cwi_format(ctx, "%.*s", (int)length, text);
    return *out ? CW_OK : CW_NO_MEMORY;
}

/* "COLUMN=VALUE", or "COLUMN" for all rows of which the last is remembered. */
static cw_status take_option(cwi_reading *reading, const char *text)
{
    cw_context *ctx = reading->import->ctx;
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);

    if (length == 0)
        return cwi_fail(ctx, CW_BAD_ARG, "--since is '%s'; it is written COLUMN=VALUE", text);
    CW_PASS(set_text(ctx, text, length, &reading->since.column));
    return equals ? set_text(ctx, equals + 1, strlen(equals + 1), &reading->since.value) : CW_OK;
}

static cw_status take_rowid(cwi_reading *reading)
{
    cwi_import *import = reading->import;
    char digits[CWI_NUMBER_BYTES];

    if (reading->uri->kind != CWI_URI_SQLITE || !reading->uri->table)
        return cwi_fail(import->ctx, CW_BAD_ARG,
                        "%s: --after-rowid is for a table of SQLite; --since COLUMN=VALUE is for "
                        "all else",
                        reading->uri->name);
    size_t length = cwi_print_int(import->settings.after_rowid, digits);
    reading->since.is_rowid = true;
    return set_text(import->ctx, digits, length, &reading->since.value);
}

/* Is this what is known of the same table, or of some query of the same database? */
static bool is_about(const json_t *entry, const cwi_uri *uri)
{
    const char *table = json_string_value(json_object_get(entry, "table"));
    if (strcmp(cwi_json_get_text(entry, "database"), uri->name) != 0) return false;
    if (!table || !uri->table) return !table && !uri->table;
    return strcmp(table, uri->table) == 0;
}

static const json_t *find_known(const cwi_reading *reading)
{
    size_t index;
    json_t *entry;
    json_array_foreach(reading->import->known, index,
                       entry) if (is_about(entry, reading->uri)) return entry;
    return NULL;
}

static cw_status take_known(cwi_reading *reading, const json_t *entry)
{
    cw_context *ctx = reading->import->ctx;
    const char *column = json_string_value(json_object_get(entry, "column"));
    const char *value = json_string_value(json_object_get(entry, "value"));

    reading->since.is_rowid = !column;
    if (column) CW_PASS(set_text(ctx, column, strlen(column), &reading->since.column));
    if (!value) return CW_OK;
    CW_PASS(set_text(ctx, value, strlen(value), &reading->since.value));
    cwi_log(ctx, CW_LOG_INFO, "%s: only rows %s %s %s, which is remembered from the last time",
            reading->uri->name, column ? "since" : "after", column ? column : "rowid", value);
    return CW_OK;
}

cw_status cwi_since_find(cwi_reading *reading)
{
    const cwi_settings *settings = &reading->import->settings;
    const json_t *known = find_known(reading);

    if (settings->since[0] && settings->has_after_rowid)
        return cwi_fail(reading->import->ctx, CW_BAD_ARG,
                        "--since and --after-rowid are two ways to say the same; give one");
    if (settings->since[0]) return take_option(reading, settings->since);
    if (settings->has_after_rowid) return take_rowid(reading);
    return known ? take_known(reading, known) : CW_OK;
}

void cwi_since_clear(cwi_since *since)
{
    cwi_free(since->column);
    cwi_free(since->value);
    *since = (cwi_since){0};
}

/* ---- statements -------------------------------------------------------------------------- */

static bool is_plain_number(const char *text)
{
    double real;
    int64_t whole;
    size_t length = strlen(text);
    return cwi_parse_int(text, length, &whole) ||
           (strspn(text, "0123456789.-+eE") == length && cwi_parse_real(text, length, &real));
}

/* A value in SQL.  SQLite compares a number with a text by their types alone; PostgreSQL takes a
 * text for whatever type the column has. */
static char *print_literal(const cwi_reading *reading)
{
    const char *value = reading->since.value;
    bool is_sqlite = reading->uri->kind == CWI_URI_SQLITE;
    char *out = cwi_alloc(reading->import->ctx, 2 * strlen(value) + 3, 1), *to = out;
    bool is_quoted = !is_sqlite || !is_plain_number(value);

    if (!out) return NULL;
    if (is_quoted) *to++ = '\'';
    for (; *value; value++) {
        if (*value == '\'') *to++ = '\'';
        *to++ = *value;
    }
    if (is_quoted) *to++ = '\'';
    *to = '\0';
    return out;
}

/* With the table before it: alone, what is no column in double quotes is a text for SQLite. */
static char *print_column(const cwi_reading *reading)
{
    cw_context *ctx = reading->import->ctx;
    const char *column = reading->since.column;
    if (reading->since.is_rowid) return cwi_strdup(ctx, "q.rowid");
    char *name = cwi_sql_name(ctx, column, strlen(column), false);
    char *full = name ? cwi_format(ctx, "q.%s", name) : NULL;
    cwi_free(name);
    return full;
}

/* Rows may come late with the last value, so they are asked for again: those that are known change
 * nothing.  Of rowids there is one each. */
char *cwi_since_where(const cwi_reading *reading, bool with_order)
{
    cw_context *ctx = reading->import->ctx;
    char *where = NULL, *literal = NULL;

    if (!reading->since.value) return cwi_strdup(ctx, "");
    char *column = print_column(reading);
    if (column) literal = print_literal(reading);
    if (literal)
        where = cwi_format(ctx, " WHERE %s %s %s%s%s", column,
                           reading->since.is_rowid ? ">" : ">=", literal,
                           with_order ? " ORDER BY " : "", with_order ? column : "");
    cwi_free(column);
    cwi_free(literal);
    return where;
}

char *cwi_since_last(const cwi_reading *reading)
{
    cw_context *ctx = reading->import->ctx;
    char *sql = NULL, *column = print_column(reading), *from = NULL, *where = NULL;
    const char *cast = reading->uri->kind == CWI_URI_POSTGRESQL ? "::text" : "";

    if (column) from = cwi_sql_from(reading);
    if (from) where = cwi_since_where(reading, false);
    if (where) sql = cwi_format(ctx, "SELECT max(%s)%s FROM %s%s", column, cast, from, where);
    cwi_free(column);
    cwi_free(from);
    cwi_free(where);
    return sql;
}

/* ---- for the next time ------------------------------------------------------------------- */

cw_status cwi_since_remember(cwi_reading *reading, const char *value)
{
    cwi_import *import = reading->import;
    const cwi_since *since = &reading->since;
    json_t *none = json_null();
    json_t *entry =
        json_pack("{s:o, s:o, s:o, s:o}", "database", cwi_json_string(reading->uri->name), "table",
                  reading->uri->table ? cwi_json_string(reading->uri->table) : none, "column",
                  since->column ? cwi_json_string(since->column) : none, "value",
                  !value && !since->value ? none : cwi_json_string(value ? value : since->value));
    if (!import->latest) import->latest = json_array();
    cwi_json_add(&import->latest, entry);
    return cwi_json_check(import->ctx, import->latest);
}

/* pgread.c - the rows of a table or a query of PostgreSQL, copied out one by one. */
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/postgresql.h"
#include "import/since.h"

/* Numbers of types (pg_type.dat), which never change. */
enum {
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_TEXT = 25,
    TYPE_FLOAT4 = 700,
    TYPE_FLOAT8 = 701,
    TYPE_UNKNOWN = 705,
    TYPE_CHAR = 1042,
    TYPE_VARCHAR = 1043,
    TYPE_DATE = 1082,
    TYPE_TIMESTAMP = 1114,
    TYPE_TIMESTAMPTZ = 1184,
    TYPE_NUMERIC = 1700
};

/* All that is read comes from one moment, in the order in which a table lies: no scan begins where
 * another one is, and no two processes take turns.  Text means the same wherever the server is. */
static const char begin_sql[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                                "SET LOCAL synchronize_seqscans = off;"
                                "SET LOCAL max_parallel_workers_per_gather = 0;"
                                "SET LOCAL datestyle = 'ISO, YMD';"
                                "SET LOCAL timezone = 'UTC';"
                                "SET LOCAL standard_conforming_strings = on;"
                                "SET LOCAL extra_float_digits = 1";

static bool may_have_role(int role, unsigned type)
{
    bool is_text =
        type == TYPE_TEXT || type == TYPE_VARCHAR || type == TYPE_CHAR || type == TYPE_UNKNOWN;
    bool is_number = type == TYPE_INT2 || type == TYPE_INT4 || type == TYPE_INT8 ||
                     type == TYPE_FLOAT4 || type == TYPE_FLOAT8 || type == TYPE_NUMERIC;
    if (role == CWI_ROLE_USER || role == CWI_ROLE_ITEM) return type != TYPE_BYTEA;
    if (is_text || is_number) return true;
    return role == CWI_ROLE_TIME &&
           (type == TYPE_DATE || type == TYPE_TIMESTAMP || type == TYPE_TIMESTAMPTZ);
}

static cw_status refuse_type(cwi_pg *pg, const cwi_reading *reading, int role,
                             const cwi_pg_columns *columns)
{
    static const char *const wanted[] = {"ids are texts or numbers", "ids are texts or numbers",
                                         "ratings are numbers",
                                         "times are dates, timestamps or numbers"};
    int column = reading->layout.column[role];
    char sql[80], shown[48], *type = NULL;

    snprintf(sql, sizeof sql, "SELECT pg_catalog.format_type(%u, NULL)", columns->type[column]);
    CW_PASS(cwi_pg_ask(pg, sql, &type));
    cw_status status =
        cwi_fail(reading->import->ctx, CW_BAD_DATA, "%s: the column %s is of type %s, but %s",
                 reading->uri->name,
                 cwi_excerpt(columns->name[column], strlen(columns->name[column]), shown),
                 type ? type : "unknown", wanted[role]);
    cwi_free(type);
    return status;
}

static cw_status choose(cwi_pg *pg, cwi_reading *reading, const cwi_pg_columns *columns,
                        cwi_text *name)
{
    for (size_t c = 0; c < columns->count; c++)
        name[c] = (cwi_text){columns->name[c], strlen(columns->name[c])};
    CW_PASS(cwi_reading_choose(reading, name, columns->count));
    for (int role = 0; role < CWI_N_ROLES; role++) {
        int column = reading->layout.column[role];
        if (column >= 0 && !may_have_role(role, columns->type[column]))
            return refuse_type(pg, reading, role, columns);
    }
    return CW_OK;
}

/* The statement whose rows are read, once what its columns are is known. */
static cw_status make_statement(cwi_pg *pg, cwi_reading *reading, char **out)
{
    cw_context *ctx = reading->import->ctx;
    bool is_table = reading->uri->table != NULL;
    cwi_pg_columns columns = {0};
    cwi_text *name = NULL;
    char *sql = is_table ? cwi_sql_select(reading, NULL, "") : cwi_sql_query(reading, false);
    cw_status status;

    CW_TRY(sql ? CW_OK : CW_NO_MEMORY);
    /* Alone it must be one whole statement, so nothing can stand behind the bracket that follows.
     */
    CW_TRY(cwi_pg_describe(pg, sql, &columns));
    if (columns.count == 0)
        CW_TRY(cwi_fail(ctx, CW_BAD_ARG, "%s: the query must be one that reads rows, a SELECT",
                        reading->uri->name));
    name = cwi_alloc(ctx, columns.count, sizeof *name);
    CW_TRY(name ? CW_OK : CW_NO_MEMORY);
    CW_TRY(choose(pg, reading, &columns, name));
    cwi_free(sql);
    sql = is_table ? cwi_sql_select(reading, name, "") : cwi_sql_query(reading, true);
    CW_TRY(sql ? CW_OK : CW_NO_MEMORY);
    *out = cwi_format(ctx, "COPY (%s\n) TO STDOUT", sql);
    status = *out ? CW_OK : CW_NO_MEMORY;
done:
    cwi_free(sql);
    cwi_free(name);
    cwi_pg_columns_clear(&columns);
    return status;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* A field as COPY writes it: \t and the like stand for bytes.  Written anew in its place. */
static cwi_text take_escapes(char *text, size_t length)
{
    static const char written[] = "bfnrtv", meant[] = "\b\f\n\r\t\v";
    size_t used = 0;
    for (size_t at = 0; at < length; at++) {
        char byte = text[at];
        if (byte == '\\' && at + 1 < length) {
            byte = text[++at];
            const char *found = byte ? strchr(written, byte) : NULL;
            if (found) byte = meant[found - written];
        }
        text[used++] = byte;
    }
    return (cwi_text){text, used};
}

/* A field of a row; at is NULL for NULL. */
static cwi_text take_field(char *text, size_t length, bool has_escapes)
{
    if (!has_escapes) return (cwi_text){text, length};
    if (length == 2 && text[0] == '\\' && text[1] == 'N') return (cwi_text){NULL, 0};
    return take_escapes(text, length);
}

static void split_row(char *row, size_t length, const int place[CWI_N_ROLES], cwi_text *field)
{
    char *end = row + length - (length > 0 && row[length - 1] == '\n');
    bool has_escapes = memchr(row, '\\', length) != NULL;

    for (int column = 0; row <= end; column++) {
        char *stop = memchr(row, '\t', (size_t)(end - row));
        if (!stop) stop = end;
        cwi_text found = take_field(row, (size_t)(stop - row), has_escapes);
        for (int role = 0; role < CWI_N_ROLES; role++)
            if (place[role] == column) field[role] = found;
        row = stop + 1;
    }
}

static cw_status read_row(cwi_reading *reading, char *text, size_t length,
                          const int place[CWI_N_ROLES])
{
    cwi_row row = {0};

    CW_PASS(cwi_source_count_row(reading->import->ctx, reading->source));
    split_row(text, length, place, row.field);
    for (int role = 0; role < CWI_N_ROLES; role++) {
        if (place[role] < 0 || row.field[role].at) continue;
        if (role == CWI_ROLE_USER || role == CWI_ROLE_ITEM)
            return cwi_import_bad(reading->import, reading->source, "the %s is NULL",
                                  role == CWI_ROLE_USER ? "user" : "item");
        row.field[role] = (cwi_text){"", 0};
    }
    return cwi_import_row(reading->import, reading->source, &row);
}

/* The last value of the column that tells what is new. */
static cw_status remember_last(cwi_pg *pg, cwi_reading *reading)
{
    char *last = NULL;
    if (!reading->since.column) return CW_OK;
    char *sql = cwi_since_last(reading);
    if (!sql) return CW_NO_MEMORY;
    cw_status status = cwi_pg_ask(pg, sql, &last);
    if (status == CW_OK) status = cwi_since_remember(reading, last);
    cwi_free(last);
    cwi_free(sql);
    return status;
}

cw_status cwi_postgresql_read(cwi_reading *reading)
{
    cwi_pg *pg;
    int place[CWI_N_ROLES];
    char *sql = NULL, *row;
    size_t length;
    cw_status status;

    CW_PASS(cwi_pg_open(reading->import->ctx, reading->uri->address, reading->uri->name, &pg));
    CW_TRY(cwi_pg_run(pg, begin_sql));
    CW_TRY(make_statement(pg, reading, &sql));
    CW_TRY(remember_last(pg, reading));
    cwi_sql_places(reading, place);
    CW_TRY(cwi_pg_copy_out(pg, sql));
    for (;;) {
        CW_TRY(cwi_pg_next(pg, &row, &length));
        if (!row) break;
        CW_TRY(read_row(reading, row, length, place));
    }
done:
    cwi_free(sql);
    cwi_pg_close(pg);
    return status;
}

/* database.c - rows from a table or a query of a database. */
#include "import/database.h"

#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/since.h"

static size_t no_rows(const cwi_view *view, size_t row, cwi_text *field, size_t n)
{
    (void)view, (void)row, (void)field, (void)n;
    return 0;
}

cw_status cwi_reading_choose(cwi_reading *reading, const cwi_text *name, size_t n_names)
{
    bool is_given = false;
    for (int role = 0; role < CWI_N_ROLES; role++)
        is_given = is_given || reading->uri->column[role];
    const cwi_view view = {.row = no_rows,
                           .word = "column",
                           .is_complete = true,
                           .is_typed = true,
                           .given = is_given ? reading->uri->column : NULL};
    reading->layout = (cwi_layout){.column = {-1, -1, -1, -1}, .n_columns = 1};
    CW_PASS(
        cwi_columns_find(reading->import, reading->source, &view, name, n_names, &reading->layout));
    return cwi_import_begin(reading->import, reading->source,
                            reading->layout.column[CWI_ROLE_RATING] >= 0,
                            reading->layout.column[CWI_ROLE_TIME] >= 0);
}

char *cwi_sql_name(cw_context *ctx, const char *name, size_t length, bool is_table)
{
    char *quoted = cwi_alloc(ctx, 3 * length + 3, 1), *to = quoted;
    if (!quoted) return NULL;
    if (is_table && length > 2 && name[0] == '"' && name[length - 1] == '"') {
        name++;
        length -= 2;
        is_table = false;
    }
    *to++ = '"';
    for (size_t at = 0; at < length; at++) {
        bool is_dot = is_table && name[at] == '.';
        if (is_dot || name[at] == '"') *to++ = '"';
        *to++ = name[at];
        if (is_dot) *to++ = '"';
    }
    *to++ = '"';
    *to = '\0';
    return quoted;
}

/* "a", "b" for the columns with roles. */
static char *list_columns(const cwi_reading *reading, const cwi_text *name)
{
    cw_context *ctx = reading->import->ctx;
    char *list = cwi_strdup(ctx, "");
    for (int role = 0; role < CWI_N_ROLES && list; role++) {
        int column = reading->layout.column[role];
        if (column < 0) continue;
        char *quoted = cwi_sql_name(ctx, name[column].at, name[column].length, false);
        char *longer = quoted ? cwi_format(ctx, "%s%s%s", list, list[0] ? ", " : "", quoted) : NULL;
        cwi_free(quoted);
        cwi_free(list);
        list = longer;
    }
    return list;
}

char *cwi_sql_select(const cwi_reading *reading, const cwi_text *name, const char *behind_table)
{
    cw_context *ctx = reading->import->ctx;
    char *columns = name ? list_columns(reading, name) : cwi_strdup(ctx, "*");
    char *table = columns ? cwi_sql_from(reading) : NULL;
    char *where = table ? cwi_since_where(reading, true) : NULL;
    char *select = where ? cwi_format(ctx, "SELECT %s FROM %s%s", columns, table,
                                      where[0] ? where : behind_table)
                         : NULL;
    cwi_free(columns);
    cwi_free(table);
    cwi_free(where);
    return select;
}

char *cwi_sql_from(const cwi_reading *reading)
{
    cw_context *ctx = reading->import->ctx;
    const char *table = reading->uri->table;
    if (table) {
        char *name = cwi_sql_name(ctx, table, strlen(table), true);
        char *named = name ? cwi_format(ctx, "%s AS q", name) : NULL;
        cwi_free(name);
        return named;
    }
    char *query = cwi_sql_query(reading, false);
    char *from = query ? cwi_format(ctx, "(%s\n) AS q", query) : NULL;
    cwi_free(query);
    return from;
}

char *cwi_sql_query(const cwi_reading *reading, bool is_new)
{
    const char *query = reading->uri->query;
    size_t length = strlen(query);

    if (is_new && reading->since.value) {
        char *from = cwi_sql_from(reading), *sql = NULL;
        char *where = from ? cwi_since_where(reading, true) : NULL;
        if (where) sql = cwi_format(reading->import->ctx, "SELECT * FROM %s%s", from, where);
        cwi_free(from);
        cwi_free(where);
        return sql;
    }
    while (length > 0 && strchr("; \t\r\n", query[length - 1])) length--;
    return cwi_format(reading->import->ctx, "%.*s", (int)length, query);
}

void cwi_sql_places(const cwi_reading *reading, int place[CWI_N_ROLES])
{
    int next = 0;
    for (int role = 0; role < CWI_N_ROLES; role++) {
        int column = reading->layout.column[role];
        place[role] = column < 0 || !reading->uri->table ? column : next++;
    }
}

static cw_status read_all(cwi_reading *reading, cwi_entry *entry)
{
    cwi_import *import = reading->import;
    int64_t rows = import->rows->count, lines;

    bool is_file = reading->uri->kind == CWI_URI_SQLITE;
    entry->format = is_file ? "sqlite" : "postgresql";
    CW_PASS(is_file ? cwi_sqlite_read(reading) : cwi_postgresql_read(reading));
    lines = cwi_source_lines_read(reading->source);
    entry->lines += lines;
    entry->rows += import->rows->count - rows;
    import->lines += lines;
    if (lines > 0) return CW_OK;
    const cwi_since *since = &reading->since;
    if (since->value)
        return cwi_fail(import->ctx, CW_BAD_DATA, "%s: there are no rows %s %s %s",
                        cwi_source_name(reading->source), since->is_rowid ? "after" : "since",
                        since->is_rowid ? "rowid" : since->column, since->value);
    return cwi_fail(import->ctx, CW_BAD_DATA, "%s: there are no rows",
                    cwi_source_name(reading->source));
}

cw_status cwi_import_database(cwi_import *import, const char *path)
{
    cwi_uri uri;
    cwi_reading reading = {.import = import, .uri = &uri};
    cwi_entry *entry;
    cw_status status;

    CW_TRY(cwi_uri_parse(import->ctx, path, &uri));
    CW_TRY(cwi_import_entry(import, uri.name, &entry));
    CW_TRY(cwi_source_open_rows(import->ctx, uri.name, &reading.source));
    CW_TRY(cwi_since_find(&reading));
    CW_TRY(read_all(&reading, entry));
done:
    cwi_since_clear(&reading.since);
    cwi_source_close(reading.source);
    cwi_uri_clear(&uri);
    return status;
}

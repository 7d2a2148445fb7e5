/* sqlite.c - tables and queries of SQLite, through libsqlite3, which is opened when it is needed.
 */
#include "import/sqlite.h"

#include "import/since.h"

#ifdef CWI_HAS_SQLITE

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "core/library.h"
#include "core/mem.h"
#include "core/text.h"

#define CALLS(X)                                                                                   \
    X(sqlite3_open_v2)                                                                             \
    X(sqlite3_close_v2)                                                                            \
    X(sqlite3_errmsg)                                                                              \
    X(sqlite3_errcode)                                                                             \
    X(sqlite3_busy_timeout)                                                                        \
    X(sqlite3_progress_handler)                                                                    \
    X(sqlite3_prepare_v2)                                                                          \
    X(sqlite3_stmt_readonly)                                                                       \
    X(sqlite3_step)                                                                                \
    X(sqlite3_finalize)                                                                            \
    X(sqlite3_column_count)                                                                        \
    X(sqlite3_column_name)                                                                         \
    X(sqlite3_column_type)                                                                         \
    X(sqlite3_column_int64)                                                                        \
    X(sqlite3_column_double)                                                                       \
    X(sqlite3_column_text)                                                                         \
    X(sqlite3_column_bytes)                                                                        \
    X(sqlite3_bind_text)                                                                           \
    X(sqlite3_bind_int64)                                                                          \
    X(sqlite3_bind_double)                                                                         \
    X(sqlite3_reset)

enum {
    BUSY_MS = 5000,        /* to wait for another program that writes */
    STEPS_BETWEEN = 200000 /* of its machine, between two calls of the progress callback */
};

struct cwi_sqlite {
    cw_context *ctx;
    char *name;
    void *library;
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
    sqlite3 *handle;
    sqlite3_stmt *statement; /* the current one */
    cw_status stopped;       /* by the progress callback */
};

static const cwi_symbol calls[] = {
#define X(name) {#name, offsetof(cwi_sqlite, name)},
    CALLS(X)
#undef X
};

/* ---- the library ------------------------------------------------------------------------- */

cw_status cwi_sqlite_fail(cwi_sqlite *d)
{
    if (d->stopped != CW_OK) return d->stopped;
    int code = d->sqlite3_errcode(d->handle) & 0xff;
    if (code == SQLITE_NOMEM) return cwi_no_memory(d->ctx);
    bool is_io = code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_BUSY ||
                 code == SQLITE_LOCKED || code == SQLITE_CANTOPEN || code == SQLITE_PERM ||
                 code == SQLITE_READONLY;
    return cwi_fail(d->ctx, is_io ? CW_IO : CW_BAD_DATA, "%s: %s", d->name,
                    d->sqlite3_errmsg(d->handle));
}

/* Is called while a statement works; anything but 0 stops it. */
static int look_up(void *user)
{
    cwi_sqlite *d = user;
    if (d->stopped == CW_OK) d->stopped = cwi_progress(d->ctx, "asking the database", 0, 0);
    return d->stopped != CW_OK;
}

static cw_status open_handle(cwi_sqlite *d, const char *path, bool makes)
{
    struct stat info;
    int flags = makes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;

    d->library = cwi_library_open("libsqlite3.so.0", calls, sizeof calls / sizeof calls[0], d);
    if (!d->library)
        return cwi_fail(d->ctx, CW_UNSUPPORTED,
                        "%s: reading it takes the library libsqlite3.so.0, which is not installed "
                        "(on Debian: libsqlite3-0)",
                        d->name);
    if (!makes && stat(path, &info) != 0) return cwi_fail_errno(d->ctx, "open", path);
    int result = d->sqlite3_open_v2(path, &d->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (!d->handle) return cwi_no_memory(d->ctx);
    if (result != SQLITE_OK) return cwi_sqlite_fail(d);
    (void)d->sqlite3_busy_timeout(d->handle, BUSY_MS);
    d->sqlite3_progress_handler(d->handle, STEPS_BETWEEN, look_up, d);
    return CW_OK;
}

cw_status cwi_sqlite_open(cw_context *ctx, const char *path, const char *name, bool makes,
                          cwi_sqlite **out)
{
    *out = NULL;
    cwi_sqlite *d = cwi_alloc_zero(ctx, 1, sizeof *d);
    if (!d) return CW_NO_MEMORY;
    d->ctx = ctx;
    d->name = cwi_strdup(ctx, name);
    cw_status status = d->name ? open_handle(d, path, makes) : CW_NO_MEMORY;
    if (status == CW_OK)
        *out = d;
    else
        cwi_sqlite_close(d);
    return status;
}

void cwi_sqlite_close(cwi_sqlite *d)
{
    if (!d) return;
    if (d->statement) (void)d->sqlite3_finalize(d->statement);
    if (d->handle) (void)d->sqlite3_close_v2(d->handle);
    cwi_library_close(d->library);
    cwi_free(d->name);
    cwi_free(d);
}

cw_status cwi_sqlite_prepare(cwi_sqlite *d, const char *sql)
{
    const char *rest = "";
    sqlite3_stmt *statement = NULL;

    if (d->sqlite3_prepare_v2(d->handle, sql, -1, &statement, &rest) != SQLITE_OK)
        return cwi_sqlite_fail(d);
    if (d->statement) (void)d->sqlite3_finalize(d->statement);
    d->statement = statement;
    if (statement && rest[strspn(rest, "; \t\r\n")] == '\0') return CW_OK;
    return cwi_fail(d->ctx, CW_BAD_ARG, "%s: the query is %s", d->name,
                    statement ? "more than one statement" : "empty");
}

cw_status cwi_sqlite_run(cwi_sqlite *d, const char *sql)
{
    int result;
    CW_PASS(cwi_sqlite_prepare(d, sql));
    do result = d->sqlite3_step(d->statement);
    while (result == SQLITE_ROW);
    return result == SQLITE_DONE ? CW_OK : cwi_sqlite_fail(d);
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool bind_text(cwi_sqlite *d, int place, const char *text)
{
    return d->sqlite3_bind_text(d->statement, place, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

cw_status cwi_sqlite_insert(cwi_sqlite *d, const cwi_sqlite_values *values)
{
    if (!bind_text(d, 1, values->text[0]) || !bind_text(d, 2, values->text[1]) ||
        d->sqlite3_bind_int64(d->statement, 3, values->whole) != SQLITE_OK ||
        d->sqlite3_bind_double(d->statement, 4, values->real) != SQLITE_OK ||
        !bind_text(d, 5, values->text[2]) || d->sqlite3_step(d->statement) != SQLITE_DONE)
        return cwi_sqlite_fail(d);
    return d->sqlite3_reset(d->statement) == SQLITE_OK ? CW_OK : cwi_sqlite_fail(d);
}

cw_status cwi_sqlite_has(cwi_sqlite *d, const char *table, bool *out)
{
    CW_PASS(cwi_sqlite_prepare(
        d,
        "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = lower(?1)"));
    if (!bind_text(d, 1, table)) return cwi_sqlite_fail(d);
    int result = d->sqlite3_step(d->statement);
    *out = result == SQLITE_ROW;
    return result == SQLITE_ROW || result == SQLITE_DONE ? CW_OK : cwi_sqlite_fail(d);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* The names of the current statement's columns, as copies. */
typedef struct columns {
    cwi_pile pile;
    cwi_text *name;
    size_t count;
} columns;

static cw_status take_columns(cwi_sqlite *d, columns *out)
{
    size_t n = (size_t)d->sqlite3_column_count(d->statement);
    out->name = cwi_pile_add(d->ctx, &out->pile, n, sizeof *out->name);
    for (out->count = 0; out->name && out->count < n; out->count++) {
        const char *name = d->sqlite3_column_name(d->statement, (int)out->count);
        char *copy = name ? cwi_strdup(d->ctx, name) : NULL;
        cwi_pile_own(d->ctx, &out->pile, copy);
        if (out->pile.status != CW_OK) break; /* the copy is gone */
        out->name[out->count] = (cwi_text){copy, strlen(copy)};
    }
    return out->pile.status;
}

/* The rows of a table in the order in which they lie, not in that of some index. */
static cw_status prepare_table(cwi_sqlite *d, const cwi_reading *reading, const cwi_text *name)
{
    char *sql = cwi_sql_select(reading, name, " NOT INDEXED");
    if (!sql) return CW_NO_MEMORY;
    cw_status status = cwi_sqlite_prepare(d, sql);
    cwi_free(sql);
    return status;
}

static cw_status prepare_query(cwi_sqlite *d, const cwi_reading *reading)
{
    char *sql = cwi_sql_query(reading, false);
    if (!sql) return CW_NO_MEMORY;
    cw_status status = cwi_sqlite_prepare(d, sql); /* alone it must be one whole statement */
    cwi_free(sql);
    CW_PASS(status);
    if (d->sqlite3_stmt_readonly(d->statement) && d->sqlite3_column_count(d->statement) > 0)
        return CW_OK;
    return cwi_fail(d->ctx, CW_BAD_ARG, "%s: the query must be one that reads rows, a SELECT",
                    d->name);
}

/* The same query with only what is new. */
static cw_status prepare_new(cwi_sqlite *d, const cwi_reading *reading)
{
    char *sql = cwi_sql_query(reading, true);
    if (!sql) return CW_NO_MEMORY;
    cw_status status = cwi_sqlite_prepare(d, sql);
    cwi_free(sql);
    return status;
}

static cw_status choose(cwi_sqlite *d, cwi_reading *reading, int place[CWI_N_ROLES])
{
    columns names = {0};
    cw_status status;

    CW_TRY(reading->uri->table ? prepare_table(d, reading, NULL) : prepare_query(d, reading));
    CW_TRY(take_columns(d, &names));
    CW_TRY(cwi_reading_choose(reading, names.name, names.count));
    cwi_sql_places(reading, place);
    CW_TRY(reading->uri->table ? prepare_table(d, reading, names.name) : prepare_new(d, reading));
done:
    cwi_pile_clear(&names.pile);
    return status;
}

/* A value as text; NULL, or why it cannot be one. */
static const char *take_value(cwi_sqlite *d, int column, char digits[CWI_NUMBER_BYTES],
                              cwi_text *out)
{
    switch (d->sqlite3_column_type(d->statement, column)) {
    case SQLITE_INTEGER:
        out->length = cwi_print_int(d->sqlite3_column_int64(d->statement, column), digits);
        out->at = digits;
        return NULL;
    case SQLITE_FLOAT:
        out->length = cwi_print_real(d->sqlite3_column_double(d->statement, column), digits);
        out->at = digits;
        return NULL;
    case SQLITE_TEXT:
        out->at = (const char *)d->sqlite3_column_text(d->statement, column);
        out->length = (size_t)d->sqlite3_column_bytes(d->statement, column);
        if (!out->at) return ""; /* no memory */
        return memchr(out->at, '\0', out->length) ? "has a zero byte" : NULL;
    case SQLITE_NULL: *out = (cwi_text){"", 0}; return NULL;
    default: return "is a BLOB";
    }
}

static cw_status read_row(cwi_sqlite *d, cwi_reading *reading, const int place[CWI_N_ROLES])
{
    static const char *const role_names[CWI_N_ROLES] = {"user", "item", "rating", "time"};
    char digits[CWI_N_ROLES][CWI_NUMBER_BYTES];
    cwi_row row = {0};

    CW_PASS(cwi_source_count_row(d->ctx, reading->source));
    for (int role = 0; role < CWI_N_ROLES; role++) {
        if (place[role] < 0) continue;
        const char *wrong = take_value(d, place[role], digits[role], &row.field[role]);
        if (!wrong && role <= CWI_ROLE_ITEM && row.field[role].length == 0 &&
            d->sqlite3_column_type(d->statement, place[role]) == SQLITE_NULL)
            wrong = "is NULL";
        if (wrong && !wrong[0]) return cwi_no_memory(d->ctx);
        if (wrong)
            return cwi_import_bad(reading->import, reading->source, "the %s %s", role_names[role],
                                  wrong);
    }
    return cwi_import_row(reading->import, reading->source, &row);
}

/* The last value of the column that tells what is new. */
static cw_status remember_last(cwi_sqlite *d, cwi_reading *reading)
{
    char digits[CWI_NUMBER_BYTES], *last = NULL;
    cwi_text value = {"", 0};

    if (!reading->since.column && !reading->since.is_rowid) return CW_OK;
    char *sql = cwi_since_last(reading);
    if (!sql) return CW_NO_MEMORY;
    cw_status status = cwi_sqlite_prepare(d, sql);
    cwi_free(sql);
    CW_PASS(status);
    if (d->sqlite3_step(d->statement) != SQLITE_ROW) return cwi_sqlite_fail(d);
    const char *wrong = take_value(d, 0, digits, &value);
    if (wrong)
        return wrong[0]
                   ? cwi_fail(d->ctx, CW_BAD_DATA, "%s: the column of --since %s", d->name, wrong)
                   : cwi_no_memory(d->ctx);
    if (value.length > 0) last = cwi_format(d->ctx, "%.*s", (int)value.length, value.at);
    if (value.length > 0 && !last) return CW_NO_MEMORY;
    status = cwi_since_remember(reading, last);
    cwi_free(last);
    return status;
}

cw_status cwi_sqlite_read(cwi_reading *reading)
{
    cwi_sqlite *d;
    int place[CWI_N_ROLES], result;
    cw_status status;

    CW_PASS(cwi_sqlite_open(reading->import->ctx, reading->uri->address, reading->uri->name, false,
                            &d));
    CW_TRY(cwi_sqlite_run(d, "BEGIN")); /* all that follows sees one moment */
    CW_TRY(remember_last(d, reading));
    CW_TRY(choose(d, reading, place));
    while ((result = d->sqlite3_step(d->statement)) == SQLITE_ROW)
        CW_TRY(read_row(d, reading, place));
    if (result != SQLITE_DONE) status = cwi_sqlite_fail(d);
done:
    cwi_sqlite_close(d);
    return status;
}

#else

cw_status cwi_sqlite_open(cw_context *ctx, const char *path, const char *name, bool makes,
                          cwi_sqlite **out)
{
    (void)path, (void)makes;
    *out = NULL;
    return cwi_fail(ctx, CW_UNSUPPORTED,
                    "%s: this crosswise was built without SQLite (on Debian: libsqlite3-dev)",
                    name);
}

/* Without an open file nothing below is called. */
void cwi_sqlite_close(cwi_sqlite *database)
{
    (void)database;
}

cw_status cwi_sqlite_run(cwi_sqlite *database, const char *sql)
{
    (void)database, (void)sql;
    return CW_UNSUPPORTED;
}

cw_status cwi_sqlite_prepare(cwi_sqlite *database, const char *sql)
{
    (void)database, (void)sql;
    return CW_UNSUPPORTED;
}

cw_status cwi_sqlite_insert(cwi_sqlite *database, const cwi_sqlite_values *values)
{
    (void)database, (void)values;
    return CW_UNSUPPORTED;
}

cw_status cwi_sqlite_has(cwi_sqlite *database, const char *table, bool *out)
{
    (void)database, (void)table, (void)out;
    return CW_UNSUPPORTED;
}

cw_status cwi_sqlite_read(cwi_reading *reading)
{
    return cwi_fail(reading->import->ctx, CW_UNSUPPORTED,
                    "%s: this crosswise was built without SQLite (on Debian: libsqlite3-dev)",
                    reading->uri->name);
}

#endif

/* postgresql.c - a connection to PostgreSQL through libpq, which is opened when it is needed. */
#include "import/postgresql.h"

#ifdef CWI_HAS_POSTGRESQL

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "core/library.h"
#include "core/mem.h"

#define CALLS(X)                                                                                   \
    X(PQconninfoParse)                                                                             \
    X(PQconninfoFree)                                                                              \
    X(PQconnectStartParams)                                                                        \
    X(PQconnectPoll)                                                                               \
    X(PQstatus)                                                                                    \
    X(PQfinish)                                                                                    \
    X(PQsocket)                                                                                    \
    X(PQerrorMessage)                                                                              \
    X(PQsetNoticeProcessor)                                                                        \
    X(PQsetnonblocking)                                                                            \
    X(PQsendQuery)                                                                                 \
    X(PQsendPrepare)                                                                               \
    X(PQsendDescribePrepared)                                                                      \
    X(PQflush)                                                                                     \
    X(PQconsumeInput)                                                                              \
    X(PQisBusy)                                                                                    \
    X(PQgetResult)                                                                                 \
    X(PQresultStatus)                                                                              \
    X(PQresultErrorMessage)                                                                        \
    X(PQnfields)                                                                                   \
    X(PQfname)                                                                                     \
    X(PQftype)                                                                                     \
    X(PQntuples)                                                                                   \
    X(PQgetisnull)                                                                                 \
    X(PQgetvalue)                                                                                  \
    X(PQclear)                                                                                     \
    X(PQgetCopyData)                                                                               \
    X(PQputCopyData)                                                                               \
    X(PQputCopyEnd)                                                                                \
    X(PQfreemem)                                                                                   \
    X(PQgetCancel)                                                                                 \
    X(PQcancel)                                                                                    \
    X(PQfreeCancel)

enum { WAIT_MS = 200 }; /* between two calls of the progress callback */

struct cwi_pg {
    cw_context *ctx;
    char *name, *stage;
    void *library;
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
    PGconn *connection;
    char *row; /* the one that was taken last */
};

static const cwi_symbol calls[] = {
#define X(name) {#name, offsetof(cwi_pg, name)},
    CALLS(X)
#undef X
};

/* ---- messages ---------------------------------------------------------------------------- */

/* What libpq says, on one line: it ends lines, begins others with tabs, and shows the statement. */
static cw_status fail_with(cwi_pg *pg, cw_status status, const char *text)
{
    char line[700];
    size_t used = 0;
    const char *statement = strstr(text, "\nLINE ");
    for (; *text && text != statement && used + 1 < sizeof line; text++) {
        bool is_blank = *text == '\n' || *text == '\t' || *text == ' ';
        if (is_blank && (used == 0 || line[used - 1] == ' ')) continue;
        line[used++] = is_blank ? ' ' : *text;
    }
    while (used > 0 && line[used - 1] == ' ') used--;
    line[used] = '\0';
    return cwi_fail(pg->ctx, status, "%s: %s", pg->name, used ? line : "the connection is lost");
}

static cw_status fail_connection(cwi_pg *pg)
{
    return fail_with(pg, CW_IO, pg->PQerrorMessage(pg->connection));
}

static void ignore_notice(void *user, const char *text)
{
    (void)user, (void)text; /* a library prints nothing */
}

/* ---- waiting ----------------------------------------------------------------------------- */

/* Ask the server to stop what it does: nobody waits for it any more. */
static void cancel(cwi_pg *pg)
{
    char error[256];
    PGcancel *handle = pg->PQgetCancel(pg->connection);
    if (!handle) return;
    (void)pg->PQcancel(handle, error, sizeof error);
    pg->PQfreeCancel(handle);
}

/* Until something comes, or may be sent. */
static cw_status await(cwi_pg *pg, bool sends)
{
    struct pollfd socket = {.fd = pg->PQsocket(pg->connection),
                            .events = (short)(sends ? POLLIN | POLLOUT : POLLIN)};
    int ready = 0;
    cw_status status = CW_OK;
    if (socket.fd < 0) return fail_connection(pg);
    while (status == CW_OK && (ready == 0 || (ready < 0 && errno == EINTR))) {
        ready = poll(&socket, 1, WAIT_MS);
        if (ready <= 0) status = cwi_progress(pg->ctx, pg->stage, 0, 0);
    }
    return status;
}

/* Everything that was to be sent has been. */
static cw_status flush(cwi_pg *pg)
{
    int left;
    while ((left = pg->PQflush(pg->connection)) > 0) {
        CW_PASS(await(pg, true));
        if (!pg->PQconsumeInput(pg->connection)) return fail_connection(pg);
    }
    return left < 0 ? fail_connection(pg) : CW_OK;
}

/* The next result, to be cleared; NULL after the last. */
static cw_status take_result(cwi_pg *pg, PGresult **out)
{
    *out = NULL;
    CW_PASS(flush(pg));
    while (pg->PQisBusy(pg->connection)) {
        cw_status status = await(pg, false);
        if (status == CW_CANCELLED) cancel(pg);
        CW_PASS(status);
        if (!pg->PQconsumeInput(pg->connection)) return fail_connection(pg);
    }
    *out = pg->PQgetResult(pg->connection);
    return CW_OK;
}

static cw_status check_result(cwi_pg *pg, const PGresult *result)
{
    switch (pg->PQresultStatus(result)) {
    case PGRES_EMPTY_QUERY:
        return cwi_fail(pg->ctx, CW_BAD_ARG, "%s: the query is empty", pg->name);
    case PGRES_BAD_RESPONSE:
    case PGRES_NONFATAL_ERROR:
    case PGRES_FATAL_ERROR:
        if (pg->PQstatus(pg->connection) != CONNECTION_OK) return fail_connection(pg);
        return fail_with(pg, CW_BAD_DATA, pg->PQresultErrorMessage(result));
    default: return CW_OK;
    }
}

/* All results of what was sent; the first failure counts.  *kept is the first one, NULL for none.
 */
static cw_status take_all(cwi_pg *pg, int sent, PGresult **kept)
{
    cw_status status = CW_OK;
    PGresult *result;

    *kept = NULL;
    if (!sent) return fail_connection(pg);
    for (;;) {
        CW_PASS(take_result(pg, &result));
        if (!result) return status;
        if (status == CW_OK) status = check_result(pg, result);
        ExecStatusType type = pg->PQresultStatus(result);
        bool is_copy = type == PGRES_COPY_IN || type == PGRES_COPY_OUT;
        if (*kept)
            pg->PQclear(result);
        else
            *kept = result;
        if (is_copy) return status; /* it goes on with data */
    }
}

static void clear_result(cwi_pg *pg, PGresult *result)
{
    if (result) pg->PQclear(result);
}

/* ---- connecting -------------------------------------------------------------------------- */

/* What libpq understands of the address, which its own messages would repeat. */
static cw_status check_address(cwi_pg *pg, const char *address)
{
    char *error = NULL;
    bool has_password = false;
    PQconninfoOption *options = pg->PQconninfoParse(address, &error);

    if (error) pg->PQfreemem(error);
    if (!options)
        return cwi_fail(pg->ctx, CW_BAD_ARG,
                        "%s: this is no address that PostgreSQL's library takes; it is written "
                        "postgresql://[user@]host[:port]/database?table=NAME",
                        pg->name);
    for (PQconninfoOption *o = options; o->keyword; o++)
        if (o->val && o->val[0] && strstr(o->keyword, "password")) has_password = true;
    pg->PQconninfoFree(options);
    if (!has_password) return CW_OK;
    return cwi_fail(pg->ctx, CW_BAD_ARG,
                    "%s: the address has a password in it; leave it out and put it into ~/.pgpass "
                    "or PGPASSWORD",
                    pg->name);
}

static cw_status connect_to(cwi_pg *pg, const char *address)
{
    static const char *const keys[] = {"dbname", "client_encoding", "fallback_application_name",
                                       NULL};
    const char *const values[] = {address, "UTF8", "crosswise", NULL};
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;

    pg->connection = pg->PQconnectStartParams(keys, values, 1);
    if (!pg->connection) return cwi_no_memory(pg->ctx);
    if (pg->PQstatus(pg->connection) == CONNECTION_BAD) return fail_connection(pg);
    while (state != PGRES_POLLING_OK) {
        CW_PASS(await(pg, state == PGRES_POLLING_WRITING));
        state = pg->PQconnectPoll(pg->connection);
        if (state == PGRES_POLLING_FAILED) return fail_connection(pg);
    }
    (void)pg->PQsetNoticeProcessor(pg->connection, ignore_notice, NULL);
    if (pg->PQsetnonblocking(pg->connection, 1) != 0) return fail_connection(pg);
    return CW_OK;
}

static cw_status open_connection(cwi_pg *pg, const char *address, const char *name)
{
    pg->name = cwi_strdup(pg->ctx, name);
    pg->stage = cwi_format(pg->ctx, "waiting for %s", name);
    if (!pg->name || !pg->stage) return CW_NO_MEMORY;
    pg->library = cwi_library_open("libpq.so.5", calls, sizeof calls / sizeof calls[0], pg);
    if (!pg->library)
        return cwi_fail(pg->ctx, CW_UNSUPPORTED,
                        "%s: this takes the library libpq.so.5, which is not installed (on "
                        "Debian: libpq5)",
                        pg->name);
    CW_PASS(check_address(pg, address));
    return connect_to(pg, address);
}

cw_status cwi_pg_open(cw_context *ctx, const char *address, const char *name, cwi_pg **out)
{
    *out = NULL;
    cwi_pg *pg = cwi_alloc_zero(ctx, 1, sizeof *pg);
    if (!pg) return CW_NO_MEMORY;
    pg->ctx = ctx;
    cw_status status = open_connection(pg, address, name);
    if (status == CW_OK)
        *out = pg;
    else
        cwi_pg_close(pg);
    return status;
}

void cwi_pg_close(cwi_pg *pg)
{
    if (!pg) return;
    if (pg->row) pg->PQfreemem(pg->row);
    if (pg->connection) pg->PQfinish(pg->connection);
    cwi_library_close(pg->library);
    cwi_free(pg->stage);
    cwi_free(pg->name);
    cwi_free(pg);
}

/* ---- statements -------------------------------------------------------------------------- */

cw_status cwi_pg_run(cwi_pg *pg, const char *sql)
{
    PGresult *result;
    cw_status status = take_all(pg, pg->PQsendQuery(pg->connection, sql), &result);
    clear_result(pg, result);
    return status;
}

cw_status cwi_pg_ask(cwi_pg *pg, const char *sql, char **out)
{
    PGresult *result;
    *out = NULL;
    cw_status status = take_all(pg, pg->PQsendQuery(pg->connection, sql), &result);
    if (status == CW_OK && result && pg->PQntuples(result) > 0 && !pg->PQgetisnull(result, 0, 0)) {
        *out = cwi_strdup(pg->ctx, pg->PQgetvalue(result, 0, 0));
        status = *out ? CW_OK : CW_NO_MEMORY;
    }
    clear_result(pg, result);
    return status;
}

void cwi_pg_columns_clear(cwi_pg_columns *columns)
{
    for (size_t c = 0; columns->name && c < columns->count; c++) cwi_free(columns->name[c]);
    cwi_free(columns->name);
    cwi_free(columns->type);
    *columns = (cwi_pg_columns){0};
}

static cw_status copy_columns(cwi_pg *pg, const PGresult *result, cwi_pg_columns *out)
{
    out->count = (size_t)pg->PQnfields(result);
    out->name = cwi_alloc_zero(pg->ctx, out->count, sizeof *out->name);
    out->type = cwi_alloc_zero(pg->ctx, out->count, sizeof *out->type);
    if (!out->name || !out->type) return CW_NO_MEMORY;
    for (size_t c = 0; c < out->count; c++) {
        out->type[c] = pg->PQftype(result, (int)c);
        out->name[c] = cwi_strdup(pg->ctx, pg->PQfname(result, (int)c));
        if (!out->name[c]) return CW_NO_MEMORY;
    }
    return CW_OK;
}

cw_status cwi_pg_describe(cwi_pg *pg, const char *sql, cwi_pg_columns *out)
{
    PGresult *result = NULL;
    cw_status status;

    *out = (cwi_pg_columns){0};
    CW_TRY(take_all(pg, pg->PQsendPrepare(pg->connection, "", sql, 0, NULL), &result));
    clear_result(pg, result);
    result = NULL;
    CW_TRY(take_all(pg, pg->PQsendDescribePrepared(pg->connection, ""), &result));
    CW_TRY(copy_columns(pg, result, out));
done:
    clear_result(pg, result);
    return status;
}

/* ---- rows in bulk ------------------------------------------------------------------------ */

static cw_status start_copy(cwi_pg *pg, const char *sql, ExecStatusType wanted)
{
    PGresult *result;
    cw_status status = take_all(pg, pg->PQsendQuery(pg->connection, sql), &result);
    bool is_copy = status == CW_OK && pg->PQresultStatus(result) == wanted;
    clear_result(pg, result);
    CW_PASS(status);
    return is_copy ? CW_OK : fail_with(pg, CW_BAD_DATA, "the server does not copy rows");
}

cw_status cwi_pg_copy_out(cwi_pg *pg, const char *sql)
{
    return start_copy(pg, sql, PGRES_COPY_OUT);
}

/* Behind the last row: did the server come to the end of them? */
static cw_status end_copy(cwi_pg *pg)
{
    PGresult *result;
    cw_status status = take_all(pg, 1, &result);
    clear_result(pg, result);
    return status;
}

cw_status cwi_pg_next(cwi_pg *pg, char **row, size_t *length)
{
    int got;

    if (pg->row) pg->PQfreemem(pg->row);
    *row = pg->row = NULL;
    while ((got = pg->PQgetCopyData(pg->connection, &pg->row, 1)) == 0) {
        cw_status status = await(pg, false);
        if (status == CW_CANCELLED) cancel(pg);
        CW_PASS(status);
        if (!pg->PQconsumeInput(pg->connection)) return fail_connection(pg);
    }
    if (got == -1) return end_copy(pg);
    if (got < 0) return fail_connection(pg);
    *row = pg->row;
    *length = (size_t)got;
    return CW_OK;
}

cw_status cwi_pg_copy_in(cwi_pg *pg, const char *sql)
{
    return start_copy(pg, sql, PGRES_COPY_IN);
}

cw_status cwi_pg_put(cwi_pg *pg, const char *bytes, size_t length)
{
    enum { PIECE = 1 << 20 };
    while (length > 0) {
        int size = length < PIECE ? (int)length : PIECE;
        int put = pg->PQputCopyData(pg->connection, bytes, size);
        if (put < 0) return fail_connection(pg);
        CW_PASS(flush(pg));
        if (put == 0) continue;
        bytes += size;
        length -= (size_t)size;
    }
    return CW_OK;
}

cw_status cwi_pg_copy_end(cwi_pg *pg)
{
    int put;
    while ((put = pg->PQputCopyEnd(pg->connection, NULL)) == 0) CW_PASS(flush(pg));
    return put < 0 ? fail_connection(pg) : end_copy(pg);
}

#else

static cw_status refuse(cw_context *ctx, const char *name)
{
    return cwi_fail(ctx, CW_UNSUPPORTED,
                    "%s: this crosswise was built without PostgreSQL's library (on Debian: "
                    "libpq-dev)",
                    name);
}

cw_status cwi_pg_open(cw_context *ctx, const char *address, const char *name, cwi_pg **out)
{
    (void)address;
    *out = NULL;
    return refuse(ctx, name);
}

/* Without a connection nothing below is called. */
void cwi_pg_close(cwi_pg *pg)
{
    (void)pg;
}

cw_status cwi_pg_run(cwi_pg *pg, const char *sql)
{
    (void)pg, (void)sql;
    return CW_UNSUPPORTED;
}

cw_status cwi_pg_ask(cwi_pg *pg, const char *sql, char **out)
{
    (void)pg, (void)sql, (void)out;
    return CW_UNSUPPORTED;
}

cw_status cwi_pg_describe(cwi_pg *pg, const char *sql, cwi_pg_columns *out)
{
    (void)pg, (void)sql, (void)out;
    return CW_UNSUPPORTED;
}

void cwi_pg_columns_clear(cwi_pg_columns *columns)
{
    (void)columns;
}

cw_status cwi_pg_copy_out(cwi_pg *pg, const char *sql)
{
    (void)pg, (void)sql;
    return CW_UNSUPPORTED;
}

cw_status cwi_pg_next(cwi_pg *pg, char **row, size_t *length)
{
    (void)pg, (void)row, (void)length;
    return CW_UNSUPPORTED;
}

cw_status cwi_pg_copy_in(cwi_pg *pg, const char *sql)
{
    (void)pg, (void)sql;
    return CW_UNSUPPORTED;
}

cw_status cwi_pg_put(cwi_pg *pg, const char *bytes, size_t length)
{
    (void)pg, (void)bytes, (void)length;
    return CW_UNSUPPORTED;
}

cw_status cwi_pg_copy_end(cwi_pg *pg)
{
    (void)pg;
    return CW_UNSUPPORTED;
}

#endif

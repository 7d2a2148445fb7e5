/* sink_sqlite.c - lists into a table of SQLite. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "import/database.h"
#include "import/sqlite.h"
#include "recommend/sink.h"

typedef struct sqlite_state {
    cwi_sqlite *database;
    char *made; /* the file, when it was not there before */
} sqlite_state;

/* Is there nothing, so that a failure leaves nothing? */
static cw_status remember_file(cw_context *ctx, const char *path, sqlite_state *s)
{
    struct stat info;
    if (lstat(path, &info) == 0) return CW_OK;
    s->made = cwi_strdup(ctx, path);
    return s->made ? CW_OK : CW_NO_MEMORY;
}

static cw_status make_table(cw_context *ctx, const cwi_sink_order *order, bool exists,
                            sqlite_state *s)
{
    const char *table = order->uri->table;
    char *sql = NULL, *columns = NULL, *insert = NULL;
    char *name = cwi_sql_name(ctx, table, strlen(table), false);
    cw_status status;

    CW_TRY(name ? CW_OK : CW_NO_MEMORY);
    sql = cwi_sink_clearing(ctx, order, name, exists);
    CW_TRY(sql ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_sqlite_run(s->database, sql));
    columns = cwi_sink_columns(ctx, order, false);
    CW_TRY(columns ? CW_OK : CW_NO_MEMORY);
    insert = cwi_format(ctx, "INSERT INTO %s (%s) VALUES (?1, ?2, ?3, ?4, ?5)", name, columns);
    CW_TRY(insert ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_sqlite_prepare(s->database, insert));
done:
    cwi_free(insert);
    cwi_free(sql);
    cwi_free(columns);
    cwi_free(name);
    return status;
}

static cw_status begin(cw_context *ctx, const cwi_sink_order *order, sqlite_state *s)
{
    bool exists;
    CW_PASS(remember_file(ctx, order->uri->address, s));
    CW_PASS(cwi_sqlite_open(ctx, order->uri->address, order->name, true, &s->database));
    CW_PASS(cwi_sqlite_run(s->database, "BEGIN IMMEDIATE"));
    CW_PASS(cwi_sqlite_has(s->database, order->uri->table, &exists));
    if (exists && !order->replace) return cwi_sink_refuse(ctx, order);
    return make_table(ctx, order, exists, s);
}

static cw_status end_sqlite(cw_context *ctx, void *state, cw_status status)
{
    sqlite_state *s = state;
    (void)ctx;
    if (status == CW_OK) status = cwi_sqlite_run(s->database, "COMMIT");
    cwi_sqlite_close(s->database); /* undoes what is not committed */
    if (status != CW_OK && s->made) (void)unlink(s->made);
    cwi_free(s->made);
    cwi_free(s);
    return status;
}

static cw_status open_sqlite(cw_context *ctx, const cwi_sink_order *order, void **state)
{
    sqlite_state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    cw_status status = begin(ctx, order, s);
    if (status != CW_OK) return end_sqlite(ctx, s, status);
    *state = s;
    return CW_OK;
}

static cw_status put_sqlite(cw_context *ctx, void *state, const cw_sink_row *row, double score)
{
    const cwi_sqlite_values values = {{row->key, row->item, row->how}, row->rank, score};
    const sqlite_state *s = state;
    (void)ctx;
    return cwi_sqlite_insert(s->database, &values);
}

const cwi_sink_kind cwi_sink_sqlite = {open_sqlite, put_sqlite, end_sqlite};

/* sink_postgresql.c - lists into a table of PostgreSQL, by COPY. */
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/database.h"
#include "import/postgresql.h"
#include "recommend/sink.h"

enum { BUFFER_BYTES = 64 << 10 };

typedef struct pg_state {
    cwi_pg *pg;
    char *buffer;
    size_t used, room;
} pg_state;

/* 'text' as SQL has it; the server takes a backslash for itself. */
static char *quote_text(cw_context *ctx, const char *text)
{
    char *quoted = cwi_alloc(ctx, 2 * strlen(text) + 3, 1), *to = quoted;
    if (!quoted) return NULL;
    *to++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') *to++ = '\'';
        *to++ = *text;
    }
    *to++ = '\'';
    *to = '\0';
    return quoted;
}

static cw_status find_table(cw_context *ctx, cwi_pg *pg, const char *name, bool *out)
{
    char *found = NULL, *sql = NULL, *quoted = quote_text(ctx, name);
    cw_status status;

    CW_TRY(quoted ? CW_OK : CW_NO_MEMORY);
    sql = cwi_format(ctx, "SELECT to_regclass(%s)", quoted);
    CW_TRY(sql ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_pg_ask(pg, sql, &found));
    *out = found != NULL;
done:
    cwi_free(found);
    cwi_free(sql);
    cwi_free(quoted);
    return status;
}

/* Readers see the old rows until the new ones are all there, so DELETE and not TRUNCATE. */
static cw_status make_table(cw_context *ctx, const cwi_sink_order *order, const char *name,
                            pg_state *s)
{
    char *sql = NULL, *copy = NULL, *columns = NULL;
    bool exists;
    cw_status status;

    CW_TRY(find_table(ctx, s->pg, name, &exists));
    if (exists && !order->replace) CW_TRY(cwi_sink_refuse(ctx, order));
    sql = cwi_sink_clearing(ctx, order, name, exists);
    CW_TRY(sql ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_pg_run(s->pg, sql));
    columns = cwi_sink_columns(ctx, order, false);
    CW_TRY(columns ? CW_OK : CW_NO_MEMORY);
    copy = cwi_format(ctx, "COPY %s (%s) FROM STDIN", name, columns);
    CW_TRY(copy ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_pg_copy_in(s->pg, copy));
done:
    cwi_free(copy);
    cwi_free(sql);
    cwi_free(columns);
    return status;
}

static cw_status begin(cw_context *ctx, const cwi_sink_order *order, pg_state *s)
{
    s->room = BUFFER_BYTES;
    s->buffer = cwi_alloc(ctx, s->room, 1);
    if (!s->buffer) return CW_NO_MEMORY;
    CW_PASS(cwi_pg_open(ctx, order->uri->address, order->name, &s->pg));
    CW_PASS(cwi_pg_run(s->pg, "BEGIN; SET LOCAL standard_conforming_strings = on"));
    char *name = cwi_sql_name(ctx, order->uri->table, strlen(order->uri->table), true);
    if (!name) return CW_NO_MEMORY;
    cw_status status = make_table(ctx, order, name, s);
    cwi_free(name);
    return status;
}

static cw_status send_buffer(pg_state *s)
{
    size_t length = s->used;
    s->used = 0;
    return cwi_pg_put(s->pg, s->buffer, length);
}

static cw_status end_postgresql(cw_context *ctx, void *state, cw_status status)
{
    pg_state *s = state;
    (void)ctx;
    if (status == CW_OK) status = send_buffer(s);
    if (status == CW_OK) status = cwi_pg_copy_end(s->pg);
    if (status == CW_OK) status = cwi_pg_run(s->pg, "COMMIT");
    cwi_pg_close(s->pg); /* undoes what is not committed */
    cwi_free(s->buffer);
    cwi_free(s);
    return status;
}

static cw_status open_postgresql(cw_context *ctx, const cwi_sink_order *order, void **state)
{
    pg_state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    cw_status status = begin(ctx, order, s);
    if (status != CW_OK) return end_postgresql(ctx, s, status);
    *state = s;
    return CW_OK;
}

/* A field of COPY: what it gives a meaning to becomes \t, \n, \r and \\. */
static void put_field(pg_state *s, const char *text, char behind)
{
    for (; *text; text++) {
        const char *special = strchr("\t\n\r\\", *text);
        if (special) s->buffer[s->used++] = '\\';
        s->buffer[s->used++] = !special           ? *text
                               : *special == '\t' ? 't'
                               : *special == '\n' ? 'n'
                               : *special == '\r' ? 'r'
                                                  : '\\';
    }
    s->buffer[s->used++] = behind;
}

static cw_status put_postgresql(cw_context *ctx, void *state, const cw_sink_row *row, double score)
{
    pg_state *s = state;
    char rank[CWI_NUMBER_BYTES], number[CWI_NUMBER_BYTES];
    size_t most = 2 * (strlen(row->key) + strlen(row->item) + strlen(row->how)) + 128;

    if (s->used + most > s->room && s->used > 0) CW_PASS(send_buffer(s));
    CW_PASS(cwi_grow(ctx, &s->buffer, &s->room, most, 1));
    cwi_print_int(row->rank, rank);
    cwi_print_real(score, number);
    put_field(s, row->key, '\t');
    put_field(s, row->item, '\t');
    put_field(s, rank, '\t');
    put_field(s, number, '\t');
    put_field(s, row->how, '\n');
    return CW_OK;
}

const cwi_sink_kind cwi_sink_postgresql = {open_postgresql, put_postgresql, end_postgresql};

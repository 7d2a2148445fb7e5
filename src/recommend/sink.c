/* sink.c - rows of lists on their way out, and into text files. */
#include "recommend/sink.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "import/database.h"

struct cw_sink {
    const cwi_sink_kind *kind;
    void *state;
    char *name;
};

/* ---- files ------------------------------------------------------------------------------- */

typedef struct text_state {
    cwi_writer *out;
    const char *key, *item; /* borrowed from the caller, who has them as words */
} text_state;

static cw_status open_text(cw_context *ctx, const cwi_sink_order *order, void **state)
{
    if (cwi_path_exists(order->path) && !order->replace)
        return cwi_fail(ctx, CW_BAD_ARG, "%s exists; it is replaced only with --force",
                        order->path);
    text_state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    cw_status status = cwi_writer_open(ctx, order->path, &s->out);
    s->key = order->key;
    s->item = order->item;
    if (status == CW_OK)
        *state = s;
    else
        cwi_free(s);
    return status;
}

static cw_status end_text(cw_context *ctx, void *state, cw_status status)
{
    text_state *s = state;
    status = cwi_writer_end(ctx, s->out, status);
    cwi_free(s);
    return status;
}

static cw_status open_csv(cw_context *ctx, const cwi_sink_order *order, void **state)
{
    CW_PASS(open_text(ctx, order, state));
    text_state *s = *state;
    cwi_writer_field(s->out, "", order->key);
    cwi_writer_field(s->out, ",", order->item);
    cwi_writer_text(s->out, ",rank,score,how\n");
    return CW_OK;
}

static cw_status put_csv(cw_context *ctx, void *state, const cw_sink_row *row, double score)
{
    text_state *s = state;
    char number[CWI_NUMBER_BYTES];
    (void)ctx;
    cwi_print_real(score, number);
    cwi_writer_field(s->out, "", row->key);
    cwi_writer_field(s->out, ",", row->item);
    cwi_writer_text(s->out, ",");
    cwi_writer_int(s->out, row->rank);
    CWI_WRITE(s->out, ",", number, ",", row->how, "\n");
    return CW_OK;
}

/* "{"user":"x", ...": an id as JSON behind what stands before it. */
static cw_status put_id(cw_context *ctx, text_state *s, const char *before, const char *id)
{
    json_t *value = cwi_json_string(id);
    char *text = cwi_json_print(ctx, value, JSON_ENCODE_ANY | JSON_COMPACT);
    json_decref(value);
    if (!text) return CW_NO_MEMORY;
    CWI_WRITE(s->out, before, text);
    cwi_free(text);
    return CW_OK;
}

static cw_status put_jsonl(cw_context *ctx, void *state, const cw_sink_row *row, double score)
{
    text_state *s = state;
    char number[CWI_NUMBER_BYTES];
    cwi_print_real(score, number);
    CWI_WRITE(s->out, "{\"", s->key);
    CW_PASS(put_id(ctx, s, "\":", row->key));
    CWI_WRITE(s->out, ",\"", s->item);
    CW_PASS(put_id(ctx, s, "\":", row->item));
    cwi_writer_text(s->out, ",\"rank\":");
    cwi_writer_int(s->out, row->rank);
    CWI_WRITE(s->out, ",\"score\":", number, ",\"how\":\"", row->how, "\"}\n");
    return CW_OK;
}

const cwi_sink_kind cwi_sink_csv = {open_csv, put_csv, end_text};
const cwi_sink_kind cwi_sink_jsonl = {open_text, put_jsonl, end_text};

/* ---- what databases share ---------------------------------------------------------------- */

char *cwi_sink_columns(cw_context *ctx, const cwi_sink_order *order, bool with_types)
{
    const char *key = order->uri->column[0] ? order->uri->column[0] : order->key;
    const char *item = order->uri->column[1] ? order->uri->column[1] : order->item;
    const char *text = with_types ? " text NOT NULL" : "";
    char *list = NULL, *second = NULL;
    char *first = cwi_sql_name(ctx, key, strlen(key), false);
    if (first) second = cwi_sql_name(ctx, item, strlen(item), false);
    if (second)
        list = cwi_format(ctx, "%s%s, %s%s, \"rank\"%s, \"score\"%s, \"how\"%s", first, text,
                          second, text, with_types ? " integer NOT NULL" : "",
                          with_types ? " double precision NOT NULL" : "", text);
    cwi_free(first);
    cwi_free(second);
    return list;
}

char *cwi_sink_clearing(cw_context *ctx, const cwi_sink_order *order, const char *name, bool exists)
{
    if (exists) return cwi_format(ctx, "DELETE FROM %s", name);
    char *columns = cwi_sink_columns(ctx, order, true), *sql = NULL;
    if (columns) sql = cwi_format(ctx, "CREATE TABLE %s (%s)", name, columns);
    cwi_free(columns);
    return sql;
}

cw_status cwi_sink_refuse(cw_context *ctx, const cwi_sink_order *order)
{
    return cwi_fail(ctx, CW_BAD_ARG,
                    "%s: the table %s exists; its rows are replaced only with --force", order->name,
                    order->uri->table);
}

/* ---- opening ----------------------------------------------------------------------------- */

static cw_status check_uri(cw_context *ctx, const cwi_uri *uri)
{
    if (uri->query)
        return cwi_fail(ctx, CW_BAD_ARG, "%s: lists go into a table, ?table=NAME, not a query",
                        uri->name);
    if (uri->column[2] || uri->column[3])
        return cwi_fail(ctx, CW_BAD_ARG, "%s: lists have no columns rating= and time=", uri->name);
    return CW_OK;
}

static cw_status open_sink(cw_context *ctx, const char *to, cwi_sink_order *order, cwi_uri *uri,
                           cw_sink *sink)
{
    if (cwi_uri_find(to)) {
        CW_PASS(cwi_uri_parse(ctx, to, uri));
        CW_PASS(check_uri(ctx, uri));
        order->uri = uri;
        sink->kind = uri->kind == CWI_URI_SQLITE ? &cwi_sink_sqlite : &cwi_sink_postgresql;
    } else if (cwi_ends_with(to, ".csv") || cwi_ends_with(to, ".jsonl")) {
        order->path = to;
        sink->kind = cwi_ends_with(to, ".csv") ? &cwi_sink_csv : &cwi_sink_jsonl;
    } else {
        return cwi_fail(ctx, CW_BAD_ARG,
                        "'%s' is no place for lists; it must end in .jsonl or .csv, or be "
                        "sqlite:FILE?table=NAME or postgresql://[user@]host/database?table=NAME",
                        to);
    }
    sink->name = cwi_strdup(ctx, order->uri ? uri->name : to);
    if (!sink->name) return CW_NO_MEMORY;
    order->name = sink->name;
    return sink->kind->open(ctx, order, &sink->state);
}

cw_status cw_sink_open(cw_context *ctx, const char *to, const char *key, const char *item,
                       bool replace, cw_sink **out)
{
    cwi_sink_order order = {.key = key, .item = item, .replace = replace};
    cwi_uri uri = {0};

    cwi_begin(ctx);
    *out = NULL;
    cw_sink *sink = cwi_alloc_zero(ctx, 1, sizeof *sink);
    if (!sink) return CW_NO_MEMORY;
    cw_status status = open_sink(ctx, to, &order, &uri, sink);
    cwi_uri_clear(&uri);
    if (status == CW_OK) {
        *out = sink;
    } else {
        cwi_free(sink->name);
        cwi_free(sink);
    }
    return status;
}

/* The number that the shortest decimal of a float means: 0.1 and not 0.10000000149. */
static double shortest(float score)
{
    char text[CWI_NUMBER_BYTES];
    double value = (double)score;

    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)score);
        char *comma = strchr(text, ','); /* the caller may run in a locale with a comma */
        if (comma) *comma = '.';
        if (cwi_parse_real(text, strlen(text), &value) && (float)value == score) break;
    }
    return value;
}

cw_status cw_sink_put(cw_context *ctx, cw_sink *sink, const cw_sink_row *row)
{
    cwi_begin(ctx);
    return sink->kind->put(ctx, sink->state, row, shortest(row->score));
}

const char *cw_sink_name(const cw_sink *sink)
{
    return sink->name;
}

cw_status cw_sink_close(cw_context *ctx, cw_sink *sink, cw_status status)
{
    if (!sink) return status;
    if (status == CW_OK) cwi_begin(ctx); /* otherwise the reason stays */
    status = sink->kind->end(ctx, sink->state, status);
    cwi_free(sink->name);
    cwi_free(sink);
    return status;
}

/* sink.h - places outside for lists, one table entry per kind. */
#ifndef CWI_RECOMMEND_SINK_H
#define CWI_RECOMMEND_SINK_H

#include "core/context.h"
#include "import/uri.h"

/* What a sink is opened with. */
typedef struct cwi_sink_order {
    const char *path;   /* of a file, or */
    const cwi_uri *uri; /* of a database */
    const char *name;   /* for messages */
    const char *key, *item;
    bool replace;
} cwi_sink_order;

/*
 * open   begin the transaction
 * put    a row; score is the number that its shortest decimal means
 * end    commit, or undo when status is not CW_OK; frees in any case
 */
typedef struct cwi_sink_kind {
    cw_status (*open)(cw_context *ctx, const cwi_sink_order *order, void **state);
    cw_status (*put)(cw_context *ctx, void *state, const cw_sink_row *row, double score);
    cw_status (*end)(cw_context *ctx, void *state, cw_status status);
} cwi_sink_kind;

extern const cwi_sink_kind cwi_sink_jsonl, cwi_sink_csv, cwi_sink_sqlite, cwi_sink_postgresql;

/* "a", "b", "rank", "score", "how": the columns of a table, with their types behind them or not. */
char *cwi_sink_columns(cw_context *ctx, const cwi_sink_order *order, bool with_types);

/* What makes the table, whose name is quoted, or empties the one that exists. */
char *cwi_sink_clearing(cw_context *ctx, const cwi_sink_order *order, const char *name,
                        bool exists);

/* The error of a table that is there when it may not be. */
cw_status cwi_sink_refuse(cw_context *ctx, const cwi_sink_order *order);

#endif

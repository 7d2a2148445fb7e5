/* arrow.c - interactions from Arrow streams: batches of rows that others hold in memory. */
#include "import/arrow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"

static const char *const role_names[CWI_N_ROLES] = {"user", "item", "rating", "time"};

/* One stream on its way. */
typedef struct reading {
    cwi_import *import;
    cwi_source *source;
    struct ArrowArrayStream *stream;
    struct ArrowSchema schema;
    cwi_layout layout;
    int64_t rows; /* so far */
} reading;

/* What the stream says of a call that gave this number. */
static cw_status fail_stream(const reading *r, int code)
{
    const char *why = r->stream->get_last_error ? r->stream->get_last_error(r->stream) : NULL;
    if (!why || !why[0])
        return cwi_fail(r->import->ctx, CW_BAD_DATA, "the Arrow stream failed with error %d", code);
    return cwi_fail(r->import->ctx, CW_BAD_DATA, "the Arrow stream failed: %.800s", why);
}

static const struct ArrowSchema *column_schema(const reading *r, int role)
{
    return r->schema.children[r->layout.column[role]];
}

/* ---- columns and their types ------------------------------------------------------- */

static bool suits(int role, cwi_arrow_kind kind)
{
    bool is_text = kind == CWI_ARROW_TEXT || kind == CWI_ARROW_VIEW;
    bool is_whole = kind == CWI_ARROW_INTEGER || kind == CWI_ARROW_UNSIGNED;
    switch (role) {
    case CWI_ROLE_RATING: return is_whole || kind == CWI_ARROW_REAL || kind == CWI_ARROW_BOOLEAN;
    case CWI_ROLE_TIME:
        return is_whole || is_text || kind == CWI_ARROW_REAL || kind == CWI_ARROW_TIME;
    default: return is_whole || is_text;
    }
}

static cw_status check_type(const reading *r, int role)
{
    static const char *const wanted[CWI_N_ROLES] = {
        "ids are integers or text", "ids are integers or text", "ratings are numbers",
        "times are numbers, dates, timestamps or text"};
    const struct ArrowSchema *schema = column_schema(r, role);
    const char *format = schema->dictionary ? schema->dictionary->format : schema->format;

    if (format && schema->format && suits(role, cwi_arrow_type_of(format).kind)) return CW_OK;
    return cwi_fail(r->import->ctx, CW_BAD_DATA, "%s: the %s column %s has the Arrow type '%s'; %s",
                    cwi_source_name(r->source), role_names[role], schema->name ? schema->name : "",
                    format ? format : "", wanted[role]);
}

static cw_status check_schema(const reading *r)
{
    const struct ArrowSchema *schema = &r->schema;
    bool is_table = schema->format && strcmp(schema->format, "+s") == 0 &&
                    schema->n_children >= 0 && schema->n_children <= CWI_MAX_COLUMNS &&
                    !schema->dictionary && (schema->n_children == 0 || schema->children);
    for (int64_t c = 0; is_table && c < schema->n_children; c++)
        is_table = schema->children[c] && schema->children[c]->format;
    if (is_table) return CW_OK;
    return cwi_fail(r->import->ctx, CW_BAD_DATA,
                    "the Arrow stream has the type '%s'; it must be a table with up to %d columns",
                    schema->format ? schema->format : "", CWI_MAX_COLUMNS);
}

static bool has_numbers(const struct ArrowSchema *schema)
{
    const char *format = schema->dictionary ? schema->dictionary->format : schema->format;
    return format && suits(CWI_ROLE_RATING, cwi_arrow_type_of(format).kind);
}

static cw_status choose_columns(reading *r)
{
    cw_status status;
    size_t n = (size_t)r->schema.n_children;
    cwi_pile pile = {0};
    cwi_text *names = cwi_pile_add(r->import->ctx, &pile, n, sizeof *names);
    bool *numbers = cwi_pile_add(r->import->ctx, &pile, n, sizeof *numbers);
    const cwi_view view = {
        .word = "column", .is_complete = true, .is_typed = true, .has_numbers = numbers};

    CW_TRY(pile.status);
    for (size_t c = 0; c < n; c++) {
        const char *name = r->schema.children[c]->name;
        names[c] = name ? (cwi_text){name, strlen(name)} : (cwi_text){"", 0};
        numbers[c] = has_numbers(r->schema.children[c]);
    }
    r->layout = (cwi_layout){.column = {-1, -1, -1, -1}, .n_columns = n};
    CW_TRY(cwi_columns_find(r->import, r->source, &view, names, n, &r->layout));
    for (int role = 0; role < CWI_N_ROLES; role++)
        if (r->layout.column[role] >= 0) CW_TRY(check_type(r, role));
    status = cwi_import_begin(r->import, r->source, r->layout.column[CWI_ROLE_RATING] >= 0,
                              r->layout.column[CWI_ROLE_TIME] >= 0);
done:
    cwi_pile_clear(&pile);
    return status;
}

/* ---- batches ----------------------------------------------------------------------- */

/* The columns of one batch that have a role. */
typedef struct batch {
    cwi_arrow_column column[CWI_N_ROLES], dictionary[CWI_N_ROLES];
    bool has[CWI_N_ROLES];
} batch;

static cw_status open_batch(const reading *r, const struct ArrowArray *array, batch *b)
{
    cw_context *ctx = r->import->ctx;
    bool is_good = array->length >= 0 && array->offset >= 0 && array->null_count <= 0 &&
                   array->n_children == r->schema.n_children && array->children;

    *b = (batch){0};
    if (!is_good && array->length != 0)
        return cwi_fail(ctx, CW_BAD_DATA, "a batch of the Arrow stream does not fit its schema");
    for (int role = 0; role < CWI_N_ROLES && array->length > 0; role++) {
        int c = r->layout.column[role];
        if (c < 0) continue;
        b->has[role] = true;
        CW_PASS(cwi_arrow_open(ctx, role_names[role], column_schema(r, role), array->children[c],
                               array->offset, array->length, &b->dictionary[role],
                               &b->column[role]));
    }
    return CW_OK;
}

static cw_status read_row(reading *r, const batch *b, int64_t row)
{
    cw_context *ctx = r->import->ctx;
    char user[32], item[32];
    cwi_cells cells = {.has_rating = b->has[CWI_ROLE_RATING], .has_time = b->has[CWI_ROLE_TIME]};

    cwi_source_set_line(r->source, r->rows + row + 1);
    CW_PASS(cwi_arrow_text(ctx, &b->column[CWI_ROLE_USER], row, user, &cells.user));
    CW_PASS(cwi_arrow_text(ctx, &b->column[CWI_ROLE_ITEM], row, item, &cells.item));
    if (cells.has_rating)
        CW_PASS(cwi_arrow_number(ctx, &b->column[CWI_ROLE_RATING], row, &cells.rating));
    if (cells.has_time)
        CW_PASS(cwi_arrow_seconds(ctx, &b->column[CWI_ROLE_TIME], row, r->import->settings.dates,
                                  &cells.time));
    return cwi_import_cells(r->import, r->source, &cells);
}

static cw_status read_batch(reading *r, const struct ArrowArray *array)
{
    enum { PROGRESS_ROWS = 1 << 18 };
    batch b;

    CW_PASS(open_batch(r, array, &b));
    for (int64_t row = 0; row < array->length; row++) {
        if (row % PROGRESS_ROWS == 0)
            CW_PASS(cwi_progress(r->import->ctx, "reading Arrow data", r->rows + row, 0));
        CW_PASS(read_row(r, &b, row));
    }
    r->rows += array->length;
    return CW_OK;
}

static cw_status read_batches(reading *r)
{
    for (;;) {
        struct ArrowArray array = {0};
        int code = r->stream->get_next(r->stream, &array);
        if (code != 0) return fail_stream(r, code);
        if (!array.release) return CW_OK;
        cw_status status = read_batch(r, &array);
        array.release(&array);
        CW_PASS(status);
    }
}

static cw_status read_stream(reading *r)
{
    int code = r->stream->get_schema(r->stream, &r->schema);
    if (code != 0) return fail_stream(r, code);
    cw_status status = check_schema(r);
    if (status == CW_OK) status = choose_columns(r);
    if (status == CW_OK) status = read_batches(r);
    if (r->schema.release) r->schema.release(&r->schema);
    return status;
}

/* number is 0 for the only table. */
static cw_status import_stream(cwi_import *import, struct ArrowArrayStream *stream, size_t number)
{
    char name[32] = "table";
    cwi_entry *entry;
    reading r = {.import = import, .stream = stream};

    if (number > 0) snprintf(name, sizeof name, "table %zu", number);
    CW_PASS(cwi_import_entry(import, name, &entry));
    entry->format = "arrow";
    CW_PASS(cwi_source_open_table(import->ctx, name, &r.source));
    int64_t before = import->rows->count;
    cw_status status = read_stream(&r);
    entry->lines = r.rows;
    entry->rows = import->rows->count - before;
    import->lines += r.rows;
    cwi_source_close(r.source);
    return status;
}

/* ---- all of them -------------------------------------------------------------------- */

static cw_status check_streams(cw_context *ctx, struct ArrowArrayStream *const *streams,
                               const cw_part *parts, size_t n)
{
    if (!streams || n == 0) return cwi_fail(ctx, CW_BAD_ARG, "there is no Arrow stream to import");
    for (size_t s = 0; s < n; s++) {
        if (!streams[s] || !streams[s]->release)
            return cwi_fail(ctx, CW_BAD_ARG, "Arrow stream %zu was released: each is read once",
                            s + 1);
        if (parts && ((int)parts[s] < CW_PART_TRAIN || (int)parts[s] > CW_PART_TEST))
            return cwi_fail(ctx, CW_BAD_ARG, "parts[%zu] is %d, which is no part of a split", s,
                            (int)parts[s]);
    }
    return CW_OK;
}

static cw_status import_streams(cw_context *ctx, struct ArrowArrayStream *const *streams,
                                const cw_part *parts, size_t n, const cw_options *options,
                                cw_interactions **out)
{
    cwi_import import;

    CW_PASS(check_streams(ctx, streams, parts, n));
    cw_status status = cwi_import_open(ctx, options, &import);
    import.is_split = parts != NULL;
    for (size_t s = 0; s < n && status == CW_OK; s++) {
        if (parts) import.part = (uint8_t)parts[s];
        status = import_stream(&import, streams[s], n > 1 ? s + 1 : 0);
    }
    return cwi_import_close(&import, status, out);
}

cw_status cw_import_arrow(cw_context *ctx, struct ArrowArrayStream *const *streams,
                          const cw_part *parts, size_t n_streams, const cw_options *options,
                          cw_interactions **out)
{
    cwi_begin(ctx);
    *out = NULL;
    cw_status status = import_streams(ctx, streams, parts, n_streams, options, out);
    for (size_t s = 0; streams && s < n_streams; s++)
        if (streams[s] && streams[s]->release) streams[s]->release(streams[s]);
    return status;
}

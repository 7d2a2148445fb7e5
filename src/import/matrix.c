/* matrix.c - interactions from sparse matrices, whose rows and columns keep their numbers. */
#include <inttypes.h>

#include "core/mem.h"
#include "import/import.h"

enum { MOST_MATRICES = 3, PROGRESS_ROWS = 1 << 16 };

static const char *const part_names[MOST_MATRICES] = {"train", "valid", "test"};

static int64_t number_at(const void *array, int bytes, int64_t place)
{
    return bytes == 4 ? ((const int32_t *)array)[place] : ((const int64_t *)array)[place];
}

static int64_t entries_of(const cw_matrix *matrix)
{
    return number_at(matrix->start, matrix->index_bytes, matrix->n_users);
}

static cw_status check_shape(cw_context *ctx, const cw_matrix *matrix, const cw_matrix *first)
{
    if (matrix->n_users < 1 || matrix->n_items < 1)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "the matrix has %d rows and %d columns; at least one of each is needed",
                        (int)matrix->n_users, (int)matrix->n_items);
    if (matrix->n_users != first->n_users || matrix->n_items != first->n_items)
        return cwi_fail(ctx, CW_BAD_ARG, "a part has %d rows and %d columns, train has %d and %d",
                        (int)matrix->n_users, (int)matrix->n_items, (int)first->n_users,
                        (int)first->n_items);
    if (matrix->index_bytes != 4 && matrix->index_bytes != 8)
        return cwi_fail(ctx, CW_BAD_ARG, "numbers of a matrix have 4 or 8 bytes, not %d",
                        matrix->index_bytes);
    if (!matrix->start) return cwi_fail(ctx, CW_BAD_ARG, "the starts of the rows are missing");
    return CW_OK;
}

static cw_status check_starts(cw_context *ctx, const cw_matrix *matrix)
{
    int64_t before = 0;
    for (int64_t u = 0; u <= matrix->n_users; u++) {
        int64_t start = number_at(matrix->start, matrix->index_bytes, u);
        if (u == 0 && start != 0)
            return cwi_fail(ctx, CW_BAD_ARG, "start[0] of the matrix is %" PRId64 ", not 0", start);
        if (start < before)
            return cwi_fail(ctx, CW_BAD_ARG,
                            "start[%" PRId64 "] of the matrix is %" PRId64 ", below the one before",
                            u, start);
        before = start;
    }
    if (before > 0 && !matrix->item)
        return cwi_fail(ctx, CW_BAD_ARG, "the items of the matrix are missing");
    return CW_OK;
}

static cw_status check_matrices(cw_context *ctx, const cw_matrix *matrices, size_t n)
{
    if (!matrices || n < 1 || n > MOST_MATRICES)
        return cwi_fail(ctx, CW_BAD_ARG, "there must be one to three matrices, not %zu",
                        matrices ? n : 0);
    for (size_t m = 0; m < n; m++) {
        CW_PASS(check_shape(ctx, &matrices[m], &matrices[0]));
        CW_PASS(check_starts(ctx, &matrices[m]));
    }
    if (entries_of(&matrices[0]) == 0)
        return cwi_fail(ctx, CW_BAD_ARG, "there is no entry in the matrix");
    return CW_OK;
}

static cw_status make_room(cw_context *ctx, const cw_matrix *matrices, size_t n,
                           cw_interactions *rows)
{
    int64_t count = 0;
    for (size_t m = 0; m < n; m++) {
        if (entries_of(&matrices[m]) > INT64_MAX / MOST_MATRICES) return cwi_no_memory(ctx);
        count += entries_of(&matrices[m]);
    }
    rows->user = cwi_alloc(ctx, (size_t)count, sizeof *rows->user);
    rows->item = cwi_alloc(ctx, (size_t)count, sizeof *rows->item);
    rows->part = n > 1 ? cwi_alloc(ctx, (size_t)count, sizeof *rows->part) : NULL;
    return rows->user && rows->item && (n == 1 || rows->part) ? CW_OK : CW_NO_MEMORY;
}

/* The entries of a part.  *ascends stays true where those of every row do, so none is repeated. */
static cw_status copy_entries(cw_context *ctx, const cw_matrix *matrix, size_t part,
                              cw_interactions *rows, bool *ascends)
{
    int bytes = matrix->index_bytes;
    for (int32_t u = 0; u < matrix->n_users; u++) {
        int64_t end = number_at(matrix->start, bytes, u + 1), before = -1;
        if (u % PROGRESS_ROWS == 0)
            CW_PASS(cwi_progress(ctx, "reading the matrix", u, matrix->n_users));
        for (int64_t k = number_at(matrix->start, bytes, u); k < end; k++) {
            int64_t item = number_at(matrix->item, bytes, k);
            if (item < 0 || item >= matrix->n_items)
                return cwi_fail(ctx, CW_BAD_ARG,
                                "item %" PRId64
                                " in row %d of the matrix must lie between 0 and %d",
                                item, (int)u, (int)matrix->n_items - 1);
            if (item <= before) *ascends = false;
            before = item;
            rows->user[rows->count] = u;
            rows->item[rows->count] = (int32_t)item;
            if (rows->part) rows->part[rows->count] = (uint8_t)part;
            rows->count++;
        }
    }
    return CW_OK;
}

static cw_status note_entries(cwi_import *import, const char *name, int64_t rows)
{
    cwi_entry *entry;
    CW_PASS(cwi_import_entry(import, name, &entry));
    entry->format = "matrix";
    entry->lines = entry->rows = rows;
    import->lines += rows;
    return CW_OK;
}

static cw_status import_matrices(cwi_import *import, const cw_matrix *matrices, size_t n)
{
    cw_context *ctx = import->ctx;
    cw_interactions *rows = import->rows;
    bool ascends = n == 1; /* parts may have the same pair */

    CW_PASS(make_room(ctx, matrices, n, rows));
    for (size_t m = 0; m < n; m++) {
        CW_PASS(copy_entries(ctx, &matrices[m], m, rows, &ascends));
        CW_PASS(note_entries(import, n == 1 ? "matrix" : part_names[m], entries_of(&matrices[m])));
    }
    rows->keeps_numbers = true;
    import->is_distinct = ascends;
    CW_PASS(cwi_idmap_number(ctx, matrices->n_users, &rows->users));
    return cwi_idmap_number(ctx, matrices->n_items, &rows->items);
}

cw_status cw_import_matrix(cw_context *ctx, const cw_matrix *matrices, size_t n_matrices,
                           cw_interactions **out)
{
    cwi_import import;

    cwi_begin(ctx);
    *out = NULL;
    CW_PASS(check_matrices(ctx, matrices, n_matrices));
    cw_status status = cwi_import_open(ctx, NULL, &import);
    if (status == CW_OK) status = import_matrices(&import, matrices, n_matrices);
    return cwi_import_close(&import, status, out);
}

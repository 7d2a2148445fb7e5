/* arrays.c - interactions from columns in memory. */
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "import/import.h"

enum { PROGRESS_ROWS = 1 << 18 };

/* Is there one kind of id, and not both? */
static cw_status check_ids(cw_context *ctx, const char *what, const int64_t *number,
                           const char *const *text)
{
    if (!number == !text)
        return cwi_fail(ctx, CW_BAD_ARG, "the %ss must be numbers or text: one of the two", what);
    return CW_OK;
}

static cw_status check_arrays(cw_context *ctx, const cw_arrays *arrays)
{
    if (!arrays) return cwi_fail(ctx, CW_BAD_ARG, "there are no arrays");
    if (arrays->n < 1)
        return cwi_fail(ctx, CW_BAD_ARG, "the arrays have %" PRId64 " entries; one is needed",
                        arrays->n);
    CW_PASS(check_ids(ctx, "user", arrays->user_number, arrays->user));
    CW_PASS(check_ids(ctx, "item", arrays->item_number, arrays->item));
    for (int64_t r = 0; arrays->part && r < arrays->n; r++)
        if (arrays->part[r] > CW_PART_TEST)
            return cwi_fail(ctx, CW_BAD_ARG, "part[%" PRId64 "] is %d; it must lie between 0 and 2",
                            r, (int)arrays->part[r]);
    return CW_OK;
}

static cwi_text id_at(const int64_t *number, const char *const *text, int64_t row,
                      char digits[CWI_NUMBER_BYTES])
{
    if (number) return (cwi_text){digits, cwi_print_int(number[row], digits)};
    if (!text[row]) return (cwi_text){"", 0};
    return (cwi_text){text[row], strlen(text[row])};
}

static cw_status read_rows(cwi_import *import, cwi_source *source, const cw_arrays *arrays)
{
    char user[CWI_NUMBER_BYTES], item[CWI_NUMBER_BYTES];

    CW_PASS(cwi_import_begin(import, source, arrays->rating != NULL, arrays->time != NULL));
    for (int64_t r = 0; r < arrays->n; r++) {
        const cwi_cells cells = {.user = id_at(arrays->user_number, arrays->user, r, user),
                                 .item = id_at(arrays->item_number, arrays->item, r, item),
                                 .has_rating = arrays->rating,
                                 .has_time = arrays->time,
                                 .rating = arrays->rating ? arrays->rating[r] : 0,
                                 .time = arrays->time ? arrays->time[r] : 0};
        if (r % PROGRESS_ROWS == 0)
            CW_PASS(cwi_progress(import->ctx, "reading arrays", r, arrays->n));
        cwi_source_set_line(source, r + 1);
        if (arrays->part) import->part = arrays->part[r];
        CW_PASS(cwi_import_cells(import, source, &cells));
    }
    return CW_OK;
}

static cw_status import_arrays(cwi_import *import, const cw_arrays *arrays)
{
    cwi_source *source;
    cwi_entry *entry;

    CW_PASS(cwi_import_entry(import, "arrays", &entry));
    entry->format = "arrays";
    import->is_split = arrays->part != NULL;
    CW_PASS(cwi_source_open_table(import->ctx, "arrays", &source));
    cw_status status = read_rows(import, source, arrays);
    entry->lines = import->lines = arrays->n;
    entry->rows = import->rows->count;
    cwi_source_close(source);
    return status;
}

cw_status cw_import_arrays(cw_context *ctx, const cw_arrays *arrays, const cw_options *options,
                           cw_interactions **out)
{
    cwi_import import;

    cwi_begin(ctx);
    *out = NULL;
    CW_PASS(check_arrays(ctx, arrays));
    cw_status status = cwi_import_open(ctx, options, &import);
    if (status == CW_OK) status = import_arrays(&import, arrays);
    return cwi_import_close(&import, status, out);
}

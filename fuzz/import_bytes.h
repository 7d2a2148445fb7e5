/* import_bytes.h - import bytes from memory and check what must hold of any result. */
#ifndef IMPORT_BYTES_H
#define IMPORT_BYTES_H

#include <math.h>

#include "core/mem.h"
#include "fuzzing.h"
#include "import/import.h"

static inline void check_rows(const cw_interactions *rows)
{
    must(rows->count > 0 && rows->source);
    for (int64_t r = 0; r < rows->count; r++) {
        must(rows->user[r] >= 0 && rows->user[r] < rows->users.count);
        must(rows->item[r] >= 0 && rows->item[r] < rows->items.count);
        must(!rows->time || isfinite(rows->time[r]));
    }
    for (int64_t r = 0; r < rows->below.count; r++) {
        must(rows->below.row[r][0] >= 0 && rows->below.row[r][0] < rows->below.users.count);
        must(rows->below.row[r][1] >= 0 && rows->below.row[r][1] < rows->below.items.count);
    }
    for (int32_t u = 0; u < rows->users.count; u++) {
        const char *id = cwi_idmap_text(&rows->users, u);
        must(id[0] != '\0' && cwi_idmap_find(&rows->users, id, strlen(id)) == u);
    }
}

static inline cw_status import_source(cwi_import *import, const uint8_t *data, size_t size)
{
    cwi_source *source = NULL;
    cwi_entry *entry;
    cw_status status;

    CW_TRY(cwi_import_entry(import, "fuzz", &entry));
    CW_TRY(cwi_source_open_memory(import->ctx, "fuzz", data, size, &source));
    CW_TRY(cwi_import_source(import, source, entry));
    CW_TRY(cwi_import_finish(import));
done:
    cwi_source_close(source);
    return status;
}

/* The bytes as a file, read with these settings. */
static inline void import_bytes(const uint8_t *data, size_t size, cwi_settings settings)
{
    cw_context *ctx;
    cwi_import import;

    must(cw_context_create(&ctx) == CW_OK);
    cw_interactions *rows = cwi_alloc_zero(ctx, 1, sizeof *rows);
    must(rows != NULL);
    cwi_import_init(ctx, rows, &import);
    import.settings = settings;
    cw_status status = import_source(&import, data, size);
    must((status == CW_OK) == (cw_context_error(ctx)[0] == '\0'));
    if (status == CW_OK) check_rows(rows);
    cwi_import_clear(&import);
    cw_interactions_free(rows);
    cw_context_free(ctx);
}

#endif

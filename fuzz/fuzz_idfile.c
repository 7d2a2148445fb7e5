/* fuzz_idfile.c - any bytes as an id file: what is accepted has every id once. */
#include <stdlib.h>
#include <string.h>

#include "import/idfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const cwi_idmap *map)
{
    for (int32_t k = 0; k < map->count; k++) {
        const char *id = cwi_idmap_text(map, k);
        if (id[0] == '\0' || cwi_idmap_find(map, id, strlen(id)) != k) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx;
    cwi_source *source;
    cwi_idmap map;

    if (cw_context_create(&ctx) != CW_OK) return 0;
    cwi_idmap_init(&map);
    cw_status status = cwi_source_open_memory(ctx, "input", data, size, &source);
    if (status == CW_OK) status = cwi_idfile_read(ctx, source, &map);
    if (status == CW_OK)
        check(&map);
    else if (map.count != 0 || cw_context_error(ctx)[0] == '\0')
        abort();
    cwi_source_close(source);
    cwi_idmap_clear(&map);
    cw_context_free(ctx);
    return 0;
}

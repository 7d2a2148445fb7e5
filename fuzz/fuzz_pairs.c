/* fuzz_pairs.c - any bytes as a file of pairs: ids that are accepted lie within their bounds. */
#include <stdlib.h>

#include "prepare/pairs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const cwi_pairs *pairs, cwi_bounds bounds)
{
    for (int64_t k = 0; k < pairs->count; k++) {
        if (pairs->user[k] < 0 || pairs->item[k] < 0) abort();
        if (bounds.n_users > 0 && pairs->user[k] >= bounds.n_users) abort();
        if (bounds.n_items > 0 && pairs->item[k] >= bounds.n_items) abort();
    }
}

static void read_pairs(cw_context *ctx, const uint8_t *data, size_t size, cwi_bounds bounds)
{
    cwi_source *source;
    cwi_pairs pairs = {0};

    cwi_begin(ctx);
    cw_status status = cwi_source_open_memory(ctx, "input", data, size, &source);
    if (status == CW_OK) status = cwi_pairs_read(ctx, source, bounds, &pairs);
    if (status == CW_OK)
        check(&pairs, bounds);
    else if (pairs.count != 0 || cw_context_error(ctx)[0] == '\0')
        abort();
    cwi_source_close(source);
    cwi_pairs_clear(&pairs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx;
    if (cw_context_create(&ctx) != CW_OK) return 0;
    read_pairs(ctx, data, size, (cwi_bounds){0, 0});
    read_pairs(ctx, data, size, (cwi_bounds){7, 3});
    cw_context_free(ctx);
    return 0;
}

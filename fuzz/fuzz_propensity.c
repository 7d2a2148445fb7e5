/* fuzz_propensity.c - any bytes as a file of propensities: what is accepted is complete and in
 * bounds. */
#include <stdlib.h>

#include "prepare/propensity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_ITEMS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx;
    cwi_source *source = NULL;
    cwi_idmap items;
    double propensity[N_ITEMS];

    if (cw_context_create(&ctx) != CW_OK) return 0;
    cw_status status = cwi_idmap_number(ctx, N_ITEMS, &items);
    if (status == CW_OK) status = cwi_source_open_memory(ctx, "input", data, size, &source);
    if (status == CW_OK) status = cwi_propensity_read(ctx, source, &items, propensity);
    for (int i = 0; i < N_ITEMS && status == CW_OK; i++)
        if (!(propensity[i] > 0 && propensity[i] <= 1)) abort();
    if (status != CW_OK && cw_context_error(ctx)[0] == '\0') abort();
    cwi_source_close(source);
    cwi_idmap_clear(&items);
    cw_context_free(ctx);
    return 0;
}

/* fuzz_plan.c - any bytes as a plan: it is refused with a reason, or its rows can be run. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "experiment/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(cw_context *ctx, const cwi_plan *plan)
{
    for (size_t r = 0; r < plan->n_rows; r++) {
        cw_options *options;
        const cwi_plan_row *row = &plan->rows[r];
        if (row->set >= plan->n_sets || cwi_row_runs(row) < 1) abort();
        if (cwi_row_options(ctx, row, json_array_get(row->candidates, 0), 0, 0, &options) != CW_OK)
            abort();
        cw_options_free(options);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx;
    cwi_plan plan;
    if (cw_context_create(&ctx) != CW_OK) return 0;
    char *text = cwi_alloc(ctx, size + 1, 1);
    memcpy(text, data, size);
    text[size] = '\0';
    if (cwi_plan_parse(ctx, text, &plan) == CW_OK)
        check(ctx, &plan);
    else if (plan.n_rows > 0 || cw_context_error(ctx)[0] == '\0')
        abort();
    cwi_plan_clear(&plan);
    cwi_free(text);
    cw_context_free(ctx);
    return 0;
}

/* fuzz_treatment.c - any bytes as a file of interactions free of bias: what is accepted is known to
 * the dataset and there once. */
#include "fuzzing.h"
#include "prepare/pairs.h"

static const char *const ids[] = {"a", "b,c", " d", "\xff\"e"};

enum { N_IDS = sizeof ids / sizeof ids[0] };

static void check(const cwi_pairs *pairs)
{
    bool seen[N_IDS][N_IDS] = {{false}};
    must(pairs->count > 0);
    for (int64_t k = 0; k < pairs->count; k++) {
        must(pairs->user[k] >= 0 && pairs->user[k] < N_IDS);
        must(pairs->item[k] >= 0 && pairs->item[k] < N_IDS);
        must(!seen[pairs->user[k]][pairs->item[k]]);
        seen[pairs->user[k]][pairs->item[k]] = true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    cwi_idmap map;
    cwi_pairs pairs;
    int32_t index;
    place file = scratch("treatment.csv");

    cwi_idmap_init(&map);
    for (size_t k = 0; k < N_IDS; k++)
        must_work(ctx, cwi_idmap_add(ctx, &map, ids[k], strlen(ids[k]), &index));
    write_bytes(file.path, (bytes){(uint8_t *)data, size});
    cw_status status = cwi_pairs_read_raw(ctx, file.path, &map, &map, &pairs);
    if (status == CW_OK)
        status = cwi_pairs_drop_repeats(ctx, file.path, (cwi_bounds){N_IDS, N_IDS}, &pairs);
    check_status(ctx, status);
    if (status == CW_OK)
        check(&pairs);
    else
        must(pairs.count == 0);
    cwi_pairs_clear(&pairs);
    cwi_idmap_clear(&map);
    cw_context_free(ctx);
    return 0;
}

/* fuzz_bucket.c - any bytes as a random bucket: what is accepted is known to the dataset, in order,
 * there once and not trained on. */
#include "evaluate/bucket.h"
#include "fuzzing.h"

static const char *const ids[] = {"a", "b,c", " d", "\xff\"e", "f", "g"};

enum { N_IDS = sizeof ids / sizeof ids[0] };

static void check(const cwi_bucket *b)
{
    int64_t n_liked = 0;
    must(b->count > 0 && b->n_read > 0);
    for (int64_t k = 0; k < b->count; k++) {
        must(b->user[k] >= 0 && b->user[k] < N_IDS && b->item[k] >= 0 && b->item[k] < N_IDS);
        must(b->user[k] > 0 || b->item[k] > 0); /* the row of train */
        must(b->liked[k] <= 1);
        must(k == 0 || b->user[k - 1] < b->user[k] ||
             (b->user[k - 1] == b->user[k] && b->item[k - 1] < b->item[k]));
        n_liked += b->liked[k];
    }
    must(n_liked == b->n_liked);
    must(!b->has_labels || b->count == b->n_read - b->n_unknown - b->n_known - b->n_repeats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    int32_t index, zero = 0;
    cw_dataset dataset = {
        .n_users = N_IDS, .n_items = N_IDS, .part[CW_PART_TRAIN] = {1, &zero, &zero, NULL}};
    cwi_bucket bucket;
    place file = scratch("bucket.csv");

    for (size_t k = 0; k < N_IDS; k++) {
        must_work(ctx, cwi_idmap_add(ctx, &dataset.users, ids[k], strlen(ids[k]), &index));
        must_work(ctx, cwi_idmap_add(ctx, &dataset.items, ids[k], strlen(ids[k]), &index));
    }
    write_bytes(file.path, (bytes){(uint8_t *)data, size});
    cw_status status = cwi_bucket_read(ctx, file.path, &dataset, 0, &bucket);
    check_status(ctx, status);
    if (status == CW_OK) check(&bucket);
    cwi_bucket_clear(&bucket);
    cwi_idmap_clear(&dataset.users);
    cwi_idmap_clear(&dataset.items);
    cw_context_free(ctx);
    return 0;
}

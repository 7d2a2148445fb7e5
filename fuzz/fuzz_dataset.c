/* fuzz_dataset.c - any bytes as one file of a dataset folder, which the first byte chooses: what is
 * accepted keeps its bounds. */
#include <unistd.h>

#include "fuzzing.h"
#include "prepare/dataset.h"

static const char *const names[] = {"dataset.json",
                                    "truth/truth.json",
                                    "truth/user_factors.npy",
                                    "truth/item_quality.npy",
                                    "truth/item_propensity.npy",
                                    "id2idx_u.csv",
                                    "id2idx_i.csv",
                                    "train.csv",
                                    "test_uniform.csv"};

enum { N_FILES = sizeof names / sizeof names[0], ABOUT = 0, N_JSON = 2 };

static bytes base[N_FILES];

static place file_of(size_t k)
{
    char name[64];
    snprintf(name, sizeof name, "data/%s", names[k]);
    return scratch(name);
}

static void prepare(void)
{
    cw_context *ctx = open_context();
    cw_dataset *data = make_dataset(ctx);
    must_work(ctx, cw_dataset_save(ctx, data, scratch("data").path, false));
    for (size_t k = 0; k < N_FILES; k++) base[k] = read_bytes(file_of(k).path);
    cw_dataset_free(data);
    cw_context_free(ctx);
}

static void check_pairs(const cw_dataset *data, const cwi_pairs *pairs)
{
    for (int64_t k = 0; k < pairs->count; k++) {
        must(pairs->user[k] >= 0 && pairs->user[k] < data->n_users);
        must(pairs->item[k] >= 0 && pairs->item[k] < data->n_items);
    }
}

static void check(cw_context *ctx, const cw_dataset *data)
{
    for (int p = 0; p < CWI_PARTS; p++) check_pairs(data, &data->part[p]);
    must(data->users.count == data->n_users && data->items.count == data->n_items);
    if (data->truth) {
        double *relevance = calloc((size_t)data->n_items, sizeof *relevance);
        must(relevance && cw_dataset_relevance(ctx, data, 0, relevance) == CW_OK);
        for (int32_t i = 0; i < data->n_items; i++) must(relevance[i] >= 0 && relevance[i] <= 1);
        free(relevance);
        check_pairs(data, &data->truth->uniform);
    }
}

/* Without dataset.json there are no checksums of the other files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_dataset *read;
    if (size == 0) return 0;
    if (!base[0].at) prepare();
    size_t k = data[0] % N_FILES;
    cw_context *ctx = open_context();
    bytes file = (k < N_JSON ? change_json : change_bytes)(&base[k], data + 1, size - 1);

    if (k != ABOUT) must(unlink(file_of(ABOUT).path) == 0);
    write_bytes(file_of(k).path, file);
    cw_status status = cw_dataset_load(ctx, scratch("data").path, &read);
    check_status(ctx, status);
    must((status == CW_OK) == (read != NULL));
    if (read) check(ctx, read);
    write_bytes(file_of(k).path, base[k]);
    write_bytes(file_of(ABOUT).path, base[ABOUT]);
    cw_dataset_free(read);
    free(file.at);
    cw_context_free(ctx);
    return 0;
}

/* dataset.c - the dataset object and what can be asked of it. */
#include "prepare/dataset.h"

#include <string.h>

#include "core/mem.h"
#include "core/numbers.h"
#include "prepare/rest.h"

cw_status cwi_dataset_create(cw_context *ctx, cw_dataset **out)
{
    *out = cwi_alloc_zero(ctx, 1, sizeof **out);
    return *out ? CW_OK : CW_NO_MEMORY;
}

void cw_dataset_free(cw_dataset *dataset)
{
    if (!dataset) return;
    for (int p = 0; p < CWI_PARTS; p++) cwi_pairs_clear(&dataset->part[p]);
    cwi_idmap_clear(&dataset->users);
    cwi_idmap_clear(&dataset->items);
    cwi_free(dataset->origin);
    cwi_truth_free(dataset->truth);
    cwi_rest_clear(&dataset->rest);
    cwi_free(dataset->whole);
    cwi_free(dataset);
}

int64_t cwi_dataset_rows(const cw_dataset *dataset, int part)
{
    return dataset->whole ? dataset->whole->rows[part] : dataset->part[part].count;
}

cw_status cwi_pairs_create(cw_context *ctx, int64_t count, cwi_pairs *pairs)
{
    *pairs = (cwi_pairs){.count = count};
    pairs->user = cwi_alloc(ctx, (size_t)count, sizeof *pairs->user);
    pairs->item = cwi_alloc(ctx, (size_t)count, sizeof *pairs->item);
    if (pairs->user && pairs->item) return CW_OK;
    cwi_pairs_clear(pairs);
    return CW_NO_MEMORY;
}

void cwi_pairs_clear(cwi_pairs *pairs)
{
    cwi_free(pairs->user);
    cwi_free(pairs->item);
    cwi_spill_free(pairs->spill);
    *pairs = (cwi_pairs){0};
}

cwi_reel cwi_pairs_reel(const cwi_pairs *pairs)
{
    return (cwi_reel){
        .count = pairs->count, .user = pairs->user, .item = pairs->item, .spill = pairs->spill};
}

cw_status cwi_dataset_here(cw_context *ctx, const cw_dataset *dataset)
{
    bool has_files = false;
    for (int p = 0; p < CWI_PARTS; p++) has_files = has_files || dataset->part[p].spill;
    if (!has_files) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "the rows of the dataset are in files; save it and load what was saved");
}

void cwi_degrees(const int32_t *ids, int64_t count, int32_t n, int64_t *degree)
{
    memset(degree, 0, (size_t)n * sizeof *degree);
    for (int64_t k = 0; k < count; k++) degree[ids[k]]++;
}

cw_status cwi_degree_weights(cw_context *ctx, const int32_t *item, int64_t count, int32_t n_items,
                             double (*weigh)(double degree, double by), double by, double **weight)
{
    int64_t *degree = cwi_alloc(ctx, (size_t)n_items, sizeof *degree);
    *weight = degree ? cwi_alloc(ctx, (size_t)count, sizeof **weight) : NULL;
    if (*weight) cwi_degrees(item, count, n_items, degree);
    for (int64_t r = 0; r < count && *weight; r++)
        (*weight)[r] = weigh((double)degree[item[r]], by);
    cwi_free(degree);
    return *weight ? CW_OK : CW_NO_MEMORY;
}

void cwi_dataset_hash(const cw_dataset *dataset, char hash[CWI_HASH_BYTES])
{
    if (dataset->whole) {
        memcpy(hash, dataset->whole->hash, CWI_HASH_BYTES);
        return;
    }
    cwi_digest digest = {0};
    const int64_t sizes[] = {dataset->n_users, dataset->n_items};
    cwi_digest_numbers(&digest, sizes, 2, sizeof *sizes);
    for (int p = 0; p < CWI_PARTS; p++) {
        const cwi_pairs *pairs = &dataset->part[p];
        cwi_digest_numbers(&digest, &pairs->count, 1, sizeof pairs->count);
        cwi_digest_numbers(&digest, pairs->user, (size_t)pairs->count, sizeof *pairs->user);
        cwi_digest_numbers(&digest, pairs->item, (size_t)pairs->count, sizeof *pairs->item);
    }
    cwi_digest_print(&digest, hash);
}

int32_t cw_dataset_users(const cw_dataset *dataset)
{
    return dataset->n_users;
}

int32_t cw_dataset_items(const cw_dataset *dataset)
{
    return dataset->n_items;
}

static const cwi_pairs *find_part(const cw_dataset *dataset, cw_part part)
{
    bool known = part == CW_PART_TRAIN || part == CW_PART_VALID || part == CW_PART_TEST;
    return known ? &dataset->part[part] : NULL;
}

int64_t cw_dataset_count(const cw_dataset *dataset, cw_part part)
{
    const cwi_pairs *pairs = find_part(dataset, part);
    return pairs ? pairs->count : 0;
}

const int32_t *cw_dataset_part_users(const cw_dataset *dataset, cw_part part)
{
    const cwi_pairs *pairs = find_part(dataset, part);
    return pairs && pairs->count > 0 ? pairs->user : NULL;
}

const int32_t *cw_dataset_part_items(const cw_dataset *dataset, cw_part part)
{
    const cwi_pairs *pairs = find_part(dataset, part);
    return pairs && pairs->count > 0 ? pairs->item : NULL;
}

static const char *raw_id(const cwi_idmap *map, int32_t index)
{
    return index >= 0 && index < map->count ? cwi_idmap_text(map, index) : NULL;
}

const char *cw_dataset_user_id(const cw_dataset *dataset, int32_t user)
{
    return raw_id(&dataset->users, user);
}

const char *cw_dataset_item_id(const cw_dataset *dataset, int32_t item)
{
    return raw_id(&dataset->items, item);
}

void cw_text_free(char *text)
{
    cwi_free(text);
}

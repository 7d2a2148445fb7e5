/* model_sample.h - a tiny model made by hand: 4 users, 6 items, vectors of 3 numbers. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "core/mem.h"
#include "model/model.h"
#include "testing.h"

enum { SAMPLE_USERS = 4, SAMPLE_ITEMS = 6, SAMPLE_WIDTH = 3 };

static const float sample_vectors[(SAMPLE_USERS + SAMPLE_ITEMS) * SAMPLE_WIDTH] = {
    1, 0,  0,  /* user ann: the first number of every item is its score */
    0, 1,  0,  /* bob */
    0, 0,  1,  /* c d */
    0, 0,  0,  /* dee: all scores equal */
    5, 1,  2,  /* item i0 */
    4, 1,  -2, /* i1 */
    3, 2,  1,  /* i2 */
    3, 2,  0,  /* i3: for ann as good as i2 */
    1, -3, 1,  /* i4 */
    0, 0,  0,  /* i5: no direction */
};

static inline void sample_ids(cw_context *ctx, const char *const *ids, int32_t n, cwi_idmap *map)
{
    int32_t index;
    for (int32_t k = 0; k < n; k++)
        assert_int_equal(cwi_idmap_add(ctx, map, ids[k], strlen(ids[k]), &index), CW_OK);
}

/* ann has seen i0, bob i2 and i3, c d nothing, dee all but i4. */
static inline cw_model *make_sample(cw_context *ctx)
{
    static const int32_t row[] = {0, 1, 1, 3, 3, 3, 3, 3}, item[] = {0, 2, 3, 0, 1, 2, 3, 5};
    static const int64_t degree[SAMPLE_ITEMS] = {2, 1, 2, 2, 0, 1};
    static const char *const users[] = {"ann", "bob", "c\td", "dee"};
    static const char *const items[] = {"i0", "i1", "i2", "i3", "caf\xe9", "i5"};
    cw_model *model;
    cwi_tensor *tensor;

    assert_int_equal(cwi_model_create(ctx, &model), CW_OK);
    model->n_users = SAMPLE_USERS;
    model->n_items = SAMPLE_ITEMS;
    strcpy(model->method, "cpr");
    strcpy(model->backbone, "mf");
    assert_int_equal(cwi_params_add(ctx, &model->params, "embeddings", SAMPLE_USERS + SAMPLE_ITEMS,
                                    SAMPLE_WIDTH, &tensor),
                     CW_OK);
    memcpy(tensor->data, sample_vectors, sizeof sample_vectors);
    assert_int_equal(cwi_csr_create(ctx, row, item, 8, SAMPLE_USERS, &model->seen), CW_OK);
    model->degree = cwi_alloc(ctx, SAMPLE_ITEMS, sizeof *model->degree);
    memcpy(model->degree, degree, sizeof degree);
    sample_ids(ctx, users, SAMPLE_USERS, &model->users);
    sample_ids(ctx, items, SAMPLE_ITEMS, &model->items);
    model->about = cwi_strdup(ctx, "{\"seed\": 7, \"options\": {\"lr\": 0.001}}");
    return model;
}

#endif

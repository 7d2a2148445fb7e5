/* train_check.h - what the tests of methods and backbones share. */
#ifndef TRAIN_CHECK_H
#define TRAIN_CHECK_H

#include <math.h>

#include "testing.h"

/* What is not a number is not near either. */
static inline void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.10g is not %.10g", got, expected);
}

/* 300 users and 100 items with a mild bias: enough to train on for a moment. */
static inline cw_dataset *simulate(cw_context *ctx)
{
    static const char *const settings[][2] = {
        {"users", "300"}, {"items", "100"}, {"relevant", "0.5"}, {"popularity", "0.5"}};
    cw_options *options, *split = paper_split(ctx);
    cw_dataset *data;
    assert_int_equal(cw_options_create(ctx, "simulate", &options), CW_OK);
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(cw_options_set(ctx, options, settings[k][0], settings[k][1]), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, split, &data), CW_OK);
    cw_options_free(split);
    cw_options_free(options);
    return data;
}

/* A progress callback that stops after so many calls. */
static inline bool count_down(void *user, const char *stage, int64_t done, int64_t total)
{
    int *left = user;
    (void)stage;
    (void)done;
    (void)total;
    return (*left)-- > 0;
}

/* Train, or fail with the reason; the options are freed. */
static inline cw_model *train_with(cw_context *ctx, const cw_dataset *data, cw_options *options)
{
    cw_model *model;
    if (cw_train(ctx, data, options, &model, NULL) != CW_OK) fail_msg("%s", cw_context_error(ctx));
    cw_options_free(options);
    return model;
}

#endif

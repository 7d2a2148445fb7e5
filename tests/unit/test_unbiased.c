/* test_unbiased.c - on simulated data, who finds the true relevance: CPR or BPR?  The study at full
 * size is in docs/unbiasedness.md. */
#include <jansson.h>
#include <math.h>

#include "testing.h"

enum { N_SEEDS = 5 };

static const double critical_t = 2.776; /* two-sided 5 % of Student's t with N_SEEDS - 1 = 4 */

/* lr 1e-2 for both; reg was chosen by validation Recall@20 on seed 100 with quality 0, of 1e-2,
 * 3e-2, 1e-1, 3e-1 for BPR and 3e-2, 1e-1, 3e-1, 1 with beta 1 and 2 for CPR. */
static const char *const bpr = "method=bpr reg=1e-1";
static const char *const cpr = "method=cpr reg=3e-1 beta=1";

/* Set options from "name=value name=value". */
static void set_all(cw_context *ctx, cw_options *options, const char *text)
{
    char name[32], value[32];
    int length;
    for (; sscanf(text, " %31[^= ]=%31s%n", name, value, &length) == 2; text += length)
        assert_int_equal(cw_options_set(ctx, options, name, value), CW_OK);
}

static cw_options *options_of(cw_context *ctx, const char *stage, const char *text, int seed)
{
    char number[16];
    cw_options *options;
    snprintf(number, sizeof number, "%d", seed);
    assert_int_equal(cw_options_create(ctx, stage, &options), CW_OK);
    set_all(ctx, options, text);
    assert_int_equal(cw_options_set(ctx, options, "seed", number), CW_OK);
    return options;
}

static cw_dataset *simulate(cw_context *ctx, const char *world, int seed)
{
    cw_dataset *dataset;
    cw_options *drawn = options_of(ctx, "simulate", "users=2000 items=500 dim=4", seed);
    cw_options *held = options_of(ctx, "prepare", "cap=1/8", seed);
    set_all(ctx, drawn, world);
    assert_int_equal(cw_dataset_simulate(ctx, drawn, held, &dataset), CW_OK);
    cw_options_free(drawn);
    cw_options_free(held);
    return dataset;
}

/* Kendall's tau with the true relevance, mean over users. */
static double agreement_of(cw_context *ctx, const cw_dataset *dataset, const char *method, int seed)
{
    cw_model *model;
    char *text;
    double tau = NAN;
    cw_options *options =
        options_of(ctx, "train", "dim=8 lr=1e-2 batch=256 patience=6 epochs=120", seed);

    set_all(ctx, options, method);
    assert_int_equal(cw_train(ctx, dataset, options, &model, NULL), CW_OK);
    assert_int_equal(cw_evaluate(ctx, dataset, model, NULL, &text), CW_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_unpack(root, "{s:{s:{s:F}}}", "truth", "kendall_tau", "mean", &tau), 0);
    json_decref(root);
    cw_text_free(text);
    cw_model_free(model);
    cw_options_free(options);
    return tau;
}

/* Student's t of the differences CPR - BPR, one for each seed. */
static double compare(const char *world)
{
    listener l;
    double difference[N_SEEDS], mean = 0, squares = 0;

    listener_init(&l);
    for (int s = 0; s < N_SEEDS; s++) {
        cw_dataset *dataset = simulate(l.ctx, world, s + 1);
        double of_bpr = agreement_of(l.ctx, dataset, bpr, s + 1);
        double of_cpr = agreement_of(l.ctx, dataset, cpr, s + 1);
        print_message("%s seed %d: tau of BPR %.4f, of CPR %.4f\n", world, s + 1, of_bpr, of_cpr);
        difference[s] = of_cpr - of_bpr;
        mean += difference[s] / N_SEEDS;
        cw_dataset_free(dataset);
    }
    listener_clear(&l);
    for (int s = 0; s < N_SEEDS; s++) squares += (difference[s] - mean) * (difference[s] - mean);
    double t = mean / sqrt(squares / (N_SEEDS - 1) / N_SEEDS);
    print_message("%s: CPR - BPR %.4f, t = %.2f\n", world, mean, t);
    return t;
}

/* The assumption of the paper, and taste that is all personal. */
static void cpr_is_nearer_to_the_truth_than_bpr(void **state)
{
    (void)state;
    assert_true(compare("quality=0 violation=0") > critical_t);
}

/* What all users agree on is an item term like popularity, and cancels like it. */
static void cpr_does_not_see_what_all_users_agree_on(void **state)
{
    (void)state;
    assert_true(compare("quality=0.8 violation=0") < -critical_t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpr_is_nearer_to_the_truth_than_bpr),
        cmocka_unit_test(cpr_does_not_see_what_all_users_agree_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

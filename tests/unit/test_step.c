/* test_step.c - a whole step of training, of every method on every backbone: its gradient is the
 * slope of the loss that it tells, and the ways of the optimizer agree as far as they promise. */
#include <math.h>

#include "engine_check.h"
#include "train_check.h"

/* ---- the gradient ------------------------------------------------------------------ */

/* The numbers of a tensor, or what the optimizer keeps beside them. */
static float *array_named(const cwi_trainer *t, const char *kind, const cwi_tensor *tensor)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", kind, tensor->name);
    return array_of(t, name).data;
}

/* What is left of a step that is undone: its whole loss. */
static double loss_at(cwi_trainer *t, const cwi_params *from)
{
    for (int k = 0; k < from->count; k++) {
        const cwi_tensor *tensor = &from->tensor[k];
        size_t bytes = (size_t)(tensor->rows * tensor->columns) * sizeof(float);
        memcpy(array_named(t, "param", tensor), tensor->data, bytes);
        memset(array_named(t, "m", tensor), 0, bytes);
        memset(array_named(t, "v", tensor), 0, bytes);
    }
    assert_int_equal(t->engine->verbs->write(t->engine, 0, &(cwi_tally){0}), CW_OK);
    if (cwi_trainer_step(t) != CW_OK || cwi_trainer_listen(t) != CW_OK)
        fail_msg("%s", cw_context_error(t->ctx));
    assert_int_equal(t->tally.trained, 1);
    return t->tally.data_loss + t->tally.penalty + t->tally.reg_loss;
}

/* Does an entry of the gradient lie between the slopes to both sides?  They are apart by the
 * curvature, and where there is a bend.  Scores are rounded, which counts for more the nearer the
 * points are. */
static bool is_between(cwi_trainer *t, cwi_params *at, float *theta, double here, double gradient,
                       float h)
{
    const double rounding = 1e-5 + 5e-8 / (double)h;
    const float kept = *theta;
    double slope[2];
    for (int side = 0; side < 2; side++) {
        *theta = kept + (side ? -h : h);
        slope[side] = (loss_at(t, at) - here) / ((double)*theta - (double)kept);
        *theta = kept;
    }
    return gradient >= fmin(slope[0], slope[1]) - rounding &&
           gradient <= fmax(slope[0], slope[1]) + rounding;
}

/* From nearer by where there are bends on both sides. */
static bool is_slope(cwi_trainer *t, cwi_params *at, float *theta, double here, double gradient)
{
    for (float h = 1.0f / 256; h >= 1.0f / 4096; h /= 4)
        if (is_between(t, at, theta, here, gradient, h)) return true;
    return false;
}

static void check_gradient(small_data *f, const char *first, const char *second)
{
    cwi_trainer *t = open_trainer(f, first, second);
    cwi_params at, gradient;
    assert_int_equal(cwi_params_copy(f->l.ctx, params_of(t), &at), CW_OK);
    double here = loss_at(t, &at), largest = 0;
    assert_int_equal(cwi_params_copy(f->l.ctx, &at, &gradient), CW_OK);
    for (int k = 0; k < at.count; k++)
        memcpy(gradient.tensor[k].data, array_named(t, "m", &at.tensor[k]),
               (size_t)(at.tensor[k].rows * at.tensor[k].columns) * sizeof(float));
    for (int tensor = 0; tensor < at.count; tensor++)
        for (int64_t k = 0; k < at.tensor[tensor].rows * at.tensor[tensor].columns; k++) {
            /* m of a first step */
            double g = (double)(gradient.tensor[tensor].data[k] / (1.0f - 0.9f));
            if (!is_slope(t, &at, at.tensor[tensor].data + k, here, g))
                fail_msg("%s %s: entry %d of %s: %.6f is no slope", first, second, (int)k,
                         at.tensor[tensor].name, g);
            largest = fmax(largest, fabs(g));
        }
    assert_true(largest > 1e-2); /* there was something to see */
    cwi_params_clear(&gradient);
    cwi_params_clear(&at);
    cwi_trainer_free(t);
}

/* The L2 term is of the table or of the batch, of the vectors kept or of those after all layers. */
static void check_pair(small_data *f, const char *pair)
{
    static const char *const terms[] = {
        "weight-reg=0.1 reg-kind=table reg-target=base",
        "weight-reg=0.1 reg-kind=table reg-target=final",
        "weight-reg=0.1 reg-kind=batch reg-target=base",
        "weight-reg=0.1 reg-kind=batch reg-target=final",
    };
    bool has_vectors = !strstr(pair, "mult-vae");
    for (int k = 0; k < (has_vectors ? 4 : 1); k++)
        check_gradient(f, pair, has_vectors ? terms[k] : "init=joint");
}

static void every_step_follows_the_slope_of_its_loss(void **state)
{
    for_each_pair(*state, check_pair);
}

static void variants_of_losses_and_terms_do_too(void **state)
{
    static const char *const variants[][2] = {
        {"method=cpr backbone=mf beta=3 ratio=1 max-k=4", "select=per-k"},
        {"method=cpr-rand backbone=mf cycle=3", "distinct=all"},
        {"method=cause neg=3", "cause-penalty=l1"},
        {"method=ubpr backbone=mf clip=-5", "propensity-power=0.5"},
        {"method=rel-mf backbone=mf relmf-loss=log", "negatives=user"},
        {"method=wmf backbone=lightgcn", "wmf-weight=0.3"},
        {"method=dice backbone=mf neg=2", "dis=l1"},
        {"method=dice backbone=lightgcn", "dis=dcor"},
        {"method=dice backbone=ngcf reg-kind=batch", "dis=dcor"},
        {"method=dice backbone=neumf", "dis=dcor"},
        {"method=bpr backbone=ngcf reg-target=final",
         "ngcf=original message-dropout=0.3 node-dropout=0.3"},
        {"method=mult-vae init=joint", "keep=0.8 kl-cap=1 kl-steps=0"},
        {"method=bpr backbone=mf", "scorer=cosine temperature=0.5"},
        {"method=cpr backbone=lightgcn", "spectral=0.5"},
        {"method=bpr backbone=ngcf", "spectral=0.02"},
        {"method=dice backbone=lightgcn", "scorer=cosine"},
        {"method=cross-softmax backbone=mf scorer=dot temperature=1",
         "form=rows gamma=0.25 group=8"},
        {"method=cross-softmax backbone=lightgcn temperature=0.5", "form=columns group=2"},
        {"method=cross-all backbone=mf", "form=lse group=6"},
        {"method=cross-all backbone=mf scorer=cosine temperature=0.5", "hardest=0.5"},
        {"method=sl backbone=mf temperature=0.5", "candidates=5 candidates-of=pair"},
        {"method=bsl backbone=mf temperature=0.5", "candidates=30 positive-temperature=0.5"},
    };
    for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++)
        check_gradient(*state, variants[k][0], variants[k][1]);
}

/* Half the squares of the different vectors of a row of the batch. */
static double squares_of_row(const cwi_trainer *t, const cwi_tensor *table, int64_t slot, int32_t n)
{
    bool is_there[64] = {false};
    double sum = 0;
    assert_true(table->rows <= 64);
    for (int32_t j = 0; j < n; j++) {
        is_there[batch_of(t)->user[slot + j]] = true;
        is_there[t->dataset->n_users + batch_of(t)->item[slot + j]] = true;
    }
    for (int64_t k = 0; k < table->rows * table->columns; k++)
        if (is_there[k / table->columns]) sum += pow((double)table->data[k], 2) / 2;
    return sum;
}

/* reg times the mean over the examples. */
static void check_batch_term(small_data *f, const char *method)
{
    cwi_params before;
    double sum = 0;
    cwi_trainer *t = open_trainer(f, method, "reg-kind=batch");
    assert_int_equal(cwi_params_copy(f->l.ctx, params_of(t), &before), CW_OK);
    assert_int_equal(cwi_trainer_step(t), CW_OK);
    assert_int_equal(cwi_trainer_listen(t), CW_OK);
    for (int g = 0; g < batch_of(t)->n_groups; g++) {
        const cwi_group *group = &batch_of(t)->group[g];
        for (int64_t r = 0; r < group->rows; r++)
            sum += squares_of_row(t, &before.tensor[0], group->first_slot + r * group->slots,
                                  group->slots);
    }
    near(t->tally.penalty, 0.3 * sum / (double)cwi_batch_rows(batch_of(t)), 1e-6);
    cwi_params_clear(&before);
    cwi_trainer_free(t);
}

static void the_l2_term_of_the_batch_is_that_of_its_examples(void **state)
{
    check_batch_term(*state, "method=cpr max-k=4");
    check_batch_term(*state, "method=bpr");
    check_batch_term(*state, "method=bce");
}

/* ---- ways of the optimizer --------------------------------------------------------- */

/* The trainer after so many steps, all rows brought up to date. */
static cwi_trainer *run_steps(small_data *f, const char *pair, const char *options, int steps)
{
    cwi_trainer *t = open_trainer(f, pair, options);
    for (; t->epoch < steps; t->epoch++) {
        t->has_begun = false;
        if (cwi_trainer_step(t) != CW_OK) fail_msg("%s %s", pair, cw_context_error(t->ctx));
    }
    assert_int_equal(t->engine->verbs->settle(t->engine), CW_OK);
    return t;
}

/* Relative distance of all parameters, root mean square; 0 is for the same bits. */
static double distance(const cwi_trainer *a, const cwi_trainer *b)
{
    double apart = 0, size = 0;
    for (int k = 0; k < params_of(a)->count; k++) {
        const cwi_tensor *x = &params_of(a)->tensor[k], *y = &params_of(b)->tensor[k];
        for (int64_t e = 0; e < x->rows * x->columns; e++) {
            apart += pow((double)x->data[e] - (double)y->data[e], 2);
            size += pow((double)x->data[e], 2);
        }
    }
    return sqrt(apart / size);
}

static double distance_after(small_data *f, const char *pair, const char *mode, int steps)
{
    char dense[128], other[128];
    snprintf(dense, sizeof dense, "batch=2 reg-kind=batch weight-reg=0.1 optimizer=adam");
    snprintf(other, sizeof other, "batch=2 reg-kind=batch weight-reg=0.1 optimizer=adam-%s", mode);
    cwi_trainer *a = run_steps(f, pair, dense, steps), *b = run_steps(f, pair, other, steps);
    double apart = distance(a, b);
    cwi_trainer_free(a);
    cwi_trainer_free(b);
    return apart;
}

/* A first step moves only rows of the batch, so that all ways are one.  Later the deferred one
 * stays close, and the lazy one is another unless every row is stepped every time.  Choosing the
 * hardest samples magnifies any difference. */
static void check_modes(small_data *f, const char *pair)
{
    bool is_graph = strstr(pair, "lightgcn") || strstr(pair, "ngcf");
    bool selects = strstr(pair, "method=cpr ");
    if (strstr(pair, "mult-vae")) return; /* dense alone */
    double lazy[] = {distance_after(f, pair, "lazy", 1), distance_after(f, pair, "lazy", 40)};
    double late[] = {distance_after(f, pair, "deferred", 1),
                     distance_after(f, pair, "deferred", 40)};
    if (lazy[0] != 0) fail_msg("%s: the first lazy step is %g off", pair, lazy[0]);
    if (is_graph != (lazy[1] == 0)) fail_msg("%s: lazy is %g off", pair, lazy[1]);
    if (!(late[0] < 1e-7)) fail_msg("%s: the first deferred step is %g off", pair, late[0]);
    if (!selects && !(late[1] < 1e-5)) fail_msg("%s: deferred is %g off", pair, late[1]);
}

static void every_adam_takes_the_l2_term_of_the_batch(void **state)
{
    for_each_pair(*state, check_modes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_step_follows_the_slope_of_its_loss, make_small_data,
                                        free_small_data),
        cmocka_unit_test_setup_teardown(variants_of_losses_and_terms_do_too, make_small_data,
                                        free_small_data),
        cmocka_unit_test_setup_teardown(the_l2_term_of_the_batch_is_that_of_its_examples,
                                        make_small_data, free_small_data),
        cmocka_unit_test_setup_teardown(every_adam_takes_the_l2_term_of_the_batch, make_small_data,
                                        free_small_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

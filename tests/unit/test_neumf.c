/* test_neumf.c - NeuMF against the specification and against a network written out here. */
#include <math.h>

#include "core/rng.h"
#include "loss/loss.h"
#include "model/model.h"
#include "registry/registry.h"
#include "train_check.h"

enum { USERS = 5, ITEMS = 9, DIM = 4, MAX_SLOTS = 6000 };

static const cwi_backbone *const neumf = &cwi_backbone_neumf;

typedef struct small {
    listener l;
    cw_options *options;
    cwi_shape shape;
    cwi_params params;
    void *scorer;
    cwi_batch batch;
    float score[2 * MAX_SLOTS], slope[2 * MAX_SLOTS];
} small;

static void begin(small *s, int32_t users, int32_t items, const char *dim, const char *hidden,
                  int32_t heads)
{
    cwi_rng rng;
    memset(s, 0, sizeof *s);
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "dim", dim), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "hidden", hidden), CW_OK);
    s->shape = (cwi_shape){.n_users = users, .n_items = items, .heads = heads, .ranked = heads};
    assert_int_equal(neumf->declare(s->l.ctx, &s->shape, s->options, &s->params), CW_OK);
    cwi_rng_init(&rng, 3, CWI_RNG_TEST, 0);
    for (int t = 0; t < s->params.count; t++) {
        cwi_tensor *tensor = &s->params.tensor[t];
        for (int64_t k = 0; k < tensor->rows * tensor->columns; k++)
            tensor->data[k] = (float)(cwi_rng_normal(&rng) * 0.5);
    }
    assert_int_equal(
        neumf->open(s->l.ctx, &s->shape, s->options, &s->params, MAX_SLOTS, &s->scorer), CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, MAX_SLOTS, &s->batch), CW_OK);
}

static void end(small *s)
{
    cwi_batch_clear(&s->batch);
    neumf->close(s->scorer);
    cwi_params_clear(&s->params);
    cw_options_free(s->options);
    listener_clear(&s->l);
}

/* So many rows of random pairs. */
static void draw_rows(small *s, int64_t rows, int32_t slots)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 4, CWI_RNG_TEST, 0);
    s->batch.n_groups = 1;
    s->batch.n_slots = rows * slots;
    s->batch.group[0] = (cwi_group){.slots = slots, .rows = rows};
    for (int64_t k = 0; k < s->batch.n_slots; k++) {
        s->batch.user[k] = (int32_t)cwi_rng_below(&rng, (uint64_t)s->shape.n_users);
        s->batch.item[k] = (int32_t)cwi_rng_below(&rng, (uint64_t)s->shape.n_items);
    }
}

/* ---- the network, pair by pair and in double ------------------------------------- */

typedef struct naive {
    int32_t n_users, d, heads;
    int n_layers;
    const cwi_params *shape;
    double *value[CWI_MAX_TENSORS];
} naive;

static void copy_values(const small *s, naive *out)
{
    const cwi_params *p = &s->params;
    *out = (naive){.n_users = s->shape.n_users,
                   .d = (int32_t)p->tensor[0].columns / s->shape.heads,
                   .heads = s->shape.heads,
                   .n_layers = ((p->count - 1) / s->shape.heads - 1) / 2,
                   .shape = p};
    for (int t = 0; t < p->count; t++) {
        int64_t entries = p->tensor[t].rows * p->tensor[t].columns;
        out->value[t] = malloc((size_t)entries * sizeof(double));
        for (int64_t k = 0; k < entries; k++) out->value[t][k] = (double)p->tensor[t].data[k];
    }
}

static void free_values(naive *n)
{
    for (int t = 0; t < CWI_MAX_TENSORS; t++) free(n->value[t]);
}

/* z W + b without what is negative */
static void pass(const naive *n, int tensor, double *z)
{
    const cwi_tensor *w = &n->shape->tensor[tensor];
    double out[64];
    for (int64_t c = 0; c < w->columns; c++) {
        out[c] = n->value[tensor + 1][c];
        for (int64_t r = 0; r < w->rows; r++) out[c] += z[r] * n->value[tensor][r * w->columns + c];
    }
    for (int64_t c = 0; c < w->columns; c++) z[c] = out[c] > 0 ? out[c] : 0;
}

static double naive_score(const naive *n, int32_t user, int32_t item, int head)
{
    int64_t whole = (int64_t)n->d * n->heads;
    const double *x = n->value[0] + user * whole + head * n->d;
    const double *y = n->value[0] + (n->n_users + item) * whole + head * n->d;
    int tensor = 1 + head * (2 * n->n_layers + 1);
    const double *h = n->value[tensor + 2 * n->n_layers];
    double z[64], sum = 0;
    for (int32_t c = 0; c < n->d; c++) {
        z[c] = x[c];
        z[n->d + c] = y[c];
        sum += h[c] * x[c] * y[c];
    }
    for (int l = 0; l < n->n_layers; l++) pass(n, tensor + 2 * l, z);
    int64_t last = n->shape->tensor[tensor + 2 * n->n_layers].rows - n->d;
    for (int64_t c = 0; c < last; c++) sum += h[n->d + c] * z[c];
    return sum;
}

/* The mean over rows of -ln sigmoid of the margin of every head. */
static double naive_loss(const naive *n, const cwi_batch *b)
{
    int32_t slots = b->group[0].slots;
    double loss = 0;
    for (int64_t r = 0; r < b->group[0].rows; r++)
        for (int head = 0; head < n->heads; head++) {
            double margin = 0;
            for (int32_t k = 0; k < slots; k++) {
                int64_t at = r * slots + k;
                double s = naive_score(n, b->user[at], b->item[at], head);
                margin += (k < slots / 2 ? s : -s) / (slots / 2);
            }
            loss += log1p(exp(-margin));
        }
    return loss / (double)b->group[0].rows;
}

/* ---- scores ---------------------------------------------------------------------- */

static void values_are_those_of_the_specification(void **state)
{
    (void)state;
    static const float table[] = {0.1f, 0.2f, 0.4f, -0.2f};
    static const float w[] = {0.3f,  -0.1f, 0.2f, 0.5f, 0.4f,  -0.3f,
                              -0.2f, 0.1f,  0.6f, 0.1f, -0.5f, 0.2f};
    static const float b[] = {0.01f, 0.02f, -0.03f}, h[] = {0.7f, -0.4f, 0.5f, 0.3f, -0.6f};
    static const double rows[] = {0.28, 0.63, -0.36, -0.3};
    static const double slope_b[] = {0.5, 0.3, -0.6}, slope_h[] = {0.04, -0.04, 0.04, 0.23, 0.13};
    static const double z0[] = {0.1, 0.2, 0.4, -0.2};
    const float one = 1;
    small *s = malloc(sizeof *s);
    cwi_gradient g;
    begin(s, 1, 1, "2", "3", 1);
    assert_int_equal(s->params.count, 4);
    memcpy(s->params.tensor[0].data, table, sizeof table);
    memcpy(s->params.tensor[1].data, w, sizeof w);
    memcpy(s->params.tensor[2].data, b, sizeof b);
    memcpy(s->params.tensor[3].data, h, sizeof h);
    draw_rows(s, 1, 1);
    assert_int_equal(neumf->score(s->l.ctx, s->scorer, &s->batch, s->score), CW_OK);
    near((double)s->score[0], 0.055, 1e-7);
    assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, &one, NULL, &g), CW_OK);
    assert_int_equal(g.n_touched, 2);
    assert_int_equal(g.touched[0], 0);
    for (int k = 0; k < 4; k++) near((double)g.rows[k], rows[k], 1e-7);
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 3; c++) near((double)g.whole[1][r * 3 + c], z0[r] * slope_b[c], 1e-7);
    for (int k = 0; k < 3; k++) near((double)g.whole[2][k], slope_b[k], 1e-7);
    for (int k = 0; k < 5; k++) near((double)g.whole[3][k], slope_h[k], 1e-7);
    end(s);
    free(s);
}

/* A ReLU that stands at 0 lets nothing pass. */
static void the_slope_at_zero_is_zero(void **state)
{
    (void)state;
    static const char *const hidden[] = {"3", "3,3"};
    const float one = 1;
    for (size_t c = 0; c < 2; c++) {
        small *s = malloc(sizeof *s);
        cwi_gradient g;
        begin(s, 1, 1, "2", hidden[c], 1);
        for (int t = 1; t < s->params.count - 1; t++)
            memset(s->params.tensor[t].data, 0,
                   (size_t)(s->params.tensor[t].rows * s->params.tensor[t].columns) *
                       sizeof(float));
        draw_rows(s, 1, 1);
        assert_int_equal(neumf->score(s->l.ctx, s->scorer, &s->batch, s->score), CW_OK);
        assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, &one, NULL, &g), CW_OK);
        for (int k = 0; k < 3; k++) assert_true(g.whole[2][k] == 0.0f);
        end(s);
        free(s);
    }
}

static const struct {
    const char *hidden;
    int32_t heads, ranked;
} shapes[] = {{"3", 1, 1}, {"16", 1, 1},  {"6,4", 1, 1}, {"4,6,2", 1, 1}, {"6", 2, 1},
              {"6", 2, 2}, {"6,4", 2, 1}, {"6,4", 2, 2}, {"37", 1, 1}};

enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static void slots_and_rankers_agree_with_the_network_written_out(void **state)
{
    (void)state;
    static const int32_t users[] = {3, 0, 3, 4, 1, 2};
    float ranked[6 * ITEMS];
    for (size_t c = 0; c < N_SHAPES; c++) {
        small *s = malloc(sizeof *s);
        naive n;
        cwi_ranker ranker;
        begin(s, USERS, ITEMS, "4", shapes[c].hidden, shapes[c].heads);
        s->shape.ranked = shapes[c].ranked;
        copy_values(s, &n);
        draw_rows(s, 700, 2);
        assert_int_equal(neumf->score(s->l.ctx, s->scorer, &s->batch, s->score), CW_OK);
        for (int64_t k = 0; k < s->batch.n_slots; k++)
            for (int h = 0; h < n.heads; h++)
                near((double)s->score[k * n.heads + h],
                     naive_score(&n, s->batch.user[k], s->batch.item[k], h), 1e-5);
        assert_int_equal(neumf->rank(s->l.ctx, &s->shape, s->options, &s->params, &ranker), CW_OK);
        ranker.score(&ranker, users, 6, ranked);
        for (int32_t k = 0; k < 6 * ITEMS; k++) {
            double expected = 0;
            for (int h = 0; h < shapes[c].ranked; h++)
                expected += naive_score(&n, users[k / ITEMS], k % ITEMS, h);
            near((double)ranked[k], expected, 1e-5);
        }
        cwi_ranker_close(&ranker);
        free_values(&n);
        end(s);
        free(s);
    }
}

/* ---- gradients ------------------------------------------------------------------- */

/* Slopes of the loss in all scores; rows of one head at a time, as losses want them. */
static void take_slopes(small *s, const cwi_loss *loss)
{
    static float score[MAX_SLOTS], slope[MAX_SLOTS];
    int32_t heads = s->shape.heads;
    assert_int_equal(neumf->score(s->l.ctx, s->scorer, &s->batch, s->score), CW_OK);
    for (int h = 0; h < heads; h++) {
        const cwi_group *g = &s->batch.group[0];
        for (int64_t k = 0; k < s->batch.n_slots; k++) score[k] = s->score[k * heads + h];
        loss->rows(NULL, &(cwi_loss_rows){.score = score, .count = g->rows, .width = g->slots},
                   1.0f / (float)g->rows, slope);
        for (int64_t k = 0; k < s->batch.n_slots; k++) s->slope[k * heads + h] = slope[k];
    }
}

/* The gradient of an entry of a tensor. */
static double analytic(const cwi_gradient *g, const cwi_params *p, int tensor, int64_t at)
{
    if (tensor > 0) return (double)g->whole[tensor][at];
    int64_t row = at / p->tensor[0].columns;
    for (int64_t t = 0; t < g->n_touched; t++)
        if (g->touched[t] == row)
            return (double)g->rows[t * p->tensor[0].columns + at % p->tensor[0].columns];
    return 0;
}

static void check_entries(const small *s, const cwi_gradient *g, naive *n)
{
    const double step = 1e-5;
    for (int t = 0; t < s->params.count; t++)
        for (int64_t k = 0; k < s->params.tensor[t].rows * s->params.tensor[t].columns; k++) {
            double *x = &n->value[t][k], kept = *x;
            *x = kept + step;
            double above = naive_loss(n, &s->batch);
            *x = kept - step;
            double below = naive_loss(n, &s->batch);
            *x = kept;
            near(analytic(g, &s->params, t, k), (above - below) / (2 * step), 2e-6);
        }
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const struct {
        const cwi_loss *loss;
        int32_t slots;
    } cases[] = {{&cwi_loss_bpr, 2}, {&cwi_loss_cpr, 4}, {&cwi_loss_cpr, 6}};
    for (size_t k = 0; k < N_SHAPES; k++)
        for (size_t c = 0; c < 3; c++) {
            small *s = malloc(sizeof *s);
            naive n;
            cwi_gradient g;
            begin(s, USERS, ITEMS, "4", shapes[k].hidden, shapes[k].heads);
            copy_values(s, &n);
            draw_rows(s, 4, cases[c].slots);
            take_slopes(s, cases[c].loss);
            assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, s->slope, NULL, &g),
                             CW_OK);
            check_entries(s, &g, &n);
            free_values(&n);
            end(s);
            free(s);
        }
}

/* Many slots, in several rounds of the upper layers: the slope along a random direction. */
static void large_batches_are_summed_up_in_full(void **state)
{
    (void)state;
    static const char *const hidden[] = {"6", "6,4"};
    const double step = 1e-6;
    for (size_t c = 0; c < 2; c++) {
        small *s = malloc(sizeof *s);
        naive up, down;
        cwi_gradient g;
        cwi_rng rng;
        double along = 0;
        begin(s, 300, 200, "4", hidden[c], 1);
        draw_rows(s, MAX_SLOTS / 4, 4);
        take_slopes(s, &cwi_loss_cpr);
        assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, s->slope, NULL, &g),
                         CW_OK);
        copy_values(s, &up);
        copy_values(s, &down);
        cwi_rng_init(&rng, 6, CWI_RNG_TEST, 0);
        for (int t = 0; t < s->params.count; t++)
            for (int64_t k = 0; k < s->params.tensor[t].rows * s->params.tensor[t].columns; k++) {
                double way = cwi_rng_normal(&rng);
                along += way * analytic(&g, &s->params, t, k);
                up.value[t][k] += step * way;
                down.value[t][k] -= step * way;
            }
        double slope = (naive_loss(&up, &s->batch) - naive_loss(&down, &s->batch)) / (2 * step);
        near(along, slope, 1e-4 * fabs(slope));
        free_values(&up);
        free_values(&down);
        end(s);
        free(s);
    }
}

/* Between scores and gradients the hardest rows are kept and the others dropped. */
static void dropped_rows_leave_nothing_behind(void **state)
{
    (void)state;
    static const char *const hidden[] = {"6", "6,4"};
    for (size_t c = 0; c < 2; c++) {
        small *s = malloc(sizeof *s), *fresh = malloc(sizeof *fresh);
        cwi_gradient a, b;
        begin(s, 60, 40, "4", hidden[c], 1);
        begin(fresh, 60, 40, "4", hidden[c], 1);
        draw_rows(s, 40, 2);
        assert_int_equal(neumf->score(s->l.ctx, s->scorer, &s->batch, s->score), CW_OK);
        for (int64_t k = 0; k < 20; k++) { /* every other row */
            int64_t from = k / 2 * 4 + k % 2 + 2;
            s->batch.user[k] = s->batch.user[from];
            s->batch.item[k] = s->batch.item[from];
            s->slope[k] = (float)(k + 1) / 20;
        }
        s->batch.n_slots = 20;
        s->batch.group[0].rows = 10;
        memcpy(fresh->batch.user, s->batch.user, 20 * sizeof(int32_t));
        memcpy(fresh->batch.item, s->batch.item, 20 * sizeof(int32_t));
        fresh->batch.n_slots = 20;
        assert_int_equal(neumf->score(s->l.ctx, fresh->scorer, &fresh->batch, fresh->score), CW_OK);
        assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, s->slope, NULL, &a),
                         CW_OK);
        assert_int_equal(
            neumf->gradient(s->l.ctx, fresh->scorer, &fresh->batch, s->slope, NULL, &b), CW_OK);
        assert_int_equal(a.n_touched, b.n_touched);
        assert_memory_equal(a.touched, b.touched, (size_t)a.n_touched * sizeof *a.touched);
        for (int64_t k = 0; k < a.n_touched * DIM; k++)
            near((double)a.rows[k], (double)b.rows[k], 1e-6);
        for (int t = 1; t < s->params.count; t++)
            for (int64_t k = 0; k < s->params.tensor[t].rows * s->params.tensor[t].columns; k++)
                near((double)a.whole[t][k], (double)b.whole[t][k], 1e-6);
        end(fresh);
        end(s);
        free(fresh);
        free(s);
    }
}

/* A term of a method is asked at the rows of the table, after everything else. */
static cw_status add_one(cw_context *ctx, void *state, const cwi_batch *batch,
                         const int32_t *touched, int64_t n_touched, const float *table,
                         int32_t width, float *rows, double *value)
{
    const float **seen = state;
    (void)ctx;
    (void)batch;
    (void)touched;
    *seen = table;
    for (int64_t k = 0; k < n_touched * width; k++) rows[k] += 1;
    *value = 7;
    return CW_OK;
}

static void penalties_are_added_at_the_table(void **state)
{
    (void)state;
    static const cwi_penalty penalty = {.name = "one", .add = add_one};
    const float *seen = NULL;
    small *s = malloc(sizeof *s);
    float plain[2 * DIM];
    cwi_gradient g;
    cwi_extra extra = {.penalty = &penalty, .state = &seen};
    begin(s, USERS, ITEMS, "4", "3", 1);
    draw_rows(s, 1, 1);
    s->slope[0] = 1;
    assert_int_equal(neumf->score(s->l.ctx, s->scorer, &s->batch, s->score), CW_OK);
    assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, s->slope, NULL, &g), CW_OK);
    assert_true(g.penalty == 0);
    memcpy(plain, g.rows, sizeof plain);
    assert_int_equal(neumf->gradient(s->l.ctx, s->scorer, &s->batch, s->slope, &extra, &g), CW_OK);
    assert_true(g.penalty == 7);
    assert_ptr_equal(seen, s->params.tensor[0].data);
    for (int k = 0; k < 2 * DIM; k++) assert_true(g.rows[k] == plain[k] + 1);
    end(s);
    free(s);
}

/* ---- what is refused ------------------------------------------------------------- */

static void bad_lists_of_layers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *hidden;
        int32_t heads;
        const char *message;
    } cases[] = {
        {"", 1,
         "--hidden is ''; it must be 1 to 7 sizes of layers, each a whole number from 1 to "
         "4096, with commas between"},
        {"0", 1, "--hidden is '0';"},
        {"4097", 1, "--hidden is '4097';"},
        {"256,", 1, "--hidden is '256,';"},
        {"256;64", 1, "--hidden is '256;64';"},
        {"1,2,3,4,5,6,7,8", 1, "--hidden is '1,2,3,4,5,6,7,8';"},
        {"8,3", 2, "--hidden is '8,3'; the method cuts the layers into 2 equal parts"}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        listener l;
        cw_options *options;
        cwi_params params = {0};
        cwi_shape shape = {.n_users = 2, .n_items = 2, .heads = cases[c].heads, .ranked = 1};
        listener_init(&l);
        assert_int_equal(cwi_train_options(l.ctx, &options), CW_OK);
        assert_int_equal(cwi_options_assign(l.ctx, options, "hidden", cases[c].hidden), CW_OK);
        assert_int_equal(neumf->declare(l.ctx, &shape, options, &params), CW_BAD_ARG);
        assert_memory_equal(cw_context_error(l.ctx), cases[c].message, strlen(cases[c].message));
        cwi_params_clear(&params);
        cw_options_free(options);
        listener_clear(&l);
    }
}

static void tensors_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    for (int t = 1; t < 6; t++) {
        small *s = malloc(sizeof *s);
        cwi_ranker ranker;
        begin(s, 2, 2, "4", "5,3", 1);
        assert_int_equal(s->params.count, 6);
        s->params.tensor[t].rows++;
        assert_int_equal(neumf->rank(s->l.ctx, &s->shape, s->options, &s->params, &ranker),
                         CW_BAD_DATA);
        s->params.tensor[t].rows--;
        s->params.tensor[t].name[0] = 'x';
        assert_int_equal(neumf->rank(s->l.ctx, &s->shape, s->options, &s->params, &ranker),
                         CW_BAD_DATA);
        end(s);
        free(s);
    }
}

static void layers_that_are_too_wide_are_refused(void **state)
{
    (void)state;
    listener l;
    cwi_params params = {0};
    cwi_ranker ranker;
    cwi_shape shape = {.n_users = 1, .n_items = 1, .heads = 1, .ranked = 1};
    listener_init(&l);
    assert_int_equal(cwi_params_add(l.ctx, &params, "embeddings", 2, 1, NULL), CW_OK);
    assert_int_equal(cwi_params_add(l.ctx, &params, "W0", 2, 4097, NULL), CW_OK);
    assert_int_equal(neumf->rank(l.ctx, &shape, NULL, &params, &ranker), CW_BAD_DATA);
    assert_string_equal(cw_context_error(l.ctx),
                        "tensor W0 of the model has 4097 columns, more than 4096");
    cwi_params_clear(&params);
    listener_clear(&l);
}

/* ---- whole runs ------------------------------------------------------------------ */

static cw_model *train(cw_context *ctx, const cw_dataset *data, const char *hidden,
                       const char *optimizer)
{
    const char *const settings[][2] = {
        {"backbone", "neumf"}, {"hidden", hidden}, {"dim", "8"},        {"batch", "64"},
        {"epochs", "2"},       {"beta", "2"},      {"eval-every", "1"}, {"optimizer", optimizer}};
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "preset", "paper"), CW_OK);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        assert_int_equal(cw_options_set(ctx, options, settings[k][0], settings[k][1]), CW_OK);
    return train_with(ctx, data, options);
}

static void assert_same_values(const cw_model *a, const cw_model *b)
{
    assert_int_equal(a->params.count, b->params.count);
    for (int t = 0; t < a->params.count; t++) {
        const cwi_tensor *x = &a->params.tensor[t], *y = &b->params.tensor[t];
        assert_memory_equal(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float));
    }
}

static void same_bits_on_any_threads(void **state)
{
    (void)state;
    static const char *const hidden[] = {"8", "8,4"};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    for (size_t c = 0; c < 2; c++) {
        for (int deferred = 0; deferred < 2; deferred++) {
            const char *mode = deferred ? "adam-deferred" : "adam";
            assert_int_equal(cw_context_set_threads(l.ctx, 1), CW_OK);
            cw_model *first = train(l.ctx, data, hidden[c], mode);
            for (int threads = 2; threads <= 3; threads++) {
                assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
                cw_model *model = train(l.ctx, data, hidden[c], mode);
                assert_same_values(first, model);
                cw_model_free(model);
            }
            cw_model_free(first);
        }
    }
    cw_dataset_free(data);
    listener_clear(&l);
}

/* Lists and similar items there are; somebody new cannot be served. */
static void models_recommend_but_not_from_a_history(void **state)
{
    (void)state;
    listener l;
    int32_t items[10], count, one = 1;
    const cw_lists lists = {.k = 10, .items = items, .counts = &count};
    cw_recommender *rec;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    cw_model *model = train(l.ctx, data, "8,4", "adam");
    assert_int_equal(cw_recommender_open(l.ctx, model, &rec), CW_OK);
    assert_int_equal(cw_recommend(l.ctx, rec, &one, 1, NULL, &lists), CW_OK);
    assert_int_equal(count, 10);
    assert_int_equal(cw_similar_items(l.ctx, rec, &one, 1, NULL, &lists), CW_OK);
    assert_int_equal(count, 10);
    assert_int_equal(cw_recommend_history(l.ctx, rec, &one, 1, NULL, &lists), CW_UNSUPPORTED);
    assert_string_equal(cw_context_error(l.ctx),
                        "backbone neumf has no way to recommend from a history");
    assert_int_equal(cw_similar_users(l.ctx, rec, &one, 1, &lists), CW_UNSUPPORTED);
    assert_string_equal(cw_context_error(l.ctx), "backbone neumf has no user vectors to compare");
    cw_recommender_close(rec);
    cw_model_free(model);
    cw_dataset_free(data);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_specification),
        cmocka_unit_test(the_slope_at_zero_is_zero),
        cmocka_unit_test(slots_and_rankers_agree_with_the_network_written_out),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(large_batches_are_summed_up_in_full),
        cmocka_unit_test(dropped_rows_leave_nothing_behind),
        cmocka_unit_test(penalties_are_added_at_the_table),
        cmocka_unit_test(bad_lists_of_layers_are_refused),
        cmocka_unit_test(tensors_that_do_not_fit_are_refused),
        cmocka_unit_test(layers_that_are_too_wide_are_refused),
        cmocka_unit_test(same_bits_on_any_threads),
        cmocka_unit_test(models_recommend_but_not_from_a_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_vae.c - Mult-VAE on the case of the specification, its gradients and its odd cases. */
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

#include "model/model.h"
#include "registry/registry.h"
#include "score/vae.h"
#include "train_check.h"

typedef struct small {
    listener l;
    cw_options *options;
    cwi_csr train;
    cwi_shape shape;
    cwi_params params;
    cwi_vae *v;
} small;

/* Pairs of train; n_users and n_items may be more than occur in it. */
typedef struct setting {
    const char *sizes, *batch, *keep;
    int32_t n_users, n_items;
    int64_t count;
    const int32_t *user, *item;
} setting;

static void set_option(small *s, const char *name, const char *value)
{
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, name, value), CW_OK);
}

/* Some values that are neither large nor alike. */
static void fill_params(cwi_params *params)
{
    uint32_t x = 1;
    for (int t = 0; t < params->count; t++)
        for (int64_t k = 0; k < params->tensor[t].rows * params->tensor[t].columns; k++) {
            x = x * 1664525 + 1013904223;
            params->tensor[t].data[k] = (float)(x >> 8) / 16777216.0f - 0.5f;
        }
}

static void begin(small *s, const setting *with)
{
    void *opened;
    memset(s, 0, sizeof *s);
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    set_option(s, "vae-sizes", with->sizes);
    set_option(s, "batch", with->batch);
    set_option(s, "keep", with->keep);
    set_option(s, "reg", "0.25");
    assert_int_equal(
        cwi_csr_create(s->l.ctx, with->user, with->item, with->count, with->n_users, &s->train),
        CW_OK);
    s->shape = (cwi_shape){with->n_users, with->n_items, &s->train, 1, 1};
    assert_int_equal(cwi_backbone_vae.declare(s->l.ctx, &s->shape, s->options, &s->params), CW_OK);
    fill_params(&s->params);
    assert_int_equal(cwi_backbone_vae.open(s->l.ctx, &s->shape, s->options, &s->params, 0, &opened),
                     CW_OK);
    s->v = opened;
}

static void end(small *s)
{
    cwi_backbone_vae.close(s->v);
    cwi_params_clear(&s->params);
    cwi_csr_clear(&s->train);
    cw_options_free(s->options);
    listener_clear(&s->l);
}

static void all_near(const float *got, const double *expected, int n, double tolerance)
{
    for (int k = 0; k < n; k++) near((double)got[k], expected[k], tolerance);
}

/* ---- the case of the specification -------------------------------------------------- */

static const int32_t user9[] = {0, 0}, item9[] = {0, 2};
static const setting case9 = {"1,2", "1", "1", 1, 3, 2, user9, item9};

/* In the order of the tensors. */
static const float params9[] = {0.1f,  -0.2f, 0.3f,  0.4f,  -0.5f, 0.2f, 0.01f, -0.02f, 0.2f,
                                -0.3f, 0.4f,  0.1f,  0,     0.05f, 0.3f, -0.6f, 0.02f,  0.03f,
                                0.2f,  0.1f,  -0.4f, -0.3f, 0.5f,  0.6f, 0,     0.1f,   -0.1f};

static void begin9(small *s)
{
    const float *from = params9;
    begin(s, &case9);
    for (int t = 0; t < s->params.count; t++) {
        int64_t n = s->params.tensor[t].rows * s->params.tensor[t].columns;
        memcpy(s->params.tensor[t].data, from, (size_t)n * sizeof *from);
        from += n;
    }
    assert_int_equal(from - params9, sizeof params9 / sizeof *params9);
}

static void tensors_have_the_shapes_of_the_layers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rows, columns;
        float decay;
        cwi_init init;
    } expected[] = {{"encoder1.weight", 3, 2, 0.5f, CWI_INIT_XAVIER},
                    {"encoder1.bias", 1, 2, 0, CWI_INIT_TINY},
                    {"encoder2.weight", 2, 2, 0.5f, CWI_INIT_XAVIER},
                    {"encoder2.bias", 1, 2, 0, CWI_INIT_TINY},
                    {"decoder1.weight", 1, 2, 0.5f, CWI_INIT_XAVIER},
                    {"decoder1.bias", 1, 2, 0, CWI_INIT_TINY},
                    {"decoder2.weight", 2, 3, 0.5f, CWI_INIT_XAVIER},
                    {"decoder2.bias", 1, 3, 0, CWI_INIT_TINY}};
    small s;
    begin9(&s);
    assert_int_equal(s.params.count, 8);
    for (int t = 0; t < 8; t++) {
        const cwi_tensor *tensor = &s.params.tensor[t];
        assert_string_equal(tensor->name, expected[t].name);
        assert_int_equal(tensor->rows, expected[t].rows);
        assert_int_equal(tensor->columns, expected[t].columns);
        assert_true(tensor->decay == expected[t].decay);
        assert_int_equal(tensor->init, expected[t].init);
    }
    end(&s);
}

static void a_step_has_the_numbers_of_the_specification(void **state)
{
    (void)state;
    static const double hidden[] = {-0.266267997, -0.01999733376};
    static const double code[] = {-0.06125253291, 0.1278806657};
    static const double logits[] = {0.1534165601, -0.05960489819, -0.4068331202};
    static const double dlogits[] = {-0.1593831623, 0.6793350789, -0.5199519166};
    static const double dcode[] = {0.01804255645, 0.02494438517};
    small s;
    float out[3];
    double loss, dfirst[4];
    cwi_gradient g;
    begin9(&s);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 5), CW_OK);
    s.v->batch.noise[0] = 0.7f;
    assert_int_equal(cwi_vae_gradient(s.l.ctx, s.v, 0.2, &loss, &g), CW_OK);
    all_near(s.v->block.out[0], hidden, 2, 1e-7);
    all_near(s.v->block.out[1], code, 2, 1e-7);
    near((double)s.v->block.latent[0], 0.6849676201, 1e-7);
    near(loss, 2.293782694, 1e-6);
    near(g.penalty, 0.2 * 0.006144294062, 5e-8);
    near(loss + g.penalty, 2.295011552, 1e-6);
    near((double)s.v->latent_slope[0], 0.03029306304, 1e-7);
    assert_int_equal(cwi_layer_forward(s.l.ctx, &s.v->net.layer[3], s.v->block.out[2], 1, out),
                     CW_OK);
    all_near(out, logits, 3, 1e-7);

    /* biases have the slopes themselves, weights those times what went in */
    all_near(g.whole[7], dlogits, 3, 1e-7);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 3; i++)
            near((double)g.whole[6][j * 3 + i], (double)s.v->block.out[2][j] * dlogits[i], 1e-7);
    for (int j = 0; j < 2; j++)
        near((double)g.whole[4][j], (double)(g.whole[5][j] * s.v->block.latent[0]), 1e-7);
    all_near(g.whole[3], dcode, 2, 1e-7);
    for (int k = 0; k < 4; k++) near((double)g.whole[2][k], hidden[k / 2] * dcode[k % 2], 1e-7);

    /* the first layer: items 0 and 2, each with 1 / sqrt(2) of the slope */
    assert_int_equal(g.n_touched, 2);
    assert_int_equal(g.touched[0], 0);
    assert_int_equal(g.touched[1], 2);
    assert_null(g.whole[0]);
    for (int k = 0; k < 4; k++) {
        int j = k % 2;
        dfirst[k] =
            (dcode[0] * (double)params9[8 + 2 * j] + dcode[1] * (double)params9[9 + 2 * j]) *
            (1 - hidden[j] * hidden[j]);
        if (k < 2) near((double)g.whole[1][k], dfirst[k], 1e-7);
        near((double)g.rows[k], dfirst[k] / sqrt(2), 1e-7);
    }
    end(&s);
}

static void ranking_has_neither_dropout_nor_noise(void **state)
{
    (void)state;
    static const double logits[] = {-0.01967091819, 0.1334887004, -0.06065816362};
    static const int32_t nobody = 0;
    small s;
    float score[3], folded[3];
    cwi_ranker ranker;
    begin9(&s);
    set_option(&s, "keep", "0.5");
    assert_int_equal(cwi_backbone_vae.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                     CW_OK);
    ranker.score(&ranker, &nobody, 1, score);
    all_near(score, logits, 3, 1e-7);
    assert_int_equal(ranker.fold_in(s.l.ctx, &ranker, item9, 2, folded), CW_OK);
    all_near(folded, logits, 3, 1e-7);
    assert_int_equal(ranker.width, 3);
    assert_true(ranker.users[2] == 1);
    cwi_ranker_close(&ranker);
    end(&s);
}

/* ---- gradients ----------------------------------------------------------------------- */

/* User 2 has nothing, nobody has item 4. */
static const int32_t user5[] = {0, 0, 0, 1, 3, 3}, item5[] = {0, 1, 3, 2, 1, 5};

static setting five(const char *sizes, const char *batch)
{
    return (setting){sizes, batch, "0.6", 4, 6, 6, user5, item5};
}

static double total_at(small *s, cwi_gradient *g)
{
    double loss;
    assert_int_equal(cwi_vae_gradient(s->l.ctx, s->v, 0.3, &loss, g), CW_OK);
    return loss + g->penalty;
}

static double difference(small *s, float *theta, float h)
{
    float kept = *theta;
    cwi_gradient unused;
    *theta = kept + h;
    double above = total_at(s, &unused);
    *theta = kept - h;
    double below = total_at(s, &unused);
    *theta = kept;
    return (above - below) / (2 * (double)h);
}

/* The gradient of tensor 0 with its untouched rows, or of another tensor. */
static void copy_gradient(const cwi_params *params, const cwi_gradient *g, int t, double *out)
{
    int64_t columns = params->tensor[t].columns, n = params->tensor[t].rows * columns;
    for (int64_t k = 0; k < n; k++) out[k] = t > 0 ? (double)g->whole[t][k] : 0;
    for (int64_t k = 0; k < g->n_touched && t == 0; k++)
        for (int64_t c = 0; c < columns; c++)
            out[g->touched[k] * columns + c] = (double)g->rows[k * columns + c];
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const char *const sizes[] = {"2", "2,3", "2,3,4", "3,2,5,2"};
    for (size_t c = 0; c < 4; c++) {
        small s;
        cwi_gradient g;
        double analytic[CWI_MAX_TENSORS][64];
        const setting with = five(sizes[c], "7");
        begin(&s, &with);
        assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 3), CW_OK);
        total_at(&s, &g);
        assert_true(g.n_touched > 0);
        for (int t = 0; t < s.params.count; t++) copy_gradient(&s.params, &g, t, analytic[t]);
        for (int t = 0; t < s.params.count; t++) {
            const cwi_tensor *tensor = &s.params.tensor[t];
            assert_true(tensor->rows * tensor->columns <= 64);
            for (int64_t k = 0; k < tensor->rows * tensor->columns; k++) {
                /* Richardson: the errors of second order cancel */
                double far = difference(&s, tensor->data + k, 1.0f / 16);
                double close = difference(&s, tensor->data + k, 1.0f / 32);
                near(analytic[t][k], (4 * close - far) / 3, 1e-4);
            }
        }
        end(&s);
    }
}

static void blocks_of_users_add_up(void **state)
{
    (void)state;
    const setting with = five("2,3,4", "7");
    small s;
    cwi_gradient g;
    double whole[CWI_MAX_TENSORS][64], part[64];
    begin(&s, &with);
    assert_int_equal(s.v->block_rows, 7);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 3), CW_OK);
    double total = total_at(&s, &g);
    for (int t = 0; t < s.params.count; t++) copy_gradient(&s.params, &g, t, whole[t]);
    for (s.v->block_rows = 1; s.v->block_rows < 7; s.v->block_rows++) {
        near(total_at(&s, &g), total, 1e-6);
        for (int t = 0; t < s.params.count; t++) {
            copy_gradient(&s.params, &g, t, part);
            for (int64_t k = 0; k < s.params.tensor[t].rows * s.params.tensor[t].columns; k++)
                near(part[k], whole[t][k], 1e-6);
        }
    }
    end(&s);
}

/* ---- what is drawn -------------------------------------------------------------------- */

static void the_weight_of_kl_grows_to_its_cap(void **state)
{
    (void)state;
    cwi_vae v = {.kl_cap = 0.2, .kl_steps = 200000};
    near(cwi_vae_beta(&v, 0), 0, 0);
    near(cwi_vae_beta(&v, 1), 5e-6, 1e-18);
    near(cwi_vae_beta(&v, 20000), 0.1, 1e-15);
    near(cwi_vae_beta(&v, 40000), 0.2, 1e-15);
    near(cwi_vae_beta(&v, 1000000), 0.2, 0);
    v.kl_steps = 0;
    near(cwi_vae_beta(&v, 0), 0.2, 0);
}

static void dropout_keeps_its_share_and_scales_it_up(void **state)
{
    (void)state;
    enum { ITEMS = 400, ROWS = 64, Z = 100 };
    static int32_t user[ITEMS], item[ITEMS];
    static float again[ROWS * Z];
    for (int32_t i = 0; i < ITEMS; i++) item[i] = i;
    const setting with = {"100", "64", "0.25", 1, ITEMS, ITEMS, user, item};
    small s;
    begin(&s, &with);
    const cwi_vae_batch *b = &s.v->batch;
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 7), CW_OK);
    int64_t kept = b->start[ROWS], first = b->start[1];
    assert_true(llabs(kept - ROWS * ITEMS / 4) < 5 * 70); /* five standard deviations */
    for (int64_t e = 0; e < kept; e++) near((double)b->weight[e], 4.0 / 20, 1e-7);
    for (int r = 0; r < ROWS; r++)
        for (int64_t e = b->start[r] + 1; e < b->start[r + 1]; e++)
            assert_true(b->item[e] > b->item[e - 1]);
    double mean = 0, square = 0;
    for (int k = 0; k < ROWS * Z; k++) {
        mean += (double)b->noise[k] / (ROWS * Z);
        square += (double)(b->noise[k] * b->noise[k]) / (ROWS * Z);
    }
    near(mean, 0, 5 * 0.0125);
    near(square, 1, 5 * 0.0177);

    memcpy(again, b->noise, sizeof again);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 8), CW_OK);
    assert_true(memcmp(again, b->noise, sizeof again) != 0);
    assert_true(b->start[ROWS] != kept || b->start[1] != first);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 7), CW_OK);
    assert_memory_equal(again, b->noise, sizeof again);
    assert_true(b->start[ROWS] == kept && b->start[1] == first);
    end(&s);
}

static void users_are_drawn_alike(void **state)
{
    (void)state;
    const setting with = five("2", "1000");
    int count[4] = {0};
    small s;
    begin(&s, &with);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 0), CW_OK);
    for (int r = 0; r < 1000; r++) count[s.v->batch.user[r]]++;
    for (int u = 0; u < 4; u++) assert_true(abs(count[u] - 250) < 5 * 14);
    end(&s);
}

/* ---- odd cases ------------------------------------------------------------------------ */

static void a_user_without_items_adds_only_kl(void **state)
{
    (void)state;
    static const int32_t user[] = {1}, item[] = {0};
    const setting with = {"2,3", "1", "0.5", 2, 3, 1, user, item};
    small s;
    cwi_gradient g;
    cwi_ranker ranker;
    float score[6];
    double loss;
    begin(&s, &with);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 0), CW_OK);
    s.v->batch.user[0] = 0;
    s.v->batch.start[1] = 0;
    assert_int_equal(cwi_vae_gradient(s.l.ctx, s.v, 1, &loss, &g), CW_OK);
    assert_true(loss == 0 && g.penalty > 0 && g.n_touched == 0);
    for (int i = 0; i < 3; i++) assert_true(g.whole[7][i] == 0);
    assert_int_equal(cwi_backbone_vae.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                     CW_OK);
    ranker.score(&ranker, (const int32_t[]){0, 1}, 2, score);
    for (int k = 0; k < 6; k++) assert_true(isfinite(score[k]));
    cwi_ranker_close(&ranker);
    end(&s);
}

static void one_user_and_one_item_leave_nothing_to_guess(void **state)
{
    (void)state;
    static const int32_t zero[] = {0};
    const setting with = {"1,1", "3", "1", 1, 1, 1, zero, zero};
    small s;
    cwi_gradient g;
    double loss;
    begin(&s, &with);
    assert_int_equal(cwi_vae_draw(s.l.ctx, s.v, 0), CW_OK);
    assert_int_equal(cwi_vae_gradient(s.l.ctx, s.v, 0, &loss, &g), CW_OK);
    assert_true(loss == 0 && g.penalty == 0 && g.n_touched == 1);
    assert_true(g.whole[7][0] == 0 && g.rows[0] == 0);
    end(&s);
}

static void sizes_must_be_a_list_of_numbers(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "0", "20,", ",20", "20;30", "65537", "1,2,3,4,5,6,7,8,9"};
    const setting with = five("2", "1");
    small s;
    cwi_params params = {0};
    begin(&s, &with);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        char message[160];
        cwi_begin(s.l.ctx);
        set_option(&s, "vae-sizes", bad[k]);
        assert_int_equal(cwi_backbone_vae.declare(s.l.ctx, &s.shape, s.options, &params),
                         CW_BAD_ARG);
        snprintf(message, sizeof message,
                 "--vae-sizes is '%s'; it must be 1 to 8 whole numbers between 1 and 65536, with "
                 "commas between them",
                 bad[k]);
        assert_string_equal(cw_context_error(s.l.ctx), message);
    }
    set_option(&s, "vae-sizes", "1,2,3,4,5,6,7,8");
    assert_int_equal(cwi_backbone_vae.declare(s.l.ctx, &s.shape, s.options, &params), CW_OK);
    assert_int_equal(params.count, 4 * CWI_VAE_MAX_SIZES);
    cwi_params_clear(&params);
    end(&s);
}

static void expect_no_rank(small *s, const char *message)
{
    cwi_ranker ranker;
    cwi_begin(s->l.ctx);
    assert_int_equal(cwi_backbone_vae.rank(s->l.ctx, &s->shape, s->options, &s->params, &ranker),
                     CW_BAD_DATA);
    assert_string_equal(cw_context_error(s->l.ctx), message);
}

static void parameters_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    const setting with = five("2,3", "1");
    small s;
    begin(&s, &with);
    cwi_tensor *code = &s.params.tensor[2], *code_bias = &s.params.tensor[3];
    code->columns = code_bias->columns = 3;
    expect_no_rank(&s, "tensor encoder2.weight of the model has 3 columns; a mean and a variance "
                       "each need an even number");
    code->columns = code_bias->columns = 2;
    expect_no_rank(&s, "tensor decoder1.weight of the model is 2 x 3, not 1 x 3");
    code->columns = code_bias->columns = 4;
    s.shape.n_items = 5;
    expect_no_rank(&s, "tensor encoder1.weight of the model is 6 x 3, not 5 x 3");
    s.shape.n_items = 6;
    strcpy(s.params.tensor[5].name, "other");
    expect_no_rank(&s, "the model lacks the tensor decoder1.bias");
    strcpy(s.params.tensor[0].name, "other");
    expect_no_rank(&s, "the model lacks the tensor encoder1.weight");
    end(&s);
}

/* ---- whole runs ------------------------------------------------------------------------ */

typedef struct run {
    workshop *w;
    cw_dataset *data;
    cw_options *options;
} run;

static void set(run *r, const char *name, const char *value)
{
    assert_int_equal(cw_options_set(r->w->l.ctx, r->options, name, value), CW_OK);
}

/* Two blocks of users and two tiles of items. */
static void begin_run(run *r, workshop *w)
{
    cw_options *options;
    cw_context *ctx = w->l.ctx;
    r->w = w;
    assert_int_equal(cw_options_create(ctx, "simulate", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "users", "400"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "items", "300"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "relevant", "0.3"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "popularity", "0.5"), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, NULL, &r->data), CW_OK);
    cw_options_free(options);
    assert_int_equal(cw_options_create(ctx, "train", &r->options), CW_OK);
    assert_int_equal(cw_options_set(ctx, r->options, "preset", "paper"), CW_OK);
    set(r, "method", "mult-vae");
    set(r, "vae-sizes", "8,16");
    set(r, "batch", "300");
    set(r, "epochs", "6");
    set(r, "eval-every", "2");
    set(r, "kl-steps", "5");
}

static void end_run(run *r)
{
    cw_options_free(r->options);
    cw_dataset_free(r->data);
}

static cw_model *train(run *r)
{
    cw_model *model;
    if (cw_train(r->w->l.ctx, r->data, r->options, &model, NULL) != CW_OK)
        fail_msg("%s", cw_context_error(r->w->l.ctx));
    return model;
}

static void assert_same_params(const cw_model *a, const cw_model *b)
{
    assert_int_equal(a->params.count, b->params.count);
    for (int t = 0; t < a->params.count; t++) {
        const cwi_tensor *x = &a->params.tensor[t], *y = &b->params.tensor[t];
        assert_true(x->rows == y->rows && x->columns == y->columns);
        assert_memory_equal(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float));
    }
}

static void same_bits_on_one_two_and_three_threads(void **state)
{
    run r;
    begin_run(&r, *state);
    cw_model *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        assert_int_equal(cw_context_set_threads(r.w->l.ctx, threads), CW_OK);
        cw_model *model = train(&r);
        if (first) assert_same_params(first, model);
        if (first)
            cw_model_free(model);
        else
            first = model;
    }
    cw_model_free(first);
    end_run(&r);
}

static void a_stopped_run_goes_on_bit_for_bit(void **state)
{
    run r;
    int left = 8;
    cw_model *none;
    begin_run(&r, *state);
    set(&r, "batch", "150"); /* two steps an epoch */
    cw_model *whole = train(&r);
    set(&r, "checkpoint", r.w->path);
    cw_context_set_progress(r.w->l.ctx, count_down, &left);
    assert_int_equal(cw_train(r.w->l.ctx, r.data, r.options, &none, NULL), CW_CANCELLED);
    cw_context_set_progress(r.w->l.ctx, NULL, NULL);
    set(&r, "resume", "on");
    cw_model *pieces = train(&r);
    assert_same_params(whole, pieces);
    cw_model_free(whole);
    cw_model_free(pieces);
    end_run(&r);
}

/* What a user gets is what somebody new with the same items gets. */
static void expect_fold_in(cw_context *ctx, const cw_recommender *rec, int32_t user)
{
    enum { K = 5 };
    const cwi_csr *seen = &cw_recommender_model(rec)->seen;
    int64_t first = seen->start[user];
    int32_t known[K], folded[K];
    const cw_lists by_number = {.k = K, .items = known}, by_history = {.k = K, .items = folded};
    assert_int_equal(cw_recommend(ctx, rec, &user, 1, NULL, &by_number), CW_OK);
    assert_int_equal(cw_recommend_history(ctx, rec, seen->value + first,
                                          (size_t)(seen->start[user + 1] - first), NULL,
                                          &by_history),
                     CW_OK);
    assert_true(known[0] >= 0);
    assert_memory_equal(known, folded, sizeof known);
}

static void a_model_is_kept_and_used(void **state)
{
    run r;
    cw_model *back;
    cw_recommender *rec;
    char *before, *after, folder[160];
    struct stat info;
    begin_run(&r, *state);
    cw_context *ctx = r.w->l.ctx;
    cw_model *model = train(&r);
    assert_int_equal(cw_model_save(ctx, model, r.w->path), CW_OK);
    assert_int_equal(cw_model_load(ctx, r.w->path, &back), CW_OK);
    assert_same_params(model, back);
    assert_int_equal(cw_evaluate(ctx, r.data, model, NULL, &before), CW_OK);
    assert_int_equal(cw_evaluate(ctx, r.data, back, NULL, &after), CW_OK);
    assert_string_equal(before, after);
    assert_int_equal(cw_recommender_open(ctx, back, &rec), CW_OK);
    for (int32_t user = 0; user < 20; user++) expect_fold_in(ctx, rec, user);
    assert_int_equal(cw_similar_items(ctx, rec, (const int32_t[]){0}, 1, NULL,
                                      &(cw_lists){.k = 1, .items = (int32_t[]){0}}),
                     CW_OK);
    cw_recommender_close(rec);
    snprintf(folder, sizeof folder, "%s/e", r.w->folder);
    assert_int_equal(cw_model_export(ctx, back, folder, false), CW_OK);
    strcat(folder, "/params/decoder2.weight.npy");
    assert_int_equal(stat(folder, &info), 0);
    cw_text_free(before);
    cw_text_free(after);
    cw_model_free(model);
    cw_model_free(back);
    end_run(&r);
}

static void learning_lowers_the_loss(void **state)
{
    run r;
    double first = 0, last = 0;
    begin_run(&r, *state);
    cw_model *model;
    char *record;
    set(&r, "epochs", "30");
    set(&r, "lr", "1e-2");
    assert_int_equal(cw_train(r.w->l.ctx, r.data, r.options, &model, &record), CW_OK);
    json_t *root = json_loads(record, 0, NULL), *epochs = json_object_get(root, "epochs");
    first = json_number_value(json_object_get(json_array_get(epochs, 1), "data_loss"));
    last = json_number_value(
        json_object_get(json_array_get(epochs, json_array_size(epochs) - 1), "data_loss"));
    assert_true(last < 0.97 * first);
    json_decref(root);
    cw_text_free(record);
    cw_model_free(model);
    end_run(&r);
}

static void options_without_a_use_are_refused(void **state)
{
    static const char *const bad[][3] = {
        {"weight-reg", "0.1", "on vae does not take it, ngcf and neumf do"},
        {"reg-kind", "batch", "has no vectors of a batch to regularise"},
        {"reg-target", "final", "on vae does not take it, lightgcn and ngcf do"},
        {"optimizer", "adam-deferred",
         "reads all parameters at every step and needs one that steps them all, such "
         "as adam"},
        {"optimizer", "adam-lazy",
         "reads all parameters at every step and needs one that steps them all, such "
         "as adam"},
        {"init", "normal", "has no table of vectors: its weights are Xavier"}};
    workshop *w = *state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        run r;
        cw_model *model;
        char message[192];
        begin_run(&r, w);
        set(&r, bad[k][0], bad[k][1]);
        assert_int_equal(cw_train(w->l.ctx, r.data, r.options, &model, NULL), CW_BAD_ARG);
        snprintf(message, sizeof message, "--%s is '%s'; method mult-vae %s", bad[k][0], bad[k][1],
                 bad[k][2]);
        assert_string_equal(cw_context_error(w->l.ctx), message);
        end_run(&r);
    }
}

/* The table has 5, the method 20, somebody may give 5. */
static void a_default_of_the_method_gives_way_to_what_is_given(void **state)
{
    workshop *w = *state;
    cw_options *given, *settled;
    const cwi_method *method;
    const cwi_backbone *backbone;
    assert_int_equal(cw_options_create(w->l.ctx, "train", &given), CW_OK);
    assert_int_equal(cw_options_set(w->l.ctx, given, "preset", "paper"), CW_OK);
    assert_int_equal(cw_options_set(w->l.ctx, given, "method", "mult-vae"), CW_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(cwi_train_settle(w->l.ctx, given, NULL, &settled, &method, &backbone),
                         CW_OK);
        assert_int_equal(cwi_options_integer(settled, "eval-every"), round == 0 ? 20 : 5);
        assert_string_equal(backbone->name, "vae");
        cw_options_free(settled);
        assert_int_equal(cw_options_set(w->l.ctx, given, "eval-every", "5"), CW_OK);
    }
    cw_options_free(given);
}

static int open_workshop(void **state)
{
    return workshop_open(state, "file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_the_shapes_of_the_layers),
        cmocka_unit_test(a_step_has_the_numbers_of_the_specification),
        cmocka_unit_test(ranking_has_neither_dropout_nor_noise),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(blocks_of_users_add_up),
        cmocka_unit_test(the_weight_of_kl_grows_to_its_cap),
        cmocka_unit_test(dropout_keeps_its_share_and_scales_it_up),
        cmocka_unit_test(users_are_drawn_alike),
        cmocka_unit_test(a_user_without_items_adds_only_kl),
        cmocka_unit_test(one_user_and_one_item_leave_nothing_to_guess),
        cmocka_unit_test(sizes_must_be_a_list_of_numbers),
        cmocka_unit_test(parameters_that_do_not_fit_together_are_refused),
        cmocka_unit_test_setup_teardown(same_bits_on_one_two_and_three_threads, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(a_stopped_run_goes_on_bit_for_bit, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(a_model_is_kept_and_used, open_workshop, workshop_close),
        cmocka_unit_test_setup_teardown(learning_lowers_the_loss, open_workshop, workshop_close),
        cmocka_unit_test_setup_teardown(options_without_a_use_are_refused, open_workshop,
                                        workshop_close),
        cmocka_unit_test_setup_teardown(a_default_of_the_method_gives_way_to_what_is_given,
                                        open_workshop, workshop_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

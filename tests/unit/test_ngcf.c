/* test_ngcf.c - NGCF on the graph of the specification, its gradients and its odd cases. */
#include <math.h>
#include <unistd.h>

#include "backend/backend.h"
#include "loss/loss.h"
#include "model/model.h"
#include "registry/registry.h"
#include "score/graph.h"
#include "score/ngcf_net.h"
#include "train_check.h"

/* Edges (u0,i0), (u0,i1), (u1,i1); nodes u0, u1, i0, i1 (spec 9.7). */
static int32_t user7[] = {0, 0, 1}, item7[] = {0, 1, 1};
static const float table7[4][2] = {{1, 0}, {0, 1}, {0.5f, -0.5f}, {0.2f, 0.4f}};
static const float w1[] = {0.5f, -0.2f, 0.1f, 0.3f}, b1[] = {0.05f, -0.05f};
static const float w2[] = {-0.4f, 0.6f, 0.2f, 0.1f}, b2[] = {0, 0.1f};

typedef struct small {
    listener l;
    cw_options *options;
    cwi_csr train;
    cwi_shape shape;
    cwi_params params;
    void *scorer;
    cwi_batch batch;
} small;

static void set(small *s, const char *name, const char *value)
{
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, name, value), CW_OK);
}

static void begin(small *s, const char *layers, const char *dim, int32_t heads)
{
    memset(s, 0, sizeof *s);
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    set(s, "dim", dim);
    set(s, "layers", layers);
    set(s, "reg", "0");
    s->shape = (cwi_shape){2, 2, &s->train, heads, heads};
}

/* Parameters of small numbers, or those of the specification. */
static void open_net(small *s, const int32_t *user, const int32_t *item, int64_t edges)
{
    cwi_rng rng;
    cw_context *ctx = s->l.ctx;
    assert_int_equal(cwi_csr_create(ctx, user, item, edges, s->shape.n_users, &s->train), CW_OK);
    assert_int_equal(cwi_backbone_ngcf.declare(ctx, &s->shape, s->options, &s->params), CW_OK);
    cwi_rng_init(&rng, 2, CWI_RNG_TEST, 0); /* no sum is near the bend of phi */
    for (int t = 0; t < s->params.count; t++)
        for (int64_t k = 0; k < s->params.tensor[t].rows * s->params.tensor[t].columns; k++)
            s->params.tensor[t].data[k] = (float)(2 * cwi_rng_real(&rng) - 1);
    assert_int_equal(cwi_backbone_ngcf.open(ctx, &s->shape, s->options, &s->params, 16, &s->scorer),
                     CW_OK);
    assert_int_equal(cwi_batch_create(ctx, 16, &s->batch), CW_OK);
}

static void set_spec_values(small *s)
{
    memcpy(s->params.tensor[0].data, table7, sizeof table7);
    memcpy(s->params.tensor[1].data, w1, sizeof w1);
    memcpy(s->params.tensor[2].data, b1, sizeof b1);
    memcpy(s->params.tensor[3].data, w2, sizeof w2);
    memcpy(s->params.tensor[4].data, b2, sizeof b2);
}

static void end(small *s)
{
    cwi_batch_clear(&s->batch);
    cwi_backbone_ngcf.close(s->scorer);
    cwi_params_clear(&s->params);
    cwi_csr_clear(&s->train);
    cw_options_free(s->options);
    listener_clear(&s->l);
}

static void all_near(const float *got, const double *expected, int n)
{
    for (int k = 0; k < n; k++) near((double)got[k], expected[k], 1e-6);
}

/* All four pairs in rows of so many slots. */
static void add_all_pairs(small *s, int32_t slots)
{
    for (int32_t k = 0; k < 4; k++) {
        s->batch.user[k] = k / 2;
        s->batch.item[k] = k % 2;
    }
    s->batch.n_groups = 1;
    s->batch.n_slots = 4;
    s->batch.group[0] = (cwi_group){.slots = slots, .rows = 4 / slots, .first_slot = 0};
}

static void score(small *s, float *out)
{
    assert_int_equal(cwi_backbone_ngcf.score(s->l.ctx, s->scorer, &s->batch, out), CW_OK);
}

static void layers_are_those_of_the_specification(void **state)
{
    (void)state;
    static const double sum[] = {0.2614213562, -0.1867766953, 0.1489949494, 0.006568542495,
                                 0.4035533906, -0.1914213562, 0.3707106781, 0.06213203436};
    static const double product[] = {-0.1814213562, 0.3721320344, 0.05656854249, 0.1282842712,
                                     -0.1414213562, 0.3121320344, 0.01656854249, 0.1882842712};
    static const double e1[] = {0.225137085,  0.3347766953, 0.2055634919, 0.1348528137,
                                0.3752691193, 0.2738477631, 0.3872792206, 0.2504163056};
    static const double n1[] = {0.5580464366, 0.8298097219, 0.8361378827, 0.548519317,
                                0.8077881496, 0.5894729047, 0.8397443015, 0.5429820513};
    small s;
    cwi_ngcf net;
    begin(&s, "1", "2", 1);
    open_net(&s, user7, item7, 3);
    set_spec_values(&s);
    assert_int_equal(cwi_ngcf_create(s.l.ctx, &s.shape, s.options, &s.params, true, &net), CW_OK);
    assert_int_equal(cwi_ngcf_forward(s.l.ctx, &net), CW_OK);
    all_near(net.e[1], e1, 8);
    for (int row = 0; row < 4; row++) {
        all_near(net.final + row * 4 + 2, n1 + row * 2, 2);
        for (int c = 0; c < 2; c++) { /* S and B are gone but for their signs and their sum */
            const float *p = net.p[0] + row * 2, *e = table7[row];
            float a = p[0] * w1[c] + p[1] * w1[2 + c] + b1[c];
            near((double)a, sum[row * 2 + c], 1e-6);
            near((double)(net.work[2][row * 2 + c] + b2[c]), product[row * 2 + c], 1e-6);
            near((double)(p[0] * e[0] * w2[c] + p[1] * e[1] * w2[2 + c] + b2[c]),
                 product[row * 2 + c], 1e-6);
            assert_int_equal(net.sign[0][row * 2 + c],
                             (sum[row * 2 + c] > 0 ? CWI_SIGN_A : 0) |
                                 (product[row * 2 + c] > 0 ? CWI_SIGN_B : 0));
        }
    }
    cwi_ngcf_clear(&net);
    end(&s);
}

static void scores_and_gradients_are_those_of_the_specification(void **state)
{
    (void)state;
    static const double scores[] = {1.439933646, 1.1191881, 0.4987595481, 1.399978166};
    static const double dw1[] = {0.135556693, 0.3091251459, -0.4522430476, 0.5237800427};
    static const double db1[] = {0.3463591854, 0.6081297428};
    static const double dw2[] = {0.0271113386, -0.1753613364, -0.1311444049, 0.2028202708};
    static const double db2[] = {-0.301660555, 0.1723369369};
    static const double de0[] = {-0.1036855042, 0.4835627579,  -0.1782656793, 0.113382248,
                                 0.02485862147, 0.03416599048, 1.325434181,   0.009291868809};
    small s;
    float got[4], ranked[4];
    const float slope[4] = {0, 1, 0, 0}; /* of score(u0, i1) */
    cwi_gradient gradient;
    cwi_ranker ranker;
    begin(&s, "1", "2", 1);
    open_net(&s, user7, item7, 3);
    set_spec_values(&s);
    add_all_pairs(&s, 4);
    score(&s, got);
    all_near(got, scores, 4);
    assert_int_equal(
        cwi_backbone_ngcf.gradient(s.l.ctx, s.scorer, &s.batch, slope, NULL, &gradient), CW_OK);
    assert_int_equal(gradient.n_touched, 4);
    all_near(gradient.rows, de0, 8);
    all_near(gradient.whole[1], dw1, 4);
    all_near(gradient.whole[2], db1, 2);
    all_near(gradient.whole[3], dw2, 4);
    all_near(gradient.whole[4], db2, 2);
    assert_int_equal(cwi_backbone_ngcf.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                     CW_OK);
    ranker.score(&ranker, (const int32_t[]){0, 1}, 2, ranked);
    for (int k = 0; k < 4; k++) near((double)ranked[k], (double)got[k], 1e-6);
    cwi_ranker_close(&ranker);
    end(&s);
}

/* ---- finite differences --------------------------------------------------------------- */

/* The loss of every head is added up; slopes of head h at slope[slot * heads + h]. */
static double loss_at(small *s, const cwi_loss *loss, float *slope)
{
    int32_t heads = s->shape.heads;
    float both[8], one[4], of_one[4];
    double value = 0;
    score(s, both);
    for (int32_t h = 0; h < heads; h++) {
        for (int k = 0; k < 4; k++) one[k] = both[k * heads + h];
        value += loss->rows(NULL,
                            &(cwi_loss_rows){.score = one,
                                             .count = s->batch.group[0].rows,
                                             .width = s->batch.group[0].slots},
                            1, of_one);
        for (int k = 0; k < 4; k++) slope[k * heads + h] = of_one[k];
    }
    return value;
}

/* Value of the loss and of what is added at the final vectors. */
static double total_at(small *s, const cwi_loss *loss, const cwi_extra *extra)
{
    float slope[8];
    cwi_gradient gradient;
    double value = loss_at(s, loss, slope);
    assert_int_equal(
        cwi_backbone_ngcf.gradient(s->l.ctx, s->scorer, &s->batch, slope, extra, &gradient), CW_OK);
    return value + gradient.penalty;
}

static void check_tensor(small *s, const cwi_loss *loss, const cwi_extra *extra, int t,
                         const float *analytic)
{
    const float h = 1.0f / 1024;
    float *theta = s->params.tensor[t].data;
    for (int64_t p = 0; p < s->params.tensor[t].rows * s->params.tensor[t].columns; p++) {
        float kept = theta[p];
        theta[p] = kept + h;
        double above = total_at(s, loss, extra);
        theta[p] = kept - h;
        double below = total_at(s, loss, extra);
        theta[p] = kept;
        double exact = (above - below) / (2 * (double)h);
        if (!(fabs((double)analytic[p] - exact) <= 5e-4 * (1 + fabs(exact))))
            fail_msg("tensor %s, entry %d: %g is not %g", s->params.tensor[t].name, (int)p,
                     (double)analytic[p], exact);
    }
}

/* Every entry of every tensor; gradients are copied, since each call overwrites them. */
static void check_all(small *s, const cwi_loss *loss, const cwi_extra *extra)
{
    float slope[8];
    static float analytic[CWI_MAX_TENSORS][64];
    cwi_gradient gradient;
    loss_at(s, loss, slope);
    assert_int_equal(
        cwi_backbone_ngcf.gradient(s->l.ctx, s->scorer, &s->batch, slope, extra, &gradient), CW_OK);
    for (int t = 0; t < s->params.count; t++) {
        int64_t n = s->params.tensor[t].rows * s->params.tensor[t].columns;
        assert_true(n <= 64);
        memcpy(analytic[t], t == 0 ? gradient.rows : gradient.whole[t], (size_t)n * sizeof(float));
    }
    for (int t = 0; t < s->params.count; t++) check_tensor(s, loss, extra, t, analytic[t]);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const struct {
        const cwi_loss *loss;
        int32_t slots;
    } losses[] = {{&cwi_loss_bpr, 2}, {&cwi_loss_cpr, 4}};
    static const struct {
        const char *variant, *message, *node;
        int32_t heads;
    } forms[] = {{"reference", "0", "0", 1},  {"reference", "0", "0", 2},
                 {"original", "0", "0", 1},   {"original", "0.3", "0", 1},
                 {"original", "0", "0.3", 1}, {"original", "0.3", "0.3", 2}};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
        for (size_t c = 0; c < 2; c++) {
            small s;
            begin(&s, "2", "6", forms[f].heads);
            set(&s, "ngcf", forms[f].variant);
            set(&s, "message-dropout", forms[f].message);
            set(&s, "node-dropout", forms[f].node);
            open_net(&s, user7, item7, 3);
            add_all_pairs(&s, losses[c].slots);
            s.batch.step = 5;
            check_all(&s, losses[c].loss, NULL);
            end(&s);
        }
}

/* The L2 term of the batch's final vectors, and that of all final vectors. */
static void terms_of_final_vectors_have_their_gradients(void **state)
{
    (void)state;
    for (int heads = 1; heads <= 2; heads++) {
        small s;
        cwi_extra l2 = {.penalty = &cwi_penalty_batch_l2}, chain = {.next = &l2};
        begin(&s, "2", "4", heads);
        set(&s, "reg-kind", "batch");
        set(&s, "reg-target", "final");
        set(&s, "reg", "0.5");
        open_net(&s, user7, item7, 3);
        assert_int_equal(l2.penalty->open(s.l.ctx, &s.shape, s.options, 16, &l2.state), CW_OK);
        add_all_pairs(&s, 2);
        check_all(&s, &cwi_loss_bpr, &chain);
        l2.penalty->close(l2.state);
        end(&s);
    }
}

/* Half the squares of all vectors of the examples, over the number of examples. */
static void the_batch_term_has_the_value_of_the_original(void **state)
{
    (void)state;
    small s;
    float got[4];
    const float slope[4] = {0};
    cwi_extra l2 = {.penalty = &cwi_penalty_batch_l2};
    cwi_gradient gradient;
    begin(&s, "1", "2", 1);
    set(&s, "reg-kind", "batch");
    set(&s, "reg", "0.5");
    open_net(&s, user7, item7, 3);
    set_spec_values(&s);
    assert_int_equal(l2.penalty->open(s.l.ctx, &s.shape, s.options, 16, &l2.state), CW_OK);
    add_all_pairs(&s, 2);
    score(&s, got);
    assert_int_equal(cwi_backbone_ngcf.gradient(s.l.ctx, s.scorer, &s.batch, slope, &l2, &gradient),
                     CW_OK);
    /* rows (u0 i0 i1) and (u1 i0 i1); each vector adds 1 for its normalised half */
    double table = 1 + 1 + 2 * 0.5 + 2 * 0.2;
    near(gradient.penalty, 0.5 / 2 * (table + 6) / 2, 1e-6);
    l2.penalty->close(l2.state);
    end(&s);
}

/* ---- graphs ----------------------------------------------------------------------------- */

static void the_mean_graph_and_its_transpose_are_exact(void **state)
{
    (void)state;
    static const float from[] = {1, 2, 3, 4}, by_rows[] = {1 + 3.5f, 2 + 4, 3 + 1, 4 + 1.5f},
                       by_columns[] = {1 + 3 + 2, 2 + 2, 3 + 0.5f, 4 + 0.5f + 2};
    small s;
    cwi_graph graph, back;
    float to[4];
    begin(&s, "1", "2", 1);
    open_net(&s, user7, item7, 3);
    assert_int_equal(cwi_graph_create_mean(s.l.ctx, &s.train, 2, 2, &graph), CW_OK);
    assert_int_equal(cwi_graph_multiply(s.l.ctx, &graph, &(cwi_product){from, 1, NULL, 1, to, 0}),
                     CW_OK);
    assert_memory_equal(to, by_rows, sizeof to);
    back = cwi_graph_transpose(&graph);
    assert_int_equal(cwi_graph_multiply(s.l.ctx, &back, &(cwi_product){from, 1, NULL, 1, to, 0}),
                     CW_OK);
    assert_memory_equal(to, by_columns, sizeof to);
    cwi_graph_clear(&graph);
    end(&s);
}

/* x . (A y) = y . (A^T x) for a graph with holes; the share of the holes is the rate. */
static void a_thinned_graph_has_the_transpose_of_itself(void **state)
{
    (void)state;
    enum { USERS = 40, ITEMS = 30, NODES = USERS + ITEMS };
    static int32_t user[USERS * ITEMS], item[USERS * ITEMS];
    static int64_t next[NODES];
    static float x[NODES], y[NODES], ay[NODES], ax[NODES];
    small s;
    cwi_graph graph, thin, back;
    int64_t edges = 0, holes = 0;
    double left = 0, right = 0;
    for (int32_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++)
            if ((u * 7 + i * 5) % 3 == 0) user[edges] = u, item[edges++] = i;
    for (int r = 0; r < NODES; r++) x[r] = sinf((float)r), y[r] = cosf((float)r * 3);
    begin(&s, "0", "2", 1);
    s.shape.n_users = USERS;
    s.shape.n_items = ITEMS;
    open_net(&s, user, item, edges);
    assert_int_equal(cwi_graph_create_mean(s.l.ctx, &s.train, USERS, ITEMS, &graph), CW_OK);
    int64_t entries = graph.start[NODES];
    assert_int_equal(entries, 2 * edges + NODES);
    thin = graph;
    thin.weight = calloc((size_t)entries, sizeof(float));
    thin.turned = calloc((size_t)entries, sizeof(float));
    assert_int_equal(cwi_graph_thin(s.l.ctx, &graph, 0.25, 1, 2, next, &thin), CW_OK);
    back = cwi_graph_transpose(&thin);
    assert_int_equal(cwi_graph_multiply(s.l.ctx, &thin, &(cwi_product){y, 1, NULL, 1, ay, 0}),
                     CW_OK);
    assert_int_equal(cwi_graph_multiply(s.l.ctx, &back, &(cwi_product){x, 1, NULL, 1, ax, 0}),
                     CW_OK);
    for (int r = 0; r < NODES; r++) {
        left += (double)x[r] * (double)ay[r];
        right += (double)y[r] * (double)ax[r];
    }
    near(left, right, 1e-5);
    for (int64_t e = 0; e < entries; e++) {
        holes += thin.weight[e] == 0;
        if (thin.weight[e] != 0) near((double)thin.weight[e], (double)graph.weight[e] / 0.75, 1e-6);
    }
    near((double)holes / (double)entries, 0.25, 0.05);
    free(thin.weight);
    free(thin.turned);
    cwi_graph_clear(&graph);
    end(&s);
}

/* One edge and nodes without any, in both forms. */
static void lonely_nodes_and_a_single_edge_work(void **state)
{
    (void)state;
    static const char *const variants[] = {"reference", "original"};
    for (int v = 0; v < 2; v++) {
        small s;
        float got[4], all[9];
        int32_t user[] = {1}, item[] = {2};
        cwi_ranker ranker;
        begin(&s, "2", "4", 1);
        s.shape.n_users = s.shape.n_items = 3;
        set(&s, "ngcf", variants[v]);
        set(&s, "message-dropout", "0");
        open_net(&s, user, item, 1);
        add_all_pairs(&s, 2);
        score(&s, got);
        check_all(&s, &cwi_loss_bpr, NULL);
        assert_int_equal(cwi_backbone_ngcf.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                         CW_OK);
        ranker.score(&ranker, (const int32_t[]){0, 1, 2}, 3, all);
        for (int k = 0; k < 9; k++) assert_true(isfinite(all[k]));
        near((double)all[0], (double)got[0], 1e-6);
        near((double)all[4], (double)got[3], 1e-6);
        assert_int_equal(ranker.fold_in(s.l.ctx, &ranker, (const int32_t[]){0}, 1, all), CW_OK);
        assert_true(isfinite(all[0])); /* an item without edges */
        cwi_ranker_close(&ranker);
        end(&s);
    }
}

/* Rows of zeros have no direction: they are scaled by 1e6 and nothing is divided by zero. */
static void vectors_of_zeros_work(void **state)
{
    (void)state;
    small s;
    float got[4];
    const float slope[4] = {1, 0, 0, 0};
    cwi_gradient gradient;
    begin(&s, "1", "2", 1);
    open_net(&s, user7, item7, 3);
    for (int t = 0; t < s.params.count; t++)
        memset(s.params.tensor[t].data, 0,
               (size_t)(s.params.tensor[t].rows * s.params.tensor[t].columns) * sizeof(float));
    s.params.tensor[2].data[0] = 1e-8f; /* b1: every E^(1) is (1e-8, 0), every N (0.01, 0) */
    add_all_pairs(&s, 4);
    score(&s, got);
    near((double)got[0], 1e-4, 1e-8);
    assert_int_equal(
        cwi_backbone_ngcf.gradient(s.l.ctx, s.scorer, &s.batch, slope, NULL, &gradient), CW_OK);
    near((double)gradient.whole[2][0] / 1e6, 0.02, 1e-6);
    end(&s);
}

/* ---- heads, dropout, broken models --------------------------------------------------------- */

/* A net of half the width with the columns and matrices of one head gives the scores of that head.
 */
static void each_head_is_a_network_of_its_own(void **state)
{
    (void)state;
    enum { LAYERS = 2, WIDTH = 3 };
    small both;
    float of_both[8], of_one[4];
    begin(&both, "2", "6", 2);
    open_net(&both, user7, item7, 3);
    add_all_pairs(&both, 4);
    score(&both, of_both);
    for (int h = 0; h < 2; h++) {
        small one;
        begin(&one, "2", "3", 1);
        open_net(&one, user7, item7, 3);
        for (int row = 0; row < 4; row++)
            memcpy(one.params.tensor[0].data + row * WIDTH,
                   both.params.tensor[0].data + row * 2 * WIDTH + h * WIDTH, WIDTH * sizeof(float));
        for (int t = 1; t < one.params.count; t++) {
            const cwi_tensor *from = &both.params.tensor[t + h * LAYERS * 4];
            const cwi_tensor *to = &one.params.tensor[t];
            assert_non_null(strstr(from->name, to->name));
            memcpy(to->data, from->data, (size_t)(to->rows * to->columns) * sizeof(float));
        }
        add_all_pairs(&one, 4);
        score(&one, of_one);
        for (int k = 0; k < 4; k++) near((double)of_both[k * 2 + h], (double)of_one[k], 1e-6);
        end(&one);
    }
    end(&both);
}

static void dropout_is_a_function_of_the_step_and_not_of_ranking(void **state)
{
    (void)state;
    static const char *const kinds[] = {"message-dropout", "node-dropout"};
    for (int k = 0; k < 2; k++) {
        small s;
        float first[4], again[4], later[4], plain[4], ranked[4];
        cwi_ranker ranker;
        begin(&s, "3", "8", 1);
        set(&s, "ngcf", "original");
        set(&s, "message-dropout", "0");
        set(&s, kinds[k], "0.5");
        open_net(&s, user7, item7, 3);
        add_all_pairs(&s, 4);
        s.batch.step = 7;
        score(&s, first);
        s.batch.step = 8;
        score(&s, later);
        s.batch.step = 7;
        score(&s, again);
        assert_memory_equal(first, again, sizeof first);
        assert_memory_not_equal(first, later, sizeof first);
        assert_int_equal(cwi_backbone_ngcf.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                         CW_OK);
        ranker.score(&ranker, (const int32_t[]){0, 1}, 2, ranked);
        cwi_ranker_close(&ranker);
        cwi_backbone_ngcf.close(s.scorer);
        set(&s, kinds[k], "0");
        assert_int_equal(
            cwi_backbone_ngcf.open(s.l.ctx, &s.shape, s.options, &s.params, 16, &s.scorer), CW_OK);
        score(&s, plain);
        for (int j = 0; j < 4; j++) near((double)plain[j], (double)ranked[j], 1e-6);
        end(&s);
    }
}

static void a_model_without_its_matrices_is_refused(void **state)
{
    (void)state;
    small s;
    cwi_ranker ranker;
    cwi_params table;
    begin(&s, "2", "4", 1);
    open_net(&s, user7, item7, 3);
    table = s.params;
    table.count = 5; /* those of the first layer are there */
    assert_int_equal(cwi_backbone_ngcf.rank(s.l.ctx, &s.shape, s.options, &table, &ranker),
                     CW_BAD_DATA);
    assert_string_equal(cw_context_error(s.l.ctx), "the model lacks the tensor layer2.w1");
    end(&s);
}

/* ---- somebody new ------------------------------------------------------------------------ */

/* A user whose base vector is zero is what fold_in makes of their items. */
static void somebody_new_is_a_user_without_a_vector_of_his_own(void **state)
{
    (void)state;
    static const char *const variants[] = {"reference", "original"};
    for (int v = 0; v < 4; v++) {
        small s;
        float of_user[2], folded[2];
        cwi_ranker ranker;
        begin(&s, "3", "6", v / 2 + 1);
        set(&s, "ngcf", variants[v % 2]);
        s.shape.ranked = 1;
        open_net(&s, user7, item7, 3);
        memset(s.params.tensor[0].data, 0, 6 * sizeof(float));
        assert_int_equal(cwi_backbone_ngcf.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                         CW_OK);
        ranker.score(&ranker, (const int32_t[]){0}, 1, of_user);
        assert_int_equal(ranker.fold_in(s.l.ctx, &ranker, (const int32_t[]){1, 0}, 2, folded),
                         CW_OK);
        for (int i = 0; i < 2; i++) near((double)folded[i], (double)of_user[i], 2e-6);
        cwi_ranker_close(&ranker);
        end(&s);
    }
}

/* ---- whole runs -------------------------------------------------------------------------- */

static cw_options *make_options(cw_context *ctx, const char *const *settings)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "preset", "paper"), CW_OK);
    for (; *settings; settings += 2)
        assert_int_equal(cw_options_set(ctx, options, settings[0], settings[1]), CW_OK);
    return options;
}

static cw_model *train(cw_context *ctx, const cw_dataset *data, const char *const *settings)
{
    cw_options *options = make_options(ctx, settings);
    return train_with(ctx, data, options);
}

static void assert_same_params(const cw_model *a, const cw_model *b)
{
    assert_int_equal(a->params.count, b->params.count);
    for (int t = 0; t < a->params.count; t++) {
        const cwi_tensor *x = &a->params.tensor[t], *y = &b->params.tensor[t];
        assert_int_equal(x->rows * x->columns, y->rows * y->columns);
        assert_memory_equal(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float));
    }
}

#define SMALL_RUN "dim", "8", "batch", "64", "epochs", "2"

static void without_layers_it_is_matrix_factorisation(void **state)
{
    (void)state;
    static const char *const mf[] = {SMALL_RUN, "backbone", "mf",   "lr", "1e-3",
                                     "reg",     "1e-2",     "beta", "2",  NULL};
    static const char *const ngcf[] = {SMALL_RUN, "backbone", "ngcf", "layers", "0", "lr",
                                       "1e-3",    "reg",      "1e-2", "beta",   "2", NULL};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    cw_model *a = train(l.ctx, data, mf), *b = train(l.ctx, data, ngcf);
    assert_same_params(a, b);
    cw_model_free(a);
    cw_model_free(b);
    cw_dataset_free(data);
    listener_clear(&l);
}

static const char *const reference_run[] = {SMALL_RUN, "backbone", "ngcf", "eval-every", "1", NULL};
static const char *const original_run[] = {
    SMALL_RUN, "backbone",   "ngcf",  "ngcf",         "original", "eval-every",
    "1",       "method",     "bpr",   "reg",          "1e-2",     "reg-kind",
    "batch",   "reg-target", "final", "node-dropout", "0.1",      NULL};
static const char *const *const runs[] = {reference_run, original_run};

static void same_bits_on_one_two_and_three_threads(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    for (size_t r = 0; r < 2; r++) {
        cw_model *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
            cw_model *model = train(l.ctx, data, runs[r]);
            if (!first) {
                first = model;
                continue;
            }
            assert_same_params(first, model);
            cw_model_free(model);
        }
        cw_model_free(first);
    }
    cw_dataset_free(data);
    listener_clear(&l);
}

static void stopped_and_resumed_runs_end_the_same(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_dataset *data = simulate(ctx);
    for (size_t r = 0; r < 2; r++) {
        cw_model *whole = train(ctx, data, runs[r]), *pieces = NULL;
        cw_options *options = make_options(ctx, runs[r]);
        cw_status status = CW_CANCELLED;
        int stops = 0;
        assert_int_equal(cw_options_set(ctx, options, "checkpoint", w->path), CW_OK);
        assert_int_equal(cw_options_set(ctx, options, "resume", "on"), CW_OK);
        for (int steps = 3; status == CW_CANCELLED; steps += 7, stops++) {
            int left = steps;
            cw_context_set_progress(ctx, count_down, &left);
            status = cw_train(ctx, data, options, &pieces, NULL);
        }
        cw_context_set_progress(ctx, NULL, NULL);
        assert_int_equal(status, CW_OK);
        assert_true(stops > 1);
        assert_same_params(whole, pieces);
        cw_model_free(whole);
        cw_model_free(pieces);
        cw_options_free(options);
        (void)unlink(w->path);
    }
    cw_dataset_free(data);
}

static int open_workshop(void **state)
{
    return workshop_open(state, "checkpoint");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_those_of_the_specification),
        cmocka_unit_test(scores_and_gradients_are_those_of_the_specification),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(terms_of_final_vectors_have_their_gradients),
        cmocka_unit_test(the_batch_term_has_the_value_of_the_original),
        cmocka_unit_test(the_mean_graph_and_its_transpose_are_exact),
        cmocka_unit_test(a_thinned_graph_has_the_transpose_of_itself),
        cmocka_unit_test(lonely_nodes_and_a_single_edge_work),
        cmocka_unit_test(vectors_of_zeros_work),
        cmocka_unit_test(each_head_is_a_network_of_its_own),
        cmocka_unit_test(dropout_is_a_function_of_the_step_and_not_of_ranking),
        cmocka_unit_test(a_model_without_its_matrices_is_refused),
        cmocka_unit_test(somebody_new_is_a_user_without_a_vector_of_his_own),
        cmocka_unit_test(without_layers_it_is_matrix_factorisation),
        cmocka_unit_test(same_bits_on_one_two_and_three_threads),
        cmocka_unit_test_setup_teardown(stopped_and_resumed_runs_end_the_same, open_workshop,
                                        workshop_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_lightgcn.c - LightGCN on the graph of the specification, and its odd cases. */
#include <math.h>

#include "loss/loss.h"
#include "model/model.h"
#include "registry/registry.h"
#include "score/graph.h"
#include "train_check.h"

/* Edges (u0,i0), (u0,i1), (u1,i1); nodes u0, u1, i0, i1 (spec 9.7). */
static int32_t user7[] = {0, 0, 1}, item7[] = {0, 1, 1};
static const float table7[4][2] = {{1, 0}, {0, 1}, {0.5f, -0.5f}, {0.2f, 0.4f}};

typedef struct small {
    listener l;
    cw_options *options;
    cwi_csr train;
    cwi_shape shape;
    cwi_params params;
    void *scorer;
    cwi_batch batch;
} small;

static void begin(small *s, const char *layers)
{
    memset(s, 0, sizeof *s);
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "dim", "2"), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "layers", layers), CW_OK);
    assert_int_equal(cwi_csr_create(s->l.ctx, user7, item7, 3, 2, &s->train), CW_OK);
    s->shape = (cwi_shape){2, 2, &s->train, 1, 1};
    assert_int_equal(cwi_backbone_lightgcn.declare(s->l.ctx, &s->shape, s->options, &s->params),
                     CW_OK);
    memcpy(s->params.tensor[0].data, table7, sizeof table7);
    assert_int_equal(
        cwi_backbone_lightgcn.open(s->l.ctx, &s->shape, s->options, &s->params, 16, &s->scorer),
        CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, 16, &s->batch), CW_OK);
}

static void end(small *s)
{
    cwi_batch_clear(&s->batch);
    cwi_backbone_lightgcn.close(s->scorer);
    cwi_params_clear(&s->params);
    cwi_csr_clear(&s->train);
    cw_options_free(s->options);
    listener_clear(&s->l);
}

/* All four pairs, one slot a row. */
static void add_all_pairs(small *s)
{
    for (int32_t k = 0; k < 4; k++) {
        s->batch.user[k] = k / 2;
        s->batch.item[k] = k % 2;
    }
    s->batch.n_groups = 1;
    s->batch.n_slots = 4;
    s->batch.group[0] = (cwi_group){.slots = 4, .rows = 1, .first_slot = 0};
}

static void scores_are_those_of_the_specification(void **state)
{
    (void)state;
    static const double expected[] = {0.3294985849, 0.2881047006, 0.05148537547, 0.2807279546};
    small s;
    float score[4], ranked[4];
    cwi_ranker ranker;
    begin(&s, "3");
    add_all_pairs(&s);
    assert_int_equal(cwi_backbone_lightgcn.score(s.l.ctx, s.scorer, &s.batch, score), CW_OK);
    for (int k = 0; k < 4; k++) near((double)score[k], expected[k], 1e-6);
    assert_int_equal(cwi_backbone_lightgcn.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                     CW_OK);
    ranker.score(&ranker, (const int32_t[]){0, 1}, 2, ranked);
    for (int k = 0; k < 4; k++) near((double)ranked[k], (double)score[k], 1e-6);
    cwi_ranker_close(&ranker);
    end(&s);
}

static void multiply(small *s, const cwi_graph *graph, cwi_product p)
{
    assert_int_equal(cwi_graph_multiply(s->l.ctx, graph, &p), CW_OK);
}

static void products_with_the_graph_are_exact(void **state)
{
    (void)state;
    static const double layer1[4][2] = {{0.4535533906, -0.1535533906},
                                        {0.1414213562, 0.2828427125},
                                        {0.7071067812, 0},
                                        {0.5, 0.7071067812}};
    /* Horner's rule on G, divided by four layers' worth: spec's backward values */
    static const float g[4][2] = {{1, 0}, {0, 0}, {0, 0}, {0, 2}};
    static const double back[4][2] = {{0.4375, 0.5625},
                                      {0.08838834765, 0.6187184335},
                                      {0.3093592168, 0.1767766953},
                                      {0.28125, 0.875}};
    small s;
    cwi_graph graph;
    float x[2][4][2];
    begin(&s, "3");
    assert_int_equal(cwi_graph_create(s.l.ctx, &s.train, 2, 2, &graph), CW_OK);
    multiply(&s, &graph, (cwi_product){table7[0], 2, NULL, 1, x[0][0], 0});
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 2; c++) near((double)x[0][r][c], layer1[r][c], 1e-6);
    memcpy(x[1], g, sizeof g);
    for (int k = 0; k < 3; k++)
        multiply(&s, &graph,
                 (cwi_product){x[(k + 1) % 2][0], 2, g[0], k == 2 ? 0.25f : 1, x[k % 2][0], 0});
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 2; c++) near((double)x[0][r][c], back[r][c], 1e-6);
    cwi_graph_clear(&graph);
    end(&s);
}

static cw_model *train(cw_context *ctx, const cw_dataset *data, const char *const *settings)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "preset", "paper"), CW_OK);
    for (; *settings; settings += 2)
        assert_int_equal(cw_options_set(ctx, options, settings[0], settings[1]), CW_OK);
    return train_with(ctx, data, options);
}

static void without_layers_it_is_matrix_factorisation(void **state)
{
    (void)state;
    static const char *const mf[] = {"backbone", "mf",     "dim",  "8",  "batch",
                                     "64",       "epochs", "2",    "lr", "1e-3",
                                     "reg",      "1e-2",   "beta", "2",  NULL};
    static const char *const gcn[] = {"backbone", "lightgcn", "layers", "0", "dim", "8",
                                      "batch",    "64",       "epochs", "2", "lr",  "1e-3",
                                      "reg",      "1e-2",     "beta",   "2", NULL};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    cw_model *a = train(l.ctx, data, mf), *b = train(l.ctx, data, gcn);
    const cwi_tensor *x = &a->params.tensor[0], *y = &b->params.tensor[0];
    assert_int_equal(x->rows, y->rows);
    assert_memory_equal(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float));
    cw_model_free(a);
    cw_model_free(b);
    cw_dataset_free(data);
    listener_clear(&l);
}

static void same_bits_on_one_two_and_three_threads(void **state)
{
    (void)state;
    static const char *const settings[] = {"backbone", "lightgcn", "dim",        "8", "batch", "64",
                                           "epochs",   "2",        "eval-every", "1", NULL};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    cw_model *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
        cw_model *model = train(l.ctx, data, settings);
        if (!first) {
            first = model;
            continue;
        }
        const cwi_tensor *x = &first->params.tensor[0], *y = &model->params.tensor[0];
        assert_memory_equal(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float));
        cw_model_free(model);
    }
    cw_model_free(first);
    cw_dataset_free(data);
    listener_clear(&l);
}

/* One edge, and nodes without any. */
static void lonely_nodes_and_a_single_edge_work(void **state)
{
    (void)state;
    small s;
    cwi_graph graph;
    cwi_csr one;
    int32_t user[] = {1}, item[] = {2};
    float from[6][1] = {{1}, {2}, {3}, {4}, {5}, {6}}, to[6][1];
    begin(&s, "1");
    assert_int_equal(cwi_csr_create(s.l.ctx, user, item, 1, 3, &one), CW_OK);
    assert_int_equal(cwi_graph_create(s.l.ctx, &one, 3, 3, &graph), CW_OK);
    multiply(&s, &graph, (cwi_product){from[0], 1, NULL, 1, to[0], 0});
    static const float expected[] = {0, 6, 0, 0, 0, 2};
    assert_memory_equal(to, expected, sizeof expected);
    cwi_graph_clear(&graph);
    cwi_csr_clear(&one);
    end(&s);
}

/* Every user has 10 items, one of which everybody has. */
enum { MANY_USERS = 3000, MANY_ITEMS = 500, MANY_NODES = MANY_USERS + MANY_ITEMS, EACH = 10 };

static void create_many(small *s, cwi_graph *graph)
{
    static int32_t user[MANY_USERS * EACH], item[MANY_USERS * EACH];
    cwi_csr train;
    for (int k = 0; k < MANY_USERS * EACH; k++) {
        user[k] = k / EACH;
        item[k] = k % EACH == 0 ? 0 : 1 + (k * 37 + k / EACH) % (MANY_ITEMS - 1);
    }
    assert_int_equal(cwi_csr_create(s->l.ctx, user, item, MANY_USERS * EACH, MANY_USERS, &train),
                     CW_OK);
    assert_int_equal(cwi_graph_create(s->l.ctx, &train, MANY_USERS, MANY_ITEMS, graph), CW_OK);
    cwi_csr_clear(&train);
}

static void chunks_cover_all_nodes_with_few_edges_each(void **state)
{
    (void)state;
    small s;
    cwi_graph graph;
    begin(&s, "1");
    create_many(&s, &graph);
    assert_true(graph.n_chunks > 4 && graph.n_chunks < 20);
    assert_int_equal(graph.cut[0], 0);
    assert_int_equal(graph.cut[graph.n_chunks], MANY_NODES);
    for (int64_t c = 0; c < graph.n_chunks; c++) {
        assert_true(graph.cut[c] < graph.cut[c + 1]);
        assert_true(graph.start[graph.cut[c + 1]] - graph.start[graph.cut[c]] <= 4096 + MANY_USERS);
    }
    cwi_graph_clear(&graph);
    end(&s);
}

static void listed_rows_are_those_of_the_whole_product(void **state)
{
    (void)state;
    static float from[MANY_NODES][3], all[MANY_NODES][3], some[MANY_NODES][3];
    static int32_t rows[MANY_NODES / 7];
    small s;
    cwi_graph graph;
    begin(&s, "1");
    create_many(&s, &graph);
    for (int r = 0; r < MANY_NODES; r++)
        for (int j = 0; j < 3; j++) from[r][j] = sinf((float)(3 * r + j));
    for (int k = 0; k < MANY_NODES / 7; k++) rows[k] = MANY_NODES - 1 - 7 * k;
    multiply(&s, &graph, (cwi_product){from[0], 3, from[0], 0.5f, all[0], 0});
    const cwi_product p = {from[0], 3, from[0], 0.5f, some[0], 0};
    assert_int_equal(cwi_graph_multiply_rows(s.l.ctx, &graph, &p, rows, MANY_NODES / 7), CW_OK);
    for (int32_t r = 0; r < MANY_NODES; r++) {
        static const float nothing[3];
        bool is_listed = (MANY_NODES - 1 - r) % 7 == 0 && (MANY_NODES - 1 - r) / 7 < MANY_NODES / 7;
        assert_memory_equal(some[r], is_listed ? all[r] : nothing, sizeof some[r]);
    }
    cwi_graph_clear(&graph);
    end(&s);
}

/* Few live rows, half, and all: more entries than the rows of popular items have room for. */
static void rows_of_zeros_need_not_be_read(void **state)
{
    (void)state;
    static const int every[] = {50, 2, 1};
    static float from[MANY_NODES][3], add[MANY_NODES][3], all[MANY_NODES][3], live[MANY_NODES][3];
    static bool is_live[MANY_NODES];
    small s;
    cwi_graph graph;
    begin(&s, "1");
    create_many(&s, &graph);
    for (size_t c = 0; c < 3; c++) {
        for (int r = 0; r < MANY_NODES; r++) {
            is_live[r] = r % every[c] == 0;
            for (int j = 0; j < 3; j++) {
                from[r][j] = is_live[r] ? sinf((float)(3 * r + j)) : 0;
                add[r][j] = cosf((float)(3 * r + j));
            }
        }
        multiply(&s, &graph, (cwi_product){from[0], 3, add[0], 0.5f, all[0], 0});
        for (int r = 0; r < MANY_NODES; r++)
            if (!is_live[r]) from[r][c] = NAN;
        const cwi_product p = {from[0], 3, add[0], 0.5f, live[0], 0};
        assert_int_equal(cwi_graph_multiply_live(s.l.ctx, &graph, &p, is_live), CW_OK);
        assert_memory_equal(live, all, sizeof all);
    }
    cwi_graph_clear(&graph);
    end(&s);
}

/* The gradient of one slot; G and E share a table, of which only rows of the batch are filled. */
static void slope_of(small *s, int32_t user, int32_t item, float gradient[4][2])
{
    const float slope[] = {1};
    float score[1];
    cwi_gradient found;
    s->batch.user[0] = user;
    s->batch.item[0] = item;
    s->batch.n_groups = 1;
    s->batch.n_slots = 1;
    s->batch.group[0] = (cwi_group){.slots = 1, .rows = 1, .first_slot = 0};
    assert_int_equal(cwi_backbone_lightgcn.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
    assert_int_equal(
        cwi_backbone_lightgcn.gradient(s->l.ctx, s->scorer, &s->batch, slope, NULL, &found), CW_OK);
    assert_int_equal(found.n_touched, 4);
    memcpy(gradient, found.rows, 8 * sizeof(float));
}

static void a_batch_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const layers[] = {"0", "1", "2", "3"};
    for (size_t k = 0; k < 4; k++) {
        small fresh, used;
        float expected[4][2], got[4][2];
        begin(&fresh, layers[k]);
        slope_of(&fresh, 1, 1, expected);
        end(&fresh);
        begin(&used, layers[k]);
        slope_of(&used, 0, 0, got);
        assert_memory_not_equal(got, expected, sizeof got);
        slope_of(&used, 1, 1, got);
        assert_memory_equal(got, expected, sizeof got);
        end(&used);
    }
}

/* With one layer a user without a vector of their own is what their items make of them. */
static void a_new_user_is_one_hop_from_his_items(void **state)
{
    (void)state;
    small s;
    float known[2], new[2];
    cwi_ranker ranker;
    begin(&s, "1");
    memset(s.params.tensor[0].data, 0, 2 * sizeof(float));
    assert_int_equal(cwi_backbone_lightgcn.rank(s.l.ctx, &s.shape, s.options, &s.params, &ranker),
                     CW_OK);
    ranker.score(&ranker, (const int32_t[]){0}, 1, known);
    assert_int_equal(ranker.fold_in(s.l.ctx, &ranker, (const int32_t[]){0, 1}, 2, new), CW_OK);
    for (int i = 0; i < 2; i++) near((double)new[i], (double)known[i], 1e-6);
    assert_true(fabsf(known[0]) > 0.01f);
    cwi_ranker_close(&ranker);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_specification),
        cmocka_unit_test(products_with_the_graph_are_exact),
        cmocka_unit_test(without_layers_it_is_matrix_factorisation),
        cmocka_unit_test(same_bits_on_one_two_and_three_threads),
        cmocka_unit_test(lonely_nodes_and_a_single_edge_work),
        cmocka_unit_test(a_new_user_is_one_hop_from_his_items),
        cmocka_unit_test(chunks_cover_all_nodes_with_few_edges_each),
        cmocka_unit_test(listed_rows_are_those_of_the_whole_product),
        cmocka_unit_test(rows_of_zeros_need_not_be_read),
        cmocka_unit_test(a_batch_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_cause.c - CausE: two vectors of an item, two sets of interactions, what ties them. */
#include <math.h>

#include "core/mem.h"
#include "engine_check.h"
#include "loss/loss.h"
#include "model/model.h"
#include "prepare/npy.h"
#include "registry/registry.h"
#include "train/train.h"
#include "train_check.h"

/* ---- the case of the specification (9.6) ------------------------------------- */

enum { USERS = 4, ITEMS = 4, NUMBERS = (USERS + 2 * ITEMS) * 2 };

static const float table9[NUMBERS] = {
    0.1f, 0.2f,  -0.3f, 0.4f, 0.5f,  -0.1f, 0.2f, 0.3f,  /* users */
    0.4f, -0.2f, 0.1f,  0.5f, -0.3f, 0.2f,  0.6f, 0.1f,  /* V^c */
    0.3f, 0,     0.2f,  0.4f, -0.1f, 0.1f,  0.5f, 0.2f}; /* V^t */

typedef struct small {
    listener l;
    cw_options *options;
    cwi_shape shape;
    cwi_params params;
    void *scorer;
    cwi_batch batch;
    cwi_extra extra;
} small;

static void add_row(cwi_batch *b, int side, int32_t user, int32_t item, int label)
{
    cwi_group *group = &b->group[side];
    if (group->rows == 0) *group = (cwi_group){.slots = 2, .first_slot = b->n_slots};
    b->mark[b->n_slots / 2] = (float)(side * CWI_CAUSE_TREATED + label);
    b->user[b->n_slots] = b->user[b->n_slots + 1] = user;
    b->item[b->n_slots] = item;
    b->item[b->n_slots + 1] = ITEMS + item;
    b->n_slots += 2;
    group->rows++;
}

static void begin(small *s, const char *kind, const char *strength)
{
    memset(s, 0, sizeof *s);
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "dim", "2"), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "cause-penalty", kind), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "dis-penalty", strength), CW_OK);
    s->shape = cwi_method_shape(cwi_find_method("cause"), s->options, USERS, ITEMS, NULL);
    assert_int_equal(cwi_backbone_mf.declare(s->l.ctx, &s->shape, s->options, &s->params), CW_OK);
    assert_int_equal(s->params.tensor[0].rows, USERS + 2 * ITEMS);
    memcpy(s->params.tensor[0].data, table9, sizeof table9);
    assert_int_equal(
        cwi_backbone_mf.open(s->l.ctx, &s->shape, s->options, &s->params, 16, &s->scorer), CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, 16, &s->batch), CW_OK);
    s->extra.penalty = &cwi_penalty_cause;
    assert_int_equal(cwi_penalty_cause.open(s->l.ctx, &s->shape, s->options, 16, &s->extra.state),
                     CW_OK);
    s->batch.n_groups = 2;
    add_row(&s->batch, 0, 0, 0, 1);
    add_row(&s->batch, 0, 0, 2, 0);
    add_row(&s->batch, 1, 1, 1, 1);
    add_row(&s->batch, 1, 1, 3, 0);
}

static void end(small *s)
{
    cwi_penalty_cause.close(s->extra.state);
    cwi_batch_clear(&s->batch);
    cwi_backbone_mf.close(s->scorer);
    cwi_params_clear(&s->params);
    cw_options_free(s->options);
    listener_clear(&s->l);
}

/* Mean loss of each group and the penalty; gradient is of all parameters. */
static void values_at(small *s, double value[3], double gradient[NUMBERS])
{
    float score[16], slope[16];
    int64_t first = 0;
    cwi_gradient g;
    assert_true(cwi_loss_cause.by_group);
    assert_int_equal(cwi_backbone_mf.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
    for (int side = 0; side < 2; side++) {
        const cwi_group *group = &s->batch.group[side];
        cwi_loss_rows rows = {score + group->first_slot, s->batch.mark + first, group->rows, 2};
        value[side] =
            cwi_loss_cause.rows(NULL, &rows, 1.0f / (float)group->rows, slope + group->first_slot) /
            (double)group->rows;
        first += group->rows;
    }
    assert_int_equal(cwi_backbone_mf.gradient(s->l.ctx, s->scorer, &s->batch, slope, &s->extra, &g),
                     CW_OK);
    value[2] = g.penalty;
    memset(gradient, 0, NUMBERS * sizeof *gradient);
    for (int64_t k = 0; k < g.n_touched; k++)
        for (int c = 0; c < 2; c++) gradient[2 * g.touched[k] + c] = (double)g.rows[2 * k + c];
}

static void values_are_those_of_the_specification(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *strength;
        double penalty;
    } cases[] = {{"l2", "0.01", 0.01 * 0.0175}, {"l1", "2", 2 * 0.125}, {"l1-stop", "1", 0.3}};
    for (size_t c = 0; c < 3; c++) {
        small s;
        double value[3], gradient[NUMBERS];
        begin(&s, cases[c].kind, cases[c].strength);
        for (int again = 0; again < 2; again++) { /* nothing is left over from the first call */
            values_at(&s, value, gradient);
            near(value[0], 0.6956534305, 1e-7);
            near(value[1], 0.6515781078, 1e-7);
            near(value[2], cases[c].penalty, 1e-7);
        }
        if (c == 0) near(value[0] + value[1] + value[2], 1.347406538, 1e-7);
        end(&s);
    }
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const char *const kinds[] = {"l2", "l1", "l1-stop"};
    const float h = 1.0f / 64;
    for (size_t c = 0; c < 3; c++) {
        small s;
        double analytic[NUMBERS], unused[NUMBERS], value[2][3];
        begin(&s, kinds[c], "0.7");
        add_row(&s.batch, 1, 2, 0, 1); /* an item of both sets, and one that occurs twice */
        add_row(&s.batch, 1, 3, 0, 0);
        values_at(&s, value[0], analytic);
        float *theta = s.params.tensor[0].data;
        for (int p = 0; p < NUMBERS; p++) {
            bool is_still = c == 2 && p >= 2 * (USERS + ITEMS); /* the treatment vectors */
            float kept = theta[p];
            double slope = 0;
            for (int side = 0; side < 2; side++) {
                theta[p] = kept + (side ? -h : h);
                values_at(&s, value[side], unused);
            }
            theta[p] = kept;
            for (int part = 0; part < (is_still ? 2 : 3); part++)
                slope += (value[0][part] - value[1][part]) / (2 * (double)h);
            near(analytic[p], slope, 2e-5);
        }
        end(&s);
    }
}

/* ---- the sampler -------------------------------------------------------------- */

/* Items of degree 8, 4 and 2. */
static const int32_t user14[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 0, 1};
static const int32_t item14[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2};

/* Two of 14 are drawn one after the other: the share of each is known exactly. */
static void the_debiased_part_follows_the_weights(void **state)
{
    (void)state;
    enum { SEEDS = 4000 };
    static const double weight[] = {1.0 / 8, 1.0 / 4, 1.0 / 3}; /* capped */
    static const int of_item[] = {8, 4, 2};
    listener l;
    cw_options *options;
    cwi_training training;
    cwi_pairs pairs = {.count = 14, .user = (int32_t *)user14, .item = (int32_t *)item14};
    double drawn[3] = {0}, total = 8.0 / 8 + 4.0 / 4 + 2.0 / 3;
    listener_init(&l);
    assert_int_equal(cwi_train_options(l.ctx, &options), CW_OK);
    assert_int_equal(cwi_options_assign(l.ctx, options, "treatment-cap", "1/3"), CW_OK);
    assert_int_equal(cwi_training_create(l.ctx, 8, 3, &pairs, &training), CW_OK);
    for (int seed = 0; seed < SEEDS; seed++) {
        uint8_t treated[14];
        char text[16];
        int n = 0;
        snprintf(text, sizeof text, "%d", seed);
        assert_int_equal(cwi_options_assign(l.ctx, options, "seed", text), CW_OK);
        assert_int_equal(cwi_cause_split(l.ctx, &training, options, treated), CW_OK);
        for (int k = 0; k < 14; k++) {
            n += treated[k];
            drawn[training.pair[k].item] += treated[k];
        }
        assert_int_equal(n, 2);
    }
    for (int i = 0; i < 3; i++) {
        double share = weight[i] / total;
        for (int j = 0; j < 3; j++)
            share += (of_item[j] - (i == j)) * weight[j] / total * weight[i] / (total - weight[j]);
        double expected = SEEDS * of_item[i] * share;
        near(drawn[i], expected, 5 * sqrt(expected));
    }
    cwi_training_clear(&training);
    cw_options_free(options);
    listener_clear(&l);
}

typedef struct drawing {
    listener l;
    cw_options *options;
    cwi_training training, set[2];
    void *sampler;
    cwi_batch batch;
    cwi_draws draws;
} drawing;

/* 30 users with 3 to 12 of 20 items, the first items more often. */
static void draw_begin(drawing *d, const char *batch, const char *negatives)
{
    enum { MOST = 30 * 20 };
    int32_t user[MOST], item[MOST];
    uint8_t treated[MOST];
    int64_t max_slots;
    cwi_pairs pairs = {.count = 0, .user = user, .item = item};
    memset(d, 0, sizeof *d);
    listener_init(&d->l);
    assert_int_equal(cwi_train_options(d->l.ctx, &d->options), CW_OK);
    assert_int_equal(cwi_options_assign(d->l.ctx, d->options, "batch", batch), CW_OK);
    assert_int_equal(cwi_options_assign(d->l.ctx, d->options, "neg", negatives), CW_OK);
    for (int32_t u = 0; u < 30; u++)
        for (int32_t i = 0; i < 20; i++)
            if ((u * 7 + i * i) % 23 > i) {
                user[pairs.count] = u;
                item[pairs.count++] = i;
            }
    assert_int_equal(cwi_training_create(d->l.ctx, 30, 20, &pairs, &d->training), CW_OK);
    assert_int_equal(cwi_cause_split(d->l.ctx, &d->training, d->options, treated), CW_OK);
    int64_t all = d->training.count, n_treated = 0;
    for (int64_t k = 0; k < all; k++) n_treated += treated[k];
    assert_int_equal(n_treated, llround((double)all / 7));
    for (int side = 0; side < 2; side++) {
        pairs.count = 0;
        for (int64_t k = 0; k < all; k++) {
            if (treated[k] != side) continue;
            user[pairs.count] = d->training.pair[k].user;
            item[pairs.count++] = d->training.pair[k].item;
        }
        assert_int_equal(cwi_training_create(d->l.ctx, 30, 20, &pairs, &d->set[side]), CW_OK);
    }
    assert_int_equal(cwi_sampler_open(d->l.ctx, &cwi_sampler_cause, &d->training, d->options,
                                      &max_slots, &d->sampler),
                     CW_OK);
    assert_int_equal(cwi_batch_create(d->l.ctx, max_slots, &d->batch), CW_OK);
}

static void draw_end(drawing *d)
{
    cwi_batch_clear(&d->batch);
    cwi_sampler_close(&cwi_sampler_cause, d->sampler);
    for (int side = 0; side < 2; side++) cwi_training_clear(&d->set[side]);
    cwi_training_clear(&d->training);
    cw_options_free(d->options);
    listener_clear(&d->l);
}

/* Check one row and tell its label. */
static int check_row(const drawing *d, int side, int64_t row)
{
    const int32_t *user = d->batch.user + 2 * row, *item = d->batch.item + 2 * row;
    int label = (int)d->batch.mark[row] - side * CWI_CAUSE_TREATED;
    assert_true(label == 0 || label == 1);
    assert_int_equal(user[0], user[1]);
    assert_int_equal(item[1], item[0] + 20);
    assert_int_equal(cwi_training_has(&d->set[side], user[0], item[0]), label);
    return label;
}

static void rows_are_of_their_sets(void **state)
{
    (void)state;
    drawing d;
    int64_t from_other_set[2] = {0};
    draw_begin(&d, "1001", "4");
    for (uint64_t step = 0; step < 5; step++) {
        int64_t row = 0;
        assert_int_equal(cwi_sampler_draw(d.l.ctx, &cwi_sampler_cause, d.sampler,
                                          &(cwi_moment){0, step}, &d.batch, &d.draws),
                         CW_OK);
        assert_int_equal(d.batch.n_groups, 2);
        for (int side = 0; side < 2; side++) {
            assert_int_equal(d.batch.group[side].rows, (side ? 500 : 501) * 5);
            assert_int_equal(d.batch.group[side].first_slot, 2 * row);
            for (int64_t r = 0; r < d.batch.group[side].rows; r++, row++) {
                assert_int_equal(check_row(&d, side, row), r % 5 == 0);
                assert_int_equal(d.batch.user[2 * row], d.batch.user[2 * (row - r % 5)]);
                for (int64_t k = 1; k < r % 5; k++)
                    assert_int_not_equal(d.batch.item[2 * row], d.batch.item[2 * (row - k)]);
                from_other_set[side] +=
                    r % 5 > 0 &&
                    cwi_training_has(&d.training, d.batch.user[2 * row], d.batch.item[2 * row]);
            }
        }
        assert_int_equal(d.batch.n_slots, 2 * row);
    }
    assert_true(from_other_set[0] > 0 && from_other_set[1] > 0);
    draw_end(&d);
}

/* Asked for more negatives than there are, a sample has them all, each once. */
static void users_with_few_other_items_give_those(void **state)
{
    (void)state;
    drawing d;
    draw_begin(&d, "600", "64");
    assert_int_equal(cwi_sampler_draw(d.l.ctx, &cwi_sampler_cause, d.sampler, &(cwi_moment){0, 1},
                                      &d.batch, &d.draws),
                     CW_OK);
    int64_t row = 0, samples = 0;
    for (int side = 0; side < 2; side++)
        for (int64_t end_row = row + d.batch.group[side].rows; row < end_row; samples++) {
            int32_t user = d.batch.user[2 * row];
            const int64_t *start = d.set[side].by_user.start;
            int64_t others = 20 - (start[user + 1] - start[user]);
            assert_int_equal(check_row(&d, side, row), 1);
            uint32_t items = 0;
            for (int64_t k = 1; k <= others; k++) {
                assert_int_equal(check_row(&d, side, row + k), 0);
                assert_false(items >> d.batch.item[2 * (row + k)] & 1);
                items |= 1u << d.batch.item[2 * (row + k)];
            }
            row += 1 + others;
        }
    assert_int_equal(samples, 600);
    draw_end(&d);
}

/* ---- whole runs ----------------------------------------------------------------- */

typedef struct fixture {
    listener l;
    char folder[64], checkpoint[128], treatment[128];
    cw_dataset *data;
    cw_options *options;
} fixture;

static void set(fixture *f, const char *name, const char *value)
{
    assert_int_equal(cw_options_set(f->l.ctx, f->options, name, value), CW_OK);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    listener_init(&f->l);
    make_scratch(f->folder);
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s/c", f->folder);
    snprintf(f->treatment, sizeof f->treatment, "%s/t.csv", f->folder);
    f->data = simulate(f->l.ctx);
    assert_int_equal(cw_options_create(f->l.ctx, "train", &f->options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, f->options, "preset", "paper"), CW_OK);
    set(f, "method", "cause");
    set(f, "dim", "8");
    set(f, "batch", "64");
    set(f, "epochs", "3");
    set(f, "eval-every", "1");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    cw_options_free(f->options);
    cw_dataset_free(f->data);
    remove_scratch(f->folder);
    listener_clear(&f->l);
    free(f);
    return 0;
}

static cw_model *train(fixture *f)
{
    cw_model *model;
    cw_status status = cw_train(f->l.ctx, f->data, f->options, &model, NULL);
    if (status != CW_OK) fail_msg("%s", cw_context_error(f->l.ctx));
    return model;
}

static bool is_same(const cw_model *a, const cw_model *b)
{
    const cwi_tensor *x = &a->params.tensor[0], *y = &b->params.tensor[0];
    assert_int_equal(x->rows, a->n_users + 2 * a->n_items);
    assert_int_equal(x->rows, y->rows);
    return memcmp(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float)) == 0;
}

static void same_bits_on_one_two_and_three_threads(void **state)
{
    fixture *f = *state;
    static const char *const kinds[] = {"l2", "l1", "l1-stop"};
    set(f, "batch", "700"); /* several chunks of samples and of items */
    set(f, "neg", "2");
    for (size_t k = 0; k < 3; k++) {
        cw_model *model[3];
        set(f, "cause-penalty", kinds[k]);
        for (int threads = 1; threads <= 3; threads++) {
            assert_int_equal(cw_context_set_threads(f->l.ctx, threads), CW_OK);
            model[threads - 1] = train(f);
        }
        assert_true(is_same(model[0], model[1]) && is_same(model[0], model[2]));
        for (int m = 0; m < 3; m++) cw_model_free(model[m]);
    }
}

/* Relative distance of the tables. */
static double distance(const cw_model *a, const cw_model *b)
{
    const cwi_tensor *x = &a->params.tensor[0], *y = &b->params.tensor[0];
    double apart = 0, size = 0;
    for (int64_t k = 0; k < x->rows * x->columns; k++) {
        double difference = (double)x->data[k] - (double)y->data[k];
        apart += difference * difference;
        size += (double)x->data[k] * (double)x->data[k];
    }
    return sqrt(apart / size);
}

static void deferred_adam_stays_close_to_dense(void **state)
{
    fixture *f = *state;
    static const char *const modes[] = {"adam", "adam-deferred", "adam-lazy"};
    cw_model *model[3];
    set(f, "batch", "16"); /* most rows are outside */
    set(f, "epochs", "1");
    set(f, "lr", "3e-4"); /* steps that are small against the vectors, as in practice */
    for (int m = 0; m < 3; m++) {
        set(f, "optimizer", modes[m]);
        model[m] = train(f);
    }
    double deferred = distance(model[0], model[1]), lazy = distance(model[0], model[2]);
    print_message("distance to dense: deferred %.2e, lazy %.2e\n", deferred, lazy);
    assert_true(deferred < 1e-3);
    assert_true(lazy > 1e-2); /* the test can tell them apart */
    for (int m = 0; m < 3; m++) cw_model_free(model[m]);
}

static cw_status train_for(fixture *f, int calls, cw_model **out)
{
    cw_context_set_progress(f->l.ctx, count_down, &calls);
    cw_status status = cw_train(f->l.ctx, f->data, f->options, out, NULL);
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    return status;
}

static void stopped_and_resumed_runs_end_the_same(void **state)
{
    fixture *f = *state;
    cw_model *whole = train(f), *pieces;
    int stops = 0;
    set(f, "checkpoint", f->checkpoint);
    set(f, "resume", "on");
    while (train_for(f, 9 + stops, &pieces) == CW_CANCELLED) stops++;
    assert_true(stops > 3);
    assert_true(is_same(whole, pieces));
    cw_model_free(whole);
    cw_model_free(pieces);
}

/* Strong ties leave no difference between the two vectors of an item, none lets them differ. */
static void the_penalty_ties_the_two_vectors(void **state)
{
    fixture *f = *state;
    static const char *const strengths[] = {"0", "1000"};
    double apart[2] = {0};
    set(f, "epochs", "30");
    set(f, "lr", "1e-2");
    set(f, "eval-every", "0");
    for (int s = 0; s < 2; s++) {
        set(f, "dis-penalty", strengths[s]);
        cw_model *model = train(f);
        const float *c = model->params.tensor[0].data + (int64_t)model->n_users * 8;
        const float *t = c + (int64_t)model->n_items * 8;
        for (int64_t k = 0; k < (int64_t)model->n_items * 8; k++)
            apart[s] += fabs((double)c[k] - (double)t[k]);
        cw_model_free(model);
    }
    assert_true(apart[1] < 0.2 * apart[0]);
}

static void check_lists(fixture *f, cw_model *model)
{
    int32_t items[10], count;
    const int32_t first = 0;
    const cw_lists lists = {.k = 10, .items = items, .counts = &count};
    cw_recommender *rec;
    assert_int_equal(cw_recommender_open(f->l.ctx, model, &rec), CW_OK);
    for (int32_t user = 0; user < cw_model_users(model); user++) {
        assert_int_equal(cw_recommend(f->l.ctx, rec, &user, 1, NULL, &lists), CW_OK);
        assert_int_equal(count, 10);
        for (int k = 0; k < 10; k++) assert_in_range(items[k], 0, cw_model_items(model) - 1);
    }
    assert_int_equal(cw_recommend_history(f->l.ctx, rec, &first, 1, NULL, &lists), CW_OK);
    assert_int_equal(cw_similar_items(f->l.ctx, rec, &first, 1, NULL, &lists), CW_OK);
    cw_recommender_close(rec);
}

static void check_export(fixture *f, const cw_model *model, const float *items)
{
    char folder[128], path[160];
    cwi_npy array;
    void *data;
    snprintf(folder, sizeof folder, "%s/export", f->folder);
    snprintf(path, sizeof path, "%s/item_vectors.npy", folder);
    assert_int_equal(cw_model_export(f->l.ctx, model, folder, true), CW_OK);
    assert_int_equal(cwi_npy_read(f->l.ctx, path, &array, &data), CW_OK);
    assert_int_equal(array.shape[0], model->n_items);
    assert_memory_equal(data, items, (size_t)model->n_items * 8 * sizeof *items);
    cwi_free(data);
}

/* Everything after training sees each item once, by the vectors that the options name. */
static void models_rank_by_the_table_asked_for(void **state)
{
    fixture *f = *state;
    static const char *const tables[] = {"control", "treatment"};
    char path[128];
    snprintf(path, sizeof path, "%s/m", f->folder);
    for (int table = 0; table < 2; table++) {
        cw_model *trained, *model;
        char *json;
        cwi_ranker ranker;
        set(f, "cause-score", tables[table]);
        trained = train(f);
        assert_int_equal(cw_model_save(f->l.ctx, trained, path), CW_OK);
        cw_model_free(trained);
        assert_int_equal(cw_model_load(f->l.ctx, path, &model), CW_OK);
        assert_int_equal(cw_model_items(model), cw_dataset_items(f->data));
        const float *items =
            model->params.tensor[0].data + ((int64_t)model->n_users + table * model->n_items) * 8;
        assert_int_equal(cwi_model_rank(f->l.ctx, model, &ranker), CW_OK);
        assert_ptr_equal(ranker.items, items);
        assert_int_equal(ranker.n_items, model->n_items);
        cwi_ranker_close(&ranker);
        check_export(f, model, items);
        check_lists(f, model);
        assert_int_equal(cw_evaluate(f->l.ctx, f->data, model, NULL, &json), CW_OK);
        cw_text_free(json);
        cw_model_free(model);
    }
}

/* ---- a treatment set of the user's ------------------------------------------- */

/* Some of the train interactions, with raw ids. */
static void write_treatment(fixture *f, int64_t every)
{
    FILE *file = fopen(f->treatment, "w");
    const cwi_pairs *pairs = &f->data->part[CW_PART_TRAIN];
    assert_non_null(file);
    fprintf(file, "user,item\n");
    for (int64_t k = 0; k < pairs->count; k += every)
        fprintf(file, "%s,%s\n", cw_dataset_user_id(f->data, pairs->user[k]),
                cw_dataset_item_id(f->data, pairs->item[k]));
    assert_int_equal(fclose(file), 0);
}

static void a_treatment_file_is_the_second_set(void **state)
{
    fixture *f = *state;
    cwi_trainer *t;
    int64_t held = 0;
    write_treatment(f, 10);
    set(f, "treatment", f->treatment);
    assert_int_equal(cwi_trainer_create(f->l.ctx, f->data, f->options, &t), CW_OK);
    const cwi_pairs *given = &t->training.treatment;
    assert_int_equal(given->count, (t->training.count + 9) / 10);
    cwi_csr in_file;
    assert_int_equal(cwi_csr_create(f->l.ctx, given->user, given->item, given->count,
                                    t->training.n_users, &in_file),
                     CW_OK);
    cwi_csr_sort(&in_file);
    assert_int_equal(cwi_trainer_step(t), CW_OK);
    const cwi_batch *batch = batch_of(t);
    for (int64_t row = 0; row < cwi_batch_rows(batch); row++) {
        int32_t user = batch->user[2 * row], item = batch->item[2 * row];
        bool treated = batch->mark[row] >= 2, liked = (int)batch->mark[row] % 2;
        if (treated) assert_int_equal(cwi_csr_has(&in_file, user, item), liked);
        if (!treated) assert_int_equal(cwi_training_has(&t->training, user, item), liked);
        held += !treated && liked && cwi_csr_has(&in_file, user, item);
    }
    assert_true(held > 0); /* control keeps what the file has, too */
    cwi_csr_clear(&in_file);
    cwi_trainer_free(t);
}

static void another_treatment_file_is_noticed(void **state)
{
    fixture *f = *state;
    cw_model *model;
    write_treatment(f, 10);
    set(f, "treatment", f->treatment);
    set(f, "checkpoint", f->checkpoint);
    assert_int_equal(train_for(f, 5, &model), CW_CANCELLED);
    set(f, "resume", "on");
    write_treatment(f, 9);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "other interactions of --treatment"));
    set(f, "treatment", "");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    write_treatment(f, 10); /* the same in another place is the same */
    char moved[160];
    snprintf(moved, sizeof moved, "%s.moved", f->treatment);
    assert_int_equal(rename(f->treatment, moved), 0);
    set(f, "treatment", moved);
    model = train(f);
    cw_model_free(model);
}

static void held_out_and_repeated_interactions_are_warned_of(void **state)
{
    fixture *f = *state;
    char text[256];
    const cwi_pairs *test = &f->data->part[CW_PART_TEST];
    const char *user = cw_dataset_user_id(f->data, test->user[0]);
    const char *item = cw_dataset_item_id(f->data, test->item[0]);
    snprintf(text, sizeof text, "user,item\n%s,%s\n%s,%s\n", user, item, user, item);
    write_file(f->folder, "t.csv", text);
    set(f, "treatment", f->treatment);
    set(f, "epochs", "0");
    cw_model_free(train(f));
    assert_non_null(strstr(f->l.log, "t.csv: 1 repeated interaction was dropped"));
    assert_non_null(strstr(f->l.log, "t.csv: 1 of its 1 interactions are held out"));
}

/* One interaction cannot be split; two can. */
static void tiny_data_work_or_are_refused(void **state)
{
    fixture *f = *state;
    cw_model *model;
    cwi_pairs *train_part = &f->data->part[CW_PART_TRAIN];
    train_part->count = 1;
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "there is only one interaction"));
    train_part->count = 2;
    set(f, "batch", "1");
    cw_model_free(train(f));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_specification),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(the_debiased_part_follows_the_weights),
        cmocka_unit_test(rows_are_of_their_sets),
        cmocka_unit_test(users_with_few_other_items_give_those),
        TEST(same_bits_on_one_two_and_three_threads),
        TEST(deferred_adam_stays_close_to_dense),
        TEST(stopped_and_resumed_runs_end_the_same),
        TEST(the_penalty_ties_the_two_vectors),
        TEST(models_rank_by_the_table_asked_for),
        TEST(a_treatment_file_is_the_second_set),
        TEST(another_treatment_file_is_noticed),
        TEST(held_out_and_repeated_interactions_are_warned_of),
        TEST(tiny_data_work_or_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_bucket.c - what a random bucket teaches: the file, the regression by hand, and that it helps
 * where items differ in quality and does no harm where they do not. */
#include <jansson.h>
#include <unistd.h>

#include "core/rng.h"
#include "evaluate/bucket.h"
#include "model_sample.h"
#include "prepare/truth.h"
#include "train_check.h"

enum { P = CWI_FIT_COLUMNS };

static int open_shop(void **state)
{
    return workshop_open(state, "bucket.csv");
}

/* ---- the regression ------------------------------------------------------------------ */

static void chances_hold_at_both_ends(void **state)
{
    (void)state;
    near(cwi_log_chance(0), -0.6931471805599453, 1e-15);
    near(cwi_log_chance(2), -0.1269280110429726, 1e-15);
    near(cwi_log_chance(-900), -900, 0);
    near(cwi_log_chance(900), 0, 0);
}

/* 3 of 10 are a constant of ln(3/7) where the prior says nothing. */
static void a_constant_is_the_log_odds(void **state)
{
    (void)state;
    double x[10 * P] = {0}, term[1], room[P + 3];
    uint8_t yes[10] = {1, 1, 1};
    int32_t item[10] = {0};
    for (int k = 0; k < 10; k++) x[k * P] = 1;
    cwi_logit_rows rows = {.n = 10, .n_columns = 1, .n_terms = 1, .x = x, .yes = yes, .term = item};
    rows.precision[0] = 1e-12;
    cwi_logit_fit fit = {.term = term, .room = room};
    cwi_logit_solve(&rows, &fit);
    near(fit.slope[0], -0.8472978603872037, 1e-9);
    near(cwi_logit_at(&rows, &fit, 7), fit.slope[0], 0);
}

enum { N_ROWS = 400, N_TERMS = 23 };

typedef struct sample {
    cwi_logit_rows rows;
    double x[N_ROWS * P], times[N_ROWS], term[N_TERMS], room[N_TERMS * (P + 3)];
    uint8_t yes[N_ROWS];
    int32_t item[N_ROWS];
} sample;

/* Rows whose items differ by `spread` logits. */
static void make_rows(sample *s, double spread)
{
    cwi_rng rng;
    double own[N_TERMS];
    cwi_rng_init(&rng, 5, CWI_RNG_TEST, 0);
    for (int i = 0; i < N_TERMS; i++) own[i] = spread * cwi_rng_normal(&rng);
    *s = (sample){.rows = {.n = N_ROWS, .n_columns = 3, .n_terms = N_TERMS}};
    s->rows.x = s->x;
    s->rows.yes = s->yes;
    s->rows.term = s->item;
    for (int k = 0; k < N_ROWS; k++) {
        double *x = s->x + k * P;
        x[0] = 1;
        x[1] = cwi_rng_normal(&rng);
        x[2] = cwi_rng_normal(&rng);
        s->item[k] = (int32_t)cwi_rng_below(&rng, N_TERMS);
        s->times[k] = (double)cwi_rng_below(&rng, 3);
        s->yes[k] = cwi_rng_real(&rng) < 1 / (1 + exp(0.5 - x[1] - own[s->item[k]]));
    }
    for (int j = 0; j < 3; j++) s->rows.precision[j] = 0.5 + j;
    s->rows.mean[1] = 0.7;
}

/* What is made largest has one top, where all its slopes are 0: they are added up here plainly. */
static void the_top_is_found(void **state)
{
    (void)state;
    static sample s;
    for (int weighted = 0; weighted < 2; weighted++) {
        double slope[P] = {0}, own[N_TERMS] = {0};
        make_rows(&s, 1);
        s.rows.times = weighted ? s.times : NULL;
        cwi_logit_fit fit = {.term = s.term, .room = s.room, .precision = 1.5};
        cwi_logit_solve(&s.rows, &fit);
        for (int j = 0; j < 3; j++)
            slope[j] = -s.rows.precision[j] * (fit.slope[j] - s.rows.mean[j]);
        for (int i = 0; i < N_TERMS; i++) own[i] = -1.5 * fit.term[i];
        for (int k = 0; k < N_ROWS; k++) {
            const double *x = s.x + k * P;
            double z = fit.term[s.item[k]];
            for (int j = 0; j < 3; j++) z += fit.slope[j] * x[j];
            double rest = (weighted ? s.times[k] : 1) * (s.yes[k] - 1 / (1 + exp(-z)));
            for (int j = 0; j < 3; j++) slope[j] += rest * x[j];
            own[s.item[k]] += rest;
        }
        for (int j = 0; j < 3; j++) near(slope[j], 0, 1e-7);
        for (int i = 0; i < N_TERMS; i++) near(own[i], 0, 1e-7);
    }
}

/* Against the sum over a fine grid of all values of a constant. */
static void evidence_is_an_integral(void **state)
{
    (void)state;
    static sample s;
    double sum = 0;
    const double step = 1e-3;
    make_rows(&s, 0);
    s.rows.n_columns = 1;
    cwi_logit_fit fit = {.term = s.term, .room = s.room};
    cwi_logit_solve(&s.rows, &fit);
    for (double b = -2; b < 1; b += step) {
        double chance = 0.5 * log(0.5 / (2 * 3.14159265358979)) - 0.25 * b * b;
        for (int k = 0; k < N_ROWS; k++) chance += cwi_log_chance(s.yes[k] ? b : -b);
        sum += step * exp(chance + 250);
    }
    near(fit.evidence, log(sum) - 250, 0.01);
}

static void terms_are_for_items_that_differ(void **state)
{
    (void)state;
    static sample s;
    cwi_logit_fit fit = {.term = s.term, .room = s.room};
    make_rows(&s, 0);
    cwi_logit_best(&s.rows, true, &fit);
    near(fit.precision, 0, 0);
    make_rows(&s, 1.5);
    cwi_logit_best(&s.rows, true, &fit);
    assert_true(fit.precision > 0 && fit.precision <= 1);
    cwi_logit_best(&s.rows, false, &fit);
    near(fit.precision, 0, 0);
}

/* ---- the file ------------------------------------------------------------------------ */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

/* Users a to d, items p to t; a had p, b had q. */
static void make_data(cw_context *ctx, cw_dataset *out)
{
    static const char *const users[] = {"a", "b", "c", "d"}, *const items[] = {"p", "q", "r", "s",
                                                                               "t"};
    static int32_t user[] = {0, 1}, item[] = {0, 1};
    *out = (cw_dataset){.n_users = 4, .n_items = 5};
    out->part[CW_PART_TRAIN] = (cwi_pairs){.count = 2, .user = user, .item = item};
    sample_ids(ctx, users, 4, &out->users);
    sample_ids(ctx, items, 5, &out->items);
}

static void clear_data(cw_dataset *data)
{
    cwi_idmap_clear(&data->users);
    cwi_idmap_clear(&data->items);
}

static void rows_are_sorted_out(void **state)
{
    workshop *w = *state;
    cw_dataset data;
    cwi_bucket b;
    make_data(w->l.ctx, &data);
    write_text(w->path,
               "user,item,liked\nc,q,0\na,q,1\na,p,1\nz,p,1\nb,nothing,0\nc,q,1\n\nd,t,0\n");
    assert_int_equal(cwi_bucket_read(w->l.ctx, w->path, &data, 0, &b), CW_OK);
    assert_true(b.has_labels && !cwi_bucket_is_enough(&b));
    assert_int_equal(b.n_read, 7);
    assert_int_equal(b.n_unknown, 2);
    assert_int_equal(b.n_known, 1);
    assert_int_equal(b.n_repeats, 1);
    assert_int_equal(b.count, 3);
    assert_int_equal(b.n_liked, 2);
    static const int32_t user[] = {0, 2, 3}, item[] = {1, 1, 4};
    static const uint8_t liked[] = {1, 1, 0};
    assert_memory_equal(b.user, user, sizeof user);
    assert_memory_equal(b.item, item, sizeof item);
    assert_memory_equal(b.liked, liked, sizeof liked);
    assert_non_null(
        strstr(w->l.log, "2 of 7 rows are of users or items that the dataset does not"));
    assert_non_null(strstr(w->l.log, "1 of 7 rows are trained on already"));
    assert_non_null(strstr(w->l.log, "1 of 7 rows repeat a pair"));
    cwi_bucket_clear(&b);
    clear_data(&data);
}

static void others_are_drawn_where_there_are_none(void **state)
{
    workshop *w = *state;
    cw_dataset data;
    cwi_bucket b, again;
    make_data(w->l.ctx, &data);
    write_text(w->path, "user,item\na,q\nc,t\n");
    assert_int_equal(cwi_bucket_read(w->l.ctx, w->path, &data, 3, &b), CW_OK);
    assert_int_equal(cwi_bucket_read(w->l.ctx, w->path, &data, 3, &again), CW_OK);
    assert_true(!b.has_labels);
    assert_int_equal(b.n_liked, 2);
    assert_int_equal(b.n_repeats, 0);
    assert_int_equal(b.count, 9); /* a: q, and r s t; c: t, and p q r s */
    for (int64_t k = 0; k < b.count; k++) {
        assert_true(b.user[k] == 0 || b.user[k] == 2);
        assert_true(b.user[k] != 0 || b.item[k] != 0); /* in train */
    }
    assert_string_equal(b.hash, again.hash);
    cwi_bucket_clear(&again);
    cwi_bucket_clear(&b);
    clear_data(&data);
}

static void bad_files_are_refused(void **state)
{
    workshop *w = *state;
    static const char *const cases[][2] = {
        {"", "bucket.csv is empty"},
        {"user,item,liked\n", "bucket.csv has no rows"},
        {"item,user\na,p\n", "bucket.csv:1: expected the header user,item,liked or user,item"},
        {"user,item,liked,when\na,p,1,2\n",
         "bucket.csv:1: expected the header user,item,liked or user,item"},
        {"user,item,liked\na,q,2\n", "bucket.csv:2: liked must be 0 or 1"},
        {"user,item,liked\na,q\n", "bucket.csv:2: expected user,item,liked"},
        {"user,item\na,q,1\n", "bucket.csv:2: expected user,item"},
        {"user,item\nx,q\na,p\n", "none of its 2 rows is of a user and an item of the dataset"},
    };
    cw_dataset data;
    cwi_bucket b;
    make_data(w->l.ctx, &data);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        write_text(w->path, cases[c][0]);
        cwi_begin(w->l.ctx);
        assert_int_equal(cwi_bucket_read(w->l.ctx, w->path, &data, 0, &b), CW_BAD_DATA);
        if (!strstr(cw_context_error(w->l.ctx), cases[c][1]))
            fail_msg("'%s' says: %s", cases[c][0], cw_context_error(w->l.ctx));
        cwi_bucket_clear(&b);
    }
    clear_data(&data);
}

/* ---- models --------------------------------------------------------------------------- */

static const float sample_term[SAMPLE_ITEMS] = {0, 0, 0.5f, 0, 7, -1};

static cw_model *make_shifted(cw_context *ctx)
{
    cw_model *model = make_sample(ctx);
    model->term = cwi_alloc(ctx, SAMPLE_ITEMS, sizeof *model->term);
    memcpy(model->term, sample_term, sizeof sample_term);
    return model;
}

static void terms_are_added_to_all_scores(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_model *model[2] = {make_sample(ctx), make_shifted(ctx)};
    static const int32_t users[] = {0, 0, 0, 1}, items[] = {2, 3, 4, 4}, history[] = {0, 2};
    float pair[2][4], score[2][SAMPLE_ITEMS];
    for (int m = 0; m < 2; m++) {
        cw_recommender *rec;
        int32_t listed[SAMPLE_ITEMS];
        const cw_rules rules = {.with_seen = true};
        const cw_lists lists = {.k = SAMPLE_ITEMS, .items = listed, .scores = score[m]};
        assert_int_equal(cw_recommender_open(ctx, model[m], &rec), CW_OK);
        assert_int_equal(cw_score_pairs(ctx, rec, users, items, 4, pair[m]), CW_OK);
        assert_int_equal(cw_recommend(ctx, rec, users, 1, &rules, &lists), CW_OK);
        assert_int_equal(listed[0], m == 0 ? 0 : 4); /* i0 has 5; i4 has 1, and 7 more */
        float by_item[SAMPLE_ITEMS];
        assert_int_equal(cw_recommend_history(ctx, rec, history, 2, &rules, &lists), CW_OK);
        for (int k = 0; k < SAMPLE_ITEMS; k++) by_item[listed[k]] = score[m][k];
        memcpy(score[m], by_item, sizeof by_item);
        cw_recommender_close(rec);
        cw_model_free(model[m]);
    }
    for (int k = 0; k < 4; k++)
        near((double)pair[1][k], (double)(pair[0][k] + sample_term[items[k]]), 1e-6);
    for (int i = 0; i < SAMPLE_ITEMS; i++)
        near((double)score[1][i], (double)(score[0][i] + sample_term[i]), 1e-5);
}

static void terms_are_kept_in_the_file(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_model *model = make_shifted(ctx), *loaded;
    char *info;
    assert_int_equal(cw_model_save(ctx, model, w->path), CW_OK);
    assert_int_equal(cw_model_load(ctx, w->path, &loaded), CW_OK);
    assert_memory_equal(loaded->term, sample_term, sizeof sample_term);
    assert_int_equal(cw_model_info(ctx, loaded, &info), CW_OK);
    assert_non_null(strstr(info, "\"item_terms\": true"));
    cw_text_free(info);
    cw_model_free(loaded);
    model->term[3] = (float)NAN;
    assert_int_equal(cw_model_save_run(ctx, model, w->path, NULL, NULL, true), CW_OK);
    assert_int_equal(cw_model_load(ctx, w->path, &loaded), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(ctx), "bucket.term has a number that is not finite"));
    cw_model_free(model);
}

static void a_sum_adds_up(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_model *model = make_sample(ctx), *sum;
    cwi_ranker one, both;
    const cw_model *part[] = {model, model};
    const double weight[] = {0.25, 2};
    assert_int_equal(cwi_model_sum(ctx, part, weight, &sum), CW_OK);
    assert_int_equal(cwi_model_rank(ctx, model, &one), CW_OK);
    assert_int_equal(cwi_model_rank(ctx, sum, &both), CW_OK);
    assert_int_equal(both.width, 2 * SAMPLE_WIDTH);
    for (int32_t u = 0; u < SAMPLE_USERS; u++) {
        float a[SAMPLE_ITEMS], b[SAMPLE_ITEMS];
        one.score(&one, &u, 1, a);
        both.score(&both, &u, 1, b);
        for (int i = 0; i < SAMPLE_ITEMS; i++) near((double)b[i], 2.25 * (double)a[i], 1e-5);
    }
    assert_non_null(strstr(sum->about, "\"weight\": 0.25"));
    cwi_ranker_close(&one);
    cwi_ranker_close(&both);
    cw_model_free(sum);
    cw_model_free(model);
}

/* ---- training ------------------------------------------------------------------------- */

static cw_dataset *simulate_quality(cw_context *ctx, const char *quality)
{
    const char *const settings[][2] = {{"users", "1000"},     {"items", "300"},
                                       {"popularity", "0.8"}, {"dim", "4"},
                                       {"quality", quality},  {"seed", "1"}};
    cw_options *options, *split;
    cw_dataset *data;
    assert_int_equal(cw_options_create(ctx, "simulate", &options), CW_OK);
    assert_int_equal(cw_options_create(ctx, "prepare", &split), CW_OK);
    assert_int_equal(cw_options_set(ctx, split, "cap", "1/8"), CW_OK);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        assert_int_equal(cw_options_set(ctx, options, settings[k][0], settings[k][1]), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, split, &data), CW_OK);
    cw_options_free(split);
    cw_options_free(options);
    return data;
}

/* Items shown at random, and whether they were liked. */
static void write_bucket(const cw_dataset *d, const char *path, int rows)
{
    FILE *file = fopen(path, "w");
    cwi_rng rng;
    assert_non_null(file);
    fprintf(file, "user,item,liked\n");
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int n = 0; n < rows; n++) {
        int32_t u = (int32_t)cwi_rng_below(&rng, (uint64_t)d->n_users);
        int32_t i = (int32_t)cwi_rng_below(&rng, (uint64_t)d->n_items);
        bool likes = cwi_rng_real(&rng) < cwi_truth_relevance(d->truth, u, i);
        fprintf(file, "%s,%s,%d\n", cwi_idmap_text(&d->users, u), cwi_idmap_text(&d->items, i),
                likes);
    }
    assert_int_equal(fclose(file), 0);
}

/* Options of a short training, and one more. */
static cw_options *cpr_options(cw_context *ctx, const char *name, const char *value)
{
    static const char *const settings[][2] = {
        {"method", "cpr"},   {"preset", "paper"}, {"dim", "16"}, {"lr", "1e-2"},
        {"batch", "256"},    {"reg", "0.2"},      {"beta", "1"}, {"epochs", "40"},
        {"eval-every", "5"}, {"seed", "1"}};
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        assert_int_equal(cw_options_set(ctx, options, settings[k][0], settings[k][1]), CW_OK);
    if (name) assert_int_equal(cw_options_set(ctx, options, name, value), CW_OK);
    return options;
}

static double find_tau(cw_context *ctx, const cw_dataset *data, const cw_model *model)
{
    char *json;
    assert_int_equal(cw_evaluate(ctx, data, model, NULL, &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    double tau = json_number_value(
        json_object_get(json_object_get(json_object_get(root, "truth"), "kendall_tau"), "mean"));
    json_decref(root);
    cw_text_free(json);
    return tau;
}

/* Tau of CPR with the truth, without a bucket of so many rows and with it. */
static void compare_taus(workshop *w, const char *quality, int rows, double tau[2])
{
    cw_context *ctx = w->l.ctx;
    cw_dataset *data = simulate_quality(ctx, quality);
    write_bucket(data, w->path, rows);
    for (int has = 0; has < 2; has++) {
        cw_model *model =
            train_with(ctx, data, cpr_options(ctx, has ? "bucket" : NULL, has ? w->path : NULL));
        tau[has] = find_tau(ctx, data, model);
        cw_model_free(model);
    }
    cw_dataset_free(data);
}

static void a_bucket_finds_quality(void **state)
{
    double tau[2];
    compare_taus(*state, "0.5", 500, tau);
    if (!(tau[1] > tau[0] + 0.04)) fail_msg("tau is %.4f, and was %.4f", tau[1], tau[0]);
}

static void a_bucket_does_no_harm_without_quality(void **state)
{
    double tau[2];
    compare_taus(*state, "0", 500, tau);
    if (!(tau[1] > tau[0] - 0.01)) fail_msg("tau is %.4f, and was %.4f", tau[1], tau[0]);
}

static void a_bucket_that_is_too_small_changes_nothing(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_dataset *data = simulate_quality(ctx, "0.5");
    write_bucket(data, w->path, 12);
    cw_model *plain = train_with(ctx, data, cpr_options(ctx, NULL, NULL));
    cw_model *taught = train_with(ctx, data, cpr_options(ctx, "bucket", w->path));
    assert_null(taught->term);
    assert_null(strstr(taught->about, "\"dial\""));
    assert_non_null(strstr(taught->about, "\"is_enough\": false"));
    assert_non_null(strstr(w->l.log, "! The bucket is too small to tell anything"));
    assert_memory_equal(plain->params.tensor[0].data, taught->params.tensor[0].data,
                        cwi_tensor_bytes(&plain->params.tensor[0]));
    cw_model_free(plain);
    cw_model_free(taught);
    cw_dataset_free(data);
}

/* ---- going on -------------------------------------------------------------------------- */

static cw_options *kept_options(workshop *w, const char *checkpoint, bool resumes)
{
    cw_options *options = cpr_options(w->l.ctx, "bucket", w->path);
    assert_int_equal(cw_options_set(w->l.ctx, options, "checkpoint", checkpoint), CW_OK);
    assert_int_equal(cw_options_set(w->l.ctx, options, "refit", "on"), CW_OK);
    assert_int_equal(cw_options_set(w->l.ctx, options, "epochs", "6"), CW_OK);
    assert_int_equal(cw_options_set(w->l.ctx, options, "resume", resumes ? "on" : "off"), CW_OK);
    return options;
}

static void is_same(const cw_model *a, const cw_model *b)
{
    assert_memory_equal(a->params.tensor[0].data, b->params.tensor[0].data,
                        cwi_tensor_bytes(&a->params.tensor[0]));
    assert_string_equal(a->about, b->about);
    assert_int_equal(!a->term, !b->term);
    if (a->term) assert_memory_equal(a->term, b->term, (size_t)a->n_items * sizeof *a->term);
}

/* Stopped after so many calls and going on, in either phase or in between. */
static void a_stop_changes_nothing(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_dataset *data = simulate_quality(ctx, "0.8");
    char checkpoint[128];
    int n_stops = 0;
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", w->folder);
    write_bucket(data, w->path, 500);
    cw_model *whole = train_with(ctx, data, kept_options(w, checkpoint, false));
    assert_non_null(whole->term);
    for (int calls = 20; calls < 2000; calls = calls * 3 / 2) {
        cw_model *model = NULL;
        cw_options *options = kept_options(w, checkpoint, false);
        int left = calls;
        (void)unlink(checkpoint);
        cw_context_set_progress(ctx, count_down, &left);
        cw_status status = cw_train(ctx, data, options, &model, NULL);
        cw_context_set_progress(ctx, NULL, NULL);
        cw_options_free(options);
        cw_model_free(model);
        if (status == CW_OK) break;
        assert_int_equal(status, CW_CANCELLED);
        n_stops++;
        model = train_with(ctx, data, kept_options(w, checkpoint, true));
        is_same(whole, model);
        cw_model_free(model);
    }
    assert_true(n_stops >= 5);
    cw_model_free(whole);
    cw_dataset_free(data);
}

static void new_rows_leave_the_terms(void **state)
{
    workshop *w = *state;
    cw_context *ctx = w->l.ctx;
    cw_dataset *data = simulate_quality(ctx, "0.8");
    cw_interactions *rows;
    cw_model *newer;
    char log[128];
    write_bucket(data, w->path, 500);
    cw_model *model = train_with(ctx, data, cpr_options(ctx, "bucket", w->path));
    snprintf(log, sizeof log, "%s/log.csv", w->folder);
    write_text(log, "user,item\nsomebody,something\n");
    const char *const paths[] = {log};
    assert_int_equal(cw_import(ctx, paths, 1, NULL, &rows), CW_OK);
    assert_int_equal(cw_update(ctx, model, rows, NULL, &newer, NULL), CW_OK);
    assert_int_equal(newer->n_items, model->n_items + 1);
    assert_memory_equal(newer->term, model->term, (size_t)model->n_items * sizeof *model->term);
    near((double)newer->term[model->n_items], 0, 0);
    assert_non_null(strstr(newer->about, "\"dial\""));
    cw_interactions_free(rows);
    cw_model_free(newer);
    cw_model_free(model);
    cw_dataset_free(data);
}

/* ---- races ------------------------------------------------------------------------------ */

static cw_model *race(workshop *w, const cw_dataset *data, const char *folder, int rows,
                      char **json)
{
    static const char *const settings[][2] = {
        {"trials", "4"}, {"backbones", "mf"}, {"set", "dim=8,batch=128,epochs=8,eval-every=2"}};
    cw_options *options;
    cw_model *model;
    char store[128];
    snprintf(store, sizeof store, "%s/%s", w->folder, folder);
    write_bucket(data, w->path, rows);
    assert_int_equal(cw_options_create(w->l.ctx, "tune", &options), CW_OK);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(cw_options_set(w->l.ctx, options, settings[k][0], settings[k][1]), CW_OK);
    assert_int_equal(cw_options_set(w->l.ctx, options, "bucket", w->path), CW_OK);
    if (cw_tune(w->l.ctx, data, options, store, &model, NULL, json) != CW_OK)
        fail_msg("%s", cw_context_error(w->l.ctx));
    cw_options_free(options);
    return model;
}

static void a_bucket_decides_a_race(void **state)
{
    workshop *w = *state;
    cw_dataset *data = simulate_quality(w->l.ctx, "0.8");
    char *json, *again;
    cw_model *first = race(w, data, "one", 500, &json);
    assert_non_null(strstr(json, "\"judge\": \"bucket\""));
    assert_non_null(strstr(json, "trials by the bucket is"));
    assert_non_null(strstr(first->about, "\"is_used\": true"));
    cw_text_free(json);
    assert_int_equal(cw_context_set_threads(w->l.ctx, 3), CW_OK);
    cw_model *second = race(w, data, "two", 500, &again);
    is_same(first, second);
    cw_text_free(again);
    cw_model_free(first);
    cw_model_free(second);
    cw_dataset_free(data);
}

static void validation_decides_where_a_bucket_cannot(void **state)
{
    workshop *w = *state;
    cw_dataset *data = simulate_quality(w->l.ctx, "0.8");
    char *json;
    cw_model *model = race(w, data, "one", 12, &json);
    assert_non_null(strstr(json, "\"judge\": \"recall@20\""));
    assert_non_null(strstr(json, "The bucket is too small to tell anything"));
    cw_text_free(json);
    cw_model_free(model);
    cw_dataset_free(data);
}

#define IN_SHOP(test) cmocka_unit_test_setup_teardown(test, open_shop, workshop_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chances_hold_at_both_ends),
        cmocka_unit_test(a_constant_is_the_log_odds),
        cmocka_unit_test(the_top_is_found),
        cmocka_unit_test(evidence_is_an_integral),
        cmocka_unit_test(terms_are_for_items_that_differ),
        IN_SHOP(rows_are_sorted_out),
        IN_SHOP(others_are_drawn_where_there_are_none),
        IN_SHOP(bad_files_are_refused),
        IN_SHOP(terms_are_added_to_all_scores),
        IN_SHOP(terms_are_kept_in_the_file),
        IN_SHOP(a_sum_adds_up),
        IN_SHOP(a_bucket_finds_quality),
        IN_SHOP(a_bucket_does_no_harm_without_quality),
        IN_SHOP(a_bucket_that_is_too_small_changes_nothing),
        IN_SHOP(a_stop_changes_nothing),
        IN_SHOP(new_rows_leave_the_terms),
        IN_SHOP(a_bucket_decides_a_race),
        IN_SHOP(validation_decides_where_a_bucket_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

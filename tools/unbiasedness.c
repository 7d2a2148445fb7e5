/*
 * unbiasedness.c - the study behind docs/unbiasedness.md: who finds the true relevance?
 *   unbiasedness       all tables as Markdown, from seeds 1 to 5
 *   unbiasedness tune QUALITY SEED NAME=VALUE...
 *                      one training with other options, of which nothing but the validation is
 *                      shown; the options below were chosen so, on seeds 100 to 102
 *   unbiasedness bucket|liked [FIRST LAST]
 *                      what a small bucket of items shown at random adds, by its size, from seeds
 *                      1 to 5 or others; liked: only what was liked of it is known
 * One thread; progress goes to stderr.
 */
#include <crosswise/crosswise.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rng.h"
#include "evaluate/bucket.h"
#include "evaluate/kendall.h"
#include "model/model.h"
#include "prepare/truth.h"

/* ---- what is compared ---------------------------------------------------------- */

static const char *const world = "users=3000 items=1000 dim=4 interactions=27000 uniform-test=100";
/* A row weighs min(1/degree, cap); items have about 30 rows, so that 1/60 would hardly debias. */
static const char *const split = "cap=1/8";
static const char *const common = "preset=paper dim=16 lr=5e-3 batch=512 eval-every=5 patience=8";

/* reg and beta were chosen by validation (docs/unbiasedness.md). */
enum { POP, BPR, CPR, N_METHODS };
static const char *const method_name[N_METHODS] = {"pop", "BPR", "CPR"};
static const char *const method_options[N_METHODS] = {"method=pop", "method=bpr reg=1e-1",
                                                      "method=cpr reg=2e-1 beta=1"};

typedef struct point {
    const char *quality, *violation, *correlation;
} point;

static const point points[] = {
    {"0", "0", "0"},   {"0.1", "0", "0"},    {"0.2", "0", "0"},   {"0.3", "0", "0"},
    {"0.5", "0", "0"}, {"0.8", "0", "0"},    {"0", "0.25", "0"},  {"0", "0.5", "0"},
    {"0", "1", "0"},   {"0.3", "0", "-0.5"}, {"0.3", "0", "0.5"},
};

typedef struct table {
    const char *title, *option; /* what differs between the rows */
    int count, row[8];          /* of points */
} table;

static const table tables[] = {
    {"Quality that all users agree on", "quality", 6, {0, 1, 2, 3, 4, 5}},
    {"Users who follow popularity more or less than others (quality 0)",
     "violation",
     4,
     {0, 6, 7, 8}},
    {"Good items shown less or more (quality 0.3)", "quality-popularity", 3, {9, 3, 10}},
};

static const char *const dials[] = {"0", "0.05", "0.1", "0.2", "0.4", "0.8"};

enum { TAU, NDCG, RELEVANCE, RECALL, UNIFORM, ARP, N_MEASURES };
static const char *const measure_name[N_MEASURES] = {
    "tau", "NDCG@20", "relevance@20", "Recall@20 debiased", "Recall@20 uniform", "ARP@20"};

/* Who chooses how much popularity is added again. */
enum { BY_VALID, BY_UNIFORM, N_JUDGES };
static const char *const judge_name[N_JUDGES] = {"valid", "uniform"};

enum {
    N_POINTS = sizeof points / sizeof points[0],
    N_TABLES = sizeof tables / sizeof tables[0],
    N_DIALS = sizeof dials / sizeof dials[0],
    N_SEEDS = 5,
    LIMIT_USERS = 300 /* enough for the mean of tau to be known to about 0.005 */
};

/* All that is found out about one point, by seed. */
typedef struct result {
    double value[N_METHODS][N_MEASURES][N_SEEDS];
    double limit[N_METHODS][N_SEEDS]; /* tau with data without end */
    double dial_tau[N_DIALS][N_SEEDS];
    double chosen_dial[N_JUDGES][N_SEEDS], chosen_tau[N_JUDGES][N_SEEDS];
} result;

/* ---- one call each --------------------------------------------------------------- */

static cw_context *ctx;

static void need(cw_status status)
{
    if (status == CW_OK) return;
    fprintf(stderr, "unbiasedness: %s\n", ctx ? cw_context_error(ctx) : cw_status_text(status));
    exit(1);
}

/* Set options from "name=value name=value". */
static void set_all(cw_options *options, const char *text)
{
    char name[32], value[32];
    int length;
    for (; sscanf(text, " %31[^= ]=%31s%n", name, value, &length) == 2; text += length)
        need(cw_options_set(ctx, options, name, value));
}

static cw_options *options_of(const char *stage, const char *text, int seed)
{
    char number[16];
    cw_options *options;
    snprintf(number, sizeof number, "%d", seed);
    need(cw_options_create(ctx, stage, &options));
    set_all(options, text);
    need(cw_options_set(ctx, options, "seed", number));
    return options;
}

static cw_dataset *simulate(const point *p, int seed)
{
    cw_dataset *dataset;
    cw_options *drawn = options_of("simulate", world, seed);
    cw_options *held = options_of("prepare", split, seed);
    need(cw_options_set(ctx, drawn, "quality", p->quality));
    need(cw_options_set(ctx, drawn, "violation", p->violation));
    need(cw_options_set(ctx, drawn, "quality-popularity", p->correlation));
    need(cw_dataset_simulate(ctx, drawn, held, &dataset));
    cw_options_free(drawn);
    cw_options_free(held);
    return dataset;
}

static cw_model *train(const cw_dataset *dataset, const char *text, int seed, char **run)
{
    cw_model *model;
    cw_options *options = options_of("train", common, seed);
    set_all(options, text);
    need(cw_train(ctx, dataset, options, &model, run));
    cw_options_free(options);
    return model;
}

static json_t *evaluate(const cw_dataset *dataset, const cw_model *model, const char *text)
{
    char *json;
    cw_options *options = options_of("evaluate", text, 0);
    need(cw_evaluate(ctx, dataset, model, options, &json));
    json_t *root = json_loads(json, 0, NULL);
    cw_text_free(json);
    cw_options_free(options);
    return root;
}

static double number(const json_t *root, const char *object, const char *key)
{
    json_t *value = json_object_get(json_object_get(root, object), key);
    if (json_is_object(value)) value = json_object_get(value, "mean");
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* ---- one seed of one point --------------------------------------------------------- */

static void measure(const cw_dataset *dataset, const cw_model *model, int seed,
                    double value[N_MEASURES][N_SEEDS])
{
    json_t *test = evaluate(dataset, model, "split=test truth=on k=20");
    json_t *uniform = evaluate(dataset, model, "split=uniform truth=off k=20");
    value[TAU][seed] = number(test, "truth", "kendall_tau");
    value[NDCG][seed] = number(test, "truth", "ndcg");
    value[RELEVANCE][seed] = number(test, "truth", "relevance");
    value[RECALL][seed] = number(test, "metrics", "recall@20");
    value[ARP][seed] = number(test, "metrics", "arp@20");
    value[UNIFORM][seed] = number(uniform, "metrics", "recall@20");
    json_decref(test);
    json_decref(uniform);
}

/* The same model with popularity added again, and the amounts with the best Recall@20. */
static void measure_dials(const cw_dataset *dataset, const cw_model *model, int seed, result *r)
{
    double best[N_JUDGES] = {-1, -1};
    for (int d = 0; d < N_DIALS; d++) {
        char text[64];
        snprintf(text, sizeof text, "split=test truth=on popularity=%s", dials[d]);
        json_t *test = evaluate(dataset, model, text);
        r->dial_tau[d][seed] = number(test, "truth", "kendall_tau");
        json_decref(test);
        for (int j = 0; j < N_JUDGES; j++) {
            snprintf(text, sizeof text, "split=%s truth=off popularity=%s", judge_name[j],
                     dials[d]);
            json_t *held = evaluate(dataset, model, text);
            double recall = number(held, "metrics", "recall@20");
            json_decref(held);
            if (!(recall > best[j])) continue;
            best[j] = recall;
            r->chosen_dial[j][seed] = strtod(dials[d], NULL);
            r->chosen_tau[j][seed] = r->dial_tau[d][seed];
        }
    }
}

/* log P(Y = 1) / P(Y = 0), which BPR orders the items of a user by. */
static double log_odds(const cwi_truth *truth, int32_t u, int32_t i)
{
    double chance = cwi_truth_relevance(truth, u, i) * cwi_truth_exposure(truth, u, i);
    return log(chance / (1 - chance));
}

/* What the losses lead to when every probability is known: popularity, the log odds, and the log
 * odds less their mean over the users, which no cross pair can see. */
static void measure_limits(const cw_dataset *dataset, int seed, result *r)
{
    int32_t n_users = dataset->n_users, n_items = dataset->n_items;
    double *expected = calloc((size_t)n_items, sizeof *expected);
    double *mean = calloc((size_t)n_items, sizeof *mean);
    cwi_rated *rated = calloc(2 * (size_t)n_items, sizeof *rated);
    double sum[N_METHODS] = {0};
    int32_t step = n_users / LIMIT_USERS > 0 ? n_users / LIMIT_USERS : 1, n = 0;

    if (!expected || !mean || !rated) need(CW_NO_MEMORY);
    for (int32_t i = 0; i < n_items; i++)
        for (int32_t u = 0; u < n_users; u++) {
            double odds = log_odds(dataset->truth, u, i);
            mean[i] += odds / n_users;
            expected[i] += 1 / (1 + exp(-odds));
        }
    for (int32_t u = 0; u < n_users; u += step, n++)
        for (int m = 0; m < N_METHODS; m++) {
            for (int32_t i = 0; i < n_items; i++) {
                double odds = m == POP ? expected[i] : log_odds(dataset->truth, u, i);
                rated[i] = (cwi_rated){cwi_truth_relevance(dataset->truth, u, i),
                                       m == CPR ? odds - mean[i] : odds};
            }
            sum[m] += cwi_kendall(rated, rated + n_items, n_items);
        }
    for (int m = 0; m < N_METHODS; m++) r->limit[m][seed] = sum[m] / n;
    free(expected);
    free(mean);
    free(rated);
}

static void study(const point *p, int seed, result *r)
{
    cw_dataset *dataset = simulate(p, seed + 1);
    measure_limits(dataset, seed, r);
    for (int m = 0; m < N_METHODS; m++) {
        cw_model *model = train(dataset, method_options[m], seed + 1, NULL);
        measure(dataset, model, seed, r->value[m]);
        if (m == CPR) measure_dials(dataset, model, seed, r);
        cw_model_free(model);
    }
    fprintf(stderr,
            "quality %s violation %s correlation %s seed %d: %d users, %d items, %lld rows to "
            "train; tau %.4f %.4f %.4f\n",
            p->quality, p->violation, p->correlation, seed + 1, (int)cw_dataset_users(dataset),
            (int)cw_dataset_items(dataset), (long long)cw_dataset_count(dataset, CW_PART_TRAIN),
            r->value[POP][TAU][seed], r->value[BPR][TAU][seed], r->value[CPR][TAU][seed]);
    cw_dataset_free(dataset);
}

/* ---- tables ------------------------------------------------------------------------- */

static double mean_of(const double value[N_SEEDS])
{
    double sum = 0;
    for (int s = 0; s < N_SEEDS; s++) sum += value[s];
    return sum / N_SEEDS;
}

static double deviation_of(const double value[N_SEEDS])
{
    double mean = mean_of(value), squares = 0;
    for (int s = 0; s < N_SEEDS; s++) squares += (value[s] - mean) * (value[s] - mean);
    return sqrt(squares / (N_SEEDS - 1));
}

static const double critical_t = 2.776; /* two-sided 5 % for five pairs */

/* Student's t of paired differences. */
static double paired_t(const double a[N_SEEDS], const double b[N_SEEDS])
{
    double difference[N_SEEDS];
    for (int s = 0; s < N_SEEDS; s++) difference[s] = a[s] - b[s];
    return mean_of(difference) / (deviation_of(difference) / sqrt((double)N_SEEDS));
}

static const char *value_of(const point *p, const char *option)
{
    if (strcmp(option, "quality") == 0) return p->quality;
    return strcmp(option, "violation") == 0 ? p->violation : p->correlation;
}

static void print_methods(const char *value, const result *r)
{
    for (int m = 0; m < N_METHODS; m++) {
        printf("| %s | %s |", m ? "" : value, method_name[m]);
        for (int k = 0; k < N_MEASURES; k++)
            printf(k == ARP ? " %.1f ± %.1f |" : " %.4f ± %.4f |", mean_of(r->value[m][k]),
                   deviation_of(r->value[m][k]));
        printf("\n");
    }
    printf("| | t of CPR - BPR |");
    for (int k = 0; k < N_MEASURES; k++) {
        double t = paired_t(r->value[CPR][k], r->value[BPR][k]);
        printf(fabs(t) > critical_t ? " **%+.1f** |" : " %+.1f |", t);
    }
    printf("\n");
}

static void print_table(const table *t, const result *results)
{
    printf("\n%s:\n\n| %s | |", t->title, t->option);
    for (int k = 0; k < N_MEASURES; k++) printf(" %s |", measure_name[k]);
    printf("\n|---|---|");
    for (int k = 0; k < N_MEASURES; k++) printf("---|");
    printf("\n");
    for (int row = 0; row < t->count; row++)
        print_methods(value_of(&points[t->row[row]], t->option), &results[t->row[row]]);
}

static void print_point(const point *p)
{
    printf("| %s | %s | %s |", p->quality, p->violation, p->correlation);
}

static void print_limits(const result *results)
{
    printf("\nTau as measured, and with data without end (limit):\n\n"
           "| quality | violation | quality-popularity |");
    for (int m = 0; m < N_METHODS; m++) printf(" %s | limit |", method_name[m]);
    printf("\n|---|---|---|---|---|---|---|---|---|\n");
    for (int p = 0; p < N_POINTS; p++) {
        print_point(&points[p]);
        for (int m = 0; m < N_METHODS; m++)
            printf(" %.3f | %.3f |", mean_of(results[p].value[m][TAU]),
                   mean_of(results[p].limit[m]));
        printf("\n");
    }
}

static void print_dials(const result *results)
{
    printf("\nTau of CPR with popularity G, and with the G of the best Recall@20:\n\n"
           "| quality | violation | quality-popularity |");
    for (int d = 0; d < N_DIALS; d++) printf(" G %s |", dials[d]);
    for (int j = 0; j < N_JUDGES; j++) printf(" by %s | mean G |", judge_name[j]);
    printf(" BPR |\n|---|---|---|");
    for (int d = 0; d < N_DIALS + 2 * N_JUDGES + 1; d++) printf("---|");
    printf("\n");
    for (int p = 0; p < N_POINTS; p++) {
        print_point(&points[p]);
        for (int d = 0; d < N_DIALS; d++) printf(" %.3f |", mean_of(results[p].dial_tau[d]));
        for (int j = 0; j < N_JUDGES; j++)
            printf(" %.3f | %.2f |", mean_of(results[p].chosen_tau[j]),
                   mean_of(results[p].chosen_dial[j]));
        printf(" %.3f |\n", mean_of(results[p].value[BPR][TAU]));
    }
}

/* ---- the program ---------------------------------------------------------------------- */

/* Train with the options text; the run as JSON. */
static json_t *train_run(const cw_dataset *dataset, const char *text, int seed, cw_model **model)
{
    char *run;
    *model = train(dataset, text, seed, &run);
    json_t *root = json_loads(run, 0, NULL);
    cw_text_free(run);
    return root;
}

/* Nothing but validation is shown, so that nothing else can be tuned on. */
static void tune(const char *quality, int seed, int n, char **settings)
{
    char given[512] = "";
    cw_model *model;
    cw_dataset *dataset = simulate(&(point){quality, "0", "0"}, seed);
    for (int s = 0; s < n; s++) {
        size_t used = strlen(given);
        snprintf(given + used, sizeof given - used, "%s%s", s ? " " : "", settings[s]);
    }
    json_t *run = train_run(dataset, given, seed, &model);
    printf("%s %d %.5f %.0f %s\n", quality, seed, number(run, "valid", "recall@20"),
           json_number_value(json_object_get(run, "best_epoch")), given);
    json_decref(run);
    cw_model_free(model);
    cw_dataset_free(dataset);
}

/* Would other values of reg tell another story? */
static void print_regs(void)
{
    static const char *const quality[] = {"0", "0.3"}, *const reg[] = {"3e-2", "1e-1", "2e-1",
                                                                       "3e-1"};
    printf("\nOther values of reg:\n\n"
           "| quality | | reg | Recall@20 valid | Recall@20 debiased | tau "
           "|\n|---|---|---|---|---|---|\n");
    for (int q = 0; q < 2; q++)
        for (int m = BPR; m <= CPR; m++)
            for (int g = 0; g < 4; g++) {
                double valid[N_SEEDS], value[N_MEASURES][N_SEEDS];
                char text[96];
                snprintf(text, sizeof text, "%s reg=%s", method_options[m], reg[g]);
                for (int s = 0; s < N_SEEDS; s++) {
                    cw_model *model;
                    cw_dataset *dataset = simulate(&(point){quality[q], "0", "0"}, s + 1);
                    json_t *run = train_run(dataset, text, s + 1, &model);
                    valid[s] = number(run, "valid", "recall@20");
                    measure(dataset, model, s, value);
                    json_decref(run);
                    cw_model_free(model);
                    cw_dataset_free(dataset);
                }
                printf("| %s | %s | %s | %.4f ± %.4f | %.4f ± %.4f | %.4f ± %.4f |\n", quality[q],
                       method_name[m], reg[g], mean_of(valid), deviation_of(valid),
                       mean_of(value[RECALL]), deviation_of(value[RECALL]), mean_of(value[TAU]),
                       deviation_of(value[TAU]));
            }
}

/* ---- buckets ---------------------------------------------------------------------------- */

enum { N_SIZES = 5, N_QUALITIES = 6, SUM = 3, N_SIDES = 4, N_SEEN = 2 };

/* In rows that are shown, of 27,000 interactions. */
static const int bucket_rows[N_SIZES] = {135, 270, 540, 1350, 2700};
static const char *const bucket_share[N_SIZES] = {"0.5 %", "1 %", "2 %", "5 %", "10 %"};

typedef struct bucket_result {
    double plain[N_METHODS][N_SEEN][N_SEEDS];         /* tau and NDCG without a bucket */
    double taught[N_SIZES][N_SIDES][N_SEEN][N_SEEDS]; /* chosen (0), BPR, CPR, sum of both */
    int chosen[N_SIZES][N_SIDES], used[N_SIZES];
    double dial[N_SIZES][N_SEEDS];
} bucket_result;

static bool likes_alone; /* what was shown and not liked is not told */

/* Items shown at random to users drawn at random, and whether they liked them. */
static void write_bucket(const cw_dataset *d, const char *path, int rows, int seed)
{
    static const char *const ending[] = {",0\n", ",1\n"};
    FILE *file = fopen(path, "w");
    cwi_csr train;
    const cwi_pairs *seen = &d->part[CW_PART_TRAIN];
    cwi_rng rng;
    if (!file) {
        need(CW_IO);
        return;
    }
    need(cwi_csr_create(ctx, seen->user, seen->item, seen->count, d->n_users, &train));
    cwi_csr_sort(&train);
    fprintf(file, likes_alone ? "user,item\n" : "user,item,liked\n");
    cwi_rng_init(&rng, (uint64_t)seed, CWI_RNG_TEST, 7);
    for (int n = 0; n < rows;) {
        int32_t u = (int32_t)cwi_rng_below(&rng, (uint64_t)d->n_users);
        int32_t i = (int32_t)cwi_rng_below(&rng, (uint64_t)d->n_items);
        double chance = cwi_rng_real(&rng);
        if (cwi_csr_has(&train, u, i)) continue;
        int liked = chance < cwi_truth_relevance(d->truth, u, i);
        if (liked || !likes_alone)
            fprintf(file, "%s,%s%s", cwi_idmap_text(&d->users, u), cwi_idmap_text(&d->items, i),
                    likes_alone ? "\n" : ending[liked]);
        n++;
    }
    cwi_csr_clear(&train);
    if (fclose(file) != 0) need(CW_IO);
}

static void measure_seen(const cw_dataset *dataset, const cw_model *model, int seed,
                         double value[N_SEEN][N_SEEDS])
{
    json_t *test = evaluate(dataset, model, "split=test truth=on k=20");
    value[0][seed] = number(test, "truth", "kendall_tau");
    value[1][seed] = number(test, "truth", "ndcg");
    json_decref(test);
}

/* The model of a lesson, as tune makes it; the parts stay as they were. */
static cw_model *apply(const cw_model *const *part, const cwi_lesson *lesson)
{
    const double alone[] = {1, 0};
    cw_model *out;
    char about[64];
    need(cwi_model_sum(ctx, part, lesson->n_models == 2 ? lesson->weight : alone, &out));
    json_t *terms = cwi_lesson_terms(lesson);
    need(cwi_lesson_read_terms(ctx, terms, out->n_items, &out->term));
    json_decref(terms);
    free(out->about);
    snprintf(about, sizeof about, "{\"dial\": %.17g}", lesson->dial);
    out->about = strdup(about);
    return out;
}

static void study_bucket(const cw_dataset *dataset, const cw_model *const model[N_METHODS],
                         int size, int seed, int index, bucket_result *r)
{
    char path[] = "/tmp/crosswise-bucket-XXXXXX";
    int file = mkstemp(path), best = BPR;
    cwi_bucket bucket;
    cwi_ranker ranker[N_METHODS];
    double value[N_SIDES] = {0};
    if (file < 0) need(CW_IO);
    close(file);
    write_bucket(dataset, path, bucket_rows[size], seed);
    need(cwi_bucket_read(ctx, path, dataset, 0, &bucket));
    for (int m = BPR; m <= CPR; m++) need(cwi_model_rank(ctx, model[m], &ranker[m]));
    for (int side = BPR; side <= SUM; side++) {
        cwi_lesson lesson;
        int first = side == CPR ? CPR : BPR;
        const cwi_ranker *asked[] = {&ranker[first], &ranker[CPR]};
        const cw_model *part[] = {model[first], model[CPR]};
        need(cwi_bucket_learn(ctx, &bucket, asked, side == SUM ? 2 : 1, model[BPR]->degree, 0,
                              false, &lesson));
        cw_model *made = apply(part, &lesson);
        measure_seen(dataset, made, index, r->taught[size][side]);
        value[side] = cwi_lesson_value(&lesson);
        if (side == CPR) r->dial[size][index] = lesson.dial;
        if (side == SUM) r->used[size] += lesson.is_used;
        if (value[side] > value[best]) best = side;
        cw_model_free(made);
        cwi_lesson_clear(&lesson);
    }
    for (int v = 0; v < N_SEEN; v++) r->taught[size][0][v][index] = r->taught[size][best][v][index];
    r->chosen[size][best]++;
    for (int m = BPR; m <= CPR; m++) cwi_ranker_close(&ranker[m]);
    cwi_bucket_clear(&bucket);
    unlink(path);
}

static double error_of(const double value[N_SEEDS])
{
    return deviation_of(value) / sqrt((double)N_SEEDS);
}

static void print_bucket(const bucket_result *results, int v)
{
    enum { SHOWN = 2 };
    printf("\n%s with a bucket of %d rows shown (2 %%), mean and standard error of the mean:\n\n"
           "| quality | BPR | CPR | BPR, bucket | CPR, bucket | sum, bucket | chosen | chosen - "
           "better of BPR and CPR | chosen: BPR, CPR, sum | dial and terms used | dial of CPR |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n",
           v == 0 ? "Tau" : "NDCG@20 of the truth", bucket_rows[SHOWN]);
    for (int q = 0; q < N_QUALITIES; q++) {
        const bucket_result *r = &results[q];
        double lead[N_SEEDS];
        int better = mean_of(r->plain[CPR][v]) > mean_of(r->plain[BPR][v]) ? CPR : BPR;
        for (int s = 0; s < N_SEEDS; s++)
            lead[s] = r->taught[SHOWN][0][v][s] - r->plain[better][v][s];
        printf("| %s |", points[q].quality);
        for (int m = BPR; m <= CPR; m++)
            printf(" %.3f ± %.3f |", mean_of(r->plain[m][v]), error_of(r->plain[m][v]));
        for (int side = BPR; side <= SUM + 1; side++) {
            const double *shown = r->taught[SHOWN][side % N_SIDES][v];
            printf(" %.3f ± %.3f |", mean_of(shown), error_of(shown));
        }
        printf(" %+.3f ± %.3f | %d, %d, %d | %d | %.2f |\n", mean_of(lead), error_of(lead),
               r->chosen[SHOWN][BPR], r->chosen[SHOWN][CPR], r->chosen[SHOWN][SUM], r->used[SHOWN],
               mean_of(r->dial[SHOWN]));
    }
}

static void print_sizes(const bucket_result *results, int side, int v)
{
    printf("\n%s of %s by the size of the bucket:\n\n| quality | without |",
           v == 0 ? "Tau" : "NDCG@20 of the truth", side == 0 ? "the chosen model" : "CPR");
    for (int z = 0; z < N_SIZES; z++) printf(" %s (%d) |", bucket_share[z], bucket_rows[z]);
    printf("\n|---|---|---|---|---|---|---|\n");
    for (int q = 0; q < N_QUALITIES; q++) {
        const bucket_result *r = &results[q];
        double bpr = mean_of(r->plain[BPR][v]), cpr = mean_of(r->plain[CPR][v]);
        printf("| %s | %.3f |", points[q].quality, side == 0 && bpr > cpr ? bpr : cpr);
        for (int z = 0; z < N_SIZES; z++)
            printf(" %.3f ± %.3f |", mean_of(r->taught[z][side][v]),
                   error_of(r->taught[z][side][v]));
        printf("\n");
    }
}

static void study_buckets(int first, int last)
{
    static bucket_result results[N_QUALITIES];
    for (int q = 0; q < N_QUALITIES; q++)
        for (int seed = first; seed <= last && seed - first < N_SEEDS; seed++) {
            cw_dataset *dataset = simulate(&points[q], seed);
            cw_model *model[N_METHODS] = {NULL};
            for (int m = BPR; m <= CPR; m++) {
                model[m] = train(dataset, method_options[m], seed, NULL);
                measure_seen(dataset, model[m], seed - first, results[q].plain[m]);
            }
            for (int z = 0; z < N_SIZES; z++)
                study_bucket(dataset, (const cw_model *const *)model, z, seed, seed - first,
                             &results[q]);
            for (int m = BPR; m <= CPR; m++) cw_model_free(model[m]);
            cw_dataset_free(dataset);
            fprintf(stderr, "quality %s seed %d\n", points[q].quality, seed);
        }
    for (int v = 0; v < N_SEEN; v++) {
        print_bucket(results, v);
        print_sizes(results, 0, v);
        print_sizes(results, CPR, v);
    }
}

int main(int argc, char **argv)
{
    static result results[N_POINTS];

    need(cw_context_create(&ctx));
    need(cw_context_set_threads(ctx, 1));
    if (argc > 3 && strcmp(argv[1], "tune") == 0) {
        tune(argv[2], (int)strtol(argv[3], NULL, 10), argc - 4, argv + 4);
    } else if (argc > 1 && (strcmp(argv[1], "bucket") == 0 || strcmp(argv[1], "liked") == 0)) {
        likes_alone = argv[1][0] == 'l';
        bool is_given = argc > 3;
        study_buckets(is_given ? (int)strtol(argv[2], NULL, 10) : 1,
                      is_given ? (int)strtol(argv[3], NULL, 10) : N_SEEDS);
    } else if (argc > 1) {
        fprintf(stderr,
                "unbiasedness [tune QUALITY SEED NAME=VALUE... | bucket|liked [FIRST LAST]]\n");
        return 2;
    } else {
        for (int p = 0; p < N_POINTS; p++)
            for (int s = 0; s < N_SEEDS; s++) study(&points[p], s, &results[p]);
        print_limits(results);
        for (int t = 0; t < N_TABLES; t++) print_table(&tables[t], results);
        print_dials(results);
        print_regs();
    }
    cw_context_free(ctx);
    return 0;
}

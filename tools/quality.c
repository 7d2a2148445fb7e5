/*
 * quality.c - make the metrics of every method on every backbone anew and compare them with those
 * kept in git, so that a change that costs quality is seen.
 *   quality [--update] [--table FILE] [--data DIR] [--jobs N] [SET...]
 * Without a SET all of them; those of real data are skipped where DIR does not have them.
 * Exit 0: nothing differs (or the table was written), 1: quality was lost, 3: something else
 * differs, 2: it could not be found out.
 *
 * Metrics are a function of the seed, so that any difference is told.  Whether it is a loss is
 * judged by means over seeds.  A mean is worse when it is beyond both 2 % and three standard errors
 * of the difference of two means, from the larger of two spreads of recorded seeds: that of the
 * cell itself and the one that three of four cells of the set stay below.  The median over all
 * cells of a set is worse beyond 1 % and three standard errors, which shows small losses of what
 * all have in common.
 */
#include <crosswise/crosswise.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "registry/registry.h"

enum { SAME = 0, LOST = 1, BROKEN = 2, CHANGED = 3 };

/* ---- what is measured ------------------------------------------------------------ */

/* A dataset and how all methods are trained on it: "name=value" options of each stage. */
typedef struct set {
    const char *name;
    const char *simulate;  /* NULL: real data */
    const char *files[2];  /* of real data; a folder with an end of "/" is a dataset */
    const char *import;    /* of files */
    const char *train;     /* beside the method's own defaults */
    const char *backbones; /* "a|b": those that are trained; NULL: all */
    int seeds;
} set;

static const set sets[] = {
    /* every pair for a moment: part of make check */
    {.name = "tiny",
     .simulate = "users=200 items=80 dim=4 relevant=0.5 popularity=0.5 activity=0.3",
     .train = "preset=paper dim=8 batch=128 epochs=6 eval-every=3 layers=2 hidden=16 "
              "vae-sizes=8,16 lr=5e-3 "
              "margin=5 min-size=10",
     .seeds = 1},
    {.name = "mild",
     .simulate = "users=1000 items=300 dim=4 relevant=0.4 popularity=0.4 activity=0.4 quality=0.1",
     .train = "preset=paper dim=16 batch=256 epochs=60 eval-every=5 hidden=32 vae-sizes=16,64",
     .seeds = 3},
    {.name = "strong",
     .simulate = "users=2000 items=250 dim=4 relevant=0.5 popularity=0.9 activity=0.2 quality=0.1 "
                 "sharpness=6",
     .train = "preset=paper dim=16 batch=256 epochs=60 eval-every=5 hidden=32 vae-sizes=16,64",
     .seeds = 3},
    {.name = "ml100k",
     .files = {"ml100k/u.data.gz"},
     .import = "min-rating=5",
     .train = "preset=paper dim=32 batch=512 epochs=60 eval-every=5 hidden=64 vae-sizes=32,128",
     .seeds = 2},
    {.name = "lastfm",
     .files = {"lastfm/data1.txt", "lastfm/test1.txt"},
     .train = "preset=paper dim=32 batch=1024 epochs=60 eval-every=5 vae-sizes=32,128",
     .backbones = "mf|vae|pop",
     .seeds = 2},
    {.name = "ml1m5-debiased",
     .files = {"ml1m5-debiased/"},
     .train = "preset=paper dim=64 epochs=40 eval-every=5 vae-sizes=64,256",
     .backbones = "mf|vae|pop",
     .seeds = 2},
};

enum { N_SETS = sizeof sets / sizeof sets[0] };

enum { N_METRICS = 4 };

/* Title, where it is in the results of an evaluation, and 1 where more is better. */
static const struct {
    const char *title, *object, *key;
    int better;
} metrics[N_METRICS] = {
    {"recall@20", "metrics", "recall@20", 1},
    {"ndcg@20", "metrics", "ndcg@20", 1},
    {"arp@20", "metrics", "arp@20", -1},
    {"relevance@20", "truth", "relevance", 1}}; /* true one, of simulated data */

/* A line of the table.  Numbers stay text, so that equal means equal. */
typedef struct line {
    char dataset[24], method[16], backbone[16], seed[24], epochs[24], best[24];
    char value[N_METRICS][24]; /* "" where there is none */
} line;

static const char titles[] = "dataset,method,backbone,seed,epochs,best_epoch,recall@20,ndcg@20,"
                             "arp@20,relevance@20";

typedef struct table {
    line *lines;
    size_t count;
} table;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "quality: %s: %s\n", what, why);
    exit(BROKEN);
}

static line *add_line(table *t)
{
    t->lines = realloc(t->lines, (t->count + 1) * sizeof *t->lines);
    if (!t->lines) stop("table", "out of memory");
    t->lines[t->count] = (line){0};
    return &t->lines[t->count++];
}

static bool is_same_cell(const line *a, const line *b)
{
    return strcmp(a->dataset, b->dataset) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->backbone, b->backbone) == 0;
}

static const line *find_line(const table *t, const line *like)
{
    for (size_t k = 0; k < t->count; k++)
        if (is_same_cell(&t->lines[k], like) && strcmp(t->lines[k].seed, like->seed) == 0)
            return &t->lines[k];
    return NULL;
}

/* ---- making it --------------------------------------------------------------------- */

static void need(cw_context *ctx, const char *what, cw_status status)
{
    if (status != CW_OK) stop(what, ctx ? cw_context_error(ctx) : cw_status_text(status));
}

/* Options of a stage from "name=value name=value"; of training, those that the line's method and
 * backbone take. */
static cw_options *options_of(cw_context *ctx, const char *stage, const char *text, const line *of)
{
    char name[32], value[32];
    int length;
    cw_options *options;
    need(ctx, stage, cw_options_create(ctx, stage, &options));
    for (; text && sscanf(text, " %31[^= ]=%31s%n", name, value, &length) == 2; text += length)
        if (!of || cw_method_takes(of->method, of->backbone, name))
            need(ctx, stage, cw_options_set(ctx, options, name, value));
    return options;
}

static void path_of(const char *data, const char *file, char out[1024])
{
    if (snprintf(out, 1024, "%s/%s", data, file) >= 1024) stop(file, "the path is too long");
}

static bool is_at_hand(const set *s, const char *data)
{
    char path[1024];
    for (int f = 0; f < 2 && s->files[f]; f++) {
        path_of(data, s->files[f], path);
        if (access(path, R_OK) != 0) return false;
    }
    return true;
}

static const char split[] = "cap=1/60 holdout=0.3"; /* the split of the paper */

static cw_dataset *open_files(cw_context *ctx, const set *s, const char *data)
{
    char path[2][1024];
    size_t n = 0;
    cw_dataset *dataset;
    cw_interactions *rows;
    for (; n < 2 && s->files[n]; n++) path_of(data, s->files[n], path[n]);
    if (s->files[0][strlen(s->files[0]) - 1] == '/') {
        need(ctx, s->name, cw_dataset_load(ctx, path[0], &dataset));
        return dataset;
    }
    cw_options *options = options_of(ctx, "import", s->import, NULL);
    cw_options *held = options_of(ctx, "prepare", split, NULL);
    const char *const paths[] = {path[0], path[1]};
    need(ctx, s->name, cw_import(ctx, paths, n, options, &rows));
    need(ctx, s->name, cw_dataset_prepare(ctx, rows, held, &dataset));
    cw_interactions_free(rows);
    cw_options_free(held);
    cw_options_free(options);
    return dataset;
}

static cw_dataset *open_set(cw_context *ctx, const set *s, const char *data)
{
    cw_dataset *dataset;
    if (!s->simulate) return open_files(ctx, s, data);
    cw_options *options = options_of(ctx, "simulate", s->simulate, NULL);
    cw_options *held = options_of(ctx, "prepare", split, NULL);
    need(ctx, s->name, cw_dataset_simulate(ctx, options, held, &dataset));
    cw_options_free(held);
    cw_options_free(options);
    return dataset;
}

static void take_metrics(cw_context *ctx, const cw_dataset *dataset, const cw_model *model,
                         line *out)
{
    char *text;
    need(ctx, out->method, cw_evaluate(ctx, dataset, model, NULL, &text));
    json_t *root = json_loads(text, 0, NULL);
    for (int m = 0; m < N_METRICS; m++) {
        json_t *value = json_object_get(json_object_get(root, metrics[m].object), metrics[m].key);
        if (json_is_object(value)) value = json_object_get(value, "mean");
        if (value) snprintf(out->value[m], sizeof out->value[m], "%.9g", json_number_value(value));
    }
    json_decref(root);
    cw_text_free(text);
}

/* Train what the line names and fill in the rest of it. */
static void make_line(cw_context *ctx, const set *s, const cw_dataset *dataset, line *out)
{
    char what[80], *run;
    cw_model *model;
    cw_options *options = options_of(ctx, "train", s->train, out);
    snprintf(what, sizeof what, "%s on %s, %s", out->method, out->backbone, out->dataset);
    need(ctx, what, cw_options_set(ctx, options, "method", out->method));
    need(ctx, what, cw_options_set(ctx, options, "backbone", out->backbone));
    need(ctx, what, cw_options_set(ctx, options, "seed", out->seed));
    need(ctx, what, cw_train(ctx, dataset, options, &model, &run));
    json_t *record = json_loads(run, 0, NULL);
    size_t epochs = json_array_size(json_object_get(record, "epochs"));
    snprintf(out->epochs, sizeof out->epochs, "%zu", epochs ? epochs - 1 : 0); /* 0 is one, too */
    snprintf(out->best, sizeof out->best, "%d",
             (int)json_integer_value(json_object_get(record, "best_epoch")));
    take_metrics(ctx, dataset, model, out);
    json_decref(record);
    cw_text_free(run);
    cw_model_free(model);
    cw_options_free(options);
}

/* Lines of a set that threads take one after the other. */
typedef struct work {
    const set *set;
    const cw_dataset *dataset;
    table lines;
    size_t next;
    pthread_mutex_t lock;
} work;

static void *work_off(void *arg)
{
    work *w = arg;
    cw_context *ctx = NULL;
    need(NULL, "context", cw_context_create(&ctx));
    need(ctx, "threads", cw_context_set_threads(ctx, 1));
    for (;;) {
        pthread_mutex_lock(&w->lock);
        size_t mine = w->next++;
        pthread_mutex_unlock(&w->lock);
        if (mine >= w->lines.count) break;
        make_line(ctx, w->set, w->dataset, &w->lines.lines[mine]);
    }
    cw_context_free(ctx);
    return NULL;
}

/* Whatever the registry holds, so that new methods and backbones are met without being named here.
 */
static table list_lines(const set *s)
{
    table t = {0};
    for (size_t m = 0; cw_method_name(m); m++)
        for (size_t b = 0; cw_backbone_name(b); b++) {
            const cwi_method *method = cwi_find_method(cw_method_name(m));
            const char *backbone = cw_backbone_name(b);
            if (cwi_word_index(method->backbones, backbone) < 0 ||
                (s->backbones && cwi_word_index(s->backbones, backbone) < 0))
                continue;
            for (int seed = 0; seed < s->seeds; seed++) {
                line *l = add_line(&t);
                snprintf(l->dataset, sizeof l->dataset, "%s", s->name);
                snprintf(l->method, sizeof l->method, "%s", method->name);
                snprintf(l->backbone, sizeof l->backbone, "%s", backbone);
                snprintf(l->seed, sizeof l->seed, "%d", seed);
            }
        }
    return t;
}

static table make_set(const set *s, const char *data, int jobs)
{
    pthread_t thread[64];
    cw_context *ctx = NULL;
    need(NULL, "context", cw_context_create(&ctx));
    cw_dataset *dataset = open_set(ctx, s, data);
    work w = {.set = s, .dataset = dataset, .lines = list_lines(s)};
    pthread_mutex_init(&w.lock, NULL);
    for (int j = 0; j < jobs; j++)
        if (pthread_create(&thread[j], NULL, work_off, &w) != 0) stop(s->name, "no thread");
    for (int j = 0; j < jobs; j++) pthread_join(thread[j], NULL);
    pthread_mutex_destroy(&w.lock);
    cw_dataset_free(dataset);
    cw_context_free(ctx);
    return w.lines;
}

/* ---- the file ----------------------------------------------------------------------- */

/* The texts between commas, into fields of so many bytes each; false when they do not fit. */
static bool split_line(char *text, line *out)
{
    char *field[] = {out->dataset, out->method,   out->backbone, out->seed,     out->epochs,
                     out->best,    out->value[0], out->value[1], out->value[2], out->value[3]};
    static const size_t size[] = {sizeof out->dataset, sizeof out->method, sizeof out->backbone,
                                  sizeof out->seed,    sizeof out->epochs, sizeof out->best,
                                  sizeof *out->value,  sizeof *out->value, sizeof *out->value,
                                  sizeof *out->value};
    enum { N_FIELDS = sizeof size / sizeof size[0] };
    for (int f = 0; f < N_FIELDS; f++) {
        char *word = strsep(&text, ",");
        if (!word || strlen(word) >= size[f]) return false;
        strcpy(field[f], word);
    }
    return !text;
}

static table read_table(const char *path)
{
    char text[512];
    table t = {0};
    FILE *file = fopen(path, "r");
    if (!file) return t; /* there is none yet */
    for (int number = 1; fgets(text, sizeof text, file); number++) {
        text[strcspn(text, "\n")] = '\0';
        if (number == 1 ? strcmp(text, titles) == 0 : split_line(text, add_line(&t))) continue;
        fprintf(stderr, "%s:%d: not a line of this table\n", path, number);
        exit(BROKEN);
    }
    fclose(file);
    return t;
}

static void write_table(const char *path, const table *t)
{
    FILE *file = fopen(path, "w");
    if (!file) stop(path, "cannot be written");
    fprintf(file, "%s\n", titles);
    for (size_t k = 0; k < t->count; k++) {
        const line *l = &t->lines[k];
        fprintf(file, "%s,%s,%s,%s,%s,%s", l->dataset, l->method, l->backbone, l->seed, l->epochs,
                l->best);
        for (int m = 0; m < N_METRICS; m++) fprintf(file, ",%s", l->value[m]);
        fprintf(file, "\n");
    }
    if (fclose(file) != 0) stop(path, "cannot be written");
}

/* Lines of the set are replaced by those made now; others stay, in the order of the sets. */
static table merge_tables(const table *old, const table *made)
{
    table t = {0};
    for (size_t s = 0; s < N_SETS; s++)
        for (int from_made = 1; from_made >= 0; from_made--) {
            const table *from = from_made ? made : old;
            size_t before = t.count;
            for (size_t k = 0; k < from->count; k++)
                if (strcmp(from->lines[k].dataset, sets[s].name) == 0)
                    *add_line(&t) = from->lines[k];
            if (t.count > before) break;
        }
    return t;
}

/* ---- comparing ---------------------------------------------------------------------- */

/* Values of one metric of a cell over its seeds. */
typedef struct spread {
    int n;
    double mean, deviation; /* 0 for less than two seeds */
} spread;

static spread find_spread(const table *t, const line *cell, int metric)
{
    double sum = 0, squares = 0;
    spread s = {0};
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < t->count; k++) {
            const line *l = &t->lines[k];
            if (!is_same_cell(l, cell) || l->value[metric][0] == '\0') continue;
            double value = strtod(l->value[metric], NULL);
            s.n += pass == 0;
            sum += pass == 0 ? value : 0;
            squares += pass == 0 ? 0 : (value - sum / s.n) * (value - sum / s.n);
        }
    s.mean = s.n > 0 ? sum / s.n : 0;
    s.deviation = s.n > 1 ? sqrt(squares / (s.n - 1)) : 0;
    return s;
}

static bool is_first_of_cell(const table *t, size_t k)
{
    for (size_t before = 0; before < k; before++)
        if (is_same_cell(&t->lines[before], &t->lines[k])) return false;
    return true;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The upper quartile of the relative deviations of all cells of a set: few seeds say little about
 * one cell, and a few cells that are far noisier than others must not hide those. */
static double noise_of(const table *t, const char *dataset, int metric)
{
    double *deviation = calloc(t->count + 1, sizeof *deviation);
    size_t n = 0;
    if (!deviation) stop("noise", "out of memory");
    for (size_t k = 0; k < t->count; k++) {
        if (strcmp(t->lines[k].dataset, dataset) != 0 || !is_first_of_cell(t, k)) continue;
        spread s = find_spread(t, &t->lines[k], metric);
        if (s.deviation > 0) deviation[n++] = s.deviation / fabs(s.mean);
    }
    qsort(deviation, n, sizeof *deviation, by_size);
    double noise = n > 0 ? deviation[n * 3 / 4] : 0;
    free(deviation);
    return noise;
}

/* Tell what happened to a metric, if that is what is shown now. */
static int tell(int show, bool is_lost, const line *cell, int metric, double old, double now,
                double change)
{
    int verdict = is_lost ? LOST : CHANGED;
    if (verdict == show)
        printf("%-8s %-15s %-9s %-9s %-13s %11.6g %11.6g %+8.2f %%\n", is_lost ? "LOST" : "changed",
               cell->dataset, cell->method, cell->backbone, metrics[metric].title, old, now,
               100 * change);
    return verdict;
}

/* One metric of all cells of a set together. */
typedef struct whole {
    size_t cells;
    int seeds;
    double old, now; /* sums of means */
    double *change;  /* [cells] */
} whole;

static int compare_cell(int show, const table *old, const table *made, const line *cell, int metric,
                        double noise, whole *all)
{
    spread was = find_spread(old, cell, metric), is = find_spread(made, cell, metric);
    if (was.n == 0 || is.n == 0 || was.mean == 0) return SAME;
    double change = is.mean / was.mean - 1, own = was.deviation / fabs(was.mean);
    double error = fmax(own, noise) * sqrt(1.0 / was.n + 1.0 / is.n);
    all->seeds = was.n;
    all->old += was.mean;
    all->now += is.mean;
    all->change[all->cells++] = change;
    if (change == 0) return SAME;
    bool is_lost = -change * metrics[metric].better > fmax(0.02, 3 * error);
    return tell(show, is_lost, cell, metric, was.mean, is.mean, change);
}

/* The median change of many cells is known better than that of one: its standard error is 1.25
 * times that of a mean, which a single wild cell would move. */
static int compare_whole(int show, const char *dataset, int metric, double noise, whole *all)
{
    line cell = {.method = "all", .backbone = "median"};
    if (all->cells == 0) return SAME;
    double n = (double)all->cells;
    qsort(all->change, all->cells, sizeof *all->change, by_size);
    double change = (all->change[(all->cells - 1) / 2] + all->change[all->cells / 2]) / 2;
    if (change == 0) return SAME;
    double error = 1.25 * noise * sqrt(2.0 / all->seeds / n);
    bool is_lost = -change * metrics[metric].better > fmax(0.01, 3 * error);
    snprintf(cell.dataset, sizeof cell.dataset, "%s", dataset);
    return tell(show, is_lost, &cell, metric, all->old / n, all->now / n, change);
}

/* Lines of a set in one table that the other does not have. */
static int count_missing(int show, const table *in, const table *from, const char *dataset,
                         const char *what)
{
    const line *first = NULL;
    int n = 0;
    for (size_t k = 0; k < from->count; k++) {
        const line *l = &from->lines[k];
        if (strcmp(l->dataset, dataset) != 0 || find_line(in, l)) continue;
        if (!first) first = l;
        n++;
    }
    if (n > 0 && show == CHANGED)
        printf("%-8s %-15s %d lines, the first of %s on %s with seed %s\n", what, dataset, n,
               first->method, first->backbone, first->seed);
    return n;
}

/* Lines that both tables have, but not the same. */
static int count_other(const table *old, const table *made, const char *dataset)
{
    int n = 0;
    for (size_t k = 0; k < made->count; k++) {
        const line *is = &made->lines[k], *was = find_line(old, is);
        n += strcmp(is->dataset, dataset) == 0 && was && memcmp(was, is, sizeof *is) != 0;
    }
    return n;
}

static int worse(int a, int b)
{
    return a == LOST || b == LOST ? LOST : a > b ? a : b;
}

/* Compare a set, and print what is of the kind to be shown. */
static int compare_set(int show, const table *old, const table *made, const char *dataset)
{
    int differ = count_missing(show, old, made, dataset, "new") +
                 count_missing(show, made, old, dataset, "gone") + count_other(old, made, dataset);
    int verdict = differ > 0 ? CHANGED : SAME;
    for (int m = 0; m < N_METRICS; m++) {
        whole all = {.change = calloc(made->count + 1, sizeof(double))};
        if (!all.change) stop(dataset, "out of memory");
        double noise = noise_of(old, dataset, m);
        for (size_t k = 0; k < made->count; k++) {
            const line *cell = &made->lines[k];
            if (strcmp(cell->dataset, dataset) != 0 || !is_first_of_cell(made, k)) continue;
            verdict = worse(verdict, compare_cell(show, old, made, cell, m, noise, &all));
        }
        verdict = worse(verdict, compare_whole(show, dataset, m, noise, &all));
        free(all.change);
    }
    return verdict;
}

/* All sets: what changed, then what was lost, then a line for each set. */
static int compare(const table *old, const table *made)
{
    static const char *const word[] = {[SAME] = "same", [LOST] = "LOST", [CHANGED] = "changed"};
    int verdict = SAME;
    printf("%-8s %-15s %-9s %-9s %-13s %11s %11s\n", "", "dataset", "method", "backbone", "metric",
           "recorded", "now");
    for (int show = CHANGED; show >= SAME; show--)
        for (size_t s = 0; s < N_SETS; s++) {
            size_t lines = 0;
            for (size_t k = 0; k < made->count; k++)
                lines += strcmp(made->lines[k].dataset, sets[s].name) == 0;
            if (lines == 0 || show == BROKEN) continue;
            int of_set = compare_set(show, old, made, sets[s].name);
            verdict = worse(verdict, of_set);
            if (show == SAME)
                printf("%-8s %-15s %zu trainings, of which %d differ\n", word[of_set], sets[s].name,
                       lines, count_other(old, made, sets[s].name));
        }
    return verdict;
}

/* ---- the command --------------------------------------------------------------------- */

typedef struct request {
    const char *path, *data;
    int jobs;
    bool update;
    char **names; /* of sets; none is all */
    int n_names;
} request;

static void usage(void)
{
    fprintf(stderr,
            "usage: quality [--update] [--table FILE] [--data DIR] [--jobs N] [SET...]\nsets:");
    for (size_t s = 0; s < N_SETS; s++) fprintf(stderr, " %s", sets[s].name);
    fprintf(stderr, "\n");
    exit(BROKEN);
}

static const set *find_set(const char *name)
{
    for (size_t s = 0; s < N_SETS; s++)
        if (strcmp(sets[s].name, name) == 0) return &sets[s];
    return NULL;
}

static request read_arguments(int argc, char **argv)
{
    const char *data = getenv("CROSSWISE_DATA");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    request r = {.path = "tests/quality/metrics.csv",
                 .data = data ? data : "../shared/data",
                 .jobs = cores > 0 ? (int)cores : 1};
    int k = 1;
    for (; k < argc && strncmp(argv[k], "--", 2) == 0; k++) {
        bool more = k + 1 < argc;
        if (strcmp(argv[k], "--update") == 0)
            r.update = true;
        else if (strcmp(argv[k], "--table") == 0 && more)
            r.path = argv[++k];
        else if (strcmp(argv[k], "--data") == 0 && more)
            r.data = argv[++k];
        else if (strcmp(argv[k], "--jobs") == 0 && more)
            r.jobs = atoi(argv[++k]);
        else
            usage();
    }
    r.names = argv + k;
    r.n_names = argc - k;
    for (int n = 0; n < r.n_names; n++)
        if (!find_set(r.names[n])) usage();
    if (r.jobs < 1) usage();
    if (r.jobs > 64) r.jobs = 64;
    return r;
}

static bool is_asked_for(const request *r, const set *s)
{
    for (int n = 0; n < r->n_names; n++)
        if (strcmp(r->names[n], s->name) == 0) return true;
    return r->n_names == 0;
}

/* Make a set and add its lines. */
static void run_set(const request *r, const set *s, table *all)
{
    struct timespec from, to;
    if (!is_at_hand(s, r->data)) {
        printf("skipped  %-15s %s is not in %s\n", s->name, s->files[0], r->data);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    table made = make_set(s, r->data, r->jobs);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("made     %-15s in %.0f s\n", s->name, difftime(to.tv_sec, from.tv_sec));
    fflush(stdout);
    for (size_t k = 0; k < made.count; k++) *add_line(all) = made.lines[k];
    free(made.lines);
}

int main(int argc, char **argv)
{
    static const char *const conclusion[] = {
        [SAME] = "nothing differs from the table",
        [LOST] = "quality was lost",
        [CHANGED] = "results differ, none clearly worse: record them in the commit that changes "
                    "them (make quality-record) and say why"};
    request r = read_arguments(argc, argv);
    table old = read_table(r.path), made = {0};
    for (size_t s = 0; s < N_SETS; s++)
        if (is_asked_for(&r, &sets[s])) run_set(&r, &sets[s], &made);
    int verdict = compare(&old, &made);
    if (r.update) {
        table merged = merge_tables(&old, &made);
        write_table(r.path, &merged);
        printf("%s: %zu lines\n", r.path, merged.count);
        free(merged.lines);
    } else {
        printf("%s\n", made.count > 0 ? conclusion[verdict] : "nothing was made anew");
    }
    free(old.lines);
    free(made.lines);
    return r.update ? SAME : verdict;
}

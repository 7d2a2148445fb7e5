/* cmd_demo.c - crosswise demo */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"

/* Options of the demo: where its values differ from those of the stages. */
typedef struct settings {
    const char *users, *items, *interactions, *popularity, *quality, *violation, *epochs, *seed;
} settings;

/* A log of the size that the demo was made for; other numbers of users and items get what the
 * simulator finds fit. */
static const char usual_users[] = "8000", usual_items[] = "3000", usual_interactions[] = "120000";

/* ---- setting options ---------------------------------------------------------- */

/* New options of a stage with these values, where they are not NULL; the pairs end with NULL. */
static cw_status make_options(cw_context *ctx, const char *stage, const char *const (*pair)[2],
                              cw_options **out)
{
    cw_status status = cw_options_create(ctx, stage, out);
    for (; status == CW_OK && (*pair)[0]; pair++)
        if ((*pair)[1]) status = cw_options_set(ctx, *out, (*pair)[0], (*pair)[1]);
    if (status == CW_OK) return status;
    cw_options_free(*out);
    *out = NULL;
    return status;
}

static char *path_of(const demo *d, const char *format, const char *first, const char *second)
{
    char name[64], *path = malloc(strlen(d->out) + sizeof name + 1);
    snprintf(name, sizeof name, format, first, second);
    if (path) sprintf(path, "%s/%s", d->out, name);
    return path;
}

/* A line for every step that is done. */
static void note(const demo *d, const struct timespec *start, const char *what, const char *which)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    cli_clear_line();
    if (d->call->quiet || d->call->json) return;
    fprintf(stderr, "%s %-54s %5.1f s\n", what, which,
            (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec));
}

/* ---- the steps ------------------------------------------------------------------ */

static cw_status find_top_share(demo *d)
{
    char *text = NULL;
    cw_status status = cw_dataset_describe(d->call->ctx, d->data[DEMO_USUAL], &text);
    if (status != CW_OK) return status;
    json_t *root = cli_parse(text);
    d->top_share =
        json_number_value(json_object_get(json_object_get(root, "item_degrees"), "top_10_percent"));
    json_decref(root);
    cw_text_free(text);
    return CW_OK;
}

static cw_status simulate(demo *d, const settings *s, int split)
{
    const char *const simulated[][2] = {
        {"users", s->users},           {"items", s->items},     {"interactions", s->interactions},
        {"popularity", s->popularity}, {"quality", s->quality}, {"violation", s->violation},
        {"uniform-test", "50"},        {"seed", s->seed},       {NULL, NULL}};
    /* Items here have fewer rows than in the paper's data, whose cap is 1/60.  Nothing that matters
     * is left to the defaults, which suit other data. */
    const char *const prepared[][2] = {{"split", split == DEMO_USUAL ? "random" : "debiased"},
                                       {"core", "3"},
                                       {"holdout", "0.3"},
                                       {"test-share", "2/3"},
                                       {"cap", "1/10"},
                                       {"seed", s->seed},
                                       {NULL, NULL}};
    cw_context *ctx = d->call->ctx;
    cw_options *options = NULL, *way = NULL;
    struct timespec start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    char *folder = path_of(d, "%s%s", demo_split_name[split], "");
    cw_status status = folder ? make_options(ctx, "simulate", simulated, &options) : CW_NO_MEMORY;
    if (status == CW_OK) status = make_options(ctx, "prepare", prepared, &way);
    if (status == CW_OK) status = cw_dataset_simulate(ctx, options, way, &d->data[split]);
    if (status == CW_OK) status = cw_dataset_save(ctx, d->data[split], folder, true);
    if (status == CW_OK) note(d, &start, "simulated", demo_split_name[split]);
    cw_options_free(way);
    cw_options_free(options);
    free(folder);
    return status;
}

static cw_status train(demo *d, const settings *s, int split, int method)
{
    /* BPR gains for more than a hundred epochs, with falls of four evaluations on the way: it is
     * stopped after ten.  Nothing that matters is left to the defaults, which suit other data. */
    const char *const trained[][2] = {
        {"preset", "paper"},   {"method", demo_method_name[method]},
        {"dim", "32"},         {"lr", "3e-3"},
        {"reg", "0.1"},        {"batch", "2048"},
        {"epochs", s->epochs}, {"eval-every", "5"},
        {"patience", "10"},    {"beta", method == DEMO_CPR ? "2" : NULL},
        {"seed", s->seed},     {NULL, NULL}};
    cw_context *ctx = d->call->ctx;
    cw_options *options = NULL;
    char *run = NULL, what[64];
    struct timespec start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    char *file = path_of(d, "%s-%s.safetensors", demo_split_name[split], demo_method_name[method]);
    cw_status status = file ? make_options(ctx, "train", trained, &options) : CW_NO_MEMORY;
    if (status == CW_OK)
        status = cw_train(ctx, d->data[split], options, &d->model[split][method], &run);
    if (status == CW_OK) status = cw_model_save(ctx, d->model[split][method], file);
    if (status == CW_OK) {
        json_t *root = cli_parse(run);
        d->result[split][method].epochs = json_incref(json_object_get(root, "epochs"));
        size_t n = json_array_size(json_object_get(root, "epochs")); /* and one before training */
        snprintf(what, sizeof what, "%s on the %s split, best epoch %d of %d",
                 demo_method_title[method], demo_split_name[split],
                 (int)json_integer_value(json_object_get(root, "best_epoch")),
                 n > 0 ? (int)n - 1 : 0);
        json_decref(root);
        note(d, &start, "trained  ", what);
    }
    cw_text_free(run);
    cw_options_free(options);
    free(file);
    return status;
}

/* A metric whose 95 % interval says how far chance reaches. */
static demo_value metric(const json_t *root, const char *name)
{
    const json_t *interval = json_object_get(json_object_get(root, "bootstrap"), name);
    double low = json_number_value(json_array_get(interval, 0));
    double high = json_number_value(json_array_get(interval, 1));
    return (demo_value){json_number_value(json_object_get(json_object_get(root, "metrics"), name)),
                        (high - low) / (2 * 1.96)};
}

static demo_value truth(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(json_object_get(root, "truth"), name);
    return (demo_value){json_number_value(json_object_get(value, "mean")),
                        json_number_value(json_object_get(value, "error"))};
}

static cw_status measure(demo *d, int split, int method, bool is_uniform)
{
    const char *const measured[][2] = {{"split", is_uniform ? "uniform" : "test"},
                                       {"truth", is_uniform ? "off" : "on"},
                                       {"bootstrap", "200"},
                                       {NULL, NULL}};
    cw_context *ctx = d->call->ctx;
    demo_result *result = &d->result[split][method];
    cw_options *options = NULL;
    char *text = NULL;

    cw_status status = make_options(ctx, "evaluate", measured, &options);
    if (status == CW_OK)
        status = cw_evaluate(ctx, d->data[split], d->model[split][method], options, &text);
    json_t *root = status == CW_OK ? cli_parse(text) : NULL;
    if (root && is_uniform) {
        result->uniform = metric(root, "recall@20");
    } else if (root) {
        result->recall = metric(root, "recall@20");
        result->arp = metric(root, "arp@20");
        result->tau = truth(root, "kendall_tau");
        result->relevance = truth(root, "relevance");
        result->groups = json_incref(json_object_get(root, "groups"));
        d->random_relevance = truth(root, "candidate_relevance").mean;
        d->best_relevance = truth(root, "ideal_relevance").mean;
    } else if (status == CW_OK) {
        status = CW_NO_MEMORY;
    }
    json_decref(root);
    cw_text_free(text);
    cw_options_free(options);
    return status;
}

/* ---- one user --------------------------------------------------------------------- */

/* What is known about every item, from the one user's side. */
typedef struct view {
    double *relevance; /* [n_items] */
    int32_t *degree;   /* [n_items] train rows */
    bool *is_seen;     /* [n_items] by the user */
    int32_t n_items;
} view;

/* Somebody with a taste to go by: the first user with ten train rows, or else the first. */
static int32_t choose_user(const cw_dataset *data)
{
    const int32_t *users = cw_dataset_part_users(data, CW_PART_TRAIN);
    int64_t count = cw_dataset_count(data, CW_PART_TRAIN);
    int32_t n = cw_dataset_users(data), chosen = 0;
    int32_t *rows = calloc((size_t)n + 1, sizeof *rows);
    for (int64_t k = 0; rows && k < count; k++) rows[users[k]]++;
    for (int32_t u = n - 1; rows && u >= 0; u--)
        if (rows[u] >= 10) chosen = u;
    free(rows);
    return chosen;
}

static cw_status look(demo *d, view *v)
{
    const cw_dataset *data = d->data[DEMO_DEBIASED];
    const int32_t *users = cw_dataset_part_users(data, CW_PART_TRAIN);
    const int32_t *items = cw_dataset_part_items(data, CW_PART_TRAIN);
    size_t n = (size_t)cw_dataset_items(data);

    v->n_items = (int32_t)n;
    v->relevance = calloc(n, sizeof *v->relevance);
    v->degree = calloc(n, sizeof *v->degree);
    v->is_seen = calloc(n, sizeof *v->is_seen);
    if (!v->relevance || !v->degree || !v->is_seen) return CW_NO_MEMORY;
    d->user = choose_user(data);
    d->seen = 0;
    snprintf(d->user_id, sizeof d->user_id, "%s", cw_dataset_user_id(data, d->user));
    for (int64_t k = 0; k < cw_dataset_count(data, CW_PART_TRAIN); k++) {
        v->degree[items[k]]++;
        if (users[k] != d->user) continue;
        v->is_seen[items[k]] = true;
        d->seen++;
    }
    d->unseen = v->n_items - d->seen;
    return cw_dataset_relevance(d->call->ctx, data, d->user, v->relevance);
}

static demo_item rank_item(const cw_dataset *data, const view *v, int32_t i)
{
    demo_item out = {.truth_rank = 1, .popularity_rank = 1};
    snprintf(out.id, sizeof out.id, "%s", cw_dataset_item_id(data, i));
    out.relevance = v->relevance[i];
    for (int32_t j = 0; j < v->n_items; j++) {
        out.truth_rank += !v->is_seen[j] && v->relevance[j] > v->relevance[i];
        out.popularity_rank += v->degree[j] > v->degree[i];
    }
    return out;
}

static cw_status recommend(demo *d, int method, const view *v)
{
    int32_t items[DEMO_LIST], count = 0;
    const cw_lists lists = {.k = DEMO_LIST, .items = items, .counts = &count};
    cw_recommender *recommender = NULL;

    cw_status status =
        cw_recommender_open(d->call->ctx, d->model[DEMO_DEBIASED][method], &recommender);
    if (status == CW_OK)
        status = cw_recommend(d->call->ctx, recommender, &d->user, 1, NULL, &lists);
    d->list_length = status == CW_OK ? (size_t)count : 0;
    for (size_t k = 0; k < d->list_length; k++)
        d->list[method][k] = rank_item(d->data[DEMO_DEBIASED], v, items[k]);
    cw_recommender_close(recommender);
    return status;
}

static cw_status recommend_all(demo *d)
{
    view v = {0};
    cw_status status = look(d, &v);
    for (int m = DEMO_BPR; m < DEMO_N_METHODS && status == CW_OK; m++) status = recommend(d, m, &v);
    free(v.relevance);
    free(v.degree);
    free(v.is_seen);
    return status;
}

/* ---- the whole ---------------------------------------------------------------------- */

static cw_status run_split(demo *d, const settings *s, int split)
{
    struct timespec start;
    cw_status status = simulate(d, s, split);
    for (int m = 0; m < DEMO_N_METHODS && status == CW_OK; m++) status = train(d, s, split, m);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int m = 0; m < DEMO_N_METHODS && status == CW_OK; m++) {
        status = measure(d, split, m, false);
        if (status == CW_OK) status = measure(d, split, m, true);
    }
    if (status == CW_OK) note(d, &start, "evaluated", demo_split_name[split]);
    return status;
}

static cw_status show(demo *d)
{
    char *verdict = demo_verdict(d), *story = demo_story(d);
    char *path = path_of(d, "%s%s", "demo.html", "");
    json_t *page = verdict && story ? demo_page(d, verdict, story) : NULL;
    char *text = page ? cli_print_json(page, JSON_REAL_PRECISION(10)) : NULL;
    cw_status status = text && path ? cw_report_page(d->call->ctx, text, path) : CW_NO_MEMORY;

    cli_clear_line();
    if (status == CW_OK && d->call->json) {
        json_t *result = demo_json(d);
        json_dumpf(result, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
        putchar('\n');
        json_decref(result);
    } else if (status == CW_OK && !d->call->quiet) {
        demo_print(d, verdict, story);
    }
    free(text);
    json_decref(page);
    free(path);
    free(story);
    free(verdict);
    return status;
}

static cw_status run_all(demo *d, settings *s)
{
    bool is_usual = s->users == usual_users && s->items == usual_items;
    if (!s->interactions && is_usual) s->interactions = usual_interactions;
    cw_status status = run_split(d, s, DEMO_USUAL);
    if (status == CW_OK) status = run_split(d, s, DEMO_DEBIASED);
    if (status == CW_OK) status = find_top_share(d);
    if (status == CW_OK) status = recommend_all(d);
    if (status == CW_OK) status = show(d);
    return status;
}

static void clear(demo *d)
{
    for (int s = 0; s < DEMO_N_SPLITS; s++) {
        for (int m = 0; m < DEMO_N_METHODS; m++) {
            cw_model_free(d->model[s][m]);
            json_decref(d->result[s][m].groups);
            json_decref(d->result[s][m].epochs);
        }
        cw_dataset_free(d->data[s]);
    }
}

/* Is there anything in the folder, other than itself and its parent? */
static bool is_empty(const char *path)
{
    int count = 0;
    DIR *entries = opendir(path);
    while (entries && readdir(entries)) count++;
    if (entries) closedir(entries);
    return count <= 2;
}

/* Bring the name of a new folder to the disk, like what will be in it. */
static void sync_parent(const char *path)
{
    char *copy = strdup(path);
    int parent = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (parent >= 0) {
        (void)fsync(parent);
        close(parent);
    }
    free(copy);
}

static int make_folder(const char *path, bool force)
{
    struct stat info;
    if (mkdir(path, 0777) == 0) {
        sync_parent(path);
        return -1;
    }
    if (errno != EEXIST || stat(path, &info) != 0) {
        fprintf(stderr, "crosswise: cannot create folder %s: %s\n", path, strerror(errno));
        return CLI_FAILED;
    }
    if (S_ISDIR(info.st_mode) && (force || is_empty(path))) return -1;
    fprintf(stderr, "crosswise: %s exists%s\n", path,
            S_ISDIR(info.st_mode) ? "; it is replaced only with --force" : " and is not a folder");
    return CLI_FAILED;
}

static cw_status check_output(const demo *d, cw_output what, const char *format, const char *first,
                              const char *second)
{
    char *path = path_of(d, format, first, second);
    cw_status status =
        path ? cw_output_check(d->call->ctx, what, path, what == CW_OUTPUT_DATASET) : CW_NO_MEMORY;
    free(path);
    return status;
}

/* What an earlier demo left is replaced, anything else is not. */
static cw_status check_outputs(const demo *d)
{
    cw_status status = check_output(d, CW_OUTPUT_PAGE, "%s%s", "demo.html", "");
    for (int s = 0; s < DEMO_N_SPLITS && status == CW_OK; s++) {
        status = check_output(d, CW_OUTPUT_DATASET, "%s%s", demo_split_name[s], "");
        for (int m = 0; m < DEMO_N_METHODS && status == CW_OK; m++)
            status = check_output(d, CW_OUTPUT_MODEL, "%s-%s.safetensors", demo_split_name[s],
                                  demo_method_name[m]);
    }
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = "crosswise-demo";
    settings s = {.users = usual_users,
                  .items = usual_items,
                  .popularity = "1.3",
                  .quality = "0.1",
                  .violation = "0",
                  .epochs = "1000",
                  .seed = "0"};
    bool force = false;
    const cli_flag flags[] = {
        {"out", "DIR", &out, NULL, "folder for the page, datasets and models [crosswise-demo]"},
        {"force", NULL, NULL, &force, "replace what an earlier demo left in the folder"},
        {"users", "N", &s.users, NULL, "users to simulate [8000]"},
        {"items", "N", &s.items, NULL, "items to simulate [3000]"},
        {"interactions", "N", &s.interactions, NULL,
         "expected number of interactions [120000, or what fits --users and --items]"},
        {"popularity", "X", &s.popularity, NULL,
         "how much more popular items are shown; 0 is not at all [1.3]"},
        {"quality", "X", &s.quality, NULL,
         "share of taste that all users have in common, which CPR cannot see [0.1]"},
        {"violation", "X", &s.violation, NULL,
         "how much users differ in following popularity; CPR assumes that they do not [0]"},
        {"epochs", "N", &s.epochs, NULL,
         "at most so many epochs of training; it stops where validation no longer gains [1000]"},
        {"seed", "N", &s.seed, NULL, "same seed, same numbers [0]"},
        {0}};
    cli_call call;
    demo d = {.call = &call};
    cw_status status = CW_OK;

    int code = cli_begin(&call, command, argc, argv, flags);
    d.out = out;
    if (code < 0 && call.n_inputs > 0)
        code = cli_misuse(command, "it takes no input; what is '%s'?", call.inputs[0]);
    if (code < 0 && !out[0]) code = cli_misuse(command, "--out DIR is missing");
    if (code < 0) code = make_folder(out, force);
    if (code < 0) status = check_outputs(&d);
    if (code < 0 && status == CW_OK) status = run_all(&d, &s);
    if (status != CW_OK) (void)rmdir(out); /* when nothing is in it yet */
    clear(&d);
    return cli_end(&call, code, status);
}

const cli_command cmd_demo = {
    .name = "demo",
    .summary = "the whole story on simulated data, in about a minute",
    .usage = "[--out DIR] [options]",
    .details =
        "Simulates users who were shown popular items most, splits the log the usual way and\n"
        "debiased, trains BPR and CPR on either, and compares them on both tests and with what\n"
        "users truly like.  Leaves a page with charts, the datasets and the models in DIR.\n"
        "\n"
        "The popularity bias is strong by default, where the methods differ most; with less of "
        "it,\n"
        "or where users differ in following popularity, BPR can come out ahead.\n"
        "\n"
        "  crosswise demo\n"
        "  crosswise demo --popularity 1 --items 2000 --out milder\n"
        "  crosswise demo --violation 1 --out violated",
    .run = run,
};

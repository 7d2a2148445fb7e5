/* cmd_evaluate.c - crosswise evaluate DIR MODEL */
#include <string.h>

#include "cli.h"

static json_int_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void print_real(const json_t *value, int width, int digits)
{
    if (json_is_number(value))
        printf(" %*.*f", width, digits, json_number_value(value));
    else
        printf(" %*s", width, "-"); /* null: there is nothing to say */
}

/* One column of a table of JSON objects. */
typedef struct column {
    const char *title, *key;
    int width, digits;
    double factor;
} column;

/* What is printed of each object: columns, ending with zeros, then the metrics of a place. */
typedef struct table {
    const column *columns;
    cw_metric_place place;
    int width;      /* of a metric, at least */
    bool hides_low; /* not those of which less is better */
} table;

/* The next metric of a table from index *m on, which is moved past it; NULL: no more. */
static const cw_metric_info *next_metric(const table *t, size_t *m)
{
    const cw_metric_info *metric;
    while ((metric = cw_metric_at((*m)++)) != NULL)
        if (metric->place >= t->place && !(t->hides_low && metric->is_low_good)) break;
    return metric;
}

/* Room for the title, and for the large numbers that have few digits after the point. */
static int metric_width(const table *t, const cw_metric_info *metric)
{
    int title = (int)strlen(metric->title), number = metric->digits < 4 ? 9 : 6;
    int most = title > number ? title : number;
    return most > t->width ? most : t->width;
}

static void print_titles(const table *t)
{
    const cw_metric_info *metric;
    for (const column *c = t->columns; c->title; c++) printf(" %*s", c->width, c->title);
    for (size_t m = 0; (metric = next_metric(t, &m)) != NULL;)
        printf(" %*s", metric_width(t, metric), metric->title);
    printf("\n");
}

static void print_row(const json_t *row, const table *t)
{
    const cw_metric_info *metric;
    for (const column *c = t->columns; c->title; c++) {
        const json_t *value = json_object_get(row, c->key);
        if (json_is_number(value))
            printf(" %*.*f", c->width, c->digits, c->factor * json_number_value(value));
        else
            print_real(value, c->width, c->digits);
    }
    for (size_t m = 0; (metric = next_metric(t, &m)) != NULL;)
        print_real(json_object_get(row, metric->name), metric_width(t, metric), metric->digits);
    printf("\n");
}

/* ---- metrics of the lists ------------------------------------------------------ */

static void print_interval(const json_t *interval, int digits)
{
    char text[64];
    const json_t *low = json_array_get(interval, 0), *high = json_array_get(interval, 1);
    if (!interval) return;
    snprintf(text, sizeof text, "[%.*f, %.*f]", digits, json_number_value(low), digits,
             json_number_value(high));
    printf(" %18s", text);
}

static void print_metrics(const json_t *root)
{
    const json_t *values = json_object_get(root, "metrics"), *k;
    const json_t *intervals = json_object_get(root, "bootstrap");
    const cw_metric_info *metric;
    size_t j;
    char key[48];

    printf("\n%-14s", "");
    json_array_foreach(json_object_get(root, "k"), j, k)
    {
        snprintf(key, sizeof key, "@%lld", (long long)json_integer_value(k));
        printf(intervals ? " %10s %18s" : " %10s", key, "95 % interval");
    }
    printf("\n");
    for (size_t m = 0; (metric = cw_metric_at(m)) != NULL; m++) {
        int title = (int)strlen(metric->title), over = title > 14 ? title - 14 : 0;
        json_int_t first = json_integer_value(json_array_get(json_object_get(root, "k"), 0));
        snprintf(key, sizeof key, "%s@%lld", metric->name, (long long)first);
        if (metric->place == CW_METRIC_ASKED && !json_object_get(values, key)) continue;
        printf("%-14s", metric->title);
        json_array_foreach(json_object_get(root, "k"), j, k)
        {
            snprintf(key, sizeof key, "%s@%lld", metric->name, (long long)json_integer_value(k));
            print_real(json_object_get(values, key), j == 0 ? 10 - over : 10, metric->digits);
            print_interval(json_object_get(intervals, key), metric->digits);
        }
        printf("\n");
    }
}

/* ---- what the lists do to the catalogue ----------------------------------------- */

static void print_beyond(const json_t *root)
{
    const json_t *beyond = json_object_get(root, "beyond");
    printf("\n%.1f %% of the catalogue is recommended to somebody; Gini %.3f, entropy %.2f bits "
           "(%.1f %% of the most).\n",
           100 * real(beyond, "coverage"), real(beyond, "gini"), real(beyond, "entropy"),
           100 * real(beyond, "entropy_share"));
    printf("Recommended items are more popular than %.1f %% of the catalogue; %.1f %% lie outside "
           "its most popular fifth.\n",
           100 * real(beyond, "popularity_percentile"), 100 * real(beyond, "tail_share"));
}

/* One line a group, the first and the last with a word for what they are. */
static void print_groups(const char *title, const char *first, const char *last,
                         const json_t *groups, const table *t)
{
    size_t g;
    const json_t *group;

    printf("\n%-14s", title);
    print_titles(t);
    json_array_foreach(groups, g, group)
    {
        const char *word = g == 0 ? first : g + 1 == json_array_size(groups) ? last : "";
        printf("%zu %-12s", g, word);
        print_row(group, t);
    }
}

static void print_item_groups(const json_t *groups)
{
    static const column columns[] = {{"items", "items", 8, 0, 1},
                                     {"from", "degree_from", 7, 0, 1},
                                     {"to", "degree_to", 7, 0, 1},
                                     {"train %", "train_share", 8, 1, 100},
                                     {"held %", "held_share", 8, 1, 100},
                                     {"listed %", "recommended_share", 9, 1, 100},
                                     {0}};
    const table t = {columns, CW_METRIC_COMPARED, 8, true};
    print_groups("item group", "least known", "most known", groups, &t);
}

static void print_user_groups(const json_t *groups)
{
    static const column columns[] = {{"users", "users", 8, 0, 1},
                                     {"from", "degree_from", 7, 0, 1},
                                     {"to", "degree_to", 7, 0, 1},
                                     {"evaluated", "evaluated", 9, 0, 1},
                                     {0}};
    const table t = {columns, CW_METRIC_COMPARED, 8, false};
    print_groups("user group", "least active", "most active", groups, &t);
}

/* ---- on demand -------------------------------------------------------------------- */

static void print_truth(const json_t *truth)
{
    static const char *const row[][2] = {{"Kendall's tau", "kendall_tau"},
                                         {"expected Recall", "recall"},
                                         {"graded NDCG", "ndcg"},
                                         {"relevance of lists", "relevance"},
                                         {"  of the best lists", "ideal_relevance"},
                                         {"  of all candidates", "candidate_relevance"}};
    printf("\nagainst the truth  %10s %10s   (%lld users)\n", "mean", "error",
           (long long)integer(truth, "users"));
    for (size_t r = 0; r < sizeof row / sizeof row[0]; r++) {
        const json_t *value = json_object_get(truth, row[r][1]);
        printf("%-19s", row[r][0]);
        print_real(json_object_get(value, "mean"), 10, 4);
        print_real(json_object_get(value, "error"), 10, 4);
        printf("\n");
    }
    printf("Recommended items are more exposed than %.1f %% of the catalogue.\n",
           100 * real(truth, "propensity_percentile"));
}

static void print_sweep(const json_t *sweep)
{
    static const column columns[] = {{"popularity", "popularity", 13, 6, 1}, {0}};
    const table t = {columns, CW_METRIC_MAIN, 10, false};
    size_t g;
    const json_t *point;

    printf("\n");
    print_titles(&t);
    json_array_foreach(sweep, g, point) print_row(point, &t);
}

static cw_status print_evaluation(const cli_call *call, const char *json)
{
    char users[32], rows[32];
    json_t *root = cli_parse(json);

    if (!root) return CW_NO_MEMORY;
    printf("%s on %s: %s, %s users, %s rows to be found\n", call->inputs[1], call->inputs[0],
           json_string_value(json_object_get(root, "split")),
           cli_thousands(integer(root, "users"), users),
           cli_thousands(integer(root, "rows"), rows));
    if (real(root, "popularity") != 0)
        printf("ranked by score %+g ln(1 + degree)\n", real(root, "popularity"));
    print_metrics(root);
    print_beyond(root);
    print_item_groups(json_object_get(root, "groups"));
    print_user_groups(json_object_get(root, "user_groups"));
    if (json_object_get(root, "truth")) print_truth(json_object_get(root, "truth"));
    if (json_object_get(root, "sweep")) print_sweep(json_object_get(root, "sweep"));
    json_decref(root);
    return CW_OK;
}

static cw_status evaluate(const cli_call *call)
{
    cw_dataset *dataset = NULL;
    cw_model *model = NULL;
    char *json = NULL;

    cw_status status = cw_dataset_load(call->ctx, call->inputs[0], &dataset);
    if (status == CW_OK) status = cw_model_load(call->ctx, call->inputs[1], &model);
    if (status == CW_OK) status = cw_evaluate(call->ctx, dataset, model, call->options[0], &json);
    cli_clear_line();
    if (status == CW_OK && json && call->json)
        printf("%s\n", json);
    else if (status == CW_OK && json)
        status = print_evaluation(call, json);
    cw_text_free(json);
    cw_model_free(model);
    cw_dataset_free(dataset);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const cli_flag flags[] = {{0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 2)
        code = cli_misuse(command, "it takes a dataset folder and a model, not %zu inputs",
                          call.n_inputs);
    cw_status status = code < 0 ? evaluate(&call) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_evaluate = {
    .name = "evaluate",
    .summary = "measure how good and how biased a model's lists are",
    .usage = "DIR MODEL [options]",
    .details =
        "Ranks all items that a user has not seen in training, for every user with held-out\n"
        "rows, and prints accuracy, popularity and coverage of the lists, overall and by groups\n"
        "of items and users.  On a simulated dataset the lists are also compared with the truth.\n"
        "\n"
        "  crosswise evaluate ml model.safetensors\n"
        "  crosswise evaluate ml model.safetensors --k 10,20,50 --bootstrap 1000\n"
        "  crosswise evaluate ml model.safetensors --popularity-sweep auto\n"
        "  mpirun -n 4 crosswise evaluate ml model.safetensors --device mpi",
    .stages = {"evaluate"},
    .run = run,
};

/* cmd_compare.c - crosswise compare RUN.json RUN.json ... */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const json_t *value_of(const json_t *object, const cw_metric_info *metric, json_int_t k)
{
    char key[48];
    snprintf(key, sizeof key, "%s@%lld", metric->name, (long long)k);
    return json_object_get(object, key);
}

/* The next metric that is compared, from index *m on, which is moved past it; NULL: no more.  Of
 * those that have to be asked for, the ones that are there. */
static const cw_metric_info *next_metric(size_t *m, const json_t *there, json_int_t k)
{
    const cw_metric_info *metric;
    while ((metric = cli_metric((*m)++)) != NULL)
        if (metric->place >= CW_METRIC_COMPARED ||
            (metric->place == CW_METRIC_ASKED && value_of(there, metric, k)))
            break;
    return metric;
}

/* "B  cpr on mf, beta 2" */
static void print_name(const json_t *side, size_t index)
{
    const char *name;
    json_t *value;
    printf("%c  %s on %s", 'A' + (int)(index % 26),
           json_string_value(json_object_get(side, "method")),
           json_string_value(json_object_get(side, "backbone")));
    json_object_foreach(json_object_get(side, "options"), name, value)
    {
        if (strcmp(name, "method") == 0 || strcmp(name, "backbone") == 0) continue;
        char *text = cli_print_json(value, JSON_REAL_PRECISION(6));
        printf(", %s %s", name, text ? text : "");
        free(text);
    }
    printf("\n");
}

static void print_sides(const json_t *sides, json_int_t k)
{
    const cw_metric_info *metric;
    size_t index;
    json_t *side;
    const json_t *there = json_object_get(json_array_get(sides, 0), "mean");
    json_array_foreach(sides, index, side) print_name(side, index);
    printf("\n%-4s %6s", "", "seeds");
    for (size_t m = 0; (metric = next_metric(&m, there, k)) != NULL;) {
        char title[48];
        snprintf(title, sizeof title, "%s@%lld", metric->title, (long long)k);
        printf(" %19s", title);
    }
    printf("\n");
    json_array_foreach(sides, index, side)
    {
        printf("%-4c %6zu", 'A' + (int)(index % 26),
               json_array_size(json_object_get(side, "seeds")));
        for (size_t m = 0; (metric = next_metric(&m, there, k)) != NULL;) {
            const json_t *mean = value_of(json_object_get(side, "mean"), metric, k);
            const json_t *sd = value_of(json_object_get(side, "sd"), metric, k);
            char text[64] = "";
            if (json_is_number(sd))
                snprintf(text, sizeof text, " +- %.*f", metric->digits, json_number_value(sd));
            char cell[128];
            if (json_is_number(mean))
                snprintf(cell, sizeof cell, "%.*f%s", metric->digits, json_number_value(mean),
                         text);
            else
                snprintf(cell, sizeof cell, "-");
            printf(" %19s", cell);
        }
        printf("\n");
    }
}

static void print_number(const json_t *value, int width, int digits)
{
    if (json_is_number(value))
        printf(" %*.*f", width, digits, json_number_value(value));
    else
        printf(" %*s", width, "-");
}

static void print_p(const json_t *value)
{
    if (json_is_number(value) && json_number_value(value) < 0.0001)
        printf(" %9s", "<0.0001");
    else
        print_number(value, 9, 4);
}

static void print_comparison(const json_t *comparison, json_int_t k)
{
    const cw_metric_info *metric;
    printf("\n%c minus A, %lld pairs\n%-14s %10s %8s %8s %9s %10s %8s %s\n",
           'A' + (int)(json_integer_value(json_object_get(comparison, "side")) % 26),
           (long long)json_integer_value(json_object_get(comparison, "pairs")), "", "difference",
           "percent", "t", "p", "Wilcoxon p", "effect", "  95 % over users");
    const json_t *there = json_object_get(comparison, "metrics");
    for (size_t m = 0; (metric = next_metric(&m, there, k)) != NULL;) {
        const json_t *test = value_of(there, metric, k);
        const json_t *users = json_object_get(test, "users");
        const json_t *relative = json_object_get(test, "relative");
        char label[48];
        snprintf(label, sizeof label, "%s@%lld", metric->title, (long long)k);
        int over = strlen(label) > 14 ? (int)strlen(label) - 14 : 0;
        printf("%-14s", label);
        print_number(json_object_get(test, "difference"), over < 10 ? 10 - over : 0,
                     metric->digits);
        if (json_is_number(relative))
            printf(" %8.2f", 100 * json_number_value(relative));
        else
            printf(" %8s", "-");
        print_number(json_object_get(test, "t"), 8, 2);
        print_p(json_object_get(test, "p"));
        print_number(json_object_get(test, "wilcoxon_p"), 10, 4);
        print_number(json_object_get(test, "effect"), 8, 2);
        if (users)
            printf("   [%.*f, %.*f]", metric->digits, json_number_value(json_array_get(users, 0)),
                   metric->digits, json_number_value(json_array_get(users, 1)));
        printf("\n");
    }
}

static void print_result(const json_t *result)
{
    size_t index;
    json_t *comparison;
    json_int_t k = json_integer_value(json_object_get(result, "k"));
    print_sides(json_object_get(result, "sides"), k);
    json_array_foreach(json_object_get(result, "comparisons"), index, comparison)
        print_comparison(comparison, k);
    if (json_array_size(json_object_get(result, "comparisons")) == 0)
        printf("\nAll runs are of one side: there is nothing to compare it with.\n");
}

static cw_status compare(cli_call *call)
{
    char *json = NULL;
    cw_status status = cw_compare(call->ctx, (const char *const *)call->inputs, call->n_inputs,
                                  call->options[0], &json);
    cli_clear_line();
    if (status == CW_OK && call->json) {
        printf("%s\n", json);
    } else if (status == CW_OK) {
        json_t *result = cli_parse(json);
        if (!result) status = CW_NO_MEMORY;
        print_result(result);
        json_decref(result);
    }
    cw_text_free(json);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const cli_flag flags[] = {{0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs < 2)
        code = cli_misuse(command, "it takes two or more records of runs, not %zu", call.n_inputs);
    cw_status status = code < 0 ? compare(&call) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_compare = {
    .name = "compare",
    .summary = "test whether runs differ by more than chance",
    .usage = "RUN.json RUN.json ... [options]",
    .details =
        "Takes the records that train (MODEL.run.json) and experiment (DIR/runs/*.json) write.\n"
        "Runs that differ in the seed alone are one side; every side is compared with the first,\n"
        "paired by seed: paired t test, Wilcoxon's signed-rank test, effect size.  With --data,\n"
        "and the models beside the records, also a 95 % interval of the difference over users.\n"
        "\n"
        "  crosswise compare bpr-*.run.json cpr-*.run.json\n"
        "  crosswise compare bpr.run.json cpr.run.json --data ml",
    .stages = {"compare"},
    .run = run,
};

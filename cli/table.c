/* table.c - results for people. */
#include <string.h>

#include "cli.h"

enum { N_QUANTILES = 9 };

static const char *const quantile[N_QUANTILES] = {"min", "p1",  "p10", "p25", "median",
                                                  "p75", "p90", "p99", "max"};

const char *cli_thousands(json_int_t value, char out[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value), at = 0;
    for (int k = 0; k < length; k++) {
        out[at++] = digits[k];
        int left = length - 1 - k;
        if (left > 0 && left % 3 == 0 && digits[k] != '-') out[at++] = ',';
    }
    out[at] = '\0';
    return out;
}

static json_int_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void print_count(const char *label, json_int_t value)
{
    char text[32];
    printf("%-16s %12s\n", label, cli_thousands(value, text));
}

static void print_parts(const json_t *parts)
{
    static const char *const name[] = {"train", "valid", "test"};
    char rows[32], users[32], items[32];

    printf("\n%-16s %12s %12s %12s\n", "part", "rows", "users", "items");
    for (size_t p = 0; p < 3; p++) {
        const json_t *part = json_object_get(parts, name[p]);
        if (part)
            printf("%-16s %12s %12s %12s\n", name[p], cli_thousands(integer(part, "rows"), rows),
                   cli_thousands(integer(part, "users"), users),
                   cli_thousands(integer(part, "items"), items));
        else
            printf("%-16s %12s\n", name[p], "missing");
    }
}

/* The heading of a table of quantiles. */
static void print_quantiles(const char *label)
{
    static const char *const title[] = {"min",  "1 %",  "10 %", "25 %", "median",
                                        "75 %", "90 %", "99 %", "max"};
    printf("\n%-16s", label);
    for (size_t c = 0; c < N_QUANTILES; c++) printf(" %7s", title[c]);
    printf(" %8s", "mean");
}

static void print_degrees(const json_t *root)
{
    static const char *const row[][2] = {{"per user", "user_degrees"},
                                         {"per item", "item_degrees"}};
    char text[32];

    print_quantiles("train rows");
    printf(" %6s\n", "Gini");
    for (size_t r = 0; r < 2; r++) {
        const json_t *degrees = json_object_get(root, row[r][1]);
        printf("%-16s", row[r][0]);
        for (size_t c = 0; c < N_QUANTILES; c++)
            printf(" %7s", cli_thousands(integer(degrees, quantile[c]), text));
        printf(" %8.1f %6.3f\n", real(degrees, "mean"), real(degrees, "gini"));
    }
}

static void print_propensities(const json_t *propensities)
{
    char label[32];
    snprintf(label, sizeof label, "(rows / max)^%g", real(propensities, "power"));
    print_quantiles("propensity");
    printf("\n%-16s", label);
    for (size_t c = 0; c < N_QUANTILES; c++) printf(" %7.3f", real(propensities, quantile[c]));
    printf(" %8.3f\n", real(propensities, "mean"));
}

static void print_rates(const json_t *rates)
{
    const char *key;
    json_t *rate;
    if (!rates) {
        printf("How many of its samples CPR accepts is not measured of rows in files; crosswise "
               "describe does.\n");
        return;
    }
    printf("CPR accepts of its samples:");
    json_object_foreach((json_t *)rates, key, rate) printf(
        "%s %.1f %% for k = %s", strcmp(key, "k2") ? "," : "", 100 * real(rate, "rate"), key + 1);
    printf(".\n");
}

static void print_train(const json_t *root)
{
    const json_t *items = json_object_get(root, "item_degrees");
    char text[32];

    print_degrees(root);
    print_propensities(json_object_get(root, "propensities"));
    printf(
        "\nThe most popular 1 %% of items hold %.1f %% of the train rows, the top 10 %% %.1f %%.\n",
        100 * real(items, "top_1_percent"), 100 * real(items, "top_10_percent"));
    print_rates(json_object_get(root, "cpr_acceptance"));
    if (integer(root, "cold_rows") > 0)
        printf("%s held-out rows have a user or item that train lacks.\n",
               cli_thousands(integer(root, "cold_rows"), text));
}

static cw_status print_description(const char *title, const char *json)
{
    json_t *root = cli_parse(json);
    if (!root) return CW_NO_MEMORY;
    printf("%s%s\n\n", title,
           json_is_true(json_object_get(root, "simulated")) ? " (simulated)" : "");
    print_count("users", integer(root, "users"));
    print_count("items", integer(root, "items"));
    print_count("interactions", integer(root, "interactions"));
    printf("%-16s %10.4f %%\n", "density", 100 * real(root, "density"));
    if (json_object_get(root, "uniform_test_rows"))
        print_count("uniform test", integer(root, "uniform_test_rows"));
    print_parts(json_object_get(root, "parts"));
    if (json_object_get(root, "item_degrees"))
        print_train(root);
    else
        printf("\nThere is no train part, so degrees and acceptance rates are not known.\n");
    json_decref(root);
    return CW_OK;
}

cw_status cli_show_dataset(const cli_call *call, const char *title, const cw_dataset *dataset)
{
    char *json;
    cw_status status = cw_dataset_describe(call->ctx, dataset, &json);
    cli_clear_line();
    if (status == CW_OK && call->json)
        printf("%s\n", json);
    else if (status == CW_OK)
        status = print_description(title, json);
    cw_text_free(json);
    return status;
}

const cw_metric_info *cli_metric(size_t index)
{
    for (int turn = 0; turn < 3; turn++) {
        const cw_metric_info *metric;
        for (size_t m = 0; (metric = cw_metric_at(m)) != NULL; m++) {
            int its = metric->is_low_good ? 2 : metric->place == CW_METRIC_MAIN ? 0 : 1;
            if (its == turn && index-- == 0) return metric;
        }
    }
    return NULL;
}

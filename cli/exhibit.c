/* exhibit.c - the results of the demo as tables on the terminal, as a page and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "demo.h"

const char *const demo_method_name[DEMO_N_METHODS] = {"pop", "bpr", "cpr"};
const char *const demo_method_title[DEMO_N_METHODS] = {"Most popular", "BPR", "CPR"};
const char *const demo_split_name[DEMO_N_SPLITS] = {"usual", "debiased"};

/* ---- the terminal ------------------------------------------------------------ */

static void print_comparison(const demo *d)
{
    printf("%-14s %14s %14s %9s %13s %11s\n", "", "Recall@20,", "Recall@20,", "", "Kendall's tau",
           "true");
    printf("%-14s %14s %14s %9s %13s %11s\n", "", "usual test", "debiased test", "ARP",
           "with truth", "relevance");
    for (int m = 0; m < DEMO_N_METHODS; m++) {
        const demo_result *usual = &d->result[DEMO_USUAL][m];
        const demo_result *debiased = &d->result[DEMO_DEBIASED][m];
        printf("%-14s %14.4f %14.4f %9.1f %13.3f %11.3f\n", demo_method_title[m],
               usual->recall.mean, debiased->recall.mean, debiased->arp.mean, debiased->tau.mean,
               debiased->relevance.mean);
    }
    printf("\nARP: how many train rows the recommended items have on average. The last three\n"
           "columns are of the models trained on the debiased split.\n");
}

/* Paragraphs, broken between words. */
static void print_wrapped(const char *text)
{
    enum { WIDTH = 80 };
    int at = 0;
    while (*text) {
        int word = (int)strcspn(text, " \n");
        if (at > 0 && at + 1 + word > WIDTH) {
            putchar('\n');
            at = 0;
        }
        at += printf("%s%.*s", at > 0 ? " " : "", word, text);
        for (text += word; *text == ' ' || *text == '\n'; text++) {
            if (*text != '\n') continue;
            putchar('\n');
            at = 0;
        }
    }
    putchar('\n');
}

static void print_lists(const demo *d)
{
    char seen[32], unseen[32];
    printf("Recommendations for user %s, who has %s train rows and has not seen %s items:\n\n",
           d->user_id, cli_thousands(d->seen, seen), cli_thousands(d->unseen, unseen));
    printf("%-8s %8s %16s %21s %19s\n", "", "item", "true relevance", "rank by relevance",
           "rank by popularity");
    for (int m = DEMO_BPR; m < DEMO_N_METHODS; m++)
        for (size_t k = 0; k < d->list_length; k++) {
            const demo_item *item = &d->list[m][k];
            printf("%-8s %8s %16.3f %21d %19d\n", k == 0 ? demo_method_title[m] : "", item->id,
                   item->relevance, item->truth_rank, item->popularity_rank);
        }
}

void demo_print(const demo *d, const char *verdict, const char *story)
{
    putchar('\n');
    print_wrapped(verdict);
    putchar('\n');
    print_comparison(d);
    putchar('\n');
    print_wrapped(story);
    putchar('\n');
    print_lists(d);
    printf("\nThe page with the charts is %s/demo.html; datasets and models are beside it.\n",
           d->out);
}

/* ---- JSON ------------------------------------------------------------------- */

static json_t *result_json(const demo *d, int split, int method)
{
    const demo_result *r = &d->result[split][method];
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "split", demo_split_name[split],
                     "method", demo_method_name[method], "recall@20", r->recall.mean,
                     "uniform_recall@20", r->uniform.mean, "arp@20", r->arp.mean, "kendall_tau",
                     r->tau.mean, "relevance", r->relevance.mean);
}

json_t *demo_json(const demo *d)
{
    json_t *results = json_array();
    for (int s = 0; s < DEMO_N_SPLITS; s++)
        for (int m = 0; m < DEMO_N_METHODS; m++)
            json_array_append_new(results, result_json(d, s, m));
    return json_pack("{s:s, s:i, s:i, s:f, s:f, s:o}", "folder", d->out, "users",
                     (int)cw_dataset_users(d->data[0]), "items", (int)cw_dataset_items(d->data[0]),
                     "random_relevance", d->random_relevance, "best_relevance", d->best_relevance,
                     "results", results);
}

/* ---- the page ----------------------------------------------------------------- */

static json_t *fixed(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", digits, value);
    return json_string(text);
}

/* A line of the comparison: something measured of the models of one split. */
typedef struct measure {
    const char *title;
    int split;
    size_t offset; /* of the value in a demo_result */
    int digits;
    bool is_verdict; /* does being higher mean being better? */
} measure;

/* What decides comes first: what users like, and what either test says. */
static const measure measures[] = {
    {"What users truly like: true relevance", DEMO_DEBIASED, offsetof(demo_result, relevance), 3,
     true},
    {"Usual test: Recall@20", DEMO_USUAL, offsetof(demo_result, recall), 4, true},
    {"Debiased test: Recall@20", DEMO_DEBIASED, offsetof(demo_result, recall), 4, true},
    {"True relevance, trained on the usual split", DEMO_USUAL, offsetof(demo_result, relevance), 3,
     true},
    {"Order of all items: Kendall's tau with the truth", DEMO_DEBIASED, offsetof(demo_result, tau),
     3, true},
    {"Kendall's tau, trained on the usual split", DEMO_USUAL, offsetof(demo_result, tau), 3, true},
    {"Test of items shown at random: Recall@20", DEMO_DEBIASED, offsetof(demo_result, uniform), 4,
     true},
    {"The same, trained on the usual split", DEMO_USUAL, offsetof(demo_result, uniform), 4, true},
    {"Popularity of the lists: ARP@20", DEMO_DEBIASED, offsetof(demo_result, arp), 1, false},
    {"ARP@20, trained on the usual split", DEMO_USUAL, offsetof(demo_result, arp), 1, false}};

enum { N_MEASURES = sizeof measures / sizeof measures[0], N_DECIDING = 3 };

static json_t *measure_row(const demo *d, const measure *m)
{
    demo_value value[DEMO_N_METHODS];
    json_t *row = json_pack("[s]", m->title);
    for (int k = 0; k < DEMO_N_METHODS; k++)
        memcpy(&value[k], (const char *)&d->result[m->split][k] + m->offset, sizeof value[k]);
    int first = m->is_verdict ? demo_leader(value[DEMO_BPR], value[DEMO_CPR]) : 0;
    for (int k = 0; k < DEMO_N_METHODS; k++)
        json_array_append_new(row, json_pack("{s:o, s:b}", "text", fixed(value[k].mean, m->digits),
                                             "bold", first != 0 && k == first));
    json_array_append_new(row, !m->is_verdict ? json_null()
                               : first == 0   ? json_string("too close")
                                              : json_string(demo_method_title[first]));
    return row;
}

/* Measures go down and methods across, so that all of it fits a phone. */
static json_t *comparison(const demo *d)
{
    json_t *rows = json_array();
    for (size_t k = 0; k < N_MEASURES; k++)
        json_array_append_new(rows, measure_row(d, &measures[k]));
    return json_pack("{s:[s, s, s, s, s], s:o, s:[i]}", "columns", "Measure",
                     demo_method_title[DEMO_POP], demo_method_title[DEMO_BPR],
                     demo_method_title[DEMO_CPR], "BPR or CPR?", "rows", rows, "rules",
                     (int)N_DECIDING);
}

static json_t *lists(const demo *d)
{
    json_t *rows = json_array();
    for (int m = DEMO_BPR; m < DEMO_N_METHODS; m++)
        for (size_t k = 0; k < d->list_length; k++) {
            const demo_item *item = &d->list[m][k];
            json_array_append_new(rows, json_pack("[s, s, o, i, i]", demo_method_title[m], item->id,
                                                  fixed(item->relevance, 3), (int)item->truth_rank,
                                                  (int)item->popularity_rank));
        }
    return json_pack("{s:[s, s, s, s, s], s:o, s:[i]}", "columns", "Method", "Item",
                     "True relevance", "Rank by truth", "Rank by popularity", "rows", rows, "rules",
                     (int)d->list_length);
}

/* One bar of every group of items: 100 times the number `key`. */
static json_t *group_series(const char *name, const json_t *groups, const char *key)
{
    json_t *values = json_array();
    for (size_t g = 0; g < json_array_size(groups); g++)
        json_array_append_new(
            values,
            json_real(100 * json_number_value(json_object_get(json_array_get(groups, g), key))));
    return json_pack("{s:s, s:o}", "name", name, "values", values);
}

static json_t *popularity_chart(const demo *d)
{
    const demo_result *result = d->result[DEMO_DEBIASED];
    const json_t *groups = result[DEMO_CPR].groups;
    json_t *x = json_array();
    for (size_t g = 0; g < json_array_size(groups); g++)
        json_array_append_new(x, cli_group_label(json_array_get(groups, g)));
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:[o, o, o, o]}", "kind", "bar", "x_title",
        "items, from rare to popular", "y_title", "share in %", "x", x, "series",
        group_series("recommended by BPR", result[DEMO_BPR].groups, "recommended_share"),
        group_series("recommended by CPR", groups, "recommended_share"),
        group_series("train rows", groups, "train_share"),
        group_series("debiased test rows", groups, "held_share"));
}

/* The validation recall after epoch `epoch`, or null when it was not measured. */
static json_t *valid_recall(const json_t *epochs, json_int_t epoch)
{
    for (size_t e = 0; e < json_array_size(epochs); e++) {
        const json_t *row = json_array_get(epochs, e), *valid = json_object_get(row, "valid");
        if (valid && json_integer_value(json_object_get(row, "epoch")) == epoch)
            return json_real(json_number_value(json_object_get(valid, "recall@20")));
    }
    return json_null();
}

/* The epochs after which at least one of the two was measured, ascending. */
static json_t *measured_epochs(const demo_result *result)
{
    json_t *x = json_array();
    json_int_t last = 0;
    for (int m = DEMO_BPR; m < DEMO_N_METHODS; m++)
        for (size_t e = 0; e < json_array_size(result[m].epochs); e++) {
            json_int_t epoch =
                json_integer_value(json_object_get(json_array_get(result[m].epochs, e), "epoch"));
            if (epoch > last) last = epoch;
        }
    for (json_int_t epoch = 0; epoch <= last; epoch++) {
        bool is_measured = false;
        for (int m = DEMO_BPR; m < DEMO_N_METHODS; m++) {
            json_t *value = valid_recall(result[m].epochs, epoch);
            is_measured |= json_is_real(value);
            json_decref(value);
        }
        if (is_measured) json_array_append_new(x, json_integer(epoch));
    }
    return x;
}

static json_t *curve(const demo_result *result, int method, const json_t *x)
{
    json_t *values = json_array();
    for (size_t k = 0; k < json_array_size(x); k++)
        json_array_append_new(
            values, valid_recall(result[method].epochs, json_integer_value(json_array_get(x, k))));
    return json_pack("{s:s, s:o}", "name", demo_method_title[method], "values", values);
}

static json_t *curves_chart(const demo *d)
{
    const demo_result *result = d->result[DEMO_DEBIASED];
    json_t *x = measured_epochs(result);
    json_t *bpr = curve(result, DEMO_BPR, x), *cpr = curve(result, DEMO_CPR, x);
    return json_pack("{s:s, s:s, s:s, s:o, s:[o, o]}", "kind", "line", "x_title", "epoch",
                     "y_title", "Recall@20 on the validation rows", "x", x, "series", bpr, cpr);
}

json_t *demo_page(const demo *d, const char *verdict, const char *story)
{
    char *setting = demo_setting(d), whose[128];
    if (!setting) return NULL;
    snprintf(whose, sizeof whose, "User %s has %d train rows and has not seen %d items.",
             d->user_id, (int)d->seen, (int)d->unseen);
    json_t *page = json_pack(
        "{s:s, s:s, s:s, s:[{s:s, s:s, s:o}, {s:s, s:s, s:o}, {s:s, s:s, s:o}, {s:s, s:s, s:o}]}",
        "title", "Does it recommend what people like, or what was popular?", "verdict", verdict,
        "lead", setting, "sections", "heading", "How good, how popular, how true", "text", story,
        "table", comparison(d), "heading", "Who gets recommended", "text",
        "Items are in four groups that hold a quarter of the train rows each. A recommender that "
        "repeats what was popular recommends mostly from the last one. Models of the debiased "
        "split, 20 items for every user.",
        "chart", popularity_chart(d), "heading", "While training", "text",
        "Recall on the validation rows of the debiased split. A method stops when it no longer "
        "gains, and its best parameters are kept.",
        "chart", curves_chart(d), "heading", "What one user gets", "text", whose, "table",
        lists(d));
    free(setting);
    return page;
}

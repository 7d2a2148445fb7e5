/* findings.c - the findings of an evaluation as JSON (docs/metrics.md). */
#include <math.h>

#include "core/report.h"
#include "evaluate/assess.h"

/* Jansson takes NULL for "no memory" and passes it on, so only the last result needs a look: every
 * function here returns 0, or -1 when something could not be made. */

static int put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static int put_number(json_t *object, const char *key, double value)
{
    return put(object, key, cwi_report_number(value));
}

static int put_ks(json_t *root, const cwi_request *request)
{
    json_t *list = json_array();
    int bad = put(root, "k", list);
    for (int32_t j = 0; j < request->n_ks; j++)
        bad |= json_array_append_new(list, json_integer(request->k[j]));
    return bad;
}

/* Mean of column c of the values of all users. */
static double mean_column(const cwi_request *request, const cwi_findings *f, int32_t c)
{
    cwi_mean mean = {0};
    for (int32_t r = 0; r < f->audience.n; r++)
        cwi_mean_add(&mean, f->value[(int64_t)r * request->n_ks * CWI_N_METRICS + c]);
    return cwi_mean_value(&mean);
}

static int put_metrics(json_t *root, const cwi_request *request, const cwi_findings *f)
{
    char key[CWI_METRIC_KEY_BYTES];
    json_t *metrics = json_object();
    int bad = put(root, "metrics", metrics);
    for (int32_t j = 0; j < request->n_ks; j++)
        for (int m = 0; m < CWI_N_METRICS; m++)
            bad |= put_number(metrics, cwi_metric_key(m, request->k[j], key),
                              mean_column(request, f, j * CWI_N_METRICS + m));
    return bad;
}

static int put_bootstrap(json_t *root, const cwi_request *request, const cwi_findings *f)
{
    char key[CWI_METRIC_KEY_BYTES];
    json_t *object = json_object();
    int bad = put(root, "bootstrap", object);
    bad |= put(object, "resamples", json_integer(request->n_resamples));
    for (int32_t j = 0; j < request->n_ks; j++)
        for (int m = 0; m < CWI_N_METRICS; m++) {
            const cwi_interval *interval = &f->interval[j * CWI_N_METRICS + m];
            bad |= put(object, cwi_metric_key(m, request->k[j], key),
                       json_pack("[o, o]", cwi_report_number(interval->low),
                                 cwi_report_number(interval->high)));
        }
    return bad;
}

static int put_beyond(json_t *root, const cwi_findings *f)
{
    json_t *object = json_object();
    int bad = put(root, "beyond", object);
#define X(name) bad |= put_number(object, #name, f->beyond.name);
    CWI_BEYOND_MAP(X)
#undef X
    return bad;
}

/* How many ids a group has, of which degrees, and its share of all of them. */
static int put_members(json_t *object, const char *key, const uint8_t *group, int32_t wanted,
                       const int64_t *degree, int32_t n)
{
    int64_t members = 0, low = 0, high = 0;
    double sum = 0, total = 0;
    for (int32_t id = 0; id < n; id++) {
        total += (double)degree[id];
        if (group[id] != wanted) continue;
        if (members == 0 || degree[id] < low) low = degree[id];
        if (members == 0 || degree[id] > high) high = degree[id];
        sum += (double)degree[id];
        members++;
    }
    int bad = put(object, key, json_integer(members));
    bad |= put(object, "degree_from", members ? json_integer(low) : json_null());
    bad |= put(object, "degree_to", members ? json_integer(high) : json_null());
    bad |= put_number(object, "train_share", total > 0 ? sum / total : (double)NAN);
    return bad;
}

static double held_share(const cwi_subject *subject, const cwi_findings *f, int32_t group)
{
    const cwi_pairs *held = subject->held;
    int64_t count = 0;
    for (int64_t k = 0; k < held->count; k++) count += f->item_group[held->item[k]] == group;
    return held->count > 0 ? (double)count / (double)held->count : (double)NAN;
}

static json_t *item_group(const cwi_subject *subject, const cwi_request *request,
                          const cwi_findings *f, int32_t g)
{
    const cwi_group_tally *tally = &f->group[g];
    json_t *object = json_object();
    double listed = cwi_mean_value(&tally->listed);
    int bad = put(object, "group", json_integer(g));

    bad |=
        put_members(object, "items", f->item_group, g, subject->degree, subject->ranker->n_items);
    bad |= put_number(object, "held_share", held_share(subject, f, g));
    bad |= put_number(object, "recommended_share", listed / request->k[0]);
    bad |= put_number(object, "recommended", listed);
    bad |= put_number(object, "hits", cwi_mean_value(&tally->hits));
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (cwi_metric_table[m].place >= CW_METRIC_COMPARED)
            bad |= put_number(object, cwi_metric_table[m].name, cwi_mean_value(&tally->mean[m]));
    if (!bad) return object;
    json_decref(object);
    return NULL;
}

static int put_item_groups(json_t *root, const cwi_subject *subject, const cwi_request *request,
                           const cwi_findings *f)
{
    json_t *list = json_array();
    int bad = put(root, "groups", list);
    for (int32_t g = 0; g < request->n_groups; g++)
        bad |= json_array_append_new(list, item_group(subject, request, f, g));
    return bad;
}

static json_t *user_group(const cwi_subject *subject, const cwi_request *request,
                          const cwi_findings *f, int32_t g)
{
    json_t *object = json_object();
    cwi_mean mean[CWI_N_METRICS] = {{0}};
    int64_t evaluated = 0;
    int bad = put(object, "group", json_integer(g));

    for (int32_t r = 0; r < f->audience.n; r++) {
        if (f->user_group[f->audience.users[r]] != g) continue;
        evaluated++;
        cwi_means_add(mean, f->value + (int64_t)r * request->n_ks * CWI_N_METRICS);
    }
    bad |= put_members(object, "users", f->user_group, g, subject->user_degree,
                       subject->ranker->n_users);
    bad |= put(object, "evaluated", json_integer(evaluated));
    for (int m = 0; m < CWI_N_METRICS; m++)
        bad |= put_number(object, cwi_metric_table[m].name, cwi_mean_value(&mean[m]));
    if (!bad) return object;
    json_decref(object);
    return NULL;
}

static int put_user_groups(json_t *root, const cwi_subject *subject, const cwi_request *request,
                           const cwi_findings *f)
{
    json_t *list = json_array();
    int bad = put(root, "user_groups", list);
    for (int32_t g = 0; g < request->n_groups; g++)
        bad |= json_array_append_new(list, user_group(subject, request, f, g));
    return bad;
}

static int put_truth(json_t *root, const cwi_findings *f)
{
    const cwi_agreement *agreement = &f->agreement;
    json_t *object = json_object();
    int bad = put(root, "truth", object);

    bad |= put(object, "users", json_integer(agreement->users));
    bad |= put(object, "items_compared", json_integer(agreement->items));
    for (int what = 0; what < CWI_N_AGREEMENTS; what++)
        bad |= put(object, cwi_agreement_name[what],
                   json_pack("{s:o, s:o}", "mean", cwi_report_number(agreement->mean[what]),
                             "error", cwi_report_number(agreement->error[what])));
    bad |= put_number(object, "propensity_percentile", f->propensity_percentile);
    bad |= put_number(object, "propensity_correlation", f->propensity_correlation);
    return bad;
}

static json_t *sweep_point(const cwi_sweep_point *point)
{
    json_t *object = json_object();
    int bad = put_number(object, "popularity", point->dial);
    for (int m = 0; m < CWI_N_METRICS; m++)
        bad |= put_number(object, cwi_metric_table[m].name, point->value[m]);
    if (!bad) return object;
    json_decref(object);
    return NULL;
}

static int put_sweep(json_t *root, const cwi_findings *f)
{
    json_t *list = json_array();
    int bad = put(root, "sweep", list);
    for (int32_t g = 0; g < f->sweep.count; g++)
        bad |= json_array_append_new(list, sweep_point(&f->sweep.point[g]));
    return bad;
}

json_t *cwi_findings_report(const cwi_subject *subject, const cwi_request *request,
                            const cwi_findings *f)
{
    static const char *const split[] = {"test", "valid", "uniform"};
    json_t *root = json_object();
    int bad = put(root, "split", json_string(split[request->split]));

    bad |= put(root, "users", json_integer(f->audience.n));
    bad |= put(root, "rows", json_integer(subject->held->count));
    bad |= put_ks(root, request);
    bad |= put(root, "recall", json_string(request->is_capped ? "capped" : "held"));
    bad |= put(root, "mask_valid", json_boolean(request->masks_valid));
    bad |= put_number(root, "popularity", request->popularity);
    bad |= put_metrics(root, request, f);
    bad |= put_beyond(root, f);
    bad |= put_item_groups(root, subject, request, f);
    bad |= put_user_groups(root, subject, request, f);
    if (request->n_resamples > 0) bad |= put_bootstrap(root, request, f);
    if (subject->truth) bad |= put_truth(root, f);
    if (request->sweeps) bad |= put_sweep(root, f);
    if (!bad) return root;
    json_decref(root);
    return NULL;
}

/* findings.c - the findings of an evaluation as JSON (docs/metrics.md). */
#include <math.h>

#include "core/json.h"
#include "evaluate/assess.h"

static void put_number(json_t **object, const char *key, double value)
{
    cwi_json_set(object, key, cwi_json_number(value));
}

static json_t *list_ks(const cwi_request *request)
{
    json_t *list = json_array();
    for (int32_t j = 0; j < request->n_ks; j++) cwi_json_add(&list, json_integer(request->k[j]));
    return list;
}

static bool is_known(const cwi_findings *f, int metric)
{
    return cwi_metric_is_known(metric, f->audience.exposure);
}

/* What user number r of the audience brings to the metrics at the K in place j. */
static const cwi_share *shares_of(const cwi_request *request, const cwi_findings *f, int32_t r,
                                  int32_t j)
{
    return f->share + ((int64_t)r * request->n_ks + j) * CWI_N_METRICS;
}

static json_t *report_metrics(const cwi_request *request, const cwi_findings *f)
{
    char key[CWI_METRIC_KEY_BYTES];
    double value[CWI_N_METRICS];
    json_t *metrics = json_object();
    for (int32_t j = 0; j < request->n_ks; j++) {
        cwi_share sum[CWI_N_METRICS] = {{0}};
        for (int32_t r = 0; r < f->audience.n; r++)
            cwi_shares_add(sum, shares_of(request, f, r, j));
        cwi_audience_value(&f->audience, sum, value);
        for (int m = 0; m < CWI_N_METRICS; m++)
            if (is_known(f, m))
                put_number(&metrics, cwi_metric_key(m, request->k[j], key), value[m]);
    }
    return metrics;
}

static json_t *report_bootstrap(const cwi_request *request, const cwi_findings *f)
{
    char key[CWI_METRIC_KEY_BYTES];
    json_t *object = json_pack("{s:I}", "resamples", (json_int_t)request->n_resamples);
    for (int32_t j = 0; j < request->n_ks; j++)
        for (int m = 0; m < CWI_N_METRICS; m++) {
            if (!is_known(f, m)) continue;
            const cwi_interval *interval = &f->interval[j * CWI_N_METRICS + m];
            cwi_json_set(&object, cwi_metric_key(m, request->k[j], key),
                         json_pack("[o, o]", cwi_json_number(interval->low),
                                   cwi_json_number(interval->high)));
        }
    return object;
}

static json_t *report_beyond(const cwi_findings *f)
{
    json_t *object = json_object();
#define X(name) put_number(&object, #name, f->beyond.name);
    CWI_BEYOND_MAP(X)
#undef X
    return object;
}

/* How many ids a group has, which is returned, of which degrees, and its share of all of them. */
static int64_t put_members(json_t **object, const char *key, const uint8_t *group, int32_t wanted,
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
    cwi_json_set(object, key, json_integer(members));
    cwi_json_set(object, "degree_from", members ? json_integer(low) : json_null());
    cwi_json_set(object, "degree_to", members ? json_integer(high) : json_null());
    put_number(object, "train_share", total > 0 ? sum / total : (double)NAN);
    return members;
}

static double held_share(const cwi_subject *subject, const cwi_findings *f, int32_t group)
{
    const cwi_pairs *held = subject->held;
    int64_t count = 0;
    for (int64_t k = 0; k < held->count; k++) count += f->item_group[held->item[k]] == group;
    return held->count > 0 ? (double)count / (double)held->count : (double)NAN;
}

/* Is it told of groups of items?  How many of the places a group should have is not known. */
static bool is_of_items(const cwi_findings *f, int metric)
{
    return cwi_metric_table[metric].place >= CW_METRIC_COMPARED ||
           (cwi_metric_pooling[metric] == CWI_POOL_RATIO && is_known(f, metric));
}

static json_t *item_group(const cwi_subject *subject, const cwi_request *request,
                          const cwi_findings *f, int32_t g)
{
    const cwi_group_tally *tally = &f->group[g];
    json_t *object = json_pack("{s:i}", "group", g);
    double listed = cwi_mean_value(&tally->listed);

    put_members(&object, "items", f->item_group, g, subject->degree, subject->ranker->n_items);
    put_number(&object, "held_share", held_share(subject, f, g));
    put_number(&object, "recommended_share", listed / request->k[0]);
    put_number(&object, "recommended", listed);
    put_number(&object, "hits", cwi_mean_value(&tally->hits));
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (is_of_items(f, m))
            put_number(&object, cwi_metric_table[m].name, cwi_share_value(tally->sum[m]));
    return object;
}

static json_t *user_group(const cwi_subject *subject, const cwi_request *request,
                          const cwi_findings *f, int32_t g)
{
    json_t *object = json_pack("{s:i}", "group", g);
    cwi_share sum[CWI_N_METRICS] = {{0}};
    int64_t evaluated = 0;

    for (int32_t r = 0; r < f->audience.n; r++) {
        if (f->user_group[f->audience.users[r]] != g) continue;
        evaluated++;
        cwi_shares_add(sum, shares_of(request, f, r, 0));
    }
    int64_t members = put_members(&object, "users", f->user_group, g, subject->user_degree,
                                  subject->ranker->n_users);
    cwi_shares_add_absent(sum, subject->exposure, members - evaluated);
    cwi_json_set(&object, "evaluated", json_integer(evaluated));
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (is_known(f, m)) put_number(&object, cwi_metric_table[m].name, cwi_share_value(sum[m]));
    return object;
}

typedef json_t *(*group_fn)(const cwi_subject *subject, const cwi_request *request,
                            const cwi_findings *f, int32_t g);

static json_t *list_groups(const cwi_subject *subject, const cwi_request *request,
                           const cwi_findings *f, group_fn report)
{
    json_t *list = json_array();
    for (int32_t g = 0; g < request->n_groups; g++)
        cwi_json_add(&list, report(subject, request, f, g));
    return list;
}

static json_t *report_truth(const cwi_findings *f)
{
    const cwi_agreement *agreement = &f->agreement;
    json_t *object = json_pack("{s:I, s:I}", "users", (json_int_t)agreement->users,
                               "items_compared", (json_int_t)agreement->items);
    for (int what = 0; what < CWI_N_AGREEMENTS; what++)
        cwi_json_set(&object, cwi_agreement_name[what],
                     json_pack("{s:o, s:o}", "mean", cwi_json_number(agreement->mean[what]),
                               "error", cwi_json_number(agreement->error[what])));
    put_number(&object, "propensity_percentile", f->propensity_percentile);
    put_number(&object, "propensity_correlation", f->propensity_correlation);
    return object;
}

static json_t *sweep_point(const cwi_findings *f, const cwi_sweep_point *point)
{
    json_t *object = json_object();
    put_number(&object, "popularity", point->dial);
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (is_known(f, m)) put_number(&object, cwi_metric_table[m].name, point->value[m]);
    return object;
}

static json_t *list_sweep(const cwi_findings *f)
{
    json_t *list = json_array();
    for (int32_t g = 0; g < f->sweep.count; g++)
        cwi_json_add(&list, sweep_point(f, &f->sweep.point[g]));
    return list;
}

static void put_exposure(json_t **root, const cwi_request *request, const cwi_exposure *exposure)
{
    const char *words = exposure->is_uniform ? "uniform" : exposure->hash[0] ? "file" : "power";
    cwi_json_set(root, "exposure", json_string(words));
    if (exposure->hash[0]) cwi_json_set(root, "propensities", json_string(exposure->hash));
    if (!exposure->weight) return;
    if (!exposure->hash[0]) put_number(root, "propensity_power", request->propensity_power);
    put_number(root, "propensity_min", request->propensity_min);
}

json_t *cwi_findings_report(const cwi_subject *subject, const cwi_request *request,
                            const cwi_findings *f)
{
    static const char *const split[] = {"test", "valid", "uniform"};
    json_t *root = json_object();

    cwi_json_set(&root, "split", json_string(split[request->split]));
    cwi_json_set(&root, "users", json_integer(f->audience.n));
    cwi_json_set(&root, "rows", json_integer(subject->held->count));
    cwi_json_set(&root, "k", list_ks(request));
    cwi_json_set(&root, "recall", json_string(request->is_capped ? "capped" : "held"));
    cwi_json_set(&root, "mask_valid", json_boolean(request->masks_valid));
    put_number(&root, "popularity", request->popularity);
    if (subject->exposure) put_exposure(&root, request, subject->exposure);
    cwi_json_set(&root, "metrics", report_metrics(request, f));
    cwi_json_set(&root, "beyond", report_beyond(f));
    cwi_json_set(&root, "groups", list_groups(subject, request, f, item_group));
    cwi_json_set(&root, "user_groups", list_groups(subject, request, f, user_group));
    if (request->n_resamples > 0) cwi_json_set(&root, "bootstrap", report_bootstrap(request, f));
    if (subject->truth) cwi_json_set(&root, "truth", report_truth(f));
    if (request->sweeps) cwi_json_set(&root, "sweep", list_sweep(f));
    return root;
}

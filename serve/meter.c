/* meter.c - what happened: counters, and the text that Prometheus reads. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static const double bounds[N_BUCKETS - 1] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                             0.025,  0.05,    0.1,    0.25,  1,      5};

void meter_add(meter *m, int which, int status, double seconds)
{
    int r = which < 0 ? MAX_ROUTES - 1 : which, bucket = 0;
    while (bucket < N_BUCKETS - 1 && seconds > bounds[bucket]) bucket++;
    atomic_fetch_add_explicit(&m->requests[r][status / 100 % N_CLASSES], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->bucket[r][bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->micros[r], llround(1e6 * seconds), memory_order_relaxed);
}

/* ---- as text ---------------------------------------------------------------------- */

static void head(draft *t, const char *name, const char *kind, const char *help)
{
    draft_print(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static const char *route_name(int r)
{
    return r == MAX_ROUTES - 1 ? "none" : routes[r].name;
}

static bool is_route(int r, int n)
{
    return r < n || r == MAX_ROUTES - 1;
}

static void print_requests(draft *t, const meter *m, int n)
{
    head(t, "crosswise_requests_total", "counter", "Requests by route and hundreds of the status.");
    for (int r = 0; r < MAX_ROUTES; r++)
        for (int s = 2; is_route(r, n) && s < N_CLASSES; s++)
            draft_print(t, "crosswise_requests_total{route=\"%s\",status=\"%dxx\"} %lld\n",
                        route_name(r), s, atomic_load(&m->requests[r][s]));
}

static void print_latency(draft *t, const meter *m, int n)
{
    static const char name[] = "crosswise_request_seconds";
    head(t, name, "histogram", "From the whole request to the reply, without the network.");
    for (int r = 0; r < MAX_ROUTES; r++) {
        long long sum = 0;
        if (!is_route(r, n)) continue;
        for (int b = 0; b < N_BUCKETS; b++) {
            sum += atomic_load(&m->bucket[r][b]);
            draft_print(t, "%s_bucket{route=\"%s\",le=\"", name, route_name(r));
            draft_print(t, b < N_BUCKETS - 1 ? "%g" : "+Inf", b < N_BUCKETS - 1 ? bounds[b] : 0);
            draft_print(t, "\"} %lld\n", sum);
        }
        draft_print(t, "%s_sum{route=\"%s\"} %.6f\n%s_count{route=\"%s\"} %lld\n", name,
                    route_name(r), 1e-6 * (double)atomic_load(&m->micros[r]), name, route_name(r),
                    sum);
    }
}

/* What a number of each model is called, and how it is had. */
typedef struct gauge {
    const char *name, *kind, *help;
    double (*value)(const shelf *s, volume *v);
} gauge;

static double age_of(const shelf *s, volume *v)
{
    (void)s;
    return difftime(time(NULL), v->loaded_at);
}

static double mean_of(const shelf *s, volume *v)
{
    (void)s;
    long long lists = atomic_load(&v->lists);
    return lists > 0 ? 1e-3 * (double)atomic_load(&v->mean_rows) / (double)lists : 0;
}

static double coverage_of(const shelf *s, volume *v)
{
    (void)s;
    return v->n_items > 0 ? (double)atomic_load(&v->n_served) / v->n_items : 0;
}

static double lists_of(const shelf *s, volume *v)
{
    (void)s;
    return (double)atomic_load(&v->lists);
}

static double log_mean_of(const shelf *s, volume *v)
{
    (void)s;
    return v->log_mean;
}

static double swaps_of(const shelf *s, volume *v)
{
    (void)v;
    return (double)atomic_load(&s->swaps);
}

static double refusals_of(const shelf *s, volume *v)
{
    (void)v;
    return (double)atomic_load(&s->refusals);
}

static const gauge gauges[] = {
    {"crosswise_model_age_seconds", "gauge", "Since the model was read.", age_of},
    {"crosswise_served_arp", "gauge",
     "Mean train rows of the items of a list, on average over the lists of this model.", mean_of},
    {"crosswise_served_coverage", "gauge", "Share of the catalogue that was in a list.",
     coverage_of},
    {"crosswise_served_lists", "gauge", "Lists of this model.", lists_of},
    {"crosswise_log_arp", "gauge", "Mean train rows of the item of a row of the log.", log_mean_of},
    {"crosswise_model_swaps_total", "counter", "New models that took the place of another.",
     swaps_of},
    {"crosswise_model_refusals_total", "counter", "Model files that could not be read.",
     refusals_of}};

static void print_models(draft *t, server *s)
{
    static const char *const names[N_SHELVES] = {"main", "beside"};
    volume *v[N_SHELVES];
    for (int k = 0; k < N_SHELVES; k++) v[k] = shelf_take(&s->shelf[k]);
    head(t, "crosswise_model_info", "gauge", "1, with the hash of the model.");
    for (int k = 0; k < N_SHELVES; k++)
        if (v[k])
            draft_print(
                t,
                "crosswise_model_info{model=\"%s\",hash=\"%s\",method=\"%s\",backbone=\"%s\"} "
                "1\n",
                names[k], v[k]->hash, v[k]->method, v[k]->backbone);
    for (size_t g = 0; g < sizeof gauges / sizeof gauges[0]; g++) {
        head(t, gauges[g].name, gauges[g].kind, gauges[g].help);
        for (int k = 0; k < N_SHELVES; k++)
            if (v[k])
                draft_print(t, "%s{model=\"%s\"} %.10g\n", gauges[g].name, names[k],
                            gauges[g].value(&s->shelf[k], v[k]));
    }
    for (int k = 0; k < N_SHELVES; k++) volume_give_back(v[k]);
}

static void print_single(draft *t, const char *name, const char *kind, const char *help,
                         const atomic_llong *number)
{
    head(t, name, kind, help);
    draft_print(t, "%s %lld\n", name, atomic_load(number));
}

void answer_metrics(call *c)
{
    meter *m = &c->s->meter;
    draft *t = &c->draft;
    int n = 0;
    while (routes[n].method) n++;
    print_requests(t, m, n);
    print_latency(t, m, n);
    print_models(t, c->s);
    print_single(t, "crosswise_connections", "gauge", "Open connections.", &m->connections);
    print_single(t, "crosswise_slow_connections_closed_total", "counter",
                 "Connections closed because a request or its reply took too long.",
                 &m->closed_slow);
    print_single(t, "crosswise_refused_clients_total", "counter",
                 "Requests refused because their client asked too often.", &m->refused_clients);
    print_single(t, "crosswise_long_requests_waiting", "gauge",
                 "Requests that take long and are put off.", &m->long_waiting);
    print_single(t, "crosswise_reply_bytes", "gauge", "Replies that clients have not taken yet.",
                 &m->reply_bytes);
    print_single(t, "crosswise_feedback_rows_total", "counter", "Interactions kept.",
                 &m->feedback_rows);
    say_draft(c->out, c->route->reply, t);
}

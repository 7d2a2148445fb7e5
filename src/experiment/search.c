/* search.c - how a row finds its setting: rungs, whole runs, seeds. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/mem.h"
#include "experiment/experiment.h"
#include "experiment/race.h"

static bool is_finished(const cwi_run *run)
{
    return run->state == CWI_RUN_DONE || run->state == CWI_RUN_FAILED;
}

static int last_phase(const cwi_search *s)
{
    return s->row->tuning.n_rungs + 1;
}

/* Ask for the runs of the phase: one per candidate in the race, or one per seed. */
static cw_status ask(cw_context *ctx, cwi_experiment *e, cwi_search *s)
{
    const cwi_plan_row *row = s->row;
    bool is_last = s->phase == last_phase(s);
    size_t n = is_last ? json_array_size(row->seeds) : s->n_alive;
    int64_t epochs = s->phase < row->tuning.n_rungs ? row->tuning.rungs[s->phase] : 0;

    cwi_free(s->current);
    s->n_current = 0;
    s->current = cwi_alloc(ctx, n, sizeof *s->current);
    if (!s->current) return CW_NO_MEMORY;
    for (; s->n_current < n; s->n_current++) {
        size_t k = s->n_current;
        const json_t *candidate = json_array_get(s->candidates, is_last ? s->chosen : s->alive[k]);
        int64_t seed =
            is_last ? json_integer_value(json_array_get(row->seeds, k)) : row->tuning.seed;
        CW_PASS(cwi_experiment_ask(ctx, e, row, candidate, seed, epochs, &s->current[k]));
    }
    return CW_OK;
}

/* The best of the current runs that is not among the `taken` ones: the first of equals. */
static size_t find_best(const cwi_search *s, const bool *taken)
{
    size_t best = SIZE_MAX;
    double value = 0;
    for (size_t k = 0; k < s->n_current; k++) {
        double valid = cwi_record_valid(s->current[k]->record);
        if (taken[k] || s->current[k]->state != CWI_RUN_DONE || isnan(valid)) continue;
        if (best != SIZE_MAX && !(valid > value)) continue;
        best = k;
        value = valid;
    }
    return best;
}

/* A setting that is out of the race needs no checkpoint, unless another row is still at it. */
static void drop_checkpoint(cw_context *ctx, const cwi_experiment *e, const cwi_run *run)
{
    for (size_t k = 0; k < e->n_runs; k++)
        if (strcmp(e->runs[k]->checkpoint, run->checkpoint) == 0 && !is_finished(e->runs[k]))
            return;
    char *path = cwi_runstore_path(ctx, &e->store, "runs/%s.checkpoint", run->checkpoint);
    if (path) (void)unlink(path);
    cwi_free(path);
}

/* Keep the best n candidates in the race. */
static cw_status reduce(cw_context *ctx, const cwi_experiment *e, cwi_search *s, size_t n)
{
    size_t kept = 0;
    bool *taken = cwi_alloc_zero(ctx, s->n_current, sizeof *taken);
    if (!taken) return CW_NO_MEMORY;
    for (size_t k = 0; k < n; k++) {
        size_t best = find_best(s, taken);
        if (best != SIZE_MAX) taken[best] = true;
    }
    for (size_t k = 0; k < s->n_current; k++) {
        if (taken[k])
            s->alive[kept++] = s->alive[k];
        else if (s->current[k]->is_early)
            drop_checkpoint(ctx, e, s->current[k]);
    }
    s->n_alive = kept;
    cwi_free(taken);
    return CW_OK;
}

static cw_status remember_tried(cw_context *ctx, cwi_search *s)
{
    CW_PASS(
        cwi_grow(ctx, &s->tried, &s->tried_capacity, s->n_tried + s->n_current, sizeof *s->tried));
    for (size_t k = 0; k < s->n_current; k++) s->tried[s->n_tried++] = s->current[k];
    return CW_OK;
}

/* What the race knows of the run that is done. */
static cw_status take_record(cw_context *ctx, cwi_search *s)
{
    const cwi_run *run = s->current[0];
    double valid = cwi_record_valid(run->record);
    bool is_good = run->state == CWI_RUN_DONE;
    json_t *record = json_pack("{s:I, s:s, s:s, s:s, s:O, s:O*, s:o}", "trial",
                               (json_int_t)s->alive[0], "method", s->row->method, "backbone",
                               s->row->backbone, "origin", s->alive[0] == 0 ? "default" : "drawn",
                               "settings", json_array_get(s->candidates, s->alive[0]), "options",
                               json_object_get(run->record, "options"), "value",
                               is_good ? cwi_json_number(valid) : json_null());
    return json_array_append_new(s->records, record) == 0 ? CW_OK : cwi_no_memory(ctx);
}

/* One more setting for the race; NULL when it has had all of them. */
static cw_status propose(cw_context *ctx, const cwi_search *s, json_t **out)
{
    cwi_race race = {.seed = (uint64_t)s->row->tuning.seed,
                     .family = {{s->row->method, s->row->backbone}},
                     .n_families = 1,
                     .fixed = s->row->options};
    *out = NULL;
    if ((int64_t)json_array_size(s->records) >= s->row->tuning.draws) return CW_OK;
    return cwi_race_propose(ctx, &race, s->records, out);
}

/* A trial of the race is done: the next, or the seeds of the best. */
static cw_status turn_race(cw_context *ctx, cwi_experiment *e, cwi_search *s)
{
    json_t *next;
    CW_PASS(remember_tried(ctx, s));
    CW_PASS(take_record(ctx, s));
    CW_PASS(propose(ctx, s, &next));
    if (next) {
        s->alive[0] = json_array_size(s->candidates);
        int bad = json_array_append(s->candidates, json_object_get(next, "settings"));
        json_decref(next);
        return bad ? cwi_no_memory(ctx) : ask(ctx, e, s);
    }
    const json_t *best = cwi_race_best(s->records, 0, NULL, NULL);
    if (!best) {
        s->n_current = 0;
        s->is_over = true;
        return CW_OK;
    }
    s->chosen = (size_t)cwi_json_get_number(best, "trial");
    s->phase = last_phase(s);
    return ask(ctx, e, s);
}

/* All runs of the phase are finished: on to the next. */
static cw_status turn(cw_context *ctx, cwi_experiment *e, cwi_search *s)
{
    bool was_whole = s->phase == s->row->tuning.n_rungs;
    if (s->phase == last_phase(s)) {
        s->is_over = true;
        return CW_OK;
    }
    if (s->row->tuning.kind == CWI_TUNE_RACE) return turn_race(ctx, e, s);
    CW_PASS(remember_tried(ctx, s));
    CW_PASS(reduce(ctx, e, s, was_whole ? 1 : cwi_survivors(s->n_alive, s->row->tuning.keep)));
    if (s->n_alive == 0) {
        s->n_current = 0;
        s->is_over = true;
        return CW_OK;
    }
    if (s->n_alive == 1) s->chosen = s->alive[0];
    s->phase = s->n_alive == 1 ? last_phase(s) : s->phase + 1;
    return ask(ctx, e, s);
}

cw_status cwi_search_begin(cw_context *ctx, cwi_experiment *e, cwi_search *search,
                           const cwi_plan_row *row)
{
    size_t n = json_array_size(row->candidates);
    *search = (cwi_search){.row = row, .n_alive = n, .chosen = SIZE_MAX};
    search->candidates = cwi_json_copy(row->candidates);
    search->records = json_array();
    search->alive = cwi_alloc(ctx, n, sizeof *search->alive);
    if (!search->alive) return CW_NO_MEMORY;
    if (!search->candidates || !search->records) return cwi_no_memory(ctx);
    for (size_t k = 0; k < n; k++) search->alive[k] = k;
    if (n == 1 && row->tuning.kind != CWI_TUNE_RACE) {
        search->chosen = 0;
        search->phase = last_phase(search);
    }
    return ask(ctx, e, search);
}

cw_status cwi_search_advance(cw_context *ctx, cwi_experiment *e, cwi_search *search)
{
    while (!search->is_over) {
        for (size_t k = 0; k < search->n_current; k++)
            if (!is_finished(search->current[k])) return CW_OK;
        CW_PASS(turn(ctx, e, search));
    }
    return CW_OK;
}

int64_t cwi_search_done(const cwi_search *search)
{
    int64_t done = (int64_t)search->n_tried, all = cwi_row_runs(search->row);
    if (search->is_over) return all;
    for (size_t k = 0; k < search->n_current; k++) done += is_finished(search->current[k]);
    return done < all ? done : all - 1; /* the winner's run may count as tried and as a seed's */
}

void cwi_search_clear(cwi_search *search)
{
    json_decref(search->candidates);
    json_decref(search->records);
    cwi_free(search->alive);
    cwi_free(search->current);
    cwi_free(search->tried);
    *search = (cwi_search){0};
}

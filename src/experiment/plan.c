/* plan.c - from the JSON of a plan to datasets, tables and rows. */
#include "experiment/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
#include "experiment/plan_fields.h"
#include "registry/registry.h"

/* What holds at one level of the plan: the whole of it, a table, a method of a table. */
typedef struct scope {
    json_t *options, *grid, *seeds;
    cwi_tuning tuning;
} scope;

/* A method on a backbone that takes part in a table. */
typedef struct contender {
    cwi_place place;
    const char *method, *backbone;
    scope scope;
} contender;

typedef struct reader {
    cw_context *ctx;
    cwi_plan *plan;
    cwi_option_check check;
    contender *contenders; /* of the table that is being read */
    size_t n_contenders, contender_capacity;
    json_t *idle; /* options said for several methods that no row takes so far, and where */
} reader;

/* ---- levels ----------------------------------------------------------------------- */

static void scope_clear(scope *s)
{
    json_decref(s->options);
    json_decref(s->grid);
    json_decref(s->seeds);
    *s = (scope){0};
}

/* A copy of the level around it, changed by what this one says; to be cleared also after a
 * failure. */
static cw_status scope_read(reader *r, const cwi_place *at, const scope *outer, scope *out)
{
    cwi_place grid = cwi_place_field(at, "grid");
    *out = (scope){.options = cwi_json_copy(outer->options),
                   .grid = cwi_json_copy(outer->grid),
                   .seeds = json_incref(outer->seeds),
                   .tuning = outer->tuning};
    if (!out->options || !out->grid) return cwi_no_memory(r->ctx);
    CW_PASS(cwi_plan_read_options(r->ctx, cwi_place_field(at, "options"), &r->check, false,
                                  out->options));
    if (json_is_null(grid.value))
        json_object_clear(out->grid); /* nothing to tune here */
    else
        CW_PASS(cwi_plan_read_options(r->ctx, grid, &r->check, true, out->grid));
    CW_PASS(cwi_plan_read_tuning(r->ctx, cwi_place_field(at, "tune"), &out->tuning));
    return cwi_plan_read_seeds(r->ctx, cwi_place_field(at, "seeds"), &out->seeds);
}

/* ---- options that not all methods take ------------------------------------------------ */

/* Options of the plan or of a table: those methods that take them shall have them. */
static cw_status note_wide(reader *r, const cwi_place at)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)at.value, name, value)
    {
        cwi_place here = cwi_place_field(&at, name);
        if (!json_is_null(value) && cw_train_option_owner(name, 0) &&
            json_object_set_new(r->idle, name, cwi_json_string(here.text)) != 0)
            return cwi_no_memory(r->ctx);
    }
    return CW_OK;
}

/* scope_read of the plan or of a table. */
static cw_status read_wide(reader *r, const cwi_place *at, const scope *outer, scope *out)
{
    CW_PASS(scope_read(r, at, outer, out));
    CW_PASS(note_wide(r, cwi_place_field(at, "options")));
    return note_wide(r, cwi_place_field(at, "grid"));
}

/* A copy of the options without those that are for other methods or backbones.  What `own` says is
 * for this method alone, but maybe not for each of its backbones. */
static json_t *keep_taken(const contender *c, const json_t *options, const json_t *own,
                          const json_t *backbones)
{
    const char *name;
    void *next;
    json_t *value, *out = cwi_json_copy(options);
    json_object_foreach_safe(out, next, name, value)
    {
        bool is_wide = !json_object_get(own, name);
        for (size_t b = 0; b < json_array_size(backbones) && !is_wide; b++)
            is_wide =
                cw_method_takes(c->method, json_string_value(json_array_get(backbones, b)), name);
        if (is_wide && !cw_method_takes(c->method, c->backbone, name))
            (void)json_object_del(out, name);
    }
    return out;
}

/* The contenders of a table are known, and its variations. */
static void forget_taken(reader *r)
{
    const char *name;
    void *next;
    json_t *where;
    json_object_foreach_safe(r->idle, next, name, where)
    {
        size_t c = 0;
        while (c < r->n_contenders &&
               !cw_method_takes(r->contenders[c].method, r->contenders[c].backbone, name))
            c++;
        if (c < r->n_contenders) (void)json_object_del(r->idle, name);
    }
}

static cw_status refuse_idle(reader *r)
{
    const char *name;
    json_t *where;
    if (r->check.skips_unknown) return CW_OK; /* who takes them may have been left out */
    json_object_foreach(r->idle, name, where)
    {
        cwi_place place;
        cwi_copy_text(place.text, sizeof place.text, json_string_value(where));
        return cwi_plan_bad(r->ctx, &place, "no method of the plan takes it; %s does",
                            cw_train_option_owner(name, 0));
    }
    return CW_OK;
}

/* ---- methods and backbones --------------------------------------------------------- */

/* backbones: all that the plan has for the method, or NULL. */
static cw_status add_contender(reader *r, const cwi_place *at, const char *method,
                               const char *backbone, const scope *s, const json_t *backbones)
{
    const cwi_method *found;
    const cwi_backbone *on;
    cw_status status = cwi_find_pair(r->ctx, method, backbone, &found, &on);
    if (status == CW_BAD_ARG && r->check.skips_unknown) {
        cwi_log(r->ctx, CW_LOG_INFO, "plan: %s: left out: %s", at->text, r->ctx->error);
        cwi_begin(r->ctx);
        return CW_OK;
    }
    CW_PASS(cwi_plan_blame(r->ctx, at, status));
    CW_PASS(cwi_grow(r->ctx, &r->contenders, &r->contender_capacity, r->n_contenders + 1,
                     sizeof *r->contenders));
    contender *c = &r->contenders[r->n_contenders++];
    *c = (contender){.place = *at, .method = found->name, .backbone = on->name};
    c->scope = (scope){keep_taken(c, s->options, json_object_get(at->value, "options"), backbones),
                       keep_taken(c, s->grid, json_object_get(at->value, "grid"), backbones),
                       json_incref(s->seeds), s->tuning};
    return c->scope.options && c->scope.grid ? CW_OK : cwi_no_memory(r->ctx);
}

/* "cpr", or {"method": "cpr", "backbones": [...], "options": ..., "grid": ...} */
static cw_status read_method(reader *r, const cwi_place *at, const json_t *backbones,
                             const scope *outer)
{
    cw_status status;
    scope s = {0};
    bool is_name = json_is_string(at->value);
    const char *method =
        json_string_value(is_name ? at->value : json_object_get(at->value, "method"));
    cwi_place own = cwi_place_field(at, "backbones");

    if (!is_name)
        CW_PASS(cwi_plan_check_fields(r->ctx, at, "method|backbones|options|grid|tune|seeds"));
    if (!method) return cwi_plan_bad(r->ctx, at, "it has no \"method\"");
    CW_PASS(cwi_plan_check_list(r->ctx, &own, true));
    if (own.value) backbones = own.value;
    if (r->check.skips_unknown && !cwi_find_method(method)) {
        cwi_log(r->ctx, CW_LOG_INFO, "plan: %s: this version has no method '%s'; left out",
                at->text, method);
        return CW_OK;
    }
    CW_TRY(scope_read(r, at, outer, &s));
    if (!backbones) CW_TRY(add_contender(r, at, method, "", &s, NULL));
    for (size_t b = 0; b < json_array_size(backbones); b++)
        CW_TRY(add_contender(r, at, method, json_string_value(json_array_get(backbones, b)), &s,
                             backbones));
done:
    scope_clear(&s);
    return status;
}

static cw_status read_methods(reader *r, const cwi_place *table, const scope *outer)
{
    cwi_place backbones = cwi_place_field(table, "backbones");
    cwi_place methods = cwi_place_field(table, "methods");
    CW_PASS(cwi_plan_check_list(r->ctx, &backbones, true));
    if (!methods.value) return cwi_plan_bad(r->ctx, &methods, "it is missing: a list of methods");
    CW_PASS(cwi_plan_check_list(r->ctx, &methods, false));
    for (size_t m = 0; m < json_array_size(methods.value); m++) {
        cwi_place at = cwi_place_index(&methods, m);
        CW_PASS(read_method(r, &at, backbones.value, outer));
    }
    return CW_OK;
}

/* ---- rows ---------------------------------------------------------------------------- */

/* Would training take the options of this candidate? */
static cw_status check_candidate(reader *r, const cwi_place *at, const cwi_plan_row *row,
                                 const json_t *candidate)
{
    cw_status status;
    cw_options *given = NULL, *settled = NULL;
    const cwi_method *method;
    const cwi_backbone *backbone;
    char metric[CWI_METRIC_BYTES];
    int32_t k;

    CW_TRY(cwi_row_options(r->ctx, row, candidate, 0, 0, &given));
    CW_TRY(cwi_train_settle(r->ctx, given, NULL, &settled, &method, &backbone));
    CW_TRY(cwi_metric_choose(r->ctx, settled, metric, &k));
    if (row->tuning.n_rungs > 0 &&
        row->tuning.rungs[row->tuning.n_rungs - 1] >= cwi_options_integer(settled, "epochs"))
        status = cwi_fail(r->ctx, CW_BAD_ARG, "the last rung must be below --epochs %s",
                          cwi_options_text(settled, "epochs"));
done:
    cw_options_free(given);
    cw_options_free(settled);
    return cwi_plan_blame(r->ctx, at, status);
}

static cw_status add_row(reader *r, const contender *c, size_t set, json_t *varied)
{
    cwi_plan *plan = r->plan;
    CW_PASS(
        cwi_grow(r->ctx, &plan->rows, &plan->row_capacity, plan->n_rows + 1, sizeof *plan->rows));
    cwi_plan_row *row = &plan->rows[plan->n_rows++];
    *row = (cwi_plan_row){.set = set,
                          .method = c->method,
                          .backbone = c->backbone,
                          .options = cwi_json_copy(c->scope.options),
                          .varied = json_incref(varied),
                          .seeds = json_incref(c->scope.seeds),
                          .tuning = c->scope.tuning};
    if (!row->options || json_object_update(row->options, varied) != 0)
        return cwi_no_memory(r->ctx);
    if (row->tuning.kind == CWI_TUNE_RACE && json_object_size(c->scope.grid) > 0)
        return cwi_plan_bad(r->ctx, &c->place, "a race has ranges of its own; leave out \"grid\"");
    CW_PASS(cwi_plan_blame(r->ctx, &c->place,
                           cwi_candidates(r->ctx, c->scope.grid, &row->tuning, &row->candidates)));
    for (size_t k = 0; k < json_array_size(row->candidates); k++)
        CW_PASS(check_candidate(r, &c->place, row, json_array_get(row->candidates, k)));
    return CW_OK;
}

/* The settings as far as the contender takes them; those of which it takes less than all, once. */
static cw_status adapt(reader *r, const contender *c, const json_t *settings, json_t *out)
{
    for (size_t v = 0; v < json_array_size(settings); v++) {
        const json_t *setting = json_array_get(settings, v);
        json_t *taken = keep_taken(c, setting, NULL, NULL);
        bool is_less = taken && json_object_size(taken) < json_object_size(setting);
        int bad = is_less && cwi_json_has(out, taken) ? 0 : json_array_append(out, taken);
        json_decref(taken);
        if (bad) return cwi_no_memory(r->ctx);
    }
    return CW_OK;
}

/* Rows of one dataset with one training set. */
static cw_status add_rows(reader *r, const json_t *settings, size_t set)
{
    cw_status status = CW_OK;
    for (size_t c = 0; c < r->n_contenders && status == CW_OK; c++) {
        json_t *taken = json_array();
        status = taken ? adapt(r, &r->contenders[c], settings, taken) : cwi_no_memory(r->ctx);
        for (size_t v = 0; v < json_array_size(taken) && status == CW_OK; v++)
            status = add_row(r, &r->contenders[c], set, json_array_get(taken, v));
        json_decref(taken);
    }
    return status;
}

/* Every value of an object as a list; a new object. */
static json_t *with_lists(const json_t *given)
{
    const char *name;
    json_t *entry, *out = json_object();
    json_object_foreach((json_t *)given, name, entry)
    {
        json_t *list = json_is_array(entry) ? json_incref(entry) : json_pack("[O]", entry);
        cwi_json_set(&out, name, list);
    }
    return out;
}

/* One object of the field "vary": all combinations of its values. */
static cw_status read_variation(reader *r, const cwi_place at, json_t *out)
{
    cw_status status;
    const cwi_tuning all = {0};
    json_t *checked = json_object(), *settings = NULL;
    cwi_place lists = at;

    if (!json_is_object(at.value))
        CW_TRY(cwi_plan_bad(r->ctx, &at, "it must be an object of train options"));
    lists.value = with_lists(at.value);
    if (!lists.value || !checked) CW_TRY(cwi_no_memory(r->ctx));
    CW_TRY(cwi_plan_read_options(r->ctx, lists, &r->check, true, checked));
    CW_TRY(cwi_plan_blame(r->ctx, &at, cwi_candidates(r->ctx, checked, &all, &settings)));
    if (json_array_extend(out, settings) != 0) CW_TRY(cwi_no_memory(r->ctx));
    CW_TRY(note_wide(r, at));
done:
    if (lists.value != at.value) json_decref((json_t *)lists.value);
    json_decref(checked);
    json_decref(settings);
    return status;
}

/* The field "vary" as a list of settings; without it there is one, which changes nothing. */
static cw_status read_varied(reader *r, const cwi_place at, json_t **out)
{
    CW_PASS(cwi_plan_check_list(r->ctx, &at, false));
    *out = at.value ? json_array() : json_pack("[{}]");
    for (size_t v = 0; v < json_array_size(at.value) && *out; v++)
        CW_PASS(read_variation(r, cwi_place_index(&at, v), *out));
    return cwi_json_check(r->ctx, *out); /* the caller releases what there is */
}

/* ---- tables ------------------------------------------------------------------------------ */

static cw_status expand_table(reader *r, const cwi_place *at)
{
    cw_status status;
    json_t *settings = NULL;
    const json_t *datasets = json_object_get(r->plan->source, "datasets");
    cwi_place train_sets = cwi_place_field(at, "train_sets");
    size_t n_train_sets = train_sets.value ? json_array_size(train_sets.value) : 1;

    CW_TRY(cwi_plan_check_train_sets(r->ctx, &train_sets));
    CW_TRY(read_varied(r, cwi_place_field(at, "vary"), &settings));
    forget_taken(r);
    for (size_t d = 0; d < json_array_size(datasets); d++)
        for (size_t t = 0; t < n_train_sets; t++) {
            size_t set;
            CW_TRY(cwi_plan_find_set(r->ctx, r->plan, json_array_get(datasets, d),
                                     json_array_get(train_sets.value, t), &set));
            CW_TRY(add_rows(r, settings, set));
        }
done:
    json_decref(settings);
    return status;
}

static cw_status open_table(reader *r, const json_t *value, size_t number)
{
    cwi_plan *plan = r->plan;
    const char *title = json_string_value(json_object_get(value, "title"));
    const json_t *ours = json_object_get(value, "ours");
    CW_PASS(cwi_grow(r->ctx, &plan->tables, &plan->table_capacity, plan->n_tables + 1,
                     sizeof *plan->tables));
    cwi_plan_table *table = &plan->tables[plan->n_tables++];
    *table = (cwi_plan_table){.first_row = plan->n_rows};
    table->title = title ? cwi_strdup(r->ctx, title) : cwi_format(r->ctx, "Table %zu", number);
    table->ours = ours ? cwi_json_copy(ours) : json_pack("[s, s]", "cpr", "cpr-rand");
    table->by_backbone = json_array_size(json_object_get(value, "backbones")) > 1;
    if (!table->title) return CW_NO_MEMORY;
    return cwi_json_check(r->ctx, table->ours);
}

static void forget_contenders(reader *r)
{
    for (size_t c = 0; c < r->n_contenders; c++) scope_clear(&r->contenders[c].scope);
    r->n_contenders = 0;
}

static cw_status read_table(reader *r, const cwi_place *at, size_t number, const scope *outer)
{
    cw_status status;
    scope s = {0};
    cwi_place ours = cwi_place_field(at, "ours");

    CW_PASS(cwi_plan_check_fields(
        r->ctx, at, "title|about|methods|backbones|train_sets|vary|ours|options|grid|tune|seeds"));
    if (ours.value && !json_is_array(ours.value))
        return cwi_plan_bad(r->ctx, &ours, "it must be a list of methods");
    CW_TRY(read_wide(r, at, outer, &s));
    CW_TRY(open_table(r, at->value, number));
    CW_TRY(read_methods(r, at, &s));
    CW_TRY(expand_table(r, at));
    cwi_plan_table *table = &r->plan->tables[r->plan->n_tables - 1];
    table->n_rows = r->plan->n_rows - table->first_row;
done:
    forget_contenders(r);
    scope_clear(&s);
    return status;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static cw_status read_plan(reader *r)
{
    cw_status status;
    scope s = {0}, none = {.tuning = {.keep = 3}};
    const cwi_place top = {"", r->plan->source};
    cwi_place datasets = cwi_place_field(&top, "datasets"),
              tables = cwi_place_field(&top, "tables");

    none.options = json_object();
    none.grid = json_object();
    none.seeds = json_pack("[i]", 0);
    r->idle = json_object();
    if (!none.options || !none.grid || !none.seeds || !r->idle) CW_TRY(cwi_no_memory(r->ctx));
    CW_TRY(cwi_plan_check_fields(
        r->ctx, &top, "title|about|datasets|tables|options|grid|tune|seeds|skip_unknown"));
    r->check.skips_unknown = json_is_true(json_object_get(top.value, "skip_unknown"));
    CW_TRY(cwi_train_options(r->ctx, &r->check.probe));
    CW_TRY(read_wide(r, &top, &none, &s));
    CW_TRY(cwi_plan_check_datasets(r->ctx, &datasets));
    if (!tables.value) CW_TRY(cwi_plan_bad(r->ctx, &tables, "it is missing: a list of tables"));
    CW_TRY(cwi_plan_check_list(r->ctx, &tables, false));
    for (size_t t = 0; t < json_array_size(tables.value); t++) {
        cwi_place at = cwi_place_index(&tables, t);
        CW_TRY(read_table(r, &at, t + 1, &s));
    }
    status = r->plan->n_rows > 0 ? refuse_idle(r)
                                 : cwi_plan_bad(r->ctx, &tables, "nothing is left to run");
done:
    scope_clear(&none);
    scope_clear(&s);
    return status;
}

cw_status cwi_plan_parse(cw_context *ctx, const char *text, cwi_plan *out)
{
    reader r = {.ctx = ctx, .plan = out};

    *out = (cwi_plan){0};
    cw_status status = cwi_json_parse(ctx, "plan", text, strlen(text), &out->source);
    if (status == CW_OK) status = read_plan(&r);
    if (status == CW_OK) status = cwi_plan_load_sets(ctx, out);
    cw_options_free(r.check.probe);
    cwi_free(r.contenders);
    json_decref(r.idle);
    if (status != CW_OK) cwi_plan_clear(out);
    return status;
}

void cwi_plan_clear(cwi_plan *plan)
{
    for (size_t k = 0; k < plan->n_sets; k++) cwi_set_clear(&plan->sets[k]);
    for (size_t k = 0; k < plan->n_rows; k++) {
        json_decref(plan->rows[k].options);
        json_decref(plan->rows[k].varied);
        json_decref(plan->rows[k].candidates);
        json_decref(plan->rows[k].seeds);
    }
    for (size_t k = 0; k < plan->n_tables; k++) {
        cwi_free(plan->tables[k].title);
        json_decref(plan->tables[k].ours);
    }
    cwi_free(plan->sets);
    cwi_free(plan->rows);
    cwi_free(plan->tables);
    json_decref(plan->source);
    *plan = (cwi_plan){0};
}

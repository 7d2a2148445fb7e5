/* csv.c - results.csv: one line per run of a row, without times. */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "experiment/cells.h"
#include "experiment/experiment.h"

/* The columns before those of the metrics; some are keys of a row. */
static const char *const titles[] = {"table",    "dataset", "train_set", "method",
                                     "backbone", "setting", "phase",     "seed",
                                     "status",   "options", "epochs",    "best_epoch"};

static void add_number(json_t **cells, const json_t *value)
{
    char text[CWI_NUMBER_BYTES] = "";
    if (json_is_number(value)) (void)cwi_json_to_text(value, text, sizeof text);
    cwi_cell_add(cells, text);
}

/* Everything, and which metrics have columns: those that are always measured, or that a run has. */
typedef struct sheet {
    const json_t *results;
    bool shows[CWI_N_METRICS];
} sheet;

static void find_columns(sheet *s)
{
    const char *unused, *name;
    json_t *run, *value;
    for (int m = 0; m < CWI_N_METRICS; m++) s->shows[m] = cwi_metric_need[m] == CWI_NEED_NOTHING;
    json_object_foreach(json_object_get(s->results, "runs"), unused, run)
    {
        json_object_foreach(json_object_get(run, "valid"), name, value)
        {
            for (int m = 0; m < CWI_N_METRICS; m++) {
                size_t length = strlen(cwi_metric_table[m].name);
                s->shows[m] |=
                    strncmp(name, cwi_metric_table[m].name, length) == 0 && name[length] == '@';
            }
        }
    }
}

static void add_metrics(json_t **cells, const sheet *s, const json_t *run, const char *part,
                        const char *suffix)
{
    for (int m = 0; m < CWI_N_METRICS; m++) {
        char key[64];
        if (!s->shows[m]) continue;
        snprintf(key, sizeof key, "%s%s", cwi_metric_table[m].name, suffix);
        add_number(cells, json_object_get(json_object_get(run, part), key));
    }
}

static json_t *make_titles(const sheet *s)
{
    static const char *const parts[] = {"valid", "test"};
    json_t *cells = json_array();
    for (size_t k = 0; k < sizeof titles / sizeof titles[0]; k++) cwi_cell_add(&cells, titles[k]);
    for (size_t p = 0; p < 2; p++)
        for (int m = 0; m < CWI_N_METRICS; m++) {
            char title[64];
            if (!s->shows[m]) continue;
            snprintf(title, sizeof title, "%s_%s", parts[p], cwi_metric_table[m].name);
            cwi_cell_add(&cells, title);
        }
    cwi_cell_add(&cells, "metric");
    cwi_cell_add(&cells, "run");
    return cells;
}

/* The options that the plan sets or tunes, as the run had them; a new object. */
static json_t *options_of(const json_t *row, const json_t *run)
{
    const json_t *all = json_object_get(run, "options");
    json_t *out = json_object(), *unused;
    const char *name;
    json_object_foreach(json_object_get(row, "options"), name, unused)
        cwi_json_copy_keys(all, name, &out);
    json_object_foreach(json_object_get(row, "tuned"), name, unused)
        cwi_json_copy_keys(all, name, &out);
    return out;
}

/* One line. */
static json_t *make_line(const sheet *s, const json_t *table, const json_t *row, const char *name,
                         bool is_tuning)
{
    const json_t *run = json_object_get(json_object_get(s->results, "runs"), name);
    char text[CWI_CELL_BYTES];
    const char *metric = cwi_json_get_text(json_object_get(run, "options"), "metric");
    const char *at = strchr(metric, '@');
    json_t *cells = json_array(), *options = options_of(row, run);
    cwi_cell_add(&cells, cwi_json_get_text(table, "title"));
    for (size_t k = 0; k < 4; k++) cwi_cell_add(&cells, cwi_json_get_text(row, titles[k + 1]));
    cwi_cell_add(&cells, cwi_cell_settings(json_object_get(row, "varied"), text));
    cwi_cell_add(&cells, is_tuning ? "tuning" : "final");
    add_number(&cells, json_object_get(run, "seed"));
    cwi_cell_add(&cells, json_object_get(run, "error") ? "failed" : "done");
    cwi_json_add(&cells, options ? cwi_json_string(cwi_cell_settings(options, text)) : NULL);
    add_number(&cells, json_object_get(run, "epochs"));
    add_number(&cells, json_object_get(run, "best_epoch"));
    add_metrics(&cells, s, run, "valid", at ? at : "");
    add_metrics(&cells, s, is_tuning ? NULL : run, "test", at ? at : "");
    cwi_cell_add(&cells, metric);
    cwi_cell_add(&cells, name);
    json_decref(options);
    return cells;
}

static cw_status put_runs(cw_context *ctx, cwi_writer *out, const sheet *s, const json_t *table,
                          const json_t *row, const char *list)
{
    size_t index;
    json_t *name;
    json_array_foreach(json_object_get(row, list), index, name)
    {
        const char *text = json_string_value(name);
        json_t *cells = make_line(s, table, row, text, strcmp(list, "tuning") == 0);
        if (!cells) return cwi_no_memory(ctx);
        cwi_cells_csv(out, cells);
        json_decref(cells);
    }
    return CW_OK;
}

cw_status cwi_csv_write(cw_context *ctx, const cwi_experiment *e, const json_t *results)
{
    cw_status status;
    cwi_writer *out = NULL;
    size_t t, r;
    json_t *table, *row;
    sheet columns = {.results = results};
    find_columns(&columns);
    json_t *head = make_titles(&columns);
    status = cwi_json_check(ctx, head);
    if (status == CW_OK) status = cwi_writer_open_in(ctx, e->store.folder, "results.csv", &out);
    if (status == CW_OK) cwi_cells_csv(out, head);
    json_decref(head);
    json_array_foreach(json_object_get(results, "tables"), t, table)
        json_array_foreach(json_object_get(table, "rows"), r, row)
    {
        if (status == CW_OK) status = put_runs(ctx, out, &columns, table, row, "tuning");
        if (status == CW_OK) status = put_runs(ctx, out, &columns, table, row, "runs");
    }
    return cwi_writer_end(ctx, out, status);
}

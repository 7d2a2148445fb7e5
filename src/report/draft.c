/* draft.c - from the results of an experiment to the description of a page. */
#include "report/draft.h"

#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "experiment/cells.h"
#include "experiment/verdict.h"
#include "report/markup.h"
#include "report/published.h"

/* ---- is it one? ------------------------------------------------------------------------ */

static cw_status wrong(cw_context *ctx, const char *path, const char *what)
{
    return cwi_fail(ctx, CW_BAD_DATA, "%s: %s", path, what);
}

static bool is_row(const json_t *row)
{
    static const char *const texts[] = {"dataset", "train_set", "method", "backbone"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        if (!json_is_string(json_object_get(row, texts[k]))) return false;
    return json_is_object(json_object_get(row, "varied")) &&
           json_is_object(json_object_get(row, "mean")) &&
           json_is_array(json_object_get(row, "runs"));
}

static bool is_table(const json_t *table)
{
    const json_t *rows = json_object_get(table, "rows");
    bool good = json_is_array(rows) && json_is_array(json_object_get(table, "ours")) &&
                json_is_array(json_object_get(table, "tests"));
    for (size_t r = 0; r < json_array_size(rows) && good; r++)
        good = is_row(json_array_get(rows, r));
    return good;
}

cw_status cwi_draft_check(cw_context *ctx, const json_t *results, const char *path)
{
    const json_t *version = json_object_get(results, "version");
    char what[96];
    size_t index;
    json_t *entry;

    if (strcmp(cwi_json_get_text(results, "format"), "crosswise-experiment") != 0)
        return wrong(ctx, path, "these are no results of an experiment");
    if (json_integer_value(version) != 1)
        return wrong(ctx, path, "its version is not 1, the only one known here");
    if (!json_is_array(json_object_get(results, "datasets")) ||
        !json_is_object(json_object_get(results, "runs")) ||
        !json_is_array(json_object_get(results, "tables")))
        return wrong(ctx, path, "datasets, tables or runs are missing");
    json_array_foreach(json_object_get(results, "tables"), index, entry)
    {
        snprintf(what, sizeof what, "tables[%zu] is not as experiments write it", index);
        if (!is_table(entry)) return wrong(ctx, path, what);
    }
    json_array_foreach(json_object_get(results, "datasets"), index, entry)
    {
        snprintf(what, sizeof what, "datasets[%zu] is not as experiments write it", index);
        if (!json_is_object(json_object_get(entry, "description"))) return wrong(ctx, path, what);
    }
    return CW_OK;
}

/* ---- what the parts share ----------------------------------------------------------------- */

cw_status cwi_draft_add(const cwi_draft *d, json_t *section)
{
    return json_array_append_new(d->sections, section) == 0 ? CW_OK : cwi_no_memory(d->ctx);
}

/* A letter of a file name; '\0' for what has no place there. */
static char plain_letter(char letter)
{
    if (letter >= 'A' && letter <= 'Z') return (char)(letter - 'A' + 'a');
    bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    return is_plain || letter == '.' || letter == '-' ? letter : '\0';
}

/* Append the plain letters of a text behind a '-', everything between them as one '-'. */
static void add_word(char out[CWI_SECTION_BYTES], const char *text)
{
    size_t used = strlen(out), most = used + 33;
    bool has_gap = true;
    for (; *text && used < most && used < CWI_SECTION_BYTES - 3; text++) {
        char letter = plain_letter(*text);
        if (letter && has_gap) out[used++] = '-';
        if (letter) out[used++] = letter;
        has_gap = !letter;
    }
    out[used] = '\0';
}

void cwi_draft_name(const cwi_draft *d, const char *title, const char *dataset,
                    const char *train_set, const char *what, char out[CWI_SECTION_BYTES])
{
    snprintf(out, CWI_SECTION_BYTES, "%02zu", json_array_size(d->sections) + 1);
    add_word(out, title);
    add_word(out, dataset);
    add_word(out, train_set);
    add_word(out, what);
}

const json_t *cwi_draft_run(const cwi_draft *d, const json_t *row, size_t k)
{
    const json_t *names = json_object_get(row, "runs"), *runs = json_object_get(d->results, "runs");
    for (size_t n = 0; n < json_array_size(names); n++) {
        const char *name = json_string_value(json_array_get(names, n));
        const json_t *run = name ? json_object_get(runs, name) : NULL;
        if (run && !json_object_get(run, "error") && k-- == 0) return run;
    }
    return NULL;
}

/* ---- sections ----------------------------------------------------------------------------- */

/* The object of the plan's table with this title; NULL: none. */
static const json_t *find_plan_table(const cwi_draft *d, const char *title)
{
    const json_t *tables = json_object_get(json_object_get(d->results, "plan"), "tables");
    for (size_t t = 0; t < json_array_size(tables); t++)
        if (strcmp(cwi_json_get_text(json_array_get(tables, t), "title"), title) == 0)
            return json_array_get(tables, t);
    return NULL;
}

static const char *title_of(const json_t *table)
{
    const char *title = cwi_json_get_text(table, "title");
    return title[0] ? title : "Results";
}

/* Append a paragraph, if there is one. */
static void add_paragraph(char *text, size_t bytes, const char *paragraph)
{
    size_t used = strlen(text);
    if (paragraph[0]) snprintf(text + used, bytes - used, "%s%s", used ? "\n\n" : "", paragraph);
}

static cw_status judge(const cwi_draft *d, const json_t *table, char out[CWI_VERDICT_BYTES])
{
    const cwi_titles titles = {cwi_published_title, d->published};
    return cwi_verdict(d->ctx, d->results, table, &titles, out);
}

/* The verdict of the first table heads the page, those of the others their sections. */
static cw_status add_table(const cwi_draft *d, const json_t *table)
{
    static const char key[] =
        "Mean and standard deviation over the seeds on the test part. Bold: the best. Underlined: "
        "the best baseline. Stars: better than the best baseline in a paired t test, * p < 0.05, "
        "** p < 0.01, *** p < 0.001. Gain: of the best of ours over the best baseline, of means "
        "before rounding. ARP is the "
        "mean popularity of what is recommended; the lowest is set bold.";
    static const char paper[] = "Beside ours are the numbers that the paper printed.";
    char name[CWI_SECTION_BYTES], verdict[CWI_VERDICT_BYTES], text[CWI_VERDICT_BYTES + 2048] = "";
    char shortened[1024];
    json_t *layout = NULL;
    const json_t *plan = find_plan_table(d, cwi_json_get_text(table, "title"));
    const char *about = cwi_json_get_text(plan, "about");
    CW_PASS(judge(d, table, verdict));
    CW_PASS(cwi_layout_table(d, table, &layout));
    cwi_draft_name(d, title_of(table), "", "", "table", name);
    bool is_first = json_array_size(d->sections) == 0;
    add_paragraph(text, sizeof text, is_first ? "" : verdict);
    cwi_copy_text(shortened, sizeof shortened, about);
    add_paragraph(text, sizeof text, shortened);
    add_paragraph(text, sizeof text, is_first ? key : "");
    add_paragraph(text, sizeof text,
                  cwi_json_has_text(json_object_get(layout, "columns"), "paper") ? paper : "");
    CW_PASS(
        cwi_draft_add(d, json_pack("{s:s, s:s, s:o, s:o}", "name", name, "heading", title_of(table),
                                   "text", cwi_json_string(text), "table", layout)));
    return cwi_figures_table(d, table);
}

static json_t *data_row(const cwi_draft *d, const json_t *set)
{
    const json_t *about = json_object_get(set, "description");
    const json_t *degrees = json_object_get(about, "item_degrees");
    json_int_t users = json_integer_value(json_object_get(about, "users"));
    json_int_t items = json_integer_value(json_object_get(about, "items"));
    const char *paper = cwi_published_dataset(d->published, users, items);
    json_t *row = json_pack("[s, s, s, I, I]", cwi_json_get_text(set, "dataset"),
                            cwi_json_get_text(set, "train_set"), paper ? paper : "", users, items);
    static const char *const parts[] = {"train", "valid", "test"};
    for (size_t k = 0; k < 3; k++)
        cwi_json_add(&row,
                     json_integer(json_integer_value(json_object_get(
                         json_object_get(json_object_get(about, "parts"), parts[k]), "rows"))));
    cwi_json_add(&row, json_real(cwi_json_get_number(about, "density")));
    cwi_json_add(&row, json_real(cwi_json_get_number(degrees, "gini")));
    return row;
}

/* A section with a list under titles, "a|b|c"; none without rows.  The rows are consumed. */
static cw_status add_list(const cwi_draft *d, const char *file, const char *heading,
                          const char *text, const char *titles, json_t *rows)
{
    char name[CWI_SECTION_BYTES], title[CWI_WORD_BYTES];
    json_t *columns = json_array();
    bool is_empty = rows && json_array_size(rows) == 0;
    while (cwi_next_word(&titles, title)) cwi_cell_add(&columns, title);
    cwi_draft_name(d, file, "", "", "", name);
    json_t *section = json_pack("{s:s, s:s, s:s*, s:{s:o, s:o}}", "name", name, "heading", heading,
                                "text", text, "table", "columns", columns, "rows", rows);
    if (!is_empty) return cwi_draft_add(d, section);
    json_decref(section);
    return CW_OK;
}

static cw_status add_data(const cwi_draft *d)
{
    json_t *rows = json_array(), *set;
    size_t index;
    json_array_foreach(json_object_get(d->results, "datasets"), index, set)
        cwi_json_add(&rows, data_row(d, set));
    CW_PASS(add_list(d, "data", "Data",
                     "Rows of each part, and how unevenly the train rows are spread over the items "
                     "(0: evenly, 1: all on one).",
                     "dataset|train set|paper's name|users|items|train|valid|test|density|"
                     "Gini of the items",
                     rows));
    return cwi_figures_data(d);
}

/* A line for a row whose settings were tuned. */
static void add_choice(const json_t *table, const json_t *row, json_t **rows)
{
    char tuned[CWI_CELL_BYTES], varied[CWI_CELL_BYTES];
    cwi_cell_settings(json_object_get(row, "tuned"), tuned);
    cwi_cell_settings(json_object_get(row, "varied"), varied);
    cwi_json_add(rows,
                 json_pack("[s, s, s, s, s, o, o]", title_of(table),
                           cwi_json_get_text(row, "dataset"), cwi_json_get_text(row, "train_set"),
                           cwi_json_get_text(row, "method"), cwi_json_get_text(row, "backbone"),
                           cwi_json_string(varied), cwi_json_string(tuned)));
}

static cw_status add_choices(const cwi_draft *d)
{
    json_t *rows = json_array(), *table, *row;
    size_t t, r;
    json_array_foreach(json_object_get(d->results, "tables"), t, table)
        json_array_foreach(json_object_get(table, "rows"), r, row)
    {
        if (json_is_object(json_object_get(row, "tuned"))) add_choice(table, row, &rows);
    }
    return add_list(d, "chosen-settings", "Chosen settings",
                    "What tuning on the validation part chose.",
                    "table|dataset|train set|method|backbone|setting|chosen", rows);
}

static cw_status add_failures(const cwi_draft *d)
{
    const char *name;
    json_t *run, *rows = json_array();
    json_object_foreach(json_object_get(d->results, "runs"), name, run)
    {
        const char *error = cwi_json_get_text(run, "error");
        if (error[0]) cwi_json_add(&rows, json_pack("[s, s]", name, error));
    }
    return add_list(d, "failed-runs", "Failed runs", NULL, "run|reason", rows);
}

static cw_status add_sections(const cwi_draft *d)
{
    size_t index;
    json_t *table;
    json_array_foreach(json_object_get(d->results, "tables"), index, table)
        CW_PASS(add_table(d, table));
    CW_PASS(add_data(d));
    CW_PASS(add_choices(d));
    return add_failures(d);
}

cw_status cwi_draft_page(cw_context *ctx, const json_t *results, json_t **page)
{
    const json_t *plan = json_object_get(results, "plan");
    const char *title = cwi_json_get_text(plan, "title");
    json_t *published = NULL;
    cw_status status = cwi_published_read(ctx, &published);
    cwi_draft d = {ctx, results, published, json_array()};

    char verdict[CWI_VERDICT_BYTES] = "";
    if (status == CW_OK)
        status = judge(&d, json_array_get(json_object_get(results, "tables"), 0), verdict);
    *page = json_pack("{s:s, s:o, s:s, s:b, s:o}", "title", title[0] ? title : "An experiment",
                      "verdict", cwi_json_string(verdict), "lead", cwi_json_get_text(plan, "about"),
                      "contents", 1, "sections", d.sections);
    if (status == CW_OK) status = cwi_json_check(ctx, *page);
    if (status == CW_OK) status = add_sections(&d);
    json_decref(published);
    if (status != CW_OK) {
        json_decref(*page);
        *page = NULL;
    }
    return status;
}

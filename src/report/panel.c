/* panel.c - charts of rows that have the data in common: what they share. */
#include "report/panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "report/markup.h"
#include "report/published.h"

static bool is_shown(const cwi_panel *p, const json_t *row)
{
    return strcmp(cwi_json_get_text(row, "dataset"), p->dataset) == 0 &&
           strcmp(cwi_json_get_text(row, "train_set"), p->train_set) == 0;
}

const json_t *cwi_panel_row(const cwi_panel *p, size_t k)
{
    const json_t *rows = json_object_get(p->table, "rows");
    for (size_t r = 0; r < json_array_size(rows); r++)
        if (is_shown(p, json_array_get(rows, r)) && k-- == 0) return json_array_get(rows, r);
    return NULL;
}

const char *cwi_panel_name(const cwi_panel *p, const json_t *row, char out[CWI_NAME_BYTES])
{
    bool by_backbone = json_is_true(json_object_get(p->table, "by_backbone"));
    const char *method = cwi_published_title(p->draft->published, cwi_json_get_text(row, "method"));
    const char *backbone =
        cwi_published_title(p->draft->published, cwi_json_get_text(row, "backbone"));
    snprintf(out, CWI_NAME_BYTES, "%.100s%s%.100s", method, by_backbone ? " on " : "",
             by_backbone ? backbone : "");
    return out;
}

double cwi_panel_mean(const json_t *row, const char *key)
{
    return cwi_json_to_number(json_object_get(json_object_get(row, "mean"), key));
}

void cwi_panel_series(json_t **series, const char *name, json_t *values, bool is_reference)
{
    cwi_json_add(series, json_pack("{s:o, s:o, s:b}", "name", cwi_json_string(name), "values",
                                   values, "reference", is_reference));
}

cw_status cwi_panel_figure(const cwi_panel *p, const char *what, const char *title,
                           const char *text, json_t *chart)
{
    char name[CWI_SECTION_BYTES], heading[512];
    cwi_draft_name(p->draft, cwi_json_get_text(p->table, "title"), p->dataset,
                   p->names_train_set ? p->train_set : "", what, name);
    snprintf(heading, sizeof heading, "%.100s, %.150s%s%.100s", title, p->dataset,
             p->names_train_set ? ", " : "", p->names_train_set ? p->train_set : "");
    return cwi_draft_add(p->draft,
                         json_pack("{s:s, s:o, s:s, s:o}", "name", name, "subheading",
                                   cwi_json_string(heading), "text", text, "chart", chart));
}

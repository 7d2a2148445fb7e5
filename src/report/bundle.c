/* bundle.c - the report of an experiment: a folder with a page, tables and figures. */
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "report/draft.h"
#include "report/markup.h"
#include "report/page.h"
#include "report/plain.h"
#include "report/png.h"
#include "report/svg.h"

/* Is there anything to read? */
static cw_status check_place(cw_context *ctx, const char *folder, const char *path,
                             const char *plan)
{
    if (!cwi_path_is_folder(folder))
        return cwi_fail(ctx, CW_IO, "%s is not a folder; name the one that an experiment made",
                        folder);
    if (cwi_path_exists(path)) return CW_OK;
    if (cwi_path_exists(plan))
        return cwi_fail(ctx, CW_BAD_DATA, "%s has no results yet: its experiment is not finished",
                        folder);
    return cwi_fail(ctx, CW_BAD_DATA, "%s is no folder of an experiment: it has no results.json",
                    folder);
}

/* results.json of an experiment's folder; to be released also after a failure. */
static cw_status read_results(cw_context *ctx, const char *folder, json_t **out)
{
    cw_status status;
    char *path = cwi_path_join(ctx, folder, "results.json");
    char *plan = cwi_path_join(ctx, folder, "experiment.json");
    if (!path || !plan) CW_TRY(CW_NO_MEMORY);
    CW_TRY(check_place(ctx, folder, path, plan));
    CW_TRY(cwi_json_load(ctx, path, out));
    CW_TRY(cwi_draft_check(ctx, *out, path));
done:
    cwi_free(path);
    cwi_free(plan);
    return status;
}

/* ---- files ------------------------------------------------------------------------------- */

/* One file of the folder under construction; put writes it. */
typedef cw_status put_fn(cw_context *ctx, cwi_writer *out, const json_t *what);

static cw_status write_file(cw_context *ctx, const char *folder, const char *name,
                            const char *ending, put_fn *put, const json_t *what)
{
    char file[CWI_SECTION_BYTES + 8];
    cwi_writer *writer;
    snprintf(file, sizeof file, "%s%s", name, ending);
    cw_status status = cwi_writer_open_in(ctx, folder, file, &writer);
    if (status == CW_OK) status = put(ctx, writer, what);
    return cwi_writer_end(ctx, writer, status);
}

static cw_status put_latex(cw_context *ctx, cwi_writer *out, const json_t *page)
{
    (void)ctx;
    cwi_plain_latex(out, page);
    return CW_OK;
}

static cw_status put_drawing(cw_context *ctx, cwi_writer *out, const json_t *section)
{
    (void)ctx;
    cwi_svg_chart(out, json_object_get(section, "chart"), cwi_json_get_text(section, "subheading"));
    return CW_OK;
}

static cw_status write_section(cw_context *ctx, const char *folder, const json_t *section)
{
    const json_t *table = json_object_get(section, "table");
    const json_t *chart = json_object_get(section, "chart");
    const char *name = cwi_json_get_text(section, "name");
    json_t *numbers = NULL;
    cw_status status = CW_OK;
    if (table) CW_TRY(write_file(ctx, folder, name, ".csv", cwi_plain_csv, table));
    if (!chart) goto done;
    numbers = cwi_chart_table(chart);
    if (!numbers) CW_TRY(cwi_no_memory(ctx));
    CW_TRY(write_file(ctx, folder, name, ".csv", cwi_plain_csv, numbers));
    CW_TRY(write_file(ctx, folder, name, ".svg", put_drawing, section));
done:
    json_decref(numbers);
    return status;
}

/* The drawing of a section once more as PNG. */
static cw_status paint_section(cw_context *ctx, const cwi_painter *painter, const char *folder,
                               const char *name)
{
    char file[CWI_SECTION_BYTES + 8];
    snprintf(file, sizeof file, "%s.svg", name);
    char *svg = cwi_path_join(ctx, folder, file);
    snprintf(file, sizeof file, "%s.png", name);
    char *png = cwi_path_join(ctx, folder, file);
    cw_status status = svg && png ? cwi_painter_draw(ctx, painter, svg, png) : CW_NO_MEMORY;
    cwi_free(svg);
    cwi_free(png);
    return status;
}

static cw_status paint_all(cw_context *ctx, const char *folder, const json_t *sections)
{
    cwi_painter *painter;
    size_t index;
    json_t *section;
    cw_status status = cwi_painter_open(ctx, &painter);
    json_array_foreach(sections, index, section)
    {
        if (status != CW_OK || !painter) break;
        if (json_object_get(section, "chart"))
            status = paint_section(ctx, painter, folder, cwi_json_get_text(section, "name"));
    }
    cwi_painter_close(painter);
    return status;
}

static cw_status write_all(cw_context *ctx, const char *folder, const json_t *page)
{
    cw_status status = CW_OK;
    const json_t *sections = json_object_get(page, "sections");
    size_t index;
    json_t *section;
    char *html = cwi_path_join(ctx, folder, "report.html");
    if (!html) return CW_NO_MEMORY;
    json_array_foreach(sections, index, section) CW_TRY(write_section(ctx, folder, section));
    CW_TRY(write_file(ctx, folder, "tables", ".md", cwi_plain_markdown, page));
    CW_TRY(write_file(ctx, folder, "tables", ".tex", put_latex, page));
    CW_TRY(cwi_page_write(ctx, page, html));
    CW_TRY(paint_all(ctx, folder, sections));
done:
    cwi_free(html);
    return status;
}

/* The page, and for every section its files, whose names begin with its number. */
static bool owns(const char *path)
{
    static const char *const files[] = {"report.html", "tables.md", "tables.tex"};
    static const char *const endings[] = {".csv", ".svg", ".png"};
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        if (strcmp(path, files[k]) == 0) return true;
    size_t digits = strspn(path, "0123456789"), length = strlen(path);
    if (digits < 2 || length < digits + 5 || path[digits] != '-' || strchr(path, '/')) return false;
    for (size_t k = 0; k < sizeof endings / sizeof endings[0]; k++)
        if (cwi_ends_with(path, endings[k])) return true;
    return false;
}

const cwi_folder_kind cwi_report_kind = {"report.html", owns};

cw_status cw_report_experiment(cw_context *ctx, const char *experiment, const char *folder,
                               bool replace)
{
    cw_status status;
    json_t *results = NULL, *page = NULL;
    cwi_folder *work = NULL;

    cwi_begin(ctx);
    CW_TRY(read_results(ctx, experiment, &results));
    CW_TRY(cwi_draft_page(ctx, results, &page));
    CW_TRY(cwi_page_check(ctx, page));
    cwi_page_trim(page);
    CW_TRY(cwi_folder_begin(ctx, folder, replace, &cwi_report_kind, &work));
    CW_TRY(write_all(ctx, cwi_folder_path(work), page));
done:
    json_decref(page);
    json_decref(results);
    return cwi_folder_end(ctx, work, status);
}

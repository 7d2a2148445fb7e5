/*
 * fuzz_report.c - any bytes as the description of a page (after a '0') or as the results of an
 * experiment (after a '1').  Whatever texts they hold, the page has our tags and attributes alone,
 * each closed in its place, our scripts alone, and data that cannot end their script.
 */
#include <ctype.h>

#include "../tests/unit/results_sample.h"
#include "core/text.h"
#include "fuzzing.h"
#include "report/draft.h"
#include "report/page.h"
#include "report/plain.h"
#include "report/svg.h"

static const char page_sample[] =
    "{\"title\":\"T\",\"verdict\":\"V\",\"lead\":\"L\\n\\nM\",\"contents\":true,\"sections\":[{"
    "\"name\":\"a\","
    "\"heading\":\"H\",\"subheading\":\"S\",\"text\":\"x\",\"table\":{\"columns\":[\"c\",\"d\"],"
    "\"rows\":[[\"r\",1.25],[null,{\"text\":\"2\",\"spread\":\"0.1\",\"stars\":\"*\",\"bold\":true}"
    "]],"
    "\"spans\":[[\"\",1],[\"over\",1]],\"rules\":[1]}},"
    "{\"name\":\"b\",\"chart\":{\"kind\":\"line\",\"x\":[1,2],\"x_title\":\"e\",\"x_scale\":"
    "\"linear\","
    "\"y_title\":\"y\",\"y_scale\":\"fit\",\"series\":[{\"name\":\"s\",\"values\":[0.5,null]},"
    "{\"name\":\"r\",\"values\":[1,2],\"reference\":true}]}},"
    "{\"name\":\"c\",\"chart\":{\"kind\":\"bar\",\"x\":[\"p\",\"q\"],\"series\":[{\"name\":\"s\","
    "\"values\":[1,-2]}]}}]}";

/* ---- the page ---------------------------------------------------------------- */

static const char tags[] =
    "html|head|meta|title|style|body|main|h1|h2|h3|p|nav|ul|li|a|section|div|table|thead|tbody|tr|"
    "th|td|span|strong|u|sup|small|figure|canvas|script|details|summary|footer|svg|rect|path|g|"
    "text|"
    "pattern|defs|desc";
static const char attributes[] =
    "lang|charset|name|content|http-equiv|class|id|href|scope|colspan|style|role|tabindex|"
    "aria-label|data-title|type|xmlns|viewBox|width|height|x|y|d|fill|stroke|stroke-width|stroke-"
    "dasharray|"
    "transform|font-size|font-family|font-weight|text-anchor|patternUnits|stroke-linejoin|"
    "stroke-linecap|opacity";

enum { MAX_DEPTH = 32, NAME_BYTES = 24 };

typedef struct markup {
    const char *at;
    char open[MAX_DEPTH][NAME_BYTES];
    size_t depth;
} markup;

static void take_name(markup *m, const char *allowed, char out[NAME_BYTES])
{
    size_t length = 0;
    while (isalnum((unsigned char)m->at[length]) || m->at[length] == '-') length++;
    must(length > 0 && length < NAME_BYTES);
    memcpy(out, m->at, length);
    out[length] = '\0';
    must(cwi_word_index(allowed, out) >= 0);
    m->at += length;
}

/* All attributes; returns true when the element has no content. */
static bool take_attributes(markup *m, bool *is_data)
{
    char name[NAME_BYTES];
    for (;;) {
        m->at += strspn(m->at, " \n");
        bool is_empty = *m->at == '/';
        m->at += is_empty;
        if (*m->at == '>') {
            m->at++;
            return is_empty;
        }
        take_name(m, attributes, name);
        must(strncmp(m->at, "=\"", 2) == 0);
        m->at += 2;
        size_t length = strcspn(m->at, "\"<>");
        must(m->at[length] == '"');
        if (strcmp(name, "href") == 0) must(m->at[0] == '#');
        if (strcmp(name, "style") == 0)
            must(strncmp(m->at, "--columns: ", 11) == 0 &&
                 strspn(m->at + 11, "0123456789") == length - 11);
        *is_data = strcmp(name, "type") == 0;
        m->at += length + 1;
    }
}

static bool skip(markup *m, const unsigned char *asset, size_t length)
{
    if (strncmp(m->at, "\n", 1) != 0 || strncmp(m->at + 1, (const char *)asset, length) != 0)
        return false;
    m->at += 1 + length;
    return true;
}

/* What stands in a script or style element is JSON or an asset of ours. */
static void take_raw(markup *m, bool is_data)
{
    if (!is_data) {
        must(skip(m, cwi_page_css, cwi_page_css_bytes) ||
             skip(m, cwi_chart_js, cwi_chart_js_bytes) || skip(m, cwi_page_js, cwi_page_js_bytes));
        return;
    }
    size_t length = strcspn(m->at, "<");
    json_t *data = json_loadb(m->at, length, 0, NULL);
    must(data != NULL);
    json_decref(data);
    m->at += length;
}

static void take_tag(markup *m)
{
    char name[NAME_BYTES];
    bool is_data = false, is_end = *m->at == '/';
    m->at += is_end;
    take_name(m, tags, name);
    if (is_end) {
        must(*m->at++ == '>' && m->depth > 0 && strcmp(m->open[--m->depth], name) == 0);
        return;
    }
    if (take_attributes(m, &is_data) || strcmp(name, "meta") == 0) return;
    must(m->depth < MAX_DEPTH);
    memcpy(m->open[m->depth++], name, sizeof name);
    if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0) take_raw(m, is_data);
}

static void check_markup(const char *text)
{
    markup m = {.at = text};
    if (strncmp(text, "<!DOCTYPE html>", 15) == 0) m.at += 15;
    while (*(m.at += strcspn(m.at, "<>"))) {
        must(*m.at == '<');
        m.at++;
        take_tag(&m);
    }
    must(m.depth == 0);
}

static void check_file(const char *path)
{
    bytes text = read_bytes(path);
    check_markup((const char *)text.at);
    must(strlen((const char *)text.at) == text.size);
    free(text.at);
}

/* ---- the rest ------------------------------------------------------------------ */

static cw_status write_forms(cw_context *ctx, const json_t *page, const char *path)
{
    cw_status status;
    cwi_writer *out;
    size_t index;
    json_t *section;
    CW_TRY(cwi_writer_open(ctx, path, &out));
    status = cwi_plain_markdown(ctx, out, page);
    cwi_plain_latex(out, page);
    json_array_foreach(json_object_get(page, "sections"), index, section)
    {
        const json_t *table = json_object_get(section, "table");
        if (table && status == CW_OK) status = cwi_plain_csv(ctx, out, table);
    }
    cw_status closed = cwi_writer_close(ctx, out, NULL);
    if (status == CW_OK) status = closed;
done:
    return status;
}

static cw_status write_svg(cw_context *ctx, const json_t *chart, const char *path)
{
    cwi_writer *out;
    cw_status status = cwi_writer_open(ctx, path, &out);
    if (status != CW_OK) return status;
    cwi_svg_chart(out, chart, "<title>");
    return cwi_writer_close(ctx, out, NULL);
}

/* Everything that a report makes of a description; PNG files are made from the SVG ones. */
static cw_status report(cw_context *ctx, const json_t *page)
{
    cw_status status;
    size_t index;
    json_t *section;
    place html = fresh("page.html");
    CW_TRY(cwi_page_check(ctx, page));
    CW_TRY(cwi_page_write(ctx, page, html.path));
    check_file(html.path);
    CW_TRY(write_forms(ctx, page, fresh("forms").path));
    json_array_foreach(json_object_get(page, "sections"), index, section)
    {
        if (!json_object_get(section, "chart")) continue;
        place svg = fresh("chart.svg");
        CW_TRY(write_svg(ctx, json_object_get(section, "chart"), svg.path));
        check_file(svg.path);
    }
done:
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    bool is_page = data[0] % 2 == 0;
    const char *sample = is_page ? page_sample : results_sample;
    cw_context *ctx = open_context();
    bytes text = change_json(&(bytes){(uint8_t *)sample, strlen(sample)}, data + 1, size - 1);
    json_t *page = NULL, *read = json_loadb((const char *)text.at, text.size, 0, NULL);
    cw_status status = CW_OK;

    if (read && !is_page) status = cwi_draft_check(ctx, read, "input");
    if (read && !is_page && status == CW_OK) status = cwi_draft_page(ctx, read, &page);
    if (read && status == CW_OK) status = report(ctx, is_page ? read : page);
    check_status(ctx, status);
    json_decref(page);
    json_decref(read);
    free(text.at);
    cw_context_free(ctx);
    return 0;
}

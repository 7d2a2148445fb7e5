/* cmd_report.c - crosswise report DIR [--out DIR] */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* DIR/report, to be freed; NULL: no memory. */
static char *usual_place(const char *experiment)
{
    size_t length = strlen(experiment);
    char *out = malloc(length + 8);
    while (length > 1 && experiment[length - 1] == '/') length--;
    if (out) snprintf(out, length + 8, "%.*s/report", (int)length, experiment);
    return out;
}

static cw_status report(cli_call *call, const char *out, bool force)
{
    char *usual = out ? NULL : usual_place(call->inputs[0]);
    if (!out && !usual) return CW_NO_MEMORY;
    if (!out) out = usual;
    cw_status status = cli_compare_files(call, &out, 1, NULL, 0);
    if (status == CW_OK) status = cw_report_experiment(call->ctx, call->inputs[0], out, force);
    if (status == CW_OK && call->json) {
        json_t *result = json_pack("{s:s+}", "page", out, "/report.html");
        char *text = cli_print_json(result, JSON_COMPACT);
        printf("%s\n", text ? text : "{}");
        free(text);
        json_decref(result);
    } else if (status == CW_OK) {
        printf("The page is %s/report.html; tables and figures are beside it.\n", out);
    }
    free(usual);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL;
    bool force = false;
    const cli_flag flags[] = {
        {"out", "DIR", &out, NULL, "folder to make; the folder report within DIR when not given"},
        {"force", NULL, NULL, &force,
         "replace the folder when it is a report with nothing else in it"},
        {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one folder of an experiment, not %zu", call.n_inputs);
    cw_status status = code < 0 ? report(&call, out, force) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "make a page, tables and figures of an experiment",
    .usage = "DIR [--out DIR] [--force]",
    .details =
        "Takes the folder that experiment made and writes another: report.html, a page with all\n"
        "tables and charts that needs no network; tables.md and tables.tex; each table and the\n"
        "numbers of each chart as .csv, and each chart as .svg and .png.  Tables look as in the\n"
        "paper: the best bold, the best baseline underlined, stars by p value, gains over the "
        "best\n"
        "baseline, and beside them the paper's own numbers where the data are MovieLens-10M, "
        "Netflix\n"
        "or iFashion.  The .png files need librsvg, 300 dots per inch; without it they are left "
        "out.\n"
        "\n"
        "  crosswise experiment quick ml --out lab\n"
        "  crosswise report lab",
    .run = run,
};

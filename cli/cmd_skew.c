/* cmd_skew.c - crosswise skew DIR --theta T */
#include <stdlib.h>

#include "cli.h"

/* The value of a number or fraction that the library has checked. */
static double value_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return *end == '/' ? value / strtod(end + 1, NULL) : value;
}

static cw_status skew(cli_call *call, bool force)
{
    int64_t rows = 0;
    char text[32];
    cw_status status = cw_dataset_skew(call->ctx, call->inputs[0], call->options[0], force, &rows);
    cli_clear_line();
    if (status != CW_OK) return status;
    const char *theta = cw_options_get(call->options[0], "theta");
    if (call->json)
        printf("{\"theta\": %.10g, \"rows\": %lld}\n", value_of(theta), (long long)rows);
    else if (!call->quiet)
        printf("%s rows drawn with theta %s\n", cli_thousands(rows, text), theta);
    return CW_OK;
}

static int run(const cli_command *command, int argc, char **argv)
{
    bool force = false;
    const cli_flag flags[] = {
        {"force", NULL, NULL, &force, "overwrite an existing train_THETA.csv"}, {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one dataset folder, not %zu", call.n_inputs);
    cw_status status = code < 0 ? skew(&call, force) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_skew = {
    .name = "skew",
    .summary = "draw a training set of another bias from a dataset",
    .usage = "DIR --theta T [options]",
    .details =
        "Writes DIR/train_T.csv: part of the train rows, drawn so that popular items become\n"
        "more frequent (T above 0) or less (T below 0).  Every user and item stays.\n"
        "\n"
        "  crosswise skew ml --theta 0.5\n"
        "  crosswise skew ml --theta -0.5",
    .stages = {"skew"},
    .run = run,
};

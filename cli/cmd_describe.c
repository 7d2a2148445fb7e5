/* cmd_describe.c - crosswise describe DIR */
#include "cli.h"

static cw_status describe(cli_call *call, const char *train_file)
{
    cw_dataset *dataset = NULL;

    cw_status status = cw_dataset_load_with(call->ctx, call->inputs[0], train_file, &dataset);
    if (status == CW_OK) status = cli_show_dataset(call, call->inputs[0], dataset);
    cw_dataset_free(dataset);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *train_file = NULL;
    const cli_flag flags[] = {{"train-file", "NAME", &train_file, NULL,
                               "describe this file of the folder as train, such as train_0.5.csv"},
                              {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one dataset folder, not %zu", call.n_inputs);
    cw_status status = code < 0 ? describe(&call, train_file) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_describe = {
    .name = "describe",
    .summary = "show a dataset in figures",
    .usage = "DIR",
    .details =
        "Prints counts, density, degree quantiles, how concentrated the interactions are on\n"
        "popular items, and how many of its samples CPR would accept.",
    .run = run,
};

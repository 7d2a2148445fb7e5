/* cmd_simulate.c - crosswise simulate --out DIR */
#include "cli.h"

static cw_status simulate(cli_call *call, const cli_memory *memory, const char *out, bool force)
{
    cw_dataset *dataset = NULL;

    cw_status status = cw_output_check(call->ctx, CW_OUTPUT_DATASET, out, force);
    if (status == CW_OK) status = cli_set_memory(call, memory, out);
    if (status == CW_OK)
        status = cw_dataset_simulate(call->ctx, call->options[0], call->options[1], &dataset);
    if (status == CW_OK) status = cw_dataset_save(call->ctx, dataset, out, force);
    if (status == CW_OK && (call->json || !call->quiet))
        status = cli_show_dataset(call, out, dataset);
    cw_dataset_free(dataset);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL;
    bool force = false;
    cli_memory memory = {0};
    const cli_flag flags[] = {{"out", "DIR", &out, NULL, "folder to make"},
                              {"force", NULL, NULL, &force,
                               "replace the folder when it is a dataset with nothing else in it"},
                              CLI_MEMORY_FLAGS(&memory),
                              {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs > 0)
        code = cli_misuse(command, "it takes no input; what is '%s'?", call.inputs[0]);
    if (code < 0 && (!out || !out[0])) code = cli_misuse(command, "--out DIR is missing");
    if (code < 0) code = cli_check_memory(command, &memory);
    cw_status status = code < 0 ? simulate(&call, &memory, out, force) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .summary = "draw a dataset whose true relevances are known",
    .usage = "--out DIR [options]",
    .details =
        "Draws relevances from latent factors, exposes popular items and active users more, and\n"
        "keeps what was both seen and liked.  The truth stays beside the data, so that a model\n"
        "can be compared with it.\n"
        "\n"
        "  crosswise simulate --out sim\n"
        "  crosswise simulate --users 61770 --items 6958 --interactions 1533956 --out ml10m-shape",
    .stages = {"simulate", "prepare"},
    .run = run,
};

/* cmd_export.c - crosswise export MODEL --out DIR */
#include "cli.h"

static cw_status export(cli_call *call, const char *out, bool force)
{
    cw_model *model = NULL;

    cw_status status = cw_output_check(call->ctx, CW_OUTPUT_EXPORT, out, force);
    if (status == CW_OK) status = cli_compare_files(call, &out, 1, NULL, 0);
    if (status == CW_OK) status = cw_model_load(call->ctx, call->inputs[0], &model);
    if (status == CW_OK) status = cw_model_export(call->ctx, model, out, force);
    cw_model_free(model);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL;
    bool force = false;
    const cli_flag flags[] = {
        {"out", "DIR", &out, NULL, "folder to make"},
        {"force", NULL, NULL, &force,
         "replace the folder when it is an exported model with nothing else in it"},
        {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && (!out || !out[0])) code = cli_misuse(command, "--out DIR is missing");
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one model file, not %zu", call.n_inputs);
    cw_status status = code < 0 ? export(&call, out, force) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_export = {
    .name = "export",
    .summary = "write a model's vectors and ids for other programs",
    .usage = "MODEL --out DIR [--force]",
    .details =
        "Makes a folder with user_vectors.npy and item_vectors.npy, all parameters under params/,\n"
        "users.txt and items.txt (raw ids: line k belongs to row k, from 0) and model.json.",
    .run = run,
};

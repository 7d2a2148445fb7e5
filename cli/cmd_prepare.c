/* cmd_prepare.c - crosswise prepare INPUT... --out DIR */
#include <string.h>

#include "cli.h"

/* Files of a split that was made elsewhere. */
typedef struct given {
    const char *path[3]; /* by cw_part, NULL when not given */
} given;

static cw_status import(cli_call *call, const given *files, cw_interactions **out)
{
    const char *path[3];
    cw_part part[3];
    size_t n = 0;
    for (int p = 0; p < 3; p++) {
        if (!files->path[p]) continue;
        path[n] = files->path[p];
        part[n++] = (cw_part)p;
    }
    if (n > 0) return cw_import_parts(call->ctx, path, part, n, call->options[0], out);
    return cw_import(call->ctx, (const char *const *)call->inputs, call->n_inputs, call->options[0],
                     out);
}

static cw_status prepare(cli_call *call, const given *files, const cli_memory *memory,
                         const char *out, bool force)
{
    cw_interactions *interactions = NULL;
    cw_dataset *dataset = NULL;

    cw_status status = cw_output_check(call->ctx, CW_OUTPUT_DATASET, out, force);
    if (status == CW_OK) status = cli_set_memory(call, memory, out);
    if (status == CW_OK) status = cli_compare_files(call, &out, 1, files->path, 3);
    if (status == CW_OK) status = import(call, files, &interactions);
    if (status == CW_OK)
        status = cw_dataset_prepare(call->ctx, interactions, call->options[1], &dataset);
    cw_interactions_free(interactions);
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
    given files = {{NULL, NULL, NULL}};
    cli_memory memory = {0};
    const cli_flag flags[] = {
        {"out", "DIR", &out, NULL, "folder to make"},
        {"force", NULL, NULL, &force,
         "replace the folder when it is a dataset with nothing else in it"},
        {"train", "FILE", &files.path[0], NULL, "train part of a split made elsewhere"},
        {"valid", "FILE", &files.path[1], NULL, "its validation part"},
        {"test", "FILE", &files.path[2], NULL, "its test part"},
        CLI_MEMORY_FLAGS(&memory),
        {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    bool has_parts = files.path[0] || files.path[1] || files.path[2];
    if (code < 0 && call.n_inputs == 0 && !has_parts)
        code = cli_misuse(command, "there is no input file");
    if (code < 0 && call.n_inputs > 0 && has_parts)
        code = cli_misuse(command, "give either inputs or --train, --valid and --test, not both");
    if (code < 0 && has_parts && !files.path[0]) code = cli_misuse(command, "--train is missing");
    if (code < 0 && (!out || !out[0])) code = cli_misuse(command, "--out DIR is missing");
    if (code < 0) code = cli_check_memory(command, &memory);
    cw_status status = code < 0 ? prepare(&call, &files, &memory, out, force) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_prepare = {
    .name = "prepare",
    .summary = "raw interactions to a dataset: import, filter, split",
    .usage = "INPUT... --out DIR [options]",
    .details =
        "Reads files of interactions (delimited text, JSON lines, adjacency lists, RecBole "
        ".inter,\n"
        "MovieLens, Netflix, iFashion; plain, gzip, zstd, bzip2 or xz; - is standard input), "
        "keeps\n"
        "the wanted ones and splits them into train, valid and test so that popular items do not\n"
        "dominate the test.\n"
        "\n"
        "  crosswise prepare ratings.dat --min-rating 5 --out ml\n"
        "  crosswise prepare clicks.csv.gz --columns user=visitor,item=page --out clicks\n"
        "  crosswise prepare 'sqlite:shop.db?table=clicks&user=visitor&item=page' --out clicks\n"
        "  crosswise prepare gowalla/ --split given --out gowalla-set",
    .stages = {"import", "prepare"},
    .run = run,
};

/*
 * prepare.c - read a log, split it for a debiased evaluation, and say what came out.
 *   prepare LOG.csv FOLDER
 */
#include <crosswise/crosswise.h>
#include <stdio.h>

static cw_status prepare(cw_context *ctx, const char *log, const char *folder)
{
    cw_interactions *interactions = NULL;
    cw_options *options = NULL;
    cw_dataset *dataset = NULL;
    char *json = NULL;

    cw_status status = cw_import(ctx, &log, 1, NULL, &interactions);
    if (status == CW_OK) status = cw_options_create(ctx, "prepare", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "core", "3");
    if (status == CW_OK) status = cw_options_set(ctx, options, "split", "debiased");
    if (status == CW_OK) status = cw_dataset_prepare(ctx, interactions, options, &dataset);
    if (status == CW_OK) status = cw_dataset_save(ctx, dataset, folder, true);
    if (status == CW_OK) status = cw_dataset_describe(ctx, dataset, &json);
    if (status == CW_OK) puts(json);
    cw_text_free(json);
    cw_dataset_free(dataset);
    cw_options_free(options);
    cw_interactions_free(interactions);
    return status;
}

int main(int argc, char **argv)
{
    cw_context *ctx = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: prepare LOG.csv FOLDER\n");
        return 2;
    }
    if (cw_context_create(&ctx) != CW_OK) return 1;
    cw_status status = prepare(ctx, argv[1], argv[2]);
    if (status != CW_OK) fprintf(stderr, "prepare: %s\n", cw_context_error(ctx));
    cw_context_free(ctx);
    return status == CW_OK ? 0 : 1;
}

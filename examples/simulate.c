/*
 * simulate.c - draw a dataset whose true relevances are known, and save it.
 *   simulate FOLDER
 */
#include <crosswise/crosswise.h>
#include <stdio.h>

static cw_status draw(cw_context *ctx, const char *folder)
{
    cw_options *options = NULL;
    cw_dataset *dataset = NULL;

    cw_status status = cw_options_create(ctx, "simulate", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "users", "1000");
    if (status == CW_OK) status = cw_options_set(ctx, options, "items", "500");
    if (status == CW_OK) status = cw_options_set(ctx, options, "interactions", "8000");
    if (status == CW_OK) status = cw_dataset_simulate(ctx, options, NULL, &dataset);
    if (status == CW_OK) status = cw_dataset_save(ctx, dataset, folder, true);
    if (status == CW_OK)
        printf("%d users, %d items, %lld training interactions in %s\n", cw_dataset_users(dataset),
               cw_dataset_items(dataset), (long long)cw_dataset_count(dataset, CW_PART_TRAIN),
               folder);
    cw_dataset_free(dataset);
    cw_options_free(options);
    return status;
}

int main(int argc, char **argv)
{
    cw_context *ctx = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: simulate FOLDER\n");
        return 2;
    }
    if (cw_context_create(&ctx) != CW_OK) return 1;
    cw_status status = draw(ctx, argv[1]);
    if (status != CW_OK) fprintf(stderr, "simulate: %s\n", cw_context_error(ctx));
    cw_context_free(ctx);
    return status == CW_OK ? 0 : 1;
}

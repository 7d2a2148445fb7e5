/* consumer.c - the smallest program that uses an installed crosswise, its libraries included. */
#include <crosswise/crosswise.h>
#include <stdio.h>

int main(void)
{
    cw_context *ctx = NULL;
    cw_dataset *dataset = NULL;
    char *json = NULL;
    const int64_t user[] = {7, 7, 9, 9}, item[] = {1, 2, 2, 3};
    cw_interactions *interactions = NULL;
    cw_options *options = NULL;

    cw_status status = cw_context_create(&ctx);
    if (status == CW_OK) status = cw_interactions_create(ctx, user, item, NULL, 4, &interactions);
    if (status == CW_OK) status = cw_options_create(ctx, "prepare", &options);
    if (status == CW_OK) status = cw_options_set(ctx, options, "core", "1");
    if (status == CW_OK) status = cw_dataset_prepare(ctx, interactions, options, &dataset);
    if (status == CW_OK) status = cw_dataset_describe(ctx, dataset, &json);
    printf("crosswise %s: %s\n", cw_version(), ctx ? cw_context_error(ctx) : "no context");
    cw_text_free(json);
    cw_dataset_free(dataset);
    cw_options_free(options);
    cw_interactions_free(interactions);
    cw_context_free(ctx);
    return status == CW_OK ? 0 : 1;
}

/* train.c - train CPR on a simulated dataset, save the model and recommend to one user. */
#include <crosswise/crosswise.h>
#include <stdio.h>

static bool print_list(void *user, const cw_recommendation *list)
{
    (void)user;
    printf("for user %s:", list->user);
    for (size_t k = 0; k < list->count; k++) printf(" %s", list->items[k]);
    printf("\n");
    return true;
}

static cw_status run(cw_context *ctx, const char *path)
{
    cw_options *simulate = NULL, *train = NULL;
    cw_dataset *dataset = NULL;
    cw_model *model = NULL;
    char *report = NULL;

    cw_status status = cw_options_create(ctx, "simulate", &simulate);
    if (status == CW_OK) status = cw_options_set(ctx, simulate, "users", "1000");
    if (status == CW_OK) status = cw_options_set(ctx, simulate, "items", "500");
    if (status == CW_OK) status = cw_dataset_simulate(ctx, simulate, NULL, &dataset);
    if (status == CW_OK) status = cw_options_create(ctx, "train", &train);
    if (status == CW_OK) status = cw_options_set(ctx, train, "dim", "32");
    if (status == CW_OK) status = cw_options_set(ctx, train, "batch", "256");
    if (status == CW_OK) status = cw_options_set(ctx, train, "epochs", "20");
    if (status == CW_OK) status = cw_train(ctx, dataset, train, &model, NULL);
    if (status == CW_OK) status = cw_model_save(ctx, model, path);
    if (status == CW_OK) status = cw_evaluate(ctx, dataset, model, NULL, &report);
    if (status == CW_OK) printf("%.200s ...\n", report);
    if (status == CW_OK) {
        const char *first = cw_dataset_user_id(dataset, 0);
        status = cw_recommend(ctx, model, &first, 1, NULL, print_list, NULL);
    }
    cw_text_free(report);
    cw_model_free(model);
    cw_dataset_free(dataset);
    cw_options_free(train);
    cw_options_free(simulate);
    return status;
}

int main(int argc, char **argv)
{
    cw_context *ctx = NULL;
    cw_status status = cw_context_create(&ctx);
    if (status == CW_OK) status = run(ctx, argc > 1 ? argv[1] : "example.safetensors");
    if (status != CW_OK)
        fprintf(stderr, "train: %s\n", ctx ? cw_context_error(ctx) : cw_status_text(status));
    cw_context_free(ctx);
    return status == CW_OK ? 0 : 1;
}

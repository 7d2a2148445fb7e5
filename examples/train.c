/* train.c - train CPR on a simulated dataset, save the model and recommend to one user. */
#include <crosswise/crosswise.h>
#include <stdio.h>

/* The five best items for the first user. */
static cw_status recommend(cw_context *ctx, cw_model *model)
{
    const int32_t user = 0;
    int32_t items[5], count = 0;
    const cw_lists lists = {.k = 5, .items = items, .counts = &count};
    cw_recommender *recommender = NULL;

    cw_status status = cw_recommender_open(ctx, model, &recommender);
    if (status == CW_OK) status = cw_recommend(ctx, recommender, &user, 1, NULL, &lists);
    if (status == CW_OK) {
        printf("for user %s:", cw_model_user_id(model, user));
        for (int32_t k = 0; k < count; k++) printf(" %s", cw_model_item_id(model, items[k]));
        printf("\n");
    }
    cw_recommender_close(recommender);
    return status;
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
    if (status == CW_OK) status = recommend(ctx, model);
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

/* fuzz_lists.c - any bytes as a list of ids: users to recommend for, items somebody liked, items to
 * leave out. */
#include "cli.h"
#include "fuzzing.h"

static cw_model *model;

static void prepare(void)
{
    cw_context *ctx = open_context();
    cw_dataset *data = make_dataset(ctx);
    cw_options *options = training_options(ctx);
    must_work(ctx, cw_train(ctx, data, options, &model, NULL));
    cw_options_free(options);
    cw_dataset_free(data);
    cw_context_free(ctx);
}

static bool check_list(void *user, const cw_recommendation *list)
{
    (void)user;
    must(list->user && list->count <= (size_t)cw_model_items(model));
    for (size_t k = 0; k < list->count; k++)
        must(list->items[k][0] != '\0' && (k == 0 || list->scores[k] <= list->scores[k - 1]));
    return true;
}

static void recommend(const char *path, const cli_lines *lines, bool skips)
{
    cw_context *ctx = open_context();
    cw_options *options = make_options(ctx, "recommend", (const char *const[][2]){{0}});
    must_work(ctx, cw_options_set(ctx, options, "skip-unknown", skips ? "on" : "off"));
    check_status(ctx,
                 cw_recommend(ctx, model, lines->line, lines->count, options, check_list, NULL));
    check_status(ctx, cw_recommend_history(ctx, model, lines->line, lines->count, options,
                                           check_list, NULL));
    must_work(ctx, cw_options_set(ctx, options, "exclude", path));
    check_status(ctx, cw_recommend(ctx, model, NULL, 0, options, check_list, NULL));
    cw_options_free(options);
    cw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_lines lines;
    place file = scratch("list");
    if (!model) prepare();
    write_bytes(file.path, (bytes){(uint8_t *)data, size});
    int code = cli_read_lines(file.path, &lines);
    must(code == -1 || lines.count == 0);
    for (size_t k = 0; k < lines.count; k++)
        must(lines.line[k][0] != '\0' && !strchr(lines.line[k], '\n'));
    recommend(file.path, &lines, false);
    recommend(file.path, &lines, true);
    cli_free_lines(&lines);
    return 0;
}

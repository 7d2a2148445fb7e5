/* fuzz_lists.c - any bytes as a list of ids: users to recommend for, items somebody liked, items to
 * leave out. */
#include "cli.h"
#include "fuzzing.h"

enum { USERS = 64, K = 10 };

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

/* What is in a list is in the model, best first. */
static void check_lists(const cw_lists *lists, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        const int32_t *items = lists->items + r * K;
        const float *scores = lists->scores + r * K;
        must(lists->counts[r] >= 0 && lists->counts[r] <= K);
        for (int32_t k = 0; k < lists->counts[r]; k++)
            must(cw_model_item_id(model, items[k]) && (k == 0 || scores[k] <= scores[k - 1]));
    }
}

/* Lists for as many users as the model has, by rules with a file of items; and one for the items
 * of the list. */
static void recommend(const char *path, const cli_lines *lines)
{
    cw_context *ctx = open_context();
    cw_options *options = make_options(ctx, "recommend", (const char *const[][2]){{0}});
    cw_recommender *recommender;
    cw_rules *rules;
    int32_t items[USERS * K], counts[USERS], who[USERS];
    float scores[USERS * K];
    const cw_lists out = {K, items, scores, counts};
    size_t n = 0;

    must_work(ctx, cw_recommender_open(ctx, model, &recommender));
    for (size_t k = 0; k < lines->count && n < USERS; k++) {
        who[n] = cw_model_find_user(model, lines->line[k]);
        must(who[n] < 0 || strcmp(cw_model_user_id(model, who[n]), lines->line[k]) == 0);
        n += who[n] >= 0;
    }
    must_work(ctx, cw_recommend(ctx, recommender, who, n, NULL, &out));
    check_lists(&out, n);
    for (size_t k = n = 0; k < lines->count && n < USERS; k++) {
        who[n] = cw_model_find_item(model, lines->line[k]);
        n += who[n] >= 0;
    }
    cw_status status = cw_recommend_history(ctx, recommender, who, n, NULL, &out);
    check_status(ctx, status);
    if (status == CW_OK) check_lists(&out, 1);
    must_work(ctx, cw_options_set(ctx, options, "exclude", path));
    status = cw_rules_create(ctx, model, options, &rules);
    check_status(ctx, status);
    who[0] = 0;
    if (status == CW_OK) must_work(ctx, cw_recommend(ctx, recommender, who, 1, rules, &out));
    if (status == CW_OK) check_lists(&out, 1);
    cw_rules_free(rules);
    cw_recommender_close(recommender);
    cw_options_free(options);
    cw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_lines lines;
    place file = scratch("list");
    if (!model) prepare();
    write_bytes(file.path, (bytes){(uint8_t *)data, size});
    const cli_call call = {.processes = 1};
    int code = cli_read_lines(&call, file.path, &lines);
    must(code == -1 || lines.count == 0);
    for (size_t k = 0; k < lines.count; k++)
        must(lines.line[k][0] != '\0' && !strchr(lines.line[k], '\n'));
    recommend(file.path, &lines);
    cli_free_lines(&lines);
    return 0;
}

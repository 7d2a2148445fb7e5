/* fuzz_options.c - any text as the value of any option: a stage byte, an option byte, the value.
 * It is refused and the old value stays, or it is kept and understood. */
#include <math.h>

#include "evaluate/request.h"
#include "fuzzing.h"
#include "train/train.h"

static void read_train(cw_context *ctx, const cw_options *options)
{
    cw_options *settled;
    const cwi_method *method;
    const cwi_backbone *backbone;
    char metric[CWI_METRIC_BYTES];
    int32_t k = 0;
    cwi_pace pace;

    cw_status status = cwi_train_settle(ctx, options, NULL, &settled, &method, &backbone);
    if (status == CW_OK)
        status = cwi_metric_aim(ctx, cwi_options_text(options, "metric"), metric, &k);
    must(status != CW_OK || k > 0);
    if (status == CW_OK)
        status = cwi_pace_parse(ctx, cwi_options_text(options, "checkpoint-every"), &pace);
    check_status(ctx, status);
    cw_options_free(settled);
}

static void read_evaluate(cw_context *ctx, const cw_options *options)
{
    cwi_request request;
    cw_status status = cwi_request_parse(ctx, options, &request);
    check_status(ctx, status);
    if (status != CW_OK) return;
    must(request.n_ks >= 1 && request.n_ks <= CWI_MAX_KS && request.k[0] >= 1);
    must(request.n_dials >= 0 && request.n_dials <= CWI_MAX_DIALS);
}

static void read_import(cw_context *ctx, const cw_options *options)
{
    place log = scratch("log.csv");
    const char *path = log.path;
    cw_interactions *rows;
    write_text(path, "user,item,rating,time\na,b,3,1\na,c,2,5\n");
    check_status(ctx, cw_import(ctx, &path, 1, options, &rows));
    cw_interactions_free(rows);
}

/* The options of a stage are read as the stage itself does. */
static void read_stage(cw_context *ctx, const char *stage, const cw_options *options)
{
    cwi_begin(ctx);
    if (strcmp(stage, "train") == 0) read_train(ctx, options);
    if (strcmp(stage, "evaluate") == 0) read_evaluate(ctx, options);
    if (strcmp(stage, "import") == 0) read_import(ctx, options);
}

static void check_value(const cw_options *options, const cw_option_info *info)
{
    bool is_number = info->kind == CW_OPTION_INTEGER || info->kind == CW_OPTION_REAL;
    if (!cwi_options_is_set(options, info->name) || !is_number) return;
    double value = cwi_options_real(options, info->name);
    must(isfinite(value) && value >= info->minimum && value <= info->maximum);
    must(!info->minimum_is_open || value > info->minimum);
    must(!info->maximum_is_open || value < info->maximum);
}

static size_t count_options(const char *stage)
{
    size_t n = 0;
    while (cw_stage_option(stage, n)) n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n_stages = 0;
    if (size < 2) return 0;
    while (cw_stage_name(n_stages)) n_stages++;
    const char *stage = cw_stage_name(data[0] % n_stages);
    const cw_option_info *info = cw_stage_option(stage, data[1] % count_options(stage));
    cw_context *ctx = open_context();
    cw_options *options = make_options(ctx, stage, (const char *const[][2]){{0}});
    bytes value = change_bytes(&(bytes){0}, data + 2, size - 2);
    const char *text = (const char *)value.at;

    cw_status status = cw_options_set(ctx, options, info->name, text);
    check_status(ctx, status);
    const char *kept = cw_options_get(options, info->name);
    must(strcmp(kept, status == CW_OK ? text : info->preset) == 0);
    check_value(options, info);
    read_stage(ctx, stage, options);
    status = cw_options_set(ctx, options, text, "1"); /* as a name, too */
    check_status(ctx, status);
    cw_options_free(options);
    free(value.at);
    cw_context_free(ctx);
    return 0;
}

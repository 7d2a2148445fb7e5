/* cmd_tune.c - crosswise tune LOG|DIR --out NAME [--budget 10m] */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune.h"

/* ---- while it runs ------------------------------------------------------------- */

static void print_settings(json_t *settings)
{
    const char *name;
    json_t *value;
    if (json_object_size(settings) == 0) fprintf(stderr, ", defaults");
    json_object_foreach(settings, name, value)
    {
        fprintf(stderr, ", %s %.4g", name, json_number_value(value));
    }
}

static void print_trial(const json_t *event)
{
    const char *ended = cli_text_of(event, "ended");
    fprintf(stderr, "trial %3.0f  %s on %s", cli_number(event, "trial"),
            cli_text_of(event, "method"), cli_text_of(event, "backbone"));
    print_settings(json_object_get(event, "settings"));
    if (strcmp(ended, "failed") == 0) {
        fprintf(stderr, ": failed: %s\n", cli_text_of(event, "error"));
        return;
    }
    fprintf(stderr, ": %s %.4f", cli_text_of(event, "metric"), cli_number(event, "value"));
    bool has_bucket = strcmp(cli_text_of(event, "metric"), "bucket") == 0;
    if (cli_number(event, "dial") != 0 && has_bucket)
        fprintf(stderr, " (dial %.3g)", cli_number(event, "dial"));
    else if (cli_number(event, "dial") != 0)
        fprintf(stderr, " (dial %g, without it %.4f)", cli_number(event, "dial"),
                cli_number(event, "valid"));
    if (strcmp(ended, "stopped") == 0) fprintf(stderr, ", stopped early");
    if (cli_number(event, "best_trial") == cli_number(event, "trial"))
        fprintf(stderr, ", the best so far");
    fprintf(stderr, "  %.1f s\n", cli_number(event, "seconds"));
}

static void on_event(void *user, const char *text)
{
    cli_call *call = user;
    json_t *event = cli_parse(text);
    cli_clear_line();
    snprintf(call->note, sizeof call->note, "  best %s %.4f (trial %.0f)",
             cli_text_of(event, "metric"), cli_number(event, "best_value"),
             cli_number(event, "best_trial"));
    if (call->json) {
        printf("%s\n", text);
        fflush(stdout);
    } else if (!call->quiet) {
        print_trial(event);
    }
    json_decref(event);
}

/* ---- files ----------------------------------------------------------------------- */

enum { MODEL, RECORD, PAGE, STORE, N_FILES };

static bool name_files(const char *name, char *files[N_FILES])
{
    static const char *const ending[N_FILES] = {".safetensors", ".run.json", ".html", ".tune"};
    bool is_whole = true;
    for (int f = 0; f < N_FILES; f++) {
        files[f] = cli_with_ending(name, ending[f]);
        is_whole &= files[f] != NULL;
    }
    return is_whole;
}

/* Before the long work: may all be written, and do they leave alone what is read? */
static cw_status check_files(const tune_order *order, char *const files[N_FILES])
{
    cw_context *ctx = order->call->ctx;
    const char *inputs[] = {cw_options_get(order->options, "valid"),
                            cw_options_get(order->options, "bucket")};
    cw_status status =
        cli_compare_files(order->call, (const char *const *)files, N_FILES, inputs, 2);
    if (status == CW_OK) status = cw_output_check(ctx, CW_OUTPUT_MODEL, files[MODEL], order->force);
    if (status == CW_OK)
        status = cw_output_check(ctx, CW_OUTPUT_RECORD, files[RECORD], order->force);
    if (status == CW_OK) status = cw_output_check(ctx, CW_OUTPUT_PAGE, files[PAGE], false);
    return status;
}

/* ---- the end ----------------------------------------------------------------------- */

/* The words of the command line, as far as they can be shown; NULL: no memory. */
static char *command_text(const tune_order *order)
{
    size_t bytes = sizeof "crosswise", used;
    for (int k = 0; k < order->argc; k++) bytes += strlen(order->argv[k]) + 3;
    char *text = malloc(bytes);
    if (!text) return NULL;
    used = (size_t)snprintf(text, bytes, "crosswise");
    for (int k = 0; k < order->argc; k++) {
        bool has_blank = strchr(order->argv[k], ' ') != NULL;
        used += (size_t)snprintf(text + used, bytes - used, has_blank ? " '%s'" : " %s",
                                 order->argv[k]);
    }
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126) *c = '?';
    return text;
}

/* Now, or when SOURCE_DATE_EPOCH says, so that a page can be made again to the last byte. */
static void print_date(char *out, size_t bytes)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    time_t now = given ? (time_t)strtoll(given, NULL, 10) : time(NULL);
    struct tm day;
    struct tm *found = given ? gmtime_r(&now, &day) : localtime_r(&now, &day);
    if (!found || strftime(out, bytes, "%Y-%m-%d %H:%M", &day) == 0) out[0] = '\0';
}

static cw_status write_page(const tune_order *order, const json_t *results, char *const *files)
{
    char date[64], *command = command_text(order), *name = cli_with_ending(order->name, "");
    char *text = NULL;
    print_date(date, sizeof date);
    for (char *c = name; c && *c; c++)
        if ((unsigned char)*c < 32 || (unsigned char)*c > 126) *c = '?';
    json_t *page = command && name ? tune_page(results, name, command, date) : NULL;
    if (page) text = cli_print_json(page, 0);
    cw_status status = text ? cw_report_page(order->call->ctx, text, files[PAGE]) : CW_NO_MEMORY;
    json_decref(page);
    free(text);
    free(name);
    free(command);
    return status;
}

static void print_wrapped(const char *text)
{
    enum { WIDTH = 80 };
    int at = 0;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (at > 0 && at + 1 + word > WIDTH) {
            putchar('\n');
            at = 0;
        }
        at += printf("%s%.*s", at > 0 ? " " : "", word, text);
        text += word;
        while (*text == ' ') text++;
    }
    putchar('\n');
}

static void show(const tune_order *order, json_t *results, char *const *files)
{
    if (order->call->json) {
        cli_print_done(json_incref(results));
    } else if (!order->call->quiet) {
        print_wrapped(cli_text_of(results, "verdict"));
        printf("\nmodel  %s\nrun    %s\npage   %s\ntrials %s/results.json\n", files[MODEL],
               files[RECORD], files[PAGE], files[STORE]);
    }
}

/* The model first: it is what the rest is about. */
static cw_status keep(const tune_order *order, const cw_model *model, const char *run,
                      const char *json, char *const *files)
{
    json_t *results = cli_parse(json);
    cw_status status =
        cw_model_save_run(order->call->ctx, model, files[MODEL], run, files[RECORD], order->force);
    if (status == CW_OK) status = write_page(order, results, files);
    cli_clear_line();
    if (status == CW_OK) show(order, results, files);
    json_decref(results);
    return status;
}

cw_status tune_carry_out(const tune_order *order)
{
    cw_context *ctx = order->call->ctx;
    char *files[N_FILES] = {NULL}, *run = NULL, *json = NULL;
    cw_dataset *dataset = NULL;
    cw_model *model = NULL;
    bool refits = order->refits && !cli_is_folder(order->call->inputs[0]);

    cw_context_set_event(ctx, on_event, order->call);
    cw_status status = name_files(order->name, files) ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK) status = check_files(order, files);
    if (status == CW_OK && refits) status = cw_options_set(ctx, order->options, "refit", "on");
    if (status == CW_OK)
        status = cli_load(order->call, order->import, order->prepare, NULL, &dataset);
    if (status == CW_OK)
        status = cw_tune(ctx, dataset, order->options, files[STORE], &model, &run, &json);
    if (status == CW_OK) status = keep(order, model, run, json, files);
    cw_text_free(json);
    cw_text_free(run);
    cw_model_free(model);
    cw_dataset_free(dataset);
    for (int f = 0; f < N_FILES; f++) free(files[f]);
    return status;
}

/* ---- train --tune ----------------------------------------------------------------- */

/* What a race has under another name, or does by itself (NULL). */
static bool find_counterpart(const char *option, const char **name)
{
    static const char *const rows[][2] = {
        {"method", "methods"},      {"backbone", "backbones"},
        {"metric", "metric"},       {"seed", "seed"},
        {"bucket", "bucket"},       {"checkpoint", NULL},
        {"checkpoint-every", NULL}, {"checkpoint-end", NULL},
        {"resume", NULL},           {"refit", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        if (strcmp(rows[r][0], option) != 0) continue;
        *name = rows[r][1];
        return true;
    }
    return false;
}

/* Options of training that were given, as options of a race. */
static cw_status translate(cw_context *ctx, const cw_options *train, cw_options *race)
{
    char set[1024] = "";
    const cw_option_info *info;
    cw_status status = CW_OK;
    for (size_t row = 0; (info = cw_stage_option("train", row)) && status == CW_OK; row++) {
        const char *name, *value = cw_options_get(train, info->name);
        size_t used = strlen(set);
        if (!cw_options_is_given(train, info->name)) continue;
        if (find_counterpart(info->name, &name))
            status = name ? cw_options_set(ctx, race, name, value) : CW_OK;
        else
            snprintf(set + used, sizeof set - used, "%s%s=%s", used > 0 ? "," : "", info->name,
                     value);
    }
    return status == CW_OK ? cw_options_set(ctx, race, "set", set) : status;
}

cw_status tune_instead(const tune_order *order)
{
    tune_order race = *order;
    cw_status status = cw_options_create(order->call->ctx, "tune", &race.options);
    if (status == CW_OK) status = translate(order->call->ctx, order->options, race.options);
    if (status == CW_OK) status = tune_carry_out(&race);
    cw_options_free(race.options);
    return status;
}

/* ---- the command --------------------------------------------------------------------- */

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL;
    bool force = false, no_refit = false;
    const cli_flag flags[] = {
        {"out", "NAME", &out, NULL,
         "write NAME.safetensors, NAME.run.json and NAME.html; trials are kept in NAME.tune"},
        {"force", NULL, NULL, &force,
         "let model and record replace files that are there and that crosswise did not write"},
        {"no-refit", NULL, NULL, &no_refit,
         "of a log: keep the model that was measured, without training it on all rows"},
        {0}};
    cli_call call;
    cw_status status = CW_OK;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one dataset folder or file, not %zu", call.n_inputs);
    if (code < 0 && (!out || !out[0])) code = cli_misuse(command, "--out NAME is missing");
    if (code < 0) {
        const tune_order order = {.call = &call,
                                  .options = call.options[0],
                                  .import = call.options[1],
                                  .prepare = call.options[2],
                                  .name = out,
                                  .refits = !no_refit,
                                  .force = force,
                                  .argc = argc,
                                  .argv = argv};
        status = tune_carry_out(&order);
    }
    return cli_end(&call, code, status);
}

const cli_command cmd_tune = {
    .name = "tune",
    .summary = "find the best method and settings for a log, within a time",
    .usage = "DIR|FILE --out NAME [--budget 10m] [options]",
    .details =
        "Races methods and settings on the validation part: first the defaults of every method,\n"
        "then others, poor ones stopped early.  The best model ends up under the plain name,\n"
        "never below the defaults on validation, with a page that says how good it is.  Killed,\n"
        "the same command goes on; a larger budget adds trials.  The same number of trials gives\n"
        "the same model on any number of threads.  Where the validation part is small, several\n"
        "of its kind judge (--folds).  docs/tune.md has the rules.\n"
        "\n"
        "  crosswise tune clicks.csv --out best\n"
        "  crosswise tune clicks.csv --out best --budget 2h --methods cpr,bpr,dice\n"
        "  crosswise tune ml --out best --trials 20 --metric ndcg@10\n"
        "  crosswise recommend best.safetensors --all",
    .stages = {"tune", "import", "prepare"},
    .run = run,
};

/* cmd_update.c - crosswise update MODEL NEW_LOG --out NEW_MODEL.safetensors */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct job {
    cli_call *call;
    const char *out;
    char *record, *checkpoint;
    bool force; /* replace files that are not ours, too */
} job;

/* A pass over all rows is done. */
static void on_event(void *user, const char *text)
{
    cli_call *call = user;
    json_t *event = cli_parse(text);
    cli_clear_line();
    if (call->json) {
        printf("%s\n", text);
        fflush(stdout);
    } else if (cli_number(event, "epoch") > 0) {
        snprintf(call->note, sizeof call->note, "  loss %.4f", cli_number(event, "loss"));
        if (!call->quiet)
            fprintf(stderr, "update %4.0f  loss %.5f  %.2f s\n", cli_number(event, "epoch"),
                    cli_number(event, "loss"), cli_number(event, "train_s"));
    }
    json_decref(event);
}

static void print_result(const job *j, const char *run)
{
    json_t *root = cli_parse(run);
    const json_t *update = json_object_get(root, "update");
    char rows[32], users[32], items[32], steps[32];
    printf("%s on %s: %s new rows, %s new users, %s new items; %s steps in %.1f s\n",
           json_string_value(json_object_get(root, "method")),
           json_string_value(json_object_get(root, "backbone")),
           cli_thousands((json_int_t)cli_number(update, "rows"), rows),
           cli_thousands((json_int_t)cli_number(update, "new_users"), users),
           cli_thousands((json_int_t)cli_number(update, "new_items"), items),
           cli_thousands((json_int_t)cli_number(update, "steps"), steps),
           cli_number(root, "train_s"));
    printf("\nmodel %s\nrun   %s\n", j->out, j->record);
    json_decref(root);
}

static cw_status update(job *j)
{
    cli_call *call = j->call;
    cw_model *old = NULL, *model = NULL;
    cw_interactions *rows = NULL;
    char *run = NULL;

    cw_status status = cw_model_load(call->ctx, call->inputs[0], &old);
    if (status == CW_OK)
        status = cw_import_new(call->ctx, old, (const char *const *)call->inputs + 1,
                               call->n_inputs - 1, call->options[1], &rows);
    if (status == CW_OK) status = cw_update(call->ctx, old, rows, call->options[0], &model, &run);
    if (status == CW_OK)
        status = cw_model_save_run(call->ctx, model, j->out, run, j->record, j->force);
    if (status == CW_OK) cw_checkpoint_remove(j->checkpoint); /* no longer needed */
    cli_clear_line();
    if (status == CW_OK && call->json)
        cli_print_done(cli_parse(run));
    else if (status == CW_OK && !call->quiet)
        print_result(j, run);
    if (status == CW_CANCELLED && rows) /* stopped while it trained */
        fprintf(stderr, "crosswise: the state is in %s; --resume goes on from it\n", j->checkpoint);
    cw_text_free(run);
    cw_model_free(model);
    cw_interactions_free(rows);
    cw_model_free(old);
    return status;
}

/* Beside the model lie its run file and, while training, its checkpoint. */
static cw_status name_files(job *j)
{
    cli_call *call = j->call;
    j->record = cli_with_ending(j->out, ".run.json");
    const char *given = cw_options_get(call->options[0], "checkpoint");
    j->checkpoint = given[0] ? strdup(given) : cli_with_ending(j->out, ".checkpoint");
    if (!j->record || !j->checkpoint) return CW_NO_MEMORY;
    return cw_options_set(call->ctx, call->options[0], "checkpoint", j->checkpoint);
}

/* Before the long work: may all three be written, and do they leave alone what is read? */
static cw_status check_files(const job *j)
{
    cw_context *ctx = j->call->ctx;
    const char *const outputs[] = {j->checkpoint, j->out, j->record};
    cw_status status = cli_compare_files(j->call, outputs, 3, NULL, 0);
    if (status == CW_OK) status = cw_output_check(ctx, CW_OUTPUT_MODEL, j->out, j->force);
    if (status == CW_OK) status = cw_output_check(ctx, CW_OUTPUT_RECORD, j->record, j->force);
    if (status == CW_OK)
        status = cw_output_check(ctx, CW_OUTPUT_CHECKPOINT, j->checkpoint, j->force);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL;
    bool force = false;
    const cli_flag flags[] = {
        {"out", "FILE", &out, NULL,
         "write the new model here (FILE.safetensors), and FILE.run.json beside it"},
        {"force", NULL, NULL, &force,
         "let them replace files that are there and that crosswise did not write"},
        {0}};
    cli_call call;
    cw_status status = CW_OK;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs < 2)
        code = cli_misuse(command, "it takes a model and a log of what is new, not %zu inputs",
                          call.n_inputs);
    if (code < 0 && !out) code = cli_misuse(command, "--out is missing: where the new model goes");
    if (code < 0) {
        job j = {.call = &call, .out = out, .force = force};
        cw_context_set_event(call.ctx, on_event, &call);
        status = name_files(&j);
        if (status == CW_OK) status = check_files(&j);
        if (status == CW_OK) status = update(&j);
        free(j.record);
        free(j.checkpoint);
    }
    return cli_end(&call, code, status);
}

const cli_command cmd_update = {
    .name = "update",
    .summary = "train a model on with new rows, users and items",
    .usage = "MODEL NEW_LOG --out NEW_MODEL.safetensors [options]",
    .details =
        "Goes on from the parameters of a model with the rows of a log that it does not know, on\n"
        "all of its rows and the new ones, in a fifth of the steps that it was trained for.  New\n"
        "users and items get vectors of their own.  The old model stays as it is.\n"
        "\n"
        "  crosswise update shop.safetensors today.csv --out shop-2.safetensors\n"
        "  crosswise update shop.safetensors today.csv --out shop-2.safetensors --resume\n"
        "  crosswise update shop.safetensors 'sqlite:shop.db?table=clicks' --out "
        "shop-2.safetensors",
    .stages = {"update", "import"},
    .run = run,
};

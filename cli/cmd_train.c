/* cmd_train.c - crosswise train DIR|LOG --out MODEL.safetensors */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "tune.h"

typedef struct job {
    cli_call *call;
    const char *out;        /* NULL: the model is not kept */
    const char *train_file; /* NULL: train.csv */
    bool force;             /* replace files that are not ours, too */
    bool is_live;           /* lines are overwritten on a terminal */
    bool refit, no_refit;   /* as was asked for */
    char *record;           /* path of the run file */
    char *checkpoint;
    json_t *totals; /* of the events so far: what time left is estimated from */
    double seconds;
    int64_t epochs;
} job;

/* ---- while it runs ------------------------------------------------------------ */

static const char *metric_of(const job *j)
{
    return cw_options_get(j->call->options[0], "metric");
}

/* Seconds until the run may stop at the earliest: no new best, or the last epoch. */
static double seconds_left(const job *j, const json_t *event)
{
    double every = cli_number(event, "eval_every"); /* what the method makes of it */
    double patience = strtod(cw_options_get(j->call->options[0], "patience"), NULL);
    double last = cli_number(event, "epochs"), epoch = cli_number(event, "epoch");
    double stop = every > 0 ? cli_number(event, "best_epoch") + patience * every : last;
    return ((stop < last ? stop : last) - epoch) * j->seconds /
           (j->epochs > 0 ? (double)j->epochs : 1);
}

/* What the live line says until the next epoch is done. */
static void write_note(job *j, const json_t *event)
{
    char *note = j->call->note;
    size_t bytes = sizeof j->call->note;
    double left = seconds_left(j, event);
    int used = snprintf(note, bytes, "  loss %.4f", cli_number(event, "loss"));
    if (cli_number(event, "best_epoch") > 0)
        used += snprintf(note + used, bytes - (size_t)used, "  best %s %.4f (epoch %.0f)",
                         metric_of(j), cli_number(event, "best"), cli_number(event, "best_epoch"));
    if (left > 0)
        snprintf(note + used, bytes - (size_t)used, "  %d:%02d or more left", (int)left / 60,
                 (int)left % 60);
}

static bool is_refit(const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "event"));
    return kind && strcmp(kind, "refit") == 0;
}

static void print_epoch(const job *j, const json_t *event)
{
    const json_t *valid = json_object_get(event, "valid");
    fprintf(stderr, "%s %4.0f", is_refit(event) ? "refit" : "epoch", cli_number(event, "epoch"));
    if (cli_number(event, "epoch") > 0) fprintf(stderr, "  loss %.5f", cli_number(event, "loss"));
    if (valid) fprintf(stderr, "  %s %.4f", metric_of(j), cli_number(valid, metric_of(j)));
    if (valid && cli_number(event, "best_epoch") > 0)
        fprintf(stderr, "  best %.4f (epoch %.0f)", cli_number(event, "best"),
                cli_number(event, "best_epoch"));
    if (cli_number(event, "epoch") > 0)
        fprintf(stderr, "  %.2f s\n", cli_number(event, "train_s"));
    else
        fprintf(stderr, "  before training\n");
}

/* One line per epoch; on a terminal only those with an evaluation stay.  Of a refit, which has
 * none, the last says it all. */
static bool is_shown(const job *j, const json_t *event)
{
    if (is_refit(event)) return cli_number(event, "epoch") == cli_number(event, "epochs");
    return json_object_get(event, "valid") || !j->is_live;
}

static void on_event(void *user, const char *text)
{
    job *j = user;
    json_t *event = cli_parse(text);
    cli_clear_line();
    if (cli_number(event, "epoch") > 0) {
        j->seconds += cli_number(event, "train_s") + cli_number(event, "eval_s");
        j->epochs++;
        write_note(j, event);
    }
    if (j->call->json) {
        printf("%s\n", text);
        fflush(stdout);
    } else if (!j->call->quiet && is_shown(j, event)) {
        print_epoch(j, event);
    }
    json_decref(event);
}

/* ---- afterwards --------------------------------------------------------------- */

/* A model that popularity beats is nothing to ship, however it was trained. */
static void print_verdict(const job *j, const json_t *root)
{
    const json_t *baselines = json_object_get(root, "baselines");
    bool loses = json_is_false(json_object_get(baselines, "beats_pop"));
    if (!loses && !json_is_false(json_object_get(baselines, "beats_untrained"))) return;
    const json_t *theirs = json_object_get(baselines, loses ? "pop_valid" : "untrained_valid");
    fprintf(stderr,
            "crosswise: warning: on valid %s is %.4f, and that of %s is %.4f: this model is not "
            "worth using.  crosswise tune looks for a better one; more rows, another --method or "
            "a smaller --core may help\n",
            metric_of(j), cli_number(json_object_get(root, "valid"), metric_of(j)),
            loses ? "the most popular items for everybody" : "the model before training",
            cli_number(theirs, metric_of(j)));
}

static void print_result(const job *j, const char *run)
{
    const cw_metric_info *metric;
    json_t *root = cli_parse(run);
    const char *at = strchr(cw_options_get(j->call->options[0], "metric"), '@');
    const json_t *valid = json_object_get(root, "valid"), *test = json_object_get(root, "test");
    char key[32];

    printf("\n%s on %s, best epoch %.0f, trained for %.1f s\n\n",
           json_string_value(json_object_get(root, "method")),
           json_string_value(json_object_get(root, "backbone")), cli_number(root, "best_epoch"),
           cli_number(root, "train_s"));
    const json_t *refit = json_object_get(root, "refit");
    if (refit)
        printf("refitted on all %s rows in %.1f s; the metrics are of the model before that\n\n",
               cli_thousands((int64_t)cli_number(refit, "rows"), key), cli_number(root, "refit_s"));
    const json_t *pop = json_object_get(json_object_get(root, "baselines"), "pop_test");
    printf("%-14s %10s %10s%s\n", "", "valid", "test", pop ? "   pop, test" : "");
    for (size_t m = 0; (metric = cli_metric(m)) != NULL; m++) {
        char label[32];
        snprintf(key, sizeof key, "%s%s", metric->name, at ? at : "");
        snprintf(label, sizeof label, "%s%s", metric->title, at ? at : "");
        if (metric->place == CW_METRIC_ASKED && !json_object_get(valid, key) &&
            !json_object_get(test, key))
            continue;
        int over = strlen(label) > 14 ? (int)strlen(label) - 14 : 0;
        printf("%-14s", label);
        if (json_is_object(valid))
            printf(" %*.*f", over < 10 ? 10 - over : 0, metric->digits, cli_number(valid, key));
        else
            printf(" %10s", "-");
        if (json_is_object(test))
            printf(" %10.*f", metric->digits, cli_number(test, key));
        else
            printf(" %10s", "-");
        if (pop) printf(" %11.*f", metric->digits, cli_number(pop, key));
        putchar('\n');
    }
    if (!json_object_get(root, "bucket"))
        printf("\nwithout --bucket nothing tells an item's quality from how often it was shown\n");
    if (j->out) printf("\nmodel %s\nrun   %s\n", j->out, j->record);
    print_verdict(j, root);
    json_decref(root);
}

/* ---- the data ----------------------------------------------------------------- */

/* A model of a raw log is one to ship, that of a folder is one to be measured on it. */
static cw_status choose_refit(job *j)
{
    bool is_on = j->refit || (!j->no_refit && !cli_is_folder(j->call->inputs[0]));
    return cw_options_set(j->call->ctx, j->call->options[0], "refit", is_on ? "on" : "off");
}

static bool is_on(const cw_options *options, const char *flag)
{
    const char *value = cw_options_get(options, flag);
    return strcmp(value, "on") == 0 || strchr("yt1", value[0]) != NULL;
}

static cw_status train(job *j)
{
    cli_call *call = j->call;
    cw_dataset *dataset = NULL;
    cw_model *model = NULL;
    char *run = NULL;

    cw_status status;
    if (call->processes > 1 && cli_is_folder(call->inputs[0])) {
        status = cw_train_folder(call->ctx, call->inputs[0], j->train_file, call->options[0],
                                 &model, &run);
    } else {
        status = cli_load(call, call->options[1], call->options[2], j->train_file, &dataset);
        if (status == CW_OK) status = cw_train(call->ctx, dataset, call->options[0], &model, &run);
    }
    if (status == CW_OK && call->rank > 0) goto done; /* the first process has it */
    if (status == CW_OK && j->out)
        status = cw_model_save_run(call->ctx, model, j->out, run, j->record, j->force);
    if (status == CW_OK && j->checkpoint && !is_on(call->options[0], "checkpoint-end"))
        cw_checkpoint_remove(j->checkpoint); /* no longer needed */
    cli_clear_line();
    if (status == CW_OK && call->json)
        cli_print_done(cli_parse(run));
    else if (status == CW_OK && !call->quiet)
        print_result(j, run);
    bool has_state = dataset || (j->checkpoint && access(j->checkpoint, F_OK) == 0);
    if (status == CW_CANCELLED && has_state && j->checkpoint) /* stopped while it trained */
        fprintf(stderr, "crosswise: the state is in %s; --resume goes on from it\n", j->checkpoint);
done:
    cw_text_free(run);
    cw_model_free(model);
    cw_dataset_free(dataset);
    return status;
}

/* Beside the model lie its run file and, while training, its checkpoint. */
static cw_status name_files(job *j)
{
    if (!j->out) return CW_OK;
    j->record = cli_with_ending(j->out, ".run.json");
    const char *given = cw_options_get(j->call->options[0], "checkpoint");
    j->checkpoint = given[0] ? strdup(given) : cli_with_ending(j->out, ".checkpoint");
    if (!j->record || !j->checkpoint) return CW_NO_MEMORY;
    return cw_options_set(j->call->ctx, j->call->options[0], "checkpoint", j->checkpoint);
}

static char *join(const char *folder, const char *file)
{
    size_t bytes = strlen(folder) + strlen(file) + 2;
    char *path = malloc(bytes);
    if (path) snprintf(path, bytes, "%s/%s", folder, file);
    return path;
}

/* Before the long work: may all three be written, and do they leave alone what is read? */
static cw_status check_files(const job *j)
{
    cw_context *ctx = j->call->ctx;
    const cw_options *options = j->call->options[0];
    const char *checkpoint = cw_options_get(options, "checkpoint");
    const char *outputs[] = {checkpoint, j->out, j->record};
    char *train_file = join(j->call->inputs[0], j->train_file ? j->train_file : "train.csv");
    const char *inputs[] = {train_file, cw_options_get(options, "treatment"),
                            cw_options_get(options, "propensity"),
                            cw_options_get(options, "bucket")};
    size_t first = checkpoint[0] ? 0 : 1, end = j->out ? 3 : 1;
    cw_status status = train_file ? CW_OK : CW_NO_MEMORY;
    if (status == CW_OK && first < end)
        status = cli_compare_files(j->call, outputs + first, end - first, inputs, 4);
    free(train_file);
    if (status == CW_OK && j->out) status = cw_output_check(ctx, CW_OUTPUT_MODEL, j->out, j->force);
    if (status == CW_OK && j->out)
        status = cw_output_check(ctx, CW_OUTPUT_RECORD, j->record, j->force);
    if (status == CW_OK && checkpoint[0])
        status = cw_output_check(ctx, CW_OUTPUT_CHECKPOINT, checkpoint, j->force);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL, *train_file = NULL;
    bool force = false, refit = false, no_refit = false, tunes = false;
    const cli_flag flags[] = {
        {"out", "FILE", &out, NULL,
         "write the model here (FILE.safetensors), and FILE.run.json beside it"},
        {"force", NULL, NULL, &force,
         "let them replace files that are there and that crosswise did not write"},
        {"train-file", "NAME", &train_file, NULL,
         "train on this file of the folder, such as train_0.5.csv that skew wrote"},
        {"refit", NULL, NULL, &refit,
         "once the number of steps is chosen, train once more on all rows of train, valid and test "
         "for as many; the metrics stay those of before; for a raw log this is the default"},
        {"no-refit", NULL, NULL, &no_refit, "leave that out; for a folder this is the default"},
        {"tune", NULL, NULL, &tunes,
         "find the best method and settings first, as crosswise tune does by default"},
        {0}};
    cli_call call;
    cw_status status = CW_OK;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one dataset folder or file, not %zu", call.n_inputs);
    if (code < 0 && refit && no_refit)
        code = cli_misuse(command, "give --refit or --no-refit, not both");
    if (code < 0 && tunes && (!out || train_file))
        code = cli_misuse(command, "--tune needs --out and does not go with --train-file");
    if (code < 0 && tunes && strcmp(cw_options_get(call.options[0], "device"), "mpi") == 0)
        code = cli_misuse(command, "--tune does not go with --device mpi");
    if (code < 0 && tunes) {
        const tune_order order = {.call = &call,
                                  .options = call.options[0],
                                  .import = call.options[1],
                                  .prepare = call.options[2],
                                  .name = out,
                                  .refits = !no_refit,
                                  .force = force,
                                  .argc = argc,
                                  .argv = argv};
        status = tune_instead(&order);
    } else if (code < 0) {
        job j = {.call = &call,
                 .out = out,
                 .train_file = train_file,
                 .force = force,
                 .refit = refit,
                 .no_refit = no_refit,
                 .is_live = isatty(STDERR_FILENO)};
        cw_context_set_event(call.ctx, on_event, &j);
        status = choose_refit(&j);
        if (status == CW_OK) status = name_files(&j);
        if (status == CW_OK && call.rank == 0) status = check_files(&j);
        if (status == CW_OK) status = train(&j);
        free(j.record);
        free(j.checkpoint);
    }
    return cli_end(&call, code, status);
}

const cli_command cmd_train = {
    .name = "train",
    .summary = "train a recommender on a dataset folder or a raw log",
    .usage = "DIR|FILE [--method cpr] [--out MODEL.safetensors] [options]",
    .details =
        "Trains on the train part, stops when the validation part no longer gains, keeps the best\n"
        "parameters and measures them on the test part.  A raw log is imported, filtered and "
        "split\n"
        "first, with the options of prepare; in the end its model is trained once more on all of "
        "its\n"
        "rows (--no-refit leaves that out), and recommend then hides every one of them.\n"
        "\n"
        "  crosswise train sim --out cpr.safetensors\n"
        "  crosswise train sim --method bpr --out bpr.safetensors\n"
        "  crosswise train clicks.csv --out clicks.safetensors\n"
        "  crosswise train sim --out cpr.safetensors --resume",
    .stages = {"train", "import", "prepare"},
    .run = run,
};

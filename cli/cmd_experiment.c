/* cmd_experiment.c - crosswise experiment PLAN.json|NAME [DATASET...] --out DIR */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

typedef struct job {
    cli_call *call;
    const char *out;
    struct timespec began;
    int64_t finished; /* runs of this process */
} job;

/* ---- the plan ----------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A plan that comes with crosswise, or a file.  NULL after the reason was printed. */
static json_t *read_plan(const char *name)
{
    json_error_t error;
    const char *text = cw_plan_text(name);
    json_t *plan = text ? cli_parse(text) : cli_parse_file(name, &error);
    if (plan) return plan;
    if (is_folder(name)) {
        fprintf(stderr,
                "crosswise: %s is a folder, not a plan; name the plan before the datasets\n", name);
        return NULL;
    }
    if (access(name, R_OK) == 0) {
        fprintf(stderr, "crosswise: %s:%d: %s\n", name, error.line, error.text);
        return NULL;
    }
    fprintf(stderr, "crosswise: cannot read the plan %s: %s; plans that come with crosswise are",
            name, strerror(errno));
    for (size_t k = 0; cw_plan_name(k); k++) fprintf(stderr, " %s", cw_plan_name(k));
    fputc('\n', stderr);
    return NULL;
}

/* Datasets behind the plan take the place of its own. */
static char *plan_text(const cli_call *call)
{
    json_t *plan = read_plan(call->inputs[0]), *datasets = json_array();
    char *text = NULL;
    for (size_t k = 1; plan && k < call->n_inputs; k++) {
        if (json_array_append_new(datasets, json_string(call->inputs[k])) == 0) continue;
        if (!cli_lacks_memory())
            fprintf(stderr, "crosswise: %s cannot be in a plan: its name is not UTF-8\n",
                    call->inputs[k]);
        json_decref(plan);
        plan = NULL;
    }
    if (json_array_size(datasets) > 0) json_object_set(plan, "datasets", datasets);
    if (plan) text = cli_print_json(plan, JSON_REAL_PRECISION(17));
    json_decref(plan);
    json_decref(datasets);
    return text;
}

/* ---- while it runs --------------------------------------------------------------------- */

static double seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

static void print_run(const json_t *event)
{
    const json_t *valid = json_object_get(event, "valid");
    const char *metric;
    json_t *value;
    fprintf(stderr, "%.0f of %.0f  %s, %s on %s, seed %.0f", cli_number(event, "done"),
            cli_number(event, "total"), cli_text_of(event, "dataset"), cli_text_of(event, "method"),
            cli_text_of(event, "backbone"), cli_number(event, "seed"));
    if (json_object_get(event, "error")) {
        fprintf(stderr, ": failed\n");
        return;
    }
    json_object_foreach((json_t *)valid, metric, value)
    {
        if (strncmp(metric, "recall@", 7) == 0)
            fprintf(stderr, ": valid %s %.4f", metric, json_number_value(value));
    }
    fprintf(stderr, " at epoch %.0f%s, %.1f s\n", cli_number(event, "best_epoch"),
            json_is_true(json_object_get(event, "early")) ? " so far" : "",
            cli_number(event, "train_s"));
}

/* What is left, if the rest goes as what was done in this call. */
static void write_note(job *j, const json_t *event)
{
    double left = (cli_number(event, "total") - cli_number(event, "done")) *
                  seconds_since(&j->began) / (double)j->finished;
    snprintf(j->call->note, sizeof j->call->note, "  about %d:%02d:%02d left", (int)left / 3600,
             (int)left / 60 % 60, (int)left % 60);
}

static void on_event(void *user, const char *text)
{
    job *j = user;
    json_t *event = cli_parse(text);
    cli_clear_line();
    j->finished++;
    write_note(j, event);
    if (j->call->json) {
        printf("%s\n", text);
        fflush(stdout);
    } else if (!j->call->quiet) {
        print_run(event);
    }
    json_decref(event);
}

/* ---- afterwards --------------------------------------------------------------------------- */

static void print_file(const char *folder, const char *name)
{
    char line[4096];
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (!path) return;
    snprintf(path, bytes, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) fputs(line, stdout);
    if (file) fclose(file);
    free(path);
}

/* The results as the last event, on one line like the others. */
static void print_done(json_t *results)
{
    json_object_set_new(results, "event", json_string("done"));
    json_dumpf(results, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
    putchar('\n');
}

static void print_duration(const char *what, double seconds)
{
    if (seconds >= 7200)
        printf("%s %.1f hours", what, seconds / 3600);
    else if (seconds >= 120)
        printf("%s %.1f minutes", what, seconds / 60);
    else
        printf("%s %.1f seconds", what, seconds);
}

/* "  k 2, ratio 3" */
static void print_settings(json_t *settings)
{
    const char *name;
    json_t *value;
    json_object_foreach(settings, name, value)
    {
        char *text = cli_print_json(value, JSON_REAL_PRECISION(6));
        printf("  %s %s", name, text ? text : "");
        free(text);
    }
}

static void print_estimate(const json_t *estimate)
{
    size_t index;
    json_t *row;
    printf("%-16s %-12s %-10s %-10s %8s %6s %6s %10s %10s\n", "dataset", "train set", "method",
           "backbone", "settings", "seeds", "runs", "s/epoch", "s/eval");
    json_array_foreach(json_object_get(estimate, "rows"), index, row)
    {
        printf("%-16s %-12s %-10s %-10s %8.0f %6.0f %6.0f %10.3f %10.3f",
               cli_text_of(row, "dataset"), cli_text_of(row, "train_set"),
               cli_text_of(row, "method"), cli_text_of(row, "backbone"),
               cli_number(row, "settings"), cli_number(row, "seeds"), cli_number(row, "runs"),
               cli_number(row, "epoch_s"), cli_number(row, "eval_s"));
        print_settings(json_object_get(row, "varied"));
        putchar('\n');
    }
    printf("\nAt most %.0f runs, %.0f at a time.  By a few timed steps of each row it would take",
           cli_number(estimate, "runs"), cli_number(estimate, "jobs"));
    print_duration("", cli_number(estimate, "least_s"));
    print_duration("\nif no run gained after its first evaluation, and",
                   cli_number(estimate, "most_s"));
    printf(" if all\nran to their last epoch; most stop in between.  What is already in the folder "
           "is not\nsubtracted, and runs at the same time share the machine.\n");
}

static int show(const job *j, json_t *results)
{
    int failed = (int)cli_number(results, "failed");
    if (j->call->json) {
        print_done(results);
    } else if (json_object_get(results, "dry_run")) {
        print_estimate(results);
    } else if (!j->call->quiet) {
        print_file(j->out, "tables.md");
        print_file(j->out, "times.md");
        printf("\nresults %s/results.json, results.csv, tables.md, times.md\n", j->out);
    }
    if (failed == 0) return -1;
    fprintf(stderr, "crosswise: %d run%s failed; the reason%s in the results, --retry repeats %s\n",
            failed, failed > 1 ? "s" : "", failed > 1 ? "s are" : " is",
            failed > 1 ? "them" : "it");
    return CLI_FAILED;
}

static int experiment(job *j, cw_status *status)
{
    char *json = NULL, *plan = plan_text(j->call);
    int code = -1;
    if (!plan) return cli_lacks_memory() ? -1 : CLI_FAILED; /* cli_end says the former */
    *status =
        cw_experiment_run(j->call->ctx, plan, j->call->options[0], j->out ? j->out : "", &json);
    cli_clear_line();
    if (*status == CW_OK) {
        json_t *results = cli_parse(json);
        code = show(j, results);
        json_decref(results);
    }
    cw_text_free(json);
    free(plan);
    return code;
}

static int print_plan(const cli_call *call)
{
    const char *text = cw_plan_text(call->inputs[0]);
    if (text) {
        fputs(text, stdout);
        return CLI_DONE;
    }
    json_t *plan = read_plan(call->inputs[0]);
    if (!plan) return CLI_FAILED;
    json_dumpf(plan, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(plan);
    return CLI_DONE;
}

static bool is_on(const cw_options *options, const char *flag)
{
    const char *value = cw_options_get(options, flag);
    return strcmp(value, "on") == 0 || strchr("yt1", value[0]) != NULL;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const char *out = NULL;
    bool prints = false;
    const cli_flag flags[] = {
        {"out", "DIR", &out, NULL, "folder for runs and results; the same command goes on there"},
        {"print-plan", NULL, NULL, &prints, "print the plan and do nothing"},
        {0}};
    cli_call call;
    cw_status status = CW_OK;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs == 0)
        code =
            cli_misuse(command, "it needs a plan: a file, or one of quick, compare, paper, beyond");
    if (code < 0 && prints) code = print_plan(&call);
    if (code < 0 && !out && !is_on(call.options[0], "dry-run"))
        code = cli_misuse(command, "--out DIR is missing");
    if (code < 0) {
        job j = {.call = &call, .out = out};
        clock_gettime(CLOCK_MONOTONIC, &j.began);
        cw_context_set_event(call.ctx, on_event, &j);
        code = experiment(&j, &status);
    }
    return cli_end(&call, code, status);
}

const cli_command cmd_experiment = {
    .name = "experiment",
    .summary = "run a plan: methods, settings and seeds, into tables",
    .usage = "PLAN.json|quick|compare|paper|beyond [DATASET...] --out DIR [options]",
    .details =
        "Trains every method of the plan on every dataset folder, tunes settings on the\n"
        "validation part, repeats the best with several seeds and tests the differences.  The\n"
        "whole plan is checked before anything runs.  Killed or interrupted, the same command\n"
        "goes on where it was and ends in the same tables.  docs/experiments.md has the format.\n"
        "\n"
        "  crosswise experiment quick ml --out results\n"
        "  crosswise experiment paper ml netflix --out paper --jobs 4 --threads 2\n"
        "  crosswise experiment paper --print-plan >mine.json\n"
        "  crosswise experiment mine.json ml --out mine --dry-run",
    .stages = {"experiment"},
    .run = run,
};

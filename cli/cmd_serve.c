/* cmd_serve.c - crosswise serve MODEL [OTHER] */
#include <serve.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MAX_NUMBERS = 16, N_TEXTS = 6 };

/* Numbers as typed, into the settings.  Returns -1 to go on, or an exit code. */
static int take_numbers(const cli_command *command, const char *const *typed, serve_settings *out)
{
    for (size_t k = 0; serve_numbers[k].name; k++) {
        const serve_number *n = &serve_numbers[k];
        char *end = NULL;
        long long value = typed[k] ? strtoll(typed[k], &end, 10) : n->preset;
        if (typed[k] && (*end || end == typed[k] || value < n->low || value > n->high))
            return cli_misuse(command,
                              "--%s is '%.40s'; it must be a whole number from %lld to %lld",
                              n->name, typed[k], (long long)n->low, (long long)n->high);
        int64_t number = value;
        memcpy((char *)out + n->place, &number, sizeof number);
    }
    return -1;
}

static int run(const cli_command *command, int argc, char **argv)
{
    serve_settings set = {.listen = "127.0.0.1:8080"};
    const char *typed[MAX_NUMBERS] = {NULL};
    bool describes = false;
    cli_flag flags[N_TEXTS + 1 + MAX_NUMBERS] = {
        {"listen", "ADDRESS:PORT", &set.listen, NULL,
         "where to listen, 127.0.0.1:8080 unless given; port 0 takes a free one"},
        {"data", "DIR", &set.data, NULL,
         "dataset folder that MODEL was trained on: rows that the model was not told of, such as "
         "those held out, are hidden too, and count in the charts of the log"},
        {"tokens", "FILE", &set.tokens, NULL,
         "who may do what: a line for each token, such as: write TOKEN (read, write, admin); "
         "without it nobody may write or reload, and everybody may read"},
        {"feedback", "DIR", &set.feedback, NULL,
         "folder for the log of interactions that come by /v1/feedback"},
        {"run-as", "USER", &set.run_as, NULL, "user to become once the port is open"},
        {"openapi", NULL, NULL, &describes, "print the description of all routes, and end"}};
    size_t n = N_TEXTS;
    for (size_t k = 0; serve_numbers[k].name && k + 1 < MAX_NUMBERS; k++)
        flags[n++] = (cli_flag){serve_numbers[k].name, "N", &typed[k], NULL, serve_numbers[k].help};
    cli_call call;
    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && describes) {
        serve_guard_memory();
        char *text = serve_openapi();
        if (text) puts(text);
        free(text);
        return cli_end(&call, text ? CLI_DONE : cli_lack_memory(), CW_OK);
    }
    if (code < 0 && (call.n_inputs < 1 || call.n_inputs > 2))
        code = cli_misuse(command, "it takes one model file, or two to compare, not %zu",
                          call.n_inputs);
    if (code < 0) code = take_numbers(command, typed, &set);
    if (code < 0) {
        set.model = call.inputs[0];
        set.beside = call.n_inputs > 1 ? call.inputs[1] : NULL;
        set.is_quiet = call.quiet;
        code = serve_run(call.ctx, &set);
    }
    return cli_end(&call, code, CW_OK);
}

const cli_command cmd_serve = {
    .name = "serve",
    .summary = "answer requests for lists by HTTP",
    .usage = "MODEL [OTHER] [options]",
    .details =
        "Serves lists of MODEL as JSON, and a page to explore it at /.  A second model is served\n"
        "beside the first, to compare them.  A changed file is taken over while requests go on, "
        "so\n"
        "is one after SIGHUP.  SIGTERM finishes what was accepted.  docs/serving.md has the rest.\n"
        "\n"
        "  crosswise serve ml.safetensors\n"
        "  crosswise serve ml.safetensors --data ml\n"
        "  crosswise serve ml.safetensors --listen 127.0.0.1:9000 --tokens tokens.txt --feedback "
        "log",
    .stages = {NULL},
    .run = run,
};

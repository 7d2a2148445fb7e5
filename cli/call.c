/* call.c - from the words of a command line to a context, options and inputs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

int cli_misuse(const cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "crosswise %s: ", command->name);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry: crosswise help %s\n", command->name);
    return CLI_USAGE;
}

void cli_common_flags(cli_call *call, cli_flag out[CLI_N_COMMON])
{
    const cli_flag flags[CLI_N_COMMON] = {
        {"threads", "N", &call->threads, NULL,
         "threads to use, all cores by default; results never depend on it"},
        {"isa", "NAME", &call->isa, NULL,
         "instruction set to use: ref, avx2, avx512, neon, or auto for the best of this CPU, the "
         "default; results never depend on it"},
        {"json", NULL, NULL, &call->json, "print the result as JSON"},
        {"quiet", NULL, NULL, &call->quiet, "no progress and no remarks, only warnings and errors"},
        {0},
    };
    memcpy(out, flags, sizeof flags);
}

/* ---- one flag -------------------------------------------------------------- */

/* A flag as it was typed: --name=value, or --name with the next word. */
typedef struct typed {
    char name[64];
    const char *value; /* NULL when there is none */
    bool is_joined;    /* the value came with '=' */
} typed;

static const cli_flag *find_flag(const cli_flag *flags, const char *name)
{
    for (; flags->name; flags++)
        if (strcmp(flags->name, name) == 0) return flags;
    return NULL;
}

static const cw_option_info *find_option(const char *stage, const char *name)
{
    const cw_option_info *info;
    for (size_t row = 0; (info = cw_stage_option(stage, row)) != NULL; row++)
        if (strcmp(info->name, name) == 0) return info;
    return NULL;
}

static int unknown_flag(const cli_call *call, const cli_flag *flags, const char *name)
{
    const char *words[128];
    size_t n = 0;
    const cw_option_info *info;

    for (; flags->name && n < 100; flags++) words[n++] = flags->name;
    for (size_t s = 0; call->command->stages[s]; s++)
        for (size_t row = 0; n < 128 && (info = cw_stage_option(call->command->stages[s], row));
             row++) {
            words[n++] = info->name;
            if (info->former && strcmp(info->former, name) == 0)
                return cli_misuse(call->command, "%s", info->former_note);
        }
    const char *near = cli_nearest(name, words, n);
    return cli_misuse(call->command,
                      near ? "there is no flag --%s; did you mean --%s?" : "there is no flag --%s",
                      name, near);
}

/* Put a flag where it belongs.  *took_next says whether the next word was its value. */
static int set_own_flag(cli_call *call, const cli_flag *flag, const typed *flag_typed,
                        bool *took_next)
{
    if (flag->on) {
        if (flag_typed->is_joined)
            return cli_misuse(call->command, "--%s takes no value", flag->name);
        *flag->on = true;
        return -1;
    }
    if (!flag_typed->value)
        return cli_misuse(call->command, "--%s needs a value: %s", flag->name, flag->value);
    *flag->text = flag_typed->value;
    call->given[call->n_given].name = flag->name;
    call->given[call->n_given++].value = flag_typed->value;
    *took_next = !flag_typed->is_joined;
    return -1;
}

int cli_lack_memory(void)
{
    fputs("crosswise: out of memory\n", stderr);
    return CLI_FAILED;
}

/* An option may belong to several stages (such as seed): all of them get it. */
static int set_stage_option(cli_call *call, const typed *flag, bool *took_next, bool *known)
{
    *known = false;
    for (size_t s = 0; call->command->stages[s]; s++) {
        const cw_option_info *info = find_option(call->command->stages[s], flag->name);
        if (!info) continue;
        *known = true;
        bool is_bare = info->kind == CW_OPTION_FLAG && !flag->is_joined;
        const char *value = is_bare ? "on" : flag->value;
        if (!value) return cli_misuse(call->command, "--%s needs a value", flag->name);
        *took_next = !flag->is_joined && !is_bare;
        cw_status status = cw_options_set(call->ctx, call->options[s], flag->name, value);
        if (status == CW_NO_MEMORY) return cli_lack_memory();
        if (status != CW_OK) return cli_misuse(call->command, "%s", cw_context_error(call->ctx));
    }
    return -1;
}

static int read_flag(cli_call *call, const cli_flag *own, char **word, bool *took_next)
{
    cli_flag common[CLI_N_COMMON];
    typed flag = {.value = word[1]};
    const char *name = *word + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    bool known;

    if (length >= sizeof flag.name) return unknown_flag(call, own, "...");
    memcpy(flag.name, name, length);
    flag.is_joined = equals != NULL;
    if (equals) flag.value = equals + 1;
    cli_common_flags(call, common);
    const cli_flag *found = find_flag(own, flag.name);
    if (!found) found = find_flag(common, flag.name);
    if (found) return set_own_flag(call, found, &flag, took_next);
    int code = set_stage_option(call, &flag, took_next, &known);
    return code < 0 && !known ? unknown_flag(call, own, flag.name) : code;
}

/* ---- the whole line --------------------------------------------------------- */

static int read_words(cli_call *call, const cli_flag *flags, int argc, char **argv)
{
    bool only_inputs = false;
    for (int at = 1; at < argc; at++) {
        bool took_next = false;
        char *word = argv[at];
        if (only_inputs || word[0] != '-' || word[1] == '\0') {
            call->inputs[call->n_inputs++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_inputs = true;
        } else if (word[1] != '-') {
            return cli_misuse(call->command, "there is no flag %s", word);
        } else {
            int code = read_flag(call, flags, &argv[at], &took_next);
            if (code >= 0) return code;
        }
        at += took_next;
    }
    return -1;
}

size_t cli_values(const cli_call *call, const char *name, const char **out)
{
    size_t n = 0;
    for (size_t g = 0; g < call->n_given; g++)
        if (strcmp(call->given[g].name, name) == 0) out[n++] = call->given[g].value;
    return n;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int at = 1; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) return true;
    return false;
}

/* The value of a flag, as --name value or --name=value, or "". */
static const char *find_value(int argc, char **argv, const char *name)
{
    size_t length = strlen(name);
    for (int at = 1; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strncmp(argv[at], name, length) != 0) continue;
        if (argv[at][length] == '=') return argv[at] + length + 1;
        if (argv[at][length] == '\0' && argv[at + 1]) return argv[at + 1];
    }
    return "";
}

/* Help for a method and a backbone where they are named, and there are such. */
static int help(const cli_command *command, int argc, char **argv, const cli_flag *flags)
{
    cli_topic topic = {"", ""};
    if (command->stages[0] && strcmp(command->stages[0], "train") == 0) {
        topic.method = find_value(argc, argv, "--method");
        topic.backbone = find_value(argc, argv, "--backbone");
    }
    if (topic.method[0] && !cw_method_help(topic.method))
        return cli_misuse(command, "there is no method '%s'; crosswise methods lists them",
                          topic.method);
    if (topic.backbone[0] && !cw_backbone_help(topic.backbone))
        return cli_misuse(command, "there is no backbone '%s'; crosswise methods lists them",
                          topic.backbone);
    if (topic.method[0] && !topic.backbone[0]) topic.backbone = cw_method_backbone(topic.method, 0);
    cli_print_help(command, flags, &topic);
    return CLI_DONE;
}

static int set_threads(cli_call *call)
{
    char *end;
    if (!call->threads) return -1;
    long threads = strtol(call->threads, &end, 10);
    if (end == call->threads || *end != '\0' || threads < 1 || threads > INT_MAX) threads = -1;
    if (cw_context_set_threads(call->ctx, (int)threads) == CW_OK) return -1;
    return cli_misuse(call->command,
                      "--threads is '%s'; it must be a whole number between 1 and "
                      "1024",
                      call->threads);
}

static int set_isa(cli_call *call)
{
    if (!call->isa || cw_use_isa(call->ctx, call->isa) == CW_OK) return -1;
    return cli_misuse(call->command, "%s", cw_context_error(call->ctx));
}

/* ---- many processes --------------------------------------------------------- */

/* Only the first of them is heard; another may have to say why it failed. */
static void fall_silent(cli_call *call)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    call->quiet = true;
    call->errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* Become one of those that mpirun has started, before anything is printed. */
static cw_status join(cli_call *call, int argc, char **argv)
{
    static const char *const together[] = {"train", "evaluate", "recommend"};
    bool can = false;
    for (size_t k = 0; k < sizeof together / sizeof together[0]; k++)
        can = can || strcmp(call->command->name, together[k]) == 0;
    if (!can || strcmp(find_value(argc, argv, "--device"), "mpi") != 0) return CW_OK;
    cw_status status = cw_processes_join(call->ctx, &call->rank, &call->processes);
    if (status == CW_OK && call->rank > 0) fall_silent(call);
    return status;
}

/* All of them end when one fails.  Most often all fail alike: the first one says it, and the others
 * wait a moment for it. */
static void end_all(cli_call *call, int code, const char *reason)
{
    if (call->rank > 0) {
        const struct timespec moment = {.tv_sec = 2};
        if (nanosleep(&moment, NULL) != 0) return; /* the job is being ended */
        if (call->errors >= 0) dup2(call->errors, STDERR_FILENO);
        fprintf(stderr, "crosswise: rank %d: %s\n", call->rank, reason);
    }
    fflush(stdout);
    cw_processes_end(call->ctx, code);
}

int cli_begin(cli_call *call, const cli_command *command, int argc, char **argv,
              const cli_flag *flags)
{
    *call = (cli_call){.command = command, .processes = 1, .errors = -1};
    if (asks_for_help(argc, argv)) return help(command, argc, argv, flags);
    call->inputs = calloc((size_t)argc + 1, sizeof *call->inputs);
    call->given = calloc((size_t)argc + 1, sizeof *call->given);
    cw_status status = cw_context_create(&call->ctx);
    for (size_t s = 0; command->stages[s] && status == CW_OK; s++)
        status = cw_options_create(call->ctx, command->stages[s], &call->options[s]);
    if (status != CW_OK || !call->inputs || !call->given) {
        fprintf(stderr, "crosswise: out of memory\n");
        return CLI_FAILED;
    }
    status = join(call, argc, argv);
    if (status != CW_OK) {
        fprintf(stderr, "crosswise: %s\n", cw_context_error(call->ctx));
        return CLI_FAILED;
    }
    int code = read_words(call, flags, argc, argv);
    if (code < 0) code = set_threads(call);
    if (code < 0) code = set_isa(call);
    if (code < 0) cli_watch(call);
    return code;
}

cw_status cli_compare_files(cli_call *call, const char *const *outputs, size_t n_outputs,
                            const char *const *others, size_t n_others)
{
    size_t n = 0;
    const char **inputs = calloc(call->n_inputs + n_others + 1, sizeof *inputs);
    if (!inputs) return CW_NO_MEMORY;
    for (size_t k = 0; k < call->n_inputs; k++)
        inputs[n++] = strcmp(call->inputs[k], "-") == 0 ? "/dev/stdin" : call->inputs[k];
    for (size_t k = 0; k < n_others; k++)
        if (others[k] && others[k][0]) inputs[n++] = others[k];
    cw_status status = cw_output_compare(call->ctx, outputs, n_outputs, inputs, n);
    free(inputs);
    return status;
}

static bool is_database(const char *path)
{
    return strncmp(path, "sqlite:", 7) == 0 || strncmp(path, "postgresql://", 13) == 0 ||
           strncmp(path, "postgres://", 11) == 0;
}

bool cli_is_folder(const char *path)
{
    struct stat info;
    if (is_database(path)) return false; /* the query may be longer than any path */
    if (stat(path, &info) == 0) return S_ISDIR(info.st_mode);
    return errno != ENOENT && errno != ENOTDIR;
}

cw_status cli_load(cli_call *call, const cw_options *import, const cw_options *prepare,
                   const char *train_file, cw_dataset **out)
{
    const char *input = call->inputs[0];
    cw_interactions *interactions = NULL;
    if (cli_is_folder(input)) return cw_dataset_load_with(call->ctx, input, train_file, out);
    cw_status status = cw_import(call->ctx, &input, 1, import, &interactions);
    if (status == CW_OK) status = cw_dataset_prepare(call->ctx, interactions, prepare, out);
    cw_interactions_free(interactions);
    return status;
}

char *cli_with_ending(const char *path, const char *ending)
{
    static const char usual[] = ".safetensors";
    size_t length = strlen(path), cut = sizeof usual - 1;
    if (length > cut && strcmp(path + length - cut, usual) == 0) length -= cut;
    size_t bytes = length + strlen(ending) + 1;
    char *made = malloc(bytes);
    if (made) snprintf(made, bytes, "%.*s%s", (int)length, path, ending);
    return made;
}

static int exit_code(cw_status status)
{
    switch (status) {
    case CW_OK: return CLI_DONE;
    case CW_BAD_ARG: return CLI_USAGE;
    case CW_CANCELLED: /* another process may have been asked */
        return CLI_SIGNAL + (cli_signal() ? cli_signal() : SIGTERM);
    case CW_NO_MEMORY:
    case CW_BAD_DATA:
    case CW_IO:
    case CW_UNSUPPORTED: break;
    }
    return CLI_FAILED;
}

int cli_end(cli_call *call, int code, cw_status status)
{
    char line[CLI_LINE_BYTES] = "wrong usage";
    cli_clear_line();
    if (code < 0 && cli_lacks_memory()) { /* what was printed or kept may lack something */
        code = cli_lack_memory();
    } else if (status != CW_OK) {
        const char *reason = call->ctx ? cw_context_error(call->ctx) : "";
        cli_one_line(reason[0] ? reason : cw_status_text(status), line);
        if (call->processes > 1)
            fprintf(stderr, "crosswise: rank %d: %s\n", call->rank, line);
        else
            fprintf(stderr, "crosswise: %s\n", line);
    }
    if (code > 0 || status != CW_OK) end_all(call, code > 0 ? code : exit_code(status), line);
    cw_processes_leave(call->ctx);
    for (size_t s = 0; s < CLI_MAX_STAGES; s++) cw_options_free(call->options[s]);
    cw_context_free(call->ctx);
    free(call->inputs);
    free(call->given);
    return code >= 0 ? code : exit_code(status);
}

/* main.c - crosswise: finds the command and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* In the order of the flow. */
#define COMMANDS(X)                                                                                \
    X(prepare)                                                                                     \
    X(skew)                                                                                        \
    X(simulate)                                                                                    \
    X(describe)                                                                                    \
    X(methods)                                                                                     \
    X(train)                                                                                       \
    X(tune)                                                                                        \
    X(update)                                                                                      \
    X(evaluate)                                                                                    \
    X(compare)                                                                                     \
    X(experiment)                                                                                  \
    X(report)                                                                                      \
    X(recommend)                                                                                   \
    X(serve)                                                                                       \
    X(info)                                                                                        \
    X(export)                                                                                      \
    X(demo)

#define X(name) extern const cli_command cmd_##name;
COMMANDS(X)
#undef X

const cli_command *const cli_commands[] = {
#define X(name) &cmd_##name,
    COMMANDS(X)
#undef X
        NULL,
};

static const cli_command *find(const char *name)
{
    const cli_command *const *command = cli_commands;
    while (*command && strcmp((*command)->name, name) != 0) command++;
    return *command;
}

static int unknown(const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (; cli_commands[n]; n++) names[n] = cli_commands[n]->name;
    const char *near = cli_nearest(name, names, n);
    fprintf(stderr, "crosswise: there is no command '%s'", name);
    if (near) fprintf(stderr, "; did you mean %s?", near);
    fprintf(stderr, "\nTry: crosswise help\n");
    return CLI_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[2], "help") == 0) {
        cli_print_overview(stdout);
        return CLI_DONE;
    }
    char ask[] = "--help";
    const cli_command *command = find(argv[2]);
    argv[1] = argv[2];
    argv[2] = ask; /* in front of what else is there, such as --method dice */
    return command ? command->run(command, argc - 1, argv + 1) : unknown(argv[1]);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_overview(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("crosswise %s (%s)\n", cw_version(), cw_cpu_isa());
        return CLI_DONE;
    }
    const cli_command *command = find(argv[1]);
    return command ? command->run(command, argc - 1, argv + 1) : unknown(argv[1]);
}

/* A data file must not get the number of a standard stream that was closed, or messages would go
 * into it.  What takes the place cannot be used either, so that errors are still noticed. */
static void occupy_standard_streams(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Has whoever read standard output gone away?  A write long ago may have found it out. */
static bool has_lost_reader(int reason)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return reason == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

/* A result that could not be written is a failure, a quiet one when nobody wants it: | head. */
static int check_output(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    int reason = errno;
    if (has_lost_reader(reason)) return code == CLI_DONE ? CLI_SIGNAL + SIGPIPE : code;
    fprintf(stderr, "crosswise: cannot write to standard output: %s\n",
            reason ? strerror(reason) : "write failed");
    return code == CLI_DONE ? CLI_FAILED : code;
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    cli_init_json();
    /* A closed pipe or a file-size limit must not end the program before it has tidied up. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (!cli_guard_streams()) {
        fputs("crosswise: out of memory\n", stderr);
        return CLI_FAILED;
    }
    return check_output(dispatch(argc, argv));
}

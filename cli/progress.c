/* progress.c - the live line, remarks and interruption. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* What a signal handler and the one live line of a terminal cannot do without. */
static volatile sig_atomic_t caught;
static bool has_live_line;
static struct timespec last_drawn;

static void interrupt(int number)
{
    if (caught) { /* a second one ends the program at once */
        signal(number, SIG_DFL);
        raise(number);
    }
    caught = number;
}

/* A signal that was ignored when the program began stays so: nohup and scripts that start something
 * in the background mean it. */
static void watch_signal(int number)
{
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    struct sigaction before;
    if (sigaction(number, NULL, &before) != 0 || before.sa_handler == SIG_IGN) return;
    (void)sigaction(number, &action, NULL);
}

int cli_signal(void)
{
    return caught;
}

bool cli_await_input(int file)
{
    struct pollfd input = {.fd = file, .events = POLLIN};
    int ready = 0;
    while (!caught && (ready == 0 || (ready < 0 && errno == EINTR))) ready = poll(&input, 1, 200);
    return !caught; /* reading says what else is wrong */
}

void cli_clear_line(void)
{
    if (!has_live_line) return;
    cli_erase_line();
    has_live_line = false;
}

static double seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

/* Without a total, done are the bytes read of a pipe. */
static void draw(const cli_call *call, const char *stage, int64_t done, int64_t total)
{
    enum { WIDTH = 30 };
    static const char full[] = "##############################";
    char line[CLI_LINE_BYTES];

    cli_erase_line();
    fputs(cli_one_line(stage, line), stderr);
    if (total > 0) {
        double share = done < total ? (double)done / (double)total : 1;
        int filled = (int)(share * WIDTH);
        fprintf(stderr, " [%.*s%*s] %3d %%", filled, full, WIDTH - filled, "", (int)(share * 100));
    } else if (done > 0) {
        fprintf(stderr, " ... %.1f MB", 1e-6 * (double)done);
    } else {
        fputs(" ...", stderr);
    }
    fputs(call->note, stderr);
    has_live_line = true;
}

static bool on_progress(void *user, const char *stage, int64_t done, int64_t total)
{
    const cli_call *call = user;
    if (!call->quiet && isatty(STDERR_FILENO) && seconds_since(&last_drawn) > 0.1) {
        draw(call, stage, call->before + done, call->whole > 0 ? call->whole : total);
        clock_gettime(CLOCK_MONOTONIC, &last_drawn);
    }
    return !caught;
}

static void on_log(void *user, cw_log_level level, const char *text)
{
    const cli_call *call = user;
    if (call->quiet && level == CW_LOG_INFO) return;
    char line[CLI_LINE_BYTES];
    cli_clear_line();
    fprintf(stderr, "crosswise: %s%s\n", level == CW_LOG_WARNING ? "warning: " : "",
            cli_one_line(text, line));
}

void cli_show_part(cli_call *call, int64_t before, int64_t whole)
{
    call->before = before;
    call->whole = whole;
}

void cli_watch(cli_call *call)
{
    watch_signal(SIGINT);
    watch_signal(SIGTERM);
    watch_signal(SIGHUP);
    cw_context_set_log(call->ctx, on_log, call);
    cw_context_set_progress(call->ctx, on_progress, call);
}

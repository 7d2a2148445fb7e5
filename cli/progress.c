/* progress.c - the live line, remarks and interruption. */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* What a signal handler and the one live line of a terminal cannot do without. */
static volatile sig_atomic_t is_interrupted;
static bool has_live_line;
static struct timespec last_drawn;

static void interrupt(int number)
{
    is_interrupted = 1;
    signal(number, SIG_DFL); /* a second one ends the program at once */
}

void cli_clear_line(void)
{
    if (!has_live_line) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    has_live_line = false;
}

static double seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

static void draw(const cli_call *call, const char *stage, int64_t done, int64_t total)
{
    enum { WIDTH = 30 };
    static const char full[] = "##############################";
    if (total > 0) {
        double share = done < total ? (double)done / (double)total : 1;
        int filled = (int)(share * WIDTH);
        fprintf(stderr, "\r\033[K%s [%.*s%*s] %3d %%%s", stage, filled, full, WIDTH - filled, "",
                (int)(share * 100), call->note);
    } else {
        fprintf(stderr, "\r\033[K%s ...%s", stage, call->note);
    }
    fflush(stderr);
    has_live_line = true;
}

static bool on_progress(void *user, const char *stage, int64_t done, int64_t total)
{
    const cli_call *call = user;
    if (!call->quiet && isatty(STDERR_FILENO) && seconds_since(&last_drawn) > 0.1) {
        draw(call, stage, done, total);
        clock_gettime(CLOCK_MONOTONIC, &last_drawn);
    }
    return !is_interrupted;
}

static void on_log(void *user, cw_log_level level, const char *text)
{
    const cli_call *call = user;
    if (call->quiet && level == CW_LOG_INFO) return;
    cli_clear_line();
    fprintf(stderr, "crosswise: %s%s\n", level == CW_LOG_WARNING ? "warning: " : "", text);
}

void cli_watch(cli_call *call)
{
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    cw_context_set_log(call->ctx, on_log, call);
    cw_context_set_progress(call->ctx, on_progress, call);
}

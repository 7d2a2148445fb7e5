/*
 * torture.c - disturbs every command at every place and looks at what is left.
 *
 *   torture [--quick] [--jobs N] [--show N] CROSSWISE PRELOAD.so [AREA [COMMAND [CASE]]]
 *
 * Areas (all of them when none is named):
 *   faults   each file call fails with EIO, ENOSPC, EINTR, or reads and writes one byte only
 *   kills    the command is killed before each file call
 *   power    the power is cut before each call that changes something; what was not synced is lost
 *   memory   each allocation fails, alone or with all that follow it
 *   random   kills at random moments, some of them several times in a row
 *   two      another process does the same, in the same place, between two file calls
 *   links    somebody plants a link where the command is about to create something
 *   refused  outputs that would destroy what a user has
 *
 * What must hold.  The command ends by itself, with exit code 0 and just what an undisturbed one
 * leaves and prints, or with 1 and one line that says why; an allocation that failed is "out of
 * memory" there, and no fault is called damage.  What was in the folder before is as it was.  Where
 * a result goes is the old one or the new one, whole.  A failure leaves nothing else.  After a kill
 * or a power cut something unfinished may be left; the same command then ends in the same bytes as
 * if nothing had happened, and removes it.
 *
 * The commands are in commands.c; each runs in a folder of its own in memory where there is
 * one (/dev/shm).  A case that failed is shown with its number, and naming it runs it alone.
 * --quick takes some of the cases of each area; --show is how many failures of a command each job
 * shows, 3 by default.  The exit code is 1 when anything failed and 77 where commands cannot be
 * watched.
 */
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "areas.h"

enum { SHOWN = 3, MAX_JOBS = 64 };

static pid_t worker[MAX_JOBS];
static char scratch[64]; /* removed in the end */
static pid_t first_process;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

/* A command that was killed may need a moment to end. */
static void remove_scratch(void)
{
    if (!scratch[0] || getpid() != first_process) return;
    for (int attempt = 0; attempt < 100; attempt++) {
        if (nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0) return;
        usleep(10000);
    }
}

typedef struct area {
    const char *name, *title;
    void (*run)(lab *l);
    bool is_per_command;
} area;

static const area areas[] = {
    {"faults", "file calls that fail or are short", area_faults, true},
    {"kills", "kills at every file call", area_kills, true},
    {"power", "power cuts", area_power, true},
    {"memory", "allocations that fail", area_memory, true},
    {"random", "kills at random moments", area_random, true},
    {"two", "two processes, one output", area_two, true},
    {"links", "planted links", area_links, true},
    {"refused", "outputs to be refused", area_refused, false},
};

enum { N_AREAS = sizeof areas / sizeof areas[0] };

static void run_area(lab *l, const area *a, count *counts)
{
    l->area = a->name;
    l->counts = counts;
    if (!a->is_per_command) {
        a->run(l);
        return;
    }
    for (size_t k = 0; k < n_commands; k++) {
        subject s;
        if (l->only_command && strcmp(l->only_command, commands[k].name) != 0) continue;
        if (l->is_quick && commands[k].has_plugins) continue; /* they take their time */
        l->n_shown = 0;
        set_up(l, &s, &commands[k]);
        a->run(l);
        tear_down(&s);
        l->s = NULL;
    }
}

static int run_worker(lab *l, int me, const char *area_name, count *counts)
{
    char root[sizeof l->root + 16];
    l->me = me;
    trace_begin(l->preload); /* files of its own */
    snprintf(root, sizeof root, "%s/%d", l->root, me);
    snprintf(l->root, sizeof l->root, "%.60s", root);
    for (size_t a = 0; a < N_AREAS; a++)
        if (!area_name || strcmp(area_name, areas[a].name) == 0) run_area(l, &areas[a], &counts[a]);
    return 0;
}

static bool run_workers(lab *l, const char *area_name, count *counts)
{
    bool good = true;
    char root[128];
    fflush(stdout);
    for (int k = 0; k < l->jobs; k++) {
        snprintf(root, sizeof root, "%s/%d", l->root, k);
        if (mkdir(root, 0777) != 0) die("cannot make %s", root);
    }
    for (int k = 0; k < l->jobs; k++) {
        worker[k] = fork();
        if (worker[k] == 0) {
            signal(SIGINT, SIG_DFL);
            signal(SIGTERM, SIG_DFL);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(run_worker(l, k, area_name, counts));
        }
    }
    for (int k = 0; k < l->jobs; k++) {
        int status;
        if (waitpid(worker[k], &status, 0) != worker[k] || status != 0) good = false;
    }
    return good;
}

static bool print_table(const char *area_name, const count *counts)
{
    bool good = true;
    printf("\n| area | tried | failed | command |\n|---|---:|---:|---|\n");
    for (size_t a = 0; a < N_AREAS; a++) {
        if (area_name && strcmp(area_name, areas[a].name) != 0) continue;
        printf("| %s | %ld | %ld | make torture AREA=%s |\n", areas[a].title, (long)counts[a].tried,
               (long)counts[a].failed, areas[a].name);
        good = good && counts[a].failed == 0 && counts[a].tried > 0;
    }
    return good;
}

static void make_scratch(lab *l)
{
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%.30s/crosswise-torture-XXXXXX", memory ? memory : "/tmp");
    if (!mkdtemp(scratch)) die("cannot make %s", scratch);
    snprintf(l->root, sizeof l->root, "%s", scratch);
    first_process = getpid();
    atexit(remove_scratch);
}

/* A test that is stopped leaves nothing, either. */
static void on_signal(int number)
{
    for (int k = 0; k < MAX_JOBS && worker[k] > 0; k++) {
        kill(worker[k], SIGKILL);
        waitpid(worker[k], NULL, 0);
    }
    remove_scratch();
    _exit(128 + number);
}

static void read_arguments(lab *l, int argc, char **argv, const char **area_name)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--quick") == 0) l->is_quick = true;
        if (strcmp(argv[at], "--jobs") == 0 && at + 1 < argc) l->jobs = atoi(argv[++at]);
        if (strcmp(argv[at], "--show") == 0 && at + 1 < argc) l->show = atol(argv[++at]);
    }
    if (argc - at < 2 || l->jobs < 1 || l->jobs > MAX_JOBS) {
        fprintf(stderr, "use: torture [--quick] [--jobs N] [--show N] CROSSWISE PRELOAD.so [AREA "
                        "[COMMAND [CASE]]]\n");
        exit(2);
    }
    l->crosswise = must(realpath(argv[at], NULL)); /* commands run in folders of their own */
    l->preload = must(realpath(argv[at + 1], NULL));
    *area_name = argc - at > 2 ? argv[at + 2] : NULL;
    l->only_command = argc - at > 3 ? argv[at + 3] : NULL;
    l->only_case = argc - at > 4 ? atol(argv[at + 4]) : 0;
}

int main(int argc, char **argv)
{
    lab l = {.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN), .show = SHOWN};
    const char *area_name;
    count *counts = mmap(NULL, sizeof(count) * N_AREAS, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED) die("cannot map memory");
    read_arguments(&l, argc, argv, &area_name);
    setvbuf(stdout, NULL, _IOLBF, 0);
    trace_begin(l.preload);
    const char *obstacle = trace_obstacle();
    if (obstacle) {
        printf("%s\n", obstacle);
        return 77;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    make_scratch(&l);
    make_world(&l);
    outcome r = run_words(&l, "--version", (order){0});
    if (r.allocations == 0) {
        printf("the command takes no preloaded library\n");
        return 77;
    }
    bool good = run_workers(&l, area_name, counts);
    good = print_table(area_name, counts) && good;
    return good ? 0 : 1;
}

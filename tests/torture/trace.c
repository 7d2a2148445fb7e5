/*
 * trace.c - run a command, watch its file calls, and disturb one of them.
 *
 * A seccomp filter stops the command at the system calls listed below and at no others, so that
 * the rest runs at full speed; ptrace then looks at the arguments, changes them, or lets a
 * result be another.  This way the calls that stdio and other libraries make are seen too.
 */
#include "trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tree.h"

const char *const fault_name[N_FAULTS] = {"none",  "EIO",  "ENOSPC", "EINTR",
                                          "short", "kill", "hook"};

/* ---- the calls --------------------------------------------------------------------- */

enum { READS = 1, WRITES = 2, CHANGES = 4, CREATES = 8, WAITS = 16, GETRANDOM = 32, LOCKS = 64 };

typedef struct kind {
    const char *name;
    int number;
    int folder, path; /* arguments: descriptor of the folder (or file), path; -1 when none */
    unsigned traits;
} kind;

#define ON_FILE(name, traits)                                                                      \
    {                                                                                              \
#name, SYS_##name, 0, -1, traits                                                           \
    }
#define ON_PATH(name, traits)                                                                      \
    {                                                                                              \
#name, SYS_##name, -1, 0, traits                                                           \
    }
#define ON_PLACE(name, traits)                                                                     \
    {                                                                                              \
#name, SYS_##name, 0, 1, traits                                                            \
    }

static const kind kinds[] = {
    ON_FILE(read, READS | WAITS),
    ON_FILE(write, WRITES | WAITS),
    ON_FILE(pread64, READS | WAITS),
    ON_FILE(pwrite64, WRITES | WAITS),
    ON_FILE(readv, READS),
    ON_FILE(writev, WRITES),
    ON_FILE(close, WAITS),
    ON_FILE(fstat, 0),
    ON_FILE(fsync, CHANGES | WAITS),
    ON_FILE(fdatasync, CHANGES | WAITS),
    ON_FILE(ftruncate, CHANGES | WAITS),
    ON_FILE(fallocate, CHANGES | WAITS),
    ON_FILE(fchmod, CHANGES),
    ON_FILE(flock, WAITS | LOCKS),
    ON_FILE(fcntl, WAITS | LOCKS),
    ON_FILE(getdents64, 0),
    ON_FILE(copy_file_range, WRITES),
    ON_PLACE(openat, WAITS),
    ON_PLACE(newfstatat, 0),
    ON_PLACE(statx, 0),
    ON_PLACE(faccessat, 0),
    ON_PLACE(faccessat2, 0),
    ON_PLACE(readlinkat, 0),
    ON_PLACE(mkdirat, CHANGES | CREATES),
    ON_PLACE(unlinkat, CHANGES),
    ON_PLACE(renameat, CHANGES),
    ON_PLACE(renameat2, CHANGES),
    ON_PLACE(linkat, CHANGES),
    ON_PLACE(fchmodat, CHANGES),
#ifdef SYS_open /* what newer machines do not have */
    ON_PATH(open, WAITS),
    ON_PATH(creat, WRITES | CREATES),
    ON_PATH(stat, 0),
    ON_PATH(lstat, 0),
    ON_PATH(access, 0),
    ON_PATH(readlink, 0),
    ON_PATH(mkdir, CHANGES | CREATES),
    ON_PATH(rmdir, CHANGES),
    ON_PATH(unlink, CHANGES),
    ON_PATH(rename, CHANGES),
    ON_PATH(link, CHANGES),
    ON_PATH(chmod, CHANGES),
#endif
    {"getrandom", SYS_getrandom, -1, -1, GETRANDOM | WAITS},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- the one run of this process ---------------------------------------------------- */

typedef struct job {
    const order *o;
    outcome *r;
    pid_t process;
    bool is_started; /* past exec */
    bool is_fired;   /* the fault has happened */
    long room;       /* of r->calls */
} job;

/* What a thread is doing between the start and the end of a call. */
typedef struct pending {
    pid_t thread;
    int result;    /* replaces the call's own when not 0 */
    int sync_file; /* descriptor that is being synced, or -1 */
} pending;

static char preload_setting[PATH_MAX + 16];
static int page_file = -1, out_file[2], err_file[2]; /* for a run, and one inside its hook */
static int depth;
static page *shared;
static volatile pid_t to_kill;
static volatile sig_atomic_t is_late;

static void on_alarm(int number)
{
    (void)number;
    is_late = 1;
    if (to_kill > 0) kill(to_kill, SIGKILL);
}

void trace_begin(const char *preload)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    snprintf(preload_setting, sizeof preload_setting, "LD_PRELOAD=%s", preload);
    page_file = memfd_create("page", MFD_CLOEXEC);
    if (page_file < 0 || ftruncate(page_file, PAGE_BYTES) != 0) die("cannot make files in memory");
    for (int k = 0; k < 2; k++) {
        out_file[k] = memfd_create("out", MFD_CLOEXEC);
        err_file[k] = memfd_create("err", MFD_CLOEXEC);
        if (fcntl(out_file[k], F_SETFL, O_APPEND) != 0 ||
            fcntl(err_file[k], F_SETFL, O_APPEND) != 0)
            die("cannot make files in memory");
    }
    shared = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page_file, 0);
    if (shared == MAP_FAILED) die("cannot map memory");
}

/* ---- in the child --------------------------------------------------------------------- */

static bool install_filter(void)
{
    struct sock_filter code[2 * N_KINDS + 2];
    size_t n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t k = 0; k < N_KINDS; k++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (uint32_t)kinds[k].number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static _Noreturn void become(const order *o)
{
    char *environment[] = {
        preload_setting,       "LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin", "HOME=/nonexistent",
        "SOURCE_DATE_EPOCH=0", NULL}; /* of pages */
    int none = open("/dev/null", O_RDONLY);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(o->root) != 0 || dup2(none, 0) < 0 || dup2(out_file[depth - 1], 1) < 0 ||
        dup2(err_file[depth - 1], 2) < 0 || dup2(page_file, PAGE_FILE) < 0)
        _exit(125);
    close(none);
    if (o->is_watched) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(125);
        raise(SIGSTOP);
        if (!install_filter()) _exit(125);
    }
    execve(o->argv[0], (char *const *)o->argv, environment);
    _exit(126);
}

/* ---- looking at a call ------------------------------------------------------------------ */

typedef struct __ptrace_syscall_info call_info;

static bool read_text(pid_t thread, uint64_t from, char *out, size_t room)
{
    size_t used = 0;
    while (used < room - 1) { /* page by page: the text may end before memory that is not there */
        size_t part = 4096 - (from + used) % 4096;
        if (part > room - 1 - used) part = room - 1 - used;
        struct iovec here = {out + used, part}, there = {(void *)(uintptr_t)(from + used), part};
        ssize_t got = process_vm_readv(thread, &here, 1, &there, 1, 0);
        if (got <= 0) return false;
        if (memchr(out + used, '\0', (size_t)got)) return true;
        used += (size_t)got;
    }
    out[used] = '\0';
    return true;
}

/* The part of a path below the folder of the test, NULL when it lies elsewhere. */
static const char *below(const char *root, const char *path)
{
    size_t length = strlen(root);
    if (strncmp(path, root, length) != 0) return NULL;
    if (path[length] == '\0') return ".";
    return path[length] == '/' ? path + length + 1 : NULL;
}

static bool name_file(const job *j, int file, call *c)
{
    char link[64], path[PATH_MAX];
    if (file >= 0 && file <= 2) {
        snprintf(c->path, sizeof c->path, "<%d>", file);
        return true;
    }
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)j->process, file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = '\0';
    const char *name = below(j->o->root, path);
    if (name) snprintf(c->path, sizeof c->path, "%s", name);
    return name != NULL;
}

/* Name what a call is about; false when it does not lie in the folder of the test. */
static bool name_place(const job *j, pid_t thread, const kind *k, const uint64_t *args, call *c)
{
    char path[PATH_MAX], base[CALL_PATH_BYTES] = "";
    const char *name = path;
    if (k->path < 0) return name_file(j, (int)args[k->folder], c);
    if (!read_text(thread, args[k->path], path, sizeof path)) return false;
    if (strstr(path, ".so")) return false; /* the loader's */
    if (path[0] == '/') name = below(j->o->root, path);
    if (!name) return false;
    int folder = k->folder < 0 ? AT_FDCWD : (int)args[k->folder];
    if (path[0] != '/' && folder != AT_FDCWD) {
        if (!name_file(j, folder, c)) return false;
        if (strcmp(c->path, ".") != 0) snprintf(base, sizeof base, "%s", c->path);
    }
    snprintf(c->path, sizeof c->path, "%.250s%s%.250s", base, *base && *name ? "/" : "", name);
    return true;
}

static uint64_t open_flags(const kind *k, const uint64_t *args)
{
    if (strcmp(k->name, "open") == 0) return args[1];
    return strcmp(k->name, "openat") == 0 ? args[2] : 0;
}

static bool describe(const job *j, pid_t thread, const kind *k, const uint64_t *args, call *c)
{
    *c = (call){0};
    snprintf(c->name, sizeof c->name, "%s", k->name);
    if (k->traits & GETRANDOM) { /* malloc asks for some without waiting; that is not ours */
        if (args[2] != 0) return false;
    } else if (!name_place(j, thread, k, args, c)) {
        return false;
    }
    if (k->number == SYS_fcntl && args[1] != F_SETLK && args[1] != F_SETLKW &&
        args[1] != F_OFD_SETLK && args[1] != F_OFD_SETLKW)
        return false;
    uint64_t flags = open_flags(k, args);
    c->creates = k->traits & CREATES || flags & O_CREAT;
    c->changes = c->creates || k->traits & (CHANGES | WRITES) || flags & O_TRUNC;
    c->is_stderr = strcmp(c->path, "<2>") == 0;
    c->can = 1u << FAULT_KILL | 1u << FAULT_HOOK;
    if (!(k->traits & GETRANDOM)) c->can |= 1u << FAULT_EIO; /* which the kernel never says of it */
    if (c->changes) c->can |= 1u << FAULT_ENOSPC;
    if (k->traits & WAITS) c->can |= 1u << FAULT_EINTR;
    if (k->traits & (READS | WRITES) && args[2] > 1 && k->traits & WAITS)
        c->can |= 1u << FAULT_SHORT;
    return true;
}

/* ---- disturbing it ------------------------------------------------------------------------ */

#if defined __x86_64__
static void set_result(pid_t thread, int error)
{
    ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, rax), (long)-error);
}

static void skip_call(pid_t thread, int error)
{
    ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, orig_rax), -1L);
    set_result(thread, error);
}

static void shorten(pid_t thread)
{
    ptrace(PTRACE_POKEUSER, thread, offsetof(struct user_regs_struct, rdx), 1L);
}
static const bool is_known_machine = true;
#elif defined __aarch64__
static void set_register(pid_t thread, int number, uint64_t value)
{
    struct user_regs_struct all;
    struct iovec place = {&all, sizeof all};
    ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &place);
    all.regs[number] = value;
    ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &place);
}

static void set_result(pid_t thread, int error)
{
    set_register(thread, 0, (uint64_t)-error);
}

static void skip_call(pid_t thread, int error)
{
    int none = -1;
    struct iovec place = {&none, sizeof none};
    ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &place);
    set_result(thread, error);
}

static void shorten(pid_t thread)
{
    set_register(thread, 2, 1);
}
static const bool is_known_machine = true;
#else
static void set_result(pid_t thread, int error)
{
    (void)thread, (void)error;
}
static void skip_call(pid_t thread, int error)
{
    (void)thread, (void)error;
}
static void shorten(pid_t thread)
{
    (void)thread;
}
static const bool is_known_machine = false;
#endif

static void add_call(job *j, const call *c)
{
    outcome *r = j->r;
    if (r->n_calls == j->room) {
        j->room = j->room ? 2 * j->room : 256;
        r->calls = must(realloc(r->calls, (size_t)j->room * sizeof *r->calls));
    }
    r->calls[r->n_calls++] = *c;
}

/* A call begins.  Says how to go on: PTRACE_SYSCALL when its end is of interest. */
static enum __ptrace_request begin_call(job *j, pid_t thread, const kind *k, const uint64_t *args,
                                        pending *p)
{
    static const int errors[N_FAULTS] = {
        [FAULT_EIO] = EIO, [FAULT_ENOSPC] = ENOSPC, [FAULT_EINTR] = EINTR};
    const order *o = j->o;
    call c;
    if (!j->is_started || !describe(j, thread, k, args, &c)) return PTRACE_CONT;
    add_call(j, &c);
    *p = (pending){.thread = thread, .sync_file = -1};
    bool is_sync = k->number == SYS_fsync || k->number == SYS_fdatasync;
    if (j->r->n_calls == o->at && !j->is_fired) {
        j->is_fired = true;
        if (o->fault == FAULT_KILL) kill(j->process, SIGKILL);
        if (o->fault == FAULT_HOOK) o->hook(o->user, &c);
        if (o->fault == FAULT_SHORT) shorten(thread);
        if (errors[o->fault] && k->number == SYS_close)
            p->result = errors[o->fault]; /* the file is closed even when close fails */
        else if (errors[o->fault])
            skip_call(thread, errors[o->fault]);
        is_sync = is_sync && !errors[o->fault];
    }
    if (is_sync && o->synced) p->sync_file = (int)args[0];
    return p->result || p->sync_file >= 0 ? PTRACE_SYSCALL : PTRACE_CONT;
}

static void end_call(const job *j, pending *p)
{
    char link[64];
    if (p->result) set_result(p->thread, p->result);
    if (p->sync_file >= 0) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)j->process, p->sync_file);
        int file = open(link, O_RDONLY | O_CLOEXEC);
        if (file < 0) die("cannot follow %s", link);
        j->o->synced(j->o->user, file);
        close(file);
    }
    *p = (pending){.sync_file = -1};
}

static const kind *find_kind(uint64_t number)
{
    for (size_t k = 0; k < N_KINDS; k++)
        if ((uint64_t)kinds[k].number == number) return &kinds[k];
    return NULL;
}

/* One stop of one thread.  Only one call at a time is followed to its end. */
static void go_on(job *j, pid_t thread, int status, pending *p)
{
    enum __ptrace_request how = PTRACE_CONT;
    int signal = WSTOPSIG(status), event = status >> 16;
    call_info info;
    if (event == PTRACE_EVENT_EXEC) j->is_started = true;
    if (event == PTRACE_EVENT_SECCOMP &&
        ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0) {
        const kind *k = find_kind(info.seccomp.nr);
        uint64_t args[6];
        for (size_t a = 0; a < 6; a++) args[a] = info.seccomp.args[a];
        if (k) how = begin_call(j, thread, k, args, p);
    } else if (signal == (SIGTRAP | 0x80) && p->thread == thread) {
        end_call(j, p);
    }
    if (event != 0 || signal == (SIGTRAP | 0x80) || signal == SIGSTOP || signal == SIGTRAP)
        signal = 0; /* ours, not the command's */
    ptrace(how, thread, NULL, (long)signal);
}

static int watch(job *j)
{
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    pending p = {.sync_file = -1};
    int status;
    if (waitpid(j->process, &status, __WALL) != j->process || !WIFSTOPPED(status))
        die("cannot watch the command");
    ptrace(PTRACE_SETOPTIONS, j->process, NULL, options);
    ptrace(PTRACE_CONT, j->process, NULL, 0L);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR) continue;
        if (thread < 0) die("the command is lost");
        if (WIFSTOPPED(status))
            go_on(j, thread, status, &p);
        else if (thread == j->process)
            return status;
    }
}

/* ---- a run ---------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void set_alarm(double seconds)
{
    struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)seconds,
                     .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Start it, and wait for its end: the status of wait. */
static int run_to_end(job *j)
{
    const order *o = j->o;
    int status = 0;
    pid_t outer = to_kill;
    j->process = fork();
    if (j->process < 0) die("cannot fork");
    if (j->process == 0) become(o);
    to_kill = j->process;
    set_alarm(o->kill_s > 0 ? o->kill_s : o->seconds);
    if (o->is_watched)
        status = watch(j);
    else
        while (waitpid(j->process, &status, 0) < 0 && errno == EINTR) continue;
    to_kill = outer;
    set_alarm(outer ? o->seconds : 0);
    return status;
}

outcome trace_run(const order *o)
{
    outcome r = {0};
    job j = {.o = o, .r = &r};

    if (ftruncate(out_file[depth], 0) != 0 || ftruncate(err_file[depth], 0) != 0)
        die("cannot empty a file");
    *shared = o->page;
    is_late = 0;
    double began = now();
    int out = out_file[depth], err = err_file[depth];
    depth++;
    int status = run_to_end(&j);
    depth--;
    r.seconds = now() - began;
    r.is_hung = is_late && o->kill_s <= 0;
    r.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (r.code == 125 || r.code == 126) die("cannot start %s", o->argv[0]);
    r.allocations = atomic_load(&shared->count);
    r.out = read_all(out, &r.out_bytes);
    r.err = read_all(err, &r.err_bytes);
    return r;
}

void outcome_free(outcome *r)
{
    free(r->calls);
    free(r->out);
    free(r->err);
    *r = (outcome){0};
}

const char *trace_obstacle(void)
{
    static const char *const argv[] = {"/bin/cat", "/proc/self/cmdline", NULL};
    char here[8] = "", there[8] = "there";
    if (!is_known_machine) return "system calls of this machine's kind are not known";
    if (!read_text(getpid(), (uint64_t)(uintptr_t)there, here, sizeof here))
        return "process_vm_readv is not allowed here";
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
        raise(SIGSTOP);
        _exit(install_filter() ? 0 : 1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return "ptrace is not allowed here";
    ptrace(PTRACE_SETOPTIONS, child, NULL, (long)PTRACE_O_EXITKILL);
    call_info info;
    bool has_info = ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) >= 0;
    ptrace(PTRACE_CONT, child, NULL, 0L);
    waitpid(child, &status, 0);
    if (!has_info) return "this kernel's ptrace cannot tell the arguments of calls";
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "seccomp is not allowed here";
    order o = {.root = "/", .argv = argv, .seconds = 10, .is_watched = true};
    outcome r = trace_run(&o);
    bool is_seen = r.n_calls > 0;
    outcome_free(&r);
    return is_seen ? NULL : "ptrace does not show calls here";
}

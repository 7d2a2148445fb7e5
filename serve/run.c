/* run.c - a server from its start to its end: socket, privileges, signals. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server.h"

enum { FAILED = 1, MISUSED = 2, FILES_BESIDE = 64 };

#define NUMBER(id, text, member, standard, least, most)                                            \
    {                                                                                              \
        id, text " [" #standard "]", standard, least, most, offsetof(serve_settings, member)       \
    }

const serve_number serve_numbers[] = {
    NUMBER("connections", "open connections; beyond it the longest idle are closed", connections,
           12000, 16, 1000000),
    NUMBER("client-connections", "open connections of one address, 0: as many as there are",
           client_connections, 0, 0, 1000000),
    NUMBER("client-rate",
           "requests of one address a second, 0: as many as it likes; this machine, where a proxy "
           "is, has no limit",
           client_rate, 1000, 0, 1000000),
    NUMBER("body-bytes", "length of a body", body_bytes, 1048576, 1024, 64 << 20),
    NUMBER("timeout", "seconds for a whole request to come, and for its reply to be taken",
           timeout_s, 10, 1, 3600),
    NUMBER("grace", "seconds that a stop waits for requests under way", grace_s, 10, 1, 3600),
    NUMBER("rotate-bytes", "length of a file of feedback before the next one begins", rotate_bytes,
           67108864, 4096, 1 << 29),
    {0}};

const char *serve_missing(void)
{
    return door_missing();
}

/* ---- the socket -------------------------------------------------------------------- */

/* "127.0.0.1:8080" or "[::1]:8080"; false: it is neither. */
static bool split(const char *listen, char host[256], char port[16])
{
    const char *colon = strrchr(listen, ':');
    if (!colon || colon == listen || strlen(colon + 1) == 0 || strlen(colon + 1) > 5) return false;
    if (strspn(colon + 1, "0123456789") != strlen(colon + 1) || atoi(colon + 1) > 65535)
        return false;
    size_t length = (size_t)(colon - listen);
    bool is_bracketed = listen[0] == '[' && colon[-1] == ']';
    if (is_bracketed) {
        listen++;
        length -= 2;
    }
    if (length == 0 || length > 255 || (!is_bracketed && memchr(listen, ':', length))) return false;
    memcpy(host, listen, length);
    host[length] = '\0';
    strcpy(port, colon + 1);
    return true;
}

static int listen_on(const struct addrinfo *at)
{
    const int on = 1;
    int file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return -1;
    (void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(file, at->ai_addr, at->ai_addrlen) == 0 && listen(file, 1024) == 0) return file;
    int error = errno;
    (void)close(file);
    errno = error;
    return -1;
}

/* -1: said why, and *code is the exit code. */
static int open_socket(const char *where, int *code)
{
    char host[256], port[16];
    struct addrinfo *found, want = {.ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    int wrong = split(where, host, port) ? getaddrinfo(host, port, &want, &found) : EAI_NONAME;
    *code = wrong == EAI_MEMORY || wrong == EAI_SYSTEM ? FAILED : MISUSED;
    if (*code == FAILED) {
        fprintf(stderr, "crosswise: cannot listen on %s: %s\n", where,
                wrong == EAI_SYSTEM ? strerror(errno) : gai_strerror(wrong));
        return -1;
    }
    if (wrong) {
        fprintf(stderr,
                "crosswise: --listen is '%.60s'; it must be an address and a port, such as "
                "127.0.0.1:8080 or [::1]:8080\n",
                where);
        return -1;
    }
    int file = listen_on(found);
    if (file < 0) fprintf(stderr, "crosswise: cannot listen on %s: %s\n", where, strerror(errno));
    freeaddrinfo(found);
    *code = FAILED;
    return file;
}

static void tell_address(int socket, const serve_settings *set)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    char host[64], port[16];
    if (getsockname(socket, (struct sockaddr *)&own, &length) != 0 ||
        getnameinfo((struct sockaddr *)&own, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    bool is_six = own.ss_family == AF_INET6;
    printf("listening on http://%s%s%s:%s\n", is_six ? "[" : "", host, is_six ? "]" : "", port);
    fflush(stdout);
    if (set->is_quiet || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0) return;
    fputs("crosswise: warning: this address can be reached from other machines; put a proxy with "
          "TLS in front\n",
          stderr);
}

/* ---- privileges -------------------------------------------------------------------- */

static bool fall_to(const char *name)
{
    char room[4096];
    struct passwd entry, *found = NULL;
    if (getpwnam_r(name, &entry, room, sizeof room, &found) != 0 || !found) {
        fprintf(stderr, "crosswise: --run-as: there is no user '%.60s'\n", name);
        return false;
    }
    if (geteuid() == found->pw_uid && getegid() == found->pw_gid) return true;
    if (setgroups(0, NULL) == 0 && setgid(found->pw_gid) == 0 && setuid(found->pw_uid) == 0 &&
        (found->pw_uid == 0 || setuid(0) != 0))
        return true;
    fprintf(stderr, "crosswise: cannot become user %.60s: %s\n", name, strerror(errno));
    return false;
}

static bool drop_privileges(const serve_settings *set)
{
    if (set->run_as && !fall_to(set->run_as)) return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        fprintf(stderr, "crosswise: cannot give up new privileges: %s\n", strerror(errno));
        return false;
    }
    return true;
}

/* As many files as the connections take. */
static void allow_files(serve_settings *set)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    rlim_t need = (rlim_t)set->connections + FILES_BESIDE;
    if (files.rlim_cur < need) {
        files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= need || files.rlim_cur <= FILES_BESIDE) return;
    set->connections = (int64_t)files.rlim_cur - FILES_BESIDE;
    if (!set->is_quiet)
        fprintf(stderr, "crosswise: warning: the limit of open files allows %lld connections\n",
                (long long)set->connections);
}

/* ---- signals -------------------------------------------------------------------------- */

static volatile sig_atomic_t stop_asked, reload_asked;

static void on_signal(int number)
{
    if (number == SIGHUP)
        reload_asked = 1;
    else
        stop_asked = number;
}

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        (void)sigaction(numbers[k], &action, NULL);
}

/* Threads of others leave signals to this one. */
static void block_signals(bool is_on)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(is_on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static void tend(server *s, door *d, cw_context *ctx)
{
    const int tick_ms = 100, watch_ticks = 10;
    for (int tick = 0; !stop_asked; tick++) {
        bool is_due = reload_asked;
        reload_asked = 0;
        for (int k = 0; k < N_SHELVES && tick % watch_ticks == 0; k++)
            is_due |= shelf_watch(&s->shelf[k]);
        if (is_due) server_reload(s, ctx, NULL);
        door_tend(d, ctx, tick_ms);
    }
}

/* Without memory Jansson may leave its buffers.  A server ends then, and whoever watches it starts
 * it again: what was acknowledged is on the disk. */
static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (block) return block;
    static const char text[] = "crosswise: out of memory\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(FAILED);
}

void serve_guard_memory(void)
{
    json_set_alloc_funcs(allocate, free);
}

/* ---- the whole -------------------------------------------------------------------------- */

static int serve_at(server *s, cw_context *ctx, int socket)
{
    block_signals(true);
    door *d = door_open(s, socket);
    block_signals(false);
    if (!d) {
        (void)close(socket);
        return FAILED;
    }
    tell_address(socket, s->settings);
    tend(s, d, ctx);
    door_close(d);
    return 0;
}

static bool check_user(const serve_settings *set)
{
    if (geteuid() != 0 || set->run_as) return true;
    fputs("crosswise: root needs --run-as USER: a server must not run as root (--run-as root says "
          "that it shall)\n",
          stderr);
    return false;
}

int serve_run(cw_context *ctx, const serve_settings *settings)
{
    serve_settings set = *settings;
    int code;
    const char *missing = serve_missing();
    if (missing) {
        fprintf(stderr, "crosswise: %s\n", missing);
        return FAILED;
    }
    if (!check_user(&set)) return MISUSED;
    set.threads = cw_context_threads(ctx);
    serve_guard_memory();
    json_object_seed(0);
    watch_signals();
    int socket = open_socket(set.listen, &code);
    if (socket < 0) return code;
    allow_files(&set);
    server *s = calloc(1, sizeof *s);
    code = FAILED;
    if (s && drop_privileges(&set)) {
        bool is_open = server_open(s, ctx, &set);
        if (is_open)
            code = serve_at(s, ctx, socket);
        else
            (void)close(socket);
        server_close(s);
    } else {
        (void)close(socket);
    }
    free(s);
    return code;
}

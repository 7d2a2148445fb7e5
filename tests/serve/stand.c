/* stand.c - start and stop a server, and talk to it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../torture/preload.h"
#include "stress.h"

const char *current_trial;
static pid_t running; /* to be ended with the program */

void fail_at(const char *file, int line, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s:%d: %s%s", file, line, current_trial ? current_trial : "",
            current_trial ? ": " : "");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (%s)\n", strerror(errno));
    if (running > 0) kill(running, SIGKILL);
    _exit(1);
}

double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sleep_ms(int ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    must(in && out, "cannot copy %s to %s", from, to);
    size_t n;
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) (void)fwrite(bytes, 1, n, out);
    must(fclose(in) == 0 && fclose(out) == 0, "cannot copy %s", from);
}

void place_model(stand *s, const char *name)
{
    char from[512], part[128], to[128];
    snprintf(from, sizeof from, "%s/%s.safetensors", s->models, name);
    snprintf(part, sizeof part, "%s/new", s->folder);
    snprintf(to, sizeof to, "%s/m.safetensors", s->folder);
    copy_file(from, part);
    must(rename(part, to) == 0, "cannot rename %s", part);
}

static void write_tokens(const stand *s)
{
    char path[128];
    snprintf(path, sizeof path, "%s/tokens", s->folder);
    FILE *out = fopen(path, "w");
    must(out && chmod(path, 0600) == 0, "cannot write %s", path);
    fputs("write " WRITE_TOKEN "\nadmin " ADMIN_TOKEN "\n", out);
    must(fclose(out) == 0, "cannot write %s", path);
}

static void become_server(const stand *s, const char *const *words, int out)
{
    const char *list[40] = {s->command, "serve",  "m.safetensors", "--listen", "127.0.0.1:0",
                            "--tokens", "tokens", "--quiet",       "--run-as", NULL};
    size_t n = 9;
    const struct passwd *self = getpwuid(getuid());
    list[n++] = self ? self->pw_name : "root";
    while (*words && n < 39) list[n++] = *words++;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(s->folder) != 0 || dup2(out, STDOUT_FILENO) < 0) _exit(126);
    if (s->preload && (setenv("LD_PRELOAD", s->preload, 1) != 0 || !freopen("err", "w", stderr) ||
                       dup2(s->page_file, PAGE_FILE) < 0))
        _exit(126);
    execv(s->command, (char *const *)(uintptr_t)list);
    _exit(127);
}

bool begin_server(stand *s, const char *const *words)
{
    int pipes[2];
    char line[128] = "";
    write_tokens(s);
    must(pipe2(pipes, O_CLOEXEC) == 0, "no pipe");
    s->server = running = fork();
    must(s->server >= 0, "no process");
    if (s->server == 0) become_server(s, words, pipes[1]);
    close(pipes[1]);
    FILE *in = fdopen(pipes[0], "r");
    const char *colon = in && fgets(line, sizeof line, in) ? strrchr(line, ':') : NULL;
    s->port = colon ? atoi(colon + 1) : 0;
    if (in) fclose(in);
    return s->port > 0;
}

void start_server(stand *s, const char *const *words)
{
    must(begin_server(s, words), "the server did not start");
}

int stop_server(stand *s, int signal_number)
{
    int status = 0;
    must(kill(s->server, signal_number) == 0, "the server is not there");
    must(waitpid(s->server, &status, 0) == s->server, "the server is lost");
    running = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int reach(const stand *s)
{
    const int on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0) return -1;
    (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(file, (struct sockaddr *)&at, sizeof at) == 0) return file;
    close(file);
    return -1;
}

bool send_all(int socket, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = send(socket, bytes, length, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        bytes += done;
        length -= (size_t)done;
    }
    return true;
}

bool send_text(int socket, const char *text)
{
    return send_all(socket, text, strlen(text));
}

void mail_open(mail *m, int socket)
{
    m->socket = socket;
    m->length = m->used = 0;
    m->status = 0;
    m->body = m->bytes;
    m->bytes[0] = '\0';
}

/* Is a whole reply there?  Its length, or 0. */
static size_t whole(mail *m)
{
    const char *end = strstr(m->bytes, "\r\n\r\n");
    if (!end) return 0;
    size_t head = (size_t)(end - m->bytes) + 4, body = 0;
    for (char *line = m->bytes; line < end; line = strstr(line, "\r\n") + 2)
        if (strncasecmp(line, "Content-Length:", 15) == 0) body = strtoul(line + 15, NULL, 10);
    m->body = m->bytes + head;
    return head + body <= m->length ? head + body : 0;
}

bool mail_read(mail *m, int wait_ms)
{
    double until = now_s() + 1e-3 * wait_ms;
    memmove(m->bytes, m->bytes + m->used, m->length - m->used + 1);
    m->length -= m->used;
    m->used = 0;
    m->status = 0;
    for (;;) {
        m->bytes[m->length] = '\0';
        m->used = whole(m);
        if (m->used > 0) break;
        struct pollfd file = {.fd = m->socket, .events = POLLIN};
        int left = (int)(1e3 * (until - now_s()));
        if (left <= 0 || poll(&file, 1, left) <= 0) return false;
        ssize_t got = recv(m->socket, m->bytes + m->length, REPLY_BYTES - m->length, 0);
        if (got <= 0) return false;
        m->length += (size_t)got;
    }
    return sscanf(m->bytes, "HTTP/1.%*d %d", &m->status) == 1;
}

int request_as(const stand *s, const char *head, const char *who, const char *body, mail *m)
{
    char text[8192];
    int file = reach(s);
    if (file < 0) return 0;
    snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s", head, who);
    bool is_sent = send_text(file, text);
    if (body) {
        snprintf(text, sizeof text, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                 strlen(body));
        is_sent = is_sent && send_text(file, text);
    }
    is_sent = is_sent && send_text(file, "\r\n") && (!body || send_text(file, body));
    mail_open(m, file);
    bool is_read = is_sent && mail_read(m, s->reply_ms);
    close(file);
    return is_read ? m->status : 0;
}

int request_once(const stand *s, const char *head, const char *body, mail *m)
{
    return request_as(s, head, "", body, m);
}

/* ---- the program ---------------------------------------------------------------- */

static const struct area {
    const char *name;
    void (*run)(stand *s);
} areas[] = {{"malformed", try_malformed}, {"pipelining", try_pipelining}, {"slow", try_slow},
             {"idle", try_idle},           {"tokens", try_tokens},         {"swap", try_swap},
             {"stop", try_stop},           {"kills", try_kills},           {"faults", try_faults},
             {"doors", try_doors}};

static void run_area(const struct area *a, const stand *of)
{
    stand s = *of;
    s.reply_ms = a->run == try_faults ? 5000 : 20000;
    if (a->run != try_faults) s.preload = NULL;
    char remove[128];
    /* Where syncing takes no time, as servers are started by the hundred. */
    bool is_quick = a->run == try_faults && access("/dev/shm", W_OK) == 0;
    snprintf(s.folder, sizeof s.folder, "%s/crosswise-serve-XXXXXX",
             is_quick ? "/dev/shm" : "/tmp");
    must(mkdtemp(s.folder) != NULL, "no folder");
    place_model(&s, "mf");
    double began = now_s();
    a->run(&s);
    printf("%-12s %6.1f s\n", a->name, now_s() - began);
    fflush(stdout);
    snprintf(remove, sizeof remove, "rm -rf '%s'", s.folder);
    (void)!system(remove);
}

int main(int argc, char **argv)
{
    static char command[PATH_MAX], models[PATH_MAX], preload[PATH_MAX];
    stand s = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: stress CROSSWISE MODELS [--long] [--preload LIBRARY] [AREA...]\n");
        return 2;
    }
    s.command = realpath(argv[1], command);
    s.models = realpath(argv[2], models);
    must(s.command && s.models, "%s or %s is not there", argv[1], argv[2]);
    int first = 3;
    if (argc > 3 && strcmp(argv[3], "--long") == 0) {
        s.is_long = true;
        first++;
    }
    if (argc > first + 1 && strcmp(argv[first], "--preload") == 0) {
        s.preload = realpath(argv[first + 1], preload);
        must(s.preload, "%s is not there", argv[first + 1]);
        first += 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (size_t k = 0; k < sizeof areas / sizeof areas[0]; k++) {
        bool is_asked = argc == first;
        for (int w = first; w < argc; w++) is_asked |= strcmp(argv[w], areas[k].name) == 0;
        if (is_asked) run_area(&areas[k], &s);
    }
    return 0;
}

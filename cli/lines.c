/* lines.c - lists of ids from text files. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* No id is longer than MAX_LINE.  Whoever wants more users at once wants --all. */
enum { MAX_LINES = 10000000, MAX_LINE = 1000000, MAX_BYTES = 1 << 30, CHUNK = 1 << 16 };

/* A list while it is read. */
typedef struct list {
    const char *name;
    char *text; /* [capacity], ends with a zero */
    size_t length, capacity;
    size_t line, line_bytes; /* number of the last line, and what there is of it */
} list;

static int refuse(const char *name, const char *reason)
{
    char line[CLI_LINE_BYTES];
    fprintf(stderr, "crosswise: cannot read %s: %s\n", cli_one_line(name[0] ? name : "''", line),
            reason);
    return CLI_FAILED;
}

/* What is wrong with the bytes that came last, or NULL. */
static const char *check(list *l, const char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (bytes[k] == '\0') return "there is a zero byte in it";
        if (l->line > MAX_LINES) return "a list may have 10000000 lines and no more";
        l->line += bytes[k] == '\n';
        l->line_bytes = bytes[k] == '\n' ? 0 : l->line_bytes + 1;
        if (l->line_bytes > MAX_LINE) return "a line may have 1000000 bytes and no more";
    }
    return l->length + n > MAX_BYTES ? "a list may have 1 GiB and no more" : NULL;
}

/* Space for another chunk and the zero at the end. */
static bool grow(list *l)
{
    if (l->capacity - l->length > CHUNK) return true;
    size_t capacity = l->capacity ? 2 * l->capacity : 2 * CHUNK;
    char *more = realloc(l->text, capacity);
    if (!more) return false;
    l->text = more;
    l->capacity = capacity;
    return true;
}

/* Returns -1, or an exit code after an error was printed. */
static int read_all(list *l, int file)
{
    ssize_t got;
    do {
        if (!grow(l)) return refuse(l->name, "out of memory");
        if (!cli_await_input(file)) {
            fprintf(stderr, "crosswise: stopped while reading %s\n", l->name);
            return CLI_SIGNAL + cli_signal();
        }
        got = read(file, l->text + l->length, CHUNK);
        if (got < 0) return refuse(l->name, strerror(errno));
        const char *wrong = check(l, l->text + l->length, (size_t)got);
        if (wrong) {
            fprintf(stderr, "crosswise: %s:%zu: %s\n", l->name, l->line, wrong);
            return CLI_FAILED;
        }
        l->length += (size_t)got;
    } while (got > 0);
    l->text[l->length] = '\0';
    return -1;
}

/* Cut the text into lines: LF or CRLF, a byte order mark is dropped. */
static bool split(cli_lines *lines)
{
    size_t n = 1;
    char *at = lines->text;
    if (strncmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    for (const char *c = at; *c; c++) n += *c == '\n';
    lines->line = calloc(n, sizeof *lines->line);
    if (!lines->line) return false;
    while (at) {
        char *line = at, *end = strchr(at, '\n');
        at = end ? end + 1 : NULL;
        if (!end) end = line + strlen(line);
        if (end > line && end[-1] == '\r') end--;
        *end = '\0';
        if (*line) lines->line[lines->count++] = line;
    }
    return true;
}

/* What the first process has read, to all. */
static int share(const cli_call *call, list *l)
{
    uint64_t length = l->length;
    cw_status status = cw_processes_spread(call->ctx, &length, sizeof length);
    if (call->rank > 0) l->text = malloc((size_t)length + 1);
    if (status == CW_OK && l->text)
        status = cw_processes_spread(call->ctx, l->text, (size_t)length);
    if (!l->text) return refuse(l->name, "out of memory");
    l->text[length] = '\0';
    return status == CW_OK ? -1 : refuse(l->name, cw_context_error(call->ctx));
}

int cli_read_lines(const cli_call *call, const char *path, cli_lines *out)
{
    bool is_stdin = strcmp(path, "-") == 0, is_shared = is_stdin && call->processes > 1;
    int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    list l = {.name = is_stdin ? "standard input" : path, .line = 1};

    *out = (cli_lines){0};
    if (file < 0) return refuse(path, strerror(errno));
    int code = is_shared && call->rank > 0 ? -1 : read_all(&l, file);
    if (code < 0 && is_shared) code = share(call, &l);
    if (!is_stdin) (void)close(file);
    out->text = l.text;
    if (code < 0 && !split(out)) code = refuse(l.name, "out of memory");
    return code;
}

void cli_free_lines(cli_lines *lines)
{
    free(lines->text);
    free((void *)lines->line);
    *lines = (cli_lines){0};
}

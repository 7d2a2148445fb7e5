/* lines.c - lists of ids from text files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* The whole of a stream with a zero at its end, or NULL with errno set. */
static char *read_all(FILE *file, size_t *length)
{
    char *text = NULL;
    size_t room = 0, got = 1;

    *length = 0;
    while (got > 0) {
        if (room - *length < 2) {
            room = room ? 2 * room : 1 << 16;
            char *more = realloc(text, room);
            if (!more) break;
            text = more;
        }
        got = fread(text + *length, 1, room - *length - 1, file);
        *length += got;
    }
    if (got > 0 || ferror(file)) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
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

static int refuse(const char *path, const char *reason)
{
    fprintf(stderr, "crosswise: cannot read %s: %s\n", path, reason);
    return CLI_FAILED;
}

int cli_read_lines(const char *path, cli_lines *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    size_t length = 0;

    *out = (cli_lines){0};
    if (!file) return refuse(path, strerror(errno));
    errno = 0;
    out->text = read_all(file, &length);
    int reason = errno ? errno : EIO;
    if (!is_stdin) fclose(file);
    if (!out->text) return refuse(path, strerror(reason));
    if (strlen(out->text) != length) return refuse(path, "there is a zero byte in it");
    if (!split(out)) return refuse(path, strerror(ENOMEM));
    return -1;
}

void cli_free_lines(cli_lines *lines)
{
    free(lines->text);
    free((void *)lines->line);
    *lines = (cli_lines){0};
}

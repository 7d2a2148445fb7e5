/*
 * screen.c - nothing that others wrote steers the terminal.
 *
 * Names of files, ids and titles come from anywhere, and a terminal obeys what is hidden in them.
 * So what is printed passes through here on its way: letters and line ends go on as they are,
 * control characters and bytes that are not UTF-8 become '?'.  Messages always do; standard output
 * only on a terminal, since files and pipes get the data exactly.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

typedef struct screen {
    int file;
    char held[4]; /* the beginning of a letter whose rest is still to come */
    size_t n_held;
} screen;

/* May this letter, which took so many bytes, be shown? */
static bool is_plain(uint32_t letter, size_t bytes)
{
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000}; /* 80 to 9f are controls */
    if (bytes == 1) return letter == '\n' || letter == '\t' || (letter >= ' ' && letter < 0x7f);
    if (letter < least[bytes] || letter > 0x10ffff) return false;
    if (letter >= 0xd800 && letter < 0xe000) return false; /* no letters */
    /* line ends, and what turns the direction of writing */
    return letter != 0x61c && letter != 0x200e && letter != 0x200f &&
           !(letter >= 0x2028 && letter <= 0x202e) && !(letter >= 0x2066 && letter <= 0x2069);
}

/* How many bytes the letter at text takes; 0 when more than the n there are needed to tell. */
static size_t take_letter(const char *text, size_t n, bool *plain)
{
    unsigned char first = (unsigned char)*text;
    size_t bytes = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
    uint32_t letter = bytes == 1 ? first : first & (0x7fU >> bytes);

    *plain = false;
    for (size_t k = 1; k < bytes; k++) {
        if (k == n) return 0;
        if (((unsigned char)text[k] & 0xc0) != 0x80) return k;
        letter = letter << 6 | ((unsigned char)text[k] & 0x3f);
    }
    *plain = is_plain(letter, bytes);
    return bytes;
}

static bool write_all(int file, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(file, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

/* Write all letters that are whole, and hold the rest. */
static bool show(screen *s, const char *text, size_t n)
{
    char out[512];
    size_t used = 0, bytes;
    bool plain;

    while (n > 0 && (bytes = take_letter(text, n, &plain)) > 0) {
        memcpy(out + used, plain ? text : "?", plain ? bytes : 1);
        used += plain ? bytes : 1;
        text += bytes;
        n -= bytes;
        if (used > sizeof out - sizeof s->held) {
            if (!write_all(s->file, out, used)) return false;
            used = 0;
        }
    }
    memcpy(s->held, text, n);
    s->n_held = n;
    return write_all(s->file, out, used);
}

/* What a stream calls to write; it wants 0 for a failure. */
static ssize_t pass(void *cookie, const char *text, size_t n)
{
    screen *s = cookie;
    size_t at = 0;

    while (s->n_held > 0 && at < n) { /* one byte at a time until the letter is whole */
        char letter[sizeof s->held + 1];
        size_t held = s->n_held;
        memcpy(letter, s->held, held);
        letter[held++] = text[at++];
        if (!show(s, letter, held)) return 0;
    }
    if (at < n && !show(s, text + at, n - at)) return 0;
    return (ssize_t)n;
}

static FILE *open_screen(screen *s, int file, int buffering)
{
    s->file = file;
    FILE *stream = fopencookie(s, "w", (cookie_io_functions_t){.write = pass});
    if (stream) setvbuf(stream, NULL, buffering, 0);
    return stream;
}

bool cli_guard_streams(void)
{
    static screen out, err;
    FILE *stream = open_screen(&err, STDERR_FILENO, _IONBF);
    if (!stream) return false;
    stderr = stream;
    if (!isatty(STDOUT_FILENO)) return true;
    stream = open_screen(&out, STDOUT_FILENO, _IOLBF);
    if (stream) stdout = stream;
    return stream != NULL;
}

void cli_erase_line(void)
{
    static const char erase[] = "\r\033[K";
    (void)write_all(STDERR_FILENO, erase, sizeof erase - 1);
}

const char *cli_one_line(const char *text, char out[CLI_LINE_BYTES])
{
    size_t used = 0;
    for (; *text && used < CLI_LINE_BYTES - 1; text++)
        out[used++] = (char)(*text == '\n' || *text == '\t' ? '?' : *text);
    out[used] = '\0';
    return out;
}

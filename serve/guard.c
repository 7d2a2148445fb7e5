/* guard.c - who may ask, and how often: tokens from a file, and a table of clients. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

enum {
    TOKEN_BYTES = 256,
    LEAST_TOKEN = 16,
    MAX_TOKENS = 64,
    FILE_BYTES = 64 << 10,
    CLIENTS = 8192,
    WAYS = 4,
    MAX_WRONG = 10,
    BLAME_S = 60
};

/* Zeros behind it, so that a comparison has one length. */
typedef struct token {
    role role;
    unsigned char text[TOKEN_BYTES];
} token;

typedef struct client {
    unsigned char address[16];
    double left; /* requests that it may make at once */
    double seen; /* when */
    double blamed_at;
    int wrong;
} client;

struct guard {
    token tokens[MAX_TOKENS];
    size_t n_tokens;
    double rate;
    pthread_mutex_t lock;
    client clients[CLIENTS];
};

/* ---- tokens ------------------------------------------------------------------- */

static const char *take_line(guard *g, char *line)
{
    static const char *const words[] = {NULL, "read", "write", "admin"};
    char *text = strpbrk(line, " \t");
    if (!text) return "a line needs a word (read, write, admin), a space and a token";
    *text++ = '\0';
    text += strspn(text, " \t");
    size_t length = strlen(text);
    int r = READER;
    while (r <= ADMIN && strcmp(words[r], line) != 0) r++;
    if (r > ADMIN) return "a line must begin with read, write or admin";
    if (length < LEAST_TOKEN || length >= TOKEN_BYTES)
        return "a token must have from 16 to 255 bytes";
    if (strpbrk(text, " \t")) return "there is a space within a token";
    if (g->n_tokens == MAX_TOKENS) return "there may be 64 tokens and no more";
    token *t = &g->tokens[g->n_tokens++];
    t->role = (role)r;
    memcpy(t->text, text, length);
    return NULL;
}

static bool take_lines(guard *g, const char *path, char *text)
{
    int number = 1;
    for (char *line = text; line; number++) {
        char *end = strchr(line, '\n'), *next = end ? end + 1 : NULL;
        if (end) *end = '\0';
        size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r') line[length - 1] = '\0';
        const char *wrong = line[0] && line[0] != '#' ? take_line(g, line) : NULL;
        if (wrong) {
            fprintf(stderr, "crosswise: %s:%d: %s\n", path, number, wrong);
            return false;
        }
        line = next;
    }
    if (g->n_tokens > 0) return true;
    fprintf(stderr, "crosswise: %s: there is no token in it\n", path);
    return false;
}

/* Nobody else may read it. */
static bool read_tokens(guard *g, const char *path)
{
    static char text[FILE_BYTES + 1]; /* once, before there are threads */
    struct stat info;
    const char *wrong = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    if (file < 0 || fstat(file, &info) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        wrong = "it is not a plain file";
    else if ((info.st_mode & 027) != 0)
        wrong = "others may read it, or its group may change it; chmod 600 it";
    else if ((got = read(file, text, FILE_BYTES)) < 0)
        wrong = strerror(errno);
    else if (got == FILE_BYTES || memchr(text, '\0', (size_t)got))
        wrong = "it is too long, or no text";
    if (file >= 0) (void)close(file);
    if (wrong) {
        fprintf(stderr, "crosswise: cannot take tokens from %s: %s\n", path, wrong);
        return false;
    }
    text[got] = '\0';
    bool is_good = take_lines(g, path, text);
    explicit_bzero(text, sizeof text);
    return is_good;
}

/* The time does not depend on where the two differ. */
static bool is_same(const unsigned char *a, const unsigned char *b)
{
    volatile unsigned char differs = 0;
    for (size_t k = 0; k < TOKEN_BYTES; k++) differs = (unsigned char)(differs | (a[k] ^ b[k]));
    return differs == 0;
}

int guard_role(const guard *g, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    unsigned char text[TOKEN_BYTES] = {0};
    int found = -1;
    if (!authorization) return ANYBODY;
    if (strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) return -1;
    authorization += sizeof scheme - 1;
    authorization += strspn(authorization, " ");
    size_t length = strnlen(authorization, TOKEN_BYTES);
    if (length == TOKEN_BYTES) return -1;
    memcpy(text, authorization, length);
    for (size_t k = 0; k < g->n_tokens; k++) { /* all of them, whichever it is */
        bool is_it = is_same(text, g->tokens[k].text);
        if (is_it && (int)g->tokens[k].role > found) found = (int)g->tokens[k].role;
    }
    return found;
}

bool guard_has(const guard *g, role least)
{
    for (size_t k = 0; k < g->n_tokens; k++)
        if (least == READER ? g->tokens[k].role == READER : g->tokens[k].role >= least) return true;
    return false;
}

/* ---- clients -------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool guard_address(const struct sockaddr *from, unsigned char out[16])
{
    memset(out, 0, 16);
    if (from && from->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)from;
        memcpy(out, &four->sin_addr, 4);
        return out[0] != 127;
    }
    if (!from || from->sa_family != AF_INET6) return false;
    const struct sockaddr_in6 *six = (const void *)from;
    if (IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)) return false;
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        memcpy(out, six->sin6_addr.s6_addr + 12, 4);
        return out[0] != 127;
    }
    memcpy(out, six->sin6_addr.s6_addr, 8);
    return true;
}

/* Its place in the table, or that of the one that was silent for longest. */
static client *find_client(guard *g, const unsigned char address[16], double now)
{
    uint64_t hash = 14695981039346656037u;
    for (int k = 0; k < 16; k++) hash = (hash ^ address[k]) * 1099511628211u;
    client *first = &g->clients[(hash >> 32) % (CLIENTS / WAYS) * WAYS], *oldest = first;
    for (client *c = first; c < first + WAYS; c++) {
        if (c->seen > 0 && memcmp(c->address, address, 16) == 0) return c;
        if (c->seen < oldest->seen) oldest = c;
    }
    *oldest = (client){.left = g->rate, .seen = now, .blamed_at = -BLAME_S};
    memcpy(oldest->address, address, 16);
    return oldest;
}

bool guard_admit(guard *g, const struct sockaddr *from)
{
    unsigned char address[16];
    if (g->rate <= 0 || !guard_address(from, address)) return true;
    pthread_mutex_lock(&g->lock);
    double now = seconds();
    client *c = find_client(g, address, now);
    c->left += g->rate * (now - c->seen);
    if (c->left > g->rate) c->left = g->rate;
    c->seen = now;
    bool may = c->left >= 1;
    if (may) c->left -= 1;
    pthread_mutex_unlock(&g->lock);
    return may;
}

void guard_blame(guard *g, const struct sockaddr *from)
{
    unsigned char address[16];
    if (!guard_address(from, address))
        return; /* a proxy there would be blamed for all its clients */
    pthread_mutex_lock(&g->lock);
    double now = seconds();
    client *c = find_client(g, address, now);
    c->seen = now;
    if (now - c->blamed_at > BLAME_S) c->wrong = 0;
    if (c->wrong++ == 0) c->blamed_at = now;
    pthread_mutex_unlock(&g->lock);
}

bool guard_is_blamed(guard *g, const struct sockaddr *from)
{
    unsigned char address[16];
    if (!guard_address(from, address)) return false;
    pthread_mutex_lock(&g->lock);
    double now = seconds();
    const client *c = find_client(g, address, now);
    bool is_blamed = c->wrong >= MAX_WRONG && now - c->blamed_at <= BLAME_S;
    pthread_mutex_unlock(&g->lock);
    return is_blamed;
}

/* ---- open and close -------------------------------------------------------------------- */

guard *guard_open(const char *tokens, int64_t rate)
{
    guard *g = calloc(1, sizeof *g);
    if (!g) {
        fputs("crosswise: out of memory\n", stderr);
        return NULL;
    }
    g->rate = (double)rate;
    pthread_mutex_init(&g->lock, NULL);
    if (!tokens || read_tokens(g, tokens)) return g;
    guard_close(g);
    return NULL;
}

void guard_close(guard *g)
{
    if (!g) return;
    pthread_mutex_destroy(&g->lock);
    explicit_bzero(g->tokens, sizeof g->tokens);
    free(g);
}

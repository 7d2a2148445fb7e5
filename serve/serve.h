/* serve.h - crosswise as a server: what the command needs of it. */
#ifndef SERVE_H
#define SERVE_H

#include <crosswise/crosswise.h>
#include <jansson.h>
#include <stdio.h>

typedef struct serve_settings {
    const char *model, *beside; /* files; beside may be NULL */
    const char *data;           /* dataset folder of the model; NULL: none */
    const char *listen;         /* "127.0.0.1:8080" */
    const char *tokens;         /* file; NULL: none */
    const char *feedback;       /* folder; NULL: feedback is refused */
    const char *run_as;         /* user to become; NULL: none given */
    int64_t threads, connections, client_connections, client_rate;
    int64_t body_bytes, timeout_s, grace_s, rotate_bytes;
    bool is_quiet;
} serve_settings;

/* A number among the settings: its flag, what it may be, where it goes. */
typedef struct serve_number {
    const char *name, *help;
    int64_t preset, low, high;
    size_t place; /* in serve_settings */
} serve_number;

/* All of them, ending with a row of zeros. */
extern const serve_number serve_numbers[];

/* Why this build or machine has no server; NULL: it has one. */
const char *serve_missing(void);

/* Serve until a signal asks to stop; the exit code.  Messages go to standard error, the address to
 * standard output. */
int serve_run(cw_context *ctx, const serve_settings *settings);

/* An id as JSON.  One that is not UTF-8 has its bytes above 127 written as \xNN. */
json_t *serve_id_json(const char *id);

/* From now on the process ends, with a message, where JSON finds no memory. */
void serve_guard_memory(void);

/* The routes as OpenAPI 3.1 (JSON) and as Markdown, to be freed. */
char *serve_openapi(void);
char *serve_markdown(void);

#endif

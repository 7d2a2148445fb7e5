/* stress.h - a server under test, and clients that behave badly. */
#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* What must hold; the first that does not ends the program. */
#define must(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) fail_at(__FILE__, __LINE__, __VA_ARGS__);                                \
    } while (0)
void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

typedef struct stand {
    const char *command, *models; /* the binary, the folder of small models */
    char folder[64];
    pid_t server;
    int port;
    bool is_long;
    int reply_ms;        /* to wait for a reply */
    const char *preload; /* a library to load into the server, NULL: none; it shares a page */
    int page_file;
} stand;

/* What a failure happened in, if it is more than the area. */
extern const char *current_trial;

/* Start a server in the folder with these words behind "serve m.safetensors"; wait until it says
 * where. */
void start_server(stand *s, const char *const *words);
bool begin_server(stand *s, const char *const *words); /* false: it did not listen, and ended */
int stop_server(stand *s, int signal_number);          /* its exit code, or 128 + signal */
/* Put a model in the place of m.safetensors, by a rename. */
void place_model(stand *s, const char *name);

enum { REPLY_BYTES = 1 << 16 };

/* A connection; -1: refused. */
int reach(const stand *s);
bool send_all(int socket, const char *bytes, size_t length);
bool send_text(int socket, const char *text);

/* One reply; false: the connection ended or nothing came within wait_ms.  What came of the next
 * reply stays in `rest`. */
typedef struct mail {
    int socket, status;
    size_t length; /* of what is there */
    char *body;    /* of the reply, ends with a zero */
    char bytes[REPLY_BYTES + 1];
    size_t used; /* by the reply before */
} mail;
void mail_open(mail *m, int socket);
bool mail_read(mail *m, int wait_ms);

/* A request of its own connection, with a line of who asks; the status, 0 when there was no reply.
 */
int request_as(const stand *s, const char *head, const char *who, const char *body, mail *m);
int request_once(const stand *s, const char *head, const char *body, mail *m);
double now_s(void);
void sleep_ms(int ms);

#define WRITE_TOKEN "write-token-of-tests"
#define ADMIN_TOKEN "admin-token-of-tests"
#define ADMIN       "Authorization: Bearer " ADMIN_TOKEN "\r\n"
#define WRITER      "Authorization: Bearer " WRITE_TOKEN "\r\n"

/* The areas. */
void try_malformed(stand *s);
void try_pipelining(stand *s);
void try_slow(stand *s);
void try_idle(stand *s);
void try_tokens(stand *s);
void try_swap(stand *s);
void try_stop(stand *s);
void try_kills(stand *s);
void try_faults(stand *s);
void try_doors(stand *s);

#endif

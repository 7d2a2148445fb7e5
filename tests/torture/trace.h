/* trace.h - run a command, watch its file calls, and disturb one of them. */
#ifndef TORTURE_TRACE_H
#define TORTURE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "preload.h"

/* What may be done to a call; the bits of call.can say which of them make sense. */
typedef enum fault {
    FAULT_NONE,
    FAULT_EIO,
    FAULT_ENOSPC,
    FAULT_EINTR,
    FAULT_SHORT, /* one byte is read or written */
    FAULT_KILL,  /* before the call; after the last one with at = calls + 1 */
    FAULT_HOOK,  /* a function of the test runs before the call */
    N_FAULTS,
} fault;

extern const char *const fault_name[N_FAULTS];

enum { CALL_NAME_BYTES = 16, CALL_PATH_BYTES = 512 };

typedef struct call {
    char name[CALL_NAME_BYTES]; /* such as "openat" */
    char path[CALL_PATH_BYTES]; /* below the folder of the test, or <1> for standard output */
    unsigned can;               /* 1 << fault for each that makes sense */
    bool changes;               /* it writes, creates, renames or removes something */
    bool creates;               /* a file or folder under this name */
    bool is_stderr;
} call;

typedef struct order {
    const char *root;        /* folder to run in; only calls below it, and on streams, count */
    const char *const *argv; /* the command, ends with NULL */
    int seconds;             /* it hangs when it takes longer */
    bool is_watched;         /* under ptrace; otherwise calls are not counted */
    fault fault;
    long at;       /* which call, from 1 */
    double kill_s; /* kill after this time, 0 for not */
    page page;     /* for the preloaded library */
    void (*hook)(void *user, const call *c);
    void (*synced)(void *user, int file); /* an fsync succeeded on this file, opened here too */
    void *user;
} order;

typedef struct outcome {
    bool is_hung;
    int signal; /* 0 when it ended by itself */
    int code;   /* its exit code */
    double seconds;
    long n_calls;
    call *calls; /* [n_calls] */
    long allocations;
    char *out, *err; /* what it printed */
    size_t out_bytes, err_bytes;
} outcome;

/* In each process, before its first run; the path of the preloaded library. */
void trace_begin(const char *preload);

outcome trace_run(const order *o);
void outcome_free(outcome *r);

/* NULL, or why commands cannot be watched here. */
const char *trace_obstacle(void);

#endif

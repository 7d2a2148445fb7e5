/* context.h - the context every call hangs on: error message, log, progress, threads. */
#ifndef CWI_CORE_CONTEXT_H
#define CWI_CORE_CONTEXT_H

#include <stdarg.h>
#if !defined(__cplusplus)
#include <stdatomic.h>
#endif

#include "crosswise/crosswise.h"

#if defined(__GNUC__)
#define CWI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CWI_PRINTF(text, first)
#endif

struct cwi_pool;
struct cwi_world;

/* Whom a context tells, apart so that another may take their place for a while. */
typedef struct cwi_callbacks {
    cw_log_fn log;
    void *log_user;
    cw_progress_fn progress;
    void *progress_user;
    cw_event_fn event;
    void *event_user;
} cwi_callbacks;

/* The memory that long lists of rows may take (core/room.h). */
typedef struct cwi_room {
    char *folder;   /* of the files for rows that find no place; NULL: no bound, and no files */
    int64_t bytes;  /* rows and ids together */
    bool is_strict; /* the bound is a user's word: ids that do not fit are an error */
} cwi_room;

#if !defined(__cplusplus) /* which has no C atomics and no need to look inside */
struct cw_context {
    char error[1024];
    cwi_callbacks tell;
    int threads;           /* as set; 0 is one per core */
    struct cwi_pool *pool; /* made when first needed */
    cwi_room room;
    struct cwi_world *world;     /* processes that do the same (comm/world.h), or NULL */
    atomic_int_fast64_t fail_at; /* test hook: allocations left until one fails; 0 is off */
};
#endif

/* Every public call starts with this: forget the last error. */
void cwi_begin(cw_context *ctx);

/* Record why a call fails and return status.  The first message since cwi_begin wins, so the
 * innermost cause survives. */
cw_status cwi_fail(cw_context *ctx, cw_status status, const char *format, ...) CWI_PRINTF(3, 4);

/* cwi_fail with CW_NO_MEMORY, for what core/mem.h has not asked for: that has told why. */
cw_status cwi_no_memory(cw_context *ctx);

/* cwi_fail with CW_IO and the text of errno: "cannot <what> <path>: <reason>". */
cw_status cwi_fail_errno(cw_context *ctx, const char *what, const char *path);

/* What is being made has a name of its own: let the message name the place it was meant for. */
void cwi_fail_rename(cw_context *ctx, const char *work, const char *path);

void cwi_log(cw_context *ctx, cw_log_level level, const char *format, ...) CWI_PRINTF(3, 4);

/* Tell the progress callback; CW_CANCELLED when it asks to stop. */
cw_status cwi_progress(cw_context *ctx, const char *stage, int64_t done, int64_t total);

/* Pass a failure on to the caller: where there is nothing to release. */
#define CW_PASS(call)                                                                              \
    do {                                                                                           \
        cw_status passed = (call);                                                                 \
        if (passed != CW_OK) return passed;                                                        \
    } while (0)

/* Leave through `done:` when a call fails.  Needs a local `cw_status status`. */
#define CW_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CW_OK) goto done;                                                            \
    } while (0)

#endif

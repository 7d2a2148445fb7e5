/* context.c - error message, log and progress of one caller. */
#include "core/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/pool.h"

#define TEXT_OF(x)            #x
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *cw_version(void)
{
    return VERSION_TEXT(CW_VERSION_MAJOR, CW_VERSION_MINOR, CW_VERSION_PATCH);
}

const char *cw_status_text(cw_status status)
{
    switch (status) {
#define X(name, number, text)                                                                      \
    case CW_##name: return text;
        CW_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

cw_status cw_context_create(cw_context **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? CW_OK : CW_NO_MEMORY;
}

void cw_context_free(cw_context *ctx)
{
    if (!ctx) return;
    cwi_pool_free(ctx->pool);
    free(ctx->room.folder);
    free(ctx);
}

const char *cw_context_error(const cw_context *ctx)
{
    return ctx->error;
}

void cw_context_set_log(cw_context *ctx, cw_log_fn log, void *user)
{
    ctx->tell.log = log;
    ctx->tell.log_user = user;
}

void cw_context_set_progress(cw_context *ctx, cw_progress_fn progress, void *user)
{
    ctx->tell.progress = progress;
    ctx->tell.progress_user = user;
}

void cw_context_set_event(cw_context *ctx, cw_event_fn event, void *user)
{
    ctx->tell.event = event;
    ctx->tell.event_user = user;
}

cw_status cw_context_set_threads(cw_context *ctx, int threads)
{
    cwi_begin(ctx);
    if (threads < 0 || threads > CWI_MAX_THREADS)
        return cwi_fail(ctx, CW_BAD_ARG, "threads is %d; it must lie between 0 and %d", threads,
                        CWI_MAX_THREADS);
    cwi_pool_free(ctx->pool);
    ctx->pool = NULL;
    ctx->threads = threads;
    return CW_OK;
}

int cw_context_threads(const cw_context *ctx)
{
    if (ctx->threads > 0) return ctx->threads;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores < 1) return 1;
    return cores > CWI_MAX_THREADS ? CWI_MAX_THREADS : (int)cores;
}

void cwi_begin(cw_context *ctx)
{
    ctx->error[0] = '\0';
}

cw_status cwi_fail(cw_context *ctx, cw_status status, const char *format, ...)
{
    if (ctx->error[0] == '\0') {
        va_list args;
        va_start(args, format);
        vsnprintf(ctx->error, sizeof ctx->error, format, args);
        va_end(args);
    }
    return status;
}

cw_status cwi_no_memory(cw_context *ctx)
{
    return cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
}

cw_status cwi_fail_errno(cw_context *ctx, const char *what, const char *path)
{
    enum { MAX_SHOWN = 600 }; /* of a path, so that the reason behind it still fits */
    char reason[128];
    int number = errno;
    if (number == ENOMEM) return cwi_no_memory(ctx); /* not the file's */
    size_t length = strlen(path), hidden = length > MAX_SHOWN ? length - MAX_SHOWN : 0;
    /* strerror is not safe beside other threads; the GNU form may ignore the buffer. */
    return cwi_fail(ctx, CW_IO, "cannot %s %s%s: %s", what, hidden > 0 ? "..." : "",
                    length > 0 ? path + hidden : "''", strerror_r(number, reason, sizeof reason));
}

void cwi_fail_rename(cw_context *ctx, const char *work, const char *path)
{
    char text[sizeof ctx->error];
    const char *found = strstr(ctx->error, work);
    if (!found) return;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(found - ctx->error), ctx->error, path,
             found + strlen(work));
    memcpy(ctx->error, text, sizeof text);
}

void cwi_log(cw_context *ctx, cw_log_level level, const char *format, ...)
{
    if (!ctx->tell.log) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ctx->tell.log(ctx->tell.log_user, level, text);
}

cw_status cwi_progress(cw_context *ctx, const char *stage, int64_t done, int64_t total)
{
    if (!ctx->tell.progress || ctx->tell.progress(ctx->tell.progress_user, stage, done, total))
        return CW_OK;
    return cwi_fail(ctx, CW_CANCELLED, "stopped while %s", stage);
}

/*
 * preload.c - loaded into the command before all else: fails allocations, and stops the clock.
 *
 * Only what happens inside main counts, not what the loader and constructors of libraries do.
 * The clock stands still and no memory is used, so that records, which tell both, are the
 * same bytes in every run.  dlopen finds nothing unless asked to: GLib, which librsvg brings along,
 * ends the process itself when there is no memory.
 */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

typedef int main_function(int argc, char **argv, char **environment);

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
int __libc_start_main(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);

static page *shared; /* NULL outside of main */
static main_function *real_main;

page *preload_page(void)
{
    return shared;
}

static bool must_fail(void)
{
    if (!shared) return false;
    long n = atomic_fetch_add(&shared->count, 1) + 1;
    if (shared->fail_at == 0 || n < shared->fail_at) return false;
    if (n > shared->fail_at && !shared->fail_on) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return must_fail() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t bytes)
{
    return must_fail() ? NULL : __libc_realloc(block, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return must_fail() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block = memalign(alignment, bytes);
    if (!block) return ENOMEM;
    *out = block;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (shared && shared->has_clock) return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = 1000};
    return 0;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    if (shared && shared->has_clock) return (int)syscall(SYS_getrusage, who, usage);
    memset(usage, 0, sizeof *usage);
    return 0;
}

void *dlopen(const char *name, int flags)
{
    static void *(*real)(const char *, int);
    if (shared && !shared->has_plugins) return NULL;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    return real(name, flags);
}

static int watched_main(int argc, char **argv, char **environment)
{
    void *mapped = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, PAGE_FILE, 0);
    if (mapped != MAP_FAILED) shared = mapped;
    int code = real_main(argc, argv, environment);
    shared = NULL;
    return code;
}

int __libc_start_main(main_function *entry, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack)
{
    int (*real)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                void *);
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = entry;
    return real(watched_main, argc, argv, init, fini, rtld_fini, stack);
}

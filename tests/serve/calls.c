/*
 * calls.c - loaded into the server before all else, beside torture/preload.c: lets one of its calls
 * to the system fail, be it ours or the web library's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../torture/preload.h"

#pragma GCC visibility push(default)

/* Shall this one fail?  One that moves bytes may move half of them instead. */
static bool must_fail(size_t *bytes)
{
    page *shared = preload_page();
    if (!shared || atomic_fetch_add(&shared->calls, 1) + 1 != shared->call_fails_at) return false;
    if (shared->call_error == 0) {
        if (bytes && *bytes > 1) *bytes /= 2;
        return false;
    }
    errno = shared->call_error;
    return true;
}

/* The real ones are looked up before main: later a failure may have left the loader locked. */
#define CALL(type, name, parameters, arguments, bytes)                                             \
    static type(*real_##name) parameters;                                                          \
    __attribute__((constructor)) static void find_##name(void)                                     \
    {                                                                                              \
        *(void **)&real_##name = dlsym(RTLD_NEXT, #name);                                          \
    }                                                                                              \
    type name parameters                                                                           \
    {                                                                                              \
        return must_fail(bytes) ? (type)-1 : real_##name arguments;                                \
    }

CALL(ssize_t, read, (int file, void *to, size_t n), (file, to, n), &n)
CALL(ssize_t, write, (int file, const void *from, size_t n), (file, from, n), &n)
CALL(ssize_t, pread64, (int file, void *to, size_t n, off64_t at), (file, to, n, at), &n)
CALL(ssize_t, recv, (int file, void *to, size_t n, int how), (file, to, n, how), &n)
CALL(ssize_t, send, (int file, const void *from, size_t n, int how), (file, from, n, how), &n)
CALL(ssize_t, sendmsg, (int file, const struct msghdr *m, int how), (file, m, how), NULL)
CALL(int, fsync, (int file), (file), NULL)
CALL(int, fdatasync, (int file), (file), NULL)
CALL(int, ftruncate64, (int file, off64_t length), (file, length), NULL)
CALL(int, flock, (int file, int how), (file, how), NULL)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), NULL)
CALL(int, unlinkat, (int place, const char *path, int how), (place, path, how), NULL)
CALL(int, fstat64, (int file, struct stat64 *out), (file, out), NULL)
CALL(int, stat64, (const char *path, struct stat64 *out), (path, out), NULL)
CALL(int, epoll_create1, (int how), (how), NULL)
CALL(int, eventfd, (unsigned first, int how), (first, how), NULL)
CALL(int, socket, (int family, int type, int kind), (family, type, kind), NULL)
CALL(int, listen, (int file, int n), (file, n), NULL)
CALL(int, accept4, (int file, __SOCKADDR_ARG from, socklen_t *length, int how),
     (file, from, length, how), NULL)
CALL(ssize_t, getrandom, (void *to, size_t n, unsigned how), (to, n, how), NULL)

#define OPENING(name, parameters, arguments)                                                       \
    static int(*real_##name) parameters;                                                           \
    __attribute__((constructor)) static void find_##name(void)                                     \
    {                                                                                              \
        *(void **)&real_##name = dlsym(RTLD_NEXT, #name);                                          \
    }                                                                                              \
    int name parameters                                                                            \
    {                                                                                              \
        va_list more;                                                                              \
        va_start(more, how);                                                                       \
        mode_t mode = how & O_CREAT ? va_arg(more, mode_t) : 0;                                    \
        va_end(more);                                                                              \
        return must_fail(NULL) ? -1 : real_##name arguments;                                       \
    }

OPENING(open64, (const char *path, int how, ...), (path, how, mode))
OPENING(openat64, (int place, const char *path, int how, ...), (place, path, how, mode))

/* To take a socket out or change it asks for nothing that could be short. */
static int (*real_control)(int, int, int, struct epoll_event *);

__attribute__((constructor)) static void find_control(void)
{
    *(void **)&real_control = dlsym(RTLD_NEXT, "epoll_ctl");
}

int epoll_ctl(int file, int what, int on, struct epoll_event *e)
{
    return what == EPOLL_CTL_ADD && must_fail(NULL) ? -1 : real_control(file, what, on, e);
}

/* A number, not errno, says why. */
typedef void *run_thread(void *);
static int (*real_create)(pthread_t *, const pthread_attr_t *, run_thread *, void *);

__attribute__((constructor)) static void find_create(void)
{
    *(void **)&real_create = dlsym(RTLD_NEXT, "pthread_create");
}

int pthread_create(pthread_t *out, const pthread_attr_t *how, run_thread *run, void *arg)
{
    return must_fail(NULL) ? EAGAIN : real_create(out, how, run, arg);
}

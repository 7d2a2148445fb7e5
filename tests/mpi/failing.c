/*
 * failing.c - loaded before all else: a file call of one process fails.
 *
 *   FAIL_RANK  which process, as Open MPI or MPICH number them
 *   FAIL_NAME  calls on files whose names begin so, with a dot before it or not, are counted
 *   FAIL_AT    which of them fails, with EIO
 *   FAIL_MARK  a file that is made then, with the name of the call in it
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(default)
int open64(const char *path, int flags, ...);
int openat64(int folder, const char *path, int flags, ...);
ssize_t pread64(int file, void *to, size_t length, off64_t at);
FILE *fopen64(const char *path, const char *mode);
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
#pragma GCC visibility pop

static bool is_here(void)
{
    const char *wanted = getenv("FAIL_RANK"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    return wanted && rank && strcmp(wanted, rank) == 0;
}

static void leave_mark(const char *call)
{
    const char *mark = getenv("FAIL_MARK");
    long file = mark ? syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file < 0) return;
    (void)syscall(SYS_write, file, call, strlen(call));
    (void)syscall(SYS_close, file);
}

static bool fails(const char *call, const char *path)
{
    static int count;
    const char *name = getenv("FAIL_NAME"), *at = getenv("FAIL_AT"), *slash = strrchr(path, '/');
    if (!name || !at || !is_here()) return false;
    if (slash) path = slash + 1;
    if (path[0] == '.') path++;
    if (strncmp(path, name, strlen(name)) != 0) return false;
    if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) != atoi(at)) return false;
    leave_mark(call);
    errno = EIO;
    return true;
}

static bool fails_at(const char *call, int file)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = '\0';
    return fails(call, path);
}

/* The call behind this one. */
#define REAL(name) (*(void **)&real = dlsym(RTLD_NEXT, name))

#define TAKE_MODE(flags)                                                                           \
    va_list args;                                                                                  \
    va_start(args, flags);                                                                         \
    mode_t mode = (flags)&O_CREAT ? va_arg(args, mode_t) : 0;                                      \
    va_end(args)

int open64(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    TAKE_MODE(flags);
    REAL("open64");
    return fails("open", path) ? -1 : real(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...);
    TAKE_MODE(flags);
    REAL("openat64");
    return fails("openat", path) ? -1 : real(folder, path, flags, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *);
    REAL("fopen64");
    return fails("fopen", path) ? NULL : real(path, mode);
}

ssize_t read(int file, void *to, size_t length)
{
    ssize_t (*real)(int, void *, size_t);
    REAL("read");
    return fails_at("read", file) ? -1 : real(file, to, length);
}

ssize_t pread64(int file, void *to, size_t length, off64_t at)
{
    ssize_t (*real)(int, void *, size_t, off64_t);
    REAL("pread64");
    return fails_at("pread", file) ? -1 : real(file, to, length, at);
}

ssize_t write(int file, const void *from, size_t length)
{
    ssize_t (*real)(int, const void *, size_t);
    REAL("write");
    return fails_at("write", file) ? -1 : real(file, from, length);
}

int fsync(int file)
{
    int (*real)(int);
    REAL("fsync");
    return fails_at("fsync", file) ? -1 : real(file);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    REAL("rename");
    return fails("rename", to) ? -1 : real(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    int (*real)(int, const char *, int, const char *, unsigned);
    REAL("renameat2");
    return fails("renameat2", to) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path)
{
    int (*real)(const char *);
    REAL("unlink");
    return fails("unlink", path) ? -1 : real(path);
}

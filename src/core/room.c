/* room.c - how much memory there is, for whom. */
#include "core/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/work.h"

enum { FILE_BYTES = 4096, PATH_BYTES = 2048 };

/* ---- what the machine has --------------------------------------------------- */

/* The beginning of a small file as text; false when there is none. */
static bool read_text(const char *path, char text[FILE_BYTES])
{
    int file;
    ssize_t got;
    CWI_AGAIN(file, open(path, O_RDONLY | O_CLOEXEC));
    if (file < 0) return false;
    CWI_AGAIN(got, read(file, text, FILE_BYTES - 1));
    close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The number at the beginning of a text, behind blanks; INT64_MAX: there is none, as in "max". */
static int64_t number_at(const char *text)
{
    int64_t value;
    text += strspn(text, " \t");
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && cwi_parse_int(text, digits, &value) ? value : INT64_MAX;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t free_memory(void)
{
    static const char key[] = "MemAvailable:";
    char text[FILE_BYTES];
    const char *at = read_text("/proc/meminfo", text) ? strstr(text, key) : NULL;
    int64_t kilobytes = at ? number_at(at + sizeof key - 1) : INT64_MAX;
    return kilobytes < INT64_MAX / 1024 ? kilobytes * 1024 : INT64_MAX;
}

/* The least limit of a group and of those around it; group is changed. */
static int64_t limit_of_group(const char *root, char *group, const char *file)
{
    int64_t least = INT64_MAX;
    char path[PATH_BYTES], text[FILE_BYTES];
    for (;;) {
        int used = snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        if (used > 0 && (size_t)used < sizeof path && read_text(path, text))
            least = lesser(least, number_at(text));
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* What limits this container, by either version of control groups. */
static int64_t limit_of_groups(void)
{
    static const char second[] = "0::", first[] = ":memory:";
    char text[FILE_BYTES];
    int64_t least = INT64_MAX;
    if (!read_text("/proc/self/cgroup", text)) return least;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end : line + strlen(line);
        if (*end) *end++ = '\0';
        char *at = strstr(line, first);
        if (strncmp(line, second, sizeof second - 1) == 0)
            least = lesser(
                least, limit_of_group("/sys/fs/cgroup", line + sizeof second - 1, "memory.max"));
        else if (at)
            least = lesser(least, limit_of_group("/sys/fs/cgroup/memory", at + sizeof first - 1,
                                                 "memory.limit_in_bytes"));
    }
    return least;
}

/* What is left of the address space that the process may have (ulimit -v). */
static int64_t free_space(void)
{
    struct rlimit limit;
    char text[FILE_BYTES];
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= INT64_MAX) return INT64_MAX;
    int64_t pages = read_text("/proc/self/statm", text) ? number_at(text) : 0;
    int64_t left = (int64_t)limit.rlim_cur - pages * sysconf(_SC_PAGESIZE);
    return left > 0 ? left : 0;
}

int64_t cwi_room_machine(void)
{
    return lesser(lesser(free_memory(), limit_of_groups()), free_space());
}

/* ---- what a context may take --------------------------------------------------- */

bool cwi_room_holds(const cw_context *ctx, int64_t bytes)
{
    return !ctx->room.folder || bytes <= ctx->room.bytes;
}

int64_t cwi_room_share(const cw_context *ctx, int64_t parts)
{
    return ctx->room.folder ? ctx->room.bytes / parts : INT64_MAX;
}

cw_status cwi_room_check(cw_context *ctx, int64_t bytes, const char *what)
{
    const double mebibyte = 1 << 20;
    if (!ctx->room.is_strict || cwi_room_holds(ctx, bytes)) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "%s take about %.1f MB, and --memory is %.1f MB: rows can be in files, these "
                    "cannot",
                    what, (double)bytes / mebibyte, (double)ctx->room.bytes / mebibyte);
}

cw_status cw_context_set_memory(cw_context *ctx, int64_t bytes, const char *folder)
{
    char *copy = NULL;

    cwi_begin(ctx);
    if (bytes > 0 && bytes < CW_LEAST_MEMORY)
        return cwi_fail(ctx, CW_BAD_ARG, "memory is %lld bytes; it must be 0 or at least %d",
                        (long long)bytes, CW_LEAST_MEMORY);
    if (folder) {
        if (!cwi_path_is_folder(folder) || access(folder, W_OK | X_OK) != 0)
            return cwi_fail_errno(ctx, "make files in", folder);
        copy = cwi_strdup(ctx, folder);
        if (!copy) return CW_NO_MEMORY;
    }
    cwi_free(ctx->room.folder);
    ctx->room = (cwi_room){.folder = copy,
                           .is_strict = bytes > 0,
                           .bytes = bytes >= 0 ? bytes : cwi_room_machine() / 2};
    return CW_OK;
}

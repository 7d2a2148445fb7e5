/* memory.c - --memory and --temp: how much of a log is held in memory, and where the rest goes. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MOST_MEMORY_BITS = 50 };

/* 512M, 1.5G, 2g: a number and its unit, in which letters may be small. */
static bool parse_size(const char *text, int64_t *bytes)
{
    static const char units[] = "kmgt";
    size_t digits = strspn(text, "0123456789"), length = strlen(text);
    size_t behind = text[digits] == '.' ? 1 + strspn(text + digits + 1, "0123456789") : 0;
    if (digits == 0 || digits > 6 || behind == 1 || digits + behind > 12) return false;
    if (strcmp(text, "0") == 0) {
        *bytes = 0;
        return true;
    }
    const char *unit =
        length == digits + behind + 1 ? strchr(units, text[length - 1] | 0x20) : NULL;
    if (!unit || !*unit) return false;
    double value = 0, scale = 1;
    for (size_t d = 0; d < digits + behind; d++) {
        if (text[d] == '.') continue;
        value = value * 10 + (text[d] - '0');
        if (d > digits) scale *= 10;
    }
    value = value / scale * (double)(INT64_C(1) << 10 * (unit - units + 1));
    *bytes = (int64_t)value;
    return value >= CW_LEAST_MEMORY && value <= (double)(INT64_C(1) << MOST_MEMORY_BITS);
}

/* The folder around a path, to be freed; NULL: no memory. */
static char *folder_around(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length > 0 && path[length - 1] != '/') length--;
    while (length > 1 && path[length - 1] == '/') length--;
    char *folder = malloc(length + 2);
    if (!folder) return NULL;
    memcpy(folder, length > 0 ? path : ".", length > 0 ? length : 1);
    folder[length > 0 ? length : 1] = '\0';
    return folder;
}

int cli_check_memory(const cli_command *command, cli_memory *memory)
{
    memory->bytes = -1;
    if (!memory->size || parse_size(memory->size, &memory->bytes)) return -1;
    return cli_misuse(command,
                      "--memory '%.40s' is no size; it is 0, or from 1M to 1024T: a number and K, "
                      "M, G or T, such as 2G",
                      memory->size);
}

cw_status cli_set_memory(cli_call *call, const cli_memory *memory, const char *out)
{
    char *around = memory->folder ? NULL : folder_around(out);
    const char *folder = memory->folder ? memory->folder : around;
    cw_status status =
        folder ? cw_context_set_memory(call->ctx, memory->bytes, folder) : CW_NO_MEMORY;
    free(around);
    return status;
}

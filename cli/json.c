/*
 * json.c - what the library says, as JSON values, and values as text.
 *
 * Without memory Jansson loses bytes of what it reads or prints and may even leave its buffers.
 * While it is at it, the command therefore ends where an allocation fails.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

static _Thread_local bool is_at_it;

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (block || !is_at_it) return block;
    fflush(stdout);
    fputs("crosswise: out of memory\n", stderr);
    _exit(CLI_FAILED);
}

void cli_init_json(void)
{
    json_set_alloc_funcs(allocate, free);
}

json_t *cli_parse(const char *text)
{
    json_error_t error;
    is_at_it = true;
    json_t *root = json_loads(text, 0, &error);
    is_at_it = false;
    (void)json_object_del(root, "signed"); /* of use in a file alone */
    (void)json_object_del(root, "xxh3_128");
    return root;
}

json_t *cli_parse_file(const char *path, json_error_t *error)
{
    is_at_it = true;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, error);
    is_at_it = false;
    return root;
}

char *cli_print_json(const json_t *value, size_t flags)
{
    is_at_it = true;
    char *text = json_dumps(value, flags | JSON_ENCODE_ANY);
    is_at_it = false;
    return text;
}

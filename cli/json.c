/*
 * json.c - what the library says, as JSON values.
 *
 * Without memory Jansson's parser loses bytes of the text and may even leave its buffers.  While it
 * is at work the command therefore ends where an allocation fails.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

static _Thread_local bool is_parsing;

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (block || !is_parsing) return block;
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
    is_parsing = true;
    json_t *root = json_loads(text, 0, &error);
    is_parsing = false;
    (void)json_object_del(root, "signed"); /* of use in a file alone */
    (void)json_object_del(root, "xxh3_128");
    return root;
}

json_t *cli_parse_file(const char *path, json_error_t *error)
{
    is_parsing = true;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, error);
    is_parsing = false;
    return root;
}

/*
 * json.c - what the library says, as JSON values, and values as text.
 *
 * Without memory Jansson loses bytes of what it reads or prints and may even leave its buffers.
 * While it is at it, the command therefore ends where an allocation fails.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

enum { MAX_FILE = 16 << 20 }; /* bytes */

static _Thread_local bool is_at_it;
static atomic_bool lacks_memory; /* a value that was to be printed or kept is not whole */

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block) lacks_memory = true;
    if (block || !is_at_it) return block;
    fflush(stdout);
    fputs("crosswise: out of memory\n", stderr);
    _exit(CLI_FAILED);
}

bool cli_lacks_memory(void)
{
    return lacks_memory;
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

/* A file that must end within its bound, whatever it is. */
typedef struct bounded {
    FILE *file;
    size_t left;
} bounded;

/* For Jansson, which takes -1 for a failure. */
static size_t read_some(void *buffer, size_t size, void *data)
{
    bounded *b = data;
    size_t got = fread(buffer, 1, size < b->left ? size : b->left, b->file);
    b->left -= got;
    return b->left == 0 || ferror(b->file) ? (size_t)-1 : got;
}

json_t *cli_parse_file(const char *path, json_error_t *error)
{
    bounded b = {fopen(path, "rb"), MAX_FILE};
    if (!b.file) return NULL;
    is_at_it = true;
    json_t *root = json_load_callback(read_some, &b, JSON_REJECT_DUPLICATES, error);
    is_at_it = false;
    if (!root && b.left == 0)
        snprintf(error->text, sizeof error->text, "a plan may have 16 MiB and no more");
    fclose(b.file);
    return root;
}

char *cli_print_json(const json_t *value, size_t flags)
{
    is_at_it = true;
    char *text = lacks_memory ? NULL : json_dumps(value, flags | JSON_ENCODE_ANY);
    is_at_it = false;
    return text;
}

double cli_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

const char *cli_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

void cli_print_done(json_t *result)
{
    if (result && json_object_set_new(result, "event", json_string("done")) == 0) {
        json_dumpf(result, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
        putchar('\n');
    }
    json_decref(result);
}

json_t *cli_group_label(const json_t *group)
{
    char text[96], items[32];
    json_int_t from = json_integer_value(json_object_get(group, "degree_from"));
    json_int_t to = json_integer_value(json_object_get(group, "degree_to"));
    cli_thousands(json_integer_value(json_object_get(group, "items")), items);
    if (from == to)
        snprintf(text, sizeof text, "%s items with %lld rows", items, (long long)to);
    else
        snprintf(text, sizeof text, "%s items with %lld-%lld rows", items, (long long)from,
                 (long long)to);
    return json_string(text);
}

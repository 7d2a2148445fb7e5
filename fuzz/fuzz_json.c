/* fuzz_json.c - any bytes as JSON: the parser and Jansson agree on what it is and what it holds,
 * and an object that is signed reads back the same until a byte of it changes. */
#include "core/json.h"

#include "core/mem.h"
#include "fuzzing.h"

static int depth_of(const json_t *value)
{
    const char *key;
    size_t index;
    json_t *child;
    int deepest = 0, depth;
    json_object_foreach((json_t *)value, key, child)
    {
        depth = depth_of(child);
        if (depth > deepest) deepest = depth;
    }
    json_array_foreach(value, index, child)
    {
        depth = depth_of(child);
        if (depth > deepest) deepest = depth;
    }
    return deepest + 1;
}

/* Jansson goes deeper, and overlooks a zero byte behind a number. */
static void compare(const json_t *ours, const char *text, size_t length)
{
    json_error_t error;
    json_t *theirs = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (ours)
        must(theirs && json_equal(ours, theirs));
    else
        must(!theirs || depth_of(theirs) > 100 || memchr(text, '\0', length));
    json_decref(theirs);
}

static void check_signed(cw_context *ctx, json_t *root, tape *t)
{
    char *text;
    json_t *read;
    json_object_del(root, "signed"); /* names of ours */
    json_object_del(root, "xxh3_128");
    size_t size = json_object_size(root);
    must_work(ctx, cwi_json_sign(ctx, json_incref(root), &text));
    size_t length = strlen(text);
    must_work(ctx, cwi_json_verify(ctx, "signed", text, length, &read));
    must(json_object_size(read) == size);
    json_decref(read);

    uint8_t flip = take_byte(t);
    text[(size_t)take_number(t, 0, UINT16_MAX) % length] ^= (char)(flip ? flip : 1);
    cw_status status = cwi_json_verify(ctx, "changed", text, length, &read);
    must(status == CW_BAD_DATA && !read);
    check_status(ctx, status);
    cwi_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    tape t = {data, size};
    json_t *root;
    const char *text = (const char *)data;

    cw_status status = cwi_json_parse(ctx, "input", text, size, &root);
    check_status(ctx, status);
    must((status == CW_OK) == (root != NULL));
    compare(root, text, size);
    if (json_is_object(root)) check_signed(ctx, root, &t);
    json_decref(root);
    cw_context_free(ctx);
    return 0;
}

/* cmd_info.c - crosswise info MODEL */
#include <string.h>

#include "cli.h"

static void print_value(const char *key, const json_t *value)
{
    char text[32];
    if (json_is_integer(value))
        printf("%-26s %s\n", key, cli_thousands(json_integer_value(value), text));
    else if (json_is_real(value))
        printf("%-26s %.6g\n", key, json_real_value(value));
    else if (json_is_string(value))
        printf("%-26s %s\n", key, json_string_value(value));
    else if (json_is_boolean(value))
        printf("%-26s %s\n", key, json_is_true(value) ? "yes" : "no");
}

/* Every value below an object, named by its path: options.lr. */
static void print_tree(const char *path, json_t *object)
{
    const char *key;
    json_t *value;
    char longer[256];

    json_object_foreach(object, key, value)
    {
        snprintf(longer, sizeof longer, "%s%s%s", path, path[0] ? "." : "", key);
        if (json_is_object(value))
            print_tree(longer, value);
        else
            print_value(longer, value);
    }
}

static void print_tensors(const json_t *tensors)
{
    size_t index;
    json_t *tensor;
    json_array_foreach(tensors, index, tensor)
    {
        const json_t *shape = json_object_get(tensor, "shape");
        printf("%-26s %s, %lld x %lld\n", "tensor",
               json_string_value(json_object_get(tensor, "name")),
               (long long)json_integer_value(json_array_get(shape, 0)),
               (long long)json_integer_value(json_array_get(shape, 1)));
    }
}

static cw_status print_info(const char *json)
{
    static const char *const keys[] = {"method",     "backbone",    "users",     "items",
                                       "train_rows", "hidden_rows", "parameters"};
    json_t *root = cli_parse(json);
    if (!root) return CW_NO_MEMORY;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        print_value(keys[k], json_object_get(root, keys[k]));
    print_tensors(json_object_get(root, "tensors"));
    json_t *about = json_object_get(root, "about");
    for (size_t k = 0; k < 2; k++) json_object_del(about, keys[k]); /* said above */
    print_tree("", about);
    json_decref(root);
    return CW_OK;
}

static cw_status show(cli_call *call)
{
    cw_model *model = NULL;
    char *json = NULL;

    cw_status status = cw_model_load(call->ctx, call->inputs[0], &model);
    if (status == CW_OK) status = cw_model_info(call->ctx, model, &json);
    if (status == CW_OK && call->json)
        printf("%s\n", json);
    else if (status == CW_OK)
        status = print_info(json);
    cw_text_free(json);
    cw_model_free(model);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const cli_flag flags[] = {{0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one model file, not %zu", call.n_inputs);
    cw_status status = code < 0 ? show(&call) : CW_OK;
    return cli_end(&call, code, status);
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "show what a model is and how it was trained",
    .usage = "MODEL",
    .details =
        "Prints the method, the size, the options and the metrics of a model file.  The file is\n"
        "checked on the way: a damaged one is refused.",
    .run = run,
};

/* cmd_info.c - crosswise info MODEL, crosswise info --devices */
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

/* ---- devices ------------------------------------------------------------------------ */

static void print_device(const json_t *device)
{
    const char *name = json_string_value(json_object_get(device, "device"));
    const char *problem = json_string_value(json_object_get(device, "problem"));
    const double gigabyte = 1e9;
    if (problem)
        printf("%-10s %s\n", name, problem);
    else if (!json_object_get(device, "name"))
        printf("%-10s %s\n", name, cw_cpu_isa());
    else
        printf("%-10s %s, compute capability %s, %.1f of %.1f GB free\n", name,
               json_string_value(json_object_get(device, "name")),
               json_string_value(json_object_get(device, "capability")),
               (double)json_integer_value(json_object_get(device, "free")) / gigabyte,
               (double)json_integer_value(json_object_get(device, "memory")) / gigabyte);
}

static cw_status show_devices(cli_call *call)
{
    char *json = NULL;
    size_t index;
    json_t *device, *root = NULL;
    cw_status status = cw_devices(call->ctx, &json);
    if (status == CW_OK && call->json) {
        printf("%s\n", json);
    } else if (status == CW_OK) {
        root = cli_parse(json);
        json_array_foreach(json_object_get(root, "devices"), index, device) print_device(device);
        const char *why = json_string_value(json_object_get(root, "no_cuda"));
        if (why) printf("%-10s %s\n", "no cuda", why);
        status = root ? CW_OK : CW_NO_MEMORY;
    }
    json_decref(root);
    cw_text_free(json);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    bool devices = false;
    const cli_flag flags[] = {
        {.name = "devices", .on = &devices, .help = "list what models can be trained on"}, {0}};
    cli_call call;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && devices && call.n_inputs > 0)
        code = cli_misuse(command, "--devices takes no model file");
    if (code < 0 && !devices && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one model file, not %zu", call.n_inputs);
    cw_status status = code >= 0 ? CW_OK : devices ? show_devices(&call) : show(&call);
    return cli_end(&call, code, status);
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "show what a model is and how it was trained",
    .usage = "MODEL | --devices",
    .details =
        "Prints the method, the size, the options and the metrics of a model file.  The file is\n"
        "checked on the way: a damaged one is refused.  With --devices it lists the CPU and the "
        "GPUs\n"
        "that models can be trained on, or says why there is none.",
    .run = run,
};

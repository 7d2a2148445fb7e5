/* cmd_methods.c - crosswise methods */
#include <string.h>

#include "cli.h"

static void print_defaults(const char *method, const char *backbone)
{
    const cw_option_info *info;
    bool is_first = true;
    for (size_t row = 0; (info = cw_stage_option("train", row)) != NULL; row++) {
        const char *value = cw_method_default(method, backbone, info->name);
        if (!value[0]) continue;
        if (is_first) printf("  %-10s on %s:", "", backbone);
        printf(" --%s %s", info->name, value);
        is_first = false;
    }
    if (!is_first) putchar('\n');
}

static void print_methods(void)
{
    printf("Methods:\n");
    for (size_t m = 0; cw_method_name(m); m++) {
        printf("  %-10s %s\n", cw_method_name(m), cw_method_help(cw_method_name(m)));
        for (size_t b = 0; cw_backbone_name(b); b++)
            print_defaults(cw_method_name(m), cw_backbone_name(b));
    }
    printf("\nBackbones:\n");
    for (size_t b = 0; cw_backbone_name(b); b++)
        printf("  %-10s %s\n", cw_backbone_name(b), cw_backbone_help(cw_backbone_name(b)));
    printf("\nOptimizers:\n");
    for (size_t n = 0; cw_optimizer_name(n); n++)
        printf("  %-13s %s\n", cw_optimizer_name(n), cw_optimizer_help(cw_optimizer_name(n)));
    printf("\nOptions of training (default in brackets):\n");
    cli_print_stage("train");
}

/* The names that a call gives for indices 0, 1, ... */
static json_t *report_names(const char *(*name_at)(const char *of, size_t index), const char *of)
{
    json_t *out = json_array();
    for (size_t n = 0; name_at(of, n); n++) json_array_append_new(out, json_string(name_at(of, n)));
    return out;
}

static json_t *report_option(const cw_option_info *info)
{
    static const char *const kind[] = {"integer", "real", "choice", "text", "flag"};
    json_t *out = json_pack("{s:s, s:s, s:s, s:s}", "name", info->name, "kind", kind[info->kind],
                            "default", info->preset, "help", info->help);
    if (info->kind == CW_OPTION_INTEGER || info->kind == CW_OPTION_REAL) {
        json_object_set_new(out, "minimum", json_real(info->minimum));
        json_object_set_new(out, "maximum", json_real(info->maximum));
    }
    if (info->choices) json_object_set_new(out, "choices", json_string(info->choices));
    json_object_set_new(out, "owners", report_names(cw_train_option_owner, info->name));
    return out;
}

static json_t *report_defaults(const char *method, const char *backbone)
{
    const cw_option_info *info;
    json_t *out = json_object();
    for (size_t row = 0; (info = cw_stage_option("train", row)) != NULL; row++) {
        const char *value = cw_method_default(method, backbone, info->name);
        if (value[0]) json_object_set_new(out, info->name, json_string(value));
    }
    return out;
}

static json_t *report_method(const char *name)
{
    json_t *defaults = json_object();
    for (size_t b = 0; cw_backbone_name(b); b++) {
        json_t *tuned = report_defaults(name, cw_backbone_name(b));
        if (json_object_size(tuned) > 0) json_object_set(defaults, cw_backbone_name(b), tuned);
        json_decref(tuned);
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "name", name, "help", cw_method_help(name),
                     "backbones", report_names(cw_method_backbone, name), "defaults", defaults);
}

/* Names and help of all parts of a kind. */
static json_t *report_parts(const char *(*name_at)(size_t index), const char *(*help)(const char *))
{
    json_t *out = json_array();
    for (size_t n = 0; name_at(n); n++)
        json_array_append_new(
            out, json_pack("{s:s, s:s}", "name", name_at(n), "help", help(name_at(n))));
    return out;
}

static cw_status print_json(void)
{
    const cw_option_info *info;
    json_t *methods = json_array(), *options = json_array();
    for (size_t m = 0; cw_method_name(m); m++)
        json_array_append_new(methods, report_method(cw_method_name(m)));
    for (size_t row = 0; (info = cw_stage_option("train", row)) != NULL; row++)
        json_array_append_new(options, report_option(info));
    json_t *root =
        json_pack("{s:o, s:o, s:o, s:o}", "methods", methods, "backbones",
                  report_parts(cw_backbone_name, cw_backbone_help), "optimizers",
                  report_parts(cw_optimizer_name, cw_optimizer_help), "options", options);
    if (!root) return CW_NO_MEMORY;
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return CW_OK;
}

static int run(const cli_command *command, int argc, char **argv)
{
    const cli_flag flags[] = {{0}};
    cli_call call;
    cw_status status = CW_OK;

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs > 0)
        code = cli_misuse(command, "it takes no input; what is '%s'?", call.inputs[0]);
    if (code < 0 && call.json)
        status = print_json();
    else if (code < 0)
        print_methods();
    return cli_end(&call, code, status);
}

const cli_command cmd_methods = {
    .name = "methods",
    .summary = "list the methods, backbones and options of training",
    .usage = "",
    .details = "Prints what can be trained, with every option, its default and its bounds.",
    .run = run,
};

/*
 * gen_docs.c - write the reference of all options from the tables that check them.
 *   gen-docs options          docs/options.md
 *   gen-docs man TEMPLATE     the manual page: TEMPLATE with each line "@OPTIONS stage@"
 *                             replaced by the options of that stage, and @VERSION@ filled in
 *   gen-docs metrics          the names of all metrics, which docs/metrics.md must have
 */
#include <crosswise/crosswise.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "a whole number from 1 to 5", "a number above 0", "one of a, b", ... */
static void print_allowed(const cw_option_info *info)
{
    double low = info->minimum, high = info->maximum;
    bool integer = info->kind == CW_OPTION_INTEGER;
    const char *word = info->choices;

    switch (info->kind) {
    case CW_OPTION_TEXT: printf("text"); return;
    case CW_OPTION_FLAG: printf("on or off"); return;
    case CW_OPTION_CHOICE:
        printf("one of ");
        for (; *word; word++) printf(*word == '|' ? ", " : "%c", *word);
        return;
    case CW_OPTION_INTEGER:
    case CW_OPTION_REAL: break;
    }
    printf(integer ? "a whole number" : "a number");
    bool has_low = isfinite(low), has_high = isfinite(high) && !(integer && high >= 0x1p53);
    if (has_low && has_high && !info->minimum_is_open && !info->maximum_is_open) {
        printf(" from %.15g to %.15g", low, high);
        return;
    }
    if (has_low) printf(info->minimum_is_open ? " above %.15g" : ", %.15g or more", low);
    if (has_low && has_high) printf(" and");
    if (has_high) printf(info->maximum_is_open ? " below %.15g" : " at most %.15g", high);
}

static void print_markdown_text(const char *text)
{
    for (; *text; text++) printf(strchr("|*_<", *text) ? "\\%c" : "%c", *text);
}

static void print_markdown(void)
{
    printf("# Options\n\n"
           "Written by `make docs` from the tables that check the values; do not edit.\n"
           "On the command line an option is `--name value`; in C it is\n"
           "`cw_options_set(ctx, options, \"name\", \"value\")`. Real numbers may be written as\n"
           "fractions, such as `1/60`.\n");
    for (size_t s = 0; cw_stage_name(s); s++) {
        const cw_option_info *info;
        printf("\n## %s\n\n| option | default | allowed | what it does |\n|---|---|---|---|\n",
               cw_stage_name(s));
        for (size_t row = 0; (info = cw_stage_option(cw_stage_name(s), row)); row++) {
            printf("| `%s` | ", info->name);
            printf(info->preset[0] ? "`%s`" : "not set%s", info->preset);
            printf(" | ");
            print_allowed(info);
            printf(" | ");
            print_markdown_text(info->help);
            printf(" |\n");
        }
    }
}

/* A dash must be escaped to stay one; sentences of the tables never begin with a dot. */
static void print_man_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '-')
            printf("\\-");
        else if (*text == '\\')
            printf("\\e");
        else
            putchar(*text);
    }
}

static bool print_man_options(const char *stage)
{
    const cw_option_info *info = cw_stage_option(stage, 0);
    if (!info) return false;
    for (size_t row = 0; (info = cw_stage_option(stage, row)); row++) {
        printf(".TP\n.B \\-\\-");
        print_man_text(info->name);
        printf("\n%c", toupper((unsigned char)info->help[0]));
        print_man_text(info->help + 1);
        printf(".\nAllowed: ");
        print_allowed(info);
        printf(".\nDefault: ");
        print_man_text(info->preset[0] ? info->preset : "not set");
        printf(".\n");
    }
    return true;
}

static bool print_man(FILE *template)
{
    char line[1024], stage[32];

    while (fgets(line, sizeof line, template)) {
        char *version = strstr(line, "@VERSION@");
        if (sscanf(line, "@OPTIONS %31[a-z]@", stage) == 1) {
            if (print_man_options(stage)) continue;
            fprintf(stderr, "gen-docs: there is no stage '%s'\n", stage);
            return false;
        }
        if (version)
            printf("%.*s%s%s", (int)(version - line), line, cw_version(),
                   version + strlen("@VERSION@"));
        else
            fputs(line, stdout);
    }
    return true;
}

int main(int argc, char **argv)
{
    bool good = true;

    if (argc == 2 && strcmp(argv[1], "options") == 0) {
        print_markdown();
    } else if (argc == 2 && strcmp(argv[1], "metrics") == 0) {
        for (size_t m = 0; cw_metric_at(m); m++) printf("%s\n", cw_metric_at(m)->name);
    } else if (argc == 3 && strcmp(argv[1], "man") == 0) {
        FILE *template = fopen(argv[2], "r");
        if (!template) {
            perror(argv[2]);
            return EXIT_FAILURE;
        }
        good = print_man(template);
        fclose(template);
    } else {
        fprintf(stderr, "usage: gen-docs options | gen-docs man TEMPLATE | gen-docs metrics\n");
        return 2;
    }
    return good && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

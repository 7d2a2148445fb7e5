/*
 * gen_docs.c - write the reference of all options from the tables that check them.
 *   gen-docs options          docs/options.md
 *   gen-docs man TEMPLATE     the manual page: TEMPLATE with each line "@OPTIONS stage@"
 *                             replaced by the options of that stage, and @VERSION@ filled in
 *   gen-docs http             docs/http.md, from the table of routes of the server
 *   gen-docs metrics          the names of all metrics, which docs/metrics.md must have
 */
#include <crosswise/crosswise.h>
#include <ctype.h>
#include <math.h>
#include <serve.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWNERS_BYTES = 256 };

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

/* Who takes an option of training, with commas between; "" for the others. */
static void name_owners(const char *stage, const char *option, char *out, size_t bytes)
{
    const char *owner;
    out[0] = '\0';
    if (strcmp(stage, "train") != 0) return;
    for (size_t n = 0; (owner = cw_train_option_owner(option, n)); n++) {
        size_t used = strlen(out);
        snprintf(out + used, bytes - used, "%s%s", n ? ", " : "", owner);
    }
}

/* Call print_row for the options that have these owners. */
static void print_group(const char *stage, const char *owners,
                        void (*print_row)(const cw_option_info *info))
{
    const cw_option_info *info;
    char theirs[OWNERS_BYTES];
    for (size_t row = 0; (info = cw_stage_option(stage, row)); row++) {
        name_owners(stage, info->name, theirs, sizeof theirs);
        if (strcmp(theirs, owners) == 0) print_row(info);
    }
}

/* The rows of a stage in groups of the same owners, in the order in which these are met first. */
static void print_groups(const char *stage, void (*print_title)(const char *owners),
                         void (*print_row)(const cw_option_info *info))
{
    const cw_option_info *info;
    char owners[OWNERS_BYTES], earlier[OWNERS_BYTES];
    for (size_t row = 0; (info = cw_stage_option(stage, row)); row++) {
        size_t other = 0;
        name_owners(stage, info->name, owners, sizeof owners);
        for (; other < row; other++) {
            name_owners(stage, cw_stage_option(stage, other)->name, earlier, sizeof earlier);
            if (strcmp(earlier, owners) == 0) break;
        }
        if (other < row) continue;
        print_title(owners);
        print_group(stage, owners, print_row);
    }
}

static void print_markdown_title(const char *owners)
{
    if (owners[0]) printf("\n### train: %s\n", owners);
    printf("\n| option | default | allowed | what it does |\n|---|---|---|---|\n");
}

static void print_markdown_row(const cw_option_info *info)
{
    printf("| `%s` | ", info->name);
    printf(info->preset[0] ? "`%s`" : "not set%s", info->preset);
    printf(" | ");
    print_allowed(info);
    printf(" | ");
    print_markdown_text(info->help);
    printf(" |\n");
}

static void print_markdown(void)
{
    printf("# Options\n\n"
           "Written by `make docs` from the tables that check the values; do not edit.\n"
           "On the command line an option is `--name value`; in C it is\n"
           "`cw_options_set(ctx, options, \"name\", \"value\")`. Real numbers may be written as\n"
           "fractions, such as `1/60`.\n");
    for (size_t s = 0; cw_stage_name(s); s++) {
        printf("\n## %s\n", cw_stage_name(s));
        if (strcmp(cw_stage_name(s), "train") == 0)
            printf(
                "\nEvery training takes the options of the first table. The others belong to the\n"
                "methods, backbones and optimizers named above them; any other training refuses "
                "them.\n");
        print_groups(cw_stage_name(s), print_markdown_title, print_markdown_row);
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

static void print_man_title(const char *owners)
{
    if (!owners[0]) return;
    printf(".PP\nOnly for ");
    print_man_text(owners);
    printf(":\n");
}

static void print_man_row(const cw_option_info *info)
{
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

static bool print_man(FILE *template)
{
    char line[1024], stage[32];

    while (fgets(line, sizeof line, template)) {
        char *version = strstr(line, "@VERSION@");
        if (sscanf(line, "@OPTIONS %31[a-z]@", stage) == 1) {
            if (!cw_stage_option(stage, 0)) {
                fprintf(stderr, "gen-docs: there is no stage '%s'\n", stage);
                return false;
            }
            print_groups(stage, print_man_title, print_man_row);
            continue;
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
    } else if (argc == 2 && strcmp(argv[1], "http") == 0) {
        char *text = serve_markdown();
        good = text != NULL;
        if (text) fputs(text, stdout);
        free(text);
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
        fprintf(
            stderr,
            "usage: gen-docs options | gen-docs man TEMPLATE | gen-docs http | gen-docs metrics\n");
        return 2;
    }
    return good && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

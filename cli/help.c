/* help.c - help texts, made from the same tables that read the flags. */
#include <string.h>
#include <strings.h>

#include "cli.h"

enum { COLUMN = 26, WIDTH = 98 };

/* Print text from column COLUMN on, broken between words. */
static void print_wrapped(const char *text, int at)
{
    bool is_first = true;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (is_first) {
            at += printf("%.*s", word, text);
        } else if (at + 1 + word <= WIDTH) {
            at += printf(" %.*s", word, text);
        } else {
            printf("\n%*s%.*s", COLUMN, "", word, text);
            at = COLUMN + word;
        }
        is_first = false;
        text += word + (text[word] == ' ');
    }
    putchar('\n');
}

static void print_row(const char *name, const char *value, const char *help)
{
    int at = printf("  --%s%s%s", name, value ? " " : "", value ? value : "");
    if (at > COLUMN - 2) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", COLUMN - at, "");
    print_wrapped(help, COLUMN);
}

static void print_bounds(const cw_option_info *info, char *out, size_t bytes)
{
    bool is_number = info->kind == CW_OPTION_INTEGER || info->kind == CW_OPTION_REAL;
    out[0] = '\0';
    bool has_top = info->maximum < 1e15; /* beyond that it is no limit a person meets */
    if (is_number && has_top && (info->minimum_is_open || info->maximum_is_open))
        snprintf(out, bytes, "%s %.10g, %s %.10g", info->minimum_is_open ? "above" : "from",
                 info->minimum, info->maximum_is_open ? "below" : "at most", info->maximum);
    else if (is_number && has_top)
        snprintf(out, bytes, "%.10g to %.10g", info->minimum, info->maximum);
    else if (is_number && info->minimum > -1e15)
        snprintf(out, bytes, "%.10g or more", info->minimum);
}

/* "ubpr, rel-mf: " for an option of training that not all methods take. */
static void print_owners(const char *stage, const char *option, char *out, size_t bytes)
{
    const char *owner;
    out[0] = '\0';
    if (strcmp(stage, "train") != 0) return;
    for (size_t n = 0; (owner = cw_train_option_owner(option, n)) != NULL; n++) {
        size_t used = strlen(out);
        bool is_last = !cw_train_option_owner(option, n + 1);
        snprintf(out + used, bytes - used, "%s%s", owner, is_last ? ": " : ", ");
    }
}

static void print_option(const char *stage, const cw_option_info *info)
{
    static const char *const value[] = {"N", "X", "WORD", "TEXT", NULL};
    char owners[256], bounds[64], help[1280];

    print_owners(stage, info->name, owners, sizeof owners);
    print_bounds(info, bounds, sizeof bounds);
    snprintf(help, sizeof help, "%s%s%s%s%s%s%s%s%s", owners, info->help, info->choices ? " (" : "",
             info->choices ? info->choices : "", info->choices ? ")" : "", bounds[0] ? " (" : "",
             bounds, bounds[0] ? ")" : "",
             info->kind == CW_OPTION_FLAG || !info->preset[0] ? "" : " [");
    size_t used = strlen(help);
    if (info->kind != CW_OPTION_FLAG && info->preset[0])
        snprintf(help + used, sizeof help - used, "%s]", info->preset);
    print_row(info->name, value[info->kind], help);
}

static bool was_printed(const cli_command *command, size_t stage, const char *name)
{
    const cw_option_info *info;
    for (size_t s = 0; s < stage; s++)
        for (size_t row = 0; (info = cw_stage_option(command->stages[s], row)) != NULL; row++)
            if (strcmp(info->name, name) == 0) return true;
    return false;
}

static bool is_flag(const cli_flag *flags, const char *name)
{
    while (flags->name && strcmp(flags->name, name) != 0) flags++;
    return flags->name != NULL;
}

/* Common options, and those of the method and of the backbone. */
static bool is_wanted(const char *stage, const char *option, const cli_topic *topic)
{
    return strcmp(stage, "train") != 0 || cw_method_takes(topic->method, topic->backbone, option);
}

void cli_print_help(const cli_command *command, const cli_flag *flags, const cli_topic *topic)
{
    const cw_option_info *info;
    cli_call unused;
    cli_flag common[CLI_N_COMMON];

    printf("Usage: crosswise %s %s\n\n%s\n", command->name, command->usage, command->details);
    if (flags->name) printf("\nFlags:\n");
    for (const cli_flag *flag = flags; flag->name; flag++)
        print_row(flag->name, flag->value, flag->help);
    for (size_t s = 0; command->stages[s]; s++) {
        printf("\nOptions of %s (default in brackets):\n", command->stages[s]);
        for (size_t row = 0; (info = cw_stage_option(command->stages[s], row)) != NULL; row++)
            if (!was_printed(command, s, info->name) && !is_flag(flags, info->name) &&
                is_wanted(command->stages[s], info->name, topic))
                print_option(command->stages[s], info);
        if (strcmp(command->stages[s], "train") == 0 && !topic->method[0])
            printf(
                "\nMethods and backbones have more of their own: crosswise help %s --method dice,\n"
                "or --method cpr --backbone neumf; crosswise methods shows them all.\n",
                command->name);
    }
    printf("\nEverywhere:\n");
    cli_common_flags(&unused, common);
    for (const cli_flag *flag = common; flag->name; flag++)
        print_row(flag->name, flag->value, flag->help);
    print_row("help", NULL, "this text");
}

void cli_print_stage(const char *stage)
{
    const cw_option_info *info;
    for (size_t row = 0; (info = cw_stage_option(stage, row)) != NULL; row++)
        print_option(stage, info);
}

void cli_print_overview(FILE *out)
{
    fprintf(out, "crosswise - recommenders free of popularity bias\n\n"
                 "Usage: crosswise COMMAND ...\n\nCommands:\n");
    for (const cli_command *const *command = cli_commands; *command; command++)
        fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
    fprintf(out, "  %-10s %s\n\n", "help", "explain a command: crosswise help COMMAND");
    fprintf(out, "Start with: crosswise simulate --out sim && crosswise describe sim\n");
}

/* Number of single-letter changes between two words of at most 63 letters. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[64];
    size_t n = strlen(b);
    if (n > 63 || strlen(a) > 63) return 64;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t change = diagonal + (a[i] != b[j]);
            size_t shorter = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = change < shorter ? change : shorter;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *typed, const char *const *words, size_t n_words)
{
    const char *best = NULL;
    size_t least = strlen(typed) / 2 + 1;
    for (size_t w = 0; w < n_words; w++) {
        size_t distance = edit_distance(typed, words[w]);
        if (distance >= least) continue;
        least = distance;
        best = words[w];
    }
    return best;
}

/* cmd_recommend.c - crosswise recommend MODEL --user ID */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What to recommend for; exactly one is asked for. */
typedef struct wish {
    const char *user, *users, *history, *similar;
    bool all;
} wish;

/* Where lists go. */
typedef struct printer {
    const char *key, *item; /* names of the first columns */
    bool has_header;
} printer;

/* ---- lists for machines and people -------------------------------------------- */

/* The shortest decimal that reads back as the same float. */
static const char *print_score(float score, char out[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 32, "%.*g", digits, (double)score);
        if (strtof(out, NULL) == score) break;
    }
    return out;
}

/* An id within tab-separated columns: what would break them becomes \t, \n, \r, and \ is \\. */
static void print_id(const char *id)
{
    for (; *id; id++) {
        switch (*id) {
        case '\t': fputs("\\t", stdout); break;
        case '\n': fputs("\\n", stdout); break;
        case '\r': fputs("\\r", stdout); break;
        case '\\': fputs("\\\\", stdout); break;
        default: putchar(*id);
        }
    }
}

static void print_header(printer *p)
{
    if (!p->has_header) printf("%s\t%s\tscore\n", p->key, p->item);
    p->has_header = true;
}

static bool print_rows(void *user, const cw_recommendation *list)
{
    char score[32];
    cli_clear_line();
    print_header(user);
    for (size_t r = 0; r < list->count; r++) {
        print_id(list->user);
        putchar('\t');
        print_id(list->items[r]);
        printf("\t%s\n", print_score(list->scores[r], score));
    }
    return !ferror(stdout);
}

/* An id as JSON.  One that is not UTF-8 has its bytes above 127 written as \xNN. */
static json_t *id_json(const char *id)
{
    json_t *string = json_string(id);
    if (string) return string;
    char *plain = malloc(4 * strlen(id) + 1), *at = plain;
    for (; plain && *id; id++) {
        unsigned char byte = (unsigned char)*id;
        if (byte < 128)
            *at++ = *id;
        else
            at += snprintf(at, 5, "\\x%02x", byte);
    }
    if (plain) *at = '\0';
    string = plain ? json_string(plain) : NULL;
    free(plain);
    return string;
}

static bool print_json(void *user, const cw_recommendation *list)
{
    const printer *p = user;
    char score[32];
    json_t *items = json_array();
    for (size_t r = 0; r < list->count; r++)
        json_array_append_new(items, json_pack("{s:o, s:f}", "item", id_json(list->items[r]),
                                               "score", atof(print_score(list->scores[r], score))));
    json_t *root = json_pack("{s:o, s:o}", p->key, id_json(list->user), "items", items);
    cli_clear_line();
    bool good = json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    putchar('\n');
    json_decref(root);
    return good && !ferror(stdout);
}

/* ---- the command --------------------------------------------------------------- */

static cw_status serve(cli_call *call, const wish *w, const cli_lines *lines)
{
    cw_model *model = NULL;
    cw_recommendation_fn give = call->json ? print_json : print_rows;
    printer p = {.key = w->similar ? "item" : "user", .item = w->similar ? "similar" : "item"};
    const cw_options *options = call->options[0];

    cw_status status = cw_model_load(call->ctx, call->inputs[0], &model);
    if (status != CW_OK) return status;
    if (w->similar)
        status = cw_similar_items(call->ctx, model, w->similar, options, give, &p);
    else if (w->history)
        status =
            cw_recommend_history(call->ctx, model, lines->line, lines->count, options, give, &p);
    else
        status = cw_recommend(call->ctx, model, w->all ? NULL : lines->line, lines->count, options,
                              give, &p);
    cw_model_free(model);
    if (status == CW_OK && !call->json) print_header(&p);
    /* main says that standard output cannot be written to, and why */
    return status == CW_CANCELLED && ferror(stdout) ? CW_OK : status;
}

/* The ids that --user, --users or --history give. */
static int read_ids(const cli_call *call, const wish *w, cli_lines *lines)
{
    const char *path = w->users ? w->users : w->history;
    if (path) return cli_read_lines(path, lines);
    if (!w->user) return -1;
    lines->line = calloc(call->n_given, sizeof *lines->line);
    if (!lines->line) return CLI_FAILED;
    lines->count = cli_values(call, "user", lines->line);
    return -1;
}

static int run(const cli_command *command, int argc, char **argv)
{
    wish w = {0};
    const cli_flag flags[] = {
        {"user", "ID", &w.user, NULL, "a user; may be given several times"},
        {"users", "FILE", &w.users, NULL, "users, one id a line; - is standard input"},
        {"all", NULL, NULL, &w.all, "all users of the model"},
        {"history", "FILE", &w.history, NULL,
         "somebody new: the items liked, one id a line; - is standard input"},
        {"similar-items", "ID", &w.similar, NULL, "the items most alike to this one"},
        {0}};
    cli_call call;
    cli_lines lines = {0};

    int code = cli_begin(&call, command, argc, argv, flags);
    int wishes =
        (w.user != NULL) + (w.users != NULL) + w.all + (w.history != NULL) + (w.similar != NULL);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one model file, not %zu", call.n_inputs);
    if (code < 0 && wishes != 1)
        code =
            cli_misuse(command, "give one of --user, --users, --all, --history, --similar-items");
    if (code < 0) code = read_ids(&call, &w, &lines);
    cw_status status = code < 0 ? serve(&call, &w, &lines) : CW_OK;
    cli_free_lines(&lines);
    return cli_end(&call, code, status);
}

const cli_command cmd_recommend = {
    .name = "recommend",
    .summary = "list the best items for users",
    .usage = "MODEL --user ID [options]",
    .details =
        "Prints one line for each item of each list, best first: user, item and score, separated\n"
        "by tabs, after a line that names the columns; with --json one JSON object a list.  Ids "
        "are\n"
        "those of the raw files.\n"
        "\n"
        "  crosswise recommend ml.safetensors --user 17 --user 42 --k 20\n"
        "  crosswise recommend ml.safetensors --all --json > lists.jsonl\n"
        "  crosswise recommend ml.safetensors --history liked.txt\n"
        "  crosswise recommend ml.safetensors --similar-items 318",
    .stages = {"recommend"},
    .run = run,
};

/* cmd_recommend.c - crosswise recommend MODEL --user ID */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What to recommend for; exactly one is asked for. */
typedef struct wish {
    const char *user, *users, *history, *similar_items, *similar_users;
    bool all;
    bool skips_unknown;
    const char *to;
    bool force;
} wish;

/* Where lists go. */
typedef struct printer {
    const cw_model *model;
    const char *key, *item; /* names of the first columns */
    bool keys_are_items, lists_users;
    bool is_json, has_header;
} printer;

/* A list of the library with the raw id of whom it is for. */
typedef struct list {
    const char *key, *how; /* whom it is for, and where it comes from */
    const int32_t *items;
    const float *scores;
    int32_t count;
} list;

static const char *id_of(const cw_model *model, bool is_item, int32_t number)
{
    return is_item ? cw_model_item_id(model, number) : cw_model_user_id(model, number);
}

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
    if (!p->has_header) printf("%s\t%s\tscore\thow\n", p->key, p->item);
    p->has_header = true;
}

static void print_rows(printer *p, const list *l)
{
    char score[32];
    print_header(p);
    for (int32_t r = 0; r < l->count; r++) {
        print_id(l->key);
        putchar('\t');
        print_id(id_of(p->model, !p->lists_users, l->items[r]));
        printf("\t%s\t%s\n", print_score(l->scores[r], score), l->how);
    }
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

static void print_json(const printer *p, const list *l)
{
    const char *member = p->lists_users ? "user" : "item";
    char score[32];
    json_t *items = json_array();
    for (int32_t r = 0; r < l->count; r++)
        json_array_append_new(items,
                              json_pack("{s:o, s:f}", member,
                                        id_json(id_of(p->model, !p->lists_users, l->items[r])),
                                        "score", atof(print_score(l->scores[r], score))));
    json_t *root = json_pack("{s:o, s:s, s:o}", p->key, id_json(l->key), "how", l->how,
                             p->lists_users ? "users" : "items", items);
    (void)json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
}

/* ---- asking --------------------------------------------------------------------- */

/* All that is needed to fulfil a wish. */
typedef struct errand {
    cli_call *call;
    const wish *w;
    cw_model *model;
    cw_recommender *recommender;
    cw_rules *rules;
    int32_t *who; /* [n_who] whom or what lists are for, or the history */
    size_t n_who;
    printer p;
    cw_sink *sink; /* NULL: standard output */
    int64_t n_lists, n_rows;
} errand;

static cw_status ask(const errand *e, const int32_t *who, size_t n, const cw_lists *lists)
{
    cw_context *ctx = e->call->ctx;
    if (e->w->similar_items) return cw_similar_items(ctx, e->recommender, who, n, e->rules, lists);
    if (e->w->similar_users) return cw_similar_users(ctx, e->recommender, who, n, lists);
    if (e->w->history)
        return cw_recommend_history(ctx, e->recommender, who, e->n_who, e->rules, lists);
    return cw_recommend(ctx, e->recommender, who, n, e->rules, lists);
}

static const char *how(const errand *e, int32_t number)
{
    if (e->w->history) return cw_way_name(CW_WAY_FOLD_IN);
    return cw_way_name(e->w->similar_items ? cw_item_way(e->recommender, number)
                                           : cw_user_way(e->recommender, number));
}

/* A list that goes elsewhere than to standard output. */
static cw_status store(errand *e, const list *l)
{
    cw_status status = CW_OK;
    for (int32_t r = 0; r < l->count && status == CW_OK; r++) {
        const cw_sink_row row = {l->key, id_of(e->model, !e->p.lists_users, l->items[r]), r + 1,
                                 l->scores[r], l->how};
        status = cw_sink_put(e->call->ctx, e->sink, &row);
    }
    e->n_lists++;
    e->n_rows += l->count;
    return status;
}

static cw_status print_lists(errand *e, const int32_t *who, size_t n, const cw_lists *lists)
{
    printer *p = &e->p;
    cw_status status = CW_OK;
    if (!e->sink) cli_clear_line();
    for (size_t r = 0; r < n && !ferror(stdout) && status == CW_OK; r++) {
        size_t first = r * (size_t)lists->k;
        list l = {e->w->history ? "" : id_of(p->model, p->keys_are_items, who[r]), how(e, who[r]),
                  lists->items + first, lists->scores + first, lists->counts[r]};
        if (e->sink)
            status = store(e, &l);
        else if (p->is_json)
            print_json(p, &l);
        else
            print_rows(p, &l);
    }
    return status;
}

/* Ask for as many lists at a time as there is room for. */
static cw_status ask_for_all(errand *e, size_t capacity, const cw_lists *lists)
{
    size_t n = e->w->history ? 1 : e->n_who; /* a history is one list */
    cw_status status = CW_OK;
    for (size_t first = 0; first < n && status == CW_OK && !ferror(stdout); first += capacity) {
        const int32_t *who = e->who + first;
        size_t some = n - first < capacity ? n - first : capacity;
        cli_show_part(e->call, (int64_t)first, (int64_t)n);
        status = ask(e, who, some, lists);
        if (status == CW_OK) status = print_lists(e, who, some, lists);
    }
    if (status == CW_OK && !e->p.is_json && !e->sink) print_header(&e->p);
    return status; /* main says that standard output cannot be written to, and why */
}

/* Memory does not grow with the number of users. */
static cw_status make_lists(errand *e)
{
    enum { LISTS = 4096, PLACES = 1 << 22 };
    cw_status status = CW_NO_MEMORY;
    int32_t most = e->w->similar_users ? cw_model_users(e->model) : cw_model_items(e->model);
    long k = strtol(cw_options_get(e->call->options[0], "k"), NULL, 10);
    if (k > most) k = most;
    size_t capacity = PLACES / (size_t)k < LISTS ? PLACES / (size_t)k : LISTS;
    if (capacity > e->n_who) capacity = e->n_who;
    if (capacity < 1) capacity = 1;
    cw_lists lists = {.k = (int32_t)k,
                      .items = calloc(capacity * (size_t)k, sizeof *lists.items),
                      .scores = calloc(capacity * (size_t)k, sizeof *lists.scores),
                      .counts = calloc(capacity, sizeof *lists.counts)};
    if (lists.items && lists.scores && lists.counts) status = ask_for_all(e, capacity, &lists);
    free(lists.items);
    free(lists.scores);
    free(lists.counts);
    return status;
}

/* ---- ids ------------------------------------------------------------------------ */

/* Says that an id is not in the model; the exit code. */
static int refuse(bool is_item, const char *id)
{
    enum { SHOWN = 40 };
    char line[CLI_LINE_BYTES];
    fprintf(stderr, "crosswise: there is no %s '%.*s%s' in the model\n", is_item ? "item" : "user",
            SHOWN, cli_one_line(id, line), strlen(id) > SHOWN ? "..." : "");
    return CLI_USAGE;
}

/* The number of an id, that of a guest where guests have lists. */
static int32_t find_id(const errand *e, bool is_item, const char *id)
{
    int32_t found = is_item ? cw_model_find_item(e->model, id) : cw_model_find_user(e->model, id);
    if (found >= 0 || e->w->history || e->w->similar_users) return found;
    return is_item ? cw_model_find_guest_item(e->model, id)
                   : cw_model_find_guest_user(e->model, id);
}

/* Find the ids that were given.  Returns -1 to go on, or an exit code after an error was printed.
 */
static int find_ids(errand *e, const cli_lines *lines)
{
    bool is_item = e->w->history || e->w->similar_items;
    for (size_t k = 0; k < lines->count; k++) {
        const char *id = lines->line[k];
        int32_t found = find_id(e, is_item, id);
        if (found < 0 && !e->w->skips_unknown) return refuse(is_item, id);
        if (found >= 0) e->who[e->n_who++] = found;
    }
    cli_clear_line();
    if (e->n_who < lines->count)
        fprintf(stderr,
                "crosswise: warning: %zu of %zu %ss are not in the model and were left out\n",
                lines->count - e->n_who, lines->count, is_item ? "item" : "user");
    if (!e->w->history || e->n_who > 0) return -1;
    fputs("crosswise: the history has no item that the model knows\n", stderr);
    return CLI_USAGE;
}

static int number_ids(errand *e, const cli_lines *lines)
{
    size_t all = (size_t)cw_model_users(e->model) + (size_t)cw_model_guest_users(e->model);
    size_t n = e->w->all ? all : lines->count;
    e->who = calloc(n + 1, sizeof *e->who);
    if (!e->who) return cli_lack_memory();
    if (!e->w->all) return find_ids(e, lines);
    for (; e->n_who < n; e->n_who++) e->who[e->n_who] = (int32_t)e->n_who;
    return -1;
}

/* The ids that --user, --users and the like give. */
static int read_ids(const cli_call *call, const wish *w, cli_lines *lines)
{
    const char *path = w->users ? w->users : w->history;
    const char *flag = w->user ? "user" : w->similar_items ? "similar-items" : "similar-users";
    if (path) return cli_read_lines(path, lines);
    if (w->all) return -1;
    lines->line = calloc(call->n_given, sizeof *lines->line);
    if (!lines->line) return cli_lack_memory();
    lines->count = cli_values(call, flag, lines->line);
    return -1;
}

/* ---- elsewhere ------------------------------------------------------------------ */

/* Lists into a file or a table: all of them, or nothing changes. */
static cw_status send_lists(errand *e)
{
    cw_context *ctx = e->call->ctx;
    char rows[32], lists[32], name[CLI_LINE_BYTES];

    cw_status status = cw_sink_open(ctx, e->w->to, e->p.key, e->p.item, e->w->force, &e->sink);
    if (status != CW_OK) return status;
    snprintf(name, sizeof name, "%s", cw_sink_name(e->sink));
    status = cw_sink_close(ctx, e->sink, make_lists(e));
    if (status != CW_OK) return status;
    cli_clear_line();
    if (e->call->json)
        cli_print_done(json_pack("{s:o, s:I, s:I}", "to", id_json(name), "lists",
                                 (json_int_t)e->n_lists, "rows", (json_int_t)e->n_rows));
    else if (!e->call->quiet)
        printf("%s rows of %s lists are in %s\n", cli_thousands((json_int_t)e->n_rows, rows),
               cli_thousands((json_int_t)e->n_lists, lists), name);
    return CW_OK;
}

/* Would it replace what is read? */
static cw_status check_place(cli_call *call, const wish *w)
{
    const char *exclude = cw_options_get(call->options[0], "exclude");
    bool is_file = strcmp(exclude, "seen") != 0 && strcmp(exclude, "none") != 0;
    const char *const others[] = {w->users, w->history, is_file ? exclude : NULL};
    return w->to ? cli_compare_files(call, &w->to, 1, others, 3) : CW_OK;
}

/* ---- the command --------------------------------------------------------------- */

static cw_status serve(cli_call *call, const wish *w, const cli_lines *lines, int *code)
{
    errand e = {.call = call, .w = w};
    cw_status status = check_place(call, w);
    if (status == CW_OK) status = cw_model_load(call->ctx, call->inputs[0], &e.model);
    e.p = (printer){.model = e.model,
                    .key = w->similar_items ? "item" : "user",
                    .item = w->similar_items || w->similar_users ? "similar" : "item",
                    .keys_are_items = w->similar_items != NULL,
                    .lists_users = w->similar_users != NULL,
                    .is_json = call->json};
    if (status == CW_OK) *code = number_ids(&e, lines);
    if (status == CW_OK && *code < 0) {
        status = cw_rules_create(call->ctx, e.model, call->options[0], &e.rules);
        if (status == CW_OK && w->similar_items) /* a model's own dial is for scores, not cosines */
            e.rules->dial = strtod(cw_options_get(call->options[0], "popularity"), NULL);
        if (status == CW_OK) status = cw_recommender_open(call->ctx, e.model, &e.recommender);
        if (status == CW_OK) status = w->to ? send_lists(&e) : make_lists(&e);
    }
    cw_recommender_close(e.recommender);
    cw_rules_free(e.rules);
    cw_model_free(e.model);
    free(e.who);
    return status;
}

static int run(const cli_command *command, int argc, char **argv)
{
    wish w = {0};
    const cli_flag flags[] = {
        {"user", "ID", &w.user, NULL, "a user; may be given several times"},
        {"users", "FILE", &w.users, NULL, "users, one id a line; - is standard input"},
        {"all", NULL, NULL, &w.all,
         "all users of the model, and those whom the core filter had dropped"},
        {"history", "FILE", &w.history, NULL,
         "somebody new: the items liked, one id a line; - is standard input"},
        {"similar-items", "ID", &w.similar_items, NULL,
         "the items most alike to this one; may be given several times"},
        {"similar-users", "ID", &w.similar_users, NULL,
         "the users most alike to this one; may be given several times"},
        {"to", "PLACE", &w.to, NULL,
         "write the lists into a table, sqlite:FILE?table=NAME or postgresql://..?table=NAME, or a "
         "file .jsonl or .csv, all of them or none"},
        {"force", NULL, NULL, &w.force, "replace the rows of a table, or a file, that is there"},
        {"skip-unknown", NULL, NULL, &w.skips_unknown,
         "leave out ids that the model does not know, with a warning, in place of failing"},
        {0}};
    cli_call call;
    cli_lines lines = {0};

    int code = cli_begin(&call, command, argc, argv, flags);
    int wishes = (w.user != NULL) + (w.users != NULL) + w.all + (w.history != NULL) +
                 (w.similar_items != NULL) + (w.similar_users != NULL);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one model file, not %zu", call.n_inputs);
    if (code < 0 && w.force && !w.to)
        code = cli_misuse(command, "--force has no meaning without --to");
    if (code < 0 && wishes != 1)
        code = cli_misuse(command, "give one of --user, --users, --all, --history, "
                                   "--similar-items, --similar-users");
    if (code < 0) code = read_ids(&call, &w, &lines);
    cw_status status = code < 0 ? serve(&call, &w, &lines, &code) : CW_OK;
    cli_free_lines(&lines);
    return cli_end(&call, code, status);
}

const cli_command cmd_recommend = {
    .name = "recommend",
    .summary = "list the best items for users",
    .usage = "MODEL --user ID [options]",
    .details =
        "Prints one line for each item of each list, best first: user, item, score and how the "
        "list\n"
        "was made (trained, fold-in, popularity), separated by tabs, after a line that names the\n"
        "columns; with --json one JSON object a list.  Ids are those of the raw files.  Users and\n"
        "items of the log that the core filter had dropped have lists from what they had, or of "
        "what\n"
        "is popular.\n"
        "\n"
        "  crosswise recommend ml.safetensors --user 17 --user 42 --k 20\n"
        "  crosswise recommend ml.safetensors --all --json > lists.jsonl\n"
        "  crosswise recommend ml.safetensors --all --to 'sqlite:shop.db?table=lists' --force\n"
        "  crosswise recommend ml.safetensors --history liked.txt\n"
        "  crosswise recommend ml.safetensors --similar-items 318\n"
        "  crosswise recommend ml.safetensors --similar-users 17",
    .stages = {"recommend"},
    .run = run,
};

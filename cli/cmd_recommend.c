/* cmd_recommend.c - crosswise recommend MODEL --user ID */
#include <stdlib.h>
#include <string.h>

#include "listing.h"
#include "serve.h"

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

static void warn_unknown(size_t n, size_t all, const char *what)
{
    cli_clear_line();
    if (n > 0)
        fprintf(stderr,
                "crosswise: warning: %zu of %zu %s are not in the model and were left out\n", n,
                all, what);
}

/* The number of a user, that of a guest where guests have lists. */
static int32_t find_user(const errand *e, const char *id)
{
    int32_t found = cw_model_find_user(e->model, id);
    return found >= 0 || e->w->similar_users ? found : cw_model_find_guest_user(e->model, id);
}

static int32_t find_item(const errand *e, const char *id)
{
    int32_t found = cw_model_find_item(e->model, id);
    return found >= 0 ? found : cw_model_find_guest_item(e->model, id);
}

/* Find the ids that were given.  Returns -1 to go on, or an exit code after an error was printed.
 */
static int find_ids(errand *e, const cli_lines *lines)
{
    bool is_item = e->w->similar_items;
    for (size_t k = 0; k < lines->count; k++) {
        const char *id = lines->line[k];
        int32_t found = is_item ? find_item(e, id) : find_user(e, id);
        if (found < 0 && !e->w->skips_unknown && !e->w->falls_back) return refuse(is_item, id);
        if (found < 0 && !e->w->falls_back) continue;
        e->key[e->n_who] = id;
        e->who[e->n_who++] = found;
    }
    warn_unknown(lines->count - e->n_who, lines->count, is_item ? "items" : "users");
    return -1;
}

/* Add an item of the newcomer that is being read. */
static int like(errand *e, const char *id, size_t *n_unknown)
{
    int32_t found = cw_model_find_item(e->model, id);
    if (found < 0 && !e->w->skips_unknown && !e->w->falls_back) return refuse(true, id);
    *n_unknown += found < 0;
    if (found < 0) return -1;
    newcomer *now = &e->newcomers[e->n_who - 1];
    for (size_t k = now->first; k < e->n_liked; k++)
        if (e->liked[k] == found) return -1; /* once is enough */
    e->liked[e->n_liked++] = found;
    now->n++;
    return -1;
}

static int refuse_empty(const char *key)
{
    char line[CLI_LINE_BYTES];
    if (key[0])
        fprintf(stderr, "crosswise: the history of '%s' has no item that the model knows\n",
                cli_one_line(key, line));
    else
        fputs("crosswise: the history has no item that the model knows\n", stderr);
    return CLI_USAGE;
}

/* The next column of a line that ends in tabs, which are cut out; NULL after the last. */
static char *next_column(char **at)
{
    char *column = *at, *tab = column ? strchr(column, '\t') : NULL;
    if (tab) *tab = '\0';
    *at = tab ? tab + 1 : NULL;
    return column;
}

static int read_newcomer(errand *e, char *line, size_t *n_all, size_t *n_unknown)
{
    const char *key = next_column(&line), *id;
    e->newcomers[e->n_who++] = (newcomer){key, e->n_liked, 0};
    int code = -1;
    while (code < 0 && (id = next_column(&line))) {
        if (!id[0]) continue;
        ++*n_all;
        code = like(e, id, n_unknown);
    }
    if (code >= 0 || e->newcomers[e->n_who - 1].n > 0 || e->w->falls_back) return code;
    return refuse_empty(key);
}

/* One newcomer with an item a line, or one a line with all their items. */
static int find_histories(errand *e, const cli_lines *lines)
{
    int code = -1;
    size_t all = 0, unknown = 0, room = 0;
    for (size_t k = 0; k < lines->count; k++)
        for (const char *c = lines->line[k]; c; c = strchr(c + 1, '\t')) room++;
    e->newcomers = calloc(lines->count + 1, sizeof *e->newcomers);
    e->liked = calloc(room + 1, sizeof *e->liked);
    if (!e->newcomers || !e->liked) return cli_lack_memory();
    if (e->w->history) {
        e->newcomers[e->n_who++] = (newcomer){.key = ""};
        for (all = 0; all < lines->count && code < 0; all++)
            code = like(e, lines->line[all], &unknown);
        if (code < 0) warn_unknown(unknown, all, "items");
        if (code < 0 && e->n_liked == 0 && !e->w->falls_back) code = refuse_empty("");
        return code;
    }
    for (size_t k = 0; k < lines->count && code < 0; k++)
        code = read_newcomer(e, (char *)lines->line[k], &all, &unknown);
    if (code < 0) warn_unknown(unknown, all, "items");
    return code;
}

static int number_ids(errand *e, const cli_lines *lines)
{
    size_t all = (size_t)cw_model_users(e->model) + (size_t)cw_model_guest_users(e->model);
    size_t n = e->w->all ? all : lines->count;
    if (is_newcomer(e)) return find_histories(e, lines);
    e->who = calloc(n + 1, sizeof *e->who);
    e->key = e->w->all ? NULL : calloc(n + 1, sizeof *e->key);
    if (!e->who || (!e->key && !e->w->all)) return cli_lack_memory();
    if (!e->w->all) return find_ids(e, lines);
    for (; e->n_who < n; e->n_who++) e->who[e->n_who] = (int32_t)e->n_who;
    return -1;
}

static int compare_pairs(const void *a, const void *b)
{
    const pair *first = a, *second = b;
    return first->user < second->user ? -1 : first->user > second->user;
}

/* Lines of a user, a tab and an item; what the model does not know cannot turn up. */
static int number_pairs(errand *e, const cli_lines *lines)
{
    e->pairs = calloc(lines->count + 1, sizeof *e->pairs);
    if (!e->pairs) return cli_lack_memory();
    for (size_t k = 0; k < lines->count; k++) {
        char *rest = (char *)lines->line[k], *user = next_column(&rest);
        if (!rest) {
            char line[CLI_LINE_BYTES];
            fprintf(stderr, "crosswise: %s: '%.40s' has no tab between user and item\n",
                    e->w->exclude_pairs, cli_one_line(user, line));
            return CLI_FAILED;
        }
        pair p = {find_user(e, user), cw_model_find_item(e->model, rest)};
        if (p.user >= 0 && p.item >= 0) e->pairs[e->n_pairs++] = p;
    }
    warn_unknown(lines->count - e->n_pairs, lines->count, "pairs to exclude");
    qsort(e->pairs, e->n_pairs, sizeof *e->pairs, compare_pairs);
    return -1;
}

/* Room for what all exclude and one user more. */
static cw_status join_exclusions(errand *e)
{
    if (e->n_pairs == 0) return CW_OK;
    e->excluded = calloc(e->rules->n_exclude + e->n_pairs, sizeof *e->excluded);
    if (!e->excluded) return CW_NO_MEMORY;
    if (e->rules->n_exclude > 0)
        memcpy(e->excluded, e->rules->exclude, e->rules->n_exclude * sizeof *e->excluded);
    return CW_OK;
}

/* The ids that --user, --users and the like give. */
static int read_ids(const cli_call *call, const wish *w, cli_lines *lines)
{
    const char *path = w->users ? w->users : w->history ? w->history : w->histories;
    const char *flag = w->user ? "user" : w->similar_items ? "similar-items" : "similar-users";
    if (path) return cli_read_lines(call, path, lines);
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
        cli_print_done(json_pack("{s:o, s:I, s:I}", "to", serve_id_json(name), "lists",
                                 (json_int_t)e->n_lists, "rows", (json_int_t)e->n_rows));
    else if (!e->call->quiet)
        printf("%s rows of %s lists are in %s\n", cli_thousands((json_int_t)e->n_rows, rows),
               cli_thousands((json_int_t)e->n_lists, lists), name);
    return CW_OK;
}

/* Those on other machines may have read other files. */
static cw_status compare_processes(const errand *e)
{
    const cw_rules *rules = e->rules;
    const char *checksum = cw_model_checksum(e->model);
    const struct {
        const char *what;
        const void *bytes;
        size_t n;
    } parts[] = {{"the model is another", checksum, strlen(checksum)},
                 {"the lists asked for are others", e->who, e->n_who * sizeof *e->who},
                 {"the histories are others", e->liked, e->n_liked * sizeof *e->liked},
                 {"--exclude has others", rules->exclude, rules->n_exclude * sizeof(int32_t)},
                 {"--only has others", rules->only, rules->n_only * sizeof(int32_t)},
                 {"--boost has others", rules->boosted, rules->n_boosted * sizeof(int32_t)},
                 {"--boost adds others", rules->boosts, rules->n_boosted * sizeof(float)},
                 {"--exclude-pairs has others", e->pairs, e->n_pairs * sizeof *e->pairs}};
    cw_status status = CW_OK;
    for (size_t k = 0; k < sizeof parts / sizeof parts[0] && status == CW_OK; k++)
        if (e->call->processes > 1)
            status = cw_processes_compare(e->call->ctx, parts[k].what,
                                          parts[k].bytes ? parts[k].bytes : "", parts[k].n);
    return status;
}

/* Would it replace what is read? */
static cw_status check_place(cli_call *call, const wish *w)
{
    const cw_options *options = call->options[0];
    const char *exclude = cw_options_get(options, "exclude");
    bool is_file = strcmp(exclude, "seen") != 0 && strcmp(exclude, "none") != 0;
    const char *const others[] = {w->users,
                                  w->history,
                                  w->histories,
                                  w->exclude_pairs,
                                  is_file ? exclude : NULL,
                                  cw_options_get(options, "only"),
                                  cw_options_get(options, "boost")};
    return w->to ? cli_compare_files(call, &w->to, 1, others, sizeof others / sizeof others[0])
                 : CW_OK;
}

/* ---- the command --------------------------------------------------------------- */

static void clear_errand(errand *e)
{
    cw_recommender_close(e->recommender);
    cw_rules_free(e->rules);
    cw_model_free(e->model);
    free(e->who);
    free((void *)e->key);
    free(e->newcomers);
    free(e->liked);
    free(e->pairs);
    free(e->excluded);
}

/* Are lists of users of the model wanted, and not of one or two alone? */
static bool ranks_many(const errand *e)
{
    bool is_given = cw_options_is_given(e->call->options[0], "device");
    return e->w->all || e->w->users || (is_given && e->w->user);
}

/* What a GPU does not know of is told where one was asked for. */
static cw_status use_device(const errand *e)
{
    const cw_options *options = e->call->options[0];
    const char *device = cw_options_get(options, "device");
    const cw_rules *r = e->rules;
    long k = strtol(cw_options_get(options, "k"), NULL, 10);
    bool is_foreign =
        k > 256 || r->n_boosted > 0 || r->only || r->n_exclude > 0 || r->diversity > 0;
    if (strcmp(device, "mpi") == 0) return CW_OK;
    if (is_foreign && strncmp(device, "cuda", 4) == 0) {
        cli_clear_line();
        fputs("crosswise: warning: lists of more than 256 items, or with --boost, --diversity, "
              "--only or --exclude FILE, are made by the CPU\n",
              stderr);
    }
    if (is_foreign && strcmp(device, "auto") == 0) device = "cpu";
    return cw_recommender_use(e->call->ctx, e->recommender, device);
}

static cw_status serve(cli_call *call, const wish *w, const cli_lines *lines,
                       const cli_lines *pairs, int *code)
{
    errand e = {.call = call, .w = w};
    cw_status status = call->rank == 0 ? check_place(call, w) : CW_OK;
    if (status == CW_OK) status = cw_model_load(call->ctx, call->inputs[0], &e.model);
    if (w->explain) e.most_reasons = (size_t)strtol(w->explain, NULL, 10);
    e.p = (printer){.model = e.model,
                    .key = w->similar_items ? "item" : "user",
                    .item = w->similar_items || w->similar_users ? "similar" : "item",
                    .lists_users = w->similar_users != NULL,
                    .has_reasons = e.most_reasons > 0,
                    .is_json = call->json};
    if (status == CW_OK) *code = number_ids(&e, lines);
    if (status == CW_OK && *code < 0) *code = number_pairs(&e, pairs);
    if (status == CW_OK && *code < 0) {
        status = cw_rules_create(call->ctx, e.model, call->options[0], &e.rules);
        if (status == CW_OK) status = join_exclusions(&e);
        if (status == CW_OK && w->similar_items) /* a model's own dial is for scores, not cosines */
            e.rules->dial = strtod(cw_options_get(call->options[0], "popularity"), NULL);
        if (status == CW_OK) status = compare_processes(&e);
        if (status == CW_OK) status = cw_recommender_open(call->ctx, e.model, &e.recommender);
        if (status == CW_OK && ranks_many(&e)) status = use_device(&e);
        if (status == CW_OK) status = w->to && call->rank == 0 ? send_lists(&e) : make_lists(&e);
    }
    clear_errand(&e);
    return status;
}

/* What goes with which wish. */
static int check_wish(const cli_command *command, const wish *w)
{
    int wishes = (w->user != NULL) + (w->users != NULL) + w->all + (w->history != NULL) +
                 (w->histories != NULL) + (w->similar_items != NULL) + (w->similar_users != NULL);
    bool alike = w->similar_items || w->similar_users;
    if (wishes != 1)
        return cli_misuse(command, "give one of --user, --users, --all, --history, --histories, "
                                   "--similar-items, --similar-users");
    if (alike && (w->falls_back || w->exclude_pairs || w->explain))
        return cli_misuse(command, "--fallback, --exclude-pairs and --explain are for lists of "
                                   "users and histories, not for what is similar");
    if ((w->history || w->histories) && w->exclude_pairs)
        return cli_misuse(command, "--exclude-pairs is for users of the model, not for histories");
    if (w->falls_back && w->skips_unknown)
        return cli_misuse(command, "give one of --fallback and --skip-unknown");
    if (w->force && !w->to) return cli_misuse(command, "--force has no meaning without --to");
    if (w->to && w->explain)
        return cli_misuse(command, "--to has no column for reasons: leave --explain or --to out");
    char *end = NULL;
    long reasons = w->explain ? strtol(w->explain, &end, 10) : 1;
    if (end && (*end || end == w->explain || reasons < 1 || reasons > 100))
        return cli_misuse(command, "--explain is '%.40s'; it must be a whole number from 1 to 100",
                          w->explain);
    return -1;
}

/* A GPU that is asked for by name has to be of use. */
static int check_device(const cli_call *call, const wish *w)
{
    const char *device = cw_options_get(call->options[0], "device");
    if (strncmp(device, "cuda", 4) != 0 || w->user || w->users || w->all) return -1;
    return cli_misuse(call->command,
                      "--device is '%.40s', which is for lists of users of the model", device);
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
        {"histories", "FILE", &w.histories, NULL,
         "many who are new, one a line: a name, then the items liked, all separated by tabs"},
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
        {"fallback", NULL, NULL, &w.falls_back,
         "for users that the model does not know, and histories without an item of the model, list "
         "what is most popular, marked popularity, in place of failing"},
        {"exclude-pairs", "FILE", &w.exclude_pairs, NULL,
         "what single users shall not get: user, tab, item on each line"},
        {"explain", "N", &w.explain, NULL,
         "say for each place which N items of the user add most to it, and how much"},
        {0}};
    cli_call call;
    cli_lines lines = {0}, pairs = {0};

    int code = cli_begin(&call, command, argc, argv, flags);
    if (code < 0 && call.n_inputs != 1)
        code = cli_misuse(command, "it takes one model file, not %zu", call.n_inputs);
    if (code < 0) code = check_wish(command, &w);
    if (code < 0) code = check_device(&call, &w);
    if (code < 0) code = read_ids(&call, &w, &lines);
    if (code < 0 && w.exclude_pairs) code = cli_read_lines(&call, w.exclude_pairs, &pairs);
    cw_status status = code < 0 ? serve(&call, &w, &lines, &pairs, &code) : CW_OK;
    cli_free_lines(&pairs);
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
        "is popular.  --explain is exact for ease and itemknn; elsewhere it says what adds to the\n"
        "score that somebody new with the same items would have.\n"
        "\n"
        "  crosswise recommend ml.safetensors --user 17 --user 42 --k 20\n"
        "  crosswise recommend ml.safetensors --all --json > lists.jsonl\n"
        "  crosswise recommend ml.safetensors --all --to 'sqlite:shop.db?table=lists' --force\n"
        "  crosswise recommend ml.safetensors --history liked.txt --explain 3\n"
        "  crosswise recommend ml.safetensors --users ids.txt --only in-stock.txt --fallback\n"
        "  crosswise recommend ml.safetensors --similar-items 318\n"
        "  crosswise recommend ml.safetensors --similar-users 17\n"
        "  mpirun -n 4 crosswise recommend ml.safetensors --all --device mpi --to lists.csv",
    .stages = {"recommend"},
    .run = run,
};

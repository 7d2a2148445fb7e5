/* lab.c - a command that is set up to be disturbed, and the counting of cases. */
#include "lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "judge.h"

enum { MAX_WORDS = 48, TIMEOUT_S = 60 };

/* ---- running commands ------------------------------------------------------ */

typedef struct line {
    char text[1024];
    const char *words[MAX_WORDS];
} line;

static const char *const *split(const lab *l, const char *words, line *out)
{
    size_t n = 0;
    char *place = NULL;
    snprintf(out->text, sizeof out->text, "%s", words);
    out->words[n++] = l->crosswise;
    for (char *word = strtok_r(out->text, " ", &place); word && n < MAX_WORDS - 1;
         word = strtok_r(NULL, " ", &place))
        out->words[n++] = word;
    out->words[n] = NULL;
    return out->words;
}

outcome run_words(const lab *l, const char *words, order o)
{
    line parts;
    o.root = l->root;
    o.argv = split(l, words, &parts);
    o.seconds = TIMEOUT_S;
    o.page.has_plugins = l->s && (l->s->c->has_plugins || l->s->c->is_many);
    outcome r = trace_run(&o);
    if (l->only_case) /* somebody wants to know */
        printf("crosswise %s\nexit code %d, signal %d\n%s%s", words, r.code, r.signal, r.out,
               r.err);
    return r;
}

void run_quietly(const lab *l, const char *words)
{
    outcome r = run_words(l, words, (order){0});
    if (r.code != 0) die("'%s' fails by itself: %s", words, r.err);
    outcome_free(&r);
}

/* ---- setting up ------------------------------------------------------------ */

void make_world(lab *l)
{
    char *log = make_log();
    tree t = {0};
    tree_add(&t, "log.csv", S_IFREG, log, strlen(log));
    tree_add(&t, "home", S_IFDIR, "", 0);
    tree_add(&t, "page", S_IFDIR, "", 0);
    tree_add(&t, "pipe", S_IFIFO, "", 0);
    for (const world_file *f = world_files; f->path; f++)
        tree_add(&t, f->path, S_IFREG, f->text, strlen(f->text));
    tree_sort(&t);
    tree_write(&t, l->root);
    for (const char *const *words = world_commands; *words; words++) run_quietly(l, *words);
    l->world = tree_read(l->root);
    tree_free(&t);
    free(log);
}

/* Is the path one of the listed ones, or below one? */
static bool is_listed(const char *list, const char *path)
{
    for (const char *at = list; at && *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (strncmp(path, at, length) == 0 && (path[length] == '\0' || path[length] == '/'))
            return true;
        at += length;
    }
    return false;
}

tree part_of_world(const lab *l, const char *uses)
{
    tree t = {0};
    for (size_t k = 0; k < l->world.count; k++) {
        const entry *e = &l->world.list[k];
        if (is_listed(uses, e->path)) tree_add(&t, e->path, e->type, e->bytes, e->length);
    }
    tree_sort(&t);
    return t;
}

const char *or_else(const char *words, const char *otherwise)
{
    return words ? words : otherwise;
}

void set_up(lab *l, subject *s, const command *c)
{
    *s = (subject){.c = c};
    l->s = s;
    tree t = part_of_world(l, c->uses);
    tree_write(&t, l->root);
    tree_free(&t);
    if (c->before) run_quietly(l, c->before);
    s->start = tree_read(l->root);
    run_quietly(l, or_else(c->rival, c->words));
    s->rival_end = tree_read(l->root);
    tree_write(&s->start, l->root);
    s->usual = run_words(l, c->words, (order){.is_watched = true});
    if (s->usual.code != 0) die("'%s' fails by itself: %s", c->words, s->usual.err);
    s->end = tree_read(l->root);
    tree_write(&s->start, l->root);
}

void tear_down(subject *s)
{
    tree_free(&s->start);
    tree_free(&s->end);
    tree_free(&s->rival_end);
    outcome_free(&s->usual);
}

/* ---- cases ----------------------------------------------------------------- */

bool is_mine(lab *l, long number, long total, long some)
{
    if (l->only_case) return number == l->only_case && l->me == 0;
    long most = l->s->c->most ? l->s->c->most : total;
    if (l->is_quick) most = l->s->c->most ? some / 4 : some;
    bool is_chosen = total <= most || number * most / total != (number - 1) * most / total;
    return is_chosen && l->n_mine++ % l->jobs == l->me;
}

void note(lab *l, long number, const char *format, ...)
{
    char what[PLACE_BYTES + 128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    atomic_fetch_add(&l->counts->tried, 1);
    if (verdict[0]) {
        atomic_fetch_add(&l->counts->failed, 1);
        verdict[strcspn(verdict, "\n")] = '\0';
        if (l->only_case || l->n_shown++ < l->show)
            printf("failed: %s %s %ld: %s: %s\n", l->area, l->s->c->name, number, what, verdict);
    }
    fflush(stdout);
    verdict[0] = '\0';
    tree_write(&l->s->start, l->root);
}

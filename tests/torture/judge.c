/* judge.c - what must hold after a command was disturbed. */
#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char verdict[1024];

bool fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!verdict[0]) vsnprintf(verdict, sizeof verdict, format, args);
    va_end(args);
    return false;
}

bool is_unfinished(const char *path)
{
    return strstr(path, ".partial") != NULL;
}

bool is_state(const char *path)
{
    return strstr(path, ".checkpoint") != NULL || strcmp(path, "state") == 0 ||
           strncmp(path, "state.", 6) == 0;
}

/* Is it a part of a checkpoint, as in state.4-0.1-of-2, that is not one of those which the
 * checkpoint names by their checksums? */
static bool is_orphan(const tree *now, const entry *e)
{
    static const char start[] = "{\"__metadata__\":{\"checksum\":\"";
    enum { PREFIX = 8, DIGITS = 32, AT = PREFIX + sizeof start - 1 };
    char name[256];
    snprintf(name, sizeof name, "%s", e->path);
    for (int point = 0; point < 2; point++) {
        char *end = strrchr(name, '.');
        if (!end) return false;
        *end = '\0';
    }
    if (!strstr(e->path, "-of-") || e->length < AT + DIGITS) return false;
    const entry *whole = tree_find(now, name);
    return !whole || !memmem(whole->bytes, whole->length, e->bytes + AT, DIGITS);
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* Is all that `a` has in the folder the same in `b`? */
static bool is_part_in(const tree *a, const tree *b, const char *folder)
{
    for (size_t k = 0; k < a->count; k++) {
        const entry *e = &a->list[k];
        if (is_below(e->path, folder) && !entry_equal(e, tree_find(b, e->path))) return false;
    }
    return true;
}

static bool has_same_part(const tree *a, const tree *b, const char *folder)
{
    return is_part_in(a, b, folder) && is_part_in(b, a, folder);
}

/* The old record goes before the new model comes. */
static bool is_record(const subject *s, const char *path)
{
    char record[64];
    snprintf(record, sizeof record, "%s.run.json", s->c->pair ? s->c->pair : "");
    return strcmp(record, path) == 0;
}

/* Every place holds the old or the new. */
static bool check_places(const subject *s, const tree *now, bool may_be_unfinished)
{
    for (size_t k = 0; k < now->count; k++) {
        const entry *e = &now->list[k], *old = tree_find(&s->start, e->path);
        const entry *new = tree_find(&s->end, e->path);
        if (!may_be_unfinished && is_orphan(now, e))
            return fail("%s is left behind, a part of nothing", e->path);
        if (is_state(e->path) || entry_equal(e, old) || entry_equal(e, new)) continue;
        if (is_unfinished(e->path) && may_be_unfinished) continue;
        return fail(old || new ? "%s is neither the old nor the new" : "%s is left behind",
                    e->path);
    }
    for (size_t k = 0; k < s->start.count; k++) {
        const char *path = s->start.list[k].path;
        if (!is_state(path) && tree_find(&s->end, path) && !tree_find(now, path) &&
            !is_record(s, path))
            return fail("%s is gone", path);
    }
    return true;
}

/* A new model never lies beside the record of an old one, nor an old one beside a new record. */
static bool check_pair(const subject *s, const tree *now)
{
    char model[64], record[64];
    if (!s->c->pair) return true;
    snprintf(model, sizeof model, "%s.safetensors", s->c->pair);
    snprintf(record, sizeof record, "%s.run.json", s->c->pair);
    const entry *m = tree_find(now, model), *r = tree_find(now, record);
    if (!m || !r) return true;
    bool is_old =
        entry_equal(m, tree_find(&s->start, model)) && entry_equal(r, tree_find(&s->start, record));
    bool is_new =
        entry_equal(m, tree_find(&s->end, model)) && entry_equal(r, tree_find(&s->end, record));
    return is_old || is_new || fail("%s and %s are of two runs", model, record);
}

bool check_state(const subject *s, const tree *now, bool may_be_unfinished)
{
    if (!check_places(s, now, may_be_unfinished) || !check_pair(s, now)) return false;
    const char *whole = s->c->whole;
    if (!whole || has_same_part(now, &s->start, whole) || has_same_part(now, &s->end, whole))
        return true;
    return fail("%s is a mixture of old and new", whole);
}

/* How a command may end, whatever was done to it. */
bool check_ending(const outcome *r)
{
    if (r->is_hung) return fail("it hangs");
    if (r->signal) return fail("it died of signal %d: %.80s", r->signal, r->err);
    if (r->code != 0 && r->code != 1) return fail("exit code %d: %.80s", r->code, r->err);
    return true;
}

/* One line for a failure, "crosswise: " and something. */
bool check_message(const outcome *r)
{
    const char *end = strchr(r->err, '\n');
    if (!end || end[1] != '\0' || end - r->err < 15 || strncmp(r->err, "crosswise: ", 11) != 0)
        return fail("the message is not one line: '%.200s'", r->err);
    if (strstr(r->err, "damaged") || strstr(r->err, "remove it"))
        return fail("it calls a good file damaged: %.200s", r->err);
    return true;
}

static bool is_same_output(const subject *s, const outcome *r)
{
    return r->out_bytes == s->usual.out_bytes && memcmp(r->out, s->usual.out, r->out_bytes) == 0;
}

bool check_success(const subject *s, const outcome *r, const tree *now, bool may_leave)
{
    for (size_t k = 0; k < now->count; k++) {
        const entry *e = &now->list[k];
        if (entry_equal(e, tree_find(&s->end, e->path))) continue;
        if (may_leave && (is_unfinished(e->path) || is_state(e->path))) continue;
        return fail("it says nothing, but %s is not what it should be", e->path);
    }
    for (size_t k = 0; k < s->end.count; k++)
        if (!tree_find(now, s->end.list[k].path))
            return fail("it says nothing, but %s is missing", s->end.list[k].path);
    return is_same_output(s, r) || fail("it says nothing, but prints something else");
}

/* The same command once more, after a kill: it must end in the usual bytes. */
bool check_going_on(lab *l)
{
    const subject *s = l->s;
    tree before = tree_read(l->root);
    bool was_done = tree_difference(&before, &s->end) == NULL;
    outcome r = run_words(l, or_else(s->c->again, s->c->words), (order){0});
    tree now = tree_read(l->root);
    const char *place = tree_difference(&now, &s->end);
    bool good = check_ending(&r);
    if (good && r.code != 0 && !was_done) good = fail("going on fails: %.200s", r.err);
    if (good && place)
        good =
            fail(is_unfinished(place) ? "going on leaves %s" : "after going on %s differs", place);
    tree_free(&before);
    tree_free(&now);
    outcome_free(&r);
    return good;
}

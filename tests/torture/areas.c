/* areas.c - the ways in which a command is disturbed. */
#include "areas.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge.h"
#include "power.h"

enum { RANDOM_KILLS = 1200 };

/* ---- faults ---------------------------------------------------------------- */

static bool is_folder(const subject *s, const char *path)
{
    const entry *e = tree_find(&s->end, path);
    return strcmp(path, ".") == 0 || path[0] == '\0' || (e && e->type == S_IFDIR);
}

/* Where removing is what fails, something stays.  An old folder stays also where the list of names
 * could not be synced: it goes when the new one is certain to be there. */
static bool may_leave(const subject *s, const call *c)
{
    static const char *const names[] = {"unlink", "unlinkat", "rmdir", "getdents64", NULL};
    for (const char *const *name = names; *name; name++)
        if (strcmp(c->name, *name) == 0) return true;
    return (!c->changes && is_unfinished(c->path)) || is_state(c->path) || is_folder(s, c->path);
}

static void try_fault(lab *l, long at, fault f)
{
    const subject *s = l->s;
    const call *c = &s->usual.calls[at - 1];
    outcome r = run_words(l, s->c->words, (order){.is_watched = true, .fault = f, .at = at});
    tree now = tree_read(l->root);
    if (check_ending(&r)) {
        if (r.code == 0)
            check_success(s, &r, &now, f != FAULT_SHORT && may_leave(s, c));
        else if (f == FAULT_SHORT)
            fail("a short read or write is no error: %.200s", r.err);
        else if (check_state(s, &now, may_leave(s, c)) && !c->is_stderr)
            check_message(&r);
    }
    tree_free(&now);
    outcome_free(&r);
}

void area_faults(lab *l)
{
    const subject *s = l->s;
    long total = s->usual.n_calls * (FAULT_SHORT - FAULT_EIO + 1), number = 0;
    for (long at = 1; at <= s->usual.n_calls; at++)
        for (fault f = FAULT_EIO; f <= FAULT_SHORT; f++) {
            const call *c = &s->usual.calls[at - 1];
            if (!is_mine(l, ++number, total, 24) || !(c->can & 1u << f)) continue;
            try_fault(l, at, f);
            note(l, number, "%s at call %ld, %s %s", fault_name[f], at, c->name, c->path);
        }
}

/* ---- kills ----------------------------------------------------------------- */

static const char *describe_call(const subject *s, long at, char out[PLACE_BYTES])
{
    if (at > s->usual.n_calls) return "at the end";
    const call *c = &s->usual.calls[at - 1];
    snprintf(out, PLACE_BYTES, "before call %ld, %s %s", at, c->name, c->path);
    return out;
}

void area_kills(lab *l)
{
    const subject *s = l->s;
    long total = s->usual.n_calls + 1;
    char text[PLACE_BYTES];
    for (long at = 1; at <= total; at++) {
        if (!is_mine(l, at, total, 8)) continue;
        order o = {.is_watched = true, .fault = FAULT_KILL, .at = at};
        outcome r = run_words(l, s->c->words, o);
        tree now = tree_read(l->root);
        if (r.is_hung) fail("it hangs");
        if (check_state(s, &now, true)) check_going_on(l);
        note(l, at, "killed %s", describe_call(s, at, text));
        tree_free(&now);
        outcome_free(&r);
    }
}

/* What a command that ended well has written is on the disk. */
static void check_kept(const subject *s, const tree *left)
{
    for (size_t k = 0; k < s->end.count; k++)
        if (!entry_equal(&s->end.list[k], tree_find(left, s->end.list[k].path)))
            fail("it was done, but %s was not on the disk", s->end.list[k].path);
}

static void cut_power(lab *l, long at, loss way)
{
    const subject *s = l->s;
    power *p = power_begin(l->root);
    order o = {
        .is_watched = true, .fault = FAULT_KILL, .at = at, .synced = power_synced, .user = p};
    outcome r = run_words(l, s->c->words, o);
    tree left = power_cut(p, way, (uint64_t)at);
    power_free(p);
    tree_write(&left, l->root);
    if (r.is_hung) fail("it hangs");
    if (at > s->usual.n_calls && way == LOSS_ALL) check_kept(s, &left);
    if (check_state(s, &left, true)) check_going_on(l);
    tree_free(&left);
    outcome_free(&r);
}

void area_power(lab *l)
{
    const subject *s = l->s;
    long total = (s->usual.n_calls + 1) * N_LOSSES, number = 0;
    char text[PLACE_BYTES];
    for (long at = 1; at <= s->usual.n_calls + 1; at++)
        for (loss way = 0; way < N_LOSSES; way++) {
            number++;
            bool changes = at > s->usual.n_calls || s->usual.calls[at - 1].changes;
            if (!changes || !is_mine(l, number, total, 16)) continue;
            cut_power(l, at, way);
            note(l, number, "power cut %s, %s lost", describe_call(s, at, text), loss_name[way]);
        }
}

/* A seeded stream of numbers, the same for every worker. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void area_random(lab *l)
{
    const subject *s = l->s;
    uint64_t dice = 1;
    long total = RANDOM_KILLS / (long)n_commands + 1;
    outcome timed = run_words(l, s->c->words, (order){0});
    double usual_s = timed.seconds;
    outcome_free(&timed);
    tree_write(&s->start, l->root);
    for (long number = 1; number <= total; number++) {
        int kills = 1 + (int)(next_random(&dice) % 3);
        double part[3];
        for (int k = 0; k < 3; k++) part[k] = (double)(next_random(&dice) >> 11) * 0x1p-53;
        if (!is_mine(l, number, total, 4)) continue;
        for (int k = 0; k < kills && !verdict[0]; k++) {
            const char *words = k ? or_else(s->c->again, s->c->words) : s->c->words;
            outcome r = run_words(l, words, (order){.kill_s = 1e-5 + 1.1 * part[k] * usual_s});
            tree now = tree_read(l->root);
            check_state(s, &now, true);
            tree_free(&now);
            outcome_free(&r);
            if (k > 0) atomic_fetch_add(&l->counts->tried, 1);
        }
        if (!verdict[0]) check_going_on(l);
        note(l, number, "killed %d times, last after %.0f %% of its time", kills,
             110 * part[kills - 1]);
    }
}

/* ---- memory ---------------------------------------------------------------- */

static void fail_allocation(lab *l, long at, bool fails_on)
{
    const subject *s = l->s;
    order o = {.page = {.fail_at = at, .fail_on = fails_on}};
    outcome r = run_words(l, s->c->words, o);
    tree now = tree_read(l->root);
    if (check_ending(&r)) {
        if (r.code == 0)
            check_success(s, &r, &now, false);
        else if (check_state(s, &now, false) && check_message(&r) &&
                 !strstr(r.err, "out of memory"))
            fail("the message is not 'out of memory': %.200s", r.err);
    }
    tree_free(&now);
    outcome_free(&r);
}

void area_memory(lab *l)
{
    long n = l->s->usual.allocations, total = 2 * n;
    if (l->s->c->is_many) return;     /* unit.parts fails allocations of these */
    if (l->s->c->has_plugins) return; /* GLib ends the process itself when there is no memory */
    for (long number = 1; number <= total; number++) {
        long at = (number + 1) / 2;
        bool fails_on = number % 2 == 0;
        if (!is_mine(l, number, total, 24)) continue;
        fail_allocation(l, at, fails_on);
        note(l, number, "allocation %ld of %ld fails%s", at, n,
             fails_on ? ", all that follow too" : "");
    }
}

/* ---- others at the same place ---------------------------------------------- */

typedef struct meeting {
    lab *l;
    outcome rival;
} meeting;

static void run_rival(void *user, const call *c)
{
    meeting *m = user;
    (void)c;
    m->rival = run_words(m->l, or_else(m->l->s->c->rival, m->l->s->c->words), (order){0});
}

static void meet(lab *l, long at)
{
    const subject *s = l->s;
    meeting m = {.l = l};
    order o = {.is_watched = true, .fault = FAULT_HOOK, .at = at, .hook = run_rival, .user = &m};
    outcome r = run_words(l, s->c->words, o);
    tree now = tree_read(l->root);
    const char *mine = tree_difference(&now, &s->end);
    const char *theirs = tree_difference(&now, &s->rival_end);
    if (check_ending(&r) && check_ending(&m.rival)) {
        bool good =
            (r.code == 0 || check_message(&r)) && (m.rival.code == 0 || check_message(&m.rival));
        if (good && r.code != 0 && m.rival.code != 0)
            fail("both fail: %.100s%.100s", r.err, m.rival.err);
        else if (good && (r.code != 0 || mine) && (m.rival.code != 0 || theirs))
            fail("%s is of neither of the two", mine ? mine : theirs);
    }
    tree_free(&now);
    outcome_free(&m.rival);
    outcome_free(&r);
}

void area_two(lab *l)
{
    char text[PLACE_BYTES];
    if (tree_difference(&l->s->start, &l->s->end) == NULL) return; /* it writes nothing */
    for (long at = 1; at <= l->s->usual.n_calls; at++) {
        if (!is_mine(l, at, l->s->usual.n_calls, 6)) continue;
        meet(l, at);
        note(l, at, "another one %s", describe_call(l->s, at, text));
    }
}

typedef struct trap {
    const lab *l;
    char victim[128];
} trap;

static void plant(void *user, const call *c)
{
    const trap *t = user;
    char path[PLACE_BYTES];
    snprintf(path, sizeof path, "%s/%s", t->l->root, c->path);
    (void)symlink(t->victim, path); /* where the name is taken there is no case */
}

/* What was planted may have moved with its folder. */
static void remove_links(const lab *l, const char *victim)
{
    tree now = tree_read(l->root);
    char path[4096];
    for (size_t k = 0; k < now.count; k++) {
        if (now.list[k].type != S_IFLNK || strcmp(now.list[k].bytes, victim) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", l->root, now.list[k].path);
        unlink(path);
    }
    tree_free(&now);
}

/* A link from where the command creates something to a file outside of its folder. */
static void set_trap(lab *l, long at, bool has_victim)
{
    static const char text[] = "nobody may change this\n";
    const subject *s = l->s;
    trap t = {.l = l};
    tree outside = {0};
    char folder[100];
    snprintf(folder, sizeof folder, "%s-outside", l->root);
    snprintf(t.victim, sizeof t.victim, "%s/victim", folder);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) die("cannot make %s", folder);
    if (has_victim) tree_add(&outside, "victim", S_IFREG, text, sizeof text - 1);
    tree_write(&outside, folder);
    order o = {.is_watched = true, .fault = FAULT_HOOK, .at = at, .hook = plant, .user = &t};
    outcome r = run_words(l, s->c->words, o);
    remove_links(l, t.victim);
    tree now = tree_read(l->root), after = tree_read(folder);
    if (tree_difference(&outside, &after)) fail("it wrote through the link");
    if (check_ending(&r)) {
        if (r.code == 0)
            check_success(s, &r, &now, false);
        else if (check_state(s, &now, true)) /* a folder with a foreign link in it may stay */
            check_message(&r);
    }
    tree_free(&outside);
    tree_write(&outside, folder);
    rmdir(folder);
    tree_free(&now);
    tree_free(&after);
    outcome_free(&r);
}

/* The command makes something new at this call. */
static bool makes(const subject *s, long at)
{
    const call *c = &s->usual.calls[at - 1];
    return c->creates && !tree_find(&s->start, c->path);
}

void area_links(lab *l)
{
    const subject *s = l->s;
    long total = 0, number = 0;
    for (long at = 1; at <= s->usual.n_calls; at++) total += makes(s, at) ? 2 : 0;
    for (long at = 1; at <= s->usual.n_calls; at++)
        for (int has_victim = 0; has_victim < 2 && makes(s, at); has_victim++) {
            const call *c = &s->usual.calls[at - 1];
            if (!is_mine(l, ++number, total, 4)) continue;
            set_trap(l, at, has_victim);
            note(l, number, "a link to %s before call %ld, %s %s",
                 has_victim ? "a file" : "nothing", at, c->name, c->path);
        }
}

/* Not for each command but for a list of its own. */
void area_refused(lab *l)
{
    subject s = {0};
    tree t =
        part_of_world(l, "log.csv pipe home page note.txt sim set lab plan.json bpr.safetensors");
    tree_write(&t, l->root);
    run_quietly(l, "export bpr.safetensors --out vectors --quiet");
    tree_free(&t);
    s.start = tree_read(l->root);
    l->s = &s;
    for (size_t k = 0; k < n_refused; k++) {
        s.c = &refused[k];
        if (l->only_command && strcmp(l->only_command, s.c->name) != 0) continue;
        if (!is_mine(l, (long)k + 1, (long)n_refused, (long)n_refused)) continue;
        outcome r = run_words(l, s.c->words, (order){0});
        tree now = tree_read(l->root);
        const char *place = tree_difference(&s.start, &now);
        if (r.is_hung || r.signal) check_ending(&r);
        if (r.code == 0) fail("it is not refused");
        if (place) fail("%s is changed", place);
        if (r.err_bytes == 0) fail("there is no message");
        note(l, (long)k + 1, "%s", s.c->words);
        tree_free(&now);
        outcome_free(&r);
    }
    tree_free(&s.start);
}

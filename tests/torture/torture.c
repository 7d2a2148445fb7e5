/*
 * torture.c - disturbs every command at every place and looks at what is left.
 *
 *   torture [--quick] [--jobs N] [--show N] CROSSWISE PRELOAD.so [AREA [COMMAND [CASE]]]
 *
 * Areas (all of them when none is named):
 *   faults   each file call fails with EIO, ENOSPC, EINTR, or reads and writes one byte only
 *   kills    the command is killed before each file call
 *   power    the power is cut before each call that changes something; what was not synced is lost
 *   memory   each allocation fails, alone or with all that follow it
 *   random   kills at random moments, some of them several times in a row
 *   two      another process does the same, in the same place, between two file calls
 *   links    somebody plants a link where the command is about to create something
 *   refused  outputs that would destroy what a user has
 *
 * What must hold.  The command ends by itself, with exit code 0 and just what an undisturbed one
 * leaves and prints, or with 1 and one line that says why; an allocation that failed is "out of
 * memory" there, and no fault is called damage.  What was in the folder before is as it was.  Where
 * a result goes is the old one or the new one, whole.  A failure leaves nothing else. After a kill
 * or a power cut something unfinished may be left; the same command then ends in the same bytes as
 * if nothing had happened, and removes it.
 *
 * The commands are in commands.c; each runs in a folder of its own in memory where there is
 * one (/dev/shm).  A case that failed is shown with its number, and naming it runs it alone.
 * --quick takes some of the cases of each area; --show is how many failures of a command each job
 * shows, 3 by default.  The exit code is 1 when anything failed and 77
 * where commands cannot be watched.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "power.h"
#include "trace.h"
#include "tree.h"

enum {
    PLACE_BYTES = CALL_PATH_BYTES + 128,
    MAX_WORDS = 48,
    TIMEOUT_S = 60,
    SHOWN = 3,
    RANDOM_KILLS = 1200
};

typedef struct count {
    atomic_long tried, failed;
} count;

/* A command that is set up: what it starts from and where it must end. */
typedef struct subject {
    const command *c;
    tree start, end, rival_end;
    outcome usual;
} subject;

typedef struct lab {
    const char *crosswise, *preload;
    char root[64];
    tree world;
    bool is_quick;
    int me, jobs; /* this worker, of so many */
    const char *area;
    const char *only_command;
    long only_case; /* 0 for all */
    long n_mine, n_shown, show;
    subject *s;
    count *counts; /* of the area, shared by the workers */
} lab;

/* ---- running commands ------------------------------------------------------------------- */

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

static outcome run_words(const lab *l, const char *words, order o)
{
    line parts;
    o.root = l->root;
    o.argv = split(l, words, &parts);
    o.seconds = TIMEOUT_S;
    outcome r = trace_run(&o);
    if (l->only_case) /* somebody wants to know */
        printf("crosswise %s\nexit code %d, signal %d\n%s%s", words, r.code, r.signal, r.out,
               r.err);
    return r;
}

static void run_quietly(const lab *l, const char *words)
{
    outcome r = run_words(l, words, (order){0});
    if (r.code != 0) die("'%s' fails by itself: %s", words, r.err);
    outcome_free(&r);
}

/* ---- setting up --------------------------------------------------------------------------- */

static void make_world(lab *l)
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

static tree part_of_world(const lab *l, const char *uses)
{
    tree t = {0};
    for (size_t k = 0; k < l->world.count; k++) {
        const entry *e = &l->world.list[k];
        if (is_listed(uses, e->path)) tree_add(&t, e->path, e->type, e->bytes, e->length);
    }
    tree_sort(&t);
    return t;
}

static const char *or_else(const char *words, const char *otherwise)
{
    return words ? words : otherwise;
}

static void set_up(lab *l, subject *s, const command *c)
{
    *s = (subject){.c = c};
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
    l->s = s;
}

static void tear_down(subject *s)
{
    tree_free(&s->start);
    tree_free(&s->end);
    tree_free(&s->rival_end);
    outcome_free(&s->usual);
}

/* ---- judging ----------------------------------------------------------------------------------
 */

static char verdict[1024]; /* why the last case failed; empty when it did not */

static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!verdict[0]) vsnprintf(verdict, sizeof verdict, format, args);
    va_end(args);
    return false;
}

static bool is_unfinished(const char *path)
{
    return strstr(path, ".partial") != NULL;
}

/* The state of training changes from epoch to epoch; that it is whole shows when a run goes on. */
static bool is_state(const char *path)
{
    return strstr(path, ".checkpoint") != NULL || strcmp(path, "state") == 0;
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static bool has_same_part(const tree *a, const tree *b, const char *folder)
{
    for (int turn = 0; turn < 2; turn++, b = a)
        for (size_t k = 0; k < (turn ? b : a)->count; k++) {
            const entry *e = &(turn ? b : a)->list[k];
            if (is_below(e->path, folder) && !entry_equal(e, tree_find(turn ? a : b, e->path)))
                return false;
        }
    return true;
}

/* Every place holds the old or the new. */
static bool check_places(const subject *s, const tree *now, bool may_be_unfinished)
{
    for (size_t k = 0; k < now->count; k++) {
        const entry *e = &now->list[k], *old = tree_find(&s->start, e->path);
        const entry *new = tree_find(&s->end, e->path);
        if (is_state(e->path) || entry_equal(e, old) || entry_equal(e, new)) continue;
        if (is_unfinished(e->path) && may_be_unfinished) continue;
        return fail(old || new ? "%s is neither the old nor the new" : "%s is left behind",
                    e->path);
    }
    for (size_t k = 0; k < s->start.count; k++) {
        const char *path = s->start.list[k].path;
        if (!is_state(path) && tree_find(&s->end, path) && !tree_find(now, path) &&
            !(s->c->pair && is_listed(s->c->pair, path)))
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

static bool check_state(const subject *s, const tree *now, bool may_be_unfinished)
{
    if (!check_places(s, now, may_be_unfinished) || !check_pair(s, now)) return false;
    const char *whole = s->c->whole;
    if (!whole || has_same_part(now, &s->start, whole) || has_same_part(now, &s->end, whole))
        return true;
    return fail("%s is a mixture of old and new", whole);
}

/* How a command may end, whatever was done to it. */
static bool check_ending(const outcome *r)
{
    if (r->is_hung) return fail("it hangs");
    if (r->signal) return fail("it died of signal %d: %.80s", r->signal, r->err);
    if (r->code != 0 && r->code != 1) return fail("exit code %d: %.80s", r->code, r->err);
    return true;
}

/* One line for a failure, "crosswise: " and something. */
static bool check_message(const outcome *r)
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

static bool check_success(const subject *s, const outcome *r, const tree *now, bool may_leave)
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
static bool check_going_on(lab *l)
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

/* ---- cases -------------------------------------------------------------------------------------
 */

/* Is this case one for this worker?  `number` is from 1, of `total`; a quick run takes `some`. */
static bool is_mine(lab *l, long number, long total, long some)
{
    if (l->only_case) return number == l->only_case && l->me == 0;
    long most = l->s->c->most ? l->s->c->most : total;
    if (l->is_quick) most = l->s->c->most ? some / 4 : some;
    bool is_chosen = total <= most || number * most / total != (number - 1) * most / total;
    return is_chosen && l->n_mine++ % l->jobs == l->me;
}

/* Say what became of a case, described by the rest, and prepare for the next one. */
static void note(lab *l, long number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void note(lab *l, long number, const char *format, ...)
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

/* ---- faults -------------------------------------------------------------------------------------
 */

static bool is_cleaning(const call *c)
{
    static const char *const names[] = {"unlink", "unlinkat", "rmdir", "getdents64", NULL};
    for (const char *const *name = names; *name; name++)
        if (strcmp(c->name, *name) == 0) return true;
    /* looking at or into what is to be removed */
    return !c->changes && is_unfinished(c->path);
}

static void try_fault(lab *l, long at, fault f)
{
    const subject *s = l->s;
    const call *c = &s->usual.calls[at - 1];
    outcome r = run_words(l, s->c->words, (order){.is_watched = true, .fault = f, .at = at});
    tree now = tree_read(l->root);
    if (check_ending(&r)) {
        if (r.code == 0)
            check_success(s, &r, &now, is_cleaning(c));
        else if (f == FAULT_SHORT)
            fail("a short read or write is no error: %.200s", r.err);
        else if (check_state(s, &now, is_cleaning(c)) && !c->is_stderr)
            check_message(&r);
    }
    tree_free(&now);
    outcome_free(&r);
}

static void area_faults(lab *l)
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

/* ---- kills
 * ---------------------------------------------------------------------------------------- */

static const char *describe_call(const subject *s, long at, char out[PLACE_BYTES])
{
    if (at > s->usual.n_calls) return "at the end";
    const call *c = &s->usual.calls[at - 1];
    snprintf(out, PLACE_BYTES, "before call %ld, %s %s", at, c->name, c->path);
    return out;
}

static void area_kills(lab *l)
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
    if (at > s->usual.n_calls && way == LOSS_ALL && tree_difference(&left, &s->end))
        fail("it was done, but %s was not on the disk", tree_difference(&left, &s->end));
    if (check_state(s, &left, true)) check_going_on(l);
    tree_free(&left);
    outcome_free(&r);
}

static void area_power(lab *l)
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

static void area_random(lab *l)
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

/* ---- memory
 * --------------------------------------------------------------------------------------- */

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

static void area_memory(lab *l)
{
    long n = l->s->usual.allocations, total = 2 * n;
    for (long number = 1; number <= total; number++) {
        long at = (number + 1) / 2;
        bool fails_on = number % 2 == 0;
        if (!is_mine(l, number, total, 24)) continue;
        fail_allocation(l, at, fails_on);
        note(l, number, "allocation %ld of %ld fails%s", at, n,
             fails_on ? ", all that follow too" : "");
    }
}

/* ---- others at the same place
 * ------------------------------------------------------------------------ */

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

static void area_two(lab *l)
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

static void area_links(lab *l)
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
static void area_refused(lab *l)
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

/* ---- all of it
 * ---------------------------------------------------------------------------------------- */

typedef struct area {
    const char *name, *title;
    void (*run)(lab *l);
    bool is_per_command;
} area;

static const area areas[] = {
    {"faults", "file calls that fail or are short", area_faults, true},
    {"kills", "kills at every file call", area_kills, true},
    {"power", "power cuts", area_power, true},
    {"memory", "allocations that fail", area_memory, true},
    {"random", "kills at random moments", area_random, true},
    {"two", "two processes, one output", area_two, true},
    {"links", "planted links", area_links, true},
    {"refused", "outputs to be refused", area_refused, false},
};

enum { N_AREAS = sizeof areas / sizeof areas[0] };

static void run_area(lab *l, const area *a, count *counts)
{
    l->area = a->name;
    l->counts = counts;
    if (!a->is_per_command) {
        a->run(l);
        return;
    }
    for (size_t k = 0; k < n_commands; k++) {
        subject s;
        if (l->only_command && strcmp(l->only_command, commands[k].name) != 0) continue;
        l->n_shown = 0;
        set_up(l, &s, &commands[k]);
        a->run(l);
        tear_down(&s);
    }
}

static int run_worker(lab *l, int me, const char *area_name, count *counts)
{
    char root[sizeof l->root + 16];
    l->me = me;
    trace_begin(l->preload); /* files of its own */
    snprintf(root, sizeof root, "%s/%d", l->root, me);
    snprintf(l->root, sizeof l->root, "%.60s", root);
    for (size_t a = 0; a < N_AREAS; a++)
        if (!area_name || strcmp(area_name, areas[a].name) == 0) run_area(l, &areas[a], &counts[a]);
    return 0;
}

static bool run_workers(lab *l, const char *area_name, count *counts)
{
    bool good = true;
    pid_t worker[64];
    char root[128];
    fflush(stdout);
    for (int k = 0; k < l->jobs; k++) {
        snprintf(root, sizeof root, "%s/%d", l->root, k);
        if (mkdir(root, 0777) != 0) die("cannot make %s", root);
    }
    for (int k = 0; k < l->jobs; k++) {
        worker[k] = fork();
        if (worker[k] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(run_worker(l, k, area_name, counts));
        }
    }
    for (int k = 0; k < l->jobs; k++) {
        int status;
        if (waitpid(worker[k], &status, 0) != worker[k] || status != 0) good = false;
    }
    return good;
}

static bool print_table(const lab *l, const char *area_name, const count *counts)
{
    bool good = true;
    printf("\n| area | tried | failed | command |\n|---|---:|---:|---|\n");
    for (size_t a = 0; a < N_AREAS; a++) {
        if (area_name && strcmp(area_name, areas[a].name) != 0) continue;
        printf("| %s | %ld | %ld | make torture AREA=%s |\n", areas[a].title, (long)counts[a].tried,
               (long)counts[a].failed, areas[a].name);
        good = good && counts[a].failed == 0 && counts[a].tried > 0;
    }
    (void)l;
    return good;
}

static char scratch[64]; /* removed in the end */
static pid_t first_process;

static void remove_scratch(void)
{
    if (!scratch[0] || getpid() != first_process) return;
    tree nothing = {0};
    tree_write(&nothing, scratch);
    rmdir(scratch);
}

static void make_scratch(lab *l)
{
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%.30s/crosswise-torture-XXXXXX", memory ? memory : "/tmp");
    if (!mkdtemp(scratch)) die("cannot make %s", scratch);
    snprintf(l->root, sizeof l->root, "%s", scratch);
    first_process = getpid();
    atexit(remove_scratch);
}

static void on_signal(int number)
{
    exit(128 + number); /* a test that is stopped; what it left is removed */
}

static void read_arguments(lab *l, int argc, char **argv, const char **area_name)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--quick") == 0) l->is_quick = true;
        if (strcmp(argv[at], "--jobs") == 0 && at + 1 < argc) l->jobs = atoi(argv[++at]);
        if (strcmp(argv[at], "--show") == 0 && at + 1 < argc) l->show = atol(argv[++at]);
    }
    if (argc - at < 2 || l->jobs < 1 || l->jobs > 64) {
        fprintf(stderr, "use: torture [--quick] [--jobs N] [--show N] CROSSWISE PRELOAD.so [AREA "
                        "[COMMAND [CASE]]]\n");
        exit(2);
    }
    l->crosswise = must(realpath(argv[at], NULL)); /* commands run in folders of their own */
    l->preload = must(realpath(argv[at + 1], NULL));
    *area_name = argc - at > 2 ? argv[at + 2] : NULL;
    l->only_command = argc - at > 3 ? argv[at + 3] : NULL;
    l->only_case = argc - at > 4 ? atol(argv[at + 4]) : 0;
}

int main(int argc, char **argv)
{
    lab l = {.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN), .show = SHOWN};
    const char *area_name;
    count *counts = mmap(NULL, sizeof(count) * N_AREAS, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED) die("cannot map memory");
    read_arguments(&l, argc, argv, &area_name);
    setvbuf(stdout, NULL, _IOLBF, 0);
    trace_begin(l.preload);
    const char *obstacle = trace_obstacle();
    if (obstacle) {
        printf("%s\n", obstacle);
        return 77;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    make_scratch(&l);
    make_world(&l);
    outcome r = run_words(&l, "--version", (order){0});
    if (r.allocations == 0) {
        printf("the command takes no preloaded library\n");
        return 77;
    }
    bool good = run_workers(&l, area_name, counts);
    good = print_table(&l, area_name, counts) && good;
    return good ? 0 : 1;
}

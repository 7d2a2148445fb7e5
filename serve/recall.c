/*
 * recall.c - what users had since training.
 *
 * A table of users by their ids, each with the last items.  There is a bound for all rows: beyond
 * it the user goes who was silent for longest.  The log on the disk keeps everything.
 */
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

enum { MAX_ROWS = 1000000, MAX_ITEMS = 1000, FIRST_SLOTS = 1024 };

typedef struct person person;
struct person {
    uint64_t hash;
    person *next;            /* in its slot */
    person *older, *younger; /* by the last row */
    char **items;
    size_t n_items, room;
    char id[];
};

struct recall {
    pthread_rwlock_t lock;
    person **slot;
    size_t n_slots, n_people, n_rows;
    person *oldest, *youngest;
};

static uint64_t hash_of(const char *id)
{
    uint64_t hash = 14695981039346656037u;
    for (; *id; id++) hash = (hash ^ (unsigned char)*id) * 1099511628211u;
    return hash ^ (hash >> 29);
}

recall *recall_create(void)
{
    recall *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->n_slots = FIRST_SLOTS;
    r->slot = calloc(r->n_slots, sizeof(person *));
    pthread_rwlock_init(&r->lock, NULL);
    if (r->slot) return r;
    recall_free(r);
    return NULL;
}

static void free_person(person *p)
{
    for (size_t k = 0; k < p->n_items; k++) free(p->items[k]);
    free(p->items);
    free(p);
}

void recall_free(recall *r)
{
    if (!r) return;
    for (person *p = r->oldest, *next; p; p = next) {
        next = p->younger;
        free_person(p);
    }
    pthread_rwlock_destroy(&r->lock);
    free((void *)r->slot);
    free(r);
}

/* ---- the order of rows ---------------------------------------------------------- */

static void take_out(recall *r, person *p)
{
    *(p->older ? &p->older->younger : &r->oldest) = p->younger;
    *(p->younger ? &p->younger->older : &r->youngest) = p->older;
    p->older = p->younger = NULL;
}

static void put_last(recall *r, person *p)
{
    p->older = r->youngest;
    *(r->youngest ? &r->youngest->younger : &r->oldest) = p;
    r->youngest = p;
}

static void forget_oldest(recall *r)
{
    person *p = r->oldest, **at = &r->slot[p->hash % r->n_slots];
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    take_out(r, p);
    r->n_rows -= p->n_items;
    r->n_people--;
    free_person(p);
}

/* ---- the table -------------------------------------------------------------------- */

static person *find(const recall *r, const char *id, uint64_t hash)
{
    person *p = r->slot[hash % r->n_slots];
    while (p && (p->hash != hash || strcmp(p->id, id) != 0)) p = p->next;
    return p;
}

/* Without memory for it the slots just hold more. */
static void widen(recall *r)
{
    size_t n = 2 * r->n_slots;
    person **slot = calloc(n, sizeof(person *));
    if (!slot) return;
    for (person *p = r->oldest; p; p = p->younger) {
        p->next = slot[p->hash % n];
        slot[p->hash % n] = p;
    }
    free((void *)r->slot);
    r->slot = slot;
    r->n_slots = n;
}

static person *add_person(recall *r, const char *id, uint64_t hash)
{
    size_t bytes = strlen(id) + 1;
    person *p = calloc(1, sizeof *p + bytes);
    if (!p) return NULL;
    if (r->n_people >= r->n_slots) widen(r);
    memcpy(p->id, id, bytes);
    p->hash = hash;
    p->next = r->slot[hash % r->n_slots];
    r->slot[hash % r->n_slots] = p;
    r->n_people++;
    put_last(r, p);
    return p;
}

static bool add_item(recall *r, person *p, const char *item)
{
    for (size_t k = 0; k < p->n_items; k++)
        if (strcmp(p->items[k], item) == 0) return true;
    if (p->n_items == MAX_ITEMS) {
        free(p->items[0]);
        memmove((void *)p->items, (void *)(p->items + 1), --p->n_items * sizeof *p->items);
        r->n_rows--;
    }
    if (p->n_items == p->room) {
        size_t room = p->room ? 2 * p->room : 4;
        char **more = realloc((void *)p->items, room * sizeof *more);
        if (!more) return false;
        p->items = more;
        p->room = room;
    }
    p->items[p->n_items] = strdup(item);
    if (!p->items[p->n_items]) return false;
    p->n_items++;
    r->n_rows++;
    return true;
}

bool recall_add(recall *r, const char *user, const char *item)
{
    uint64_t hash = hash_of(user);
    pthread_rwlock_wrlock(&r->lock);
    person *p = find(r, user, hash);
    if (p) {
        take_out(r, p);
        put_last(r, p);
    } else {
        p = add_person(r, user, hash);
    }
    bool is_added = p && add_item(r, p, item);
    while (r->n_rows > MAX_ROWS && r->oldest != r->youngest) forget_oldest(r);
    pthread_rwlock_unlock(&r->lock);
    return is_added;
}

void recall_each(recall *r, const char *user, void (*visit)(void *arg, const char *item), void *arg)
{
    pthread_rwlock_rdlock(&r->lock);
    const person *p = r->n_people > 0 ? find(r, user, hash_of(user)) : NULL;
    for (size_t k = 0; p && k < p->n_items; k++) visit(arg, p->items[k]);
    pthread_rwlock_unlock(&r->lock);
}

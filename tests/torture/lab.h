/* lab.h - a command that is set up to be disturbed, and the counting of cases. */
#ifndef TORTURE_LAB_H
#define TORTURE_LAB_H

#include <stdatomic.h>

#include "commands.h"
#include "trace.h"
#include "tree.h"

enum {
    PLACE_BYTES = CALL_PATH_BYTES + 128,
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

/* Run a command in the folder of the lab; `o` says how it is disturbed. */
outcome run_words(const lab *l, const char *words, order o);
void run_quietly(const lab *l, const char *words); /* dies when it fails */
const char *or_else(const char *words, const char *otherwise);

void make_world(lab *l); /* what all commands start from */
tree part_of_world(const lab *l, const char *uses);
void set_up(lab *l, subject *s, const command *c);
void tear_down(subject *s);

/* Is this case one for this worker?  `number` is from 1, of `total`; a quick run takes `some`. */
bool is_mine(lab *l, long number, long total, long some);

/* Say what became of a case, described by the rest, and prepare for the next one. */
void note(lab *l, long number, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

/* judge.h - what must hold after a command was disturbed. */
#ifndef TORTURE_JUDGE_H
#define TORTURE_JUDGE_H

#include "lab.h"

extern char verdict[1024]; /* why the case failed: the first reason; empty when it did not */

/* All of these return false after they have given a verdict. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool check_ending(const outcome *r);  /* by itself, with 0 or 1 */
bool check_message(const outcome *r); /* one line */
bool check_state(const subject *s, const tree *now, bool may_be_unfinished);
bool check_success(const subject *s, const outcome *r, const tree *now, bool may_leave);
bool check_going_on(lab *l); /* the same command once more, after a kill */

bool is_unfinished(const char *path);

/* The state of training changes from epoch to epoch; that it is whole shows when a run goes on. */
bool is_state(const char *path);

#endif

/*
 * race.h - which trial comes next, and which one is given up.
 *
 * A race is a list of trials, one after the other.  The first are the untouched defaults of every
 * family (a method on a backbone); those after are settings drawn from written-down ranges, or near
 * the best setting so far.  Trial k is a function of the seed and of the records of trials 0..k-1
 * alone: threads, time and kills do not matter.
 *
 * A record is a JSON object:
 *   trial, method, backbone, origin   who, and "default", "drawn" or "near trial 4"
 *   settings                          what differs from the defaults
 *   options                           all options as training settled them
 *   curve                             [[steps, metric], ...] of the evaluations
 *   steps                             trained in all
 *   folds                             the metric with the dial on each validation part, where there
 *                                     are several; curve and steps are of the first
 *   valid, dial, value                the metric on validation, the popularity dial that is best
 *                                     there, and the metric with it: what trials are ranked by; the
 *                                     means over the folds
 *   ended                             "patience", "epochs", "stopped" early or "failed"
 */
#ifndef CWI_EXPERIMENT_RACE_H
#define CWI_EXPERIMENT_RACE_H

#include <jansson.h>

#include "core/context.h"

enum { CWI_MAX_FAMILIES = 64 };

/* A method on a backbone, by the names of the registry. */
typedef struct cwi_family {
    const char *method, *backbone;
} cwi_family;

typedef struct cwi_race {
    uint64_t seed;
    cwi_family family[CWI_MAX_FAMILIES]; /* [n_families] in the order of their first trials */
    size_t n_families;
    const json_t *fixed; /* options that all trials have, which are not tuned; may be NULL */
} cwi_race;

/* Methods and backbones as lists with commas; those of the two that go together become families,
 * a method that works on none of the backbones is there on its first.  "pop" is always the first.
 * CW_BAD_ARG for what is unknown or twice. */
cw_status cwi_race_init(cw_context *ctx, const char *methods, const char *backbones,
                        cwi_race *race);

/* Trial number json_array_size(records), as a new object with the first five entries of a record;
 * NULL when there is nothing left to try. */
cw_status cwi_race_propose(cw_context *ctx, const cwi_race *race, const json_t *records,
                           json_t **out);

/* Is a trial under way clearly below the best of its family?
 *   trial  its record so far: method, backbone, curve
 *   lr     its learning rate; 0: not known
 * See docs/tune.md for the rule. */
bool cwi_race_is_lost(const json_t *records, const json_t *trial, double lr);

/* The best of the first n records (0: all), of equals the first; NULL when none has a value.
 *   method, backbone  only of these; NULL: of all */
const json_t *cwi_race_best(const json_t *records, size_t n, const char *method,
                            const char *backbone);

/* Who wins: the best, or where three folds or more judge, the earliest of those that they cannot
 * tell from it: behind by no more than a standard error of the differences on the folds.  The more
 * trials, the luckier the best of them; early ones had fewer chances.  Never one below the first
 * n_defaults on validation. */
const json_t *cwi_race_choose(const json_t *records, size_t n_defaults);

/* A value of three digits, so that people can read it. */
double cwi_round_digits(double value);

#endif

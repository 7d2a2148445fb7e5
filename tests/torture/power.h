/* power.h - what a disk still holds after the power was cut: only what was synced is certain. */
#ifndef TORTURE_POWER_H
#define TORTURE_POWER_H

#include <stdint.h>

#include "tree.h"

typedef enum loss {
    LOSS_BYTES, /* names are new, contents as last synced: the order that hurts */
    LOSS_ZEROS, /* the same, and what was not synced reads as zeros */
    LOSS_MIXED, /* each file and each folder as the dice fall */
    LOSS_ALL,   /* contents and names are as last synced */
    N_LOSSES,
} loss;

extern const char *const loss_name[N_LOSSES];

typedef struct power power;

/* All that is in the folder now has reached the disk. */
power *power_begin(const char *root);

/* A file or folder was synced; `user` is the power.  For order.synced. */
void power_synced(void *user, int file);

/* What would be left now. */
tree power_cut(power *p, loss l, uint64_t seed);

void power_free(power *p);

#endif

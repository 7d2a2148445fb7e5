/*
 * alone.h - processes without MPI, one after the other: what is gathered of others is what they
 * gave last, where it is text, and else what this one has, as if all had the same.  Enough to read
 * and write the state of a training, not to train.
 */
#ifndef ALONE_H
#define ALONE_H

#include <stdbool.h>
#include <string.h>

#include "comm/world.h"

enum { ALONE_MOST = 4, ALONE_BYTES = 64 };

static int alone_rank, alone_size;
static char alone_text[ALONE_MOST][ALONE_BYTES];

static void alone_gather(const void *from, int count, void *to, const int *counts, size_t unit)
{
    char *at = to;
    bool is_text = unit == 1 && count <= ALONE_BYTES;
    if (is_text) memcpy(alone_text[alone_rank], from, (size_t)count);
    for (int p = 0; p < alone_size; p++) {
        int n = counts[p] < count ? counts[p] : count;
        if (n > 0) memcpy(at, is_text ? alone_text[p] : from, (size_t)n * unit);
        at += (size_t)counts[p] * unit;
    }
}

static void alone_meet(void)
{
}

/* Process `rank` of so many, at most ALONE_MOST, for ctx->world; reset it to NULL before the
 * context is freed. */
static inline cwi_world alone(int rank, int size)
{
    static const cwi_mpi_calls calls = {.gather = alone_gather, .meet = alone_meet};
    alone_rank = rank;
    alone_size = size;
    return cwi_world_of(&calls, rank, size);
}

#endif

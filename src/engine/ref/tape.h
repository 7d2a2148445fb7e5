/*
 * tape.h - matrices of doubles that remember how they were made, so that slopes can go back.
 *
 * Each function computes a matrix and puts it on the tape; cwi_tape_back then walks the tape from
 * its end and adds to the slope of every matrix what it did to those made of it.  Plain loops:
 * this is mathematics to read, not to wait for.
 */
#ifndef CWI_ENGINE_TAPE_H
#define CWI_ENGINE_TAPE_H

#include "score/params.h"

typedef struct cwi_node cwi_node;
struct cwi_node {
    int64_t rows, columns;
    double *value, *slope; /* [rows][columns] */
    cwi_node *a, *b;       /* what it is made of; borrowed */
    void (*back)(cwi_node *node);
    /* what the way back needs besides, borrowed */
    const int32_t *index;
    const int64_t *start;
    const float *weight;
    const uint8_t *gone;
    double factor;
    int64_t first, side;
    bool *touched; /* leaves: [rows] those that a slope may have reached */
    cwi_node *next;
};

typedef struct cwi_tape {
    cw_context *ctx;
    cwi_node *last;
    bool lacks_memory; /* a node could not be made; all that follow are NULL */
} cwi_tape;

void cwi_tape_clear(cwi_tape *tape);

/* Slopes of all nodes from those that were set. */
void cwi_tape_back(cwi_tape *tape);

/* The numbers of a tensor. */
cwi_node *cwi_tape_leaf(cwi_tape *tape, const cwi_tensor *tensor);
/* Rows first + index[0], first + index[1], ... of a. */
cwi_node *cwi_tape_rows(cwi_tape *tape, cwi_node *a, int64_t first, const int32_t *index,
                        int64_t n);
/* n columns of a from the first on. */
cwi_node *cwi_tape_columns(cwi_tape *tape, cwi_node *a, int64_t first, int64_t n);
/* a and b side by side. */
cwi_node *cwi_tape_beside(cwi_tape *tape, cwi_node *a, cwi_node *b);
/* a + factor b; b may have a single row, which is added to all. */
cwi_node *cwi_tape_add(cwi_tape *tape, cwi_node *a, cwi_node *b, double factor);
/* a * b, number by number; b may have a single row. */
cwi_node *cwi_tape_times(cwi_tape *tape, cwi_node *a, cwi_node *b);
/* The product of two matrices. */
cwi_node *cwi_tape_product(cwi_tape *tape, cwi_node *a, cwi_node *b);
/* S a for a sparse matrix S of so many rows: weight[e] in column index[e], start[r] <= e <
 * start[r + 1]. */
cwi_node *cwi_tape_spread(cwi_tape *tape, cwi_node *a, int64_t rows, const int64_t *start,
                          const int32_t *index, const float *weight);
/* x where x > 0, else slope x: 0 makes it a ReLU. */
cwi_node *cwi_tape_leaky(cwi_tape *tape, cwi_node *a, double slope);
cwi_node *cwi_tape_tanh(cwi_tape *tape, cwi_node *a);
cwi_node *cwi_tape_exp(cwi_tape *tape, cwi_node *a, double factor); /* e^(factor x) */
/* 0 where gone[k], else factor x; gone may be NULL. */
cwi_node *cwi_tape_drop(cwi_tape *tape, cwi_node *a, const uint8_t *gone, double factor);
/* Rows at length 1, but for those shorter than 1e-6. */
cwi_node *cwi_tape_normalise(cwi_tape *tape, cwi_node *a);
/* Row r of a times rows first(r) .. first(r) + columns - 1 of b: first(r) is where the part of r
 * begins, of `side` rows each, or `first` for all where side is 0. */
cwi_node *cwi_tape_cross(cwi_tape *tape, cwi_node *a, cwi_node *b, int64_t rows, int64_t columns,
                         int64_t side, int64_t first);
/* Sums of the rows: one column. */
cwi_node *cwi_tape_sums(cwi_tape *tape, cwi_node *a);

#endif

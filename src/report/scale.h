/* scale.h - axes: ranges, places, and where the marks go. */
#ifndef CWI_REPORT_SCALE_H
#define CWI_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cwi_scale {
    double from, to; /* values at the two ends */
    bool is_log;
    double start, end; /* places of the two ends */
    bool is_empty;     /* no value was added yet */
    bool has_parts;    /* not all of them are whole numbers, and marks need not be either */
} cwi_scale;

/* Widen the range so that it holds value; a logarithmic one takes what is above 0 alone. */
void cwi_scale_add(cwi_scale *scale, double value);

/* Leave a margin at the ends, so that nothing lies on the frame; the end at 0 stays. */
void cwi_scale_finish(cwi_scale *scale);

double cwi_scale_place(const cwi_scale *scale, double value);

enum { CWI_MAX_MARKS = 32 };

/* Round values along the scale; returns how many, and in digits how many to print of each. */
size_t cwi_scale_marks(const cwi_scale *scale, double mark[CWI_MAX_MARKS], int *digits);

#endif

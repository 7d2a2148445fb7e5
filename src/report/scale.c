/* scale.c - axes: ranges, places, and where the marks go. */
#include "report/scale.h"

#include <math.h>

#include "core/elementary.h"

void cwi_scale_add(cwi_scale *scale, double value)
{
    if (!isfinite(value) || (scale->is_log && !(value > 0))) return;
    if (scale->is_empty || value < scale->from) scale->from = value;
    if (scale->is_empty || value > scale->to) scale->to = value;
    scale->is_empty = false;
    scale->has_parts |= value != floor(value);
}

void cwi_scale_finish(cwi_scale *scale)
{
    if (scale->is_empty) {
        scale->from = scale->is_log ? 1 : 0;
        scale->to = scale->is_log ? 10 : 1;
    }
    if (scale->is_log) {
        scale->from /= 1.5;
        scale->to *= 1.5;
        return;
    }
    double margin = 0.05 * (scale->to - scale->from);
    if (!(margin > 0)) margin = scale->to != 0 ? 0.05 * fabs(scale->to) : 1;
    if (scale->from != 0) scale->from -= margin;
    if (scale->to != 0) scale->to += margin;
}

static double position(const cwi_scale *scale, double value)
{
    return scale->is_log ? cwi_log10(value) : value;
}

double cwi_scale_place(const cwi_scale *scale, double value)
{
    double from = position(scale, scale->from), to = position(scale, scale->to);
    double share = (position(scale, value) - from) / (to - from);
    return scale->start + share * (scale->end - scale->start);
}

/* 1, 2 or 5 times a power of ten, so that about five marks fit. */
static double find_step(double range)
{
    double power = cwi_pow(10, floor(cwi_log10(range / 5)));
    double times = range / 5 / power;
    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

static size_t linear_marks(const cwi_scale *scale, double mark[CWI_MAX_MARKS], int *digits)
{
    double step = find_step(scale->to - scale->from);
    if (!scale->has_parts && step < 1) step = 1;
    size_t n = 0;
    for (double k = ceil(scale->from / step); k * step <= scale->to && n < CWI_MAX_MARKS; k++)
        mark[n++] = k * step;
    *digits = step >= 1 ? 0 : (int)ceil(-cwi_log10(step) - 1e-9);
    return n;
}

static size_t log_marks(const cwi_scale *scale, double mark[CWI_MAX_MARKS], int *digits)
{
    static const double between[] = {1, 2, 5};
    bool is_wide = scale->to / scale->from > 300;
    size_t n = 0;
    for (double power = floor(cwi_log10(scale->from)); power <= cwi_log10(scale->to); power++)
        for (int k = 0; k < (is_wide ? 1 : 3) && n < CWI_MAX_MARKS; k++) {
            double value = between[k] * cwi_pow(10, power);
            if (value >= scale->from && value <= scale->to) mark[n++] = value;
        }
    *digits = -1; /* each as short as it can be */
    return n;
}

size_t cwi_scale_marks(const cwi_scale *scale, double mark[CWI_MAX_MARKS], int *digits)
{
    return scale->is_log ? log_marks(scale, mark, digits) : linear_marks(scale, mark, digits);
}

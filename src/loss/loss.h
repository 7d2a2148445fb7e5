/* loss.h - from the scores of a row to one value and one slope per slot. */
#ifndef CWI_LOSS_LOSS_H
#define CWI_LOSS_LOSS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A loss.  It never knows the backbone.
 *   rows    required: values of all rows added up (in row order, in double); slope[j] is
 *           scale * dloss/dscore of slot j
 *   margin  optional: how well each row is ranked already; selection keeps the smallest
 */
typedef struct cwi_loss {
    const char *name;
    double (*rows)(const float *score, int64_t rows, int32_t slots, float scale, float *slope);
    void (*margin)(const float *score, int64_t rows, int32_t slots, double *margin);
} cwi_loss;

extern const cwi_loss cwi_loss_bpr, cwi_loss_cpr;

static inline double cwi_softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static inline double cwi_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* A loss of one margin per row: sum of sp(-margin), from margin(score, slots) and the slope of the
 * margin in each slot, dmargin(slots, slot). */
#define CWI_DEFINE_MARGIN_LOSS(id, margin, dmargin)                                                \
    static double id##_rows(const float *score, int64_t rows, int32_t slots, float scale,          \
                            float *slope)                                                          \
    {                                                                                              \
        double sum = 0;                                                                            \
        for (int64_t r = 0; r < rows; r++, score += slots, slope += slots) {                       \
            double x = margin(score, slots);                                                       \
            double d = -cwi_sigmoid(-x) * (double)scale;                                           \
            sum += cwi_softplus(-x);                                                               \
            for (int32_t j = 0; j < slots; j++) slope[j] = (float)(d * dmargin(slots, j));         \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void id##_margins(const float *score, int64_t rows, int32_t slots, double *out)         \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++) out[r] = margin(score + r * slots, slots);              \
    }                                                                                              \
    const cwi_loss cwi_loss_##id = {#id, id##_rows, id##_margins}

#endif

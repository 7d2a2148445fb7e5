/*
 * fs.c - fair sampling: users and items are as often part of a positive as of a negative.
 *
 * A row is that of CPR: k observed pairs (u_j, i_j), then the crossed (u_j, i_{j+1}).  The pairs
 * are told from the crosses one user at a time (fs-pair), or one score at a time (fs-point).
 */
#include "loss/formula.h"

CWI_FORMULA double fs_pair_row(const double *setting, const float *s, int32_t width, float mark,
                               float scale, float *slope)
{
    int32_t k = width / 2;
    double sum = 0;
    (void)setting;
    (void)mark;
    for (int32_t j = 0; j < k; j++) {
        double d;
        sum += cwi_rank_loss((double)s[j] - (double)s[k + j], &d);
        slope[j] = (float)(d * (double)scale / k);
        slope[k + j] = -slope[j];
    }
    return sum / k;
}

CWI_FORMULA double fs_point_row(const double *setting, const float *s, int32_t width, float mark,
                                float scale, float *slope)
{
    double sum = 0;
    (void)setting;
    (void)mark;
    for (int32_t j = 0; j < width; j++) {
        double sign = 2 * j < width ? 1 : -1, d;
        sum += cwi_rank_loss(sign * (double)s[j], &d);
        slope[j] = (float)(sign * d * (double)scale / width);
    }
    return sum / width;
}

CWI_DEFINE_LOSS(fs_pair, .name = "fs-pair", .by_difference = true);
CWI_DEFINE_LOSS(fs_point, .name = "fs-point");

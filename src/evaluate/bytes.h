/* bytes.h - vectors rounded to bytes, and how far their inner products can be from the floats'. */
#ifndef CWI_EVALUATE_BYTES_H
#define CWI_EVALUATE_BYTES_H

#include "backend/backend.h"

/* Sums of so many products of bytes, one side moved up by 128, stay far from the ends of 32 bits.
 */
enum { CWI_BYTES_WIDEST = 16384 };

/* x = scale * byte + what is left. */
typedef struct cwi_rounded {
    float scale;   /* 0 where x is next to nothing */
    float length;  /* at least |x| and |scale * byte| */
    float rest;    /* at least |what is left| */
    int32_t sum;   /* of the bytes */
    double square; /* sum of their squares */
} cwi_rounded;

/* Round d <= CWI_BYTES_WIDEST numbers to -127 .. 127 of a unit that fits the largest.  False where
 * one is not finite or so large that products might not be. */
bool cwi_round(const float *x, int32_t d, int8_t *byte, cwi_rounded *out);

/*
 * What `screen` of the backend needs of a user other than the bytes: for every item whose length
 * and rest are those of its rounding, and in units of the user's scale,
 *   |score_block - middle| <= by_length length + by_rest rest + slack
 * with middle = sum * scale as `screen` computes it, and its sum with the error.  Returns the
 * slack; the scale must not be 0.
 */
float cwi_round_user(const cwi_rounded *user, int32_t d, cwi_screen_user *out);

#endif

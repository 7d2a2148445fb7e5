/* screen.h - bounds of inner products in plain C: what the operation means. */
#ifndef CWI_BACKEND_CPU_SCREEN_H
#define CWI_BACKEND_CPU_SCREEN_H

#include "backend/backend.h"

/* The two halves are apart, so that compilers make vectors of the first. */
static inline void add_bytes(const cwi_screen_panel *panel, const cwi_screen_user *user,
                             int32_t depth, int32_t *restrict sum)
{
    const uint8_t *restrict item = panel->byte;
    for (int i = 0; i < CWI_SCREEN_ITEMS; i++) sum[i] = user->start;
    for (int32_t j = 0; j < depth; j++)
        for (int i = 0; i < CWI_SCREEN_ITEMS; i++)
            sum[i] += item[(j - j % 4) * CWI_SCREEN_ITEMS + 4 * i + j % 4] * user->byte[j];
}

static inline uint64_t find_above(const cwi_screen_panel *panel, const cwi_screen_user *user,
                                  const int32_t *sum)
{
    uint64_t above = 0;
    for (int i = 0; i < CWI_SCREEN_ITEMS; i++) {
        float middle = (float)sum[i] * panel->scale[i];
        float error = user->by_length * panel->length[i] + user->by_rest * panel->rest[i];
        above |= (uint64_t)(middle + error >= user->bound) << i;
    }
    return above;
}

static inline void screen_plain(const cwi_screen_panel *panel, const cwi_screen_user *users,
                                int32_t n, int32_t depth, int32_t *sum, uint64_t *above)
{
    for (int32_t k = 0; k < n; k++, sum += CWI_SCREEN_ITEMS) {
        add_bytes(panel, &users[k], depth, sum);
        above[k] = find_above(panel, &users[k], sum);
    }
}

/* Without an instruction for sums of four products of bytes there is nothing to gain: products of
 * 16 bits are as fast as those of floats. */
static inline bool never(void)
{
    return false;
}

#endif

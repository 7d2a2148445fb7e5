/* idset.c - bits of numbers, and bits of words of them. */
#include "core/idset.h"

#include "core/mem.h"

enum { BITS = 64 };

cw_status cwi_idset_create(cw_context *ctx, int64_t n, cwi_idset *out)
{
    int64_t words = n / BITS + 1;
    *out = (cwi_idset){.n_filled = words / BITS + 1};
    out->word = cwi_alloc_zero(ctx, (size_t)words, sizeof *out->word);
    out->filled = cwi_alloc_zero(ctx, (size_t)out->n_filled, sizeof *out->filled);
    if (out->word && out->filled) return CW_OK;
    cwi_idset_clear(out);
    return CW_NO_MEMORY;
}

void cwi_idset_clear(cwi_idset *set)
{
    cwi_free(set->word);
    cwi_free(set->filled);
    *set = (cwi_idset){0};
}

int64_t cwi_idset_take(cwi_idset *set, int32_t *list)
{
    int64_t n = 0;
    for (int64_t f = 0; f < set->n_filled; f++) {
        for (; set->filled[f]; set->filled[f] &= set->filled[f] - 1) {
            int64_t w = f * BITS + __builtin_ctzll(set->filled[f]);
            for (uint64_t left = set->word[w]; left; left &= left - 1)
                list[n++] = (int32_t)(w * BITS + __builtin_ctzll(left));
            set->word[w] = 0;
        }
    }
    return n;
}

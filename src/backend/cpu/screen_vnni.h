/*
 * screen_vnni.h - bounds of inner products where the CPU has AVX-512 VNNI.
 *
 * One instruction adds four products of an unsigned and a signed byte to each of 16 sums.  Lanes
 * are items, whose bytes lie so that four columns of 16 items are one vector; the four bytes of a
 * user are copied to all lanes.  A tile of 6 users by 64 items keeps its 24 sums in registers and
 * is turned into bounds there.  CPUs may have AVX-512 without this instruction, so that it is asked
 * for at run time.
 */
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/screen.h"

enum { SCREEN_USERS = 6, SCREEN_VECS = CWI_SCREEN_ITEMS / 16 };

__attribute__((always_inline)) static inline uint64_t
vnni_above(const cwi_screen_panel *panel, const cwi_screen_user *user, const __m512i *sum)
{
    __m512 by_length = _mm512_set1_ps(user->by_length), by_rest = _mm512_set1_ps(user->by_rest);
    __m512 bound = _mm512_set1_ps(user->bound);
    uint64_t above = 0;
#pragma GCC unroll 4
    for (int v = 0; v < SCREEN_VECS; v++) {
        __m512 scale = _mm512_loadu_ps(panel->scale + 16 * v);
        __m512 middle = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[v]), scale);
        __m512 far = _mm512_mul_ps(by_length, _mm512_loadu_ps(panel->length + 16 * v));
        __m512 rest = _mm512_mul_ps(by_rest, _mm512_loadu_ps(panel->rest + 16 * v));
        __m512 upper = _mm512_add_ps(middle, _mm512_add_ps(far, rest));
        above |= (uint64_t)_mm512_cmp_ps_mask(upper, bound, _CMP_GE_OQ) << (16 * v);
    }
    return above;
}

/* Add four products a lane.  With the intrinsic gcc 12 copies every sum to memory and back. */
__attribute__((always_inline)) static inline void add_products(__m512i *sum, __m512i item,
                                                               __m512i user)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(item), "v"(user));
}

/* Where n is constant the sums stay in registers, so it has to be inlined. */
__attribute__((always_inline)) static inline void vnni_tile(const cwi_screen_panel *panel,
                                                            const cwi_screen_user *users, int n,
                                                            int32_t depth, int32_t *out,
                                                            uint64_t *above)
{
    __m512i sum[SCREEN_USERS][SCREEN_VECS];
    const uint8_t *items = panel->byte;
#pragma GCC unroll 6
    for (int k = 0; k < n; k++)
#pragma GCC unroll 4
        for (int v = 0; v < SCREEN_VECS; v++) sum[k][v] = _mm512_set1_epi32(users[k].start);
    for (int32_t j = 0; j < depth; j += 4, items += 4 * CWI_SCREEN_ITEMS) {
        __m512i item[SCREEN_VECS];
#pragma GCC unroll 4
        for (int v = 0; v < SCREEN_VECS; v++) item[v] = _mm512_loadu_si512(items + 64 * v);
#pragma GCC unroll 6
        for (int k = 0; k < n; k++) {
            int32_t four;
            memcpy(&four, users[k].byte + j, sizeof four);
            __m512i user = _mm512_set1_epi32(four);
#pragma GCC unroll 4
            for (int v = 0; v < SCREEN_VECS; v++) add_products(&sum[k][v], item[v], user);
        }
    }
#pragma GCC unroll 6
    for (int k = 0; k < n; k++) {
        above[k] = vnni_above(panel, &users[k], sum[k]);
#pragma GCC unroll 4
        for (int v = 0; v < SCREEN_VECS; v++)
            _mm512_storeu_si512(out + k * CWI_SCREEN_ITEMS + 16 * v, sum[k][v]);
    }
}

static void screen_vnni(const cwi_screen_panel *panel, const cwi_screen_user *users, int32_t n,
                        int32_t depth, int32_t *sum, uint64_t *above)
{
    int32_t k = 0;
    for (; k + SCREEN_USERS <= n; k += SCREEN_USERS)
        vnni_tile(panel, users + k, SCREEN_USERS, depth, sum + k * CWI_SCREEN_ITEMS, above + k);
    for (; k < n; k++) vnni_tile(panel, users + k, 1, depth, sum + k * CWI_SCREEN_ITEMS, above + k);
}

static bool has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static void screen_best(const cwi_screen_panel *panel, const cwi_screen_user *users, int32_t n,
                        int32_t depth, int32_t *sum, uint64_t *above)
{
    if (has_vnni())
        screen_vnni(panel, users, n, depth, sum, above);
    else
        screen_plain(panel, users, n, depth, sum, above);
}

/*
 * score.h - inner products of all users of a block with all items, in tiles of registers.
 *
 * Users are packed, so that one vector holds number j of neighbouring users; items are read as they
 * lie.  A tile is a few items by a few vectors of users, whose sums stay in registers.  Each sum is
 * one chain of fused steps in the order of j, so that the bits depend neither on the block nor on
 * the width of a vector.  Include it after defining `vec`, vec_fma(), TILE_ITEMS, and score_one()
 * for blocks of a few users.
 */
#include <stdint.h>
#include <string.h>

enum {
    TILE_VECS = 3,
    VEC_LANES = (int)(sizeof(vec) / sizeof(float)),
    TILE_USERS = TILE_VECS * VEC_LANES,
    FEW_USERS = VEC_LANES < 8 ? 2 : 4, /* so many are faster one by one */
    DEPTH = 256                        /* columns packed at once: what stays near the core */
};

/* Some columns of a few users, to be multiplied with all items. */
typedef struct user_panel {
    const float *items; /* [n_items][d] */
    int32_t n_items, d;
    int32_t first, depth; /* the columns */
    int32_t n_users;
    float *out;                    /* [n_users][n_items] */
    vec packed[DEPTH * TILE_VECS]; /* [depth][vectors] */
} user_panel;

static void pack_users(user_panel *p, const float *const *users, int32_t vecs)
{
    float *to = (float *)p->packed;
    int32_t lanes = vecs * VEC_LANES;
    memset(to, 0, (size_t)(p->depth * lanes) * sizeof *to);
    for (int32_t k = 0; k < p->n_users; k++)
        for (int32_t j = 0; j < p->depth; j++) to[j * lanes + k] = users[k][p->first + j];
}

/* Add the products to the sums of a tile.  The last item stands in for those beyond it. */
__attribute__((always_inline)) static inline void add_tile(const user_panel *p, int32_t item,
                                                           int32_t vecs, vec *tile)
{
    const vec *users = p->packed;
    const float *row[TILE_ITEMS];
    vec sum[TILE_ITEMS][TILE_VECS];
    for (int i = 0; i < TILE_ITEMS; i++) {
        int64_t at = item + i < p->n_items ? item + i : p->n_items - 1;
        row[i] = p->items + at * p->d + p->first;
        for (int v = 0; v < vecs; v++) sum[i][v] = tile[i * vecs + v];
    }
    for (int32_t j = 0; j < p->depth; j++, users += vecs)
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ITEMS; i++)
#pragma GCC unroll 3
            for (int v = 0; v < vecs; v++) sum[i][v] = vec_fma(row[i][j], users[v], sum[i][v]);
    for (int i = 0; i < TILE_ITEMS; i++)
        for (int v = 0; v < vecs; v++) tile[i * vecs + v] = sum[i][v];
}

/* Sums of the columns before are in `out` already.  Where vecs is constant the sums of a tile stay
 * in registers, so it has to be inlined. */
__attribute__((always_inline)) static inline void score_panel(const user_panel *p, int32_t vecs)
{
    vec tile[TILE_ITEMS * TILE_VECS];
    float *sum = (float *)tile;
    int32_t lanes = vecs * VEC_LANES;
    for (int32_t item = 0; item < p->n_items; item += TILE_ITEMS) {
        int32_t n = p->n_items - item < TILE_ITEMS ? p->n_items - item : TILE_ITEMS;
        float *out = p->out + item;
        memset(tile, 0, sizeof tile);
        for (int32_t k = 0; k < p->n_users && p->first > 0; k++)
            for (int32_t i = 0; i < n; i++) sum[i * lanes + k] = out[(int64_t)k * p->n_items + i];
        add_tile(p, item, vecs, tile);
        for (int32_t k = 0; k < p->n_users; k++)
            for (int32_t i = 0; i < n; i++) out[(int64_t)k * p->n_items + i] = sum[i * lanes + k];
    }
}

static void score_columns(user_panel *p, const float *const *users)
{
    int32_t vecs = (p->n_users + VEC_LANES - 1) / VEC_LANES;
    pack_users(p, users, vecs);
    if (vecs == 1)
        score_panel(p, 1);
    else if (vecs == 2)
        score_panel(p, 2);
    else
        score_panel(p, TILE_VECS);
}

static void score_block(const float *const *users, int32_t n, const float *items, int32_t n_items,
                        int32_t d, float *out)
{
    user_panel p;
    p.items = items;
    p.n_items = n_items;
    p.d = d;
    p.out = out;
    while (n > FEW_USERS) {
        p.n_users = n < TILE_USERS ? n : TILE_USERS;
        p.first = 0;
        do {
            p.depth = d - p.first < DEPTH ? d - p.first : DEPTH;
            score_columns(&p, users);
            p.first += DEPTH;
        } while (p.first < d);
        users += p.n_users;
        n -= p.n_users;
        p.out += (int64_t)p.n_users * n_items;
    }
    for (int32_t k = 0; k < n; k++)
        score_one(users[k], items, n_items, d, p.out + (int64_t)k * n_items);
}

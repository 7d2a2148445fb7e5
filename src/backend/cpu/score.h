/*
 * score.h - inner products of all users of a block with all items, in tiles of registers.
 *
 * Users are packed, so that one vector holds number j of neighbouring users; items are read as they
 * lie.  A tile is a few items by TILE_VECS vectors of users whose sums stay in registers.  Each sum
 * is one chain of fused steps in the order of j, so that the bits depend neither on the block, nor
 * on the tile, nor on the width of a vector.  Include it after defining `vec`, vec_fma() and
 * TILE_ITEMS.
 */
#include <stdint.h>
#include <string.h>

enum {
    TILE_VECS = 3,
    VEC_LANES = (int)(sizeof(vec) / sizeof(float)),
    TILE_USERS = TILE_VECS * VEC_LANES,
    DEPTH = 256 /* numbers of a user packed at once: what stays near the core */
};

/* Some columns of one panel of users and of all items. */
typedef struct user_panel {
    const float *items;
    int32_t n_items, d;
    int32_t first, depth; /* columns */
    int32_t n_users;
    float *out;                  /* [n_users][n_items] */
    vec users[DEPTH][TILE_VECS]; /* of `depth` columns, or the beginning of each row of it */
} user_panel;

static void pack_users(user_panel *p, const float *const *users, int32_t vecs)
{
    float *to = (float *)p->users;
    int32_t lanes = vecs * VEC_LANES;
    memset(to, 0, (size_t)(p->depth * lanes) * sizeof *to);
    for (int32_t k = 0; k < p->n_users; k++)
        for (int32_t j = 0; j < p->depth; j++) to[j * lanes + k] = users[k][p->first + j];
}

/* Number `i` of a tile; the last item stands in for those that are not there. */
static inline const float *tile_item(const user_panel *p, int32_t item)
{
    int64_t at = item < p->n_items ? item : p->n_items - 1;
    return p->items + at * p->d + p->first;
}

__attribute__((always_inline)) static inline void add_tile(const user_panel *p, int32_t item,
                                                           int32_t vecs, vec *tile)
{
    const vec *users = p->users[0];
    const float *row[TILE_ITEMS];
    vec sum[TILE_ITEMS][TILE_VECS];
    for (int i = 0; i < TILE_ITEMS; i++) row[i] = tile_item(p, item + i);
    for (int i = 0; i < TILE_ITEMS; i++)
        for (int v = 0; v < vecs; v++) sum[i][v] = tile[i * vecs + v];
    for (int32_t j = 0; j < p->depth; j++, users += vecs) {
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ITEMS; i++)
#pragma GCC unroll 3
            for (int v = 0; v < vecs; v++) sum[i][v] = vec_fma(row[i][j], users[v], sum[i][v]);
    }
    for (int i = 0; i < TILE_ITEMS; i++)
        for (int v = 0; v < vecs; v++) tile[i * vecs + v] = sum[i][v];
}

__attribute__((always_inline)) static inline void score_panel(const user_panel *p, int32_t vecs)
{
    vec tile[TILE_ITEMS * TILE_VECS];
    float *sum = (float *)tile;
    int32_t lanes = vecs * VEC_LANES;
    for (int32_t item = 0; item < p->n_items; item += TILE_ITEMS) {
        int32_t n = p->n_items - item < TILE_ITEMS ? p->n_items - item : TILE_ITEMS;
        memset(tile, 0, sizeof tile);
        if (p->first > 0)
            for (int32_t k = 0; k < p->n_users; k++)
                for (int32_t i = 0; i < n; i++)
                    sum[i * lanes + k] = p->out[(int64_t)k * p->n_items + item + i];
        add_tile(p, item, vecs, tile);
        for (int32_t k = 0; k < p->n_users; k++)
            for (int32_t i = 0; i < n; i++)
                p->out[(int64_t)k * p->n_items + item + i] = sum[i * lanes + k];
    }
}

static void score_block(const float *const *users, int32_t n, const float *items, int32_t n_items,
                        int32_t d, float *out)
{
    user_panel p = {.items = items, .n_items = n_items, .d = d};
    for (int32_t k = 0; k < n; k += TILE_USERS) {
        p.n_users = n - k < TILE_USERS ? n - k : TILE_USERS;
        p.out = out + (int64_t)k * n_items;
        for (p.first = 0; p.first < d; p.first += DEPTH) {
            p.depth = d - p.first < DEPTH ? d - p.first : DEPTH;
            int32_t vecs = (p.n_users + VEC_LANES - 1) / VEC_LANES;
            pack_users(&p, users + k, vecs);
            if (vecs == 1)
                score_panel(&p, 1);
            else if (vecs == 2)
                score_panel(&p, 2);
            else
                score_panel(&p, 3);
        }
    }
}

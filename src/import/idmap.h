/* idmap.h - raw ids (any strings) to numbers 0, 1, 2, ... in order of first appearance. */
#ifndef CWI_IMPORT_IDMAP_H
#define CWI_IMPORT_IDMAP_H

#include "core/context.h"

enum { CWI_MAX_ID_BYTES = 1000000 };

/* A place of the hash table.  Ids of up to 8 bytes are their own key, so that nearly every look-up
 * touches one cache line and no text; longer ones have a 64-bit hash as key. */
typedef struct cwi_idslot {
    uint64_t key;
    uint32_t hash;  /* where the search begins, kept for growing */
    uint32_t entry; /* 0 is empty, else index + 1, with the top bit set for a long id */
} cwi_idslot;

/* Ids lie one after the other in one block of text, each with its end, so that a map costs
 * its text plus about 40 bytes an id. */
typedef struct cwi_idmap {
    int32_t count;
    int64_t *start;        /* [count] offset of each id in text */
    size_t start_capacity; /* ids that start has room for */
    char *text;
    size_t text_used, text_capacity;
    cwi_idslot *slot; /* [n_slots] open addressing */
    size_t n_slots;   /* a power of two, or 0 */
} cwi_idmap;

void cwi_idmap_init(cwi_idmap *map);
void cwi_idmap_clear(cwi_idmap *map); /* frees; the map is empty again */

/* Number of the id; it is added when it is new.  length is 1..CWI_MAX_ID_BYTES, no zero byte. */
cw_status cwi_idmap_add(cw_context *ctx, cwi_idmap *map, const char *id, size_t length,
                        int32_t *out);

/* Number of the id, or -1; an empty one is nobody's. */
int32_t cwi_idmap_find(const cwi_idmap *map, const char *id, size_t length);

/* The id as it was read; borrowed until the next add or clear. */
const char *cwi_idmap_text(const cwi_idmap *map, int32_t index);

/* Memory that it takes. */
int64_t cwi_idmap_bytes(const cwi_idmap *map);

/* A new map of the given ids of `from`, in that order: new id k is old id which[k];
 * which NULL keeps all in their order. */
cw_status cwi_idmap_select(cw_context *ctx, const cwi_idmap *from, const int32_t *which,
                           int32_t count, cwi_idmap *out);

cw_status cwi_idmap_copy(cw_context *ctx, const cwi_idmap *from, cwi_idmap *out);

/* A map of the numbers 0..count-1 as text. */
cw_status cwi_idmap_number(cw_context *ctx, int32_t count, cwi_idmap *out);

#endif

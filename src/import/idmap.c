/* idmap.c - a hash table of strings with linear probing. */
#define XXH_INLINE_ALL /* most ids are short: the call would cost as much as the hash */
#include "import/idmap.h"

#include <string.h>
#include <xxhash.h>

#include "core/mem.h"
#include "core/text.h"

enum { FIRST_SLOTS = 1024 };

static const uint32_t long_id = UINT32_C(1) << 31;

void cwi_idmap_init(cwi_idmap *map)
{
    *map = (cwi_idmap){0};
}

void cwi_idmap_clear(cwi_idmap *map)
{
    cwi_free(map->start);
    cwi_free(map->text);
    cwi_free(map->slot);
    cwi_idmap_init(map);
}

static uint64_t load32(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    return byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24;
}

/* The bytes of a short id in one number; different ids give different numbers because none holds
 * a zero byte.  Reads may overlap: the same bytes then fall on the same place. */
static uint64_t pack(const char *id, size_t length)
{
    if (length >= 4) return load32(id) | load32(id + length - 4) << 8 * (length - 4);
    size_t middle = length / 2, last = length - 1;
    return (unsigned char)id[0] | (uint64_t)(unsigned char)id[middle] << 8 * middle |
           (uint64_t)(unsigned char)id[last] << 8 * last;
}

/* The slot that an id would have; its index is not known yet. */
static cwi_idslot slot_of(const char *id, size_t length)
{
    if (length > sizeof(uint64_t)) {
        uint64_t key = XXH3_64bits(id, length);
        return (cwi_idslot){.key = key, .hash = (uint32_t)key, .entry = long_id};
    }
    uint64_t key = pack(id, length);
    return (cwi_idslot){.key = key, .hash = (uint32_t)XXH3_64bits(&key, sizeof key)};
}

static bool is_same(const cwi_idmap *map, uint32_t index, const char *id, size_t length)
{
    size_t start = (size_t)map->start[index];
    if (length >= map->text_used - start) return false;
    return map->text[start + length] == '\0' && memcmp(map->text + start, id, length) == 0;
}

static uint32_t index_of(cwi_idslot slot)
{
    return (slot.entry & ~long_id) - 1;
}

/* Where the id is, or the empty slot where it belongs.  The table is never full. */
static size_t find_slot(const cwi_idmap *map, cwi_idslot wanted, const char *id, size_t length)
{
    size_t mask = map->n_slots - 1;
    size_t at = wanted.hash & mask;
    for (;; at = (at + 1) & mask) {
        const cwi_idslot *slot = &map->slot[at];
        if (slot->entry == 0) return at;
        if (slot->key != wanted.key || (slot->entry & long_id) != wanted.entry) continue;
        if (wanted.entry == 0 || is_same(map, index_of(*slot), id, length)) return at;
    }
}

/* Twice as many slots.  The hashes in the slots are enough to find the new places. */
static cw_status widen(cw_context *ctx, cwi_idmap *map)
{
    size_t n_slots = map->n_slots ? map->n_slots * 2 : FIRST_SLOTS;
    cwi_idslot *slot = cwi_alloc_zero(ctx, n_slots, sizeof *slot);
    if (!slot) return CW_NO_MEMORY;
    for (size_t old = 0; old < map->n_slots; old++) {
        if (map->slot[old].entry == 0) continue;
        size_t at = map->slot[old].hash & (n_slots - 1);
        while (slot[at].entry != 0) at = (at + 1) & (n_slots - 1);
        slot[at] = map->slot[old];
    }
    cwi_free(map->slot);
    map->slot = slot;
    map->n_slots = n_slots;
    return CW_OK;
}

/* Room for one more id of this length. */
static cw_status reserve(cw_context *ctx, cwi_idmap *map, size_t length)
{
    size_t count = (size_t)map->count;

    if (map->count >= INT32_MAX - 1)
        return cwi_fail(ctx, CW_BAD_DATA, "there are more than %d different ids", INT32_MAX - 1);
    if ((count + 1) * 4 > map->n_slots * 3) CW_PASS(widen(ctx, map));
    CW_PASS(cwi_grow(ctx, &map->start, &map->start_capacity, count + 1, sizeof *map->start));
    return cwi_grow(ctx, &map->text, &map->text_capacity, map->text_used + length + 1, 1);
}

cw_status cwi_idmap_add(cw_context *ctx, cwi_idmap *map, const char *id, size_t length,
                        int32_t *out)
{
    cwi_idslot slot = slot_of(id, length);
    size_t at = 0, n_slots = map->n_slots;

    if (n_slots > 0) {
        at = find_slot(map, slot, id, length);
        if (map->slot[at].entry != 0) {
            *out = (int32_t)index_of(map->slot[at]);
            return CW_OK;
        }
    }
    CW_PASS(reserve(ctx, map, length));
    if (map->n_slots != n_slots) at = find_slot(map, slot, id, length);
    memcpy(map->text + map->text_used, id, length);
    map->text[map->text_used + length] = '\0';
    map->start[map->count] = (int64_t)map->text_used;
    map->text_used += length + 1;
    *out = map->count++;
    slot.entry |= (uint32_t)map->count;
    map->slot[at] = slot;
    return CW_OK;
}

int32_t cwi_idmap_find(const cwi_idmap *map, const char *id, size_t length)
{
    if (map->n_slots == 0 || length == 0) return -1;
    size_t at = find_slot(map, slot_of(id, length), id, length);
    return map->slot[at].entry ? (int32_t)index_of(map->slot[at]) : -1;
}

const char *cwi_idmap_text(const cwi_idmap *map, int32_t index)
{
    return map->text + map->start[index];
}

int64_t cwi_idmap_bytes(const cwi_idmap *map)
{
    return (int64_t)(map->start_capacity * sizeof *map->start + map->text_capacity +
                     map->n_slots * sizeof *map->slot);
}

cw_status cwi_idmap_select(cw_context *ctx, const cwi_idmap *from, const int32_t *which,
                           int32_t count, cwi_idmap *out)
{
    cw_status status = CW_OK;
    int32_t index;

    cwi_idmap_init(out);
    for (int32_t k = 0; k < count && status == CW_OK; k++) {
        const char *id = cwi_idmap_text(from, which ? which[k] : k);
        status = cwi_idmap_add(ctx, out, id, strlen(id), &index);
    }
    if (status != CW_OK) cwi_idmap_clear(out);
    return status;
}

cw_status cwi_idmap_copy(cw_context *ctx, const cwi_idmap *from, cwi_idmap *out)
{
    return cwi_idmap_select(ctx, from, NULL, from->count, out);
}

cw_status cwi_idmap_number(cw_context *ctx, int32_t count, cwi_idmap *out)
{
    cw_status status = CW_OK;
    char digits[CWI_NUMBER_BYTES];
    int32_t index;

    cwi_idmap_init(out);
    for (int32_t k = 0; k < count && status == CW_OK; k++)
        status = cwi_idmap_add(ctx, out, digits, cwi_print_int(k, digits), &index);
    if (status != CW_OK) cwi_idmap_clear(out);
    return status;
}

/* mem.h - all heap memory: sizes are checked for overflow, failures can be injected. */
#ifndef CWI_CORE_MEM_H
#define CWI_CORE_MEM_H

#include "core/context.h"

/* Room for count things of size bytes; NULL with a message in ctx when there is none.  Blocks
 * of 1 KiB and more are aligned to 64 bytes.  A count of 0 gives a block that can be freed. */
void *cwi_alloc(cw_context *ctx, size_t count, size_t size);

/* cwi_alloc, all bytes 0. */
void *cwi_alloc_zero(cw_context *ctx, size_t count, size_t size);

/* Change the size of a block, keeping its contents (not its alignment).  On failure NULL is
 * returned and the old block stays as it was. */
void *cwi_resize(cw_context *ctx, void *block, size_t count, size_t size);

/* Make *block (a pointer to a pointer) hold at least need things, growing by half so that
 * appending costs constant time.  *capacity is updated. */
cw_status cwi_grow(cw_context *ctx, void *block, size_t *capacity, size_t need, size_t size);

char *cwi_strdup(cw_context *ctx, const char *text);

/* printf into a new string. */
char *cwi_format(cw_context *ctx, const char *format, ...) CWI_PRINTF(2, 3);

void cwi_free(void *block); /* NULL is fine */

/*
 * Blocks that are freed together, for what has many arrays; a zeroed pile is an empty one.  Once a
 * block was not to be had, none is, and status stays CW_NO_MEMORY: one look after the last is
 * enough.
 */
typedef struct cwi_pile {
    void **block;
    size_t count, capacity;
    cw_status status;
} cwi_pile;

/* cwi_alloc and cwi_alloc_zero. */
void *cwi_pile_add(cw_context *ctx, cwi_pile *pile, size_t count, size_t size);
void *cwi_pile_add_zero(cw_context *ctx, cwi_pile *pile, size_t count, size_t size);

/* Let the pile free a block that is there (NULL: it was not to be had); one that finds no place is
 * freed at once. */
void cwi_pile_own(cw_context *ctx, cwi_pile *pile, void *block);

void cwi_pile_clear(cwi_pile *pile); /* frees all; the pile is empty again */

/* Ask for memory that is read soon: into the second level of caches, which can wait for more of it
 * at a time than the first.  A call that is not inlined has no effect that gcc sees, and vanishes.
 */
__attribute__((always_inline)) static inline void cwi_fetch(const void *from, int64_t length)
{
    enum { LINE = 64, SECOND_LEVEL = 2 };
    for (int64_t b = 0; b < length; b += LINE)
        __builtin_prefetch((const char *)from + b, 0, SECOND_LEVEL);
}

/* Address space for so many bytes, all 0, of which only what is written to takes memory.  forget
 * takes back the pages that lie between two places: they are 0 again. */
void *cwi_space_open(cw_context *ctx, size_t bytes);
void cwi_space_forget(void *space, size_t from, size_t to);
void cwi_space_close(void *space, size_t bytes); /* NULL is fine */

/* Test hook: let the nth allocation from now on fail, once; 0 switches it off. */
void cwi_mem_fail_at(cw_context *ctx, int64_t nth);

/* Is there address space for so many bytes?  For libraries that end the program when there is not.
 */
bool cwi_has_room(size_t bytes);

#endif

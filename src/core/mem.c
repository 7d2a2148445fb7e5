/* mem.c - checked allocation. */
#include "core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 64, ALIGNED_FROM = 1024, HUGE_PAGE = 1 << 21, HUGE_FROM = HUGE_PAGE };

/* Counts down to the allocation that a test wants to fail. */
static bool must_fail(cw_context *ctx)
{
    return atomic_load(&ctx->fail_at) > 0 && atomic_fetch_sub(&ctx->fail_at, 1) == 1;
}

/* Bytes of an array, or 0 when there are too many to ask for. */
static size_t checked_bytes(size_t count, size_t size)
{
    if (count == 0 || size == 0) return 1;
    if (count > (SIZE_MAX / 2 - HUGE_PAGE) / size) return 0;
    return count * size;
}

static void *no_memory(cw_context *ctx, size_t count, size_t size)
{
    (void)cwi_fail(ctx, CW_NO_MEMORY, "out of memory (%zu x %zu bytes)", count, size);
    return NULL;
}

/* Tables that are read here and there live on huge pages where the system has them: an ordinary
 * page for each row would cost a walk of the page tables. */
static void *allocate(size_t bytes)
{
    if (bytes < ALIGNED_FROM) return malloc(bytes);
    size_t alignment = bytes < HUGE_FROM ? ALIGNMENT : HUGE_PAGE;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    void *block = aligned_alloc(alignment, bytes);
#ifdef MADV_HUGEPAGE
    if (block && alignment == HUGE_PAGE) (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
}

void *cwi_alloc(cw_context *ctx, size_t count, size_t size)
{
    size_t bytes = checked_bytes(count, size);
    if (bytes == 0 || must_fail(ctx)) return no_memory(ctx, count, size);
    void *block = allocate(bytes);
    if (!block) return no_memory(ctx, count, size);
    return block;
}

void *cwi_alloc_zero(cw_context *ctx, size_t count, size_t size)
{
    void *block = cwi_alloc(ctx, count, size);
    if (block) memset(block, 0, checked_bytes(count, size));
    return block;
}

void *cwi_resize(cw_context *ctx, void *block, size_t count, size_t size)
{
    size_t bytes = checked_bytes(count, size);
    if (bytes == 0 || must_fail(ctx)) return no_memory(ctx, count, size);
    void *moved = realloc(block, bytes);
    if (!moved) return no_memory(ctx, count, size);
    return moved;
}

cw_status cwi_grow(cw_context *ctx, void *block, size_t *capacity, size_t need, size_t size)
{
    void *held;
    if (need <= *capacity) return CW_OK;
    size_t wanted = *capacity + *capacity / 2;
    if (wanted < need) wanted = need;
    if (wanted < 16) wanted = 16;
    /* block points to a typed pointer; copying its bytes avoids a cast that aliases. */
    memcpy(&held, block, sizeof held);
    held = cwi_resize(ctx, held, wanted, size);
    if (!held) return CW_NO_MEMORY;
    memcpy(block, &held, sizeof held);
    *capacity = wanted;
    return CW_OK;
}

char *cwi_strdup(cw_context *ctx, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = cwi_alloc(ctx, bytes, 1);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

char *cwi_format(cw_context *ctx, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : cwi_alloc(ctx, (size_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void cwi_free(void *block)
{
    free(block);
}

void cwi_pile_own(cw_context *ctx, cwi_pile *pile, void *block)
{
    if (block && pile->status == CW_OK)
        pile->status =
            cwi_grow(ctx, &pile->block, &pile->capacity, pile->count + 1, sizeof *pile->block);
    if (!block) pile->status = CW_NO_MEMORY;
    if (pile->status == CW_OK)
        pile->block[pile->count++] = block;
    else
        cwi_free(block);
}

void *cwi_pile_add(cw_context *ctx, cwi_pile *pile, size_t count, size_t size)
{
    void *block = pile->status == CW_OK ? cwi_alloc(ctx, count, size) : NULL;
    cwi_pile_own(ctx, pile, block);
    return pile->status == CW_OK ? block : NULL;
}

void *cwi_pile_add_zero(cw_context *ctx, cwi_pile *pile, size_t count, size_t size)
{
    void *block = cwi_pile_add(ctx, pile, count, size);
    if (block) memset(block, 0, checked_bytes(count, size));
    return block;
}

void cwi_pile_clear(cwi_pile *pile)
{
    for (size_t b = 0; b < pile->count; b++) free(pile->block[b]);
    free(pile->block);
    *pile = (cwi_pile){0};
}

void *cwi_space_open(cw_context *ctx, size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE; /* there may be more than the machine has */
#endif
    if (must_fail(ctx)) return no_memory(ctx, bytes, 1);
    void *space = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (space == MAP_FAILED) return no_memory(ctx, bytes, 1);
#ifdef MADV_NOHUGEPAGE
    (void)madvise(space, bytes, MADV_NOHUGEPAGE);
#endif
    return space;
}

void cwi_space_forget(void *space, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to) (void)madvise((char *)space + from, to - from, MADV_DONTNEED);
}

void cwi_space_close(void *space, size_t bytes)
{
    if (space) (void)munmap(space, bytes > 0 ? bytes : 1);
}

void cwi_mem_fail_at(cw_context *ctx, int64_t nth)
{
    atomic_store(&ctx->fail_at, nth);
}

bool cwi_has_room(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block != MAP_FAILED && munmap(block, bytes) == 0;
}

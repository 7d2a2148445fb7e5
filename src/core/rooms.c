/* rooms.c - a stack of free rooms behind a lock. */
#include "core/rooms.h"

#include <pthread.h>

#include "core/mem.h"

struct cwi_rooms {
    pthread_mutex_t lock; /* guards the two below */
    pthread_cond_t left;
    int n_free;
    void **free; /* [n_free] of all */
    char *block; /* all of them */
};

cw_status cwi_rooms_create(cw_context *ctx, size_t bytes, cwi_rooms **out)
{
    size_t count = (size_t)cw_context_threads(ctx);
    size_t apart = (bytes + 63) / 64 * 64; /* no two of them share a line of the cache */
    *out = NULL;
    cwi_rooms *rooms = cwi_alloc_zero(ctx, 1, sizeof *rooms);
    if (!rooms) return CW_NO_MEMORY;
    pthread_mutex_init(&rooms->lock, NULL);
    pthread_cond_init(&rooms->left, NULL);
    rooms->free = cwi_alloc(ctx, count, sizeof *rooms->free);
    rooms->block = cwi_alloc(ctx, count, apart);
    if (!rooms->free || !rooms->block) {
        cwi_rooms_free(rooms);
        return CW_NO_MEMORY;
    }
    for (size_t k = 0; k < count; k++) rooms->free[rooms->n_free++] = rooms->block + k * apart;
    *out = rooms;
    return CW_OK;
}

void cwi_rooms_free(cwi_rooms *rooms)
{
    if (!rooms) return;
    pthread_cond_destroy(&rooms->left);
    pthread_mutex_destroy(&rooms->lock);
    cwi_free(rooms->free);
    cwi_free(rooms->block);
    cwi_free(rooms);
}

void *cwi_rooms_enter(cwi_rooms *rooms)
{
    pthread_mutex_lock(&rooms->lock);
    while (rooms->n_free == 0) pthread_cond_wait(&rooms->left, &rooms->lock);
    void *room = rooms->free[--rooms->n_free];
    pthread_mutex_unlock(&rooms->lock);
    return room;
}

void cwi_rooms_leave(cwi_rooms *rooms, void *room)
{
    pthread_mutex_lock(&rooms->lock);
    rooms->free[rooms->n_free++] = room;
    pthread_cond_signal(&rooms->left);
    pthread_mutex_unlock(&rooms->lock);
}

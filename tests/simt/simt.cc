/* simt.cc - fibres for the threads of a block, and the rest of gpu.h in the memory of the host. */
#include "engine/cuda/gpu.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <vector>

/* ---- fibres --------------------------------------------------------------------------------- */

dim3 threadIdx, blockIdx, blockDim, gridDim;

enum { STACK = 64 << 10, MOST_THREADS = 1024 };
enum state { RUNS, AT_WARP, AT_BLOCK, DONE };

/* A place to go on at.  The compiler's own jump knows nothing of signals and is several times as
 * quick; it may not be made within the function that it leads to, which is why all are made here. */
#if defined(__GNUC__) && (!defined(__clang__) || defined(__x86_64__))
typedef void *place[5];
#define IS_BACK(p) __builtin_setjmp(p)
__attribute__((noinline, noreturn)) static void jump(place p) { __builtin_longjmp(p, 1); }
#else
#include <setjmp.h>
typedef jmp_buf place;
#define IS_BACK(p) _setjmp(p)
__attribute__((noinline, noreturn)) static void jump(place p) { _longjmp(p, 1); }
#endif

struct fibre {
    place here;
    ucontext_t start;
    char *stack; /* which holds it from its first kernel on: it waits there for the next */
    state is;
    bool turn; /* of the two rooms of its warp */
};

static fibre fibres[MOST_THREADS];
static uint64_t rooms[2][MOST_THREADS / 32][32];
static place scheduler;
static ucontext_t home;
static unsigned current, n_threads;
static const std::function<void()> *kernel_now;
static bool backwards;

static void pause_as(state is)
{
    fibre *me = &fibres[current];
    me->is = is;
    if (!IS_BACK(me->here)) jump(scheduler);
}

static void begin_fibre()
{
    for (;;) {
        (*kernel_now)();
        pause_as(DONE);
    }
}

void simt_meet_block()
{
    pause_as(AT_BLOCK);
}

void simt_meet_warp()
{
    pause_as(AT_WARP);
}

/* Two that take turns: who writes into one has met all that read it two turns before. */
uint64_t *simt_warp_room()
{
    bool turn = fibres[current].turn = !fibres[current].turn;
    return rooms[turn][threadIdx.x / 32];
}

unsigned simt_warp_size()
{
    return std::min(32u, n_threads - threadIdx.x / 32 * 32);
}

static void resume(unsigned t)
{
    fibre *f = &fibres[t];
    current = t;
    threadIdx = dim3(t);
    if (IS_BACK(scheduler)) return;
    if (f->stack) jump(f->here);
    f->stack = (char *)malloc(STACK);
    getcontext(&f->start);
    f->start.uc_stack.ss_sp = f->stack;
    f->start.uc_stack.ss_size = STACK;
    f->start.uc_link = &home;
    makecontext(&f->start, begin_fibre, 0);
    setcontext(&f->start);
}

/* Let those go on that wait for each other: all who are left of begin .. end - 1 must be there. */
static bool release(unsigned begin, unsigned end, state from)
{
    unsigned left = 0, waiting = 0;
    for (unsigned t = begin; t < end; t++) {
        left += fibres[t].is != DONE;
        waiting += fibres[t].is == from;
    }
    if (left == 0 || waiting < left) return false;
    for (unsigned t = begin; t < end; t++)
        if (fibres[t].is == from) fibres[t].is = RUNS;
    return true;
}

static void run_block()
{
    for (unsigned t = 0; t < n_threads; t++) fibres[t].is = RUNS, fibres[t].turn = false;
    for (;;) {
        bool goes_on = false, is_left = false;
        for (unsigned k = 0; k < n_threads; k++) {
            unsigned t = backwards ? n_threads - 1 - k : k;
            if (fibres[t].is == RUNS) resume(t);
        }
        for (unsigned t = 0; t < n_threads; t += 32)
            goes_on |= release(t, std::min(t + 32, n_threads), AT_WARP);
        goes_on |= release(0, n_threads, AT_BLOCK);
        for (unsigned t = 0; t < n_threads; t++) is_left |= fibres[t].is != DONE;
        if (!is_left) return;
        if (!goes_on) {
            fprintf(stderr, "simt: threads of a block wait for each other\n");
            abort();
        }
    }
}

void simt_launch(dim3 grid, dim3 block, const std::function<void()> &kernel)
{
    gridDim = grid;
    blockDim = block;
    n_threads = block.x;
    kernel_now = &kernel;
    backwards = !backwards;
    if (n_threads > MOST_THREADS || block.y * block.z != 1 || grid.y > 65535 || grid.x == 0)
        abort();
    for (unsigned y = 0; y < grid.y; y++)
        for (unsigned k = 0; k < grid.x; k++) {
            blockIdx = dim3(backwards ? grid.x - 1 - k : k, y);
            run_block();
        }
}

/* ---- faults --------------------------------------------------------------------------------- */

/* SIMT_FAULT is "KIND N RUN": number N of what is asked for from now on, allocations or work, goes wrong.
 * Another RUN begins to count anew. */
static bool is_fault(const char *kind)
{
    static long asked, last_run;
    char named[8];
    long nth, run;
    const char *text = getenv("SIMT_FAULT");
    if (!text || sscanf(text, "%7s %ld %ld", named, &nth, &run) != 3 || strcmp(kind, named) != 0)
        return false;
    if (run != last_run) asked = 0;
    last_run = run;
    return ++asked == nth;
}

/* A device that is lost stays so. */
bool gpu_goes(gpu *g)
{
    if (g->status == CW_OK && !g->is_measuring && is_fault("work"))
        gpu_fail(g, false, "fibres were cut");
    return g->status == CW_OK && !g->is_measuring;
}

static bool may_take(gpu *g)
{
    if (g->status == CW_OK && is_fault("memory")) gpu_fail(g, true, "");
    return g->status == CW_OK;
}

/* ---- gpu.h ---------------------------------------------------------------------------------- */

cw_status gpu_count(int *out, char *)
{
    *out = 1;
    return CW_OK;
}

cw_status gpu_look(int, cwi_cuda_device *out, char *)
{
    const char *left = getenv("SIMT_BYTES"); /* of tests of little memory */
    int64_t bytes = left ? atoll(left) : 1ll << 32;
    *out = (cwi_cuda_device){"no GPU: fibres on the host", 0, 0, 0, 1ll << 32, bytes};
    return CW_OK;
}

void gpu_open(gpu *g, int device)
{
    g->device = device;
}

void gpu_enter(gpu *) {}

void gpu_close(gpu *g)
{
    for (int k = 0; k < g->n_blocks; k++) free(g->block[k]);
    g->n_blocks = 0;
}

void *gpu_alloc(gpu *g, int64_t count, size_t size)
{
    size_t bytes = (size_t)(count > 0 ? count : 1) * size;
    g->bytes += (int64_t)bytes;
    if (!g->is_measuring && g->n_blocks == GPU_BLOCKS) gpu_fail(g, true, "");
    if (g->is_measuring || !may_take(g)) return NULL;
    return g->block[g->n_blocks++] = calloc(bytes, 1);
}

void gpu_put(gpu *g, void *to, const void *from, size_t bytes)
{
    if (bytes && gpu_goes(g)) memcpy(to, from, bytes);
}

void gpu_get(gpu *g, void *to, const void *from, size_t bytes)
{
    gpu_put(g, to, from, bytes);
}

void gpu_get_soon(gpu *g, void *to, const void *from, size_t bytes)
{
    gpu_put(g, to, from, bytes);
}

/* What was there is lost on a device, too. */
void *gpu_grow(gpu *g, gpu_room *room, int64_t bytes)
{
    if (bytes <= room->bytes && room->at) return room->at;
    free(room->at);
    *room = (gpu_room){NULL, 0};
    if (!may_take(g)) return NULL;
    room->at = malloc((size_t)(bytes > 0 ? bytes : 1));
    memset(room->at, 0xa5, (size_t)bytes);
    room->bytes = bytes;
    return room->at;
}

void *gpu_grow_here(gpu *g, gpu_room *room, int64_t bytes)
{
    return gpu_grow(g, room, bytes);
}

void gpu_drop(gpu *, gpu_room *room)
{
    free(room->at);
    *room = (gpu_room){NULL, 0};
}

void gpu_drop_here(gpu *g, gpu_room *room)
{
    gpu_drop(g, room);
}

int gpu_block_bytes(gpu *)
{
    return 1 << 20;
}

void gpu_use_room(gpu *g, const void *, int)
{
    (void)gpu_goes(g);
}

void gpu_copy(gpu *g, void *to, const void *from, size_t bytes)
{
    if (bytes && gpu_goes(g)) memcpy(to, from, bytes);
}

void gpu_zero(gpu *g, void *at, size_t bytes)
{
    if (gpu_goes(g)) memset(at, 0, bytes);
}

void gpu_turn(gpu *, int) {}
void gpu_join(gpu *) {}

bool gpu_begin_record(gpu *)
{
    return false;
}

void gpu_end_record(gpu *, int) {}

bool gpu_replay(gpu *, int)
{
    return false;
}

void gpu_forget(gpu *, int) {}
void gpu_wait(gpu *g)
{
    (void)gpu_goes(g);
}

void gpu_launched(gpu *) {}

size_t gpu_sort_bytes(gpu *, int64_t)
{
    return 1;
}

void gpu_sort(gpu *g, void *, size_t, const uint32_t *key, uint32_t *sorted_key, const uint32_t *id,
              uint32_t *sorted_id, int64_t n, int bits)
{
    if (!gpu_goes(g)) return;
    std::vector<int64_t> order((size_t)n);
    uint32_t mask = bits < 32 ? (1u << bits) - 1 : ~0u;
    for (int64_t k = 0; k < n; k++) order[(size_t)k] = k;
    std::stable_sort(order.begin(), order.end(),
                     [=](int64_t a, int64_t b) { return (key[a] & mask) < (key[b] & mask); });
    for (size_t k = 0; k < order.size(); k++) {
        sorted_key[k] = key[order[k]];
        sorted_id[k] = id[order[k]];
    }
}

void gpu_add_up(gpu *g, void *, size_t, const uint64_t *from, uint64_t *to, int64_t n)
{
    uint64_t sum = 0;
    if (!gpu_goes(g)) return;
    for (int64_t k = 0; k < n; k++) to[k] = sum += from[k];
}

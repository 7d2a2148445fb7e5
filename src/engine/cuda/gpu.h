/*
 * gpu.h - memory and order of work on a device, as the engine sees it: runtime.cu has it for CUDA,
 * tests/simt for a machine without.
 *
 * The first failure stays: what is asked for after it is not done, and whoever must know looks at
 * `status` in the end.
 */
#ifndef CWI_ENGINE_CUDA_GPU_H
#define CWI_ENGINE_CUDA_GPU_H

#include "engine/cuda/cuda.h"

#include <stdio.h>

#if defined(__CUDACC__)
#include <cuda_runtime.h>
typedef cudaStream_t gpu_stream;
typedef cudaGraphExec_t gpu_record;
typedef cudaEvent_t gpu_event;
#define LAUNCH(kernel, grid, block, gpu, ...)                                                      \
    do {                                                                                           \
        if ((gpu)->status == CW_OK) {                                                              \
            kernel<<<grid, block, 0, (gpu)->stream>>>(__VA_ARGS__);                                \
            gpu_launched(gpu);                                                                     \
        }                                                                                          \
    } while (0)
/* The same for a kernel that begins with `await_last`: its blocks may be made ready while the last
 * of the kernel before it end. */
template <typename... P, typename... A>
static inline cudaError_t launch_next(dim3 grid, dim3 block, cudaStream_t stream,
                                      void (*kernel)(P...), A... arguments)
{
    cudaLaunchAttribute early;
    cudaLaunchConfig_t how = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = grid;
    how.blockDim = block;
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    return cudaLaunchKernelEx(&how, kernel, arguments...);
}
/* The same for a kernel whose blocks share so many bytes of their own. */
#define LAUNCH_ROOM(kernel, grid, block, bytes, gpu, ...)                                          \
    do {                                                                                           \
        if ((gpu)->status == CW_OK) {                                                              \
            kernel<<<grid, block, bytes, (gpu)->stream>>>(__VA_ARGS__);                            \
            gpu_launched(gpu);                                                                     \
        }                                                                                          \
    } while (0)
#define LAUNCH_NEXT(kernel, grid, block, gpu, ...)                                                 \
    do {                                                                                           \
        if ((gpu)->status == CW_OK) {                                                              \
            (void)launch_next(grid, block, (gpu)->stream, kernel, __VA_ARGS__);                    \
            gpu_launched(gpu);                                                                     \
        }                                                                                          \
    } while (0)
__device__ inline void await_last()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}
/* The same, but the kernel that follows begins to be made ready only now: it may look at what was
 * written before the last kernel. */
__device__ inline void await_last_first()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}
#else
#include <simt.h>
#define LAUNCH_NEXT LAUNCH
#define LAUNCH_ROOM(kernel, grid, block, bytes, gpu, ...)                                          \
    do {                                                                                           \
        (void)(bytes);                                                                             \
        LAUNCH(kernel, grid, block, gpu, __VA_ARGS__);                                             \
    } while (0)
inline void await_last()
{
}
inline void await_last_first()
{
}
typedef void *gpu_stream, *gpu_record, *gpu_event;
#define LAUNCH(kernel, grid, block, gpu, ...)                                                      \
    do {                                                                                           \
        if (gpu_goes(gpu)) simt_launch(grid, block, [=] { kernel(__VA_ARGS__); });                 \
    } while (0)
#endif

enum { GPU_BLOCKS = 256 /* allocations */, GPU_RECORDS = 4 };

typedef struct gpu {
    int device;
    gpu_stream stream;     /* that takes what is launched, one of the two */
    gpu_stream streams[2]; /* of steps, and of what is drawn beside them */
    gpu_event drawn;
    gpu_record record[GPU_RECORDS];
    cw_status status;
    char why[CWI_CUDA_TEXT];
    const char *advice; /* when it is lost */
    bool is_measuring;  /* allocations are added up alone */
    int64_t bytes;      /* asked for so far */
    int n_blocks;
    void *block[GPU_BLOCKS];
} gpu;

/* A block of memory that grows. */
typedef struct gpu_room {
    void *at;
    int64_t bytes;
} gpu_room;

/* What went wrong, in the words of CUDA.  The first failure is told. */
inline void gpu_fail(gpu *g, bool is_memory, const char *says)
{
    if (g->status != CW_OK) return;
    g->status = is_memory ? CW_NO_MEMORY : CW_IO;
    if (is_memory)
        snprintf(g->why, sizeof g->why, "GPU %d has no memory left", g->device);
    else
        snprintf(g->why, sizeof g->why, "GPU %d is lost (CUDA says: %s); %s", g->device, says,
                 g->advice ? g->advice : "training can go on from its last checkpoint");
}

#if !defined(__CUDACC__)
bool gpu_goes(gpu *g); /* nothing has failed, and this does not */
#endif

cw_status gpu_count(int *out, char *why);
cw_status gpu_look(int device, cwi_cuda_device *out, char *why);

void gpu_open(gpu *g, int device);
void gpu_close(gpu *g);
void gpu_enter(gpu *g); /* perhaps on another thread than the last time */
void gpu_launched(gpu *g);

void *gpu_alloc(gpu *g, int64_t count, size_t size); /* zeroed; freed by gpu_close */

/* The same place, or a larger one without what was there; of the device, or of the host, where
 * copies are fast.  NULL after a failure. */
void *gpu_grow(gpu *g, gpu_room *room, int64_t bytes);
void *gpu_grow_here(gpu *g, gpu_room *room, int64_t bytes);
void gpu_drop(gpu *g, gpu_room *room);
void gpu_drop_here(gpu *g, gpu_room *room);

/* Bytes that a block can share; and let the blocks of a kernel do so. */
int gpu_block_bytes(gpu *g);
void gpu_use_room(gpu *g, const void *kernel, int bytes);

void gpu_put(gpu *g, void *to, const void *from, size_t bytes);
void gpu_get(gpu *g, void *to, const void *from, size_t bytes); /* waits */
void gpu_get_soon(gpu *g, void *to, const void *from, size_t bytes);
void gpu_copy(gpu *g, void *to, const void *from, size_t bytes); /* on the device */
void gpu_zero(gpu *g, void *at, size_t bytes);
void gpu_wait(gpu *g); /* for all that was launched on the stream at hand */

/* Go on with the stream of this number; let the first one wait for what the second has by now. */
void gpu_turn(gpu *g, int stream);
void gpu_join(gpu *g);

/* Work that is told once and done again and again: what is launched between the two calls is kept
 * under the number `slot` instead of done.  gpu_begin_record is false where there is no such thing;
 * gpu_replay is false where nothing is kept. */
bool gpu_begin_record(gpu *g);
void gpu_end_record(gpu *g, int slot);
bool gpu_replay(gpu *g, int slot);
void gpu_forget(gpu *g, int slot);

/* Room that sorting and adding up n numbers take. */
size_t gpu_sort_bytes(gpu *g, int64_t n);

/* Sort pairs by the low bits of their keys; equal keys keep their order. */
void gpu_sort(gpu *g, void *room, size_t room_bytes, const uint32_t *key, uint32_t *sorted_key,
              const uint32_t *id, uint32_t *sorted_id, int64_t n, int bits);

/* to[k] = from[0] + .. + from[k]. */
void gpu_add_up(gpu *g, void *room, size_t room_bytes, const uint64_t *from, uint64_t *to,
                int64_t n);

#endif

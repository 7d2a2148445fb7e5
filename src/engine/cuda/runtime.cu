/* runtime.cu - memory, sorting and sentences about what went wrong, by the CUDA runtime and CUB. */
#include "engine/cuda/gpu.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <stdio.h>

/* ---- sentences ---------------------------------------------------------------------------- */

static void explain(cudaError_t error, char *why)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (error == cudaErrorInsufficientDriver && driver == 0)
        snprintf(why, CWI_CUDA_TEXT, "there is no NVIDIA driver on this machine");
    else if (error == cudaErrorInsufficientDriver)
        snprintf(why, CWI_CUDA_TEXT,
                 "the NVIDIA driver is too old: it has CUDA %d.%d, the engine needs %d.%d",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else if (error == cudaErrorNoDevice)
        snprintf(why, CWI_CUDA_TEXT, "the NVIDIA driver finds no GPU");
    else
        snprintf(why, CWI_CUDA_TEXT, "CUDA says: %s", cudaGetErrorString(error));
}

/* One in the middle of work ends the engine. */
static bool check(gpu *g, cudaError_t error)
{
    if (error != cudaSuccess)
        gpu_fail(g, error == cudaErrorMemoryAllocation, cudaGetErrorString(error));
    return error == cudaSuccess && g->status == CW_OK;
}

void gpu_launched(gpu *g)
{
    check(g, cudaGetLastError());
}

/* ---- devices ------------------------------------------------------------------------------ */

cw_status gpu_count(int *out, char *why)
{
    cudaError_t error = cudaGetDeviceCount(out);
    if (error == cudaSuccess) return CW_OK;
    *out = 0;
    explain(error, why);
    return CW_UNSUPPORTED;
}

/* Is there code for the device? */
__global__ void do_nothing(void)
{
}

cw_status gpu_look(int device, cwi_cuda_device *out, char *why)
{
    cudaDeviceProp about;
    cudaFuncAttributes code;
    size_t left = 0, all = 0;
    cudaError_t error = cudaGetDeviceProperties(&about, device);
    if (error == cudaSuccess) error = cudaSetDevice(device);
    if (error == cudaSuccess) error = cudaMemGetInfo(&left, &all);
    if (error == cudaSuccess && cudaFuncGetAttributes(&code, do_nothing) != cudaSuccess) {
        cudaGetLastError(); /* it is told, and over */
        snprintf(why, CWI_CUDA_TEXT,
                 "GPU %d (%s) has compute capability %d.%d, which the engine was not built for", device,
                 about.name, about.major, about.minor);
        return CW_UNSUPPORTED;
    }
    if (error != cudaSuccess) {
        explain(error, why);
        return CW_UNSUPPORTED;
    }
    snprintf(out->name, sizeof out->name, "%s", about.name);
    out->major = about.major;
    out->minor = about.minor;
    out->processors = about.multiProcessorCount;
    out->bytes = (int64_t)all;
    out->free_bytes = (int64_t)left;
    return CW_OK;
}

/* ---- memory ------------------------------------------------------------------------------- */

/* Steps go before what is drawn beside them. */
void gpu_open(gpu *g, int device)
{
    int low = 0, high = 0;
    g->device = device;
    if (check(g, cudaSetDevice(device))) check(g, cudaDeviceGetStreamPriorityRange(&low, &high));
    for (int k = 0; k < 2 && g->status == CW_OK; k++)
        check(g, cudaStreamCreateWithPriority(&g->streams[k], cudaStreamNonBlocking,
                                              k == 0 ? high : low));
    if (g->status == CW_OK)
        check(g, cudaEventCreateWithFlags(&g->drawn, cudaEventDisableTiming));
    g->stream = g->streams[0];
}

void gpu_enter(gpu *g)
{
    if (g->status == CW_OK) check(g, cudaSetDevice(g->device));
}

void gpu_turn(gpu *g, int stream)
{
    g->stream = g->streams[stream];
}

void gpu_join(gpu *g)
{
    if (g->status == CW_OK && check(g, cudaEventRecord(g->drawn, g->streams[1])))
        check(g, cudaStreamWaitEvent(g->streams[0], g->drawn, 0));
}

void gpu_close(gpu *g)
{
    cudaSetDevice(g->device);
    cudaDeviceSynchronize();
    for (int k = 0; k < GPU_RECORDS; k++)
        if (g->record[k]) cudaGraphExecDestroy(g->record[k]);
    for (int k = 0; k < g->n_blocks; k++) cudaFree(g->block[k]);
    for (int k = 0; k < 2; k++)
        if (g->streams[k]) cudaStreamDestroy(g->streams[k]);
    if (g->drawn) cudaEventDestroy(g->drawn);
    g->n_blocks = 0;
}

void *gpu_alloc(gpu *g, int64_t count, size_t size)
{
    void *block = NULL;
    size_t bytes = ((size_t)(count > 0 ? count : 1) * size + 255) / 256 * 256;
    g->bytes += (int64_t)bytes;
    if (!g->is_measuring && g->n_blocks == GPU_BLOCKS) gpu_fail(g, true, "");
    if (g->is_measuring || g->status != CW_OK) return NULL;
    if (!check(g, cudaMalloc(&block, bytes))) return NULL;
    g->block[g->n_blocks++] = block;
    gpu_zero(g, block, bytes);
    return block;
}

/* What is at work may still use the old one. */
void *gpu_grow(gpu *g, gpu_room *room, int64_t bytes)
{
    if (bytes <= room->bytes && room->at) return room->at;
    gpu_drop(g, room);
    if (g->status == CW_OK && check(g, cudaMalloc(&room->at, (size_t)(bytes > 0 ? bytes : 1))))
        room->bytes = bytes;
    return room->at;
}

void *gpu_grow_here(gpu *g, gpu_room *room, int64_t bytes)
{
    if (bytes <= room->bytes && room->at) return room->at;
    gpu_drop_here(g, room);
    if (g->status == CW_OK && check(g, cudaMallocHost(&room->at, (size_t)(bytes > 0 ? bytes : 1))))
        room->bytes = bytes;
    return room->at;
}

void gpu_drop(gpu *g, gpu_room *room)
{
    if (room->at) {
        gpu_wait(g);
        cudaFree(room->at);
    }
    *room = (gpu_room){NULL, 0};
}

void gpu_drop_here(gpu *g, gpu_room *room)
{
    if (room->at) {
        gpu_wait(g);
        cudaFreeHost(room->at);
    }
    *room = (gpu_room){NULL, 0};
}

int gpu_block_bytes(gpu *g)
{
    int bytes = 0;
    check(g, cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, g->device));
    return bytes;
}

void gpu_use_room(gpu *g, const void *kernel, int bytes)
{
    if (g->status != CW_OK) return;
    check(g, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

void gpu_put(gpu *g, void *to, const void *from, size_t bytes)
{
    if (g->is_measuring || g->status != CW_OK || bytes == 0) return;
    check(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, g->stream));
}

void gpu_get(gpu *g, void *to, const void *from, size_t bytes)
{
    if (g->is_measuring || g->status != CW_OK || bytes == 0) return;
    if (check(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, g->stream))) gpu_wait(g);
}

void gpu_get_soon(gpu *g, void *to, const void *from, size_t bytes)
{
    if (g->status == CW_OK && bytes > 0)
        check(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, g->stream));
}

void gpu_copy(gpu *g, void *to, const void *from, size_t bytes)
{
    if (g->status != CW_OK || bytes == 0) return;
    check(g, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, g->stream));
}

void gpu_zero(gpu *g, void *at, size_t bytes)
{
    if (g->is_measuring || g->status != CW_OK || bytes == 0) return;
    check(g, cudaMemsetAsync(at, 0, bytes, g->stream));
}

void gpu_wait(gpu *g)
{
    if (g->status == CW_OK) check(g, cudaStreamSynchronize(g->stream));
}

/* ---- records ------------------------------------------------------------------------------ */

bool gpu_begin_record(gpu *g)
{
    return g->status == CW_OK &&
           check(g, cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeThreadLocal));
}

void gpu_end_record(gpu *g, int slot)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamEndCapture(g->stream, &graph);
    if (check(g, error))
        check(g, cudaGraphInstantiate(&g->record[slot], graph,
                                      cudaGraphInstantiateFlagUseNodePriority));
    if (graph) cudaGraphDestroy(graph);
}

void gpu_forget(gpu *g, int slot)
{
    if (g->record[slot]) cudaGraphExecDestroy(g->record[slot]);
    g->record[slot] = NULL;
}

bool gpu_replay(gpu *g, int slot)
{
    if (g->status != CW_OK || !g->record[slot]) return false;
    check(g, cudaGraphLaunch(g->record[slot], g->stream));
    return true;
}

/* ---- sorting and adding up ---------------------------------------------------------------- */

size_t gpu_sort_bytes(gpu *g, int64_t n)
{
    size_t sort = 0, sum = 0;
    check(g, cub::DeviceRadixSort::SortPairs(NULL, sort, (const uint32_t *)NULL, (uint32_t *)NULL,
                                             (const uint32_t *)NULL, (uint32_t *)NULL, n));
    check(g, cub::DeviceScan::InclusiveSum(NULL, sum, (const uint64_t *)NULL, (uint64_t *)NULL, n));
    return sort > sum ? sort : sum;
}

void gpu_sort(gpu *g, void *room, size_t room_bytes, const uint32_t *key, uint32_t *sorted_key,
              const uint32_t *id, uint32_t *sorted_id, int64_t n, int bits)
{
    if (g->status != CW_OK) return;
    check(g, cub::DeviceRadixSort::SortPairs(room, room_bytes, key, sorted_key, id, sorted_id, n, 0,
                                             bits, g->stream));
}

void gpu_add_up(gpu *g, void *room, size_t room_bytes, const uint64_t *from, uint64_t *to,
                int64_t n)
{
    if (g->status != CW_OK) return;
    check(g, cub::DeviceScan::InclusiveSum(room, room_bytes, from, to, n, g->stream));
}

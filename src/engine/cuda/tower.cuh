/*
 * tower.cuh - the network of NeuMF on top of the vectors of slots.
 *
 * All slots of a step pass a layer in one matrix product, head by head:
 *   z_0 = ReLU([x ; y] W_0 + b_0),  z_l = ReLU(z_{l-1} W_l + b_l),  s = h . [x * y ; z_last]
 */
#ifndef CWI_ENGINE_CUDA_TOWER_CUH
#define CWI_ENGINE_CUDA_TOWER_CUH

#include "engine/cuda/sums.cuh"

/* The network of one head of all slots of a step; those behind the last slot are zeros. */
typedef struct tower_work {
    int32_t head, width, top_size; /* numbers of a vector, and of the last layer */
    slices over;                       /* slots */
    float *ends;                       /* [padded][2 width] the vectors of a slot side by side */
    float *floor[CWI_CUDA_MOST_LAYERS]; /* [padded][size] */
    float *by;                         /* [padded] slopes of the scores */
    const float *last;                 /* h: [width + top_size] */
} tower_work;

/* Vectors of slots, a warp each; holes have none. */
__global__ void gather_slots(work w, tower_work t, int s)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t slot = warp_of_grid(); slot < w.slots; slot += warps_of_grid()) {
        int32_t user = w.user[s * w.slots + slot];
        int64_t item = w.n_users + (int64_t)w.item[s * w.slots + slot];
        float *to = t.ends + 2 * slot * t.width;
        for (int32_t c = lane; c < t.width; c += WARP) {
            int64_t at = c + t.head * t.width;
            to[c] = user < 0 ? 0 : w.vectors[(int64_t)user * w.d + at];
            to[t.width + c] = user < 0 ? 0 : w.vectors[item * w.d + at];
        }
    }
}

/* z = ReLU(z + bias); what is not a number stays so. */
__global__ void enter_layer(float *z, const float *bias, int64_t rows, int32_t columns)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < rows * columns;
         k += (int64_t)gridDim.x * blockDim.x) {
        float x = z[k] + bias[k % columns];
        z[k] = 0 > x ? 0 : x;
    }
}

/* Scores of slots, a warp each. */
__global__ void leave_tower(work w, tower_work t, const float *top)
{
    int lane = (int)threadIdx.x % WARP;
    for (int64_t slot = warp_of_grid(); slot < w.slots; slot += warps_of_grid()) {
        const float *x = t.ends + 2 * slot * t.width, *z = top + slot * t.top_size;
        float sum = 0;
        for (int32_t c = lane; c < t.width; c += WARP)
            sum = fmaf(x[c] * x[t.width + c], t.last[c], sum);
        for (int32_t c = lane; c < t.top_size; c += WARP) sum = fmaf(z[c], t.last[t.width + c], sum);
        sum = warp_sum(sum);
        if (lane == 0) w.score[slot * w.heads + t.head] = sum;
    }
}

/* Slopes of the scores of slots that are trained on, zeros for all others. */
__global__ void take_slopes(work w, tower_work t, int s)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < t.over.padded;
         k += (int64_t)gridDim.x * blockDim.x) {
        float by = 0;
        if (k < w.slots && w.user[s * w.slots + k] >= 0) {
            const draw_group &p = w.group[group_of_slot(w, k)];
            if (w.kept[p.first_row + (k - p.first_slot) / p.slots])
                by = w.slope[k * w.heads + t.head];
        }
        t.by[k] = by;
    }
}

/* The slopes of the last layer. */
__global__ void enter_back(tower_work t, const float *top, float *to)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < t.over.padded * t.top_size;
         k += (int64_t)gridDim.x * blockDim.x)
        to[k] = top[k] > 0 ? t.by[k / t.top_size] * t.last[t.width + k % t.top_size] : 0;
}

/* Nothing passes a ReLU that is off. */
__global__ void shut(float *slope, const float *z, int64_t n)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x)
        slope[k] = z[k] > 0 ? slope[k] : 0;
}

/* Slopes of the vectors of slots: by the first layer, and by the product of the two. */
__global__ void leave_back(work w, tower_work t, const float *slope)
{
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < w.slots * t.width;
         k += (int64_t)gridDim.x * blockDim.x) {
        int64_t slot = k / t.width, c = k % t.width, at = slot * w.d + t.head * t.width + c;
        const float *x = t.ends + 2 * slot * t.width, *from = slope + 2 * slot * t.width;
        float by = t.by[slot] * t.last[c];
        w.ends_slope[at] = fmaf(by, x[t.width + c], from[c]);
        w.ends_slope[w.slots * w.d + at] = fmaf(by, x[c], from[t.width + c]);
    }
}

#endif

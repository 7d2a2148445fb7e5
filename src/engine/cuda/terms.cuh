/* terms.cuh - terms of the vectors of a batch: each row that a step touches gets its own part. */
#ifndef CWI_ENGINE_CUDA_TERMS_CUH
#define CWI_ENGINE_CUDA_TERMS_CUH

#include "engine/cuda/slots.cuh"

/* How often the row of a task occurs in the slots; of rows before `until` of the batch. */
__device__ inline unsigned count_slots(const work &w, int s, const row_task &task, int64_t until,
                                       int lane)
{
    const uint2 *chunk = w.chunk;
    uint32_t from = chunk[task.chunk].x, to = chunk[task.chunk_end - 1].y;
    unsigned n = 0;
    if (until >= w.rows) return to - from;
    for (uint32_t e = from + lane; e < to; e += WARP)
        n += w.given[s * w.ends + e].of < (uint32_t)until;
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        n += __shfl_xor_sync(0xffffffffu, n, apart);
    return n;
}

/* The halves of a vector are pushed apart. */
__device__ inline double push_halves(const work &w, int s, const row_task &task, float *sum,
                                     int lane)
{
    const float *x = w.vectors + (int64_t)task.row * w.d;
    int32_t h = w.d / 2;
    bool is_user = (int32_t)task.row < w.n_users, is_l1 = w.penalty == CWI_CUDA_DICE_L1;
    double rows = (double)w.plan[s].all, slots = 2 * rows, value = 0;
    unsigned times = count_slots(w, s, task, w.rows, lane) / (is_user ? 2 : 1);
    double share = w.strength / ((double)h * (is_user ? rows : slots)) * times;
    for (int32_t c = lane; c < h; c += WARP) {
        double apart = (double)x[c] - (double)x[h + c];
        double slope = is_l1 ? (double)((apart > 0) - (apart < 0)) : 2 * apart;
        value -= share * (is_l1 ? fabs(apart) : apart * apart);
        sum[c] -= (float)(share * slope);
        sum[h + c] += (float)(share * slope);
    }
    return value;
}

/* The two vectors of an item are drawn to one another. */
__device__ inline double pull_twins(const work &w, int s, const row_task &task, float *sum,
                                    int lane)
{
    int32_t items = (w.n_rows - w.n_users) / 2, item = (int32_t)task.row - w.n_users;
    if (item < 0) return 0;
    bool is_control = item < items, stops = w.penalty == CWI_CUDA_CAUSE_L1_STOP;
    int64_t twin = w.n_users + (is_control ? item + items : item - items);
    const float *x = w.vectors + (int64_t)task.row * w.d, *y = w.vectors + twin * w.d;
    double parts = stops ? (double)w.plan[s].rows[0] : (double)w.plan[s].items * w.d, value = 0;
    double unit = parts > 0 ? w.strength / parts : 0;
    if (stops && !is_control) return 0;
    if (stops) unit *= count_slots(w, s, task, w.group[1].first_row, lane);
    for (int32_t c = lane; c < w.d; c += WARP) {
        double apart = (double)x[c] - (double)y[c], size = fabs(apart);
        bool is_l2 = w.penalty == CWI_CUDA_CAUSE_L2;
        sum[c] += (float)(unit * (is_l2 ? 2 * apart : (double)((apart > 0) - (apart < 0))));
        value += is_control ? unit * (is_l2 ? apart * apart : size) : 0;
    }
    return value;
}

/* Items that all pairs of a grid share have no user of their own: that of a pair stands in. */
__device__ inline uint32_t count_lent(const work &w, const row_task &task, uint32_t of)
{
    if (w.grid.rows == 0 || w.grid.is_square || (int32_t)task.row >= w.n_users) return 0;
    return (uint32_t)(w.grid.width / w.grid.rows + (of < w.grid.width % w.grid.rows));
}

/* In how many examples a row occurs.  Contributions are in the order of examples. */
__device__ inline uint32_t count_examples(const work &w, int s, const row_task &task, int lane)
{
    const contribution *given = w.given + s * w.ends;
    uint32_t from = w.chunk[task.chunk].x, to = w.chunk[task.chunk_end - 1].y, times = 0;
    for (uint32_t e = from + lane; e < to; e += WARP)
        if ((w.grid.rows > 0 || w.kept[given[e].of]) && (e == from || given[e].of != given[e - 1].of))
            times += 1 + count_lent(w, task, given[e].of);
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        times += __shfl_xor_sync(0xffffffffu, times, apart);
    return times;
}

/* The L2 term of a row: as strong as there are examples that it occurs in. */
__device__ inline double pull_to_zero(const work &w, int s, const row_task &task, float *sum,
                                      int lane)
{
    uint32_t times = count_examples(w, s, task, lane);
    double lambda = w.batch_reg / (double)w.plan[s].keep, value = 0;
    float pull = (float)(lambda * times);
    const float *from = w.pulls_table ? w.theta : w.vectors;
    int32_t d = w.pulls_table ? w.table_d : w.d;
    for (int32_t c = lane; c < d; c += WARP) {
        float x = from[(int64_t)task.row * d + c];
        value += lambda / 2 * times * (double)x * (double)x;
        if (!w.pulls_table) sum[c] += pull * x;
    }
    return value;
}

/* The slopes of that term for rows of a table that has a gradient everywhere, a row a warp. */
__global__ void pull_table(work w, int s, float *gradient)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        uint32_t times = count_examples(w, s, task, lane);
        float pull = (float)(w.batch_reg / (double)p->keep * times);
        for (int32_t c = lane; c < w.table_d; c += WARP) {
            int64_t at = (int64_t)task.row * w.table_d + c;
            gradient[at] += pull * w.theta[at];
        }
    }
}

/* How strong that term is for each row that a step touches, a warp each. */
__global__ void find_pulls(work w, int s, float *pull)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        uint32_t times = count_examples(w, s, task, lane);
        if (lane == 0) pull[task.row] = (float)(w.batch_reg / (double)p->keep * times);
    }
}

/* ---- cosines ---------------------------------------------------------------------------------- */

/* One over the lengths of the rows that a step touches, a warp each. */
__global__ void find_factors(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    int32_t width = w.d / w.heads;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        int64_t row = w.task[p->first_task + t].row;
        for (int h = 0; h < w.heads; h++) {
            const float *x = w.vectors + row * w.d + h * width;
            double square = 0;
            for (int32_t c = lane; c < width; c += WARP) square += (double)x[c] * (double)x[c];
            square = warp_sum_wide(square);
            if (lane == 0)
                w.factor[row * w.heads + h] = (float)(1 / sqrt(square > 1e-12 ? square : 1e-12));
        }
    }
}

/* From slopes of vectors at length 1 to those of the vectors: what is along them does not count.
 * They end up in the first chunk of a row. */
__global__ void project_rows(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    int32_t width = w.d / w.heads;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        float *sum = w.sum + (int64_t)(task.chunk - p->first_chunk) * w.d;
        const float *x = w.vectors + (int64_t)task.row * w.d;
        for (int32_t c = lane; c < w.d; c += WARP)
            for (uint32_t k = 1; k < task.chunk_end - task.chunk; k++) {
                sum[c] += sum[(int64_t)k * w.d + c];
                sum[(int64_t)k * w.d + c] = 0;
            }
        for (int h = 0; h < w.heads; h++) {
            float f = w.factor[(int64_t)task.row * w.heads + h], along = 0;
            __syncwarp();
            for (int32_t c = lane; c < width; c += WARP)
                along = fmaf(x[h * width + c], sum[h * width + c], along);
            along = warp_sum(along);
            along = f < 1e6f ? along * f * f : 0;
            for (int32_t c = lane; c < width; c += WARP)
                sum[h * width + c] = f * (sum[h * width + c] - along * x[h * width + c]);
        }
    }
}

/* A row a warp: its part is added to its first chunk. */
__global__ void add_terms(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        float *sum = w.sum + (int64_t)(task.chunk - p->first_chunk) * w.d;
        double value = 0;
        if (w.penalty >= CWI_CUDA_CAUSE_L2)
            value = pull_twins(w, s, task, sum, lane);
        else if (w.penalty)
            value = push_halves(w, s, task, sum, lane);
        if (w.batch_reg > 0) value += pull_to_zero(w, s, task, sum, lane);
        value = warp_sum_wide(value);
        if (lane == 0) w.penalties[t] = value;
    }
}

/* The loss with them; a block. */
__global__ void close_late(work w, int s)
{
    close_rows(w, s);
}

#endif

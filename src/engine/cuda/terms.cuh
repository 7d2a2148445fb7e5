/* terms.cuh - terms of the vectors of a batch: each row that a step touches gets its own part. */
#ifndef CWI_ENGINE_CUDA_TERMS_CUH
#define CWI_ENGINE_CUDA_TERMS_CUH

#include "engine/cuda/chunks.cuh"

/* How often a row occurs in the slots; of rows before `until` of the batch.  Its contributions are
 * numbers from .. to - 1 of the step. */
__device__ inline unsigned count_slots(const work &w, int s, uint2 range, int64_t until, int lane)
{
    unsigned n = 0;
    if (until >= w.rows) return range.y - range.x;
    for (uint32_t e = range.x + lane; e < range.y; e += WARP)
        n += w.given[s * w.ends + e].of < (uint32_t)until;
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        n += __shfl_xor_sync(0xffffffffu, n, apart);
    return n;
}

/* Items that all pairs of a grid share have no user of their own: that of a pair stands in. */
__device__ inline uint32_t count_lent(const work &w, int64_t row, uint32_t of)
{
    if (w.grid.rows == 0 || w.grid.is_square || row >= w.n_users) return 0;
    return (uint32_t)(w.grid.width / w.grid.rows + (of < w.grid.width % w.grid.rows));
}

/* In how many examples a row occurs.  Contributions are in the order of examples. */
__device__ inline uint32_t count_examples(const work &w, int s, int64_t row, uint2 range, int lane)
{
    const contribution *given = w.given + s * w.ends;
    uint32_t times = 0;
    for (uint32_t e = range.x + lane; e < range.y; e += WARP)
        if ((w.grid.rows > 0 || w.kept[given[e].of]) &&
            (e == range.x || given[e].of != given[e - 1].of))
            times += 1 + count_lent(w, row, given[e].of);
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        times += __shfl_xor_sync(0xffffffffu, times, apart);
    return times;
}

/* What the terms of a row are made of. */
typedef struct row_terms {
    const float *x, *y; /* its vector, and that of its twin */
    double unit;        /* of the penalty */
    double lambda;      /* of the L2 term, which is as strong as there are examples of it */
    uint32_t times;
    bool is_told; /* here, and not by its twin */
} row_terms;

/* The halves of a vector are pushed apart. */
__device__ inline void find_halves(const work &w, int s, int64_t row, uint2 range, int lane,
                                   row_terms *t)
{
    bool is_user = row < w.n_users;
    double rows = (double)w.plan[s].all;
    unsigned times = count_slots(w, s, range, w.rows, lane) / (is_user ? 2 : 1);
    t->unit = w.strength / ((double)(w.d / 2) * (is_user ? rows : 2 * rows)) * times;
}

/* The two vectors of an item are drawn to one another. */
__device__ inline void find_twins(const work &w, int s, int64_t row, uint2 range, int lane,
                                  row_terms *t)
{
    int64_t items = (w.n_rows - w.n_users) / 2, item = row - w.n_users;
    bool stops = w.penalty == CWI_CUDA_CAUSE_L1_STOP;
    t->is_told = item < items;
    if (item < 0 || (stops && !t->is_told)) return;
    double parts = stops ? (double)w.plan[s].rows[0] : (double)w.plan[s].items * w.d;
    t->y = w.vectors + place_at(w, t->is_told ? row + items : row - items, s) * w.d;
    t->unit = parts > 0 ? w.strength / parts : 0;
    if (stops) t->unit *= count_slots(w, s, range, w.group[1].first_row, lane);
}

__device__ inline row_terms find_terms(const work &w, int s, int64_t row, uint2 range, int lane)
{
    row_terms t = {w.vectors + place_at(w, row, s) * w.d, NULL, 0, 0, 0, true};
    if (w.penalty >= CWI_CUDA_CAUSE_L2)
        find_twins(w, s, row, range, lane, &t);
    else if (w.penalty && w.penalty != CWI_CUDA_DICE_DCOR)
        find_halves(w, s, row, range, lane, &t);
    if (w.batch_reg <= 0) return t;
    t.times = count_examples(w, s, row, range, lane);
    t.lambda = w.batch_reg / (double)w.plan[s].keep;
    return t;
}

/* The penalty of column c of a row, which has x there, and *slope in it. */
__device__ inline double find_penalty(const work &w, const row_terms &t, int32_t c, float x,
                                      float *slope)
{
    bool is_dice = w.penalty < CWI_CUDA_CAUSE_L2, is_lower = c < w.d / 2;
    bool is_square = w.penalty == CWI_CUDA_CAUSE_L2 || w.penalty == CWI_CUDA_DICE_MSE;
    if (is_dice && c >= w.d / 2 * 2) return 0;
    float other = is_dice ? t.x[is_lower ? c + w.d / 2 : c - w.d / 2] : t.y[c];
    double apart = (double)x - (double)other, unit = is_dice ? -t.unit : t.unit;
    *slope = (float)(unit * (is_square ? 2 * apart : (double)((apart > 0) - (apart < 0))));
    if (is_dice ? !is_lower : !t.is_told) return 0;
    return unit * (is_square ? apart * apart : fabs(apart));
}

/* The terms of a quad of a row, of which a lane returns its part; their slopes are added. */
template <bool WHOLE>
__device__ inline double add_terms_of(const work &w, const row_terms &t, int32_t base, int lane,
                                      const quad &x, quad *slope)
{
    double value = 0;
    for (int k = 0; k < 4; k++) {
        int32_t c = column_of<WHOLE>(base, lane, k);
        float pull = 0;
        if (c >= w.d) continue;
        if (t.unit != 0) value += find_penalty(w, t, c, x.x[k], &pull);
        slope->x[k] += pull;
        if (t.times == 0 || w.pulls_table) continue;
        slope->x[k] += (float)(t.lambda * t.times) * x.x[k];
        value += t.lambda / 2 * t.times * (double)x.x[k] * (double)x.x[k];
    }
    return value;
}

/* The L2 term of a row of the table, where vectors are not those. */
__device__ inline double add_table(const work &w, const row_terms &t, int64_t row, int lane)
{
    double value = 0;
    for (int32_t c = lane; c < w.table_d; c += WARP) {
        double x = (double)w.theta[row * w.table_d + c];
        value += t.lambda / 2 * t.times * x * x;
    }
    return value;
}

__device__ inline uint2 range_of(const work &w, const row_task &task)
{
    uint2 range = {w.chunk[task.chunk].x, w.chunk[task.chunk_end - 1].y};
    return range;
}

/* How strong that term is for the row of a task. */
__device__ inline float pull_of(const work &w, int s, const row_task &task, int lane)
{
    uint32_t times = count_examples(w, s, (int64_t)task.row, range_of(w, task), lane);
    return (float)(w.batch_reg / (double)w.plan[s].keep * times);
}

/* The slopes of that term for rows of a table that has a gradient everywhere, a row a warp. */
__global__ void pull_table(work w, int s, float *gradient)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        float pull = pull_of(w, s, task, lane);
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
        float strength = pull_of(w, s, task, lane);
        if (lane == 0) pull[task.row] = strength;
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
template <bool WHOLE> __global__ void add_terms(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    for (uint32_t t = (uint32_t)warp_of_grid(); t < p->tasks; t += (uint32_t)warps_of_grid()) {
        row_task task = w.task[p->first_task + t];
        float *sum = w.sum + (int64_t)(task.chunk - p->first_chunk) * w.d;
        row_terms terms = find_terms(w, s, task.row, range_of(w, task), lane);
        double value = w.pulls_table ? add_table(w, terms, task.row, lane) : 0;
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad x = load_quad<WHOLE>(terms.x, w.d, base, lane);
            quad slope = load_quad<WHOLE>(sum, w.d, base, lane);
            value += add_terms_of<WHOLE>(w, terms, base, lane, x, &slope);
            store_quad<WHOLE>(sum, w.d, base, lane, &slope);
        }
        value = warp_sum_wide(value);
        if (lane == 0) w.penalties[s % 2 * w.most_tasks + t] = value;
    }
}

/* The loss with them; a block.  Where rows are visited it is the last of a window. */
__global__ void close_late(work w, int s)
{
    if (w.is_twofold)
        close_visited(w, s);
    else
        close_rows(w, s);
}

#endif

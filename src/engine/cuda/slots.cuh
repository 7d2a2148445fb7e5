/* slots.cuh - scores and losses of one step, and what it tells the tally. */
#ifndef CWI_ENGINE_CUDA_SLOTS_CUH
#define CWI_ENGINE_CUDA_SLOTS_CUH

#include "engine/cuda/work.cuh"

/* ---- scores --------------------------------------------------------------------------------- */

/* A lane's part of an inner product. */
template <bool WHOLE>
__device__ inline float dot(const float *a, const float *b, int32_t d, int lane)
{
    float sum = 0;
    for (int32_t base = 0; base < d; base += 4 * WARP) {
        quad x = load_quad<WHOLE>(a, d, base, lane), y = load_quad<WHOLE>(b, d, base, lane);
        for (int k = 0; k < 4; k++) sum = fmaf(x.x[k], y.x[k], sum);
    }
    return sum;
}

/* Slots of a row, one for each lane of a warp: the rows of their vectors. */
typedef struct ends_of_slots {
    int32_t user, item;
} ends_of_slots;

enum {
    ROW_SCORES = MOST_HEADS * CWI_MAX_SLOTS,
    HEADS_AT_ONCE = 2,
    SCORE_BLOCKS = 6 /* of a processor */
};

/* The rows of the vectors of some slots from number `first` on. */
__device__ inline void find_vectors(int32_t ends, int first, int slots, int n, int32_t *out)
{
    for (int o = 0; o < n; o++)
        out[o] = __shfl_sync(0xffffffffu, ends, first + o < slots ? first + o : first);
}

template <int ROW>
__device__ inline quad load_vector(const work &w, int32_t row, int32_t base, int lane)
{
    int32_t d = length_of<ROW>(w.d);
    return load_quad<ROW>(w.vectors + (int64_t)row * d, d, base, lane);
}

/* Sums over a warp of a few numbers of each lane; number o ends in lane o. */
template <int N> __device__ inline float sum_few(float *x, int lane)
{
    float own = 0;
    for (int o = 0; o < N; o++) {
        x[o] = warp_sum(x[o]);
        own = lane == o ? x[o] : own;
    }
    return own;
}

/* Scores of a row whose slots come in pairs that count by their difference alone, which the first
 * of a pair has; the second has 0. */
template <int ROW>
__device__ inline void score_pairs(const work &w, const ends_of_slots &ends, int slots, int lane,
                                   float *score)
{
    const int32_t d = length_of<ROW>(w.d);
    int k = slots / 2;
    ROLLED for (int j = 0; j < k; j++) {
        int32_t user = __shfl_sync(0xffffffffu, ends.user, j);
        int32_t plus = __shfl_sync(0xffffffffu, ends.item, j);
        int32_t minus = __shfl_sync(0xffffffffu, ends.item, k + j);
        float sum = 0;
        ROLLED for (int32_t base = 0; base < d; base += 4 * WARP) {
            quad u = load_vector<ROW>(w, user, base, lane);
            quad x = load_vector<ROW>(w, plus, base, lane);
            quad y = load_vector<ROW>(w, minus, base, lane);
            for (int c = 0; c < 4; c++) sum = fmaf(u.x[c], x.x[c] - y.x[c], sum);
        }
        sum = warp_sum(sum);
        if (lane == 0) score[j] = sum * w.scale;
        if (lane == 0) score[k + j] = 0;
    }
}

/* Scores of slots that have several each, of a part of the columns. */
template <int ROW>
__device__ inline void score_heads(const work &w, const ends_of_slots &ends, int slots, int lane,
                                   float *score)
{
    enum { N = MOST_HEADS * HEADS_AT_ONCE };
    int32_t width = w.d / w.heads;
    ROLLED for (int j = 0; j < slots; j += HEADS_AT_ONCE) {
        int32_t user[HEADS_AT_ONCE], item[HEADS_AT_ONCE];
        float sum[N] = {0};
        find_vectors(ends.user, j, slots, HEADS_AT_ONCE, user);
        find_vectors(ends.item, j, slots, HEADS_AT_ONCE, item);
        ROLLED for (int32_t base = 0; base < w.d; base += 4 * WARP)
            for (int o = 0; o < HEADS_AT_ONCE; o++) {
                quad u = load_vector<ROW>(w, user[o], base, lane);
                quad x = load_vector<ROW>(w, item[o], base, lane);
                for (int c = 0; c < 4; c++) {
                    bool second = column_of<ROW != ROW_COLUMNS>(base, lane, c) >= width && w.heads > 1;
                    float by = u.x[c];
                    sum[2 * o] = fmaf(second ? 0 : by, x.x[c], sum[2 * o]);
                    sum[2 * o + 1] = fmaf(second ? by : 0, x.x[c], sum[2 * o + 1]);
                }
            }
        float own = sum_few<N>(sum, lane) * w.scale;
        int slot = j + lane / MOST_HEADS, h = lane % MOST_HEADS, at = slot < slots ? slot : 0;
        int32_t u = __shfl_sync(0xffffffffu, ends.user, at);
        int32_t i = __shfl_sync(0xffffffffu, ends.item, at);
        if (lane >= N || slot >= slots || h >= w.heads) continue;
        if (w.factor)
            own *= w.factor[(int64_t)u * w.heads + h] * w.factor[(int64_t)i * w.heads + h];
        score[slot * w.heads + h] = own;
    }
}

typedef double loss_fn(const double *setting, const float *score, int32_t width, float mark,
                       float scale, float *slope);

/* What is known of a row of slots before it has scores. */
typedef struct slot_row {
    double mass;
    int32_t first; /* of its slots in the step */
    int32_t slots; /* 0: there is no such row */
    float mark;
    bool is_made;
} slot_row;

__device__ inline slot_row look_at_row(const work &w, int s, int64_t r)
{
    slot_row row = {1, 0, 0, 0, false};
    if (r >= w.rows) return row;
    int g = group_of_row(w, r);
    const draw_group &p = w.group[g];
    row.slots = p.slots;
    row.first = (int32_t)(p.first_slot + (r - p.first_row) * p.slots);
    row.mass = w.plan[s].mass[g];
    row.mark = w.mark[s * w.rows + r];
    row.is_made = w.user[s * w.slots + row.first] >= 0;
    return row;
}

/* How well a row is ranked: the mean of its differences. */
__device__ inline double margin_of(const float *score, int32_t width)
{
    double sum = 0;
    for (int32_t j = 0; j < width / 2; j++) sum += (double)score[j] - (double)score[width / 2 + j];
    return sum / (width / 2);
}

/* The loss of a row and its slopes, as if it were trained on; a thread. */
template <loss_fn *loss>
__device__ inline void take_loss(const work &w, int64_t r, const slot_row &row, const float *score)
{
    int32_t width = row.slots * w.heads;
    w.kept[r] = row.is_made;
    w.rough[r] = NAN;
    if (!row.is_made) return;
    if (w.selects) {
        double margin = margin_of(score, width);
        w.margin[r] = margin;
        w.rough[r] = margin == margin ? (float)margin : INFINITY;
    }
    w.value[r] = loss(w.setting, score, width, row.mark, 1.0f / (float)row.mass,
                      w.slope + (int64_t)row.first * w.heads) /
                 row.mass;
}

/* Losses of rows whose slots have scores; a thread each. */
template <loss_fn *loss> __global__ void lose_rows(work w, int s)
{
    int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    slot_row row = look_at_row(w, s, r);
    if (r < w.rows) take_loss<loss>(w, r, row, w.score + (int64_t)row.first * w.heads);
}

/* Rows of slots, a warp each; then their losses, a thread each.  What was drawn is looked at before
 * the last kernel is done. */
template <int ROW, bool PAIRED, loss_fn *loss>
__global__ void __launch_bounds__(BLOCK, SCORE_BLOCKS) score_rows(work w, int s)
{
    __shared__ float score[WARPS][ROW_SCORES];
    __shared__ slot_row rows[WARPS];
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, t = (int)threadIdx.x;
    int64_t first = (int64_t)blockIdx.x * WARPS, at = s * w.slots;
    ends_of_slots ends = {-1, -1};
    if (t < WARPS) rows[t] = look_at_row(w, s, first + t);
    __syncthreads();
    int slots = rows[warp].slots;
    bool is_made = rows[warp].is_made;
    if (lane < slots) {
        ends.user = w.user_at[at + rows[warp].first + lane];
        ends.item = w.item_at[at + rows[warp].first + lane];
    }
    await_last_first();
    if (is_made && PAIRED)
        score_pairs<ROW>(w, ends, slots, lane, score[warp]);
    else if (is_made)
        score_heads<ROW>(w, ends, slots, lane, score[warp]);
    __syncthreads();
    if (t < WARPS && rows[t].slots > 0) take_loss<loss>(w, first + t, rows[t], score[t]);
}

/* ---- loss ----------------------------------------------------------------------------------- */

/* What a step came to, told to the tally: one thread. */
__device__ inline void close_step(const work &w, int s, double loss, double penalty)
{
    const step_plan *p = &w.plan[s];
    cwi_cuda_tally *t = w.tally;
    for (int g = 0; g < w.n_groups; g++) {
        t->draws.attempts[g] += (int64_t)w.tried[s * w.n_groups + g];
        t->draws.accepted[g] += p->rows[g] * w.group[g].slots / w.group[g].unit;
        if (!w.is_strict || t->lacking_group || p->rows[g] >= w.group[g].candidates) continue;
        t->lacking_group = g + 1;
        t->lacking = p->rows[g];
    }
    if (p->is_empty) return;
    if (!isfinite(loss + penalty)) {
        t->bad = *w.first + s;
        return;
    }
    t->trained++;
    t->applied++;
    t->data_loss += loss;
    t->penalty += penalty;
}

/* The terms that are not of scores; a block. */
__device__ inline double sum_penalties(const work &w, int s, double *room)
{
    double sum = 0, squares = 0;
    const double *penalties = w.penalties + s % 2 * w.most_tasks;
    if (w.penalty || w.batch_reg > 0 || w.spectral > 0)
        for (uint32_t t = threadIdx.x; t < w.plan[s].tasks; t += BLOCK) sum += penalties[t];
    if (w.final_decay > 0)
        for (int b = (int)threadIdx.x; b < SQUARE_BLOCKS; b += BLOCK) squares += w.squares[b];
    sum += (double)w.final_decay / 2 * squares;
    return block_sum(sum, room);
}

/* Losses of the rows that a thread of a block looks at, and how many they are.  Many are asked for at
 * once. */
__device__ inline double sum_losses(const work &w, unsigned *kept)
{
    enum { MANY = 8 };
    double sum = 0;
    for (int64_t first = threadIdx.x; first < w.rows; first += (int64_t)MANY * BLOCK) {
        bool counts[MANY];
        double value[MANY];
        for (int k = 0; k < MANY; k++) {
            int64_t r = first + (int64_t)k * BLOCK;
            counts[k] = r < w.rows && w.kept[r];
            value[k] = r < w.rows ? w.value[r] : 0;
        }
        for (int k = 0; k < MANY; k++) {
            sum += counts[k] ? value[k] : 0;
            *kept += counts[k];
        }
    }
    return sum;
}

/* The mean loss; a block.  Less than was to be kept is kept where margins are no numbers. */
__device__ inline double mean_loss(const work &w, int s, double *room)
{
    __shared__ unsigned long long count;
    const step_plan *p = &w.plan[s];
    double mass = 0;
    unsigned own = 0;
    if (w.grid.rows > 0) return *w.grid.mean;
    double sum = block_sum(sum_losses(w, &own), room);
    int64_t kept = block_count(own, &count);
    for (int g = 0; g < w.n_groups; g++) mass += p->mass[g];
    return kept == p->keep && mass > 0 ? sum : NAN;
}

__device__ inline void close_rows(const work &w, int s)
{
    __shared__ double room[WARPS];
    if (has_failed(w)) return;
    double loss = mean_loss(w, s, room);
    double penalty = w.closes_late ? sum_penalties(w, s, room) : 0;
    if (threadIdx.x == 0) close_step(w, s, loss, penalty);
}

/* The same where penalties are made by visits of rows, as the sum of step s here: that of the step
 * before is whole by now. */
__device__ inline void close_visited(const work &w, int s)
{
    __shared__ double room[WARPS];
    if (has_failed(w)) return;
    double penalty = sum_penalties(w, s, room);
    if (threadIdx.x == 0) close_step(w, s, w.loss[s], penalty);
    __syncthreads();
}

__device__ inline void close_or_wait(const work &w, int s)
{
    __shared__ double room[WARPS];
    if (!w.closes_late) {
        close_rows(w, s);
        return;
    }
    if (s > 0) close_visited(w, s - 1);
    double loss = mean_loss(w, s, room);
    if (threadIdx.x == 0) w.loss[s] = loss;
}

#endif

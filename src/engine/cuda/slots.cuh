/* slots.cuh - scores, selection and loss of one step, and what its slopes add up to for a row. */
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

template <bool WHOLE>
__device__ inline quad load_vector(const work &w, int32_t row, int32_t base, int lane)
{
    return load_quad<WHOLE>(w.vectors + (int64_t)row * w.d, w.d, base, lane);
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
template <bool WHOLE>
__device__ inline void score_pairs(const work &w, const ends_of_slots &ends, int slots, int lane,
                                   float *score)
{
    int k = slots / 2;
    ROLLED for (int j = 0; j < k; j++) {
        int32_t user = __shfl_sync(0xffffffffu, ends.user, j);
        int32_t plus = __shfl_sync(0xffffffffu, ends.item, j);
        int32_t minus = __shfl_sync(0xffffffffu, ends.item, k + j);
        float sum = 0;
        ROLLED for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad u = load_vector<WHOLE>(w, user, base, lane);
            quad x = load_vector<WHOLE>(w, plus, base, lane);
            quad y = load_vector<WHOLE>(w, minus, base, lane);
            for (int c = 0; c < 4; c++) sum = fmaf(u.x[c], x.x[c] - y.x[c], sum);
        }
        sum = warp_sum(sum);
        if (lane == 0) score[j] = sum * w.scale;
        if (lane == 0) score[k + j] = 0;
    }
}

/* Scores of slots that have several each, of a part of the columns. */
template <bool WHOLE>
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
                quad u = load_vector<WHOLE>(w, user[o], base, lane);
                quad x = load_vector<WHOLE>(w, item[o], base, lane);
                for (int c = 0; c < 4; c++) {
                    bool second = column_of<WHOLE>(base, lane, c) >= width && w.heads > 1;
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
    if (!row.is_made) return;
    if (w.selects) w.margin[r] = margin_of(score, width);
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
template <bool WHOLE, bool PAIRED, loss_fn *loss>
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
    await_last();
    if (is_made && PAIRED)
        score_pairs<WHOLE>(w, ends, slots, lane, score[warp]);
    else if (is_made)
        score_heads<WHOLE>(w, ends, slots, lane, score[warp]);
    __syncthreads();
    if (t < WARPS && rows[t].slots > 0) take_loss<loss>(w, first + t, rows[t], score[t]);
}

/* ---- selection ------------------------------------------------------------------------------ */

/* A number whose order as a whole one is that of x; what is no number comes last. */
__device__ inline uint64_t rank_bits(double x)
{
    uint64_t bits;
    if (!(x == x)) return ~0ull;
    x += 0.0; /* -0 is 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

enum { CELLS = 2 * CHOOSERS };

/* Rows begin .. end - 1 with the `keep` smallest margins, equal ones by lower index.  A whole block
 * works on it. */
typedef struct choice {
    int64_t begin, end, keep;
} choice;

/* Where the margin of a row stands among all; holes come last. */
__device__ inline uint64_t rank_of(const work &w, int64_t r)
{
    return w.kept[r] ? rank_bits(w.margin[r]) : ~0ull;
}

/* By digits of eight bits: for margins of which many are alike, or no numbers. */
__device__ inline void keep_by_digits(const work &w, const choice &c)
{
    enum { DIGITS = 256, AT_LIMIT = 2 };
    __shared__ unsigned in[DIGITS];
    __shared__ uint64_t prefix;
    __shared__ int64_t left, equal;
    int t = (int)threadIdx.x;
    if (t == 0) prefix = 0, left = c.keep;
    __syncthreads();
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (int k = t; k < DIGITS; k += CHOOSERS) in[k] = 0;
        __syncthreads();
        for (int64_t r = c.begin + t; r < c.end; r += CHOOSERS) {
            uint64_t bits = rank_of(w, r);
            if (shift == 56 || bits >> (shift + 8) == prefix) atomicAdd(&in[bits >> shift & 255], 1u);
        }
        __syncthreads();
        if (t == 0) {
            unsigned k = 0;
            for (; k < DIGITS - 1 && left > (int64_t)in[k]; k++) left -= in[k];
            prefix = prefix << 8 | k;
            equal = in[k];
        }
        __syncthreads();
    }
    /* what is no number is never kept */
    bool takes_equal = left >= equal;
    for (int64_t r = c.begin + t; r < c.end; r += CHOOSERS) {
        uint64_t bits = rank_of(w, r);
        bool is_equal = bits == prefix && prefix != ~0ull;
        w.kept[r] = bits < prefix ? 1 : !is_equal ? 0 : takes_equal ? 1 : AT_LIMIT;
    }
    __syncthreads();
    if (t > 0 || takes_equal) return;
    for (int64_t r = c.begin; r < c.end; r++)
        if (w.kept[r] == AT_LIMIT) w.kept[r] = left-- > 0;
}

/* Cells ascend with margins; bounds may be a bit off. */
__device__ inline int cell_of(double x, double least, double per_unit)
{
    double cell = (x - least) * per_unit;
    return cell < 0 ? 0 : cell > CELLS - 1 ? CELLS - 1 : (int)cell;
}

/* The least and largest of a block's numbers; `room` has two for each warp. */
__device__ inline void find_bounds(float *least, float *most, float *room)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int turn = 0; turn < 2; turn++) {
        for (int apart = WARP / 2; apart > 0; apart /= 2) {
            float a = __shfl_xor_sync(0xffffffffu, *least, apart);
            float b = __shfl_xor_sync(0xffffffffu, *most, apart);
            *least = a < *least ? a : *least;
            *most = b > *most ? b : *most;
        }
        if (turn > 0) return;
        if (lane == 0) room[2 * warp] = *least, room[2 * warp + 1] = *most;
        __syncthreads();
        if (lane < (int)blockDim.x / WARP) *least = room[2 * lane], *most = room[2 * lane + 1];
    }
}

/* x and those of the lanes before it. */
__device__ inline unsigned sum_lanes(unsigned x, int lane)
{
    for (int apart = 1; apart < WARP; apart *= 2) {
        unsigned from = __shfl_sync(0xffffffffu, x, lane >= apart ? lane - apart : 0);
        if (lane >= apart) x += from;
    }
    return x;
}

/* The cell that number `n` of all is in, from 0, and *before, how many are in those before it;
 * every thread counts the cells from 2 t on. */
__device__ inline int find_cell(const unsigned *in, int64_t n, int64_t *before)
{
    __shared__ unsigned sums[CHOOSERS / WARP];
    __shared__ int cell;
    __shared__ int64_t found;
    int t = (int)threadIdx.x, lane = t % WARP, warp = t / WARP;
    unsigned own = in[2 * t] + in[2 * t + 1], sum = sum_lanes(own, lane);
    if (lane == WARP - 1) sums[warp] = sum;
    __syncthreads();
    unsigned of_warps = sum_lanes(lane < CHOOSERS / WARP ? sums[lane] : 0, lane);
    of_warps = __shfl_sync(0xffffffffu, of_warps, warp > 0 ? warp - 1 : 0);
    if (warp > 0) sum += of_warps;
    int64_t first = (int64_t)sum - own;
    if (n >= first && n < (int64_t)sum) {
        bool second = n >= first + in[2 * t];
        cell = 2 * t + second;
        found = first + (second ? in[2 * t] : 0);
    }
    __syncthreads();
    *before = found;
    return cell;
}

/* Margins of a few rows of each thread, which are asked for together. */
enum { AT_HAND = 8 };
typedef struct margins {
    double x[AT_HAND];
    bool is_row[AT_HAND];
} margins;

__device__ inline int64_t row_at_hand(int64_t first, int k)
{
    return first + threadIdx.x + (int64_t)k * CHOOSERS;
}

__device__ inline void look_at_margins(const work &w, const choice &c, int64_t first, margins *own)
{
    for (int k = 0; k < AT_HAND; k++) {
        int64_t r = row_at_hand(first, k);
        own->is_row[k] = r < c.end && w.kept[r];
        own->x[k] = r < c.end ? w.margin[r] : 0;
    }
}

__device__ inline void take_bounds(const margins &own, float *least, float *most)
{
    for (int k = 0; k < AT_HAND; k++) {
        float x = (float)own.x[k];
        if (!own.is_row[k]) continue;
        *least = x < *least ? x : *least;
        *most = x == x ? x > *most ? x : *most : INFINITY;
    }
}

/* By equal cells between the least and the largest margin, and by rank within the one where the
 * limit is.  False, with nothing done, where that is not possible. */
__device__ inline bool keep_by_cells(const work &w, const choice &c)
{
    __shared__ unsigned in[CELLS];
    __shared__ float room[2 * CHOOSERS / WARP];
    __shared__ double value[CHOOSERS];
    __shared__ int32_t number[CHOOSERS];
    __shared__ unsigned few;
    const int64_t each = (int64_t)AT_HAND * CHOOSERS;
    bool is_one = c.end - c.begin <= each; /* then margins stay at hand */
    int t = (int)threadIdx.x;
    float low = INFINITY, most = -INFINITY;
    margins own;
    in[t] = in[t + CHOOSERS] = 0;
    if (t == 0) few = 0;
    for (int64_t first = c.begin; first < c.end; first += each) {
        look_at_margins(w, c, first, &own);
        take_bounds(own, &low, &most);
    }
    find_bounds(&low, &most, room);
    double least = (double)low, per_unit = (CELLS - 1) / ((double)most - least);
    if (!(per_unit > 0 && per_unit < 1e300)) return false;
    for (int64_t first = c.begin; first < c.end; first += each) {
        if (!is_one) look_at_margins(w, c, first, &own);
        for (int k = 0; k < AT_HAND; k++)
            if (own.is_row[k]) atomicAdd(&in[cell_of(own.x[k], least, per_unit)], 1u);
    }
    __syncthreads();
    int64_t before;
    int cell = find_cell(in, c.keep - 1, &before);
    if (in[cell] > CHOOSERS) return false;
    for (int64_t first = c.begin; first < c.end; first += each) {
        if (!is_one) look_at_margins(w, c, first, &own);
        for (int k = 0; k < AT_HAND; k++) {
            int64_t r = row_at_hand(first, k);
            if (!own.is_row[k]) continue;
            int in_cell = cell_of(own.x[k], least, per_unit);
            if (in_cell != cell) {
                w.kept[r] = in_cell < cell;
                continue;
            }
            unsigned at = atomicAdd(&few, 1u);
            value[at] = own.x[k];
            number[at] = (int32_t)(r - c.begin);
        }
    }
    __syncthreads();
    for (unsigned k = (unsigned)t / WARP; k < few; k += CHOOSERS / WARP) {
        int64_t rank = before;
        for (unsigned first = 0; first < few; first += WARP) {
            unsigned o = first + (unsigned)t % WARP;
            bool is_less = o < few && (value[o] < value[k] ||
                                       (value[o] == value[k] && number[o] < number[k]));
            rank += __popc(__ballot_sync(0xffffffffu, is_less));
        }
        if (t % WARP == 0) w.kept[c.begin + number[k]] = rank < c.keep;
    }
    return true;
}

__device__ inline void keep_smallest(const work &w, int64_t begin, int64_t end, int64_t keep)
{
    choice c = {begin, end, keep};
    if (keep == 0)
        for (int64_t r = begin + threadIdx.x; r < end; r += blockDim.x) w.kept[r] = 0;
    else if (!keep_by_cells(w, c))
        keep_by_digits(w, c);
    __syncthreads();
}

/* Ask for what optimisers keep of the rows that a step touches, while memory has nothing to do. */
__device__ inline void fetch_memories(const work &w, int s)
{
    enum { LINE = 32 /* numbers */, MOST_BYTES = 24 << 20 };
    const step_plan *p = &w.plan[s];
    int64_t lines = (w.d + LINE - 1) / LINE, n = lines * p->tasks;
    if (n * CWI_MAX_MEMORIES * LINE * 4 > MOST_BYTES) return;
    for (int64_t k = (int64_t)(blockIdx.x - 1) * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)(gridDim.x - 1) * blockDim.x) {
        int64_t t = k / lines, at = (int64_t)w.task[p->first_task + t].row * w.d + k % lines * LINE;
        for (int m = 0; m < CWI_MAX_MEMORIES; m++)
            if (w.memory[m]) fetch_line(w.memory[m] + at);
    }
}

/* Where not all rows are trained on, the hardest are; the first block selects. */
__global__ void __launch_bounds__(CHOOSERS) select_rows(work w, int s)
{
    if (blockIdx.x > 0) {
        fetch_memories(w, s);
        return;
    }
    const step_plan *p = &w.plan[s];
    int64_t left_rows = p->all, left_keep = p->keep;
    await_last();
    if (left_keep == left_rows) return;
    if (!w.per_group) keep_smallest(w, 0, w.rows, left_keep);
    for (int g = 0; g < w.n_groups && w.per_group; g++) { /* shares add up to keep */
        int64_t begin = w.group[g].first_row, count = p->rows[g];
        int64_t share =
            left_rows ? (int64_t)rint((double)left_keep * (double)count / (double)left_rows) : 0;
        left_rows -= count;
        left_keep -= share;
        keep_smallest(w, begin, begin + w.group[g].candidates * w.group[g].most_rows, share);
    }
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
    if (w.penalty || w.batch_reg > 0)
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

/* ---- gradients ------------------------------------------------------------------------------ */

/* What is added to a row: another one, or the difference of two, times a number for each head. */
typedef struct part_of_sum {
    int32_t row, minus;
    float by[MOST_HEADS];
} part_of_sum;

/* Contributions begin .. end - 1 of a step, at most one for each lane of a warp: that of a lane. */
__device__ inline contribution own_of(const work &w, int s, uint32_t begin, uint32_t end, int lane)
{
    contribution none = {0, NO_ROW, 0, -1};
    return begin + lane < end ? w.given[s * w.ends + begin + lane] : none;
}

/* Slopes of a slot times what its row is multiplied with; some are slopes of vectors already. */
__device__ inline float weigh(const work &w, const contribution &c, int h)
{
    if (w.ends_slope) return c.row < w.slots ? w.scale : 1;
    float weight = w.slope[(int64_t)c.slot * w.heads + h] * w.scale;
    return w.factor ? weight * w.factor[(int64_t)c.row * w.heads + h] : weight;
}

/* What a lane has to add, and which of the lanes have something, as bits. */
__device__ inline unsigned look_up(const work &w, const contribution &mine, part_of_sum *out)
{
    bool counts = false;
    out->row = mine.row, out->minus = mine.minus;
    for (int h = 0; h < MOST_HEADS; h++) out->by[h] = 0;
    if (mine.of != NO_ROW) {
        bool is_kept = w.grid.rows > 0 || w.kept[mine.of] != 0;
        for (int h = 0; h < MOST_HEADS; h++)
            if (h < w.heads) counts |= (out->by[h] = weigh(w, mine, h)) != 0;
        counts &= is_kept;
    }
    return __ballot_sync(0xffffffffu, counts);
}

/* What a lane has to add, in all of them. */
__device__ inline part_of_sum share(const work &w, const part_of_sum &mine, int source)
{
    part_of_sum part = {__shfl_sync(0xffffffffu, mine.row, source), -1, {0}};
    if (w.is_paired) part.minus = __shfl_sync(0xffffffffu, mine.minus, source);
    for (int h = 0; h < MOST_HEADS; h++)
        if (h < w.heads) part.by[h] = __shfl_sync(0xffffffffu, mine.by[h], source);
    return part;
}

/* Vectors are asked for a few at a time, and added in their order. */
template <bool WHOLE, int FEW>
__device__ inline void add_few(const work &w, const part_of_sum *part, int n, int32_t base,
                               int lane, quad *sum)
{
    const float *from = w.ends_slope ? w.ends_slope : w.vectors;
    int32_t width = w.heads > 1 ? w.d / w.heads : w.d;
    quad x[FEW];
    for (int o = 0; o < FEW; o++)
        if (o < n) x[o] = load_quad<WHOLE>(from + (int64_t)part[o].row * w.d, w.d, base, lane);
    for (int o = 0; o < FEW; o++) {
        if (o >= n || part[o].minus < 0) continue;
        quad y = load_quad<WHOLE>(from + (int64_t)part[o].minus * w.d, w.d, base, lane);
        for (int k = 0; k < 4; k++) x[o].x[k] -= y.x[k];
    }
    for (int o = 0; o < FEW; o++)
        for (int k = 0; k < 4 && o < n; k++) {
            bool is_first = column_of<WHOLE>(base, lane, k) < width;
            sum->x[k] = fmaf(is_first ? part[o].by[0] : part[o].by[1], x[o].x[k], sum->x[k]);
        }
}

/* The sum of what the lanes have. */
template <bool WHOLE, int FEW>
__device__ inline quad sum_some(const work &w, unsigned which, const part_of_sum &mine,
                                int32_t base, int lane)
{
    quad sum = {{0, 0, 0, 0}};
    ROLLED for (unsigned rest = which; rest;) {
        part_of_sum few[FEW];
        int n = 0;
        for (int o = 0; o < FEW; o++) {
            few[o] = share(w, mine, rest ? __ffs((int)rest) - 1 : 0);
            n += rest != 0;
            rest &= rest - 1;
        }
        add_few<WHOLE, FEW>(w, few, n, base, lane, &sum);
    }
    return sum;
}

enum { CHUNK_FEW = 4 };

/* The sum of a chunk, a warp each; the first block tells the loss. */
template <bool WHOLE> __global__ void __launch_bounds__(BLOCK) add_chunks(work w, int s)
{
    int lane = (int)threadIdx.x % WARP;
    const step_plan *p = &w.plan[s];
    await_last();
    if (blockIdx.x == 0) {
        if (!w.closes_late) close_rows(w, s);
        return;
    }
    for (uint32_t c = (uint32_t)warp_of_grid() - WARPS; c < p->chunks;
         c += (uint32_t)warps_of_grid() - WARPS) {
        uint2 range = w.chunk[p->first_chunk + c];
        part_of_sum mine;
        unsigned which = look_up(w, own_of(w, s, range.x, range.y, lane), &mine);
        for (int32_t base = 0; base < w.d; base += 4 * WARP) {
            quad sum = sum_some<WHOLE, CHUNK_FEW>(w, which, mine, base, lane);
            store_quad<WHOLE>(w.sum + (int64_t)c * w.d, w.d, base, lane, &sum);
        }
    }
}

#endif

/*
 * draw.cuh - the batches of a window of steps, and for each step the rows that it touches with
 * their contributions in the order of slots.
 */
#ifndef CWI_ENGINE_CUDA_DRAW_CUH
#define CWI_ENGINE_CUDA_DRAW_CUH

#include "engine/cuda/work.cuh"

/* ---- draws ---------------------------------------------------------------------------------- */

typedef int64_t draw_fn(const void *state, int group, cwi_rng *rng, int32_t *user, int32_t *item,
                        float *mark, int64_t *tried);

/* A candidate a thread; blockIdx.y is the step and the group. */
template <draw_fn *draw>
__global__ void __launch_bounds__(BLOCK, 5) draw_rows(work w, uint64_t first)
{
    __shared__ unsigned long long tried, made;
    int s = (int)blockIdx.y / w.n_groups, g = (int)blockIdx.y % w.n_groups;
    const draw_group &p = w.group[g];
    int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) tried = made = 0;
    __syncthreads();
    if (c < p.candidates) {
        cwi_rng rng;
        int64_t row = s * w.rows + p.first_row + c * p.most_rows, count = 0;
        int64_t slot = s * w.slots + p.first_slot + c * p.most_rows * p.slots;
        cwi_rng_init(&rng, w.seed, CWI_RNG_SAMPLE,
                     cwi_stream_number(first + (uint64_t)s, p.first_candidate + c));
        int64_t n = draw(w.sampler, g, &rng, w.user + slot, w.item + slot, w.mark + row, &count);
        for (int64_t k = n * p.slots; k < (int64_t)p.most_rows * p.slots; k++)
            w.user[slot + k] = -1;
        atomicAdd(&tried, (unsigned long long)count);
        atomicAdd(&made, (unsigned long long)n);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    if (tried) atomicAdd(&w.tried[blockIdx.y], tried);
    if (made) atomicAdd(&w.made[blockIdx.y], made);
}

/* ---- plans ---------------------------------------------------------------------------------- */

/* How many rows a step trains on: the pressure of selection stays when fewer were made. */
__device__ inline int64_t rows_to_keep(const work &w, int64_t rows)
{
    if (!w.selects) return rows;
    if (rows == w.keep_wanted || rows == 0) return rows < w.keep_batch ? rows : w.keep_batch;
    int64_t kept = (int64_t)rint((double)rows / w.keep_beta);
    if (kept > w.keep_batch) kept = w.keep_batch;
    return kept < 1 ? 1 : kept;
}

/* Returns whether a step has rows. */
__device__ inline bool plan_step(const work &w, int s)
{
    step_plan *p = &w.plan[s];
    p->all = 0;
    p->items = 0;
    for (int g = 0; g < w.n_groups; g++) {
        p->rows[g] = p->kept[g] = (int64_t)w.made[s * w.n_groups + g];
        p->all += p->rows[g];
    }
    p->keep = rows_to_keep(w, p->all);
    p->is_empty = p->all == 0;
    for (int g = 0; g < w.n_groups; g++)
        p->mass[g] = (double)(w.by_group ? p->kept[g] : p->keep);
    return !p->is_empty;
}

/* A step a thread, of one warp. */
__global__ void plan_steps(work w, int n)
{
    int lane = (int)threadIdx.x, before = 0;
    for (int first = 0; first < n; first += WARP) {
        int s = first + lane;
        unsigned all = __ballot_sync(0xffffffffu, s < n && plan_step(w, s));
        if (s < n) w.plan[s].before = before + __popc(all & ((1u << lane) - 1));
        before += __popc(all);
    }
    if (lane == 0) w.plan[n].before = before;
}

/* The mass of a loss whose rows weigh differently; a block a step. */
template <double (*mass_of)(const double *, float)> __global__ void weigh_steps(work w)
{
    __shared__ double room[BLOCK];
    int s = (int)blockIdx.x;
    double mass = 0;
    for (int64_t r = threadIdx.x; r < w.rows; r += blockDim.x) {
        const draw_group &p = w.group[group_of_row(w, r)];
        int64_t slot = p.first_slot + (r - p.first_row) * p.slots;
        if (w.user[s * w.slots + slot] >= 0) mass += mass_of(w.setting, w.mark[s * w.rows + r]);
    }
    mass = block_sum(mass, room);
    if (threadIdx.x == 0)
        for (int g = 0; g < w.n_groups; g++) w.plan[s].mass[g] = mass;
}

/* ---- contributions -------------------------------------------------------------------------- */

__device__ inline void put_end(const work &w, int s, int64_t at, int64_t row, int64_t slot,
                               int apart, end_kind kind)
{
    int64_t e = s * w.ends + at;
    uint32_t none = (1u << w.row_bits) - 1;
    w.key[e] = (uint32_t)s << w.row_bits | (row < 0 ? none : (uint32_t)row);
    w.end[e] = (uint32_t)slot << SLOT_SHIFT | (uint32_t)(apart > 0 ? apart - 1 : 0) << 2 | kind;
}

/* The two ends of a slot, a slot a thread; blockIdx.y is the step. */
__global__ void list_slots(work w)
{
    int s = (int)blockIdx.y;
    int64_t slot = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (slot >= w.slots) return;
    int32_t user = w.user[s * w.slots + slot];
    int64_t item = user < 0 ? -1 : w.n_users + w.item[s * w.slots + slot];
    if (w.grid.rows > 0 && slot >= w.grid.rows) user = -1; /* an item of all has no user */
    put_end(w, s, 2 * slot, user, slot, 0, END_USER);
    put_end(w, s, 2 * slot + 1, item, slot, 0, END_ITEM);
}

/* The three ends of two slots of which only the difference counts. */
__global__ void list_pairs(work w)
{
    int s = (int)blockIdx.y;
    int64_t pair = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * pair >= w.slots) return;
    const draw_group &p = w.group[group_of_slot(w, 2 * pair)];
    uint32_t k = (uint32_t)p.slots / 2, local = (uint32_t)(pair - p.first_slot / 2), row = local / k;
    int64_t slot = p.first_slot + (int64_t)row * p.slots + local % k;
    const int32_t *user = w.user + s * w.slots, *item = w.item + s * w.slots;
    bool is_hole = user[p.first_slot + (int64_t)row * p.slots] < 0;
    put_end(w, s, 3 * pair, is_hole ? -1 : user[slot], slot, (int)k, END_PAIR);
    put_end(w, s, 3 * pair + 1, is_hole ? -1 : w.n_users + item[slot], slot, 0, END_ITEM);
    put_end(w, s, 3 * pair + 2, is_hole ? -1 : w.n_users + item[slot + k], slot + k, 0, END_ITEM);
}

/* Where rows and chunks of at most CHUNK contributions begin.  Chunks follow the places in the
 * step, so that they do not depend on the window; blockIdx.y is the step. */
__global__ void find_heads(work w)
{
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, e = blockIdx.y * w.ends + at;
    if (at >= w.ends) return;
    uint32_t none = (1u << w.row_bits) - 1, row = w.sorted_key[e] & none;
    bool is_head = at == 0 || w.sorted_key[e - 1] != w.sorted_key[e];
    if (row == none) {
        if (is_head) w.n_ends[blockIdx.y] = at;
        w.head[e] = 0;
        return;
    }
    if (at == w.ends - 1) w.n_ends[blockIdx.y] = w.ends;
    w.head[e] = (uint64_t)is_head << 32 | (is_head || at % CHUNK == 0);
}

/* What a contribution is of, where the places of all rows are known. */
__device__ inline contribution read_end(const work &w, int64_t step, uint32_t end)
{
    contribution c;
    const int32_t *user = w.user_at + step * w.slots, *item = w.item_at + step * w.slots;
    int kind = (int)(end & 3u);
    c.slot = end >> SLOT_SHIFT;
    const draw_group &p = w.group[group_of_slot(w, c.slot)];
    c.of = (uint32_t)p.first_row + (c.slot - (uint32_t)p.first_slot) / (uint32_t)p.slots;
    c.row = kind == END_ITEM ? user[c.slot] : item[c.slot];
    if (w.ends_slope) c.row = (int32_t)c.slot + (kind == END_ITEM ? (int32_t)w.slots : 0);
    c.minus = kind == END_PAIR ? item[c.slot + (end >> 2 & 15u) + 1] : -1;
    return c;
}

__global__ void list_tasks(work w)
{
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, step = blockIdx.y;
    int64_t e = step * w.ends + at;
    uint32_t none = (1u << w.row_bits) - 1;
    if (at >= w.ends || w.head[e] == 0) return;
    uint32_t task = (uint32_t)(w.heads_so_far[e] >> 32) - 1, chunk = (uint32_t)w.heads_so_far[e] - 1;
    w.chunk[chunk].x = (uint32_t)at;
    if (w.head[e] >> 32 == 0) return;
    uint32_t row = w.sorted_key[e] & none;
    w.task[task].row = row;
    w.task[task].chunk = chunk;
    atomicOr(&w.visits[(int64_t)row * VISIT_WORDS + step / 32], 1u << step % 32);
}

/* Where the vectors of slots are; blockIdx.y is the step. */
__global__ void place_slots(work w)
{
    int s = (int)blockIdx.y;
    int64_t slot = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = s * w.slots + slot;
    if (slot >= w.slots) return;
    int32_t user = w.user[at];
    w.user_at[at] = user < 0 ? -1 : (int32_t)place_at(w, user, s);
    w.item_at[at] = user < 0 ? -1 : (int32_t)place_at(w, w.n_users + w.item[at], s);
}

__global__ void list_contributions(work w)
{
    int s = (int)blockIdx.y;
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, e = s * w.ends + at;
    if (at < w.n_ends[s]) w.given[e] = read_end(w, s, w.sorted_end[e]);
}

/* Tasks and chunks of the window before step s. */
__device__ inline uint64_t heads_before(const work &w, int s)
{
    return s == 0 ? 0 : w.heads_so_far[s * w.ends - 1];
}

/* The steps without a gradient that follow a visit at step s: up to which one. */
__device__ inline int32_t end_of_visit(const work &w, int64_t row, int s, int n)
{
    return w.plan[w.steps_all ? next_visit(w, row, s + 1, n) : s].before + !w.steps_all;
}

/* What follows from all of them; blockIdx.y is the step of n. */
__global__ void finish_tasks(work w, int n)
{
    int s = (int)blockIdx.y;
    uint64_t begin = heads_before(w, s), end = heads_before(w, s + 1);
    uint32_t first_task = (uint32_t)(begin >> 32), tasks = (uint32_t)(end >> 32) - first_task;
    uint32_t first_chunk = (uint32_t)begin, chunks = (uint32_t)end - first_chunk;
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k == 0) {
        w.plan[s].first_task = first_task, w.plan[s].tasks = tasks;
        w.plan[s].first_chunk = first_chunk, w.plan[s].chunks = chunks;
    }
    if (k < chunks)
        w.chunk[first_chunk + k].y = k + 1 < chunks ? w.chunk[first_chunk + k + 1].x
                                                    : (uint32_t)w.n_ends[s];
    if (k >= tasks) return;
    row_task *t = &w.task[first_task + k];
    int64_t item = (int64_t)t->row - w.n_users;
    if (w.penalty >= CWI_CUDA_CAUSE_L2 && item >= 0 && item < (w.n_rows - w.n_users) / 2)
        atomicAdd(&w.plan[s].items, 1u);
    t->chunk_end = k + 1 < tasks ? t[1].chunk : first_chunk + chunks;
    t->until = end_of_visit(w, t->row, s, n);
}

/* A row that is next touched long after step s is looked after in between, where there is room on
 * the lists.  Returns the first of those steps. */
__device__ inline int keep_up(const work &w, int64_t row, int s, int next)
{
    int first = next;
    int64_t last = -1;
    uint32_t place = 2 * (uint32_t)row + (uint32_t)(visits_before(w, row, s + 1) % 2);
    for (int from = s + LONG_WAIT; from < next; from += LONG_WAIT) {
        unsigned at = atomicAdd(&w.n_keeping[from], 1u);
        if (at >= w.most_kept) break;
        visit v = {0, place, 0, (uint16_t)w.plan[next].before, 0, VISIT_KEEP};
        if (last >= 0) w.keeping[last].until = (uint16_t)w.plan[from].before;
        last = (int64_t)from * w.most_kept + at;
        w.keeping[last] = v;
        if (first == next) first = from;
    }
    return first;
}

/* Does a visit take long?  Who begins with those is done when all are. */
__device__ inline bool takes_long(const work &w, int s, const visit &v)
{
    enum { MANY = 6 /* contributions */, LONG_REST = 8 /* steps */ };
    return v.kind == VISIT_PART || v.length > MANY || v.until > w.plan[s].before + LONG_REST;
}

/* The place of a visit among the `chunks` of a step: those that take long come first.  A whole block
 * asks, but for a thread without a visit. */
__device__ inline uint32_t turn_of(const work &w, int s, bool is_visit, bool is_long, uint32_t chunks)
{
    __shared__ unsigned count[2], before[2];
    unsigned own = 0, t = threadIdx.x;
    if (t < 2) count[t] = 0;
    __syncthreads();
    if (is_visit) own = atomicAdd(&count[is_long], 1u);
    __syncthreads();
    if (t < 2) before[t] = atomicAdd(&w.turns[2 * s + t], count[t]);
    __syncthreads();
    own += before[is_long];
    return is_long ? own : chunks - 1 - own;
}

/* All that chunk number k of a step takes, in one place. */
__device__ inline visit visit_of_chunk(const work &w, int s, int n, uint32_t k)
{
    const step_plan *p = &w.plan[s];
    uint2 range = w.chunk[p->first_chunk + k];
    uint32_t task = (uint32_t)(w.heads_so_far[s * w.ends + range.x] >> 32) - 1;
    row_task t = w.task[task];
    int next = w.steps_all ? next_visit(w, t.row, s + 1, n) : s;
    if (next - s > LONG_WAIT && t.chunk == p->first_chunk + k) {
        t.until = w.plan[keep_up(w, t.row, s, next)].before;
        w.task[task].until = t.until;
    }
    visit v = {range.x, 2 * t.row + (uint32_t)(visits_before(w, t.row, s) % 2), task - p->first_task,
               (uint16_t)t.until, (uint8_t)(range.y - range.x),
               (uint8_t)(t.chunk_end - t.chunk > 1 ? VISIT_PART : VISIT_WHOLE)};
    return v;
}

/* The visits of all chunks; blockIdx.y is the step of n. */
__global__ void list_visits(work w, int n)
{
    int s = (int)blockIdx.y;
    const step_plan *p = &w.plan[s];
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    visit v = {0, 0, 0, 0, 0, VISIT_WHOLE};
    if (k < p->chunks) v = visit_of_chunk(w, s, n, k);
    uint32_t turn = turn_of(w, s, k < p->chunks, takes_long(w, s, v), p->chunks);
    if (k < p->chunks) w.visit_of[p->first_chunk + turn] = v;
}

#endif

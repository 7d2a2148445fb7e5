/* work.cuh - what the kernels see: a window of steps, and the tables that they train. */
#ifndef CWI_ENGINE_CUDA_WORK_CUH
#define CWI_ENGINE_CUDA_WORK_CUH

#include "engine/cuda/gpu.h"


enum {
    WARP = 32,
    MOST_HEADS = 2,
    CHUNK = 32, /* contributions that one warp adds up */
#if defined(__CUDACC__)
    WINDOW = 128,    /* steps, at most: a row has a bit for each of them */
    LONG_WAIT = 24,  /* steps that a row misses at once */
    BLOCK = 256,     /* threads of most kernels */
    CHOOSERS = 1024, /* threads that select */
    SQUARE_BLOCKS = 512,
    COLUMN_ROWS = 64, /* of a column, that a thread goes through */
#else /* fibres take time */
    WINDOW = 64,
    LONG_WAIT = 2,
    BLOCK = 64,
    CHOOSERS = 128,
    SQUARE_BLOCKS = 2,
    COLUMN_ROWS = 8,
#endif
    WARPS = BLOCK / WARP,
    VISIT_WORDS = WINDOW / 32,
    SHORT_WINDOW = 32 /* where steps take long */
};

/* Before a loop that stays one: a warp that holds less leaves room for others. */
#if defined(__CUDACC__)
#define ROLLED _Pragma("unroll 1")
#else
#define ROLLED
#endif

/* Before a loop over an array that is to stay in registers. */
#if defined(__CUDACC__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED
#endif

/* A group of the plan of a sampler, and where its rows and slots lie in a step.  Candidates have
 * fixed places: those that were not made leave holes, slots of user -1. */
typedef struct draw_group {
    int64_t candidates, first_candidate, first_row, first_slot;
    int32_t slots, most_rows, unit;
} draw_group;

/* What a step is, known before it is made. */
typedef struct step_plan {
    int64_t rows[CWI_MAX_GROUPS];   /* made */
    int64_t kept[CWI_MAX_GROUPS];   /* of them, to train on */
    double mass[CWI_MAX_GROUPS];    /* what losses are divided by */
    int64_t all, keep;              /* rows of all groups */
    unsigned items;                 /* rows of the first half of items among those */
    uint32_t first_task, tasks;     /* rows of the table that it touches */
    uint32_t first_chunk, chunks;   /* of contributions to them */
    int32_t before;                 /* steps of the window before it that are not empty */
    bool is_empty;
} step_plan;

/* A contribution to a row: slopes of a slot times the row of the other side, or of the difference
 * of two. */
typedef struct alignas(16) contribution {
    uint32_t slot, of; /* of row number `of` of the batch */
    int32_t row, minus; /* minus -1: one row */
} contribution;

enum { NO_ROW = 0x7fffffff }; /* `of` where there is no contribution */

/* A row that a step touches: its chunks, and the place of its next visit in the window. */
typedef struct alignas(16) row_task {
    uint32_t row, chunk, chunk_end;
    int32_t until;
} row_task;

/* A row of the table that is touched in a step, or the part of one that has many contributions, or
 * a row that has waited long for its next step. */
typedef enum visit_kind { VISIT_WHOLE, VISIT_PART, VISIT_KEEP } visit_kind;

typedef struct alignas(16) visit {
    uint32_t begin; /* its contributions in the step */
    uint32_t row;   /* twice its number, and 1 where it is in its second place */
    uint32_t task;  /* number of the row in the step */
    uint16_t until; /* the steps without a gradient that follow */
    uint8_t length, kind;
} visit;

/* What a contribution is of: the other side of a slot, or both items of two slots of one user. */
typedef enum end_kind { END_USER, END_ITEM, END_PAIR } end_kind;

/* A contribution in one number: slot << SLOT_SHIFT | (slots to the other of a pair - 1) << 2 | kind. */
enum { SLOT_SHIFT = 6, MOST_SLOTS = 1 << (32 - SLOT_SHIFT), MOST_ROW_BITS = 29 };

/* A batch whose users all meet its items, as in cwi_loss_grid; no rows: one of rows of slots. */
typedef struct grid_work {
    int64_t rows, side, width;
    bool is_square;
    float *vectors;          /* [2][slots][d] of users, then items */
    float *cross, *slope;    /* [rows][width] */
    float *own, *own_slope, *row_factor, *row_top, *column_factor, *count; /* [rows] */
    double *value;                                               /* [rows] */
    float *column_top;       /* [pieces][rows] of pieces of COLUMN_ROWS rows of a column */
    double *column_sum;
    uint32_t *task_of; /* [n_rows of the table] of rows that the step touches */
    float *partial;    /* of slices of the products that lead back */
    double *mean, *crosses;
} grid_work;

typedef struct work {
    /* constants */
    int32_t n_users, n_rows, d, heads, row_bits, n_groups;
    bool is_paired, by_group, selects, per_group, steps_all, is_strict;
    bool vectors_are_rows; /* of the table; inner products, or cosines, are scores */
    bool is_twofold; /* a row of the table has two places, and goes from one to the other when it is
                      * stepped: what is read in that step stays as it was */
    int rule;
    int32_t layers; /* of NGCF; 0: none */
    float decay, scale, final_decay;
    int penalty;
    double strength, batch_reg;
    bool pulls_table; /* batch_reg is of the table, where vectors are not */
    int32_t table_d;
    double spectral;  /* of the term on popularity; 0: none */
    const float *degree;        /* [n_items] train rows, for that; and so the next ones */
    uint8_t *occurs;            /* [touched] the row of a task is in an example */
    double *along, *popular;    /* [touched] and spectral.cuh */
    bool closes_late; /* the loss is told with the penalty */
    draw_group group[CWI_MAX_GROUPS];
    int64_t rows, slots, ends; /* of a step, at most */
    uint64_t seed;
    const void *sampler;
    int64_t keep_batch, keep_wanted; /* of a method that selects */
    double keep_beta;
    const double *setting; /* of the loss */

    /* the window: [WINDOW] of everything */
    int32_t *user, *item; /* [slots] */
    int32_t *user_at, *item_at; /* [slots] the rows of their vectors */
    float *mark;          /* [rows] */
    unsigned long long *tried, *made; /* [groups] */
    step_plan *plan;
    uint32_t *key, *end, *sorted_key, *sorted_end; /* [ends] */
    contribution *given;                           /* [ends] in the order of rows and slots */
    uint64_t *head, *heads_so_far;                 /* [ends] rows << 32 | chunks that begin here */
    int64_t *n_ends;                               /* contributions of the step */
    uint2 *chunk;   /* [ends] where they begin and end in the step */
    row_task *task; /* [ends] */
    visit *visit_of; /* [ends] of chunks, those that take long first; NULL: sums and steps are made
                      * one after the other */
    unsigned *turns; /* [2] of those that take long, and of the others */
    visit *keeping;  /* [most_kept] of rows that wait */
    unsigned *n_keeping; /* wanted; those beyond most_kept are not there */
    uint32_t most_kept;
    uint32_t *visits;                              /* [n_rows][VISIT_WORDS] bits: steps that touch it */
    cwi_rates *rate;
    cwi_rates rates; /* of every step, but for the rate itself */
    int64_t *first; /* number of its first step in the epoch, from 1 */

    /* a step */
    float *score, *slope;    /* [slots][heads] */
    double *margin, *value;  /* [rows] */
    float *rough; /* [rows] the margin, rounded; no number: there is no such row */
    uint8_t *kept;           /* [rows] */
    float *sum;              /* [chunks][d] */
    float *ends_slope;       /* [2][slots][d] of users, then items, where contributions are not
                              * slopes of slots times vectors; NULL: they are */

    unsigned *arrived;       /* [ends] chunks of a row whose sums are there */
    uint8_t *is_second;      /* [n_rows] between windows: a row is in its second place */

    float *theta, *memory[CWI_MAX_MEMORIES]; /* [n_rows][d]; theta twice where it is twofold */
    const float *vectors;                    /* what scores are of */
    double *penalties;  /* [2][most_tasks] of tasks, of a step and of the one before */
    int64_t most_tasks; /* of a step */
    double *loss;       /* [WINDOW] of steps whose penalty is not known yet */
    float *gradient;                         /* [n_rows][d] of the vectors, of all rows */
    double *squares;                         /* [SQUARE_BLOCKS] of the vectors */
    float *factor; /* [n_rows][heads] one over their lengths, for cosines; NULL: inner products */
    grid_work grid;
    cwi_cuda_tally *tally;
} work;

/* ---- strips: four columns of a row for each lane of a warp --------------------------------- */

typedef struct quad {
    float x[4];
} quad;

/* What is used once by one processor, or was perhaps written by another since the kernel before
 * began, is read past the nearest memory. */
template <bool FAR, typename T> __device__ inline T load(const T *at)
{
    return FAR ? __ldcg(at) : *at;
}

/* ROW of a kernel: how rows of d numbers are gone through.  Lanes take four neighbours each where rows
 * are whole quads, else columns in turn.  A number above ROW_QUADS is d itself. */
enum { ROW_COLUMNS = 0, ROW_QUADS = 1 };

template <int ROW> __device__ inline int32_t length_of(int32_t d)
{
    return ROW > ROW_QUADS ? ROW : d;
}

template <int ROW, bool FAR = false>
__device__ inline quad load_quad(const float *row, int32_t d, int32_t base, int lane)
{
    quad q;
    d = length_of<ROW>(d);
    if (ROW) {
        int32_t c = base + 4 * lane;
        float4 v = make_float4(0, 0, 0, 0);
        if (c < d) v = load<FAR>((const float4 *)(row + c));
        q.x[0] = v.x, q.x[1] = v.y, q.x[2] = v.z, q.x[3] = v.w;
    } else {
        for (int k = 0; k < 4; k++) {
            int32_t c = base + WARP * k + lane;
            q.x[k] = c < d ? load<FAR>(row + c) : 0;
        }
    }
    return q;
}

template <int ROW>
__device__ inline void store_quad(float *row, int32_t d, int32_t base, int lane, const quad *q)
{
    d = length_of<ROW>(d);
    if (ROW) {
        int32_t c = base + 4 * lane;
        if (c < d) *(float4 *)(row + c) = make_float4(q->x[0], q->x[1], q->x[2], q->x[3]);
    } else {
        for (int k = 0; k < 4; k++) {
            int32_t c = base + WARP * k + lane;
            if (c < d) row[c] = q->x[k];
        }
    }
}

/* The column of number k of a quad. */
template <bool WHOLE> __device__ inline int32_t column_of(int32_t base, int lane, int k)
{
    return WHOLE ? base + 4 * lane + k : base + WARP * k + lane;
}

/* Ask for what is read soon. */
__device__ inline void fetch_line(const void *at)
{
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#else
    (void)at;
#endif
}

/* 16 bytes for what a block shares; they are there after await_copies. */
__device__ inline void copy_soon(void *to, const void *from)
{
#if defined(__CUDA_ARCH__)
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
    memcpy(to, from, 16);
#endif
}

__device__ inline void await_copies()
{
#if defined(__CUDA_ARCH__)
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

__device__ inline float warp_sum(float x)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    return x;
}

__device__ inline double warp_sum_wide(double x)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    return x;
}

__device__ inline int warp_of_grid()
{
    return (int)(blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP);
}

__device__ inline int warps_of_grid()
{
    return (int)(gridDim.x * (blockDim.x / WARP));
}

/* A uniform number whose words begin at `word` of a stream. */
__device__ inline double uniform_at(cwi_rng rng, uint32_t word)
{
    rng.counter[0] = word / 4;
    cwi_rng_next_block(&rng);
    rng.left -= (int)(word % 4);
    return cwi_rng_real(&rng);
}

/* The group that a row, or a slot, of a step lies in. */
__device__ inline int group_of_row(const work &w, int64_t row)
{
    int g = 0;
    while (g + 1 < w.n_groups && row >= w.group[g + 1].first_row) g++;
    return g;
}

__device__ inline int group_of_slot(const work &w, int64_t slot)
{
    int g = 0;
    while (g + 1 < w.n_groups && slot >= w.group[g + 1].first_slot) g++;
    return g;
}

/* In how many steps of the window before step s a row is touched. */
__device__ inline int visits_before(const work &w, int64_t row, int s)
{
    const uint32_t *bits = w.visits + row * VISIT_WORDS;
    int n = 0;
    for (int k = 0; k < s / 32; k++) n += __popc(bits[k]);
    return s % 32 ? n + __popc(bits[s / 32] & ((1u << s % 32) - 1)) : n;
}

/* The first step from number s on that touches it; n: none of the window does. */
__device__ inline int next_visit(const work &w, int64_t row, int s, int n)
{
    const uint32_t *bits = w.visits + row * VISIT_WORDS;
    if (s >= n) return n;
    uint32_t rest = bits[s / 32] >> s % 32;
    if (rest) return s + __ffs((int)rest) - 1;
    for (int k = s / 32 + 1; k < VISIT_WORDS; k++)
        if (bits[k]) return 32 * k + __ffs((int)bits[k]) - 1;
    return n;
}

/* Where a row of the table lies at step s. */
__device__ inline int64_t place_at(const work &w, int64_t row, int s)
{
    return w.is_twofold && visits_before(w, row, s) % 2 ? row + w.n_rows : row;
}

/* Does a step of the window touch this row of the table? */
__device__ inline bool is_touched(const work &w, int s, int64_t row)
{
    return w.visits[row * VISIT_WORDS + s / 32] >> s % 32 & 1;
}

__device__ inline bool has_failed(const work &w)
{
    return w.tally->bad != 0;
}

/* The sum over the threads of a block, in a fixed order; `room` has a number for each warp. */
__device__ inline double block_sum(double x, double *room)
{
    int lane = (int)threadIdx.x % WARP, warps = (int)blockDim.x / WARP;
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    if (lane == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    x = lane < warps ? room[lane] : 0;
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    __syncthreads();
    return x;
}

/* That of whole numbers. */
__device__ inline int64_t block_count(unsigned x, unsigned long long *room)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    if (threadIdx.x == 0) *room = 0;
    __syncthreads();
    if (threadIdx.x % WARP == 0) atomicAdd(room, (unsigned long long)x);
    __syncthreads();
    return (int64_t)*room;
}

#endif

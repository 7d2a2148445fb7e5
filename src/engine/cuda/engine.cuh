/* engine.cuh - the engine on a device, and what its parts share. */
#ifndef CWI_ENGINE_CUDA_ENGINE_CUH
#define CWI_ENGINE_CUDA_ENGINE_CUH

#include "engine/cuda/dcor.cuh"
#include "engine/cuda/graph.cuh"
#include "engine/cuda/lister.h"
#include "engine/cuda/ngcf.cuh"
#include "engine/cuda/tower.cuh"
#include "engine/cuda/vae.cuh"

/* A window that is drawn, or about to be. */
typedef struct drawn {
    uint64_t step;
    int n; /* 0: none */
} drawn;

struct cwi_cuda {
    gpu g;
    work windows[2], w; /* one at work, one being drawn; w is a copy of one of them */
    drawn ready[2];
    int at_hand;
    int window; /* steps, at most */
    int rest[2]; /* of the last window of less, by the number that it was drawn to */
    int64_t pairs, room_bytes;
    void *room; /* of sorting */
    double *setting;
    net graph;
    int64_t tensor[CWI_MAX_TENSORS]; /* where tensors beside the table begin */
    int64_t n_others;                /* numbers of all of them */
    piece_at others;
    float *others_gradient;
    float *kept, *kept_others; /* parameters that were kept; NULL before the first */
    ngcf_work ngcf;
    dcor_work dcor;
    vae_work vae; /* no layers: it is something else */
    tower_work tower[MOST_HEADS]; /* one for each head where scores are of networks */
    float *tower_slope[2];        /* [padded][widest] */
    float *partial;               /* [slices][the largest tensor] */
    cwi_cuda_lister *lister;      /* NULL before the first ranking */
    cwi_csr seen;            /* what users had, on the device */
    float *final, *layer[MOST_GRAPH_LAYERS]; /* [n_rows][d] where there is a graph */
    float *pull;                             /* [n_rows] of an L2 term; NULL: none */
    uint32_t *touched;                       /* bits of rows that a step touches */
    void *sampler;
    cwi_cuda_task task;
    void (*draw)(cwi_cuda *e, dim3 grid, uint64_t first);
    void (*score)(cwi_cuda *e, int s); /* and its loss; NULL: it has none of rows */
    void (*lose)(cwi_cuda *e, int s);  /* the loss alone */
    double settings[CWI_LOSS_SETTINGS]; /* as on the device */
    void (*weigh)(cwi_cuda *e, int n); /* NULL: every row weighs the same */
    void *(*copy)(gpu *g, const cwi_drawing *opened);
    unsigned processors;
    unsigned blocks; /* of kernels that walk over rows */
};

static unsigned blocks_for(int64_t n, int64_t each)
{
    return (unsigned)((n + each - 1) / each);
}

/* So many of kernels that walk over n numbers; no more than there is room for. */
static unsigned enough(const cwi_cuda *e, int64_t n, int64_t each)
{
    unsigned blocks = blocks_for(n, each);
    return blocks < e->blocks ? blocks : e->blocks;
}

/* So many that they are all there at once, `each` of a processor; one of them has its own work. */
static unsigned at_once(const cwi_cuda *e, unsigned each)
{
    unsigned blocks = (e->blocks - 2) / 8 * each;
    return blocks > 2 ? blocks : 3;
}

template <typename T> static void add(gpu *g, T **out, int64_t count)
{
    *out = (T *)gpu_alloc(g, count, sizeof **out);
}

/* Names of losses have dashes where those of C have underscores, or none at all. */
static bool is_named(const char *id, const char *name)
{
    while (*id && *name) {
        if (*id == '_') id++;
        if (*name == '-') name++;
        if (*id++ != *name++) return false;
    }
    return *id == *name;
}

/* ---- products and tensors ------------------------------------------------------------------- */

static int64_t tiles_of(const matrices &x, int tile)
{
    int64_t slices = x.slices > 0 ? x.slices : 1;
    return (int64_t)blocks_for(x.m, tile) * blocks_for(x.n, tile) * x.parts * slices;
}

/* Tiles are wide where there are enough of them. */
static void multiply_all(cwi_cuda *e, const matrices &x)
{
    bool is_wide = x.m > NARROW_TILE && x.n > NARROW_TILE && tiles_of(x, WIDE_TILE) >= ENOUGH_TILES;
    dim3 tiles((unsigned)tiles_of(x, is_wide ? WIDE_TILE : NARROW_TILE));
    if (is_wide && x.is_chain)
        LAUNCH_NEXT((multiply_in_chains<WIDE>), tiles, dim3(BLOCK), &e->g, x);
    else if (x.is_chain)
        LAUNCH_NEXT((multiply_in_chains<NARROW>), tiles, dim3(BLOCK), &e->g, x);
    else if (is_wide)
        LAUNCH_NEXT((multiply_in_pieces<WIDE>), tiles, dim3(BLOCK), &e->g, x);
    else
        LAUNCH_NEXT((multiply_in_pieces<NARROW>), tiles, dim3(BLOCK), &e->g, x);
}

/* A product of few tiles is cut along k.  How, depends on its shape alone. */
static void cut_depth(matrices *x)
{
    int64_t tiles = tiles_of(*x, WIDE_TILE), n = (FULL_TILES + tiles - 1) / tiles;
    if (n > x->k / LEAST_DEPTH) n = x->k / LEAST_DEPTH;
    if (n <= 1) return;
    x->slice = (int32_t)(((x->k + n - 1) / n + 15) / 16 * 16);
    x->slices = (x->k + x->slice - 1) / x->slice;
    x->next_slice = (int64_t)x->parts * x->next_c;
}

/* c = a b of parts side by side, whose slices along k lie in `partial` until they are added up. */
static void multiply_deep(cwi_cuda *e, matrices x, float *partial)
{
    float *to = x.c;
    cut_depth(&x);
    if (x.slices > 1) x.c = partial;
    multiply_all(e, x);
    if (x.slices <= 1) return;
    int64_t n = x.next_slice, count = x.slices;
    const float *from = partial;
    LAUNCH_NEXT(join_few, dim3(blocks_for(n, BLOCK)), dim3(BLOCK), &e->g, from, n, count, to);
}

/* Numbers of `partial` that such a product takes. */
static int64_t depth_room(matrices x)
{
    cut_depth(&x);
    return x.slices * x.next_slice;
}

/* Room for sums over rows that make the gradient of a tensor. */
static void add_sums(cwi_cuda *e, const cwi_cuda_task *task, slices over)
{
    int64_t largest = 0;
    for (int t = 1; t < task->n_tensors; t++) {
        int64_t n = task->tensor[t].rows * task->tensor[t].columns;
        if (n > largest) largest = n;
    }
    add(&e->g, &e->partial, over.count * largest);
}

static void join(cwi_cuda *e, slices over, int64_t n, float *to)
{
    const float *partial = e->partial;
    LAUNCH(join_slices, dim3(blocks_for(n, WARP)), dim3(BLOCK), &e->g, partial, n, over.count, to);
}

static void sum_rows(cwi_cuda *e, slices over, columns x, float *to)
{
    float *partial = e->partial;
    LAUNCH(sum_columns, dim3(blocks_for(x.n, WARP), (unsigned)over.count), dim3(BLOCK), &e->g, x,
           over.each, partial);
    join(e, over, x.n, to);
}

/* to = a^T b over all rows: a of m columns, b of n. */
static void sum_product(cwi_cuda *e, slices over, const float *a, int32_t m, int32_t lda,
                        const float *b, int32_t n, int32_t ldb, float *to)
{
    multiply_all(e, {a, b, e->partial, m, n, (int32_t)over.each, lda, ldb, n, true, false,
                     over.count, over.each * lda, over.each * ldb, (int64_t)m * n});
    join(e, over, (int64_t)m * n, to);
}

/* Room for tensors beside the table, each from a whole quad on. */
static void add_others(cwi_cuda *e, const cwi_cuda_task *task)
{
    e->n_others = 0;
    for (int t = 1; t < task->n_tensors; t++) {
        e->tensor[t] = e->n_others;
        e->n_others += (task->tensor[t].rows * task->tensor[t].columns + 3) / 4 * 4;
    }
    if (e->n_others == 0) return;
    add(&e->g, &e->others.theta, e->n_others);
    add(&e->g, &e->others_gradient, e->n_others);
    for (int m = 0; m < task->memories; m++) add(&e->g, &e->others.memory[m], e->n_others);
}

/* A step on tensors beside the table; those of equal L2 terms at once. */
template <int RULE> static void step_others(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    int most = e->task.n_tensors;
    for (int t = 1, end; t < most; t = end) {
        float decay = e->task.tensor[t].decay;
        for (end = t + 1; end < most && e->task.tensor[end].decay == decay;) end++;
        int64_t begin = e->tensor[t], n = (end < most ? e->tensor[end] : e->n_others) - begin;
        const float *gradient = e->others_gradient + begin;
        piece_at at = e->others;
        at.theta += begin;
        for (int m = 0; m < CWI_MAX_MEMORIES; m++)
            if (at.memory[m]) at.memory[m] += begin;
        LAUNCH((step_tensor<RULE>), dim3(enough(e, n, 4 * BLOCK)), dim3(BLOCK), g, w, s, at,
               gradient, n, decay);
    }
}

#endif

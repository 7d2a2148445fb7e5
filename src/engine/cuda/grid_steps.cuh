/* grid_steps.cuh - batches that are grids: the order of kernels of grid.cuh. */
#ifndef CWI_ENGINE_CUDA_GRID_STEPS_CUH
#define CWI_ENGINE_CUDA_GRID_STEPS_CUH

#include "engine/cuda/engine.cuh"

/* ---- products ------------------------------------------------------------------------------- */

static int64_t items_at(const work &w)
{
    return (w.slots + (w.grid.is_square ? 0 : w.grid.rows)) * w.d;
}

/* From slopes of scores to those of users. */
static matrices back_to_users(const work &w, const float *slope)
{
    int32_t side = (int32_t)w.grid.side, width = (int32_t)w.grid.width;
    int64_t step = (int64_t)side * w.d, next = (int64_t)side * width;
    return {slope, w.grid.vectors + items_at(w), w.ends_slope, side, w.d, width, width, w.d, w.d,
            false, false, w.grid.rows / side, next, step, step};
}

/* To those of items. */
static matrices back_to_items(const work &w, const float *slope)
{
    int32_t side = (int32_t)w.grid.side, width = (int32_t)w.grid.width;
    int64_t step = (int64_t)side * w.d, next = (int64_t)side * width;
    return {slope, w.grid.vectors, w.ends_slope + items_at(w), width, w.d, side, width, w.d, w.d,
            true, false, w.grid.rows / side, next, step, (int64_t)width * w.d};
}

/* ---- open ----------------------------------------------------------------------------------- */

static int64_t pieces_of(const work &w)
{
    return (w.grid.side + COLUMN_ROWS - 1) / COLUMN_ROWS;
}

static void add_grid(cwi_cuda *e)
{
    gpu *g = &e->g;
    work *w = &e->w;
    grid_work *to = &w->grid;
    int64_t users = depth_room(back_to_users(*w, NULL)), items = depth_room(back_to_items(*w, NULL));
    add(g, &to->vectors, 2 * w->slots * w->d);
    add(g, &w->ends_slope, 2 * w->slots * w->d);
    add(g, &to->cross, to->rows * to->width);
    add(g, &to->slope, to->rows * to->width);
    add(g, &to->own, to->rows);
    add(g, &to->own_slope, to->rows);
    add(g, &to->row_factor, to->rows);
    add(g, &to->row_top, to->rows);
    add(g, &to->column_factor, to->rows);
    add(g, &to->task_of, w->n_rows);
    add(g, &to->column_top, pieces_of(*w) * to->rows);
    add(g, &to->column_sum, pieces_of(*w) * to->rows);
    add(g, &to->count, to->rows);
    add(g, &to->value, to->rows);
    add(g, &to->partial, users > items ? users : items);
    add(g, &to->mean, 1);
    add(g, &to->crosses, 1);
}

/* ---- scores --------------------------------------------------------------------------------- */

static void score_grid(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 threads(BLOCK);
    int32_t side = (int32_t)w.grid.side, width = (int32_t)w.grid.width;
    LAUNCH(gather_ends, dim3(blocks_for(2 * w.slots, WARPS)), threads, g, w, s);
    multiply_all(e, {w.grid.vectors, w.grid.vectors + items_at(w), w.grid.cross, side, width, w.d,
                     w.d, w.d, width, false, true, w.grid.rows / side, (int64_t)side * w.d,
                     (int64_t)side * w.d, (int64_t)side * width});
    LAUNCH_NEXT(finish_scores, dim3((unsigned)w.grid.rows), threads, g, w, s);
}

/* ---- losses --------------------------------------------------------------------------------- */

/* In the order of --form. */
enum { FORM_BOTH, FORM_ROWS, FORM_COLUMNS, FORM_LOGISTIC, FORM_LSE };

/* Numbers of a row that a thread has at hand, of short rows and of long ones. */
enum { FEW_KEPT = 8, MANY_KEPT = 64 };

/* A warp takes a short row, a block a long one. */
static void take_softmax_rows(cwi_cuda *e, int s, float less, double share)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 rows((unsigned)w.grid.rows), some(blocks_for(w.grid.rows, WARPS)), threads(BLOCK);
    if (w.grid.width <= FEW_KEPT * WARP)
        LAUNCH_NEXT((softmax_rows<WARP, FEW_KEPT>), some, threads, g, w, s, less, share);
    else
        LAUNCH_NEXT((softmax_rows<BLOCK, FEW_KEPT>), rows, threads, g, w, s, less, share);
}

static void take_softmax_columns(cwi_cuda *e, double share)
{
    gpu *g = &e->g;
    work w = e->w;
    int64_t pieces = pieces_of(w);
    LAUNCH_NEXT(softmax_columns, dim3(blocks_for(w.grid.rows, BLOCK), (unsigned)pieces), dim3(BLOCK), g,
                w);
    LAUNCH_NEXT(join_columns, dim3(blocks_for(w.grid.rows, WARP)), dim3(BLOCK), g, w, pieces, share);
}

static void take_softmax(cwi_cuda *e, int s, int form, float less)
{
    gpu *g = &e->g;
    work w = e->w;
    double share = form == FORM_ROWS ? 1 : form == FORM_COLUMNS ? 0 : 0.5, rest = 1 - share;
    dim3 one(1), rows((unsigned)w.grid.rows), threads(BLOCK);
    take_softmax_rows(e, s, less, share);
    if (form != FORM_ROWS) take_softmax_columns(e, rest);
    if (is_named("bsl", e->task.loss))
        LAUNCH_NEXT(weigh_rows, one, threads, g, w);
    else
        LAUNCH_NEXT(take_mean, one, threads, g, w);
    if (form != FORM_ROWS)
        LAUNCH_NEXT((find_slopes<true>), rows, threads, g, w, s, less);
    else
        LAUNCH_NEXT((find_slopes<false>), rows, threads, g, w, s, less);
}

static void take_cross_margins(cwi_cuda *e, bool is_lse)
{
    gpu *g = &e->g;
    work w = e->w;
    int64_t across = (w.grid.side + SQUARE - 1) / SQUARE;
    dim3 squares((unsigned)(across * across * (w.grid.rows / w.grid.side)));
    dim3 rows((unsigned)w.grid.rows), some(blocks_for(w.grid.rows, WARPS)), threads(BLOCK);
    LAUNCH_NEXT((meet_crosses<false>), squares, threads, g, w);
    if (!is_lse && w.grid.width <= FEW_KEPT * WARP)
        LAUNCH_NEXT((take_hardest<FEW_KEPT>), some, threads, g, w);
    else if (!is_lse && w.grid.width <= MANY_KEPT * WARP)
        LAUNCH_NEXT((take_hardest<MANY_KEPT>), some, threads, g, w);
    else
        LAUNCH_NEXT(take_margins, rows, threads, g, w, is_lse);
    LAUNCH_NEXT(count_crosses, dim3(1), threads, g, w);
    LAUNCH_NEXT((meet_crosses<true>), squares, threads, g, w);
    LAUNCH_NEXT(oppose_rows, rows, threads, g, w);
}

/* Returns where the slopes of crosses are, those of observed pairs of a square among them. */
static float *take_grid_loss(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 rows((unsigned)w.grid.rows), threads(BLOCK);
    bool is_cross = is_named("cross", e->task.loss);
    int form = is_cross ? (int)e->settings[0] : FORM_ROWS;
    if (form >= FORM_LOGISTIC) {
        take_cross_margins(e, form == FORM_LSE);
        return w.grid.cross;
    }
    if (is_named("psl", e->task.loss)) {
        LAUNCH_NEXT(take_psl, rows, threads, g, w);
        LAUNCH_NEXT(take_mean, dim3(1), threads, g, w);
    } else {
        take_softmax(e, s, form, is_cross ? (float)(1 - e->settings[2]) : 0);
    }
    return w.grid.slope;
}

/* ---- back ----------------------------------------------------------------------------------- */

/* From slopes of scores to those of vectors. */
static void go_back_grid(cwi_cuda *e, float *slope)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 threads(BLOCK);
    multiply_deep(e, back_to_users(w, slope), w.grid.partial);
    multiply_deep(e, back_to_items(w, slope), w.grid.partial);
    if (!w.grid.is_square)
        LAUNCH_NEXT(add_own, dim3(blocks_for(w.grid.rows * w.d, BLOCK)), threads, g, w);
}

#endif

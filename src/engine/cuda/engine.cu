/* engine.cu - windows of steps on a device: drawn at once, then made one after the other. */
#include "engine/cuda/samplers.cuh"
#include "engine/cuda/select.cuh"
#include "engine/cuda/spectral.cuh"
#include "engine/cuda/terms.cuh"
#include "engine/cuda/visit.cuh"

#include "loss/bpr.c"
#include "loss/cause.c"
#include "loss/cpr.c"
#include "loss/dice.c"
#include "loss/fs.c"
#include "loss/pointwise.c"
#include "loss/softmax.c"
#include "loss/ubpr.c"

#include "engine/cuda/grid_steps.cuh" /* with formulas of those */
#include "engine/cuda/ngcf_steps.cuh"
#include "engine/cuda/tower_steps.cuh"
#include "engine/cuda/vae_steps.cuh"

enum { MANY_ENDS = 1 << 26 };

/* ---- parts by name -------------------------------------------------------------------------- */

#define weighted_draw pointwise_draw
#define DRAW(id)                                                                                   \
    static void draw_##id(cwi_cuda *e, dim3 grid, uint64_t first)                                  \
    {                                                                                              \
        work w = e->w;                                                                             \
        LAUNCH((draw_rows<id##_draw>), grid, dim3(BLOCK), &e->g, w, first);                        \
    }
CWI_SAMPLERS(DRAW)

#define LOSS(id)                                                                                   \
    static void loss_##id(cwi_cuda *e, int s)                                                      \
    {                                                                                              \
        work w = e->w;                                                                             \
        dim3 all(blocks_for(w.rows, WARPS));                                                       \
        if (w.d == 128 && w.is_paired)                                                             \
            LAUNCH_NEXT((score_rows<128, true, id##_row>), all, dim3(BLOCK), &e->g, w, s);         \
        else if (w.d % 4 == 0 && w.is_paired)                                                      \
            LAUNCH_NEXT((score_rows<ROW_QUADS, true, id##_row>), all, dim3(BLOCK), &e->g, w, s);   \
        else if (w.d % 4 == 0)                                                                     \
            LAUNCH_NEXT((score_rows<ROW_QUADS, false, id##_row>), all, dim3(BLOCK), &e->g, w, s);  \
        else if (w.is_paired)                                                                      \
            LAUNCH_NEXT((score_rows<ROW_COLUMNS, true, id##_row>), all, dim3(BLOCK), &e->g, w, s); \
        else                                                                                       \
            LAUNCH_NEXT((score_rows<ROW_COLUMNS, false, id##_row>), all, dim3(BLOCK), &e->g, w, s);\
    }                                                                                              \
    static void lose_##id(cwi_cuda *e, int s)                                                      \
    {                                                                                              \
        work w = e->w;                                                                             \
        LAUNCH((lose_rows<id##_row>), dim3(blocks_for(w.rows, BLOCK)), dim3(BLOCK), &e->g, w, s);  \
    }
CWI_LOSSES(LOSS)

static void weigh_wmf(cwi_cuda *e, int n)
{
    work w = e->w;
    LAUNCH((weigh_steps<wmf_mass>), dim3((unsigned)n), dim3(BLOCK), &e->g, w);
}

typedef cpr_state cpr_type;
typedef bpr_state bpr_type;
typedef cause_state cause_type;
typedef cwi_drawing ubpr_type;
typedef pointwise_state pointwise_type;
typedef pointwise_state weighted_type;
typedef dice_state dice_type;
typedef cross_state cross_type;
typedef uniform_state uniform_type;

static bool find_parts(cwi_cuda *e, const cwi_cuda_task *task)
{
    if (task->vae.layers > 0) return true;
#define FIND_DRAW(id)                                                                              \
    if (is_named(#id, task->sampler)) e->draw = draw_##id, e->copy = copy_sampler<id##_type>;
    CWI_SAMPLERS(FIND_DRAW)
#define FIND_LOSS(id)                                                                              \
    if (is_named(#id, task->loss)) e->score = loss_##id, e->lose = lose_##id;
    CWI_LOSSES(FIND_LOSS)
    if (is_named("wmf", task->loss)) e->weigh = weigh_wmf;
    if (task->tower.layers > 0) e->score = e->lose ? score_towers : NULL;
    return e->draw && (e->score || task->grid.rows > 0);
}

/* Bits of the keys that contributions to a window of n steps are sorted by. */
static int key_bits(const work *w, int n)
{
    int step_bits = 0;
    while (1 << step_bits < n) step_bits++;
    return w->row_bits + step_bits;
}

/* ---- open ----------------------------------------------------------------------------------- */

static void lay_out(cwi_cuda *e, const cwi_cuda_task *task)
{
    const cwi_draw_plan *plan = &task->drawing->plan;
    work *w = &e->w;
    int64_t candidates = 0;
    w->n_groups = plan->n_groups;
    for (int g = 0; g < plan->n_groups; g++) {
        const cwi_draw_group *from = &plan->group[g];
        draw_group *to = &w->group[g];
        to->candidates = from->candidates;
        to->slots = from->slots;
        to->most_rows = from->most_rows;
        to->unit = from->unit;
        to->first_candidate = candidates;
        to->first_row = w->rows;
        to->first_slot = w->slots;
        candidates += from->candidates;
        w->rows += from->candidates * from->most_rows;
        w->slots += from->candidates * from->most_rows * from->slots;
    }
    w->n_users = task->n_users;
    w->n_rows = task->n_users + task->n_items;
    w->d = task->graph.has_weights ? task->d * (task->graph.layers + 1) : task->d;
    w->heads = task->heads;
    w->is_paired = task->by_difference && task->heads == 1 && !task->is_cosine &&
                   task->grid.rows == 0 && task->tower.layers == 0;
    w->ends = w->is_paired ? 3 * (w->slots / 2) : 2 * w->slots;
    int64_t rows = (int64_t)task->n_users + task->n_items;
    while (rows > ((int64_t)1 << w->row_bits) - 1) w->row_bits++;
    w->by_group = task->by_group;
    w->selects = task->selects;
    w->is_strict = task->is_strict;
    w->per_group = task->per_group;
    w->steps_all = task->steps_all;
    w->rule = task->rule;
    w->decay = task->tensor[0].decay;
    w->scale = task->scale;
    w->final_decay = task->final_decay;
    w->layers = task->graph.has_weights ? task->graph.layers : 0;
    w->penalty = task->penalty;
    w->strength = task->strength;
    w->grid.rows = task->grid.rows;
    w->grid.side = task->grid.side;
    w->grid.width = task->grid.width;
    w->grid.is_square = task->grid.is_square;
    w->batch_reg = task->batch_reg;
    w->pulls_table = task->batch_reg > 0 && task->pulls_table;
    w->table_d = task->d;
    w->spectral = task->spectral;
    w->closes_late = task->penalty || task->final_decay > 0 || task->batch_reg > 0 ||
                     task->spectral > 0;
    w->seed = task->drawing->seed;
    if (task->selects) {
        const cpr_state *s = (const cpr_state *)(const void *)task->drawing;
        w->keep_batch = s->batch;
        w->keep_wanted = s->wanted;
        w->keep_beta = s->beta;
    }
    w->vectors_are_rows =
        task->graph.n_nodes == 0 && task->grid.rows == 0 && task->tower.layers == 0;
    w->is_twofold = w->vectors_are_rows && !task->is_cosine && task->spectral == 0 &&
                    task->penalty != CWI_CUDA_DICE_DCOR;
    e->window = SHORT_WINDOW;
    if (w->vectors_are_rows) e->window = WINDOW;
    while (e->window > 1 && (w->ends * e->window > MANY_ENDS || key_bits(w, e->window) > 32))
        e->window /= 2;
}

/* What is kept of a window: of two. */
static void add_window(cwi_cuda *e, work *w)
{
    gpu *g = &e->g;
    int64_t n = e->window;
    add(g, &w->user, n * w->slots);
    add(g, &w->item, n * w->slots);
    add(g, &w->user_at, n * w->slots);
    add(g, &w->item_at, n * w->slots);
    add(g, &w->mark, n * w->rows);
    add(g, &w->tried, n * w->n_groups);
    add(g, &w->made, n * w->n_groups);
    add(g, &w->plan, n + 1);
    add(g, &w->given, n * w->ends);
    add(g, &w->chunk, n * w->ends);
    add(g, &w->task, n * w->ends);
    if (w->is_twofold) {
        int64_t touched = w->n_rows < w->ends ? w->n_rows : w->ends;
        int64_t wait = 2 * (int64_t)w->n_rows / LONG_WAIT + 1;
        w->most_kept = (uint32_t)(wait < touched ? wait : touched);
        add(g, &w->visit_of, n * w->ends);
        add(g, &w->keeping, n * w->most_kept);
        add(g, &w->n_keeping, n);
        add(g, &w->turns, 2 * n);
    }
    add(g, &w->visits, (int64_t)VISIT_WORDS * w->n_rows);
}

/* What only drawing needs. */
static void add_room(cwi_cuda *e)
{
    gpu *g = &e->g;
    work *w = &e->w;
    int64_t n = e->window;
    add(g, &w->key, n * w->ends);
    add(g, &w->end, n * w->ends);
    add(g, &w->sorted_key, n * w->ends);
    add(g, &w->sorted_end, n * w->ends);
    add(g, &w->head, n * w->ends);
    add(g, &w->heads_so_far, n * w->ends);
    add(g, &w->n_ends, n);
    e->room_bytes = (int64_t)gpu_sort_bytes(g, n * w->ends);
    e->room = gpu_alloc(g, e->room_bytes, 1);
}

static void add_spectral(cwi_cuda *e, int64_t touched)
{
    gpu *g = &e->g;
    work *w = &e->w;
    float *degree;
    add(g, &degree, e->task.n_items);
    gpu_put(g, degree, e->task.degree, (size_t)e->task.n_items * sizeof *degree);
    w->degree = degree;
    add(g, &w->occurs, touched);
    add(g, &w->along, touched);
    add(g, &w->popular, popular_numbers(w->d));
}

static void add_dcor(cwi_cuda *e, int64_t touched)
{
    e->dcor.most = touched;
    add(&e->g, &e->dcor.sums, POINT_SLICES * DCOR_SUMS * touched);
    add(&e->g, &e->dcor.mean, 2 * touched);
    add(&e->g, &e->dcor.pull, POINT_SLICES * touched * e->w.d);
    add(&e->g, &e->dcor.side, 2);
}

static void add_step(cwi_cuda *e)
{
    gpu *g = &e->g;
    work *w = &e->w;
    int64_t touched = w->n_rows < w->ends ? w->n_rows : w->ends;
    add(g, &w->rate, e->window + WARP);
    add(g, &w->first, 1);
    add(g, &w->score, w->slots * w->heads);
    add(g, &w->slope, w->slots * w->heads);
    add(g, &w->margin, w->rows);
    add(g, &w->rough, w->rows);
    add(g, &w->kept, w->rows);
    add(g, &w->value, w->rows);
    add(g, &w->sum, (touched + w->ends / CHUNK + 1) * w->d);
    if (w->is_twofold) add(g, &w->arrived, touched + w->ends / CHUNK + 1);
    if (w->is_twofold) add(g, &w->is_second, w->n_rows);
    add(g, &w->tally, 1);
    add(g, &e->setting, CWI_LOSS_SETTINGS);
    add(g, &w->squares, SQUARE_BLOCKS);
    w->most_tasks = touched;
    add(g, &w->penalties, w->penalty || w->batch_reg > 0 || w->spectral > 0 ? 2 * touched : 0);
    add(g, &w->loss, e->window);
    if (w->spectral > 0) add_spectral(e, touched);
    if (w->penalty == CWI_CUDA_DICE_DCOR) add_dcor(e, touched);
    w->setting = e->setting;
}

static void add_all(cwi_cuda *e, const cwi_cuda_task *task)
{
    if (task->vae.layers > 0) {
        add_vae(e, task);
        return;
    }
    int64_t numbers = (int64_t)e->w.n_rows * task->d;
    add(&e->g, &e->w.theta, e->w.is_twofold ? 2 * numbers : numbers);
    for (int m = 0; m < task->memories; m++) add(&e->g, &e->w.memory[m], numbers);
    e->w.vectors = e->w.theta;
    if (task->graph.n_nodes > 0) add_graph(e, &task->graph);
    add_others(e, task);
    if (task->grid.rows > 0) add_grid(e);
    if (task->tower.layers > 0) add_towers(e, task);
    if (task->graph.has_weights) add_ngcf(e, task);
    if (task->is_cosine) add(&e->g, &e->w.factor, (int64_t)e->w.n_rows * e->w.heads);
    e->seen = task->drawing->training->by_user;
    e->sampler = e->copy(&e->g, task->drawing);
    copy_csr(&e->g, &e->seen);
    e->w.sampler = e->sampler;
    add_room(e);
    add_step(e);
    for (int k = 0; k < 2; k++) {
        e->windows[k] = e->w;
        add_window(e, &e->windows[k]);
    }
    e->w = e->windows[0];
}

static cw_status end_call(const gpu *g, char *why)
{
    if (g->status != CW_OK) snprintf(why, CWI_CUDA_TEXT, "%s", g->why);
    return g->status;
}

static int64_t measure(cwi_cuda *e, const cwi_cuda_task *task)
{
    e->g.bytes = 0;
    e->g.is_measuring = true;
    add_all(e, task);
    e->g.is_measuring = false;
    return e->g.bytes;
}

/* Is there room?  Better asked before than found out in the middle.  Where there is little, rows have
 * one place and windows are short: the numbers are the same. */
static cw_status check_room(cwi_cuda *e, const cwi_cuda_task *task, char *why)
{
    cwi_cuda_device about;
    cw_status status = gpu_look(task->device, &about, why);
    if (status != CW_OK) return status;
    e->processors = about.processors > 0 ? (unsigned)about.processors : 2;
    e->blocks = 2 + 8 * (unsigned)about.processors;
    int64_t bytes = measure(e, task);
    while (bytes > about.free_bytes && (e->w.is_twofold || e->window > 1)) {
        if (e->window <= SHORT_WINDOW && e->w.is_twofold)
            e->w.is_twofold = false;
        else
            e->window /= 2;
        bytes = measure(e, task);
    }
    if (bytes > about.free_bytes) {
        snprintf(why, CWI_CUDA_TEXT,
                 "training takes %lld bytes of the memory of GPU %d (%s), which has %lld left; a "
                 "smaller --batch or --dim takes less",
                 (long long)bytes, task->device, about.name, (long long)about.free_bytes);
        return CW_NO_MEMORY;
    }
    e->g.bytes = 0;
    return CW_OK;
}

static cw_status open_engine(const cwi_cuda_task *task, cwi_cuda **out, char *why)
{
    cwi_cuda *e = *out = (cwi_cuda *)calloc(1, sizeof *e);
    if (!e) {
        snprintf(why, CWI_CUDA_TEXT, "there is no memory left");
        return CW_NO_MEMORY;
    }
    e->task = *task;
    if (task->vae.layers > 0)
        lay_out_vae(e, task);
    else
        lay_out(e, task);
    if (e->w.row_bits > MOST_ROW_BITS) {
        snprintf(why, CWI_CUDA_TEXT, "--device cuda trains at most %d users and items together; there "
                                     "are %lld: take --device cpu",
                 (1 << MOST_ROW_BITS) - 1, (long long)task->n_users + task->n_items);
        return CW_UNSUPPORTED;
    }
    if (!find_parts(e, task) || e->w.slots > MOST_SLOTS) {
        snprintf(why, CWI_CUDA_TEXT, "--device cuda does not train so much in one step: take a "
                                     "smaller --batch, or --device cpu");
        return CW_UNSUPPORTED;
    }
    cw_status status = check_room(e, task, why);
    if (status != CW_OK) return status;
    gpu_open(&e->g, task->device);
    add_all(e, task);
    gpu_wait(&e->g);
    return end_call(&e->g, why);
}

static void close_engine(cwi_cuda *e)
{
    if (!e) return;
    lister_close(e->lister);
    gpu_close(&e->g);
    free(e);
}

static int most_steps(const cwi_cuda *e)
{
    return e->window;
}

/* ---- parts of the state --------------------------------------------------------------------- */

static float *part_of(const cwi_cuda *e, int part, int tensor)
{
    int m = part - CWI_CUDA_MEMORY;
    if (part == CWI_CUDA_KEPT) return tensor == 0 ? e->kept : e->kept_others + e->tensor[tensor];
    if (tensor == 0) return part == CWI_CUDA_PARAMS ? e->w.theta : e->w.memory[m];
    return (part == CWI_CUDA_PARAMS ? e->others.theta : e->others.memory[m]) + e->tensor[tensor];
}

static int64_t numbers_of(const cwi_cuda *e, int tensor)
{
    return e->task.tensor[tensor].rows * e->task.tensor[tensor].columns;
}

/* The table is where it is looked for between windows. */
static void settle(cwi_cuda *e)
{
    work w = e->w;
    if (!w.is_twofold) return;
    if (w.d % 4 == 0)
        LAUNCH((settle_rows<true>), dim3(e->blocks), dim3(BLOCK), &e->g, w);
    else
        LAUNCH((settle_rows<false>), dim3(e->blocks), dim3(BLOCK), &e->g, w);
}

static cw_status put(cwi_cuda *e, int part, int tensor, const float *from, char *why)
{
    settle(e);
    gpu_put(&e->g, part_of(e, part, tensor), from,
            (size_t)numbers_of(e, tensor) * sizeof *from);
    gpu_wait(&e->g);
    return end_call(&e->g, why);
}

static cw_status get(cwi_cuda *e, int part, int tensor, float *to, char *why)
{
    settle(e);
    gpu_get(&e->g, to, part_of(e, part, tensor), (size_t)numbers_of(e, tensor) * sizeof *to);
    return end_call(&e->g, why);
}

static cw_status keep(cwi_cuda *e, char *why)
{
    gpu *g = &e->g;
    cwi_cuda_device about;
    int64_t numbers = numbers_of(e, 0);
    if (!e->kept) {
        cw_status status = gpu_look(e->task.device, &about, why);
        if (status != CW_OK) return status;
        if ((numbers + e->n_others) * (int64_t)sizeof *e->kept > about.free_bytes / 2)
            return CW_UNSUPPORTED;
        add(g, &e->kept, numbers);
        if (e->n_others > 0) add(g, &e->kept_others, e->n_others);
    }
    settle(e);
    gpu_copy(g, e->kept, e->w.theta, (size_t)numbers * sizeof *e->kept);
    gpu_copy(g, e->kept_others, e->others.theta, (size_t)e->n_others * sizeof *e->kept);
    return end_call(g, why);
}

/* The margin of dice is all that a sampler has of an epoch.  What was drawn ahead holds for it and
 * for losses that weigh rows by their settings no longer. */
static void begin_sampler(cwi_cuda *e, const cwi_drawing *drawing)
{
    bool is_dice = is_named("dice", e->task.sampler);
    if (!is_dice && !e->weigh) return;
    gpu_turn(&e->g, 1);
    gpu_wait(&e->g);
    gpu_turn(&e->g, 0);
    memset(e->ready, 0, sizeof e->ready);
    if (!is_dice) return;
    const dice_state *from = (const dice_state *)(const void *)drawing;
    dice_state *to = (dice_state *)e->sampler;
    gpu_put(&e->g, &to->margin_now, &from->margin_now, sizeof from->margin_now);
}

static cw_status begin(cwi_cuda *e, const cwi_drawing *drawing,
                       const double setting[CWI_LOSS_SETTINGS], const cwi_cuda_tally *tally,
                       char *why)
{
    begin_sampler(e, drawing);
    memcpy(e->settings, setting, sizeof e->settings);
    gpu_put(&e->g, e->setting, setting, CWI_LOSS_SETTINGS * sizeof *setting);
    gpu_put(&e->g, e->w.tally, tally, sizeof *tally);
    gpu_wait(&e->g);
    return end_call(&e->g, why);
}

static double squares_of(cwi_cuda *e, int tensor)
{
    double partial[SQUARE_BLOCKS] = {0}, sum = 0;
    const float *theta = part_of(e, CWI_CUDA_PARAMS, tensor);
    double *to = e->w.squares;
    int64_t n = numbers_of(e, tensor);
    LAUNCH(sum_squares, dim3(SQUARE_BLOCKS), dim3(BLOCK), &e->g, theta, n, to);
    gpu_get(&e->g, partial, e->w.squares, sizeof partial);
    for (int b = 0; b < SQUARE_BLOCKS; b++) sum += partial[b];
    return sum;
}

static cw_status squares(cwi_cuda *e, double *out, char *why)
{
    settle(e);
    for (int t = 0; t < e->task.n_tensors; t++) out[t] = squares_of(e, t);
    return end_call(&e->g, why);
}

static cw_status tell(cwi_cuda *e, cwi_cuda_tally *out, char *why)
{
    gpu_get(&e->g, out, e->w.tally, sizeof *out);
    return end_call(&e->g, why);
}

/* ---- windows -------------------------------------------------------------------------------- */

static void draw_window(cwi_cuda *e, int number, uint64_t step, int n)
{
    e->w = e->windows[number];
    e->ready[number] = (drawn){step, n};
    gpu_turn(&e->g, 1);
    gpu *g = &e->g;
    work w = e->w;
    int64_t most = 0, ends = n * w.ends;
    for (int k = 0; k < w.n_groups; k++)
        if (w.group[k].candidates > most) most = w.group[k].candidates;
    gpu_zero(g, w.tried, (size_t)(n * w.n_groups) * sizeof *w.tried);
    if (w.is_twofold) gpu_zero(g, w.n_keeping, (size_t)n * sizeof *w.n_keeping);
    if (w.is_twofold) gpu_zero(g, w.turns, (size_t)(2 * n) * sizeof *w.turns);
    gpu_zero(g, w.made, (size_t)(n * w.n_groups) * sizeof *w.made);
    gpu_zero(g, w.visits, (size_t)w.n_rows * VISIT_WORDS * sizeof *w.visits);
    e->draw(e, dim3(blocks_for(most, BLOCK), (unsigned)(n * w.n_groups)), step);
    LAUNCH(plan_steps, dim3(1), dim3(WARP), g, w, n);
    if (e->weigh) e->weigh(e, n);
    if (w.is_paired)
        LAUNCH(list_pairs, dim3(blocks_for(w.slots / 2, BLOCK), (unsigned)n), dim3(BLOCK), g, w);
    else
        LAUNCH(list_slots, dim3(blocks_for(w.slots, BLOCK), (unsigned)n), dim3(BLOCK), g, w);
    gpu_sort(g, e->room, (size_t)e->room_bytes, w.key, w.sorted_key, w.end, w.sorted_end, ends,
             key_bits(&w, n));
    dim3 of_ends(blocks_for(w.ends, BLOCK), (unsigned)n);
    LAUNCH(find_heads, of_ends, dim3(BLOCK), g, w);
    gpu_add_up(g, e->room, (size_t)e->room_bytes, w.head, w.heads_so_far, ends);
    LAUNCH(list_tasks, of_ends, dim3(BLOCK), g, w);
    LAUNCH(place_slots, dim3(blocks_for(w.slots, BLOCK), (unsigned)n), dim3(BLOCK), g, w);
    LAUNCH(list_contributions, of_ends, dim3(BLOCK), g, w);
    LAUNCH(finish_tasks, of_ends, dim3(BLOCK), g, w, n);
    if (w.is_twofold) LAUNCH(list_visits, of_ends, dim3(BLOCK), g, w, n);
    gpu_turn(g, 0);
}

static void follow_popularity(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 all(e->blocks), threads(BLOCK), slices(POPULAR_SLICES);
    LAUNCH(mark_occurring, all, threads, g, w, s);
    for (int side = 0; side < 2; side++) {
        bool is_of_users = side == 1;
        LAUNCH(sum_popular, slices, threads, g, w, s, is_of_users);
        LAUNCH(join_popular, dim3(1), threads, g, w, is_of_users);
        bool follows = !is_of_users;
        LAUNCH(follow_popular, all, threads, g, w, s, follows);
    }
}

static void pull_apart(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dcor_work d = e->dcor;
    dim3 tiles(blocks_for(w.most_tasks, TILE_POINTS) + 1, POINT_SLICES), all(e->blocks);
    LAUNCH(sum_distances, tiles, dim3(BLOCK), g, w, s, d);
    LAUNCH(close_side, dim3(2), dim3(BLOCK), g, w, s, d);
    LAUNCH(pull_points, tiles, dim3(BLOCK), g, w, s, d);
    LAUNCH(join_pulls, all, dim3(BLOCK), g, w, s, d);
}

/* Scores and the slopes of those that count. */
static void take_slopes(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 all(e->blocks), threads(BLOCK);
    if (w.factor) LAUNCH(find_factors, all, threads, g, w, s);
    if (w.grid.rows > 0) {
        score_grid(e, s);
        go_back_grid(e, take_grid_loss(e, s));
    } else {
        e->score(e, s);
    }
    if (w.selects) LAUNCH_NEXT(select_rows, dim3(1), dim3(CHOOSERS), g, w, s);
    if (e->task.tower.layers > 0) go_back_towers(e, s);
}

/* All that, up to the sums of contributions. */
template <bool WHOLE> static void take_scores(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 all(e->blocks), threads(BLOCK);
    take_slopes(e, s);
    LAUNCH_NEXT((add_chunks<WHOLE>), all, threads, g, w, s);
    if (w.factor) LAUNCH(project_rows, all, threads, g, w, s);
    if (w.penalty || w.batch_reg > 0 || w.spectral > 0)
        LAUNCH(add_terms<WHOLE>, all, threads, g, w, s);
    if (w.spectral > 0) follow_popularity(e, s);
    if (w.penalty == CWI_CUDA_DICE_DCOR) pull_apart(e, s);
}

template <int RULE> static void step_ngcf_table(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    float *gradient = go_back_ngcf(e, s);
    piece_at table = {w.theta, {w.memory[0], w.memory[1]}};
    int64_t numbers = (int64_t)w.n_rows * e->task.d;
    if (w.pulls_table) LAUNCH(pull_table, dim3(e->blocks), dim3(BLOCK), g, w, s, gradient);
    LAUNCH((step_tensor<RULE>), dim3(e->blocks), dim3(BLOCK), g, w, s, table, gradient, numbers,
           w.decay);
}

/* Every row of the table has a gradient at every step. */
template <int RULE, bool WHOLE> static void make_graph_steps(cwi_cuda *e, int n)
{
    gpu *g = &e->g;
    work w = e->w;
    bool has_weights = e->task.graph.has_weights;
    unsigned *n_listed = e->graph.n_listed;
    dim3 all(e->blocks), threads(BLOCK);
    for (int s = 0; s < n; s++) {
        if (has_weights)
            pass_ngcf(e, s);
        else
            propagate(e, s);
        take_scores<WHOLE>(e, s);
        if (w.final_decay > 0) LAUNCH(start_slopes, dim3(SQUARE_BLOCKS), threads, g, w);
        LAUNCH_NEXT((place_slopes<WHOLE>), all, threads, g, w, s, n_listed);
        if (w.closes_late) LAUNCH(close_late, dim3(1), threads, g, w, s);
        if (has_weights)
            step_ngcf_table<RULE>(e, s);
        else
            go_back(e, s);
        step_others<RULE>(e, s);
    }
}

template <int RULE, int ROW, bool TERMS> static void visit_all(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 all(at_once(e, VISIT_BLOCKS)), threads(BLOCK);
    if (w.heads == 1)
        LAUNCH_NEXT((visit_rows<RULE, ROW, TERMS, 1>), all, threads, g, w, s);
    else
        LAUNCH_NEXT((visit_rows<RULE, ROW, TERMS, MOST_HEADS>), all, threads, g, w, s);
}

template <int RULE, bool WHOLE> static void visit_step(cwi_cuda *e, int s)
{
    if (e->w.closes_late)
        visit_all<RULE, WHOLE ? ROW_QUADS : ROW_COLUMNS, true>(e, s);
    else if (WHOLE && RULE == CWI_CUDA_ADAM && e->w.d == 128)
        visit_all<RULE, 128, false>(e, s);
    else
        visit_all<RULE, WHOLE ? ROW_QUADS : ROW_COLUMNS, false>(e, s);
}

template <int RULE, bool WHOLE> static void make_steps(cwi_cuda *e, int n)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 all(e->blocks), threads(BLOCK);
    if (e->final) {
        make_graph_steps<RULE, WHOLE>(e, n);
        return;
    }
    if (w.steps_all || w.is_twofold) LAUNCH((start_rows<RULE, WHOLE>), all, threads, g, w, n);
    for (int s = 0; s < n && w.is_twofold; s++) {
        take_slopes(e, s);
        visit_step<RULE, WHOLE>(e, s);
        step_others<RULE>(e, s);
    }
    if (w.is_twofold && w.closes_late) LAUNCH(close_late, dim3(1), threads, g, w, n - 1);
    for (int s = 0; s < n && !w.is_twofold; s++) {
        take_scores<WHOLE>(e, s);
        if (w.closes_late) LAUNCH(close_late, dim3(1), threads, g, w, s);
        LAUNCH_NEXT((step_rows<RULE, WHOLE>), all, threads, g, w, s);
        step_others<RULE>(e, s);
    }
}

template <bool WHOLE> static void make_steps_by(cwi_cuda *e, int n)
{
    if (e->w.rule == CWI_CUDA_ADAM) make_steps<CWI_CUDA_ADAM, WHOLE>(e, n);
    if (e->w.rule == CWI_CUDA_SGD) make_steps<CWI_CUDA_SGD, WHOLE>(e, n);
    if (e->w.rule == CWI_CUDA_ADAGRAD) make_steps<CWI_CUDA_ADAGRAD, WHOLE>(e, n);
}

static void make_window(cwi_cuda *e, int n)
{
    if (e->vae.layers > 0)
        make_vae_window(e, n);
    else if (e->w.d % 4 == 0)
        make_steps_by<true>(e, n);
    else
        make_steps_by<false>(e, n);
}

/* Windows that are alike are told once: whole ones, and those that epochs end with, which are known
 * when one comes again. */
static void make_or_repeat(cwi_cuda *e, int n)
{
    bool is_rest = n < e->window;
    int slot = is_rest ? 2 + e->at_hand : e->at_hand;
    if (is_rest && e->rest[e->at_hand] != n) {
        gpu_forget(&e->g, slot);
        e->rest[e->at_hand] = n;
        make_window(e, n);
    } else if (!gpu_replay(&e->g, slot)) {
        bool records = gpu_begin_record(&e->g);
        make_window(e, n);
        if (records) gpu_end_record(&e->g, slot);
        if (records) gpu_replay(&e->g, slot);
    }
}

/* Steps that draw for themselves. */
static cw_status run_vae(cwi_cuda *e, uint64_t step, int64_t first, int n, const cwi_rates *rate,
                         char *why)
{
    gpu_put(&e->g, e->w.rate, rate, (size_t)n * sizeof *rate);
    gpu_put(&e->g, e->w.first, &first, sizeof first);
    gpu_put(&e->g, e->vae.step, &step, sizeof step);
    make_or_repeat(e, n);
    return end_call(&e->g, why);
}

static cw_status run(cwi_cuda *e, uint64_t step, int64_t first, int n, int next,
                     const cwi_rates *rate, char *why)
{
    e->w.rates = e->windows[0].rates = e->windows[1].rates = *rate;
    if (e->vae.layers > 0) return run_vae(e, step, first, n, rate, why);
    const drawn *ready = &e->ready[!e->at_hand];
    e->at_hand = !e->at_hand;
    if (ready->step != step || ready->n != n) draw_window(e, e->at_hand, step, n);
    e->w = e->windows[e->at_hand];
    gpu_join(&e->g);
    gpu_put(&e->g, e->w.rate, rate, (size_t)n * sizeof *rate);
    gpu_put(&e->g, e->w.first, &first, sizeof first);
    if (e->ngcf.number) gpu_put(&e->g, e->ngcf.number, &step, sizeof step);
    make_or_repeat(e, n);
    if (next > 0) draw_window(e, !e->at_hand, step + (uint64_t)n, next);
    return end_call(&e->g, why);
}

/* ---- ranking -------------------------------------------------------------------------------- */

/* That of the table, made when it is first asked for. */
static cw_status find_lister(cwi_cuda *e, cwi_cuda_lister **out, char *why)
{
    const cwi_cuda_task *t = &e->task;
    const float *items = e->w.theta + ((int64_t)t->n_users + t->first_listed) * t->d;
    const lister_tables tables = {t->device, t->n_listed, t->d, e->w.theta, items, e->seen.start,
                                  e->seen.value};
    cw_status status = CW_OK;
    *out = NULL;
    if (t->n_listed == 0) return CW_UNSUPPORTED;
    settle(e);
    if (!e->lister) status = lister_over(&tables, &e->lister, why);
    if (status == CW_OK) gpu_wait(&e->g); /* steps may be under way */
    if (status == CW_OK && e->g.status == CW_OK) *out = e->lister;
    return status == CW_OK ? end_call(&e->g, why) : status;
}

/* ---- the one name --------------------------------------------------------------------------- */

static const cwi_cuda_calls calls = {
    CWI_CUDA_VERSION, CWI_CUDA_RELEASE, gpu_count,   gpu_look,     open_engine,      most_steps,
    put,              get,              keep,        begin,       squares,      run,              tell,
    find_lister,      lister_open,      lister_renew, lister_most_rows, lister_list, lister_measure,
    lister_close,     close_engine};

extern "C" __attribute__((visibility("default"))) const cwi_cuda_calls *cw_cuda_engine(void)
{
    return &calls;
}

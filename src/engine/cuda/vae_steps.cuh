/* vae_steps.cuh - steps of Mult-VAE: the order of kernels of vae.cuh. */
#ifndef CWI_ENGINE_CUDA_VAE_STEPS_CUH
#define CWI_ENGINE_CUDA_VAE_STEPS_CUH

#include "engine/cuda/engine.cuh"

/* ---- open ----------------------------------------------------------------------------------- */

/* Tensors are the weight and the bias of each layer; the first weight is the table. */
static const float *vae_tensor(const cwi_cuda *e, int number)
{
    return number == 0 ? e->w.theta : e->others.theta + e->tensor[number];
}

static float *vae_gradient(const cwi_cuda *e, int number)
{
    return number == 0 ? e->w.gradient : e->others_gradient + e->tensor[number];
}

/* Numbers on the way into a layer: from users to items. */
static const float *below_layer(const vae_work &v, int layer)
{
    return layer == v.layers / 2 ? v.code : v.z[layer - 1];
}

static matrices weight_gradient(const cwi_cuda *e, int layer)
{
    const vae_work &v = e->vae;
    int32_t in = v.in[layer], out = v.out[layer];
    return {below_layer(v, layer), v.slope[layer], NULL, in, out, v.batch, in, out, out,
            true, false, 1, 0, 0, (int64_t)in * out};
}

static matrices slope_below(const cwi_cuda *e, int layer)
{
    const vae_work &v = e->vae;
    int32_t in = v.in[layer], out = v.out[layer];
    return {v.slope[layer], vae_tensor(e, 2 * layer), NULL, v.batch, in, out, out, out, in,
            false, true, 1, 0, 0, (int64_t)v.batch * in};
}

static void lay_out_vae(cwi_cuda *e, const cwi_cuda_task *task)
{
    vae_work *v = &e->vae;
    const cwi_cuda_vae *from = &task->vae;
    v->batch = from->batch, v->seed = from->seed, v->layers = from->layers;
    v->keep = from->keep, v->kl_cap = from->kl_cap, v->kl_steps = from->kl_steps;
    v->latent = from->latent, v->n_users = task->n_users, v->n_items = task->n_items;
    v->words = (v->batch + 31) / 32;
    v->over = slices_of(v->batch);
    for (int l = 0; l < v->layers; l++) {
        v->in[l] = (int32_t)task->tensor[2 * l].rows;
        v->out[l] = (int32_t)task->tensor[2 * l].columns;
    }
    e->w.rule = task->rule;
    e->w.n_rows = task->n_items;
    e->window = SHORT_WINDOW;
}

/* Steps of a window are told apart by their numbers alone. */
static void add_plans(cwi_cuda *e)
{
    step_plan plan[WINDOW + 1] = {};
    for (int s = 0; s <= WINDOW; s++) plan[s].before = s;
    add(&e->g, &e->w.plan, WINDOW + 1);
    gpu_put(&e->g, e->w.plan, plan, sizeof plan);
    gpu_wait(&e->g);
}

static void add_vae_rows(cwi_cuda *e)
{
    gpu *g = &e->g;
    vae_work *v = &e->vae;
    int64_t padded = v->over.padded;
    add(g, &v->step, 1);
    add(g, &v->user, v->batch);
    add(g, &v->drawn, v->batch);
    add(g, &v->weight, v->batch);
    add(g, &v->nll, v->batch);
    add(g, &v->kl, v->batch);
    add(g, &v->has, (int64_t)v->n_items * v->words);
    add(g, &v->noise, (int64_t)v->batch * v->latent);
    add(g, &v->code, padded * v->latent);
    add(g, &v->code_slope, padded * v->latent);
    for (int l = 0; l < v->layers; l++) {
        bool is_last = l == v->layers - 1; /* logits give way to their slopes */
        add(g, &v->slope[l], padded * v->out[l]);
        if (is_last)
            v->z[l] = v->slope[l];
        else
            add(g, &v->z[l], padded * v->out[l]);
    }
}

/* Room for sums that make gradients. */
static void add_vae_sums(cwi_cuda *e)
{
    const vae_work *v = &e->vae;
    int64_t most = 0;
    for (int l = 0; l < v->layers; l++) {
        int64_t bias = v->over.count * v->out[l];
        int64_t weight = l > 0 ? depth_room(weight_gradient(e, l)) : 0;
        int64_t slope = l > 0 ? depth_room(slope_below(e, l)) : 0;
        most = bias > most ? bias : most;
        most = weight > most ? weight : most;
        most = slope > most ? slope : most;
    }
    add(&e->g, &e->partial, most);
}

static void add_vae(cwi_cuda *e, const cwi_cuda_task *task)
{
    gpu *g = &e->g;
    int64_t numbers = task->tensor[0].rows * task->tensor[0].columns;
    add(g, &e->w.theta, numbers);
    add(g, &e->w.gradient, numbers);
    for (int m = 0; m < task->memories; m++) add(g, &e->w.memory[m], numbers);
    add_others(e, task);
    add_vae_rows(e);
    add_vae_sums(e);
    add_plans(e);
    add(g, &e->w.rate, e->window);
    add(g, &e->w.first, 1);
    add(g, &e->w.tally, 1);
    add(g, &e->w.squares, SQUARE_BLOCKS);
    add(g, &e->setting, CWI_LOSS_SETTINGS);
    e->seen = *task->vae.train;
    copy_csr(g, &e->seen);
    e->vae.start = e->seen.start;
    e->vae.value = e->seen.value;
    e->windows[0] = e->windows[1] = e->w;
}

/* ---- a step --------------------------------------------------------------------------------- */

static void finish_vae_layer(cwi_cuda *e, int layer)
{
    const vae_work &v = e->vae;
    float *z = v.z[layer];
    const float *bias = vae_tensor(e, 2 * layer + 1);
    int64_t rows = v.batch;
    int32_t columns = v.out[layer];
    bool is_tanh = layer != v.layers / 2 - 1;
    LAUNCH(finish_layer, dim3(enough(e, rows * columns, BLOCK)), dim3(BLOCK), &e->g, z, bias, rows,
           columns, is_tanh);
}

static void pass_vae(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    vae_work v = e->vae;
    int half = v.layers / 2, last = v.layers - 1;
    int64_t codes = (int64_t)v.batch * v.latent;
    dim3 threads(BLOCK), rows((unsigned)v.batch);
    const float *first = e->w.theta, *bias = vae_tensor(e, 2 * last + 1);
    gpu_zero(g, v.has, (size_t)v.n_items * (size_t)v.words * sizeof *v.has);
    LAUNCH(draw_users, dim3(blocks_for(v.batch, BLOCK)), threads, g, v, s);
    LAUNCH(draw_noise, dim3(blocks_for(codes, BLOCK)), threads, g, v, s);
    LAUNCH(enter_users, rows, threads, g, v, first, s);
    finish_vae_layer(e, 0);
    for (int l = 1; l < v.layers; l++) {
        if (l == half) {
            const float *encoded = v.z[half - 1];
            LAUNCH(sample_codes, dim3(enough(e, codes, BLOCK)), threads, g, v, encoded);
        }
        multiply_all(e, {below_layer(v, l), vae_tensor(e, 2 * l), v.z[l], v.batch, v.out[l], v.in[l],
                         v.in[l], v.out[l], v.out[l], false, false, 1, 0, 0, 0});
        if (l < last) finish_vae_layer(e, l);
    }
    float *logits = v.z[last];
    LAUNCH(lose_users, rows, threads, g, v, logits, bias);
}

/* Slopes of what a layer reads. */
static void descend_vae(cwi_cuda *e, int layer, int s)
{
    gpu *g = &e->g;
    vae_work v = e->vae;
    int half = v.layers / 2;
    bool enters_decoder = layer == half;
    matrices below = slope_below(e, layer);
    below.c = enters_decoder ? v.code_slope : v.slope[layer - 1];
    multiply_deep(e, below, e->partial);
    if (enters_decoder) {
        const float *encoded = v.z[half - 1];
        float *slope = v.slope[half - 1];
        LAUNCH(pass_codes, dim3(blocks_for(v.batch, WARPS)), dim3(BLOCK), g, v, encoded, slope, s);
    } else {
        float *slope = below.c;
        const float *z = v.z[layer - 1];
        int64_t n = (int64_t)v.batch * v.in[layer];
        LAUNCH(pass_tanh, dim3(enough(e, n, BLOCK)), dim3(BLOCK), g, slope, z, n);
    }
}

static void go_back_vae(cwi_cuda *e, int s)
{
    vae_work v = e->vae;
    for (int l = v.layers - 1; l >= 0; l--) {
        int32_t out = v.out[l];
        sum_rows(e, v.over, {v.slope[l], NULL, NULL, out, out}, vae_gradient(e, 2 * l + 1));
        if (l == 0) break;
        matrices weight = weight_gradient(e, l);
        weight.c = vae_gradient(e, 2 * l);
        multiply_deep(e, weight, e->partial);
        descend_vae(e, l, s);
    }
    float *gradient = e->w.gradient;
    LAUNCH(sum_item, dim3((unsigned)v.n_items), dim3(BLOCK), &e->g, v, gradient);
}

template <int RULE> static void make_vae_steps(cwi_cuda *e, int n)
{
    gpu *g = &e->g;
    work w = e->w;
    vae_work v = e->vae;
    piece_at table = {w.theta, {w.memory[0], w.memory[1]}};
    const float *gradient = w.gradient;
    int64_t numbers = e->task.tensor[0].rows * e->task.tensor[0].columns;
    float decay = e->task.tensor[0].decay;
    for (int s = 0; s < n; s++) {
        pass_vae(e, s);
        go_back_vae(e, s);
        LAUNCH(close_users, dim3(1), dim3(BLOCK), g, w, v, s);
        LAUNCH((step_tensor<RULE>), dim3(enough(e, numbers, 4 * BLOCK)), dim3(BLOCK), g, w, s, table,
               gradient, numbers, decay);
        step_others<RULE>(e, s);
    }
}

static void make_vae_window(cwi_cuda *e, int n)
{
    if (e->w.rule == CWI_CUDA_ADAM) make_vae_steps<CWI_CUDA_ADAM>(e, n);
    if (e->w.rule == CWI_CUDA_SGD) make_vae_steps<CWI_CUDA_SGD>(e, n);
    if (e->w.rule == CWI_CUDA_ADAGRAD) make_vae_steps<CWI_CUDA_ADAGRAD>(e, n);
}

#endif

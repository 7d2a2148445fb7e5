/*
 * cuda.c - the engine whose numbers lie on a GPU.
 *
 * The verbs of a step only count: steps are made when somebody asks what came of them, a window at
 * a time, and what there is to know of them stays on the device until then.  What the host has of
 * parameters is room for copies.
 *
 * Rows are stepped ahead to where they are next read.  After a loss that is no number some are
 * therefore ahead of the step that had it; nothing is read from then on but the tally.
 */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "engine/cpu/pack.h"
#include "engine/cuda/library.h"
#include "engine/cuda/lists.h"
#include "engine/host.h"
#include "score/graph.h"
#include "score/tower.h"
#include "score/vae.h"

typedef struct cwi_cuda_host {
    cwi_host host;
    const cwi_cuda_calls *calls;
    cwi_cuda *device;
    int64_t waiting;         /* steps that are not made yet */
    cwi_rates *rate;         /* [window] */
    cwi_graph graph;         /* of a backbone that has one */
    cwi_lists *lists;        /* of vectors that the host makes; NULL before the first */
    cwi_cuda_lister *lister; /* of those that lie there already */
    cwi_deferred *late;      /* how a checkpoint of adam-deferred has them; NULL: it is another */
    char why[CWI_CUDA_TEXT];
} cuda;

static cw_status pass_on(cuda *e, cw_status status)
{
    return status == CW_OK ? status : cwi_fail(e->host.base.ctx, status, "%s", e->why);
}

/* ---- open and close ------------------------------------------------------------------------- */

static cwi_cuda_rule rule_of(const cwi_optimizer *optimizer)
{
    if (optimizer == &cwi_optimizer_sgd) return CWI_CUDA_SGD;
    return optimizer == &cwi_optimizer_adagrad ? CWI_CUDA_ADAGRAD : CWI_CUDA_ADAM;
}

static int count_memories(const cwi_optimizer *optimizer)
{
    int n = 0;
    while (optimizer->memory[n]) n++;
    return n;
}

static cwi_cuda_penalty penalty_of(const cwi_task *t)
{
    if (t->method->penalty == &cwi_penalty_dice)
        return (cwi_cuda_penalty)(CWI_CUDA_DICE_MSE + cwi_options_choice(t->options, "dis"));
    if (t->method->penalty == &cwi_penalty_cause)
        return (cwi_cuda_penalty)(CWI_CUDA_CAUSE_L2 +
                                  cwi_options_choice(t->options, "cause-penalty"));
    return CWI_CUDA_NO_PENALTY;
}

static bool is_original_ngcf(const cwi_task *t)
{
    return t->backbone == &cwi_backbone_ngcf && cwi_options_choice(t->options, "ngcf") == 1;
}

static bool has_graph(const cwi_task *t)
{
    return t->backbone == &cwi_backbone_lightgcn || t->backbone == &cwi_backbone_ngcf;
}

/* The graph, and the L2 term of what it makes of the table. */
static void describe_graph(const cuda *e, cwi_cuda_task *out)
{
    const cwi_task *t = e->host.task;
    bool is_ngcf = t->backbone == &cwi_backbone_ngcf;
    if (!has_graph(t)) return;
    out->graph = (cwi_cuda_graph){.n_nodes = e->graph.n_nodes,
                                  .layers = (int32_t)cwi_options_integer(t->options, "layers"),
                                  .has_weights = is_ngcf,
                                  .start = e->graph.start,
                                  .neighbour = e->graph.neighbour,
                                  .weight = e->graph.weight,
                                  .turned = e->graph.turned,
                                  .seed = (uint64_t)cwi_options_integer(t->options, "seed")};
    if (is_original_ngcf(t)) {
        out->graph.message_dropout = cwi_options_real(t->options, "message-dropout");
        out->graph.node_dropout = cwi_options_real(t->options, "node-dropout");
    }
    if (!cwi_options_is(t->options, "reg-target", "final")) return;
    if (is_ngcf)
        out->final_decay = out->graph.layers > 0 ? out->tensor[0].decay : 0;
    else if (cwi_options_choice(t->options, "reg-kind") == 0)
        out->final_decay = (float)(2 * cwi_options_real(t->options, "reg") /
                                   (double)(t->shape.n_users + t->shape.n_items));
}

static void describe_tensors(const cuda *e, cwi_cuda_task *out)
{
    const cwi_params *params = &e->host.params;
    out->n_tensors = params->count;
    for (int t = 0; t < params->count; t++) {
        out->tensor[t].rows = params->tensor[t].rows;
        out->tensor[t].columns = params->tensor[t].columns;
        out->tensor[t].decay = params->tensor[t].decay;
    }
}

/* The networks of all heads are alike. */
static cw_status describe_tower(const cuda *e, cwi_cuda_task *out)
{
    const cwi_task *t = e->host.task;
    cwi_tower tower[CWI_MAX_TOWERS];
    _Static_assert((int)CWI_CUDA_MOST_LAYERS == (int)CWI_MAX_LAYERS, "room for all layers");
    if (t->backbone != &cwi_backbone_neumf) return CW_OK;
    CW_PASS(cwi_tower_find(e->host.base.ctx, &e->host.params, t->shape.heads, out->d, tower));
    out->tower.layers = tower[0].n_layers;
    for (int l = 0; l < tower[0].n_layers; l++) out->tower.size[l] = tower[0].size[l];
    return CW_OK;
}

/* Lists by rows of the table as they are need not ask the host for vectors. */
static void describe_lists(const cwi_task *t, cwi_cuda_task *out)
{
    int tables = t->method->item_tables;
    if (!t->backbone->is_table || out->is_cosine || t->shape.ranked < t->shape.heads) return;
    out->n_listed = tables > 1 ? t->shape.n_items / tables : t->shape.n_items;
    if (tables > 1)
        out->first_listed = out->n_listed * cwi_options_choice(t->options, "cause-score");
}

/* Rows of users have neither slots nor a loss by itself. */
static cw_status describe_vae(const cuda *e, cwi_cuda_task *out)
{
    const cwi_task *t = e->host.task;
    cwi_vae_net net;
    CW_PASS(cwi_vae_net_find(e->host.base.ctx, &e->host.params, t->shape.n_items, &net));
    *out = (cwi_cuda_task){.device = t->gpu - 1,
                           .sampler = "",
                           .loss = "",
                           .rule = rule_of(t->optimizer),
                           .memories = count_memories(t->optimizer),
                           .steps_all = true,
                           .n_users = t->shape.n_users,
                           .n_items = t->shape.n_items,
                           .heads = 1};
    out->vae = (cwi_cuda_vae){net.n_layers,
                              net.latent,
                              (int32_t)cwi_options_integer(t->options, "batch"),
                              cwi_options_real(t->options, "keep"),
                              cwi_options_real(t->options, "kl-cap"),
                              (double)cwi_options_integer(t->options, "kl-steps"),
                              (uint64_t)cwi_options_integer(t->options, "seed"),
                              &t->training->by_user};
    return CW_OK;
}

static cwi_cuda_task describe_slots(const cuda *e)
{
    const cwi_task *t = e->host.task;
    const cwi_tensor *table = &e->host.params.tensor[0];
    bool has_scorer = t->backbone->vector_width != NULL;
    double temperature = has_scorer ? cwi_options_real(t->options, "temperature") : 1;
    return (cwi_cuda_task){
        .device = t->gpu - 1,
        .sampler = t->method->sampler->name,
        .loss = t->method->loss->name,
        .drawing = e->host.sampler,
        .selects = t->method->selects,
        .is_strict = cw_options_get(t->options, "strict") && cwi_options_flag(t->options, "strict"),
        .per_group = t->method->selects && cwi_options_choice(t->options, "select") == 1,
        .by_group = t->method->loss->by_group,
        .by_difference = t->method->loss->by_difference,
        .rule = rule_of(t->optimizer),
        .memories = count_memories(t->optimizer),
        .steps_all = t->optimizer->schedule != CWI_STEP_TOUCHED,
        .n_users = t->shape.n_users,
        .n_items = t->shape.n_items,
        .heads = t->shape.heads,
        .d = (int32_t)table->columns,
        .is_cosine = has_scorer && cwi_options_choice(t->options, "scorer") == 1,
        .batch_reg = cwi_options_choice(t->options, "reg-kind") == 1
                         ? cwi_options_real(t->options, "reg")
                         : 0,
        .pulls_table = has_graph(t) && !cwi_options_is(t->options, "reg-target", "final"),
        .penalty = penalty_of(t),
        .strength = t->method->penalty ? cwi_options_real(t->options, "dis-penalty") : 0,
        .scale = temperature == 1 ? 1 : (float)(1 / temperature)};
}

static void close_engine(cwi_engine *engine)
{
    cuda *e = (cuda *)engine;
    if (!e) return;
    cwi_lists_close(e->lists);
    if (e->calls) e->calls->close(e->device);
    cwi_graph_clear(&e->graph);
    cwi_deferred_free(e->late);
    cwi_host_close(&e->host);
    cwi_free(e);
}

static cw_status send_part(cuda *e, int part, const cwi_params *from)
{
    for (int t = 0; t < from->count; t++)
        CW_PASS(pass_on(e, e->calls->put(e->device, part, t, from->tensor[t].data, e->why)));
    return CW_OK;
}

static cw_status send_state(cuda *e)
{
    CW_PASS(send_part(e, CWI_CUDA_PARAMS, &e->host.params));
    for (int m = 0; e->host.task->optimizer->memory[m]; m++)
        CW_PASS(send_part(e, CWI_CUDA_MEMORY + m, &e->host.memory[m]));
    return CW_OK;
}

/* What popularity is to the term on it. */
static cw_status describe_popularity(cuda *e, cwi_cuda_task *out)
{
    const cwi_shape *shape = &e->host.task->shape;
    out->spectral = cwi_options_real(e->host.task->options, "spectral");
    if (!(out->spectral > 0)) return CW_OK;
    size_t items = (size_t)shape->n_items;
    float *degree = cwi_pile_add_zero(e->host.base.ctx, &e->host.pile, items, sizeof *degree);
    CW_PASS(e->host.pile.status);
    for (int64_t k = 0; k < shape->train->start[shape->n_users]; k++)
        degree[shape->train->value[k]]++;
    out->degree = degree;
    return CW_OK;
}

/* What is trained by slots. */
static cw_status open_slots(cw_context *ctx, const cwi_task *task, cuda *e, cwi_cuda_task *out)
{
    CW_PASS(cwi_sampler_open(ctx, task->method->sampler, task->training, task->options,
                             &e->host.max_slots, &e->host.sampler));
    if (has_graph(task))
        CW_PASS((is_original_ngcf(task) ? cwi_graph_create_mean : cwi_graph_create)(
            ctx, task->shape.train, task->shape.n_users, task->shape.n_items, &e->graph));
    *out = describe_slots(e);
    describe_tensors(e, out);
    describe_lists(task, out);
    CW_PASS(describe_popularity(e, out));
    describe_graph(e, out);
    CW_PASS(describe_tower(e, out));
    (void)cwi_host_grid(&e->host, &out->grid);
    if (out->grid.side == 0) out->grid.rows = 0;
    if (task->optimizer->schedule != CWI_STEP_LATE) return CW_OK;
    return cwi_deferred_open(ctx, &e->host, &e->late);
}

static cw_status open_parts(cw_context *ctx, const cwi_task *task, cuda *e)
{
    cwi_cuda_task about;
    CW_PASS(cwi_host_remember(&e->host, true));
    CW_PASS(pass_on(e, cwi_cuda_load(&e->calls, e->why)));
    if (task->method->sampler) {
        CW_PASS(open_slots(ctx, task, e, &about));
    } else {
        CW_PASS(describe_vae(e, &about));
        describe_tensors(e, &about);
    }
    CW_PASS(pass_on(e, e->calls->open(&about, &e->device, e->why)));
    cwi_graph_clear(&e->graph); /* it is there now */
    int most = e->calls->most_steps(e->device);
    e->host.base.tell_every = most;
    e->rate = cwi_pile_add(ctx, &e->host.pile, (size_t)most, sizeof *e->rate);
    CW_PASS(e->host.pile.status);
    return send_state(e);
}

static cw_status open_engine(cw_context *ctx, const cwi_task *task, cwi_params *first,
                             cwi_engine **out)
{
    cuda *e = cwi_alloc_zero(ctx, 1, sizeof *e);
    *out = NULL;
    if (!e) {
        cwi_params_clear(first);
        return CW_NO_MEMORY;
    }
    e->host = (cwi_host){.base = {.verbs = &cwi_engine_cuda, .ctx = ctx},
                         .task = task,
                         .params = *first,
                         .epoch = -1};
    *first = (cwi_params){0};
    cw_status status = open_parts(ctx, task, e);
    if (status == CW_OK)
        *out = &e->host.base;
    else
        close_engine(&e->host.base);
    return status;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The device goes on from the tally of the host. */
static cw_status enter_epoch(cuda *e)
{
    const cwi_task *task = e->host.task;
    const cwi_tally *t = &e->host.tally;
    cwi_cuda_tally sums = {t->trained, t->applied, t->bad, t->data_loss,
                           t->penalty, t->draws,   0,      0};
    const cwi_sampler *sampler = task->method->sampler;
    if (sampler && sampler->begin) sampler->begin(e->host.sampler, e->host.epoch);
    return pass_on(e, e->calls->begin(e->device, e->host.sampler, e->host.setting, &sums, e->why));
}

static cw_status find_reg(cuda *e, double *out)
{
    double squares[CWI_MAX_TENSORS];
    CW_PASS(pass_on(e, e->calls->squares(e->device, squares, e->why)));
    *out = 0;
    for (int t = 0; t < e->host.params.count; t++)
        *out += (double)e->host.params.tensor[t].decay / 2 * squares[t];
    return CW_OK;
}

static cw_status begin(cwi_engine *engine, int64_t epoch)
{
    cuda *e = (cuda *)engine;
    double reg;
    CW_PASS(find_reg(e, &reg));
    cwi_host_begin(&e->host, epoch, reg);
    return enter_epoch(e);
}

static void take_sums(cuda *e, const cwi_cuda_tally *sums)
{
    cwi_tally *t = &e->host.tally;
    t->trained = sums->trained;
    t->applied = sums->applied;
    t->bad = sums->bad;
    t->data_loss = sums->data_loss;
    t->penalty = sums->penalty;
    t->reg_loss = NAN; /* of all rows, which no step sees together */
    t->draws = sums->draws;
    if (!e->host.sampler) return;
    const cwi_draw_plan *plan = &((const cwi_drawing *)e->host.sampler)->plan;
    for (int g = 0; g < plan->n_groups; g++) t->draws.slots[g] = plan->group[g].unit;
}

/* Steps that are likely to be made at once after these of the epoch, or of the next one. */
static int count_next(const cuda *e, int64_t made)
{
    int64_t all = e->host.task->steps_per_epoch, left = made < all ? all - made : all;
    return left > e->host.base.tell_every ? (int)e->host.base.tell_every : (int)left;
}

/* As the sampler says it of the CPU's batches; groups of cpr go by pairs of slots. */
static cw_status check_rows(const cuda *e, const cwi_cuda_tally *sums)
{
    const cwi_draw_plan *plan = &((const cwi_drawing *)e->host.sampler)->plan;
    if (sums->lacking_group == 0) return CW_OK;
    const cwi_draw_group *group = &plan->group[sums->lacking_group - 1];
    return cwi_fail(e->host.base.ctx, CW_BAD_DATA,
                    "only %lld of %lld samples of k = %d were accepted", (long long)sums->lacking,
                    (long long)group->candidates, group->slots / 2);
}

static cw_status make_window(cuda *e, int n)
{
    const cwi_task *task = e->host.task;
    int64_t first = e->host.tally.steps - e->waiting;
    cwi_moment now = cwi_host_moment(&e->host, first);
    cwi_cuda_tally sums;
    if ((now.step + (uint64_t)n) >> CWI_STEP_BITS)
        return cwi_fail(e->host.base.ctx, CW_BAD_ARG,
                        "random numbers last for 2^%d steps, not for step %llu", CWI_STEP_BITS,
                        (unsigned long long)now.step);
    for (int k = 0; k < n; k++)
        task->optimizer->rates(task->options, e->host.tally.applied + 1 + k, &e->rate[k]);
    CW_PASS(pass_on(e, e->calls->run(e->device, now.step, first + 1, n, count_next(e, first + n),
                                     e->rate, e->why)));
    CW_PASS(pass_on(e, e->calls->tell(e->device, &sums, e->why)));
    CW_PASS(check_rows(e, &sums));
    take_sums(e, &sums);
    e->waiting -= n;
    return CW_OK;
}

/* Make the steps that wait. */
static cw_status catch_up(cuda *e)
{
    int most = e->calls->most_steps(e->device);
    while (e->waiting > 0) CW_PASS(make_window(e, e->waiting < most ? (int)e->waiting : most));
    return CW_OK;
}

static cw_status draw(cwi_engine *engine)
{
    cuda *e = (cuda *)engine;
    e->host.tally.steps++;
    e->waiting++;
    return e->waiting < e->host.base.tell_every ? CW_OK : catch_up(e);
}

/* Part of a window. */
static cw_status leave(cwi_engine *engine)
{
    (void)engine;
    return CW_OK;
}

static cw_status settle(cwi_engine *engine)
{
    cuda *e = (cuda *)engine;
    CW_PASS(catch_up(e));
    return find_reg(e, &e->host.tally.reg_at_end);
}

/* ---- what the trainer may see --------------------------------------------------------------- */

static cw_status tell(cwi_engine *engine, cwi_tally *out)
{
    CW_PASS(catch_up((cuda *)engine));
    return cwi_host_tell(engine, out);
}

static cw_status fetch_part(cuda *e, int part, const cwi_params *to)
{
    for (int t = 0; t < to->count; t++)
        CW_PASS(pass_on(e, e->calls->get(e->device, part, t, to->tensor[t].data, e->why)));
    return CW_OK;
}

static cw_status fetch_params(cuda *e)
{
    CW_PASS(catch_up(e));
    return fetch_part(e, CWI_CUDA_PARAMS, &e->host.params);
}

/* Where the device has no lists, whoever asked goes on with vectors of the host. */
static cw_status fall_back(cw_context *ctx, cuda *e, cw_status status, const char *why)
{
    if (why[0]) return cwi_lists_fail(ctx, status, why);
    cw_status fetched = fetch_params(e);
    return fetched == CW_OK ? status : fetched;
}

/* What is there for everybody in training need not go there again. */
static cw_status take_wish(cw_context *ctx, const cuda *e, const cwi_wish *wish, cwi_pile *pile,
                           cwi_cuda_wish *out)
{
    *out = (cwi_cuda_wish){.n = wish->n,
                           .k = wish->k,
                           .users = wish->users,
                           .tilt = wish->tilt,
                           .item = wish->item,
                           .count = wish->count};
    if (wish->mask == &e->host.task->training->by_user) return CW_OK;
    return cwi_lists_gather(ctx, wish->mask, wish->users, wish->n, pile, &out->start, &out->value);
}

static cw_status list(cw_context *ctx, const cwi_ranker *ranker, const cwi_wish *wish)
{
    cuda *e = ranker->lister;
    char why[CWI_CUDA_TEXT] = "";
    cwi_cuda_wish asked;
    cwi_pile pile = {0};
    if (wish->k > CWI_CUDA_MOST_LISTED) return fall_back(ctx, e, CW_UNSUPPORTED, why);
    cw_status status = take_wish(ctx, e, wish, &pile, &asked);
    if (status == CW_OK) {
        status = e->calls->list(e->lister, &asked, why);
        if (status != CW_OK) status = fall_back(ctx, e, status, why);
    }
    cwi_pile_clear(&pile);
    return status;
}

static cw_status measure(cw_context *ctx, const cwi_ranker *ranker, const cwi_wish *wish,
                         const cwi_held *held, double over[CWI_PLACE_VALUES],
                         double under[CWI_PLACE_VALUES])
{
    cuda *e = ranker->lister;
    char why[CWI_CUDA_TEXT] = "";
    cwi_cuda_wish asked;
    cwi_pile pile = {0};
    cwi_cuda_held sums = {.key = held->key,
                          .n_users = held->rows->n_rows,
                          .start = held->rows->start,
                          .value = held->rows->value,
                          .degree = held->degree,
                          .discount = held->discount,
                          .ideal = held->ideal};
    if (wish->k > CWI_CUDA_MOST_LISTED) return CW_UNSUPPORTED;
    cw_status status = take_wish(ctx, e, wish, &pile, &asked);
    if (status == CW_OK) {
        status = e->calls->measure(e->lister, &asked, &sums, why);
        if (why[0]) status = cwi_lists_fail(ctx, status, why);
    }
    memcpy(over, sums.over, sizeof sums.over);
    memcpy(under, sums.under, sizeof sums.under);
    cwi_pile_clear(&pile);
    return status;
}

/* Vectors that the host makes of the parameters go there and back. */
static cw_status serve_made(cuda *e, cwi_ranker *out)
{
    const float *term;
    cw_context *ctx = e->host.base.ctx;
    if (!cwi_ranker_is_sum(out, &term)) return CW_OK;
    if (!e->lists)
        CW_PASS(cwi_lists_open(ctx, e->calls, e->host.task->gpu - 1, out, &e->lists));
    else
        CW_PASS(cwi_lists_renew(ctx, e->lists, out));
    cwi_lists_serve(e->lists, out);
    return CW_OK;
}

static cw_status rank(cwi_engine *engine, cwi_ranker *out)
{
    cuda *e = (cuda *)engine;
    CW_PASS(catch_up(e));
    e->why[0] = '\0';
    cw_status status = e->calls->lister(e->device, &e->lister, e->why);
    if (status != CW_OK && e->why[0]) return pass_on(e, status);
    if (status != CW_OK) CW_PASS(fetch_params(e));
    CW_PASS(cwi_host_rank(engine, out));
    if (status == CW_OK) {
        out->list = list;
        out->measure = measure;
        out->lister = e;
        return CW_OK;
    }
    status = serve_made(e, out);
    if (status != CW_OK) cwi_ranker_close(out);
    return status;
}

static cw_status params(cwi_engine *engine, const cwi_params **out)
{
    CW_PASS(fetch_params((cuda *)engine));
    return cwi_host_params(engine, out);
}

static cw_status keep(cwi_engine *engine)
{
    cuda *e = (cuda *)engine;
    CW_PASS(catch_up(e));
    e->why[0] = '\0';
    cw_status status = e->calls->keep(e->device, e->why);
    return e->why[0] ? pass_on(e, status) : status;
}

static cw_status kept(cwi_engine *engine, const cwi_params **out)
{
    cuda *e = (cuda *)engine;
    CW_PASS(fetch_part(e, CWI_CUDA_KEPT, &e->host.params));
    return cwi_host_params(engine, out);
}

/* Rows here wait for nothing, so that the rule is that of adam.  A checkpoint has them as the CPU
 * keeps those that wait as well, and may be one of the CPU, which lacks moments of the table. */
static cw_status add_late(cuda *e, cwi_state *out)
{
    cwi_host *host = &e->host;
    int tensors = host->params.count;
    for (int m = 0; m < CWI_MAX_MEMORIES; m++) out->array[(1 + m) * tensors].may_lack = true;
    cwi_deferred_list(e->late, out);
    return cwi_late_pack(host->base.ctx, e->late, host->memory[0].tensor[0].data,
                         host->memory[1].tensor[0].data, host->tally.applied);
}

static cw_status read_state(cwi_engine *engine, cwi_state *out)
{
    cuda *e = (cuda *)engine;
    CW_PASS(fetch_params(e));
    for (int m = 0; e->host.task->optimizer->memory[m]; m++)
        CW_PASS(fetch_part(e, CWI_CUDA_MEMORY + m, &e->host.memory[m]));
    CW_PASS(cwi_host_read(engine, out));
    return e->late ? add_late(e, out) : CW_OK;
}

static cw_status write_state(cwi_engine *engine, int64_t epoch, const cwi_tally *tally)
{
    cuda *e = (cuda *)engine;
    const cwi_loss *loss = e->host.task->method->loss;
    e->waiting = 0;
    CW_PASS(cwi_host_write(engine, epoch, tally));
    if (loss && loss->set) loss->set(e->host.task->options, epoch, e->host.setting);
    if (e->late)
        CW_PASS(cwi_late_unpack(engine->ctx, e->late, e->host.memory[0].tensor[0].data,
                                e->host.memory[1].tensor[0].data, tally->applied));
    CW_PASS(send_state(e));
    return enter_epoch(e);
}

const cwi_engine_verbs cwi_engine_cuda = {
    .name = "cuda",
    .open = open_engine,
    .begin = begin,
    .draw = draw,
    .score = leave,
    .select = leave,
    .loss = leave,
    .back = leave,
    .apply = leave,
    .settle = settle,
    .tell = tell,
    .rank = rank,
    .params = params,
    .read = read_state,
    .write = write_state,
    .close = close_engine,
    .keep = keep,
    .kept = kept,
};

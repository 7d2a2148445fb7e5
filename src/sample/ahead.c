/* ahead.c - rounds of drawing and answering until the batches of a window are whole. */
#include "sample/ahead.h"

#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "sample/asking.h"

enum { MOST_STEPS = 32, SLOTS_A_WINDOW = 1 << 18, MOST_SLOTS = 1 << 27 };

/* Some candidates of a group of a step. */
typedef struct draft {
    int64_t step; /* of the window */
    int group;
    int64_t begin, end; /* candidates of the step */
    int64_t slot, row;  /* where the first of them has its rows, in the arrays of the step */
    cwi_asking asking;  /* its candidates are counted from begin on */
    cwi_training seen;  /* the training with these questions */
    cwi_drawing *state; /* a copy of the sampler's, which looks at it */
    int64_t left;       /* candidates that are not done */
} draft;

struct cwi_ahead {
    const cwi_sampler *sampler;
    const cwi_drawing *drawing;
    const cwi_world *world;
    int64_t most_steps, candidates, max_slots;
    cwi_moment first;
    int64_t n_steps; /* of the window */
    int64_t n_drafts, drafts_a_step;
    draft *draft;          /* [most_steps][drafts_a_step] */
    char *states;          /* of them */
    int32_t *user, *item;  /* [most_steps][max_slots] */
    float *mark;           /* the same */
    int32_t *kept, *tried; /* [most_steps][candidates] rows, and what was tried; kept -1: not yet */
    int32_t *asked;        /* [most_steps][candidates] first questions */

    /* a round */
    int *counts;     /* [size] bytes */
    int64_t *cursor; /* [size] */
    char *own, *all;
    size_t own_capacity, all_capacity;
    cwi_pile pile;
};

/* ---- open and close ------------------------------------------------------------------ */

void cwi_ahead_close(cwi_ahead *a)
{
    if (!a) return;
    for (int64_t k = 0; k < a->n_drafts; k++) cwi_free(a->draft[k].asking.list);
    cwi_free(a->own);
    cwi_free(a->all);
    cwi_pile_clear(&a->pile);
    cwi_free(a);
}

static void fill_draft(const cwi_ahead *a, draft *d, size_t k)
{
    const cwi_training *training = a->drawing->training;
    d->asking.n_users = training->n_users;
    d->asking.n_items = training->n_items;
    d->asking.first = a->asked + d->step * a->candidates + d->begin;
    d->seen = *training;
    d->state = (cwi_drawing *)(void *)(a->states + k * a->sampler->bytes);
}

/* Cut the candidates of every step and group into drafts. */
static void cut(cwi_ahead *a)
{
    size_t k = 0;
    for (int64_t s = 0; s < a->most_steps; s++) {
        int64_t first = 0, slot = 0, row = 0;
        for (int g = 0; g < a->drawing->plan.n_groups; g++) {
            const cwi_draw_group *group = &a->drawing->plan.group[g];
            int64_t end = first + group->candidates, rows = group->most_rows;
            for (int64_t c = first; c < end; c += CWI_DRAW_CHUNK) {
                int64_t n = end - c < CWI_DRAW_CHUNK ? end - c : CWI_DRAW_CHUNK;
                draft *d = &a->draft[k];
                *d = (draft){
                    .step = s, .group = g, .begin = c, .end = c + n, .slot = slot, .row = row};
                fill_draft(a, d, k++);
                slot += n * rows * group->slots;
                row += n * rows;
            }
            first = end;
        }
    }
}

static cw_status create_arrays(cw_context *ctx, cwi_ahead *a)
{
    cwi_pile *pile = &a->pile;
    size_t steps = (size_t)a->most_steps, slots = (size_t)a->max_slots;
    size_t candidates = (size_t)a->candidates, size = (size_t)a->world->size;
    a->user = cwi_pile_add(ctx, pile, steps, slots * sizeof *a->user);
    a->item = cwi_pile_add(ctx, pile, steps, slots * sizeof *a->item);
    a->mark = cwi_pile_add_zero(ctx, pile, steps, slots * sizeof *a->mark);
    a->kept = cwi_pile_add(ctx, pile, steps, candidates * sizeof *a->kept);
    a->tried = cwi_pile_add(ctx, pile, steps, candidates * sizeof *a->tried);
    a->asked = cwi_pile_add(ctx, pile, steps, candidates * sizeof *a->asked);
    a->draft = cwi_pile_add_zero(ctx, pile, (size_t)a->n_drafts, sizeof *a->draft);
    a->states = cwi_pile_add(ctx, pile, (size_t)a->n_drafts, a->sampler->bytes);
    a->counts = cwi_pile_add(ctx, pile, size, sizeof *a->counts);
    a->cursor = cwi_pile_add(ctx, pile, size, sizeof *a->cursor);
    if (pile->status != CW_OK) a->n_drafts = 0;
    return pile->status;
}

cw_status cwi_ahead_open(cw_context *ctx, const cwi_sampler *sampler, const cwi_drawing *drawing,
                         int64_t max_slots, cwi_ahead **out)
{
    *out = NULL;
    if (max_slots > MOST_SLOTS) /* a round's answers are counted by int */
        return cwi_fail(ctx, CW_UNSUPPORTED,
                        "a batch has %lld slots; where interactions are dealt out %d are possible",
                        (long long)max_slots, MOST_SLOTS);
    cwi_ahead *a = *out = cwi_alloc_zero(ctx, 1, sizeof *a);
    if (!a) return CW_NO_MEMORY;
    a->sampler = sampler;
    a->drawing = drawing;
    a->world = drawing->training->dealt->world;
    a->max_slots = max_slots;
    a->most_steps = SLOTS_A_WINDOW / max_slots;
    if (a->most_steps < 1) a->most_steps = 1;
    if (a->most_steps > MOST_STEPS) a->most_steps = MOST_STEPS;
    for (int g = 0; g < drawing->plan.n_groups; g++) {
        a->candidates += drawing->plan.group[g].candidates;
        a->drafts_a_step += cwi_pool_chunks(drawing->plan.group[g].candidates, CWI_DRAW_CHUNK);
    }
    a->n_drafts = a->most_steps * a->drafts_a_step;
    cw_status status = create_arrays(ctx, a);
    if (status == CW_OK) {
        cut(a);
        return CW_OK;
    }
    cwi_ahead_close(a);
    *out = NULL;
    return status;
}

int64_t cwi_ahead_steps(const cwi_ahead *a)
{
    return a->most_steps;
}

bool cwi_ahead_has(const cwi_ahead *a, uint64_t step)
{
    return step >= a->first.step && step < a->first.step + (uint64_t)a->n_steps;
}

/* ---- drawing -------------------------------------------------------------------------- */

/* The most that a candidate may ask at a time. */
static int32_t questions_of(const cwi_ahead *a, const draft *d)
{
    const cwi_draw_group *group = &a->drawing->plan.group[d->group];
    return group->slots * group->most_rows;
}

/* Before the first round. */
static void begin(cwi_ahead *a)
{
    for (int64_t k = 0; k < a->n_steps * a->candidates; k++) a->kept[k] = a->asked[k] = -1;
    for (int64_t k = 0; k < a->n_steps * a->drafts_a_step; k++) {
        draft *d = &a->draft[k];
        d->left = d->end - d->begin;
        d->asking.n = d->asking.n_answered = 0;
        d->seen.asking = &d->asking;
        memcpy(d->state, a->drawing, a->sampler->bytes);
        d->state->training = &d->seen;
    }
}

/* Chunks may not allocate. */
static cw_status make_room(cw_context *ctx, cwi_ahead *a)
{
    for (int64_t k = 0; k < a->n_steps * a->drafts_a_step; k++) {
        draft *d = &a->draft[k];
        int64_t need = d->asking.n + d->left * questions_of(a, d);
        if (d->left > 0)
            CW_PASS(cwi_grow(ctx, &d->asking.list, &d->asking.capacity, (size_t)need,
                             sizeof *d->asking.list));
    }
    return CW_OK;
}

/* Draw a candidate with the answers that there are; nothing is kept of it before it has all. */
static void draw_candidate(const cwi_ahead *a, draft *d, int64_t candidate)
{
    const cwi_draw_group *group = &a->drawing->plan.group[d->group];
    int64_t in = candidate - d->begin, at = d->step * a->candidates + candidate, tried = 0;
    int64_t row = d->row + in * group->most_rows;
    int64_t slot = d->step * a->max_slots + d->slot + in * group->most_rows * group->slots;
    cwi_rng rng;
    if (a->kept[at] >= 0) return;
    cwi_asking_begin(&d->asking, (int32_t)in, questions_of(a, d));
    cwi_rng_init(&rng, a->drawing->seed, CWI_RNG_SAMPLE,
                 cwi_stream_number(a->first.step + (uint64_t)d->step, candidate));
    int64_t rows = a->sampler->draw(d->state, d->group, &rng, a->user + slot, a->item + slot,
                                    a->mark + d->step * a->max_slots + row, &tried);
    if (!cwi_asking_is_done(&d->asking)) return;
    a->kept[at] = (int32_t)rows;
    a->tried[at] = (int32_t)tried;
    d->left--;
}

static cw_status draw_drafts(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_ahead *a = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        draft *d = &a->draft[k];
        for (int64_t c = d->begin; c < d->end && d->left > 0; c++) draw_candidate(a, d, c);
    }
    return CW_OK;
}

/* ---- answering ------------------------------------------------------------------------ */

enum { LIST_BYTES = 1, PAIR_BYTES = sizeof(cwi_pair) };

static int bytes_of(const cwi_question *q)
{
    return q->row >= 0 ? PAIR_BYTES : LIST_BYTES;
}

/* Leave the answer, which this process knows. */
static void answer(const cwi_training *t, int64_t block, const cwi_question *q, char *to)
{
    if (q->row >= 0) {
        cwi_pair pair = cwi_dealt_pair(t, block, q->row);
        memcpy(to, &pair, sizeof pair);
        return;
    }
    const cwi_csr *lists = &t->by_user;
    bool has = cwi_csr_has(lists, q->user, q->item);
    bool all = lists->start[q->user + 1] - lists->start[q->user] >= t->n_items;
    *to = !has ? CWI_ANSWER_NO : all ? CWI_ANSWER_HAS_ALL : CWI_ANSWER_HAS;
}

/* Find out who knows, and answer what this process does. */
static cw_status answer_own(cw_context *ctx, cwi_ahead *a, draft *d)
{
    const cwi_training *t = a->drawing->training;
    int me = a->world->rank;
    for (int64_t k = d->asking.n_answered; k < d->asking.n; k++) {
        cwi_question *q = &d->asking.list[k];
        int64_t block = q->row >= 0 ? cwi_dealt_block(t->dealt, q->row) : 0;
        q->owner = cwi_row_owner(a->world, q->row >= 0 ? block * CWI_BLOCK_ROWS : q->user);
        int used = a->counts[q->owner];
        a->counts[q->owner] += bytes_of(q);
        if (q->owner != me) continue;
        CW_PASS(cwi_grow(ctx, &a->own, &a->own_capacity, (size_t)a->counts[me], 1));
        answer(t, block, q, a->own + used);
    }
    return CW_OK;
}

static void take_answers(cwi_ahead *a, draft *d)
{
    for (int64_t k = d->asking.n_answered; k < d->asking.n; k++) {
        cwi_question *q = &d->asking.list[k];
        const char *from = a->all + a->cursor[q->owner];
        a->cursor[q->owner] += bytes_of(q);
        if (q->row >= 0) {
            cwi_pair pair;
            memcpy(&pair, from, sizeof pair);
            q->user = pair.user;
            q->item = pair.item;
        } else {
            q->answer = (int8_t)*from;
        }
    }
    d->asking.n_answered = d->asking.n;
}

/* All questions of a round get their answers.  *n: how many there were. */
static cw_status answer_all(cw_context *ctx, cwi_ahead *a, int64_t *sent, int64_t *bytes)
{
    const cwi_world *w = a->world;
    int64_t n = a->n_steps * a->drafts_a_step;
    *bytes = 0;
    memset(a->counts, 0, (size_t)w->size * sizeof *a->counts);
    for (int64_t k = 0; k < n; k++) CW_PASS(answer_own(ctx, a, &a->draft[k]));
    for (int p = 0; p < w->size; p++) {
        a->cursor[p] = *bytes;
        *bytes += a->counts[p];
    }
    if (*bytes == 0) return CW_OK;
    CW_PASS(cwi_grow(ctx, &a->own, &a->own_capacity, 1, 1));
    CW_PASS(cwi_grow(ctx, &a->all, &a->all_capacity, (size_t)*bytes, 1));
    w->calls->gather(a->own, a->counts[w->rank], a->all, a->counts, 1);
    *sent += (int64_t)(w->size - 1) * a->counts[w->rank];
    for (int64_t k = 0; k < n; k++) take_answers(a, &a->draft[k]);
    return CW_OK;
}

cw_status cwi_ahead_draw(cw_context *ctx, cwi_ahead *a, const cwi_moment *first, int64_t n,
                         int64_t *sent, int64_t *exchanges)
{
    int64_t bytes = 1;
    a->first = *first;
    a->n_steps = 0;
    if ((first->step + (uint64_t)n) >> CWI_STEP_BITS)
        return cwi_fail(ctx, CW_BAD_ARG, "random numbers last for 2^%d steps, not for step %llu",
                        CWI_STEP_BITS, (unsigned long long)first->step + (unsigned long long)n);
    a->n_steps = n;
    begin(a);
    while (bytes > 0) {
        CW_PASS(make_room(ctx, a));
        CW_PASS(cwi_pool_for(ctx, n * a->drafts_a_step, 1, draw_drafts, a));
        CW_PASS(answer_all(ctx, a, sent, &bytes));
        *exchanges += bytes > 0;
    }
    return CW_OK;
}

/* ---- batches -------------------------------------------------------------------------- */

/* The rows of all candidates of a draft, without holes, behind those that are there. */
static int64_t take_rows(const cwi_ahead *a, const draft *d, int64_t row, cwi_batch *batch,
                         int64_t *tried)
{
    const cwi_draw_group *group = &a->drawing->plan.group[d->group];
    int64_t slots = group->slots, taken = 0;
    for (int64_t c = d->begin; c < d->end; c++) {
        int64_t in = (c - d->begin) * group->most_rows, at = d->step * a->candidates + c;
        int64_t slot = d->step * a->max_slots + d->slot + in * slots, rows = a->kept[at];
        int64_t to = batch->n_slots + taken * slots;
        memcpy(batch->user + to, a->user + slot, (size_t)(rows * slots) * sizeof *a->user);
        memcpy(batch->item + to, a->item + slot, (size_t)(rows * slots) * sizeof *a->item);
        memcpy(batch->mark + row + taken, a->mark + d->step * a->max_slots + d->row + in,
               (size_t)rows * sizeof *a->mark);
        *tried += a->tried[at];
        taken += rows;
    }
    batch->n_slots += taken * slots;
    return taken;
}

cw_status cwi_ahead_take(cw_context *ctx, cwi_ahead *a, uint64_t step, cwi_batch *batch,
                         cwi_draws *draws)
{
    const draft *d = a->draft + (int64_t)(step - a->first.step) * a->drafts_a_step;
    int64_t row = 0;
    batch->n_groups = a->drawing->plan.n_groups;
    batch->n_slots = 0;
    batch->grid = a->drawing->plan.grid;
    for (int g = 0; g < batch->n_groups; g++) {
        const cwi_draw_group *group = &a->drawing->plan.group[g];
        int64_t chunks = cwi_pool_chunks(group->candidates, CWI_DRAW_CHUNK), rows = 0;
        batch->group[g] = (cwi_group){.slots = group->slots, .first_slot = batch->n_slots};
        for (int64_t k = 0; k < chunks; k++)
            rows += take_rows(a, d++, row + rows, batch, &draws->attempts[g]);
        batch->group[g].rows = rows;
        draws->slots[g] = group->unit;
        draws->accepted[g] += rows * group->slots / group->unit;
        row += rows;
    }
    return a->sampler->check ? a->sampler->check(ctx, a->drawing, batch) : CW_OK;
}

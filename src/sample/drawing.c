/* drawing.c - the batch of a step, from what a sampler draws for each candidate. */
#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"
#include "sample/sampler.h"

/* ---- open and close -------------------------------------------------------------- */

/* Every candidate of a step has a random stream. */
static cw_status check_plan(cw_context *ctx, const cwi_draw_plan *plan, const cw_options *options)
{
    const int64_t most = (int64_t)1 << CWI_EXAMPLE_BITS;
    int64_t candidates = 0;
    for (int g = 0; g < plan->n_groups; g++) candidates += plan->group[g].candidates;
    if (candidates <= most) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--batch is %s and --beta %s, which makes %lld candidates a step; at most %lld "
                    "are possible",
                    cwi_options_text(options, "batch"), cwi_options_text(options, "beta"),
                    (long long)candidates, (long long)most);
}

static cw_status make_room(cw_context *ctx, cwi_drawing *drawing)
{
    int64_t chunks = 0;
    for (int g = 0; g < drawing->plan.n_groups; g++) {
        int64_t n = cwi_pool_chunks(drawing->plan.group[g].candidates, CWI_DRAW_CHUNK);
        if (n > chunks) chunks = n;
    }
    drawing->kept = cwi_alloc(ctx, (size_t)chunks, sizeof *drawing->kept);
    drawing->tried = cwi_alloc(ctx, (size_t)chunks, sizeof *drawing->tried);
    return drawing->kept && drawing->tried ? CW_OK : CW_NO_MEMORY;
}

cw_status cwi_sampler_open(cw_context *ctx, const cwi_sampler *sampler,
                           const cwi_training *training, const cw_options *options,
                           int64_t *max_slots, void **state)
{
    cw_status status;
    cwi_drawing *drawing = *state = cwi_alloc_zero(ctx, 1, sampler->bytes);
    if (!drawing) return CW_NO_MEMORY;
    drawing->training = training;
    drawing->seed = (uint64_t)cwi_options_integer(options, "seed");
    CW_TRY(sampler->open(ctx, options, drawing));
    CW_TRY(check_plan(ctx, &drawing->plan, options));
    CW_TRY(make_room(ctx, drawing));
    *max_slots = 0;
    for (int g = 0; g < drawing->plan.n_groups; g++) {
        const cwi_draw_group *group = &drawing->plan.group[g];
        *max_slots += group->candidates * group->most_rows * group->slots;
    }
done:
    if (status != CW_OK) {
        cwi_sampler_close(sampler, drawing);
        *state = NULL;
    }
    return status;
}

void cwi_sampler_close(const cwi_sampler *sampler, void *state)
{
    cwi_drawing *drawing = state;
    if (!drawing) return;
    if (sampler->close) sampler->close(state);
    cwi_free(drawing->kept);
    cwi_free(drawing->tried);
    cwi_free(drawing);
}

/* ---- a batch --------------------------------------------------------------------- */

/* A group on its way into the batch. */
typedef struct job {
    const cwi_sampler *sampler;
    const cwi_drawing *drawing;
    uint64_t step;
    int group;
    int64_t first_candidate; /* its number in the step */
    int64_t first_row;       /* where rows go: slots from n_slots of the batch on */
    cwi_batch *batch;
} job;

/* The random streams of n candidates of numbers `first` and up. */
static void make_streams(const job *j, int64_t first, int64_t n, cwi_rng *out)
{
    uint64_t index = cwi_stream_number(j->step, first), seed = j->drawing->seed;
    uint32_t word[4 * CWI_DRAW_CHUNK];
    cwi_ops_best()->random_blocks(seed, CWI_RNG_SAMPLE, index, n, word);
    for (int64_t k = 0; k < n; k++)
        cwi_rng_init_with(&out[k], seed, CWI_RNG_SAMPLE, index + (uint64_t)k, word + 4 * k);
}

/* Rows of a chunk are written from its begin on without holes. */
static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_sampler *sampler = j->sampler;
    const cwi_draw_group *plan = &j->drawing->plan.group[j->group];
    int64_t slots = plan->slots, first = begin * plan->most_rows, rows = 0, tried = 0;
    int32_t *user = j->batch->user + j->batch->n_slots + first * slots;
    int32_t *item = j->batch->item + j->batch->n_slots + first * slots;
    float *mark = j->batch->mark + j->first_row + first;
    cwi_rng rng[CWI_DRAW_CHUNK];
    make_streams(j, j->first_candidate + begin, end - begin, rng);
    if (sampler->draw_many)
        rows = sampler->draw_many(j->drawing, j->group, end - begin, rng, user, item, mark, &tried);
    else
        for (int64_t k = 0; k < end - begin; k++)
            rows += sampler->draw(j->drawing, j->group, &rng[k], user + rows * slots,
                                  item + rows * slots, mark + rows, &tried);
    j->drawing->kept[chunk] = rows;
    j->drawing->tried[chunk] = tried;
    return CW_OK;
}

/* Move the rows of all chunks together.  Returns how many there are. */
static int64_t close_gaps(const job *j)
{
    const cwi_draw_group *plan = &j->drawing->plan.group[j->group];
    int64_t chunks = cwi_pool_chunks(plan->candidates, CWI_DRAW_CHUNK), slots = plan->slots;
    int32_t *user = j->batch->user + j->batch->n_slots, *item = j->batch->item + j->batch->n_slots;
    float *mark = j->batch->mark + j->first_row;
    int64_t rows = 0;
    for (int64_t c = 0; c < chunks; c++) {
        int64_t from = c * CWI_DRAW_CHUNK * plan->most_rows, n = j->drawing->kept[c];
        if (from > rows) {
            size_t bytes = (size_t)(n * slots) * sizeof *user;
            memmove(user + rows * slots, user + from * slots, bytes);
            memmove(item + rows * slots, item + from * slots, bytes);
            memmove(mark + rows, mark + from, (size_t)n * sizeof *mark);
        }
        rows += n;
    }
    return rows;
}

static cw_status draw_group(cw_context *ctx, job *j, cwi_draws *draws)
{
    const cwi_draw_group *plan = &j->drawing->plan.group[j->group];
    cwi_batch *batch = j->batch;
    cw_status status = cwi_pool_for(ctx, plan->candidates, CWI_DRAW_CHUNK, draw_chunk, j);
    if (status != CW_OK) return status;
    int64_t rows = close_gaps(j), chunks = cwi_pool_chunks(plan->candidates, CWI_DRAW_CHUNK);
    draws->slots[j->group] = plan->unit;
    for (int64_t c = 0; c < chunks; c++) draws->attempts[j->group] += j->drawing->tried[c];
    draws->accepted[j->group] += rows * plan->slots / plan->unit;
    batch->group[j->group] =
        (cwi_group){.slots = plan->slots, .rows = rows, .first_slot = batch->n_slots};
    batch->n_slots += rows * plan->slots;
    j->first_row += rows;
    j->first_candidate += plan->candidates;
    return CW_OK;
}

cw_status cwi_sampler_draw(cw_context *ctx, const cwi_sampler *sampler, void *state,
                           const cwi_moment *now, cwi_batch *batch, cwi_draws *draws)
{
    job j = {.sampler = sampler, .drawing = state, .step = now->step, .batch = batch};
    cw_status status = CW_OK;
    if (now->step >> CWI_STEP_BITS)
        return cwi_fail(ctx, CW_BAD_ARG, "random numbers last for 2^%d steps, not for step %llu",
                        CWI_STEP_BITS, (unsigned long long)now->step);
    if (sampler->begin) sampler->begin(state, now->epoch);
    batch->n_groups = j.drawing->plan.n_groups;
    batch->n_slots = 0;
    batch->grid = j.drawing->plan.grid;
    for (; j.group < batch->n_groups && status == CW_OK; j.group++)
        status = draw_group(ctx, &j, draws);
    if (status == CW_OK && sampler->check) status = sampler->check(ctx, state, batch);
    return status;
}

/*
 * cpr_sampler.c - k observed pairs whose crossed pairs were not observed.
 *
 * Every candidate has its own random stream and tries up to MAX_ATTEMPTS tuples, so that candidates
 * are independent of each other and of threads.  Rejection leaves accepted tuples uniform over all
 * valid ones.
 */
#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "sample/sampler.h"

static const cw_option_info options_of_cpr[] = {
    REAL("beta", "", 1, 1000,
         "how many candidates are drawn per example kept; 1 keeps all; tuned when not given"),
    REAL("ratio", "3", 1e-6, 1e6, "examples of k interactions for each of k + 1"),
    WHOLE("max-k", "3", 2, CWI_MAX_K, "samples of 2 to this many interactions"),
    {.name = "cycle",
     .kind = CW_OPTION_INTEGER,
     .preset = "0",
     .maximum = CWI_MAX_K,
     .help = "samples of just so many interactions; 0 mixes 2 to max-k",
     .former = "k",
     .former_note = "--k is the length of lists elsewhere; the cycle length of CPR is --cycle now"},
    WORD("distinct", "neighbours", "neighbours|all",
         "users and items of a sample differ between neighbours, which follows from the sampling, "
         "or all of them"),
    FLAG("strict", "fail when a step does not find all its samples, as the authors' code does"),
    {0}};

enum { MAX_ATTEMPTS = 64, CANDIDATES_A_CHUNK = 256, SECOND_LEVEL = 2 /* cache to fetch to */ };

typedef struct state {
    const cwi_training *training;
    uint64_t seed;
    cwi_cpr_sizes sizes;
    int64_t batch; /* rows to train on */
    double beta;
    bool all_distinct, strict;
    int32_t k_of_group[CWI_MAX_GROUPS];
    int n_groups;
    int64_t wanted; /* candidates of all k */
    int64_t *kept;  /* [chunks of one group] */
    int64_t *tried; /* [chunks of one group] */
    /* the group being drawn */
    uint64_t step;
    int32_t k;
    int64_t first_candidate;
    int32_t *user, *item;
} state;

void cwi_cpr_plan(int64_t batch, int32_t max_k, int32_t only_k, double ratio, double beta,
                  cwi_cpr_sizes *out)
{
    double weights = 0;
    int64_t given = 0;

    memset(out, 0, sizeof *out);
    out->max_k = only_k ? only_k : max_k;
    for (int32_t k = 2; k <= max_k; k++) weights += cwi_pow(ratio, max_k - k);
    for (int32_t k = 2; k < max_k && !only_k; k++) {
        out->keep[k] = (int64_t)rint((double)batch / weights * cwi_pow(ratio, max_k - k));
        given += out->keep[k];
    }
    out->keep[out->max_k] = batch - given;
    for (int32_t k = 2; k <= out->max_k; k++)
        out->draw[k] = (int64_t)ceil(beta * (double)out->keep[k]);
}

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->kept);
    cwi_free(s->tried);
    cwi_free(s);
}

static void read_options(const cw_options *options, state *s)
{
    s->seed = (uint64_t)cwi_options_integer(options, "seed");
    s->batch = cwi_options_integer(options, "batch");
    s->beta = cwi_options_real(options, "beta");
    s->all_distinct = strcmp(cwi_options_text(options, "distinct"), "all") == 0;
    s->strict = cwi_options_flag(options, "strict");
    cwi_cpr_plan(s->batch, (int32_t)cwi_options_integer(options, "max-k"),
                 (int32_t)cwi_options_integer(options, "cycle"), cwi_options_real(options, "ratio"),
                 s->beta, &s->sizes);
}

static cw_status open_state(cw_context *ctx, const cwi_training *training,
                            const cw_options *options, int64_t *max_slots, void **out)
{
    int64_t most = 0;
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->training = training;
    read_options(options, s);
    *max_slots = 0;
    for (int32_t k = 2; k <= s->sizes.max_k; k++) {
        if (s->sizes.draw[k] == 0) continue;
        s->k_of_group[s->n_groups++] = k;
        *max_slots += s->sizes.draw[k] * 2 * k;
        s->wanted += s->sizes.draw[k];
        if (s->sizes.draw[k] > most) most = s->sizes.draw[k];
    }
    int64_t chunks = cwi_pool_chunks(most, CANDIDATES_A_CHUNK);
    s->kept = cwi_alloc(ctx, (size_t)chunks, sizeof *s->kept);
    s->tried = cwi_alloc(ctx, (size_t)chunks, sizeof *s->tried);
    if (!s->kept || !s->tried) {
        close_state(s);
        return CW_NO_MEMORY;
    }
    *out = s;
    return CW_OK;
}

static bool has_repeat(const int32_t *ids, int32_t k)
{
    for (int32_t a = 0; a < k; a++)
        for (int32_t b = a + 1; b < k; b++)
            if (ids[a] == ids[b]) return true;
    return false;
}

/* The candidates of a chunk being drawn.  Memory is far away, so that each part of the work is done
 * for all of them and asks for what the next part reads. */
typedef struct drafts {
    cwi_rng rng[CANDIDATES_A_CHUNK];
    int64_t row[CANDIDATES_A_CHUNK * CWI_MAX_K]; /* of their interactions, k each */
    int32_t list[CANDIDATES_A_CHUNK];            /* numbers of those that are tried */
    uint32_t doubts[CANDIDATES_A_CHUNK];         /* of those of the list that may fail */
} drafts;

static void draw_rows(const state *s, cwi_rng *rng, int64_t *row)
{
    const cwi_training *t = s->training;
    for (int32_t j = 0; j < s->k; j++) {
        row[j] = (int64_t)cwi_rng_below(rng, (uint64_t)t->count);
        __builtin_prefetch(t->pair + row[j], 0, SECOND_LEVEL);
    }
}

static void fill_slots(const state *s, const int64_t *row, int32_t *user, int32_t *item)
{
    const cwi_training *t = s->training;
    int32_t k = s->k;
    for (int32_t j = 0; j < k; j++) {
        cwi_pair pair = t->pair[row[j]];
        user[j] = user[k + j] = pair.user;
        item[j] = item[k + (j == 0 ? k - 1 : j - 1)] = pair.item;
    }
}

__attribute__((always_inline)) static inline void fetch_bits(const state *s, const int32_t *user,
                                                             const int32_t *item)
{
    for (int32_t j = 0; j < s->k; j++)
        __builtin_prefetch(cwi_training_trace(s->training, user[j], item[s->k + j]).word, 0,
                           SECOND_LEVEL);
}

/* Crossed pairs that may be observed, as bits.  The user's list, which tells, is asked for in two
 * parts: where it lies, then what is on it. */
static uint32_t find_doubts(const state *s, const int32_t *user, const int32_t *item)
{
    uint32_t doubts = 0;
    for (int32_t j = 0; j < s->k; j++) {
        cwi_trace trace = cwi_training_trace(s->training, user[j], item[s->k + j]);
        if ((*trace.word & trace.bits) != trace.bits) continue;
        __builtin_prefetch(s->training->by_user.start + user[j]);
        doubts |= 1u << j;
    }
    return doubts;
}

__attribute__((always_inline)) static inline void fetch_lists(const state *s, const int32_t *user,
                                                              uint32_t doubts)
{
    enum { LINE = 16, LINES = 4 };
    const cwi_csr *lists = &s->training->by_user;
    for (; doubts; doubts &= doubts - 1) {
        const int32_t *list = lists->value + lists->start[user[__builtin_ctz(doubts)]];
        for (int line = 0; line < LINES; line++) __builtin_prefetch(list + line * LINE);
    }
}

/* Is no crossed pair observed? */
static bool is_valid(const state *s, const int32_t *user, const int32_t *item, uint32_t doubts)
{
    int32_t k = s->k;
    for (; doubts; doubts &= doubts - 1) {
        int j = __builtin_ctz(doubts);
        if (cwi_csr_has(&s->training->by_user, user[j], item[k + j])) return false;
    }
    return !s->all_distinct || (!has_repeat(user, k) && !has_repeat(item, k));
}

/* Try the n candidates on the list once, and leave on it those that fail.  Returns how many. */
static int64_t try_drafts(const state *s, drafts *d, int64_t n, int32_t *user, int32_t *item)
{
    int64_t slots = 2 * s->k, doubtful = 0, failed = 0;
    int32_t *list = d->list;
    for (int64_t c = 0; c < n; c++) draw_rows(s, &d->rng[list[c]], d->row + c * s->k);
    for (int64_t c = 0; c < n; c++)
        fill_slots(s, d->row + c * s->k, user + list[c] * slots, item + list[c] * slots);
    for (int64_t c = 0; c < n; c++) fetch_bits(s, user + list[c] * slots, item + list[c] * slots);
    for (int64_t c = 0; c < n; c++) {
        uint32_t doubts = find_doubts(s, user + list[c] * slots, item + list[c] * slots);
        if (!doubts && !s->all_distinct) continue;
        d->doubts[doubtful] = doubts;
        list[doubtful++] = list[c];
    }
    for (int64_t c = 0; c < doubtful; c++) fetch_lists(s, user + list[c] * slots, d->doubts[c]);
    for (int64_t c = 0; c < doubtful; c++)
        if (!is_valid(s, user + list[c] * slots, item + list[c] * slots, d->doubts[c]))
            list[failed++] = list[c];
    return failed;
}

/* Close the holes of the candidates on the list, which ascends.  Returns how many are kept. */
static int64_t close_holes(const state *s, const int32_t *list, int64_t n_list, int64_t n,
                           int32_t *user, int32_t *item)
{
    size_t slots = 2 * (size_t)s->k;
    int64_t kept = 0, hole = 0;
    for (int64_t c = 0; c < n; c++) {
        if (hole < n_list && list[hole] == c) {
            hole++;
            continue;
        }
        if (kept < c) {
            memcpy(user + kept * (int64_t)slots, user + c * (int64_t)slots, slots * sizeof *user);
            memcpy(item + kept * (int64_t)slots, item + c * (int64_t)slots, slots * sizeof *item);
        }
        kept++;
    }
    return kept;
}

/* Accepted rows of a chunk are written from its begin on without holes. */
static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const state *s = arg;
    int64_t n = end - begin, slots = 2 * s->k, left = n, tried = 0;
    int32_t *user = s->user + begin * slots, *item = s->item + begin * slots;
    drafts d;
    cwi_training_streams(s->seed, s->step, s->first_candidate + begin, n, d.rng);
    for (int32_t c = 0; c < n; c++) d.list[c] = c;
    for (int attempt = 0; attempt < MAX_ATTEMPTS && left > 0; attempt++) {
        tried += left;
        left = try_drafts(s, &d, left, user, item);
    }
    s->kept[chunk] = left > 0 ? close_holes(s, d.list, left, n, user, item) : n;
    s->tried[chunk] = tried;
    return CW_OK;
}

/* One group: all candidates of one k, the holes between chunks closed. */
static cw_status draw_group(cw_context *ctx, state *s, int g, cwi_batch *batch, cwi_luck *luck)
{
    int64_t n = s->sizes.draw[s->k], slots = 2 * s->k;
    s->user = batch->user + batch->n_slots;
    s->item = batch->item + batch->n_slots;
    cw_status status = cwi_pool_for(ctx, n, CANDIDATES_A_CHUNK, draw_chunk, s);
    if (status != CW_OK) return status;
    int64_t chunks = cwi_pool_chunks(n, CANDIDATES_A_CHUNK);
    int64_t rows =
        cwi_batch_gather(batch, batch->n_slots, slots, CANDIDATES_A_CHUNK, s->kept, chunks);
    for (int64_t c = 0; c < chunks; c++) luck->attempts[g] += s->tried[c];
    luck->slots[g] = slots;
    luck->accepted[g] += rows;
    batch->group[g] =
        (cwi_group){.slots = (int32_t)slots, .rows = rows, .first_slot = batch->n_slots};
    batch->n_slots += rows * slots;
    if (s->strict && rows < n)
        return cwi_fail(ctx, CW_BAD_DATA, "only %lld of %lld samples of k = %d were accepted",
                        (long long)rows, (long long)n, s->k);
    return CW_OK;
}

static cw_status draw(cw_context *ctx, void *opened, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck)
{
    state *s = opened;
    cw_status status = CW_OK;
    s->step = now->step;
    s->first_candidate = 0;
    batch->n_groups = s->n_groups;
    batch->is_paired = true;
    batch->n_slots = 0;
    for (int g = 0; g < s->n_groups && status == CW_OK; g++) {
        s->k = s->k_of_group[g];
        status = draw_group(ctx, s, g, batch, luck);
        s->first_candidate += s->sizes.draw[s->k];
    }
    return status;
}

/* The pressure of selection stays the same when fewer were accepted than wanted (spec 2.5). */
static int64_t keep(const void *opened, const cwi_batch *batch)
{
    const state *s = opened;
    int64_t rows = cwi_batch_rows(batch);
    if (rows == s->wanted || rows == 0) return rows < s->batch ? rows : s->batch;
    int64_t kept = (int64_t)rint((double)rows / s->beta);
    if (kept > s->batch) kept = s->batch;
    return kept < 1 ? 1 : kept;
}

const cwi_sampler cwi_sampler_cpr = {.name = "cpr",
                                     .open = open_state,
                                     .draw = draw,
                                     .keep = keep,
                                     .close = close_state,
                                     .options = options_of_cpr};

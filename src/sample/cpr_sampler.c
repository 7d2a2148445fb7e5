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
#include "core/option_rows.h"
#include "sample/sampler.h"

enum { CPR_MAX_ATTEMPTS = 64 };

typedef struct cpr_state {
    cwi_drawing drawing; /* a group is that of a k */
    int64_t batch;       /* rows to train on */
    double beta;
    bool all_distinct, strict;
    int64_t wanted; /* candidates of all k */
} cpr_state;

CWI_FORMULA int32_t cpr_k(const cpr_state *s, int group)
{
    return s->drawing.plan.group[group].slots / 2;
}

/* ---- the parts of drawing a row; each asks for what the next reads ----------------- */

CWI_FORMULA void cpr_draw_pairs(const cpr_state *s, int32_t k, cwi_rng *rng, int64_t *row)
{
    const cwi_training *t = s->drawing.training;
    for (int32_t j = 0; j < k; j++) {
        row[j] = (int64_t)cwi_rng_below(rng, (uint64_t)t->count);
        if (!t->asking) CWI_FETCH_FAR(t->pair + row[j]);
    }
}

CWI_FORMULA void cpr_fill_slots(const cpr_state *s, int32_t k, const int64_t *row, int32_t *user,
                                int32_t *item)
{
    const cwi_training *t = s->drawing.training;
    for (int32_t j = 0; j < k; j++) {
        cwi_pair pair = cwi_training_pair(t, row[j]);
        user[j] = user[k + j] = pair.user;
        item[j] = item[k + (j == 0 ? k - 1 : j - 1)] = pair.item;
    }
}

/* Crossed pairs that may be observed, as bits.  The user's list, which tells, is asked for in two
 * parts: where it lies, then what is on it. */
CWI_FORMULA uint32_t cpr_find_doubts(const cpr_state *s, int32_t k, const int32_t *user,
                                     const int32_t *item)
{
    const cwi_training *t = s->drawing.training;
    uint32_t doubts = 0;
    for (int32_t j = 0; j < k; j++) {
        if (!cwi_training_may_have(t, user[j], item[k + j])) continue;
        CWI_FETCH(t->by_user.start + user[j]);
        doubts |= 1u << j;
    }
    return doubts;
}

CWI_FORMULA bool cpr_has_repeat(const int32_t *ids, int32_t k)
{
    for (int32_t a = 0; a < k; a++)
        for (int32_t b = a + 1; b < k; b++)
            if (ids[a] == ids[b]) return true;
    return false;
}

/* Is no crossed pair observed? */
CWI_FORMULA bool cpr_is_valid(const cpr_state *s, int32_t k, const int32_t *user,
                              const int32_t *item, uint32_t doubts)
{
    for (; doubts; doubts &= doubts - 1) {
        int j = cwi_lowest_bit(doubts);
        if (cwi_training_lists(s->drawing.training, user[j], item[k + j])) return false;
    }
    return !s->all_distinct || (!cpr_has_repeat(user, k) && !cpr_has_repeat(item, k));
}

CWI_FORMULA int64_t cpr_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                             int32_t *item, float *mark, int64_t *tried)
{
    const cpr_state *s = (const cpr_state *)opened;
    int32_t k = cpr_k(s, group);
    int64_t row[CWI_MAX_K];
    (void)mark;
    for (int attempt = 0; attempt < CPR_MAX_ATTEMPTS; attempt++) {
        ++*tried;
        cpr_draw_pairs(s, k, rng, row);
        cpr_fill_slots(s, k, row, user, item);
        if (cpr_is_valid(s, k, user, item, cpr_find_doubts(s, k, user, item))) return 1;
    }
    return 0;
}

#if !defined(__cplusplus)
static const cw_option_info cpr_options[] = {
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

/* ---- many candidates at once ------------------------------------------------------ */

/* Memory is far away, so that each part of the work is done for all candidates of a chunk. */
typedef struct drafts {
    int64_t row[CWI_DRAW_CHUNK * CWI_MAX_K]; /* of their interactions, k each */
    int32_t list[CWI_DRAW_CHUNK];            /* numbers of those that are tried */
    uint32_t doubts[CWI_DRAW_CHUNK];         /* of those of the list that may fail */
} drafts;

__attribute__((always_inline)) static inline void
fetch_bits(const cpr_state *s, int32_t k, const int32_t *user, const int32_t *item)
{
    for (int32_t j = 0; j < k; j++)
        CWI_FETCH_FAR(cwi_training_trace(s->drawing.training, user[j], item[k + j]).word);
}

__attribute__((always_inline)) static inline void fetch_lists(const cpr_state *s,
                                                              const int32_t *user, uint32_t doubts)
{
    enum { LINE = 16, LINES = 4 };
    const cwi_csr *lists = &s->drawing.training->by_user;
    for (; doubts; doubts &= doubts - 1) {
        const int32_t *list = lists->value + lists->start[user[cwi_lowest_bit(doubts)]];
        for (int line = 0; line < LINES; line++) CWI_FETCH(list + line * LINE);
    }
}

/* Try the n candidates on the list once, and leave on it those that fail.  Returns how many. */
static int64_t try_drafts(const cpr_state *s, int32_t k, cwi_rng *rng, drafts *d, int64_t n,
                          int32_t *user, int32_t *item)
{
    int64_t slots = 2 * k, doubtful = 0, failed = 0;
    int32_t *list = d->list;
    for (int64_t c = 0; c < n; c++) cpr_draw_pairs(s, k, &rng[list[c]], d->row + c * k);
    for (int64_t c = 0; c < n; c++)
        cpr_fill_slots(s, k, d->row + c * k, user + list[c] * slots, item + list[c] * slots);
    for (int64_t c = 0; c < n; c++)
        fetch_bits(s, k, user + list[c] * slots, item + list[c] * slots);
    for (int64_t c = 0; c < n; c++) {
        uint32_t doubts = cpr_find_doubts(s, k, user + list[c] * slots, item + list[c] * slots);
        if (!doubts && !s->all_distinct) continue;
        d->doubts[doubtful] = doubts;
        list[doubtful++] = list[c];
    }
    for (int64_t c = 0; c < doubtful; c++) fetch_lists(s, user + list[c] * slots, d->doubts[c]);
    for (int64_t c = 0; c < doubtful; c++)
        if (!cpr_is_valid(s, k, user + list[c] * slots, item + list[c] * slots, d->doubts[c]))
            list[failed++] = list[c];
    return failed;
}

/* Close the holes of the candidates on the list, which ascends.  Returns how many are kept. */
static int64_t close_holes(int64_t slots, const int32_t *list, int64_t n_list, int64_t n,
                           int32_t *user, int32_t *item)
{
    size_t bytes = (size_t)slots * sizeof *user;
    int64_t kept = 0, hole = 0;
    for (int64_t c = 0; c < n; c++) {
        if (hole < n_list && list[hole] == c) {
            hole++;
            continue;
        }
        if (kept < c) {
            memcpy(user + kept * slots, user + c * slots, bytes);
            memcpy(item + kept * slots, item + c * slots, bytes);
        }
        kept++;
    }
    return kept;
}

static int64_t cpr_draw_many(const void *opened, int group, int64_t n, cwi_rng *rng, int32_t *user,
                             int32_t *item, float *mark, int64_t *tried)
{
    const cpr_state *s = opened;
    int32_t k = cpr_k(s, group);
    int64_t left = n;
    drafts d;
    (void)mark;
    for (int32_t c = 0; c < n; c++) d.list[c] = c;
    for (int attempt = 0; attempt < CPR_MAX_ATTEMPTS && left > 0; attempt++) {
        *tried += left;
        left = try_drafts(s, k, rng, &d, left, user, item);
    }
    return left > 0 ? close_holes(2 * k, d.list, left, n, user, item) : n;
}

/* ---- sizes ------------------------------------------------------------------------ */

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

static cw_status cpr_open(cw_context *ctx, const cw_options *options, void *opened)
{
    cpr_state *s = opened;
    cwi_draw_plan *plan = &s->drawing.plan;
    cwi_cpr_sizes sizes;
    (void)ctx;
    s->batch = cwi_options_integer(options, "batch");
    s->beta = cwi_options_real(options, "beta");
    s->all_distinct = strcmp(cwi_options_text(options, "distinct"), "all") == 0;
    s->strict = cwi_options_flag(options, "strict");
    cwi_cpr_plan(s->batch, (int32_t)cwi_options_integer(options, "max-k"),
                 (int32_t)cwi_options_integer(options, "cycle"), cwi_options_real(options, "ratio"),
                 s->beta, &sizes);
    for (int32_t k = 2; k <= sizes.max_k; k++) {
        if (sizes.draw[k] == 0) continue;
        plan->group[plan->n_groups++] = (cwi_draw_group){sizes.draw[k], 2 * k, 1, 2 * k};
        s->wanted += sizes.draw[k];
    }
    return CW_OK;
}

static cw_status cpr_check(cw_context *ctx, const void *opened, cwi_batch *batch)
{
    const cpr_state *s = opened;
    for (int g = 0; g < batch->n_groups && s->strict; g++) {
        int64_t wanted = s->drawing.plan.group[g].candidates;
        if (batch->group[g].rows < wanted)
            return cwi_fail(ctx, CW_BAD_DATA, "only %lld of %lld samples of k = %d were accepted",
                            (long long)batch->group[g].rows, (long long)wanted, cpr_k(s, g));
    }
    return CW_OK;
}

/* The pressure of selection stays the same when fewer were accepted than wanted. */
static int64_t cpr_keep(const void *opened, const cwi_batch *batch)
{
    const cpr_state *s = opened;
    int64_t rows = cwi_batch_rows(batch);
    if (rows == s->wanted || rows == 0) return rows < s->batch ? rows : s->batch;
    int64_t kept = (int64_t)rint((double)rows / s->beta);
    if (kept > s->batch) kept = s->batch;
    return kept < 1 ? 1 : kept;
}

const cwi_sampler cwi_sampler_cpr = {.name = "cpr",
                                     .bytes = sizeof(cpr_state),
                                     .open = cpr_open,
                                     .draw = cpr_draw,
                                     .draw_many = cpr_draw_many,
                                     .check = cpr_check,
                                     .keep = cpr_keep,
                                     .asks = cwi_sampler_asks,
                                     .options = cpr_options};
#endif

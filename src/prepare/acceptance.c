/* acceptance.c - how often CPR's sampler accepts what it draws. */
#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "prepare/stats.h"

enum { MAX_K = 8, DRAWS = 1 << 20, DRAWS_A_CHUNK = 1 << 14, MAX_TUPLES = 1 << 20 };

typedef struct trial {
    const cwi_pairs *pairs;
    const cwi_csr *train;
    int k;
    int64_t *accepted; /* [chunks] */
} trial;

/* Are all cross pairs of the drawn rows absent from train? */
static bool accepts(const trial *t, const int64_t *row)
{
    for (int j = 0; j < t->k; j++) {
        int64_t next = row[(j + 1) % t->k];
        if (cwi_csr_has(t->train, t->pairs->user[row[j]], t->pairs->item[next])) return false;
    }
    return true;
}

static cw_status draw_tuples(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const trial *t = arg;
    int64_t row[MAX_K];

    t->accepted[chunk] = 0;
    for (int64_t draw = begin; draw < end; draw++) {
        cwi_rng rng;
        cwi_rng_init(&rng, (uint64_t)t->k, CWI_RNG_ACCEPTANCE, (uint64_t)draw);
        for (int j = 0; j < t->k; j++)
            row[j] = (int64_t)cwi_rng_below(&rng, (uint64_t)t->pairs->count);
        t->accepted[chunk] += accepts(t, row);
    }
    return CW_OK;
}

/* Every tuple in turn; their number is n^k. */
static double count_tuples(const trial *t, int64_t n_tuples)
{
    int64_t row[MAX_K], accepted = 0;
    for (int64_t tuple = 0; tuple < n_tuples; tuple++) {
        int64_t rest = tuple;
        for (int j = 0; j < t->k; j++) {
            row[j] = rest % t->pairs->count;
            rest /= t->pairs->count;
        }
        accepted += accepts(t, row);
    }
    return (double)accepted / (double)n_tuples;
}

cw_status cwi_acceptance(cw_context *ctx, const cwi_pairs *pairs, const cwi_csr *train, int k,
                         double *rate, double *error)
{
    double n_tuples = cwi_pow((double)pairs->count, k);
    int64_t n_chunks = cwi_pool_chunks(DRAWS, DRAWS_A_CHUNK), accepted = 0;
    trial t = {.pairs = pairs, .train = train, .k = k};

    *error = 0;
    if (n_tuples <= MAX_TUPLES) {
        *rate = count_tuples(&t, (int64_t)n_tuples);
        return CW_OK;
    }
    t.accepted = cwi_alloc(ctx, (size_t)n_chunks, sizeof *t.accepted);
    if (!t.accepted) return CW_NO_MEMORY;
    cw_status status = cwi_pool_for(ctx, DRAWS, DRAWS_A_CHUNK, draw_tuples, &t);
    for (int64_t chunk = 0; chunk < n_chunks && status == CW_OK; chunk++)
        accepted += t.accepted[chunk];
    cwi_free(t.accepted);
    *rate = (double)accepted / DRAWS;
    *error = sqrt(*rate * (1 - *rate) / DRAWS);
    return status;
}

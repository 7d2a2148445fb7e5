/* lists.c - from scores to the lists of the caller, block by block in constant memory. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"
#include "recommend/recommend.h"

enum { MAX_CHUNK_ROWS = CWI_SCORE_USERS, CHUNK_SCORES = 1 << 22 };

/* ---- checks -------------------------------------------------------------------- */

cw_status cwi_fail_nan(cw_context *ctx)
{
    return cwi_fail(ctx, CW_BAD_DATA, "the model gives a score that is not a number");
}

cw_status cwi_check_given(cw_context *ctx, const char *name, const void *argument)
{
    return argument ? CW_OK : cwi_fail(ctx, CW_BAD_ARG, "%s is NULL", name);
}

cw_status cwi_check_numbers(cw_context *ctx, const char *name, const int32_t *number, size_t n,
                            int32_t limit)
{
    cw_status status = n > 0 ? cwi_check_given(ctx, name, number) : CW_OK;
    for (size_t k = 0; k < n && status == CW_OK; k++)
        if (number[k] < 0 || number[k] >= limit)
            status = cwi_fail(ctx, CW_BAD_ARG, "%s[%zu] is %d; it must lie between 0 and %d", name,
                              k, (int)number[k], (int)limit - 1);
    return status;
}

cw_status cwi_check_rows(cw_context *ctx, const char *name, const int64_t *start,
                         const int32_t *number, size_t n, int32_t limit)
{
    CW_PASS(cwi_check_given(ctx, name, start));
    if (start[0] < 0)
        return cwi_fail(ctx, CW_BAD_ARG, "%s begin at %" PRId64 "; it must be at least 0", name,
                        start[0]);
    for (size_t k = 0; k < n; k++) {
        if (start[k + 1] < start[k] || start[k + 1] - start[k] > INT32_MAX)
            return cwi_fail(ctx, CW_BAD_ARG, "%s: row %zu goes from %" PRId64 " to %" PRId64, name,
                            k, start[k], start[k + 1]);
    }
    size_t count = (size_t)(start[n] - start[0]);
    return cwi_check_numbers(ctx, name, number ? number + start[0] : NULL, count, limit);
}

static bool ascends(const cwi_csr *rows)
{
    for (int32_t r = 0; r < rows->n_rows; r++)
        for (int64_t k = rows->start[r] + 1; k < rows->start[r + 1]; k++)
            if (rows->value[k - 1] >= rows->value[k]) return false;
    return true;
}

cw_status cwi_listing_own(cw_context *ctx, const cw_rules *rules, size_t n, cwi_listing *listing)
{
    if (!rules || !rules->own_start || n == 0) return CW_OK;
    if (n > INT32_MAX) return cwi_fail(ctx, CW_BAD_ARG, "%zu lists are too many", n);
    CW_PASS(cwi_check_rows(ctx, "own", rules->own_start, rules->own, n, listing->n_scores));
    cwi_csr *rows = &listing->own_rows;
    /* Borrowed, unless the rows have to be sorted first. */
    *rows = (cwi_csr){(int32_t)n, (int64_t *)rules->own_start, (int32_t *)rules->own};
    listing->own = rows;
    if (ascends(rows)) return CW_OK;
    size_t end = (size_t)rows->start[n];
    rows->value = cwi_pile_add(ctx, &listing->pile, end, sizeof *rows->value);
    CW_PASS(listing->pile.status);
    memcpy(rows->value, rules->own, end * sizeof *rows->value);
    cwi_csr_sort(rows);
    return CW_OK;
}

cw_lists cwi_lists_from(const cw_lists *lists, size_t first)
{
    size_t place = first * (size_t)lists->k;
    return (cw_lists){.k = lists->k,
                      .items = lists->items + place,
                      .scores = lists->scores ? lists->scores + place : NULL,
                      .counts = lists->counts ? lists->counts + first : NULL};
}

/* List what nobody gets: what is excluded, and what is not among the only ones. */
static cw_status bar_items(cw_context *ctx, const cw_rules *rules, cwi_listing *listing)
{
    int32_t n_items = listing->n_scores, n = 0;
    if (!rules->only && rules->n_exclude == 0) return CW_OK;
    bool *is_barred = cwi_pile_add(ctx, &listing->pile, (size_t)n_items, sizeof *is_barred);
    listing->barred = cwi_pile_add(ctx, &listing->pile, (size_t)n_items, sizeof *listing->barred);
    CW_PASS(listing->pile.status);
    for (int32_t i = 0; i < n_items; i++) is_barred[i] = rules->only != NULL;
    for (size_t k = 0; k < rules->n_only; k++) is_barred[rules->only[k]] = false;
    for (size_t k = 0; k < rules->n_exclude; k++) is_barred[rules->exclude[k]] = true;
    for (int32_t i = 0; i < n_items; i++)
        if (is_barred[i]) listing->barred[n++] = i;
    listing->n_barred = n;
    return CW_OK;
}

static cw_status use_boosts(cw_context *ctx, const cw_rules *rules, cwi_listing *listing)
{
    size_t n = rules->n_boosted;
    CW_PASS(cwi_check_numbers(ctx, "boosted", rules->boosted, n, listing->n_scores));
    if (n > 0) CW_PASS(cwi_check_given(ctx, "boosts", rules->boosts));
    for (size_t k = 0; k < n; k++)
        if (!(fabsf(rules->boosts[k]) <= (float)CWI_MAX_DIAL))
            return cwi_fail(ctx, CW_BAD_ARG, "boosts[%zu] is %g; it must lie between %d and %d", k,
                            (double)rules->boosts[k], -CWI_MAX_DIAL, CWI_MAX_DIAL);
    listing->boosted = rules->boosted;
    listing->boosts = rules->boosts;
    listing->n_boosted = n;
    return CW_OK;
}

static cw_status use_diversity(cw_context *ctx, double diversity, cwi_listing *listing)
{
    if (!(diversity >= 0 && diversity <= 1))
        return cwi_fail(ctx, CW_BAD_ARG, "diversity is %g; it must lie between 0 and 1", diversity);
    if (diversity > 0 && !listing->rec->ranker.items)
        return cwi_fail(ctx, CW_UNSUPPORTED,
                        "backbone %s has no item vectors to compare, so diversity must be 0",
                        listing->rec->model->backbone);
    listing->diversity = diversity;
    return CW_OK;
}

static cw_status use_rules(cw_context *ctx, const cw_rules *rules, cwi_listing *listing)
{
    int32_t n_items = listing->n_scores;
    if (!(fabs(rules->dial) <= CWI_MAX_DIAL))
        CW_PASS(cwi_fail(ctx, CW_BAD_ARG, "the dial is %g; it must lie between %d and %d",
                         rules->dial, -CWI_MAX_DIAL, CWI_MAX_DIAL));
    CW_PASS(cwi_check_numbers(ctx, "exclude", rules->exclude, rules->n_exclude, n_items));
    CW_PASS(cwi_check_numbers(ctx, "only", rules->only, rules->n_only, n_items));
    CW_PASS(use_boosts(ctx, rules, listing));
    CW_PASS(use_diversity(ctx, rules->diversity, listing));
    CW_PASS(bar_items(ctx, rules, listing));
    listing->dial = rules->dial;
    listing->with_skipped = rules->with_seen;
    return CW_OK;
}

cw_status cwi_listing_init(cw_context *ctx, const cw_recommender *rec, const cw_rules *rules,
                           const cw_lists *out, cwi_listing *listing)
{
    *listing = (cwi_listing){.rec = rec};
    CW_PASS(cwi_check_given(ctx, "the recommender", rec));
    CW_PASS(cwi_check_given(ctx, "lists", out));
    CW_PASS(cwi_check_given(ctx, "items of the lists", out->items));
    if (out->k < 1)
        CW_PASS(cwi_fail(ctx, CW_BAD_ARG, "k is %d; it must be at least 1", (int)out->k));
    listing->out = *out;
    listing->n_scores = rec->model->n_items;
    if (rules) CW_PASS(use_rules(ctx, rules, listing));
    return CW_OK;
}

void cwi_listing_clear(cwi_listing *listing)
{
    cwi_pile_clear(&listing->pile);
    *listing = (cwi_listing){0};
}

/* ---- one list ------------------------------------------------------------------ */

/* Some items, ascending. */
typedef struct span {
    const int32_t *item;
    int64_t count;
} span;

/* Items of a row that are left out for its sake. */
static span row_of(const cwi_csr *csr, int32_t row)
{
    return (span){csr->value + csr->start[row], csr->start[row + 1] - csr->start[row]};
}

/* All lists in one, each item once; they are used up. */
static int64_t merge(span *list, int n_lists, int32_t *out)
{
    int64_t n = 0;
    for (;;) {
        span *least = NULL;
        for (span *l = list; l < list + n_lists; l++)
            if (l->count > 0 && (!least || l->item[0] < least->item[0])) least = l;
        if (!least) return n;
        if (n == 0 || out[n - 1] != least->item[0]) out[n++] = least->item[0];
        least->item++;
        least->count--;
    }
}

/* Places that no item is left for are -1 with score 0. */
static void write_list(const cw_lists *out, int64_t row, const cwi_ranked *top, int32_t count)
{
    int32_t *items = out->items + row * out->k;
    for (int32_t r = 0; r < out->k; r++) items[r] = r < count ? top[r].item : -1;
    if (out->counts) out->counts[row] = count;
    if (!out->scores) return;
    float *scores = out->scores + row * out->k;
    for (int32_t r = 0; r < out->k; r++) scores[r] = r < count ? top[r].score : 0.0f;
}

/* ---- blocks -------------------------------------------------------------------- */

/* Some rows of a listing on their way. */
typedef struct block {
    const cwi_listing *listing;
    int64_t first, rows;
    int32_t chunk_rows; /* scored together by one thread */
    int32_t k;          /* the best that are looked for */
    float *score;       /* [rows][n_scores] */
    cwi_ranked *top;    /* [chunks][k] */
    double *nearest;    /* [chunks][k] where lists are to be diverse */
    int32_t *merged;    /* [chunks][n_scores] when something is barred or hidden */
    cwi_pile pile;
} block;

/* Room for two chunks a thread, but for no more rows than there are. */
static cw_status block_init(cw_context *ctx, const cwi_listing *listing, size_t n, block *b)
{
    size_t n_scores = (size_t)listing->n_scores, chunk = CHUNK_SCORES / (n_scores + 1);
    if (chunk < 1) chunk = 1;
    if (chunk > MAX_CHUNK_ROWS) chunk = MAX_CHUNK_ROWS;
    size_t rows = 2 * chunk * (size_t)cw_context_threads(ctx);
    if (rows > n) rows = n;
    *b = (block){.listing = listing, .rows = (int64_t)rows, .chunk_rows = (int32_t)chunk};
    b->k = listing->diversity > 0 ? cwi_diverse_pool(listing->out.k) : listing->out.k;
    if (b->k > listing->n_scores) b->k = listing->n_scores;
    size_t chunks = (size_t)cwi_pool_chunks(b->rows, b->chunk_rows);
    b->score = cwi_pile_add(ctx, &b->pile, rows, n_scores * sizeof *b->score);
    b->top = cwi_pile_add(ctx, &b->pile, chunks, (size_t)b->k * sizeof *b->top);
    if (listing->diversity > 0)
        b->nearest = cwi_pile_add(ctx, &b->pile, chunks, (size_t)b->k * sizeof *b->nearest);
    if (listing->n_barred > 0 || listing->hidden)
        b->merged = cwi_pile_add(ctx, &b->pile, chunks, n_scores * sizeof *b->merged);
    return b->pile.status;
}

/* What is left out of the list of a row: what its user had, and what nobody gets. */
static span find_skipped(const block *b, int64_t chunk, int64_t row)
{
    const cwi_listing *l = b->listing;
    const int32_t *who = &l->who[row];
    span own = l->own    ? row_of(l->own, (int32_t)(l->own_first + row))
               : l->skip ? row_of(l->skip, *who)
                         : (span){who, 1};
    span hidden = l->hidden ? row_of(l->hidden, *who) : (span){NULL, 0};
    if (l->with_skipped) own.count = hidden.count = 0;
    if (hidden.count + l->n_barred == 0) return own;
    int32_t *merged = b->merged + chunk * l->n_scores;
    return (span){merged, merge((span[]){own, hidden, {l->barred, l->n_barred}}, 3, merged)};
}

/* The dial and the boosts, in place. */
static void bend(const cwi_listing *l, float *score)
{
    if (l->dial != 0)
        for (int32_t i = 0; i < l->n_scores; i++)
            score[i] = (float)((double)score[i] + l->dial * l->rec->log_degree[i]);
    for (size_t k = 0; k < l->n_boosted; k++) score[l->boosted[k]] += l->boosts[k];
}

/* The list of a row from its scores, which are bent. */
static bool pick(const block *b, int64_t chunk, int64_t row, float *score)
{
    const cwi_listing *l = b->listing;
    cwi_ranked *top = b->top + chunk * b->k;
    span skipped = find_skipped(b, chunk, row);

    bend(l, score);
    int32_t count = cwi_topk(score, l->n_scores, skipped.item, skipped.count, b->k, top);
    if (count > 0 && l->diversity > 0) {
        int32_t wanted = count < l->out.k ? count : l->out.k;
        cwi_diversify(&l->rec->ranker, l->diversity, count, wanted, top, b->nearest + chunk * b->k);
        count = wanted;
    }
    if (count >= 0) write_list(&l->out, row, top, count);
    return count >= 0;
}

static cw_status fill_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const block *b = arg;
    const cwi_listing *l = b->listing;
    l->score(l, l->who + b->first + begin, (int32_t)(end - begin), b->score + begin * l->n_scores);
    for (int64_t row = begin; row < end; row++)
        if (!pick(b, chunk, b->first + row, b->score + row * l->n_scores)) return CW_BAD_DATA;
    return CW_OK;
}

cw_status cwi_listing_run(cw_context *ctx, const cwi_listing *listing, size_t n)
{
    block b;
    if (cwi_listing_screened(listing, n)) return cwi_progress(ctx, "recommending", 1, 1);
    cw_status status = block_init(ctx, listing, n, &b);
    for (int64_t left = (int64_t)n; left > 0 && status == CW_OK; left -= b.rows) {
        if (b.rows > left) b.rows = left;
        status = cwi_pool_for(ctx, b.rows, b.chunk_rows, fill_chunk, &b);
        if (status == CW_BAD_DATA) status = cwi_fail_nan(ctx);
        b.first += b.rows;
        if (status == CW_OK) status = cwi_progress(ctx, "recommending", b.first, (int64_t)n);
    }
    cwi_pile_clear(&b.pile);
    return status;
}

/* few.c - short lists of few trained users from bounds of the scores (evaluate/screen.h): one user
 * alone is read from a quarter of the memory then. */
#include <math.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "recommend/recommend.h"

enum { LONGEST = 32, MOST_USERS = 8 };

cw_status cwi_recommender_screen(cw_context *ctx, cw_recommender *rec)
{
    if (!cwi_screen_pays(&rec->ranker, LONGEST, INT32_MAX)) return CW_OK;
    return cwi_screen_create(ctx, &rec->ranker, LONGEST, &rec->screen);
}

/* Nothing is left out but what the user had in training and so few others that enough of the best
 * remain without them. */
static bool is_usual(const cwi_listing *l)
{
    cwi_listing plain = *l;
    plain.n_barred = 0;
    return cwi_listing_is_plain(&plain) && !l->with_skipped && !l->hidden && !l->own &&
           l->skip == &l->rec->model->seen && l->n_barred <= LONGEST - l->out.k;
}

/* Keep what is not barred, at most as many as are wanted; how many those are. */
static int32_t drop_barred(const cwi_listing *l, int32_t *items, int32_t count)
{
    int32_t kept = 0;
    for (int32_t r = 0; r < count && kept < l->out.k; r++) {
        bool is_barred = false;
        for (int32_t b = 0; b < l->n_barred && !is_barred; b++)
            is_barred = l->barred[b] == items[r];
        if (!is_barred) items[kept++] = items[r];
    }
    return kept;
}

/* Score by score as cwi_listing_run does; false: one is no number. */
static bool write_scores(const cwi_listing *l, int32_t user, const int32_t *items, int32_t count,
                         float *scores)
{
    const cwi_ranker *ranker = &l->rec->ranker;
    const float *vector = ranker->users + (int64_t)user * ranker->width;
    for (int32_t r = 0; r < count; r++) {
        cwi_ops_best()->score_block(&vector, 1, ranker->items + (int64_t)items[r] * ranker->width,
                                    1, ranker->width, scores + r);
        if (isnan(scores[r])) return false;
    }
    return true;
}

static void write_list(const cwi_listing *l, size_t row, const int32_t *items, const float *scores,
                       int32_t count)
{
    const cw_lists *out = &l->out;
    size_t first = row * (size_t)out->k;
    for (int32_t r = 0; r < out->k; r++) {
        out->items[first + (size_t)r] = r < count ? items[r] : -1;
        if (out->scores) out->scores[first + (size_t)r] = r < count ? scores[r] : 0.0f;
    }
    if (out->counts) out->counts[row] = count;
}

bool cwi_listing_screened(const cwi_listing *l, size_t n)
{
    const cwi_screen *screen = &l->rec->screen;
    int32_t items[MOST_USERS * LONGEST], counts[MOST_USERS];
    float scores[MOST_USERS * LONGEST];
    if (!screen->rooms || n > MOST_USERS || l->out.k > LONGEST || !is_usual(l)) return false;
    cwi_screen_rank(screen, l->skip, l->who, (int32_t)n, items, counts);
    for (size_t k = 0; k < n; k++) {
        if (counts[k] < 0) return false;
        counts[k] = drop_barred(l, items + k * LONGEST, counts[k]);
        if (!write_scores(l, l->who[k], items + k * LONGEST, counts[k], scores + k * LONGEST))
            return false;
    }
    for (size_t k = 0; k < n; k++)
        write_list(l, k, items + k * LONGEST, scores + k * LONGEST, counts[k]);
    return true;
}

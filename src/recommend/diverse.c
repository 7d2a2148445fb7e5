/* diverse.c - lists whose items are not all of a kind. */
#include <math.h>

#include "recommend/recommend.h"

enum { POOL_TIMES = 5, POOL_MORE = 100 };

int32_t cwi_diverse_pool(int32_t k)
{
    int64_t times = (int64_t)k * POOL_TIMES, more = (int64_t)k + POOL_MORE;
    int64_t pool = times < more ? times : more;
    return pool < INT32_MAX ? (int32_t)pool : INT32_MAX;
}

static double cosine(const cwi_ranker *ranker, int32_t a, int32_t b)
{
    const float *u = ranker->items + (int64_t)a * ranker->width;
    const float *v = ranker->items + (int64_t)b * ranker->width;
    double uv = 0.0, uu = 0.0, vv = 0.0;
    for (int32_t d = 0; d < ranker->width; d++) {
        uv += (double)u[d] * (double)v[d];
        uu += (double)u[d] * (double)u[d];
        vv += (double)v[d] * (double)v[d];
    }
    double both = sqrt(uu) * sqrt(vv);
    return both > 0.0 ? uv / both : 0.0;
}

/* The first `done` are chosen: which comes next? */
static int32_t find_next(double diversity, int32_t n, int32_t done, float low, float high,
                         const cwi_ranked *top, const double *nearest)
{
    double range = (double)high - (double)low, best = -INFINITY;
    int32_t next = done;
    for (int32_t c = done; c < n; c++) {
        double score = range > 0.0 ? ((double)top[c].score - (double)low) / range : 0.0;
        double value = (1.0 - diversity) * score - (done > 0 ? diversity * nearest[c] : 0.0);
        if (value <= best) continue;
        best = value;
        next = c;
    }
    return next;
}

void cwi_diversify(const cwi_ranker *ranker, double diversity, int32_t n, int32_t wanted,
                   cwi_ranked *top, double *nearest)
{
    float high = top[0].score, low = top[n - 1].score;
    for (int32_t c = 0; c < n; c++) nearest[c] = -1.0;
    for (int32_t done = 0; done < wanted; done++) {
        int32_t next = find_next(diversity, n, done, low, high, top, nearest);
        cwi_ranked chosen = top[next];
        for (int32_t c = next; c > done; c--) { /* those passed over stay in their order */
            top[c] = top[c - 1];
            nearest[c] = nearest[c - 1];
        }
        top[done] = chosen;
        for (int32_t c = done + 1; c < n; c++)
            nearest[c] = fmax(nearest[c], cosine(ranker, top[c].item, chosen.item));
    }
}

/*
 * topk.c - the best K by one scan and a small heap.
 *
 * The heap keeps the best K so far with the worst of them on top; that one is the threshold which
 * nearly all scores fail to pass.  Items come in ascending order, so one that only equals the
 * threshold never replaces it, which is the rule for ties.
 */
#include "evaluate/topk.h"

#include <math.h>

#include "backend/backend.h"

typedef struct heap {
    const cwi_ops *ops;
    cwi_ranked *entry; /* [count] worst first, children of e at 2e + 1 and 2e + 2 */
    int32_t count, capacity;
} heap;

/* Written without branches it measured no faster. */
static bool is_worse(cwi_ranked a, cwi_ranked b)
{
    return a.score < b.score || (a.score == b.score && a.item > b.item);
}

/* Put an entry into the hole at the top and let it sink. */
static void sink(heap *h, cwi_ranked entry)
{
    int32_t at = 0, child;
    while ((child = 2 * at + 1) < h->count) {
        if (child + 1 < h->count && is_worse(h->entry[child + 1], h->entry[child])) child++;
        if (is_worse(entry, h->entry[child])) break;
        h->entry[at] = h->entry[child];
        at = child;
    }
    h->entry[at] = entry;
}

static void append(heap *h, cwi_ranked entry)
{
    int32_t at = h->count++;
    while (at > 0 && is_worse(entry, h->entry[(at - 1) / 2])) {
        h->entry[at] = h->entry[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->entry[at] = entry;
}

/* Scan items [begin, end); false when a score is NaN. */
static bool scan(heap *h, const float *score, int32_t begin, int32_t end)
{
    int32_t i = begin;
    for (; i < end && h->count < h->capacity; i++) {
        if (isnan(score[i])) return false;
        append(h, (cwi_ranked){score[i], i});
    }
    for (; (i = h->ops->first_above(score, i, end, h->entry[0].score)) < end; i++) {
        if (isnan(score[i])) return false;
        sink(h, (cwi_ranked){score[i], i});
    }
    return true;
}

/* Take the worst off again and again, filling the array from its end. */
static void sort_best_first(heap *h)
{
    while (h->count > 1) {
        cwi_ranked worst = h->entry[0];
        cwi_ranked last = h->entry[--h->count];
        sink(h, last);
        h->entry[h->count] = worst;
    }
}

int32_t cwi_topk(const float *score, int32_t n, const int32_t *skip, int64_t n_skip, int32_t k,
                 cwi_ranked *out)
{
    heap h = {.ops = cwi_ops_best(), .entry = out, .capacity = k};
    int32_t begin = 0;

    if (k < 1) return 0;
    for (int64_t s = 0; s < n_skip; s++) {
        if (!scan(&h, score, begin, skip[s])) return -1;
        begin = skip[s] + 1;
    }
    if (!scan(&h, score, begin, n)) return -1;
    int32_t found = h.count;
    sort_best_first(&h);
    return found;
}

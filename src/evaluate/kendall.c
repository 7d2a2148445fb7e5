/* kendall.c - tau-b by counting the exchanges of a merge sort. */
#include "evaluate/kendall.h"

#include <math.h>

typedef int (*order_fn)(const cwi_rated *a, const cwi_rated *b);

static int by_truth(const cwi_rated *a, const cwi_rated *b)
{
    return (a->truth > b->truth) - (a->truth < b->truth);
}

static int by_score_then_truth(const cwi_rated *a, const cwi_rated *b)
{
    int order = (a->score > b->score) - (a->score < b->score);
    return order ? order : by_truth(a, b);
}

static int by_both(const cwi_rated *a, const cwi_rated *b)
{
    return a->score != b->score || a->truth != b->truth;
}

static int by_score(const cwi_rated *a, const cwi_rated *b)
{
    return a->score != b->score;
}

/* Merge two sorted runs; returns how many exchanges of neighbours that replaces. */
static int64_t merge(const cwi_rated *from, int32_t begin, int32_t middle, int32_t end,
                     order_fn order, cwi_rated *to)
{
    int64_t exchanges = 0;
    int32_t left = begin, right = middle;
    for (int32_t at = begin; at < end; at++) {
        bool take_left = right == end || (left < middle && order(&from[left], &from[right]) <= 0);
        if (!take_left) exchanges += middle - left;
        to[at] = from[take_left ? left++ : right++];
    }
    return exchanges;
}

/* Stable, from runs of one upwards; the result is in `list`. */
static int64_t merge_sort(cwi_rated *list, cwi_rated *room, int32_t n, order_fn order)
{
    int64_t exchanges = 0;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            int32_t middle = (int32_t)(begin + width < n ? begin + width : n);
            int32_t end = (int32_t)(begin + 2 * width < n ? begin + 2 * width : n);
            exchanges += merge(list, (int32_t)begin, middle, end, order, room);
        }
        for (int32_t at = 0; at < n; at++) list[at] = room[at];
    }
    return exchanges;
}

/* Pairs of neighbours' runs that are equal: t (t - 1) / 2 for each run of t. */
static int64_t count_ties(const cwi_rated *list, int32_t n, order_fn differ)
{
    int64_t pairs = 0, run = 0;
    for (int32_t at = 1; at < n; at++) {
        run = differ(&list[at - 1], &list[at]) ? 0 : run + 1;
        pairs += run;
    }
    return pairs;
}

double cwi_kendall(cwi_rated *rated, cwi_rated *room, int32_t n)
{
    int64_t pairs = (int64_t)n * (n - 1) / 2;
    merge_sort(rated, room, n, by_score_then_truth);
    int64_t tied_score = count_ties(rated, n, by_score), tied_both = count_ties(rated, n, by_both);
    int64_t discordant = merge_sort(rated, room, n, by_truth);
    int64_t tied_truth = count_ties(rated, n, by_truth);
    int64_t concordant = pairs - tied_score - tied_truth + tied_both - discordant;
    if (tied_score == pairs || tied_truth == pairs) return (double)NAN;
    return (double)(concordant - discordant) /
           (sqrt((double)(pairs - tied_score)) * sqrt((double)(pairs - tied_truth)));
}

/* asking.c - questions of a candidate that is drawn again and again until all are answered. */
#include "sample/asking.h"

void cwi_asking_begin(cwi_asking *a, int32_t candidate, int32_t most)
{
    a->candidate = candidate;
    a->last = -1;
    a->at = a->first[candidate];
    a->left = most;
    a->wants_pair = a->wants_list = a->is_full = false;
    a->stand_ins = 0;
}

bool cwi_asking_is_done(const cwi_asking *a)
{
    return !a->wants_pair && !a->wants_list;
}

/* The answered question that comes next, if it is this one.  Another answer may have led elsewhere
 * than what stood in for it: what was asked from there on is forgotten. */
static const cwi_question *recall(cwi_asking *a, int64_t row, int32_t user, int32_t item)
{
    if (a->at < 0) return NULL;
    const cwi_question *q = &a->list[a->at];
    bool is_same = q->row == row && (row >= 0 || (q->user == user && q->item == item));
    a->last = is_same ? a->at : a->last;
    a->at = is_same ? q->next : -1;
    return is_same ? q : NULL;
}

static void ask(cwi_asking *a, int64_t row, int32_t user, int32_t item)
{
    if (a->left-- <= 0) return;
    int32_t k = (int32_t)a->n++;
    a->list[k] = (cwi_question){.row = row, .user = user, .item = item, .next = -1};
    if (a->last < 0)
        a->first[a->candidate] = k;
    else
        a->list[a->last].next = k;
    a->last = k;
}

/* Of several interactions that are wanted at once all are asked for; what would be asked of those
 * that stand in for them is not. */
cwi_pair cwi_asking_pair(cwi_asking *a, int64_t row)
{
    const cwi_question *q = recall(a, row, 0, 0);
    if (q) return (cwi_pair){q->user, q->item};
    if (!a->wants_list) ask(a, row, 0, 0);
    a->wants_pair = true;
    int32_t k = a->stand_ins++; /* different ones, so that they go together */
    return (cwi_pair){k % a->n_users, k % a->n_items};
}

bool cwi_asking_has(cwi_asking *a, int32_t user, int32_t item)
{
    const cwi_question *q = recall(a, -1, user, item);
    a->is_full = q && q->answer == CWI_ANSWER_HAS_ALL;
    if (q) return q->answer != CWI_ANSWER_NO;
    if (!a->wants_pair) ask(a, -1, user, item);
    a->wants_list = true;
    return false;
}

bool cwi_sampler_asks(const cw_options *options)
{
    (void)options;
    return true;
}

bool cwi_asking_is_full(const cwi_asking *a)
{
    return a->is_full;
}

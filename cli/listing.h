/* listing.h - what recommend asks for, and how it is printed. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli.h"

/* ---- listing.c: lists for machines and people ---- */

/* Where lists go. */
typedef struct printer {
    const cw_model *model;
    const char *key, *item; /* names of the first columns */
    bool lists_users, has_reasons;
    bool is_json, has_header;
} printer;

/* An item of a history, and what it adds to a score. */
typedef struct reason {
    int32_t item;
    float added;
} reason;

/* A list of the library with the raw id of whom it is for. */
typedef struct list {
    const char *key, *how; /* whom it is for, and where it comes from */
    const int32_t *items;
    const float *scores;
    int32_t count;
    const reason *reasons;   /* [count][max_reasons], the largest first; NULL: none */
    const int32_t *n_reason; /* [count] */
    int32_t max_reasons;
} list;

void print_header(printer *p);
void print_list(printer *p, const list *l);

/* ---- asking.c: the lists of a wish ---- */

/* What to recommend for; exactly one is asked for. */
typedef struct wish {
    const char *user, *users, *history, *histories, *similar_items, *similar_users;
    const char *exclude_pairs, *explain, *device;
    bool all;
    bool skips_unknown, falls_back;
    const char *to; /* a file or table; NULL: standard output */
    bool force;
} wish;

/* Somebody new: their items are liked[first .. first + n). */
typedef struct newcomer {
    const char *key;
    size_t first, n;
} newcomer;

/* A user, and an item that they do not get. */
typedef struct pair {
    int32_t user, item;
} pair;

/* All that is needed to fulfil a wish. */
typedef struct errand {
    cli_call *call;
    const wish *w;
    cw_model *model;
    cw_recommender *recommender;
    cw_rules *rules;
    size_t n_who;
    int32_t *who;        /* [n_who] whom or what lists are for; -1: not known */
    const char **key;    /* [n_who] how they were asked for; NULL: by number */
    newcomer *newcomers; /* [n_who] in place of the two */
    int32_t *liked;      /* [n_liked] */
    size_t n_liked, most_reasons;
    pair *pairs;           /* [n_pairs] by user */
    size_t n_pairs, n_own; /* that of the user whose list is under way */
    int32_t *excluded;     /* [rules' and n_pairs] */
    printer p;
    cw_sink *sink; /* NULL: standard output */
    int64_t n_lists, n_rows;
} errand;

/* Is it asked for people by what they liked? */
static inline bool is_newcomer(const errand *e)
{
    return e->w->history || e->w->histories;
}

/* Memory does not grow with the number of users.  Of many processes each makes a part of the lists,
 * and the first one prints all of them. */
cw_status make_lists(errand *e);

#endif

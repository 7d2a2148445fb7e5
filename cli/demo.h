/* demo.h - what the demo measures, and how it is told. */
#ifndef DEMO_H
#define DEMO_H

#include "cli.h"

enum { DEMO_USUAL, DEMO_DEBIASED, DEMO_N_SPLITS };
enum { DEMO_POP, DEMO_BPR, DEMO_CPR, DEMO_N_METHODS };
enum { DEMO_LIST = 5 }; /* items recommended to one user */

/* A mean over users and its standard error. */
typedef struct demo_value {
    double mean, error;
} demo_value;

/* One method trained and tested on one split. */
typedef struct demo_result {
    demo_value recall;    /* of the test part, at 20 */
    demo_value uniform;   /* the same of the uniformly exposed test */
    demo_value arp;       /* mean number of train rows of the items recommended */
    demo_value tau;       /* Kendall's, of the order of all items with the true one */
    demo_value relevance; /* true relevance of the items recommended */
    json_t *groups;       /* of items by popularity */
    json_t *epochs;
} demo_result;

/* An item in the list of the one user. */
typedef struct demo_item {
    char id[32];
    double relevance;
    int32_t truth_rank;      /* by true relevance among what the user has not seen, from 1 */
    int32_t popularity_rank; /* by train rows among all items, from 1 */
} demo_item;

typedef struct demo {
    cli_call *call;
    const char *out; /* folder */
    cw_dataset *data[DEMO_N_SPLITS];
    cw_model *model[DEMO_N_SPLITS][DEMO_N_METHODS];
    demo_result result[DEMO_N_SPLITS][DEMO_N_METHODS];
    double top_share; /* of the train rows, with the most popular tenth of the items */
    double random_relevance, best_relevance; /* of lists drawn at random, and of perfect ones */
    int32_t user;                            /* the one user, */
    char user_id[32];                        /* the raw id, */
    int32_t seen, unseen;                    /* their train rows, and the other items */
    demo_item list[DEMO_N_METHODS][DEMO_LIST];
    size_t list_length;
} demo;

extern const char *const demo_method_name[DEMO_N_METHODS];  /* as the library knows it */
extern const char *const demo_method_title[DEMO_N_METHODS]; /* as people read it */
extern const char *const demo_split_name[DEMO_N_SPLITS];    /* of folder and files */

/* ---- story.c: every sentence follows from the numbers ------------------------ */

/* Which of BPR and CPR is higher; 0 when chance alone may make the difference. */
int demo_leader(demo_value bpr, demo_value cpr);

/* What it all comes to, in one sentence; to be freed.  NULL: no memory. */
char *demo_verdict(const demo *d);
/* What the comparison of BPR and CPR means, in paragraphs; to be freed. */
char *demo_story(const demo *d);
/* What was simulated and trained, in a sentence or two; to be freed. */
char *demo_setting(const demo *d);

/* ---- exhibit.c: tables on the terminal, the page, JSON ------------------------ */

void demo_print(const demo *d, const char *verdict, const char *story);
json_t *demo_json(const demo *d);
/* The description of the page for cw_report_page; NULL: no memory. */
json_t *demo_page(const demo *d, const char *verdict, const char *story);

#endif

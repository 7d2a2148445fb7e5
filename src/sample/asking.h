/*
 * asking.h - what the drawing of candidates asks of processes that have the interactions.
 *
 * A candidate is drawn by the same formula as ever.  What is not here is asked for, and something
 * else stands in; once there are answers it is drawn again from its own stream, and gets on by at
 * least one question.  A candidate that had all of its answers is what one process would have
 * drawn.
 */
#ifndef CWI_SAMPLE_ASKING_H
#define CWI_SAMPLE_ASKING_H

#include "sample/sampler.h"

typedef enum cwi_answer { CWI_ANSWER_NO, CWI_ANSWER_HAS, CWI_ANSWER_HAS_ALL } cwi_answer;

typedef struct cwi_question {
    int64_t row;        /* number of the interaction that is wanted; -1: has the user the item? */
    int32_t user, item; /* of that, or the answer */
    int32_t next;       /* question of the same candidate; -1: none */
    int32_t owner;      /* process that knows; set by whoever finds it */
    int8_t answer;      /* cwi_answer of the second kind */
} cwi_question;

/* Questions of some candidates, in the order in which they were asked. */
typedef struct cwi_asking {
    int32_t n_users, n_items;
    cwi_question *list; /* [capacity] */
    size_t capacity;
    int64_t n, n_answered; /* those before are answered */
    int32_t *first;        /* [candidates] the first question of each; -1: none */

    /* the candidate at hand */
    int32_t candidate, last, at; /* its last question that was looked at, and the next one */
    int32_t left;                /* so many more may be asked now */
    bool wants_pair, wants_list; /* there is no answer yet */
    bool is_full;                /* of the last answer */
    int32_t stand_ins;
} cwi_asking;

/* Before a candidate is drawn, once more or for the first time: it may ask `most` questions, for
 * which there is room. */
void cwi_asking_begin(cwi_asking *asking, int32_t candidate, int32_t most);

/* Was everything known? */
bool cwi_asking_is_done(const cwi_asking *asking);

#endif

/* ask.h - a question to a model: what ask.c makes of a request and questions.c answers. */
#ifndef SERVE_ASK_H
#define SERVE_ASK_H

#include "server.h"

enum { ONLY, EXCLUDE, LIKED, BOOSTED, MORE }; /* what the numbers of a worker are for */

typedef struct ask {
    call *c;
    volume *v;
    cw_rules rules;
    int32_t n;
    long long ignored; /* ids that the model does not know */
} ask;

/* Take the model, and make room for lists of n.  close_ask in either case. */
bool open_ask(ask *a, call *c);
void close_ask(ask *a);

/* All that fail have said so to the client. */
bool fail(ask *a, cw_status status);
/* Ids as numbers of the model; those that it does not know are counted, not kept. */
bool find_items(ask *a, const value *ids, int which, const int32_t **out, size_t *n);
/* ids must lie behind the exclusions of the request. */
bool exclude_more(ask *a, const int32_t *ids, size_t n);

/* Let a block of memory have room for n; false: there is none, and nobody was told. */
bool make_room(void *block, size_t *room, size_t n, size_t size);

#endif

/* draft.h - text while it is written: JSON of lists, since a tree of Jansson for each costs more
 * than finding it does, and what is no JSON. */
#ifndef SERVE_DRAFT_H
#define SERVE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is an empty one; whoever takes text frees it. */
typedef struct draft {
    char *text; /* [length] and a zero */
    size_t length, room;
    bool is_broken; /* no memory, or a number that JSON lacks: nothing more is added */
} draft;

/* Make room at once for what is to come. */
void draft_expect(draft *d, size_t bytes);
void draft_add(draft *d, const char *text, size_t length);
/* A constant. */
#define DRAFT(d, constant) draft_add(d, constant, sizeof(constant) - 1)
/* An id in quotes, as serve_id_json has it. */
void draft_id(draft *d, const char *id);
void draft_whole(draft *d, int64_t number);
/* Nine digits, the same text as Jansson's with JSON_REAL_PRECISION(9). */
void draft_real(draft *d, double number);
/* As printf does.  Streams in memory (open_memstream) are not for what must be whole: where they
 * find no memory on the way, neither ferror nor fclose tells. */
void draft_print(draft *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text, the caller's from now on, also of an empty one; NULL: the draft is broken. */
char *draft_take(draft *d, size_t *length);
void draft_clear(draft *d);

#endif

/* routes.h - what can be asked of the server: one table that dispatches, checks and documents. */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct call call;

typedef enum value_kind {
    A_TEXT,    /* an id */
    A_WHOLE,   /* a whole number within bounds */
    A_REAL,    /* a number within bounds */
    A_WORD,    /* one of a|b|c */
    SOME_TEXT, /* ids; in a query the parameter is repeated */
    SOME_REAL, /* an object: ids with numbers */
    SOME_ROWS  /* an array of objects: interactions */
} value_kind;

typedef enum value_place { IN_PATH, IN_QUERY, IN_BODY } value_place;

typedef struct field {
    const char *name;
    value_place place;
    value_kind kind;
    double low, high; /* of numbers; SOME: of how many */
    const char *preset, *words, *help;
    bool is_required;
} field;

/* Who may ask. */
typedef enum role { ANYBODY, READER, WRITER, ADMIN } role;

typedef struct route {
    const char *method, *path, *name, *summary;
    role role;
    const field *fields; /* ends with a row of zeros; NULL: none */
    const char *either;  /* exactly one of these words of the body must be there; or NULL */
    const char *reply;   /* name of a schema, or the type of what is no JSON */
    const char *fails;   /* "404 422": beside those that every route may give */
    void (*answer)(call *c);
} route;

extern const route routes[]; /* ends with a row of zeros */

enum { MAX_FIELDS = 16 };

typedef struct value {
    bool is_given;
    const char *text;
    double number;
    const char **texts; /* [n] */
    double *numbers;    /* [n] of SOME_REAL */
    const json_t *rows;
    size_t n;
} value;

#endif

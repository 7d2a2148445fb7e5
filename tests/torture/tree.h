/* tree.h - a folder held in memory: taken from the disk, put back, compared. */
#ifndef TORTURE_TREE_H
#define TORTURE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct entry {
    char *path;  /* below the root, such as "set/train.csv" */
    mode_t type; /* S_IFREG, S_IFDIR, S_IFLNK or another */
    char *bytes; /* contents of a file, target of a link */
    size_t length;
} entry;

typedef struct tree {
    entry *list; /* sorted by path, so that a folder comes before what it holds */
    size_t count;
} tree;

/* Stop the whole test: something that is not under test went wrong. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *must(void *pointer); /* dies on NULL */

tree tree_read(const char *root);
void tree_free(tree *t);
void tree_add(tree *t, const char *path, mode_t type, const void *bytes, size_t length);
void tree_sort(tree *t);
const entry *tree_find(const tree *t, const char *path); /* NULL when it is not there */
bool entry_equal(const entry *a, const entry *b);        /* NULL equals NULL alone */

/* The first path where the two differ, NULL when they are the same. */
const char *tree_difference(const tree *a, const tree *b);

/* Make the folder hold exactly this; what is the same already is left alone. */
void tree_write(const tree *t, const char *root);

/* Read a whole file that is open. */
char *read_all(int file, size_t *length);

#endif

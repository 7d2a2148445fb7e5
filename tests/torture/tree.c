/* tree.c - a folder held in memory: taken from the disk, put back, compared. */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("torture: ", stderr);
    vfprintf(stderr, format, args);
    fprintf(stderr, " (%s)\n", strerror(errno));
    va_end(args);
    exit(2);
}

void *must(void *pointer)
{
    if (!pointer) die("out of memory");
    return pointer;
}

char *read_all(int file, size_t *length)
{
    size_t room = 1 << 14, used = 0;
    char *bytes = must(malloc(room));
    ssize_t got;
    while ((got = pread(file, bytes + used, room - used - 1, (off_t)used)) > 0) {
        used += (size_t)got;
        if (used == room - 1) bytes = must(realloc(bytes, room *= 2));
    }
    bytes[used] = '\0';
    *length = used;
    return bytes;
}

/* ---- from the disk ---------------------------------------------------------- */

void tree_add(tree *t, const char *path, mode_t type, const void *bytes, size_t length)
{
    if ((t->count & (t->count - 1)) == 0)
        t->list = must(realloc(t->list, (t->count ? 2 * t->count : 1) * sizeof *t->list));
    entry *e = &t->list[t->count++];
    *e = (entry){.path = must(strdup(path)), .type = type, .length = length};
    e->bytes = must(malloc(length + 1));
    if (length > 0) memcpy(e->bytes, bytes, length);
    e->bytes[length] = '\0';
}

static void add_from_disk(tree *t, const char *full, const char *path)
{
    struct stat info;
    char target[4096];
    if (lstat(full, &info) != 0) die("cannot look at %s", full);
    mode_t type = info.st_mode & S_IFMT;
    if (type == S_IFREG) {
        int file = open(full, O_RDONLY | O_CLOEXEC);
        if (file < 0) die("cannot read %s", full);
        size_t length;
        char *bytes = read_all(file, &length);
        tree_add(t, path, type, bytes, length);
        free(bytes);
        close(file);
    } else {
        ssize_t length = type == S_IFLNK ? readlink(full, target, sizeof target) : 0;
        tree_add(t, path, type, target, length > 0 ? (size_t)length : 0);
    }
}

static void walk(tree *t, const char *root, const char *below)
{
    char full[4096], path[2048];
    snprintf(full, sizeof full, "%s/%s", root, below);
    DIR *folder = opendir(full);
    struct dirent *name;
    if (!folder) die("cannot read folder %s", full);
    while ((name = readdir(folder)) != NULL) {
        if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", name->d_name);
        snprintf(full, sizeof full, "%s/%s", root, path);
        add_from_disk(t, full, path);
        if (t->list[t->count - 1].type == S_IFDIR) walk(t, root, path);
    }
    closedir(folder);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

void tree_sort(tree *t)
{
    if (t->count > 0) qsort(t->list, t->count, sizeof *t->list, by_path);
}

tree tree_read(const char *root)
{
    tree t = {0};
    walk(&t, root, "");
    tree_sort(&t);
    return t;
}

void tree_free(tree *t)
{
    for (size_t k = 0; k < t->count; k++) {
        free(t->list[k].path);
        free(t->list[k].bytes);
    }
    free(t->list);
    *t = (tree){0};
}

/* ---- comparing ---------------------------------------------------------------- */

const entry *tree_find(const tree *t, const char *path)
{
    entry key = {.path = (char *)path};
    return t->count ? bsearch(&key, t->list, t->count, sizeof key, by_path) : NULL;
}

bool entry_equal(const entry *a, const entry *b)
{
    if (!a || !b) return a == b;
    return a->type == b->type && a->length == b->length &&
           memcmp(a->bytes, b->bytes, a->length) == 0;
}

const char *tree_difference(const tree *a, const tree *b)
{
    for (size_t k = 0; k < a->count; k++)
        if (!entry_equal(&a->list[k], tree_find(b, a->list[k].path))) return a->list[k].path;
    for (size_t k = 0; k < b->count; k++)
        if (!tree_find(a, b->list[k].path)) return b->list[k].path;
    return NULL;
}

/* ---- to the disk ----------------------------------------------------------------- */

static void make(const entry *e, const char *full)
{
    if (e->type == S_IFDIR && mkdir(full, 0777) != 0) die("cannot make %s", full);
    if (e->type == S_IFLNK && symlink(e->bytes, full) != 0) die("cannot make %s", full);
    if (e->type == S_IFIFO && mkfifo(full, 0666) != 0) die("cannot make %s", full);
    if (e->type != S_IFREG) return;
    int file = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || write(file, e->bytes, e->length) != (ssize_t)e->length || close(file) != 0)
        die("cannot write %s", full);
}

void tree_write(const tree *t, const char *root)
{
    char full[4096];
    tree now = tree_read(root);
    for (size_t k = now.count; k-- > 0;) { /* what a folder holds goes before it */
        const entry *wanted = tree_find(t, now.list[k].path);
        if (entry_equal(&now.list[k], wanted)) continue;
        snprintf(full, sizeof full, "%s/%s", root, now.list[k].path);
        if (remove(full) != 0) die("cannot remove %s", full);
    }
    for (size_t k = 0; k < t->count; k++) {
        if (entry_equal(&t->list[k], tree_find(&now, t->list[k].path))) continue;
        snprintf(full, sizeof full, "%s/%s", root, t->list[k].path);
        make(&t->list[k], full);
    }
    tree_free(&now);
}

/*
 * power.c - what a disk still holds after the power was cut: only what was synced is certain.
 *
 * A file keeps the bytes it had at its last fsync, a folder the names it had at its own; a new file
 * is empty until then.  Files are told apart by inode, so that a rename changes only folders.
 */
#include "power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const loss_name[N_LOSSES] = {"bytes", "zeros", "mixed", "all"};

typedef struct name {
    char *text;
    ino_t inode;
} name;

typedef struct names {
    name *list;
    size_t count;
} names;

/* What is certain about one file or folder. */
typedef struct node {
    ino_t inode;
    mode_t type;
    int held; /* open, so that the number is not given to another */
    char *bytes;
    size_t length;
    names names;
} node;

struct power {
    node **nodes;
    size_t count;
    ino_t root;
    uint64_t dice;
};

static node *find(const power *p, ino_t inode)
{
    for (size_t k = p->count; k-- > 0;)
        if (p->nodes[k]->inode == inode) return p->nodes[k];
    return NULL;
}

static void free_names(names *n)
{
    for (size_t k = 0; k < n->count; k++) free(n->list[k].text);
    free(n->list);
    *n = (names){0};
}

/* The node of what lies at this place; a new one is empty. */
static node *know(power *p, int folder, const char *path)
{
    struct stat info;
    char target[4096];
    int held = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (held < 0 || fstat(held, &info) != 0) die("cannot look at %s", path);
    node *n = find(p, info.st_ino);
    if (n) {
        close(held);
        return n;
    }
    n = must(calloc(1, sizeof *n));
    *n = (node){.inode = info.st_ino, .type = info.st_mode & S_IFMT, .held = held};
    if (n->type == S_IFLNK) {
        ssize_t length = readlinkat(held, "", target, sizeof target);
        n->length = length > 0 ? (size_t)length : 0;
        n->bytes = must(strndup(target, n->length));
    }
    if ((p->count & (p->count - 1)) == 0)
        p->nodes = must(realloc(p->nodes, (p->count ? 2 * p->count : 1) * sizeof *p->nodes));
    p->nodes[p->count++] = n;
    return n;
}

static int reopen(const node *n)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", n->held);
    int file = open(link, O_RDONLY | O_CLOEXEC);
    if (file < 0) die("cannot open a file again");
    return file;
}

/* ---- as it is now ---------------------------------------------------------------- */

static char *bytes_now(const node *n, size_t *length)
{
    int file = reopen(n);
    char *bytes = read_all(file, length);
    close(file);
    return bytes;
}

static names names_now(power *p, const node *n)
{
    names out = {0};
    DIR *folder = fdopendir(reopen(n));
    struct dirent *e;
    while (folder && (e = readdir(folder)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        const node *child = know(p, dirfd(folder), e->d_name);
        out.list = must(realloc(out.list, (out.count + 1) * sizeof *out.list));
        out.list[out.count++] = (name){must(strdup(e->d_name)), child->inode};
    }
    if (folder) closedir(folder);
    return out;
}

/* ---- what is certain ---------------------------------------------------------------- */

static void remember(power *p, node *n)
{
    if (n->type == S_IFREG) {
        free(n->bytes);
        n->bytes = bytes_now(n, &n->length);
    } else if (n->type == S_IFDIR) {
        free_names(&n->names);
        n->names = names_now(p, n);
    }
}

static void remember_all(power *p, node *n)
{
    remember(p, n);
    for (size_t k = 0; k < n->names.count; k++) remember_all(p, find(p, n->names.list[k].inode));
}

power *power_begin(const char *root)
{
    power *p = must(calloc(1, sizeof *p));
    node *n = know(p, AT_FDCWD, root);
    p->root = n->inode;
    remember_all(p, n);
    return p;
}

void power_synced(void *user, int file)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) die("cannot follow %s", link);
    path[length] = '\0';
    remember(user, know(user, AT_FDCWD, path));
}

void power_free(power *p)
{
    for (size_t k = 0; k < p->count; k++) {
        close(p->nodes[k]->held);
        free_names(&p->nodes[k]->names);
        free(p->nodes[k]->bytes);
        free(p->nodes[k]);
    }
    free(p->nodes);
    free(p);
}

/* ---- the cut ----------------------------------------------------------------------------- */

static unsigned roll(power *p, unsigned sides)
{
    p->dice = p->dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(p->dice >> 33) % sides;
}

static void add_file(power *p, const node *n, loss l, const char *path, tree *out)
{
    size_t length;
    if (n->type != S_IFREG) {
        tree_add(out, path, n->type, n->bytes, n->length);
        return;
    }
    char *bytes = bytes_now(n, &length);
    unsigned way = l == LOSS_MIXED ? roll(p, 4) : l == LOSS_ZEROS;
    bool is_safe = length == n->length && (length == 0 || memcmp(bytes, n->bytes, length) == 0);
    if (is_safe || way == 0) { /* as it was synced */
        tree_add(out, path, n->type, n->bytes, n->length);
    } else {
        if (way == 1) memset(bytes, 0, length);
        tree_add(out, path, n->type, bytes, way == 2 ? length / 2 : length);
    }
    free(bytes);
}

static void add_folder(power *p, const node *n, loss l, const char *path, tree *out)
{
    bool is_new = l == LOSS_MIXED ? roll(p, 2) : l != LOSS_ALL;
    names now = is_new ? names_now(p, n) : (names){0};
    const names *list = is_new ? &now : &n->names;
    for (size_t k = 0; k < list->count; k++) {
        char below[2048];
        const node *child = find(p, list->list[k].inode);
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", list->list[k].text);
        if (child->type == S_IFDIR) {
            tree_add(out, below, S_IFDIR, "", 0);
            add_folder(p, child, l, below, out);
        } else {
            add_file(p, child, l, below, out);
        }
    }
    free_names(&now);
}

tree power_cut(power *p, loss l, uint64_t seed)
{
    tree out = {0};
    p->dice = seed;
    add_folder(p, find(p, p->root), l, "", &out);
    tree_sort(&out);
    return out;
}

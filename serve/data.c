/* data.c - the dataset folder that a model was trained on: what its users did that the model was
 * not told, such as rows that were held out to measure it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server.h"

/* A folder and the model that it is joined with. */
typedef struct join {
    const char *folder;
    const cw_dataset *data;
    volume *v;
    int32_t *user, *item; /* numbers of the model by those of the folder, -1: none */
    int64_t n_train, n_known;
} join;

/* ---- ids ------------------------------------------------------------------------- */

/* Says which id the model does not know, in one line. */
static bool refuse_id(const join *j, const char *kind, const char *id, char *why)
{
    char line[64];
    size_t length = strnlen(id, sizeof line - 1);
    memcpy(line, id, length);
    line[length] = '\0';
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
    snprintf(why, WHY_BYTES, "the model was not trained on %.200s: it does not know %s '%s'",
             j->folder, kind, line);
    return false;
}

/* False: *why says why. */
static bool find_users(const join *j, bool is_strict, char *why)
{
    for (int32_t k = 0; k < cw_dataset_users(j->data); k++) {
        const char *id = cw_dataset_user_id(j->data, k);
        j->user[k] = cw_model_find_user(j->v->model, id);
        if (j->user[k] < 0 && is_strict) return refuse_id(j, "user", id, why);
    }
    return true;
}

static bool find_items(const join *j, bool is_strict, char *why)
{
    for (int32_t k = 0; k < cw_dataset_items(j->data); k++) {
        const char *id = cw_dataset_item_id(j->data, k);
        j->item[k] = cw_model_find_item(j->v->model, id);
        if (j->item[k] < 0 && is_strict) return refuse_id(j, "item", id, why);
    }
    return true;
}

/* ---- rows ------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
    return first < second ? -1 : first > second;
}

/* Was the model told of it? */
static bool is_known(const volume *v, int32_t user, int32_t item)
{
    const int32_t *had = NULL;
    size_t n = cw_user_items(v->recommender, user, &had);
    return n > 0 && bsearch(&item, had, n, sizeof item, compare_items);
}

typedef void visit_row(join *j, cw_part part, int32_t user, int32_t item);

static void each_row(join *j, visit_row *visit)
{
    for (int p = CW_PART_TRAIN; p <= CW_PART_TEST; p++) {
        cw_part part = (cw_part)p;
        const int32_t *user = cw_dataset_part_users(j->data, part);
        const int32_t *item = cw_dataset_part_items(j->data, part);
        for (int64_t r = 0; r < cw_dataset_count(j->data, part); r++)
            if (j->user[user[r]] >= 0 && j->item[item[r]] >= 0)
                visit(j, part, j->user[user[r]], j->item[item[r]]);
    }
}

static void count_row(join *j, cw_part part, int32_t user, int32_t item)
{
    bool known = is_known(j->v, user, item);
    j->v->log_rows[item]++;
    j->n_train += part == CW_PART_TRAIN;
    j->n_known += part == CW_PART_TRAIN && known;
    j->v->held_start[user + 1] += !known;
}

/* Backwards from the end of the user's part, so that the ends become the starts. */
static void keep_row(join *j, cw_part part, int32_t user, int32_t item)
{
    (void)part;
    if (!is_known(j->v, user, item)) j->v->held[--j->v->held_start[user + 1]] = item;
}

/* held_start[u + 1] is where the items of u begin now: put them in order, each once. */
static void put_in_order(volume *v, int32_t n_users, int64_t n)
{
    int64_t to = 0;
    for (int32_t u = 0; u < n_users; u++) {
        int64_t from = v->held_start[u + 1], end = u + 1 < n_users ? v->held_start[u + 2] : n;
        qsort(v->held + from, (size_t)(end - from), sizeof *v->held, compare_items);
        v->held_start[u] = to;
        for (int64_t e = from; e < end; e++)
            if (to == v->held_start[u] || v->held[to - 1] != v->held[e]) v->held[to++] = v->held[e];
    }
    v->held_start[n_users] = v->n_held = to;
}

/* Rows as a whole say whether it is this model's folder: ids alone may just be numbers. */
static bool is_told(const join *j, char *why)
{
    int64_t told = json_integer_value(json_object_get(j->v->info, "train_rows"));
    int64_t least = (j->n_train < told ? j->n_train : told) / 2;
    if (j->n_known >= least) return true;
    snprintf(why, WHY_BYTES,
             "the model was not trained on %.200s: of its %lld train rows it knows %lld", j->folder,
             (long long)j->n_train, (long long)j->n_known);
    return false;
}

static cw_status join_rows(join *j, bool is_strict, char *why)
{
    volume *v = j->v;
    int32_t n_users = cw_model_users(v->model);
    v->held_start = calloc((size_t)n_users + 2, sizeof *v->held_start);
    v->log_rows = calloc((size_t)v->n_items + 1, sizeof *v->log_rows);
    if (!v->held_start || !v->log_rows) return CW_NO_MEMORY;
    each_row(j, count_row);
    if (is_strict && !is_told(j, why)) return CW_BAD_DATA;
    for (int32_t u = 0; u < n_users; u++) v->held_start[u + 1] += v->held_start[u];
    int64_t n = v->held_start[n_users];
    v->held = malloc(((size_t)n + 1) * sizeof *v->held);
    if (!v->held) return CW_NO_MEMORY;
    each_row(j, keep_row);
    put_in_order(v, n_users, n);
    return CW_OK;
}

cw_status volume_join(cw_context *ctx, volume *v, const char *folder, bool is_strict, char *why)
{
    cw_dataset *data = NULL;
    cw_status status = cw_dataset_load(ctx, folder, &data);
    if (status != CW_OK) return status;
    join j = {.folder = folder, .data = data, .v = v};
    j.user = malloc(((size_t)cw_dataset_users(data) + 1) * sizeof *j.user);
    j.item = malloc(((size_t)cw_dataset_items(data) + 1) * sizeof *j.item);
    if (!j.user || !j.item)
        status = CW_NO_MEMORY;
    else if (!find_users(&j, is_strict, why) || !find_items(&j, is_strict, why))
        status = CW_BAD_DATA;
    else
        status = join_rows(&j, is_strict, why);
    free(j.user);
    free(j.item);
    cw_dataset_free(data);
    return status;
}

size_t volume_held(const volume *v, int32_t user, const int32_t **items)
{
    if (!v->held || user < 0 || user >= cw_model_users(v->model)) return 0;
    *items = v->held + v->held_start[user];
    return (size_t)(v->held_start[user + 1] - v->held_start[user]);
}

/* ---- has it changed? ----------------------------------------------------------------- */

static void mix(uint64_t *mark, int64_t number)
{
    *mark = (*mark ^ (uint64_t)number) * 1099511628211u;
    *mark ^= *mark >> 29;
}

uint64_t data_mark(const char *folder)
{
    static const char *const names[] = {"",          "/dataset.json", "/train.csv",   "/valid.csv",
                                        "/test.csv", "/id2idx_u.csv", "/id2idx_i.csv"};
    static const char *const ends[] = {"", ".gz", ".zst"};
    uint64_t mark = 14695981039346656037u;
    char path[4096];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t e = 0; e < (k > 1 ? sizeof ends / sizeof *ends : 1); e++) {
            struct stat info;
            int length = snprintf(path, sizeof path, "%s%s%s", folder, names[k], ends[e]);
            if (length >= (int)sizeof path || stat(path, &info) != 0) info = (struct stat){0};
            mix(&mark, (int64_t)info.st_ino);
            mix(&mark, info.st_size);
            mix(&mark, info.st_mtim.tv_sec);
            mix(&mark, info.st_mtim.tv_nsec);
        }
    return mark;
}

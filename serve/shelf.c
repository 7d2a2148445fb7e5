/* shelf.c - the models that are served: a new one takes the place of the old one while that is
 * still being read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server.h"

/* ---- a volume ------------------------------------------------------------------- */

static void volume_free(volume *v)
{
    if (!v) return;
    cw_recommender_close(v->recommender);
    json_decref(v->info);
    free(v->group);
    free(v->held_start);
    free(v->held);
    free(v->log_rows);
    free((void *)v->is_served);
    free(v);
}

void volume_give_back(volume *v)
{
    if (v && atomic_fetch_sub(&v->readers, 1) == 1) volume_free(v);
}

/* An item and its train rows, to be put in order. */
typedef struct ranked {
    int64_t rows;
    int32_t item;
} ranked;

static int compare_rows(const void *a, const void *b)
{
    const ranked *first = a, *second = b;
    if (first->rows != second->rows) return first->rows < second->rows ? -1 : 1;
    return first->item < second->item ? -1 : 1;
}

/* Tenths of the catalogue, the rarest items first, and how much of the log each of them has. */
static bool group_items(volume *v)
{
    int32_t n = v->n_items;
    double all = 0, squares = 0, sum[N_GROUPS] = {0};
    ranked *order = calloc((size_t)n + 1, sizeof *order);
    if (!order) return false;
    for (int32_t i = 0; i < n; i++) order[i] = (ranked){cw_model_item_rows(v->model, i), i};
    qsort(order, (size_t)n, sizeof *order, compare_rows);
    for (int32_t r = 0; r < n; r++) {
        int g = (int)((int64_t)r * N_GROUPS / n);
        double rows = (double)order[r].rows;
        double log_rows = v->log_rows ? (double)v->log_rows[order[r].item] : rows;
        v->group[order[r].item] = (uint8_t)g;
        if (v->group_items[g]++ == 0) v->rows_from[g] = order[r].rows;
        v->rows_to[g] = order[r].rows;
        sum[g] += log_rows;
        all += log_rows;
        squares += log_rows * rows;
    }
    for (int g = 0; g < N_GROUPS; g++) v->log_share[g] = all > 0 ? sum[g] / all : 0;
    v->log_mean = all > 0 ? squares / all : 0;
    free(order);
    return true;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* What there is to say about a model. */
static cw_status describe(cw_context *ctx, volume *v)
{
    char *text = NULL;
    cw_rules *rules = NULL;
    cw_status status = cw_model_info(ctx, v->model, &text);
    if (status != CW_OK) return status;
    v->info = json_loads(text, 0, NULL);
    cw_text_free(text);
    if (!v->info) return CW_NO_MEMORY;
    v->method = text_of(v->info, "method");
    v->backbone = text_of(v->info, "backbone");
    status = cw_rules_create(ctx, v->model, NULL, &rules);
    if (status == CW_OK) v->dial = rules->dial;
    cw_rules_free(rules);
    return status;
}

static cw_status volume_open(cw_context *ctx, const shelf *s, cw_model *model, volume **out,
                             char *why)
{
    volume *v = *out = calloc(1, sizeof *v);
    if (!v) return CW_NO_MEMORY;
    atomic_init(&v->readers, 1);
    cw_status status = cw_recommender_open(ctx, model, &v->recommender);
    if (status == CW_OK) {
        v->model = cw_recommender_model(v->recommender);
        v->n_items = cw_model_items(model);
        v->loaded_at = time(NULL);
        snprintf(v->hash, sizeof v->hash, "%s", cw_model_checksum(model));
        v->group = calloc((size_t)v->n_items + 1, 1);
        v->is_served = calloc((size_t)v->n_items + 1, sizeof *v->is_served);
        status = v->group && v->is_served ? describe(ctx, v) : CW_NO_MEMORY;
    }
    if (status == CW_OK && s->data) status = volume_join(ctx, v, s->data, s->is_data_ours, why);
    if (status == CW_OK && !group_items(v)) status = CW_NO_MEMORY;
    if (status == CW_OK) return status;
    volume_free(v);
    *out = NULL;
    return status;
}

void volume_count(volume *v, const int32_t *items, int32_t n)
{
    double rows = 0;
    int counts[N_GROUPS] = {0};
    if (n == 0) return;
    for (int32_t r = 0; r < n; r++) {
        rows += (double)cw_model_item_rows(v->model, items[r]);
        counts[v->group[items[r]]]++;
        if (!atomic_load_explicit(&v->is_served[items[r]], memory_order_relaxed) &&
            !atomic_exchange(&v->is_served[items[r]], 1))
            atomic_fetch_add(&v->n_served, 1);
    }
    for (int g = 0; g < N_GROUPS; g++)
        if (counts[g]) atomic_fetch_add_explicit(&v->served[g], counts[g], memory_order_relaxed);
    atomic_fetch_add_explicit(&v->lists, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&v->mean_rows, llround(1000 * rows / n), memory_order_relaxed);
}

/* ---- the shelf ------------------------------------------------------------------- */

volume *shelf_take(shelf *s)
{
    pthread_mutex_lock(&s->lock);
    volume *v = s->now;
    if (v) atomic_fetch_add(&v->readers, 1);
    pthread_mutex_unlock(&s->lock);
    return v;
}

/* What the files are now; false: as they were. */
static bool look(shelf *s)
{
    struct stat info = {0};
    uint64_t mark = s->data ? data_mark(s->data) : 0;
    if (stat(s->path, &info) != 0) info = (struct stat){0};
    bool differs = info.st_mtim.tv_sec != s->changed.tv_sec ||
                   info.st_mtim.tv_nsec != s->changed.tv_nsec || info.st_size != s->bytes ||
                   (int64_t)info.st_ino != s->inode || mark != s->data_mark;
    s->changed = info.st_mtim;
    s->bytes = info.st_size;
    s->inode = (int64_t)info.st_ino;
    s->data_mark = mark;
    return differs;
}

bool shelf_watch(shelf *s)
{
    if (!s->path) return false;
    if (look(s)) {
        s->is_due = s->inode != 0; /* one that went away is no new one */
        return false;
    }
    bool is_due = s->is_due;
    s->is_due = false;
    return is_due;
}

/* The reason is in *why already, or the context has it. */
static bool refuse(shelf *s, cw_context *ctx, cw_status status, char *why)
{
    const char *reason = cw_context_error(ctx);
    if (!why[0]) snprintf(why, WHY_BYTES, "%s", reason[0] ? reason : cw_status_text(status));
    atomic_fetch_add(&s->refusals, 1);
    return false;
}

bool shelf_load(shelf *s, cw_context *ctx, bool *is_new, char *why)
{
    cw_model *model = NULL;
    volume *v = NULL;
    *is_new = false;
    why[0] = '\0';
    (void)look(s); /* a change from now on is seen */
    s->is_due = false;
    uint64_t mark = s->data_mark;
    cw_status status = cw_model_load(ctx, s->path, &model);
    if (status != CW_OK) return refuse(s, ctx, status, why);
    if (s->now && strcmp(s->now->hash, cw_model_checksum(model)) == 0 && mark == s->data_read) {
        cw_model_free(model);
        return true;
    }
    status = volume_open(ctx, s, model, &v, why);
    cw_model_free(model); /* the recommender holds it */
    if (status != CW_OK) return refuse(s, ctx, status, why);
    pthread_mutex_lock(&s->lock);
    volume *old = s->now;
    s->now = v;
    pthread_mutex_unlock(&s->lock);
    volume_give_back(old);
    atomic_fetch_add(&s->swaps, old != NULL);
    s->data_read = mark;
    *is_new = true;
    return true;
}

void shelf_clear(shelf *s)
{
    volume_give_back(s->now);
    s->now = NULL;
    pthread_mutex_destroy(&s->lock);
}

/*
 * parts.c - the state of a training by many processes: a file for the rows of each.
 *
 * They lie beside the checkpoint and have its name, the place in training and the number of
 * processes in theirs.  The checkpoint itself comes last and says which of them it goes with, and
 * what their checksums are: until it is replaced, the old one and its parts are what there is.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "comm/world.h"
#include "core/mem.h"
#include "train/parts.h"

static const char format[] = "crosswise-checkpoint-part";
enum { VERSION = 1, NAME_BYTES = 80 };

static bool begins_like_a_part(const char *start, size_t length)
{
    return cwi_tensorfile_begins(start, length, format);
}

static const cwi_file_kind part_kind = {"part of a checkpoint", begins_like_a_part, false};

/* What stands behind the name of the checkpoint; part counts from 1. */
static void print_ending(const cwi_trainer *t, int part, int parts, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, ".%lld-%lld.%d-of-%d", (long long)t->epoch, (long long)t->tally.steps,
             part, parts);
}

static char *path_of(const cwi_trainer *t, int part, int parts)
{
    char ending[NAME_BYTES];
    print_ending(t, part, parts, ending);
    return cwi_format(t->ctx, "%s%s", cwi_options_text(t->options, "checkpoint"), ending);
}

/* ---- save --------------------------------------------------------------------------- */

static cw_status write_part(cwi_trainer *t, const char *path, cwi_array *arrays, size_t n,
                            char sum[CWI_PART_SUM + 1])
{
    cwi_note notes[] = {{"data", t->data_hash}};
    cwi_tensorfile file = {.format = format,
                           .version = VERSION,
                           .n_arrays = n,
                           .n_notes = 1,
                           .arrays = arrays,
                           .notes = notes,
                           .signature = sum};
    CW_PASS(cwi_file_check(t->ctx, path, &part_kind, false));
    return cwi_tensorfile_write(t->ctx, path, &file);
}

/* Checksums of all parts side by side, at all processes: then all parts are there. */
static cw_status share_sums(cwi_trainer *t, const char own[CWI_PART_SUM], char **out)
{
    const cwi_world *w = t->task.world;
    size_t bytes = (size_t)w->size * CWI_PART_SUM;
    int *counts = cwi_alloc(t->ctx, (size_t)w->size, sizeof *counts);
    *out = cwi_alloc(t->ctx, bytes + 1, 1);
    cw_status status = counts && *out ? CW_OK : CW_NO_MEMORY;
    for (int p = 0; p < w->size && status == CW_OK; p++) counts[p] = CWI_PART_SUM;
    if (status == CW_OK) {
        w->calls->gather(own, CWI_PART_SUM, *out, counts, 1);
        (*out)[bytes] = '\0';
    }
    cwi_free(counts);
    return status;
}

cw_status cwi_parts_write(cwi_trainer *t, cwi_array *arrays, size_t n, char **sums)
{
    const cwi_world *w = t->task.world;
    char sum[CWI_PART_SUM + 1];
    char *path = path_of(t, w->rank + 1, w->size);
    *sums = NULL;
    cw_status status = path ? write_part(t, path, arrays, n, sum) : CW_NO_MEMORY;
    cwi_free(path);
    return status == CW_OK ? share_sums(t, sum, sums) : status;
}

/* Does the name, from its checkpoint's on, go with other counters than those of keep? */
static bool is_stale(const char *name, const char *base, const char *keep)
{
    size_t length = strlen(base);
    long long epoch, step;
    int part, parts, used = 0;
    if (strncmp(name, base, length) != 0) return false;
    name += length;
    if (sscanf(name, ".%lld-%lld.%d-of-%d%n", &epoch, &step, &part, &parts, &used) != 4 ||
        name[used] != '\0')
        return false;
    return !keep || strncmp(name, keep, strlen(keep)) != 0;
}

/* Remove parts of the checkpoint in this folder. */
static void sweep(const char *folder, const char *base, const char *keep)
{
    const struct dirent *entry;
    char path[4096];
    DIR *entries = opendir(folder);
    while (entries && (entry = readdir(entries)) != NULL)
        if (is_stale(entry->d_name, base, keep) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            cwi_file_remove(path, &part_kind);
    if (entries) closedir(entries);
}

static void sweep_beside(const char *path, const char *keep)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder) return;
    memcpy(folder, path, length);
    folder[length] = '\0';
    sweep(slash ? (length ? folder : "/") : ".", slash ? slash + 1 : path, keep);
}

void cwi_parts_sweep(const cwi_trainer *t, int parts)
{
    char ending[NAME_BYTES];
    print_ending(t, 1, parts, ending);
    char *digit = strrchr(ending, '.');
    digit[1] = '\0'; /* any part of this place in training */
    sweep_beside(cwi_options_text(t->options, "checkpoint"), parts > 0 ? ending : NULL);
}

void cwi_parts_withdraw(const cwi_trainer *t)
{
    for (int p = 0; p < t->task.world->size; p++) {
        char *path = path_of(t, p + 1, t->task.world->size);
        if (path) cwi_file_remove(path, &part_kind);
        cwi_free(path);
    }
}

void cwi_parts_remove(const char *checkpoint)
{
    sweep_beside(checkpoint, NULL);
}

/* ---- load --------------------------------------------------------------------------- */

/* Rows of a table, as a file or this process has them. */
typedef struct holder {
    cwi_world world; /* as whose rows are dealt out */
    int64_t rows;    /* of the whole table; 0: the array is not dealt out */
} holder;

/* Copy what both have. */
static void copy_rows(const holder *from, const char *theirs, const holder *to, char *ours,
                      size_t row_bytes)
{
    int64_t n = cwi_rows_of(&from->world, from->world.rank, from->rows);
    for (int64_t k = 0; k < n; k += CWI_BLOCK_ROWS) {
        int64_t row = cwi_row_at(&from->world, from->world.rank, k);
        int64_t some = n - k < CWI_BLOCK_ROWS ? n - k : CWI_BLOCK_ROWS;
        if (cwi_row_owner(&to->world, row) != to->world.rank) continue;
        memcpy(ours + (size_t)cwi_row_place(&to->world, row) * row_bytes,
               theirs + (size_t)k * row_bytes, (size_t)some * row_bytes);
    }
}

static cwi_world world_of(const cwi_trainer *t)
{
    return t->task.world ? *t->task.world : cwi_world_of(NULL, 0, 1);
}

static cw_status mismatch(cwi_trainer *t, const cwi_parts_source *source, const char *name)
{
    return cwi_fail(t->ctx, CW_BAD_DATA, "%s: '%s' is missing or of another size", source->path,
                    name);
}

cw_status cwi_parts_take(cwi_trainer *t, const cwi_parts_source *source, const cwi_array *to)
{
    holder from = {cwi_world_of(NULL, source->part, source->parts), 0}, ours = {world_of(t), 0};
    int64_t columns = to->rank == 2 ? to->shape[1] : 1, rows = to->shape[0];
    int64_t table = (int64_t)t->task.shape.n_users + t->task.shape.n_items;
    bool is_dealt = (source->parts > 1 || ours.world.size > 1) && rows > 0;
    const cwi_array *array = cwi_tensorfile_find(source->file, to->name);
    if (rows == 0) return CW_OK; /* nothing of it is for this process, or for this engine */
    if (is_dealt) {
        from.rows = ours.rows = table;
        if (cwi_rows_of(&ours.world, ours.world.rank, table) != rows)
            return mismatch(t, source, to->name);
        rows = cwi_rows_of(&from.world, source->part, table);
    }
    if (!array || array->dtype != to->dtype || cwi_array_count(array) != rows * columns)
        return mismatch(t, source, to->name);
    size_t row_bytes = (size_t)columns * cwi_dtype_bytes[to->dtype];
    if (is_dealt)
        copy_rows(&from, array->data, &ours, (char *)to->data, row_bytes);
    else
        memcpy((char *)to->data, array->data, (size_t)rows * row_bytes);
    return CW_OK;
}

static cw_status refuse(cwi_trainer *t, const char *path)
{
    return cwi_fail(t->ctx, CW_BAD_DATA, "%s is not the part that goes with %s", path,
                    cwi_options_text(t->options, "checkpoint"));
}

cw_status cwi_parts_each(cwi_trainer *t, int parts, const char *sums, cwi_parts_fn fn, void *arg)
{
    cw_status status = CW_OK;
    for (int p = 0; p < parts && status == CW_OK; p++, sums += CWI_PART_SUM) {
        cwi_tensorfile file = {0};
        char *path = path_of(t, p + 1, parts);
        if (!path) return CW_NO_MEMORY;
        status = cwi_tensorfile_read(t->ctx, path, format, VERSION, &file);
        const char *data = status == CW_OK ? cwi_tensorfile_note(&file, "data") : NULL;
        if (status == CW_OK && (!data || strcmp(data, t->data_hash) != 0))
            status = cwi_fail(t->ctx, CW_BAD_DATA, "%s was made with other data", path);
        if (status == CW_OK && strncmp(file.checksum, sums, CWI_PART_SUM) != 0)
            status = refuse(t, path);
        cwi_parts_source source = {&file, path, p, parts};
        if (status == CW_OK) status = fn(t, &source, arg);
        cwi_tensorfile_clear(&file);
        cwi_free(path);
    }
    return status;
}

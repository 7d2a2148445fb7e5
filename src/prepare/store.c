/* store.c - dataset folders: train.csv, valid.csv, test.csv, id maps, dataset.json, truth. */
#include <jansson.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "import/idfile.h"
#include "import/import.h"
#include "import/source.h"
#include "prepare/dataset.h"
#include "prepare/pairs.h"
#include "prepare/stats.h"
#include "prepare/store.h"
#include "prepare/truth.h"

enum { FORMAT_VERSION = 1 };

static const char *const part_file[CWI_PARTS] = {"train.csv", "valid.csv", "test.csv"};
static const char user_file[] = "id2idx_u.csv";
static const char item_file[] = "id2idx_i.csv";
static const char uniform_file[] = "test_uniform.csv";
static const char about_file[] = "dataset.json";

/* ---- load ----------------------------------------------------------------- */

/* Open folder/name, folder/name.gz or folder/name.zst; *out is NULL when none is there. */
static cw_status open_optional(cw_context *ctx, const char *folder, const char *name,
                               cwi_source **out)
{
    static const char *const endings[] = {"", ".gz", ".zst"};
    *out = NULL;
    for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++) {
        char *path = cwi_format(ctx, "%s/%s%s", folder, name, endings[e]);
        if (!path) return CW_NO_MEMORY;
        bool found = cwi_path_exists(path);
        cw_status status = found ? cwi_source_open(ctx, path, out) : CW_OK;
        cwi_free(path);
        if (found) return status;
    }
    return CW_OK;
}

/* Read the pairs of folder/name where that exists. */
static cw_status load_pairs(cw_context *ctx, const char *folder, const char *name,
                            cwi_bounds bounds, cwi_pairs *out, bool *found)
{
    cwi_source *source;
    cw_status status = open_optional(ctx, folder, name, &source);
    *found = source != NULL;
    if (status == CW_OK && source) status = cwi_pairs_read(ctx, source, bounds, out);
    cwi_source_close(source);
    return status;
}

static cw_status load_ids(cw_context *ctx, const char *folder, const char *name, cwi_idmap *out)
{
    cwi_source *source;
    cw_status status = open_optional(ctx, folder, name, &source);
    if (status == CW_OK && source) status = cwi_idfile_read(ctx, source, out);
    cwi_source_close(source);
    return status;
}

static int32_t highest(const int32_t *ids, int64_t count, int32_t least)
{
    for (int64_t k = 0; k < count; k++)
        if (ids[k] >= least) least = ids[k] + 1;
    return least;
}

/* Without an id map the numbers in the files are the raw ids.  Tables are made for every id up to
 * the highest, so one stray id must not cost gigabytes. */
static cw_status settle_ids(cw_context *ctx, const char *folder, const char *noun, int32_t n,
                            int64_t rows, cwi_idmap *map)
{
    if (map->count > 0) return CW_OK;
    if ((double)n <= 16.0 * (double)rows + 1e6) return cwi_idmap_number(ctx, n, map);
    return cwi_fail(ctx, CW_BAD_DATA,
                    "%s: the highest %s id is %d with only %lld rows; crosswise prepare gives "
                    "dense ids",
                    folder, noun, n - 1, (long long)rows);
}

static cw_status settle_sizes(cw_context *ctx, const char *folder, cw_dataset *dataset)
{
    int64_t rows = 0;

    dataset->n_users = dataset->users.count;
    dataset->n_items = dataset->items.count;
    for (int p = 0; p < CWI_PARTS; p++) {
        const cwi_pairs *pairs = &dataset->part[p];
        rows += pairs->count;
        dataset->n_users = highest(pairs->user, pairs->count, dataset->n_users);
        dataset->n_items = highest(pairs->item, pairs->count, dataset->n_items);
    }
    CW_PASS(settle_ids(ctx, folder, "user", dataset->n_users, rows, &dataset->users));
    return settle_ids(ctx, folder, "item", dataset->n_items, rows, &dataset->items);
}

/* A file is not the one that dataset.json describes.  People edit rows and ids, and a warning is
 * enough; nobody has a reason to touch the truth. */
static cw_status blame(cw_context *ctx, const char *path, bool is_truth, const char *what)
{
    if (is_truth) return cwi_fail(ctx, CW_BAD_DATA, "%s %s since the dataset was made", path, what);
    cwi_log(ctx, CW_LOG_WARNING, "%s %s since the dataset was made", path, what);
    return CW_OK;
}

/* Compare a file with its checksum; one that was compressed has none. */
static cw_status check_hash(cw_context *ctx, const char *folder, const char *name,
                            const char *expected, cwi_digest *files)
{
    char actual[CWI_HASH_BYTES] = "";
    bool is_truth = strchr(name, '/') != NULL;
    cw_status status = CW_OK;
    cwi_source *compressed = NULL;
    char *path = cwi_path_join(ctx, folder, name);
    if (!path) return CW_NO_MEMORY;
    if (cwi_path_exists(path)) {
        CW_TRY(cwi_file_hash(ctx, path, actual));
        if (strcmp(expected, actual) != 0) CW_TRY(blame(ctx, path, is_truth, "has changed"));
    } else {
        if (!is_truth) CW_TRY(open_optional(ctx, folder, name, &compressed));
        if (!compressed) CW_TRY(blame(ctx, path, is_truth, "was removed"));
    }
done:
    cwi_digest_add(files, actual, sizeof actual);
    cwi_source_close(compressed);
    cwi_free(path);
    return status;
}

/* What the list names lies in the folder or in its truth/, and nowhere else. */
static bool is_inside(const char *name)
{
    static const char inner[] = "truth/";
    bool is_truth = strncmp(name, inner, sizeof inner - 1) == 0;
    return cwi_is_file_name(is_truth ? name + sizeof inner - 1 : name);
}

static cw_status check_hashes(cw_context *ctx, const char *folder, json_t *about, cwi_digest *files)
{
    const char *name;
    json_t *entry;
    json_object_foreach(json_object_get(about, "files"), name, entry)
    {
        char excerpt[48];
        const char *expected = json_string_value(json_object_get(entry, "xxh3_128"));
        if (!expected) continue;
        if (!is_inside(name))
            return cwi_fail(ctx, CW_BAD_DATA, "%s/%s lists '%s', which is no file of a dataset",
                            folder, about_file, cwi_excerpt(name, strlen(name), excerpt));
        CW_PASS(check_hash(ctx, folder, name, expected, files));
    }
    return CW_OK;
}

static cw_status read_about(cw_context *ctx, const char *path, json_t **out)
{
    cw_status status = cwi_json_load(ctx, path, out);
    json_int_t version = json_integer_value(json_object_get(*out, "format"));
    if (status != CW_OK || version <= FORMAT_VERSION) return status;
    return cwi_fail(ctx, CW_BAD_DATA, "%s was written by a newer crosswise (format %lld)", path,
                    (long long)version);
}

/* How many rows it says that a part has; -1: it does not say. */
static int64_t read_rows(const json_t *about, int part)
{
    const json_t *entry = json_object_get(json_object_get(about, "parts"), part_file[part]);
    const json_t *rows = json_object_get(entry, "rows");
    return json_is_integer(rows) ? json_integer_value(rows) : -1;
}

/* rows and files: as in cwi_store_load_frame; rows may be NULL. */
static cw_status load_about(cw_context *ctx, const char *folder, int64_t *rows, cwi_digest *files,
                            cw_dataset *dataset)
{
    cw_status status = CW_OK;
    json_t *about = NULL;
    char *path = cwi_path_join(ctx, folder, about_file);

    if (!path) return CW_NO_MEMORY;
    if (!cwi_path_exists(path)) goto done;
    CW_TRY(read_about(ctx, path, &about));
    CW_TRY(check_hashes(ctx, folder, about, files));
    dataset->keeps_repeats = json_is_true(json_object_get(about, "keeps_repeats"));
    for (int p = 0; p < CWI_PARTS && rows; p++) rows[p] = read_rows(about, p);
    json_t *origin = json_object_get(about, "origin");
    if (origin) CW_TRY(cwi_json_text(ctx, json_incref(origin), &dataset->origin));
done:
    json_decref(about);
    cwi_free(path);
    return status;
}

static cw_status load_parts(cw_context *ctx, const char *folder, const char *train_file,
                            cw_dataset *dataset)
{
    cwi_bounds bounds = {dataset->users.count, dataset->items.count};
    bool any = false;

    for (int p = 0; p < CWI_PARTS; p++) {
        const char *file = p == CW_PART_TRAIN && train_file ? train_file : part_file[p];
        CW_PASS(load_pairs(ctx, folder, file, bounds, &dataset->part[p], &dataset->has_part[p]));
        any |= dataset->part[p].count > 0;
    }
    if (any) return CW_OK;
    return cwi_fail(ctx, CW_BAD_DATA,
                    "%s is not a dataset: it has no rows in train.csv, "
                    "valid.csv or test.csv (or these with .gz or .zst)",
                    folder);
}

static cw_status load_truth(cw_context *ctx, const char *folder, cw_dataset *dataset)
{
    bool found;
    cw_status status =
        cwi_truth_load(ctx, folder, dataset->n_users, dataset->n_items, &dataset->truth);
    if (status != CW_OK || !dataset->truth) return status;
    return load_pairs(ctx, folder, uniform_file, (cwi_bounds){dataset->n_users, dataset->n_items},
                      &dataset->truth->uniform, &found);
}

static cw_status check_folder(cw_context *ctx, const char *folder)
{
    if (!cwi_path_exists(folder)) return cwi_fail(ctx, CW_IO, "there is no folder '%s'", folder);
    if (cwi_path_is_folder(folder)) return CW_OK;
    return cwi_fail(ctx, CW_IO, "%s is not a folder; crosswise prepare makes one of it", folder);
}

cw_status cwi_store_open_part(cw_context *ctx, const char *folder, int part, cwi_source **out)
{
    return open_optional(ctx, folder, part_file[part], out);
}

const char *cwi_store_part_name(int part)
{
    return part_file[part];
}

cw_status cwi_store_load_frame(cw_context *ctx, const char *folder, int64_t rows[CWI_PARTS],
                               cwi_digest *files, cw_dataset **out)
{
    cw_status status;
    cw_dataset *dataset = NULL;

    *out = NULL;
    for (int p = 0; p < CWI_PARTS; p++) rows[p] = -1;
    CW_PASS(check_folder(ctx, folder));
    CW_TRY(cwi_dataset_create(ctx, &dataset));
    CW_TRY(load_ids(ctx, folder, user_file, &dataset->users));
    CW_TRY(load_ids(ctx, folder, item_file, &dataset->items));
    if (dataset->users.count == 0 || dataset->items.count == 0) goto done;
    dataset->n_users = dataset->users.count;
    dataset->n_items = dataset->items.count;
    CW_TRY(load_about(ctx, folder, rows, files, dataset));
    *out = dataset;
    dataset = NULL;
done:
    cw_dataset_free(dataset);
    return status;
}

cw_status cwi_store_load(cw_context *ctx, const char *folder, const char *train_file,
                         cw_dataset **out)
{
    cw_status status;
    cw_dataset *dataset = NULL;
    cwi_digest files = {0};

    *out = NULL;
    CW_PASS(check_folder(ctx, folder));
    if (train_file && !cwi_is_file_name(train_file))
        return cwi_fail(ctx, CW_BAD_ARG,
                        "the training set is '%s'; it must be the name of a file of the dataset "
                        "folder",
                        train_file);
    CW_TRY(cwi_dataset_create(ctx, &dataset));
    CW_TRY(load_ids(ctx, folder, user_file, &dataset->users));
    CW_TRY(load_ids(ctx, folder, item_file, &dataset->items));
    CW_TRY(load_parts(ctx, folder, train_file, dataset));
    if (train_file && !dataset->has_part[CW_PART_TRAIN])
        CW_TRY(cwi_fail(ctx, CW_IO, "there is no %s in %s", train_file, folder));
    CW_TRY(settle_sizes(ctx, folder, dataset));
    CW_TRY(load_about(ctx, folder, NULL, &files, dataset));
    cwi_bounds bounds = {dataset->n_users, dataset->n_items};
    for (int p = 0; p < CWI_PARTS && !dataset->keeps_repeats; p++)
        CW_TRY(cwi_pairs_drop_repeats(ctx, part_file[p], bounds, &dataset->part[p]));
    CW_TRY(load_truth(ctx, folder, dataset));
    *out = dataset;
done:
    if (status != CW_OK) cw_dataset_free(dataset);
    return status;
}

cw_status cw_dataset_load_with(cw_context *ctx, const char *folder, const char *train_file,
                               cw_dataset **out)
{
    cwi_begin(ctx);
    return cwi_store_load(ctx, folder, train_file, out);
}

cw_status cw_dataset_load(cw_context *ctx, const char *folder, cw_dataset **out)
{
    return cw_dataset_load_with(ctx, folder, NULL, out);
}

/* ---- save ----------------------------------------------------------------- */

/* Write pairs or ids, whichever is not NULL, and note the checksum; without any the file is there.
 */
static cw_status save_file(cw_context *ctx, const char *folder, const char *name,
                           const cwi_pairs *pairs, const cwi_idmap *ids, json_t **files)
{
    char hash[CWI_HASH_BYTES];
    char *path = cwi_path_join(ctx, folder, name);
    if (!path) return CW_NO_MEMORY;
    cw_status status = pairs ? cwi_pairs_write(ctx, path, pairs, hash)
                       : ids ? cwi_idfile_write(ctx, path, ids, hash)
                             : cwi_file_hash(ctx, path, hash);
    if (status == CW_OK) cwi_json_set(files, name, json_pack("{s:s}", "xxh3_128", hash));
    cwi_free(path);
    return status;
}

static cw_status save_files(cw_context *ctx, const char *folder, const cw_dataset *dataset,
                            json_t **files)
{
    for (int p = 0; p < CWI_PARTS; p++) {
        CW_PASS(cwi_progress(ctx, "writing the dataset", p, CWI_PARTS + 1));
        if (dataset->has_part[p])
            CW_PASS(save_file(ctx, folder, part_file[p], &dataset->part[p], NULL, files));
    }
    CW_PASS(save_file(ctx, folder, user_file, NULL, &dataset->users, files));
    CW_PASS(save_file(ctx, folder, item_file, NULL, &dataset->items, files));
    if (dataset->truth) {
        CW_PASS(cwi_truth_save(ctx, dataset->truth, dataset->n_users, dataset->n_items, folder));
        for (const char *const *name = cwi_truth_files; *name; name++)
            CW_PASS(save_file(ctx, folder, *name, NULL, NULL, files));
        if (dataset->truth->uniform.count > 0)
            CW_PASS(save_file(ctx, folder, uniform_file, &dataset->truth->uniform, NULL, files));
    }
    return CW_OK;
}

/* Counts and degrees of the parts, so that the folder explains itself. */
static cw_status add_counts(cw_context *ctx, const cw_dataset *dataset, json_t **about)
{
    CW_PASS(cwi_stats_parts(ctx, dataset, part_file, about));
    cwi_json_set(about, "users", json_integer(dataset->n_users));
    cwi_json_set(about, "items", json_integer(dataset->n_items));
    if (dataset->keeps_repeats) cwi_json_set(about, "keeps_repeats", json_true());
    return cwi_stats_degrees(ctx, dataset, about);
}

static cw_status save_about(cw_context *ctx, const char *folder, json_t *about)
{
    cw_status status;
    char *text = NULL;
    cwi_writer *writer = NULL;

    CW_TRY(cwi_json_sign(ctx, json_incref(about), &text));
    CW_TRY(cwi_writer_open_in(ctx, folder, about_file, &writer));
    cwi_writer_text(writer, text);
    cwi_writer_text(writer, "\n");
done:
    cwi_free(text);
    return cwi_writer_end(ctx, writer, status);
}

/* Everything into a folder that is not in its place yet. */
static cw_status fill_folder(cw_context *ctx, const char *folder, const cw_dataset *dataset)
{
    cw_status status;
    json_t *about = json_pack("{s:i, s:s}", "format", FORMAT_VERSION, "crosswise", cw_version());
    json_t *files = json_object();

    CW_TRY(save_files(ctx, folder, dataset, &files));
    cwi_json_set(&about, "files", json_incref(files));
    CW_TRY(add_counts(ctx, dataset, &about));
    CW_TRY(cwi_stats_origin(ctx, dataset, &about));
    CW_TRY(save_about(ctx, folder, about));
    CW_TRY(cwi_progress(ctx, "writing the dataset", CWI_PARTS + 1, CWI_PARTS + 1));
done:
    json_decref(files);
    json_decref(about);
    return status;
}

/* train_<theta>.csv, which skew writes. */
static bool is_skewed(const char *file)
{
    static const char before[] = "train_", after[] = ".csv";
    const size_t head = sizeof before - 1, tail = sizeof after - 1;
    size_t length = strlen(file);
    double theta;
    return strncmp(file, before, head) == 0 && cwi_ends_with(file + head, after) &&
           cwi_parse_real(file + head, length - head - tail, &theta);
}

static bool owns(const char *path)
{
    static const char *const files[] = {user_file, item_file, uniform_file, about_file, "truth/"};
    for (int p = 0; p < CWI_PARTS; p++)
        if (strcmp(path, part_file[p]) == 0) return true;
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++)
        if (strcmp(path, files[k]) == 0) return true;
    for (const char *const *name = cwi_truth_files; *name; name++)
        if (strcmp(path, *name) == 0) return true;
    return is_skewed(path);
}

const cwi_folder_kind cwi_dataset_kind = {about_file, owns};

cw_status cw_dataset_save(cw_context *ctx, const cw_dataset *dataset, const char *path,
                          bool replace)
{
    cwi_folder *folder;

    cwi_begin(ctx);
    CW_PASS(cwi_folder_begin(ctx, path, replace, &cwi_dataset_kind, &folder));
    return cwi_folder_end(ctx, folder, fill_folder(ctx, cwi_folder_path(folder), dataset));
}

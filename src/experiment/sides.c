/* sides.c - read records of runs and find out which belong together. */
#include "experiment/sides.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "registry/registry.h"

cw_status cwi_contest_warn(cw_context *ctx, cwi_contest *contest, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cwi_log(ctx, CW_LOG_WARNING, "%s", text);
    cwi_json_add(&contest->warnings, cwi_json_string(text));
    return cwi_json_check(ctx, contest->warnings);
}

/* ---- records -------------------------------------------------------------------------- */

/* What comparing needs must be there, and of its kind. */
static cw_status check_keys(cw_context *ctx, const char *path, const json_t *record)
{
    static const struct {
        const char *inside, *key;
        json_type type;
        const char *kind;
    } needs[] = {
        {"", "method", JSON_STRING, "a text"},        {"", "backbone", JSON_STRING, "a text"},
        {"", "seed", JSON_INTEGER, "a whole number"}, {"", "options", JSON_OBJECT, "an object"},
        {"options", "metric", JSON_STRING, "a text"}, {"", "data", JSON_OBJECT, "an object"},
        {"data", "xxh3_128", JSON_STRING, "a text"}};
    for (size_t k = 0; k < sizeof needs / sizeof needs[0]; k++) {
        bool is_inner = needs[k].inside[0] != '\0';
        const json_t *from = is_inner ? json_object_get(record, needs[k].inside) : record;
        const json_t *value = json_object_get(from, needs[k].key);
        if (value && json_typeof(value) == needs[k].type) continue;
        return cwi_fail(ctx, CW_BAD_DATA, "%s: it is no record of a run: '%s%s%s' is %s%s", path,
                        needs[k].inside, is_inner ? "." : "", needs[k].key,
                        value ? "not " : "missing", value ? needs[k].kind : "");
    }
    return CW_OK;
}

static cw_status check_metrics(cw_context *ctx, const char *path, const char *part,
                               const json_t *metrics)
{
    const char *name;
    json_t *value;
    if (!metrics || json_is_null(metrics))
        return cwi_fail(ctx, CW_BAD_DATA, "%s: this run has no %s metrics", path, part);
    if (!json_is_object(metrics))
        return cwi_fail(ctx, CW_BAD_DATA, "%s: '%s' is not an object of metrics", path, part);
    json_object_foreach((json_t *)metrics, name, value)
    {
        if (!json_is_number(value) && !json_is_null(value))
            return cwi_fail(ctx, CW_BAD_DATA, "%s: '%s.%s' is not a number", path, part, name);
    }
    return CW_OK;
}

/* Put into the record the options that it has now ("taken") and what it is known by beside the seed
 * ("settings"), so that those of earlier versions, which list more options, are the same. */
static cw_status add_settings(cw_context *ctx, json_t **record)
{
    const cwi_method *method = cwi_find_method(cwi_json_get_text(*record, "method"));
    const cwi_backbone *backbone = cwi_find_backbone(cwi_json_get_text(*record, "backbone"));
    const json_t *recorded = json_object_get(*record, "options");
    cw_options *options = NULL;
    if (method && backbone) CW_PASS(cwi_train_reread(ctx, method, backbone, recorded, &options));
    json_t *settings = options ? cwi_train_identity(options) : cwi_json_copy(recorded);
    (void)json_object_del(settings, "seed");
    cwi_json_set(record, "taken", options ? cwi_train_record(options) : cwi_json_copy(recorded));
    cwi_json_set(record, "settings", settings);
    cw_options_free(options);
    return cwi_json_check(ctx, *record);
}

static cw_status read_record(cw_context *ctx, const char *path, const char *part,
                             cwi_contest_entry *entry)
{
    entry->path = path;
    if (!cwi_path_exists(path) || cwi_path_is_folder(path))
        return cwi_fail(ctx, CW_IO, "cannot read %s: there is no such file", path);
    CW_PASS(cwi_json_load(ctx, path, &entry->record));
    if (json_object_get(entry->record, "error"))
        return cwi_fail(ctx, CW_BAD_DATA, "%s: this run failed: %s", path,
                        cwi_json_get_text(entry->record, "error"));
    CW_PASS(check_keys(ctx, path, entry->record));
    CW_PASS(check_metrics(ctx, path, part, json_object_get(entry->record, part)));
    entry->seed = json_integer_value(json_object_get(entry->record, "seed"));
    return add_settings(ctx, &entry->record);
}

/* ---- sides ----------------------------------------------------------------------------- */

static const char *checksum_of(const cwi_contest_entry *entry)
{
    return cwi_json_get_text(json_object_get(entry->record, "data"), "xxh3_128");
}

/* Everything the same but the seed. */
static bool are_alike(const cwi_contest_entry *a, const cwi_contest_entry *b)
{
    static const char *const keys[] = {"method", "backbone", "settings"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (!json_equal(json_object_get(a->record, keys[k]), json_object_get(b->record, keys[k])))
            return false;
    return strcmp(checksum_of(a), checksum_of(b)) == 0;
}

const cwi_contest_entry *cwi_contest_first(const cwi_contest *contest, size_t side)
{
    const cwi_contest_entry *entry = contest->entries;
    while (entry->side != side) entry++;
    return entry;
}

const cwi_contest_entry *cwi_contest_find(const cwi_contest *contest, size_t side, int64_t seed)
{
    for (size_t k = 0; k < contest->n; k++)
        if (contest->entries[k].side == side && contest->entries[k].seed == seed)
            return &contest->entries[k];
    return NULL;
}

double cwi_contest_value(const cwi_contest *contest, const cwi_contest_entry *entry,
                         const char *metric)
{
    return cwi_json_to_number(
        json_object_get(json_object_get(entry->record, contest->part), metric));
}

/* The side of a new entry, which is not among contest->n yet. */
static size_t find_side(const cwi_contest *contest, const cwi_contest_entry *entry)
{
    for (size_t side = 0; side < contest->n_sides; side++)
        if (are_alike(cwi_contest_first(contest, side), entry)) return side;
    return contest->n_sides;
}

/* Records that should not be set side by side are, but not silently. */
static cw_status check_alike(cw_context *ctx, cwi_contest *contest, size_t side)
{
    const cwi_contest_entry *first = &contest->entries[0],
                            *other = cwi_contest_first(contest, side);
    const json_t *ours = json_object_get(first->record, "data");
    const json_t *theirs = json_object_get(other->record, "data");
    const char *metric = cwi_json_get_text(json_object_get(first->record, "options"), "metric");
    const char *other_metric =
        cwi_json_get_text(json_object_get(other->record, "options"), "metric");
    const char *k = strchr(metric, '@'), *other_k = strchr(other_metric, '@');
    cw_status status = CW_OK;
    bool same_size = json_equal(json_object_get(ours, "users"), json_object_get(theirs, "users")) &&
                     json_equal(json_object_get(ours, "items"), json_object_get(theirs, "items"));

    if (strcmp(checksum_of(first), checksum_of(other)) != 0)
        status = cwi_contest_warn(
            ctx, contest, "%s and %s are not comparable: they were trained and measured on %s",
            first->path, other->path,
            same_size ? "another split, or another training set, of data of the same size"
                      : "other data");
    if (status == CW_OK && strcmp(k ? k : "", other_k ? other_k : "") != 0)
        status = cwi_contest_warn(ctx, contest,
                                  "%s and %s are not comparable: their lists have another length "
                                  "(%s, %s)",
                                  first->path, other->path, metric, other_metric);
    return status;
}

cw_status cwi_contest_read(cw_context *ctx, const char *const *paths, size_t n, const char *part,
                           cwi_contest *out)
{
    cw_status status = CW_OK;
    *out = (cwi_contest){.part = part, .warnings = json_array()};
    out->entries = cwi_alloc_zero(ctx, n, sizeof *out->entries);
    if (!out->entries) return CW_NO_MEMORY;
    for (size_t k = 0; k < n && status == CW_OK; k++) {
        cwi_contest_entry *entry = &out->entries[out->n];
        status = read_record(ctx, paths[k], part, entry);
        if (status != CW_OK) {
            json_decref(entry->record);
            break;
        }
        entry->side = find_side(out, entry);
        if (cwi_contest_find(out, entry->side, entry->seed)) {
            status = cwi_contest_warn(ctx, out, "%s repeats a run that is already there; left out",
                                      entry->path);
            json_decref(entry->record);
            continue;
        }
        out->n++;
        if (entry->side < out->n_sides) continue;
        out->n_sides++;
        status = check_alike(ctx, out, entry->side);
    }
    return status;
}

void cwi_contest_clear(cwi_contest *contest)
{
    for (size_t k = 0; k < contest->n; k++) json_decref(contest->entries[k].record);
    cwi_free(contest->entries);
    json_decref(contest->warnings);
    *contest = (cwi_contest){0};
}

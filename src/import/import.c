/* import.c - from paths to interactions. */
#include "import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/mem.h"
#include "import/uri.h"

void cwi_import_init(cw_context *ctx, cw_interactions *rows, cwi_import *import)
{
    *import = (cwi_import){.ctx = ctx, .rows = rows};
    import->settings = (cwi_settings){.format = "auto", .columns = "", .since = ""};
}

void cwi_import_clear(cwi_import *import)
{
    for (size_t e = 0; e < import->n_entries; e++) cwi_free(import->entry[e].name);
    for (size_t n = 0; n < import->n_ignored; n++) cwi_free(import->ignored[n]);
    cwi_free(import->entry);
    cwi_free(import->ignored);
    for (int role = 0; role < CWI_N_ROLES; role++) cwi_free(import->key[role]);
    cwi_free(import->movie);
    cwi_free(import->scratch);
    cwi_ratings_clear(&import->ratings);
    json_decref(import->latest);
}

/* The last name of a path, without slashes behind it. */
static char *copy_base_name(cw_context *ctx, const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/') start--;
    return cwi_format(ctx, "%.*s", (int)(length - start), path + start);
}

cw_status cwi_import_entry(cwi_import *import, const char *name, cwi_entry **out)
{
    CW_PASS(cwi_grow(import->ctx, &import->entry, &import->entry_capacity, import->n_entries + 1,
                     sizeof *import->entry));
    char *base = copy_base_name(import->ctx, name);
    if (!base) return CW_NO_MEMORY;
    *out = &import->entry[import->n_entries++];
    **out = (cwi_entry){.name = base, .format = "none"};
    return CW_OK;
}

/* A file without interactions: an empty part of a split may be meant, anything else is not. */
static cw_status report_empty(cwi_import *import, const cwi_source *source, bool has_lines)
{
    const char *what = has_lines ? "there are no interactions in it" : "the file is empty";
    if (!import->is_split)
        return cwi_fail(import->ctx, CW_BAD_DATA, "%s: %s", cwi_source_name(source), what);
    cwi_log(import->ctx, CW_LOG_WARNING, "%s: %s", cwi_source_name(source), what);
    return CW_OK;
}

static cw_status read_lines(cwi_import *import, cwi_source *source, const cwi_reader *reader,
                            const cwi_layout *layout)
{
    cwi_text line;
    CW_PASS(cwi_import_begin(import, source,
                             reader->is_rated || layout->column[CWI_ROLE_RATING] >= 0,
                             reader->is_rated || layout->column[CWI_ROLE_TIME] >= 0));
    for (;;) {
        CW_PASS(cwi_source_line(import->ctx, source, &line.at, &line.length));
        if (!line.at) return CW_OK;
        if (line.length > 0) CW_PASS(reader->read(import, source, line));
    }
}

cw_status cwi_import_source(cwi_import *import, cwi_source *source, cwi_entry *entry)
{
    const cwi_reader *reader;
    cwi_layout layout;
    int64_t rows = import->rows->count,
            others = import->below + import->left_out + import->bad_lines;

    CW_PASS(cwi_detect(import, source, &reader, &layout));
    if (!reader) return report_empty(import, source, false);
    entry->format = reader->name;
    CW_PASS(reader->read ? read_lines(import, source, reader, &layout)
                         : cwi_delimited_read(import, source, &layout));
    entry->lines += cwi_source_lines_read(source);
    entry->rows += import->rows->count - rows;
    import->lines += cwi_source_lines_read(source);
    if (import->rows->count == rows &&
        import->below + import->left_out + import->bad_lines == others)
        return report_empty(import, source, true);
    return CW_OK;
}

cw_status cwi_import_file(cwi_import *import, const char *path, cwi_entry *entry)
{
    cwi_source *source;
    CW_PASS(cwi_source_open(import->ctx, path, &source));
    cw_status status = cwi_import_source(import, source, entry);
    cwi_source_close(source);
    return status;
}

static cw_status import_path(cwi_import *import, const char *path, bool may_be_split)
{
    struct stat info;
    cwi_entry *entry;

    if (cwi_uri_find(path)) return cwi_import_database(import, path);
    if (import->settings.since[0] || import->settings.has_after_rowid)
        return cwi_fail(import->ctx, CW_BAD_ARG, "%s has no meaning for %s, which is no database",
                        import->settings.since[0] ? "--since" : "--after-rowid", path);
    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return cwi_import_folder(import, path, may_be_split);
    CW_PASS(cwi_import_entry(import, strcmp(path, "-") ? path : "standard input", &entry));
    return cwi_import_file(import, path, entry);
}

/* "a.csv, b.csv and 3 more", for a message. */
static const char *print_entries(const cwi_import *import, char *out, size_t bytes)
{
    enum { SHOWN = 4 };
    size_t used = 0;

    out[0] = '\0';
    for (size_t e = 0; e < import->n_entries && e < SHOWN && used < bytes; e++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%.80s", e ? ", " : "",
                                 import->entry[e].name);
    if (import->n_entries > SHOWN && used < bytes)
        snprintf(out + used, bytes - used, " and %zu more", import->n_entries - SHOWN);
    return out;
}

static cw_status check_not_empty(const cwi_import *import)
{
    char list[400];
    if (import->rows->count > 0) return CW_OK;
    return cwi_fail(import->ctx, CW_BAD_DATA,
                    "no interactions are left of %s: %" PRId64 " lines, %" PRId64
                    " malformed, %" PRId64 " below --min-rating",
                    print_entries(import, list, sizeof list), import->lines, import->bad_lines,
                    import->below);
}

/* Give back the room that growing left over. */
static cw_status trim(cw_context *ctx, void *array, int64_t count, size_t size)
{
    void *held;
    memcpy(&held, array, sizeof held); /* array points to a typed pointer */
    if (!held) return CW_OK;
    held = cwi_resize(ctx, held, (size_t)count, size);
    if (!held) return CW_NO_MEMORY;
    memcpy(array, &held, sizeof held);
    return CW_OK;
}

cw_status cwi_import_finish(cwi_import *import)
{
    cw_context *ctx = import->ctx;
    cw_interactions *rows = import->rows;

    CW_PASS(check_not_empty(import));
    if (rows->spill) CW_PASS(cwi_spill_flush(ctx, rows->spill));
    rows->is_split = rows->part || (rows->spill && import->is_split);
    import->rows->keeps_repeats = import->settings.keep_duplicates;
    if (!import->settings.keep_duplicates && !import->is_distinct)
        CW_PASS(cwi_drop_repeats(ctx, rows, &import->repeats, &import->overlaps));
    CW_PASS(trim(ctx, &rows->user, rows->count, sizeof *rows->user));
    CW_PASS(trim(ctx, &rows->item, rows->count, sizeof *rows->item));
    CW_PASS(trim(ctx, &rows->time, rows->count, sizeof *rows->time));
    CW_PASS(trim(ctx, &rows->part, rows->count, sizeof *rows->part));
    CW_PASS(trim(ctx, &rows->below.row, rows->below.count, sizeof *rows->below.row));
    CW_PASS(cwi_origin_print(import, &rows->source));
    cwi_import_log(import);
    return CW_OK;
}

cw_status cwi_import_open(cw_context *ctx, const cw_options *options, cwi_import *out)
{
    cw_interactions *rows = cwi_alloc_zero(ctx, 1, sizeof *rows);
    cwi_import_init(ctx, rows, out);
    out->options = options;
    return rows ? cwi_settings_read(ctx, options, &out->settings) : CW_NO_MEMORY;
}

cw_status cwi_import_close(cwi_import *import, cw_status status, cw_interactions **out)
{
    if (status == CW_OK) status = cwi_import_finish(import);
    if (status == CW_OK)
        *out = import->rows;
    else
        cw_interactions_free(import->rows);
    cwi_import_clear(import);
    return status;
}

static cw_status check_arguments(cw_context *ctx, const char *const *paths, const cw_part *parts,
                                 size_t n_paths)
{
    if (n_paths == 0 || !paths) return cwi_fail(ctx, CW_BAD_ARG, "there is no file to import");
    for (size_t p = 0; parts && p < n_paths; p++)
        if ((int)parts[p] < CW_PART_TRAIN || (int)parts[p] > CW_PART_TEST)
            return cwi_fail(ctx, CW_BAD_ARG, "%s: %d is not a part of a split", paths[p],
                            (int)parts[p]);
    return CW_OK;
}

/* parts is NULL when the files say themselves, or are no split. */
static cw_status import_all(cw_context *ctx, const char *const *paths, const cw_part *parts,
                            size_t n_paths, const cw_options *options, const json_t *known,
                            cw_interactions **out)
{
    cwi_import import;

    cwi_begin(ctx);
    *out = NULL;
    CW_PASS(check_arguments(ctx, paths, parts, n_paths));
    cw_status status = cwi_import_open(ctx, options, &import);
    import.known = known; /* outlives it */
    import.is_split = parts != NULL;
    for (size_t p = 0; p < n_paths && status == CW_OK; p++) {
        if (parts) import.part = (uint8_t)parts[p];
        status = import_path(&import, paths[p], !parts && n_paths == 1);
    }
    return cwi_import_close(&import, status, out);
}

cw_status cw_import(cw_context *ctx, const char *const *paths, size_t n_paths,
                    const cw_options *options, cw_interactions **out)
{
    return import_all(ctx, paths, NULL, n_paths, options, NULL, out);
}

cw_status cwi_import_after(cw_context *ctx, const char *const *paths, size_t n_paths,
                           const cw_options *options, const json_t *known, cw_interactions **out)
{
    return import_all(ctx, paths, NULL, n_paths, options, known, out);
}

cw_status cw_import_parts(cw_context *ctx, const char *const *paths, const cw_part *parts,
                          size_t n_paths, const cw_options *options, cw_interactions **out)
{
    cwi_begin(ctx);
    *out = NULL;
    if (!parts) return cwi_fail(ctx, CW_BAD_ARG, "the parts of the files are missing");
    return import_all(ctx, paths, parts, n_paths, options, NULL, out);
}

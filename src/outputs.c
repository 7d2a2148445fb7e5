/* outputs.c - what crosswise writes: where it may go, and that it does not meet what is read. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/text.h"
#include "core/work.h"
#include "import/uri.h"
#include "model/modelfile.h"
#include "prepare/store.h"
#include "report/page.h"
#include "train/parts.h"

cw_status cw_output_check(cw_context *ctx, cw_output what, const char *path, bool replace)
{
    cwi_begin(ctx);
    switch (what) {
    case CW_OUTPUT_MODEL: return cwi_file_check(ctx, path, &cwi_model_kind, replace);
    case CW_OUTPUT_RECORD: return cwi_file_check(ctx, path, &cwi_record_kind, replace);
    case CW_OUTPUT_CHECKPOINT: return cwi_file_check(ctx, path, &cwi_checkpoint_kind, replace);
    case CW_OUTPUT_PAGE: return cwi_file_check(ctx, path, &cwi_page_kind, replace);
    case CW_OUTPUT_DATASET: return cwi_folder_check(ctx, path, replace, &cwi_dataset_kind);
    case CW_OUTPUT_EXPORT: return cwi_folder_check(ctx, path, replace, &cwi_export_kind);
    case CW_OUTPUT_REPORT: return cwi_folder_check(ctx, path, replace, &cwi_report_kind);
    }
    return cwi_fail(ctx, CW_BAD_ARG, "there is no output of kind %d", (int)what);
}

/* ---- places ------------------------------------------------------------------- */

/* A path by what it leads to and by where it lies, so that X, ./X and a/../X are the same. */
typedef struct place {
    const char *path; /* as it was given */
    char *own;        /* without slashes at its end */
    const char *base; /* its name in the folder around it */
    struct stat self, around;
    bool exists, has_around;
} place;

static cw_status place_open(cw_context *ctx, const char *path, place *out)
{
    *out = (place){.path = path, .own = cwi_path_trim(ctx, path)};
    if (!out->own) return CW_NO_MEMORY;
    char *parent = cwi_path_parent(ctx, out->own);
    if (!parent) return CW_NO_MEMORY;
    out->base = cwi_path_base(out->own);
    out->exists = stat(out->own, &out->self) == 0;
    out->has_around = stat(parent, &out->around) == 0;
    cwi_free(parent);
    return CW_OK;
}

static bool is_same_place(const place *a, const place *b)
{
    if (a->exists && b->exists && cwi_is_same_file(&a->self, &b->self)) return true;
    return a->has_around && b->has_around && cwi_is_same_file(&a->around, &b->around) &&
           strcmp(a->base, b->base) == 0;
}

/* ---- what lies in a folder ------------------------------------------------------ */

/* Names that a dataset may have, compressed or not, whether they are there or not. */
static bool is_dataset_file(const char *inner, const char *base)
{
    char path[NAME_MAX + 16];
    int length = snprintf(path, sizeof path, "%s%s", inner, base);
    if (length < 0 || (size_t)length >= sizeof path) return false;
    length -= cwi_ends_with(path, ".gz") ? 3 : cwi_ends_with(path, ".zst") ? 4 : 0;
    path[length] = '\0';
    return cwi_dataset_kind.owns(path);
}

/* Does a file lie in the folder, perhaps by another name, or would it as a file of a dataset?
 *   inner  a folder within, such as "truth/", or "" */
static bool is_in_folder(const place *file, const place *folder, const char *inner)
{
    struct stat info;
    struct dirent *entry;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder->own, inner);
    DIR *entries = length > 0 && (size_t)length < sizeof path ? opendir(path) : NULL;
    if (!entries) return false;
    bool found = file->has_around && fstat(dirfd(entries), &info) == 0 &&
                 cwi_is_same_file(&info, &file->around) && is_dataset_file(inner, file->base);
    while (file->exists && !found && (entry = readdir(entries)) != NULL)
        found = fstatat(dirfd(entries), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode) &&
                info.st_nlink > 1 && cwi_is_same_file(&info, &file->self);
    closedir(entries);
    return found;
}

/* Is `inner` somewhere in the folder? */
static bool is_below(const place *inner, const place *folder)
{
    char above[PATH_MAX], below[PATH_MAX];
    if (!realpath(folder->own, above) || !realpath(inner->own, below)) return false;
    size_t length = strlen(above);
    return strncmp(below, above, length) == 0 && (below[length] == '/' || above[length - 1] == '/');
}

static bool replaces(const place *output, const place *input)
{
    if (is_same_place(output, input)) return true;
    if (!input->exists) return false;
    if (output->exists && S_ISDIR(output->self.st_mode)) return is_below(input, output);
    return S_ISDIR(input->self.st_mode) &&
           (is_in_folder(output, input, "") || is_in_folder(output, input, "truth/"));
}

/* ---- the question ------------------------------------------------------------------ */

static cw_status compare(cw_context *ctx, const place *places, size_t n_outputs, size_t n)
{
    for (size_t a = 0; a < n_outputs; a++)
        for (size_t b = a + 1; b < n; b++) {
            const place *output = &places[a], *other = &places[b];
            if (b < n_outputs && is_same_place(output, other))
                return cwi_fail(ctx, CW_BAD_ARG,
                                "%s and %s are the same file; every output needs a place of its "
                                "own",
                                output->path, other->path);
            if (b >= n_outputs && replaces(output, other))
                return cwi_fail(ctx, CW_BAD_ARG,
                                "writing %s would replace what is read from %s; choose another "
                                "place",
                                output->path, other->path);
        }
    return CW_OK;
}

/* A database is the file that it lies in, or no file at all. */
static cw_status open_any(cw_context *ctx, const char *input, place *places, size_t *n)
{
    cw_status status = CW_OK;
    cwi_uri uri;

    if (!cwi_uri_find(input)) return place_open(ctx, input, &places[(*n)++]);
    CW_TRY(cwi_uri_parse(ctx, input, &uri));
    if (uri.kind != CWI_URI_SQLITE) goto done;
    CW_TRY(place_open(ctx, uri.address, &places[*n]));
    places[(*n)++].path = input;
done:
    cwi_uri_clear(&uri);
    return status;
}

cw_status cw_output_compare(cw_context *ctx, const char *const *outputs, size_t n_outputs,
                            const char *const *inputs, size_t n_inputs)
{
    cw_status status;
    size_t n = 0;

    cwi_begin(ctx);
    place *places = cwi_alloc_zero(ctx, n_outputs + n_inputs, sizeof *places);
    if (!places) return CW_NO_MEMORY;
    for (size_t k = 0; k < n_outputs; k++) CW_TRY(open_any(ctx, outputs[k], places, &n));
    n_outputs = n;
    for (size_t k = 0; k < n_inputs; k++) CW_TRY(open_any(ctx, inputs[k], places, &n));
    CW_TRY(compare(ctx, places, n_outputs, n));
done:
    for (size_t k = 0; k < n; k++) cwi_free(places[k].own);
    cwi_free(places);
    return status;
}

void cw_checkpoint_remove(const char *path)
{
    cwi_file_remove(path, &cwi_checkpoint_kind);
    cwi_parts_remove(path);
}

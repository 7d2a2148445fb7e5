/* folder.c - folders of files: Netflix training sets and given splits. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/idfile.h"
#include "import/import.h"

enum { N_PARTS = 3 };

static const char *const part_names[N_PARTS] = {"train", "valid", "test"};

typedef struct listing {
    char **name; /* sorted */
    size_t count, capacity;
} listing;

static void clear_listing(listing *list)
{
    for (size_t n = 0; n < list->count; n++) cwi_free(list->name[n]);
    cwi_free(list->name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static cw_status list_folder(cw_context *ctx, const char *folder, listing *out)
{
    cw_status status = CW_OK;
    struct dirent *entry;

    *out = (listing){0};
    DIR *dir = opendir(folder);
    if (!dir) return cwi_fail_errno(ctx, "open", folder);
    while ((errno = 0, entry = readdir(dir))) {
        CW_TRY(cwi_grow(ctx, &out->name, &out->capacity, out->count + 1, sizeof *out->name));
        char *name = cwi_strdup(ctx, entry->d_name);
        CW_TRY(name ? CW_OK : CW_NO_MEMORY);
        out->name[out->count++] = name;
    }
    if (errno != 0) status = cwi_fail_errno(ctx, "read", folder);
    if (out->count > 1) qsort(out->name, out->count, sizeof *out->name, compare_names);
done:
    (void)closedir(dir);
    return status;
}

/* The length of a name without .gz and the like. */
static size_t plain_length(const char *name)
{
    static const char *const endings[] = {".gz", ".zst", ".bz2", ".xz"};
    for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++)
        if (cwi_ends_with(name, endings[e])) return strlen(name) - strlen(endings[e]);
    return strlen(name);
}

/* Is what follows the first part of a name one of the words "a|b|c", or that with .gz and so on? */
static bool ends_well(const char *rest, const char *words)
{
    char word[16];
    size_t length = plain_length(rest);

    if (length >= sizeof word) return false;
    memcpy(word, rest, length);
    word[length] = '\0';
    return cwi_word_index(words, word) >= 0;
}

/* The one file "stem.ending" of a folder, or NULL; two are an error that names both. */
static cw_status find_one(cw_context *ctx, const char *folder, const listing *list,
                          const char *stem, const char *endings, const char **out)
{
    size_t length = strlen(stem);

    *out = NULL;
    for (size_t n = 0; n < list->count; n++) {
        const char *name = list->name[n];
        if (strncmp(name, stem, length) != 0 || name[length] != '.') continue;
        if (!ends_well(name + length + 1, endings)) continue;
        if (*out)
            return cwi_fail(ctx, CW_BAD_DATA, "%s has both %s and %s; only one can be the %s file",
                            folder, *out, name, stem);
        *out = name;
    }
    return CW_OK;
}

static bool is_netflix_name(const char *name)
{
    static const char *const patterns[] = {"mv_*.txt", "combined_data_*.txt"};
    char plain[256];
    size_t length = plain_length(name);

    if (length >= sizeof plain) return false;
    memcpy(plain, name, length);
    plain[length] = '\0';
    return fnmatch(patterns[0], plain, 0) == 0 || fnmatch(patterns[1], plain, 0) == 0;
}

static cw_status import_one(cwi_import *import, const char *folder, const char *name,
                            cwi_entry *entry)
{
    char *path = cwi_format(import->ctx, "%s/%s", folder, name);
    if (!path) return CW_NO_MEMORY;
    cw_status status = cwi_import_file(import, path, entry);
    cwi_free(path);
    return status;
}

static cw_status read_translation(cw_context *ctx, const char *folder, const listing *list,
                                  const char *stem, cwi_translation *out)
{
    cwi_source *source = NULL;
    char *path = NULL;
    cw_status status;

    CW_TRY(find_one(ctx, folder, list, stem, "csv", &out->file));
    if (!out->file) goto done;
    path = cwi_format(ctx, "%s/%s", folder, out->file);
    CW_TRY(path ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_source_open(ctx, path, &source));
    CW_TRY(cwi_idfile_read(ctx, source, &out->raw));
done:
    cwi_source_close(source);
    cwi_free(path);
    return status;
}

static cw_status import_split(cwi_import *import, const char *folder, const listing *list,
                              const char *const file[N_PARTS])
{
    cwi_translation users = {0}, items = {0};
    cwi_entry *entry;
    cw_status status;

    CW_TRY(read_translation(import->ctx, folder, list, "id2idx_u", &users));
    CW_TRY(read_translation(import->ctx, folder, list, "id2idx_i", &items));
    if (users.file || items.file) {
        /* Both are taken back before returning. */
        import->user_names = &users; /* cppcheck-suppress autoVariables */
        import->item_names = &items; /* cppcheck-suppress autoVariables */
    }
    for (int part = 0; part < N_PARTS; part++) {
        if (!file[part]) continue;
        import->part = (uint8_t)part;
        CW_TRY(cwi_import_entry(import, file[part], &entry));
        CW_TRY(import_one(import, folder, file[part], entry));
    }
done:
    import->user_names = import->item_names = NULL;
    cwi_idmap_clear(&users.raw);
    cwi_idmap_clear(&items.raw);
    return status;
}

static cw_status import_netflix(cwi_import *import, const char *folder, const listing *list,
                                bool *found)
{
    cwi_entry *entry = NULL;

    *found = false;
    for (size_t n = 0; n < list->count; n++) {
        if (!is_netflix_name(list->name[n])) continue;
        if (!*found) CW_PASS(cwi_import_entry(import, folder, &entry));
        *found = true;
        CW_PASS(import_one(import, folder, list->name[n], entry));
    }
    return CW_OK;
}

cw_status cwi_import_folder(cwi_import *import, const char *folder, bool may_be_split)
{
    const char *file[N_PARTS];
    listing list = {0};
    bool found = false;
    cw_status status;

    CW_TRY(list_folder(import->ctx, folder, &list));
    for (int part = 0; part < N_PARTS; part++) {
        CW_TRY(find_one(import->ctx, folder, &list, part_names[part], "csv|txt|tsv|dat|inter",
                        &file[part]));
        found = found || file[part];
    }
    if (found && !may_be_split)
        CW_TRY(cwi_fail(import->ctx, CW_BAD_ARG,
                        "%s is a split folder, which must be imported alone", folder));
    if (found) {
        import->is_split = true;
        CW_TRY(import_split(import, folder, &list, file));
        goto done;
    }
    CW_TRY(import_netflix(import, folder, &list, &found));
    if (!found)
        status = cwi_fail(import->ctx, CW_BAD_DATA,
                          "%s has neither train, valid or test files (.csv, .txt, .tsv, .dat, "
                          ".inter) nor Netflix files (mv_*.txt, combined_data_*.txt)",
                          folder);
done:
    clear_listing(&list);
    return status;
}

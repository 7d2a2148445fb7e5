/* pairs.h - files of pairs in the published form: header user,item, then one pair a line. */
#ifndef CWI_PREPARE_PAIRS_H
#define CWI_PREPARE_PAIRS_H

#include "core/file.h"
#include "import/source.h"
#include "prepare/dataset.h"

/* Ids must lie below these; 0 means that any may come. */
typedef struct cwi_bounds {
    int32_t n_users, n_items;
} cwi_bounds;

/* Hand over all pairs of a source, some at a time. */
typedef cw_status (*cwi_pairs_fn)(void *arg, const int32_t *user, const int32_t *item, int64_t n);
cw_status cwi_pairs_each(cw_context *ctx, cwi_source *source, cwi_bounds bounds, cwi_pairs_fn fn,
                         void *arg);

/* The same without the header, or where it has been read. */
cw_status cwi_pairs_rest(cw_context *ctx, cwi_source *source, cwi_bounds bounds, cwi_pairs_fn fn,
                         void *arg);

/* Read all pairs of a source. */
cw_status cwi_pairs_read(cw_context *ctx, cwi_source *source, cwi_bounds bounds, cwi_pairs *out);

/* Read all pairs of a file of raw ids, header user,item, each of which must be known; there must be
 * some. */
cw_status cwi_pairs_read_raw(cw_context *ctx, const char *path, const cwi_idmap *users,
                             const cwi_idmap *items, cwi_pairs *out);

/* Keep the first of equal pairs, with a warning that names the file. */
cw_status cwi_pairs_drop_repeats(cw_context *ctx, const char *file, cwi_bounds bounds,
                                 cwi_pairs *pairs);

/* A file that cwi_pairs_write wrote. */
extern const cwi_file_kind cwi_pairs_kind;

/* Write pairs to a file; hash may be NULL. */
cw_status cwi_pairs_write(cw_context *ctx, const char *path, const cwi_pairs *pairs,
                          char hash[CWI_HASH_BYTES]);

#endif

/* store.h - dataset folders, for the other stages of the library. */
#ifndef CWI_PREPARE_STORE_H
#define CWI_PREPARE_STORE_H

#include "core/file.h"
#include "import/source.h"
#include "prepare/dataset.h"

/* cw_dataset_load_with within a public call that has begun. */
cw_status cwi_store_load(cw_context *ctx, const char *folder, const char *train_file,
                         cw_dataset **out);

/* All of a dataset folder but its rows and its truth, for who takes rows in another way.  rows: how
 * many dataset.json says that each part has; -1 where it does not say.  files: grows by the
 * checksums of the files that it lists.  *out is NULL, and nothing
 * was wrong, where ids have no files: all rows must be read to know what ids there are. */
cw_status cwi_store_load_frame(cw_context *ctx, const char *folder, int64_t rows[CWI_PARTS],
                               cwi_digest *files, cw_dataset **out);

/* The name of the file of a part where it is not compressed. */
const char *cwi_store_part_name(int part);

/* The rows of a part, to be read by cwi_pairs_each; NULL: there is no such file. */
cw_status cwi_store_open_part(cw_context *ctx, const char *folder, int part, cwi_source **out);

/* A folder that cw_dataset_save made. */
extern const cwi_folder_kind cwi_dataset_kind;

#endif

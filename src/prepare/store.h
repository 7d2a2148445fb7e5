/* store.h - dataset folders, for the other stages of the library. */
#ifndef CWI_PREPARE_STORE_H
#define CWI_PREPARE_STORE_H

#include "core/file.h"
#include "prepare/dataset.h"

/* cw_dataset_load_with within a public call that has begun. */
cw_status cwi_store_load(cw_context *ctx, const char *folder, const char *train_file,
                         cw_dataset **out);

/* A folder that cw_dataset_save made. */
extern const cwi_folder_kind cwi_dataset_kind;

#endif

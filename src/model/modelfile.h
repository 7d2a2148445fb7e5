/* modelfile.h - models as safetensors files; docs/models.md lists tensors and metadata. */
#ifndef CWI_MODEL_MODELFILE_H
#define CWI_MODEL_MODELFILE_H

#include "core/file.h"
#include "model/model.h"

/* A model from the bytes of a file, which are borrowed for the call and aligned to 8 bytes.  name
 * is for messages. */
cw_status cwi_model_parse(cw_context *ctx, const char *name, const void *bytes, size_t length,
                          cw_model **out);

/* Everything into a file that is open; path is for messages. */
cw_status cwi_model_put(cw_context *ctx, const cw_model *model, const char *path,
                        cwi_writer *writer);

/* Files that cw_model_save wrote, the record of a run, and folders of cw_model_export. */
extern const cwi_file_kind cwi_model_kind, cwi_record_kind;
extern const cwi_folder_kind cwi_export_kind;

#endif

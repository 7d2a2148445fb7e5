/* modelfile.h - models as safetensors files; docs/models.md lists tensors and metadata. */
#ifndef CWI_MODEL_MODELFILE_H
#define CWI_MODEL_MODELFILE_H

#include "model/model.h"

/* A model from the bytes of a file, which are borrowed for the call and aligned to 8 bytes.  name
 * is for messages. */
cw_status cwi_model_parse(cw_context *ctx, const char *name, const void *bytes, size_t length,
                          cw_model **out);

/* A name made of letters, digits, '.', '_' and '-' that does not begin with a dot, so that it can
 * be the name of a file. */
bool cwi_is_plain_name(const char *name);

#endif

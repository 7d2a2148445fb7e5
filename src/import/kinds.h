/* kinds.h - files of other kinds: what they are, and how they become text. */
#ifndef CWI_IMPORT_KINDS_H
#define CWI_IMPORT_KINDS_H

#include "import/source.h"

/* Fails with what the file is and the line that converts it, when its first bytes tell; else
 * CW_OK. */
cw_status cwi_kinds_refuse(cw_context *ctx, const cwi_source *source, const char *bytes,
                           size_t length);

#endif

/* idfile.h - files that give raw ids their numbers: header id,idx, then one id a line. */
#ifndef CWI_IMPORT_IDFILE_H
#define CWI_IMPORT_IDFILE_H

#include "core/file.h"
#include "import/idmap.h"
#include "import/source.h"

/* Read a whole id file.  Its numbers must be 0..n-1, each once, in any order. */
cw_status cwi_idfile_read(cw_context *ctx, cwi_source *source, cwi_idmap *out);

/* Write one; ids with a comma, a quote or a line end are quoted.  hash may be NULL. */
cw_status cwi_idfile_write(cw_context *ctx, const char *path, const cwi_idmap *map,
                           char hash[CWI_HASH_BYTES]);

#endif

/* wide.h - text in UTF-16, which some programs write, becomes UTF-8. */
#ifndef CWI_IMPORT_WIDE_H
#define CWI_IMPORT_WIDE_H

#include "import/codec.h"

enum { CWI_WIDEST = 4 /* bytes of the longest character, in either form */ };

/* The byte order of text that begins with a UTF-16 byte order mark. */
typedef enum cwi_wide { CWI_WIDE_NONE, CWI_WIDE_LITTLE, CWI_WIDE_BIG } cwi_wide;

cwi_wide cwi_wide_find(const char *text, size_t length);

/* Move forward through in and out, where there is room for a character.  False: no UTF-16. */
bool cwi_wide_decode(cwi_wide order, cwi_span *in, cwi_span *out);

#endif

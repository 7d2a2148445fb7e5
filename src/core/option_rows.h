/* option_rows.h - rows of option tables; only for the files that define one. */
#ifndef CWI_CORE_OPTION_ROWS_H
#define CWI_CORE_OPTION_ROWS_H

#include "core/options.h"

/* clang-format off */
#define CWI_ROW_NUMBER(id, type, text, low, low_open, high, high_open, about)                      \
    {.name = id, .kind = type, .preset = text, .minimum = low, .minimum_is_open = low_open,        \
     .maximum = high, .maximum_is_open = high_open, .help = about}

/* Whole numbers and numbers from low to high; both, or only the lower end, not included. */
#define WHOLE(id, text, low, high, about) CWI_ROW_NUMBER(id, CW_OPTION_INTEGER, text, low, false, high, false, about)
#define REAL(id, text, low, high, about) CWI_ROW_NUMBER(id, CW_OPTION_REAL, text, low, false, high, false, about)
#define REAL_BETWEEN(id, text, low, high, about) CWI_ROW_NUMBER(id, CW_OPTION_REAL, text, low, true, high, true, about)
#define REAL_ABOVE(id, text, low, high, about) CWI_ROW_NUMBER(id, CW_OPTION_REAL, text, low, true, high, false, about)

/* One of "a|b|c", any text, on or off (off unless given). */
#define WORD(id, text, words, about) {.name = id, .kind = CW_OPTION_CHOICE, .preset = text, .choices = words, .help = about}
#define TEXT(id, text, about) {.name = id, .kind = CW_OPTION_TEXT, .preset = text, .help = about}
#define FLAG(id, about) {.name = id, .kind = CW_OPTION_FLAG, .preset = "off", .help = about}

/* Seeds are the same everywhere. */
#define SEED(about) WHOLE("seed", "0", 0, 4294967295.0, about)
/* clang-format on */

#endif

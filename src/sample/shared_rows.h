/* shared_rows.h - options of several samplers, written once; only for the files that list them. */
#ifndef CWI_SAMPLE_SHARED_ROWS_H
#define CWI_SAMPLE_SHARED_ROWS_H

#include "core/option_rows.h"

#define NEGATIVES_OF_POSITIVE                                                                      \
    WHOLE("neg", "1", 1, 64, "negatives of a positive, all different if there are enough")

#define NEGATIVE_PAIRS                                                                             \
    WORD("negatives", "pairs", "pairs|user",                                                       \
         "pairs that were not observed are drawn from all of them, or of the user of each "        \
         "observed pair")

#define PROPENSITIES                                                                               \
    REAL("propensity-power", "", 0, 100,                                                           \
         "an item is seen with propensity (its train rows / those of the most popular one) to "    \
         "this power; tuned when not given"),                                                      \
        TEXT("propensity", "",                                                                     \
             "a file of propensities instead: header item,propensity, then a line for every item " \
             "with its raw id")

#endif

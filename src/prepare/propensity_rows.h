/* propensity_rows.h - options that weigh held-out rows; only for the files that list them. */
#ifndef CWI_PREPARE_PROPENSITY_ROWS_H
#define CWI_PREPARE_PROPENSITY_ROWS_H

#include "core/option_rows.h"

/* Their names begin with `prefix`; evaluate/weights.h reads them. */
#define WEIGHING_ROWS(prefix, rows)                                                                \
    TEXT(prefix "propensity", "",                                                                  \
         "a file of how likely items were seen in " rows ", for the ips and snips metrics: "       \
         "header item,propensity, then a line for every item with its raw id"),                    \
        REAL(prefix "propensity-power", "", 0, 100,                                                \
             "the same without a file: (train rows of the item / those of the most popular one) "  \
             "to this power"),                                                                     \
        REAL(prefix "propensity-min", "0", 0, 1,                                                   \
             "smaller ones of these propensities count as this, which bounds what one row weighs " \
             "and biases the metrics a little; 0 leaves them alone")

#endif

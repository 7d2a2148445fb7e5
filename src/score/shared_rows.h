/* shared_rows.h - options of several backbones or penalties, written once; only for the files that
 * list them. */
#ifndef CWI_SCORE_SHARED_ROWS_H
#define CWI_SCORE_SHARED_ROWS_H

#include "core/option_rows.h"

#define GRAPH_LAYERS                                                                               \
    WHOLE("layers", "3", 0, 16, "how many times vectors are passed on to neighbours")

#define SCORER                                                                                     \
    WORD("scorer", "dot", "dot|cosine",                                                            \
         "a score is the inner product of two vectors, or that of the vectors at length 1"),       \
        REAL_ABOVE("temperature", "1", 0, 1e6,                                                     \
                   "what scores are divided by in training; a low one makes the loss look at the " \
                   "items that come close")

#define REG_TARGET                                                                                 \
    WORD("reg-target", "base", "base|final",                                                       \
         "whether the L2 term is of the table or of the vectors after all layers; for dice the "   \
         "latter when not given")

#define WEIGHT_REG                                                                                 \
    REAL("weight-reg", "0", 0, 1e6,                                                                \
         "L2 coefficient of all parameters but the embeddings (half sum of squares); tuned for "   \
         "some methods")

#define DIS_PENALTY                                                                                \
    REAL("dis-penalty", "", 0, 1e6,                                                                \
         "how strongly the two vectors of an item are tied (cause) or the two halves of vectors "  \
         "are kept apart (dice); tuned when not given")

#endif

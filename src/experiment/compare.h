/* compare.h - options of stage "compare". */
#ifndef CWI_EXPERIMENT_COMPARE_H
#define CWI_EXPERIMENT_COMPARE_H

#include "core/options.h"

extern const cw_option_info cwi_compare_options[];

#endif

/* recommend.h - lists for people. */
#ifndef CWI_RECOMMEND_RECOMMEND_H
#define CWI_RECOMMEND_RECOMMEND_H

#include "core/options.h"

extern const cw_option_info cwi_recommend_options[];

#endif

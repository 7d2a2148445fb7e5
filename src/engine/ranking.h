/* ranking.h - where lists are made: by the CPU or by a GPU (device.c). */
#ifndef CWI_ENGINE_RANKING_H
#define CWI_ENGINE_RANKING_H

#include "score/ranker.h"

/* Who makes the lists of a ranker, of a model with this backbone: "auto", "cpu", "cuda" or
 * "cuda:N". A GPU is let go when the ranker is closed. */
cw_status cwi_device_serve(cw_context *ctx, const char *device, const char *backbone,
                           cwi_ranker *ranker);

/* Are lists of k made there?  CW_BAD_ARG if not, and somebody has asked for it. */
cw_status cwi_device_lists(cw_context *ctx, const char *device, int32_t k);

#endif

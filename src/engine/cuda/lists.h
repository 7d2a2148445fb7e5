/* lists.h - rankers whose lists a GPU makes, from vectors of the host. */
#ifndef CWI_ENGINE_CUDA_LISTS_H
#define CWI_ENGINE_CUDA_LISTS_H

#include "engine/cuda/cuda.h"
#include "score/ranker.h"

typedef struct cwi_lists cwi_lists;

/* The items of a ranker that cwi_ranker_is_sum go to the GPU of this number. */
cw_status cwi_lists_open(cw_context *ctx, const cwi_cuda_calls *calls, int device,
                         const cwi_ranker *ranker, cwi_lists **out);
void cwi_lists_close(cwi_lists *lists); /* accepts NULL */

/* Other items of the same shape. */
cw_status cwi_lists_renew(cw_context *ctx, cwi_lists *lists, const cwi_ranker *ranker);

/* From now on they make the lists of the ranker. */
void cwi_lists_serve(cwi_lists *lists, cwi_ranker *ranker);

/* What a call of the device said, as a status that nobody takes for a wish it does not fulfil. */
cw_status cwi_lists_fail(cw_context *ctx, cw_status status, const char *why);

/* What n users do not get, as a wish has it; in the pile. */
cw_status cwi_lists_gather(cw_context *ctx, const cwi_csr *mask, const int32_t *users, int32_t n,
                           cwi_pile *pile, const int64_t **start, const int32_t **value);

#endif

/* lister.h - lists on a device, as the engine and the calls of cuda.h see them. */
#ifndef CWI_ENGINE_CUDA_LISTER_H
#define CWI_ENGINE_CUDA_LISTER_H

#include "engine/cuda/cuda.h"

/* Tables that lie on the device and outlive the lister. */
typedef struct lister_tables {
    int device;
    int32_t n_items, width;
    const float *users, *items;
    const int64_t *start; /* what users had */
    const int32_t *value;
} lister_tables;

cw_status lister_over(const lister_tables *tables, cwi_cuda_lister **out, char *why);
cw_status lister_open(const cwi_cuda_catalog *catalog, cwi_cuda_lister **out, char *why);
cw_status lister_renew(cwi_cuda_lister *lister, const float *items, char *why);
int32_t lister_most_rows(const cwi_cuda_lister *lister, int32_t k);
cw_status lister_list(cwi_cuda_lister *lister, const cwi_cuda_wish *wish, char *why);
cw_status lister_measure(cwi_cuda_lister *lister, const cwi_cuda_wish *wish, cwi_cuda_held *held,
                         char *why);
void lister_close(cwi_cuda_lister *lister);

#endif

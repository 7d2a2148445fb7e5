/* request.h - what the options of stage "evaluate" ask for. */
#ifndef CWI_EVALUATE_REQUEST_H
#define CWI_EVALUATE_REQUEST_H

#include "core/options.h"

enum { CWI_MAX_KS = 16, CWI_MAX_DIALS = 64 };

/* In the order of the choices of the options. */
typedef enum cwi_held_out { CWI_HELD_TEST, CWI_HELD_VALID, CWI_HELD_UNIFORM } cwi_held_out;
typedef enum cwi_when { CWI_WHEN_AUTO, CWI_WHEN_ON, CWI_WHEN_OFF } cwi_when;

typedef struct cwi_request {
    cwi_held_out split;
    int32_t k[CWI_MAX_KS]; /* [n_ks]; the first is the main one */
    int32_t n_ks, k_max;
    int32_t n_groups;
    bool masks_valid;
    bool is_capped; /* Recall divides by min(K, held-out items) */
    int64_t n_resamples;
    double popularity;
    bool is_uniform;                         /* the held-out rows were shown uniformly */
    double propensity_power, propensity_min; /* 0 where they were not given */
    bool sweeps;
    double dial[CWI_MAX_DIALS]; /* [n_dials]; none: chosen from the spread of the scores */
    int32_t n_dials;
    cwi_when truth;
    uint64_t seed;
} cwi_request;

cw_status cwi_request_parse(cw_context *ctx, const cw_options *options, cwi_request *out);

#endif

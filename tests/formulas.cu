/* formulas.cu - all formulas of losses and samplers in kernels, as CUDA and as C++. */
#include "loss/bpr.c"
#include "loss/cause.c"
#include "loss/cpr.c"
#include "loss/dice.c"
#include "loss/fs.c"
#include "loss/pointwise.c"
#include "loss/softmax.c"
#include "loss/ubpr.c"
#include "sample/bpr_sampler.c"
#include "sample/cause_sampler.c"
#include "sample/cpr_sampler.c"
#include "sample/cross_sampler.c"
#include "sample/dice_sampler.c"
#include "sample/pointwise_sampler.c"
#include "sample/ubpr_sampler.c"
#include "sample/uniform_sampler.c"

#if defined(__CUDACC__)
#define KERNEL extern "C" __global__
#else
#define KERNEL extern "C"
#endif

/* A kernel of id_row, and one of id_draw: of all that are listed, so that their files must be
 * included above. */
#define LOSS(id)                                                                                   \
    KERNEL void take_##id(const double *setting, const float *score, int32_t width, float mark,    \
                          float *slope, double *value)                                             \
    {                                                                                              \
        *value = id##_row(setting, score, width, mark, 1.0f, slope);                               \
    }
#define SAMPLER(id)                                                                                \
    KERNEL void draw_##id(const void *state, uint64_t seed, uint64_t step, int64_t example,        \
                          int32_t *user, int32_t *item, float *mark, int64_t *tried,               \
                          int64_t *rows)                                                           \
    {                                                                                              \
        cwi_rng rng;                                                                               \
        cwi_rng_init(&rng, seed, CWI_RNG_SAMPLE, cwi_stream_number(step, example));                \
        *rows = id##_draw(state, 0, &rng, user, item, mark, tried);                                \
    }

#define weighted_draw pointwise_draw

CWI_LOSSES(LOSS)
CWI_SAMPLERS(SAMPLER)

KERNEL void take_rest(const double *setting, const float *score, int32_t width, float mark,
                      double *out)
{
    out[0] = bpr_margin(score, width);
    out[1] = cpr_margin(score, width);
    out[2] = wmf_mass(setting, mark);
}

/* samplers.cuh - copies of opened samplers, with all that they point to, in the memory of a device. */
#ifndef CWI_ENGINE_CUDA_SAMPLERS_CUH
#define CWI_ENGINE_CUDA_SAMPLERS_CUH

#include "engine/cuda/gpu.h"

#include "sample/bpr_sampler.c"
#include "sample/cause_sampler.c"
#include "sample/cpr_sampler.c"
#include "sample/cross_sampler.c"
#include "sample/dice_sampler.c"
#include "sample/pointwise_sampler.c"
#include "sample/ubpr_sampler.c"
#include "sample/uniform_sampler.c"

/* An array of the host on the device; NULL where there is none. */
template <typename T> static T *copy_array(gpu *g, const T *from, int64_t count)
{
    if (!from) return NULL;
    T *to = (T *)gpu_alloc(g, count, sizeof *from);
    gpu_put(g, to, from, (size_t)count * sizeof *from);
    gpu_wait(g); /* `from` may be a local */
    return to;
}

static void copy_csr(gpu *g, cwi_csr *csr)
{
    int64_t count = csr->start ? csr->start[csr->n_rows] : 0;
    csr->start = copy_array(g, csr->start, csr->n_rows + 1);
    csr->value = copy_array(g, csr->value, count);
}

static cwi_training *copy_training(gpu *g, const cwi_training *from)
{
    cwi_training t = *from;
    t.pair = copy_array(g, t.pair, t.count);
    copy_csr(g, &t.by_user);
    t.degree = copy_array(g, t.degree, t.n_items);
    t.propensity = copy_array(g, t.propensity, t.n_items);
    t.bits = copy_array(g, t.bits, t.bits ? (int64_t)1 << t.log_words : 0);
    return copy_array(g, &t, 1);
}

/* What a sampler has beside the plan and the interactions. */
static void copy_rest(gpu *g, bpr_state *s)
{
    s->users = copy_array(g, s->users, s->drawing.training ? s->n_users : 0);
}

static void copy_rest(gpu *g, cause_state *s)
{
    const cwi_training *all = s->drawing.training;
    const cwi_training *copies[CAUSE_SIDES] = {NULL, NULL};
    for (int side = 0; side < CAUSE_SIDES; side++)
        if (s->set[side] != all) copies[side] = copy_training(g, s->set[side]);
    cwi_training *whole = copies[0] && copies[1] ? NULL : copy_training(g, all);
    for (int side = 0; side < CAUSE_SIDES; side++)
        s->set[side] = copies[side] ? copies[side] : whole;
    memset(s->own, 0, sizeof s->own);
}

static void copy_rest(gpu *g, cross_state *s)
{
    s->excess = copy_array(g, s->excess, s->drawing.training->n_items);
}

static void copy_rest(gpu *g, dice_state *s)
{
    copy_csr(g, &s->by_degree);
    copy_csr(g, &s->holes);
}

static void copy_rest(gpu *g, cpr_state *s) { (void)g, (void)s; }
static void copy_rest(gpu *g, pointwise_state *s) { (void)g, (void)s; }
static void copy_rest(gpu *g, uniform_state *s) { (void)g, (void)s; }
static void copy_rest(gpu *g, cwi_drawing *s) { (void)g, (void)s; }

static cwi_drawing *drawing_of(cwi_drawing *s) { return s; }
template <typename T> static cwi_drawing *drawing_of(T *s) { return &s->drawing; }

template <typename T> static void *copy_sampler(gpu *g, const cwi_drawing *opened)
{
    T s = *(const T *)(const void *)opened;
    copy_rest(g, &s);
    drawing_of(&s)->training = copy_training(g, opened->training);
    drawing_of(&s)->kept = drawing_of(&s)->tried = NULL;
    return copy_array(g, &s, 1);
}

#endif

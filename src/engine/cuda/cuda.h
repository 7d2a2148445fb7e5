/*
 * cuda.h - what the library and its CUDA engine, a shared object of its own, say to each other.
 *
 * The engine is opened at run time from the folder that the library was installed in, so that one
 * build serves machines with and without a GPU.  It has nothing of the library but the formulas
 * that it compiles for the device: all it needs is in a cwi_cuda_task, all it does goes by the
 * calls below.  Calls return CW_OK, or another status with a sentence in `why`.
 */
#ifndef CWI_ENGINE_CUDA_CUDA_H
#define CWI_ENGINE_CUDA_CUDA_H

#include "loss/loss.h"
#include "optim/optimizer.h"
#include "sample/sampler.h"
#include "score/params.h"

enum { CWI_CUDA_VERSION = 3, CWI_CUDA_TEXT = 512, CWI_CUDA_MOST_DEVICES = 64 };

typedef struct cwi_cuda_device {
    char name[128];
    int major, minor; /* compute capability */
    int processors;
    int64_t bytes, free_bytes;
} cwi_cuda_device;

/* What the rule of an optimiser is called here, and what it keeps beside every parameter. */
typedef enum cwi_cuda_rule { CWI_CUDA_ADAM, CWI_CUDA_SGD, CWI_CUDA_ADAGRAD } cwi_cuda_rule;

/* Terms of the vectors of a batch. */
typedef enum cwi_cuda_penalty {
    CWI_CUDA_NO_PENALTY,
    CWI_CUDA_DICE_MSE,
    CWI_CUDA_DICE_L1,
    CWI_CUDA_CAUSE_L2,
    CWI_CUDA_CAUSE_L1,
    CWI_CUDA_CAUSE_L1_STOP
} cwi_cuda_penalty;

/* The graph of train, as in cwi_graph; no nodes: scores are of the table itself. */
typedef struct cwi_cuda_graph {
    int32_t n_nodes, layers;
    bool has_weights; /* NGCF: every layer has matrices of its own */
    const int64_t *start;
    const int32_t *neighbour;
    const float *weight, *turned;         /* of the transpose; NULL: the same */
    double message_dropout, node_dropout; /* shares that a step leaves out */
    uint64_t seed;
} cwi_cuda_graph;

/* A network on top of the two vectors of a slot, as in cwi_tower; no layers: scores are inner
 * products. */
enum { CWI_CUDA_MOST_LAYERS = 7 };
typedef struct cwi_cuda_tower {
    int32_t layers, size[CWI_CUDA_MOST_LAYERS]; /* of a head */
} cwi_cuda_tower;

/* Mult-VAE: rows of users instead of slots; no layers: it is something else. */
typedef struct cwi_cuda_vae {
    int32_t layers; /* of both halves; their tensors are weight and bias in turn */
    int32_t latent, batch;
    double keep, kl_cap, kl_steps;
    uint64_t seed;
    const cwi_csr *train;
} cwi_cuda_vae;

/* What is trained; borrowed while the engine is open, all in the memory of the host. */
typedef struct cwi_cuda_task {
    int device;
    const char *sampler, *loss; /* by name; "" where there is none */
    const cwi_drawing *drawing; /* the opened state of the sampler, or NULL */
    bool selects, per_group, by_group, by_difference;
    cwi_cuda_rule rule;
    int memories;
    bool steps_all; /* rows outside the batch too */
    int32_t n_users, n_items, heads, d;
    float scale;   /* of inner products */
    int n_tensors; /* the first is the table */
    struct {
        int64_t rows, columns;
        float decay;
    } tensor[CWI_MAX_TENSORS];
    cwi_cuda_tower tower;
    cwi_cuda_vae vae;
    double batch_reg; /* of the vectors of a batch; 0: none */
    bool pulls_table; /* of its rows of the table instead, where those differ */
    cwi_cuda_penalty penalty;
    double strength; /* of it */
    bool is_cosine;
    cwi_loss_grid grid; /* shape of batches that are grids; no rows: they are not */
    cwi_cuda_graph graph;
    float final_decay; /* of the vectors that the graph makes of the table */
} cwi_cuda_task;

/* Sums of an epoch, as in cwi_tally. */
typedef struct cwi_cuda_tally {
    int64_t trained, applied, bad;
    double data_loss, penalty;
    cwi_draws draws;
} cwi_cuda_tally;

typedef struct cwi_cuda cwi_cuda;

/* The parts of the state: parameters, then what the optimiser keeps, of every tensor. */
enum { CWI_CUDA_PARAMS = 0, CWI_CUDA_MEMORY = 1 };

/*
 *   count   how many devices there are
 *   look    at one of them
 *   open    everything but the values: an engine that `close` takes, also after a failure
 *   put     a part of the state of a tensor onto the device, from rows side by side
 *   get     the same from there
 *   begin   an epoch, or the rest of one: what the sampler has of it, what the loss has of it, and
 *           the sums so far
 *   squares the sum of squares of every tensor
 *   run     n steps from number `step` over all epochs on, which is step `first` of the epoch,
 *           counted from 1.  rate[k] is that of the k-th step of the optimiser from now on, and is
 *           borrowed until `tell`.  At most `most_steps` of them; so many as `next` may follow.
 *   tell    the sums so far, when all steps are made
 *   rank    vectors whose inner products are scores: [n_users][width] and [n_items][width]
 *   list    the k best items of n users by them, best first, equal ones by lower number, but for
 *           those of the interactions of train: item is [n][k], count [n], -1 where a score is no
 *           number.  CW_UNSUPPORTED for long lists, without a word.
 */
typedef struct cwi_cuda_calls {
    int version;
    const char *release; /* of crosswise */
    cw_status (*count)(int *out, char *why);
    cw_status (*look)(int device, cwi_cuda_device *out, char *why);
    cw_status (*open)(const cwi_cuda_task *task, cwi_cuda **out, char *why);
    int (*most_steps)(const cwi_cuda *engine);
    cw_status (*put)(cwi_cuda *engine, int part, int tensor, const float *from, char *why);
    cw_status (*get)(cwi_cuda *engine, int part, int tensor, float *to, char *why);
    cw_status (*begin)(cwi_cuda *engine, const cwi_drawing *drawing,
                       const double setting[CWI_LOSS_SETTINGS], const cwi_cuda_tally *tally,
                       char *why);
    cw_status (*squares)(cwi_cuda *engine, double *out, char *why);
    cw_status (*run)(cwi_cuda *engine, uint64_t step, int64_t first, int n, int next,
                     const cwi_rates *rate, char *why);
    cw_status (*tell)(cwi_cuda *engine, cwi_cuda_tally *out, char *why);
    cw_status (*rank)(cwi_cuda *engine, const float *users, const float *items, int32_t n_users,
                      int32_t n_items, int32_t width, char *why);
    cw_status (*list)(cwi_cuda *engine, const int32_t *users, int32_t n, int32_t k, int32_t *item,
                      int32_t *count, char *why);
    void (*close)(cwi_cuda *engine);
} cwi_cuda_calls;

/* The one name that the shared object has. */
#define CWI_CUDA_SYMBOL "cw_cuda_engine"
typedef const cwi_cuda_calls *(*cwi_cuda_find)(void);

#endif

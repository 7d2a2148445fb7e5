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
#include "score/hits.h"
#include "score/params.h"

enum {
    CWI_CUDA_VERSION = 5,
    CWI_CUDA_TEXT = 512,
    CWI_CUDA_MOST_DEVICES = 64,
    CWI_CUDA_MOST_LISTED = 256 /* items of a list */
};

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
    CWI_CUDA_DICE_DCOR,
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
    bool is_strict; /* no row may lack */
    cwi_cuda_rule rule;
    int memories;
    bool steps_all; /* rows outside the batch too */
    int32_t n_users, n_items, heads, d;
    int32_t first_listed, n_listed; /* items that lists are of, by rows of the table as they are;
                                       none: scores are something else */
    float scale;                    /* of inner products */
    int n_tensors;                  /* the first is the table */
    struct {
        int64_t rows, columns;
        float decay;
    } tensor[CWI_MAX_TENSORS];
    cwi_cuda_tower tower;
    cwi_cuda_vae vae;
    double batch_reg; /* of the vectors of a batch; 0: none */
    bool pulls_table; /* of its rows of the table instead, where those differ */
    cwi_cuda_penalty penalty;
    double strength;     /* of it */
    double spectral;     /* of the term on popularity; 0: none */
    const float *degree; /* [n_items] train rows, for that */
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
    int64_t lacking;   /* rows that were made where more were wanted; only where none may lack */
    int lacking_group; /* of which group, from 1 on; 0: none lacks */
} cwi_cuda_tally;

typedef struct cwi_cuda cwi_cuda;

/* Items to make lists of, all in the memory of the host. */
typedef struct cwi_cuda_catalog {
    int device;
    int32_t n_items, width;
    const float *items; /* [n_items][width] */
    const float *term;  /* [n_items] added to scores; NULL: nothing */
} cwi_cuda_catalog;

/* Lists that are wanted; all in the memory of the host. */
typedef struct cwi_cuda_wish {
    int32_t n, k;
    const int32_t *users; /* [n] rows of the engine's table; of a lister of its own, NULL */
    const float *vectors; /* [n][width] where that is NULL */
    const int64_t *start; /* [n + 1] of what each of them does not get in `value`; NULL: what they
                             had in training */
    const int32_t *value;
    const double *tilt;    /* [n_items] added to scores at last; NULL: nothing */
    int32_t *item, *count; /* [n][k], [n] */
} cwi_cuda_wish;

/* What was held out for those of a wish, to measure their lists by. */
typedef struct cwi_cuda_held {
    const void *key; /* what has the same one is the same, with its wish; NULL: has none */
    int32_t n_users;
    const int64_t *start;                                   /* [n_users + 1] */
    const int32_t *value;                                   /* ascending */
    const int64_t *degree;                                  /* [n_items] */
    const double *discount, *ideal;                         /* [k + 1] of places, and their sums */
    double over[CWI_PLACE_VALUES], under[CWI_PLACE_VALUES]; /* added to, user by user */
} cwi_cuda_held;

typedef struct cwi_cuda_lister cwi_cuda_lister;

/* The parts of the state: parameters, then what the optimiser keeps, of every tensor; and the
 * parameters that were kept, which can be read alone. */
enum { CWI_CUDA_KEPT = -1, CWI_CUDA_PARAMS = 0, CWI_CUDA_MEMORY = 1 };

/*
 *   count   how many devices there are
 *   look    at one of them
 *   open    everything but the values: an engine that `close` takes, also after a failure
 *   put     a part of the state of a tensor onto the device, from rows side by side
 *   get     the same from there
 *   keep    the parameters as they are now.  CW_UNSUPPORTED without a word where there is no room
 *   begin   an epoch, or the rest of one: what the sampler has of it, what the loss has of it, and
 *           the sums so far
 *   squares the sum of squares of every tensor
 *   run     n steps from number `step` over all epochs on, which is step `first` of the epoch,
 *           counted from 1.  rate[k] is that of the k-th step of the optimiser from now on, and is
 *           borrowed until `tell`.  At most `most_steps` of them; so many as `next` may follow.
 *   tell    the sums so far, when all steps are made
 *   lister  that of an engine, of the parameters as they are now; borrowed.  CW_UNSUPPORTED without
 * a word where scores are not inner products of its table, or there is no room. look_up one of its
 * own, to be closed; items are copied renew   other items of the same shape most_rows  of a wish
 * for lists of k, to a lister of its own list    the k best items of each, best first, equal ones
 * by lower number; count is -1 where a score is no number measure the same lists, of which nothing
 * is kept but what held says; CW_BAD_DATA without a word where a score is no number
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
    cw_status (*keep)(cwi_cuda *engine, char *why);
    cw_status (*begin)(cwi_cuda *engine, const cwi_drawing *drawing,
                       const double setting[CWI_LOSS_SETTINGS], const cwi_cuda_tally *tally,
                       char *why);
    cw_status (*squares)(cwi_cuda *engine, double *out, char *why);
    cw_status (*run)(cwi_cuda *engine, uint64_t step, int64_t first, int n, int next,
                     const cwi_rates *rate, char *why);
    cw_status (*tell)(cwi_cuda *engine, cwi_cuda_tally *out, char *why);
    cw_status (*lister)(cwi_cuda *engine, cwi_cuda_lister **out, char *why);
    cw_status (*look_up)(const cwi_cuda_catalog *catalog, cwi_cuda_lister **out, char *why);
    cw_status (*renew)(cwi_cuda_lister *lister, const float *items, char *why);
    int32_t (*most_rows)(const cwi_cuda_lister *lister, int32_t k);
    cw_status (*list)(cwi_cuda_lister *lister, const cwi_cuda_wish *wish, char *why);
    cw_status (*measure)(cwi_cuda_lister *lister, const cwi_cuda_wish *wish, cwi_cuda_held *held,
                         char *why);
    void (*close_lister)(cwi_cuda_lister *lister);
    void (*close)(cwi_cuda *engine);
} cwi_cuda_calls;

/* The one name that the shared object has. */
#define CWI_CUDA_SYMBOL "cw_cuda_engine"
typedef const cwi_cuda_calls *(*cwi_cuda_find)(void);

#endif

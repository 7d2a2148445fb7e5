/* nets.h - the backbones as formulas on a tape. */
#ifndef CWI_ENGINE_NETS_H
#define CWI_ENGINE_NETS_H

#include "engine/host.h"
#include "engine/ref/tape.h"
#include "score/ngcf_net.h"
#include "score/vae.h"

enum { CWI_REF_HEADS = 2 };

/* What a step computes. */
typedef struct cwi_net {
    cwi_tape tape;
    cwi_node *leaf[CWI_MAX_TENSORS];
    cwi_node *vectors;              /* of all nodes, as penalties see them */
    cwi_node *score[CWI_REF_HEADS]; /* [slots][1] of each head */
    cwi_node *cross;                /* a grid: [rows][columns] of its users and items */
    cwi_node *logits, *code;        /* Mult-VAE: of its users; mean and log variance */
} cwi_net;

/* What backbones need of the data. */
typedef struct cwi_net_data {
    cwi_graph graph;   /* where there are layers */
    cwi_graph thinned; /* weights that node dropout leaves of it */
    int64_t *next;     /* scratch of thinning */
    uint8_t *gone;     /* [heads][nodes][width] message dropout */
} cwi_net_data;

cw_status cwi_net_open(const cwi_host *host, cwi_net_data *out);
void cwi_net_close(cwi_net_data *data);

/* Scores of a batch, or the logits of the users that the Mult-VAE has drawn. */
cw_status cwi_net_forward(const cwi_host *host, cwi_net_data *data, const cwi_batch *batch,
                          cwi_net *out);

#endif

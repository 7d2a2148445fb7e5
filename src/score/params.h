/* params.h - the numbers that training finds: a short list of named float matrices. */
#ifndef CWI_SCORE_PARAMS_H
#define CWI_SCORE_PARAMS_H

#include "core/far.h"
#include "core/mem.h"

enum { CWI_MAX_TENSORS = 132, CWI_TENSOR_NAME_BYTES = 32 };

/* How the trainer sets first values. */
typedef enum cwi_init {
    CWI_INIT_XAVIER, /* U(-b, b), b = sqrt(6 / (rows + columns)) */
    CWI_INIT_TABLE,  /* as the option "init" says: users first, then items */
    CWI_INIT_TINY    /* normal with standard deviation 0.001, cut at two of them */
} cwi_init;

typedef struct cwi_tensor {
    char name[CWI_TENSOR_NAME_BYTES];
    int64_t rows, columns;
    float *data;   /* [rows][columns] */
    cwi_init init; /* set by who declares it; Xavier unless told */
    cwi_far
        *far;    /* its rows lie in a file, and `data` has those that were read; NULL: it has all */
    float decay; /* its L2 term is decay / 2 times its sum of squares; 0 unless told */
} cwi_tensor;

/* Tensor 0 is the embedding table of a backbone that has one: users first, then items. */
typedef struct cwi_params {
    int count;
    bool is_plan; /* only shapes are asked for: tensors have no data */
    cwi_tensor tensor[CWI_MAX_TENSORS];
} cwi_params;

size_t cwi_tensor_bytes(const cwi_tensor *tensor); /* of its values */

/* Append a zeroed tensor; borrowed pointer in *out (may be NULL). */
cw_status cwi_params_add(cw_context *ctx, cwi_params *params, const char *name, int64_t rows,
                         int64_t columns, cwi_tensor **out);

/* Append one whose rows lie in a file, and which from now on frees it. */
cw_status cwi_params_add_far(cw_context *ctx, cwi_params *params, cwi_far *far);

/* Read what still lies in files. */
cw_status cwi_params_complete(cw_context *ctx, const cwi_params *params);

/* The tensor of that name, or NULL. */
const cwi_tensor *cwi_params_find(const cwi_params *params, const char *name);

/* The tensor of that name, which must be there and have these rows and columns (0: any, at least
 * one): a backbone asks this way before it ranks by parameters that came from a file. */
cw_status cwi_params_expect(cw_context *ctx, const cwi_params *params, const char *name,
                            int64_t rows, int64_t columns, const cwi_tensor **out);

/* New tensors of the same names, shapes and values. */
cw_status cwi_params_copy(cw_context *ctx, const cwi_params *from, cwi_params *out);

/* Room for the gradients of all tensors but the first, in the pile. */
void cwi_params_gradients(cw_context *ctx, const cwi_params *params, cwi_pile *pile,
                          float *whole[CWI_MAX_TENSORS]);

/* Overwrite values; shapes must be equal. */
void cwi_params_assign(cwi_params *to, const cwi_params *from);

void cwi_params_clear(cwi_params *params); /* a zeroed one is fine */

#endif

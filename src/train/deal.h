/*
 * deal.h - a dataset folder of which each of many processes keeps the rows of its users.
 *
 * Every process reads all files, some rows at a time, and keeps its own.  What a training asks of
 * all rows (their number, checksum and extent) is found together, on the way.
 */
#ifndef CWI_TRAIN_DEAL_H
#define CWI_TRAIN_DEAL_H

#include "core/options.h"
#include "prepare/dataset.h"

/* *out is NULL, and nothing was wrong, where every process has to keep all rows: this training
 * looks at them in other ways, or the folder does not say enough of itself.  All processes of the
 * context call it together. */
cw_status cwi_deal_load(cw_context *ctx, const char *folder, const char *train_file,
                        const cw_options *options, cw_dataset **out);

#endif

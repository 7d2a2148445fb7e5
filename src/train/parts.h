/* parts.h - the state of a training by many processes, in a file for the rows of each. */
#ifndef CWI_TRAIN_PARTS_H
#define CWI_TRAIN_PARTS_H

#include "model/tensorfile.h"
#include "train/train.h"

/* What a part is known by beside its name: its checksum, in so many digits. */
enum { CWI_PART_SUM = CWI_CHECKSUM_DIGITS };

/* Write the rows of this process; when it returns, all processes have written theirs.  sums: those
 * of all parts side by side, to be freed also after a failure. */
cw_status cwi_parts_write(cwi_trainer *t, cwi_array *arrays, size_t n, char **sums);

/* Once the checkpoint is there: remove parts that do not go with it. */
void cwi_parts_sweep(const cwi_trainer *t, int parts);

/* Remove those of this place in training, for which no checkpoint came about. */
void cwi_parts_withdraw(const cwi_trainer *t);

/* Remove all parts of a checkpoint. */
void cwi_parts_remove(const char *checkpoint);

/* Where arrays come from: a checkpoint that is whole, which is its only part, or one of its parts.
 */
typedef struct cwi_parts_source {
    const cwi_tensorfile *file;
    const char *path;
    int part, parts; /* from 0 on */
} cwi_parts_source;

/* Rows of the array of that name that this process has, to to->data. */
cw_status cwi_parts_take(cwi_trainer *t, const cwi_parts_source *source, const cwi_array *to);

/* Call fn with every part of the checkpoint whose counters the trainer has taken; sums are those
 * that it names. */
typedef cw_status (*cwi_parts_fn)(cwi_trainer *t, const cwi_parts_source *source, void *arg);
cw_status cwi_parts_each(cwi_trainer *t, int parts, const char *sums, cwi_parts_fn fn, void *arg);

#endif

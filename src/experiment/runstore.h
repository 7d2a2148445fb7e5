/*
 * runstore.h - the folder of an experiment: one file per finished run, safe against kills.
 *
 *   experiment.lock       held while a process works here
 *   experiment.json       the plan that was last run here
 *   runs/NAME.json        a finished run; NAME ends in a hash of data and options, so that the same
 *                         run is found again, whichever plan asks for it; signed, with its NAME
 *   runs/NAME.checkpoint  a run under way
 *   data/HASH.json        description of a dataset
 */
#ifndef CWI_EXPERIMENT_RUNSTORE_H
#define CWI_EXPERIMENT_RUNSTORE_H

#include <jansson.h>

#include "core/file.h"

typedef struct cwi_runstore {
    char *folder;
    int lock; /* -1: not open */
} cwi_runstore;

/* Make the folder when there is none, and take its lock.  CW_IO when another process has it, or
 * when the folder holds something else.  Close it also after a failure. */
cw_status cwi_runstore_open(cw_context *ctx, const char *folder, cwi_runstore *out);
void cwi_runstore_close(cwi_runstore *store);

/* "FOLDER/NAME", newly allocated. */
char *cwi_runstore_path(cw_context *ctx, const cwi_runstore *store, const char *format, ...)
    CWI_PRINTF(3, 4);

/* A record, runs/NAME.json or data/NAME.json, as a new object; NULL when it is not there.  One that
 * is damaged, or lies under the name of another, is refused. */
cw_status cwi_runstore_read(cw_context *ctx, const cwi_runstore *store, const char *kind,
                            const char *name, json_t **out);

/* Write a record, which is released, and read it back: this process and the next shall see the same
 * digits. */
cw_status cwi_runstore_keep(cw_context *ctx, const cwi_runstore *store, const char *kind,
                            const char *name, json_t *record, json_t **out);

/* Write a file of the folder. */
cw_status cwi_runstore_write(cw_context *ctx, const cwi_runstore *store, const char *file,
                             const char *text);

/* Remove the files among the runs whose names are unwanted. */
void cwi_runstore_remove(cw_context *ctx, const cwi_runstore *store,
                         bool (*is_unwanted)(const char *name));

/* Remove every checkpoint and what killed processes left: nothing is under way any more. */
void cwi_runstore_sweep(cw_context *ctx, const cwi_runstore *store);

/* All is done: write results.json, signed, and sweep.  json, when given, gets the text. */
cw_status cwi_runstore_finish(cw_context *ctx, const cwi_runstore *store, json_t *results,
                              char **json);

#endif

/* device.h - where a task is trained: the CPU or a GPU. */
#ifndef CWI_ENGINE_DEVICE_H
#define CWI_ENGINE_DEVICE_H

#include "engine/engine.h"

enum { CWI_DEVICE_TEXT = 512 };

/* What --device stands for: a GPU by its number from 1 on, the processes of this one, or neither.
 */
cw_status cwi_device_choose(cw_context *ctx, cwi_task *task);

/* Can the task be trained on a GPU, were there one?  If not, `why` says so. */
bool cwi_cuda_trains(const cwi_task *task, char why[CWI_DEVICE_TEXT]);

/* The same of many processes. */
bool cwi_mpi_trains(const cwi_task *task, char why[CWI_DEVICE_TEXT]);

#endif

/* tune.h - what the parts of the tune command share. */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli.h"

/* tune_page.c: the results of cw_tune as the JSON of a page; NULL: no memory.
 *   name     of the model, for the commands that it shows
 *   command  as it was typed, and date when it ended, for people */
json_t *tune_page(const json_t *results, const char *name, const char *command, const char *date);

/* cmd_tune.c: race, keep the best under a plain name and write the page; for `train --tune`, too.
 *   options, import, prepare   of these stages
 *   refits   train the winner once more on all rows of a log
 *   force    replace files that are not ours, too */
typedef struct tune_order {
    cli_call *call;
    cw_options *options, *import, *prepare;
    const char *name; /* NAME or NAME.safetensors */
    bool refits, force;
    int argc;
    char **argv;
} tune_order;

cw_status tune_carry_out(const tune_order *order);

/* The same with the options of stage "train" in order->options: what was given holds for all
 * trials. */
cw_status tune_instead(const tune_order *order);

#endif

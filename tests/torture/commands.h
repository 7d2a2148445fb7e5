/* commands.h - the commands that are disturbed, and what each starts from. */
#ifndef TORTURE_COMMANDS_H
#define TORTURE_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct command {
    const char *name;
    const char *uses;   /* files and folders of the world it starts with */
    const char *before; /* a command that ran before, NULL for none */
    const char *words;
    const char *again; /* what goes on after a kill; NULL: the same */
    const char *rival; /* what another process wants in the same place; NULL: the same */
    const char *whole; /* a folder that is old or new as a whole */
    const char *pair;  /* MODEL and record of the same run: PAIR.safetensors, PAIR.run.json */
    bool has_plugins;  /* librsvg may be loaded; then memory is not for it */
    bool is_many;      /* --device mpi; the loader, which fails in its own words, is not tried */
    long most;         /* cases of an area, evenly chosen, for a slow command; 0: all */
} command;

extern const command commands[];
extern const size_t n_commands;

/* Calls that must be refused and change nothing; only uses, before and words. */
extern const command refused[];
extern const size_t n_refused;

/* Text files of the world, and then the commands that make the rest of it. */
typedef struct world_file {
    const char *path, *text;
} world_file;

extern const world_file world_files[];
extern const char *const world_commands[];
char *make_log(void); /* log.csv, newly allocated */

#endif

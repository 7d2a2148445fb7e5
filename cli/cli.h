/* cli.h - what the commands share: flags, messages, tables. */
#ifndef CLI_H
#define CLI_H

#include <crosswise/crosswise.h>
#include <jansson.h>
#include <stdio.h>

/* Exit codes; CLI_SIGNAL + n is the end by signal n, as a shell would say it. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_SIGNAL = 128 };

/* A flag of the command itself; flags of the library's stages come from their option tables. */
typedef struct cli_flag {
    const char *name;
    const char *value; /* what follows it, for the help; NULL for a flag that is on or off */
    const char **text; /* where its value goes, or */
    bool *on;          /* true when it is given */
    const char *help;
} cli_flag;

enum { CLI_MAX_STAGES = 3 };

typedef struct cli_command {
    const char *name;
    const char *summary;                    /* one line for the list of commands */
    const char *usage;                      /* what follows the name */
    const char *details;                    /* a paragraph or two, with examples */
    const char *stages[CLI_MAX_STAGES + 1]; /* whose options it takes; ends with NULL */
    int (*run)(const struct cli_command *command, int argc, char **argv);
} cli_command;

/* All commands, ending with NULL. */
extern const cli_command *const cli_commands[];

/* One run of a command. */
typedef struct cli_call {
    const cli_command *command;
    cw_context *ctx;
    cw_options *options[CLI_MAX_STAGES]; /* of command->stages */
    char **inputs;                       /* what is not a flag, [n_inputs] */
    size_t n_inputs;
    bool json, quiet;
    char note[96];         /* what the live line shows beside its bar */
    int64_t before, whole; /* of a call that is a part of many: what is done, of what; see
                              cli_show_part */
    int rank, processes;   /* of --device mpi; one without */
    int errors;            /* where standard error was, of a process that says nothing; or -1 */
    const char *threads;   /* as typed, NULL when not given */
    const char *isa;       /* the same */
    /* Every flag of the command itself that came with a value, in order, [n_given]. */
    struct {
        const char *name, *value;
    } * given;
    size_t n_given;
} cli_call;

/* The flags that every command takes, ending with a row of zeros. */
enum { CLI_N_COMMON = 5 };
void cli_common_flags(cli_call *call, cli_flag out[CLI_N_COMMON]);

/*
 * Start a run: make the context, read the flags (ends with a row of zeros).  Returns -1 to go on,
 * or an exit code after help or an error was printed.  cli_end must follow in either case.
 */
int cli_begin(cli_call *call, const cli_command *command, int argc, char **argv,
              const cli_flag *flags);

/* Release everything and return the exit code: that of cli_begin when it was one, else that of
 * status, whose reason is printed when it is no success. */
int cli_end(cli_call *call, int code, cw_status status);

/* All values of a flag that may be given several times, into out, which has room for
 * call->n_given; returns how many.  (The flag's own `text` holds the last one.) */
size_t cli_values(const cli_call *call, const char *name, const char **out);

/* What cannot be looked at is taken for a folder: reading one says why. */
bool cli_is_folder(const char *path);

/* The only input: a dataset folder as it is; anything else is imported and split first.
 *   train_file  of a folder, in place of train.csv; NULL: that */
cw_status cli_load(cli_call *call, const cw_options *import, const cw_options *prepare,
                   const char *train_file, cw_dataset **out);

/* The name of what lies beside a model: MODEL.safetensors -> MODEL.run.json; to be freed. */
char *cli_with_ending(const char *path, const char *ending);

/* May these be written by a command that reads call->inputs and others?  NULL and "" among the
 * latter are left out.  CW_BAD_ARG when one would replace another or what is read. */
cw_status cli_compare_files(cli_call *call, const char *const *outputs, size_t n_outputs,
                            const char *const *others, size_t n_others);

/* Says that there is no memory; returns the exit code. */
int cli_lack_memory(void);

/* Print a usage error and how to get help; returns the exit code. */
int cli_misuse(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- memory.c: --memory and --temp ------------------------------------------- */

typedef struct cli_memory {
    const char *size, *folder; /* as typed, NULL when not given */
    int64_t bytes;
} cli_memory;

#define CLI_MEMORY_FLAGS(m)                                                                        \
    {"memory", "SIZE", &(m)->size, NULL,                                                           \
     "memory for rows and ids, such as 2G; rows beyond it go to files that vanish with the "       \
     "command, and the result is the same; half of what is free unless given, 0 puts all rows "    \
     "into files"},                                                                                \
    {                                                                                              \
        "temp", "DIR", &(m)->folder, NULL, "folder for these files; that of --out unless given"    \
    }

/* Reads the size; returns -1 to go on, or an exit code. */
int cli_check_memory(const cli_command *command, cli_memory *memory);

/* Tells the context of a command that writes to out. */
cw_status cli_set_memory(cli_call *call, const cli_memory *memory, const char *out);

/* ---- progress.c: what a person sees while waiting ------------------------- */

void cli_watch(cli_call *call); /* route log, progress and signals of the context */
void cli_clear_line(void);      /* remove the live line */
/* From now on a call on the context does a part of `whole`, of which this much is done. */
void cli_show_part(cli_call *call, int64_t before, int64_t whole);
/* The signal that asks the command to stop, 0 while there is none. */
int cli_signal(void);
/* Wait until there is something to read, but not beyond a signal to stop: then it is false. */
bool cli_await_input(int file);

/* ---- screen.c: what may reach a terminal ------------------------------------ */

enum { CLI_LINE_BYTES = 2048 };

bool cli_guard_streams(void); /* false: no memory */
void cli_erase_line(void);    /* what the line of standard error shows */
/* A message that is one line, whatever names it quotes. */
const char *cli_one_line(const char *text, char out[CLI_LINE_BYTES]);

/* ---- help.c ---------------------------------------------------------------- */

/* Whose options of training the help shows beside the common ones; "": nobody's. */
typedef struct cli_topic {
    const char *method, *backbone;
} cli_topic;

void cli_print_help(const cli_command *command, const cli_flag *flags, const cli_topic *topic);
/* The options of a stage alone. */
void cli_print_stage(const char *stage);
void cli_print_overview(FILE *out);
/* The known word nearest to a mistyped one, or NULL. */
const char *cli_nearest(const char *typed, const char *const *words, size_t n_words);

/* ---- lines.c ---------------------------------------------------------------- */

/* The lines of a text file ("-": standard input) without their ends; empty ones are left out.
 * There are bounds for lines, a line and all, so that no input takes all memory. */
typedef struct cli_lines {
    char *text;
    const char **line; /* [count] */
    size_t count;
} cli_lines;

/* Says on standard error why it failed; returns -1 to go on, or an exit code.  Of many processes
 * the first one alone has standard input, and hands it on. */
int cli_read_lines(const cli_call *call, const char *path, cli_lines *out);
void cli_free_lines(cli_lines *lines); /* a zeroed one is fine */

/* ---- json.c ----------------------------------------------------------------- */

void cli_init_json(void);    /* before any other use of JSON */
bool cli_lacks_memory(void); /* has a JSON value found no memory? */

/* JSON that the library has made, as a new value, without what signs it. */
json_t *cli_parse(const char *text);

/* A JSON file of the user's; NULL: *error says why. */
json_t *cli_parse_file(const char *path, json_error_t *error);

/* A value as text, to be freed; NULL once any value has found no memory. */
char *cli_print_json(const json_t *value, size_t flags);

/* A value of an object: 0 when it has no such number, "" when no such text. */
double cli_number(const json_t *object, const char *key);
const char *cli_text_of(const json_t *object, const char *key);

/* A result, which is taken over, as the last event, on one line like the others. */
void cli_print_done(json_t *result);

/* "1,234 items with 3-7 rows": a popularity group of an evaluation. */
json_t *cli_group_label(const json_t *group);

/* ---- table.c ---------------------------------------------------------------- */

/* 1234567 as 1,234,567. */
const char *cli_thousands(json_int_t value, char out[32]);

/* The table of metrics in the order in which a run is read: the main ones, the others, then those
 * of which less is better.  NULL past the last. */
const cw_metric_info *cli_metric(size_t index);

/* Describe a dataset on standard output: a table, or JSON when that was asked for. */
cw_status cli_show_dataset(const cli_call *call, const char *title, const cw_dataset *dataset);

#endif

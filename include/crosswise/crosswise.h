/*
 * crosswise.h - recommenders free of popularity bias: the whole public interface.
 *
 * The sections follow the flow of data: a context, options, interactions from
 * raw files, datasets split for a debiased evaluation, simulated datasets.
 *
 * Rules that hold everywhere:
 *  - A call that can fail returns cw_status; results come through the last
 *    pointers, which are set to NULL or 0 on failure.
 *  - The reason of a failure is one sentence in the context.
 *  - Who creates frees; every free function accepts NULL.
 *  - The library never prints, exits or changes global state; cw_use_isa is the one
 *    setting that all contexts share.
 *  - One context per thread.  Interactions, datasets, models and recommenders do not
 *    change once made and may be read by many threads.
 */
#ifndef CROSSWISE_H
#define CROSSWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CW_API        __attribute__((visibility("default")))
#define CW_MUST_CHECK __attribute__((warn_unused_result))
#else
#define CW_API
#define CW_MUST_CHECK
#endif

#define CW_VERSION_MAJOR 0
#define CW_VERSION_MINOR 1
#define CW_VERSION_PATCH 0

/* Version of the library that is running, such as "0.1.0". */
CW_API const char *cw_version(void);

/* ---- status ------------------------------------------------------------- */

/* Every way a call can fail.  Numbers never change meaning. */
#define CW_STATUS_MAP(X)                                                                           \
    X(OK, 0, "success")                                                                            \
    X(NO_MEMORY, 1, "out of memory")                                                               \
    X(BAD_ARG, 2, "invalid argument")                                                              \
    X(BAD_DATA, 3, "input is malformed")                                                           \
    X(IO, 4, "read or write failed")                                                               \
    X(UNSUPPORTED, 5, "not available in this build")                                               \
    X(CANCELLED, 6, "stopped by the progress callback")

typedef enum cw_status {
#define X(name, number, text) CW_##name = number,
    CW_STATUS_MAP(X)
#undef X
} cw_status;

/* What a status means in general, for example "input is malformed". */
CW_API const char *cw_status_text(cw_status status);

/* ---- context ------------------------------------------------------------ */

/* Settings, callbacks and the last error message. */
typedef struct cw_context cw_context;

typedef enum cw_log_level { CW_LOG_INFO = 0, CW_LOG_WARNING = 1 } cw_log_level;

/* Receives one line of text without a line end. */
typedef void (*cw_log_fn)(void *user, cw_log_level level, const char *text);

/*
 * Called from the thread that made the call, now and then during long work.
 *   stage   what is being done, such as "reading ratings.csv"
 *   done    how much of total is done; total is 0 when it is not known
 * Return false to stop: the call then fails with CW_CANCELLED and leaves nothing behind.
 */
typedef bool (*cw_progress_fn)(void *user, const char *stage, int64_t done, int64_t total);

CW_API CW_MUST_CHECK cw_status cw_context_create(cw_context **out);
CW_API void cw_context_free(cw_context *ctx);

/* Why the last failing call on ctx failed.  Borrowed: valid until the next call
 * on ctx.  Never NULL; "" after a success. */
CW_API const char *cw_context_error(const cw_context *ctx);

/* NULL for silence, which is the default. */
CW_API void cw_context_set_log(cw_context *ctx, cw_log_fn log, void *user);
CW_API void cw_context_set_progress(cw_context *ctx, cw_progress_fn progress, void *user);

/* Receives one event of a long call as a JSON object, such as a finished epoch of training
 * (documented in docs/training.md).  Called from the thread that made the call. */
typedef void (*cw_event_fn)(void *user, const char *json);
CW_API void cw_context_set_event(cw_context *ctx, cw_event_fn event, void *user);

/* Threads used by calls on ctx, 1 to 1024; 0 means one per available core, the
 * default.  Results never depend on it. */
CW_API CW_MUST_CHECK cw_status cw_context_set_threads(cw_context *ctx, int threads);
CW_API int cw_context_threads(const cw_context *ctx);

/*
 * How much memory the rows and ids of a log may take in cw_import and its kin, cw_dataset_prepare
 * and cw_dataset_simulate; what is more goes to files that have no name and vanish with the
 * process. What comes of it is the same to the byte.  Interactions whose rows are in files can be
 * prepared, and such a dataset can be described and saved; to train on it, load what was saved.
 *   bytes   0 puts all rows into files; below 0 is half of what the machine, its containers and
 *           limits leave now; else at least CW_LEAST_MEMORY, and ids that need more are an error
 *   folder  where files are made; NULL takes the bound away, as it is from the beginning
 */
enum { CW_LEAST_MEMORY = 1 << 20 };
CW_API CW_MUST_CHECK cw_status cw_context_set_memory(cw_context *ctx, int64_t bytes,
                                                     const char *folder);

/* The best instruction set of this CPU that crosswise knows: "avx512", "avx2",
 * "neon" or "ref". */
CW_API const char *cw_cpu_isa(void);

/* Where models can be trained (--device), as JSON (docs/gpu.md); release with cw_text_free. */
CW_API CW_MUST_CHECK cw_status cw_devices(cw_context *ctx, char **json);

/*
 * Training by many processes, which mpirun or the like has started (docs/many-machines.md).
 *   cw_processes_join   become one of `count`, the one of number `rank`; cw_train with --device mpi
 *                       is then called by all of them, from the thread that joined, with the same
 *                       data and options.  Process 0 alone gets a model.
 *   cw_processes_leave  after the last call, when all went well; before cw_context_free
 *   cw_processes_end    something went wrong: end all of them, this one too, with this exit code
 * cw_evaluate with --device mpi is called by all of them likewise, and process 0 alone gets a
 * result.  For work that is dealt out by the caller, all of them call
 *   cw_processes_collect  counts[p] records of process p, of so many bytes each, lie side by side
 *                         in `all` at process 0 afterwards; CW_CANCELLED by the progress callback:
 *                         cw_processes_end has to be next
 *   cw_processes_spread   bytes of process 0, to all
 *   cw_processes_compare  fails where one has other bytes than process 0, with a sentence that
 *                         begins with `what`, such as "the model is another"
 */
CW_API CW_MUST_CHECK cw_status cw_processes_join(cw_context *ctx, int *rank, int *count);
CW_API CW_MUST_CHECK cw_status cw_processes_collect(cw_context *ctx, const void *own,
                                                    const size_t *counts, size_t bytes, void *all);
CW_API CW_MUST_CHECK cw_status cw_processes_spread(cw_context *ctx, void *bytes, size_t n);
CW_API CW_MUST_CHECK cw_status cw_processes_compare(cw_context *ctx, const char *what,
                                                    const void *bytes, size_t n);
CW_API void cw_processes_leave(cw_context *ctx);
CW_API void cw_processes_end(cw_context *ctx, int code);

/*
 * Choose the instruction set for the numeric work of all contexts of this process: "ref", "avx2",
 * "avx512", "neon", or "auto" for the best one, which is the default.  May be called at any time
 * from any thread; work that is going on may finish with what it began with.  Results never depend
 * on it.  CW_BAD_ARG names those that this CPU and build have.
 */
CW_API CW_MUST_CHECK cw_status cw_use_isa(cw_context *ctx, const char *name);

/* ---- options ------------------------------------------------------------ */

/*
 * Options are set by name from text, so that a command line, a configuration
 * file and a binding all check and document them the same way.  Every stage has
 * one table of options; cw_options_create starts from its defaults.
 */
typedef struct cw_options cw_options;

typedef enum cw_option_kind {
    CW_OPTION_INTEGER = 0, /* 12 */
    CW_OPTION_REAL = 1,    /* 0.3, 1e-4 or a fraction such as 1/60 */
    CW_OPTION_CHOICE = 2,  /* one of a list of words */
    CW_OPTION_TEXT = 3,    /* anything */
    CW_OPTION_FLAG = 4     /* on or off */
} cw_option_kind;

/* One row of an option table.  All pointers are static. */
typedef struct cw_option_info {
    const char *name;
    cw_option_kind kind;
    const char *preset;      /* default value as text; "" is "not set" */
    double minimum, maximum; /* allowed range of INTEGER and REAL */
    bool minimum_is_open;    /* the bound itself is not allowed */
    bool maximum_is_open;
    const char *choices; /* CHOICE: "a|b|c"; otherwise NULL */
    const char *help;    /* one sentence */
    /* Its name in earlier versions, which is refused with the note, and the names of its first
     * choices then; NULL: the same. */
    const char *former, *former_note, *former_choices;
} cw_option_info;

/* Stages that have options: "import", "prepare", "skew", "simulate", "train", "evaluate",
 * "recommend", "experiment", "compare", "tune".  NULL when index is past the last one. */
CW_API const char *cw_stage_name(size_t index);

/* Row index of the option table of a stage; NULL past the end or for an unknown stage.  That of
 * "train" has the options of every method, backbone and optimizer: cw_train_option_owner. */
CW_API const cw_option_info *cw_stage_option(const char *stage, size_t index);

CW_API CW_MUST_CHECK cw_status cw_options_create(cw_context *ctx, const char *stage,
                                                 cw_options **out);
CW_API void cw_options_free(cw_options *options);

/* Set one option from text.  CW_BAD_ARG names the option, the value and what is allowed. */
CW_API CW_MUST_CHECK cw_status cw_options_set(cw_context *ctx, cw_options *options,
                                              const char *name, const char *value);

/* The value as text; NULL for an unknown name.  Borrowed. */
CW_API const char *cw_options_get(const cw_options *options, const char *name);

/* Was it set, even to the value that it has without that? */
CW_API bool cw_options_is_given(const cw_options *options, const char *name);

/* ---- interactions: what was read from raw files --------------------------- */

/* Distinct (user, item) pairs in the order they were read, with their raw ids
 * and, where the files have it, a time each. */
typedef struct cw_interactions cw_interactions;

/* Which part of a split a file belongs to. */
typedef enum cw_part { CW_PART_TRAIN = 0, CW_PART_VALID = 1, CW_PART_TEST = 2 } cw_part;

/*
 * Read files, folders or standard input ("-") in order, plain or packed (gzip, zstd, bzip2, xz).
 *   options  of stage "import"; NULL for the defaults
 * A folder is a Netflix training set (mv_*.txt or combined_data_*.txt) or a split
 * folder (train, valid and test files), whose parts are remembered.  A path may also be a table or
 * a query of a database: "sqlite:shop.db?table=clicks" (docs/sources.md).
 */
CW_API CW_MUST_CHECK cw_status cw_import(cw_context *ctx, const char *const *paths, size_t n_paths,
                                         const cw_options *options, cw_interactions **out);

/* The same, saying which part of a given split each path belongs to. */
CW_API CW_MUST_CHECK cw_status cw_import_parts(cw_context *ctx, const char *const *paths,
                                               const cw_part *parts, size_t n_paths,
                                               const cw_options *options, cw_interactions **out);

/* Interactions from arrays of n entries; ids may be any 64-bit numbers.
 *   time  NULL when there is none; finite otherwise */
CW_API CW_MUST_CHECK cw_status cw_interactions_create(cw_context *ctx, const int64_t *user,
                                                      const int64_t *item, const double *time,
                                                      int64_t n, cw_interactions **out);

/* A table in memory: columns of n entries. */
typedef struct cw_arrays {
    int64_t n;
    const int64_t *user_number, *item_number; /* ids that are numbers, or */
    const char *const *user, *const *item;    /* ids that are text: one of the two for each */
    const double *rating;                     /* NULL: there is none */
    const double *time;                       /* seconds since 1970; NULL: there is none */
    const uint8_t *part;                      /* cw_part of a given split; NULL: there is none */
} cw_arrays;

/* Interactions from arrays as cw_import has them from a file with these columns: repeats go, and
 * ratings and times that are no finite numbers are malformed.  Messages count rows from 1.
 *   options  of stage "import", of which those about the form of files do not matter; NULL for the
 *            defaults */
CW_API CW_MUST_CHECK cw_status cw_import_arrays(cw_context *ctx, const cw_arrays *arrays,
                                                const cw_options *options, cw_interactions **out);

/* A stream of record batches by the C data interface of Apache Arrow, which data frames, tables and
 * databases hand out without a copy. */
struct ArrowArrayStream;

/*
 * The same from Arrow streams.  The call consumes the streams: they are released when it returns,
 * whether it fails or not.  Columns are found by their names, or as the option "columns" says.
 * Ids are integers, text or binary, or dictionaries of these; ratings are numbers or booleans;
 * times are numbers, dates, timestamps or text.  What is null is malformed.
 *   parts    of a given split, one for each stream; NULL: all are one log
 */
CW_API CW_MUST_CHECK cw_status cw_import_arrow(cw_context *ctx,
                                               struct ArrowArrayStream *const *streams,
                                               const cw_part *parts, size_t n_streams,
                                               const cw_options *options, cw_interactions **out);

/* A sparse matrix of users and items by rows: those of user u are item[start[u]] to
 * item[start[u + 1] - 1], in any order. */
typedef struct cw_matrix {
    int32_t n_users, n_items;
    int index_bytes;   /* of the numbers in both arrays: 4 or 8, signed */
    const void *start; /* [n_users + 1], from 0 on */
    const void *item;  /* [start[n_users]] */
} cw_matrix;

/* Interactions from matrices, whose raw ids are the numbers of rows and columns.  A dataset that is
 * prepared from them has every row and every column as its users and items, in their order, also
 * those without entries.
 *   matrices  [n_matrices] of one shape: 1 is a log; 2 or 3 are train, valid and test of a given
 *             split, of which valid and test may be empty */
CW_API CW_MUST_CHECK cw_status cw_import_matrix(cw_context *ctx, const cw_matrix *matrices,
                                                size_t n_matrices, cw_interactions **out);
CW_API void cw_interactions_free(cw_interactions *interactions);

CW_API int64_t cw_interactions_count(const cw_interactions *interactions);
CW_API int32_t cw_interactions_users(const cw_interactions *interactions);
CW_API int32_t cw_interactions_items(const cw_interactions *interactions);
/* True when the files were the parts of a given split. */
CW_API bool cw_interactions_are_split(const cw_interactions *interactions);

/* ---- datasets ------------------------------------------------------------- */

/* Train, valid and test interactions with ids 0..n-1, and their raw ids. */
typedef struct cw_dataset cw_dataset;

/*
 * Filter and split interactions.
 *   options  of stage "prepare"; NULL for the defaults
 */
CW_API CW_MUST_CHECK cw_status cw_dataset_prepare(cw_context *ctx,
                                                  const cw_interactions *interactions,
                                                  const cw_options *options, cw_dataset **out);

/*
 * Draw a dataset whose true relevances are known (see docs/simulator.md).
 *   options  of stage "simulate"; NULL for the defaults
 *   split    of stage "prepare": how to split what was drawn; NULL for the defaults
 */
CW_API CW_MUST_CHECK cw_status cw_dataset_simulate(cw_context *ctx, const cw_options *options,
                                                   const cw_options *split, cw_dataset **out);

/* Read a dataset folder: train.csv, valid.csv, test.csv (each may end in .gz or .zst; at
 * least one must be there), id2idx_u.csv, id2idx_i.csv and dataset.json where there are. */
CW_API CW_MUST_CHECK cw_status cw_dataset_load(cw_context *ctx, const char *folder,
                                               cw_dataset **out);

/* The same with another training set of the folder, such as the file "train_0.5.csv" that
 * cw_dataset_skew wrote; NULL is train.csv. */
CW_API CW_MUST_CHECK cw_status cw_dataset_load_with(cw_context *ctx, const char *folder,
                                                    const char *train_file, cw_dataset **out);

/* Write a dataset folder in one step: it appears whole or not at all.  An existing
 * folder is refused unless it is empty, or replace is true and it holds a dataset with its
 * dataset.json and nothing that crosswise did not make. */
CW_API CW_MUST_CHECK cw_status cw_dataset_save(cw_context *ctx, const cw_dataset *dataset,
                                               const char *folder, bool replace);

CW_API void cw_dataset_free(cw_dataset *dataset);

CW_API int32_t cw_dataset_users(const cw_dataset *dataset);
CW_API int32_t cw_dataset_items(const cw_dataset *dataset);
CW_API int64_t cw_dataset_count(const cw_dataset *dataset, cw_part part);
/* Ids of one part, [cw_dataset_count]; NULL when the part is empty.  Borrowed. */
CW_API const int32_t *cw_dataset_part_users(const cw_dataset *dataset, cw_part part);
CW_API const int32_t *cw_dataset_part_items(const cw_dataset *dataset, cw_part part);
/* Raw id of a user or item, possibly with bytes that are not printable; NULL when out of
 * range.  Valid until the dataset is freed. */
CW_API const char *cw_dataset_user_id(const cw_dataset *dataset, int32_t user);
CW_API const char *cw_dataset_item_id(const cw_dataset *dataset, int32_t item);

/* How relevant every item truly is to a user of a simulated dataset.
 *   relevance  [cw_dataset_items] receives the probabilities
 * CW_BAD_ARG when the dataset is not simulated, for its truth is not known. */
CW_API CW_MUST_CHECK cw_status cw_dataset_relevance(cw_context *ctx, const cw_dataset *dataset,
                                                    int32_t user, double *relevance);

/*
 * Draw a training set of another bias from the train part of a dataset folder and write
 * it there as train_<theta>.csv, in one step.
 *   options  of stage "skew"; NULL for the defaults
 *   replace  overwrite an existing file of that name
 *   rows     number of rows written; may be NULL
 */
CW_API CW_MUST_CHECK cw_status cw_dataset_skew(cw_context *ctx, const char *folder,
                                               const cw_options *options, bool replace,
                                               int64_t *rows);

/* Counts, degree quantiles, concentration and CPR acceptance rates of a dataset as one
 * JSON object (documented in docs/datasets.md).  Release the text with cw_text_free. */
CW_API CW_MUST_CHECK cw_status cw_dataset_describe(cw_context *ctx, const cw_dataset *dataset,
                                                   char **json);

/* ---- training --------------------------------------------------------------- */

/* Parameters, raw ids, what users have seen, and how it was trained.  Of a dataset that
 * cw_dataset_prepare made also which rows the option "min-rating" of the import left out: they are
 * not trained on, and lists leave them out like what was seen. */
typedef struct cw_model cw_model;

/*
 * Train a recommender on the train part of a dataset; the validation part says when to stop and
 * which parameters to keep.
 *   options  of stage "train"; NULL for the defaults (CPR on matrix factorisation)
 *   run      the record of the run as JSON (docs/training.md), to be released with cw_text_free;
 *            may be NULL
 * With the option "refit" the model is then trained once more, on all rows of all parts for as many
 * steps; the metrics of model and record are those of before, and "refit" in both says so.
 * Every epoch is told to the event callback.  When the progress callback asks to stop, or a
 * checkpoint is due, the state is written to the file named by the option "checkpoint".
 */
CW_API CW_MUST_CHECK cw_status cw_train(cw_context *ctx, const cw_dataset *dataset,
                                        const cw_options *options, cw_model **out, char **run);

/* cw_train on a dataset folder, as cw_dataset_load_with reads it.  With --device mpi each of the
 * processes keeps the rows of its users alone, as far as the training allows that; the context must
 * have joined them (cw_processes_join). */
CW_API CW_MUST_CHECK cw_status cw_train_folder(cw_context *ctx, const char *folder,
                                               const char *train_file, const cw_options *options,
                                               cw_model **out, char **run);

/* cw_import of what may be new to a model: databases that its rows came from are asked for those
 * that have come since, where the option "since" or "after-rowid" had told how to know them. */
CW_API CW_MUST_CHECK cw_status cw_import_new(cw_context *ctx, const cw_model *model,
                                             const char *const *paths, size_t n_paths,
                                             const cw_options *options, cw_interactions **out);

/*
 * Train a model on with new interactions, new users and new items, from the parameters it has; it
 * stays as it is.  Rows that it knows already are passed over.  Method, backbone and options are
 * the model's, but for those that are given.
 *   options  of stage "update"; NULL for the defaults
 *   run      as that of cw_train; what the old model said of itself is under "before"
 */
CW_API CW_MUST_CHECK cw_status cw_update(cw_context *ctx, const cw_model *model,
                                         const cw_interactions *interactions,
                                         const cw_options *options, cw_model **out, char **run);

/* The methods by name: index 0, 1, ...; NULL past the last.  Static. */
CW_API const char *cw_method_name(size_t index);
CW_API const char *cw_method_help(const char *method);
/* The backbones, the same way. */
CW_API const char *cw_backbone_name(size_t index);
CW_API const char *cw_backbone_help(const char *backbone);
/* The optimizers, the same way. */
CW_API const char *cw_optimizer_name(size_t index);
CW_API const char *cw_optimizer_help(const char *optimizer);
/* The backbones that a method works on, the same way; the first is its default. */
CW_API const char *cw_method_backbone(const char *method, size_t index);
/* The methods, backbones and optimizers that an option of stage "train" belongs to, the same way.
 * One without an owner is common: every training takes it. */
CW_API const char *cw_train_option_owner(const char *option, size_t index);
/* Does a method on a backbone take a train option: is it common, of one of the two, or of an
 * optimizer?  cw_train refuses any other that was set, and those of an optimizer with another. */
CW_API bool cw_method_takes(const char *method, const char *backbone, const char *option);
/* The tuned default of a train option for a method on a backbone, "" when the table's holds. */
CW_API const char *cw_method_default(const char *method, const char *backbone, const char *option);

/* ---- models ----------------------------------------------------------------- */

/* Write a model as one safetensors file, in one step, replacing a model that was there; any other
 * file is refused. */
CW_API CW_MUST_CHECK cw_status cw_model_save(cw_context *ctx, const cw_model *model,
                                             const char *path);
/*
 * The same together with the record of its run: whenever it is stopped, a new model never stands
 * beside an old record.
 *   run      as cw_train gave it; the checksum of the model is added.  NULL: the model alone
 *   record   file for it
 *   replace  also replace plain files that crosswise did not write
 */
CW_API CW_MUST_CHECK cw_status cw_model_save_run(cw_context *ctx, const cw_model *model,
                                                 const char *path, const char *run,
                                                 const char *record, bool replace);
/* Read a model file; a damaged, foreign or newer one is CW_BAD_DATA with the reason. */
CW_API CW_MUST_CHECK cw_status cw_model_load(cw_context *ctx, const char *path, cw_model **out);
CW_API void cw_model_free(cw_model *model);

CW_API int32_t cw_model_users(const cw_model *model);
CW_API int32_t cw_model_items(const cw_model *model);
/* Raw id of a user or item, possibly with bytes that are not printable; NULL when out of range. */
CW_API const char *cw_model_user_id(const cw_model *model, int32_t user);
CW_API const char *cw_model_item_id(const cw_model *model, int32_t item);
/* Train rows of an item; 0 for a guest, or when out of range. */
CW_API int64_t cw_model_item_rows(const cw_model *model, int32_t item);
/* The checksum of the file that the model was read from, 32 hexadecimal digits; "" for a model that
 * was not.  Valid until the model is freed. */
CW_API const char *cw_model_checksum(const cw_model *model);
/* The number of a raw id; -1 when the model does not know it. */
CW_API int32_t cw_model_find_user(const cw_model *model, const char *id);
CW_API int32_t cw_model_find_item(const cw_model *model, const char *id);
/*
 * Guests are users and items of the log that the core filter left out of training.  They have the
 * numbers from cw_model_users or cw_model_items upwards; cw_model_user_id and cw_model_item_id,
 * cw_recommend and cw_similar_items take them, no other call does.  Those who look for a guest ask
 * these two, which know nobody else.
 */
CW_API int32_t cw_model_guest_users(const cw_model *model);
CW_API int32_t cw_model_guest_items(const cw_model *model);
CW_API int32_t cw_model_find_guest_user(const cw_model *model, const char *id);
CW_API int32_t cw_model_find_guest_item(const cw_model *model, const char *id);

/* Numbers that training found, [rows][columns].  Pointers are borrowed from the model. */
typedef struct cw_tensor {
    const char *name;
    int64_t rows, columns;
    const float *data;
} cw_tensor;

/* Tensor 0, 1, ... of a model (docs/models.md); false past the last. */
CW_API bool cw_model_tensor(const cw_model *model, size_t index, cw_tensor *out);
/* What every user of training had: items[start[u]] to items[start[u + 1] - 1], ascending; returns
 * start.  Borrowed. */
CW_API const int64_t *cw_model_seen(const cw_model *model, const int32_t **items);

/* Method, options, tensors, provenance and metrics as JSON; release with cw_text_free. */
CW_API CW_MUST_CHECK cw_status cw_model_info(cw_context *ctx, const cw_model *model, char **json);

/* Write the vectors as .npy and the raw ids as text, one a line, into a new folder; with replace
 * also in place of an earlier export with nothing else in it. */
CW_API CW_MUST_CHECK cw_status cw_model_export(cw_context *ctx, const cw_model *model,
                                               const char *folder, bool replace);

/* ---- evaluation ------------------------------------------------------------- */

/*
 * Rank all items for every user of a held-out part and measure how good and how biased the
 * lists are (metrics are defined in docs/metrics.md).
 *   options  of stage "evaluate"; NULL for the defaults
 *   json     the results; release with cw_text_free
 */
CW_API CW_MUST_CHECK cw_status cw_evaluate(cw_context *ctx, const cw_dataset *dataset,
                                           const cw_model *model, const cw_options *options,
                                           char **json);

/* Where a metric is shown to people; what is shown in one place is also shown in those above. */
typedef enum cw_metric_place {
    CW_METRIC_ASKED = -1,   /* where it was asked for, by saying how the rows came to be seen */
    CW_METRIC_LISTED = 0,   /* where all metrics are listed */
    CW_METRIC_COMPARED = 1, /* by groups of items and users, and where runs are compared */
    CW_METRIC_MAIN = 2      /* tables of experiments, pages */
} cw_metric_place;

/* One row of the table of metrics of a list.  All pointers are static. */
typedef struct cw_metric_info {
    const char *name;  /* "hit_rate"; in results "hit_rate@20" */
    const char *title; /* "Hit rate" */
    int digits;        /* after the point, for people */
    bool is_low_good;  /* less is better: nothing to stop training by, which keeps the largest */
    cw_metric_place place;
    const char *help; /* what it is for one user */
} cw_metric_info;

/* Row index of that table, 0, 1, ...; NULL past the last. */
CW_API const cw_metric_info *cw_metric_at(size_t index);

/* ---- recommendation ---------------------------------------------------------- */

/*
 * A model made ready to be asked: everything that does not depend on the question is computed when
 * it is opened.  It does not change afterwards: any number of threads may ask it at once, each with
 * a context of its own, and calls do not wait for each other (but see docs/models.md on backbone
 * neumf).  Beside the arrays of the caller a call needs the scores of the rows it works on, which
 * are at most 96 rows a thread of its context, and frees them before it returns.
 */
typedef struct cw_recommender cw_recommender;

/*
 * The model is shared: the recommender keeps it as long as it needs it, and cw_model_free may come
 * at any time after this call.  Close when no call is under way; whoever replaces a recommender
 * while others use it opens the new one first.
 */
CW_API CW_MUST_CHECK cw_status cw_recommender_open(cw_context *ctx, cw_model *model,
                                                   cw_recommender **out);
CW_API void cw_recommender_close(cw_recommender *recommender);

/* Who makes lists of many users from now on, to be said before anybody asks: "cpu", "cuda" (the
 * first GPU), "cuda:1" (the second), or "auto", a GPU where there is one and it is worth it.  Lists
 * are the same.  Calls wait for each other there, and lists with boosts, diversity, items that are
 * excluded for all, or of more than 256 items are made by the CPU as ever. */
CW_API CW_MUST_CHECK cw_status cw_recommender_use(cw_context *ctx, cw_recommender *recommender,
                                                  const char *device);
/* For the ids of what it lists; valid until the recommender is closed. */
CW_API const cw_model *cw_recommender_model(const cw_recommender *recommender);

/* Where lists are ranked by inner products: a vector for each user and each item of training, of
 * *width numbers.  NULL where there are none; backbone neumf has those of items alone.  Borrowed
 * from the recommender. */
CW_API const float *cw_recommender_users(const cw_recommender *recommender, int32_t *width);
CW_API const float *cw_recommender_items(const cw_recommender *recommender, int32_t *width);

/* What may be in a list and how it is ranked.  All zeros are the defaults, as is NULL in place of
 * rules.  Items are numbers of the model, in any order. */
typedef struct cw_rules {
    bool with_seen; /* keep what the user has seen in training or rated below the option
                       "min-rating" of the import, or what is in the history */
    double dial;    /* of popularity: rank by score + dial * ln(1 + train rows of the item) */
    const int32_t *exclude; /* [n_exclude] items that nobody gets */
    size_t n_exclude;
    const int32_t *only; /* [n_only] the only items that anybody gets; NULL: all */
    size_t n_only;
    const int32_t *boosted; /* [n_boosted] items that are lifted, or lowered */
    const float *boosts; /* [n_boosted] what is added to their scores; those of one item add up */
    size_t n_boosted;
    double diversity;         /* 0 to 1: pass over items that are like one above (docs/models.md) */
    const int64_t *own_start; /* [n lists + 1], of cw_recommend: list k leaves out the items */
    const int32_t *own;       /* own[own_start[k]] to own[own_start[k + 1] - 1], and not what its
                                 user had in training; NULL: the latter */
} cw_rules;

/* The rules that options of stage "recommend" ask for, which may name a file of items; its "k" is
 * for whoever makes room for the lists.  NULL for the defaults. */
CW_API CW_MUST_CHECK cw_status cw_rules_create(cw_context *ctx, const cw_model *model,
                                               const cw_options *options, cw_rules **out);
/* Of rules that cw_rules_create made, and no others. */
CW_API void cw_rules_free(cw_rules *rules);

/* Arrays of the caller that a call fills with n lists, best first, equal scores by lower number.
 * Where candidates run out a list ends: what is left of its places is -1 with score 0.  After a
 * failure their contents are not defined. */
typedef struct cw_lists {
    int32_t k;       /* places of a list, at least 1 */
    int32_t *items;  /* [n][k] items, or users where those are asked for */
    float *scores;   /* [n][k]; NULL when they are not wanted */
    int32_t *counts; /* [n] places filled; NULL when they are not wanted */
} cw_lists;

/* Where a list comes from. */
typedef enum cw_list_way {
    CW_WAY_TRAINED = 0,   /* parameters of its own */
    CW_WAY_FOLD_IN = 1,   /* the items that the user had, as cw_recommend_history does */
    CW_WAY_POPULARITY = 2 /* nothing: most train rows first, which are the scores */
} cw_list_way;

/* That of the list of a user by cw_recommend, and of an item by cw_similar_items.  A guest is
 * folded in where they had items of training and the backbone can. */
CW_API cw_list_way cw_user_way(const cw_recommender *recommender, int32_t user);
CW_API cw_list_way cw_item_way(const cw_recommender *recommender, int32_t item);
/* "trained", "fold-in" or "popularity". */
CW_API const char *cw_way_name(cw_list_way way);

/* Lists for n users of the model, guests too.  Progress is told. */
CW_API CW_MUST_CHECK cw_status cw_recommend(cw_context *ctx, const cw_recommender *recommender,
                                            const int32_t *users, size_t n, const cw_rules *rules,
                                            const cw_lists *lists);

/* One list for somebody who was not there at training, from the n items they liked (at least one;
 * repeats count once).  CW_UNSUPPORTED where the backbone cannot. */
CW_API CW_MUST_CHECK cw_status cw_recommend_history(cw_context *ctx,
                                                    const cw_recommender *recommender,
                                                    const int32_t *history, size_t n,
                                                    const cw_rules *rules, const cw_lists *lists);

/* The list of a user, or guest, who had n more items since training, from all that they had; -1 for
 * somebody new.  What the user rated low stays hidden.  Otherwise as cw_recommend_history. */
CW_API CW_MUST_CHECK cw_status cw_recommend_more(cw_context *ctx, const cw_recommender *recommender,
                                                 int32_t user, const int32_t *more, size_t n,
                                                 const cw_rules *rules, const cw_lists *lists);

/* One list of the most popular items, for whom nothing is known of; scores are train rows. */
CW_API CW_MUST_CHECK cw_status cw_popular(cw_context *ctx, const cw_recommender *recommender,
                                          const cw_rules *rules, const cw_lists *lists);

/* The items that a user, or guest, of the model had in training, ascending and distinct; *items is
 * valid until the recommender is closed.  Returns how many, 0 for numbers that nobody has. */
CW_API size_t cw_user_items(const cw_recommender *recommender, int32_t user, const int32_t **items);

/*
 * Why somebody who liked n distinct items gets an item: what each of them adds to its score in the
 * list of cw_recommend_history.  The score of a user who was trained is another one, unless the
 * backbone has no vectors of users (ease, itemknn).
 *   added  [n]
 *   score  the sum of these, and of the item's own term where a bucket gave it one; may be NULL
 * CW_UNSUPPORTED where scores are no such sums.
 */
CW_API CW_MUST_CHECK cw_status cw_explain(cw_context *ctx, const cw_recommender *recommender,
                                          const int32_t *history, size_t n, int32_t item,
                                          float *added, float *score);
/* The same for n people: the items that person k liked are items[start[k]] to
 * items[start[k + 1] - 1].  Whoever liked nothing gets the most popular items.  Progress is told.
 */
CW_API CW_MUST_CHECK cw_status cw_recommend_histories(cw_context *ctx,
                                                      const cw_recommender *recommender,
                                                      const int64_t *start, const int32_t *items,
                                                      size_t n, const cw_rules *rules,
                                                      const cw_lists *lists);

/*
 * A new model in which n users had other items than at training, and may be new: items as above,
 * at least one each.  Where users have vectors of their own, theirs are found as
 * cw_recommend_history does, and all others stay.  New users have the numbers from cw_model_users
 * upwards, whose text is their raw id; numbers that are left out in between have no items.
 * CW_UNSUPPORTED where vectors of users come from a graph or a network (lightgcn, ngcf, neumf), and
 * for new users of a model with guests or hidden rows.
 */
CW_API CW_MUST_CHECK cw_status cw_model_fold_users(cw_context *ctx,
                                                   const cw_recommender *recommender,
                                                   const int32_t *users, const int64_t *start,
                                                   const int32_t *items, size_t n, cw_model **out);

/* The items most alike to each of n items, by the cosine of their vectors, or, where the backbone
 * has none but scores are sums over what somebody had (ease, itemknn), by what that item adds to
 * their scores; with_seen does not matter.  Of a guest the most popular items.  CW_UNSUPPORTED
 * where there are no vectors and no such sums. */
CW_API CW_MUST_CHECK cw_status cw_similar_items(cw_context *ctx, const cw_recommender *recommender,
                                                const int32_t *items, size_t n,
                                                const cw_rules *rules, const cw_lists *lists);

/*
 * A place outside for lists, row by row: a table of a database, "sqlite:shop.db?table=lists" or
 * "postgresql://host/shop?table=lists", or a file, "lists.jsonl" or "lists.csv".  Its columns are
 * key, item, rank, score and how.  All of it happens in one transaction: until close, everybody
 * else sees what was there before.
 *   key, item  names of the first two columns; the address may have others (user=, item=)
 *   replace    the rows of a table, or a file, that is there already; the table itself stays
 */
typedef struct cw_sink cw_sink;
CW_API CW_MUST_CHECK cw_status cw_sink_open(cw_context *ctx, const char *to, const char *key,
                                            const char *item, bool replace, cw_sink **out);

typedef struct cw_sink_row {
    const char *key, *item; /* raw ids */
    int32_t rank;           /* from 1 */
    float score;
    const char *how; /* cw_way_name */
} cw_sink_row;

CW_API CW_MUST_CHECK cw_status cw_sink_put(cw_context *ctx, cw_sink *sink, const cw_sink_row *row);
/* What it is called in messages: never with a password. */
CW_API const char *cw_sink_name(const cw_sink *sink);
/* When status is CW_OK all rows are there from now on; otherwise nothing has changed.  Returns what
 * came of it, and frees in any case; NULL is fine after a failure. */
CW_API CW_MUST_CHECK cw_status cw_sink_close(cw_context *ctx, cw_sink *sink, cw_status status);

/* The users most alike to each of n users, the same way. */
CW_API CW_MUST_CHECK cw_status cw_similar_users(cw_context *ctx, const cw_recommender *recommender,
                                                const int32_t *users, size_t n,
                                                const cw_lists *lists);

/* Scores of n pairs of a user and an item, as lists have them with the dial at 0.  Where the
 * backbone does not rank by inner products, pairs of one user should follow each other. */
CW_API CW_MUST_CHECK cw_status cw_score_pairs(cw_context *ctx, const cw_recommender *recommender,
                                              const int32_t *users, const int32_t *items, size_t n,
                                              float *scores);

/* ---- experiments -------------------------------------------------------------- */

/* The plans that come with crosswise: index 0, 1, ...; NULL past the last.  Static. */
CW_API const char *cw_plan_name(size_t index);
/* The text of one of them, to be run or edited; NULL for an unknown name.  Static. */
CW_API const char *cw_plan_text(const char *name);

/*
 * Carry out a plan: datasets x methods x backbones x settings x seeds, tuned on validation (the
 * format is in docs/experiments.md).  The whole plan is checked before anything runs.
 *   options  of stage "experiment"; NULL for the defaults
 *   folder   where runs and results are kept.  What an earlier call finished there is not done
 *            again, and what it had under way goes on; the results are the same bytes.
 *   json     the results, or with the option "dry-run" what would be done; release with
 *            cw_text_free; may be NULL
 * Every finished run is told to the event callback.  A run that fails by its own fault is recorded
 * with the reason, the others go on, and "failed" in the results counts them.  CW_CANCELLED leaves
 * everything that is needed to go on.
 */
CW_API CW_MUST_CHECK cw_status cw_experiment_run(cw_context *ctx, const char *plan,
                                                 const cw_options *options, const char *folder,
                                                 char **json);

/*
 * Compare runs by their records, files that training or an experiment wrote: runs that differ in
 * the seed alone are one side, and every side is compared with the first, paired by seed: paired t
 * test, Wilcoxon's signed-rank test, effect size, and an interval over users where the option
 * "data" names the dataset and the models lie beside the records.
 *   options  of stage "compare"; NULL for the defaults
 *   json     the results (docs/experiments.md); release with cw_text_free
 */
CW_API CW_MUST_CHECK cw_status cw_compare(cw_context *ctx, const char *const *paths, size_t n_paths,
                                          const cw_options *options, char **json);

/*
 * Race methods and settings on the validation part and hand out the best (docs/tune.md): first the
 * defaults of every method, then settings drawn from known ranges and near the best so far, poor
 * ones stopped early.  The same number of trials gives the same result on any number of threads.
 *   options  of stage "tune"; NULL for the defaults
 *   folder   where trials and results are kept.  A call with the same data and options goes on from
 *            what is there; budget and trials may have grown.
 *   out      the best model; it remembers the popularity dial that it was tuned with, and what the
 *            option "bucket" told: item terms, or a second model whose scores are added
 *   run      the record of its run, to be saved with it; may be NULL
 *   json     everything tried, tests against the defaults, and the verdict in words; may be NULL.
 *            Release both with cw_text_free
 * Every finished trial is told to the event callback.  CW_CANCELLED leaves what is needed to go on.
 */
CW_API CW_MUST_CHECK cw_status cw_tune(cw_context *ctx, const cw_dataset *dataset,
                                       const cw_options *options, const char *folder,
                                       cw_model **out, char **run, char **json);

/* ---- reports ----------------------------------------------------------------- */

/*
 * Write one HTML file that needs nothing but itself: text, tables and charts, readable on paper, on
 * a phone, in the dark and by a screen reader.  It replaces an earlier page at path, in one step;
 * any other file is refused.
 *   json  {"title": TEXT, "verdict": TEXT, "lead": TEXT, "contents": BOOLEAN, "sections": [{
 *             "name": TEXT, "heading": TEXT, "subheading": TEXT, "text": TEXT,
 *             "table": {"columns": [TEXT, ...], "rows": [[CELL, ...], ...],
 *                       "spans": [[TEXT, COLUMNS], ...], "rules": [ROW, ...]},
 *             "chart": {"kind": "line", "bar" or "scatter", "x": [TEXT or NUMBER, ...],
 *                       "x_title": TEXT, "x_scale": "words", "linear" or "log",
 *                       "y_title": TEXT, "y_scale": "zero", "fit" or "log",
 *                       "series": [{"name": TEXT, "values": [NUMBER or null, ...],
 *                                   "reference": BOOLEAN}, ...]}}, ...]}
 *         CELL  TEXT, NUMBER, null, or {"text": TEXT, "spread": TEXT, "stars": TEXT,
 *               "bold": BOOLEAN, "underline": BOOLEAN}
 * Only title is required, of a table columns and rows, of a chart kind, x and series, of a cell
 * text.  The verdict, one sentence that says what all of it comes to, stands first.  Blank lines
 * part paragraphs; there is no markup.  null is a gap, and a column of a table in which no row has
 * anything is left out.  Numbers are shown to four digits.  Spans are titles above all columns,
 * rules are rows with a line above them. Contents link to the sections with name and heading.  An x
 * axis is of words unless x_scale or the kind scatter says otherwise; of a scatter chart's series
 * the first value counts.  A y axis begins at 0 (zero) or where the values do (fit).  A reference
 * is a line to compare the others with.
 * CW_BAD_DATA names the place that is wrong, such as sections[2].chart.kind.
 */
CW_API CW_MUST_CHECK cw_status cw_report_page(cw_context *ctx, const char *json, const char *path);

/*
 * The report of an experiment in a new folder (docs/reports.md): report.html as above, tables.md
 * and tables.tex, and for every section its tables as .csv and its charts as .svg and .png.  Where
 * librsvg is missing there are no .png files, and a remark in the log says so.
 *   experiment  a folder that cw_experiment_run has finished
 *   folder      refused when it exists, unless it is empty, or replace is true and it holds a
 *               report and nothing else
 * CW_BAD_DATA when experiment is something else or is damaged.
 */
CW_API CW_MUST_CHECK cw_status cw_report_experiment(cw_context *ctx, const char *experiment,
                                                    const char *folder, bool replace);

/* ---- outputs ------------------------------------------------------------------- */

/* Files and folders that crosswise writes. */
typedef enum cw_output {
    CW_OUTPUT_MODEL = 0,
    CW_OUTPUT_RECORD = 1,     /* of a run */
    CW_OUTPUT_CHECKPOINT = 2, /* of training */
    CW_OUTPUT_PAGE = 3,
    CW_OUTPUT_DATASET = 4, /* from here on folders */
    CW_OUTPUT_EXPORT = 5,
    CW_OUTPUT_REPORT = 6
} cw_output;

/*
 * May this be written at path?  To be asked before long work; the call that writes asks again.
 * Anything but a plain file or, for a folder, a folder is refused, links too.
 *   replace  files: also a plain file that is there and that crosswise did not write, but for
 *            checkpoints and pages.  Folders: also one of the same kind, if it holds nothing but
 *            what crosswise makes.
 */
CW_API CW_MUST_CHECK cw_status cw_output_check(cw_context *ctx, cw_output what, const char *path,
                                               bool replace);

/*
 * Do files or folders that are to be written meet each other or what is read?  CW_BAD_ARG names the
 * two; hard links and other ways to write a path count.  An input that is a folder stands for the
 * files in it and for the names that a dataset may have there.
 */
CW_API CW_MUST_CHECK cw_status cw_output_compare(cw_context *ctx, const char *const *outputs,
                                                 size_t n_outputs, const char *const *inputs,
                                                 size_t n_inputs);

/* Remove a checkpoint that is no longer needed; a file that is none stays. */
CW_API void cw_checkpoint_remove(const char *path);

/* Release text that a call returned. */
CW_API void cw_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif

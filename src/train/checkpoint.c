/*
 * checkpoint.c - the whole state of training in one file, so that a killed run goes on bit for bit.
 *
 * Random numbers are a function of seed and step, so the state is: parameters, best parameters,
 * moments, and a handful of counters.  The file is replaced in one step; the old one stays until
 * the new one is complete.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/world.h"
#include "core/json.h"
#include "core/mem.h"
#include "model/tensorfile.h"
#include "train/parts.h"

enum {
    VERSION = 4,
    N_COUNTERS = 6,
    N_SUMS = 6,
    N_COMMON = 3, /* arrays that are not of rows: counters, sums, luck */
    MAX_ARRAYS = CWI_MAX_STATE_ARRAYS + CWI_MAX_TENSORS + 3
};

static const char format[] = "crosswise-checkpoint";

/* Counters and sums of the state, side by side with where they live. */
static void list_counters(cwi_trainer *t, int64_t *where[N_COUNTERS])
{
    int64_t *const list[N_COUNTERS] = {
        &t->epoch,         &t->tally.applied,      &t->tally.steps,
        &t->tally.trained, &t->stopper.best_epoch, &t->stopper.worse};
    memcpy(where, list, sizeof list);
}

static void list_sums(cwi_trainer *t, double *where[N_SUMS])
{
    double *const list[N_SUMS] = {&t->tally.data_loss,    &t->tally.reg_loss, &t->tally.penalty,
                                  &t->tally.reg_at_start, &t->stopper.best,   &t->train_s};
    memcpy(where, list, sizeof list);
}

/* The options that must be the same for a run to go on: all but how long, which a sequel knows
 * already, how it is kept, and where a file lies whose contents are the same. */
static json_t *keep_fixed(json_t *options, bool is_sequel)
{
    static const char *const free_to_change[] = {
        "epochs", "patience",   "eval-every",       "min-epochs",
        "preset", "checkpoint", "checkpoint-every", "checkpoint-end",
        "resume", "treatment",  "propensity",       "metric-propensity",
        "engine", "refit",      "bucket",           "device"};
    enum { HOW_LONG = 4 };
    for (size_t k = is_sequel ? HOW_LONG : 0; k < sizeof free_to_change / sizeof free_to_change[0];
         k++)
        json_object_del(options, free_to_change[k]);
    return options;
}

static char *print(const cwi_trainer *t, const json_t *value)
{
    return cwi_json_print(t->ctx, value, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

static bool begins_like_a_checkpoint(const char *start, size_t length)
{
    return cwi_tensorfile_begins(start, length, format);
}

/* It is removed when training is done, so nothing else may ever be in its place. */
const cwi_file_kind cwi_checkpoint_kind = {"checkpoint", begins_like_a_checkpoint, false};

cw_status cwi_checkpoint_check(const cwi_trainer *t)
{
    const char *path = cwi_options_text(t->options, "checkpoint");
    bool is_written = path[0] && cwi_trainer_leads(t);
    return is_written ? cwi_file_check(t->ctx, path, &cwi_checkpoint_kind, false) : CW_OK;
}

/* ---- save ------------------------------------------------------------------- */

typedef struct contents {
    cwi_array array[MAX_ARRAYS];
    char name[MAX_ARRAYS][CWI_ARRAY_NAME_BYTES];
    size_t count;
    cwi_state state; /* of the engine */
} contents;

static void add(contents *c, const char *prefix, const char *name, cwi_dtype dtype, int64_t rows,
                int64_t columns, const void *data)
{
    snprintf(c->name[c->count], sizeof c->name[0], "%s%s", prefix, name);
    c->array[c->count] = (cwi_array){.name = c->name[c->count],
                                     .dtype = dtype,
                                     .rank = columns ? 2 : 1,
                                     .shape = {rows, columns},
                                     .data = data};
    c->count++;
}

static void add_params(contents *c, const char *prefix, const cwi_params *params)
{
    for (int k = 0; k < params->count; k++)
        add(c, prefix, params->tensor[k].name, CWI_F32, params->tensor[k].rows,
            params->tensor[k].columns, params->tensor[k].data);
}

/* sums: of the parts that its rows are in; NULL: they are in the file itself. */
static cw_status write_contents(cwi_trainer *t, contents *c, const char *path, const char *sums)
{
    json_t *identity =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "data", t->data_hash, "treatment", t->treatment_hash,
                  "propensities", t->propensity_hash, "metric_propensities", t->exposure.hash,
                  "options", keep_fixed(cwi_train_identity(t->options), t->sequel.phase));
    char *identity_text = print(t, identity), *epochs_text = print(t, t->epochs);
    char *before_text = t->sequel.phase ? print(t, t->sequel.before) : NULL;
    char parts[16];
    snprintf(parts, sizeof parts, "%d", t->task.world ? t->task.world->size : 1);
    size_t n_notes = t->sequel.phase ? 4 : 2;
    cwi_note notes[6] = {{"identity", identity_text},
                         {"epochs", epochs_text},
                         {"phase", t->sequel.phase},
                         {"before", before_text}};
    if (sums) {
        notes[n_notes++] = (cwi_note){"parts", parts};
        notes[n_notes++] = (cwi_note){"sums", sums};
    }
    cwi_tensorfile file = {.format = format,
                           .version = VERSION,
                           .n_arrays = c->count,
                           .n_notes = n_notes,
                           .arrays = c->array,
                           .notes = notes};
    bool is_whole = identity_text && epochs_text && (before_text || !t->sequel.phase);
    cw_status status = is_whole ? cwi_tensorfile_write(t->ctx, path, &file) : CW_NO_MEMORY;
    cwi_free(before_text);
    cwi_free(identity_text);
    cwi_free(epochs_text);
    json_decref(identity);
    return status;
}

/* The checkpoint could not be written: its parts go, unless the one that is there names them. */
static void withdraw(cwi_trainer *t, const char *path, const char *sums)
{
    cwi_tensorfile file = {0};
    bool is_there = cwi_path_exists(path);
    bool is_known = !is_there || cwi_tensorfile_read(t->ctx, path, format, VERSION, &file) == CW_OK;
    const char *named = file.n_notes > 0 ? cwi_tensorfile_note(&file, "sums") : NULL;
    if (is_known && (!named || strcmp(named, sums) != 0)) cwi_parts_withdraw(t);
    cwi_tensorfile_clear(&file);
}

/* Of many processes each writes its rows, and the one that leads the rest. */
static cw_status write_all(cwi_trainer *t, contents *c, const char *path)
{
    const cwi_world *w = t->task.world;
    char *sums = NULL;
    cw_status status = CW_OK;
    if (w) CW_TRY(cwi_parts_write(t, c->array + N_COMMON, c->count - N_COMMON, &sums));
    if (w) c->count = N_COMMON;
    if (cwi_trainer_leads(t)) status = write_contents(t, c, path, sums);
    if (status != CW_OK && sums) withdraw(t, path, sums);
    CW_TRY(status);
    if (cwi_trainer_leads(t)) cwi_parts_sweep(t, w ? w->size : 0);
    if (w) w->calls->meet();
done:
    cwi_free(sums);
    return status;
}

cw_status cwi_checkpoint_save(cwi_trainer *t)
{
    int64_t counters[N_COUNTERS], *counter[N_COUNTERS];
    double sums[N_SUMS], *sum[N_SUMS];
    const char *path = cwi_options_text(t->options, "checkpoint");
    if (path[0] == '\0') return CW_OK;
    /* the end of the first training is to be kept: the sequel begins anew after a stop */
    if (t->sequel.phase && cwi_options_flag(t->options, "checkpoint-end")) return CW_OK;
    cw_status status = cwi_checkpoint_check(t);
    if (status != CW_OK) return status;
    CW_PASS(cwi_trainer_fetch_best(t));
    contents *c = cwi_alloc_zero(t->ctx, 1, sizeof *c);
    if (!c) return CW_NO_MEMORY;

    double train_s = t->train_s;
    if (t->tally.steps > 0) t->train_s += cwi_seconds_since(&t->epoch_began);
    t->saved_epoch = t->epoch;
    list_counters(t, counter);
    list_sums(t, sum);
    for (int k = 0; k < N_COUNTERS; k++) counters[k] = *counter[k];
    for (int k = 0; k < N_SUMS; k++) sums[k] = *sum[k];
    t->train_s = train_s;
    add(c, "", "counters", CWI_I64, N_COUNTERS, 0, counters);
    add(c, "", "sums", CWI_F64, N_SUMS, 0, sums);
    add(c, "", "luck", CWI_I64, 3, CWI_MAX_GROUPS, &t->tally.draws);
    add_params(c, "best.", &t->best);
    status = t->engine->verbs->read(t->engine, &c->state);
    for (int k = 0; k < c->state.count; k++) {
        const cwi_state_array *a = &c->state.array[k];
        add(c, "", a->name, a->dtype, a->rows, a->columns, a->data);
    }
    if (status == CW_OK) status = write_all(t, c, path);
    clock_gettime(CLOCK_MONOTONIC, &t->saved_at);
    cwi_free(c);
    return status;
}

/* ---- load ------------------------------------------------------------------- */

/* Copy an array of the file over `bytes` bytes that it must have. */
static cw_status take(cwi_trainer *t, const cwi_tensorfile *file, const char *path,
                      const char *prefix, const char *name, cwi_dtype dtype, int64_t numbers,
                      void *out)
{
    char full[CWI_ARRAY_NAME_BYTES];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const cwi_array *array = cwi_tensorfile_find(file, full);
    if (!array || array->dtype != dtype || cwi_array_count(array) != numbers)
        return cwi_fail(t->ctx, CW_BAD_DATA, "%s: '%s' is missing or of another size", path, full);
    memcpy(out, array->data, (size_t)numbers * cwi_dtype_bytes[dtype]);
    return CW_OK;
}

/* What rows there are to take. */
typedef struct rows_wanted {
    const cwi_state *state; /* of the engine */
    bool has_best;
} rows_wanted;

static cw_status take_rows(cwi_trainer *t, const cwi_parts_source *source, void *arg)
{
    const rows_wanted *wanted = arg;
    char name[CWI_ARRAY_NAME_BYTES];
    for (int k = 0; k < wanted->state->count; k++) {
        const cwi_state_array *a = &wanted->state->array[k];
        const cwi_array to = {
            a->name, a->dtype, a->columns ? 2 : 1, {a->rows, a->columns}, a->data};
        const cwi_array *from = cwi_tensorfile_find(source->file, a->name);
        if (a->may_lack && (!from || cwi_array_count(from) == 0))
            memset(a->data, 0, (size_t)(a->rows * a->columns) * cwi_dtype_bytes[a->dtype]);
        else
            CW_PASS(cwi_parts_take(t, source, &to));
    }
    for (int k = 0; k < t->best.count && wanted->has_best; k++) {
        const cwi_tensor *b = &t->best.tensor[k];
        snprintf(name, sizeof name, "best.%s", b->name);
        const cwi_array to = {name, CWI_F32, 2, {b->rows, b->columns}, b->data};
        CW_PASS(cwi_parts_take(t, source, &to));
    }
    return CW_OK;
}

/* In how many parts its rows are, and what their checksums are; 0: they are in the file itself. */
static cw_status find_parts(cwi_trainer *t, const cwi_tensorfile *file, const char *path, int *out,
                            const char **sums)
{
    const char *text = cwi_tensorfile_note(file, "parts");
    *out = 0;
    *sums = cwi_tensorfile_note(file, "sums");
    if (!text) return CW_OK;
    if (sscanf(text, "%d", out) == 1 && *out >= 1 && *out <= CWI_MOST_PROCESSES && *sums &&
        strlen(*sums) == (size_t)*out * CWI_PART_SUM)
        return CW_OK;
    return cwi_fail(t->ctx, CW_BAD_DATA, "%s: 'parts' is damaged", path);
}

/* What the engine keeps, over what it has, and the best parameters. */
static cw_status take_state(cwi_trainer *t, const cwi_tensorfile *file, const char *path)
{
    const cwi_engine_verbs *verbs = t->engine->verbs;
    const cwi_params *now;
    const cwi_parts_source whole = {file, path, 0, 1};
    const char *sums;
    int parts;
    rows_wanted wanted = {.has_best = t->stopper.best_epoch > 0};
    CW_PASS(find_parts(t, file, path, &parts, &sums));
    if (wanted.has_best) {
        CW_PASS(verbs->params(t->engine, &now));
        CW_PASS(cwi_params_copy(t->ctx, now, &t->best));
    }
    cwi_state *state = cwi_alloc(t->ctx, 1, sizeof *state);
    if (!state) return CW_NO_MEMORY;
    wanted.state = state;
    cw_status status = verbs->read(t->engine, state);
    if (status == CW_OK)
        status = parts ? cwi_parts_each(t, parts, sums, take_rows, &wanted)
                       : take_rows(t, &whole, &wanted);
    cwi_free(state);
    if (status == CW_OK) status = verbs->write(t->engine, t->epoch, &t->tally);
    return status;
}

/* The same; what the engine says of it names no file. */
static cw_status take_state_named(cwi_trainer *t, const cwi_tensorfile *file, const char *path)
{
    char reason[512];
    cw_status status = take_state(t, file, path);
    if (status != CW_BAD_DATA || strncmp(cw_context_error(t->ctx), path, strlen(path)) == 0)
        return status;
    snprintf(reason, sizeof reason, "%s", cw_context_error(t->ctx));
    cwi_begin(t->ctx);
    return cwi_fail(t->ctx, status, "%s: %s", path, reason);
}

static cw_status damaged(const cwi_trainer *t, const char *path, const char *what)
{
    cwi_begin(t->ctx);
    return cwi_fail(t->ctx, CW_BAD_DATA, "%s: '%s' is damaged", path, what);
}

/* A note of the file as JSON. */
static cw_status parse_note(cwi_trainer *t, const cwi_tensorfile *file, const char *path,
                            const char *key, json_t **out)
{
    const char *text = cwi_tensorfile_note(file, key);
    cw_status status = cwi_json_parse(t->ctx, path, text ? text : "", text ? strlen(text) : 0, out);
    return status == CW_BAD_DATA ? damaged(t, path, key) : status;
}

/* A hash that is missing is empty. */
static cw_status refuse_inputs(cwi_trainer *t, const char *path, const json_t *theirs)
{
    const struct {
        const char *key, *hash, *words;
    } inputs[] = {{"data", t->data_hash, "data"},
                  {"treatment", t->treatment_hash, "interactions of --treatment"},
                  {"propensities", t->propensity_hash, "propensities"},
                  {"metric_propensities", t->exposure.hash, "propensities of the metric"}};
    for (size_t k = 0; k < sizeof inputs / sizeof inputs[0]; k++)
        if (strcmp(cwi_json_get_text(theirs, inputs[k].key), inputs[k].hash) != 0)
            return cwi_fail(t->ctx, CW_BAD_DATA,
                            "%s was made with other %s; train without --resume, or remove it", path,
                            inputs[k].words);
    return CW_OK;
}

/* The first option that differs, for the message. */
static cw_status refuse_options(cwi_trainer *t, const char *path, const json_t *theirs,
                                json_t *ours)
{
    const char *name;
    json_t *value;
    json_object_foreach(ours, name, value)
    {
        const json_t *other = json_object_get(theirs, name);
        if (json_equal(other, value)) continue;
        char *here = cwi_json_print(t->ctx, value, JSON_REAL_PRECISION(6));
        char *there = cwi_json_print(t->ctx, other, JSON_REAL_PRECISION(6));
        cw_status status = here && there
                               ? cwi_fail(t->ctx, CW_BAD_DATA, "%s was made with --%s %s, not %s",
                                          path, name, there, here)
                               : CW_NO_MEMORY;
        cwi_free(here);
        cwi_free(there);
        return status;
    }
    return CW_OK;
}

/* Options that it does not name have the values of their tables, on both sides. */
static cw_status check_identity(cwi_trainer *t, const cwi_tensorfile *file, const char *path,
                                bool is_sequel)
{
    cw_status status;
    json_t *identity = NULL, *theirs = NULL, *ours = NULL;
    cw_options *options = NULL;
    CW_TRY(parse_note(t, file, path, "identity", &identity));
    CW_TRY(refuse_inputs(t, path, identity));
    status = cwi_train_reread(t->ctx, t->task.method, t->task.backbone,
                              json_object_get(identity, "options"), &options);
    if (status == CW_BAD_DATA) (void)damaged(t, path, "identity");
    if (status != CW_OK) goto done;
    theirs = keep_fixed(cwi_json_options(options), is_sequel);
    ours = keep_fixed(cwi_json_options(t->options), is_sequel);
    CW_TRY(theirs && ours ? refuse_options(t, path, theirs, ours) : cwi_no_memory(t->ctx));
done:
    cw_options_free(options);
    json_decref(identity);
    json_decref(theirs);
    json_decref(ours);
    return status;
}

/* The list of epochs, one entry for the beginning and one for each that is finished. */
static cw_status take_epochs(cwi_trainer *t, const cwi_tensorfile *file, const char *path)
{
    json_t *epochs, *entry;
    size_t index;
    cw_status status = parse_note(t, file, path, "epochs", &epochs);
    if (status != CW_OK) return status;
    json_decref(t->epochs);
    t->epochs = epochs;
    bool good = json_is_array(epochs);
    json_array_foreach(epochs, index, entry)
    {
        const json_t *number = json_object_get(entry, "epoch");
        good = good && json_is_integer(number) && json_integer_value(number) == (json_int_t)index;
    }
    return good ? CW_OK : damaged(t, path, "epochs");
}

/* Can training have come here?  No counter is believed, since some of them bound loops. */
static bool are_possible(const cwi_trainer *t)
{
    const cwi_tally *tally = &t->tally;
    int64_t told = (int64_t)json_array_size(t->epochs), finished = told > 0 ? told - 1 : 0;
    return t->epoch == finished && tally->steps >= 0 && tally->steps <= t->task.steps_per_epoch &&
           tally->trained >= 0 && tally->trained <= tally->steps &&
           t->tally.applied >= tally->trained &&
           t->tally.applied <= finished * t->task.steps_per_epoch + tally->trained &&
           t->stopper.best_epoch >= 0 && t->stopper.best_epoch <= finished &&
           t->stopper.worse >= 0 && t->stopper.worse <= finished;
}

/* The L2 term alone may be unknown. */
static bool are_sums_possible(const cwi_trainer *t)
{
    const cwi_tally *tally = &t->tally;
    return isfinite(tally->data_loss) && isfinite(tally->penalty) &&
           isfinite(tally->reg_at_start) && isfinite(t->stopper.best) && t->stopper.best >= 0 &&
           isfinite(t->train_s) && t->train_s >= 0;
}

static bool are_draws_possible(const cwi_draws *draws)
{
    const int64_t most = INT64_C(1) << 53;
    bool good = true;
    for (int g = 0; g < CWI_MAX_GROUPS; g++)
        good = good && draws->slots[g] >= 0 && draws->slots[g] <= CWI_MAX_SLOTS &&
               draws->accepted[g] >= 0 && draws->accepted[g] <= draws->attempts[g] &&
               draws->attempts[g] <= most;
    return good;
}

static cw_status check_progress(const cwi_trainer *t, const char *path)
{
    const char *what = !are_possible(t)                       ? "counters"
                       : !are_sums_possible(t)                ? "sums"
                       : !are_draws_possible(&t->tally.draws) ? "luck"
                                                              : NULL;
    return what ? damaged(t, path, what) : CW_OK;
}

static cw_status restore(cwi_trainer *t, const cwi_tensorfile *file, const char *path)
{
    cw_status status;
    int64_t counters[N_COUNTERS], *counter[N_COUNTERS];
    double sums[N_SUMS], *sum[N_SUMS];

    CW_TRY(check_identity(t, file, path, t->sequel.phase));
    CW_TRY(take_epochs(t, file, path));
    CW_TRY(take(t, file, path, "", "counters", CWI_I64, N_COUNTERS, counters));
    CW_TRY(take(t, file, path, "", "sums", CWI_F64, N_SUMS, sums));
    CW_TRY(take(t, file, path, "", "luck", CWI_I64, 3 * CWI_MAX_GROUPS, &t->tally.draws));
    list_counters(t, counter);
    list_sums(t, sum);
    for (int k = 0; k < N_COUNTERS; k++) *counter[k] = counters[k];
    for (int k = 0; k < N_SUMS; k++) *sum[k] = sums[k];
    CW_TRY(check_progress(t, path));
    CW_TRY(take_state_named(t, file, path));
done:
    return status;
}

/* The first training was over: what it had found, for the refit to go on with. */
static cw_status take_found(cwi_trainer *t, const cwi_tensorfile *file, const char *path)
{
    CW_PASS(check_identity(t, file, path, true));
    if (!cwi_options_flag(t->options, "refit"))
        return cwi_fail(t->ctx, CW_BAD_DATA,
                        "%s was made with --refit and holds its state alone; go on with --refit, "
                        "or train without --resume",
                        path);
    CW_PASS(parse_note(t, file, path, "before", &t->before));
    const json_t *best = json_object_get(json_object_get(t->before, "about"), "best_epoch");
    if (json_is_integer(best) && json_integer_value(best) >= 0 &&
        json_integer_value(best) <= cwi_options_integer(t->options, "epochs") &&
        json_is_array(json_object_get(t->before, "epochs")))
        return CW_OK;
    return damaged(t, path, "before");
}

/* Of this training, or of the refit that comes after it? */
static cw_status take_phase(cwi_trainer *t, const cwi_tensorfile *file, const char *path)
{
    const char *phase = cwi_tensorfile_note(file, "phase");
    if (!phase) phase = "";
    const char *ours = t->sequel.phase ? t->sequel.phase : "";
    if (strcmp(phase, ours) == 0) return restore(t, file, path);
    if (!ours[0] && strcmp(phase, "refit") == 0) return take_found(t, file, path);
    return cwi_fail(t->ctx, CW_BAD_DATA, "%s is of another command: %.20s, not %s", path,
                    phase[0] ? phase : "train", ours[0] ? ours : "train");
}

cw_status cwi_checkpoint_load(cwi_trainer *t)
{
    const char *path = cwi_options_text(t->options, "checkpoint");
    cwi_tensorfile file;
    if (path[0] == '\0')
        return cwi_fail(t->ctx, CW_BAD_ARG, "--resume needs --checkpoint, the file to go on from");
    if (!cwi_path_exists(path)) {
        cwi_log(t->ctx, CW_LOG_INFO, "there is no %s yet; training starts from the beginning",
                path);
        return CW_OK;
    }
    cw_status status = cwi_tensorfile_read(t->ctx, path, format, VERSION, &file);
    if (status != CW_OK) return status;
    status = take_phase(t, &file, path);
    cwi_tensorfile_clear(&file);
    if (status == CW_OK && !t->before)
        cwi_log(t->ctx, CW_LOG_INFO, "going on from %s: epoch %lld, step %lld", path,
                (long long)t->epoch, (long long)t->tally.steps);
    return status;
}

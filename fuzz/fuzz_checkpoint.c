/* fuzz_checkpoint.c - any bytes as a checkpoint: training goes on from it, or says why not.  The
 * first byte chooses the optimiser.  After a '%' every line "ARRAY INDEX NUMBER" sets a number of a
 * good checkpoint. */
#include "fuzzing.h"
#include "model/tensorfile.h"
#include "train/train.h"

enum { N_KINDS = 2 };

static cw_dataset *data_set;
static cw_options *options[N_KINDS];
static bytes base[N_KINDS];

/* A checkpoint of either kind, after the last epoch. */
static void prepare(void)
{
    static const char *const names[N_KINDS] = {"adam", "adam-deferred"};
    cw_context *ctx = open_context();
    cw_model *model;
    data_set = make_dataset(ctx);
    for (int k = 0; k < N_KINDS; k++) {
        place file = fresh("checkpoint");
        options[k] = training_options(ctx);
        must_work(ctx, cw_options_set(ctx, options[k], "optimizer", names[k]));
        must_work(ctx, cw_options_set(ctx, options[k], "checkpoint", file.path));
        must_work(ctx, cw_options_set(ctx, options[k], "checkpoint-end", "on"));
        must_work(ctx, cw_train(ctx, data_set, options[k], &model, NULL));
        cw_model_free(model);
        base[k] = read_bytes(file.path);
        must_work(ctx, cw_options_set(ctx, options[k], "resume", "on"));
        must_work(ctx, cw_options_set(ctx, options[k], "epochs", "3"));
    }
    cw_context_free(ctx);
}

/* Array and index of a line, and where in it the number begins; NULL when there is no such place.
 */
static const cwi_array *find_array(const cwi_tensorfile *file, const char *line, int64_t *index,
                                   char **number)
{
    char name[64];
    size_t length = strcspn(line, " ");
    if (length >= sizeof name) return NULL;
    memcpy(name, line, length);
    name[length] = '\0';
    const cwi_array *array = cwi_tensorfile_find(file, name);
    *index = strtoll(line + length, number, 10);
    return array && *index >= 0 && *index < cwi_array_count(array) ? array : NULL;
}

static void set_number(const cwi_tensorfile *file, const char *line)
{
    int64_t index;
    char *number;
    const cwi_array *array = find_array(file, line, &index, &number);
    if (!array) return;
    size_t width = cwi_dtype_bytes[array->dtype];
    char *at = (char *)array->data + (size_t)index * width; /* our own copy */
    int64_t whole = strtoll(number, NULL, 10);
    double real = strtod(number, NULL);
    float small = (float)real;
    memcpy(at,
           array->dtype == CWI_F32   ? (void *)&small
           : array->dtype == CWI_F64 ? (void *)&real
                                     : (void *)&whole,
           width);
}

static bytes make_file(const bytes *good, const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] != '%') return change_bytes(good, data, size);
    cw_context *ctx = open_context();
    bytes file = change_bytes(good, (const uint8_t *)"#", 1);
    bytes lines = change_bytes(good, data, size);
    cwi_tensorfile parsed;
    must_work(ctx, cwi_tensorfile_parse(ctx, "good", file.at, file.size, "crosswise-checkpoint",
                                        INT16_MAX, &parsed));
    for (char *line = strtok((char *)lines.at + 1, "\n"); line; line = strtok(NULL, "\n"))
        set_number(&parsed, line);
    cwi_tensorfile_clear(&parsed);
    free(lines.at);
    cw_context_free(ctx);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (!data_set) prepare();
    int kind = data[0] % N_KINDS;
    cw_context *ctx = open_context();
    cwi_trainer *trainer;
    bytes file = make_file(&base[kind], data + 1, size - 1);

    sign_tensors(&file);
    write_bytes(scratch("checkpoint").path, file);
    cw_status status = cwi_trainer_create(ctx, data_set, options[kind], &trainer);
    check_status(ctx, status);
    if (status == CW_OK) check_status(ctx, cwi_trainer_run(trainer));
    cwi_trainer_free(trainer);
    free(file.at);
    cw_context_free(ctx);
    return 0;
}

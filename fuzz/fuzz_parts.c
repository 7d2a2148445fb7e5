/* fuzz_parts.c - any bytes as a part of a checkpoint of three processes, or as what goes with them:
 * one process, and each of two, goes on from it, or says why not.  The first byte chooses the
 * optimiser, the file, and whether the checkpoint names its checksum.  After a '%' every line
 * "ARRAY INDEX NUMBER" sets a number of it. */
#include "alone.h"
#include "fuzzing.h"
#include "model/tensorfile.h"
#include "train/train.h"

enum { N_KINDS = 2, N_PARTS = 3, N_FILES = N_PARTS + 1 };

static cw_dataset *data_set;
static cw_options *options[N_KINDS][2]; /* of one process, of many */
static bytes base[N_KINDS][N_FILES];
static place files[N_KINDS][N_FILES]; /* the parts, and the checkpoint that goes with them */

/* More than a block of rows for each process. */
static cw_dataset *make_rows(cw_context *ctx)
{
    static const char *const how[][2] = {{"users", "500"},    {"items", "400"},    {"dim", "2"},
                                         {"relevant", "0.5"}, {"popularity", "0"}, {0}};
    return simulate_dataset(ctx, how);
}

static cw_options *make_words(cw_context *ctx, int kind, const char *checkpoint, const char *device)
{
    static const char *const names[N_KINDS] = {"adam", "adam-deferred"};
    const char *const words[][2] = {{"dim", "2"},
                                    {"batch", "64"},
                                    {"epochs", "1"},
                                    {"epoch-steps", "3"},
                                    {"optimizer", names[kind]},
                                    {"checkpoint", checkpoint},
                                    {"device", device},
                                    {0}};
    return make_options(ctx, "train", words);
}

/* Go on as a process of some; the trainer is NULL where that is refused. */
static cw_status go_on(cw_context *ctx, cwi_world *world, const cw_options *words,
                       cwi_trainer **out)
{
    ctx->world = world;
    return cwi_trainer_create(ctx, data_set, words, out);
}

/* What each of three processes would write of the state that one has. */
static void write_parts(cw_context *ctx, int kind, const char *checkpoint)
{
    bytes whole = read_bytes(checkpoint);
    char ending[32];
    for (int p = N_PARTS - 1; p >= 0; p--) { /* the first one replaces the checkpoint */
        cwi_world world = alone(p, N_PARTS);
        cwi_trainer *t;
        write_bytes(checkpoint, whole);
        must_work(ctx, go_on(ctx, &world, options[kind][1], &t));
        must_work(ctx, cwi_checkpoint_save(t));
        cwi_trainer_free(t);
        ctx->world = NULL;
    }
    for (int p = 0; p < N_FILES; p++) {
        snprintf(ending, sizeof ending, ".1-0.%d-of-%d", p + 1, N_PARTS);
        files[kind][p] = scratch(kind == 0 ? "dense" : "deferred");
        if (p < N_PARTS) strcat(files[kind][p].path, ending);
        base[kind][p] = read_bytes(files[kind][p].path);
    }
    free(whole.at);
}

static void prepare(void)
{
    cw_context *ctx = open_context();
    cw_model *model;
    data_set = make_rows(ctx);
    for (int k = 0; k < N_KINDS; k++) {
        place file = fresh(k == 0 ? "dense" : "deferred");
        options[k][0] = make_words(ctx, k, file.path, "cpu");
        options[k][1] = make_words(ctx, k, file.path, "mpi");
        must_work(ctx, cw_options_set(ctx, options[k][0], "checkpoint-end", "on"));
        must_work(ctx, cw_train(ctx, data_set, options[k][0], &model, NULL));
        cw_model_free(model);
        for (int many = 0; many < 2; many++)
            must_work(ctx, cw_options_set(ctx, options[k][many], "resume", "on"));
        write_parts(ctx, k, file.path);
    }
    cw_context_free(ctx);
}

static void resume(int kind, int rank, int size, bool is_good)
{
    cw_context *ctx = open_context();
    cwi_world world = alone(rank, size);
    cwi_trainer *t;
    cw_status status = go_on(ctx, size > 1 ? &world : NULL, options[kind][size > 1], &t);
    check_status(ctx, status);
    if (is_good) must_work(ctx, status);
    must(strchr(cw_context_error(ctx), '\n') == NULL);
    cwi_trainer_free(t);
    ctx->world = NULL;
    cw_context_free(ctx);
}

/* The checkpoint names the checksum of a changed part: else no changed number is ever looked at. */
static void adopt(int kind, int which, bytes part)
{
    const bytes *whole = &base[kind][N_PARTS];
    const uint8_t *old = base[kind][which].at + CWI_CHECKSUM_AT;
    bytes made = change_bytes(whole, (const uint8_t *)"#", 1);
    uint8_t *at = memmem(made.at, made.size, old, CWI_CHECKSUM_DIGITS);
    must(at != NULL);
    if (part.size >= CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS)
        memcpy(at, part.at + CWI_CHECKSUM_AT, CWI_CHECKSUM_DIGITS);
    sign_tensors(&made);
    write_bytes(files[kind][N_PARTS].path, made);
    free(made.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (!data_set) prepare();
    int kind = data[0] % N_KINDS, which = data[0] / N_KINDS % N_FILES;
    const char *format = which < N_PARTS ? "crosswise-checkpoint-part" : "crosswise-checkpoint";
    bool is_good = size == 2 && data[1] == '#'; /* no change */
    bytes file = change_tensors(&base[kind][which], format, data + 1, size - 1);
    sign_tensors(&file);
    if (which < N_PARTS && data[0] / N_KINDS / N_FILES % 2 == 0) adopt(kind, which, file);
    write_bytes(files[kind][which].path, file);
    resume(kind, 0, 1, is_good);
    resume(kind, 0, 2, is_good);
    resume(kind, 1, 2, is_good);
    write_bytes(files[kind][which].path, base[kind][which]);
    write_bytes(files[kind][N_PARTS].path, base[kind][N_PARTS]);
    free(file.at);
    return 0;
}

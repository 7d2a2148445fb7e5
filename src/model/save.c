/* save.c - a model and the record of its run, which belong together. */
#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "model/modelfile.h"

/* Text that only a record has near its beginning. */
static bool begins_like_a_record(const char *start, size_t length)
{
    static const char *const keys[] = {"\"method\": \"", "\"backbone\": \"", "\"options\": {"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (!memmem(start, length, keys[k], strlen(keys[k]))) return false;
    return start[0] == '{';
}

const cwi_file_kind cwi_record_kind = {"record", begins_like_a_record, true};

/* The record with the checksum of its model, by which anyone sees that they belong together. */
static cw_status put_record(cw_context *ctx, const char *run, const char *hash, cwi_writer *writer)
{
    cw_status status;
    char *text = NULL;
    json_t *record = NULL;
    CW_TRY(cwi_json_verify(ctx, "the record of the run", run, strlen(run), &record));
    cwi_json_set(&record, "model", json_pack("{s:s}", "xxh3_128", hash));
    CW_TRY(cwi_json_sign(ctx, record, &text));
    cwi_writer_text(writer, text);
done:
    cwi_free(text);
    return status;
}

cw_status cw_model_save_run(cw_context *ctx, const cw_model *model, const char *path,
                            const char *run, const char *record, bool replace)
{
    cw_status status;
    cwi_writer *writer = NULL, *second = NULL;
    char hash[CWI_HASH_BYTES];

    cwi_begin(ctx);
    CW_TRY(cwi_file_check(ctx, path, &cwi_model_kind, replace));
    if (run) CW_TRY(cwi_file_check(ctx, record, &cwi_record_kind, replace));
    CW_TRY(cwi_writer_open(ctx, path, &writer));
    CW_TRY(cwi_model_put(ctx, model, path, writer));
    CW_TRY(cwi_writer_finish(ctx, writer, hash));
    if (run) {
        CW_TRY(cwi_writer_open(ctx, record, &second));
        CW_TRY(put_record(ctx, run, hash, second));
    }
    return cwi_writer_close_pair(ctx, writer, second);
done:
    cwi_writer_abandon(second);
    cwi_writer_abandon(writer);
    return status;
}

cw_status cw_model_save(cw_context *ctx, const cw_model *model, const char *path)
{
    return cw_model_save_run(ctx, model, path, NULL, NULL, false);
}

/* fuzz_serve.c - any bytes as a request to the server: every route, with and without tokens, and
 * what it replies. */
#include <serve.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzzing.h"
#include "server.h"

enum { BODY_BYTES = 1 << 16 };

static server asked;
static serve_settings settings;

/* A model of 8 users and 11 items. */
static void prepare(void)
{
    static place model, tokens, folder;
    cw_context *ctx = open_context();
    cw_dataset *data = make_dataset(ctx);
    cw_options *options = training_options(ctx);
    cw_model *trained;
    must_work(ctx, cw_train(ctx, data, options, &trained, NULL));
    model = scratch("served.safetensors");
    tokens = scratch("tokens");
    folder = fresh("feedback");
    must_work(ctx, cw_model_save(ctx, trained, model.path));
    write_text(tokens.path, "write 0123456789abcdef\nadmin fedcba9876543210\n");
    must(chmod(tokens.path, 0600) == 0);
    settings = (serve_settings){.model = model.path,
                                .tokens = tokens.path,
                                .feedback = folder.path,
                                .client_rate = 1000000,
                                .body_bytes = BODY_BYTES,
                                .rotate_bytes = 1 << 16,
                                .is_quiet = true};
    must(server_open(&asked, ctx, &settings));
    cw_model_free(trained);
    cw_options_free(options);
    cw_dataset_free(data);
    cw_context_free(ctx);
}

/* A reply of JSON is JSON, a problem says its own status, and nothing is an error of ours. */
static void check_reply(const reply *out)
{
    json_error_t error;
    must(out->status == 200 || (out->status >= 400 && out->status <= 429) || out->status == 503);
    must(out->body && out->type && out->length == strlen(out->body));
    if (!strstr(out->type, "json")) return;
    json_t *root = json_loadb(out->body, out->length, 0, &error);
    must(json_is_object(root));
    if (out->status != 200)
        must(json_integer_value(json_object_get(root, "status")) == out->status &&
             json_is_string(json_object_get(root, "detail")));
    json_decref(root);
}

static void ask(request *in)
{
    reply out;
    in->may_wait = true;
    server_answer(&asked, in, &out);
    if (out.errand == TAKE_TIME) {
        must(!out.body);
        in->may_wait = false;
        in->is_admitted = true;
        server_answer(&asked, in, &out);
    }
    if (out.errand == WRITE_ROWS) {
        reply *one = &out;
        must(out.text_length > 0 && out.n_rows > 0);
        server_write(&asked, &one, 1);
    } else if (out.errand == RELOAD) {
        cw_context *ctx = open_context();
        server_reload(&asked, ctx, &out);
        cw_context_free(ctx);
    }
    check_reply(&out);
    reply_clear(&out);
}

/* A byte says how: the method, the token, the type; then the target until a line end, then the
 * body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"GET", "POST", "HEAD", "PUT"};
    static const char *const tokens[] = {NULL, "Bearer 0123456789abcdef", "Bearer fedcba9876543210",
                                         "Bearer no"};
    static const char *const types[] = {"application/json", "application/json; charset=utf-8",
                                        "text/plain", NULL};
    if (!asked.guard) prepare();
    if (size == 0) return 0;
    char *target = malloc(size), *body = malloc(size);
    must(target && body);
    const uint8_t *text = data + 1, *end = memchr(text, '\n', size - 1);
    size_t length = end ? (size_t)(end - text) : size - 1;
    memcpy(target, text, length);
    target[length] = '\0';
    size_t rest = end ? size - 2 - length : 0;
    if (end) memcpy(body, end + 1, rest);
    body[rest] = '\0';
    ask(&(request){.method = methods[data[0] & 3],
                   .authorization = tokens[data[0] >> 2 & 3],
                   .type = types[data[0] >> 4 & 3],
                   .target = target,
                   .body = body,
                   .body_length = rest,
                   .is_too_long = rest > BODY_BYTES});
    free(target);
    free(body);
    return 0;
}

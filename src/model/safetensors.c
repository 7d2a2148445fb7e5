/* safetensors.c - write a model, read one from a file that may be anything. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "model/modelfile.h"
#include "model/tensorfile.h"
#include "registry/registry.h"

/* Version 2 has guests or hidden rows, version 3 terms of items; a model without is written as the
 * version before, as it ever was. */
enum { FORMAT_VERSION = 3, N_OWN_ARRAYS = 18 };

static const char format[] = "crosswise-model";

/* Letters, digits, '.', '_' and '-', no dot at the beginning: it can be the name of a file. */
static bool is_plain_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               length;
}

/* ---- writing ------------------------------------------------------------------ */

/* Ids one after the other without ends: id k is text[start[k]] .. text[start[k + 1] - 1]. */
typedef struct packed {
    char *text;
    int64_t *start; /* [count + 1] */
} packed;

static packed pack_ids(cw_context *ctx, cwi_pile *pile, const cwi_idmap *map)
{
    int64_t used = 0;
    packed out = {.text = cwi_pile_add(ctx, pile, map->text_used, 1),
                  .start = cwi_pile_add(ctx, pile, (size_t)map->count + 1, sizeof *out.start)};
    if (pile->status != CW_OK) return out;
    for (int32_t k = 0; k < map->count; k++) {
        const char *id = cwi_idmap_text(map, k);
        size_t length = strlen(id);
        out.start[k] = used;
        memcpy(out.text + used, id, length);
        used += (int64_t)length;
    }
    out.start[map->count] = used;
    return out;
}

static cwi_array list_of(const char *name, cwi_dtype dtype, int64_t count, const void *data)
{
    return (cwi_array){.name = name, .dtype = dtype, .rank = 1, .shape = {count}, .data = data};
}

/* Raw ids in the form in which they are written, of those who were trained and of guests. */
typedef struct names {
    packed users, items, guest_users, guest_items;
} names;

static size_t list_guests(const cw_model *model, const names *ids, cwi_array *out)
{
    int64_t n_users = model->rest.users.count, n_items = model->rest.items.count;
    const cwi_csr *rows = &model->rest.rows;
    size_t n = 0;
    out[n++] = list_of("guests.start", CWI_I64, n_users + 1, rows->start);
    out[n++] = list_of("guests.item", CWI_I32, rows->start[n_users], rows->value);
    out[n++] = list_of("guests.users.start", CWI_I64, n_users + 1, ids->guest_users.start);
    out[n++] = list_of("guests.users.text", CWI_U8, ids->guest_users.start[n_users],
                       ids->guest_users.text);
    out[n++] = list_of("guests.items.start", CWI_I64, n_items + 1, ids->guest_items.start);
    out[n++] = list_of("guests.items.text", CWI_U8, ids->guest_items.start[n_items],
                       ids->guest_items.text);
    const cwi_csr *lost = &model->rest.lost;
    if (!lost->start) return n;
    out[n++] = list_of("guests.lost.start", CWI_I64, (int64_t)lost->n_rows + 1, lost->start);
    out[n++] = list_of("guests.lost.item", CWI_I32, lost->start[lost->n_rows], lost->value);
    return n;
}

static size_t list_hidden(const cw_model *model, cwi_array *out)
{
    const cwi_csr *hidden = &model->rest.hidden;
    out[0] = list_of("hidden.start", CWI_I64, (int64_t)hidden->n_rows + 1, hidden->start);
    out[1] = list_of("hidden.item", CWI_I32, hidden->start[hidden->n_rows], hidden->value);
    return 2;
}

static size_t list_arrays(const cw_model *model, const names *ids,
                          cwi_array out[N_OWN_ARRAYS + CWI_MAX_TENSORS])
{
    size_t n = 0;
    const packed *users = &ids->users, *items = &ids->items;
    for (int t = 0; t < model->params.count; t++) {
        const cwi_tensor *tensor = &model->params.tensor[t];
        out[n++] = (cwi_array){.name = tensor->name,
                               .dtype = CWI_F32,
                               .rank = 2,
                               .shape = {tensor->rows, tensor->columns},
                               .data = tensor->data};
    }
    int64_t n_users = model->n_users, n_items = model->n_items;
    out[n++] = list_of("seen.start", CWI_I64, n_users + 1, model->seen.start);
    out[n++] = list_of("seen.item", CWI_I32, model->seen.start[n_users], model->seen.value);
    out[n++] = list_of("degree", CWI_I64, n_items, model->degree);
    out[n++] = list_of("users.start", CWI_I64, n_users + 1, users->start);
    out[n++] = list_of("users.text", CWI_U8, users->start[n_users], users->text);
    out[n++] = list_of("items.start", CWI_I64, n_items + 1, items->start);
    out[n++] = list_of("items.text", CWI_U8, items->start[n_items], items->text);
    if (model->term) out[n++] = list_of("bucket.term", CWI_F32, n_items, model->term);
    if (cwi_model_has_guests(model)) n += list_guests(model, ids, out + n);
    if (cwi_model_count_hidden(model) > 0) n += list_hidden(model, out + n);
    return n;
}

static int version_of(const cw_model *model)
{
    bool has_rest = cwi_model_has_guests(model) || cwi_model_count_hidden(model) > 0;
    return model->term ? 3 : has_rest ? 2 : 1;
}

static bool begins_like_a_model(const char *start, size_t length)
{
    return cwi_tensorfile_begins(start, length, format);
}

const cwi_file_kind cwi_model_kind = {"model", begins_like_a_model, true};

cw_status cwi_model_put(cw_context *ctx, const cw_model *model, const char *path,
                        cwi_writer *writer)
{
    cw_status status;
    cwi_pile pile = {0};
    const names ids = {pack_ids(ctx, &pile, &model->users), pack_ids(ctx, &pile, &model->items),
                       pack_ids(ctx, &pile, &model->rest.users),
                       pack_ids(ctx, &pile, &model->rest.items)};
    cwi_array arrays[N_OWN_ARRAYS + CWI_MAX_TENSORS];
    cwi_note notes[] = {{"method", model->method},
                        {"backbone", model->backbone},
                        {"about", model->about ? model->about : "{}"}};
    cwi_tensorfile file = {.format = format,
                           .version = version_of(model),
                           .arrays = arrays,
                           .notes = notes,
                           .n_notes = 3};

    CW_TRY(pile.status);
    CW_TRY(cwi_params_complete(ctx, &model->params));
    file.n_arrays = list_arrays(model, &ids, arrays);
    CW_TRY(cwi_tensorfile_put(ctx, path, &file, writer));
done:
    cwi_pile_clear(&pile);
    return status;
}

/* ---- reading ------------------------------------------------------------------ */

/* What one of many processes leaves in the file. */
static bool is_far(const cwi_tensorfile *file, const cwi_array *array)
{
    const char *name = cwi_tensorfile_note(file, "backbone");
    const cwi_backbone *backbone = name ? cwi_find_backbone(name) : NULL;
    return backbone && backbone->ranks_far && array->dtype == CWI_F32 && array->rank == 2;
}

typedef struct reader {
    cw_context *ctx;
    const char *name;
    const cwi_tensorfile *file;
    cw_model *model;
} reader;

static cw_status refuse(const reader *r, const char *what, const char *problem)
{
    return cwi_fail(r->ctx, CW_BAD_DATA, "%s: %s %s", r->name, what, problem);
}

/* A list of that name and type with `count` numbers; any number of them when count is negative. */
static cw_status find_list(const reader *r, const char *name, cwi_dtype dtype, int64_t count,
                           const cwi_array **out)
{
    *out = cwi_tensorfile_find(r->file, name);
    if (!*out) return refuse(r, name, "is missing");
    if ((*out)->dtype != dtype || (*out)->rank != 1) return refuse(r, name, "is of another type");
    if (count >= 0 && (*out)->shape[0] != count) return refuse(r, name, "has a wrong length");
    return CW_OK;
}

/* Do offsets go from 0 to total without stepping back? */
static bool is_ascending(const int64_t *start, int64_t n, int64_t total)
{
    if (start[0] != 0 || start[n] != total) return false;
    for (int64_t k = 0; k < n; k++)
        if (start[k + 1] < start[k]) return false;
    return true;
}

static cw_status read_name(const reader *r, const char *key, char out[32])
{
    const char *text = cwi_tensorfile_note(r->file, key);
    if (!text) return refuse(r, key, "is missing");
    if (!is_plain_name(text) || strlen(text) >= 32) return refuse(r, key, "is not a name");
    snprintf(out, 32, "%s", text);
    return CW_OK;
}

static cw_status read_about(const reader *r)
{
    json_t *about;
    const char *text = cwi_tensorfile_note(r->file, "about");
    if (!text) return refuse(r, "about", "is missing");
    cw_status status = cwi_json_parse(r->ctx, "about", text, strlen(text), &about);
    bool is_object = json_is_object(about);
    json_decref(about);
    if (status == CW_NO_MEMORY) return status;
    cwi_begin(r->ctx); /* the message names the file instead */
    if (!is_object) return refuse(r, "about", "is not a JSON object");
    r->model->about = cwi_strdup(r->ctx, text);
    return r->model->about ? CW_OK : CW_NO_MEMORY;
}

static cw_status read_degrees(const reader *r)
{
    const cwi_array *array;
    CW_PASS(find_list(r, "degree", CWI_I64, -1, &array));
    const int64_t *degree = array->data;
    int64_t n = array->shape[0];
    if (n < 1 || n >= INT32_MAX) return refuse(r, "degree", "has a wrong length");
    for (int64_t i = 0; i < n; i++)
        if (degree[i] < 0) return refuse(r, "degree", "has a number below 0");
    r->model->n_items = (int32_t)n;
    r->model->degree = cwi_alloc(r->ctx, (size_t)n, sizeof *degree);
    if (!r->model->degree) return CW_NO_MEMORY;
    memcpy(r->model->degree, degree, (size_t)n * sizeof *degree);
    return CW_OK;
}

/* Items of every row ascend (a pair that occurs twice in train may be there twice). */
static bool rows_are_good(const int64_t *start, const int32_t *item, int64_t n_rows,
                          int32_t n_items)
{
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t e = start[r]; e < start[r + 1]; e++)
            if (item[e] < 0 || item[e] >= n_items || (e > start[r] && item[e] < item[e - 1]))
                return false;
    return true;
}

/* Items by user, of at least so many users; numbers are below n_items. */
static cw_status read_rows(const reader *r, const char *start_name, const char *item_name,
                           int64_t least, int32_t n_items, cwi_csr *seen)
{
    const cwi_array *start, *item;

    CW_PASS(find_list(r, start_name, CWI_I64, -1, &start));
    CW_PASS(find_list(r, item_name, CWI_I32, -1, &item));
    int64_t n = start->shape[0] - 1, count = item->shape[0];
    if (n < least || n >= INT32_MAX) return refuse(r, start_name, "has a wrong length");
    if (!is_ascending(start->data, n, count))
        return refuse(r, start_name, "does not ascend to the number of seen items");
    if (!rows_are_good(start->data, item->data, n, n_items))
        return refuse(r, item_name, "has an item that is out of range or out of order");
    seen->n_rows = (int32_t)n;
    seen->start = cwi_alloc(r->ctx, (size_t)n + 1, sizeof *seen->start);
    seen->value = cwi_alloc(r->ctx, (size_t)count, sizeof *seen->value);
    if (!seen->start || !seen->value) return CW_NO_MEMORY;
    memcpy(seen->start, start->data, (size_t)(n + 1) * sizeof *seen->start);
    memcpy(seen->value, item->data, (size_t)count * sizeof *seen->value);
    cwi_tensorfile_forget(r->file, start);
    cwi_tensorfile_forget(r->file, item);
    return CW_OK;
}

static bool have_common(const cwi_idmap *a, const cwi_idmap *b)
{
    for (int32_t k = 0; k < b->count; k++) {
        const char *id = cwi_idmap_text(b, k);
        if (cwi_idmap_find(a, id, strlen(id)) >= 0) return true;
    }
    return false;
}

static cw_status read_ids(const reader *r, const char *start_name, const char *text_name,
                          int32_t count, cwi_idmap *out)
{
    const cwi_array *start, *text;
    int32_t index;

    CW_PASS(find_list(r, start_name, CWI_I64, (int64_t)count + 1, &start));
    CW_PASS(find_list(r, text_name, CWI_U8, -1, &text));
    const int64_t *offset = start->data;
    if (!is_ascending(offset, count, text->shape[0]))
        return refuse(r, start_name, "does not ascend to the length of the text");
    for (int32_t k = 0; k < count; k++) {
        const char *id = (const char *)text->data + offset[k];
        size_t length = (size_t)(offset[k + 1] - offset[k]);
        if (length == 0 || length > CWI_MAX_ID_BYTES || memchr(id, '\0', length))
            return refuse(r, text_name, "has an id that is empty, too long or has a zero byte");
        CW_PASS(cwi_idmap_add(r->ctx, out, id, length, &index));
        if (index != k) return refuse(r, text_name, "has an id twice");
    }
    cwi_tensorfile_forget(r->file, start);
    cwi_tensorfile_forget(r->file, text);
    return CW_OK;
}

static bool has_either(const reader *r, const char *one, const char *other)
{
    return cwi_tensorfile_find(r->file, one) || cwi_tensorfile_find(r->file, other);
}

/* Of users, then of guests: dropped items that they had. */
static cw_status read_lost(const reader *r)
{
    static const char start[] = "guests.lost.start", item[] = "guests.lost.item";
    cwi_rest *rest = &r->model->rest;
    if (!has_either(r, start, item)) return CW_OK;
    CW_PASS(read_rows(r, start, item, 1, rest->items.count, &rest->lost));
    if (rest->lost.n_rows != r->model->n_users + rest->users.count)
        return refuse(r, start, "has a wrong length");
    return CW_OK;
}

/* Of a file that has any: users and items that are not among those of training. */
static cw_status read_guests(const reader *r)
{
    const cwi_array *start;
    const cw_model *model = r->model;
    cwi_rest *rest = &r->model->rest;
    if (!cwi_tensorfile_find(r->file, "guests.start")) return CW_OK;
    CW_PASS(read_rows(r, "guests.start", "guests.item", 0, model->n_items, &rest->rows));
    CW_PASS(
        read_ids(r, "guests.users.start", "guests.users.text", rest->rows.n_rows, &rest->users));
    CW_PASS(find_list(r, "guests.items.start", CWI_I64, -1, &start));
    if (start->shape[0] < 1 || start->shape[0] > INT32_MAX)
        return refuse(r, "guests.items.start", "has a wrong length");
    CW_PASS(read_ids(r, "guests.items.start", "guests.items.text", (int32_t)(start->shape[0] - 1),
                     &rest->items));
    if (model->n_users > INT32_MAX - rest->users.count ||
        model->n_items > INT32_MAX - rest->items.count)
        return refuse(r, "guests", "are too many");
    if (have_common(&model->users, &rest->users) || have_common(&model->items, &rest->items))
        return refuse(r, "guests", "are among those of training");
    return read_lost(r);
}

/* Of a file that has any: rows of users, then of guests. */
static cw_status read_hidden(const reader *r)
{
    cwi_rest *rest = &r->model->rest;
    if (!has_either(r, "hidden.start", "hidden.item")) return CW_OK;
    CW_PASS(read_rows(r, "hidden.start", "hidden.item", 1, r->model->n_items, &rest->hidden));
    if (rest->hidden.n_rows != r->model->n_users + rest->users.count)
        return refuse(r, "hidden.start", "has a wrong length");
    return CW_OK;
}

/* Of a file that has them: numbers that are added to scores. */
static cw_status read_terms(const reader *r)
{
    static const char name[] = "bucket.term";
    const cwi_array *array;
    size_t n = (size_t)r->model->n_items;
    if (!cwi_tensorfile_find(r->file, name)) return CW_OK;
    CW_PASS(find_list(r, name, CWI_F32, r->model->n_items, &array));
    const float *term = array->data;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(term[i])) return refuse(r, name, "has a number that is not finite");
    r->model->term = cwi_alloc(r->ctx, n, sizeof *term);
    if (!r->model->term) return CW_NO_MEMORY;
    memcpy(r->model->term, term, n * sizeof *term);
    return CW_OK;
}

/* A table that stays in the file. */
static cw_status keep_far(const reader *r, const cwi_array *array)
{
    cwi_far *far;
    const cwi_far like = {.path = (char *)r->name,
                          .name = (char *)array->name,
                          .file = r->file->file,
                          .at = (const char *)array->data - (const char *)r->file->bytes,
                          .rows = array->shape[0],
                          .columns = array->shape[1]};
    CW_PASS(cwi_far_open(r->ctx, &like, &far));
    cw_status status = cwi_params_add_far(r->ctx, &r->model->params, far);
    if (status != CW_OK) cwi_far_close(far);
    return status;
}

static cw_status read_tensor(const reader *r, const cwi_array *array)
{
    cwi_tensor *tensor;
    const float *data = array->data;
    int64_t count = cwi_array_count(array);

    if (!is_plain_name(array->name) || strlen(array->name) >= CWI_TENSOR_NAME_BYTES)
        return refuse(r, "a tensor", "has a name that is too long or has odd characters");
    if (array->rank != 2) return refuse(r, array->name, "is not a matrix");
    if (r->file->space > 0 && is_far(r->file, array)) return keep_far(r, array);
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(data[k])) return refuse(r, array->name, "has a number that is not finite");
    cw_status status = cwi_params_add(r->ctx, &r->model->params, array->name, array->shape[0],
                                      array->shape[1], &tensor);
    if (status == CW_OK && count > 0) memcpy(tensor->data, data, (size_t)count * sizeof *data);
    return status;
}

/* Every matrix of floats is a parameter, in the order of the file. */
static cw_status read_params(const reader *r)
{
    static const char own[] = "seen.start|seen.item|degree|users.start|users.text|items.start|"
                              "items.text|guests.start|guests.item|guests.users.start|"
                              "guests.users.text|guests.items.start|guests.items.text|"
                              "guests.lost.start|guests.lost.item|"
                              "hidden.start|hidden.item|bucket.term";
    for (size_t a = 0; a < r->file->n_arrays; a++) {
        const cwi_array *array = &r->file->arrays[a];
        if (cwi_word_index(own, array->name) >= 0) continue;
        if (array->dtype != CWI_F32) return refuse(r, "a tensor", "is not of a known kind");
        if (r->model->params.count == CWI_MAX_TENSORS)
            return refuse(r, "there are", "too many tensors");
        CW_PASS(read_tensor(r, array));
    }
    return CW_OK;
}

static cw_status fill_model(const reader *r)
{
    CW_PASS(read_name(r, "method", r->model->method));
    CW_PASS(read_name(r, "backbone", r->model->backbone));
    CW_PASS(read_about(r));
    CW_PASS(read_degrees(r));
    CW_PASS(read_rows(r, "seen.start", "seen.item", 1, r->model->n_items, &r->model->seen));
    r->model->n_users = r->model->seen.n_rows;
    CW_PASS(read_ids(r, "users.start", "users.text", r->model->n_users, &r->model->users));
    CW_PASS(read_ids(r, "items.start", "items.text", r->model->n_items, &r->model->items));
    CW_PASS(read_guests(r));
    CW_PASS(read_hidden(r));
    CW_PASS(read_terms(r));
    return read_params(r);
}

static cw_status build_model(cw_context *ctx, const char *name, const cwi_tensorfile *file,
                             cw_model **out)
{
    CW_PASS(cwi_model_create(ctx, out));
    const reader r = {.ctx = ctx, .name = name, .file = file, .model = *out};
    cw_status status = fill_model(&r);
    memcpy((*out)->checksum, file->checksum, sizeof file->checksum);
    if (status != CW_OK) {
        cw_model_free(*out);
        *out = NULL;
    }
    return status;
}

cw_status cwi_model_parse(cw_context *ctx, const char *name, const void *bytes, size_t length,
                          cw_model **out)
{
    cwi_tensorfile file;
    *out = NULL;
    cw_status status =
        cwi_tensorfile_parse(ctx, name, bytes, length, format, FORMAT_VERSION, &file);
    if (status == CW_OK) status = build_model(ctx, name, &file, out);
    cwi_tensorfile_clear(&file);
    return status;
}

cw_status cw_model_load(cw_context *ctx, const char *path, cw_model **out)
{
    cwi_tensorfile file;
    cwi_begin(ctx);
    *out = NULL;
    cw_status status =
        ctx->world ? cwi_tensorfile_read_far(ctx, path, format, FORMAT_VERSION, is_far, &file)
                   : cwi_tensorfile_read(ctx, path, format, FORMAT_VERSION, &file);
    if (status == CW_OK) status = build_model(ctx, path, &file, out);
    cwi_tensorfile_clear(&file);
    return status;
}

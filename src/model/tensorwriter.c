/* tensorwriter.c - write a safetensors file whole or not at all. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/numbers.h"
#include "model/tensorfile.h"

enum { ALIGNMENT = 64 };

static size_t bytes_of(const cwi_array *array)
{
    return (size_t)cwi_array_count(array) * cwi_dtype_bytes[array->dtype];
}

/* Wide numbers first: there may be no gaps between arrays, and so each begins at a multiple of the
 * size of its numbers.  Arrays of one width keep their order. */
static const cwi_array **put_in_order(cw_context *ctx, const cwi_tensorfile *file)
{
    size_t used = 0;
    const cwi_array **order = cwi_alloc(ctx, file->n_arrays, sizeof *order);
    for (size_t width = 8; width > 0 && order; width /= 2)
        for (size_t a = 0; a < file->n_arrays; a++)
            if (cwi_dtype_bytes[file->arrays[a].dtype] == width) order[used++] = &file->arrays[a];
    return order;
}

/* ---- the header --------------------------------------------------------------- */

static json_t *describe_notes(const cwi_tensorfile *file)
{
    char blank[CWI_CHECKSUM_DIGITS + 1];
    memset(blank, '0', CWI_CHECKSUM_DIGITS);
    blank[CWI_CHECKSUM_DIGITS] = '\0';
    char version[16];
    snprintf(version, sizeof version, "%d", file->version);
    json_t *notes = json_pack("{s:s, s:s, s:s, s:s}", "checksum", blank, "format", file->format,
                              "format_version", version, "crosswise", cw_version());
    for (size_t n = 0; n < file->n_notes; n++)
        cwi_json_set(&notes, file->notes[n].key, cwi_json_string(file->notes[n].value));
    return notes;
}

static json_t *describe_array(const cwi_array *array, size_t start)
{
    json_t *shape = json_array();
    for (int d = 0; d < array->rank; d++) cwi_json_add(&shape, json_integer(array->shape[d]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", cwi_dtype_names[array->dtype], "shape", shape,
                     "data_offsets", (json_int_t)start, (json_int_t)(start + bytes_of(array)));
}

static json_t *describe(const cwi_tensorfile *file, const cwi_array *const *order)
{
    size_t start = 0;
    json_t *root = json_pack("{s:o}", "__metadata__", describe_notes(file));
    for (size_t a = 0; a < file->n_arrays; a++) {
        cwi_json_set(&root, order[a]->name, describe_array(order[a], start));
        start += bytes_of(order[a]);
    }
    return root;
}

/* The length, then the header, padded so that the numbers begin at a multiple of 64 bytes. */
static cw_status print_header(cw_context *ctx, json_t *root, char **out, size_t *length)
{
    size_t text = root ? json_dumpb(root, NULL, 0, JSON_COMPACT) : 0;
    if (text == 0) return cwi_no_memory(ctx);
    *length = (CWI_TENSORFILE_PREFIX + text + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *out = cwi_alloc(ctx, *length, 1);
    if (!*out) return CW_NO_MEMORY;
    memset(*out, ' ', *length);
    uint64_t header_bytes = *length - CWI_TENSORFILE_PREFIX;
    memcpy(*out, &header_bytes, sizeof header_bytes);
    cwi_numbers_turn(*out, 1, sizeof header_bytes);
    if (json_dumpb(root, *out + CWI_TENSORFILE_PREFIX, text, JSON_COMPACT) != text)
        return cwi_no_memory(ctx);
    return CW_OK;
}

static void hash_piece(void *state, const void *bytes, size_t length)
{
    XXH3_128bits_update(state, bytes, length);
}

/* Fill in the checksum of everything after it. */
static cw_status sign(cw_context *ctx, const cwi_tensorfile *file, const cwi_array *const *order,
                      char *header, size_t length)
{
    const size_t after = CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS;
    char digits[CWI_CHECKSUM_DIGITS + 1];
    XXH3_state_t *state = XXH3_createState();
    if (!state) return cwi_no_memory(ctx);
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, header + after, length - after);
    for (size_t a = 0; a < file->n_arrays; a++)
        cwi_numbers_give(order[a]->data, (size_t)cwi_array_count(order[a]),
                         cwi_dtype_bytes[order[a]->dtype], hash_piece, state);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
    memcpy(header + CWI_CHECKSUM_AT, digits, CWI_CHECKSUM_DIGITS);
    return CW_OK;
}

/* ---- the file ----------------------------------------------------------------- */

bool cwi_tensorfile_begins(const char *start, size_t length, const char *format)
{
    char expected[64];
    const size_t after = CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS;
    const size_t text = sizeof CWI_TENSORFILE_START - 1;
    int used = snprintf(expected, sizeof expected, "\",\"format\":\"%s\"", format);
    return length >= after + (size_t)used &&
           memcmp(start + CWI_TENSORFILE_PREFIX, CWI_TENSORFILE_START, text) == 0 &&
           memcmp(start + after, expected, (size_t)used) == 0;
}

cw_status cwi_tensorfile_put(cw_context *ctx, const char *path, const cwi_tensorfile *file,
                             cwi_writer *writer)
{
    cw_status status;
    const cwi_array **order = put_in_order(ctx, file);
    char *header = NULL;
    size_t length = 0;

    if (!order) return CW_NO_MEMORY;
    json_t *root = describe(file, order);
    if (root && json_object_size(root) != file->n_arrays + 1)
        CW_TRY(cwi_fail(ctx, CW_BAD_ARG, "%s: two tensors have the same name", path));
    CW_TRY(print_header(ctx, root, &header, &length));
    CW_TRY(sign(ctx, file, order, header, length));
    if (file->signature)
        snprintf(file->signature, CWI_CHECKSUM_DIGITS + 1, "%.*s", CWI_CHECKSUM_DIGITS,
                 header + CWI_CHECKSUM_AT);
    cwi_writer_put(writer, header, length);
    for (size_t a = 0; a < file->n_arrays; a++)
        cwi_writer_numbers(writer, order[a]->data, (size_t)cwi_array_count(order[a]),
                           cwi_dtype_bytes[order[a]->dtype]);
done:
    json_decref(root);
    cwi_free(header);
    cwi_free((void *)order);
    return status;
}

cw_status cwi_tensorfile_write(cw_context *ctx, const char *path, const cwi_tensorfile *file)
{
    cwi_writer *writer;
    cw_status status = cwi_writer_open(ctx, path, &writer);
    if (status == CW_OK) status = cwi_tensorfile_put(ctx, path, file, writer);
    return cwi_writer_end(ctx, writer, status);
}

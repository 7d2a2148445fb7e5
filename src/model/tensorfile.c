/* tensorfile.c - read a safetensors file, believing nothing. */
#include "model/tensorfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/numbers.h"
#include "core/text.h"

const char *const cwi_dtype_names[] = {"F32", "F64", "I32", "I64", "U8", "U64", "I16", NULL};
const size_t cwi_dtype_bytes[] = {4, 8, 4, 8, 1, 8, 2};

/* The file being read. */
typedef struct reader {
    cw_context *ctx;
    const char *name;
    const unsigned char *bytes;
    size_t length;
    uint64_t header_bytes;
    uint64_t data_bytes;
    const char *digits; /* the checksum of the bytes; NULL: it is to be made */
    cwi_tensorfile *out;
} reader;

int64_t cwi_array_count(const cwi_array *array)
{
    int64_t count = 1;
    for (int d = 0; d < array->rank; d++) count *= array->shape[d];
    return count;
}

void cwi_tensorfile_checksum(const void *bytes, size_t length, char out[CWI_CHECKSUM_DIGITS + 1])
{
    const size_t after = CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS;
    XXH128_hash_t hash = XXH3_128bits((const char *)bytes + after, length - after);
    snprintf(out, CWI_CHECKSUM_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
}

static cw_status refuse(const reader *r, const char *problem)
{
    return cwi_fail(r->ctx, CW_BAD_DATA, "%s: %s", r->name, problem);
}

/* ---- the header --------------------------------------------------------------- */

static cw_status check_length(reader *r)
{
    if (r->length < CWI_TENSORFILE_PREFIX)
        return refuse(r, "this is not a safetensors file: it is too short");
    memcpy(&r->header_bytes, r->bytes, sizeof r->header_bytes);
    cwi_numbers_turn(&r->header_bytes, 1, sizeof r->header_bytes);
    if (r->header_bytes > r->length - CWI_TENSORFILE_PREFIX ||
        r->header_bytes > CWI_TENSORFILE_MAX_HEADER || r->header_bytes < 2 ||
        r->bytes[CWI_TENSORFILE_PREFIX] != '{')
        return refuse(r, "this is not a safetensors file, or it was cut off");
    r->data_bytes = r->length - CWI_TENSORFILE_PREFIX - r->header_bytes;
    return CW_OK;
}

static cw_status parse_json(reader *r)
{
    json_t *root;
    cw_status status =
        cwi_json_parse(r->ctx, r->name, (const char *)r->bytes + CWI_TENSORFILE_PREFIX,
                       (size_t)r->header_bytes, &root);
    r->out->header = root;
    if (status != CW_BAD_DATA) return status;
    cwi_begin(r->ctx); /* a line says nothing here */
    return refuse(r, "the header is damaged: it is not JSON, or has a name twice");
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Is this file of the kind that is wanted, and do we know its version? */
static cw_status check_format(reader *r, const json_t *notes, const char *format, int version)
{
    const char *found = text_of(notes, "format"), *number = text_of(notes, "format_version");
    int64_t value;
    char excerpt[48];

    if (!found || strncmp(found, "crosswise-", 10) != 0)
        return refuse(r, "this safetensors file was not written by crosswise");
    if (strcmp(found, format) != 0)
        return cwi_fail(r->ctx, CW_BAD_DATA, "%s: this is a file of format %s, not %s", r->name,
                        cwi_excerpt(found, strlen(found), excerpt), format);
    if (!number || !cwi_parse_int(number, strlen(number), &value) || value < 1)
        return refuse(r, "the header is damaged: format_version is not a number");
    if (value > version)
        return cwi_fail(r->ctx, CW_BAD_DATA,
                        "%s was written by a newer crosswise: its format version is %" PRId64
                        ", this program knows up to %d",
                        r->name, value, version);
    r->out->format = found;
    r->out->version = (int)value;
    return CW_OK;
}

/* The checksum lies where only our own writer puts it. */
static cw_status check_checksum(const reader *r)
{
    static const char start[] = CWI_TENSORFILE_START;
    char digits[CWI_CHECKSUM_DIGITS + 1];

    if (r->header_bytes < sizeof start - 1 + CWI_CHECKSUM_DIGITS ||
        memcmp(r->bytes + CWI_TENSORFILE_PREFIX, start, sizeof start - 1) != 0)
        return refuse(r, "the header was changed by another program, so the checksum is lost");
    if (r->digits)
        memcpy(digits, r->digits, sizeof digits);
    else
        cwi_tensorfile_checksum(r->bytes, r->length, digits);
    if (memcmp(r->bytes + CWI_CHECKSUM_AT, digits, CWI_CHECKSUM_DIGITS) != 0)
        return refuse(r, "the file is damaged: its checksum does not match");
    memcpy(r->out->checksum, digits, sizeof digits);
    return CW_OK;
}

static cw_status read_notes(reader *r, json_t *notes)
{
    const char *key;
    json_t *value;

    r->out->notes = cwi_alloc(r->ctx, json_object_size(notes), sizeof *r->out->notes);
    if (!r->out->notes) return CW_NO_MEMORY;
    json_object_foreach(notes, key, value)
    {
        if (!json_is_string(value)) return refuse(r, "the header has metadata that is not text");
        if (cwi_word_index("checksum|format|format_version|crosswise", key) >= 0) continue;
        r->out->notes[r->out->n_notes++] = (cwi_note){key, json_string_value(value)};
    }
    return CW_OK;
}

/* ---- the arrays --------------------------------------------------------------- */

static const char *parse_shape(const json_t *shape, cwi_array *array)
{
    if (!json_is_array(shape)) return "lacks a shape";
    if (json_array_size(shape) > CWI_ARRAY_MAX_RANK) return "has more than two dimensions";
    array->rank = (int)json_array_size(shape);
    for (int d = 0; d < array->rank; d++) {
        const json_t *extent = json_array_get(shape, (size_t)d);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return "has a shape that is not made of counts";
        array->shape[d] = json_integer_value(extent);
    }
    return NULL;
}

/* Do numbers of this shape fill the bytes?  Dividing keeps a huge shape from overflowing. */
static bool shape_fills(const cwi_array *array, uint64_t bytes)
{
    uint64_t left = bytes / cwi_dtype_bytes[array->dtype];
    if (bytes % cwi_dtype_bytes[array->dtype] != 0) return false;
    for (int d = 0; d < array->rank; d++)
        if (array->shape[d] == 0) return left == 0;
    for (int d = 0; d < array->rank; d++) {
        uint64_t extent = (uint64_t)array->shape[d];
        if (left % extent != 0 || left == 0) return false;
        left /= extent;
    }
    return left == 1;
}

static const char *parse_place(const reader *r, const json_t *offsets, cwi_array *array)
{
    const json_t *first = json_array_get(offsets, 0), *second = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(second))
        return "lacks its place in the file";
    json_int_t begin = json_integer_value(first), end = json_integer_value(second);
    if (begin < 0 || end < begin || (uint64_t)end > r->data_bytes)
        return "lies outside of the file";
    if (!shape_fills(array, (uint64_t)(end - begin)))
        return "has a shape that does not match its place in the file";
    if ((uint64_t)begin % cwi_dtype_bytes[array->dtype] != 0) return "is not aligned";
    array->data = r->bytes + CWI_TENSORFILE_PREFIX + r->header_bytes + begin;
    return NULL;
}

static const char *parse_array(const reader *r, const json_t *entry, cwi_array *array)
{
    const char *type = text_of(entry, "dtype");
    int dtype = 0;
    if (!type) return "lacks a dtype";
    while (cwi_dtype_names[dtype] && strcmp(cwi_dtype_names[dtype], type) != 0) dtype++;
    if (!cwi_dtype_names[dtype]) return "has a dtype that crosswise does not use";
    array->dtype = (cwi_dtype)dtype;
    const char *problem = parse_shape(json_object_get(entry, "shape"), array);
    return problem ? problem : parse_place(r, json_object_get(entry, "data_offsets"), array);
}

/* Empty arrays come before the one that begins at the same place. */
static int by_place(const void *a, const void *b)
{
    const cwi_array *x = a, *y = b;
    const char *p = x->data, *q = y->data;
    if (p != q) return p < q ? -1 : 1;
    int64_t n = cwi_array_count(x), m = cwi_array_count(y);
    return n != m ? (n > m) - (n < m) : strcmp(x->name, y->name);
}

/* Every byte belongs to exactly one array. */
static cw_status check_places(const reader *r)
{
    const char *next = (const char *)r->bytes + CWI_TENSORFILE_PREFIX + r->header_bytes;
    for (size_t a = 0; a < r->out->n_arrays; a++) {
        const cwi_array *array = &r->out->arrays[a];
        if ((const char *)array->data != next)
            return refuse(r, (const char *)array->data < next ? "two tensors overlap"
                                                              : "there is a gap between tensors");
        next += (size_t)cwi_array_count(array) * cwi_dtype_bytes[array->dtype];
    }
    if (next != (const char *)r->bytes + r->length)
        return refuse(r, "there are bytes after the last tensor");
    return CW_OK;
}

static cw_status read_arrays(reader *r, json_t *root)
{
    const char *name;
    json_t *entry;
    char excerpt[48];

    if (json_object_size(root) - 1 > CWI_TENSORFILE_MAX_ARRAYS)
        return refuse(r, "the header has too many tensors");
    r->out->arrays = cwi_alloc_zero(r->ctx, json_object_size(root), sizeof *r->out->arrays);
    if (!r->out->arrays) return CW_NO_MEMORY;
    json_object_foreach(root, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        cwi_array *array = &r->out->arrays[r->out->n_arrays++];
        array->name = name;
        const char *problem = parse_array(r, entry, array);
        if (problem)
            return cwi_fail(r->ctx, CW_BAD_DATA, "%s: tensor %s %s", r->name,
                            cwi_excerpt(name, strlen(name), excerpt), problem);
    }
    qsort(r->out->arrays, r->out->n_arrays, sizeof *r->out->arrays, by_place);
    return check_places(r);
}

/* Where numbers have to be turned round, the bytes must be our own. */
static cw_status copy_bytes(reader *r)
{
    r->out->bytes = cwi_alloc(r->ctx, r->length, 1);
    if (!r->out->bytes) return CW_NO_MEMORY;
    r->bytes = memcpy(r->out->bytes, r->bytes, r->length);
    return CW_OK;
}

static void turn_arrays(const reader *r)
{
    unsigned char *at = r->out->bytes;
    at += CWI_TENSORFILE_PREFIX + r->header_bytes;
    for (size_t a = 0; a < r->out->n_arrays; a++) {
        const cwi_array *array = &r->out->arrays[a];
        size_t count = (size_t)cwi_array_count(array), width = cwi_dtype_bytes[array->dtype];
        cwi_numbers_turn(at, count, width);
        at += count * width;
    }
}

/* ---- the whole ---------------------------------------------------------------- */

cw_status cwi_tensorfile_parse_header(cw_context *ctx, const char *name, const void *bytes,
                                      size_t length, const char *digits, const char *format,
                                      int version, cwi_tensorfile *out)
{
    cw_status status;
    reader r = {
        .ctx = ctx, .name = name, .bytes = bytes, .length = length, .digits = digits, .out = out};

    *out = (cwi_tensorfile){0};
    if (CWI_TURNED) CW_TRY(copy_bytes(&r));
    CW_TRY(check_length(&r));
    CW_TRY(parse_json(&r));
    json_t *notes = json_object_get(out->header, "__metadata__");
    CW_TRY(check_format(&r, notes, format, version));
    CW_TRY(check_checksum(&r));
    if ((CWI_TENSORFILE_PREFIX + r.header_bytes) % 8 != 0)
        CW_TRY(refuse(&r, "the tensors are not aligned to 8 bytes"));
    CW_TRY(read_notes(&r, notes));
    CW_TRY(read_arrays(&r, out->header));
    if (CWI_TURNED) turn_arrays(&r);
done:
    if (status != CW_OK) cwi_tensorfile_clear(out);
    return status;
}

cw_status cwi_tensorfile_parse(cw_context *ctx, const char *name, const void *bytes, size_t length,
                               const char *format, int version, cwi_tensorfile *out)
{
    return cwi_tensorfile_parse_header(ctx, name, bytes, length, NULL, format, version, out);
}

cw_status cwi_tensorfile_measure(cw_context *ctx, int file, const char *path, size_t *length)
{
    struct stat info;
    if (fstat(file, &info) != 0) return cwi_fail_errno(ctx, "read", path);
    if (!S_ISREG(info.st_mode)) return cwi_fail(ctx, CW_BAD_DATA, "%s: not a plain file", path);
    if ((uint64_t)info.st_size > SIZE_MAX)
        return cwi_fail(ctx, CW_NO_MEMORY, "%s is too large for the memory of this machine", path);
    *length = (size_t)info.st_size;
    return CW_OK;
}

static cw_status read_bytes(cw_context *ctx, FILE *file, const char *path, void **bytes,
                            size_t *length)
{
    CW_PASS(cwi_tensorfile_measure(ctx, fileno(file), path, length));
    *bytes = cwi_alloc(ctx, *length, 1);
    if (!*bytes) return CW_NO_MEMORY;
    if (fread(*bytes, 1, *length, file) != *length)
        return ferror(file) ? cwi_fail_errno(ctx, "read", path)
                            : cwi_fail(ctx, CW_IO, "cannot read %s: the file ends early", path);
    return CW_OK;
}

cw_status cwi_tensorfile_read(cw_context *ctx, const char *path, const char *format, int version,
                              cwi_tensorfile *out)
{
    void *bytes = NULL;
    size_t length = 0;
    FILE *file = fopen(path, "rbe");

    *out = (cwi_tensorfile){0};
    if (!file) return cwi_fail_errno(ctx, "read", path);
    cw_status status = read_bytes(ctx, file, path, &bytes, &length);
    fclose(file);
    if (status == CW_OK)
        status = cwi_tensorfile_parse(ctx, path, bytes, length, format, version, out);
    if (status == CW_OK && !out->bytes)
        out->bytes = bytes;
    else
        cwi_free(bytes);
    return status;
}

const cwi_array *cwi_tensorfile_find(const cwi_tensorfile *file, const char *name)
{
    for (size_t a = 0; a < file->n_arrays; a++)
        if (strcmp(file->arrays[a].name, name) == 0) return &file->arrays[a];
    return NULL;
}

const char *cwi_tensorfile_note(const cwi_tensorfile *file, const char *key)
{
    for (size_t n = 0; n < file->n_notes; n++)
        if (strcmp(file->notes[n].key, key) == 0) return file->notes[n].value;
    return NULL;
}

void cwi_tensorfile_clear(cwi_tensorfile *file)
{
    cwi_free(file->arrays);
    cwi_free(file->notes);
    if (file->space > 0) {
        cwi_space_close(file->bytes, file->space);
        close(file->file);
    } else {
        cwi_free(file->bytes);
    }
    json_decref(file->header);
    *file = (cwi_tensorfile){0};
}

/* npy.c - NumPy's .npy files: a magic number, a header written as a Python dictionary, numbers. */
#include "prepare/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/numbers.h"

enum { PREFIX_BYTES = 10, ALIGNMENT = 64, NUMBER_BYTES = 4 };

static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
static const char *const type_names[] = {"<f4", "<i4"};

/* ---- parsing ---------------------------------------------------------------- */

/* The text of the header that is not read yet. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

/* Take one character if it comes next, spaces aside. */
static bool take(cursor *c, char expected)
{
    skip_space(c);
    if (c->at == c->end || *c->at != expected) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

/* A string in either kind of quotes, without escapes; at most 15 characters. */
static bool take_string(cursor *c, char out[16])
{
    size_t length = 0;
    skip_space(c);
    char quote = c->at < c->end ? *c->at : '\0';
    if (quote != '\'' && quote != '"') return false;
    for (c->at++; c->at < c->end && *c->at != quote && length < 15; c->at++) out[length++] = *c->at;
    out[length] = '\0';
    return take(c, quote);
}

/* A count below 2^53. */
static bool take_count(cursor *c, int64_t *out)
{
    const int64_t most = INT64_C(1) << 53;
    skip_space(c);
    const char *first = c->at;
    for (*out = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9' && *out < most; c->at++)
        *out = *out * 10 + (*c->at - '0');
    return c->at > first && *out < most;
}

static const char *parse_type(cursor *c, cwi_npy *out)
{
    char name[16];
    if (!take_string(c, name)) return "descr is not a string";
    for (int kind = CWI_NPY_FLOAT32; kind <= CWI_NPY_INT32; kind++)
        if (strcmp(name, type_names[kind]) == 0) {
            out->kind = (cwi_npy_kind)kind;
            return NULL;
        }
    return "the numbers must be little-endian float32 ('<f4') or int32 ('<i4')";
}

static const char *parse_order(cursor *c)
{
    if (take_word(c, "False")) return NULL;
    return take_word(c, "True") ? "the numbers must be in C order, not Fortran order"
                                : "fortran_order is neither True nor False";
}

static const char *parse_shape(cursor *c, cwi_npy *out)
{
    const char *problem = "the shape must have one or two dimensions";
    bool has_comma = false;

    out->n_dims = 0;
    out->shape[1] = 1;
    if (!take(c, '(')) return "the shape is not a tuple";
    while (!take(c, ')')) {
        if (out->n_dims == 2 || (out->n_dims == 1 && !has_comma)) return problem;
        if (!take_count(c, &out->shape[out->n_dims++])) return "the shape holds no valid number";
        has_comma = take(c, ',');
    }
    return out->n_dims == 0 || (out->n_dims == 1 && !has_comma) ? problem : NULL;
}

enum { HAS_TYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

/* One "key: value" of the dictionary; a key may come once. */
static const char *parse_entry(cursor *c, cwi_npy *out, int *seen)
{
    char key[16];
    int bit;

    if (!take_string(c, key) || !take(c, ':')) return "the header is not a dictionary";
    if (strcmp(key, "descr") == 0)
        bit = HAS_TYPE;
    else if (strcmp(key, "fortran_order") == 0)
        bit = HAS_ORDER;
    else if (strcmp(key, "shape") == 0)
        bit = HAS_SHAPE;
    else
        return "the header has an unknown key";
    if (*seen & bit) return "the header has a key twice";
    *seen |= bit;
    if (bit == HAS_TYPE) return parse_type(c, out);
    return bit == HAS_ORDER ? parse_order(c) : parse_shape(c, out);
}

static const char *parse_header(cursor c, cwi_npy *out)
{
    const char *problem = NULL;
    bool has_comma = true;
    int seen = 0;

    if (!take(&c, '{')) return "the header is not a dictionary";
    while (!problem && !take(&c, '}')) {
        if (!has_comma) return "the header is not a dictionary";
        problem = parse_entry(&c, out, &seen);
        has_comma = take(&c, ',');
    }
    skip_space(&c);
    if (!problem && c.at != c.end) problem = "there is text after the header's dictionary";
    if (!problem && seen != HAS_ALL) problem = "the header lacks descr, fortran_order or shape";
    return problem;
}

const char *cwi_npy_parse(const unsigned char *bytes, size_t length, uint64_t file_bytes,
                          cwi_npy *out)
{
    *out = (cwi_npy){0};
    if (length < PREFIX_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
        return "this is not a .npy file of format 1.0";
    out->header_bytes = PREFIX_BYTES + (size_t)bytes[8] + 256 * (size_t)bytes[9];
    if (out->header_bytes > length) return "the file ends within its header";
    cursor c = {(const char *)bytes + PREFIX_BYTES, (const char *)bytes + out->header_bytes};
    const char *problem = parse_header(c, out);
    if (problem) return problem;
    /* Dividing keeps a huge shape from overflowing. */
    uint64_t numbers = (file_bytes - out->header_bytes) / NUMBER_BYTES;
    uint64_t rows = (uint64_t)out->shape[0], columns = (uint64_t)out->shape[1];
    if ((file_bytes - out->header_bytes) % NUMBER_BYTES != 0 ||
        (rows == 0 || columns == 0 ? numbers != 0
                                   : numbers % columns != 0 || numbers / columns != rows))
        return "the size of the file does not match its shape";
    if (file_bytes > SIZE_MAX) return "the file is too large for the memory of this machine";
    return NULL;
}

/* ---- files ------------------------------------------------------------------ */

/* The header padded with spaces to a multiple of 64 bytes, as the format asks for. */
static size_t print_header(const cwi_npy *array, char out[4 * ALIGNMENT])
{
    char shape[64];

    if (array->n_dims == 1)
        snprintf(shape, sizeof shape, "(%" PRId64 ",)", array->shape[0]);
    else
        snprintf(shape, sizeof shape, "(%" PRId64 ", %" PRId64 ")", array->shape[0],
                 array->shape[1]);
    memset(out, ' ', 4 * ALIGNMENT);
    memcpy(out, magic, sizeof magic);
    int text = snprintf(out + PREFIX_BYTES, 3 * ALIGNMENT,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        type_names[array->kind], shape);
    size_t used = PREFIX_BYTES + (size_t)text;
    size_t total = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    out[used] = ' '; /* the end that snprintf wrote */
    out[total - 1] = '\n';
    out[8] = (char)((total - PREFIX_BYTES) & 0xff);
    out[9] = (char)((total - PREFIX_BYTES) >> 8);
    return total;
}

cw_status cwi_npy_write(cw_context *ctx, const char *path, const cwi_npy *array, const void *data)
{
    char header[4 * ALIGNMENT];
    cwi_writer *writer;
    size_t columns = array->n_dims == 2 ? (size_t)array->shape[1] : 1;
    CW_PASS(cwi_writer_open(ctx, path, &writer));
    cwi_writer_put(writer, header, print_header(array, header));
    cwi_writer_numbers(writer, data, (size_t)array->shape[0] * columns, NUMBER_BYTES);
    return cwi_writer_close(ctx, writer, NULL);
}

static cw_status read_header(cw_context *ctx, FILE *file, const char *path, cwi_npy *array)
{
    struct stat info;
    cw_status status = CW_OK;

    if (fstat(fileno(file), &info) != 0) return cwi_fail_errno(ctx, "read", path);
    if (!S_ISREG(info.st_mode)) return cwi_fail(ctx, CW_BAD_DATA, "%s: not a plain file", path);
    unsigned char *bytes = cwi_alloc(ctx, CWI_NPY_HEADER_BYTES, 1);
    if (!bytes) return CW_NO_MEMORY;
    size_t got = fread(bytes, 1, CWI_NPY_HEADER_BYTES, file);
    const char *problem = NULL;
    if (ferror(file))
        status = cwi_fail_errno(ctx, "read", path);
    else if (got > (uint64_t)info.st_size)
        problem = "the file changed while it was read";
    else
        problem = cwi_npy_parse(bytes, got, (uint64_t)info.st_size, array);
    if (problem) status = cwi_fail(ctx, CW_BAD_DATA, "%s: %s", path, problem);
    cwi_free(bytes);
    return status;
}

static cw_status read_numbers(cw_context *ctx, FILE *file, const char *path, const cwi_npy *array,
                              void **data)
{
    size_t count = (size_t)array->shape[0] * (size_t)array->shape[1];
    if (fseeko(file, (off_t)array->header_bytes, SEEK_SET) != 0)
        return cwi_fail_errno(ctx, "read", path);
    void *numbers = cwi_alloc(ctx, count, NUMBER_BYTES);
    if (!numbers) return CW_NO_MEMORY;
    if (fread(numbers, NUMBER_BYTES, count, file) != count) {
        cwi_free(numbers);
        return cwi_fail(ctx, CW_IO, "cannot read %s: the file ends early", path);
    }
    cwi_numbers_turn(numbers, count, NUMBER_BYTES);
    *data = numbers;
    return CW_OK;
}

cw_status cwi_npy_read(cw_context *ctx, const char *path, cwi_npy *array, void **data)
{
    FILE *file = fopen(path, "rbe");
    cw_status status;

    *data = NULL;
    if (!file) return cwi_fail_errno(ctx, "read", path);
    status = read_header(ctx, file, path, array);
    if (status == CW_OK) status = read_numbers(ctx, file, path, array, data);
    fclose(file);
    return status;
}

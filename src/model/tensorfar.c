/* tensorfar.c - read a safetensors file but for long tables, which stay there. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/far.h"
#include "core/mem.h"
#include "core/work.h"
#include "model/tensorfile.h"

/* The file on its way into address space for all of it. */
typedef struct source {
    cw_context *ctx;
    const char *path;
    int file;
    char *space;
    size_t length;
    char digits[CWI_CHECKSUM_DIGITS + 1];
} source;

static cw_status read_part(const source *s, size_t at, size_t length)
{
    return cwi_read_at(s->ctx, s->file, s->path, (int64_t)at, s->space + at, length);
}

/* The checksum of the whole, some bytes of it at a time. */
static cw_status sum_up(source *s)
{
    enum { AT_ONCE = 1 << 20, AFTER = CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS };
    cw_status status = CW_OK;
    char *buffer = cwi_alloc(s->ctx, AT_ONCE, 1);
    XXH3_state_t *state = buffer ? XXH3_createState() : NULL;
    if (buffer && !state) status = cwi_no_memory(s->ctx);
    if (!buffer) status = CW_NO_MEMORY;
    if (state) XXH3_128bits_reset(state);
    for (size_t at = AFTER, some; at < s->length && status == CW_OK; at += some) {
        some = s->length - at < AT_ONCE ? s->length - at : AT_ONCE;
        status = cwi_read_at(s->ctx, s->file, s->path, (int64_t)at, buffer, some);
        if (status == CW_OK) XXH3_128bits_update(state, buffer, some);
    }
    if (status == CW_OK) {
        XXH128_hash_t hash = XXH3_128bits_digest(state);
        snprintf(s->digits, sizeof s->digits, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
                 (uint64_t)hash.low64);
    }
    if (state) XXH3_freeState(state);
    cwi_free(buffer);
    return status;
}

/* The length of the header, and as much of it as there is: what is wrong the parser tells. */
static cw_status read_header(const source *s)
{
    uint64_t header_bytes;
    size_t start = s->length < CWI_TENSORFILE_PREFIX ? s->length : CWI_TENSORFILE_PREFIX;
    CW_PASS(read_part(s, 0, start));
    if (start < CWI_TENSORFILE_PREFIX) return CW_OK;
    memcpy(&header_bytes, s->space, sizeof header_bytes);
    bool is_bad = header_bytes > s->length - start || header_bytes > CWI_TENSORFILE_MAX_HEADER;
    return read_part(s, start, is_bad ? (s->length > start) : (size_t)header_bytes);
}

static size_t bytes_of(const cwi_array *array)
{
    return (size_t)cwi_array_count(array) * cwi_dtype_bytes[array->dtype];
}

static cw_status read_near(const source *s, const cwi_tensorfile *file, cwi_is_far_fn *is_far)
{
    for (size_t a = 0; a < file->n_arrays; a++) {
        const cwi_array *array = &file->arrays[a];
        if (is_far(file, array)) continue;
        CW_PASS(read_part(s, (size_t)((const char *)array->data - s->space), bytes_of(array)));
    }
    return CW_OK;
}

void cwi_tensorfile_forget(const cwi_tensorfile *file, const cwi_array *array)
{
    if (file->space == 0) return;
    size_t at = (size_t)((const char *)array->data - (const char *)file->bytes);
    cwi_space_forget(file->bytes, at, at + bytes_of(array));
}

cw_status cwi_tensorfile_read_far(cw_context *ctx, const char *path, const char *format,
                                  int version, cwi_is_far_fn *is_far, cwi_tensorfile *out)
{
    cw_status status;
    source s = {.ctx = ctx, .path = path, .file = -1};

    if (CWI_TURNED) return cwi_tensorfile_read(ctx, path, format, version, out);
    *out = (cwi_tensorfile){0};
    CWI_AGAIN(s.file, open(path, O_RDONLY | O_CLOEXEC));
    if (s.file < 0) return cwi_fail_errno(ctx, "read", path);
    CW_TRY(cwi_tensorfile_measure(ctx, s.file, path, &s.length));
    s.space = cwi_space_open(ctx, s.length);
    CW_TRY(s.space ? CW_OK : CW_NO_MEMORY);
    CW_TRY(sum_up(&s));
    CW_TRY(read_header(&s));
    CW_TRY(
        cwi_tensorfile_parse_header(ctx, path, s.space, s.length, s.digits, format, version, out));
    CW_TRY(read_near(&s, out, is_far));
    out->bytes = s.space;
    out->space = s.length;
    out->file = s.file;
done:
    if (status == CW_OK) return CW_OK;
    cwi_tensorfile_clear(out);
    cwi_space_close(s.space, s.length);
    close(s.file);
    return status;
}

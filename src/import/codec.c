/* codec.c - gzip through zlib, zstd through libzstd. */
#include "import/codec.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "core/mem.h"

typedef struct gzip_state {
    z_stream stream;
    bool at_end; /* of a member; another one may follow */
} gzip_state;

static void *gzip_alloc(void *ctx, unsigned count, unsigned size)
{
    return cwi_alloc(ctx, count, size);
}

static void gzip_free(void *ctx, void *block)
{
    (void)ctx;
    cwi_free(block);
}

static cw_status gzip_open(cw_context *ctx, void **state)
{
    gzip_state *gzip = cwi_alloc_zero(ctx, 1, sizeof *gzip);
    if (!gzip) return CW_NO_MEMORY;
    gzip->stream.zalloc = gzip_alloc;
    gzip->stream.zfree = gzip_free;
    gzip->stream.opaque = ctx;
    if (inflateInit2(&gzip->stream, 16 + MAX_WBITS) != Z_OK) { /* 16: gzip, not zlib */
        cwi_free(gzip);
        return cwi_fail(ctx, CW_NO_MEMORY, "out of memory for decompression");
    }
    *state = gzip;
    return CW_OK;
}

static const char *gzip_decode(void *state, cwi_span *in, cwi_span *out)
{
    gzip_state *gzip = state;
    unsigned in_size = in->left > UINT_MAX ? UINT_MAX : (unsigned)in->left;
    unsigned out_size = out->left > UINT_MAX ? UINT_MAX : (unsigned)out->left;

    if (gzip->at_end && in_size == 0) return NULL;
    if (gzip->at_end && inflateReset(&gzip->stream) != Z_OK) return "cannot be decompressed";
    gzip->stream.next_in = in->at;
    gzip->stream.avail_in = in_size;
    gzip->stream.next_out = out->at;
    gzip->stream.avail_out = out_size;
    int result = inflate(&gzip->stream, Z_NO_FLUSH);
    in->at += in_size - gzip->stream.avail_in;
    in->left -= in_size - gzip->stream.avail_in;
    out->at += out_size - gzip->stream.avail_out;
    out->left -= out_size - gzip->stream.avail_out;
    gzip->at_end = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) return "";
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return NULL;
    return "compressed data is damaged";
}

static bool gzip_is_whole(const void *state)
{
    return ((const gzip_state *)state)->at_end;
}

static void gzip_close(void *state)
{
    gzip_state *gzip = state;
    if (!gzip) return;
    (void)inflateEnd(&gzip->stream);
    cwi_free(gzip);
}

typedef struct zstd_state {
    ZSTD_DStream *stream;
    bool at_end; /* of a frame */
} zstd_state;

static void zstd_close(void *state)
{
    zstd_state *zstd = state;
    if (!zstd) return;
    (void)ZSTD_freeDStream(zstd->stream);
    cwi_free(zstd);
}

static cw_status zstd_open(cw_context *ctx, void **state)
{
    zstd_state *zstd = cwi_alloc_zero(ctx, 1, sizeof *zstd);
    if (!zstd) return CW_NO_MEMORY;
    zstd->stream = ZSTD_createDStream();
    if (!zstd->stream) {
        zstd_close(zstd);
        return cwi_fail(ctx, CW_NO_MEMORY, "out of memory for decompression");
    }
    *state = zstd;
    return CW_OK;
}

static const char *zstd_reason(size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: return "";
    case ZSTD_error_frameParameter_windowTooLarge:
        return "compressed data needs more than 128 MiB of memory (zstd --long)";
    default: return "compressed data is damaged";
    }
}

static const char *zstd_decode(void *state, cwi_span *in, cwi_span *out)
{
    zstd_state *zstd = state;
    ZSTD_inBuffer input = {in->at, in->left, 0};
    ZSTD_outBuffer output = {out->at, out->left, 0};

    if (zstd->at_end && in->left == 0) return NULL;
    size_t result = ZSTD_decompressStream(zstd->stream, &output, &input);
    if (ZSTD_isError(result)) return zstd_reason(result);
    in->at += input.pos;
    in->left -= input.pos;
    out->at += output.pos;
    out->left -= output.pos;
    zstd->at_end = result == 0;
    return NULL;
}

static bool zstd_is_whole(const void *state)
{
    return ((const zstd_state *)state)->at_end;
}

static const cwi_codec codec_gzip = {"\x1f\x8b",    2,         NULL, gzip_open, gzip_decode,
                                     gzip_is_whole, gzip_close};
static const cwi_codec codec_zstd = {"\x28\xb5\x2f\xfd", 4,         NULL, zstd_open, zstd_decode,
                                     zstd_is_whole,      zstd_close};

static const cwi_codec *const codecs[] = {&codec_gzip, &codec_zstd, &cwi_codec_bzip2,
                                          &cwi_codec_bzip2_empty, &cwi_codec_xz};

static bool begins(const unsigned char *bytes, size_t length, const cwi_codec *codec)
{
    bool same = length >= codec->magic_bytes;
    for (size_t b = 0; same && b < codec->magic_bytes; b++)
        same = codec->magic[b] == '?' || bytes[b] == (unsigned char)codec->magic[b];
    return same;
}

const cwi_codec *cwi_codec_find(const unsigned char *bytes, size_t length)
{
    for (size_t c = 0; c < sizeof codecs / sizeof codecs[0]; c++)
        if (begins(bytes, length, codecs[c])) return codecs[c];
    return NULL;
}

/* bzip2.c - bzip2 through libbz2, which is opened when such a file is read. */
#include "import/codec.h"

#ifdef CWI_HAS_BZIP2

#include <bzlib.h>
#include <limits.h>

#include "core/library.h"
#include "core/mem.h"

#define LACK     "bzip2, and the library libbz2.so.1.0 is not installed (on Debian: libbz2-1.0)"
#define CALLS(X) X(BZ2_bzDecompressInit) X(BZ2_bzDecompress) X(BZ2_bzDecompressEnd)

typedef struct bzip2_state {
    void *library;
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
    bz_stream stream;
    bool is_open, at_end; /* at_end: of a stream; another one may follow */
} bzip2_state;

static const cwi_symbol calls[] = {
#define X(name) {#name, offsetof(bzip2_state, name)},
    CALLS(X)
#undef X
};

static void *bzip2_alloc(void *ctx, int count, int size)
{
    return cwi_alloc(ctx, (size_t)count, (size_t)size);
}

static void bzip2_free(void *ctx, void *block)
{
    (void)ctx;
    cwi_free(block);
}

static void bzip2_close(void *state)
{
    bzip2_state *bzip2 = state;
    if (!bzip2) return;
    if (bzip2->is_open) (void)bzip2->BZ2_bzDecompressEnd(&bzip2->stream);
    cwi_library_close(bzip2->library);
    cwi_free(bzip2);
}

static bool begin(bzip2_state *bzip2, cw_context *ctx)
{
    bzip2->stream = (bz_stream){.bzalloc = bzip2_alloc, .bzfree = bzip2_free, .opaque = ctx};
    bzip2->is_open = bzip2->BZ2_bzDecompressInit(&bzip2->stream, 0, 0) == BZ_OK;
    bzip2->at_end = false;
    return bzip2->is_open;
}

static cw_status bzip2_open(cw_context *ctx, void **state)
{
    bzip2_state *bzip2 = cwi_alloc_zero(ctx, 1, sizeof *bzip2);
    cw_status status = CW_OK;
    if (!bzip2) return CW_NO_MEMORY;
    bzip2->library =
        cwi_library_open("libbz2.so.1.0", calls, sizeof calls / sizeof calls[0], bzip2);
    if (!bzip2->library)
        status = CW_UNSUPPORTED;
    else if (!begin(bzip2, ctx))
        status = cwi_no_memory(ctx);
    if (status == CW_OK)
        *state = bzip2;
    else
        bzip2_close(bzip2);
    return status;
}

/* The next stream, after one has ended. */
static bool begin_again(bzip2_state *bzip2)
{
    cw_context *ctx = bzip2->stream.opaque;
    (void)bzip2->BZ2_bzDecompressEnd(&bzip2->stream);
    return begin(bzip2, ctx);
}

static const char *bzip2_decode(void *state, cwi_span *in, cwi_span *out)
{
    bzip2_state *bzip2 = state;
    unsigned in_size = in->left < UINT_MAX ? (unsigned)in->left : UINT_MAX;
    unsigned out_size = out->left < UINT_MAX ? (unsigned)out->left : UINT_MAX;

    if (bzip2->at_end && in_size == 0) return NULL;
    if (bzip2->at_end && !begin_again(bzip2)) return "";
    bzip2->stream.next_in = (char *)in->at;
    bzip2->stream.avail_in = in_size;
    bzip2->stream.next_out = (char *)out->at;
    bzip2->stream.avail_out = out_size;
    int result = bzip2->BZ2_bzDecompress(&bzip2->stream);
    in->at += in_size - bzip2->stream.avail_in;
    in->left -= in_size - bzip2->stream.avail_in;
    out->at += out_size - bzip2->stream.avail_out;
    out->left -= out_size - bzip2->stream.avail_out;
    bzip2->at_end = result == BZ_STREAM_END;
    if (result == BZ_MEM_ERROR) return "";
    return result == BZ_OK || result == BZ_STREAM_END ? NULL : "compressed data is damaged";
}

static bool bzip2_is_whole(const void *state)
{
    return ((const bzip2_state *)state)->at_end;
}

#else

#define LACK                                                                                       \
    "bzip2, and this crosswise was built without libbz2 (on Debian: libbz2-dev); bunzip2 unpacks " \
    "it"

static cw_status bzip2_open(cw_context *ctx, void **state)
{
    (void)ctx;
    *state = NULL;
    return CW_UNSUPPORTED;
}

static const char *bzip2_decode(void *state, cwi_span *in, cwi_span *out)
{
    (void)state, (void)in, (void)out;
    return "compressed data is damaged";
}

static bool bzip2_is_whole(const void *state)
{
    (void)state;
    return false;
}

static void bzip2_close(void *state)
{
    (void)state;
}

#endif

/* A stream begins with "BZh", a digit, and pi or, when it is empty, the square root of pi. */
const cwi_codec cwi_codec_bzip2 = {"BZh?1AY&SY",   10,         LACK, bzip2_open, bzip2_decode,
                                   bzip2_is_whole, bzip2_close};
const cwi_codec cwi_codec_bzip2_empty = {
    "BZh?\x17rE8P\x90", 10, LACK, bzip2_open, bzip2_decode, bzip2_is_whole, bzip2_close};

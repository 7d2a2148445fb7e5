/* xz.c - xz through liblzma, which is opened when such a file is read. */
#include "import/codec.h"

#ifdef CWI_HAS_XZ

#include <lzma.h>

#include "core/library.h"
#include "core/mem.h"

#define LACK     "xz, and the library liblzma.so.5 is not installed (on Debian: liblzma5)"
#define CALLS(X) X(lzma_stream_decoder) X(lzma_code) X(lzma_end)

typedef struct xz_state {
    void *library;
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
    lzma_stream stream;
    lzma_allocator allocator;
    bool at_end; /* of a stream; another one may follow */
} xz_state;

static const cwi_symbol calls[] = {
#define X(name) {#name, offsetof(xz_state, name)},
    CALLS(X)
#undef X
};

static const uint64_t max_memory = UINT64_C(1) << 30; /* xz -9 takes 65 MiB */

static void *xz_alloc(void *ctx, size_t count, size_t size)
{
    return cwi_alloc(ctx, count, size);
}

static void xz_free(void *ctx, void *block)
{
    (void)ctx;
    cwi_free(block);
}

static void xz_close(void *state)
{
    xz_state *xz = state;
    if (!xz) return;
    if (xz->library) xz->lzma_end(&xz->stream);
    cwi_library_close(xz->library);
    cwi_free(xz);
}

static bool begin(xz_state *xz)
{
    xz->at_end = false;
    return xz->lzma_stream_decoder(&xz->stream, max_memory, 0) == LZMA_OK;
}

static cw_status begin_first(cw_context *ctx, xz_state *xz)
{
    xz->library = cwi_library_open("liblzma.so.5", calls, sizeof calls / sizeof calls[0], xz);
    if (!xz->library) return CW_UNSUPPORTED;
    xz->allocator = (lzma_allocator){.alloc = xz_alloc, .free = xz_free, .opaque = ctx};
    xz->stream = (lzma_stream)LZMA_STREAM_INIT;
    xz->stream.allocator = &xz->allocator;
    return begin(xz) ? CW_OK : cwi_no_memory(ctx);
}

static cw_status xz_open(cw_context *ctx, void **state)
{
    xz_state *xz = cwi_alloc_zero(ctx, 1, sizeof *xz);
    if (!xz) return CW_NO_MEMORY;
    cw_status status = begin_first(ctx, xz);
    if (status == CW_OK)
        *state = xz;
    else
        xz_close(xz);
    return status;
}

/* Zeros may lie between streams. */
static void skip_padding(cwi_span *in)
{
    while (in->left > 0 && *in->at == 0) in->at++, in->left--;
}

static const char *xz_decode(void *state, cwi_span *in, cwi_span *out)
{
    xz_state *xz = state;

    if (xz->at_end) skip_padding(in);
    if (xz->at_end && in->left == 0) return NULL;
    if (xz->at_end && !begin(xz)) return "";
    xz->stream.next_in = in->at;
    xz->stream.avail_in = in->left;
    xz->stream.next_out = out->at;
    xz->stream.avail_out = out->left;
    lzma_ret result = xz->lzma_code(&xz->stream, LZMA_RUN);
    in->at += in->left - xz->stream.avail_in;
    in->left = xz->stream.avail_in;
    out->at += out->left - xz->stream.avail_out;
    out->left = xz->stream.avail_out;
    xz->at_end = result == LZMA_STREAM_END;
    switch (result) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR: return NULL;
    case LZMA_MEM_ERROR: return "";
    case LZMA_MEMLIMIT_ERROR: return "compressed data needs more than 1 GiB of memory";
    default: return "compressed data is damaged";
    }
}

static bool xz_is_whole(const void *state)
{
    return ((const xz_state *)state)->at_end;
}

#else

#define LACK                                                                                       \
    "xz, and this crosswise was built without liblzma (on Debian: liblzma-dev); unxz unpacks it"

static cw_status xz_open(cw_context *ctx, void **state)
{
    (void)ctx;
    *state = NULL;
    return CW_UNSUPPORTED;
}

static const char *xz_decode(void *state, cwi_span *in, cwi_span *out)
{
    (void)state, (void)in, (void)out;
    return "compressed data is damaged";
}

static bool xz_is_whole(const void *state)
{
    (void)state;
    return false;
}

static void xz_close(void *state)
{
    (void)state;
}

#endif

const cwi_codec cwi_codec_xz = {"\xfd"
                                "7zXZ",
                                5,
                                LACK,
                                xz_open,
                                xz_decode,
                                xz_is_whole,
                                xz_close};

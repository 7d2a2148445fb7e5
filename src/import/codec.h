/* codec.h - decompression of a stream, one table entry per format. */
#ifndef CWI_IMPORT_CODEC_H
#define CWI_IMPORT_CODEC_H

#include "core/context.h"

/* Bytes to work on: where they begin and how many are left. */
typedef struct cwi_span {
    unsigned char *at;
    size_t left;
} cwi_span;

/*
 * open    make a state; CW_UNSUPPORTED, without a message, where a library is missing
 * decode  move forward through in and out; more input or more room is given by calling again.
 *         Returns NULL, or what is wrong with the data in words ("" is out of memory).
 * is_whole  may the input end here?
 */
typedef struct cwi_codec {
    const char *magic; /* the first bytes of every such stream; '?' is any byte */
    size_t magic_bytes;
    const char *lack; /* what is said when open is CW_UNSUPPORTED: "xz, and there is no ..." */
    cw_status (*open)(cw_context *ctx, void **state);
    const char *(*decode)(void *state, cwi_span *in, cwi_span *out);
    bool (*is_whole)(const void *state);
    void (*close)(void *state); /* NULL is fine */
} cwi_codec;

enum { CWI_MAGIC_BYTES = 10 }; /* the longest magic */

extern const cwi_codec cwi_codec_bzip2, cwi_codec_bzip2_empty, cwi_codec_xz;

/* The codec whose magic begins these bytes; NULL when they are not compressed. */
const cwi_codec *cwi_codec_find(const unsigned char *bytes, size_t length);

#endif

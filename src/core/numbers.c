/* numbers.c - arrays of numbers in the byte order of files. */
#define XXH_STATIC_LINKING_ONLY /* a hash that needs no memory, so that it cannot fail */
#include "core/numbers.h"

#include <float.h>
#include <string.h>
#include <xxhash.h>

#include "core/mem.h"

_Static_assert(FLT_EVAL_METHOD == 0, "the same bits everywhere: floats must be added as floats");

enum { PIECE_BYTES = 4096 };

static void reverse(unsigned char *numbers, size_t count, size_t width)
{
    for (unsigned char *at = numbers; at < numbers + count * width; at += width)
        for (size_t b = 0; b < width / 2; b++) {
            unsigned char byte = at[b];
            at[b] = at[width - 1 - b];
            at[width - 1 - b] = byte;
        }
}

void cwi_numbers_turn(void *numbers, size_t count, size_t width)
{
    if (CWI_TURNED) reverse(numbers, count, width);
}

void cwi_numbers_give(const void *numbers, size_t count, size_t width, cwi_piece_fn *take, void *to)
{
    unsigned char piece[PIECE_BYTES];
    const unsigned char *at = numbers;
    size_t left = count * width;

    if (!CWI_TURNED) {
        take(to, numbers, left);
        return;
    }
    while (left > 0) {
        size_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        memcpy(piece, at, bytes);
        reverse(piece, bytes / width, width);
        take(to, piece, bytes);
        at += bytes;
        left -= bytes;
    }
}

static void write_piece(void *writer, const void *bytes, size_t length)
{
    cwi_writer_put(writer, bytes, length);
}

void cwi_writer_numbers(cwi_writer *writer, const void *numbers, size_t count, size_t width)
{
    cwi_numbers_give(numbers, count, width, write_piece, writer);
}

static void hash_piece(void *state, const void *bytes, size_t length)
{
    XXH3_128bits_update(state, bytes, length);
}

static void begin_hash(XXH3_state_t *state, const cwi_digest *digest)
{
    XXH3_INITSTATE(state);
    XXH3_128bits_reset_withSeed(state, digest->high ^ digest->low);
}

static void end_hash(const XXH3_state_t *state, cwi_digest *digest)
{
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    *digest = (cwi_digest){.high = hash.high64, .low = hash.low64};
}

/* What cwi_digest_add makes of the bytes, in pieces. */
void cwi_digest_numbers(cwi_digest *digest, const void *numbers, size_t count, size_t width)
{
    XXH3_state_t state;
    begin_hash(&state, digest);
    cwi_numbers_give(numbers, count, width, hash_piece, &state);
    end_hash(&state, digest);
}

struct cwi_digest_flow {
    XXH3_state_t state;
    char beyond[1024]; /* blocks of this size are aligned as the state asks for */
};

cwi_digest_flow *cwi_digest_open(cw_context *ctx, const cwi_digest *digest)
{
    cwi_digest_flow *flow = cwi_alloc(ctx, 1, sizeof *flow);
    if (flow) begin_hash(&flow->state, digest);
    return flow;
}

void cwi_digest_put(cwi_digest_flow *flow, const void *numbers, size_t count, size_t width)
{
    cwi_numbers_give(numbers, count, width, hash_piece, &flow->state);
}

void cwi_digest_close(cwi_digest_flow *flow, cwi_digest *digest)
{
    if (flow) end_hash(&flow->state, digest);
    cwi_free(flow);
}

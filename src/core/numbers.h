/*
 * numbers.h - arrays of numbers as files hold them: little-endian, on every machine.
 *
 * Where the high byte comes first they are turned round on the way; elsewhere nothing is done.
 */
#ifndef CWI_CORE_NUMBERS_H
#define CWI_CORE_NUMBERS_H

#include "core/file.h"

/* What an array in a file is made of. */
typedef enum cwi_dtype {
    CWI_F32 = 0,
    CWI_F64 = 1,
    CWI_I32 = 2,
    CWI_I64 = 3,
    CWI_U8 = 4,
    CWI_U64 = 5,
    CWI_I16 = 6
} cwi_dtype;

enum { CWI_TURNED = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ };

/* Between the order of this machine and that of files, in place; width is 1, 2, 4 or 8 bytes. */
void cwi_numbers_turn(void *numbers, size_t count, size_t width);

/* Hand over the bytes that a file is to hold, in as many pieces as it takes. */
typedef void cwi_piece_fn(void *to, const void *bytes, size_t length);
void cwi_numbers_give(const void *numbers, size_t count, size_t width, cwi_piece_fn *take,
                      void *to);

void cwi_writer_numbers(cwi_writer *writer, const void *numbers, size_t count, size_t width);
void cwi_digest_numbers(cwi_digest *digest, const void *numbers, size_t count, size_t width);

/* The same for numbers that come in pieces: close takes up what was put; NULL is fine there. */
typedef struct cwi_digest_flow cwi_digest_flow;
cwi_digest_flow *cwi_digest_open(cw_context *ctx, const cwi_digest *digest); /* NULL: no memory */
void cwi_digest_put(cwi_digest_flow *flow, const void *numbers, size_t count, size_t width);
void cwi_digest_close(cwi_digest_flow *flow, cwi_digest *digest);

#endif

/* fuzz_npy.c - any bytes as a .npy file: what is accepted must fit the bytes. */
#include <stdlib.h>

#include "prepare/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cwi_npy array;
    if (cwi_npy_parse(data, size, size, &array)) return 0;
    if (array.n_dims < 1 || array.n_dims > 2) abort();
    uint64_t numbers = (uint64_t)array.shape[0] * (uint64_t)array.shape[1];
    if (array.header_bytes + numbers * 4 != size) abort();
    return 0;
}

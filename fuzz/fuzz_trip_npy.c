/* fuzz_trip_npy.c - any array, written and read back, is the same; a cut file is refused. */
#include "core/mem.h"
#include "fuzzing.h"
#include "prepare/npy.h"

enum { MAX_NUMBERS = 20 * 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    tape t = {data, size};
    place file = fresh("array.npy");
    float numbers[MAX_NUMBERS];
    void *read;
    cwi_npy got, made = {.kind = take_byte(&t) % 2, .n_dims = take_byte(&t) % 2 + 1};

    made.shape[0] = take_number(&t, 0, 20);
    made.shape[1] = made.n_dims == 2 ? take_number(&t, 0, 20) : 1;
    int64_t count = made.shape[0] * made.shape[1];
    for (int64_t k = 0; k < count; k++) numbers[k] = take_float(&t);
    must_work(ctx, cwi_npy_write(ctx, file.path, &made, numbers));
    must_work(ctx, cwi_npy_read(ctx, file.path, &got, &read));
    must(got.kind == made.kind && got.n_dims == made.n_dims);
    must(got.shape[0] == made.shape[0] && got.shape[1] == made.shape[1]);
    must(memcmp(read, numbers, (size_t)count * sizeof *numbers) == 0);
    cwi_free(read);

    bytes cut = read_bytes(file.path);
    cut.size = (size_t)take_number(&t, 0, (int64_t)cut.size - 1);
    write_bytes(file.path, cut);
    cw_status status = cwi_npy_read(ctx, file.path, &got, &read);
    must(status != CW_OK && !read);
    check_status(ctx, status);
    free(cut.at);
    cw_context_free(ctx);
    return 0;
}

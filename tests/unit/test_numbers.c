/* test_numbers.c - numbers lie in files with the low byte first, whatever the machine. */
#include "core/numbers.h"

#include "model/tensorfile.h"
#include "prepare/npy.h"
#include "testing.h"

enum { MANY = 3000 }; /* more than one piece */

static int open_place(void **state)
{
    return workshop_open(state, "file");
}

static size_t load(const char *path, unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, most, file);
    fclose(file);
    return length;
}

static void npy_files_are_little_endian(void **state)
{
    workshop *w = *state;
    const int32_t whole[2] = {1, 0x01020304};
    const unsigned char expected[8] = {1, 0, 0, 0, 4, 3, 2, 1};
    unsigned char bytes[512];
    cwi_npy list = {.kind = CWI_NPY_INT32, .n_dims = 1, .shape = {2, 1}};
    assert_int_equal(cwi_npy_write(w->l.ctx, w->path, &list, whole), CW_OK);
    size_t length = load(w->path, bytes, sizeof bytes);
    assert_memory_equal(bytes + length - 8, expected, 8);
}

static void safetensors_files_are_little_endian(void **state)
{
    workshop *w = *state;
    const double real = 1.0;
    const int16_t narrow = 0x0102;
    const unsigned char expected[10] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2, 1};
    unsigned char bytes[1024];
    cwi_array arrays[] = {{.name = "n", .dtype = CWI_I16, .data = &narrow},
                          {.name = "r", .dtype = CWI_F64, .data = &real}};
    cwi_tensorfile file = {
        .format = "crosswise-test", .version = 1, .arrays = arrays, .n_arrays = 2};
    assert_int_equal(cwi_tensorfile_write(w->l.ctx, w->path, &file), CW_OK);
    size_t length = load(w->path, bytes, sizeof bytes);
    assert_int_equal(bytes[0] + 256 * bytes[1], length - 8 - 10); /* the length of the header */
    for (int b = 2; b < 8; b++) assert_int_equal(bytes[b], 0);
    assert_memory_equal(bytes + length - 10, expected, 10);
}

static void digest_is_the_same_on_every_machine(void **state)
{
    (void)state;
    static int32_t numbers[MANY];
    static unsigned char bytes[4 * MANY];
    cwi_digest digest = {.low = 7}, expected = {.low = 7};
    for (int32_t n = 0; n < MANY; n++) {
        numbers[n] = n * 65537;
        for (int b = 0; b < 4; b++) bytes[4 * n + b] = (unsigned char)(numbers[n] >> 8 * b);
    }
    cwi_digest_numbers(&digest, numbers, MANY, sizeof *numbers);
    cwi_digest_add(&expected, bytes, sizeof bytes);
    assert_true(digest.low == expected.low && digest.high == expected.high);
    cwi_digest_numbers(&digest, numbers, 0, sizeof *numbers);
    cwi_digest_add(&expected, bytes, 0);
    assert_true(digest.low == expected.low && digest.high == expected.high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(npy_files_are_little_endian, open_place, workshop_close),
        cmocka_unit_test_setup_teardown(safetensors_files_are_little_endian, open_place,
                                        workshop_close),
        cmocka_unit_test(digest_is_the_same_on_every_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

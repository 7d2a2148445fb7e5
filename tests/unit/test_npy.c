/* test_npy.c - .npy files: what we write is read back, what is wrong is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "prepare/npy.h"

typedef struct place {
    cw_context *ctx;
    char folder[64];
    char path[96];
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    if (!p || cw_context_create(&p->ctx) != CW_OK) return -1;
    snprintf(p->folder, sizeof p->folder, "npy-test-XXXXXX");
    if (!mkdtemp(p->folder)) return -1;
    snprintf(p->path, sizeof p->path, "%s/a.npy", p->folder);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    unlink(p->path);
    rmdir(p->folder);
    cw_context_free(p->ctx);
    free(p);
    return 0;
}

static void write_bytes(const place *p, const void *bytes, size_t length)
{
    FILE *file = fopen(p->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* A file with the given dictionary and n_bytes of zeros; returns its length. */
static size_t print_file(unsigned char out[1024], const char *dictionary, size_t n_bytes)
{
    size_t text = strlen(dictionary);
    memset(out, 0, 1024);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)text;
    memcpy(out + 10, dictionary, text);
    return 10 + text + n_bytes;
}

static const char *parse(const char *dictionary, size_t n_bytes)
{
    unsigned char bytes[1024];
    cwi_npy array;
    size_t length = print_file(bytes, dictionary, n_bytes);
    return cwi_npy_parse(bytes, length, length, &array);
}

static void arrays_survive_the_round_trip(void **state)
{
    place *p = *state;
    const float reals[6] = {1.5f, -2.0f, 0.0f, 3.25f, 1e-30f, 7.0f};
    const int32_t whole[3] = {1, -5, INT32_MAX};
    cwi_npy matrix = {.kind = CWI_NPY_FLOAT32, .n_dims = 2, .shape = {2, 3}};
    cwi_npy list = {.kind = CWI_NPY_INT32, .n_dims = 1, .shape = {3, 1}};
    cwi_npy got;
    void *data;

    assert_int_equal(cwi_npy_write(p->ctx, p->path, &matrix, reals), CW_OK);
    assert_int_equal(cwi_npy_read(p->ctx, p->path, &got, &data), CW_OK);
    assert_int_equal(got.kind, CWI_NPY_FLOAT32);
    assert_int_equal(got.n_dims, 2);
    assert_int_equal(got.shape[0], 2);
    assert_int_equal(got.shape[1], 3);
    assert_int_equal(got.header_bytes % 64, 0);
    assert_memory_equal(data, reals, sizeof reals);
    cwi_free(data);

    assert_int_equal(cwi_npy_write(p->ctx, p->path, &list, whole), CW_OK);
    assert_int_equal(cwi_npy_read(p->ctx, p->path, &got, &data), CW_OK);
    assert_int_equal(got.kind, CWI_NPY_INT32);
    assert_int_equal(got.n_dims, 1);
    assert_memory_equal(data, whole, sizeof whole);
    cwi_free(data);
}

static void empty_array_is_fine(void **state)
{
    place *p = *state;
    cwi_npy list = {.kind = CWI_NPY_INT32, .n_dims = 1, .shape = {0, 1}}, got;
    void *data;
    assert_int_equal(cwi_npy_write(p->ctx, p->path, &list, ""), CW_OK);
    assert_int_equal(cwi_npy_read(p->ctx, p->path, &got, &data), CW_OK);
    assert_int_equal(got.shape[0], 0);
    cwi_free(data);
}

static void headers_of_other_writers_are_read(void **state)
{
    (void)state;
    assert_null(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }     \n", 24));
    assert_null(parse("{\"shape\":(6,),\"descr\":\"<i4\",\"fortran_order\":False}", 24));
    assert_null(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", 0));
}

static void wrong_headers_are_refused(void **state)
{
    const char *const wrong[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4503599627370496, 4096), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (6,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } more",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,),",
        "{'a very long key that never ends': 1}",
        "{'descr",
        "",
    };
    (void)state;
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++)
        if (!parse(wrong[w], 24)) fail_msg("accepted: %s", wrong[w]);
}

static void every_truncation_is_refused(void **state)
{
    place *p = *state;
    unsigned char bytes[1024];
    const char *dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    size_t length = print_file(bytes, dictionary, 24);
    cwi_npy got;
    void *data;

    for (size_t shorter = 0; shorter < length; shorter++) {
        write_bytes(p, bytes, shorter);
        assert_int_equal(cwi_npy_read(p->ctx, p->path, &got, &data), CW_BAD_DATA);
        assert_null(data);
        assert_non_null(strstr(cw_context_error(p->ctx), p->path));
    }
    write_bytes(p, bytes, length + 4);
    assert_int_equal(cwi_npy_read(p->ctx, p->path, &got, &data), CW_BAD_DATA);
}

static void missing_file_and_folder_are_refused(void **state)
{
    place *p = *state;
    cwi_npy got;
    void *data;
    assert_int_equal(cwi_npy_read(p->ctx, "there/is/no.npy", &got, &data), CW_IO);
    assert_int_not_equal(cwi_npy_read(p->ctx, p->folder, &got, &data), CW_OK);
    assert_null(data);
}

static void allocation_failures_are_reported(void **state)
{
    place *p = *state;
    const float reals[2] = {1.0f, 2.0f};
    cwi_npy list = {.kind = CWI_NPY_FLOAT32, .n_dims = 1, .shape = {2, 1}}, got;
    void *data = NULL;
    cw_status status = CW_NO_MEMORY;

    assert_int_equal(cwi_npy_write(p->ctx, p->path, &list, reals), CW_OK);
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cwi_mem_fail_at(p->ctx, nth);
        status = cwi_npy_read(p->ctx, p->path, &got, &data);
        cwi_mem_fail_at(p->ctx, 0);
        assert_true(status == CW_OK || data == NULL);
    }
    assert_int_equal(status, CW_OK);
    cwi_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arrays_survive_the_round_trip, open_place, close_place),
        cmocka_unit_test_setup_teardown(empty_array_is_fine, open_place, close_place),
        cmocka_unit_test(headers_of_other_writers_are_read),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test_setup_teardown(every_truncation_is_refused, open_place, close_place),
        cmocka_unit_test_setup_teardown(missing_file_and_folder_are_refused, open_place,
                                        close_place),
        cmocka_unit_test_setup_teardown(allocation_failures_are_reported, open_place, close_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

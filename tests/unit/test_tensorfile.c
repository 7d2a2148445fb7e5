/* test_tensorfile.c - safetensors files: what is written comes back, what is damaged does not. */
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "model/tensorfile.h"
#include "testing.h"

enum { MAX_BYTES = 8192 };

typedef struct place {
    cw_context *ctx;
    char folder[64];
    char path[128];
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    assert_int_equal(cw_context_create(&p->ctx), CW_OK);
    make_scratch(p->folder);
    snprintf(p->path, sizeof p->path, "%s/a.safetensors", p->folder);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    remove_scratch(p->folder);
    cw_context_free(p->ctx);
    free(p);
    return 0;
}

static const float reals[6] = {1.5f, -2.0f, 0.0f, 3.25f, 1e-30f, 7.0f};
static const int64_t wide[2] = {INT64_MIN, 5};
static const int32_t narrow[3] = {1, -5, INT32_MAX};
static const double number = 0.1;

static cw_status write_sample(place *p)
{
    cwi_array arrays[] = {
        {.name = "text", .dtype = CWI_U8, .rank = 1, .shape = {3}, .data = "abc"},
        {.name = "reals", .dtype = CWI_F32, .rank = 2, .shape = {2, 3}, .data = reals},
        {.name = "none", .dtype = CWI_F32, .rank = 2, .shape = {0, 3}, .data = NULL},
        {.name = "wide", .dtype = CWI_I64, .rank = 1, .shape = {2}, .data = wide},
        {.name = "narrow", .dtype = CWI_I32, .rank = 1, .shape = {3}, .data = narrow},
        {.name = "number", .dtype = CWI_F64, .rank = 0, .data = &number},
    };
    cwi_note notes[] = {{"about", "{\"a\": \"\\\" \xc3\xa4\"}"}, {"empty", ""}};
    cwi_tensorfile file = {.format = "crosswise-test",
                           .version = 2,
                           .arrays = arrays,
                           .n_arrays = 6,
                           .notes = notes,
                           .n_notes = 2};
    return cwi_tensorfile_write(p->ctx, p->path, &file);
}

static cw_status read_sample(place *p, cwi_tensorfile *out)
{
    p->ctx->error[0] = '\0';
    return cwi_tensorfile_read(p->ctx, p->path, "crosswise-test", 2, out);
}

static size_t load(const char *path, unsigned char bytes[MAX_BYTES])
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, MAX_BYTES, file);
    fclose(file);
    return length;
}

static void arrays_and_notes_survive_the_round_trip(void **state)
{
    place *p = *state;
    cwi_tensorfile file;
    unsigned char bytes[MAX_BYTES];

    assert_int_equal(write_sample(p), CW_OK);
    assert_int_equal(read_sample(p, &file), CW_OK);
    assert_string_equal(file.format, "crosswise-test");
    assert_int_equal(file.version, 2);
    assert_int_equal(file.n_arrays, 6);
    assert_int_equal(file.n_notes, 2);
    assert_string_equal(cwi_tensorfile_note(&file, "about"), "{\"a\": \"\\\" \xc3\xa4\"}");
    assert_string_equal(cwi_tensorfile_note(&file, "empty"), "");
    assert_null(cwi_tensorfile_note(&file, "checksum"));
    assert_null(cwi_tensorfile_find(&file, "nobody"));
    const cwi_array *array = cwi_tensorfile_find(&file, "reals");
    assert_int_equal(array->dtype, CWI_F32);
    assert_int_equal(array->rank, 2);
    assert_int_equal(array->shape[1], 3);
    assert_memory_equal(array->data, reals, sizeof reals);
    assert_int_equal(cwi_array_count(cwi_tensorfile_find(&file, "none")), 0);
    assert_memory_equal(cwi_tensorfile_find(&file, "wide")->data, wide, sizeof wide);
    assert_memory_equal(cwi_tensorfile_find(&file, "narrow")->data, narrow, sizeof narrow);
    assert_memory_equal(cwi_tensorfile_find(&file, "number")->data, &number, sizeof number);
    assert_int_equal(cwi_tensorfile_find(&file, "number")->rank, 0);
    assert_memory_equal(cwi_tensorfile_find(&file, "text")->data, "abc", 3);
    cwi_tensorfile_clear(&file);
    load(p->path, bytes);
    assert_int_equal((bytes[0] + 256 * bytes[1] + 8) % 64, 0);
}

static void every_flipped_byte_and_every_cut_is_noticed(void **state)
{
    place *p = *state;
    unsigned char bytes[MAX_BYTES], *copy;
    cwi_tensorfile file;

    assert_int_equal(write_sample(p), CW_OK);
    size_t length = load(p->path, bytes);
    for (size_t at = 0; at < length; at++) {
        copy = cwi_alloc(p->ctx, length, 1);
        memcpy(copy, bytes, length);
        copy[at] ^= (unsigned char)(1 << (at % 8));
        p->ctx->error[0] = '\0';
        cw_status status =
            cwi_tensorfile_parse(p->ctx, "a.st", copy, length, "crosswise-test", 2, &file);
        if (status != CW_BAD_DATA) fail_msg("a flip at byte %zu was accepted", at);
        assert_non_null(strstr(p->ctx->error, "a.st"));
        assert_null(strchr(p->ctx->error, '\n'));
        assert_null(file.arrays);
        cwi_free(copy);
    }
    for (size_t shorter = 0; shorter < length; shorter++) {
        copy = cwi_alloc(p->ctx, shorter, 1);
        memcpy(copy, bytes, shorter);
        cw_status status =
            cwi_tensorfile_parse(p->ctx, "a.st", copy, shorter, "crosswise-test", 2, &file);
        if (status != CW_BAD_DATA) fail_msg("a cut to %zu bytes was accepted", shorter);
        cwi_free(copy);
    }
}

/* A file with these entries after the metadata, n_bytes of data and a right checksum. */
static const char *parse_entries(place *p, const char *entries, size_t n_bytes)
{
    const char *metadata = "00000000000000000000000000000000\",\"format\":\"crosswise-test\","
                           "\"format_version\":\"1\"}";
    char header[1024];
    cwi_tensorfile file;
    int text = snprintf(header, sizeof header, "%s%s%s}", CWI_TENSORFILE_START, metadata, entries);
    size_t padded = ((size_t)text + 7) / 8 * 8;
    size_t length = 8 + padded + n_bytes;
    unsigned char *bytes = cwi_alloc_zero(p->ctx, length, 1);
    char digits[CWI_CHECKSUM_DIGITS + 1];

    memset(bytes, ' ', 8 + padded);
    for (int b = 0; b < 8; b++) bytes[b] = (unsigned char)((uint64_t)padded >> 8 * b);
    memcpy(bytes + 8, header, (size_t)text);
    cwi_tensorfile_checksum(bytes, length, digits);
    memcpy(bytes + CWI_CHECKSUM_AT, digits, CWI_CHECKSUM_DIGITS);
    p->ctx->error[0] = '\0';
    cw_status status =
        cwi_tensorfile_parse(p->ctx, "a.st", bytes, length, "crosswise-test", 1, &file);
    cwi_tensorfile_clear(&file);
    cwi_free(bytes);
    assert_true((status == CW_OK) == (p->ctx->error[0] == '\0'));
    return p->ctx->error;
}

static void wrong_places_and_shapes_are_refused(void **state)
{
    static const struct {
        const char *entries;
        size_t n_bytes;
        const char *says;
    } cases[] = {
        {"", 0, ""},
        {"", 1, "bytes after the last"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", 8, ""},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}", 4, "outside"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}", 16, "gap"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]}", 8, "outside"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}", 8, "outside"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9223372036854775807]}", 8,
         "outside"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}", 8, "lacks its place"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8.0]}", 8, "lacks its place"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[2]}", 8, "lacks its place"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}", 8, "does not match"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}", 8,
         "not made of counts"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}", 8, "lacks a shape"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[1,2,1],\"data_offsets\":[0,8]}", 8, "more than two"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905,4],\"data_offsets\":[0,8]}", 8,
         "does not match"},
        {",\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,8]}", 8, "does not match"},
        {",\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}", 8, "does not use"},
        {",\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}", 8, "lacks a dtype"},
        {",\"a\":[]", 0, "lacks a dtype"},
        {",\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}",
         8, "overlap"},
        {",\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[2,6]}",
         6, "not aligned"},
        {",\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}",
         8, "twice"},
    };
    place *p = *state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *said = parse_entries(p, cases[c].entries, cases[c].n_bytes);
        if (cases[c].says[0] ? !strstr(said, cases[c].says) : said[0])
            fail_msg("case %zu: '%s' instead of '%s'", c, said, cases[c].says);
    }
}

static void other_formats_and_newer_versions_are_refused(void **state)
{
    place *p = *state;
    cwi_tensorfile file;
    const char foreign[] = "\x38\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
                           "\"data_offsets\":[0,4]}}      \0\0\0\0";

    assert_int_equal(write_sample(p), CW_OK);
    assert_int_equal(cwi_tensorfile_read(p->ctx, p->path, "crosswise-test", 1, &file), CW_BAD_DATA);
    assert_non_null(strstr(p->ctx->error, "written by a newer crosswise"));
    p->ctx->error[0] = '\0';
    assert_int_equal(cwi_tensorfile_read(p->ctx, p->path, "crosswise-b", 2, &file), CW_BAD_DATA);
    assert_non_null(strstr(p->ctx->error, "format crosswise-test, not crosswise-b"));
    assert_int_equal(cwi_tensorfile_read(p->ctx, p->path, "crosswise-test", 3, &file), CW_OK);
    assert_int_equal(file.version, 2);
    cwi_tensorfile_clear(&file);
    p->ctx->error[0] = '\0';
    char *copy = cwi_alloc(p->ctx, sizeof foreign - 1, 1);
    memcpy(copy, foreign, sizeof foreign - 1);
    assert_int_equal(
        cwi_tensorfile_parse(p->ctx, "b", copy, sizeof foreign - 1, "crosswise-test", 1, &file),
        CW_BAD_DATA);
    assert_string_equal(p->ctx->error, "b: this safetensors file was not written by crosswise");
    cwi_free(copy);
}

static void names_that_collide_are_refused(void **state)
{
    place *p = *state;
    cwi_array arrays[] = {
        {.name = "a", .dtype = CWI_U8, .rank = 1, .shape = {3}, .data = "abc"},
        {.name = "a", .dtype = CWI_U8, .rank = 1, .shape = {3}, .data = "abc"},
    };
    cwi_tensorfile file = {
        .format = "crosswise-test", .version = 1, .arrays = arrays, .n_arrays = 2};
    assert_int_equal(cwi_tensorfile_write(p->ctx, p->path, &file), CW_BAD_ARG);
    assert_int_not_equal(access(p->path, F_OK), 0);
}

static void missing_file_and_folder_are_refused(void **state)
{
    place *p = *state;
    cwi_tensorfile file;
    assert_int_equal(read_sample(p, &file), CW_IO);
    assert_int_equal(mkdir(p->path, 0700), 0);
    assert_int_not_equal(read_sample(p, &file), CW_OK);
    p->ctx->error[0] = '\0';
    assert_int_equal(write_sample(p), CW_IO);
    assert_non_null(strstr(p->ctx->error, "it is a folder"));
}

static void failing_allocations_leave_the_old_file(void **state)
{
    place *p = *state;
    unsigned char before[MAX_BYTES], after[MAX_BYTES];
    cwi_tensorfile file;

    assert_int_equal(write_sample(p), CW_OK);
    size_t length = load(p->path, before);
    for (int which = 0; which < 2; which++) {
        cw_status status = CW_NO_MEMORY;
        for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
            cwi_mem_fail_at(p->ctx, nth);
            status = which ? write_sample(p) : read_sample(p, &file);
            cwi_mem_fail_at(p->ctx, 0);
            assert_int_equal(load(p->path, after), length);
            assert_memory_equal(before, after, length);
        }
        assert_int_equal(status, CW_OK);
    }
    cwi_tensorfile_clear(&file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)
    const struct CMUnitTest tests[] = {
        TEST(arrays_and_notes_survive_the_round_trip),
        TEST(every_flipped_byte_and_every_cut_is_noticed),
        TEST(wrong_places_and_shapes_are_refused),
        TEST(other_formats_and_newer_versions_are_refused),
        TEST(names_that_collide_are_refused),
        TEST(missing_file_and_folder_are_refused),
        TEST(failing_allocations_leave_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

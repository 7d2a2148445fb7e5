/* test_source.c - lines from plain and compressed bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/mem.h"
#include "import/source.h"

static int make_context(void **state)
{
    cw_context *ctx = NULL;
    cw_status status = cw_context_create(&ctx);
    *state = ctx;
    return status == CW_OK ? 0 : -1;
}

static int free_context(void **state)
{
    cw_context_free(*state);
    return 0;
}

static cwi_source *open_bytes(cw_context *ctx, const void *bytes, size_t length)
{
    cwi_source *source;
    cwi_begin(ctx);
    assert_int_equal(cwi_source_open_memory(ctx, "x.csv", bytes, length, &source), CW_OK);
    return source;
}

static void expect_line(cw_context *ctx, cwi_source *source, const char *wanted)
{
    const char *line;
    size_t length;
    assert_int_equal(cwi_source_line(ctx, source, &line, &length), CW_OK);
    if (!wanted) {
        assert_null(line);
        return;
    }
    assert_non_null(line);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(line, wanted, length);
}

/* Read to the end; the status of the first failure, or CW_OK. */
static cw_status drain(cw_context *ctx, cwi_source *source)
{
    const char *line = "";
    size_t length;
    cw_status status = CW_OK;
    while (status == CW_OK && line) status = cwi_source_line(ctx, source, &line, &length);
    return status;
}

/* One gzip member with the given text; returns its size. */
static size_t pack(const char *text, size_t length, unsigned char *out, size_t room)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (unsigned)length;
    stream.next_out = out;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return room - stream.avail_out;
}

static void lines_end_in_lf_crlf_or_nothing(void **state)
{
    const char text[] = "a\nb b\r\n\n\r\nlast";
    cwi_source *source = open_bytes(*state, text, strlen(text));
    assert_int_equal(cwi_source_line_number(source), 0);
    expect_line(*state, source, "a");
    expect_line(*state, source, "b b");
    expect_line(*state, source, "");
    expect_line(*state, source, "");
    expect_line(*state, source, "last");
    assert_int_equal(cwi_source_line_number(source), 5);
    expect_line(*state, source, NULL);
    expect_line(*state, source, NULL);
    assert_int_equal(cwi_source_line_number(source), 5);
    assert_int_equal(cwi_source_lines_read(source), 5);
    cwi_source_close(source);
}

static void byte_order_mark_is_dropped(void **state)
{
    cwi_source *source = open_bytes(*state, "\xef\xbb\xbfuser\n", 8);
    expect_line(*state, source, "user");
    cwi_source_close(source);
    source = open_bytes(*state, "\xef\xbb", 2);
    expect_line(*state, source, "\xef\xbb");
    cwi_source_close(source);
}

static void empty_text_has_no_lines(void **state)
{
    cwi_source *source = open_bytes(*state, "", 0);
    expect_line(*state, source, NULL);
    cwi_source_close(source);
}

static void long_lines_and_long_texts_come_through(void **state)
{
    enum { BYTES = 3000000, LINE = 1000001 };
    char *text = cwi_alloc(*state, BYTES, 1);
    const char *line;
    size_t length, total = 0;

    assert_non_null(text);
    for (size_t at = 0; at < BYTES; at++)
        text[at] = at % LINE == LINE - 1 ? '\n' : (char)('a' + at % 26);
    cwi_source *source = open_bytes(*state, text, BYTES);
    for (;;) {
        assert_int_equal(cwi_source_line(*state, source, &line, &length), CW_OK);
        if (!line) break;
        assert_memory_equal(line, text + total, length);
        total += length + 1;
    }
    assert_int_equal(total, BYTES + 1);
    assert_int_equal(cwi_source_lines_read(source), 3);
    cwi_source_close(source);
    cwi_free(text);
}

static void peek_does_not_read(void **state)
{
    const char *text;
    size_t length;
    cwi_source *source = open_bytes(*state, "a\nb\n", 4);
    assert_int_equal(cwi_source_peek(*state, source, &text, &length), CW_OK);
    assert_int_equal(length, 4);
    expect_line(*state, source, "a");
    assert_int_equal(cwi_source_peek(*state, source, &text, &length), CW_OK);
    assert_int_equal(length, 2);
    expect_line(*state, source, "b");
    cwi_source_close(source);
}

static void a_line_can_be_extended_and_shrunk(void **state)
{
    const char *line;
    size_t length;
    cwi_source *source = open_bytes(*state, "a\r\nb\nc", 6);
    expect_line(*state, source, "a");
    assert_int_equal(cwi_source_extend(*state, source, &line, &length), CW_OK);
    assert_int_equal(length, 4);
    assert_memory_equal(line, "a\r\nb", 4);
    assert_int_equal(cwi_source_line_number(source), 1);
    assert_int_equal(cwi_source_lines_read(source), 2);
    cwi_source_shrink(source);
    expect_line(*state, source, "b");
    assert_int_equal(cwi_source_line_number(source), 2);
    expect_line(*state, source, "c");
    assert_int_equal(cwi_source_extend(*state, source, &line, &length), CW_OK);
    assert_null(line);
    cwi_source_close(source);
}

static void zero_byte_is_refused_with_its_line(void **state)
{
    cwi_source *source = open_bytes(*state, "a\nb\0c\n", 6);
    expect_line(*state, source, "a");
    assert_int_equal(drain(*state, source), CW_BAD_DATA);
    assert_string_equal(cw_context_error(*state),
                        "x.csv:2: contains a zero byte; this is not text");
    cwi_source_close(source);
}

static void gzip_members_follow_each_other(void **state)
{
    unsigned char packed[256];
    size_t first = pack("a\nb", 3, packed, sizeof packed);
    size_t both = first + pack("c\nd\n", 4, packed + first, sizeof packed - first);
    cwi_source *source = open_bytes(*state, packed, both);
    expect_line(*state, source, "a");
    expect_line(*state, source, "bc");
    expect_line(*state, source, "d");
    expect_line(*state, source, NULL);
    cwi_source_close(source);
}

static void an_empty_gzip_file_has_no_lines(void **state)
{
    unsigned char packed[64];
    cwi_source *source = open_bytes(*state, packed, pack("", 0, packed, sizeof packed));
    expect_line(*state, source, NULL);
    cwi_source_close(source);
}

static void truncated_gzip_is_refused_at_every_length(void **state)
{
    unsigned char packed[256];
    size_t size = pack("user,item\n1,2\n3,4\n", 18, packed, sizeof packed);
    for (size_t length = 2; length < size; length++) {
        cwi_source *source;
        cwi_begin(*state);
        cw_status status = cwi_source_open_memory(*state, "x.gz", packed, length, &source);
        if (status == CW_OK) status = drain(*state, source);
        assert_int_equal(status, CW_BAD_DATA);
        assert_string_equal(cw_context_error(*state), "x.gz: compressed data ends too early");
        cwi_source_close(source);
    }
}

static void damaged_gzip_is_refused(void **state)
{
    unsigned char packed[256];
    size_t size = pack("user,item\n1,2\n3,4\n", 18, packed, sizeof packed);
    cwi_source *source;

    packed[size - 6] ^= 1; /* in the checksum */
    cwi_begin(*state);
    cw_status status = cwi_source_open_memory(*state, "x.gz", packed, size, &source);
    if (status == CW_OK) status = drain(*state, source);
    assert_int_equal(status, CW_BAD_DATA);
    assert_string_equal(cw_context_error(*state), "x.gz: compressed data is damaged");
    cwi_source_close(source);
}

/* "user,item\n1,2\n" in zstd frames: magic, one segment of known size (14), one raw last block. */
static size_t zstd_frames(unsigned char *out, size_t copies)
{
    static const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x0e, 0x71, 0x00, 0x00};
    enum { HEAD = sizeof head, BODY = 14 };

    for (size_t c = 0; c < copies; c++) {
        memcpy(out + c * (HEAD + BODY), head, HEAD);
        memcpy(out + c * (HEAD + BODY) + HEAD, "user,item\n1,2\n", BODY);
    }
    return copies * (HEAD + BODY);
}

static void zstd_frames_follow_each_other(void **state)
{
    unsigned char packed[64];
    cwi_source *source = open_bytes(*state, packed, zstd_frames(packed, 2));
    expect_line(*state, source, "user,item");
    expect_line(*state, source, "1,2");
    expect_line(*state, source, "user,item");
    expect_line(*state, source, "1,2");
    expect_line(*state, source, NULL);
    cwi_source_close(source);
}

static void truncated_zstd_is_refused(void **state)
{
    unsigned char packed[64];
    size_t size = zstd_frames(packed, 1);
    for (size_t length = 4; length < size; length++) {
        cwi_source *source;
        cwi_begin(*state);
        cw_status status = cwi_source_open_memory(*state, "x.zst", packed, length, &source);
        if (status == CW_OK) status = drain(*state, source);
        assert_int_equal(status, CW_BAD_DATA);
        assert_string_equal(cw_context_error(*state), "x.zst: compressed data ends too early");
        cwi_source_close(source);
    }
}

static void damaged_zstd_is_refused(void **state)
{
    unsigned char packed[64];
    size_t size = zstd_frames(packed, 1);
    cwi_source *source;

    packed[6] |= 6; /* a block type that does not exist */
    cwi_begin(*state);
    assert_int_equal(cwi_source_open_memory(*state, "x.zst", packed, size, &source), CW_BAD_DATA);
    assert_string_equal(cw_context_error(*state), "x.zst: compressed data is damaged");
    assert_null(source);
}

static void missing_file_and_folder_are_named(void **state)
{
    cwi_source *source;
    cwi_begin(*state);
    assert_int_equal(cwi_source_open(*state, "no/such/file.csv", &source), CW_IO);
    assert_null(source);
    assert_string_equal(cw_context_error(*state),
                        "cannot open no/such/file.csv: No such file or directory");
    cwi_begin(*state);
    assert_int_equal(cwi_source_open(*state, "/", &source), CW_IO);
    assert_string_equal(cw_context_error(*state), "/ is a folder; a file is needed here");
}

static void a_file_is_read_like_memory(void **state)
{
    char path[] = "test_source_XXXXXX";
    cwi_source *source;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a\nb\n", 4), 4);
    assert_int_equal(close(fd), 0);
    cwi_begin(*state);
    assert_int_equal(cwi_source_open(*state, path, &source), CW_OK);
    assert_string_equal(cwi_source_name(source), path);
    expect_line(*state, source, "a");
    expect_line(*state, source, "b");
    expect_line(*state, source, NULL);
    cwi_source_close(source);
    assert_int_equal(unlink(path), 0);
}

static bool stop(void *user, const char *stage, int64_t done, int64_t total)
{
    assert_string_equal(stage, "reading x.csv");
    assert_int_equal(done <= total, 1);
    return --*(int *)user > 0;
}

static void progress_can_stop_reading(void **state)
{
    enum { BYTES = 20 << 20 };
    cw_context *ctx = *state;
    cwi_source *source;
    int calls = 3;
    char *text = cwi_alloc(ctx, BYTES, 1);

    assert_non_null(text);
    memset(text, '\n', BYTES);
    cw_context_set_progress(ctx, stop, &calls);
    source = open_bytes(ctx, text, BYTES);
    assert_int_equal(drain(ctx, source), CW_CANCELLED);
    assert_string_equal(cw_context_error(ctx), "stopped while reading x.csv");
    cwi_source_close(source);
    cw_context_set_progress(ctx, NULL, NULL);
    cwi_free(text);
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    cw_context *ctx = *state;
    unsigned char packed[256];
    size_t size = pack("user,item\n1,2\n3,4\n", 18, packed, sizeof packed);
    cw_status status = CW_NO_MEMORY;

    for (int64_t nth = 1; status != CW_OK; nth++) {
        cwi_source *source;
        cwi_begin(ctx);
        cwi_mem_fail_at(ctx, nth);
        status = cwi_source_open_memory(ctx, "x.gz", packed, size, &source);
        if (status == CW_OK) status = drain(ctx, source);
        cwi_mem_fail_at(ctx, 0);
        if (status != CW_OK) assert_int_equal(status, CW_NO_MEMORY);
        cwi_source_close(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_lf_crlf_or_nothing),
        cmocka_unit_test(byte_order_mark_is_dropped),
        cmocka_unit_test(empty_text_has_no_lines),
        cmocka_unit_test(long_lines_and_long_texts_come_through),
        cmocka_unit_test(peek_does_not_read),
        cmocka_unit_test(a_line_can_be_extended_and_shrunk),
        cmocka_unit_test(zero_byte_is_refused_with_its_line),
        cmocka_unit_test(gzip_members_follow_each_other),
        cmocka_unit_test(an_empty_gzip_file_has_no_lines),
        cmocka_unit_test(truncated_gzip_is_refused_at_every_length),
        cmocka_unit_test(damaged_gzip_is_refused),
        cmocka_unit_test(zstd_frames_follow_each_other),
        cmocka_unit_test(truncated_zstd_is_refused),
        cmocka_unit_test(damaged_zstd_is_refused),
        cmocka_unit_test(missing_file_and_folder_are_named),
        cmocka_unit_test(a_file_is_read_like_memory),
        cmocka_unit_test(progress_can_stop_reading),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}

/* test_png.c - figures as PNG files: readable, of the right size, and with something drawn on them.
 */
#include <math.h>
#include <sys/stat.h>
#include <zlib.h>

#include "report/png.h"
#include "testing.h"

enum { CHANNELS = 3, HEAD = 8 + 25, RESOLUTION = 21 };

/* A file of the scratch folder, decoded far enough for what is written here. */
typedef struct picture {
    unsigned char *file, *pixels; /* pixels are [height][1 + width * 3], first the filter */
    size_t length;
    uint32_t width, height;
} picture;

static uint32_t read_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void read_file(const char *path, picture *out)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    out->length = (size_t)info.st_size;
    out->file = malloc(out->length);
    assert_non_null(out->file);
    assert_int_equal(fread(out->file, 1, out->length, file), out->length);
    fclose(file);
}

/* All chunks have the right checksum; those of pixels are inflated one after the other. */
static void inflate_chunks(picture *p)
{
    size_t bytes = p->height * (1 + (size_t)p->width * CHANNELS), at = 8;
    z_stream stream = {0};
    p->pixels = malloc(bytes);
    assert_non_null(p->pixels);
    assert_int_equal(inflateInit(&stream), Z_OK);
    stream.next_out = p->pixels;
    stream.avail_out = (uInt)bytes;
    while (at < p->length) {
        unsigned char *chunk = p->file + at;
        uint32_t length = read_number(chunk);
        assert_true(at + 12 + length <= p->length);
        assert_int_equal(crc32(0, chunk + 4, length + 4), read_number(chunk + 8 + length));
        if (memcmp(chunk + 4, "IDAT", 4) == 0) {
            stream.next_in = chunk + 8;
            stream.avail_in = length;
            assert_true(inflate(&stream, Z_NO_FLUSH) >= 0);
        }
        at += 12 + length;
    }
    assert_int_equal(stream.total_out, bytes);
    inflateEnd(&stream);
}

static int paeth(int left, int up, int corner)
{
    int guess = left + up - corner;
    int to_left = abs(guess - left), to_up = abs(guess - up), to_corner = abs(guess - corner);
    if (to_left <= to_up && to_left <= to_corner) return left;
    return to_up <= to_corner ? up : corner;
}

/* Undo the filter of every row. */
static void unfilter(const picture *p)
{
    size_t stride = 1 + (size_t)p->width * CHANNELS;
    for (uint32_t y = 0; y < p->height; y++) {
        unsigned char *row = p->pixels + y * stride + 1;
        for (size_t k = 0; k < stride - 1; k++) {
            int left = k < CHANNELS ? 0 : row[k - CHANNELS], up = y == 0 ? 0 : *(row + k - stride);
            int corner = k < CHANNELS || y == 0 ? 0 : *(row + k - stride - CHANNELS);
            int guess[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
            assert_in_range(row[-1], 0, 4);
            row[k] = (unsigned char)(row[k] + guess[row[-1]]);
        }
    }
}

static void picture_read(const char *path, picture *p)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    *p = (picture){0};
    read_file(path, p);
    assert_true(p->length > HEAD + RESOLUTION);
    assert_memory_equal(p->file, signature, sizeof signature);
    assert_memory_equal(p->file + 12, "IHDR", 4);
    p->width = read_number(p->file + 16);
    p->height = read_number(p->file + 20);
    assert_int_equal(p->file[24], 8); /* bits */
    assert_int_equal(p->file[25], 2); /* red, green and blue, nothing to shine through */
    inflate_chunks(p);
    unfilter(p);
}

static void picture_clear(picture *p)
{
    free(p->file);
    free(p->pixels);
}

static const unsigned char *pixel(const picture *p, uint32_t x, uint32_t y)
{
    return p->pixels + y * (1 + (size_t)p->width * CHANNELS) + 1 + (size_t)x * CHANNELS;
}

static void expect_color(const picture *p, uint32_t x, uint32_t y, int red, int green, int blue)
{
    const unsigned char *at = pixel(p, x, y);
    if (at[0] != red || at[1] != green || at[2] != blue)
        fail_msg("%u, %u is %d %d %d", x, y, at[0], at[1], at[2]);
}

/* Dark pixels of a part. */
static size_t count_ink(const picture *p, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1)
{
    size_t count = 0;
    for (uint32_t y = y0; y < y1; y++)
        for (uint32_t x = x0; x < x1; x++) count += pixel(p, x, y)[0] < 128;
    return count;
}

/* Draw the SVG into the folder; skips the test where that cannot be done. */
static cw_status draw(workshop *w, const char *svg)
{
    char path[128];
    cwi_painter *painter;
    write_file(w->folder, "drawing.svg", svg);
    snprintf(path, sizeof path, "%s/drawing.svg", w->folder);
    assert_int_equal(cwi_painter_open(w->l.ctx, &painter), CW_OK);
    if (!painter) {
        assert_non_null(strstr(w->l.log, "PNG figures are left out: "));
        print_message("%s", w->l.log);
        skip();
    }
    assert_string_equal(w->l.log, "");
    cw_status status = cwi_painter_draw(w->l.ctx, painter, path, w->path);
    cwi_painter_close(painter);
    return status;
}

static int set_up(void **state)
{
    return workshop_open(state, "drawing.png");
}

static void a_drawing_has_300_dots_per_inch_on_white(void **state)
{
    workshop *w = *state;
    picture p;
    assert_int_equal(draw(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"96\" height=\"48\""
                             " viewBox=\"0 0 96 48\"><rect x=\"48\" width=\"48\" height=\"24\""
                             " fill=\"#0072b2\"/></svg>"),
                     CW_OK);
    picture_read(w->path, &p);
    assert_int_equal(p.width, 300);
    assert_int_equal(p.height, 150);
    assert_memory_equal(p.file + HEAD + 4, "pHYs", 4);
    assert_int_equal(read_number(p.file + HEAD + 8), 11811); /* per metre, in both directions */
    assert_int_equal(read_number(p.file + HEAD + 12), 11811);
    expect_color(&p, 0, 0, 255, 255, 255);
    expect_color(&p, 299, 149, 255, 255, 255);
    expect_color(&p, 151, 0, 0, 0x72, 0xb2);
    expect_color(&p, 299, 74, 0, 0x72, 0xb2);
    picture_clear(&p);
}

static void text_is_drawn(void **state)
{
    workshop *w = *state;
    picture p;
    assert_int_equal(
        draw(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"100\""
                " viewBox=\"0 0 200 100\" font-family=\"Helvetica, Arial, sans-serif\""
                " font-size=\"13\"><text x=\"10\" y=\"20\">Recall@20 &lt; 1 ±</text></svg>"),
        CW_OK);
    picture_read(w->path, &p);
    size_t ink = count_ink(&p, 30, 20, 450, 80);
    assert_in_range(ink, 1000, 12000); /* about 15 letters of 40 x 20 dots */
    assert_int_equal(count_ink(&p, 0, 100, p.width, p.height), 0);
    picture_clear(&p);
}

static void large_drawings_get_fewer_dots(void **state)
{
    workshop *w = *state;
    picture p;
    assert_int_equal(draw(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\""
                             " height=\"8000\" viewBox=\"0 0 8 8000\"/>"),
                     CW_OK);
    picture_read(w->path, &p);
    assert_int_equal(p.width, 16);
    assert_int_equal(p.height, 16000);
    assert_int_equal(read_number(p.file + HEAD + 8), 7559); /* 192 dots per inch */
    picture_clear(&p);
}

static void what_is_no_drawing_is_refused(void **state)
{
    workshop *w = *state;
    assert_int_equal(draw(w, "<svg"), CW_UNSUPPORTED);
    assert_non_null(strstr(cw_context_error(w->l.ctx), "/drawing.svg: "));
    assert_int_equal(draw(w, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), CW_UNSUPPORTED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)
    const struct CMUnitTest tests[] = {
        TEST(a_drawing_has_300_dots_per_inch_on_white),
        TEST(text_is_drawn),
        TEST(large_drawings_get_fewer_dots),
        TEST(what_is_no_drawing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

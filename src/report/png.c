/*
 * png.c - SVG files drawn as PNG files by librsvg and Cairo.
 *
 * Their headers are needed to build this file; the libraries are opened when a report is made, so
 * that neither the library nor a program linked with it depends on them.
 */
#include "report/png.h"

#ifdef CWI_HAS_RSVG

#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/pool.h"

static const double DOTS_PER_INCH = 300, PIXELS_PER_INCH = 96; /* a pixel of CSS */
static const double MAX_DOTS = 16000;                          /* Cairo ends at 32767 */

enum {
    PNG_HEAD = 8 + 25,  /* signature and first chunk */
    MAX_SVG = 64 << 20, /* bytes */
    MEMORY = 512 << 20  /* more than the libraries and a large figure take, stacks included */
};

/* What is called of the libraries, under the same names. */
#define CALLS(X)                                                                                   \
    X(rsvg_handle_new_from_data)                                                                   \
    X(rsvg_handle_get_intrinsic_dimensions)                                                        \
    X(rsvg_handle_render_document)                                                                 \
    X(g_object_unref)                                                                              \
    X(g_error_free)                                                                                \
    X(cairo_image_surface_create)                                                                  \
    X(cairo_surface_destroy)                                                                       \
    X(cairo_surface_write_to_png_stream)                                                           \
    X(cairo_create)                                                                                \
    X(cairo_destroy)                                                                               \
    X(cairo_set_source_rgb)                                                                        \
    X(cairo_paint)                                                                                 \
    X(cairo_status)                                                                                \
    X(cairo_status_to_string)

struct cwi_painter {
    void *library;
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
};

/* ---- the library ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t place;
} calls[] = {
#define X(name) {#name, offsetof(cwi_painter, name)},
    CALLS(X)
#undef X
};

enum { N_CALLS = sizeof calls / sizeof calls[0] };

/* ISO C has no cast from a pointer to an object to one to a function: the bytes are copied. */
static bool find_calls(cwi_painter *painter)
{
    for (size_t k = 0; k < N_CALLS; k++) {
        void *symbol = dlsym(painter->library, calls[k].name);
        if (!symbol) return false;
        memcpy((char *)painter + calls[k].place, &symbol, sizeof symbol);
    }
    return true;
}

cw_status cwi_painter_open(cw_context *ctx, cwi_painter **out)
{
    *out = NULL;
    /* GLib ends the program when it gets no memory or cannot start a thread. */
    if (!cwi_has_room(MEMORY) || !cwi_pool_can_start()) {
        cwi_log(ctx, CW_LOG_INFO,
                "PNG figures are left out: they need %d MiB of memory and a thread", MEMORY >> 20);
        return CW_OK;
    }
    cwi_painter *painter = cwi_alloc_zero(ctx, 1, sizeof *painter);
    if (!painter) return CW_NO_MEMORY;
    /* By name, so that the system's search finds it as it finds the libraries linked: our binaries
     * have no search path of their own (tools/check-rpath), which would come first.  GLib cannot be
     * unloaded: it stays until the process ends. */
    painter->library = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (painter->library && find_calls(painter)) {
        *out = painter;
        return CW_OK;
    }
    cwi_log(ctx, CW_LOG_INFO,
            "PNG figures are left out: the library librsvg-2.so.2 is not installed or too old");
    cwi_painter_close(painter);
    return CW_OK;
}

void cwi_painter_close(cwi_painter *painter)
{
    if (painter && painter->library) dlclose(painter->library);
    cwi_free(painter);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What Cairo writes, on its way to the file. */
typedef struct sink {
    cwi_writer *out;
    size_t passed;
    double scale;
} sink;

static void put_big_endian(unsigned char *at, uint32_t value)
{
    for (int k = 0; k < 4; k++) at[k] = (unsigned char)(value >> (24 - 8 * k));
}

/* The chunk that says how large a dot is on paper, which Cairo leaves out. */
static void put_resolution(const sink *s)
{
    unsigned char chunk[21] = {0, 0, 0, 9, 'p', 'H', 'Y', 's'};
    uint32_t per_metre = (uint32_t)lround(s->scale * PIXELS_PER_INCH / 0.0254);
    put_big_endian(chunk + 8, per_metre);
    put_big_endian(chunk + 12, per_metre);
    chunk[16] = 1; /* the unit is the metre */
    put_big_endian(chunk + 17, (uint32_t)crc32(0, chunk + 4, 13));
    cwi_writer_put(s->out, chunk, sizeof chunk);
}

static cairo_status_t put_bytes(void *closure, const unsigned char *bytes, unsigned length)
{
    sink *s = closure;
    size_t head = s->passed < PNG_HEAD ? PNG_HEAD - s->passed : 0;
    if (head > length) head = length;
    cwi_writer_put(s->out, bytes, head);
    if (head > 0 && s->passed + head == PNG_HEAD) put_resolution(s);
    cwi_writer_put(s->out, bytes + head, length - head);
    s->passed += length;
    return CAIRO_STATUS_SUCCESS; /* the writer keeps a failure for its close */
}

static cw_status write_surface(cw_context *ctx, const cwi_painter *p, cairo_surface_t *surface,
                               double scale, const char *path)
{
    sink s = {.scale = scale};
    CW_PASS(cwi_writer_open(ctx, path, &s.out));
    cw_status status = CW_OK;
    cairo_status_t drawn = p->cairo_surface_write_to_png_stream(surface, put_bytes, &s);
    if (drawn == CAIRO_STATUS_NO_MEMORY)
        status = cwi_no_memory(ctx);
    else if (drawn != CAIRO_STATUS_SUCCESS)
        status = cwi_fail(ctx, CW_UNSUPPORTED, "cannot write %s: %s", path,
                          p->cairo_status_to_string(drawn));
    return cwi_writer_end(ctx, s.out, status);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static cw_status bad_drawing(cw_context *ctx, const cwi_painter *p, const char *path, GError *error)
{
    cw_status status = cwi_fail(ctx, CW_UNSUPPORTED, "cannot draw %s: %s", path,
                                error ? error->message : "no reason given");
    if (error) p->g_error_free(error);
    return status;
}

static cw_status draw(cw_context *ctx, const cwi_painter *p, RsvgHandle *drawing,
                      const char *svg_path, const char *png_path)
{
    gboolean has_width, has_height, has_box;
    RsvgLength width, height;
    RsvgRectangle box;
    GError *error = NULL;
    cw_status status = CW_OK;

    /* svg.c writes sizes in pixels, and the same into the view box */
    p->rsvg_handle_get_intrinsic_dimensions(drawing, &has_width, &width, &has_height, &height,
                                            &has_box, &box);
    if (!has_box) return bad_drawing(ctx, p, svg_path, NULL);
    double scale = fmin(DOTS_PER_INCH / PIXELS_PER_INCH, MAX_DOTS / fmax(box.width, box.height));
    const RsvgRectangle paper = {0, 0, round(box.width * scale), round(box.height * scale)};
    cairo_surface_t *surface =
        p->cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)paper.width, (int)paper.height);
    cairo_t *pen = p->cairo_create(surface);
    p->cairo_set_source_rgb(pen, 1, 1, 1);
    p->cairo_paint(pen);
    if (p->cairo_status(pen) != CAIRO_STATUS_SUCCESS)
        status = cwi_no_memory(ctx);
    else if (!p->rsvg_handle_render_document(drawing, pen, &paper, &error))
        status = bad_drawing(ctx, p, svg_path, error);
    p->cairo_destroy(pen);
    if (status == CW_OK) status = write_surface(ctx, p, surface, scale, png_path);
    p->cairo_surface_destroy(surface);
    return status;
}

cw_status cwi_painter_draw(cw_context *ctx, const cwi_painter *painter, const char *svg_path,
                           const char *png_path)
{
    char *bytes;
    size_t length;
    GError *error = NULL;
    RsvgHandle *drawing = NULL;
    cw_status status = cwi_file_read(ctx, svg_path, MAX_SVG, &bytes, &length);
    if (status == CW_OK)
        drawing = painter->rsvg_handle_new_from_data((const guint8 *)bytes, length, &error);
    if (status == CW_OK && !drawing) status = bad_drawing(ctx, painter, svg_path, error);
    if (status == CW_OK) status = draw(ctx, painter, drawing, svg_path, png_path);
    if (drawing) painter->g_object_unref(drawing);
    cwi_free(bytes);
    return status;
}

#else

cw_status cwi_painter_open(cw_context *ctx, cwi_painter **out)
{
    *out = NULL;
    cwi_log(ctx, CW_LOG_INFO, "PNG figures are left out: crosswise was built without librsvg");
    return CW_OK;
}

cw_status cwi_painter_draw(cw_context *ctx, const cwi_painter *painter, const char *svg_path,
                           const char *png_path)
{
    (void)painter, (void)svg_path, (void)png_path;
    return cwi_fail(ctx, CW_UNSUPPORTED, "crosswise was built without librsvg");
}

void cwi_painter_close(cwi_painter *painter)
{
    (void)painter;
}

#endif

/* fuzz_arrow.c - Arrow arrays with any numbers in them: nothing is read outside the buffers. */
#include <stdlib.h>
#include <string.h>

#include "fuzzing.h"
#include "import/arrow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 4, TEXT = 16, CASES = 12 };

/* What the consumer cannot know is right, for the interface does not say how long a buffer is:
 * offsets of text end within TEXT.  Everything else comes from the bytes. */
typedef struct table {
    uint8_t bits[1], values[2][(ROWS + 1) * 16];
    char text[TEXT];
    int64_t sizes[1];
    const void *buffers[2][4];
    struct ArrowSchema schema[2], *schemas[2], words_schema;
    struct ArrowArray array[2], *arrays[2], words;
    const void *word_buffers[3];
    int32_t word_offsets[3];
    int64_t rows, offset;
    bool is_given;
} table;

static const char *const formats[CASES] = {"c", "S", "i", "L",  "f",    "g",
                                           "b", "u", "U", "vu", "tsm:", "tdD"};

static void release_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    table *t = stream->private_data;
    *out = (struct ArrowSchema){
        .format = "+s", .n_children = 2, .children = t->schemas, .release = release_schema};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    table *t = stream->private_data;
    *out = (struct ArrowArray){0};
    if (t->is_given) return 0;
    t->is_given = true;
    *out = (struct ArrowArray){.length = t->rows,
                               .offset = t->offset,
                               .n_buffers = 1,
                               .n_children = 2,
                               .children = t->arrays,
                               .release = release_array};
    return 0;
}

/* Offsets of text within the buffer, though in any order. */
static void tame(int width, uint8_t *values)
{
    for (int k = 0; k <= ROWS; k++) {
        int64_t offset;
        int32_t small;
        memcpy(&offset, values + k * 8, 8);
        memcpy(&small, values + k * 4, 4);
        offset = offset % (TEXT + 1);
        small = small % (TEXT + 1);
        if (width == 8) memcpy(values + k * 8, &offset, 8);
        if (width == 4) memcpy(values + k * 4, &small, 4);
    }
}

static void make_column(table *t, int c, uint8_t kind, uint8_t how)
{
    const char *format = formats[kind % CASES];
    cwi_arrow_type type = cwi_arrow_type_of(format);
    if (type.kind == CWI_ARROW_TEXT) tame(type.bytes, t->values[c]);
    t->buffers[c][0] = how & 1 ? t->bits : NULL;
    t->buffers[c][1] = t->values[c];
    t->buffers[c][2] = t->text;
    t->buffers[c][3] = t->sizes;
    t->schema[c] = (struct ArrowSchema){.format = format, .name = c ? "item" : "user"};
    t->array[c] = (struct ArrowArray){.length = how & 2 ? ROWS : (int8_t)how / 32,
                                      .null_count = how & 1 ? -1 : how >> 7,
                                      .n_buffers = type.kind == CWI_ARROW_VIEW   ? 4
                                                   : type.kind == CWI_ARROW_TEXT ? 3
                                                                                 : 2 + (how == 99),
                                      .buffers = t->buffers[c],
                                      .release = release_array};
    if (how & 4) {
        t->schema[c].dictionary = &t->words_schema;
        t->array[c].dictionary = how & 8 ? &t->words : NULL;
    }
    t->schemas[c] = &t->schema[c];
    t->arrays[c] = &t->array[c];
}

static void make_words(table *t)
{
    t->word_offsets[1] = 3;
    t->word_offsets[2] = 9;
    t->word_buffers[1] = t->word_offsets;
    t->word_buffers[2] = t->text;
    t->words_schema = (struct ArrowSchema){.format = "u", .name = ""};
    t->words = (struct ArrowArray){
        .length = 2, .n_buffers = 3, .buffers = t->word_buffers, .release = release_array};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD = 7 };
    table t = {.text = "annbobevezoeyan", .sizes = {TEXT}};
    cw_interactions *rows = NULL;
    cw_context *ctx;

    if (size < HEAD || cw_context_create(&ctx) != CW_OK) return 0;
    size_t left = size - HEAD;
    t.bits[0] = data[0];
    memcpy(t.values, data + HEAD, left < sizeof t.values ? left : sizeof t.values);
    make_words(&t);
    make_column(&t, 0, data[1], data[2]);
    make_column(&t, 1, data[3], data[4]);
    t.rows = data[5] & 64 ? (int8_t)data[5] : data[5] % (ROWS + 1);
    t.offset = data[6] & 64 ? (int8_t)data[6] : 0;
    struct ArrowArrayStream stream = {get_schema, get_next, NULL, release_stream, &t};
    struct ArrowArrayStream *streams[] = {&stream};
    if (cw_import_arrow(ctx, streams, NULL, 1, NULL, &rows) == CW_OK &&
        cw_interactions_count(rows) < 1)
        abort();
    if (stream.release) abort();
    cw_interactions_free(rows);
    cw_context_free(ctx);
    return 0;
}

/* arrow_sample.h - Arrow streams made by hand, right or wrong. */
#ifndef ARROW_SAMPLE_H
#define ARROW_SAMPLE_H

#include <errno.h>

#include "import/arrow.h"
#include "testing.h"

enum { MOST_COLUMNS = 4, MOST_BATCHES = 4, MOST_BUFFERS = 5 };

/* A column as it is handed out; buffers are the test's. */
typedef struct sample_column {
    const char *name, *format;
    struct ArrowArray array[MOST_BATCHES];
    const void *buffers[MOST_BATCHES][MOST_BUFFERS];
    struct ArrowSchema word_schema;
    struct ArrowArray words;
    const void *word_buffers[MOST_BUFFERS];
} sample_column;

/* A table of some batches.  released counts what was given back, which must be all. */
typedef struct sample_stream {
    sample_column column[MOST_COLUMNS];
    int n_columns, n_batches, next;
    int64_t rows[MOST_BATCHES], offset[MOST_BATCHES];
    struct ArrowSchema schema[MOST_COLUMNS], *schemas[MOST_COLUMNS];
    struct ArrowArray *arrays[MOST_BATCHES][MOST_COLUMNS];
    const char *root_format;       /* NULL: a table */
    int fails_schema, fails_batch; /* the number of errno, and of the batch, from 1 */
    int given, released;
    struct ArrowArrayStream stream;
} sample_stream;

static inline void sample_release_schema(struct ArrowSchema *schema)
{
    ((sample_stream *)schema->private_data)->released++;
    schema->release = NULL;
}

static inline void sample_release_array(struct ArrowArray *array)
{
    ((sample_stream *)array->private_data)->released++;
    array->release = NULL;
}

static inline void sample_release_child(struct ArrowArray *array)
{
    array->release = NULL;
}

static inline void sample_release_stream(struct ArrowArrayStream *stream)
{
    ((sample_stream *)stream->private_data)->released++;
    stream->release = NULL;
}

static inline int sample_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    sample_stream *s = stream->private_data;
    if (s->fails_schema) return s->fails_schema;
    for (int c = 0; c < s->n_columns; c++) {
        sample_column *column = &s->column[c];
        s->schema[c] = (struct ArrowSchema){
            .format = column->format,
            .name = column->name,
            .dictionary = column->word_schema.format ? &column->word_schema : NULL};
        s->schemas[c] = &s->schema[c];
    }
    *out = (struct ArrowSchema){.format = s->root_format ? s->root_format : "+s",
                                .name = "",
                                .n_children = s->n_columns,
                                .children = s->schemas,
                                .release = sample_release_schema,
                                .private_data = s};
    s->given++;
    return 0;
}

static inline int sample_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    sample_stream *s = stream->private_data;
    int b = s->next++;
    *out = (struct ArrowArray){0};
    if (s->fails_batch == s->next) return EIO;
    if (b >= s->n_batches) return 0;
    for (int c = 0; c < s->n_columns; c++) {
        sample_column *column = &s->column[c];
        column->array[b].buffers = column->buffers[b];
        column->array[b].release = sample_release_child;
        if (column->words.n_buffers) {
            column->words.buffers = column->word_buffers;
            column->words.release = sample_release_child;
            column->array[b].dictionary = &column->words;
        }
        s->arrays[b][c] = &column->array[b];
    }
    *out = (struct ArrowArray){.length = s->rows[b],
                               .offset = s->offset[b],
                               .n_buffers = 1,
                               .n_children = s->n_columns,
                               .children = s->arrays[b],
                               .release = sample_release_array,
                               .private_data = s};
    s->given++;
    return 0;
}

static inline const char *sample_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the server hung up";
}

/* To be filled with columns and batches; open it when all is there. */
static inline struct ArrowArrayStream *sample_open(sample_stream *s)
{
    s->stream = (struct ArrowArrayStream){.get_schema = sample_get_schema,
                                          .get_next = sample_get_next,
                                          .get_last_error = sample_last_error,
                                          .release = sample_release_stream,
                                          .private_data = s};
    s->given++;
    return &s->stream;
}

/* Column c of a batch: values and, for text, its bytes. */
static inline void sample_fill(sample_stream *s, int c, int batch, const char *name,
                               const char *format, int64_t rows, const void *values,
                               const char *text)
{
    sample_column *column = &s->column[c];
    column->name = name;
    column->format = format;
    column->array[batch] = (struct ArrowArray){.length = rows, .n_buffers = text ? 3 : 2};
    column->buffers[batch][1] = values;
    column->buffers[batch][2] = text;
    if (c >= s->n_columns) s->n_columns = c + 1;
    if (batch >= s->n_batches) s->n_batches = batch + 1;
    s->rows[batch] = rows;
}

static inline void sample_nulls(sample_stream *s, int c, int batch, const uint8_t *bits, int64_t n)
{
    s->column[c].buffers[batch][0] = bits;
    s->column[c].array[batch].null_count = n;
}

/* Make column c one of words of a dictionary, n of them. */
static inline void sample_words(sample_stream *s, int c, const char *format, int64_t n,
                                const void *values, const char *text)
{
    sample_column *column = &s->column[c];
    column->word_schema = (struct ArrowSchema){.format = format, .name = ""};
    column->words = (struct ArrowArray){.length = n, .n_buffers = text ? 3 : 2};
    column->word_buffers[1] = values;
    column->word_buffers[2] = text;
}

#endif

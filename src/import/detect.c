/* detect.c - tell the raw formats apart by their first lines. */
#include <string.h>

#include "import/fields.h"
#include "import/import.h"
#include "import/kinds.h"

#define POINTER(id) &cwi_reader_##id,
static const cwi_reader *const readers[] = {CWI_READERS(POINTER)};

enum { N_READERS = sizeof readers / sizeof readers[0] };

/* The lines of text that are not empty.  The last one may be cut off and is then left out, unless
 * it is the only one. */
static void take_sample(const char *text, size_t length, cwi_sample *out)
{
    const char *end = text + length;

    out->count = 0;
    while (text < end && out->count < CWI_SAMPLE_LINES) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        bool is_cut = !newline && length == CWI_PEEK_BYTES;
        size_t size = (size_t)(stop - text);
        if (size > 0 && text[size - 1] == '\r') size--;
        if (size > 0 && !(is_cut && out->count > 0))
            out->line[out->count++] = (cwi_text){text, size};
        text = newline ? newline + 1 : end;
    }
}

/* Text in any encoding has hardly any control bytes; compressed or compiled data has a tenth. */
static bool is_binary(const char *text, size_t length)
{
    size_t strange = 0;
    for (size_t at = 0; at < length; at++) {
        unsigned char byte = (unsigned char)text[at];
        strange += byte < 32 && !(byte >= '\t' && byte <= '\r');
    }
    return strange * 50 > length;
}

static const cwi_reader *find_reader(const char *name)
{
    for (size_t r = 0; r < N_READERS; r++)
        if (strcmp(readers[r]->name, name) == 0) return readers[r];
    return NULL;
}

/* True when an option was given that has a meaning for columns only. */
static bool asks_for_columns(const cwi_settings *settings)
{
    return settings->columns[0] || settings->delimiter != CWI_DELIMITER_AUTO ||
           settings->header != CWI_HEADER_AUTO;
}

static const cwi_reader *recognise(const cwi_import *import, const cwi_sample *sample,
                                   cwi_layout *layout)
{
    cwi_delimiter asked = import->settings.delimiter;
    for (size_t r = 0; r + 1 < N_READERS; r++) {
        bool is_fixed = readers[r]->read && !readers[r]->arrange;
        if (is_fixed && asks_for_columns(&import->settings)) continue;
        if (readers[r]->delimiter && asked && asked != readers[r]->delimiter) continue;
        if (readers[r]->recognise(import, sample, layout)) return readers[r];
    }
    return readers[N_READERS - 1];
}

cw_status cwi_detect(cwi_import *import, cwi_source *source, const cwi_reader **reader,
                     cwi_layout *layout)
{
    const char *text, *format = import->settings.format;
    size_t length;
    cwi_sample sample;

    *reader = NULL;
    import->dates = import->settings.dates;
    import->has_comma = false;
    *layout = (cwi_layout){.column = {-1, -1, -1, -1}, .n_columns = 1};
    CW_PASS(cwi_source_peek(import->ctx, source, &text, &length));
    CW_PASS(cwi_kinds_refuse(import->ctx, source, text, length));
    if (is_binary(text, length))
        return cwi_fail(import->ctx, CW_BAD_DATA, "%s: this is not text", cwi_source_name(source));
    take_sample(text, length, &sample);
    if (sample.count == 0) return CW_OK;
    *reader =
        strcmp(format, "auto") == 0 ? recognise(import, &sample, layout) : find_reader(format);
    if ((*reader)->arrange) return (*reader)->arrange(import, source, &sample, layout);
    if (!(*reader)->read) return cwi_delimited_arrange(import, source, *reader, &sample, layout);
    if (import->settings.columns[0])
        return cwi_fail(import->ctx, CW_BAD_ARG, "--columns has no meaning for --format %s",
                        format);
    return CW_OK;
}

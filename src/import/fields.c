/* fields.c - delimiters and RFC 4180 quotes. */
#include "import/fields.h"

#include <string.h>

#include "core/mem.h"

/* Limits that keep one stray quote from swallowing a whole file: two ids of the greatest length
 * fit, and so do this many quoted fields with line ends in them. */
enum { MAX_RECORD_BYTES = 4 << 20, MAX_EXTENSIONS = 64 };

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

cwi_text cwi_trim(cwi_text text)
{
    while (text.length > 0 && is_blank(text.at[0])) text.at++, text.length--;
    while (text.length > 0 && is_blank(text.at[text.length - 1])) text.length--;
    return text;
}

static char delimiter_byte(cwi_delimiter delimiter)
{
    switch (delimiter) {
    case CWI_DELIMITER_TAB: return '\t';
    case CWI_DELIMITER_SEMICOLON: return ';';
    case CWI_DELIMITER_PIPE: return '|';
    default: return ',';
    }
}

static size_t split_byte(char delimiter, cwi_text line, cwi_text *field, size_t n)
{
    const char *at = line.at, *end = line.at + line.length;
    for (size_t f = 0; f < n; f++) {
        const char *start = at;
        while (at < end && *at != delimiter) at++;
        field[f] = (cwi_text){start, (size_t)(at - start)};
        if (at == end) return f + 1;
        at++;
    }
    return n;
}

static size_t split_colons(cwi_text line, cwi_text *field, size_t n)
{
    const char *at = line.at, *end = line.at + line.length;
    for (size_t f = 0; f < n; f++) {
        const char *start = at;
        while (at < end && !(*at == ':' && at + 1 < end && at[1] == ':')) at++;
        field[f] = (cwi_text){start, (size_t)(at - start)};
        if (at == end) return f + 1;
        at += 2;
    }
    return n;
}

static size_t split_blank(cwi_text line, cwi_text *field, size_t n)
{
    const char *at = line.at, *end = line.at + line.length;
    for (size_t f = 0; f < n; f++) {
        while (at < end && is_blank(*at)) at++;
        if (at == end) return f;
        const char *start = at;
        while (at < end && !is_blank(*at)) at++;
        field[f] = (cwi_text){start, (size_t)(at - start)};
    }
    return n;
}

size_t cwi_split(cwi_delimiter delimiter, cwi_text line, cwi_text *field, size_t n)
{
    if (delimiter == CWI_DELIMITER_BLANK) return split_blank(line, field, n);
    if (delimiter == CWI_DELIMITER_COLONS) return split_colons(line, field, n);
    return split_byte(delimiter_byte(delimiter), line, field, n);
}

size_t cwi_split_roughly(const cwi_layout *layout, cwi_text line, cwi_text *field, size_t n)
{
    const char *at = line.at, *end = line.at + line.length;
    char delimiter = delimiter_byte(layout->delimiter);
    size_t count = 0;

    if (!layout->has_quotes) return cwi_split(layout->delimiter, line, field, n);
    while (count < n) {
        const char *start = at;
        bool is_inside = false;
        for (; at < end && (is_inside || *at != delimiter); at++)
            if (*at == '"') is_inside = !is_inside;
        cwi_text *cut = &field[count++];
        *cut = (cwi_text){start, (size_t)(at - start)};
        if (cut->length >= 2 && start[0] == '"' && at[-1] == '"')
            *cut = (cwi_text){start + 1, cut->length - 2};
        if (at == end) break;
        at++;
    }
    return count;
}

typedef enum quoted { QUOTED_WHOLE, QUOTED_OPEN, QUOTED_BAD } quoted;

/* The field that begins with the quote at *at, without its quotes; *at moves behind it.  Text with
 * doubled quotes is written to *scratch, which moves on. */
static quoted cut_quoted(const char **at, const char *end, char **scratch, cwi_text *out)
{
    const char *start = *at + 1, *from = start, *quote;
    char *copy = *scratch;

    for (;;) {
        quote = memchr(from, '"', (size_t)(end - from));
        if (!quote) return QUOTED_OPEN;
        if (quote + 1 == end || quote[1] != '"') break;
        memcpy(*scratch, from, (size_t)(quote + 1 - from)); /* one of the two quotes */
        *scratch += quote + 1 - from;
        from = quote + 2;
    }
    *at = quote + 1;
    *out = (cwi_text){start, (size_t)(quote - start)};
    if (from == start) return QUOTED_WHOLE;
    memcpy(*scratch, from, (size_t)(quote - from));
    *scratch += quote - from;
    *out = (cwi_text){copy, (size_t)(*scratch - copy)};
    return QUOTED_WHOLE;
}

/* cwi_split for a line with quotes.  scratch has room for line.length bytes. */
static quoted split_quoted(char delimiter, cwi_text line, cwi_records *records, size_t *count)
{
    const char *at = line.at, *end = line.at + line.length;
    char *scratch = records->scratch;

    for (*count = 0; *count < records->layout->n_columns;) {
        cwi_text *field = &records->field[*count];
        if (at < end && *at == '"') {
            quoted found = cut_quoted(&at, end, &scratch, field);
            if (found != QUOTED_WHOLE) return found;
            if (at < end && *at != delimiter) return QUOTED_BAD;
        } else {
            const char *start = at;
            while (at < end && *at != delimiter) at++;
            *field = (cwi_text){start, (size_t)(at - start)};
        }
        (*count)++;
        if (at == end) break;
        at++;
    }
    return QUOTED_WHOLE;
}

static bool has_odd_quotes(const char *text, size_t length)
{
    bool odd = false;
    const char *end = text + length;
    while ((text = memchr(text, '"', (size_t)(end - text)))) {
        odd = !odd;
        text++;
    }
    return odd;
}

/* Append lines until one may close the open quote; *line->at is NULL when there is none. */
static cw_status extend(cw_context *ctx, cwi_source *source, cwi_text *line)
{
    bool may_close = false;
    while (!may_close) {
        size_t before = line->length;
        CW_PASS(cwi_source_extend(ctx, source, &line->at, &line->length));
        if (line->at && line->length > MAX_RECORD_BYTES) line->at = NULL;
        if (!line->at) return CW_OK;
        may_close = has_odd_quotes(line->at + before, line->length - before);
    }
    return CW_OK;
}

static cw_status next_quoted(cw_context *ctx, cwi_records *records, cwi_source *source,
                             cwi_text line, size_t *count, const char **wrong)
{
    char delimiter = delimiter_byte(records->layout->delimiter);
    quoted found = QUOTED_OPEN;

    for (int tries = 0; tries < MAX_EXTENSIONS && found == QUOTED_OPEN; tries++) {
        if (tries > 0) CW_PASS(extend(ctx, source, &line));
        if (!line.at) break;
        CW_PASS(cwi_grow(ctx, &records->scratch, &records->scratch_bytes, line.length, 1));
        found = split_quoted(delimiter, line, records, count);
    }
    if (found == QUOTED_WHOLE) return CW_OK;
    *wrong = found == QUOTED_OPEN ? "a quote is opened and never closed"
                                  : "there is text behind a closing quote";
    *count = 1;
    cwi_source_shrink(source);
    return CW_OK;
}

cw_status cwi_records_init(cw_context *ctx, const cwi_layout *layout, cwi_records *out)
{
    *out = (cwi_records){.layout = layout};
    out->field = cwi_alloc(ctx, layout->n_columns, sizeof *out->field);
    return out->field ? CW_OK : CW_NO_MEMORY;
}

void cwi_records_clear(cwi_records *records)
{
    cwi_free(records->field);
    cwi_free(records->scratch);
    *records = (cwi_records){0};
}

cw_status cwi_records_next(cw_context *ctx, cwi_records *records, cwi_source *source, size_t *count,
                           const char **wrong)
{
    const cwi_layout *layout = records->layout;
    cwi_text line;

    *count = 0;
    *wrong = NULL;
    while (*count == 0) { /* an empty line has no fields */
        cw_status status = cwi_source_line(ctx, source, &line.at, &line.length);
        if (status != CW_OK || !line.at) return status;
        if (line.length == 0) continue;
        if (layout->has_quotes && memchr(line.at, '"', line.length))
            return next_quoted(ctx, records, source, line, count, wrong);
        *count = cwi_split(layout->delimiter, line, records->field, layout->n_columns);
    }
    return CW_OK;
}

static cw_status read_header(cw_context *ctx, cwi_records *records, cwi_source *source,
                             const char *header)
{
    size_t count;
    const char *wrong, *at = header;
    bool same = true;
    CW_PASS(cwi_records_next(ctx, records, source, &count, &wrong));
    if (count == 0) return cwi_fail(ctx, CW_BAD_DATA, "%s is empty", cwi_source_name(source));
    for (size_t c = 0; c < count && !wrong; c++) {
        cwi_text field = records->field[c];
        size_t length = strcspn(at, ",");
        same = same && field.length == length && memcmp(field.at, at, length) == 0;
        at += length + (at[length] == ',');
    }
    if (same && !wrong && *at == '\0') return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA, "expected the header %s", header);
}

cw_status cwi_records_pairs(cw_context *ctx, cwi_source *source, const char *header,
                            const char *expected, cwi_pair_fn take, void *user)
{
    static const cwi_layout layout = {
        .delimiter = CWI_DELIMITER_COMMA, .has_quotes = true, .n_columns = 2};
    cw_status status;
    size_t count;
    const char *wrong;
    cwi_records records = {0};

    CW_TRY(cwi_records_init(ctx, &layout, &records));
    CW_TRY(read_header(ctx, &records, source, header));
    for (;;) {
        CW_TRY(cwi_records_next(ctx, &records, source, &count, &wrong));
        if (count == 0) break;
        if (wrong || count != 2)
            CW_TRY(wrong ? cwi_source_fail(ctx, source, CW_BAD_DATA, "%s", wrong)
                         : cwi_source_fail(ctx, source, CW_BAD_DATA, "expected %s", expected));
        CW_TRY(take(user, ctx, source, records.field[0], records.field[1]));
    }
done:
    cwi_records_clear(&records);
    return status;
}

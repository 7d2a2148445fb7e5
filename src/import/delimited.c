/* delimited.c - text in columns: csv and its relatives, RecBole .inter, MovieLens ratings.dat. */
#include <string.h>

#include "core/text.h"
#include "import/fields.h"
#include "import/import.h"

enum { COUNTED = 64 }; /* fields that are told apart when guessing */

static bool may_have_quotes(cwi_delimiter delimiter)
{
    return delimiter != CWI_DELIMITER_COLONS && delimiter != CWI_DELIMITER_BLANK;
}

/* How many sampled lines this delimiter cuts into the same number of fields, two or more: the
 * most frequent number counts, so that a few malformed lines do no harm. */
static size_t count_agreeing(cwi_delimiter delimiter, const cwi_sample *sample, size_t *n_fields)
{
    const cwi_layout layout = {.delimiter = delimiter, .has_quotes = may_have_quotes(delimiter)};
    cwi_text field[COUNTED];
    size_t lines[COUNTED + 1] = {0}, best = 2;

    for (size_t s = 0; s < sample->count; s++)
        lines[cwi_split_roughly(&layout, sample->line[s], field, COUNTED)]++;
    for (size_t n = 2; n <= COUNTED; n++)
        if (lines[n] >= lines[best]) best = n;
    *n_fields = best;
    return lines[best];
}

/* Lists of words are often written a|b|c within a column: between columns, a pipe comes before any
 * other delimiter, such as the comma of a decimal. */
static bool has_pipe_first(const cwi_sample *sample)
{
    const char *line = sample->line[0].at, *end = line + sample->line[0].length;
    while (line < end && !strchr("|,;\t", *line)) line++;
    return line < end && *line == '|';
}

/* The delimiter that most lines agree on; of several, the one that gives most fields.  Blanks win
 * only when more lines agree on them than on any other, since text may hold blanks. */
static cwi_delimiter guess_delimiter(const cwi_sample *sample)
{
    static const cwi_delimiter candidates[] = {CWI_DELIMITER_COLONS, CWI_DELIMITER_TAB,
                                               CWI_DELIMITER_COMMA, CWI_DELIMITER_SEMICOLON};
    cwi_delimiter best = CWI_DELIMITER_BLANK;
    size_t most_lines = 0, most_fields = 0, n_fields;

    for (size_t c = 0; c < sizeof candidates / sizeof candidates[0]; c++) {
        size_t n_lines = count_agreeing(candidates[c], sample, &n_fields);
        if (n_lines > most_lines ||
            (n_lines > 0 && n_lines == most_lines && n_fields > most_fields)) {
            best = candidates[c];
            most_lines = n_lines;
            most_fields = n_fields;
        }
    }
    size_t n_pipes = count_agreeing(CWI_DELIMITER_PIPE, sample, &n_fields);
    if (n_pipes > most_lines || (n_pipes == most_lines && has_pipe_first(sample))) {
        best = CWI_DELIMITER_PIPE;
        most_lines = n_pipes;
    }
    if (count_agreeing(CWI_DELIMITER_BLANK, sample, &n_fields) > most_lines)
        return CWI_DELIMITER_BLANK;
    return best;
}

cw_status cwi_delimited_arrange(cwi_import *import, const cwi_source *source,
                                const cwi_reader *reader, const cwi_sample *sample,
                                cwi_layout *layout)
{
    layout->delimiter = reader->delimiter ? reader->delimiter : import->settings.delimiter;
    if (layout->delimiter == CWI_DELIMITER_AUTO) layout->delimiter = guess_delimiter(sample);
    layout->has_quotes = !reader->delimiter && may_have_quotes(layout->delimiter);
    layout->has_types = reader->has_types;
    return cwi_columns_choose(import, source, sample, layout);
}

cw_status cwi_delimited_read(cwi_import *import, cwi_source *source, const cwi_layout *layout)
{
    cwi_records records = {0};
    cwi_row row;
    size_t count;
    const char *wrong;
    bool is_header = layout->has_header;
    cw_status status;

    CW_TRY(cwi_import_begin(import, source, layout->column[CWI_ROLE_RATING] >= 0,
                            layout->column[CWI_ROLE_TIME] >= 0));
    CW_TRY(cwi_records_init(import->ctx, layout, &records));
    for (;;) {
        CW_TRY(cwi_records_next(import->ctx, &records, source, &count, &wrong));
        if (count == 0) break;
        if (is_header) {
            is_header = false;
        } else if (wrong) {
            CW_TRY(cwi_import_bad(import, source, "%s", wrong));
        } else if (count < layout->n_columns) {
            CW_TRY(cwi_import_bad(import, source, "the line has %zu column%s; %zu are needed",
                                  count, count == 1 ? "" : "s", layout->n_columns));
        } else {
            for (int role = 0; role < CWI_N_ROLES; role++)
                row.field[role] = layout->column[role] < 0 ? (cwi_text){NULL, 0}
                                                           : records.field[layout->column[role]];
            CW_TRY(cwi_import_row(import, source, &row));
        }
    }
done:
    cwi_records_clear(&records);
    return status;
}

/* Every column is called "name:type" with a type that RecBole knows. */
static bool recognise_inter(const cwi_import *import, const cwi_sample *sample, cwi_layout *layout)
{
    cwi_text field[COUNTED];
    char type[16];

    (void)import;
    (void)layout;
    size_t count = cwi_split(CWI_DELIMITER_TAB, sample->line[0], field, COUNTED);
    for (size_t f = 0; f < count; f++) {
        const char *colon = memrchr(field[f].at, ':', field[f].length);
        size_t length = colon ? (size_t)(field[f].at + field[f].length - colon) - 1 : 0;
        if (!colon || length >= sizeof type) return false;
        memcpy(type, colon + 1, length);
        type[length] = '\0';
        if (cwi_word_index("token|token_seq|float|float_seq", type) < 0) return false;
    }
    return true;
}

/* user::item::rating, with or without ::timestamp. */
static bool recognise_movielens(const cwi_import *import, const cwi_sample *sample,
                                cwi_layout *layout)
{
    cwi_text field[5];
    double rating;

    (void)import;
    (void)layout;
    size_t count = cwi_split(CWI_DELIMITER_COLONS, sample->line[0], field, 5);
    return (count == 3 || count == 4) && cwi_parse_real(field[2].at, field[2].length, &rating);
}

const cwi_reader cwi_reader_delimited = {.name = "delimited"};
const cwi_reader cwi_reader_inter = {.name = "inter",
                                     .recognise = recognise_inter,
                                     .delimiter = CWI_DELIMITER_TAB,
                                     .has_types = true};
const cwi_reader cwi_reader_movielens = {
    .name = "movielens", .recognise = recognise_movielens, .delimiter = CWI_DELIMITER_COLONS};

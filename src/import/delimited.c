/* delimited.c - text in columns: csv and its relatives, RecBole .inter, MovieLens ratings.dat. */
#include <string.h>

#include "core/text.h"
#include "import/fields.h"
#include "import/import.h"

static size_t count_fields(cwi_delimiter delimiter, cwi_text line)
{
    cwi_layout layout = {.delimiter = delimiter,
                         .has_quotes =
                             delimiter != CWI_DELIMITER_COLONS && delimiter != CWI_DELIMITER_BLANK};
    cwi_text field[64];
    return cwi_split_roughly(&layout, line, field, 64);
}

/* The delimiter that cuts most lines into the same number of fields; of several, the one that
 * gives most fields.  Blanks are for lines without any of the others. */
static cwi_delimiter guess_delimiter(const cwi_sample *sample)
{
    static const cwi_delimiter candidates[] = {CWI_DELIMITER_COLONS, CWI_DELIMITER_TAB,
                                               CWI_DELIMITER_COMMA, CWI_DELIMITER_SEMICOLON};
    cwi_delimiter best = CWI_DELIMITER_BLANK;
    size_t best_agree = 0, best_fields = 0;

    for (size_t c = 0; c < sizeof candidates / sizeof candidates[0]; c++) {
        size_t fields = count_fields(candidates[c], sample->line[sample->count / 2]), agree = 0;
        if (fields < 2) continue;
        for (size_t s = 0; s < sample->count; s++)
            agree += count_fields(candidates[c], sample->line[s]) == fields;
        if (agree > best_agree || (agree == best_agree && fields > best_fields)) {
            best = candidates[c];
            best_agree = agree;
            best_fields = fields;
        }
    }
    return best;
}

static cw_status arrange_delimited(cwi_import *import, const cwi_source *source,
                                   const cwi_sample *sample, cwi_layout *layout)
{
    layout->delimiter = import->settings.delimiter;
    if (layout->delimiter == CWI_DELIMITER_AUTO) layout->delimiter = guess_delimiter(sample);
    layout->has_quotes =
        layout->delimiter != CWI_DELIMITER_COLONS && layout->delimiter != CWI_DELIMITER_BLANK;
    return cwi_columns_choose(import, source, sample, layout);
}

static cw_status read_delimited(cwi_import *import, cwi_source *source, const cwi_layout *layout)
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

static bool recognise_delimited(const cwi_import *import, const cwi_sample *sample,
                                cwi_layout *layout)
{
    (void)import;
    (void)sample;
    (void)layout;
    return true;
}

/* Every column is called "name:type" with a type that RecBole knows. */
static bool recognise_inter(const cwi_import *import, const cwi_sample *sample, cwi_layout *layout)
{
    cwi_text field[64];
    char type[16];

    (void)layout;
    if (import->settings.delimiter != CWI_DELIMITER_AUTO &&
        import->settings.delimiter != CWI_DELIMITER_TAB)
        return false;
    size_t count = cwi_split(CWI_DELIMITER_TAB, sample->line[0], field, 64);
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

static cw_status arrange_inter(cwi_import *import, const cwi_source *source,
                               const cwi_sample *sample, cwi_layout *layout)
{
    layout->delimiter = CWI_DELIMITER_TAB;
    layout->has_types = true;
    return cwi_columns_choose(import, source, sample, layout);
}

/* user::item::rating, with or without ::timestamp. */
static bool recognise_movielens(const cwi_import *import, const cwi_sample *sample,
                                cwi_layout *layout)
{
    cwi_text field[5];
    double rating;

    (void)layout;
    if (import->settings.delimiter != CWI_DELIMITER_AUTO &&
        import->settings.delimiter != CWI_DELIMITER_COLONS)
        return false;
    size_t count = cwi_split(CWI_DELIMITER_COLONS, sample->line[0], field, 5);
    return (count == 3 || count == 4) && cwi_parse_real(field[2].at, field[2].length, &rating);
}

static cw_status arrange_movielens(cwi_import *import, const cwi_source *source,
                                   const cwi_sample *sample, cwi_layout *layout)
{
    layout->delimiter = CWI_DELIMITER_COLONS;
    return cwi_columns_choose(import, source, sample, layout);
}

const cwi_reader cwi_reader_delimited = {"delimited", recognise_delimited, arrange_delimited,
                                         read_delimited};
const cwi_reader cwi_reader_inter = {"inter", recognise_inter, arrange_inter, read_delimited};
const cwi_reader cwi_reader_movielens = {"movielens", recognise_movielens, arrange_movielens,
                                         read_delimited};

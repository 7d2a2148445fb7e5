/* adjacency.c - lists "user item item ...", one user a line, between blanks. */
#include <string.h>

#include "import/fields.h"
#include "import/import.h"

enum { MOST_COLUMNS = 4, COUNTED = 64 };

/* The number of fields that all sampled lines share, or 0 when they differ. */
static size_t common_count(cwi_delimiter delimiter, const cwi_sample *sample)
{
    cwi_text field[COUNTED];
    size_t common = cwi_split(delimiter, sample->line[0], field, COUNTED);
    for (size_t s = 1; s < sample->count; s++)
        if (cwi_split(delimiter, sample->line[s], field, COUNTED) != common) return 0;
    return common;
}

static bool has_other_delimiter(const cwi_sample *sample)
{
    for (size_t s = 0; s < sample->count; s++) {
        cwi_text line = sample->line[s];
        if (memchr(line.at, ',', line.length) || memchr(line.at, ';', line.length) ||
            memchr(line.at, '|', line.length) || memmem(line.at, line.length, "::", 2))
            return true;
    }
    return false;
}

/*
 * Lines of different lengths are lists, and so are long ones of the same length.  Up to four
 * fields on every line are taken for columns, unless an earlier file of the same import had
 * lists: then a line "user item item" of a test part is one, too.
 */
static bool recognise_adjacency(const cwi_import *import, const cwi_sample *sample,
                                cwi_layout *layout)
{
    if (has_other_delimiter(sample)) return false;
    if (common_count(CWI_DELIMITER_TAB, sample) > 1) return false; /* a table */
    size_t common = common_count(CWI_DELIMITER_BLANK, sample);
    if (common == 0 || common > MOST_COLUMNS) return true;
    layout->is_ambiguous = common > 2;
    return import->saw_adjacency;
}

static cw_status read_list(cwi_import *import, const cwi_source *source, cwi_text line)
{
    cwi_text field[COUNTED];
    cwi_row row = {0};
    size_t first = 1;

    import->saw_adjacency = true;
    for (;;) {
        size_t count = cwi_split(CWI_DELIMITER_BLANK, line, field, COUNTED);
        if (count > 0 && first == 1) row.field[CWI_ROLE_USER] = field[0];
        for (size_t f = first; f < count; f++) {
            row.field[CWI_ROLE_ITEM] = field[f];
            CW_PASS(cwi_import_row(import, source, &row));
        }
        if (count < COUNTED) return CW_OK;
        const char *behind = field[count - 1].at + field[count - 1].length;
        line.length -= (size_t)(behind - line.at);
        line.at = behind;
        first = 0;
    }
}

const cwi_reader cwi_reader_adjacency = {
    .name = "adjacency", .recognise = recognise_adjacency, .read = read_list};

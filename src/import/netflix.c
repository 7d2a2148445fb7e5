/* netflix.c - the Netflix Prize files: "MovieID:", then lines "CustomerID,Rating,Date". */
#include <string.h>

#include "core/mem.h"
#include "import/fields.h"
#include "import/import.h"

static bool is_movie_line(cwi_text line)
{
    return line.length > 1 && line.at[line.length - 1] == ':' && !memchr(line.at, ',', line.length);
}

static bool is_movie_number(cwi_text line)
{
    if (!is_movie_line(line)) return false;
    for (size_t at = 0; at + 1 < line.length; at++)
        if (line.at[at] < '0' || line.at[at] > '9') return false;
    return true;
}

/* At least one line "number:" among lines of three fields.  A movie line need not come first, so
 * that a rating without a movie is reported and not taken for a pair. */
static bool recognise_netflix(const cwi_import *import, const cwi_sample *sample,
                              cwi_layout *layout)
{
    cwi_text field[4];
    size_t movies = 0, ratings = 0;

    (void)import;
    (void)layout;
    for (size_t s = 0; s < sample->count; s++) {
        movies += is_movie_number(sample->line[s]);
        ratings += cwi_split(CWI_DELIMITER_COMMA, sample->line[s], field, 4) == 3;
    }
    return movies > 0 && (movies + ratings) * 10 >= sample->count * 9;
}

/* The line of the movie is gone by the time its ratings come. */
static cw_status set_movie(cwi_import *import, cwi_text line)
{
    CW_PASS(cwi_grow(import->ctx, &import->movie, &import->movie_capacity, line.length, 1));
    import->movie_length = line.length - 1;
    memcpy(import->movie, line.at, import->movie_length);
    return CW_OK;
}

static cw_status read_line(cwi_import *import, const cwi_source *source, cwi_text line)
{
    cwi_text field[4];

    if (is_movie_line(line)) return set_movie(import, line);
    size_t count = cwi_split(CWI_DELIMITER_COMMA, line, field, 4);
    if (count != 3)
        return cwi_import_bad(
            import, source, "neither 'MovieID:' nor 'CustomerID,Rating,Date' (%zu fields)", count);
    if (import->movie_length == 0)
        return cwi_import_bad(import, source, "a rating before the first line 'MovieID:'");
    cwi_row row = {{field[0], {import->movie, import->movie_length}, field[1], field[2]}};
    return cwi_import_row(import, source, &row);
}

const cwi_reader cwi_reader_netflix = {
    .name = "netflix", .recognise = recognise_netflix, .read = read_line, .is_rated = true};

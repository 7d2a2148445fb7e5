/* ifashion.c - Alibaba iFashion: "user,item;item;...,outfit"; the interaction is (user, outfit). */
#include <string.h>

#include "import/fields.h"
#include "import/import.h"

/* Three fields on nearly every line, with a list in the middle of half of them. */
static bool recognise_ifashion(const cwi_import *import, const cwi_sample *sample,
                               cwi_layout *layout)
{
    cwi_text field[4];
    size_t good = 0, lists = 0;

    (void)import;
    (void)layout;
    for (size_t s = 0; s < sample->count; s++) {
        if (cwi_split(CWI_DELIMITER_COMMA, sample->line[s], field, 4) != 3) continue;
        good++;
        lists += memchr(field[1].at, ';', field[1].length) != NULL;
    }
    return good * 10 >= sample->count * 9 && lists * 2 >= sample->count;
}

static cw_status read_line(cwi_import *import, const cwi_source *source, cwi_text line)
{
    cwi_text field[4];
    size_t count = cwi_split(CWI_DELIMITER_COMMA, line, field, 4);

    if (count != 3) return cwi_import_bad(import, source, "the line is not 'user,items,outfit'");
    cwi_row row = {{field[0], field[2], {NULL, 0}, {NULL, 0}}};
    return cwi_import_row(import, source, &row);
}

const cwi_reader cwi_reader_ifashion = {
    .name = "ifashion", .recognise = recognise_ifashion, .read = read_line};

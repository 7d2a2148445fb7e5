/* settings.c - the options of stage "import". */
#include <math.h>
#include <string.h>

#include "core/option_rows.h"
#include "import/import.h"

#define BAR(id) "|" #id

const cw_option_info cwi_import_options[] = {
    WORD("format", "auto", "auto" CWI_READERS(BAR),
         "what the files look like; auto decides for each one by its first lines"),
    WORD("delimiter", "auto", "auto|comma|tab|semicolon|colons|blank|pipe",
         "what lies between two columns; colons are ::, blank is any run of spaces and tabs, pipe "
         "is |"),
    WORD("header", "auto", "auto|yes|no", "whether the first line names the columns"),
    TEXT("columns", "",
         "where to find what, by number or name, such as user=1,item=2,rating=3,time=4"),
    WORD("dates", "auto", "auto|day-first|month-first",
         "how dates like 03/04/2024 are read; auto goes by those that can be read in one way only"),
    REAL("min-rating", "", -1e15, 1e15, "keep only interactions with at least this rating"),
    WHOLE("skip-bad", "0", 0, 0x1p53, "how many malformed lines to leave out before giving up"),
    WHOLE(
        "max-rows", "0", 0, 0x1p53,
        "give up when there are more rows than this, for input that is not trusted; 0 is no limit"),
    FLAG("keep-duplicates", "keep repeated interactions of the same user and item"),
    TEXT(
        "since", "",
        "of a database only rows whose column has at least this value: COLUMN=VALUE, or COLUMN for "
        "all; the last value is remembered, and update asks for what has come since"),
    WHOLE("after-rowid", "", 0, 0x1p53,
          "of a table of SQLite only rows behind this rowid; remembered the same way"),
    {0}};

cw_status cwi_settings_read(cw_context *ctx, const cw_options *options, cwi_settings *out)
{
    *out = (cwi_settings){.format = "auto", .columns = "", .since = ""};
    if (!options) return CW_OK;
    CW_PASS(cwi_options_check(ctx, options, "import"));
    out->format = cwi_options_text(options, "format");
    out->columns = cwi_options_text(options, "columns");
    out->delimiter = (cwi_delimiter)cwi_options_choice(options, "delimiter");
    out->header = (cwi_header)cwi_options_choice(options, "header");
    out->dates = (cwi_dates)cwi_options_choice(options, "dates");
    out->has_min_rating = cwi_options_is_set(options, "min-rating");
    out->min_rating = cwi_options_real(options, "min-rating");
    out->skip_bad = cwi_options_integer(options, "skip-bad");
    out->max_rows = cwi_options_integer(options, "max-rows");
    out->keep_duplicates = cwi_options_flag(options, "keep-duplicates");
    out->since = cwi_options_text(options, "since");
    out->has_after_rowid = cwi_options_is_set(options, "after-rowid");
    if (out->has_after_rowid) out->after_rowid = cwi_options_integer(options, "after-rowid");
    return CW_OK;
}

/* import.h - what the readers of the raw formats share while files are being read. */
#ifndef CWI_IMPORT_IMPORT_H
#define CWI_IMPORT_IMPORT_H

#include <jansson.h>

#include "import/interactions.h"
#include "import/ratings.h"
#include "import/source.h"

/* Some bytes of a line; at is NULL for "there is no such column". */
typedef struct cwi_text {
    const char *at;
    size_t length;
} cwi_text;

enum {
    CWI_MAX_COLUMNS = 4096,
    CWI_MAX_NAMES = 256, /* columns behind these can be chosen by number */
    CWI_SAMPLE_LINES = 200,
    CWI_N_ROLES = 4 /* user, item, rating, time */
};

typedef enum cwi_role { CWI_ROLE_USER, CWI_ROLE_ITEM, CWI_ROLE_RATING, CWI_ROLE_TIME } cwi_role;

/* In the order of the option's choices. */
typedef enum cwi_delimiter {
    CWI_DELIMITER_AUTO,
    CWI_DELIMITER_COMMA,
    CWI_DELIMITER_TAB,
    CWI_DELIMITER_SEMICOLON,
    CWI_DELIMITER_COLONS,
    CWI_DELIMITER_BLANK,
    CWI_DELIMITER_PIPE
} cwi_delimiter;

typedef enum cwi_header { CWI_HEADER_AUTO, CWI_HEADER_YES, CWI_HEADER_NO } cwi_header;

/* How 03/04/2024 is read.  In the order of the option's choices; two of them as bits of a set. */
typedef enum cwi_dates { CWI_DATES_AUTO, CWI_DATES_DAY_FIRST, CWI_DATES_MONTH_FIRST } cwi_dates;

/* The options of stage "import" as values. */
typedef struct cwi_settings {
    const char *format; /* borrowed from the options */
    const char *columns;
    cwi_delimiter delimiter;
    cwi_header header;
    cwi_dates dates;
    bool has_min_rating;
    double min_rating;
    int64_t skip_bad;
    int64_t max_rows; /* 0: any number */
    bool keep_duplicates;
    const char *since; /* of a database */
    bool has_after_rowid;
    int64_t after_rowid;
} cwi_settings;

/* Numbers in the files of a split folder and the raw ids they stand for (id2idx_*.csv). */
typedef struct cwi_translation {
    cwi_idmap raw;    /* the raw id of number k is entry k */
    const char *file; /* NULL: there is no such file, ids are raw already */
} cwi_translation;

/* How the columns of a file are to be read. */
typedef struct cwi_layout {
    cwi_delimiter delimiter;
    bool has_quotes; /* RFC 4180 quotes are understood */
    bool has_header;
    bool has_types;          /* RecBole: column names end in ":token", ":float", ... */
    bool is_ambiguous;       /* could as well be adjacency lists */
    int column[CWI_N_ROLES]; /* from 0; -1 for none */
    size_t n_columns;        /* columns a line must have */
} cwi_layout;

/* One file, or one folder of Netflix files, for the record of what was read. */
typedef struct cwi_entry {
    char *name;
    const char *format;
    int64_t lines, rows;
} cwi_entry;

/* The id that was added to a map last, when it is short. */
typedef struct cwi_recent {
    int32_t number;
    char id[24];
    size_t length; /* 0 for none */
} cwi_recent;

typedef struct cwi_import {
    cw_context *ctx;
    const cw_options *options; /* may be NULL */
    cwi_settings settings;
    cw_interactions *rows;
    size_t capacity; /* rows that the arrays have room for */
    uint8_t part;
    bool is_split;
    bool is_distinct;         /* no pair occurs twice: nobody has to look */
    bool has_time, lost_time; /* all files so far have times; some do not */
    bool saw_adjacency;
    int64_t n_files; /* begun */
    cwi_dates dates; /* of the file that is read */
    bool has_comma;  /* its ratings have decimal commas */
    const cwi_translation *user_names, *item_names;
    cwi_recent last_user, last_below; /* of the rows that are kept, and of those below */
    char *movie;                      /* of a Netflix file: whom the ratings that follow are for */
    size_t movie_length, movie_capacity;
    int64_t n_rows; /* seen so far, kept or not */
    int64_t lines, bad_lines, below, repeats, overlaps;
    char first_bad[512];
    cwi_ratings ratings;
    int64_t bad_ratings; /* that are no numbers: their lines are malformed */
    int64_t unrated;     /* rows with a cell for a rating and none in it */
    int64_t left_out;    /* those of them that --min-rating leaves out */
    int64_t bad_times;   /* that cannot be read, in malformed lines or not */
    char first_bad_time[512];
    char *key[CWI_N_ROLES]; /* of JSON lines; NULL for none */
    size_t key_length[CWI_N_ROLES];
    char *scratch; /* of a reader of lines */
    size_t scratch_bytes;
    const json_t *known; /* of databases, from the last time; borrowed, may be NULL */
    json_t *latest;      /* the same for the next time; NULL while there is none */
    char **ignored;      /* columns that have no role, as --columns would name them */
    size_t n_ignored, ignored_capacity;
    cwi_entry *entry;
    size_t n_entries, entry_capacity;
} cwi_import;

/* A line as a reader understands it. */
typedef struct cwi_row {
    cwi_text field[CWI_N_ROLES];
} cwi_row;

/* A row of a table in memory.  What is missing is NaN, or text of length 0. */
typedef struct cwi_cells {
    cwi_text user, item;
    bool has_rating, has_time; /* there is such a column */
    double rating, time;
} cwi_cells;

/* The first lines of a file. */
typedef struct cwi_sample {
    cwi_text line[CWI_SAMPLE_LINES]; /* without empty ones */
    size_t count;
} cwi_sample;

/*
 * A look at the first rows of a table.
 *   row  up to n fields of a row; returns how many there are
 */
typedef struct cwi_view {
    size_t (*row)(const struct cwi_view *view, size_t row, cwi_text *field, size_t n);
    size_t n_rows;
    const char *word;   /* what a column is called: column, key */
    bool is_complete;   /* there are no columns but those with names */
    char *const *given; /* [CWI_N_ROLES] names of the columns that have roles, or NULL */
    bool is_typed;      /* columns are what their names say, and there are no rows to look at */
    const bool *has_numbers; /* [columns] of a typed view: can it be a rating? NULL: all can */
} cwi_view;

/*
 * A raw format.
 *   recognise  does the sample look like it?  NULL for what is left, asked last
 *   arrange    find what is what in the sample; NULL: lines are always the same, or columns
 *   read       take a line that is not empty; NULL for columns, which delimited.c reads
 */
typedef struct cwi_reader {
    const char *name;
    bool (*recognise)(const cwi_import *import, const cwi_sample *sample, cwi_layout *layout);
    cw_status (*arrange)(cwi_import *import, const cwi_source *source, const cwi_sample *sample,
                         cwi_layout *layout);
    cw_status (*read)(cwi_import *import, const cwi_source *source, cwi_text line);
    bool is_rated;           /* such a line may have a rating and a time */
    cwi_delimiter delimiter; /* of columns; auto: as is asked for, or as it looks, with quotes */
    bool has_types;          /* of the layout */
} cwi_reader;

/* All of them, in the order of asking: the special forms first, any delimited text last. */
#define CWI_READERS(X)                                                                             \
    X(jsonl) X(netflix) X(inter) X(ifashion) X(movielens) X(adjacency) X(delimited)

#define CWI_EXTERN(id) extern const cwi_reader cwi_reader_##id;
CWI_READERS(CWI_EXTERN)
#undef CWI_EXTERN

/* settings.c */
cw_status cwi_settings_read(cw_context *ctx, const cw_options *options, cwi_settings *out);

/* detect.c: the format of a file from its first lines, or the one that was asked for. */
cw_status cwi_detect(cwi_import *import, cwi_source *source, const cwi_reader **reader,
                     cwi_layout *layout);

/* delimited.c: find the columns of a file, then read its lines. */
cw_status cwi_delimited_arrange(cwi_import *import, const cwi_source *source,
                                const cwi_reader *reader, const cwi_sample *sample,
                                cwi_layout *layout);
cw_status cwi_delimited_read(cwi_import *import, cwi_source *source, const cwi_layout *layout);

/* columns.c: whether there is a header and which column is what. */
cw_status cwi_columns_choose(cwi_import *import, const cwi_source *source, const cwi_sample *sample,
                             cwi_layout *layout);

/* The same of a table that has names: of keys of JSON, of columns of a database. */
cw_status cwi_columns_find(cwi_import *import, const cwi_source *source, const cwi_view *view,
                           const cwi_text *name, size_t n_names, cwi_layout *layout);

/* names.c: does such a name say what a column is, in English or in another language? */
bool cwi_names_know(cwi_role role, cwi_text name);
bool cwi_names_translate(cwi_role role, cwi_text name);

/* database.c: read a table or a query of a database; path is an address of uri.h. */
cw_status cwi_import_database(cwi_import *import, const char *path);

/* folder.c: read a Netflix training set, or a split folder with its parts. */
cw_status cwi_import_folder(cwi_import *import, const char *folder, bool may_be_split);

/* collect.c: rows on their way into the interactions. */

/* Before the first row of a file: which of the optional columns it has. */
cw_status cwi_import_begin(cwi_import *import, const cwi_source *source, bool has_rating,
                           bool has_time);

/* Check a row and keep it, or count why not. */
cw_status cwi_import_row(cwi_import *import, const cwi_source *source, const cwi_row *row);

/* The same for a row of a table, whose number the source has. */
cw_status cwi_import_cells(cwi_import *import, const cwi_source *source, const cwi_cells *cells);

/* The line just read is malformed: an error, or counted when the options allow it. */
cw_status cwi_import_bad(cwi_import *import, const cwi_source *source, const char *format, ...)
    CWI_PRINTF(3, 4);

/* repeats.c: drop every pair but the first, in the order train, valid, test; then by row. */
cw_status cwi_drop_repeats(cw_context *ctx, cw_interactions *rows, int64_t *repeats,
                           int64_t *overlaps);
/* The same with so many places of 16 bytes, or those of one user: rows are walked over for each
 * lot of users that they suffice for. */
cw_status cwi_drop_repeats_within(cw_context *ctx, cw_interactions *rows, int64_t places,
                                  int64_t *repeats, int64_t *overlaps);

/* origin.c: what was read, as JSON text. */
cw_status cwi_origin_print(const cwi_import *import, char **out);

/* remarks.c: say what a person should know about what was read. */
void cwi_import_log(const cwi_import *import);

/* cw_import of databases that were read before; known is the "latest" of that time. */
cw_status cwi_import_after(cw_context *ctx, const char *const *paths, size_t n_paths,
                           const cw_options *options, const json_t *known, cw_interactions **out);

/* import.c: an import begins with init and ends with finish; clear always. */
void cwi_import_init(cw_context *ctx, cw_interactions *rows, cwi_import *import);
void cwi_import_clear(cwi_import *import);

/* A new entry in the record of what was read; borrowed until the next one. */
cw_status cwi_import_entry(cwi_import *import, const char *name, cwi_entry **out);

/* Read one file; the files of a Netflix folder share an entry. */
cw_status cwi_import_file(cwi_import *import, const char *path, cwi_entry *entry);
cw_status cwi_import_source(cwi_import *import, cwi_source *source, cwi_entry *entry);

/* A new import that tables will fill; cwi_import_close ends it: with everything that follows the
 * last row where status is CW_OK, and *out is then what was read. */
cw_status cwi_import_open(cw_context *ctx, const cw_options *options, cwi_import *out);
cw_status cwi_import_close(cwi_import *import, cw_status status, cw_interactions **out);

/* Everything that follows the last file: repeats, messages, the record of what was read. */
cw_status cwi_import_finish(cwi_import *import);

/* calendar.c: seconds since 1970 from a number or a date, with or without a time: ISO 8601,
 * 31.12.2024, 12/31/2024.  With CWI_DATES_AUTO, no date that could be two. */
bool cwi_parse_time(const char *text, size_t length, cwi_dates dates, double *out);

/* The order that a date shows: AUTO for none, or for no such date. */
cwi_dates cwi_date_order(const char *text, size_t length);

/* Is it a date that has a meaning in either order, and not the same? */
bool cwi_date_is_ambiguous(const char *text, size_t length);

/* collect.c: a number with one decimal comma, and no other. */
bool cwi_parse_comma(const char *text, size_t length, double *out);

#endif

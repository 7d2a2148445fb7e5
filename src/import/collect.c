/* collect.c - check rows and keep them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/room.h"
#include "core/text.h"
#include "import/fields.h"
#include "import/import.h"

static const double max_rating = 1e15; /* above this, doubles no longer tell whole numbers apart */

/* Times are all or nothing. */
static void lose_times(cwi_import *import)
{
    import->lost_time = true;
    import->has_time = false;
    cwi_free(import->rows->time);
    import->rows->time = NULL;
    if (import->rows->spill) cwi_spill_lose_times(import->rows->spill);
}

cw_status cwi_import_begin(cwi_import *import, const cwi_source *source, bool has_rating,
                           bool has_time)
{
    if (import->settings.has_min_rating && !has_rating)
        return cwi_fail(import->ctx, CW_BAD_ARG,
                        "%s has no rating column, which --min-rating needs; say where it is with "
                        "--columns user=..,item=..,rating=..",
                        cwi_source_name(source));
    if (import->n_files++ == 0) import->has_time = has_time;
    if (has_time != import->has_time && !import->lost_time) {
        lose_times(import);
        cwi_log(import->ctx, CW_LOG_WARNING,
                "%s %s times, other files do not agree: no times are used", cwi_source_name(source),
                has_time ? "has" : "has no");
    }
    import->last_user.length = import->last_below.length = import->movie_length = 0;
    return CW_OK;
}

cw_status cwi_import_bad(cwi_import *import, const cwi_source *source, const char *format, ...)
{
    char reason[400], place[CWI_SPOT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (import->bad_lines >= import->settings.skip_bad)
        return cwi_source_fail(import->ctx, source, CW_BAD_DATA, "%s", reason);
    if (import->bad_lines++ == 0)
        snprintf(import->first_bad, sizeof import->first_bad, "%s: %s",
                 cwi_source_place(source, place), reason);
    return CW_OK;
}

/* ---- room for rows ----------------------------------------------------------- */

/* What a row takes in all while a log is prepared in memory, and what a time adds to it. */
enum { BYTES_A_ROW = 28, BYTES_A_TIME = 16, BYTES_AN_ID = 64 };

/* Ids are there twice, those of the log and those of the dataset, with tables of numbers. */
static int64_t id_bytes(const cw_interactions *rows)
{
    return 2 * (cwi_idmap_bytes(&rows->users) + cwi_idmap_bytes(&rows->items)) +
           BYTES_AN_ID * ((int64_t)rows->users.count + rows->items.count);
}

static cw_status check_ids(cwi_import *import)
{
    char what[100];
    const cw_interactions *rows = import->rows;
    snprintf(what, sizeof what, "the ids of %" PRId32 " users and %" PRId32 " items",
             rows->users.count, rows->items.count);
    return cwi_room_check(import->ctx, id_bytes(rows), what);
}

static void drop_arrays(cwi_import *import)
{
    cw_interactions *rows = import->rows;
    cwi_free(rows->user);
    cwi_free(rows->item);
    cwi_free(rows->time);
    cwi_free(rows->part);
    rows->user = rows->item = NULL;
    rows->time = NULL;
    rows->part = NULL;
    cwi_below_clear(&rows->below);
}

/* From now on rows go to a file, those before them too. */
static cw_status spill_rows(cwi_import *import)
{
    cw_interactions *rows = import->rows;
    cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    CW_PASS(cwi_spill_create(import->ctx, import->has_time, import->is_split, &rows->spill));
    cwi_reel to = {.spill = rows->spill};
    while (cwi_window_next(import->ctx, &w))
        for (int64_t k = 0; k < w.n; k++) CW_PASS(cwi_reel_take(import->ctx, &to, &w, k));
    drop_arrays(import);
    return CW_OK;
}

/* Would so many rows, with all that is made of them, be more than there is memory for? */
static bool is_too_much(const cwi_import *import, size_t n_rows)
{
    int64_t each = BYTES_A_ROW + (import->has_time ? BYTES_A_TIME : 0);
    const cwi_below *below = &import->rows->below;
    int64_t others = (int64_t)(below->capacity * sizeof *below->row) +
                     cwi_idmap_bytes(&below->users) + cwi_idmap_bytes(&below->items);
    return !cwi_room_holds(import->ctx, (int64_t)n_rows * each + others + id_bytes(import->rows));
}

static cw_status grow_rows(cwi_import *import)
{
    cw_interactions *rows = import->rows;
    size_t need = (size_t)rows->count + 1;

    if (need <= import->capacity) return CW_OK;
    CW_PASS(check_ids(import));
    if (is_too_much(import, need + need / 2)) return spill_rows(import);
    /* Each array starts from the common capacity, which changes once all have grown. */
    size_t capacity = import->capacity, grown = capacity;
    CW_PASS(cwi_grow(import->ctx, &rows->user, &grown, need, sizeof *rows->user));
    grown = capacity;
    CW_PASS(cwi_grow(import->ctx, &rows->item, &grown, need, sizeof *rows->item));
    if (import->has_time) {
        grown = capacity;
        CW_PASS(cwi_grow(import->ctx, &rows->time, &grown, need, sizeof *rows->time));
    }
    if (import->is_split) {
        grown = capacity;
        CW_PASS(cwi_grow(import->ctx, &rows->part, &grown, need, sizeof *rows->part));
    }
    import->capacity = grown;
    return CW_OK;
}

/* ---- what is wrong ------------------------------------------------------------- */

/* What is wrong with a value, with the value itself. */
static cw_status bad_value(cwi_import *import, const cwi_source *source, const char *what,
                           cwi_text text, const char *wanted)
{
    char shown[48];
    return cwi_import_bad(import, source, "%s '%s' is not %s", what,
                          cwi_excerpt(text.at, text.length, shown), wanted);
}

static cw_status bad_id(cwi_import *import, const cwi_source *source, const char *what, cwi_text id)
{
    if (id.length == 0) return cwi_import_bad(import, source, "%s id is empty", what);
    return cwi_import_bad(import, source, "%s id is longer than %d bytes", what, CWI_MAX_ID_BYTES);
}

static bool is_good_id(cwi_text id)
{
    return id.length > 0 && id.length <= CWI_MAX_ID_BYTES;
}

/* The raw id behind a number of a split folder; at is NULL when there is none. */
static cwi_text translate(const cwi_translation *names, cwi_text id)
{
    int64_t number;
    bool known =
        cwi_parse_int(id.at, id.length, &number) && number >= 0 && number < names->raw.count;
    if (!known) return (cwi_text){NULL, 0};
    const char *raw = cwi_idmap_text(&names->raw, (int32_t)number);
    return (cwi_text){raw, strlen(raw)};
}

/* Logs are often sorted by user, so look at the previous one before asking the map. */
static cw_status add_user(cw_context *ctx, cwi_idmap *users, cwi_recent *last, cwi_text id,
                          int32_t *out)
{
    if (id.length == last->length && memcmp(id.at, last->id, id.length) == 0) {
        *out = last->number;
        return CW_OK;
    }
    cw_status status = cwi_idmap_add(ctx, users, id.at, id.length, out);
    bool is_short = id.length <= sizeof last->id;
    last->number = *out;
    last->length = is_short ? id.length : 0;
    if (is_short) memcpy(last->id, id.at, id.length);
    return status;
}

/* A row that is in order. */
typedef struct good_row {
    cwi_text user, item;
    double time;
    bool is_below; /* --min-rating */
} good_row;

static cw_status keep_below(cwi_import *import, const good_row *good)
{
    cwi_below *below = &import->rows->below;
    if (import->rows->spill) return CW_OK; /* nobody asks */
    if ((size_t)below->count == below->capacity && is_too_much(import, import->capacity))
        return spill_rows(import);
    CW_PASS(cwi_grow(import->ctx, &below->row, &below->capacity, (size_t)below->count + 1,
                     sizeof *below->row));
    int32_t *row = below->row[below->count];
    CW_PASS(add_user(import->ctx, &below->users, &import->last_below, good->user, &row[0]));
    CW_PASS(cwi_idmap_add(import->ctx, &below->items, good->item.at, good->item.length, &row[1]));
    below->count++;
    return CW_OK;
}

static cw_status keep_numbers(cwi_import *import, int32_t user, int32_t item, double time)
{
    enum { CHECK_EVERY = 1 << 16 };
    cw_interactions *rows = import->rows;
    int64_t r = rows->count++;
    if (rows->spill) {
        if (r % CHECK_EVERY == 0) CW_PASS(check_ids(import));
        return cwi_spill_add(import->ctx, rows->spill, user, item, time, import->part);
    }
    rows->user[r] = user;
    rows->item[r] = item;
    if (rows->time) rows->time[r] = time;
    if (rows->part) rows->part[r] = import->part;
    return CW_OK;
}

static cw_status keep(cwi_import *import, const good_row *good)
{
    cw_interactions *rows = import->rows;
    int32_t user, item;
    if (good->is_below) return keep_below(import, good);
    if (!rows->spill) CW_PASS(grow_rows(import));
    CW_PASS(add_user(import->ctx, &rows->users, &import->last_user, good->user, &user));
    CW_PASS(cwi_idmap_add(import->ctx, &rows->items, good->item.at, good->item.length, &item));
    return keep_numbers(import, user, item, good->time);
}

static cw_status keep_translated(cwi_import *import, const cwi_source *source, const good_row *good)
{
    const cwi_translation *users = import->user_names, *items = import->item_names;
    good_row raw = *good;
    char shown[48];

    if (users->file) raw.user = translate(users, good->user);
    if (items->file) raw.item = translate(items, good->item);
    if (good->is_below && (!raw.user.at || !raw.item.at)) return CW_OK; /* nobody misses it */
    if (!raw.user.at)
        return cwi_import_bad(import, source, "user %s is not in %s",
                              cwi_excerpt(good->user.at, good->user.length, shown), users->file);
    if (!raw.item.at)
        return cwi_import_bad(import, source, "item %s is not in %s",
                              cwi_excerpt(good->item.at, good->item.length, shown), items->file);
    return keep(import, &raw);
}

/* Must the times be good?  Yes when --columns says which they are: then they are meant.  A column
 * that only looks like times is given up once --skip-bad leaves out no more lines. */
static bool needs_times(const cwi_import *import)
{
    if (import->settings.columns[0]) return true;
    return !import->lost_time && import->bad_lines < import->settings.skip_bad;
}

/* A time that cannot be read.  *is_out: the row is left out as malformed. */
static cw_status bad_time(cwi_import *import, const cwi_source *source, cwi_text text, bool *is_out)
{
    char shown[48], place[CWI_SPOT_BYTES];

    if (import->bad_times++ == 0)
        snprintf(import->first_bad_time, sizeof import->first_bad_time, "%s: '%s'",
                 cwi_source_place(source, place), cwi_excerpt(text.at, text.length, shown));
    *is_out = needs_times(import);
    if (*is_out)
        return bad_value(import, source, "time", text,
                         cwi_date_is_ambiguous(text.at, text.length)
                             ? "clear: say --dates day-first or --dates month-first"
                             : "a number of seconds or an ISO date");
    lose_times(import);
    return CW_OK;
}

/* The time of a row. */
static cw_status read_time(cwi_import *import, const cwi_source *source, cwi_text text, double *out,
                           bool *is_out)
{
    text = cwi_trim(text);
    if (cwi_parse_time(text.at, text.length, import->dates, out)) return CW_OK;
    return bad_time(import, source, text, is_out);
}

bool cwi_parse_comma(const char *text, size_t length, double *out)
{
    char plain[CWI_NUMBER_BYTES];
    const char *comma = memchr(text, ',', length);

    if (!comma || length > sizeof plain || memchr(text, '.', length)) return false;
    if (comma == text || comma + 1 == text + length) return false;
    memcpy(plain, text, length);
    plain[comma - text] = '.'; /* a second comma makes it no number */
    return cwi_parse_real(plain, length, out);
}

/* What programs write where there is no value. */
static bool is_missing(cwi_text text)
{
    char word[8];
    if (text.length == 0) return true;
    if (text.length >= sizeof word) return false;
    memcpy(word, text.at, text.length);
    word[text.length] = '\0';
    return cwi_word_index("NULL|null|NA|N/A|NaN|nan|None|\\N", word) >= 0;
}

/* A row without a rating is one more like, unless only some ratings are wanted. */
static void count_unrated(cwi_import *import, bool *is_below)
{
    import->unrated++;
    import->left_out += import->settings.has_min_rating;
    *is_below = import->settings.has_min_rating;
}

static bool parse_rating(const cwi_import *import, cwi_text text, double *out)
{
    if (!cwi_parse_real(text.at, text.length, out) &&
        !(import->has_comma && cwi_parse_comma(text.at, text.length, out)))
        return false;
    return fabs(*out) <= max_rating;
}

/* Is the rating of a row below --min-rating, which is counted? */
static cw_status take_rating(cwi_import *import, double rating, bool *is_below)
{
    if (import->settings.has_min_rating && rating < import->settings.min_rating) {
        import->below++;
        *is_below = true;
    }
    return cwi_ratings_add(import->ctx, &import->ratings, rating);
}

/* A rating that is no number. */
static cw_status bad_rating(cwi_import *import, const cwi_source *source, cwi_text text,
                            bool *is_out)
{
    import->bad_ratings++;
    *is_out = true;
    return bad_value(import, source, "rating", text, "a number between -1e15 and 1e15");
}

static cw_status read_rating(cwi_import *import, const cwi_source *source, cwi_text text,
                             bool *is_below, bool *is_out)
{
    double rating = 0;

    text = cwi_trim(text);
    if (parse_rating(import, text, &rating)) return take_rating(import, rating, is_below);
    if (!is_missing(text)) return bad_rating(import, source, text, is_out);
    count_unrated(import, is_below);
    return CW_OK;
}

/* Every row counts against the limit of --max-rows. */
static cw_status count_row(cwi_import *import, const cwi_source *source)
{
    int64_t limit = import->settings.max_rows;
    if (limit == 0 || ++import->n_rows <= limit) return CW_OK;
    return cwi_source_fail(import->ctx, source, CW_BAD_DATA,
                           "there are more than %" PRId64 " rows, the limit of --max-rows", limit);
}

/* A number of a table as text, for a message. */
static cwi_text print_cell(double value, char out[CWI_NUMBER_BYTES])
{
    const char *word = isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (!isfinite(value)) return (cwi_text){word, strlen(word)};
    cwi_print_real(value, out);
    return (cwi_text){out, strlen(out)};
}

/* Text of a table may hold any byte, that of a file no zero. */
static bool has_zero(cwi_text id)
{
    return memchr(id.at, '\0', id.length) != NULL;
}

cw_status cwi_import_cells(cwi_import *import, const cwi_source *source, const cwi_cells *cells)
{
    good_row good = {.user = cells->user, .item = cells->item, .time = cells->time};
    char number[CWI_NUMBER_BYTES];
    bool is_out = false;

    CW_PASS(count_row(import, source));
    if (!is_good_id(good.user)) return bad_id(import, source, "user", good.user);
    if (!is_good_id(good.item)) return bad_id(import, source, "item", good.item);
    if (has_zero(good.user) || has_zero(good.item))
        return cwi_import_bad(import, source, "an id has a zero byte");
    if (cells->has_time && !isfinite(good.time))
        CW_PASS(bad_time(import, source, print_cell(good.time, number), &is_out));
    if (is_out || !cells->has_rating) return is_out ? CW_OK : keep(import, &good);
    if (!(fabs(cells->rating) <= max_rating))
        return bad_rating(import, source, print_cell(cells->rating, number), &is_out);
    CW_PASS(take_rating(import, cells->rating, &good.is_below));
    return keep(import, &good);
}

cw_status cwi_import_row(cwi_import *import, const cwi_source *source, const cwi_row *row)
{
    cwi_text when = row->field[CWI_ROLE_TIME], rating = row->field[CWI_ROLE_RATING];
    good_row good = {.user = row->field[CWI_ROLE_USER], .item = row->field[CWI_ROLE_ITEM]};
    bool is_out = false;

    CW_PASS(count_row(import, source));
    if (!is_good_id(good.user)) return bad_id(import, source, "user", good.user);
    if (!is_good_id(good.item)) return bad_id(import, source, "item", good.item);
    if (when.at) CW_PASS(read_time(import, source, when, &good.time, &is_out));
    if (rating.at && !is_out) CW_PASS(read_rating(import, source, rating, &good.is_below, &is_out));
    if (is_out) return CW_OK;
    return import->user_names ? keep_translated(import, source, &good) : keep(import, &good);
}

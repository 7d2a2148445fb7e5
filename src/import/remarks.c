/* remarks.c - what a person should know about the log that was read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "import/import.h"

enum { SHARE_BYTES = 16, LINE_BYTES = 512 };

/* "27 %"; what is neither none nor all never looks like it. */
static const char *print_share(int64_t part, int64_t all, char out[SHARE_BYTES])
{
    double percent = 100.0 * (double)part / (double)all;
    if (part > 0 && percent < 0.5)
        snprintf(out, SHARE_BYTES, "<1 %%");
    else if (part < all && percent >= 99.5)
        snprintf(out, SHARE_BYTES, ">99 %%");
    else
        snprintf(out, SHARE_BYTES, "%.0f %%", percent);
    return out;
}

/* Three digits of a number that is not exact. */
static void print_about(double value, char out[CWI_NUMBER_BYTES])
{
    double unit = 1;
    if (fabs(value) < 1000) {
        snprintf(out, CWI_NUMBER_BYTES, "%.3g", value);
        char *comma = strchr(out, ','); /* the caller may run in a locale with a comma */
        if (comma) *comma = '.';
        return;
    }
    while (fabs(value) / unit >= 1000) unit *= 10;
    cwi_print_real(unit * round(value / unit), out);
}

/* "1: 6 %, 2: 94 %", or "from 1 to 900, median 12" when there are more than a few values. */
static void print_spread(const cwi_ratings *ratings, char out[LINE_BYTES])
{
    cwi_rating_rows list[CWI_RATINGS_KEPT];
    char number[CWI_NUMBER_BYTES], least[CWI_NUMBER_BYTES], most[CWI_NUMBER_BYTES];
    char share[SHARE_BYTES], word[CWI_NUMBER_BYTES + SHARE_BYTES + 2];
    size_t n = cwi_ratings_list(ratings, list);

    out[0] = '\0';
    if (n == 0 || n > CWI_RATINGS_LISTED) {
        cwi_print_real(ratings->min, least);
        cwi_print_real(ratings->max, most);
        if (n > 0)
            cwi_print_real(cwi_ratings_median(ratings), number);
        else
            print_about(cwi_ratings_median(ratings), number);
        snprintf(out, LINE_BYTES, "from %s to %s, median %s%s", least, most, n > 0 ? "" : "about ",
                 number);
        return;
    }
    for (size_t v = 0; v < n; v++) {
        cwi_print_real(list[v].value, number);
        snprintf(word, sizeof word, "%s: %s", number,
                 print_share(list[v].rows, ratings->count, share));
        cwi_list_text(out, LINE_BYTES, word);
    }
}

/* What --min-rating would do. */
static void print_advice(const cwi_ratings *ratings, char out[LINE_BYTES])
{
    char number[CWI_NUMBER_BYTES], share[SHARE_BYTES];
    double value;
    int64_t kept;

    out[0] = '\0';
    if (cwi_ratings_are_counts(ratings)) {
        snprintf(out, LINE_BYTES,
                 "; they look like counts, of which --min-rating drops the small ones");
    } else if (cwi_ratings_threshold(ratings, &value, &kept)) {
        cwi_print_real(value, number);
        snprintf(out, LINE_BYTES, "; --min-rating %s keeps %s of the rows", number,
                 print_share(kept, ratings->count, share));
    } else if (ratings->bucket) {
        snprintf(out, LINE_BYTES, "; --min-rating R keeps those of at least R");
    }
}

static void log_ratings(const cwi_import *import)
{
    const cwi_ratings *ratings = &import->ratings;
    char number[CWI_NUMBER_BYTES], spread[LINE_BYTES], advice[LINE_BYTES];

    if (ratings->count == 0) return;
    if (import->settings.has_min_rating) return; /* the account says what it did */
    if (ratings->min == ratings->max) {
        cwi_print_real(ratings->min, number);
        cwi_log(import->ctx, CW_LOG_INFO, "every rating is %s and counts as a like", number);
    } else {
        print_spread(ratings, spread);
        print_advice(ratings, advice);
        cwi_log(import->ctx, CW_LOG_INFO, "ratings count as likes, the low ones too: %s%s", spread,
                advice);
    }
}

static void log_times(const cwi_import *import)
{
    if (import->bad_times == 0 || !import->lost_time) return;
    cwi_log(import->ctx, CW_LOG_WARNING,
            "%" PRId64 " time%s could not be read, first %s: no times are used, so splits by time "
            "are not possible",
            import->bad_times, import->bad_times == 1 ? "" : "s", import->first_bad_time);
}

static void log_lines(const cwi_import *import)
{
    if (import->bad_lines > 0)
        cwi_log(import->ctx, CW_LOG_WARNING, "%" PRId64 " malformed line%s left out, first %s",
                import->bad_lines, import->bad_lines == 1 ? " was" : "s were", import->first_bad);
    if (import->repeats > 0)
        cwi_log(import->ctx, CW_LOG_WARNING, "%" PRId64 " repeated interaction%s dropped",
                import->repeats, import->repeats == 1 ? " was" : "s were");
    if (import->overlaps > 0)
        cwi_log(import->ctx, CW_LOG_WARNING,
                "%" PRId64 " interaction%s dropped because an earlier part has %s too",
                import->overlaps, import->overlaps == 1 ? " was" : "s were",
                import->overlaps == 1 ? "it" : "them");
}

static void log_unrated(const cwi_import *import)
{
    bool is_one = import->unrated == 1;
    if (import->unrated == 0) return;
    cwi_log(import->ctx, CW_LOG_INFO, "%" PRId64 " row%s no rating: %s", import->unrated,
            is_one ? " has" : "s have",
            import->settings.has_min_rating ? "--min-rating leaves such rows out"
            : is_one                        ? "it counts as a like"
                                            : "they count as likes");
}

/* "3 malformed", when there are any. */
static void list_dropped(char list[LINE_BYTES], int64_t count, const char *why)
{
    char word[LINE_BYTES];
    if (count == 0) return;
    snprintf(word, sizeof word, "%" PRId64 " %s", count, why);
    cwi_list_text(list, LINE_BYTES, word);
}

/* Every import ends with where its rows went. */
static void log_account(const cwi_import *import)
{
    char dropped[LINE_BYTES] = "", number[CWI_NUMBER_BYTES], below[64];
    int64_t kept = import->rows->count, low = import->below + import->left_out;
    int64_t all = kept + import->bad_lines + low + import->repeats + import->overlaps;

    if (import->n_files == 0) return; /* interactions from arrays */
    cwi_print_real(import->settings.min_rating, number);
    snprintf(below, sizeof below, "below --min-rating %s", number);
    list_dropped(dropped, import->bad_lines, "malformed");
    list_dropped(dropped, import->below, below);
    list_dropped(dropped, import->left_out, "without a rating");
    list_dropped(dropped, import->repeats, "repeated");
    list_dropped(dropped, import->overlaps, "in an earlier part");
    cwi_log(import->ctx, CW_LOG_INFO, "%" PRId64 " row%s read, %" PRId64 " kept%s%s%s", all,
            all == 1 ? "" : "s", kept, dropped[0] ? "; dropped: " : "", dropped,
            import->ratings.count + import->unrated == 0
                ? "; there are no ratings, so each is a like"
                : "");
}

void cwi_import_log(const cwi_import *import)
{
    log_ratings(import);
    log_unrated(import);
    log_times(import);
    log_lines(import);
    log_account(import);
}

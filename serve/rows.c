/* rows.c - interactions as the text of a table, which `crosswise prepare` reads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

/* In quotes, which are doubled within: ids may have commas and line breaks. */
static void add_id(draft *d, const char *id)
{
    DRAFT(d, "\"");
    for (const char *quote; (quote = strchr(id, '"')); id = quote + 1) {
        draft_add(d, id, (size_t)(quote - id));
        DRAFT(d, "\"\"");
    }
    draft_add(d, id, strlen(id));
    DRAFT(d, "\"");
}

char *ledger_text(const ledger_row *rows, size_t n, size_t *length)
{
    draft d = {0};
    for (size_t k = 0; k < n; k++) {
        add_id(&d, rows[k].user);
        DRAFT(&d, ",");
        add_id(&d, rows[k].item);
        DRAFT(&d, ",");
        draft_whole(&d, (int64_t)floor(rows[k].time));
        DRAFT(&d, "\n");
    }
    return draft_take(&d, length);
}

/* Take a quoted id out of the text, in place; NULL: it does not end, or there is none. */
static char *take_id(char **at, const char *end)
{
    char *from = *at, *to, *id;
    if (from >= end || *from != '"') return NULL;
    id = to = ++from;
    for (; from < end; from++) {
        if (*from == '"' && (from + 1 >= end || *++from != '"')) {
            *at = from;
            *to = '\0'; /* at most where the quote was */
            return from + 1 >= end && *from == '"' ? NULL : id;
        }
        *to++ = *from;
    }
    return NULL;
}

bool rows_read(char *text, size_t length, recall *r, size_t *whole)
{
    const size_t head = sizeof LEDGER_HEADER - 1;
    char *at = text, *end = text + length;
    *whole = 0;
    if (length < head || memcmp(text, LEDGER_HEADER, head) != 0) return true;
    for (at += head;; at++) {
        *whole = (size_t)(at - text);
        char *user = take_id(&at, end);
        if (!user || at >= end || *at++ != ',') return true;
        char *item = take_id(&at, end);
        if (!item || at >= end || *at != ',') return true;
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at) return true;
        if (user[0] && item[0] && !recall_add(r, user, item)) return false;
    }
}

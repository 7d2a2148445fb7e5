/* fuzz_ledger.c - any bytes as a file of the log of feedback: its whole rows are read, a part of a
 * row is not, and rows that are written read back the same. */
#include <string.h>

#include "fuzzing.h"
#include "ledger.h"

typedef struct search {
    const char *item;
    int found;
} search;

static void look(void *arg, const char *item)
{
    search *s = arg;
    s->found += strcmp(s->item, item) == 0;
}

static void read_any(const uint8_t *data, size_t size)
{
    recall *r = recall_create();
    char *text = malloc(size + 1), *again = malloc(size + 1);
    size_t whole, same;
    must(r && text && again);
    memcpy(text, data, size);
    memcpy(again, data, size);
    must(rows_read(text, size, r, &whole) && whole <= size);
    must(rows_read(again, whole, r, &same) && same == whole); /* what is cut off was no row */
    free(text);
    free(again);
    recall_free(r);
}

/* The bytes as two ids, without zeros. */
static void write_and_read(const uint8_t *data, size_t size)
{
    char user[64] = "u", item[64] = "i";
    size_t half = size / 2 < 60 ? size / 2 : 60, length, whole;
    for (size_t k = 0; k < half; k++) {
        user[k + 1] = (char)(data[k] ? data[k] : 1);
        item[k + 1] = (char)(data[half + k] ? data[half + k] : 1);
    }
    const ledger_row rows[] = {{user, item, 7}, {"other", "thing", 8}};
    char *text = ledger_text(rows, 2, &length), *file = malloc(length + 64);
    recall *r = recall_create();
    search s = {.item = item};
    must(text && file && r);
    int head = snprintf(file, 64, "%s", LEDGER_HEADER);
    memcpy(file + head, text, length);
    must(rows_read(file, (size_t)head + length, r, &whole) && whole == (size_t)head + length);
    recall_each(r, user, look, &s);
    must(s.found == 1);
    recall_free(r);
    free(text);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_any(data, size);
    write_and_read(data, size);
    return 0;
}

/* bucket_rows.c - the file of a bucket: what was shown at random, and what of it was liked. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/numbers.h"
#include "core/rng.h"
#include "evaluate/bucket.h"
#include "import/fields.h"

enum {
    SET_AGAINST = 10, /* items drawn for each liked row where the file has no others */
    MAX_DRAWS = 40    /* for one of them, before it is given up */
};

typedef struct row {
    int32_t user, item;
    uint8_t liked;
} row;

/* Rows on their way in. */
typedef struct reading {
    const cw_dataset *dataset;
    cwi_csr train; /* by user */
    row *rows;
    size_t capacity, n;
    cwi_bucket *out;
} reading;

static bool is_text(cwi_text field, const char *text)
{
    return field.length == strlen(text) && memcmp(field.at, text, field.length) == 0;
}

static cw_status read_header(cw_context *ctx, cwi_records *records, cwi_source *source,
                             size_t *n_columns)
{
    static const char *const names[] = {"user", "item", "liked"};
    size_t count;
    const char *wrong;
    CW_PASS(cwi_records_next(ctx, records, source, &count, &wrong));
    if (count == 0) return cwi_fail(ctx, CW_BAD_DATA, "%s is empty", cwi_source_name(source));
    bool is_good = !wrong && (count == 2 || count == 3);
    for (size_t c = 0; c < count && is_good; c++) is_good = is_text(records->field[c], names[c]);
    *n_columns = count;
    if (is_good) return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA,
                           "expected the header user,item,liked or user,item");
}

static cw_status add_row(cw_context *ctx, reading *r, row new)
{
    CW_PASS(cwi_grow(ctx, &r->rows, &r->capacity, r->n + 1, sizeof *r->rows));
    r->rows[r->n++] = new;
    return CW_OK;
}

static cw_status read_row(cw_context *ctx, reading *r, const cwi_source *source,
                          const cwi_text *field, size_t n_columns)
{
    const cw_dataset *d = r->dataset;
    bool likes = n_columns == 2 || is_text(field[2], "1");
    if (!likes && !is_text(field[2], "0"))
        return cwi_source_fail(ctx, source, CW_BAD_DATA,
                               "liked must be 0 or 1 (shown and not liked, shown and liked)");
    int32_t user = cwi_idmap_find(&d->users, field[0].at, field[0].length);
    int32_t item = cwi_idmap_find(&d->items, field[1].at, field[1].length);
    r->out->n_read++;
    if (user < 0 || item < 0) {
        r->out->n_unknown++;
        return CW_OK;
    }
    if (cwi_csr_has(&r->train, user, item)) {
        r->out->n_known++;
        return CW_OK;
    }
    return add_row(ctx, r, (row){user, item, likes});
}

static cw_status read_rows(cw_context *ctx, reading *r, cwi_source *source)
{
    static const cwi_layout layout = {
        .delimiter = CWI_DELIMITER_COMMA, .has_quotes = true, .n_columns = 4};
    cw_status status;
    size_t count, n_columns = 0;
    const char *wrong;
    cwi_records records = {0};

    CW_TRY(cwi_records_init(ctx, &layout, &records));
    CW_TRY(read_header(ctx, &records, source, &n_columns));
    r->out->has_labels = n_columns == 3;
    for (;;) {
        CW_TRY(cwi_records_next(ctx, &records, source, &count, &wrong));
        if (count == 0) break;
        if (wrong || count != n_columns)
            CW_TRY(cwi_source_fail(ctx, source, CW_BAD_DATA, "%s",
                                   wrong            ? wrong
                                   : n_columns == 3 ? "expected user,item,liked"
                                                    : "expected user,item"));
        CW_TRY(read_row(ctx, r, source, records.field, n_columns));
    }
    if (r->out->n_read == 0)
        CW_TRY(cwi_fail(ctx, CW_BAD_DATA, "%s has no rows", cwi_source_name(source)));
done:
    cwi_records_clear(&records);
    return status;
}

/* By user, then by item; what was liked first. */
static int in_order(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->user != y->user) return x->user < y->user ? -1 : 1;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    return (int)y->liked - (int)x->liked;
}

static void sort_rows(reading *r)
{
    size_t kept = 0;
    if (r->n > 0) qsort(r->rows, r->n, sizeof *r->rows, in_order);
    for (size_t k = 0; k < r->n; k++) {
        const row *last = kept > 0 ? &r->rows[kept - 1] : NULL;
        if (!last || last->user != r->rows[k].user || last->item != r->rows[k].item)
            r->rows[kept++] = r->rows[k];
    }
    r->out->n_repeats += (int64_t)(r->n - kept);
    r->n = kept;
}

static bool is_there(const row *rows, size_t n, int32_t user, int32_t item)
{
    row both[2] = {{user, item, 0}, {user, item, 1}};
    return bsearch(&both[0], rows, n, sizeof *rows, in_order) ||
           bsearch(&both[1], rows, n, sizeof *rows, in_order);
}

/* Where nothing is known of what was shown and not liked, what was liked is set against items drawn
 * for the same user, which under random exposure are what was shown. */
static cw_status draw_others(cw_context *ctx, reading *r, uint64_t seed)
{
    size_t n_liked = r->n;
    for (size_t k = 0; k < n_liked; k++) {
        cwi_rng rng;
        cwi_rng_init(&rng, seed, CWI_RNG_BUCKET, k);
        for (int n = 0, draws = 0; n < SET_AGAINST && draws < MAX_DRAWS; draws++) {
            int32_t user = r->rows[k].user;
            int32_t item = (int32_t)cwi_rng_below(&rng, (uint64_t)r->dataset->n_items);
            if (cwi_csr_has(&r->train, user, item) || is_there(r->rows, n_liked, user, item))
                continue;
            CW_PASS(add_row(ctx, r, (row){user, item, 0}));
            n++;
        }
    }
    int64_t repeats = r->out->n_repeats;
    sort_rows(r);
    r->out->n_repeats = repeats;
    return CW_OK;
}

static cw_status hand_over(cw_context *ctx, const reading *r, cwi_bucket *out)
{
    cwi_digest digest = {0};
    out->count = (int64_t)r->n;
    out->user = cwi_pile_add(ctx, &out->pile, r->n, sizeof *out->user);
    out->item = cwi_pile_add(ctx, &out->pile, r->n, sizeof *out->item);
    out->liked = cwi_pile_add(ctx, &out->pile, r->n, sizeof *out->liked);
    CW_PASS(out->pile.status);
    for (size_t k = 0; k < r->n; k++) {
        out->user[k] = r->rows[k].user;
        out->item[k] = r->rows[k].item;
        out->liked[k] = r->rows[k].liked;
        out->n_liked += r->rows[k].liked;
    }
    cwi_digest_numbers(&digest, out->user, r->n, sizeof *out->user);
    cwi_digest_numbers(&digest, out->item, r->n, sizeof *out->item);
    cwi_digest_numbers(&digest, out->liked, r->n, sizeof *out->liked);
    cwi_digest_print(&digest, out->hash);
    return CW_OK;
}

static void warn(cw_context *ctx, const char *path, const cwi_bucket *b)
{
    if (b->n_unknown > 0)
        cwi_log(ctx, CW_LOG_WARNING,
                "%s: %lld of %lld rows are of users or items that the dataset does not have, and "
                "are left out",
                path, (long long)b->n_unknown, (long long)b->n_read);
    if (b->n_known > 0)
        cwi_log(ctx, CW_LOG_WARNING,
                "%s: %lld of %lld rows are trained on already, and are left out", path,
                (long long)b->n_known, (long long)b->n_read);
    if (b->n_repeats > 0)
        cwi_log(ctx, CW_LOG_WARNING,
                "%s: %lld of %lld rows repeat a pair, which counts once, as liked if it once was",
                path, (long long)b->n_repeats, (long long)b->n_read);
}

cw_status cwi_bucket_read(cw_context *ctx, const char *path, const cw_dataset *dataset,
                          uint64_t seed, cwi_bucket *out)
{
    cw_status status;
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    cwi_source *source = NULL;
    reading r = {.dataset = dataset, .out = out};

    *out = (cwi_bucket){0};
    CW_TRY(cwi_csr_create(ctx, train->user, train->item, train->count, dataset->n_users, &r.train));
    cwi_csr_sort(&r.train);
    CW_TRY(cwi_source_open(ctx, path, &source));
    CW_TRY(read_rows(ctx, &r, source));
    sort_rows(&r);
    if (!out->has_labels) CW_TRY(draw_others(ctx, &r, seed));
    warn(ctx, path, out);
    if (r.n == 0)
        CW_TRY(cwi_fail(ctx, CW_BAD_DATA,
                        "%s: none of its %lld rows is of a user and an item of the dataset that "
                        "was not trained on: there is nothing to learn from",
                        path, (long long)out->n_read));
    CW_TRY(hand_over(ctx, &r, out));
done:
    cwi_source_close(source);
    cwi_csr_clear(&r.train);
    cwi_free(r.rows);
    return status;
}

bool cwi_bucket_is_enough(const cwi_bucket *bucket)
{
    return bucket->n_liked >= CWI_BUCKET_LEAST &&
           bucket->count - bucket->n_liked >= CWI_BUCKET_LEAST;
}

void cwi_bucket_clear(cwi_bucket *bucket)
{
    cwi_pile_clear(&bucket->pile);
    *bucket = (cwi_bucket){0};
}

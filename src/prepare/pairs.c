/* pairs.c - read and write user,item files, of numbers or of the ids of the raw data. */
#include "prepare/pairs.h"

#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/fields.h"

static const char header[] = "user,item";

static cw_status read_header(cw_context *ctx, cwi_source *source)
{
    const char *line;
    size_t length;
    CW_PASS(cwi_source_line(ctx, source, &line, &length));
    if (!line) return cwi_fail(ctx, CW_BAD_DATA, "%s is empty", cwi_source_name(source));
    if (length == sizeof header - 1 && memcmp(line, header, length) == 0) return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA,
                           "expected the header user,item; crosswise prepare reads other files");
}

/* One id: a whole number from 0 on, below n where n is known. */
static cw_status read_id(cw_context *ctx, const cwi_source *source, const char *noun,
                         const char *text, size_t length, int32_t n, int32_t *out)
{
    int64_t value;
    char shown[48];
    int64_t limit = n > 0 ? n : INT32_MAX - 1;

    if (!cwi_parse_int(text, length, &value) || value < 0)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "%s '%s' is not a whole number from 0 on",
                               noun, cwi_excerpt(text, length, shown));
    if (value >= limit)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "%s %lld is not below %lld", noun,
                               (long long)value, (long long)limit);
    *out = (int32_t)value;
    return CW_OK;
}

static cw_status read_pair(cw_context *ctx, const cwi_source *source, cwi_bounds bounds,
                           const char *line, size_t length, int32_t pair[2])
{
    const char *comma = memchr(line, ',', length);
    if (!comma) return cwi_source_fail(ctx, source, CW_BAD_DATA, "expected user,item");
    size_t before = (size_t)(comma - line);
    CW_PASS(read_id(ctx, source, "user", line, before, bounds.n_users, &pair[0]));
    return read_id(ctx, source, "item", comma + 1, length - before - 1, bounds.n_items, &pair[1]);
}

/* Pairs on their way in. */
typedef struct reading {
    cw_context *ctx;
    cwi_pairs *out;
    size_t user_capacity, item_capacity;
    const cwi_idmap *users, *items; /* of raw ids */
} reading;

static cw_status append(cw_context *ctx, reading *r, const int32_t pair[2])
{
    cwi_pairs *out = r->out;
    size_t need = (size_t)out->count + 1;
    CW_PASS(cwi_grow(ctx, &out->user, &r->user_capacity, need, sizeof *out->user));
    CW_PASS(cwi_grow(ctx, &out->item, &r->item_capacity, need, sizeof *out->item));
    out->user[out->count] = pair[0];
    out->item[out->count++] = pair[1];
    return CW_OK;
}

cw_status cwi_pairs_rest(cw_context *ctx, cwi_source *source, cwi_bounds bounds, cwi_pairs_fn fn,
                         void *arg)
{
    enum { AT_ONCE = 1024 };
    int32_t user[AT_ONCE], item[AT_ONCE], pair[2] = {0, 0};
    const char *line;
    size_t length;
    int64_t n = 0;

    for (;;) {
        CW_PASS(cwi_source_line(ctx, source, &line, &length));
        if (!line) break;
        if (length == 0) continue;
        CW_PASS(read_pair(ctx, source, bounds, line, length, pair));
        user[n] = pair[0];
        item[n++] = pair[1];
        if (n < AT_ONCE) continue;
        CW_PASS(fn(arg, user, item, n));
        n = 0;
    }
    return n > 0 ? fn(arg, user, item, n) : CW_OK;
}

cw_status cwi_pairs_each(cw_context *ctx, cwi_source *source, cwi_bounds bounds, cwi_pairs_fn fn,
                         void *arg)
{
    CW_PASS(read_header(ctx, source));
    return cwi_pairs_rest(ctx, source, bounds, fn, arg);
}

static cw_status append_some(void *arg, const int32_t *user, const int32_t *item, int64_t n)
{
    reading *r = arg;
    for (int64_t k = 0; k < n; k++) CW_PASS(append(r->ctx, r, (const int32_t[]){user[k], item[k]}));
    return CW_OK;
}

cw_status cwi_pairs_read(cw_context *ctx, cwi_source *source, cwi_bounds bounds, cwi_pairs *out)
{
    reading r = {.ctx = ctx, .out = out};
    *out = (cwi_pairs){0};
    cw_status status = cwi_pairs_each(ctx, source, bounds, append_some, &r);
    if (status != CW_OK) cwi_pairs_clear(out);
    return status;
}

static cw_status find_id(cw_context *ctx, const cwi_source *source, const char *noun,
                         const cwi_idmap *map, cwi_text id, int32_t *out)
{
    char shown[48];
    *out = cwi_idmap_find(map, id.at, id.length);
    if (*out >= 0) return CW_OK;
    return cwi_source_fail(ctx, source, CW_BAD_DATA, "there is no %s '%s' in the dataset", noun,
                           cwi_excerpt(id.at, id.length, shown));
}

static cw_status add_pair(void *arg, cw_context *ctx, const cwi_source *source, cwi_text user,
                          cwi_text item)
{
    reading *r = arg;
    int32_t pair[2];
    CW_PASS(find_id(ctx, source, "user", r->users, user, &pair[0]));
    CW_PASS(find_id(ctx, source, "item", r->items, item, &pair[1]));
    return append(ctx, r, pair);
}

cw_status cwi_pairs_read_raw(cw_context *ctx, const char *path, const cwi_idmap *users,
                             const cwi_idmap *items, cwi_pairs *out)
{
    cw_status status;
    cwi_source *source = NULL;
    reading r = {.ctx = ctx, .users = users, .items = items, .out = out};

    *out = (cwi_pairs){0};
    CW_TRY(cwi_source_open(ctx, path, &source));
    CW_TRY(cwi_records_pairs(ctx, source, header, header, add_pair, &r));
    if (out->count == 0)
        status = cwi_fail(ctx, CW_BAD_DATA, "%s has no interactions", cwi_source_name(source));
done:
    cwi_source_close(source);
    if (status != CW_OK) cwi_pairs_clear(out);
    return status;
}

cw_status cwi_pairs_drop_repeats(cw_context *ctx, const char *file, cwi_bounds bounds,
                                 cwi_pairs *pairs)
{
    int64_t repeats, overlaps;
    cw_interactions rows = {.count = pairs->count,
                            .user = pairs->user,
                            .item = pairs->item,
                            .users = {.count = bounds.n_users},
                            .items = {.count = bounds.n_items}};
    cw_status status = cwi_drop_repeats(ctx, &rows, &repeats, &overlaps);
    pairs->count = rows.count;
    if (status == CW_OK && repeats > 0)
        cwi_log(ctx, CW_LOG_WARNING, "%s: %lld repeated interaction%s dropped", file,
                (long long)repeats, repeats == 1 ? " was" : "s were");
    return status;
}

static bool begins_like_pairs(const char *start, size_t length)
{
    return length >= sizeof header && memcmp(start, header, sizeof header - 1) == 0 &&
           start[sizeof header - 1] == '\n';
}

const cwi_file_kind cwi_pairs_kind = {"training set", begins_like_pairs, false};

cw_status cwi_pairs_write(cw_context *ctx, const char *path, const cwi_pairs *pairs,
                          char hash[CWI_HASH_BYTES])
{
    cwi_writer *writer;
    CW_PASS(cwi_writer_open(ctx, path, &writer));
    cwi_writer_text(writer, header);
    cwi_writer_put(writer, "\n", 1);
    const cwi_reel reel = cwi_pairs_reel(pairs);
    cwi_window w = cwi_window_over(&reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) {
            cwi_writer_int(writer, w.user[k]);
            cwi_writer_put(writer, ",", 1);
            cwi_writer_int(writer, w.item[k]);
            cwi_writer_put(writer, "\n", 1);
        }
    if (w.status == CW_OK) return cwi_writer_close(ctx, writer, hash);
    cwi_writer_abandon(writer);
    return w.status;
}

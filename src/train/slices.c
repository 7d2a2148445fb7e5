/* slices.c - rounds of reading slices of a file and bringing their rows together. */
#include "train/slices.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"

enum { LEAST_SLICE = 64, MORE_BYTES = 1 << 16 };

static const char header[] = "user,item";

/* A file under way. */
typedef struct slices {
    cw_context *ctx;
    const cwi_world *world;
    const char *path;
    cwi_bounds bounds;
    int root, file;
    int64_t size, slice; /* bytes of the file, and of a slice */
    char *text;          /* of a slice, from byte `from` of the file on */
    size_t capacity;
    int64_t from, length;
    cwi_pairs own, all; /* of the slice at hand; of a round */
    size_t user_capacity, item_capacity, all_user, all_item;
    int *one, *counts; /* [size] */
} slices;

/* ---- a slice --------------------------------------------------------------------------------- */

/* Bytes of the file, appended to the text; *got is less than n at its end. */
static cw_status read_more(slices *s, int64_t n, int64_t *got)
{
    *got = 0;
    CW_PASS(cwi_grow(s->ctx, &s->text, &s->capacity, (size_t)(s->length + n), 1));
    while (*got < n) {
        ssize_t some = pread(s->file, s->text + s->length, (size_t)(n - *got), s->from + s->length);
        if (some < 0 && errno == EINTR) continue;
        if (some < 0) return cwi_fail_errno(s->ctx, "read", s->path);
        if (some == 0) break;
        s->length += some;
        *got += some;
    }
    return CW_OK;
}

/* Place after the first line end at byte `at` of the file or later; -1: there is none in the text.
 */
static int64_t after_line(const slices *s, int64_t at)
{
    if (at >= s->from + s->length) return -1;
    const char *from = s->text + (at - s->from);
    const char *end = memchr(from, '\n', (size_t)(s->text + s->length - from));
    return end ? s->from + (end - s->text) + 1 : -1;
}

/* Read the slice from byte `begin` on: the lines that begin in it are *first .. *end - 1. */
static cw_status read_slice(slices *s, int64_t begin, int64_t *first, int64_t *end)
{
    int64_t stop = begin + s->slice < s->size ? begin + s->slice : s->size, got;
    *first = *end = begin;
    if (begin >= s->size) return CW_OK;
    s->from = begin > 0 ? begin - 1 : 0;
    s->length = 0;
    CW_PASS(read_more(s, stop - s->from, &got));
    if (begin > 0) *first = after_line(s, begin - 1);
    if (*first < 0 || *first >= stop) { /* it is inside of a line */
        *first = *end = begin;
        return CW_OK;
    }
    while ((*end = after_line(s, stop - 1)) < 0) {
        CW_PASS(read_more(s, MORE_BYTES, &got));
        if (got > 0) continue;
        *end = s->from + s->length;
        break;
    }
    return CW_OK;
}

static cw_status keep(void *arg, const int32_t *user, const int32_t *item, int64_t n)
{
    slices *s = arg;
    size_t need = (size_t)(s->own.count + n), bytes = (size_t)n * sizeof *user;
    CW_PASS(cwi_grow(s->ctx, &s->own.user, &s->user_capacity, need, sizeof *user));
    CW_PASS(cwi_grow(s->ctx, &s->own.item, &s->item_capacity, need, sizeof *item));
    memcpy(s->own.user + s->own.count, user, bytes);
    memcpy(s->own.item + s->own.count, item, bytes);
    s->own.count += n;
    return CW_OK;
}

/* Lines of the text; `before` of them come earlier in the file, as messages have it. */
static cw_status parse(slices *s, int64_t first, int64_t end, int64_t before)
{
    cwi_source *source;
    const char *text = s->text + (first - s->from);
    s->own.count = 0;
    CW_PASS(cwi_source_open_memory(s->ctx, s->path, text, (size_t)(end - first), &source));
    cwi_source_set_line(source, before);
    cw_status status = first == 0 ? cwi_pairs_each(s->ctx, source, s->bounds, keep, s)
                                  : cwi_pairs_rest(s->ctx, source, s->bounds, keep, s);
    cwi_source_close(source);
    return status;
}

/* Lines that end before byte `end` of the file. */
static cw_status count_lines(slices *s, int64_t end, int64_t *lines)
{
    char some[1 << 14];
    *lines = 0;
    for (int64_t at = 0; at < end;) {
        int64_t n = end - at < (int64_t)sizeof some ? end - at : (int64_t)sizeof some;
        ssize_t got = pread(s->file, some, (size_t)n, at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return CW_BAD_DATA; /* what was wrong is known without the number */
        for (ssize_t k = 0; k < got; k++) *lines += some[k] == '\n';
        at += got;
    }
    return CW_OK;
}

/* Rows of a slice.  Lines are counted where one is wrong alone: it is read once more then. */
static cw_status take_slice(slices *s, int64_t begin)
{
    int64_t first, end, before;
    CW_PASS(read_slice(s, begin, &first, &end));
    s->own.count = 0;
    if (first == end) return CW_OK;
    cw_status status = parse(s, first, end, 0);
    if (status != CW_BAD_DATA || first == 0) return status;
    CW_PASS(count_lines(s, first, &before));
    cwi_begin(s->ctx);
    return parse(s, first, end, before);
}

/* ---- a round ----------------------------------------------------------------------------------
 */

static void bring(slices *s, const int32_t *own, int32_t *all)
{
    if (s->root < 0)
        s->world->calls->gather(own, (int)s->own.count, all, s->counts, sizeof *own);
    else
        s->world->calls->collect(s->root, own, (int)s->own.count, all, s->counts, sizeof *own);
}

static cw_status share_round(slices *s, cwi_pairs_fn fn, void *arg)
{
    const cwi_world *w = s->world;
    bool is_wanted = s->root < 0 || s->root == w->rank;
    int own = (int)s->own.count;
    int64_t at = 0;
    w->calls->gather(&own, 1, s->counts, s->one, sizeof own);
    s->all.count = 0;
    for (int p = 0; p < w->size && is_wanted; p++) s->all.count += s->counts[p];
    size_t need = (size_t)s->all.count + 1;
    CW_PASS(cwi_grow(s->ctx, &s->all.user, &s->all_user, need, sizeof *s->all.user));
    CW_PASS(cwi_grow(s->ctx, &s->all.item, &s->all_item, need, sizeof *s->all.item));
    CW_PASS(cwi_grow(s->ctx, &s->own.user, &s->user_capacity, 1, sizeof *s->own.user));
    CW_PASS(cwi_grow(s->ctx, &s->own.item, &s->item_capacity, 1, sizeof *s->own.item));
    bring(s, s->own.user, s->all.user);
    bring(s, s->own.item, s->all.item);
    for (int p = 0; p < w->size && is_wanted; at += s->counts[p++])
        if (s->counts[p] > 0) CW_PASS(fn(arg, s->all.user + at, s->all.item + at, s->counts[p]));
    return CW_OK;
}

static cw_status read_rounds(slices *s, cwi_pairs_fn fn, void *arg)
{
    int64_t round = s->slice * s->world->size;
    for (int64_t begin = 0; begin < s->size; begin += round) {
        CW_PASS(cwi_progress(s->ctx, "reading the dataset", begin, s->size));
        CW_PASS(take_slice(s, begin + s->slice * s->world->rank));
        CW_PASS(share_round(s, fn, arg));
    }
    return CW_OK;
}

/* ---- the file -----------------------------------------------------------------------------------
 */

/* Does it begin as such a file does, and is it one whose end is known? */
static bool look(slices *s)
{
    struct stat about;
    char start[sizeof header - 1];
    s->file = open(s->path, O_RDONLY | O_CLOEXEC);
    if (s->file < 0 || fstat(s->file, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    s->size = about.st_size;
    return pread(s->file, start, sizeof start, 0) == (ssize_t)sizeof start &&
           memcmp(start, header, sizeof start) == 0;
}

static void clear(slices *s)
{
    if (s->file >= 0) close(s->file);
    cwi_free(s->text);
    cwi_pairs_clear(&s->own);
    cwi_pairs_clear(&s->all);
    cwi_free(s->one);
    cwi_free(s->counts);
}

cw_status cwi_slices_each(cw_context *ctx, const cwi_world *world, int root, const char *path,
                          cwi_bounds bounds, int64_t round_bytes, cwi_pairs_fn fn, void *arg,
                          bool *is_read)
{
    cw_status status;
    slices s = {.ctx = ctx, .world = world, .path = path, .bounds = bounds, .root = root};
    s.slice = round_bytes / world->size > LEAST_SLICE ? round_bytes / world->size : LEAST_SLICE;
    const int64_t found[] = { *is_read = look(&s), s.size};
    CW_TRY(cwi_world_agree(ctx, world, "the data are others", found, sizeof found));
    s.one = cwi_alloc(ctx, (size_t)world->size, sizeof *s.one);
    s.counts = cwi_alloc(ctx, (size_t)world->size, sizeof *s.counts);
    CW_TRY(s.one && s.counts ? CW_OK : CW_NO_MEMORY);
    for (int p = 0; p < world->size; p++) s.one[p] = 1;
    if (*is_read) CW_TRY(read_rounds(&s, fn, arg));
done:
    clear(&s);
    return status;
}

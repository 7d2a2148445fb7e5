/* test_arrow.c - interactions from Arrow streams, arrays and matrices. */
#include <math.h>

#include "arrow_sample.h"
#include "core/options.h"
#include "import_check.h"

static const int32_t text_offsets[] = {0, 3, 6, 9};
static const int64_t numbers[] = {7, 8, 7};

/* Users ann, bob, ann2 and items 7, 8, 7. */
static void fill_plain(sample_stream *s)
{
    *s = (sample_stream){0};
    sample_fill(s, 0, 0, "user", "u", 3, text_offsets, "annbobeve");
    sample_fill(s, 1, 0, "item", "l", 3, numbers, NULL);
}

typedef struct bed {
    listener l;
    sample_stream s;
    cw_interactions *rows;
} bed;

static int open_bed(void **state)
{
    bed *b = calloc(1, sizeof *b);
    listener_init(&b->l);
    fill_plain(&b->s);
    *state = b;
    return 0;
}

static int close_bed(void **state)
{
    bed *b = *state;
    cw_interactions_free(b->rows);
    listener_clear(&b->l);
    free(b);
    return 0;
}

static cw_status import_with(bed *b, const char *const *pairs)
{
    struct ArrowArrayStream *stream = sample_open(&b->s);
    cw_options *options = import_options(b->l.ctx, pairs);
    cw_interactions_free(b->rows);
    cw_status status = cw_import_arrow(b->l.ctx, &stream, NULL, 1, options, &b->rows);
    cw_options_free(options);
    assert_int_equal(b->s.given, b->s.released); /* nothing is kept, whatever happens */
    return status;
}

static void expect_read(bed *b, int64_t count)
{
    if (import_with(b, NULL) != CW_OK) fail_msg("%s", cw_context_error(b->l.ctx));
    assert_int_equal(cw_interactions_count(b->rows), count);
}

static void expect_refused(bed *b, const char *message)
{
    assert_int_not_equal(import_with(b, NULL), CW_OK);
    assert_string_equal(cw_context_error(b->l.ctx), message);
    assert_null(b->rows);
}

/* ---- what is read ------------------------------------------------------------------- */

static void text_and_numbers_are_ids(void **state)
{
    bed *b = *state;
    expect_read(b, 3);
    assert_row(b->rows, 0, "ann", "7");
    assert_row(b->rows, 1, "bob", "8");
    assert_row(b->rows, 2, "eve", "7");
    assert_int_equal(cw_interactions_items(b->rows), 2);
}

static void every_width_of_integers_is_an_id(void **state)
{
    static const int8_t i8[] = {-1, 2, 3};
    static const uint8_t u8[] = {255, 2, 3};
    static const int16_t i16[] = {-300, 2, 3};
    static const uint16_t u16[] = {65535, 2, 3};
    static const int32_t i32[] = {-70000, 2, 3};
    static const uint32_t u32[] = {4294967295u, 2, 3};
    static const int64_t i64[] = {INT64_MIN, 2, 3};
    static const uint64_t u64[] = {UINT64_MAX, 2, 3};
    static const struct {
        const char *format;
        const void *values;
        const char *first;
    } kinds[] = {{"c", i8, "-1"},
                 {"C", u8, "255"},
                 {"s", i16, "-300"},
                 {"S", u16, "65535"},
                 {"i", i32, "-70000"},
                 {"I", u32, "4294967295"},
                 {"l", i64, "-9223372036854775808"},
                 {"L", u64, "18446744073709551615"}};
    bed *b = *state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        fill_plain(&b->s);
        sample_fill(&b->s, 1, 0, "item", kinds[k].format, 3, kinds[k].values, NULL);
        expect_read(b, 3);
        assert_row(b->rows, 0, "ann", kinds[k].first);
        assert_row(b->rows, 1, "bob", "2");
    }
}

static void large_and_binary_text_are_read(void **state)
{
    static const int64_t offsets[] = {0, 1, 3, 6};
    static const char *const formats[] = {"U", "Z"};
    bed *b = *state;
    for (int k = 0; k < 2; k++) {
        fill_plain(&b->s);
        sample_fill(&b->s, 1, 0, "item", formats[k], 3, offsets, "abbccc");
        expect_read(b, 3);
        assert_row(b->rows, 2, "eve", "ccc");
    }
    fill_plain(&b->s);
    b->s.column[0].format = "z";
    expect_read(b, 3);
}

/* A view: length, then up to 12 bytes of text; or 4 of them, the buffer and the place in it. */
typedef struct view {
    int32_t length;
    union {
        char near[12];
        struct {
            char prefix[4];
            int32_t buffer, place;
        } far;
    };
} view;

static void fill_views(sample_stream *s, view views[3], const int64_t *sizes)
{
    static const char far_text[] = "....a title of some length";
    fill_plain(s);
    sample_fill(s, 1, 0, "item", "vu", 3, views, far_text);
    s->column[1].buffers[0][3] = sizes;
    s->column[1].array[0].n_buffers = 4;
}

static void views_of_text_are_read(void **state)
{
    static const int64_t sizes[] = {26};
    bed *b = *state;
    view views[3] = {{5, {"short"}}, {22, {.far = {"a ti", 0, 4}}}, {0, {""}}};
    fill_views(&b->s, views, sizes);
    views[2] = views[0];
    expect_read(b, 3);
    assert_row(b->rows, 0, "ann", "short");
    assert_row(b->rows, 1, "bob", "a title of some length");
    views[1].far.place = 5;
    fill_views(&b->s, views, sizes);
    expect_refused(b, "the Arrow data are malformed: text lies outside its buffer");
    views[1] = (view){22, {.far = {"a ti", 1, 0}}};
    fill_views(&b->s, views, sizes);
    expect_refused(b, "the Arrow data are malformed: text lies outside its buffer");
    views[1].length = -1;
    fill_views(&b->s, views, sizes);
    expect_refused(b, "the Arrow data are malformed: a length of text is negative");
}

static void dictionaries_are_followed(void **state)
{
    static const int8_t place[] = {1, 0, 1};
    static const int32_t offsets[] = {0, 4, 7};
    bed *b = *state;
    sample_fill(&b->s, 1, 0, "item", "c", 3, place, NULL);
    sample_words(&b->s, 1, "u", 2, offsets, "zeroone");
    expect_read(b, 3);
    assert_row(b->rows, 0, "ann", "one");
    assert_row(b->rows, 1, "bob", "zero");
}

static void places_outside_a_dictionary_are_refused(void **state)
{
    static const int8_t place[] = {1, 2, 1};
    static const uint64_t far_place[] = {1, UINT64_MAX, 1};
    static const int32_t offsets[] = {0, 4, 7};
    bed *b = *state;
    sample_fill(&b->s, 1, 0, "item", "c", 3, place, NULL);
    sample_words(&b->s, 1, "u", 2, offsets, "zeroone");
    expect_refused(b, "the Arrow data are malformed: a value is not in its dictionary");
    fill_plain(&b->s);
    sample_fill(&b->s, 1, 0, "item", "L", 3, far_place, NULL);
    sample_words(&b->s, 1, "u", 2, offsets, "zeroone");
    expect_refused(b, "the Arrow data are malformed: a value is not in its dictionary");
    fill_plain(&b->s);
    b->s.column[1].word_schema.format = "u";
    expect_refused(b, "the Arrow data of column item are malformed: its dictionary is missing");
}

static void batches_and_offsets_add_up(void **state)
{
    static const int32_t more[] = {0, 3, 4};
    static const int64_t items[] = {1, 2, 3, 4, 5};
    bed *b = *state;
    sample_fill(&b->s, 0, 1, "user", "u", 2, more, "annx");
    sample_fill(&b->s, 1, 1, "item", "l", 2, items, NULL);
    b->s.column[1].array[1].offset = 3;
    expect_read(b, 5);
    assert_row(b->rows, 3, "ann", "4");
    assert_row(b->rows, 4, "x", "5");
    fill_plain(&b->s); /* the offset of the batch counts for all its columns */
    b->s.rows[0] = 2;
    b->s.offset[0] = 1;
    expect_read(b, 2);
    assert_row(b->rows, 0, "bob", "8");
}

static void times_of_every_kind_are_seconds(void **state)
{
    static const int32_t days[] = {1, 2, 3};
    static const int64_t units[] = {86400, 2, 3}, millis[] = {86400000, 2, 3};
    static const int64_t micros[] = {86400000000, 2, 3}, nanos[] = {86400000000000, 2, 3};
    static const double reals[] = {86400, 2, 3};
    static const int32_t offsets[] = {0, 10, 20, 30};
    static const struct {
        const char *format;
        const void *values;
        const char *text;
    } kinds[] = {{"tdD", days, NULL},
                 {"tdm", millis, NULL},
                 {"tss:", units, NULL},
                 {"tsm:UTC", millis, NULL},
                 {"tsu:", micros, NULL},
                 {"tsn:Europe/Berlin", nanos, NULL},
                 {"l", units, NULL},
                 {"g", reals, NULL},
                 {"u", offsets, "1970-01-021970-01-031970-01-04"}};
    bed *b = *state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        fill_plain(&b->s);
        sample_fill(&b->s, 2, 0, "when", kinds[k].format, 3, kinds[k].values, kinds[k].text);
        assert_int_equal(import_with(b, PAIRS("columns", "user=user,item=item,time=when")), CW_OK);
        assert_true(b->rows->time[0] == 86400.0);
    }
}

static void ratings_are_compared(void **state)
{
    static const float reals[] = {4.5f, 1, 5};
    static const uint8_t bits[] = {5};
    bed *b = *state;
    sample_fill(&b->s, 2, 0, "stars", "f", 3, reals, NULL);
    assert_int_equal(import_with(b, PAIRS("min-rating", "4")), CW_OK);
    assert_int_equal(cw_interactions_count(b->rows), 2);
    assert_row(b->rows, 1, "eve", "7");
    fill_plain(&b->s);
    sample_fill(&b->s, 2, 0, "rating", "b", 3, bits, NULL);
    assert_int_equal(import_with(b, PAIRS("min-rating", "1")), CW_OK);
    assert_int_equal(cw_interactions_count(b->rows), 2);
}

static void columns_are_chosen_and_others_named(void **state)
{
    bed *b = *state;
    sample_fill(&b->s, 2, 0, "note", "+l", 3, numbers, NULL); /* of no interest, whatever it is */
    expect_read(b, 3);
    assert_non_null(
        strstr(b->l.log, "table: user in column user, item in column item; ignored: note"));
    fill_plain(&b->s);
    assert_int_equal(import_with(b, PAIRS("columns", "user=2,item=user")), CW_OK);
    assert_row(b->rows, 0, "7", "ann");
    fill_plain(&b->s);
    assert_int_equal(import_with(b, PAIRS("columns", "user=who,item=item")), CW_BAD_ARG);
    assert_string_equal(cw_context_error(b->l.ctx),
                        "--columns: table has no column 'who'; it has user, item");
    fill_plain(&b->s);
    assert_int_equal(import_with(b, PAIRS("columns", "user=1,item=9")), CW_BAD_ARG);
    assert_string_equal(cw_context_error(b->l.ctx),
                        "--columns: table has no column 9; it has user, item");
}

/* ---- what is missing ------------------------------------------------------------------ */

static void nulls_are_malformed_rows(void **state)
{
    static const uint8_t bits[] = {5}; /* the second is null */
    bed *b = *state;
    sample_nulls(&b->s, 0, 0, bits, 1);
    expect_refused(b, "table:2: user id is empty");
    fill_plain(&b->s);
    sample_nulls(&b->s, 1, 0, bits, -1); /* not counted yet */
    assert_int_equal(import_with(b, PAIRS("skip-bad", "1")), CW_OK);
    assert_int_equal(cw_interactions_count(b->rows), 2);
    assert_non_null(strstr(b->l.log, "1 malformed line was left out, first table:2: item id"));
    fill_plain(&b->s);
    sample_nulls(&b->s, 1, 0, NULL, 1);
    expect_refused(b, "the Arrow data of column item are malformed: there are nulls and no bitmap");
}

static void numbers_that_are_none_are_malformed(void **state)
{
    static const double reals[] = {4, NAN, 5}, huge[] = {4, -INFINITY, 5};
    bed *b = *state;
    sample_fill(&b->s, 2, 0, "rating", "g", 3, reals, NULL);
    expect_refused(b, "table:2: rating 'nan' is not a number between -1e15 and 1e15");
    fill_plain(&b->s);
    sample_fill(&b->s, 2, 0, "rating", "g", 3, huge, NULL);
    expect_refused(b, "table:2: rating '-inf' is not a number between -1e15 and 1e15");
    fill_plain(&b->s);
    sample_fill(&b->s, 2, 0, "t", "g", 3, reals, NULL);
    assert_int_equal(import_with(b, PAIRS("columns", "user=1,item=2,time=t")), CW_BAD_DATA);
    assert_string_equal(cw_context_error(b->l.ctx),
                        "table:2: time 'nan' is not a number of seconds or an ISO date");
    fill_plain(&b->s);
    sample_fill(&b->s, 2, 0, "time", "g", 3, reals, NULL);
    expect_read(b, 3); /* only its name says that it is a time */
    assert_null(b->rows->time);
}

static void zero_bytes_and_limits_are_refused(void **state)
{
    bed *b = *state;
    sample_fill(&b->s, 0, 0, "user", "u", 3, text_offsets, "a\0nbobeve");
    expect_refused(b, "table:1: an id has a zero byte");
    fill_plain(&b->s);
    assert_int_equal(import_with(b, PAIRS("max-rows", "2")), CW_BAD_DATA);
    assert_string_equal(cw_context_error(b->l.ctx),
                        "table:3: there are more than 2 rows, the limit of --max-rows");
}

static void types_that_do_not_fit_are_named(void **state)
{
    static const double reals[] = {1, 2, 3};
    bed *b = *state;
    sample_fill(&b->s, 1, 0, "item", "g", 3, reals, NULL);
    expect_refused(b,
                   "table: the item column item has the Arrow type 'g'; ids are integers or text");
    fill_plain(&b->s);
    sample_fill(&b->s, 2, 0, "rating", "u", 3, text_offsets, "annbobeve");
    expect_refused(b,
                   "table: the rating column rating has the Arrow type 'u'; ratings are numbers");
    fill_plain(&b->s);
    b->s.column[0].name = "a";
    b->s.column[1].name = "b";
    expect_refused(b, "table: no user column is known by its name; there are a, b: choose with "
                      "--columns user=..,item=..");
}

/* ---- malformed streams ------------------------------------------------------------------ */

static void lengths_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        int64_t length, offset, rows;
        const char *what;
    } wrong[] = {{2, 0, 3, "it is shorter than the batch"},
                 {-1, 0, 3, "a length or offset is negative"},
                 {3, -1, 3, "a length or offset is negative"},
                 {INT64_MAX, INT64_MAX, 3, "the offset is too large"},
                 {INT64_MAX, 0, INT64_MAX, "the offset is too large"}};
    char message[128];
    bed *b = *state;
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        fill_plain(&b->s);
        b->s.column[0].array[0].length = wrong[k].length;
        b->s.column[0].array[0].offset = wrong[k].offset;
        b->s.rows[0] = wrong[k].rows;
        snprintf(message, sizeof message, "the Arrow data of column user are malformed: %s",
                 wrong[k].what);
        expect_refused(b, message);
    }
}

static void buffers_that_are_missing_are_refused(void **state)
{
    bed *b = *state;
    b->s.column[0].array[0].n_buffers = 2;
    expect_refused(b, "the Arrow data of column user are malformed: the number of buffers is not "
                      "that of its type");
    fill_plain(&b->s);
    b->s.column[1].buffers[0][1] = NULL;
    expect_refused(b,
                   "the Arrow data of column item are malformed: the buffer of values is missing");
    fill_plain(&b->s);
    b->s.column[0].buffers[0][2] = NULL;
    expect_refused(b, "the Arrow data are malformed: the buffer of text is missing");
}

static void offsets_that_go_backwards_are_refused(void **state)
{
    static const int32_t back[] = {0, 3, 2, 9}, below[] = {-1, 3, 6, 9};
    bed *b = *state;
    sample_fill(&b->s, 0, 0, "user", "u", 3, back, "annbobeve");
    expect_refused(b, "the Arrow data are malformed: offsets of text go backwards");
    fill_plain(&b->s);
    sample_fill(&b->s, 0, 0, "user", "u", 3, below, "annbobeve");
    expect_refused(b, "the Arrow data are malformed: offsets of text go backwards");
}

static void streams_that_fail_say_why(void **state)
{
    bed *b = *state;
    b->s.fails_schema = EIO;
    expect_refused(b, "the Arrow stream failed: the server hung up");
    fill_plain(&b->s);
    b->s.fails_batch = 2;
    expect_refused(b, "the Arrow stream failed: the server hung up");
    fill_plain(&b->s);
    b->s.root_format = "l";
    expect_refused(b,
                   "the Arrow stream has the type 'l'; it must be a table with up to 4096 columns");
    fill_plain(&b->s);
    b->s.n_batches = 0;
    expect_refused(b, "no interactions are left of table: 0 lines, 0 malformed, 0 below "
                      "--min-rating");
}

static void a_stream_is_read_once(void **state)
{
    bed *b = *state;
    struct ArrowArrayStream *stream = sample_open(&b->s);
    stream->release(stream);
    assert_int_equal(cw_import_arrow(b->l.ctx, &stream, NULL, 1, NULL, &b->rows), CW_BAD_ARG);
    assert_string_equal(cw_context_error(b->l.ctx),
                        "Arrow stream 1 was released: each is read once");
    assert_int_equal(cw_import_arrow(b->l.ctx, NULL, NULL, 0, NULL, &b->rows), CW_BAD_ARG);
}

static bool stop(void *user, const char *stage, int64_t done, int64_t total)
{
    (void)user;
    (void)stage;
    (void)done;
    (void)total;
    return false;
}

static void reading_can_be_stopped(void **state)
{
    bed *b = *state;
    cw_context_set_progress(b->l.ctx, stop, NULL);
    assert_int_equal(import_with(b, NULL), CW_CANCELLED);
}

static void parts_become_a_given_split(void **state)
{
    static const cw_part parts[] = {CW_PART_TRAIN, CW_PART_TEST};
    static const cw_part wrong[] = {CW_PART_TRAIN, (cw_part)7};
    static const int64_t others[] = {9, 8, 7}; /* bob 8 and eve 7 are in train */
    bed *b = *state;
    sample_stream test;
    fill_plain(&test);
    sample_fill(&test, 1, 0, "item", "l", 3, others, NULL);
    struct ArrowArrayStream *streams[] = {sample_open(&b->s), sample_open(&test)};
    assert_int_equal(cw_import_arrow(b->l.ctx, streams, parts, 2, NULL, &b->rows), CW_OK);
    assert_true(cw_interactions_are_split(b->rows));
    assert_int_equal(cw_interactions_count(b->rows), 4);
    assert_int_equal(b->rows->part[3], CW_PART_TEST);
    assert_int_equal(test.given, test.released);
    cw_interactions_free(b->rows);
    fill_plain(&b->s);
    fill_plain(&test);
    streams[0] = sample_open(&b->s);
    streams[1] = sample_open(&test);
    assert_int_equal(cw_import_arrow(b->l.ctx, streams, wrong, 2, NULL, &b->rows), CW_BAD_ARG);
    assert_string_equal(cw_context_error(b->l.ctx), "parts[1] is 7, which is no part of a split");
    assert_int_equal(test.given, test.released);
}

/* ---- arrays ------------------------------------------------------------------------------ */

static void arrays_may_have_text_ratings_and_parts(void **state)
{
    static const char *const users[] = {"ann", "bob", "ann", "ann"};
    static const int64_t items[] = {1, 2, 3, 4};
    static const double rating[] = {5, 1, 4, 5}, time[] = {1, 2, 3, 4};
    static const uint8_t part[] = {0, 0, 1, 2};
    bed *b = *state;
    const cw_arrays arrays = {
        .n = 4, .user = users, .item_number = items, .rating = rating, .time = time, .part = part};
    cw_options *options = import_options(b->l.ctx, PAIRS("min-rating", "4"));
    assert_int_equal(cw_import_arrays(b->l.ctx, &arrays, options, &b->rows), CW_OK);
    cw_options_free(options);
    assert_int_equal(cw_interactions_count(b->rows), 3);
    assert_row(b->rows, 1, "ann", "3");
    assert_int_equal(b->rows->part[2], CW_PART_TEST);
    assert_true(b->rows->time[1] == 3);
}

static void expect_bad_arrays(bed *b, const cw_arrays *arrays, const char *message)
{
    assert_int_not_equal(cw_import_arrays(b->l.ctx, arrays, NULL, &b->rows), CW_OK);
    assert_string_equal(cw_context_error(b->l.ctx), message);
    assert_null(b->rows);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    static const char *const text[] = {"a", "", NULL};
    static const int64_t number[] = {1, 2, 3};
    static const uint8_t part[] = {0, 0, 3};
    static const double rating[] = {1, 2, NAN};
    bed *b = *state;
    expect_bad_arrays(b, NULL, "there are no arrays");
    expect_bad_arrays(b, &(cw_arrays){.n = 0}, "the arrays have 0 entries; one is needed");
    expect_bad_arrays(b, &(cw_arrays){.n = 1, .user = text},
                      "the items must be numbers or text: one of the two");
    expect_bad_arrays(b, &(cw_arrays){.n = 1, .user = text, .user_number = number},
                      "the users must be numbers or text: one of the two");
    expect_bad_arrays(b, &(cw_arrays){.n = 3, .user = text, .item = text},
                      "arrays:2: user id is empty");
    expect_bad_arrays(
        b, &(cw_arrays){.n = 3, .user_number = number, .item_number = number, .part = part},
        "part[2] is 3; it must lie between 0 and 2");
    expect_bad_arrays(
        b, &(cw_arrays){.n = 3, .user_number = number, .item_number = number, .rating = rating},
        "arrays:3: rating 'nan' is not a number between -1e15 and 1e15");
}

/* ---- matrices ---------------------------------------------------------------------------- */

static cw_dataset *prepare(bed *b, const char *split)
{
    cw_options *options;
    cw_dataset *dataset;
    assert_int_equal(cw_options_create(b->l.ctx, "prepare", &options), CW_OK);
    assert_int_equal(cw_options_set(b->l.ctx, options, "split", split), CW_OK);
    if (cw_dataset_prepare(b->l.ctx, b->rows, options, &dataset) != CW_OK)
        fail_msg("%s", cw_context_error(b->l.ctx));
    cw_options_free(options);
    return dataset;
}

static void a_matrix_keeps_its_rows_and_columns(void **state)
{
    /* row 1 and column 0 are empty; row 3 is not in order and has an entry twice */
    static const int32_t start[] = {0, 2, 2, 3, 7}, item[] = {4, 2, 3, 5, 1, 5, 2};
    static const int64_t start64[] = {0, 2, 2, 3, 7}, item64[] = {4, 2, 3, 5, 1, 5, 2};
    const cw_matrix both[] = {{4, 6, 4, start, item}, {4, 6, 8, start64, item64}};
    bed *b = *state;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(cw_import_matrix(b->l.ctx, &both[k], 1, &b->rows), CW_OK);
        assert_int_equal(cw_interactions_count(b->rows), 6);
        cw_dataset *dataset = prepare(b, "random");
        assert_int_equal(cw_dataset_users(dataset), 4);
        assert_int_equal(cw_dataset_items(dataset), 6);
        assert_string_equal(cw_dataset_user_id(dataset, 3), "3");
        assert_string_equal(cw_dataset_item_id(dataset, 5), "5");
        int64_t of_row_1 = 0;
        for (int64_t r = 0; r < cw_dataset_count(dataset, CW_PART_TRAIN); r++)
            of_row_1 += cw_dataset_part_users(dataset, CW_PART_TRAIN)[r] == 1;
        assert_int_equal(of_row_1, 0);
        cw_dataset_free(dataset);
        cw_interactions_free(b->rows);
        b->rows = NULL;
    }
}

static void matrices_become_a_given_split(void **state)
{
    static const int32_t start[] = {0, 2, 3, 4}, item[] = {0, 1, 1, 2};
    static const int32_t none[] = {0, 0, 0, 0}, test_start[] = {0, 1, 2, 2}, test_item[] = {1, 0};
    const cw_matrix parts[] = {
        {3, 3, 4, start, item}, {3, 3, 4, none, NULL}, {3, 3, 4, test_start, test_item}};
    bed *b = *state;
    assert_int_equal(cw_import_matrix(b->l.ctx, parts, 3, &b->rows), CW_OK);
    assert_true(cw_interactions_are_split(b->rows));
    cw_dataset *dataset = prepare(b, "given");
    assert_int_equal(cw_dataset_count(dataset, CW_PART_TRAIN), 4);
    assert_int_equal(cw_dataset_count(dataset, CW_PART_VALID), 0);
    assert_int_equal(cw_dataset_count(dataset, CW_PART_TEST), 1); /* (0, 1) is in train */
    cw_dataset_free(dataset);
}

static void expect_bad_matrix(bed *b, cw_matrix matrix, const char *message)
{
    assert_int_equal(cw_import_matrix(b->l.ctx, &matrix, 1, &b->rows), CW_BAD_ARG);
    assert_string_equal(cw_context_error(b->l.ctx), message);
    assert_null(b->rows);
}

static void matrices_that_are_none_are_refused(void **state)
{
    static const int32_t start[] = {0, 1, 2}, back[] = {0, 2, 1}, late[] = {1, 2, 3};
    static const int32_t none[] = {0, 0, 0}, item[] = {0, 1}, below[] = {0, -1}, above[] = {0, 2};
    const cw_matrix shapes[] = {{2, 2, 4, start, item}, {2, 3, 4, start, item}};
    bed *b = *state;
    expect_bad_matrix(b, (cw_matrix){0, 2, 4, start, item},
                      "the matrix has 0 rows and 2 columns; at least one of each is needed");
    expect_bad_matrix(b, (cw_matrix){2, 2, 2, start, item},
                      "numbers of a matrix have 4 or 8 bytes, not 2");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, NULL, item}, "the starts of the rows are missing");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, start, NULL}, "the items of the matrix are missing");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, back, item},
                      "start[2] of the matrix is 1, below the one before");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, late, item}, "start[0] of the matrix is 1, not 0");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, none, item}, "there is no entry in the matrix");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, start, below},
                      "item -1 in row 1 of the matrix must lie between 0 and 1");
    expect_bad_matrix(b, (cw_matrix){2, 2, 4, start, above},
                      "item 2 in row 1 of the matrix must lie between 0 and 1");
    assert_int_equal(cw_import_matrix(b->l.ctx, shapes, 2, &b->rows), CW_BAD_ARG);
    assert_string_equal(cw_context_error(b->l.ctx),
                        "a part has 2 rows and 3 columns, train has 2 and 2");
    assert_int_equal(cw_import_matrix(b->l.ctx, shapes, 4, &b->rows), CW_BAD_ARG);
    assert_int_equal(cw_import_matrix(b->l.ctx, NULL, 1, &b->rows), CW_BAD_ARG);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_bed, close_bed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(text_and_numbers_are_ids),
        CASE(every_width_of_integers_is_an_id),
        CASE(large_and_binary_text_are_read),
        CASE(views_of_text_are_read),
        CASE(dictionaries_are_followed),
        CASE(places_outside_a_dictionary_are_refused),
        CASE(batches_and_offsets_add_up),
        CASE(times_of_every_kind_are_seconds),
        CASE(ratings_are_compared),
        CASE(columns_are_chosen_and_others_named),
        CASE(nulls_are_malformed_rows),
        CASE(numbers_that_are_none_are_malformed),
        CASE(zero_bytes_and_limits_are_refused),
        CASE(types_that_do_not_fit_are_named),
        CASE(lengths_that_do_not_fit_are_refused),
        CASE(buffers_that_are_missing_are_refused),
        CASE(offsets_that_go_backwards_are_refused),
        CASE(streams_that_fail_say_why),
        CASE(a_stream_is_read_once),
        CASE(reading_can_be_stopped),
        CASE(parts_become_a_given_split),
        CASE(arrays_may_have_text_ratings_and_parts),
        CASE(arrays_that_do_not_fit_are_refused),
        CASE(a_matrix_keeps_its_rows_and_columns),
        CASE(matrices_become_a_given_split),
        CASE(matrices_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

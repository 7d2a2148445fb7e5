/* test_import.c - raw formats and bad input, on small files written here. */
#include "import/import.h"
#include "import_check.h"

#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/mem.h"

typedef struct bed {
    cw_context *ctx;
    char folder[64];
    char log[4096]; /* warnings and infos, one a line */
    cw_interactions *rows;
    cw_status status;
} bed;

static void remember(void *user, cw_log_level level, const char *text)
{
    bed *b = user;
    size_t used = strlen(b->log);
    snprintf(b->log + used, sizeof b->log - used, "%s%s\n",
             level == CW_LOG_WARNING ? "W:" : "I:", text);
}

static int set_up(void **state)
{
    bed *b = calloc(1, sizeof *b);
    if (!b || cw_context_create(&b->ctx) != CW_OK) return -1;
    strcpy(b->folder, "test_import_XXXXXX");
    if (!mkdtemp(b->folder)) return -1;
    cw_context_set_log(b->ctx, remember, b);
    *state = b;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    bed *b = *state;
    cw_interactions_free(b->rows);
    cw_context_free(b->ctx);
    int failed = nftw(b->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(b);
    return failed;
}

static const char *path_of(bed *b, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", b->folder, name);
    return out;
}

static void write_bytes(bed *b, const char *name, const void *bytes, size_t length)
{
    char path[256];
    FILE *file = fopen(path_of(b, name, path), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void write_text(bed *b, const char *name, const char *text)
{
    write_bytes(b, name, text, strlen(text));
}

static void write_gzip(bed *b, const char *name, const char *text)
{
    char path[256];
    gzFile file = gzopen(path_of(b, name, path), "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

/* Import files of the folder (their names, NULL at the end) with these options. */
static cw_status import_names(bed *b, const char *const *names, const char *const *pairs)
{
    char path[4][256];
    const char *paths[4];
    size_t n = 0;

    for (; names[n]; n++) paths[n] = path_of(b, names[n], path[n]);
    cw_interactions_free(b->rows);
    b->log[0] = '\0';
    cw_options *options = import_options(b->ctx, pairs);
    b->status = cw_import(b->ctx, paths, n, options, &b->rows);
    if (b->status != CW_OK) assert_null(b->rows);
    if (b->status == CW_OK) assert_string_equal(cw_context_error(b->ctx), "");
    cw_options_free(options);
    return b->status;
}

static cw_status import_text(bed *b, const char *text, const char *const *pairs)
{
    write_text(b, "x.csv", text);
    return import_names(b, PAIRS("x.csv"), pairs);
}

static void expect_rows(bed *b, int64_t count, int32_t users, int32_t items)
{
    assert_string_equal(cw_context_error(b->ctx), "");
    assert_non_null(b->rows);
    assert_int_equal(cw_interactions_count(b->rows), count);
    assert_int_equal(cw_interactions_users(b->rows), users);
    assert_int_equal(cw_interactions_items(b->rows), items);
}

/* The message, without the folder of this test. */
static void expect_error(bed *b, cw_status status, const char *wanted)
{
    const char *error = cw_context_error(b->ctx);
    size_t length = strlen(b->folder);
    char shown[1200] = "";

    for (size_t used = 0; *error;) {
        if (strncmp(error, b->folder, length) == 0 && error[length] == '/')
            error += length + 1;
        else
            shown[used++] = *error++;
    }
    assert_string_equal(shown, wanted);
    assert_int_equal(b->status, status);
}

static void expect_log(bed *b, const char *part)
{
    if (!strstr(b->log, part)) fail_msg("'%s' is not in the log:\n%s", part, b->log);
}

/* ---- formats ---- */

static void authors_csv_has_a_header_and_two_columns(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item\n7,0\n7,1\n9,1\n", NULL);
    expect_rows(b, 3, 2, 2);
    assert_row(b->rows, 0, "7", "0");
    assert_row(b->rows, 2, "9", "1");
    assert_null(b->rows->time);
    assert_false(cw_interactions_are_split(b->rows));
}

static void every_delimiter_is_recognised(void **state)
{
    static const char *const texts[] = {
        "1,10,5,100\n2,20,4,200\n",   "1\t10\t5\t100\n2\t20\t4\t200\n",
        "1;10;5;100\n2;20;4;200\n",   "1::10::5::100\n2::20::4::200\n",
        "1 10 5 100\n2 20 4 200\n",   " 1  10 \t 5 100 \n2 20 4 200",
        "1;10;2,5;100\n2;20;4,5;200", "1,10,5,1970-01-01 00:01:40\n2,20,5,1970-01-01T00:03:20Z\n",
    };
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        bed *b = *state;
        (void)import_text(b, texts[t], NULL);
        expect_rows(b, 2, 2, 2);
        assert_row(b->rows, 0, "1", "10");
        assert_row(b->rows, 1, "2", "20");
        assert_non_null(b->rows->time);
        assert_true(b->rows->time[1] == 200);
    }
}

static void header_names_are_found_in_any_order(void **state)
{
    bed *b = *state;
    (void)import_text(b, "Timestamp,stars,business_id,text,User_ID\n5,4,pizza,nice,ann\n", NULL);
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "ann", "pizza");
    assert_true(b->rows->time[0] == 5);
    (void)import_text(b, "userId,movieId,rating,timestamp\n1,2,3.5,4\n",
                      PAIRS("min-rating", "3.5"));
    expect_rows(b, 1, 1, 1);
}

static void unknown_header_is_an_error_that_lists_the_columns(void **state)
{
    bed *b = *state;
    (void)import_text(b, "who,what\n1,2\n", NULL);
    expect_error(b, CW_BAD_DATA,
                 "x.csv: no user column is known by its name; there are who, what: choose with "
                 "--columns user=..,item=.., or say --header no");
}

static void columns_without_a_role_are_named(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,title,item,,rating,score\n1,a,2,x,3,4\n", NULL);
    expect_log(b, "rating in column 5; ignored: title, column 4, score\n");
    assert_non_null(strstr(b->rows->source, "\"columns_ignored\":[\"title\",\"4\",\"score\"]"));
    (void)import_text(b, "1,2,x\r\n2,2,y\r\n", NULL);
    expect_log(b, "item in column 2; ignored: column 3\n");
    (void)import_text(b, "1,2,x,a,b\n2,2,y,a,b\n", NULL);
    expect_log(b, "item in column 2; ignored: columns 3, 4, 5\n");
    (void)import_text(b, "user,item,a,b,c,d,e,f,g,h,i,j\n1,2,,,,,,,,,,\n", NULL);
    expect_log(b, "; ignored: a, b, c, d, e, f, g, h and 2 more\n");
    (void)import_text(b, "user,item\n1,2\n", NULL);
    assert_null(strstr(b->log, "ignored"));
    assert_non_null(strstr(b->rows->source, "\"columns_ignored\":[],\"ratings\":null"));
}

static void header_can_be_forced(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item\nfilm,actor\n", PAIRS("header", "no"));
    expect_rows(b, 2, 2, 2);
    (void)import_text(b, "a,b\nc,d\n", PAIRS("header", "yes", "columns", "user=1,item=2"));
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "c", "d");
}

static void columns_are_chosen_by_number_and_name(void **state)
{
    bed *b = *state;
    (void)import_text(b, "x,9,a,3\ny,8,b,5\n",
                      PAIRS("columns", "user=3,item=1,rating=4", "min-rating", "4"));
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "b", "y");
    (void)import_text(b, "who,what,how\nann,pie,4\n", PAIRS("columns", "user=WHO,item=what"));
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "ann", "pie");
}

static void wrong_columns_are_refused(void **state)
{
    bed *b = *state;
    (void)import_text(b, "who,what\n1,2\n", PAIRS("columns", "user=who,item=wat"));
    expect_error(b, CW_BAD_ARG, "--columns: x.csv has no column 'wat'; it has who, what");
    (void)import_text(b, "1,2\n", PAIRS("columns", "user=1"));
    expect_error(b, CW_BAD_ARG, "--columns must say where user and item are");
    (void)import_text(b, "1,2\n", PAIRS("columns", "user=0,item=1"));
    expect_error(b, CW_BAD_ARG, "--columns: column 0 must lie between 1 and 4096");
    (void)import_text(b, "1,2\n", PAIRS("columns", "usr=1,item=1"));
    expect_error(b, CW_BAD_ARG,
                 "--columns: 'usr=1' is not understood; write user=1,item=2,rating=3,time=4");
    (void)import_text(b, "1,2\n", PAIRS("columns", "user=a,item=2", "header", "no"));
    expect_error(b, CW_BAD_ARG, "--columns: x.csv has no header, so 'a' must be a number");
    (void)import_text(b, "1,2\n", PAIRS("columns", "user=1,item=3"));
    expect_error(b, CW_BAD_DATA, "x.csv:1: the line has 2 columns; 3 are needed");
    (void)import_text(b, "1 2\n", PAIRS("columns", "user=1,item=2", "format", "adjacency"));
    expect_error(b, CW_BAD_ARG, "--columns has no meaning for --format adjacency");
}

static void quotes_hold_delimiters_quotes_and_line_ends(void **state)
{
    bed *b = *state;
    (void)import_text(b,
                      "\"user\",\"item\"\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n\"two\nlines\","
                      "\"x\r\ny\"\n\"\"\"\",5\" disk\n",
                      NULL);
    expect_rows(b, 3, 3, 3);
    assert_row(b->rows, 0, "a,b", "say \"hi\"");
    assert_row(b->rows, 1, "two\nlines", "x\r\ny");
    assert_row(b->rows, 2, "\"", "5\" disk");
}

static void bad_quotes_are_malformed(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item\n1,\"2\n3,4\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:2: a quote is opened and never closed");
    (void)import_text(b, "user,item\n1,\"2\"x\n3,4\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:2: there is text behind a closing quote");
    (void)import_text(b, "user,item\n1,\"2\n3,4\n", PAIRS("skip-bad", "1"));
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "3", "4");
}

static void adjacency_lists_are_recognised(void **state)
{
    bed *b = *state;
    (void)import_text(b, "0 5 6 7\r\n1 5\r\n2\r\n3 8 5 \r\n", NULL);
    expect_rows(b, 6, 3, 4);
    assert_row(b->rows, 0, "0", "5");
    assert_row(b->rows, 5, "3", "5");
    (void)import_text(b, "0 1 2 3 4 5\n", NULL);
    expect_rows(b, 5, 1, 5);
    (void)import_text(b, "0 1 2\n1 2 3\n", PAIRS("format", "adjacency"));
    expect_rows(b, 4, 2, 3);
}

static void long_adjacency_lists_come_through(void **state)
{
    bed *b = *state;
    char text[200 * 16] = "u";
    for (int i = 0; i < 200; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, " %d", i);
    }
    (void)import_text(b, text, NULL);
    expect_rows(b, 200, 1, 200);
    assert_row(b->rows, 199, "u", "199");
}

static void blank_columns_of_equal_number_are_a_table(void **state)
{
    bed *b = *state;
    (void)import_text(b, "0 0 1\n0 1 1\n5 2 1\n", NULL);
    expect_rows(b, 3, 2, 3);
    expect_log(b, "--format adjacency would read lists of items instead");
}

static void short_lists_after_lists_are_lists(void **state)
{
    bed *b = *state;
    assert_int_equal(mkdir(path_of(b, "s", (char[256]){0}), 0700), 0);
    write_text(b, "s/train.txt", "0 1 2 3\n1 2\n");
    write_text(b, "s/test.txt", "0 4 5\n1 6 7\n");
    (void)import_names(b, PAIRS("s"), NULL);
    expect_rows(b, 8, 2, 7);
}

static void recbole_inter_is_recognised(void **state)
{
    bed *b = *state;
    (void)import_text(b,
                      "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
                      "a\"\tx\t3\t10\nb\ty\t5\t20\n",
                      PAIRS("min-rating", "5"));
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "b", "y");
    assert_true(b->rows->time[0] == 20);
    (void)import_text(b, "id:token\tname:token_seq\n1\tx\n", NULL);
    expect_error(b, CW_BAD_DATA,
                 "x.csv: no user column is known by its name; there are id, name: choose with "
                 "--columns user=..,item=.., or say --header no");
    (void)import_text(b, "id:token\tname:token_seq\n1\tx\n", PAIRS("columns", "user=id,item=name"));
    expect_rows(b, 1, 1, 1);
}

static void movielens_with_and_without_time(void **state)
{
    bed *b = *state;
    (void)import_text(b, "1::0104257::5::978300760\n1::2::4.5::978300761\n",
                      PAIRS("min-rating", "5"));
    expect_rows(b, 1, 1, 1);
    assert_row(b->rows, 0, "1", "0104257");
    assert_true(b->rows->time[0] == 978300760);
    (void)import_text(b, "1::2::5\n1::3::4\n", NULL);
    expect_rows(b, 2, 1, 2);
    assert_null(b->rows->time);
    (void)import_text(b, "1::2::5::1\n1::3\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:2: the line has 2 columns; 4 are needed");
}

static void netflix_blocks_are_recognised(void **state)
{
    bed *b = *state;
    (void)import_text(b, "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n822109,5,1970-01-02\n",
                      PAIRS("min-rating", "5"));
    expect_rows(b, 2, 1, 2);
    assert_row(b->rows, 1, "822109", "2");
    assert_true(b->rows->time[0] == 1115942400);
    assert_true(b->rows->time[1] == 86400);
    (void)import_text(b, "822109,5,2005-05-13\n1:\n1488844,3,2005-09-06\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:1: a rating before the first line 'MovieID:'");
    (void)import_text(b, "1:\n5,3\n", PAIRS("format", "netflix"));
    expect_error(b, CW_BAD_DATA,
                 "x.csv:2: neither 'MovieID:' nor 'CustomerID,Rating,Date' (2 fields)");
}

static void netflix_folder_is_read_in_order_of_names(void **state)
{
    bed *b = *state;
    assert_int_equal(mkdir(path_of(b, "training_set", (char[256]){0}), 0700), 0);
    write_text(b, "training_set/mv_0000002.txt", "2:\n7,5,2005-09-06\n");
    write_gzip(b, "training_set/mv_0000001.txt.gz", "1:\n8,5,2005-09-06\n");
    write_text(b, "training_set/readme.txt", "nothing\n");
    (void)import_names(b, PAIRS("training_set"), NULL);
    expect_rows(b, 2, 2, 2);
    assert_row(b->rows, 0, "8", "1");
    assert_false(cw_interactions_are_split(b->rows));
}

static void ifashion_takes_first_and_third_field(void **state)
{
    bed *b = *state;
    (void)import_text(b, "u1,i1;i2;i3,o1\nu1,i4;i5,o2\nu2,i9,o1\n", NULL);
    expect_rows(b, 3, 2, 2);
    assert_row(b->rows, 2, "u2", "o1");
    (void)import_text(b, "u1,i1;i2,o1\nu2,o1\n", PAIRS("format", "ifashion"));
    expect_error(b, CW_BAD_DATA, "x.csv:2: the line is not 'user,items,outfit'");
}

static void split_folder_gives_parts_and_raw_ids(void **state)
{
    bed *b = *state;
    assert_int_equal(mkdir(path_of(b, "d", (char[256]){0}), 0700), 0);
    write_text(b, "d/test.csv", "user,item\n0,1\n");
    write_gzip(b, "d/train.csv.gz", "user,item\n0,0\n1,1\n");
    write_text(b, "d/train_0.5.csv", "user,item\n9,9\n");
    write_text(b, "d/id2idx_u.csv", "id,idx\nann,0\n\"b,ob\",1\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_rows(b, 3, 2, 2);
    assert_true(cw_interactions_are_split(b->rows));
    assert_row(b->rows, 1, "b,ob", "1");
    assert_row(b->rows, 2, "ann", "1");
    assert_int_equal(b->rows->part[1], CW_PART_TRAIN);
    assert_int_equal(b->rows->part[2], CW_PART_TEST);

    write_text(b, "d/id2idx_i.csv", "id,idx\npie,0\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA, "d/train.csv.gz:3: item 1 is not in id2idx_i.csv");
    write_text(b, "d/test.csv", "user,item\n5,0\n");
    write_text(b, "d/id2idx_i.csv", "id,idx\npie,0\njam,1\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA, "d/test.csv:2: user 5 is not in id2idx_u.csv");
    write_text(b, "d/id2idx_i.csv", "id,idx\npie,0\n1\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA, "d/id2idx_i.csv:3: expected id,idx with idx from 0 on");
    write_text(b, "d/id2idx_i.csv", "id,idx\npie,0\npie,1\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA, "d/id2idx_i.csv:3: this id occurs twice");
    write_text(b, "d/id2idx_i.csv", "pie,0\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA, "d/id2idx_i.csv:1: expected the header id,idx");
    write_text(b, "d/train.txt", "0 1\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA,
                 "d has both train.csv.gz and train.txt; only one can be the train file");
}

static void strange_folders_are_refused(void **state)
{
    bed *b = *state;
    assert_int_equal(mkdir(path_of(b, "d", (char[256]){0}), 0700), 0);
    (void)import_names(b, PAIRS("d"), NULL);
    expect_error(b, CW_BAD_DATA,
                 "d has neither train, valid or test files (.csv, .txt, .tsv, .dat, .inter) nor "
                 "Netflix files (mv_*.txt, combined_data_*.txt)");
    write_text(b, "d/train.csv", "user,item\n1,2\n");
    write_text(b, "x.csv", "user,item\n1,2\n");
    (void)import_names(b, PAIRS("x.csv", "d"), NULL);
    expect_error(b, CW_BAD_ARG, "d is a split folder, which must be imported alone");
}

static void parts_are_given_by_the_caller(void **state)
{
    bed *b = *state;
    char first[256], second[256];
    const char *paths[] = {path_of(b, "b.csv", first), path_of(b, "a.csv", second)};
    const cw_part parts[] = {CW_PART_TEST, CW_PART_TRAIN};

    write_text(b, "b.csv", "user,item\n1,2\n1,3\n");
    write_text(b, "a.csv", "user,item\n1,2\n1,4\n");
    b->log[0] = '\0';
    assert_int_equal(cw_import_parts(b->ctx, paths, parts, 2, NULL, &b->rows), CW_OK);
    expect_rows(b, 3, 1, 3); /* the pair (1, 2) stays in train alone */
    assert_row(b->rows, 0, "1", "3");
    assert_int_equal(b->rows->part[0], CW_PART_TEST);
    assert_row(b->rows, 1, "1", "2");
    assert_int_equal(b->rows->part[1], CW_PART_TRAIN);
    expect_log(b, "W:1 interaction was dropped because an earlier part has it too\n");
}

static void several_files_may_differ_in_format(void **state)
{
    bed *b = *state;
    write_text(b, "a.dat", "1::2::5::10\n");
    write_gzip(b, "b.gz", "user,item\n1,3\n");
    (void)import_names(b, PAIRS("a.dat", "b.gz"), NULL);
    expect_rows(b, 2, 1, 2);
    assert_null(b->rows->time);
    expect_log(b, "W:");
    expect_log(b, "no times are used");
}

static void crlf_and_byte_order_mark_are_no_part_of_ids(void **state)
{
    bed *b = *state;
    (void)import_text(b,
                      "\xef\xbb\xbf"
                      "1,2\r\n\r\n3,4\r\n",
                      NULL);
    expect_rows(b, 2, 2, 2);
    assert_row(b->rows, 0, "1", "2");
    assert_row(b->rows, 1, "3", "4");
}

static void ids_are_kept_exactly(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item\n007, x\n7,x\n\xff,\xc3\xa9\n", NULL);
    expect_rows(b, 3, 3, 3);
    assert_row(b->rows, 0, "007", " x");
    assert_row(b->rows, 2, "\xff", "\xc3\xa9");
}

static void a_third_column_may_be_a_time(void **state)
{
    bed *b = *state;
    (void)import_text(b, "1,2,978300760\n1,3,978300761\n", NULL);
    expect_rows(b, 2, 1, 2);
    assert_true(b->rows->time[1] == 978300761);
    (void)import_text(b, "1,2,2005-09-06\n1,3,2005-09-07\n", NULL);
    assert_true(b->rows->time[1] - b->rows->time[0] == 86400);
}

static void one_user_and_one_item_are_enough(void **state)
{
    bed *b = *state;
    (void)import_text(b, "a,b", NULL);
    expect_rows(b, 1, 1, 1);
}

/* ---- times ---- */

static void times_are_seconds_since_1970(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {
        {"0", 0},
        {"-1.5", -1.5},
        {"1e9", 1e9},
        {"1970-01-01", 0},
        {"2000-02-29", 951782400},
        {"2005-09-06 12:34:56", 1126010096},
        {"2005-09-06T12:34:56Z", 1126010096},
        {"2005-09-06T12:34:56.5+02:00", 1126002896.5},
        {"2005-09-06 12:34", 1126010040},
        {"0001-01-01", -62135596800},
        {"9999-12-31", 253402214400},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        bed *b = *state;
        char text[128];
        snprintf(text, sizeof text, "user,item,time\n1,2,%s\n", cases[c].text);
        (void)import_text(b, text, PAIRS("columns", "user=1,item=2,time=3"));
        expect_rows(b, 1, 1, 1);
        assert_true(b->rows->time[0] == cases[c].seconds);
    }
}

static void impossible_times_are_malformed(void **state)
{
    static const char *const texts[] = {
        "2005-13-01", "2005-02-29", "2005-00-10",       "inf",
        "nan",        "",           "2005-09-06 25:00", "2005-09-06x",
        "yesterday",  "1e999",      "2005-09-06 12:3"};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        bed *b = *state;
        char text[128], wanted[128];
        snprintf(text, sizeof text, "user,item,time\n1,2,%s\n", texts[t]);
        snprintf(wanted, sizeof wanted,
                 "x.csv:2: time '%s' is not a number of seconds or an ISO date", texts[t]);
        (void)import_text(b, text, PAIRS("columns", "user=1,item=2,time=3"));
        expect_error(b, CW_BAD_DATA, wanted);
    }
}

static void times_that_only_look_like_it_are_given_up(void **state)
{
    bed *b = *state;
    const char *text = "user,item,time\n1,2,10\n1,3,soon\n2,2,12\n2,3,\n";
    (void)import_text(b, text, NULL);
    expect_rows(b, 4, 2, 2);
    assert_null(b->rows->time);
    expect_log(b, "W:2 times could not be read, first ");
    expect_log(b, "x.csv:3: 'soon': no times are used, so splits by time are not possible\n");
    (void)import_text(b, text, PAIRS("skip-bad", "2"));
    expect_rows(b, 2, 2, 1);
    assert_true(b->rows->time[1] == 12);
    assert_null(strstr(b->log, "no times"));
    (void)import_text(b, text, PAIRS("skip-bad", "1")); /* the first is left out all the same */
    expect_rows(b, 3, 2, 2);
    assert_null(b->rows->time);
    (void)import_text(b, text, PAIRS("columns", "user=1,item=2,time=time"));
    expect_error(b, CW_BAD_DATA, "x.csv:3: time 'soon' is not a number of seconds or an ISO date");
}

static void times_stay_given_up_in_further_files(void **state)
{
    bed *b = *state;
    write_text(b, "a.csv", "user,item,time\n1,2,10\n1,3,soon\n");
    write_text(b, "b.csv", "user,item,time\n3,2,10\n4,3,11\n");
    write_text(b, "c.csv", "user,item\n5,2\n");
    (void)import_names(b, PAIRS("a.csv", "b.csv", "c.csv"), NULL);
    expect_rows(b, 5, 4, 2);
    assert_null(b->rows->time);
    expect_log(b, "W:1 time could not be read, first ");
    assert_null(strstr(b->log, "do not agree"));
    (void)import_names(b, PAIRS("b.csv", "a.csv"), NULL);
    expect_rows(b, 4, 3, 2);
    assert_null(b->rows->time);
}

static void a_column_of_dates_in_another_form_is_mentioned(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item,date\n1,2,\n1,3,31 Dec 2020\n", NULL);
    expect_rows(b, 2, 1, 2);
    expect_log(b, "I:");
    expect_log(b, "item in column 2; ignored: date\n");
    expect_log(b, "the times in column date cannot be read, such as '31 Dec 2020': no times");
    (void)import_text(b, "user,item,date,ts\n1,2,31 Dec 2020,9\n", NULL);
    assert_true(b->rows->time[0] == 9);
    assert_null(strstr(b->log, "cannot be read"));
    expect_log(b, "time in column 4; ignored: date\n");
}

/* ---- bad input ---- */

static void ratings_must_be_finite_numbers(void **state)
{
    static const char *const texts[] = {"-nan", "inf",  "-inf", "1e999",
                                        "-",    "five", "2e15", "0x10"};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        bed *b = *state;
        char text[128], wanted[128];
        snprintf(text, sizeof text, "user,item,rating\n1,2,%s\n", texts[t]);
        snprintf(wanted, sizeof wanted,
                 "x.csv:2: rating '%s' is not a number between -1e15 and 1e15", texts[t]);
        (void)import_text(b, text, NULL);
        expect_error(b, CW_BAD_DATA, wanted);
    }
}

static void a_log_is_told_what_its_ratings_are(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item,rating\n1,2,1\n1,3,3\n1,4,4\n1,5,5\n", NULL);
    expect_rows(b, 4, 1, 4);
    expect_log(b, "I:ratings count as likes, the low ones too: 1: 25 %, 3: 25 %, 4: 25 %, 5: 25 %; "
                  "--min-rating 4 keeps 50 % of the rows\n");
    (void)import_text(b, "user,item,rating\n1,2,1\n1,3,3\n", PAIRS("min-rating", "2"));
    expect_log(b, "I:2 rows read, 1 kept; dropped: 1 below --min-rating 2\n");
    (void)import_text(b, "user,item,rating\n1,2,1.5\n1,3,1.5\n", NULL);
    expect_log(b, "I:every rating is 1.5 and counts as a like\n");
    (void)import_text(b, "user,item\n1,2\n1,3\n", NULL);
    expect_log(b, "I:2 rows read, 2 kept; there are no ratings, so each is a like\n");
}

static void ratings_below_the_least_are_left_out_with_their_ids(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item,rating\n1,2,4.5\n3,4,5\n5,6, 5 \n", PAIRS("min-rating", "5"));
    expect_rows(b, 2, 2, 2);
    (void)import_text(b, "user,item,rating\n1,2,4.5\n", PAIRS("min-rating", "5"));
    expect_error(b, CW_BAD_DATA,
                 "no interactions are left of x.csv: 2 lines, 0 malformed, 1 below --min-rating");
}

/* Row r below --min-rating is of this user and item. */
static void assert_below(const cw_interactions *rows, int64_t r, const char *user, const char *item)
{
    const cwi_below *below = &rows->below;
    assert_true(r < below->count);
    assert_string_equal(cwi_idmap_text(&below->users, below->row[r][0]), user);
    assert_string_equal(cwi_idmap_text(&below->items, below->row[r][1]), item);
}

static void rows_below_the_least_are_kept_aside(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item,rating\nbob,y,1\nann,x,5\nann,y,2\nann,y,1\nbob,x,4\neve,z,0\n",
                      PAIRS("min-rating", "4"));
    expect_rows(b, 2, 2, 1);
    assert_row(b->rows, 0, "ann", "x");
    assert_int_equal(b->rows->user[0], 0); /* whoever came first below it */
    assert_int_equal(b->rows->below.count, 4);
    assert_below(b->rows, 0, "bob", "y");
    assert_below(b->rows, 1, "ann", "y");
    assert_below(b->rows, 2, "ann", "y");
    assert_below(b->rows, 3, "eve", "z");
    (void)import_text(b, "user,item,rating\nbob,y,1\nann,x,5\n", NULL);
    assert_int_equal(b->rows->below.count, 0);
    (void)import_text(b, "1:\n5,3,2005-09-06\n6,5,2005-05-13\n", PAIRS("min-rating", "4"));
    assert_int_equal(b->rows->below.count, 1);
    assert_below(b->rows, 0, "5", "1");
    (void)import_text(b, "user,item,rating\n1,2,x\n3,4,5\n5,6,1\n1,2,5\n",
                      PAIRS("min-rating", "4", "skip-bad", "1"));
    expect_rows(b, 2, 2, 2);
    assert_int_equal(b->rows->below.count, 1); /* what is malformed is nobody's */
    (void)import_text(b, "user,item,rating\n1,2,1\n3,4,5\n",
                      PAIRS("min-rating", "4", "max-rows", "1"));
    expect_error(b, CW_BAD_DATA, "x.csv:3: there are more than 1 rows, the limit of --max-rows");
}

/* Ids are those behind the numbers; a number without one never mattered below the rating. */
static void rows_below_the_least_of_a_split_have_raw_ids(void **state)
{
    bed *b = *state;
    char d[256];
    assert_int_equal(mkdir(path_of(b, "d", d), 0700), 0);
    write_text(b, "d/train.csv", "user,item,rating\n0,0,5\n1,0,1\n7,0,1\n");
    write_text(b, "d/id2idx_u.csv", "id,idx\nann,0\nbob,1\n");
    (void)import_names(b, PAIRS("d"), PAIRS("min-rating", "4"));
    expect_rows(b, 1, 1, 1);
    assert_int_equal(b->rows->below.count, 1);
    assert_below(b->rows, 0, "bob", "0");
}

static void least_rating_needs_a_rating_column(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item\n1,2\n", PAIRS("min-rating", "5"));
    expect_error(b, CW_BAD_ARG,
                 "x.csv has no rating column, which --min-rating needs; say where it is with "
                 "--columns user=..,item=..,rating=..");
}

static void empty_ids_are_malformed(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item\n1,2\n,4\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:3: user id is empty");
    (void)import_text(b, "user,item\n1,2\n4,\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:3: item id is empty");
    (void)import_text(b, "user,item\n1,2\n4\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:3: the line has 1 column; 2 are needed");
}

static void huge_ids_fit_up_to_the_limit(void **state)
{
    bed *b = *state;
    char *text = malloc(CWI_MAX_ID_BYTES + 32);

    assert_non_null(text);
    strcpy(text, "user,item\n1,");
    memset(text + 12, 'x', CWI_MAX_ID_BYTES + 1);
    write_bytes(b, "x.csv", text, 12 + CWI_MAX_ID_BYTES);
    (void)import_names(b, PAIRS("x.csv"), NULL);
    expect_rows(b, 1, 1, 1);
    write_bytes(b, "x.csv", text, 12 + CWI_MAX_ID_BYTES + 1);
    (void)import_names(b, PAIRS("x.csv"), NULL);
    expect_error(b, CW_BAD_DATA, "x.csv:2: item id is longer than 1000000 bytes");
    free(text);
}

static void malformed_lines_are_skipped_as_far_as_allowed(void **state)
{
    bed *b = *state;
    const char *text = "user,item,rating\n1,2,3\nbad\n3,4,x\n5,6,1\n";
    (void)import_text(b, text, PAIRS("skip-bad", "2"));
    expect_rows(b, 2, 2, 2);
    expect_log(b, "W:2 malformed lines were left out, first ");
    expect_log(b, "x.csv:3: the line has 1 column; 3 are needed\n");
    (void)import_text(b, text, PAIRS("skip-bad", "1"));
    expect_error(b, CW_BAD_DATA, "x.csv:4: rating 'x' is not a number between -1e15 and 1e15");
}

static void files_without_interactions_are_refused(void **state)
{
    bed *b = *state;
    (void)import_text(b, "", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: the file is empty");
    (void)import_text(b, "\n\r\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: the file is empty");
    (void)import_text(b, "user,item\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: there are no interactions in it");
    (void)import_text(b, "1\n2\n", NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: there is only one column; a user and an item are needed");
    (void)import_text(b, "1\n2\n", PAIRS("format", "adjacency"));
    expect_error(b, CW_BAD_DATA, "x.csv: there are no interactions in it");
}

static void an_empty_part_of_a_split_is_only_a_warning(void **state)
{
    bed *b = *state;
    assert_int_equal(mkdir(path_of(b, "d", (char[256]){0}), 0700), 0);
    write_text(b, "d/train.csv", "user,item\n1,2\n");
    write_text(b, "d/valid.csv", "user,item\n");
    (void)import_names(b, PAIRS("d"), NULL);
    expect_rows(b, 1, 1, 1);
    expect_log(b, "valid.csv: there are no interactions in it");
}

static void binary_junk_is_refused(void **state)
{
    bed *b = *state;
    unsigned char junk[512];
    for (size_t at = 0; at < sizeof junk; at++) junk[at] = (unsigned char)(1 + at * 37 % 255);
    write_bytes(b, "x.csv", junk, sizeof junk);
    (void)import_names(b, PAIRS("x.csv"), NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: this is not text");
    write_bytes(b, "x.csv", "u\0s\0e\0\1\0,\0i\0,\0,\0,\0,\0,\0", 22);
    (void)import_names(b, PAIRS("x.csv"), NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: this is not text");
    write_bytes(b, "x.csv", "user,item\n1,2\n3,\0004\n", 18);
    (void)import_names(b, PAIRS("x.csv"), NULL);
    expect_error(b, CW_BAD_DATA, "x.csv: this is not text");
}

static void truncated_gzip_is_refused(void **state)
{
    bed *b = *state;
    char path[256];
    struct stat info;

    write_gzip(b, "x.csv.gz", "user,item\n1,2\n3,4\n5,6\n");
    assert_int_equal(stat(path_of(b, "x.csv.gz", path), &info), 0);
    assert_int_equal(truncate(path, info.st_size - 9), 0);
    (void)import_names(b, PAIRS("x.csv.gz"), NULL);
    expect_error(b, CW_BAD_DATA, "x.csv.gz: compressed data ends too early");
}

static void missing_files_are_named(void **state)
{
    bed *b = *state;
    (void)import_names(b, PAIRS("none.csv"), NULL);
    expect_error(b, CW_IO, "cannot open none.csv: No such file or directory");
    b->status = cw_import(b->ctx, NULL, 0, NULL, &b->rows);
    expect_error(b, CW_BAD_ARG, "there is no file to import");
}

/* ---- repeats, record, arrays ---- */

static void repeats_are_dropped_and_counted(void **state)
{
    bed *b = *state;
    const char *text = "user,item,time\n1,2,10\n3,2,11\n1,2,12\n1,4,13\n3,2,14\n";
    (void)import_text(b, text, NULL);
    expect_rows(b, 3, 2, 2);
    assert_row(b->rows, 2, "1", "4");
    assert_true(b->rows->time[0] == 10);
    assert_true(b->rows->time[2] == 13);
    expect_log(b, "W:2 repeated interactions were dropped\n");
    (void)import_text(b, text, PAIRS("keep-duplicates", "on"));
    expect_rows(b, 5, 2, 2);
}

/* However few users are looked at together. */
static void repeats_are_found_with_any_number_of_places(void **state)
{
    enum { N = 400 };
    bed *b = *state;
    int32_t user[N], item[N], kept_user[N], kept_item[N];
    uint8_t part[N];
    for (int64_t places = 0; places <= N; places = places * 3 + 1) {
        for (int32_t k = 0; k < N; k++) {
            user[k] = k * k % 23;
            item[k] = k * 5 % 17;
            part[k] = (uint8_t)(k * 7 % 3);
        }
        cw_interactions rows = {.count = N,
                                .user = user,
                                .item = item,
                                .part = part,
                                .is_split = true,
                                .users = {.count = 30},
                                .items = {.count = 17}};
        int64_t repeats, overlaps;
        assert_int_equal(cwi_drop_repeats_within(b->ctx, &rows, places, &repeats, &overlaps),
                         CW_OK);
        assert_int_equal(rows.count, N - repeats - overlaps);
        assert_true(repeats > 0 && overlaps > 0);
        if (places == 0) {
            memcpy(kept_user, user, sizeof user);
            memcpy(kept_item, item, sizeof item);
        }
        assert_memory_equal(kept_user, user, (size_t)rows.count * sizeof *user);
        assert_memory_equal(kept_item, item, (size_t)rows.count * sizeof *item);
    }
}

static int64_t count_of(const json_t *object, const char *name)
{
    return (int64_t)json_integer_value(json_object_get(object, name));
}

static void the_record_says_what_was_read(void **state)
{
    bed *b = *state;
    (void)import_text(b, "user,item,rating\n1,2,5\n1,2,5\n1,3,1\nbad\n",
                      PAIRS("min-rating", "2", "skip-bad", "1"));
    expect_rows(b, 1, 1, 1);
    json_t *record = json_loads(b->rows->source, 0, NULL);
    assert_non_null(record);
    const json_t *file = json_array_get(json_object_get(record, "files"), 0);
    assert_string_equal(json_string_value(json_object_get(file, "name")), "x.csv");
    assert_string_equal(json_string_value(json_object_get(file, "format")), "delimited");
    assert_int_equal(count_of(file, "lines"), 5);
    assert_int_equal(count_of(file, "rows"), 2);
    assert_int_equal(count_of(record, "lines"), 5);
    assert_int_equal(count_of(record, "bad_lines"), 1);
    assert_int_equal(count_of(record, "below_min_rating"), 1);
    assert_int_equal(count_of(record, "repeats"), 1);
    assert_int_equal(count_of(record, "bad_times"), 0);
    const json_t *ratings = json_object_get(record, "ratings");
    assert_int_equal(count_of(ratings, "numbers"), 3);
    assert_int_equal(count_of(ratings, "not_numbers"), 0);
    assert_true(json_real_value(json_object_get(ratings, "median")) == 5);
    const json_t *value = json_array_get(json_object_get(ratings, "values"), 1);
    assert_true(json_real_value(json_object_get(value, "value")) == 5);
    assert_int_equal(count_of(value, "rows"), 2);
    const json_t *options = json_object_get(record, "options");
    assert_string_equal(json_string_value(json_object_get(options, "min-rating")), "2");
    json_decref(record);
}

static void a_name_that_is_no_utf8_is_recorded_all_the_same(void **state)
{
    bed *b = *state;
    write_text(b, "\xff.csv", "user,item\n1,2\n");
    (void)import_names(b, PAIRS("\xff.csv"), NULL);
    expect_rows(b, 1, 1, 1);
    assert_non_null(strstr(b->rows->source, "\"?.csv\""));
}

static void wrong_parts_are_refused(void **state)
{
    bed *b = *state;
    const char *path = "x.csv";
    const cw_part part = (cw_part)3;
    b->status = cw_import_parts(b->ctx, &path, &part, 1, NULL, &b->rows);
    expect_error(b, CW_BAD_ARG, "x.csv: 3 is not a part of a split");
    b->status = cw_import_parts(b->ctx, &path, NULL, 1, NULL, &b->rows);
    expect_error(b, CW_BAD_ARG, "the parts of the files are missing");
}

static void arrays_become_interactions(void **state)
{
    bed *b = *state;
    const int64_t user[] = {-5, INT64_MAX, -5}, item[] = {0, INT64_MIN, 0};
    double time[] = {1, 2, 3};

    assert_int_equal(cw_interactions_create(b->ctx, user, item, time, 3, &b->rows), CW_OK);
    expect_rows(b, 2, 2, 2);
    assert_row(b->rows, 0, "-5", "0");
    assert_row(b->rows, 1, "9223372036854775807", "-9223372036854775808");
    assert_true(b->rows->time[1] == 2);
    cw_interactions_free(b->rows);
    time[1] = NAN;
    b->status = cw_interactions_create(b->ctx, user, item, time, 3, &b->rows);
    expect_error(b, CW_BAD_ARG, "the time of entry 1 is not finite");
    b->status = cw_interactions_create(b->ctx, user, item, NULL, 0, &b->rows);
    expect_error(b, CW_BAD_ARG, "there must be at least one user and item, not 0");
}

static void first_of_many_repeats_stays_in_its_place(void **state)
{
    enum { N = 20000, IDS = 90 };
    static int64_t user[N], item[N];
    static bool seen[IDS][IDS];
    bed *b = *state;
    uint32_t random = 1;
    int64_t kept = 0;

    for (int r = 0; r < N; r++) {
        random = random * 1664525 + 1013904223;
        user[r] = random >> 8 & 63;
        item[r] = (random >> 16) % IDS;
    }
    assert_int_equal(cw_interactions_create(b->ctx, user, item, NULL, N, &b->rows), CW_OK);
    for (int r = 0; r < N; r++) {
        char raw_user[24], raw_item[24];
        if (seen[user[r]][item[r]]) continue;
        seen[user[r]][item[r]] = true;
        snprintf(raw_user, sizeof raw_user, "%d", (int)user[r]);
        snprintf(raw_item, sizeof raw_item, "%d", (int)item[r]);
        assert_row(b->rows, kept++, raw_user, raw_item);
    }
    assert_int_equal(cw_interactions_count(b->rows), kept);
}

static bool never(void *user, const char *stage, int64_t done, int64_t total)
{
    (void)user;
    (void)stage;
    (void)done;
    (void)total;
    return false;
}

static void cancelling_leaves_nothing_behind(void **state)
{
    bed *b = *state;
    cw_context_set_progress(b->ctx, never, NULL);
    (void)import_text(b, "user,item\n1,2\n", NULL);
    expect_error(b, CW_CANCELLED, "stopped while reading x.csv");
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    bed *b = *state;
    char d[256], x[256];
    const char *folder[] = {path_of(b, "d", d)}, *file[] = {path_of(b, "x.csv", x)};

    assert_int_equal(mkdir(d, 0700), 0);
    write_gzip(b, "d/train.csv.gz", "user,item,title\n0,0,a\n1,1,b\n0,0,a\n");
    write_text(b, "d/test.txt", "0 1 0\n1\n");
    write_text(b, "d/id2idx_u.csv", "id,idx\n\"a\"\"nn\",0\nbob,1\n");
    write_text(b, "x.csv", "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n");
    cw_options *liked = import_options(b->ctx, PAIRS("min-rating", "4"));
    for (int which = 0; which < 3; which++) {
        cw_status status = CW_NO_MEMORY;
        for (int64_t nth = 1; status != CW_OK; nth++) {
            cwi_mem_fail_at(b->ctx, nth);
            status =
                cw_import(b->ctx, which ? file : folder, 1, which > 1 ? liked : NULL, &b->rows);
            cwi_mem_fail_at(b->ctx, 0);
            if (status != CW_OK) assert_int_equal(status, CW_NO_MEMORY);
            if (status != CW_OK) assert_null(b->rows);
        }
        cw_interactions_free(b->rows);
        b->rows = NULL;
    }
    cw_options_free(liked);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(authors_csv_has_a_header_and_two_columns),
        TEST(every_delimiter_is_recognised),
        TEST(header_names_are_found_in_any_order),
        TEST(unknown_header_is_an_error_that_lists_the_columns),
        TEST(columns_without_a_role_are_named),
        TEST(header_can_be_forced),
        TEST(columns_are_chosen_by_number_and_name),
        TEST(wrong_columns_are_refused),
        TEST(quotes_hold_delimiters_quotes_and_line_ends),
        TEST(bad_quotes_are_malformed),
        TEST(adjacency_lists_are_recognised),
        TEST(long_adjacency_lists_come_through),
        TEST(blank_columns_of_equal_number_are_a_table),
        TEST(short_lists_after_lists_are_lists),
        TEST(recbole_inter_is_recognised),
        TEST(movielens_with_and_without_time),
        TEST(netflix_blocks_are_recognised),
        TEST(netflix_folder_is_read_in_order_of_names),
        TEST(ifashion_takes_first_and_third_field),
        TEST(split_folder_gives_parts_and_raw_ids),
        TEST(strange_folders_are_refused),
        TEST(parts_are_given_by_the_caller),
        TEST(several_files_may_differ_in_format),
        TEST(crlf_and_byte_order_mark_are_no_part_of_ids),
        TEST(ids_are_kept_exactly),
        TEST(a_third_column_may_be_a_time),
        TEST(one_user_and_one_item_are_enough),
        TEST(times_are_seconds_since_1970),
        TEST(impossible_times_are_malformed),
        TEST(times_that_only_look_like_it_are_given_up),
        TEST(times_stay_given_up_in_further_files),
        TEST(a_column_of_dates_in_another_form_is_mentioned),
        TEST(ratings_must_be_finite_numbers),
        TEST(a_log_is_told_what_its_ratings_are),
        TEST(ratings_below_the_least_are_left_out_with_their_ids),
        TEST(rows_below_the_least_are_kept_aside),
        TEST(rows_below_the_least_of_a_split_have_raw_ids),
        TEST(least_rating_needs_a_rating_column),
        TEST(empty_ids_are_malformed),
        TEST(huge_ids_fit_up_to_the_limit),
        TEST(malformed_lines_are_skipped_as_far_as_allowed),
        TEST(files_without_interactions_are_refused),
        TEST(an_empty_part_of_a_split_is_only_a_warning),
        TEST(binary_junk_is_refused),
        TEST(truncated_gzip_is_refused),
        TEST(missing_files_are_named),
        TEST(repeats_are_dropped_and_counted),
        TEST(repeats_are_found_with_any_number_of_places),
        TEST(the_record_says_what_was_read),
        TEST(a_name_that_is_no_utf8_is_recorded_all_the_same),
        TEST(wrong_parts_are_refused),
        TEST(arrays_become_interactions),
        TEST(first_of_many_repeats_stays_in_its_place),
        TEST(cancelling_leaves_nothing_behind),
        TEST(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

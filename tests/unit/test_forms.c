/* test_forms.c - the forms in which logs come: JSON lines, other decimals, dates and encodings,
 * names in other languages, and files that are no text. */
#include "import_check.h"

#include <uchar.h>
#include <unistd.h>

#include "import/import.h"

typedef struct bed {
    cw_context *ctx;
    char folder[64], path[96];
    char log[4096];
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
    strcpy(b->folder, "test_forms_XXXXXX");
    if (!mkdtemp(b->folder)) return -1;
    snprintf(b->path, sizeof b->path, "%s/log", b->folder);
    cw_context_set_log(b->ctx, remember, b);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bed *b = *state;
    cw_interactions_free(b->rows);
    cw_context_free(b->ctx);
    (void)unlink(b->path);
    int failed = rmdir(b->folder);
    free(b);
    return failed;
}

static void import_bytes(bed *b, const void *bytes, size_t length, const char *const *pairs)
{
    FILE *file = fopen(b->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    cw_interactions_free(b->rows);
    b->log[0] = '\0';
    const char *path = b->path;
    cw_options *options = import_options(b->ctx, pairs);
    b->status = cw_import(b->ctx, &path, 1, options, &b->rows);
    cw_options_free(options);
    if (b->status != CW_OK) assert_null(b->rows);
}

static void import_text(bed *b, const char *text, const char *const *pairs)
{
    import_bytes(b, text, strlen(text), pairs);
}

static void expect_rows(bed *b, int64_t count)
{
    assert_string_equal(cw_context_error(b->ctx), "");
    assert_non_null(b->rows);
    assert_int_equal(cw_interactions_count(b->rows), count);
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

static void expect_error(bed *b, const char *part)
{
    assert_int_not_equal(b->status, CW_OK);
    expect_part(cw_context_error(b->ctx), part);
}

static void expect_time(bed *b, int64_t row, double time)
{
    assert_non_null(b->rows->time);
    if (b->rows->time[row] != time)
        fail_msg("row %d is at %.3f, not %.3f", (int)row, b->rows->time[row], time);
}

/* ---- JSON lines ---- */

static void json_lines_have_keys_nested_by_dots(void **state)
{
    bed *b = *state;
    import_text(
        b,
        "{\"user\": {\"id\": 17}, \"item\": \"a\\u00e9\\ud83d\\ude00\\\"\", \"score\": 4.5, "
        "\"ts\": 10, \"tags\": [1, {\"user\": 2}]}\n"
        "\n"
        "{\"ts\": 1.1e1, \"item\": 12345678901234567890, \"user\": {\"id\": \"x y\"}}\r\n",
        NULL);
    expect_rows(b, 2);
    assert_row(b->rows, 0, "17", "a\u00e9\U0001F600\"");
    assert_row(b->rows, 1, "x y", "12345678901234567890");
    expect_time(b, 1, 11);
    expect_part(b->log,
                "user in key user.id, item in key item, rating in key score, time in key ts");
    expect_part(b->log, "I:1 row has no rating: it counts as a like\n");
}

static void keys_are_chosen_by_name(void **state)
{
    bed *b = *state;
    const char *text =
        "{\"who\":{\"key\":1},\"what\":2,\"n\":3}\n{\"who\":{\"key\":4},\"what\":5}\n";
    import_text(b, text, NULL);
    expect_error(b, "no user key is known by its name; there are who.key, what, n: choose with "
                    "--columns user=..,item=..");
    import_text(b, text, PAIRS("columns", "user=who.key,item=what"));
    expect_rows(b, 2);
    assert_row(b->rows, 1, "4", "5");
    import_text(b, text, PAIRS("columns", "user=who,item=what"));
    expect_error(b, "has no column 'who'; it has who.key, what, n");
    import_text(b, text, PAIRS("columns", "user=9,item=what"));
    expect_error(b, "has no column 9; it has who.key, what, n");
}

static void wrong_json_is_malformed(void **state)
{
    static const char *const lines[][2] = {
        {"{\"user\":1,\"item\":2", "a comma or a bracket is missing"},
        {"{\"user\":1,\"item\":2} x", "there is text behind the JSON object"},
        {"{\"user\":1,\"item\":02}", "a value is no JSON"},
        {"{\"user\":1,\"item\":tru}", "a value is no JSON"},
        {"{\"user\":1,\"item\":-}", "a value is no JSON"},
        {"{\"user\":1,\"item\":1.}", "a value is no JSON"},
        {"{\"user\":1,\"item\":1e}", "a value is no JSON"},
        {"{\"user\":1,\"item\":\"a}", "a string is opened and never closed"},
        {"{\"user\":1,\"item\":\"a\\", "a string is opened and never closed"},
        {"{\"user\":1,\"item\":\"\\q\"}", "an unknown escape in a string"},
        {"{\"user\":1,\"item\":\"\\ud800\"}", "half a character behind \\u"},
        {"{\"user\":1,\"item\":\"\\udc00\"}", "half a character behind \\u"},
        {"{\"user\":1,\"item\":\"\\u00g0\"}", "four hexadecimal digits are needed behind \\u"},
        {"{\"user\":1,\"item\":\"\\u0000\"}", "a string has a zero byte"},
        {"{\"user\":1,\"item\":\"a\tb\"}", "a control character in a string"},
        {"{\"user\":1,item:2}", "a key is needed, in quotes"},
        {"{\"user\":1,\"item\" 2}", "a colon is needed behind a key"},
        {"{\"user\":1,\"item\":[1}", "a comma or a bracket is missing"},
        {"[1]", "the line is no JSON object"},
        {"{\"user\":1}", "the key item is missing"},
        {"{\"user\":1,\"item\":null}", "the key item is null"},
        {"{\"user\":1,\"item\":true}", "the key item is true or false"},
        {"{\"user\":1,\"item\":[2]}", "the key item is a list"},
        {"{\"user\":1,\"item\":{\"x\":2}}", "the key item is an object"},
        {"{\"user\":1,\"item\":\"\"}", "item id is empty"},
        {"{\"user\":1,\"item\":2,\"rating\":\"x\"}", "rating 'x' is not a number"},
    };
    bed *b = *state;
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        char text[400], wanted[200];
        snprintf(text, sizeof text,
                 "{\"user\":1,\"item\":9,\"rating\":1}\n{\"user\":2,\"item\":9}\n%s\n",
                 lines[l][0]);
        snprintf(wanted, sizeof wanted, "log:3: %s", lines[l][1]);
        import_text(b, text, NULL);
        expect_error(b, wanted);
        import_text(b, text, PAIRS("skip-bad", "1"));
        expect_rows(b, 2);
        expect_part(b->log, "3 rows read, 2 kept; dropped: 1 malformed");
    }
}

static void json_may_not_lie_too_deep(void **state)
{
    bed *b = *state;
    char text[1024] = "{\"user\":1,\"item\":2,\"x\":";
    size_t used = strlen(text);
    memset(text + used, '[', 300);
    strcpy(text + used + 300, "}\n");
    import_text(b, text, NULL);
    expect_error(b, "objects and lists lie too deep");
}

static void a_json_array_is_named_with_what_converts_it(void **state)
{
    import_text(*state, "[\n  {\"user\": 1, \"item\": 2},\n", NULL);
    expect_error(*state,
                 "this is a JSON array, and not one object a line; crosswise reads text, which "
                 "this command makes of it: jq -c '.[]' '");
}

/* ---- delimiters, decimals, ratings ---- */

static void pipes_separate_columns(void **state)
{
    bed *b = *state;
    import_text(b, "user|item|rating\na b|x, y|4\nb|y|3\n", NULL);
    expect_rows(b, 2);
    assert_row(b->rows, 0, "a b", "x, y");
    import_text(b, "1|2|4,5\n2|3|1,5\n", NULL); /* no header: every line has a comma, too */
    expect_rows(b, 2);
    assert_row(b->rows, 1, "2", "3");
    import_text(b, "user,item,tags\n1,2,a|b|c\n2,3,a|b|c\n", NULL);
    expect_rows(b, 2);
    assert_row(b->rows, 1, "2", "3");
}

static void commas_may_be_decimal(void **state)
{
    bed *b = *state;
    import_text(b, "user;item;rating\n1;2;4,5\n2;3;3\n3;3;1,125\n", PAIRS("min-rating", "4.5"));
    expect_rows(b, 1);
    assert_row(b->rows, 0, "1", "2");
    import_text(b, "user,item,rating\n1,2,\"0,25\"\n2,3,3\n", PAIRS("min-rating", "1"));
    expect_rows(b, 1);
    /* these could be thousands */
    import_text(b, "user;item;rating\n1;2;1,250\n", NULL);
    expect_error(b, "rating '1,250' is not a number");
    import_text(b, "user;item;rating\n1;2;4,5\n1;3;1,2,3\n", NULL);
    expect_error(b, "rating '1,2,3' is not a number");
    import_text(b, "user;item;rating\n1;2;4,5\n1;3;1.000,5\n", NULL);
    expect_error(b, "rating '1.000,5' is not a number");
}

static void missing_ratings_are_counted(void **state)
{
    bed *b = *state;
    const char *text = "user,item,rating\n1,2,5\n1,3,\n2,3,NULL\n2,4,nan\n2,5, \n3,2,4\n3,3,1\n";
    import_text(b, text, NULL);
    expect_rows(b, 7);
    expect_part(b->log, "I:4 rows have no rating: they count as likes\n");
    expect_part(b->log, "I:7 rows read, 7 kept\n");
    expect_part(b->rows->source, "\"without_rating\":4");
    import_text(b, text, PAIRS("min-rating", "4"));
    expect_rows(b, 2);
    expect_part(b->log, "I:4 rows have no rating: --min-rating leaves such rows out\n");
    expect_part(b->log,
                "I:7 rows read, 2 kept; dropped: 1 below --min-rating 4, 4 without a rating\n");
    assert_int_equal(b->rows->below.count, 5);
}

/* ---- dates ---- */

static void dates_are_read_where_they_are_plain(void **state)
{
    const double first = 1706659200; /* 2024-01-31 */
    static const char *const same[] = {
        "2024-01-31",
        "31.1.2024",
        "31.01.2024",
        "2024/01/31",
        "31/01/2024",
        "31-01-2024",
        "1/31/2024",
        "01-31-2024",
        "2024-01-31 00:00:00Z",
        "31.01.2024 00:00",
        "31/01/2024 0:00",
        "1/31/2024 12:00 AM",
        "01/31/2024, 12:00:00 am",
        "31.01.2024T00:00:00",
        "2024-01-31T02:30:00+0230",
        "2024-01-31 05:00:00+05",
        "2024-01-30 22:00:00-02:00",
    };
    bed *b = *state;
    for (size_t d = 0; d < sizeof same / sizeof same[0]; d++) {
        char text[128];
        snprintf(text, sizeof text, "user;item;date\n1;2;%s\n", same[d]);
        import_text(b, text, NULL);
        expect_rows(b, 1);
        expect_time(b, 0, first);
    }
}

static void the_order_of_dates_is_that_of_the_plain_ones(void **state)
{
    bed *b = *state;
    import_text(b, "user,item,date\n1,2,02/03/2024\n1,3,13/03/2024\n", NULL);
    expect_time(b, 0, 1709337600); /* 2024-03-02 */
    import_text(b, "user,item,date\n1,2,02/03/2024\n1,3,03/13/2024\n", NULL);
    expect_time(b, 0, 1706918400); /* 2024-02-03 */
    /* nothing tells, or both are told: no guess */
    import_text(b, "user,item,date\n1,2,02/03/2024\n1,3,03/04/2024\n", NULL);
    expect_rows(b, 2);
    assert_null(b->rows->time);
    expect_part(b->log, "such as '02/03/2024' (say --dates day-first or --dates month-first)");
    import_text(b, "user,item,date\n1,2,13/03/2024\n1,3,03/14/2024\n1,4,05/04/2024\n", NULL);
    assert_null(b->rows->time);
    import_text(b, "user,item,date\n1,2,02/03/2024\n", PAIRS("dates", "month-first"));
    expect_time(b, 0, 1706918400);
    import_text(b, "user,item,date\n1,2,02/03/2024\n", PAIRS("dates", "day-first"));
    expect_time(b, 0, 1709337600);
    import_text(b, "user,item,date\n1,2,02/03/2024\n", PAIRS("columns", "user=1,item=2,time=3"));
    expect_error(b, "time '02/03/2024' is not clear: say --dates day-first or --dates month-first");
    /* the same day in either order */
    import_text(b, "user,item,date\n1,2,03/03/2024\n", NULL);
    expect_time(b, 0, 1709424000);
}

static void wrong_dates_are_none(void **state)
{
    static const char *const texts[] = {
        "31.02.2024",         "0.1.2024",          "31.13.2024",  "31/01/24",
        "31/01.2024",         "31.01.2024x",       "31.01.2024 ", "31.01.2024 25:00",
        "1/31/2024 13:00 PM", "1/31/2024 0:10 am", "/1/2024",     "2024/1/31/",
        "31..2024",           "32/13/2024",        "1/2/3/2024",  "31.01.0000",
    };
    double out;
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        for (int order = 0; order < 3; order++)
            if (cwi_parse_time(texts[t], strlen(texts[t]), (cwi_dates)order, &out))
                fail_msg("'%s' is taken for a date", texts[t]);
}

/* ---- names, encodings, kinds ---- */

static void names_are_known_in_other_languages(void **state)
{
    static const char *const headers[] = {
        "Benutzer-ID;Artikelnummer;Bewertung;Datum",
        "id_utilisateur;produit;note;horodatage",
        "usuario;artículo;calificación;fecha",
        "Utente;Prodotto;Voto;Data",
        "usuário;produto;avaliação;data",
        "gebruiker;artikel;beoordeling;tijdstip",
        "użytkownik;książka;ocena;data",
        "uživatel;zboží;hodnocení;čas",
        "användare;produkt;betyg;datum",
        "kullanıcı;ürün;puan;tarih",
        "ПОЛЬЗОВАТЕЛЬ;Товар;Оценка;Дата",
        "用户编号;商品;评分;时间",
        "ユーザーID;商品番号;評価;日時",
        "사용자;상품;평점;날짜",
    };
    bed *b = *state;
    for (size_t h = 0; h < sizeof headers / sizeof headers[0]; h++) {
        char text[256];
        snprintf(text, sizeof text, "x;%s\n0;17;4;3;2024-01-31\n0;18;5;2;2024-01-31\n", headers[h]);
        import_text(b, text, NULL);
        expect_rows(b, 2);
        assert_row(b->rows, 0, "17", "4");
        expect_part(b->log,
                    "user in column 2, item in column 3, rating in column 4, time in column 5");
    }
    /* an English name goes before one of another language */
    import_text(b, "note,user,client,item,rating\n1,2,3,4,5\n", NULL);
    assert_row(b->rows, 0, "2", "4");
    expect_part(b->log, "rating in column 5");
    /* what is called a note is a rating only with numbers in it */
    import_text(b, "user,item,note\n1,2,good\n", NULL);
    expect_part(b->log, "ignored: note");
}

static void utf_16_becomes_utf_8(void **state)
{
    bed *b = *state;
    const char16_t text[] = u"\uFEFFuser,item\r\né,😀\nb,ж日\n";
    unsigned char swapped[sizeof text];
    size_t bytes = sizeof text - 2;

    import_bytes(b, text, bytes, NULL);
    expect_rows(b, 2);
    assert_row(b->rows, 0, "é", "😀");
    assert_row(b->rows, 1, "b", "ж日");
    for (size_t at = 0; at < bytes; at++) swapped[at ^ 1] = ((const unsigned char *)text)[at];
    import_bytes(b, swapped, bytes, NULL);
    expect_rows(b, 2);
    assert_row(b->rows, 1, "b", "ж日");
    import_bytes(b, text, bytes - 1, NULL); /* half a unit at the end */
    expect_error(b, "the text begins as UTF-16, but not all of it is");
    const char16_t half[] = u"\uFEFFuser,item\na,\xd83dx\n";
    import_bytes(b, half, sizeof half - 2, NULL);
    expect_error(b, "the text begins as UTF-16, but not all of it is");
    const char16_t bare[] = u"user,item\na,b\n";
    import_bytes(b, bare, sizeof bare - 2, NULL);
    expect_error(b, "this is UTF-16 without a byte order mark");
}

static void long_utf_16_comes_through(void **state)
{
    enum { ROWS = 200000 };
    bed *b = *state;
    char16_t *text = malloc((size_t)ROWS * 16 * sizeof *text);
    size_t n = 0;
    assert_non_null(text);
    text[n++] = 0xfeff;
    for (int r = 0; r < ROWS; r++) {
        char line[16];
        int length = snprintf(line, sizeof line, "%d,", r);
        for (int at = 0; at < length; at++) text[n++] = (char16_t)line[at];
        text[n++] = 0xd83d;
        text[n++] = (char16_t)(0xde00 + r % 64);
        text[n++] = '\n';
    }
    import_bytes(b, text, n * sizeof *text, PAIRS("header", "no"));
    free(text);
    expect_rows(b, ROWS);
    assert_int_equal(cw_interactions_items(b->rows), 64);
    assert_row(b->rows, ROWS - 1, "199999", "\U0001F63F");
}

static void other_kinds_are_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *name, *convert;
    } kinds[] = {
#define KIND(bytes, name, convert) {bytes, sizeof bytes - 1, name, convert}
        KIND("PAR1\x15\x04\x15\x10", "a Parquet file", "pandas.read_parquet("),
        KIND("ARROW1\0\0\xff\xff", "an Arrow file", "pandas.read_feather("),
        KIND("FEA1\0\0\0\0", "a Feather file", "pandas.read_feather("),
        KIND("ORC\x08\x03\x12\x04", "an ORC file", "pandas.read_orc("),
        KIND("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "an Excel file of before 2007",
             "pandas.read_excel("),
        KIND("\x89HDF\r\n\x1a\n\0\0", "an HDF5 file", "pandas.read_hdf("),
        KIND("\x93NUMPY\x01\0v\0", "a NumPy array", "numpy.savetxt("),
        KIND("7z\xbc\xaf\x27\x1c\0\4", "a 7z archive", "7z x -so '"),
        KIND("PK\3\4\24\0\0\0\10\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0log.csv", "a zip archive",
             "unzip -p '"),
        KIND("PK\3\4\24\0\0\0\10\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\23\0\0\0[Content_Types].xml",
             "an Excel file", "pandas.read_excel("),
        KIND("PK\3\4\24\0\0\0\10\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\10\0\0\0user.npy",
             "an .npz file of NumPy arrays", "numpy.column_stack("),
        KIND("PK\3\4\24\0", "a zip archive", "unzip -p '"),
        KIND("\x80\4\x95\x10\2\0\0", "a Python pickle", "pandas.read_pickle("),
        KIND("\x80\2c__builtin__\nlist\nq\1", "a Python pickle", "pandas.read_pickle("),
        KIND("SQLite format 3\0\x10\0\1\1", "an SQLite database", "sqlite"),
#undef KIND
    };
    bed *b = *state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        char wanted[120];
        import_bytes(b, kinds[k].bytes, kinds[k].length, NULL);
        snprintf(wanted, sizeof wanted, "log: this is %s", kinds[k].name);
        expect_error(b, wanted);
        expect_part(cw_context_error(b->ctx), kinds[k].convert);
        expect_part(cw_context_error(b->ctx), b->path);
    }
    import_text(b, "PAR1,item\n7z,2\n", PAIRS("header", "no")); /* text that begins like it */
    expect_rows(b, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json_lines_have_keys_nested_by_dots),
        TEST(keys_are_chosen_by_name),
        TEST(wrong_json_is_malformed),
        TEST(json_may_not_lie_too_deep),
        TEST(a_json_array_is_named_with_what_converts_it),
        TEST(pipes_separate_columns),
        TEST(commas_may_be_decimal),
        TEST(missing_ratings_are_counted),
        TEST(dates_are_read_where_they_are_plain),
        TEST(the_order_of_dates_is_that_of_the_plain_ones),
        TEST(wrong_dates_are_none),
        TEST(names_are_known_in_other_languages),
        TEST(utf_16_becomes_utf_8),
        TEST(long_utf_16_comes_through),
        TEST(other_kinds_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
